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

# The verifier takes longer than the search: in each round only those partners are
# verified with which most labels are right.
_VERIFIED = 4


def join_trees(
    best: Candidate,
    partners: Sequence[Candidate],
    objective: Objective,
    people: People,
    *,
    n_trees: int,
    n_threads: int,
    deadline: Deadline,
) -> list[Candidate]:
    """Add trees to the best one, and keep what is fitter than it.

    Fitness counts accuracy, all leaves, and the fairness that the verifier proves.

    Parameters
    ----------
    best
        The best single tree.
    partners
        Trees that may be added.
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
        The models that beat the best tree.
    """
    scores = [_scores(one.ensemble, people) for one in partners]
    team, total, found = [best], _scores(best.ensemble, people), list[Candidate]()
    while len(team) < n_trees and not deadline.is_over():
        worth = [objective.worth_of(np.argmax(total + s, axis=1)) for s in scores]
        first = np.argsort(-np.array(worth), kind="stable")[:_VERIFIED].tolist()
        tried = {
            place: appraise_together(
                [*team, partners[place]], objective, people, n_threads
            )
            for place in first
        }
        # Two trees seldom beat one, where three do: go on until there are enough.
        place = max(tried, key=lambda place: tried[place].fitness)
        team.append(partners[place])
        total = total + scores[place]
        found.append(tried[place])
    return [together for together in found if together.fitness > best.fitness]


def _scores(tree: Ensemble, people: People) -> NDArray[np.float64]:
    """Return what a single tree says about each person."""
    leaves = leaves_of(tree, people.rows)[:, 0]
    return np.asarray(tree.trees.values[tree.trees.nodes["leaf"][leaves]])
