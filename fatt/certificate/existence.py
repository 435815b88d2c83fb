"""Which people exist and what moves along, straight from a similarity and a schema.

The search has code of its own for this, in `fatt.region.combined`; none of it is used
here. A pair of people is looked at as it is, column by column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fatt.certificate.columns import Codes, Column
from fatt.ensemble import Label
from fatt.errors import CertificateError
from fatt.region import Relation, Schema, Similarity
from fatt.region.existence import Row, Swaps, Together

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Integers = NDArray[np.int64]

#: Stands for a missing value.
_MISSING = -1


class _Table(NamedTuple):
    """Combinations that exist, and whether a missing value may be any of theirs."""

    places: list[int]
    rows: Integers
    by_known: bool


class _Swap(NamedTuple):
    """A follower, and by leader what becomes of its codes."""

    follower: int
    by: list[tuple[int, dict[int, int]]]


class Existence:
    """Tells by the words of each alternative who exists, and who has followed.

    Parameters
    ----------
    columns
        What the model reads, by variable.
    schema
        Its variables.
    similarity
        Who is similar to whom.

    Attributes
    ----------
    says_anything
        Whether anything exists or follows that way.
    """

    def __init__(
        self, columns: Sequence[Column], schema: Schema, similarity: Relation
    ) -> None:
        self._columns, self._schema = columns, schema
        self._place = {v.name: place for place, v in enumerate(schema.variables)}
        self._tables, self._swaps, self._loose = [], [], []
        for one in similarity.alternatives:
            said = [*schema.exist, *one.exist]
            ties = [tie for tie in said if isinstance(tie, Together)]
            tables = [self._table(tie) for tie in ties]
            self._tables.append(tables)
            self._swaps.append([*self._swaps_of(one)])
            self._loose.append(self._loose_of(one, tables))
        self.says_anything = any([*self._tables, *self._swaps])

    def allows(self, number: int, own: Floats, others: Floats) -> Flags:
        """Tell which pairs exist by an alternative, and have followed.

        Parameters
        ----------
        number
            Which alternative.
        own, others : ndarray of shape (n_pairs, n_variables)
            The people, and those who may be similar to them.
        """
        allowed = self.exist(number, own) & self.exist(number, others)
        before, after = _codes(own), _codes(others)
        for swap in self._swaps[number]:
            allowed &= after[:, swap.follower] == _followed(swap, before, after)
        for leaders, followers in self._loose[number]:
            led = (before[:, leaders] != after[:, leaders]).any(axis=1)
            for follower in followers:
                old, new = before[:, follower], after[:, follower]
                stays_known = (old == _MISSING) == (new == _MISSING)
                allowed &= (old == new) | (led & stays_known)
        return allowed

    def exist(self, number: int, values: Floats) -> Flags:
        """Tell which people exist by an alternative."""
        found, codes = np.ones(len(values), dtype=bool), _codes(values)
        for table in self._tables[number]:
            kinds, which = np.unique(
                codes[:, table.places], axis=0, return_inverse=True
            )
            known = [_is_in(table, kind) for kind in kinds]
            found &= np.array(known, dtype=bool)[which.ravel()]
        return found

    def led(self, number: int, own: Floats, others: Floats) -> Floats:
        """Return the others with the levels that followers take by their maps."""
        followed = others.copy()
        # Who follows a follower comes after it has moved.
        for _ in self._swaps[number]:
            for swap in self._swaps[number]:
                codes = _followed(swap, _codes(own), _codes(followed)).astype(float)
                followed[:, swap.follower] = np.where(codes < 0, np.nan, codes)
        return followed

    def _find(self, name: str) -> int:
        return self._place[self._schema.find(name).name]

    def _column(self, place: int) -> Codes:
        column = self._columns[place]
        if not isinstance(column, Codes):
            raise CertificateError(
                f"exist or follow names {column.variable.name!r}, a number without "
                "levels."
            )
        return column

    def _code(self, place: int, label: Label | None) -> int:
        column = self._column(place)
        if label is None:
            return _MISSING
        if str(label).startswith("(other)") and label not in column.labels:
            return len(column.labels)
        return column.code(label)

    def _rows(self, places: list[int], rows: Sequence[Row]) -> Integers:
        return np.array(
            [
                [
                    self._code(place, cell)
                    for place, cell in zip(places, row, strict=True)
                ]
                for row in rows
            ],
            dtype=np.int64,
        ).reshape(-1, len(places))

    def _table(self, one: Together) -> _Table:
        places = [self._find(name) for name in one.names]
        if one.rows is not None:
            return _Table(places, self._rows(places, one.rows), True)
        for seen in self._schema.seen:
            known = [self._find(name) for name in seen.names]
            if seen.rows is not None and {*places} <= {*known}:
                rows = self._rows(known, seen.rows)
                order = [known.index(place) for place in places]
                return _Table(places, rows[:, order], False)
        raise CertificateError(
            f"the schema does not say which combinations of {', '.join(one.names)} "
            "exist."
        )

    def _swaps_of(self, one: Similarity) -> Iterator[_Swap]:
        for name, how in one.follow:
            if isinstance(how, Swaps):
                follower = self._find(name)
                by = []
                for leader, pairs in how.by:
                    place = self._leader(one) if leader is None else self._find(leader)
                    codes = {
                        self._code(follower, old): self._code(follower, new)
                        for old, new in pairs
                    }
                    by.append((place, codes))
                yield _Swap(follower, by)

    def _leader(self, one: Similarity) -> int:
        varied = {self._find(str(move.name)) for move in one.moves if move.varies}
        found = [p for p in varied if isinstance(self._columns[p], Codes)]
        if len(found) != 1:
            raise CertificateError("a map of follow does not say what it follows.")
        return found[0]

    def _loose_of(
        self, one: Similarity, tables: list[_Table]
    ) -> list[tuple[list[int], list[int]]]:
        """Return leaders and followers of what moves to any level that exists."""
        left = {self._find(name) for name, how in one.follow if how is None}
        every, found = set(left), []
        while left:
            followers = {left.pop()}
            while True:
                near = {
                    place
                    for table in tables
                    if followers & {*table.places}
                    for place in table.places
                }
                if near & every <= followers:
                    break
                followers |= near & every
            left -= followers
            found.append((sorted(near - followers), sorted(followers)))
        return found


def _codes(values: Floats) -> Integers:
    """Return codes, and for numbers anything."""
    return np.nan_to_num(values, nan=_MISSING, posinf=0, neginf=0).astype(np.int64)


def _is_in(table: _Table, kind: Integers) -> bool:
    same = table.rows == kind
    if table.by_known:
        same |= kind == _MISSING
    return bool(same.all(axis=1).any())


def _followed(swap: _Swap, before: Integers, after: Integers) -> Integers:
    """Return the level that a follower must have in each pair."""
    wanted = before[:, swap.follower].copy()
    for leader, becomes in swap.by:
        moves = before[:, leader] != after[:, leader]
        now = wanted.copy()
        for old, new in becomes.items():
            now[moves & (wanted == old)] = new
        wanted = now
    return wanted
