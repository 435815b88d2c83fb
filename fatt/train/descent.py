"""Local search: small changes to one tree as long as they help."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator

from fatt.train.genome import Genome, ends, is_constant, leaf, replace
from fatt.train.growth import best_split
from fatt.train.objective import Objective, Scored
from fatt.train.variation import split_leaf

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
        changed = [
            new
            for new in neighbours(objective, tree, rng)
            if not is_constant(new) and objective.allows(new)
        ]
        if not changed:
            break
        best = max(objective.score(changed), key=lambda scored: scored.fitness)
        if best.fitness <= path[-1].fitness + 1e-12:
            break
        path.append(best)
    return path


def neighbours(objective: Objective, tree: Genome, rng: Generator) -> Iterator[Genome]:
    """Yield trees that differ from a tree by one small change.

    A threshold moves, another column takes the place of a split, a leaf gets another
    label or a split, a subtree collapses into a leaf or gives way to one of its parts.
    """
    problem, target = objective.problem, objective.target
    reached = problem.reach(tree)
    worth = problem.value(reached.people, target)
    end = ends(tree)
    column = problem.splits.column
    everything = np.arange(len(column))
    for place, code in enumerate(tree.tolist()):
        if code < 0:
            for label in range(problem.n_classes):
                if label != -1 - code:
                    yield replace(tree, place, place + 1, leaf(label))
            split, _ = best_split(
                problem,
                target,
                reached.people[place],
                reached.boxes[place],
                chosen=rng.permutation(everything)[: max(64, len(everything) // 8)],
                min_leaf=objective.limits.min_leaf,
                caution=objective.fairness_weight,
            )
            if split >= 0:
                yield split_leaf(objective, tree, place, split, reached.people[place])
            continue
        for step in _STEPS:
            moved = code + step
            if 0 <= moved < len(column) and column[moved] == column[code]:
                yield _with_split(tree, place, moved)
        for other in rng.integers(len(column), size=4).tolist():
            yield _with_split(tree, place, other)
        stop = int(end[place])
        yield replace(tree, place, stop, leaf(int(np.argmax(worth[place]))))
        middle = int(end[place + 1])
        yield replace(tree, place, stop, tree[place + 1 : middle])
        yield replace(tree, place, stop, tree[middle:stop])


def _with_split(tree: Genome, place: int, split: int) -> Genome:
    changed = tree.copy()
    changed[place] = split
    return changed
