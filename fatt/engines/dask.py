"""People in a data frame of Dask."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Unpack

from fatt.audit import Auditor, Part
from fatt.audit.part import How
from fatt.engines import answering, observing, schema_of
from fatt.errors import needs
from fatt.region import Schema


def verify(
    frame: Any, auditor: Auditor, *, keep: Sequence[str] = (), **how: Unpack[How]
) -> Any:
    """Verify the people of a data frame, lazily.

    `fatt.audit.verify_partitions` does the same, and keeps what is done in files.

    Parameters
    ----------
    frame
        The people, as a data frame of Dask.
    auditor
        Who is asked. `infer_schema` makes the schema of all rows that it needs.
    keep
        Columns to hand on beside the findings, such as an id.
    **how
        As in `fatt.Part`: budget, score_gap, spot_checks.

    Returns
    -------
    DataFrame
        A row per person, with the columns that `fatt.Part` tells.

    Raises
    ------
    DataError
        If a column is absent.
    """
    _require()
    import pandas as pd

    part = Part(auditor, keep=keep, **how)
    needed = frame[part.reads([str(name) for name in frame.columns])]
    answer = answering(part)

    def answered(people: Any) -> Any:
        [found] = answer([people])
        # Types of Arrow are the same in all parts, also where a part finds nothing.
        rows = found.to_pandas(types_mapper=pd.ArrowDtype).set_axis(people.index)
        return rows.assign(**{name: people[name] for name in part.keep})

    return needed.map_partitions(answered, meta=answered(needed._meta))


def infer_schema(frame: Any, model: Any) -> Schema:
    """Infer the schema of all rows, as `fatt.Schema.infer` does of a table.

    Parameters
    ----------
    frame
        The people, as a data frame of Dask.
    model
        The model, as `fatt.load` takes it.
    """
    dask = _require()
    observe = observing(model)

    def look(people: Any) -> list[bytes]:
        return list(observe([people]))

    tasks = [dask.delayed(look)(part) for part in frame.to_delayed()]
    return schema_of(model, itertools.chain(*dask.compute(*tasks)))


def _require() -> Any:
    try:
        import dask.dataframe
    except ImportError as error:
        raise needs("dask", "people in Dask", "dask") from error
    return dask
