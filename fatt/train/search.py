"""The search: from which trees descents begin, and what they are asked to improve.

Descents begin with trees that are grown greedily, go on with the weight of fairness
that the best of them demands, then with a price on the gap between groups, and end with
other trees to choose from. For the paper's algorithm generations follow each other.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.random import Generator

from fatt.progress import Progress
from fatt.threads import each
from fatt.train import population
from fatt.train.descent import Known, descend
from fatt.train.fitness import Archive, Limits, Objective, Scored
from fatt.train.genome import Genome
from fatt.train.growth import Leaf, grow
from fatt.train.settings import Settings
from fatt.train.teacher import MOST_PEOPLE
from fatt.train.training_set import UNITS

#: What it costs to tear the boxes of all people when first trees are grown, and the
#: largest size of these trees.
_CAUTIONS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
_FIRST_LEAVES = 16
#: How many of the best trees go on with another weight, or with all people.
_KEPT = 3
#: With more people than a teacher takes, descents begin with so many.
_SAMPLE = 6_000
#: It is worth so much accuracy to halve the share of people treated unfairly, to which
#: a small constant is added.
_HALF, _UNMISSED = 0.015, 0.03
_ROUNDS = 3
#: Weights that differ by less choose the same trees.
_SAME_WEIGHT = 0.01
#: How often a weight is tried that makes trees fair enough.
_ATTEMPTS = 6
#: How much more or less fairness counts where other trees to choose from are sought.
_ASIDE = (0.25, 4.0)
#: How many leaves small ones may have.
_SIZES = (2, 3, 4, 6, 8)

#: What the gap between groups costs, in turn: finely, because small steps matter.
_PRICES = (0.02, 0.05, 0.08, 0.12, 0.16, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.7, 1.0, 2.0)
#: With which caution trees are grown anew for each of these.
_REGROWN = (0.1, 0.4)

#: Makes the tree with which a descent begins.
Start: TypeAlias = Callable[[], Genome]


@dataclass(eq=False)
class Search:
    """A search, and what it has found."""

    objective: Objective
    settings: Settings
    rng: Generator
    end: float
    progress: Progress | None
    n_threads: int
    archive: Archive = field(default_factory=Archive)
    n_iter: int = 0

    def is_over(self) -> bool:
        """Tell whether it has taken long enough."""
        return time.monotonic() >= self.end

    def best(self, count: int) -> list[Scored]:
        """Return the fittest trees so far, at the present weight."""
        valued = map(self.objective.valued, self.archive)
        return sorted(valued, key=lambda one: (-one.fitness, one.n_leaves))[:count]


def run(search: Search) -> None:
    """Search, by the algorithm that was chosen."""
    (_breed if search.settings.algorithm == "paper" else _descend)(search)


def _breed(search: Search) -> None:
    """Let generations follow each other until it is time to stop."""
    settings = search.settings
    generations = population.evolve(
        search.objective,
        search.archive,
        rng=search.rng,
        operators=settings.operators,
        n_threads=search.n_threads,
    )
    for number, _ in enumerate(generations):
        search.n_iter = number
        if search.progress is not None:
            search.progress(number, settings.max_iter)
        if number >= settings.max_iter or search.is_over():
            break


def _descend(search: Search) -> None:
    """Descend from several trees, then from the best ones with a better weight."""
    whole = search.objective
    if whole.is_one_sided:
        return
    n_people = whole.people.n_people
    if n_people > MOST_PEOPLE:
        some = np.sort(search.rng.choice(n_people, size=_SAMPLE, replace=False))
        search.objective, found = whole.of_people(some), search.archive
        search.archive = Archive()
        try:
            _settle_all(search)
        finally:
            rough, search.archive = search.archive, found
            weight = search.objective.fairness_weight
            search.objective = whole.weighted(weight)
            # A leaf that was large enough among some may be too small among all.
            tidied = (whole.tidied(scored.tree) for scored in rough)
            found.add(map(whole.score, tidied))
        if len(found):
            _go_on(search, 1)
            _come_closer(search)
    else:
        _settle_all(search)


def _settle_all(search: Search) -> None:
    """Find a weight, close gaps, and look for other trees to choose from."""
    root, first = Leaf.of_all(search.objective), _first(search.settings.limits)
    starts: list[Start] = [
        partial(grow, root, first, caution=caution) for caution in _CAUTIONS
    ]
    _settle(search, starts)
    _come_closer(search)
    if search.settings.min_fairness is not None and len(search.archive):
        _reach(search, search.settings.min_fairness)
    elif len(search.archive) and 0 < search.objective.fairness_weight < 1:
        _look_aside(search, root)


def _look_aside(search: Search, root: Leaf) -> None:
    """Add trees to choose from: more accurate ones, fairer ones, and smaller ones."""
    objective = search.objective
    for factor in _ASIDE:
        search.objective = objective.weighted(_times(objective, factor))
        _go_on(search, 1)
    for size in _SIZES:
        limits = replace(objective.limits, max_leaves=size)
        if size < objective.limits.max_leaves:
            search.objective = replace(objective, limits=limits)
            _improve(search, [partial(grow, root, limits, caution=_CAUTIONS[4])])
    search.objective = objective


def _as_it_is(tree: Genome) -> Genome:
    return tree


def _first(limits: Limits) -> Limits:
    """Return how large first trees may become."""
    return replace(limits, max_leaves=min(limits.max_leaves, _FIRST_LEAVES))


def _settle(search: Search, starts: list[Start]) -> None:
    """Descend with a weight, then with the one that the unfair share demands."""
    _improve(search, starts)
    for _ in range(_ROUNDS - 1):
        if search.settings.fairness_weight != "auto" or not len(search.archive):
            return
        # What halving the unfair share is worth, at the share that there is.
        share = 1 - search.best(1)[0].fairness
        odds = _HALF / (np.log(2) * (share + _UNMISSED))
        weight = float(odds / (1 + odds))
        if abs(weight - search.objective.fairness_weight) < _SAME_WEIGHT:
            return
        search.objective = search.objective.weighted(weight)
        _go_on(search, _KEPT)


def _come_closer(search: Search) -> None:
    """Raise the price of the gap between groups until it is small enough."""
    settings, groups = search.settings, search.objective.groups
    if groups is None or not len(search.archive) or settings.asked_of_groups is None:
        return
    prices = _PRICES if settings.group_weight is None else (settings.group_weight,)
    n_close = 0
    for price in prices:
        best = search.best(1)[0]
        spread = groups.spread(search.objective.labels(best.tree))
        # A little beyond what is enough, there may be better trees that are close.
        n_close += settings.is_close(*spread[:4])
        if n_close > 2 and settings.group_weight is None:
            break
        search.objective = replace(
            search.objective, gap_price=price, slope=spread.slope
        )
        starts: list[Start] = [
            partial(_as_it_is, scored.tree) for scored in search.best(_KEPT)
        ]
        starts += [partial(_regrow, search.objective, caution) for caution in _REGROWN]
        _improve(search, starts)
    if settings.group_weight is None:
        # What is close enough is chosen without a price.
        search.objective = replace(search.objective, gap_price=0.0, slope=None)


def _regrow(objective: Objective, caution: float) -> Genome:
    """Grow a tree for which labels are worth what they are with the price of a gap."""
    assert objective.slope is not None
    assert objective.groups is not None
    shift = np.rint(objective.gap_price * objective.slope * UNITS).astype(np.int64)
    worth = objective.worth + np.maximum(shift, 0)[:, np.newaxis]
    # Labels are worth no less than nothing, whichever way the price goes.
    positive = objective.groups.positive
    worth[:, positive] = objective.worth[:, positive] + np.maximum(-shift, 0)
    root = Leaf.of_all(replace(objective, worth=worth))
    return grow(root, _first(objective.limits), caution=caution)


def _reach(search: Search, min_fairness: float) -> None:
    """Find the smallest weight with which trees are fair enough."""
    enough: Objective | None = None
    too_little: Objective | None = None
    for _ in range(_ATTEMPTS):
        if search.best(1)[0].fairness >= min_fairness:
            enough = search.objective
        else:
            too_little = search.objective
        if enough is None:
            factor = 4.0
        elif too_little is None:
            factor = 0.25
        else:
            ratio = _odds(enough) / _odds(too_little)
            factor = np.sqrt(ratio) / (1 if search.objective is too_little else ratio)
        search.objective = search.objective.weighted(_times(search.objective, factor))
        _go_on(search, _KEPT)
    if search.best(1)[0].fairness < min_fairness and enough is not None:
        search.objective = enough


def _odds(objective: Objective) -> float:
    return objective.fairness_weight / (1 - objective.fairness_weight)


def _times(objective: Objective, factor: float) -> float:
    """Return the weight at which fairness counts so many times as much as now."""
    odds = factor * _odds(objective)
    return float(odds / (1 + odds))


def _go_on(search: Search, count: int) -> None:
    """Descend again from the best trees."""
    best = search.best(count)
    _improve(search, [partial(_as_it_is, scored.tree) for scored in best])


def _improve(search: Search, starts: list[Start]) -> None:
    """Descend from each of several trees, and keep all that is found on the way."""
    objective, interrupted = search.objective, threading.Event()
    seeds = search.rng.spawn(len(starts))
    paths: list[list[Scored]] = [[] for _ in starts]
    known: Known = {}
    finished = itertools.count(1)

    def is_over() -> bool:
        return interrupted.is_set() or search.is_over()

    def go(number: int) -> int:
        if is_over() and (number or len(search.archive)):
            return 0
        n_passes = descend(
            objective,
            starts[number](),
            seeds[number],
            passes=search.settings.max_iter,
            is_over=is_over,
            found=paths[number],
            known=known,
        )
        if search.progress is not None:
            search.progress(next(finished), len(starts))
        return n_passes

    try:
        search.n_iter += sum(
            each(go, range(len(starts)), search.n_threads, stop=interrupted.set)
        )
    finally:
        search.archive.add(itertools.chain.from_iterable(paths))
