"""The genetic algorithm of the paper: selection, crossover, mutation, nothing else.

Ranzato, Urban and Zanella, "Fair Training of Decision Tree Classifiers", section 5.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.random import Generator

from fatt.train.front import Archive
from fatt.train.genome import Genome
from fatt.train.growth import Limits, grow
from fatt.train.objective import Objective, Scored
from fatt.train.variation import cross, grow_leaf, prune_branch

Mutation = Literal["grow", "grow-prune"]

# How much fitness must vary (in standard deviations) for every second child to be
# mutated: the less it varies, the more children are.
_VARIED = 0.01


@dataclass(frozen=True)
class Operators:
    """The parameters of the genetic algorithm.

    Attributes
    ----------
    population_size
        Number of trees in each generation.
    elitism
        How many of the best trees survive unchanged.
    mutation
        Whether a mutation only grows trees, or also prunes them.
    split_share
        The share of all splits that is tried when a leaf is split.
    """

    population_size: int
    elitism: int
    mutation: Mutation
    split_share: float


def evolve(
    objective: Objective,
    archive: Archive,
    first: list[Genome],
    rng: Generator,
    operators: Operators,
) -> Iterator[Scored]:
    """Breed trees, and yield the best of each generation, the first included.

    Parameters
    ----------
    objective
        What makes a tree better.
    archive
        Receives the trees that no other beats.
    first
        The first generation.
    rng
        Makes all choices.
    operators
        The parameters.
    """
    population = objective.score(first, relabel=True)
    while True:
        archive.add(population)
        population.sort(key=lambda scored: (-scored.fitness, scored.n_leaves))
        yield population[0]
        children = [
            _child(objective, population, rng, operators)
            for _ in range(operators.population_size - operators.elitism)
        ]
        elite = population[: operators.elitism]
        population = elite + objective.score(children, relabel=True)


def forest_trees(
    objective: Objective,
    count: int,
    rng: Generator,
    *,
    limits: Limits | None = None,
    caution: float = 0.0,
) -> list[Genome]:
    """Return the trees of a random forest: of half of the people, and some splits.

    Parameters
    ----------
    objective
        What makes a tree better.
    count
        How many trees.
    rng
        Draws people and splits.
    limits
        How large they may be; by default as the objective says.
    caution
        What it costs to tear the boxes of all people.
    """
    problem = objective.problem
    n_splits = len(problem.splits)
    trees = []
    for _ in range(count):
        half = problem.set_of(rng.random(problem.n_people) < 0.5)
        some = rng.choice(n_splits, size=-(-n_splits // 3), replace=False)
        *_, tree = grow(
            problem,
            objective.target,
            limits or objective.limits,
            chosen=some,
            caution=caution,
            start=half,
        )
        trees.append(tree)
    return trees


def _child(
    objective: Objective,
    population: list[Scored],
    rng: Generator,
    operators: Operators,
) -> Genome:
    fitness = np.array([scored.fitness for scored in population])
    first, second = (_spin_wheel(fitness, rng) for _ in range(2))
    child = cross(population[first].tree, population[second].tree, rng)
    if rng.random() < _VARIED / (_VARIED + fitness.std()):
        if operators.mutation == "grow-prune" and rng.random() < 0.5:
            child = prune_branch(objective, child, rng)
        else:
            child = grow_leaf(objective, child, rng, share=operators.split_share)
    # Leaves with equal labels stay: the next mutation may make use of their split.
    child = objective.tidied(child, merge=False)
    return child if objective.allows(child) else population[first].tree.copy()


def _spin_wheel(fitness: np.ndarray, rng: Generator) -> int:
    """Choose by a wheel on which a tree has as much room as it beats the worst by."""
    room = fitness - fitness.min() + 1e-12
    return int(rng.choice(len(room), p=room / room.sum()))
