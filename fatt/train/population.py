"""The genetic algorithm of the paper: selection, crossover, mutation, nothing else.

Ranzato, Urban and Zanella, "Fair Training of Decision Tree Classifiers", section 5.
What the paper leaves open is as in the program that its authors published: how a
subtree is chosen, where a tree is mutated and how often, and that of equally fit trees
the newest leads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from fatt.train.fitness import Archive, Objective, Scored
from fatt.train.genome import Genome, cross, ends
from fatt.train.growth import grow, grow_leaf, prune_branch
from fatt.train.sharing import Share

Selection = Literal["wheel", "best"]
Mutation = Literal["grow", "grow-prune"]

#: How likely the walk to a subtree goes on to the left, and as likely to the right.
_DOWN = 0.3


@dataclass(frozen=True)
class Operators:
    """The parameters of the genetic algorithm.

    Attributes
    ----------
    population_size
        Number of trees in each generation.
    elitism
        How many of the best trees survive unchanged.
    selection
        Whether a tree becomes a parent as often as it is fit, or nearly always the best
        one does.
    mutation
        Whether a mutation only grows trees, or also prunes them.
    split_share
        The share of all splits that is tried when a leaf is split.
    """

    population_size: int
    elitism: int
    selection: Selection
    mutation: Mutation
    split_share: float


def evolve(
    objective: Objective,
    archive: Archive,
    first: list[Genome],
    *,
    rng: Generator,
    operators: Operators,
    share: Share,
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
    share
        Does something for each of several trees, in threads.
    """

    def judge(tree: Genome) -> Scored:
        return objective.score(objective.relabelled(tree))

    population = share(judge, first)
    while True:
        archive.add(population)
        # Of equals the newest first, so that trees go on changing.
        population.reverse()
        population.sort(key=lambda scored: -scored.fitness)
        yield population[0]
        children = [
            _child(objective, population, rng, operators)
            for _ in range(operators.population_size - operators.elitism)
        ]
        elite = population[: operators.elitism]
        population = elite + share(judge, children)


def forest_trees(objective: Objective, count: int, rng: Generator) -> list[Genome]:
    """Return the trees of a random forest: of half of the people, and some splits.

    Parameters
    ----------
    objective
        What makes a tree better.
    count
        How many trees.
    rng
        Draws people and splits.
    """
    n_splits = objective.people.n_splits
    return [
        grow(
            objective,
            objective.limits,
            start=np.flatnonzero(rng.random(objective.people.n_people) < 0.5),
            chosen=rng.choice(n_splits, size=-(-n_splits // 3), replace=False),
        )
        for _ in range(count)
    ]


def _child(
    objective: Objective,
    population: list[Scored],
    rng: Generator,
    operators: Operators,
) -> Genome:
    fitness = np.array([scored.fitness for scored in population])
    first, second = (
        population[_select(fitness, rng, operators.selection)].tree for _ in range(2)
    )
    child = first
    if first is not second:
        child = cross(first, _subtree(first, rng), second, _subtree(second, rng))
    # The more alike the trees are, the more of them are mutated.
    if rng.random() < 1 - np.ptp(fitness):
        child = _mutate(objective, child, rng, operators)
    # Leaves with equal labels stay: the next mutation may make use of their split.
    child = objective.tidied(child, merge=False)
    return child.copy() if objective.allows(child) else first.copy()


def _select(fitness: NDArray[np.float64], rng: Generator, selection: Selection) -> int:
    """Choose a parent; the best tree comes first."""
    # Leaves may cost more than a tree is worth.
    room = np.maximum(fitness, 1e-12)
    room /= room.sum()
    if selection == "best":
        # The first tree that has less room than this: seldom another than the best.
        return int(np.argmax(rng.random() >= room))
    return int(rng.choice(len(room), p=room))


def _subtree(tree: Genome, rng: Generator) -> int:
    """Choose the root of a subtree, on a walk that stops at any split or at a leaf."""
    end = ends(tree)
    place = 0
    while tree[place] >= 0:
        chance = rng.random()
        if chance >= 2 * _DOWN:
            break
        place = place + 1 if chance < _DOWN else int(end[place + 1])
    return place


def _mutate(
    objective: Objective, tree: Genome, rng: Generator, operators: Operators
) -> Genome:
    """Go down to where classes are mixed, and split the leaf there.

    The less mixed they are at a split on the way, the sooner it is pruned instead.
    """
    mixed = _entropy(objective.worth_at(tree).astype(np.float64))
    end = ends(tree)
    place = 0
    while tree[place] >= 0:
        if operators.mutation == "grow-prune" and rng.random() < 1 - mixed[place]:
            return prune_branch(objective, tree, place)
        left, right = place + 1, int(end[place + 1])
        chance = rng.random() * (mixed[left] + mixed[right])
        place = left if chance < mixed[left] else right
    return grow_leaf(objective, tree, place, rng, share=operators.split_share)


def _entropy(worth: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how mixed the classes are, from 0 to 1, one row per set of people."""
    share = worth / np.maximum(worth.sum(axis=1, keepdims=True), 1e-300)
    logarithm = np.log(share, out=np.zeros_like(share), where=share > 0)
    mixed = -(share * logarithm).sum(axis=1)
    return np.asarray(mixed / np.log(worth.shape[1]))
