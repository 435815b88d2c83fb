"""People in a data frame of Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Unpack

import pyarrow as pa

from fatt.audit import Auditor, Part
from fatt.audit.part import How, read_by
from fatt.engines import answering, observing, schema_of
from fatt.errors import needs
from fatt.importers import load
from fatt.region import Schema


def verify(
    df: Any, auditor: Auditor, *, keep: Sequence[str] = (), **how: Unpack[How]
) -> Any:
    """Verify the people of a data frame, lazily; nothing is shuffled or collected.

    Parameters
    ----------
    df
        The people, as a data frame of Spark.
    auditor
        Who is asked. `infer_schema` makes the schema of all rows that it needs.
    keep
        Columns to hand on beside the findings, such as an id: Spark promises no order.
    **how
        As in `fatt.Part`: budget, score_gap, spot_checks.

    Returns
    -------
    DataFrame
        A row per person, with the columns that `fatt.Part` tells.

    Raises
    ------
    DataError
        If a column is absent, or of a type that no model reads as it is.
    """
    types = _types()
    part = Part(auditor, keep=keep, **how)
    answers = types.from_arrow_schema(part.schema(types.to_arrow_schema(df.schema)))
    return _mapped(df, part.reads(df.columns), answering(part), answers)


def infer_schema(df: Any, model: Any) -> Schema:
    """Infer the schema of all rows, as `fatt.Schema.infer` does of a table.

    Parameters
    ----------
    df
        The people, as a data frame of Spark.
    model
        The model, as `fatt.load` takes it.
    """
    _types()
    loaded = load(model)
    observe = observing(loaded)

    def look(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for one in observe(batches):
            yield pa.RecordBatch.from_pydict({"seen": [one]})

    rows = _mapped(df, read_by(loaded, df.columns), look, "seen binary").collect()
    return schema_of(loaded, [bytes(row.seen) for row in rows])


def _mapped(
    df: Any,
    names: list[str],
    function: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]],
    answers: Any,
) -> Any:
    """Map batches of some columns; Spark itself stumbles over dots in their names."""

    def named(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return function(batch.rename_columns(names) for batch in batches)

    chosen = df.select(*(f"`{name.replace('`', '``')}`" for name in names))
    plain = chosen.toDF(*(f"column_{place}" for place in range(len(names))))
    return plain.mapInArrow(named, answers)


def _types() -> Any:
    try:
        from pyspark.sql.pandas import types
    except ImportError as error:
        raise needs("pyspark", "people in Spark", "spark") from error
    return types
