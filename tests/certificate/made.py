"""From the verifier's hard cases to questions for the checker."""

from __future__ import annotations

import numpy as np

from fatt.certificate.judge import Around, Judge
from fatt.certificate.similar import Reach
from fatt.ensemble import Categorical, Ensemble
from fatt.region import Boxes, Schema, Similarity, code_words
from tests.cases import Case


def judge_of(ensemble: Ensemble) -> Judge:
    """A judge over the model's own columns; boxes are handed to it by the tests."""
    schema = Schema.from_ensemble(ensemble)
    name = ensemble.features[0].name
    return Judge(ensemble, schema, Similarity(vary=[name]))


def reaches_of(ensemble: Ensemble, boxes: Boxes) -> list[Reach]:
    """The boxes of a case in the checker's own form."""
    words = code_words(ensemble.features)
    reaches = []
    for index, feature in enumerate(ensemble.features):
        codes = np.zeros((len(boxes), 0), dtype=bool)
        if isinstance(feature, Categorical):
            rank = np.arange(feature.n_codes)
            word = boxes.codes[:, words[index] + rank // 64]
            codes = (word >> (rank % 64).astype(np.uint64)) & np.uint64(1) == 1
        reaches.append(
            Reach(
                boxes.lower[:, index].copy(),
                boxes.upper[:, index].copy(),
                boxes.missing[:, index].copy(),
                codes,
            )
        )
    return reaches


def ways_of(case: Case, own: np.ndarray) -> list[Around]:
    """What the checker sees of each box of a case."""
    judge = judge_of(case.ensemble)
    reaches = reaches_of(case.ensemble, case.boxes)
    return judge.look(reaches, own[case.boxes.person])
