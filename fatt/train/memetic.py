"""The default search: good first trees, evolution, and local search on the best."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from fatt.train.bits import Target
from fatt.train.descent import descend
from fatt.train.front import Archive
from fatt.train.genetic import Operators
from fatt.train.genome import Genome, is_constant, leaf
from fatt.train.growth import grow
from fatt.train.objective import Objective, Scored
from fatt.train.progress import Deadline
from fatt.train.variation import cross, grow_leaf, prune_branch

#: What it costs to tear everybody's boxes, when first trees are grown.
_CAUTIONS = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8)

_CROSSED, _MUTATED = 0.6, 0.6
#: How many steps of local search the best first tree gets, and the best children.
_FIRST_STEPS, _STEPS = 50, 5
_BEST_CHILDREN = 2


def evolve(
    objective: Objective,
    archive: Archive,
    first: list[Genome],
    rng: Generator,
    operators: Operators,
) -> Iterator[Scored]:
    """Breed and refine trees, and yield the best so far after each generation.

    Parameters
    ----------
    objective
        What makes a tree better.
    archive
        Receives the trees that no other beats.
    first
        The first trees.
    rng
        Makes all choices.
    operators
        The parameters of the evolution. The best trees always survive.
    """
    size = operators.population_size
    known = objective.score(first)
    archive.add(known)
    population = _best(known, size)
    path = descend(objective, population[0], rng, rounds=_FIRST_STEPS)
    while True:
        archive.add(path)
        population = _best([*population, *path], size)
        yield population[0]
        bred = [_child(objective, population, rng, operators) for _ in range(size)]
        bred = [c for c in bred if not is_constant(c) and objective.allows(c)]
        scored = objective.score(bred)
        # A subtree in a new place may need other labels, or may have good ones.
        scored += objective.score([tree.copy() for tree in bred], relabel=True)
        path = scored[:]
        for child in _best(scored, _BEST_CHILDREN):
            path += descend(objective, child, rng, rounds=_STEPS)


def first_trees(
    objective: Objective, targets: Sequence[Target], deadline: Deadline
) -> list[Genome]:
    """Grow trees greedily, careless and cautious ones, of every size.

    Parameters
    ----------
    objective
        Limits the trees.
    targets
        What labels are worth; trees are grown for each of these.
    deadline
        When to be content with the trees that there are.
    """
    found: dict[bytes, Genome] = {}
    for caution, target in itertools.product(_CAUTIONS, targets):
        for chosen in _columns(objective, target):
            if found and deadline.is_over():
                break
            for tree in grow(
                objective.problem,
                target,
                objective.limits,
                chosen=chosen,
                caution=caution,
            ):
                found.setdefault(tree.tobytes(), tree)
    return list(found.values())


def _columns(objective: Objective, target: Target) -> list[NDArray[np.int64]]:
    """Return all splits, and those that do not tear everybody's boxes."""
    problem = objective.problem
    everything = np.arange(len(problem.splits))
    root = problem.reach(leaf(0))
    tried = problem.try_splits(everything[np.newaxis], *root, target)
    calm = everything[tried.torn[0] < 1]
    return [everything] if len(calm) == len(everything) else [everything, calm]


def _child(
    objective: Objective,
    population: list[Scored],
    rng: Generator,
    operators: Operators,
) -> Genome:
    tree = _choose(population, rng).tree
    if rng.random() < _CROSSED:
        other = _choose(population, rng).tree
        tree = cross(
            tree, int(rng.integers(len(tree))), other, int(rng.integers(len(other)))
        )
    if rng.random() < _MUTATED:
        if operators.mutation == "grow-prune" and rng.random() < 0.5:
            splits = np.flatnonzero(tree >= 0)
            if len(splits):
                tree = prune_branch(objective, tree, int(rng.choice(splits)))
        else:
            place = int(rng.choice(np.flatnonzero(tree < 0)))
            tree = grow_leaf(objective, tree, place, rng, share=operators.split_share)
    return objective.tidied(tree)


def _choose(population: list[Scored], rng: Generator) -> Scored:
    """Choose the better of two; they are sorted."""
    return population[int(rng.integers(len(population), size=2).min())]


def _best(trees: list[Scored], count: int) -> list[Scored]:
    """Return the best of the trees, each once; of equals the smallest."""
    distinct = {scored.tree.tobytes(): scored for scored in trees}
    return sorted(distinct.values(), key=lambda s: (-s.fitness, s.n_leaves))[:count]
