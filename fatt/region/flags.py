"""Groups of columns that look like one variable, and are none to the schema."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.errors import SpecError
from fatt.region.inference import prefixes, read_columns
from fatt.region.kinds import Number
from fatt.region.schema import Schema
from fatt.region.similarity import Relation
from fatt.region.variables import Variables, places


def refuse_broken_groups(
    relation: Relation, variables: Variables, X: Any, *, inferred: bool = False
) -> None:
    """Raise if the similarity moves a group of flags that the schema tears apart.

    A single row with two ones makes the columns ``race=A`` and ``race=B`` numbers
    without bounds. To vary one of them would ask about people who cannot exist.

    Parameters
    ----------
    relation
        Who is similar to whom.
    variables
        The model's variables.
    X
        The rows.
    inferred
        Whether the schema was inferred from the rows. Then noise for all numbers does
        not mean the columns of such a group: nobody said that they are numbers.

    Raises
    ------
    SpecError
        If such a group is named, or one of its columns, or is moved unnamed.
    """
    torn = _torn(variables.schema)
    for said, name in _moved(relation, torn if inferred else {}):
        prefix = name.partition("=")[0]
        columns = torn.get(prefix, [])
        if columns and name in [prefix, *columns]:
            place = places(variables.schema, variables.model)
            wanted = [place[column] for column in columns]
            cells = read_columns(variables.model, X, wanted)
            _refuse(said, prefix, columns, cells)


def _moved(relation: Relation, unnamed: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield what a relation says, and the name that it says it of."""
    for one in relation.alternatives:
        if isinstance(one.noise, tuple):
            yield from ((f"noise names {name!r}", name) for name, _ in one.noise)
        else:
            yield from (("noise is for all numbers", name) for name in unnamed)
        yield from ((f"vary names {name!r}", name) for name, _ in one.vary)
        yield from ((f"where names {name!r}", name) for name, _ in one.where)
        yield from ((f"missing names {name!r}", name) for name in one.missing)


def _torn(schema: Schema) -> dict[str, list[str]]:
    """Return the columns, by prefix, that are each a number without bounds."""
    alone = {
        variable.columns[0]
        for variable in schema.variables
        if isinstance(variable, Number)
        and variable.lower is None
        and variable.upper is None
    }
    names = [variable.name for variable in schema.variables]
    return {
        prefix: columns
        for prefix, columns in prefixes(names, schema.columns).items()
        if len(columns) > 1 and alone.issuperset(columns)
    }


def _refuse(
    said: str, prefix: str, columns: list[str], cells: NDArray[np.float64]
) -> None:
    missing = np.isnan(cells)
    if missing.all() or not np.all((cells == 0) | (cells == 1) | missing):
        return
    shown = ", ".join(map(repr, columns[:3])) + (", ..." if len(columns) > 3 else "")
    raise SpecError(
        f"{said}, and the columns {shown} hold only 0 and 1, but are not one variable "
        f"{prefix!r}: {_reason(columns, cells)}, or pass a schema that says what each "
        f"column is: schema.with_({{{columns[0]!r}: Binary(), ...}})."
    )


def _reason(columns: list[str], cells: NDArray[np.float64]) -> str:
    """Say why the columns are no variable, and the next step."""
    is_one, missing = cells == 1, np.isnan(cells)
    several = is_one.sum(axis=1) > 1
    wrong = several | (missing.any(axis=1) & ~missing.all(axis=1))
    if not wrong.any():
        return "the schema has each as a number. Infer it from rows without errors"
    row = int(np.argmax(wrong))
    here, word = (is_one, "1") if several[row] else (missing, "missing")
    names = [repr(columns[place]) for place in np.flatnonzero(here[row])]
    are = f"{' and '.join(names)} {'are' if len(names) > 1 else 'is'} {word}"
    return f"in row {row} {are}. Drop or correct the row"
