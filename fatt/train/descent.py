"""The default search: coordinate descent, one whole node after the other.

With the rest of a tree as it is, one pass over the people tells exactly what the tree
would be worth with every split at one of its nodes, with other labels, or without the
node. So each node in turn gets the best of all that may stand there, again and again,
until nothing helps any more.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from fatt.train.fitness import Objective, Scored
from fatt.train.genome import Genome, is_constant
from fatt.train.kernels import changes
from fatt.train.training_set import Traced

Integers = NDArray[np.int64]

#: How many classes a new split may tell apart at a node: those worth most there.
_CLASSES = 3


#: What may stand at a node: a new leaf or split, or nodes that are there already.
Piece: TypeAlias = int | slice
#: The best change at a node of a tree, for trees and nodes that were looked at.
Known: TypeAlias = "dict[tuple[bytes, int], Change | None]"


class Change(NamedTuple):
    """What stands at a node from now on.

    Attributes
    ----------
    old
        The nodes that give way.
    new
        What takes their place, in prefix order.
    """

    old: slice
    new: tuple[Piece, ...]

    def apply(self, tree: Genome) -> Genome:
        """Return a tree after the change."""
        parts = [
            tree[piece] if isinstance(piece, slice) else np.array([piece], np.int32)
            for piece in self.new
        ]
        return np.concatenate([tree[: self.old.start], *parts, tree[self.old.stop :]])

    def follow(self, numbers: list[int]) -> list[int]:
        """Return the numbers of the nodes after the change; of new ones it is -1."""
        followed = numbers[: self.old.start]
        for piece in self.new:
            followed += numbers[piece] if isinstance(piece, slice) else [-1]
        return followed + numbers[self.old.stop :]


def descend(
    objective: Objective,
    start: Genome,
    rng: Generator,
    *,
    passes: int,
    is_over: Callable[[], bool],
    found: list[Scored],
    known: Known,
) -> int:
    """Improve a tree node by node as long as that helps.

    Parameters
    ----------
    objective
        What makes a tree better.
    start
        The tree.
    rng
        Chooses the order of the nodes.
    passes
        How often to go through all nodes at most.
    is_over
        Tells when to stop.
    found
        Receives the trees after each pass, the best last; no constant ones.
    known
        Receives the best changes; descents with the same objective share them, because
        they often meet, and each ends with a pass that only confirms a tree.

    Returns
    -------
    int
        How many passes there were.
    """
    trace = objective.people.trace
    traced = trace(objective.tidied(start))
    if is_constant(traced.tree):
        # Whatever else it costs, a tree must tell people apart.
        change = _look_up(known, objective, traced, 0)
        if change is None:
            return 0
        traced = trace(change.apply(traced.tree))
    best = objective.scored(traced)
    found.append(best)
    for number in range(passes):
        if is_over():
            return number
        traced, has_changed = _pass(objective, traced, rng, is_over, known)
        if not has_changed:
            return number + 1
        # Tidying may undo what helped, and a descent would go round in circles.
        tree = objective.tidied(traced.tree)
        if not np.array_equal(tree, traced.tree):
            traced = trace(tree)
        scored = objective.scored(traced)
        if is_constant(traced.tree) or scored.fitness <= best.fitness:
            return number + 1
        best = scored
        found.append(best)
    return passes


def _pass(
    objective: Objective,
    traced: Traced,
    rng: Generator,
    is_over: Callable[[], bool],
    known: Known,
) -> tuple[Traced, bool]:
    """Go once through all nodes; return the tree, and whether anything changed."""
    # By these nodes are found again when the tree has changed.
    numbers = list(range(len(traced.tree)))
    has_changed = False
    for number in rng.permutation(len(numbers)).tolist():
        if is_over():
            break
        for place in [at for at, one in enumerate(numbers) if one == number]:
            change = _look_up(known, objective, traced, place)
            if change is not None:
                traced = objective.people.trace(change.apply(traced.tree))
                numbers = change.follow(numbers)
                has_changed = True
    return traced, has_changed


def _look_up(
    known: Known, objective: Objective, traced: Traced, place: int
) -> Change | None:
    """Return the best of all changes at a node, worked out once for each tree."""
    key = (traced.tree.tobytes(), place)
    if key not in known:
        known[key] = best_change(objective, traced, place)
    return known[key]


def best_change(objective: Objective, traced: Traced, place: int) -> Change | None:
    """Return the best of all changes at a node; None if none makes the tree better.

    Parameters
    ----------
    objective
        What makes a tree better. A tree that gives every person the same label is worse
        than any other.
    traced
        The tree; it is within the limits.
    place
        The node.
    """
    people, limits, per_leaf = objective.people, objective.limits, objective.per_leaf
    tree, (codes, end, depth_at) = traced.tree, traced.outline
    here = slice(place, end[place])
    pieces = _pieces(codes, end, place, people.n_classes)
    parts = [codes[one] if isinstance(one, slice) else [one] for one in pieces]
    elsewhere = _labels(codes[: here.start]) | _labels(codes[here.stop :])
    labels = [elsewhere | _labels(part) for part in parts]
    sizes = [(len(part) + 1) // 2 for part in parts]
    room = limits.max_leaves - (len(codes) + 1) // 2 + sizes[-1]
    pairs = [
        (inner, outer)
        for inner, outer in _pairs(objective, tree, place)
        if sizes[inner] + sizes[outer] <= room
        and depth_at[place] < limits.max_depth
        and len(labels[inner] | labels[outer]) > 1
    ]
    whole, scores = objective.score_changes(
        traced, place, np.array(pairs, dtype=np.int64).reshape(-1, 2)
    )
    alone: list[int] = whole.tolist()
    best: Change | None = None
    most = changes.NEVER if len(labels[-1]) == 1 else alone[-1] - per_leaf * sizes[-1]
    for part, piece in enumerate(pieces[:-1]):
        worth = alone[part] - per_leaf * sizes[part]
        if alone[part] != changes.NEVER and len(labels[part]) > 1 and worth > most:
            best, most = Change(here, (piece,)), worth
    for (inner, outer), split, score in zip(pairs, *_best_of(scores), strict=True):
        worth = score - per_leaf * (sizes[inner] + sizes[outer])
        if score != changes.NEVER and worth > most:
            sides = (pieces[inner], pieces[outer])
            if people.ranks.flipped[split]:
                sides = (pieces[outer], pieces[inner])
            best, most = Change(here, (split, *sides)), worth
    return best


def _best_of(scores: Integers) -> tuple[list[int], list[int]]:
    """Return the best split of each row, and its score; `NEVER` if there are none."""
    if not scores.size:
        return [-1] * len(scores), [changes.NEVER] * len(scores)
    best = scores.argmax(axis=1)
    return best.tolist(), scores[np.arange(len(scores)), best].tolist()


def _labels(codes: list[int]) -> set[int]:
    """Return the leaves among nodes, each label once."""
    return {code for code in codes if code < 0}


def _pieces(
    codes: list[int], end: list[int], place: int, n_classes: int
) -> list[Piece]:
    """Return what may stand at a node, as `fatt.train.kernels` numbers it."""
    here = slice(place, end[place])
    leaves: list[Piece] = [-1 - label for label in range(n_classes)]
    if codes[place] < 0:
        return [*leaves, here, here, here]
    middle = end[place + 1]
    return [*leaves, slice(place + 1, middle), slice(middle, here.stop), here]


def _pairs(objective: Objective, tree: Genome, place: int) -> list[tuple[int, int]]:
    """Return what may stand inside and outside of a new split at a node."""
    n_classes = objective.people.n_classes
    classes = list(range(n_classes))
    if n_classes > _CLASSES:
        worth = objective.worth_at(tree)[place]
        classes = np.sort(np.argsort(-worth, kind="stable")[:_CLASSES]).tolist()
    pairs = list(itertools.permutations(classes, 2))
    if tree[place] >= 0:
        left, right = n_classes, n_classes + 1
        pairs += [(left, right), (right, left)]
    return pairs
