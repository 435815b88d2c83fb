"""Verdicts and selection rates by group."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Label
from fatt.errors import SpecError, hint
from fatt.frames import frame_of
from fatt.markup import names_of, notebook, table, tag
from fatt.people import People
from fatt.report.charts import share_bar
from fatt.verdict import VERDICTS, Bounds, Value, in_words, share

if TYPE_CHECKING:
    from fatt.report.report import Report

#: So many groups are shown in a notebook.
_SHOWN_GROUPS = 30


class Group(NamedTuple):
    """How many people a group has, and how many of them are fair.

    Attributes
    ----------
    size
        Number of people.
    counts
        How many of them are ``"fair"``, ``"unfair"`` and ``"unknown"``.
    fairness
        Bounds on the share of fair people, weighted if weights were given.
    """

    size: int
    counts: dict[str, int]
    fairness: Bounds


def count(verdicts: NDArray[np.int8], weight: NDArray[np.float64] | None) -> Group:
    """Count verdicts, and bound the share of fair people.

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
    """Bound the share of fair people."""
    total = fair + unfair + unknown
    if not total:
        # Without people, or without weights, nothing is known.
        return Bounds(0.0, 1.0)
    return Bounds(fair / total, min(1.0, (fair + unknown) / total))


#: What the people of a group have in common: a value, or one for each name.
Key: TypeAlias = Value | tuple[Value, ...]


class Groups(Mapping[Key, Group]):
    """The verdicts of each group: a mapping from the value that its people share.

    Parameters
    ----------
    names
        What people are grouped by.
    found
        The groups, in the order in which they are shown.

    Examples
    --------
    >>> half = Group(2, {"fair": 1, "unfair": 1, "unknown": 0}, Bounds(0.5, 0.5))
    >>> some = Group(4, {"fair": 3, "unfair": 0, "unknown": 1}, Bounds(0.75, 1.0))
    >>> groups = Groups(("sex",), {"F": half, "M": some})
    >>> groups["F"].size
    2
    >>> groups.difference()
    Bounds(lower=0.25, upper=0.5)
    >>> groups.ratio()
    Bounds(lower=0.5, upper=0.6666666666666666)
    """

    def __init__(self, names: Sequence[str], found: Mapping[Any, Group]) -> None:
        self.names = tuple(names)
        self._found: dict[Key, Group] = dict(found)

    def __getitem__(self, key: Key) -> Group:
        return self._found[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def __repr__(self) -> str:
        lines = [
            f"\n {', '.join(map(in_words, key))}: {group.size:,} people, "
            f"{share(group.fairness)} fair"
            for key, group in self.rows()
        ]
        return f"<Groups by {' and '.join(self.names)}{''.join(lines)}>"

    def rows(self) -> list[tuple[tuple[Value, ...], Group]]:
        """Return each group with its values, one for each name."""
        return [
            (key if isinstance(key, tuple) else (key,), group)
            for key, group in self.items()
        ]

    def difference(self) -> Bounds:
        """Bound the largest difference between groups in the share of fair people.

        Returns
        -------
        Bounds
            The difference lies between these, whatever the unknown are. 0 for one
            group.
        """
        lowest, highest = self._ends()
        apart = [high - low for low, high in self._pairs()]
        return Bounds(max(0.0, lowest - highest), max(0.0, *apart, 0.0))

    def ratio(self) -> Bounds:
        """Bound the ratio of the smallest share of fair people to the largest.

        Returns
        -------
        Bounds
            As in `difference`. 1 for one group, or if nobody is fair in any group.
        """
        lowest, highest = self._ends()
        ratios = [low / high for low, high in self._pairs() if high > 0]
        most = min(1.0, highest / lowest) if lowest > 0 else 1.0
        return Bounds(min(1.0, *ratios, 1.0), most)

    def _ends(self) -> tuple[float, float]:
        """Return the largest lower and the smallest upper bound of all groups."""
        shares = [group.fairness for group in self.values()]
        return max(one.lower for one in shares), min(one.upper for one in shares)

    def _pairs(self) -> Iterator[tuple[float, float]]:
        """Yield the lower bound of each group with the upper bound of each other."""
        shares = [group.fairness for group in self.values()]
        for one, other in itertools.permutations(shares, 2):
            yield one.lower, other.upper

    def to_frame(self) -> Any:
        """Return a data frame with one row per group.

        Returns
        -------
        data frame
            Of pandas, polars or pyarrow, the first that is installed. Columns: one for
            each name, ``size``, ``fair``, ``unfair``, ``unknown``, ``lower`` and
            ``upper``.
        """
        keys = [key for key, _ in self.rows()]
        found = list(self.values())
        columns: dict[str, list[Any]] = {
            name: [key[place] for key in keys] for place, name in enumerate(self.names)
        }
        columns["size"] = [group.size for group in found]
        for verdict in map(str, VERDICTS):
            columns[verdict] = [group.counts[verdict] for group in found]
        columns["lower"] = [group.fairness.lower for group in found]
        columns["upper"] = [group.fairness.upper for group in found]
        return frame_of(columns)

    def _repr_html_(self) -> str:
        rows = [
            [
                names_of([in_words(value) for value in key], ", "),
                f"{group.size:,}",
                share_bar(list(group.counts.values()), list(group.counts)),
                share(group.fairness),
            ]
            for key, group in self.rows()[:_SHOWN_GROUPS]
        ]
        more = len(self) - len(rows)
        head = (names_of(self.names, " and "), "people", "", "treated fairly")
        return notebook(
            f"{len(self):,} groups",
            table(head, rows, "Findings by group", numbers=(1, 3), bars=2),
            f"and {more:,} more" if more else None,
            tag("p", f"Largest difference between groups: {share(self.difference())}"),
        )


def by_group(
    people: People,
    names: Sequence[str],
    verdicts: NDArray[np.int8],
    weight: NDArray[np.float64] | None,
) -> Groups:
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
    Groups
        By value; by tuple of values if there are several names. Values in order.
    """
    groups = {}
    for values, mine in members(people, names).items():
        mine_weight = None if weight is None else weight[mine]
        groups[key_of(values)] = count(verdicts[mine], mine_weight)
    return Groups(names, groups)


def members(
    people: People, names: Sequence[str]
) -> dict[tuple[Value, ...], NDArray[np.int64]]:
    """Return the rows of each group, by the values that its people share, in order.

    Parameters
    ----------
    people
        The people.
    names
        The variables or columns whose values, taken together, make the groups.
    """
    columns = [people.column(name) for name in names]
    keys, which = np.unique(
        np.column_stack([group for group, _ in columns]), axis=0, return_inverse=True
    )
    which = which.ravel()
    order = np.argsort(which, kind="stable")
    ends = np.cumsum(np.bincount(which, minlength=len(keys)))
    groups = {
        tuple(value[place] for place, (_, value) in zip(key, columns, strict=True)): (
            mine
        )
        for key, mine in zip(keys.tolist(), np.split(order, ends[:-1]), strict=True)
    }
    return {values: groups[values] for values in in_order(groups)}


def key_of(values: tuple[Value, ...]) -> Key:
    """Return the key of a group: a value, or a tuple if there are several."""
    return values if len(values) > 1 else values[0]


def groups_or_all(report: Report, names: Sequence[Any]) -> Groups:
    """Group by names, else by sensitive features, else not at all."""
    if names or report.people.sensitive:
        return report.by_group(*names)
    return Groups(("people",), {"everybody": report.total})


def in_order(keys: Iterable[tuple[Value, ...]]) -> list[tuple[Value, ...]]:
    """Return the keys of groups in the order in which they are shown."""
    return sorted(keys, key=lambda values: [_place(value) for value in values])


def _place(value: Value) -> tuple[int, float, str]:
    """Order numbers before text and other labels, and these before gaps."""
    if value is None:
        return 2, 0.0, ""
    if isinstance(value, int | float):
        return 0, float(value), ""
    return 1, 0.0, str(value)


#: The rates of a group with fewer people say little about others like them.
FEW = 30

#: Below this impact ratio US agencies take a closer look.
FOUR_FIFTHS = 0.8


class Rate(NamedTuple):
    """How often a group gets a label.

    Attributes
    ----------
    selected
        The share of the group that gets it.
    interval
        An estimate of the share among all people like them: Wilson's interval at 95 %.
    ratio
        The share divided by that of the reference; None if the reference has none.
    is_reference
        Whether this is the reference: the group with the largest share, of those with
        at least `FEW` people. If all have fewer, the largest share of any.
    is_marked
        Whether the ratio is below `FOUR_FIFTHS`, and both groups have `FEW` people.
    """

    selected: float
    interval: Bounds
    ratio: float | None
    is_reference: bool
    is_marked: bool


def wilson(chosen: float, size: int) -> Bounds:
    """Estimate a share from a sample: Wilson's score interval, at 95 %.

    Examples
    --------
    >>> low, high = wilson(3, 10)
    >>> f"{low:.3f} to {high:.3f}"
    '0.108 to 0.603'
    """
    share, z = chosen / size, 1.959964
    middle = (share + z**2 / (2 * size)) / (1 + z**2 / size)
    spread = share * (1 - share) / size + z**2 / (4 * size**2)
    half = z * spread**0.5 / (1 + z**2 / size)
    return Bounds(max(0.0, middle - half), min(1.0, middle + half))


def favorable_label(classes: Sequence[Label], given: Label | None) -> Label | None:
    """Return the favorable label. Default: the second of two classes.

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
    if not classes:
        raise SpecError(
            "the model predicts numbers, which have an order: leave out the favorable "
            f"answer {str(given)!r}."
        )
    raise SpecError(
        f"the favorable answer {str(given)!r} is no answer of the model. "
        f"{hint(given, classes)}"
    )


def selection_rates(
    report: Report, names: Sequence[str], favorable: Label
) -> Mapping[tuple[Value, ...], Rate]:
    """Return how often each group gets a label.

    Parameters
    ----------
    report
        A report. People whom an interrupted run did not reach are left out.
    names
        The variables or columns whose values, taken together, make the groups.
    favorable
        The label.
    """
    columns = [report.people.column(name) for name in names]
    answered = report.findings.answered
    wanted = report.findings.classes.index(favorable)
    gets = report.findings.label[answered] == wanted
    groups = np.column_stack([group for group, _ in columns])[answered]
    keys, which = np.unique(groups, axis=0, return_inverse=True)
    sizes = np.bincount(which.ravel(), minlength=len(keys))
    chosen = np.bincount(which.ravel(), weights=gets, minlength=len(keys))
    shares = chosen / sizes
    if not len(keys):
        return {}
    # A handful of people with the largest share must not hide what others get.
    is_large = sizes >= FEW
    reference = int(np.lexsort((sizes, shares, is_large))[-1])
    largest = shares[reference]
    ratios = shares / largest if largest else np.full(len(keys), np.nan)
    is_marked = (ratios < FOUR_FIFTHS) & is_large & is_large[reference]
    return {
        tuple(value[place] for place, (_, value) in zip(key, columns, strict=True)): (
            Rate(
                float(shares[row]),
                wilson(float(chosen[row]), int(sizes[row])),
                float(ratios[row]) if largest else None,
                is_reference=row == reference,
                is_marked=bool(is_marked[row]),
            )
        )
        for row, key in enumerate(keys.tolist())
    }
