"""Where people are treated unfairly, and where nobody is: regions that can be read."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical
from fatt.ensemble.trees import pack
from fatt.everybody.distributions import Distribution, are_in, names_of_levels
from fatt.everybody.share import Judge, clopper_pearson, distinct
from fatt.progress import Progress
from fatt.region import Boxes, Population
from fatt.region.amounts import Between, short
from fatt.region.boxes import code_words
from fatt.verdict import FAIR, UNFAIR, UNKNOWN, Bounds

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

#: Tells whether it is proved that nobody of a population is unfair.
Prove = Callable[[Population], bool]

#: People from whom regions are learnt, and fresh ones on whom they are measured.
_LEARN, _FRESH = 100_000, 50_000
_PILOT = 2048
#: A region of unfair people is worth telling if its rate is so many times the rate of
#: all, and it holds so much of the unfair; a proved one if it holds so many people.
_TIMES, _OF_UNFAIR, _OF_PEOPLE = 1.5, 0.05, 0.01
#: People from whom a proved region is grown; the largest region counts.
_SEEDS = 4
#: Ends to which an interval of numbers may grow.
_STEPS = np.linspace(0.0, 1.0, 11)


@dataclass(frozen=True, eq=False)
class Region:
    """People who meet some conditions.

    Attributes
    ----------
    where
        The conditions, as `Space` and `Similarity` take them.
    words
        The same as a sentence says it.
    share
        Which share of all people they are.
    rate
        Which share of them is unfair; 0 if that nobody is, is proved.
    of_unfair
        Which share of all unfair people they hold.
    proved
        Whether it is proved that nobody in the region is unfair.
    """

    where: Mapping[str, Any]
    words: str
    share: Bounds
    rate: Bounds
    of_unfair: Bounds
    proved: bool

    def __str__(self) -> str:
        if self.proved:
            return f"{self.words}: never, proved; {self.share:.1%} of the people"
        return (
            f"{self.words}: {self.rate:.1%} are unfair; {self.share:.1%} of the "
            f"people, {self.of_unfair:.1%} of the unfair"
        )


@dataclass(frozen=True, eq=False)
class Regions:
    """Where people are treated unlike somebody similar, and where nobody is.

    Attributes
    ----------
    unfair
        Regions with many unfair people, the one with most of them first.
    free
        Regions in which nobody is unfair, as is proved, the largest first. They may
        overlap.
    rate
        Which share of all people is unfair.
    free_share
        Which share of all people is in some proved region.
    distribution
        How people are drawn, in words.
    confidence
        The confidence of each interval on its own.
    n_people
        On how many fresh people the shares were measured.
    interrupted
        Whether the user interrupted it.
    """

    unfair: tuple[Region, ...]
    free: tuple[Region, ...]
    rate: Bounds
    free_share: Bounds
    distribution: str
    confidence: float
    n_people: int
    interrupted: bool = False

    def __str__(self) -> str:
        lines = [
            f"{self.rate:.1%} of the people are unfair, if they are drawn "
            f"{self.distribution}."
        ]
        lines += [f"- {one}" for one in self.unfair]
        if not self.unfair:
            lines.append("No region holds many more of them than others.")
        lines += [f"- {one}" for one in self.free]
        if not self.free:
            lines.append("No region worth telling was proved to be free of them.")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<{len(self.unfair)} unfair and {len(self.free)} proved regions>"


def regions_of(
    population: Population,
    judge: Judge,
    distribution: Distribution,
    prove: Prove,
    *,
    max_rules: int = 8,
    confidence: float = 0.99,
    seconds: float = 30.0,
    draws: int = _LEARN,
    seed: int = 0,
    progress: Progress | None = None,
) -> Regions:
    """Find where the unfair are, and where nobody is.

    Parameters
    ----------
    population
        Whom the question is about.
    judge
        Decides people.
    distribution
        How they are drawn.
    prove
        Tells whether it is proved that nobody of a population is unfair.
    max_rules, confidence, seconds, draws, seed
        As in `fatt.where_unfair`.
    progress
        Told how many steps are done, and how many there are.
    """
    deadline = time.monotonic() + seconds
    rng = np.random.default_rng(seed)
    count = _affordable(judge, distribution, rng, (seconds / 3, draws))
    tell = progress or (lambda done, total: None)
    people, verdict = _asked(judge, distribution.draw(rng, count))
    tell(1, 2 + max_rules)
    fresh, found = _asked(judge, distribution.draw(rng, max(1, count // 2)))
    tell(2, 2 + max_rules)
    measured = _Measured(population, fresh, found, confidence)
    unfair = _unfair_regions(measured, people, verdict, max_rules)
    kept: list[tuple[Boxes, Flags]] = []
    covered = np.zeros(len(fresh), dtype=bool)
    interrupted = False
    try:
        boxes = _grown(measured, people[verdict == FAIR], prove, (rng, deadline))
        for box in boxes:
            members = are_in(fresh, box, population)
            covered |= members
            # A region that holds an earlier one takes its place.
            kept = [one for one in kept if (one[1] & ~members).any()]
            kept.append((box, members))
            tell(2 + len(kept), 2 + max_rules)
            if len(kept) == max_rules:
                break
    except KeyboardInterrupt:
        interrupted = True
    free = [measured.region(box, proved=True) for box, _ in kept]
    return Regions(
        unfair=tuple(unfair),
        free=tuple(sorted(free, key=lambda one: -one.share.lower)),
        rate=measured.rate(np.ones(len(fresh), dtype=bool)),
        free_share=measured.share(covered),
        distribution=distribution.words,
        confidence=confidence,
        n_people=len(fresh),
        interrupted=interrupted,
    )


def _affordable(
    judge: Judge,
    distribution: Distribution,
    rng: np.random.Generator,
    limits: tuple[float, int],
) -> int:
    """Return how many people there is time for, by those of a pilot."""
    seconds, draws = limits
    people = distribution.draw(rng, _PILOT)
    start = time.monotonic()
    judge(people)
    each = (time.monotonic() - start) / len(people)
    return int(np.clip(seconds / each, min(_PILOT, draws), draws))


def _asked(judge: Judge, people: Floats) -> tuple[Floats, NDArray[Any]]:
    """Return people and their verdicts; each different person is asked once."""
    different, _, inverse = distinct(people)
    return people, judge(different)[inverse]


class _Measured:
    """Fresh people, and what is found of them."""

    def __init__(
        self,
        population: Population,
        people: Floats,
        verdict: NDArray[Any],
        confidence: float,
    ) -> None:
        self.population, self.people = population, people
        self.verdict, self.confidence = verdict, confidence

    def share(self, members: Flags) -> Bounds:
        """Bound the share of some people."""
        inside = int(members.sum())
        return self._interval(len(members) - inside, inside, 0)

    def rate(self, members: Flags) -> Bounds:
        """Bound the share of the unfair among some people."""
        found = self.verdict[members]
        return self._interval(*((found == kind).sum() for kind in _KINDS))

    def of_unfair(self, members: Flags) -> Bounds:
        """Bound which share of the unfair some people are."""
        inside = members[self.verdict == UNFAIR]
        return self._interval((~inside).sum(), inside.sum(), 0)

    def _interval(self, fair: int, unfair: int, unknown: int) -> Bounds:
        return clopper_pearson(int(fair), int(unfair), int(unknown), self.confidence)

    def region(self, box: Boxes, *, proved: bool) -> Region:
        """Return what is told of a box."""
        members = are_in(self.people, box, self.population)
        where, words = conditions_of(box, self.population)
        nobody = Bounds(0.0, 0.0)
        return Region(
            where=where,
            words=words,
            share=self.share(members),
            rate=nobody if proved else self.rate(members),
            of_unfair=nobody if proved else self.of_unfair(members),
            proved=proved,
        )


_KINDS = (FAIR, UNFAIR, UNKNOWN)


# ---- Where they are.


def _unfair_regions(
    measured: _Measured, people: Floats, verdict: NDArray[Any], most: int
) -> list[Region]:
    """Return the leaves of a small tree that hold many unfair people."""
    from sklearn.tree import DecisionTreeClassifier

    unfair = verdict == UNFAIR
    if not unfair.any() or unfair.all() or most < 2:
        return []
    columns = _Columns(measured.population)
    least = max(1, len(people) // 200)
    tree = DecisionTreeClassifier(
        max_leaf_nodes=most, min_samples_leaf=least, random_state=0
    ).fit(columns.of(people), unfair)
    rate = float((measured.verdict == UNFAIR).mean())
    regions = [measured.region(box, proved=False) for box in columns.leaves(tree.tree_)]
    worth = [
        one
        for one in regions
        if one.where
        and one.rate.lower > _TIMES * rate
        and one.of_unfair.lower > _OF_UNFAIR
    ]
    return sorted(worth, key=lambda one: -one.of_unfair.lower)


class _Columns:
    """The variables as columns of numbers: of a category one for each level."""

    def __init__(self, population: Population) -> None:
        features, box = population.variables.ensemble.features, population.asked
        self._population = population
        self._columns: list[tuple[int, int | None]] = []
        for index, feature in enumerate(features):
            if not isinstance(feature, Categorical):
                self._columns.append((index, None))
                continue
            codes = np.flatnonzero(box.flags(features, index)[0]).tolist()
            self._columns += [(index, code) for code in codes]

    def of(self, people: Floats) -> Floats:
        """Return the columns of people."""
        columns = [
            people[:, index] if code is None else 1.0 * (people[:, index] == code)
            for index, code in self._columns
        ]
        # Whoever misses a number meets no condition on it.
        return np.asarray(np.nan_to_num(np.stack(columns, axis=1), nan=-1e30))

    def leaves(
        self, tree: Any, node: int = 0, box: Boxes | None = None
    ) -> Iterator[Boxes]:
        """Yield the boxes of a tree's leaves, those that some value is in."""
        box = self._population.asked if box is None else box
        left, right = tree.children_left[node], tree.children_right[node]
        if left < 0:
            yield box
            return
        index, code = self._columns[tree.feature[node]]
        features = self._population.variables.ensemble.features
        missing = box.missing.copy()
        missing[0, index] = False
        box = replace(box, missing=missing)
        if code is None:
            at, feature = float(tree.threshold[node]), features[index]
            low, high = float(box.lower[0, index]), float(box.upper[0, index])
            is_whole = not isinstance(feature, Categorical) and feature.integer
            below = np.floor(at) if is_whole else at
            above = np.floor(at) + 1 if is_whole else np.nextafter(at, np.inf)
            parts = [
                (left, with_numbers(box, index, low, min(high, below))),
                (right, with_numbers(box, index, max(low, above), high)),
            ]
        else:
            flags = box.flags(features, index)[0]
            own = np.arange(len(flags)) == code
            parts = [
                (left, with_codes(self._population, box, index, flags & ~own)),
                (right, with_codes(self._population, box, index, flags & own)),
            ]
        for child, part in parts:
            yield from self.leaves(tree, child, part)


# ---- Where nobody is.


def _grown(
    measured: _Measured,
    people: Floats,
    prove: Prove,
    effort: tuple[np.random.Generator, float],
) -> Iterator[Boxes]:
    """Yield boxes that are proved to be free of the unfair, grown from fair people."""
    rng, deadline = effort
    population = measured.population
    left = people
    while len(left):
        best, largest = None, _OF_PEOPLE
        for row in rng.choice(len(left), size=min(_SEEDS, len(left)), replace=False):
            if time.monotonic() > deadline:
                break
            grower = _Grower(population, people, prove, (rng, deadline))
            box = grower.grow(left[row])
            if box is None:
                continue
            share = float((are_in(left, box, population)).sum() / max(1, len(people)))
            if share > largest:
                best, largest = box, share
        if best is None:
            return
        yield best
        left = left[~are_in(left, best, population)]


class _Grower:
    """Widens a box around a person for as long as it is proved to be free."""

    def __init__(
        self,
        population: Population,
        people: Floats,
        prove: Prove,
        effort: tuple[np.random.Generator, float],
    ) -> None:
        self._population, self._people, self._prove = population, people, prove
        self._rng, self._deadline = effort
        self._features = population.variables.ensemble.features

    def _is_free(self, box: Boxes) -> bool:
        if time.monotonic() > self._deadline:
            return False
        return self._prove(self._population.about(box))

    def grow(self, person: Floats) -> Boxes | None:
        """Return a free box with a person in it; None if none is proved."""
        box = self._around(person)
        if not self._is_free(box):
            return None
        names = {name for name, _ in self._moving()}
        others = [i for i, one in enumerate(self._features) if one.name not in names]
        others += [i for i, one in enumerate(self._features) if one.name in names]
        # Whole variables first, those that gain most; by chance in another order.
        gain = [1 - self._held(box, index) for index in others]
        order = np.argsort(-np.array(gain) * self._rng.uniform(0.3, 1, len(gain)))
        rest = []
        for index in np.array(others)[order].tolist():
            wide = self._with_all(box, index)
            if self._same(wide, box, index):
                continue
            if self._is_free(wide):
                box = wide
            else:
                rest.append(index)
        for index in rest:
            if isinstance(self._features[index], Categorical):
                box = self._with_levels(box, index)
            else:
                box = self._with_ends(box, index)
        return box

    def _moving(self) -> Iterator[tuple[str, Any]]:
        population = self._population
        return population.similarity.moving(population.variables.schema)

    def _around(self, person: Floats) -> Boxes:
        """Return the box of the person alone, but for what varies."""
        varied = {name for name, move in self._moving() if move.varies}
        asked = self._population.asked
        box, missing = asked, asked.missing.copy()
        for index, feature in enumerate(self._features):
            if feature.name in varied:
                continue
            value = float(person[index])
            missing[0, index] = np.isnan(value)
            if isinstance(feature, Categorical):
                own = np.arange(feature.n_codes) == value
                box = with_codes(self._population, box, index, own)
            elif np.isnan(value):
                box = with_numbers(box, index, np.inf, -np.inf)
            else:
                box = with_numbers(box, index, value, value)
        return replace(box, missing=missing)

    def _with_all(self, box: Boxes, index: int) -> Boxes:
        """Return the box with all values of a variable."""
        asked = self._population.asked
        missing = box.missing.copy()
        missing[0, index] = asked.missing[0, index]
        wide = replace(box, missing=missing)
        if isinstance(self._features[index], Categorical):
            flags = asked.flags(self._features, index)[0]
            return with_codes(self._population, wide, index, flags)
        ends = float(asked.lower[0, index]), float(asked.upper[0, index])
        return with_numbers(wide, index, *ends)

    def _same(self, one: Boxes, other: Boxes, index: int) -> bool:
        words = code_words(self._features)
        span = slice(int(words[index]), int(words[index + 1]))
        return bool(
            one.lower[0, index] == other.lower[0, index]
            and one.upper[0, index] == other.upper[0, index]
            and one.missing[0, index] == other.missing[0, index]
            and (one.codes[0, span] == other.codes[0, span]).all()
        )

    def _held(self, box: Boxes, index: int) -> float:
        """Return which share of the people has such a value of one variable."""
        column = self._people[:, index]
        feature = self._features[index]
        if isinstance(feature, Categorical):
            flags = box.flags(self._features, index)[0]
            codes = np.nan_to_num(column, nan=feature.n_codes - 1).astype(np.int64)
            return float(flags[codes].mean())
        inside = (column >= box.lower[0, index]) & (column <= box.upper[0, index])
        return float(inside.mean())

    def _with_levels(self, box: Boxes, index: int) -> Boxes:
        """Return the box with more levels, the most frequent ones first."""
        flags = box.flags(self._features, index)[0]
        allowed = self._population.asked.flags(self._features, index)[0]
        column = self._people[:, index]
        others = np.flatnonzero(allowed & ~flags).tolist()
        often = {code: int((column == code).sum()) for code in others}
        for code in sorted(often, key=lambda one: -often[one]):
            own = np.arange(len(flags)) == code
            wide = with_codes(self._population, box, index, flags | own)
            if self._is_free(wide):
                box, flags = wide, flags | own
        return box

    def _with_ends(self, box: Boxes, index: int) -> Boxes:
        """Return the box with ends farther away, as far as bisection proves it."""
        column = self._people[:, index]
        column = column[~np.isnan(column)]
        if not column.size or box.lower[0, index] > box.upper[0, index]:
            return box
        asked = self._population.asked
        ends = np.quantile(column, _STEPS, method="nearest")
        ends = np.unique([*ends, asked.lower[0, index], asked.upper[0, index]])
        low, high = float(box.lower[0, index]), float(box.upper[0, index])
        for farther, is_low in (
            (ends[ends < low][::-1], True),
            (ends[ends > high], False),
        ):
            first, last = 0, len(farther)
            while first < last:
                middle = (first + last + 1) // 2
                end = float(farther[middle - 1])
                low, high = float(box.lower[0, index]), float(box.upper[0, index])
                new = (end, high) if is_low else (low, end)
                wide = with_numbers(box, index, *new)
                if self._is_free(wide):
                    box, first = wide, middle
                else:
                    last = middle - 1
        return box


# ---- Boxes, and how they are told.


def with_numbers(box: Boxes, index: int, low: float, high: float) -> Boxes:
    """Return a box with other numbers in one variable."""
    lower, upper = box.lower.copy(), box.upper.copy()
    lower[0, index], upper[0, index] = low, high
    return replace(box, lower=lower, upper=upper)


def with_codes(population: Population, box: Boxes, index: int, flags: Flags) -> Boxes:
    """Return a box with other codes in one variable."""
    words, codes = code_words(population.variables.ensemble.features), box.codes.copy()
    codes[0, words[index] : words[index + 1]] = pack(flags[np.newaxis])[0]
    return replace(box, codes=codes)


def conditions_of(box: Boxes, population: Population) -> tuple[dict[str, Any], str]:
    """Return the conditions that make a box out of those asked about, also in words."""
    features, asked = population.variables.ensemble.features, population.asked
    where: dict[str, Any] = {}
    words = []
    for index, feature in enumerate(features):
        is_missing = box.missing[0, index]
        if isinstance(feature, Categorical):
            own, all_ = (one.flags(features, index)[0] for one in (box, asked))
            if (own == all_).all() and is_missing == asked.missing[0, index]:
                continue
            names = names_of_levels(population, index)
            labels = [names[code] for code in np.flatnonzero(own).tolist()]
            others = [names[code] for code in np.flatnonzero(all_ & ~own).tolist()]
            where[feature.name] = labels
            words.append(_levels_in_words(feature.name, labels, others))
            continue
        low, high = float(box.lower[0, index]), float(box.upper[0, index])
        least, most = float(asked.lower[0, index]), float(asked.upper[0, index])
        if (low, high) == (least, most) and is_missing == asked.missing[0, index]:
            continue
        if low > high:
            words.append(f"{feature.name} is missing")
            continue
        told = Between(
            -np.inf if low <= least and high < most else low,
            np.inf if high >= most and low > least else high,
        )
        is_one = low == high
        where[feature.name] = f"{short(low)}..{short(low)}" if is_one else told.plain()
        words.append(_numbers_in_words(feature.name, told, is_one))
    return where, " and ".join(words) or "everybody"


def _levels_in_words(name: str, labels: Sequence[Any], others: Sequence[Any]) -> str:
    if 0 < len(others) < len(labels):
        return f"{name} is not {' or '.join(map(str, others))}"
    return f"{name} is {' or '.join(map(str, labels)) or 'missing'}"


def _numbers_in_words(name: str, told: Between, is_one: bool) -> str:
    low, high = told.low, told.high
    if is_one:
        number = low if np.isfinite(low) else high
        return f"{name} is {short(number)}"
    if high == np.inf:
        return f"{name} is at least {short(low)}"
    if low == -np.inf:
        return f"{name} is at most {short(high)}"
    return f"{name} is from {short(low)} to {short(high)}"
