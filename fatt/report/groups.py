"""Verdicts counted, for everybody and group by group."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fatt.people import People
from fatt.verdict import VERDICTS, Bounds, Value


class Group(NamedTuple):
    """How many people there are, and how many of them are treated fairly.

    Attributes
    ----------
    size
        Number of people.
    counts
        How many of them are ``"fair"``, ``"unfair"`` and ``"unknown"``.
    fairness
        The share of fair people lies between these; weighted if weights were given.
    """

    size: int
    counts: dict[str, int]
    fairness: Bounds


def count(verdicts: NDArray[np.int8], weight: NDArray[np.float64] | None) -> Group:
    """Count verdicts, and bound the share of the fair ones.

    Parameters
    ----------
    verdicts : ndarray of shape (n_people,)
        Positions in `fatt.verdict.VERDICTS`.
    weight : ndarray of shape (n_people,), optional
        Weight of each person in the share.
    """
    numbers = np.bincount(verdicts, minlength=len(VERDICTS))
    shares = numbers
    if weight is not None:
        shares = np.bincount(verdicts, weights=weight, minlength=len(VERDICTS))
    names = [str(verdict) for verdict in VERDICTS]
    counts = dict(zip(names, numbers.tolist(), strict=True))
    return Group(len(verdicts), counts, share_of_fair(*shares.tolist()))


def share_of_fair(fair: float, unfair: float, unknown: float) -> Bounds:
    """Bound the share of fair people, of whom so many are known to be."""
    total = fair + unfair + unknown
    if not total:
        # Of nobody, or of people without weight, nothing is known.
        return Bounds(0.0, 1.0)
    return Bounds(fair / total, min(1.0, (fair + unknown) / total))


def by_group(
    people: People,
    names: Sequence[str],
    verdicts: NDArray[np.int8],
    weight: NDArray[np.float64] | None,
) -> dict[Value | tuple[Value, ...], Group]:
    """Count the verdicts of each group.

    Parameters
    ----------
    people
        The people.
    names
        The variables or columns whose values, taken together, make the groups.
    verdicts : ndarray of shape (n_people,)
        Positions in `fatt.verdict.VERDICTS`.
    weight : ndarray of shape (n_people,), optional
        Weight of each person.

    Returns
    -------
    dict
        By value; by tuple of values if there are several names. Values in order.
    """
    columns = [people.column(name) for name in names]
    keys, which = np.unique(
        np.column_stack([group for group, _ in columns]), axis=0, return_inverse=True
    )
    which = which.ravel()
    order = np.argsort(which, kind="stable")
    ends = np.cumsum(np.bincount(which, minlength=len(keys)))
    groups: dict[tuple[Value, ...], Group] = {}
    for key, mine in zip(keys.tolist(), np.split(order, ends[:-1]), strict=True):
        values = tuple(
            value[place] for place, (_, value) in zip(key, columns, strict=True)
        )
        mine_weight = None if weight is None else weight[mine]
        groups[values] = count(verdicts[mine], mine_weight)
    ordered = in_order(groups)
    if len(columns) == 1:
        return {values[0]: groups[values] for values in ordered}
    return {values: groups[values] for values in ordered}


def in_order(keys: Iterable[tuple[Value, ...]]) -> list[tuple[Value, ...]]:
    """Return what groups have in common in the order in which they are shown."""
    return sorted(keys, key=lambda values: [_place(value) for value in values])


def _place(value: Value) -> tuple[int, float, str]:
    """Order numbers before text and other labels, and these before gaps."""
    if value is None:
        return 2, 0.0, ""
    if isinstance(value, int | float):
        return 0, float(value), ""
    return 1, 0.0, str(value)
