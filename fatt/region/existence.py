"""Which people can exist, and what moves along: `exist=` and `follow=` as values.

Here they are parsed and written down. `fatt.region.combined` says what they mean for
the variables of a model.
"""

from __future__ import annotations

import graphlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec.structs import force_setattr

from fatt.ensemble.features import Label, Record
from fatt.errors import SpecError
from fatt.region.amounts import parse_labels
from fatt.region.formula import parse_formula, parse_order

#: A combination of values, one for each name; None where a value is missing.
Row: TypeAlias = tuple[Label | None, ...]

_EXIST = (
    "write a list of tuples of names, [('sex', 'relationship')], a mapping from such a "
    "tuple to the combinations that exist, or orders such as 'tenure <= age - 16'"
)
_FOLLOW = (
    "write {'relationship': {'Husband': 'Wife', 'Wife': 'Husband'}} for levels that "
    "are swapped, {'relationship': {'sex': {...}}} to say what they follow, a formula "
    "such as {'birth_year': '2026 - age'}, or a list of names that move to any level "
    "that exists"
)
_SHOWN = 6


class Together(Record, frozen=True):
    """Columns of which only some combinations of values exist.

    Attributes
    ----------
    names
        Their names, sorted.
    rows
        The combinations, sorted; None for those that the rows of the schema have.
    """

    names: tuple[str, ...]
    rows: tuple[Row, ...] | None = None

    def __post_init__(self) -> None:
        order = sorted(range(len(self.names)), key=self.names.__getitem__)
        rows = self.rows
        if rows is not None:
            rows = tuple(
                sorted({tuple(row[i] for i in order) for row in rows}, key=repr)
            )
        force_setattr(self, "names", tuple(self.names[i] for i in order))
        force_setattr(self, "rows", rows)

    def in_words(self) -> str:
        """Say which combinations exist."""
        names = _listed(self.names)
        if self.rows is None:
            return f"{names} only in combinations that the table has"
        shown = [" & ".join(map(str, row)) for row in self.rows[:_SHOWN]]
        more = len(self.rows) - len(shown)
        rest = [f"{more:,} more"] if more else []
        return f"{names} only as {', '.join([*shown, *rest])}"


class Swaps(Record, frozen=True):
    """Which level a column takes if what it follows changes; other levels stay.

    Attributes
    ----------
    by
        For each leader the levels and what becomes of them. A leader is None where
        only one category varies.
    """

    by: tuple[tuple[str | None, tuple[tuple[Label, Label], ...]], ...]

    @property
    def leaders(self) -> tuple[str | None, ...]:
        """What the column follows."""
        return tuple(leader for leader, _ in self.by)

    def in_words(self, name: str) -> list[str]:
        """Say what becomes of the levels."""
        return [
            f"{name!r} follows{'' if leader is None else f' {leader!r}'}: "
            + ", ".join(f"{old!r} becomes {new!r}" for old, new in pairs)
            + "; its other levels stay"
            for leader, pairs in self.by
        ]


#: What exists: combinations, or an order between numbers as it was written.
Existing: TypeAlias = Together | str
#: How a column follows: by swaps, by a formula, or (None) to any level that exists.
Following: TypeAlias = Swaps | str | None


def parse_exist(given: Any) -> tuple[Existing, ...]:
    """Return what exists, as a user wrote it, in one order.

    Raises
    ------
    SpecError
        If it has no meaning.

    Examples
    --------
    >>> parse_exist([("sex", "relationship")])
    (Together(names=('relationship', 'sex'), rows=None),)
    """
    if isinstance(given, Mapping):
        items: Iterable[Any] = [{names: rows} for names, rows in given.items()]
    elif isinstance(given, str) or not isinstance(given, Sequence):
        raise SpecError(f"exist is {given!r}; {_EXIST}.")
    else:
        items = given
    found: dict[Any, Existing] = {}
    for item in items:
        for one in _existing(item, given):
            key = one if isinstance(one, str) else one.names
            if found.setdefault(key, one) != one:
                assert isinstance(one, Together)
                raise SpecError(
                    f"exist says two things of {_listed(one.names)}; say one."
                )
    return tuple(sorted(found.values(), key=repr))


def _existing(item: Any, given: Any) -> list[Existing]:
    if isinstance(item, Together):
        return [item]
    if isinstance(item, str):
        if not {"<", ">", "="} & {*item}:
            raise SpecError(
                f"exist lists the text {item!r}, which is no order such as "
                f"'tenure <= age - 16'; {_EXIST}."
            )
        return [parse_order(item).plain()]
    if isinstance(item, Mapping) and item.keys() == {"columns", "combinations"}:
        return [_together(item["columns"], item["combinations"])]
    if isinstance(item, Mapping):
        return [_together(names, rows) for names, rows in item.items()]
    if isinstance(item, Sequence):
        return [_together(item, None)]
    raise SpecError(f"exist is {given!r}; {_EXIST}.")


def _together(names: Any, rows: Any) -> Together:
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise SpecError(
            f"exist says which {names!r} exist; name at least two columns in a tuple, "
            "such as ('sex', 'relationship'). Values of one column stand in vary."
        )
    listed = [_name(name, "exist") for name in names]
    if len(set(listed)) != len(listed) or len(listed) < 2:
        raise SpecError(
            f"exist names {listed!r}; name at least two columns, each once."
        )
    if rows is None:
        return Together(tuple(listed))
    where = f"exist of {_listed(listed)}"
    if isinstance(rows, str) or not isinstance(rows, Iterable):
        raise SpecError(f"{where} is {rows!r}; write a list of combinations.")
    found = []
    for row in rows:
        cells = () if isinstance(row, str) or not isinstance(row, Sequence) else row
        if len(cells) != len(listed):
            raise SpecError(
                f"{where} lists {row!r}; write a combination of {len(listed)} values."
            )
        found.append(tuple(_label(cell, where) for cell in cells))
    if not found:
        raise SpecError(f"{where} lists no combination, so nobody exists; name some.")
    return Together(tuple(listed), tuple(found))


def plain_exist(exist: Iterable[Existing]) -> list[Any]:
    """Return what exists as lists and texts, which files can hold."""
    return [
        one
        if isinstance(one, str)
        else list(one.names)
        if one.rows is None
        else {"columns": list(one.names), "combinations": [list(r) for r in one.rows]}
        for one in exist
    ]


def exist_in_python(exist: Iterable[Existing]) -> Any:
    """Return what exists as a user writes it in Python."""
    listed = list(exist)
    named = [one for one in listed if isinstance(one, Together) and one.rows]
    if listed and len(named) == len(listed):
        return {one.names: list(one.rows or ()) for one in named}
    return [
        one
        if isinstance(one, str)
        else one.names
        if one.rows is None
        else {one.names: list(one.rows)}
        for one in listed
    ]


def parse_follow(given: Any) -> tuple[tuple[str, Following], ...]:
    """Return what follows, and how, as a user wrote it, sorted by name.

    Raises
    ------
    SpecError
        If it has no meaning, or columns follow one another in a circle.

    Examples
    --------
    >>> parse_follow(["relationship"])
    (('relationship', None),)
    >>> [(_, swaps)] = parse_follow({"title": {"Ms": "Mr"}})
    >>> swaps.by
    ((None, (('Ms', 'Mr'),)),)
    """
    if isinstance(given, Mapping):
        items: Iterable[Any] = [given]
    elif isinstance(given, str) or not isinstance(given, Iterable):
        raise SpecError(f"follow is {given!r}; {_FOLLOW}.")
    else:
        items = given
    found: dict[str, Following] = {}
    for item in items:
        said = item.items() if isinstance(item, Mapping) else [(item, None)]
        for name, how in said:
            known = _name(name, "follow")
            following = None if how is None else _following(known, how)
            if found.setdefault(known, following) != following:
                raise SpecError(f"follow says two things of {known!r}; say one.")
    _require_no_circle(found)
    return tuple(sorted(found.items(), key=lambda item: item[0]))


def _following(name: str, how: Any) -> Swaps | str:
    if isinstance(how, Swaps):
        return how
    if isinstance(how, str):
        return parse_formula(how, name).plain()
    if isinstance(how, Mapping):
        deeper = [_is_map(one) for one in how.values()]
        if deeper and all(deeper):
            return Swaps(
                tuple(
                    sorted(
                        (_name(leader, "follow"), _pairs(name, one))
                        for leader, one in how.items()
                    )
                )
            )
        if any(deeper):
            raise SpecError(
                f"follow of {name!r} names levels and leaders in one map; {_FOLLOW}."
            )
    if _is_map(how):
        return Swaps(((None, _pairs(name, how)),))
    raise SpecError(f"follow of {name!r} is {how!r}; {_FOLLOW}.")


def _is_map(given: Any) -> bool:
    """Tell whether something maps levels: a mapping, or a list of pairs."""
    return isinstance(given, Mapping) or (
        isinstance(given, Sequence) and not isinstance(given, str)
    )


def _pairs(name: str, given: Any) -> tuple[tuple[Label, Label], ...]:
    where = f"follow of {name!r}"
    items = list(given.items()) if isinstance(given, Mapping) else list(given)
    found: dict[Label, Label] = {}
    for pair in items:
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise SpecError(f"{where} is {given!r}; {_FOLLOW}.")
        old, new = (_label(cell, where) for cell in pair)
        if found.setdefault(old, new) != new:
            raise SpecError(f"{where} says two things of the level {old!r}; say one.")
    if not found:
        raise SpecError(f"{where} names no level; {_FOLLOW}.")
    return tuple(sorted(found.items(), key=repr))


def _require_no_circle(found: Mapping[str, Following]) -> None:
    """Refuse columns that follow themselves, directly or by way of others."""
    leads = {
        name: [leader for leader in how.leaders if leader is not None]
        if isinstance(how, Swaps)
        else list(parse_formula(how, name).columns)
        for name, how in found.items()
        if how is not None
    }
    try:
        graphlib.TopologicalSorter(leads).prepare()
    except graphlib.CycleError as error:
        circle = " → ".join(error.args[1])
        raise SpecError(
            f"follow goes in a circle: {circle}; leave one of these out."
        ) from None


def plain_follow(follow: Iterable[tuple[str, Following]]) -> Any:
    """Return what follows as lists, tables and texts, which files can hold."""
    said = list(follow)
    alone = [name for name, how in said if how is None]
    mapped = {name: _plain(how) for name, how in said if how is not None}
    return mapped if not alone else [*alone, mapped] if mapped else alone


def _plain(how: Swaps | str) -> Any:
    if isinstance(how, str):
        return how
    plain = {leader: _plain_pairs(pairs) for leader, pairs in how.by}
    return plain.get(None, plain)


def _plain_pairs(pairs: tuple[tuple[Label, Label], ...]) -> Any:
    # The keys of a table in a file are texts.
    if all(isinstance(old, str) for old, _ in pairs):
        return dict(pairs)
    return [list(pair) for pair in pairs]


def _label(cell: Any, where: str) -> Label:
    if not isinstance(cell, str) and isinstance(cell, Sequence | Mapping | set):
        raise SpecError(f"{where} names {cell!r}; a level is a text or a number.")
    return parse_labels(cell, where)[0]


def _name(name: object, key: str) -> str:
    if not isinstance(name, str):
        raise SpecError(f"{key} names {name!r}; names are texts.")
    return str(name)


def _listed(names: Sequence[str]) -> str:
    *others, last = map(repr, names)
    return f"{', '.join(others)} and {last}" if others else last
