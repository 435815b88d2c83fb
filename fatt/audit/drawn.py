"""People who are made from others, in the user's own kind of table."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.certificate.columns import Codes, Column
from fatt.ensemble import Ensemble
from fatt.ensemble.tables import places_of
from fatt.people import People
from fatt.people.edits import with_changes
from fatt.region import Variables
from fatt.verdict import changes_between, values_of

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Drawn:
    """People similar to others, in the user's own kind of table.

    Attributes
    ----------
    index : ndarray of shape (n_drawn,)
        The row of the person to whom each is similar, increasing.
    make
        Makes a table of some of them, given their places.
    own, values : ndarray of shape (n_drawn, n_variables)
        The values of the person, and of the one who is similar.
    """

    index: Places
    make: Callable[[Places], Any]
    own: Floats
    values: Floats

    def __len__(self) -> int:
        return len(self.index)

    @functools.cached_property
    def table(self) -> Any:
        """All of them in one table."""
        return self.make(np.arange(len(self)))

    def alone(self, place: int) -> Drawn:
        """Return one of them, in a table of its own."""
        one = np.array([place])
        return Drawn(
            self.index[one],
            lambda places: self.make(one[places]),
            self.own[one],
            self.values[one],
        )

    def changes(self, place: int, variables: Variables) -> str:
        """Say how one of them differs from the person, as far as we can read it."""
        features = variables.ensemble.features
        own, other = self.own[place], self.values[place]
        changes = changes_between(
            values_of(features, own), values_of(features, other, made_of=own)
        )
        return ", ".join(f"{name} {change}" for name, change in changes.items())


class Drafts:
    """People in the making: each begins as the person to whom it is to be similar.

    Attributes
    ----------
    columns
        The columns behind each variable.
    index : ndarray of shape (n_drawn,)
        The row of that person.
    own, values : ndarray of shape (n_drawn, n_variables)
        That person's values, and the values that are written.
    donor : ndarray of shape (n_drawn, n_variables)
        From which row the cells of each variable are taken.
    seen : ndarray of shape (n_drawn, n_variables)
        What these cells, or the values that are written, mean to us.
    """

    def __init__(self, index: Places, own: Floats, columns: tuple[Column, ...]) -> None:
        self.index, self.own, self.columns = index, own, columns
        self.values, self.seen = own.copy(), own.copy()
        self.donor = np.repeat(index[:, np.newaxis], own.shape[1], axis=1)

    def write(self, who: Places, index: int | Places, values: Floats) -> None:
        """Give some of them a value, all in one variable or each in one."""
        self.values[who, index] = self.seen[who, index] = values

    def take(self, who: Places, index: int, rows: Places, values: Floats) -> None:
        """Give some of them the cells of others, who have these values."""
        self.donor[who, index] = rows
        self.seen[who, index] = values

    def drawn(self, people: People, variables: Variables) -> Drawn | None:
        """Return those who are somebody else, each once."""
        taken = self.donor != self.index[:, np.newaxis]
        # Cells that mean the same to us are the same, unless we do not know them.
        known = [
            len(one.labels) if isinstance(one, Codes) else np.inf
            for one in self.columns
        ]
        is_unknown = taken & (self.seen >= np.array(known))
        is_other = ~_equal(self.seen, self.own) | is_unknown
        key = np.where(is_unknown, -1.0 - self.donor, self.seen)
        rows = np.column_stack([self.index, is_unknown, key])
        first = {row.tobytes(): place for place, row in enumerate(rows)}
        keep = np.sort(np.array([*first.values()], dtype=np.int64))
        keep = keep[is_other[keep].any(axis=1)]
        if not keep.size:
            return None

        def make(places: Places) -> Any:
            some = keep[places]
            table = self._exchanged(people, variables.model, some)
            before, after = map(variables.scatter, (self.own[some], self.values[some]))
            return with_changes(table, before, after, variables.model)

        return Drawn(self.index[keep], make, self.own[keep], self.seen[keep])

    def _exchanged(self, people: People, model: Ensemble, keep: Places) -> Any:
        """Return rows of the user's table, with cells of others as they stand there."""
        index, donor = self.index[keep], self.donor[keep]
        rows = people.take(index)
        taken = (donor != index[:, np.newaxis]).any(axis=0)
        columns = [
            (place, donor[:, variable])
            for variable in np.flatnonzero(taken).tolist()
            for place in self.columns[variable].columns
        ]
        if people.frame is None:
            for column, row in columns:
                rows[:, column] = people.table[row, column]
            return rows
        places = places_of(people.frame, model.features, model.inputs)
        for column, row in columns:
            rows = _with_column(people, rows, places[column], row)
        return rows


def _equal(values: Floats, others: Floats) -> Flags:
    return np.asarray((values == others) | (np.isnan(values) & np.isnan(others)))


def _with_column(people: People, rows: Any, place: int, donor: Places) -> Any:
    import narwhals as nw

    frame = people.frame
    assert frame is not None
    if frame.implementation.is_pandas_like():
        rows = rows.copy(deep=False)
        cells = frame.to_native().iloc[donor, place]
        cells.index = rows.index
        rows.isetitem(place, cells)
        return rows
    cells = frame[:, place][donor.tolist()]
    return nw.from_native(rows, eager_only=True).with_columns(cells).to_native()
