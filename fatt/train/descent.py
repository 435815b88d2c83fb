"""Local search: small changes to one tree as long as they help."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator

from fatt.train.changes import Change
from fatt.train.genome import Genome, ends, is_constant, join, leaf, replace
from fatt.train.growth import best_splits
from fatt.train.objective import Objective, Scored
from fatt.train.variation import stump

#: How far along its column a threshold moves.
_STEPS = (-16, -4, -2, -1, 1, 2, 4, 16)


def descend(
    objective: Objective, start: Scored, rng: Generator, *, rounds: int
) -> list[Scored]:
    """Improve a tree by the best of many small changes, again and again.

    Parameters
    ----------
    objective
        What makes a tree better.
    start
        The tree.
    rng
        Chooses which new splits are tried.
    rounds
        How many changes are made at most.

    Returns
    -------
    list of Scored
        The trees on the way, the best last.
    """
    path = [start]
    for _ in range(rounds):
        tree = path[-1].tree
        end = ends(tree).tolist()
        tried = [
            (change, new)
            for change in neighbours(objective, tree, rng)
            if not is_constant(
                new := replace(tree, change.place, end[change.place], change.part)
            )
            and objective.allows(new)
        ]
        if not tried:
            break
        changes, trees = zip(*tried, strict=True)
        scored = objective.score_changes(tree, changes, trees)
        best = max(scored, key=lambda scored: scored.fitness)
        if best.fitness <= path[-1].fitness + 1e-12:
            break
        path.append(best)
    return path


def neighbours(objective: Objective, tree: Genome, rng: Generator) -> Iterator[Change]:
    """Yield small changes to a tree.

    A threshold moves, another column takes the place of a split, a leaf gets another
    label or a split, a subtree collapses into a leaf or gives way to one of its parts.
    """
    problem, target = objective.problem, objective.target
    column = problem.splits.column
    n_splits = len(column)
    few = max(64, n_splits // 8)
    drawn = [
        rng.permutation(n_splits)[:few] if code < 0 else rng.integers(n_splits, size=4)
        for code in tree.tolist()
    ]
    reached = problem.reach(tree)
    leaves = np.flatnonzero(tree < 0)
    purest, _ = best_splits(
        problem,
        target,
        reached.people[leaves],
        reached.boxes[leaves],
        chosen=np.stack([drawn[place] for place in leaves]),
        min_leaf=objective.limits.min_leaf,
        caution=objective.fairness_weight,
    )
    split_at = dict(zip(leaves.tolist(), purest.tolist(), strict=True))
    worth = problem.value(reached.people, target)
    end = ends(tree).tolist()
    for place, code in enumerate(tree.tolist()):
        if code < 0:
            for label in range(problem.n_classes):
                if label != -1 - code:
                    yield Change(place, leaf(label))
            if split_at[place] >= 0:
                people = reached.people[place]
                yield Change(place, stump(objective, split_at[place], people))
            continue
        left, right = (
            tree[place + 1 : end[place + 1]],
            tree[end[place + 1] : end[place]],
        )
        for step in _STEPS:
            moved = code + step
            if 0 <= moved < n_splits and column[moved] == column[code]:
                yield Change(place, join(moved, left, right))
        for other in drawn[place].tolist():
            yield Change(place, join(other, left, right))
        yield Change(place, leaf(int(np.argmax(worth[place]))))
        yield Change(place, left)
        yield Change(place, right)
