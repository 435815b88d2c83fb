"""People in a data set of Ray."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import pyarrow as pa

from fatt.audit import Auditor, Part
from fatt.audit.part import How
from fatt.engines import answering, observing, schema_of
from fatt.errors import needs
from fatt.region import Schema


def verify(
    dataset: Any, auditor: Auditor, *, keep: Sequence[str] = (), **how: Unpack[How]
) -> Any:
    """Verify the people of a data set, lazily.

    Parameters
    ----------
    dataset
        The people, as a data set of Ray.
    auditor
        Who is asked. `infer_schema` makes the schema of all rows that it needs.
    keep
        Columns to hand on beside the findings, such as an id.
    **how
        As in `fatt.Part`: budget, score_gap, spot_checks.

    Returns
    -------
    Dataset
        A row per person, with the columns that `fatt.Part` tells.

    Raises
    ------
    DataError
        If a column is absent, or of a type that no model reads as it is.
    """
    _require()
    part = Part(auditor, keep=keep, **how)
    held = dataset.schema()
    # Blocks of pandas tell no types of objects; then a batch tells them.
    kinds = [
        kind if isinstance(kind, pa.DataType) else pa.null() for kind in held.types
    ]
    part.schema(pa.schema(list(zip(held.names, kinds, strict=True))))
    answer = answering(part)

    def answered(batch: pa.Table) -> pa.Table:
        return pa.Table.from_batches(answer([batch]))

    needed = dataset.select_columns(part.reads(held.names))
    return needed.map_batches(answered, batch_format="pyarrow", zero_copy_batch=True)


def infer_schema(dataset: Any, model: Any) -> Schema:
    """Infer the schema of all rows, as `fatt.Schema.infer` does of a table.

    Parameters
    ----------
    dataset
        The people, as a data set of Ray.
    model
        The model, as `fatt.load` takes it.
    """
    _require()
    observe = observing(model)

    def look(batch: pa.Table) -> pa.Table:
        return pa.table({"seen": pa.array(observe([batch]), pa.binary())})

    seen = dataset.map_batches(look, batch_format="pyarrow", zero_copy_batch=True)
    return schema_of(model, (row["seen"] for row in seen.iter_rows()))


def _require() -> None:
    try:
        import ray.data  # noqa: F401
    except ImportError as error:
        raise needs("ray", "people in Ray", "ray") from error
