"""How people fare by group: verdicts, and rates of selection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Label
from fatt.errors import SpecError, hint
from fatt.people import People
from fatt.verdict import VERDICTS, Bounds, Value

if TYPE_CHECKING:
    from fatt.report.report import Report


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


#: Below this ratio agencies of the US take a closer look.
FOUR_FIFTHS = 0.8


class Rate(NamedTuple):
    """How often a group gets a label.

    Attributes
    ----------
    selected
        The share of the group that gets it.
    ratio
        That share divided by the largest of any group; None if no group gets it.
    """

    selected: float
    ratio: float | None


def favourable_label(classes: Sequence[Label], given: Label | None) -> Label | None:
    """Return the favourable label: the second of two by custom; else it must be given.

    Parameters
    ----------
    classes
        The model's labels.
    given
        The label, or the text that it is written as.

    Raises
    ------
    SpecError
        If the model has no such label.
    """
    if given is None:
        return classes[1] if len(classes) == 2 else None
    for label in classes:
        if str(label) == str(given):
            return label
    raise SpecError(
        f"the model has no answer {str(given)!r} that could be favourable. "
        f"{hint(str(given), [str(label) for label in classes])}"
    )


def selection_rates(
    report: Report, names: Sequence[str], favourable: Label
) -> Mapping[tuple[Value, ...], Rate]:
    """Count how often a label is given, group by group.

    Parameters
    ----------
    report
        A report. People whose label is not known, since the run was interrupted, are
        left out.
    names
        The variables or columns whose values, taken together, make the groups.
    favourable
        The label.
    """
    columns = [report.people.column(name) for name in names]
    label = report.findings.label
    wanted = report.findings.classes.index(favourable)
    groups = np.column_stack([group for group, _ in columns])[label >= 0]
    keys, which = np.unique(groups, axis=0, return_inverse=True)
    sizes = np.bincount(which.ravel(), minlength=len(keys))
    chosen = np.bincount(
        which.ravel(), weights=label[label >= 0] == wanted, minlength=len(keys)
    )
    shares = chosen / sizes
    largest = float(shares.max(initial=0.0))
    return {
        tuple(value[place] for place, (_, value) in zip(key, columns, strict=True)): (
            Rate(share, share / largest if largest else None)
        )
        for key, share in zip(keys.tolist(), shares.tolist(), strict=True)
    }
