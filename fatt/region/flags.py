"""Groups of columns that look like one variable, and are none to the schema."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Ensemble
from fatt.errors import SpecError
from fatt.region.inference import read_columns
from fatt.region.kinds import AnyVariable, Binary, Number
from fatt.region.one_hot import flags_of, prefixes
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
    schema, model = variables.schema, variables.model
    groups = SuspectGroups(relation, schema, model, inferred=inferred)
    groups.refuse(functools.partial(read_columns, variables.model, X))


class _Suspect(NamedTuple):
    """Columns that may be one variable, by name and place, and what is said of them."""

    said: str
    name: str
    columns: list[str]
    places: list[int]


class SuspectGroups:
    """What a similarity says of columns that may be one variable: rows will tell.

    Parameters
    ----------
    relation, inferred
        As in `refuse_broken_groups`.
    schema
        What the columns mean, as somebody said it or rows showed it.
    model
        The model.
    """

    def __init__(
        self,
        relation: Relation,
        schema: Schema,
        model: Ensemble,
        *,
        inferred: bool = False,
    ) -> None:
        self._lone = list(_lone_flags(relation, schema, model))
        self._torn = list(_torn_groups(relation, schema, model, inferred))

    def refuse(
        self,
        read: Callable[[list[int]], NDArray[np.float64]],
        n_rows: int | None = None,
    ) -> None:
        """Raise a SpecError if rows show that a group is torn apart.

        Parameters
        ----------
        read
            Returns some of the model's columns, of shape (n_rows, n_columns).
        n_rows
            The number of rows, if it is known.
        """
        # One row alone never shows that several columns are 1 in turn.
        for said, stem, columns, wanted in self._lone if n_rows != 1 else ():
            if _exclude_each_other(read(wanted)):
                raise SpecError(_one_variable(said, stem, columns))
        for said, prefix, columns, wanted in self._torn:
            _refuse(said, prefix, columns, read(wanted))


def _torn_groups(
    relation: Relation, schema: Schema, model: Ensemble, inferred: bool
) -> Iterator[_Suspect]:
    """Yield the groups of flags that the schema tears apart, if something is said."""
    torn = _torn(schema)
    said_of = [*_moved(relation, torn if inferred else {}), *_conditions(relation)]
    for said, name in said_of:
        prefix = name.partition("=")[0]
        columns = torn.get(prefix, [])
        if columns and name in [prefix, *columns]:
            place = places(schema, model)
            yield _Suspect(said, prefix, columns, [place[column] for column in columns])


def _lone_flags(
    relation: Relation, schema: Schema, model: Ensemble
) -> Iterator[_Suspect]:
    """Yield what names one of the columns that pandas makes of a variable.

    To vary ``race_White`` alone would ask about people of no race, or of two. As a
    condition it is fine.
    """
    known = {variable.name for variable in schema.variables}
    flags = [one.columns[0] for one in schema.variables if _may_be_flag(one)]
    for said, name in _moved(relation, ()):
        parts = name.split("_")
        # What comes before each underscore, the longest first; or all, if no variable.
        stems = ["_".join(parts[:count]) for count in range(len(parts) - 1, 0, -1)]
        for stem in stems if name in known else [name]:
            columns = flags_of(stem, flags)
            if stem not in known and len(columns) > 1 and name in {stem, *columns}:
                place = places(schema, model)
                wanted = [place[column] for column in columns]
                yield _Suspect(said, stem, columns, wanted)


def _may_be_flag(variable: AnyVariable) -> bool:
    """Tell whether nobody said of a column of its own that it is a flag."""
    if isinstance(variable, Number):
        return variable.lower is None and variable.upper is None
    # What a column of truth values is taken for; to Python 0 and 1 are the same.
    return isinstance(variable, Binary) and all(
        isinstance(level, bool) for level in variable.levels
    )


def _exclude_each_other(cells: NDArray[np.float64]) -> bool:
    """Tell whether several columns are 1 in some row, but never two in the same."""
    is_one = cells == 1
    is_flag = bool(np.all(is_one | (cells == 0)))
    return is_flag and is_one.sum(axis=1).max() == 1 and is_one.any(axis=0).sum() > 1


def _one_variable(said: str, stem: str, columns: list[str]) -> str:
    return (
        f"{said}, and the columns {_listed(columns)} look like one variable {stem!r}: "
        "never are two of them 1. If so, name that, with "
        f"schema=Schema.infer(fatt.load(model), X, one_hot=[{stem!r}]), or --one-hot "
        f"{stem} on the command line (FATTClassifier finds {stem!r} by itself if the "
        "similarity names it); if not, with "
        f"schema.with_({{{columns[0]!r}: Binary(), ...}})."
    )


def _listed(columns: list[str]) -> str:
    return ", ".join(map(repr, columns[:3])) + (", ..." if len(columns) > 3 else "")


def _moved(relation: Relation, unnamed: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield what a relation lets change, and the name that it says it of."""
    for move in relation.moves:
        names = unnamed if move.name is None else [move.name]
        yield from ((move.said, name) for name in names)


def _conditions(relation: Relation) -> Iterator[tuple[str, str]]:
    """Yield what a relation asks of people, and the name that it asks it of."""
    yield from ((f"where names {name!r}", name) for name, _ in relation.conditions)


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
    raise SpecError(
        f"{said}, and the columns {_listed(columns)} hold only 0 and 1, but are not "
        f"one variable {prefix!r}: {_reason(columns, cells)}, or pass a schema "
        "that says what each column is: "
        f"schema.with_({{{columns[0]!r}: Binary(), ...}})."
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
