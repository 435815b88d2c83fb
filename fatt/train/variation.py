"""How trees become other trees: crossover and mutation."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from fatt.train.bits import Words
from fatt.train.genome import Genome, ends, join, leaf, replace
from fatt.train.growth import best_splits
from fatt.train.objective import Objective


def cross(first: Genome, at: int, second: Genome, other: int) -> Genome:
    """Return the first tree with a subtree replaced by one of the second.

    Parameters
    ----------
    first, at
        The tree, and the root of the subtree that gives way.
    second, other
        Another tree, and the root of the subtree that takes its place.
    """
    part = second[other : ends(second)[other]]
    return replace(first, at, int(ends(first)[at]), part)


def grow_leaf(
    objective: Objective, tree: Genome, place: int, rng: Generator, *, share: float
) -> Genome:
    """Return the tree with one of its leaves split, as purely as a few splits allow.

    Parameters
    ----------
    objective
        What makes a tree better.
    tree
        The tree.
    place
        The leaf.
    rng
        Chooses the splits to try.
    share
        The share of all splits that is tried.
    """
    problem = objective.problem
    n_splits = len(problem.splits)
    count = min(n_splits, max(1, round(share * n_splits)))
    reached = problem.reach(tree)
    people = reached.people[place]
    split, _ = best_splits(
        problem,
        objective.target,
        people[np.newaxis],
        reached.boxes[place][np.newaxis],
        chosen=rng.choice(n_splits, size=count, replace=False)[np.newaxis],
        min_leaf=objective.limits.min_leaf,
    )
    if split[0] < 0:
        return tree
    return replace(tree, place, place + 1, stump(objective, int(split[0]), people))


def stump(objective: Objective, split: int, people: Words) -> Genome:
    """Return a split of which both sides get what is worth most there.

    Parameters
    ----------
    objective
        What makes a tree better.
    split
        The split.
    people
        Who reaches it.
    """
    problem = objective.problem
    left = people & problem.own_left[split]
    worth = problem.value(np.stack([left, people & ~left]), objective.target)
    low, high = np.argmax(worth, axis=1).tolist()
    return join(split, leaf(low), leaf(high))


def prune_branch(objective: Objective, tree: Genome, place: int) -> Genome:
    """Return the tree with one of its splits replaced by a leaf."""
    people = objective.problem.reach(tree).people[place]
    worth = objective.problem.value(people[np.newaxis], objective.target)[0]
    end = int(ends(tree)[place])
    return replace(tree, place, end, leaf(int(np.argmax(worth))))
