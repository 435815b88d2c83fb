"""What trees are worth exactly, once the search has chosen them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fatt.region import Variables
from fatt.train.assemble import assemble
from fatt.train.exact import confirm
from fatt.train.genome import depth_of
from fatt.train.hints import Hints
from fatt.train.objective import Objective, Scored
from fatt.train.people import People
from fatt.train.result import Candidate
from fatt.verdict import FAIR
from fatt.verifier import Verifier


def appraise(scored: Scored, objective: Objective, people: People) -> Candidate:
    """Return a tree as a model, with what it is worth.

    Parameters
    ----------
    scored
        The tree.
    objective
        What the search maximised.
    people
        The training people.
    """
    problem = objective.problem
    ensemble = assemble([scored.tree], problem, people.worth, people.variables.model)
    unfair = confirm(
        problem.is_unfair(scored.tree),
        people.has_gaps,
        lambda: Variables(ensemble, people.variables.schema),
        people.values,
        people.boxes,
    )
    leaf_of = problem.leaf_of(scored.tree)
    labels = -1 - scored.tree[scored.tree < 0].astype(np.int64)
    at_leaves = np.bincount(leaf_of, minlength=len(labels))
    return Candidate(
        *_shares(labels[leaf_of], people, unfair),
        n_leaves=scored.n_leaves,
        fitness=scored.fitness,
        ensemble=ensemble,
        trees=(problem.splits.portable(scored.tree),),
        hints=Hints(
            max_depth=max(1, depth_of(scored.tree)),
            min_samples_leaf=max(1, int(at_leaves.min())),
        ),
    )


def appraise_together(
    singles: Sequence[Candidate], objective: Objective, people: People, n_threads: int
) -> Candidate:
    """Return several trees as one model, with what the verifier proves of it.

    Parameters
    ----------
    singles
        The trees, the most important first.
    objective
        What the search maximised.
    people
        The training people.
    n_threads
        Number of threads.
    """
    problem = objective.problem
    genomes = [problem.splits.genome(tree) for one in singles for tree in one.trees]
    ensemble = assemble(genomes, problem, people.worth, people.variables.model)
    model = Variables(ensemble, people.variables.schema).ensemble
    found = Verifier(model).verify(people.values, people.boxes, n_jobs=n_threads)
    labels = ensemble.decide(people.rows)
    accuracy, balanced, fairness = _shares(labels, people, found.verdict != FAIR)
    size = sum(one.n_leaves for one in singles)
    worth = objective.worth_of(labels)
    fitness = objective.combine(
        np.array([worth]), np.array([fairness]), np.array([size])
    )
    return Candidate(
        accuracy=accuracy,
        balanced_accuracy=balanced,
        fairness=fairness,
        n_leaves=size,
        fitness=float(fitness[0]),
        ensemble=ensemble,
        trees=tuple(tree for one in singles for tree in one.trees),
        hints=singles[0].hints,
    )


def _shares(
    labels: NDArray[np.int64], people: People, unfair: NDArray[np.bool_]
) -> tuple[float, float, float]:
    """Return accuracy, balanced accuracy and fairness."""
    # Scaled and summed as a report does it, so that both tell the same to the last bit.
    weights = people.weights / people.weights.max()
    right = labels == people.codes
    by_class = np.bincount(people.codes, weights=weights)
    hits = np.bincount(people.codes, weights=weights * right)[by_class > 0]
    fair, other = np.bincount(unfair.astype(np.int64), weights, minlength=2).tolist()
    return (
        float(weights[right].sum() / weights.sum()),
        float((hits / by_class[by_class > 0]).mean()),
        fair / (fair + other),
    )
