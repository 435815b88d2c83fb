"""A cut is a number of float64, also where the scores are narrower.

Versions of numpy differ in what they round when a number meets an array.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fatt.ensemble import Argmax, Cut, CutOff
from fatt.ensemble.cutoff import cut_off
from fatt.ensemble.scoring import decide
from tests.verifier.stumps import stumps

TENTH = float(np.float32(0.1))
ABOVE, BELOW = np.nextafter(TENTH, 1.0), np.nextafter(TENTH, 0.0)


@pytest.mark.parametrize(("at", "label"), [(BELOW, 1), (TENTH, 1), (ABOVE, 0)])
def test_a_cut_between_two_floats_of_the_scores_stays_there(
    at: float, label: int
) -> None:
    decision = Cut(at=float(at))
    assert decide(np.full((1, 1), TENTH, dtype=np.float32), decision) == [label]
    for ordered in (True, False):
        model = stumps(
            [(0.0, TENTH), (0.0, 0.0)],
            [0, 0],
            decision,
            dtype="float32",
            base=(0.0,),
            ordered=ordered,
        )
        assert model.predict([[1.0, 0.0]]).tolist() == [label]
        (possible,) = model.possible_labels([[1.0, 0.0]])
        assert possible[label]
        assert possible.sum() == 1 or not ordered


def test_one_of_several_scores_of_no_trees() -> None:
    made = stumps([(0.0, 1.0)], [0], Argmax(), dtype="float64", base=(0.0, 0.25, 0.75))
    bare = replace(made, trees=made.trees.only(np.zeros(1, dtype=bool)))
    for threshold, reached in ((0.25, True), (0.26, False)):
        asked = CutOff(threshold=threshold, on="score", of=bare.classes[1])
        cut = cut_off(bare, asked)
        assert (cut.predict([[0.0]])[0] == bare.classes[1]) == reached
