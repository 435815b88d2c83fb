"""One-hot groups: columns that are flags of one variable, as their rows show."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable

import numpy as np
from numpy.typing import NDArray

from fatt.region.kinds import Binary, OneHot

#: The level of a group of columns that are all 0.
NONE = "none of these"


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
        prefix, _, level = name.partition("=")
        # With a column of the group's own name nobody could tell the two apart.
        if prefix and level and prefix not in names:
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
        pair = (f"not {levels[0]}", levels[0])
        return Binary(name=prefix, columns=columns, levels=pair)
    dropped = NONE if has_none else None
    return OneHot(name=prefix, columns=columns, levels=levels, dropped=dropped)
