"""The verifiers, each as a function from a person to a verdict."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.peers.question import Question
from benchmarks.veritas import LIMIT, Veritas, pick
from fatt.verdict import FAIR, UNFAIR, UNKNOWN
from fatt.verifier import Verifier

#: The paper of ART's method uses cliques of two trees and one level.
CLIQUE, LEVEL = 2, 1

Judge = Callable[[int], int]


def ours(question: Question) -> Judge:
    """Ours need no limit here: the longest takes milliseconds."""
    verifier = Verifier(question.ensemble)

    def judge(person: int) -> int:
        alone, mine = question.values[[person]], pick(question.boxes, [person])
        return int(verifier.verify(alone, mine, n_jobs=1).verdict[0])

    return judge


def veritas(question: Question) -> Judge:
    peer = Veritas(question.ensemble, question.schema, question.similarity, focal=0.2)
    labels = question.ensemble.decide(question.values)

    def judge(person: int) -> int:
        return peer.times(labels[[person]], pick(question.boxes, [person])).verdicts[0]

    # It brings the model into its own form when it is first asked about a label.
    for label in np.unique(labels):
        judge(int(np.flatnonzero(labels == label)[0]))
    return judge


def milp(question: Question) -> Judge:
    from tests.search_oracles import solve_milp

    labels = question.ensemble.decide(question.values)

    def judge(person: int) -> int:
        own = int(labels[person])
        try:
            largest = solve_milp(
                question.ensemble, question.boxes, person, own, 1 - own, seconds=LIMIT
            )
        except TimeoutError:
            return UNKNOWN
        # A tie goes to label 1; solvers work with tolerances.
        return UNFAIR if largest > (1e-9 if own else -1e-9) else FAIR

    return judge


def art(question: Question) -> Judge:
    """ART proves people fair; whom it does not prove, it says nothing about."""
    from art.estimators.classification.scikitlearn import (
        ScikitlearnGradientBoostingClassifier,
    )
    from art.metrics.verification_decisions_trees import (
        RobustnessVerificationTreeModelsCliqueMethod,
    )

    wrapped = ScikitlearnGradientBoostingClassifier(model=question.model)
    method = RobustnessVerificationTreeModelsCliqueMethod(wrapped, verbose=False)
    labels: Any = question.labels

    def judge(person: int) -> int:
        _, error = method.verify(
            question.values[[person]],
            labels[[person]],
            eps_init=question.epsilon,
            nb_search_steps=1,
            max_clique=CLIQUE,
            max_level=LEVEL,
        )
        return UNKNOWN if error else FAIR

    return judge


VERIFIERS = {
    "fatt": ours,
    "Veritas": veritas,
    "HiGHS MILP": milp,
    "ART, cliques": art,
}
