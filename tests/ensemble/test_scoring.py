"""Labels from scores: links round, and rounding makes ties."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fatt.ensemble import Argmax, Cut
from fatt.ensemble.scoring import CutOff, Cuts, _linked, decide

STEP = {"float32": 2.0**-25, "float64": 2.0**-54}


def near_ties(
    rng: np.random.Generator, dtype: str, large: bool
) -> np.ndarray[Any, Any]:
    """Scores that differ by a few units in the last place of 1, or saturate."""
    steps = rng.integers(-8, 9, size=(40, int(rng.integers(2, 5))))
    level = rng.choice([0.0, 0.3, 17.0, 40.0, 800.0] if large else [0.0, 0.3])
    return np.asarray(level + steps * STEP[dtype] * rng.choice([1, 2, 64]), dtype=dtype)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["float32", "float64"]),
    st.sampled_from(["identity", "softmax", "sigmoid"]),
    st.sampled_from(["first", "last"]),
)
def test_labels_are_those_of_the_exact_link(
    seed: int, dtype: str, link: Any, ties: Any
) -> None:
    rng = np.random.default_rng(seed)
    decision = Argmax(link=link, ties=ties, scale=float(rng.choice([1.0, 0.7])))
    scores = near_ties(rng, dtype, large=link == "sigmoid")
    for row, label in zip(scores, decide(scores, decision), strict=True):
        exact = row.tolist()
        if link != "identity":
            exact = _linked(exact, decision, dtype == "float32")
        best = [index for index, value in enumerate(exact) if value == max(exact)]
        assert label == (best[0] if ties == "first" else best[-1])


def test_softmax_rounds_different_scores_to_a_tie() -> None:
    scores = np.array([[0.0, 2.0**-54]])
    assert decide(scores, Argmax(link="identity")).tolist() == [1]
    assert decide(scores, Argmax(link="softmax")).tolist() == [0]


def test_the_sigmoid_saturates_to_a_tie() -> None:
    scores = np.array([[40.0, 50.0]])
    assert decide(scores, Argmax(link="sigmoid")).tolist() == [0]


def test_the_divisor_comes_before_the_link() -> None:
    scores = np.array([[40.0, 50.0]])
    assert decide(scores, Argmax(link="sigmoid", divisor=10.0)).tolist() == [1]


def test_a_cut_belongs_to_the_second_class() -> None:
    scores = np.array([[0.5], [math.nextafter(0.5, 0)], [0.6]])
    assert decide(scores, Cut(at=0.5)).tolist() == [1, 0, 1]


def test_a_cut_is_not_rounded_to_the_type_of_the_scores() -> None:
    tenth = np.float32(0.1)
    scores = np.array([[tenth]])
    assert decide(scores, Cut(at=float(tenth))).tolist() == [1]
    assert decide(scores, Cut(at=float(tenth) + 1e-12)).tolist() == [0]


def test_a_rule_in_words_says_whether_the_number_itself_suffices() -> None:
    cut = CutOff(threshold=0.3, of="yes")
    assert cut.words() == "'yes' from a probability of 0.3 on"
    score = CutOff(threshold=-1.0, strict=True, on="score")
    assert score.words() == "the second class above a raw score of -1.0"
    bands = {"names": ("a", "b", "c"), "ends": (0.0, 0.3, 0.7), "of": 1}
    by = "by its probability of 1:"
    from_on, above = Cuts(**bands), Cuts(**bands, strict=True)  # type: ignore[arg-type]
    assert from_on.words() == f"{by} 'c' from 0.7 on, 'b' from 0.3 on, else 'a'"
    assert above.words() == f"{by} 'c' above 0.7, 'b' above 0.3, else 'a'"
