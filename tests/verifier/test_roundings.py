"""Sums whose terms are rounded in between: no tie of them is decided."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np
import pytest

import fatt
from fatt.certificate.arithmetic import Arithmetic
from fatt.ensemble import Argmax, Cut, Ensemble
from fatt.errors import MalformedModelError
from tests.verifier.stumps import stumps


def tied(roundings: int, *, ordered: bool = False) -> Ensemble:
    """Whole numbers that always tie, and one point at which nothing is even."""
    made = stumps(
        [(1.0, 1.0), (1.0, 1.0), (0.0, 0.0)],
        [0, 1, 0],
        Argmax(),
        dtype="float64",
        base=(0.0, 0.0),
        ordered=ordered,
    )
    scoring = msgspec.structs.replace(made.scoring, roundings=roundings)
    return replace(made, scoring=scoring)


def test_whole_numbers_tie_for_certain_only_if_nothing_is_rounded() -> None:
    person = np.zeros((1, 3))
    similarity = fatt.Similarity(noise=0.2)
    for roundings, verdict in ((0, "fair"), (1, "unknown")):
        model = tied(roundings)
        report = fatt.verify(model, person, similarity=similarity)
        assert report.counts[verdict] == 1
        certain = Arithmetic(model)
        own, rival = np.array([0]), np.array([1])
        masses = np.array([1.0]), np.array([1.0])
        least, _ = certain.needed(own, rival, masses, np.array([0]))
        assert (least[0] > 0) == (roundings == 0)
        assert not certain.is_ordered


def test_more_roundings_make_wider_bounds() -> None:
    person = np.zeros((1, 3))
    widths = [np.ptp(tied(count).score_bounds(person)) for count in (0, 5, 500)]
    assert widths[0] < widths[1] < widths[2]


def test_a_single_tree_is_not_taken_as_it_is() -> None:
    made = stumps([(0.0, 1.0)], [0], Cut(at=0.5), dtype="float64", base=(0.5,))
    scoring = msgspec.structs.replace(made.scoring, roundings=2, ordered=False)
    model = replace(made, scoring=scoring)
    report = fatt.verify(model, np.zeros((1, 1)), similarity=fatt.Similarity(noise=0.2))
    assert report.counts["unknown"] == 1


def test_an_order_leaves_no_room_for_roundings() -> None:
    with pytest.raises(MalformedModelError, match="known order"):
        tied(1, ordered=True)
    with pytest.raises(MalformedModelError, match="known order"):
        tied(-1)
