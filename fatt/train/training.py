"""From a table of people to trees: everything that `FATTClassifier.fit` does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from fatt.ensemble import Categorical
from fatt.train import genetic, memetic
from fatt.train.appraise import appraise
from fatt.train.bits import Target
from fatt.train.candidates import Portable, Split, candidates
from fatt.train.front import Archive
from fatt.train.genome import Genome, is_constant, leaf
from fatt.train.objective import Objective, Scored
from fatt.train.order import order_people
from fatt.train.people import People
from fatt.train.problem import Problem
from fatt.train.progress import Deadline, ProgressBar
from fatt.train.result import Candidate, Front
from fatt.train.settings import Settings
from fatt.train.teacher import MOST_PEOPLE, soft_labels
from fatt.train.together import join_trees
from fatt.train.workers import Workers

#: How much the teacher's word counts against a person's own label.
_TRUST = 0.5
#: How many trees of each size are grown to be joined with the best one.
_PARTNERS = 12


@dataclass(frozen=True, eq=False)
class Trained:
    """What came of a training.

    Attributes
    ----------
    best
        The tree that was chosen.
    front
        All trees that no other beats; empty if there are only constant ones.
    n_iter
        How many generations there were.
    interrupted
        Whether the user interrupted it.
    """

    best: Candidate
    front: Front
    n_iter: int
    interrupted: bool


def train(
    people: People,
    settings: Settings,
    *,
    rng: Generator,
    n_threads: int,
    earlier: Sequence[Portable] = (),
    verbose: bool = False,
    keep_interrupted: bool = False,
) -> Trained:
    """Search for the best tree.

    Parameters
    ----------
    people
        The training people.
    settings
        The parameters.
    rng
        Makes all choices.
    n_threads
        Number of threads; the result does not depend on it.
    earlier
        Trees of an earlier training to start from.
    verbose
        Whether to show progress.
    keep_interrupted
        Whether Ctrl-C ends the search with what was found, if anything was.
    """
    deadline = Deadline(settings.max_seconds)
    seed = int(rng.integers(2**31))
    splits = candidates(
        people.variables,
        people.rows,
        people.boxes,
        people.worth,
        max_bins=settings.max_bins,
        others=[item for tree in earlier for item in tree if isinstance(item, Split)],
    )
    with Workers(n_threads) as workers:
        problem = Problem.of(
            people.variables,
            people.values,
            people.boxes,
            splits,
            people.weights,
            order=order_people(people.values, people.codes),
            workers=workers,
        )
        targets = [
            Target.of(worth[problem.order])
            for worth in _worths(people, settings, seed, n_threads)
        ]
        objective = _objective(problem, targets[-1], settings)
        first = _first_trees(objective, targets, settings, rng, deadline)
        first += [splits.genome(tree) for tree in earlier]
        archive = Archive()
        evolve = memetic.evolve if settings.algorithm == "memetic" else genetic.evolve
        watched = _watch(
            evolve(objective, archive, first, rng, settings.operators),
            settings,
            deadline,
            verbose=verbose,
            keep_interrupted=keep_interrupted,
        )
        found = [appraise(scored, objective, people) for scored in archive]
        if found and settings.n_trees > 1 and not watched.interrupted:
            best = max(found, key=lambda one: one.fitness)
            partners = [*found, *_partners(best.n_leaves, objective, people, rng)]
            found += join_trees(
                best,
                partners,
                objective,
                people,
                n_trees=settings.n_trees,
                n_threads=n_threads,
                deadline=deadline,
            )
        majority = leaf(int(np.argmax(people.worth.sum(axis=0))))
        constant = appraise(objective.score([majority])[0], objective, people)
    front = Front(found)
    best = front.select() if found else constant
    return Trained(best, front, watched.n_iter, watched.interrupted)


def _objective(problem: Problem, target: Target, settings: Settings) -> Objective:
    weight = settings.fairness_weight
    # A leaf costs as much as it is worth to get so many people right.
    leaf_cost = settings.leaf_cost * (1 - weight) / problem.n_people
    return Objective(problem, target, weight, leaf_cost, settings.limits)


def _partners(
    size: int, objective: Objective, people: People, rng: Generator
) -> list[Candidate]:
    """Return small trees that are unlike the best one of some size, and each other."""
    limits = objective.limits
    trees = [
        objective.tidied(tree)
        for n_leaves in sorted({2, max(2, size // 2)})
        for tree in genetic.forest_trees(
            objective,
            _PARTNERS,
            rng,
            limits=replace(limits, max_leaves=min(n_leaves, limits.max_leaves)),
            caution=objective.fairness_weight,
        )
    ]
    useful = {tree.tobytes(): tree for tree in trees if not is_constant(tree)}
    scored = objective.score(list(useful.values()))
    return [appraise(each, objective, people) for each in scored]


class _Watched(NamedTuple):
    n_iter: int
    interrupted: bool


def _watch(
    generations: Iterator[Scored],
    settings: Settings,
    deadline: Deadline,
    *,
    verbose: bool,
    keep_interrupted: bool,
) -> _Watched:
    """Let generations follow each other until it is time to stop."""
    bar = ProgressBar(settings.max_iter, is_on=verbose)
    n_iter, best, stale = -1, -np.inf, 0
    try:
        for n_iter, leader in enumerate(generations):
            bar.show(n_iter, leader)
            stale = 0 if leader.fitness > best else stale + 1
            best = max(best, leader.fitness)
            if (
                n_iter >= settings.max_iter
                or stale >= settings.n_iter_no_change
                or deadline.is_over()
            ):
                break
    except KeyboardInterrupt:
        if n_iter < 0 or not keep_interrupted:
            raise
        return _Watched(n_iter, interrupted=True)
    finally:
        bar.close()
    return _Watched(n_iter, interrupted=False)


def _worths(
    people: People, settings: Settings, seed: int, n_threads: int
) -> list[NDArray[np.float64]]:
    """Return what labels are worth, and the same as a teacher sees it."""
    if settings.algorithm == "paper" or len(people.codes) > MOST_PEOPLE:
        return [people.worth]
    features = people.variables.ensemble.features
    taught = soft_labels(
        people.values,
        people.codes,
        people.weights,
        n_categories=np.array(
            [f.n_codes if isinstance(f, Categorical) else 0 for f in features]
        ),
        seed=seed,
        n_threads=n_threads,
    )
    if taught is None:
        return [people.worth]
    # What a label is worth to a person who has it.
    price = people.worth.max(axis=0, where=people.weights[:, np.newaxis] > 0, initial=0)
    soft = (1 - _TRUST) * people.worth + _TRUST * taught * price
    return [people.worth, soft]


def _first_trees(
    objective: Objective,
    targets: Sequence[Target],
    settings: Settings,
    rng: Generator,
    deadline: Deadline,
) -> list[Genome]:
    if settings.initial == "grown":
        return memetic.first_trees(objective, targets, deadline)
    if settings.initial == "forest":
        return genetic.forest_trees(objective, settings.population_size, rng)
    return [leaf(0) for _ in range(settings.population_size)]
