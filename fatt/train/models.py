"""From a tree of the search to a model, with what it is worth exactly.

The search asks of every split alone which sides a box reaches. That is exact as long as
what a box allows of a variable is an interval, one value, or everything: a box that
reaches all the sides on the way to a leaf then reaches the leaf. It may not if a
variable is, say, a number from 3 to 5 or missing, or one of two categories of three.
Such people have boxes with gaps, and the verifier has the last word about them.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from fatt.ensemble import Ensemble
from fatt.region import Variables
from fatt.train.fitness import Objective
from fatt.train.genome import Genome, depth_of, ends, n_leaves, sums_below
from fatt.train.groups import Groups
from fatt.train.growth import impurity
from fatt.train.people import People
from fatt.train.result import Candidate, Figures, Hints
from fatt.train.splits import as_trees
from fatt.train.training_set import Traced, TrainingSet
from fatt.verdict import FAIR
from fatt.verifier import Verifier

Matrix = NDArray[np.float64]
Flags = NDArray[np.bool_]

#: By how much the label of a leaf wins at least.
_AHEAD = 1e-6


class HeldOut(NamedTuple):
    """People who were held out of the training, and their groups, if they have any."""

    people: People
    groups: Groups | None


def appraise(
    tree: Genome, objective: Objective, people: People, held_out: HeldOut | None
) -> Candidate:
    """Return a tree as a model, with what it is worth.

    Parameters
    ----------
    tree
        The tree.
    objective
        What the search maximised.
    people
        The training people.
    held_out
        Others, on whom it is judged as well.
    """
    traced = objective.people.trace(tree)
    labels = -1 - tree[tree < 0].astype(np.int64)
    at_leaves = np.bincount(traced.leaf, minlength=len(labels))
    blank, portable = people.variables.model, objective.people.portable(tree)
    shares = _leaf_shares(tree, traced.leaf, people.worth)
    # Models are checked as a whole, which takes longer than what most are needed for.
    unfair, judged = traced.unfair, None
    if held_out is not None or (unfair & people.has_gaps).any():
        ensemble = replace(blank, trees=as_trees(portable, shares))
        unfair = _confirm(unfair, ensemble, people)
        judged = None if held_out is None else _judge(ensemble, held_out)
    figures = _figures(labels[traced.leaf], people, unfair, objective.groups)
    return Candidate(
        **asdict(figures),
        held_out=judged,
        n_leaves=n_leaves(tree),
        fitness=objective.scored(traced).fitness,
        blank=blank,
        shares=shares,
        tree=portable,
        hints=Hints(
            max_depth=max(1, depth_of(tree)),
            min_samples_leaf=max(1, int(at_leaves.min())),
        ),
        importances=_importances(traced, objective.people, people),
    )


def _importances(traced: Traced, training_set: TrainingSet, people: People) -> Matrix:
    """Return how much purer the splits on each column make leaves, as parts of 1."""
    tree = traced.tree
    at_leaves = [
        np.bincount(traced.leaf, mine, n_leaves(tree)) for mine in people.worth.T
    ]
    mixed = impurity(sums_below(tree, np.stack(at_leaves, axis=1)))
    gains = np.zeros(people.rows.shape[1])
    right = ends(tree)
    for place in np.flatnonzero(tree >= 0).tolist():
        below = mixed[place + 1] + mixed[right[place + 1]]
        gains[training_set.splits[tree[place]].column] += max(0, mixed[place] - below)
    return gains / gains.sum() if gains.any() else gains


def _leaf_shares(tree: Genome, leaf_of: NDArray[np.int64], worth: Matrix) -> Matrix:
    """Return the shares of the classes at each leaf.

    Where the search gave a leaf another label than its people have, for fairness, the
    shares move towards that label just so far that it wins.
    """
    labels = -1 - tree[tree < 0]
    shares: Matrix = np.stack(
        [np.bincount(leaf_of, mine, len(labels)) for mine in worth.T], axis=1
    )
    for row, label in enumerate(labels.tolist()):
        here = shares[row]
        whole = here.sum()
        share = here / whole if whole > 0 else np.full(len(here), 1 / len(here))
        behind = np.delete(share, label).max(initial=0.0) - share[label] + _AHEAD
        if behind > 0:
            share = share / (1 + behind)
            share[label] += behind / (1 + behind)
        shares[row] = share
    return shares


def _confirm(unfair: Flags, ensemble: Ensemble, people: People) -> Flags:
    """Return which people a tree treats unfairly; the verifier decides gaps."""
    chosen = np.flatnonzero(unfair & people.has_gaps)
    if not len(chosen):
        return unfair
    exact = unfair.copy()
    verifier = Verifier(Variables(ensemble, people.variables.schema).ensemble)
    found = verifier.verify(people.values[chosen], people.boxes.of_people(chosen))
    exact[chosen] = found.verdict != FAIR
    return exact


def _judge(ensemble: Ensemble, held_out: HeldOut) -> Figures:
    """Tell what a tree reaches on people who were held out of the training."""
    people = held_out.people
    labels = ensemble.decide(ensemble.mark_missing(people.rows))
    verifier = Verifier(Variables(ensemble, people.variables.schema).ensemble)
    found = verifier.verify(people.values, people.boxes)
    return _figures(labels, people, found.verdict != FAIR, held_out.groups)


def _figures(
    labels: NDArray[np.int64], people: People, unfair: Flags, groups: Groups | None
) -> Figures:
    """Return what such labels, and such unfairness, come to."""
    # Scaled and summed as a report does it, so that both tell the same to the last bit.
    weights = people.weights / people.weights.max()
    right = labels == people.codes
    by_class = np.bincount(people.codes, weights=weights)
    hits = np.bincount(people.codes, weights=weights * right)[by_class > 0]
    fair, other = np.bincount(unfair.astype(np.int64), weights, minlength=2).tolist()
    spread = None if groups is None else groups.spread(labels)
    return Figures(
        accuracy=float(weights[right].sum() / weights.sum()),
        balanced_accuracy=float((hits / by_class[by_class > 0]).mean()),
        fairness=fair / (fair + other),
        gap=0.0 if spread is None else spread.gap,
        gap_error=0.0 if spread is None else spread.error,
        ratio=1.0 if spread is None else spread.ratio,
        ratio_error=0.0 if spread is None else spread.ratio_error,
    )


def paths_of(ensemble: Ensemble, rows: Any) -> Any:
    """Return which nodes of a single tree each person passes, as a sparse matrix."""
    leaves, nodes = leaves_of(ensemble, rows), ensemble.trees.nodes
    passed = leaves[:, np.newaxis] == np.arange(len(nodes))
    # Children stand behind their parent.
    for node in np.flatnonzero(nodes["feature"] >= 0)[::-1].tolist():
        left, right = nodes["left"][node], nodes["right"][node]
        passed[:, node] = passed[:, left] | passed[:, right]
    return csr_matrix(passed, dtype=np.int64)


def leaves_of(ensemble: Ensemble, rows: Any) -> NDArray[np.int64]:
    """Return the leaf of each person in a single tree, as an index of the nodes."""
    trees = ensemble.trees
    # A tree whose leaves hold their own places as scores.
    places = np.flatnonzero(trees.nodes["feature"] < 0)
    numbers = np.zeros(trees.values.shape)
    numbers[trees.nodes["leaf"][places]] = places[:, np.newaxis]
    numbered = replace(ensemble, trees=replace(trees, values=numbers))
    return np.asarray(numbered.raw_scores(rows)[:, 0], dtype=np.int64)
