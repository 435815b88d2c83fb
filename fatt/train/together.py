"""Several trees that together beat the best single one, if there are such."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Ensemble
from fatt.train.appraise import appraise_together
from fatt.train.leaves import leaves_of
from fatt.train.objective import Objective
from fatt.train.people import People
from fatt.train.progress import Deadline
from fatt.train.result import Candidate

# The verifier takes longer than the search: only so many trees are considered, and of
# each round only those partners are verified with which most labels are right.
_CONSIDERED, _VERIFIED = 40, 4


def join_trees(
    singles: Sequence[Candidate],
    objective: Objective,
    people: People,
    *,
    n_trees: int,
    n_threads: int,
    deadline: Deadline,
) -> list[Candidate]:
    """Add trees to the best one as long as they are better on all counts together.

    What is better is decided by the verifier: at least as accurate and at least as
    fair, and the fitness, which counts leaves too, is higher.

    Parameters
    ----------
    singles
        Trees to choose from.
    objective
        What the search maximised.
    people
        The training people.
    n_trees
        Largest number of trees.
    n_threads
        Number of threads; the result does not depend on it.
    deadline
        When to stop.

    Returns
    -------
    list of Candidate
        The models that beat the best tree, each larger than the one before.
    """
    ranked = sorted(singles, key=lambda one: (-one.fitness, one.n_leaves))
    partners = ranked[:_CONSIDERED]
    scores = [_scores(one.ensemble, people) for one in partners]
    team, total, found = [partners[0]], scores[0], [partners[0]]
    while len(team) < n_trees and not deadline.is_over():
        worth = [objective.worth_of(np.argmax(total + s, axis=1)) for s in scores]
        first = np.argsort(-np.array(worth), kind="stable")[:_VERIFIED].tolist()
        tried = {
            place: appraise_together(
                [*team, partners[place]], objective, people, n_threads
            )
            for place in first
        }
        place = max(tried, key=lambda place: tried[place].fitness)
        if not _is_better(tried[place], found[-1]):
            break
        team.append(partners[place])
        total = total + scores[place]
        found.append(tried[place])
    return found[1:]


def _scores(tree: Ensemble, people: People) -> NDArray[np.float64]:
    """Return what a single tree says about each person."""
    leaves = leaves_of(tree, people.rows)[:, 0]
    return np.asarray(tree.trees.values[tree.trees.nodes["leaf"][leaves]])


def _is_better(one: Candidate, other: Candidate) -> bool:
    return (
        one.fitness > other.fitness
        and one.fairness >= other.fairness
        and one.accuracy >= other.accuracy
        and one.balanced_accuracy >= other.balanced_accuracy
    )
