"""One-hot groups: columns that are flags of one variable, as their rows show.

What looks like such a group and is none to the schema is refused where it is moved.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import NamedTuple

import numpy as np
from msgspec import UNSET
from numpy.typing import NDArray

from fatt.ensemble import Ensemble
from fatt.ensemble.features import names_a_level
from fatt.errors import Arg, SpecError, first
from fatt.region.kinds import AnyVariable, Binary, Number, OneHot
from fatt.region.schema import Schema
from fatt.region.similarity import Relation
from fatt.region.variables import places

#: The level of a group of columns that are all 0.
NONE = "none of these"

#: So many columns are read at a time.
_AT_A_TIME = 32

#: So often must levels be seen again before that is no chance.
_REPEATS = 3
#: So many choices of columns are tried, and two more for each column.
_TRIES = 1000


def prefixes(names: list[str], numbers: Collection[str]) -> dict[str, list[str]]:
    """Return the columns that share what stands before the first equals sign.

    Parameters
    ----------
    names
        All names in use.
    numbers
        The columns of numbers.
    """
    groups: dict[str, list[str]] = {}
    for name in numbers:
        prefix = name.partition("=")[0]
        # With a column of the group's own name nobody could tell the two apart.
        if names_a_level(name) and prefix not in names:
            groups.setdefault(prefix, []).append(name)
    return groups


def flags_of(name: str, columns: Iterable[str]) -> list[str]:
    """Return the columns that are named as pandas names those of a variable."""
    return [column for column in columns if column.startswith(f"{name}_")]


class Groups:
    """Groups of columns named ``variable=level``, seen a block of rows at a time.

    Parameters
    ----------
    groups
        The columns of each.
    columns
        The columns of the blocks; some may belong to no group.
    """

    def __init__(self, groups: dict[str, list[str]], columns: list[str]) -> None:
        self._groups = groups
        places = {name: place for place, name in enumerate(columns)}
        sizes = [len(names) for names in groups.values()]
        self._places = np.array(
            [places[name] for names in groups.values() for name in names],
            dtype=np.int64,
        )
        self._starts = np.cumsum([0, *sizes], dtype=np.int64)
        self._is_variable = np.ones(len(groups), dtype=bool)
        # The least and the most ones in a row that is not missing.
        self._least = np.array(sizes, dtype=np.int64)
        self._most = np.full(len(groups), -1, dtype=np.int64)

    def see(self, cells: NDArray[np.float64]) -> None:
        """Look at some rows, which lie on their side."""
        from fatt.region import kernels

        found = (self._is_variable, self._least, self._most)
        kernels.see_groups(cells, self._places, self._starts, *found)

    def joined(self, other: Groups) -> Groups:
        """Return what the rows of both show."""
        both = copy.copy(self)
        both._is_variable = self._is_variable & other._is_variable
        both._least = np.minimum(self._least, other._least)
        both._most = np.maximum(self._most, other._most)
        return both

    def variables(self) -> list[Binary | OneHot]:
        """Return the variables behind the groups that are one."""
        is_one_at_most = (self._most >= 0) & (self._most <= 1)
        return [
            _variable(prefix, tuple(names), has_none=bool(self._least[index] == 0))
            for index, (prefix, names) in enumerate(self._groups.items())
            if self._is_variable[index] and is_one_at_most[index]
        ]


def _variable(prefix: str, columns: tuple[str, ...], has_none: bool) -> Binary | OneHot:
    levels = tuple(name[len(prefix) + 1 :] for name in columns)
    if len(columns) == 1:
        return Binary(name=prefix, columns=columns, levels=_pair(levels[0]))
    dropped = NONE if has_none else None
    return OneHot(name=prefix, columns=columns, levels=levels, dropped=dropped)


def _pair(level: str) -> tuple[str, str]:
    """Return the levels of a variable of which only one has a column."""
    return f"not {level}", level


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
    relation
        Who is similar to whom.
    schema
        What the columns mean, as somebody said it or rows showed it.
    model
        The model.
    inferred
        Whether the schema was inferred. Then noise for all numbers does not mean the
        columns of such a group: nobody said that they are numbers.
    """

    def __init__(
        self,
        relation: Relation,
        schema: Schema,
        model: Ensemble,
        *,
        inferred: bool = False,
    ) -> None:
        self._names = {*schema.columns, *(one.name for one in schema.variables)}
        self._lone = list(_lone_flags(relation, schema, model, inferred))
        self._torn = list(_torn_groups(relation, schema, model, inferred))
        self._shaken = _shaken_flags(relation, schema, model, inferred)

    def refuse(self, read: Callable[[list[int]], NDArray[np.float64]]) -> None:
        """Raise a SpecError if rows show that a group is torn apart.

        Parameters
        ----------
        read
            Returns some of the model's columns, of shape (n_rows, n_columns).
        """
        for said, stem, columns, wanted in self._lone:
            # Rows of men alone never show a 1 in the column of women.
            if _most_ones(read, wanted) == 1:
                raise SpecError(_one_variable(said, stem, columns, self._names))
        for said, prefix, columns, wanted in self._torn:
            _refuse(said, prefix, columns, read(wanted))
        for said, _, columns, wanted in self._shaken:
            if found := _in_turn(read, wanted):
                raise SpecError(_flags_in_turn(said, [columns[at] for at in found]))

    def learn(self, read: Callable[[list[int]], NDArray[np.float64]]) -> None:
        """Refuse as `refuse` does, and drop what these rows show to be no variable."""
        self.refuse(read)
        self._lone = [one for one in self._lone if _most_ones(read, one.places) < 2]


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
    relation: Relation, schema: Schema, model: Ensemble, inferred: bool
) -> Iterator[_Suspect]:
    """Yield what moves one of the columns that pandas makes of a variable.

    To move ``race_White`` alone would ask about people of no race, or of two. As a
    condition it is fine.
    """
    known = {variable.name: variable for variable in schema.variables}
    flags = _flags(schema, inferred)
    groups: dict[str, list[str]] = {}
    for column in schema.columns:
        for stem in _stems(column) if column in flags else ():
            groups.setdefault(stem, []).append(column)
    # Noise for all numbers moves all flags, or none of a whole step.
    unnamed = [
        (move.said, name)
        for name, move in relation.moving(schema)
        if move.name is None and not move.stays(known[name])
    ]
    found: dict[str, str] = {}
    for said, name in [*_moved(relation, ()), *unnamed]:
        # A lone ``race_a=b`` is taken for a variable ``race_a``.
        column = known[name].columns[0] if name in known else name
        for stem in _stems(column) if column in schema.columns else [name]:
            columns = groups.get(stem, [])
            if len(columns) > 1 and column in {stem, *columns}:
                found.setdefault(stem, said)
    place = places(schema, model) if found else {}
    for stem, said in found.items():
        wanted = [place[column] for column in groups[stem]]
        yield _Suspect(said, stem, groups[stem], wanted)


def _shaken_flags(
    relation: Relation, schema: Schema, model: Ensemble, inferred: bool
) -> list[_Suspect]:
    """Return the columns that noise for all numbers moves and that may be flags."""
    known = {variable.name: variable for variable in schema.variables}
    flags = _flags(schema, inferred)
    shaken: dict[str, list[str]] = {}
    for name, move in relation.moving(schema):
        column = known[name].columns[0]
        if move.name is None and column in flags and not move.stays(known[name]):
            shaken.setdefault(move.said, []).append(column)
    place = places(schema, model) if shaken else {}
    return [
        _Suspect(said, "", columns, [place[column] for column in columns])
        for said, columns in shaken.items()
    ]


def _flags(schema: Schema, inferred: bool) -> set[str]:
    """Return the columns that nobody said to be flags, and that may be some."""
    # Rows would have joined columns such as `race=White`. If a schema that was given
    # does not, somebody calls them numbers.
    torn = {} if inferred else _torn(schema)
    numbers = {column for group in torn.values() for column in group}
    return {
        one.columns[0]
        for one in schema.variables
        if _may_be_flag(one) and not (inferred and _has_many_values(one))
    } - numbers


def _stems(column: str) -> list[str]:
    """Return what comes before each underscore, the longest first."""
    parts = column.split("_")
    return ["_".join(parts[:count]) for count in range(len(parts) - 1, 0, -1)]


def _may_be_flag(variable: AnyVariable) -> bool:
    """Tell whether nobody said of a column of its own that it is a flag."""
    if isinstance(variable, Number):
        return variable.lower is None and variable.upper is None
    if not isinstance(variable, Binary):
        return False
    # What a column of truth values is taken for; to Python 0 and 1 are the same.
    if all(isinstance(level, bool) for level in variable.levels):
        return True
    # What a lone column ``variable=level`` is taken for.
    level = variable.columns[0].removeprefix(f"{variable.name}=")
    return variable.levels == _pair(level)


def _has_many_values(variable: AnyVariable) -> bool:
    """Tell whether rows have shown more values of a number than 0 and 1."""
    if not isinstance(variable, Number) or variable.seen is UNSET:
        return False
    return not {0, 1}.issuperset(variable.seen)


def _most_ones(
    read: Callable[[list[int]], NDArray[np.float64]], wanted: list[int]
) -> int:
    """Return the most ones in a row; all columns if one holds other values as well."""
    ones: NDArray[np.int64] | int = 0
    for start in range(0, len(wanted), _AT_A_TIME):
        cells = read(wanted[start : start + _AT_A_TIME])
        is_one = cells == 1
        if not np.all(is_one | (cells == 0)):
            return len(wanted)
        ones = ones + is_one.sum(axis=1)
    return int(np.max(ones))


def _in_turn(
    read: Callable[[list[int]], NDArray[np.float64]], wanted: list[int]
) -> list[int]:
    """Return columns of which exactly one is 1 in each row, too often to be chance.

    Columns are tried, the one with most ones first, until they cover all rows, or it
    would take long. None are returned if none are found.
    """
    kept, parts, n_rows = list[int](), list[NDArray[np.uint8]](), 0
    for start in range(0, len(wanted), _AT_A_TIME):
        cells = read(wanted[start : start + _AT_A_TIME])
        n_rows, is_one = len(cells), cells == 1
        is_flag = np.all(is_one | (cells == 0), axis=0) & ~is_one.all(axis=0)
        kept += (start + np.flatnonzero(is_flag)).tolist()
        parts.append(np.packbits(is_one[:, is_flag], axis=0, bitorder="little"))
    if len(kept) < 2:
        return []
    packed = np.concatenate(parts, axis=1)
    rows_of = [int.from_bytes(column.tobytes(), "little") for column in packed.T]
    # Among more flags more pairs exclude each other by chance.
    most = n_rows - _REPEATS - 2 * (len(kept).bit_length() - 1)
    found: list[tuple[int, list[int]]] = [(0, [])]
    for _ in range(_TRIES + 2 * len(kept)):
        if not found:
            break
        covered, chosen = found.pop()
        row = (covered ^ (covered + 1)).bit_length() - 1
        if row == n_rows:
            return sorted(kept[at] for at in chosen)
        if len(chosen) >= most:
            continue
        here = np.flatnonzero(packed[row >> 3] >> (row & 7) & 1).tolist()
        fitting = [at for at in here if not covered & rows_of[at]]
        fitting.sort(key=lambda at: rows_of[at].bit_count())
        found += [(covered | rows_of[at], [*chosen, at]) for at in fitting]
    return []


def _flags_in_turn(said: str, columns: list[str]) -> str:
    return (
        f"{said}, and the columns {_listed(columns)} look like flags of one variable: "
        "in every row exactly one of them is 1. If so, join them as a OneHot in the "
        "schema, or call them variable=level; if not, say what each is: "
        f"{Arg('schema', (columns[0], 'Binary', {}))} and so on."
    )


def _one_variable(
    said: str, stem: str, columns: list[str], names: Collection[str]
) -> str:
    looks = (
        f"{said}, and the columns {_listed(columns)} look like one variable {stem!r}: "
        "never are two of them 1. If so, "
    )
    joined = (
        f"join them as a OneHot in the schema (a column {stem!r} is another)"
        if stem in names
        else f"name that, with {Arg('one_hot', [stem])} (a training finds {stem!r} by "
        "itself if the similarity names it)"
    )
    schema = Arg("schema", (columns[0], "Binary", {}))
    return f"{looks}{joined}; if not, with {schema} and so on."


def _listed(columns: list[str]) -> str:
    return first([repr(column) for column in columns], most=3)


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
        f"one variable {prefix!r}: {_reason(columns, cells)}, or say what "
        f"each column is: {Arg('schema', (columns[0], 'Binary', {}))} and so on."
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
