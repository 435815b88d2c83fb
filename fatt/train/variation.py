"""How trees become other trees: crossover and mutation."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from fatt.train.bits import Words
from fatt.train.genome import Genome, ends, leaf, replace
from fatt.train.growth import best_split
from fatt.train.objective import Objective


def cross(first: Genome, second: Genome, rng: Generator) -> Genome:
    """Return the first tree with one of its subtrees replaced by one of the second."""
    at, other = rng.integers(len(first)), rng.integers(len(second))
    part = second[other : ends(second)[other]]
    return replace(first, int(at), int(ends(first)[at]), part)


def grow_leaf(
    objective: Objective, tree: Genome, rng: Generator, *, share: float
) -> Genome:
    """Return the tree with one of its leaves split, as purely as a few splits allow.

    Parameters
    ----------
    objective
        What makes a tree better.
    tree
        The tree.
    rng
        Chooses the leaf, and the splits to try.
    share
        The share of all splits that is tried.
    """
    problem = objective.problem
    place = int(rng.choice(np.flatnonzero(tree < 0)))
    n_splits = len(problem.splits)
    count = min(n_splits, max(1, round(share * n_splits)))
    reached = problem.reach(tree)
    split, _ = best_split(
        problem,
        objective.target,
        reached.people[place],
        reached.boxes[place],
        chosen=rng.choice(n_splits, size=count, replace=False),
        min_leaf=objective.limits.min_leaf,
    )
    if split < 0:
        return tree
    return split_leaf(objective, tree, place, split, reached.people[place])


def split_leaf(
    objective: Objective, tree: Genome, place: int, split: int, people: Words
) -> Genome:
    """Return the tree with a leaf split; both sides get what is worth most there.

    Parameters
    ----------
    objective
        What makes a tree better.
    tree
        The tree.
    place
        Where the leaf is.
    split
        The split.
    people
        Who reaches the leaf.
    """
    problem = objective.problem
    left = people & problem.own_left[split]
    worth = problem.value(np.stack([left, people & ~left]), objective.target)
    labels = np.argmax(worth, axis=1).astype(np.int32)
    part = np.array([split, -1 - labels[0], -1 - labels[1]], dtype=np.int32)
    return replace(tree, place, place + 1, part)


def prune_branch(objective: Objective, tree: Genome, rng: Generator) -> Genome:
    """Return the tree with one of its splits replaced by a leaf."""
    inner = np.flatnonzero(tree >= 0)
    if not len(inner):
        return tree
    place = int(rng.choice(inner))
    people = objective.problem.reach(tree).people[place]
    worth = objective.problem.value(people[np.newaxis], objective.target)[0]
    end = int(ends(tree)[place])
    return replace(tree, place, end, leaf(int(np.argmax(worth))))
