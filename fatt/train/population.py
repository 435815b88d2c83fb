"""The genetic algorithm of the paper: selection, crossover, mutation, nothing else.

Ranzato, Urban and Zanella, "Fair Training of Decision Tree Classifiers", section 5.
What the paper leaves open is as in the program that its authors published: how a
subtree is chosen, where a tree is mutated and how often, and that of equally fit trees
the newest leads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from fatt.threads import each
from fatt.train.fitness import Archive, Objective, Scored
from fatt.train.genome import Genome, cross, ends, join, leaf, leaf_spans, replace
from fatt.train.growth import Leaf, grow

Matrix = NDArray[np.float64]

#: How likely the walk to a subtree goes on to the left, and as likely to the right.
_DOWN = 0.3
# Breeding does not ask which boxes a split tears.
_NO_BOXES = np.zeros(0, dtype=np.int64)


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
        How parents are chosen: one of `CHOICES`.
    mutation
        How trees are mutated: one of `CHOICES`.
    initial
        The first generation: one of `CHOICES`.
    split_share
        The share of all splits that is tried when a leaf is split.
    """

    population_size: int = 32
    elitism: int = 1
    selection: str = "wheel"
    mutation: str = "grow-prune"
    initial: str = "blank"
    split_share: float = 0.1


def evolve(
    objective: Objective,
    archive: Archive,
    *,
    rng: Generator,
    operators: Operators,
    n_threads: int,
) -> Iterator[Scored]:
    """Breed trees, and yield the best of each generation, the first included.

    Parameters
    ----------
    objective
        What makes a tree better.
    archive
        Receives the trees that no other beats.
    rng
        Makes all choices.
    operators
        The parameters.
    n_threads
        Number of threads.
    """

    def judge(tree: Genome) -> Scored:
        return objective.score(objective.relabelled(tree))

    first = _INITIAL[operators.initial](objective, operators.population_size, rng)
    population = each(judge, first, n_threads)
    while True:
        archive.add(population)
        # Among equally fit trees the newest comes first, so that trees go on changing.
        population.reverse()
        population.sort(key=lambda scored: -scored.fitness)
        yield population[0]
        children = [
            _child(objective, population, rng, operators)
            for _ in range(operators.population_size - operators.elitism)
        ]
        elite = population[: operators.elitism]
        population = elite + each(judge, children, n_threads)


def _blank_trees(objective: Objective, count: int, rng: Generator) -> list[Genome]:
    """Return trees that give every person the same label."""
    return [leaf(0)] * count


def _forest_trees(objective: Objective, count: int, rng: Generator) -> list[Genome]:
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
    n_splits, n_people = objective.people.n_splits, objective.people.n_people

    def drawn() -> Leaf:
        people = np.flatnonzero(rng.random(n_people) < 0.5)
        return Leaf.of(objective, people, _NO_BOXES)

    return [
        grow(
            drawn(),
            objective.limits,
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
    # Leaves may cost more than a tree is worth.
    room = np.maximum(fitness, 1e-12)
    room /= room.sum()
    select = _SELECTIONS[operators.selection]
    first, second = (population[select(room, rng)].tree for _ in range(2))
    child = first
    if first is not second:
        child = cross(first, _subtree(first, rng), second, _subtree(second, rng))
    # The more alike the trees are, the more of them are mutated.
    if rng.random() < 1 - np.ptp(fitness):
        child = _MUTATIONS[operators.mutation](objective, child, rng, operators)
    # Leaves with equal labels stay: the next mutation may make use of their split.
    child = objective.tidied(child, merge=False)
    return child.copy() if objective.allows(child) else first.copy()


def _by_wheel(room: Matrix, rng: Generator) -> int:
    """Choose each tree as often as it has room on the wheel."""
    return int(rng.choice(len(room), p=room))


def _mostly_best(room: Matrix, rng: Generator) -> int:
    """Choose the first tree that has less room than a number: mostly the best one."""
    return int(np.argmax(rng.random() >= room))


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


def _grow(
    objective: Objective,
    tree: Genome,
    rng: Generator,
    operators: Operators,
    *,
    prunes: bool = False,
) -> Genome:
    """Go down to where classes are mixed, and split the leaf there."""
    mixed = _entropy(objective.worth_at(tree).astype(np.float64))
    end = ends(tree)
    place = 0
    while tree[place] >= 0:
        if prunes and rng.random() < 1 - mixed[place]:
            best = int(np.argmax(objective.worth_at(tree)[place]))
            return replace(tree, place, leaf(best))
        left, right = place + 1, int(end[place + 1])
        chance = rng.random() * (mixed[left] + mixed[right])
        place = left if chance < mixed[left] else right
    return _grow_leaf(objective, tree, place, rng, operators.split_share)


def _grow_leaf(
    objective: Objective, tree: Genome, place: int, rng: Generator, share: float
) -> Genome:
    """Split a leaf by the best of some random splits, this share of all."""
    n_splits = objective.people.n_splits
    if not n_splits:
        return tree
    count = min(n_splits, max(1, round(share * n_splits)))
    chosen = rng.choice(n_splits, size=count, replace=False)
    first, _ = leaf_spans(tree)
    people = np.flatnonzero(objective.people.leaf_of(tree) == first[place])
    here = Leaf.of(objective, people, _NO_BOXES)
    split, _ = here.best_split(chosen=chosen)
    if split < 0:
        return tree
    low, high = (side.label for side in here.sides(split))
    return replace(tree, place, join(split, leaf(low), leaf(high)))


def _grow_or_prune(
    objective: Objective, tree: Genome, rng: Generator, operators: Operators
) -> Genome:
    """Grow a leaf; or prune a split on the way, the sooner the less mixed it is."""
    return _grow(objective, tree, rng, operators, prunes=True)


def _entropy(worth: Matrix) -> Matrix:
    """Return how mixed the classes are, from 0 to 1, one row per set of people."""
    share = worth / np.maximum(worth.sum(axis=1, keepdims=True), 1e-300)
    logarithm = np.log(share, out=np.zeros_like(share), where=share > 0)
    mixed = -(share * logarithm).sum(axis=1)
    return np.asarray(mixed / np.log(worth.shape[1]))


_Initial: TypeAlias = Callable[[Objective, int, Generator], list[Genome]]
_Selection: TypeAlias = Callable[[Matrix, Generator], int]
_Mutation: TypeAlias = Callable[[Objective, Genome, Generator, Operators], Genome]

# Another operator is a function and its name here.
_INITIAL: dict[str, _Initial] = {"blank": _blank_trees, "forest": _forest_trees}
_SELECTIONS: dict[str, _Selection] = {"wheel": _by_wheel, "best": _mostly_best}
_MUTATIONS: dict[str, _Mutation] = {"grow": _grow, "grow-prune": _grow_or_prune}

#: The operators to choose from, by the names of the parameters.
CHOICES = {
    "initial": tuple(_INITIAL),
    "selection": tuple(_SELECTIONS),
    "mutation": tuple(_MUTATIONS),
}
#: Smallest and largest value of the others, and whether only whole numbers are meant.
RANGES = {
    "population_size": (2, float("inf"), True),
    "elitism": (0, float("inf"), True),
    "split_share": (0, 1, False),
}
