"""Judge the verifier's outcomes against brute force, person by person."""

from __future__ import annotations

import numpy as np

from fatt.ensemble import Ensemble
from fatt.verdict import (
    BUDGET,
    DECIDED,
    FAIR,
    INTERRUPTED,
    ORDER,
    TIE,
    UNFAIR,
    UNKNOWN,
    Findings,
)
from tests.cases import Case, arrays_of
from tests.search_oracles import (
    Truth,
    brute_force,
    is_member,
    labels_of,
    possible_of,
    witnessed_labels,
)


def truths_of(case: Case) -> list[Truth]:
    """What brute force finds around each person, in all boxes together."""
    found = []
    for person in range(len(case.people)):
        boxes = np.flatnonzero(case.boxes.person == person)
        parts = [brute_force(case.ensemble, case.boxes, box) for box in boxes]
        found.append(
            Truth(
                frozenset().union(*(part.labels for part in parts)),
                frozenset().union(*(part.possible for part in parts)),
                frozenset().union(*(part.certain for part in parts)),
                frozenset().union(*(part.witnessed for part in parts)),
                any(part.near_tie for part in parts),
                np.min([part.lowest for part in parts], axis=0),
                np.max([part.highest for part in parts], axis=0),
            )
        )
    return found


def assert_right(
    case: Case, outcomes: Findings, truths: list[Truth], *, limited: bool = False
) -> None:
    """Assert that every verdict is true and, unless `limited`, that none is missing."""
    ensemble = case.ensemble
    twin = arrays_of(outcomes)["twin"]
    own_labels = labels_of(ensemble, case.people)
    own_possible = possible_of(ensemble, case.people)
    for person, truth in enumerate(truths):
        own = int(own_labels[person])
        verdict = int(outcomes.verdict[person])
        labels = set(np.flatnonzero(outcomes.labels[person]).tolist())
        assert outcomes.label[person] == own
        assert own in labels
        assert truth.witnessed <= labels, "a label that occurs is excluded"
        if verdict == FAIR:
            assert truth.witnessed == {own}, "a wrong FAIR"
            assert labels == {own}
        elif verdict == UNFAIR:
            assert_twin(case, person, twin[person], own)
            alone = case.people[person : person + 1]
            assert witnessed_labels(ensemble, alone) <= {own}, "nobody fixes the own"
        else:
            assert verdict == UNKNOWN
            # The library does not fix the person's own label, or nobody's other one.
            is_open = own_possible[person].sum() > 1 or (
                len(truth.possible) > 1 and truth.certain <= {own}
            )
            assert limited or truth.near_tie or is_open, "UNKNOWN without a reason"
        assert_reason(ensemble, verdict, int(outcomes.stopped[person]), limited=limited)


def assert_reason(
    ensemble: Ensemble, verdict: int, stopped: int, *, limited: bool
) -> None:
    """Assert that whoever is unknown, and nobody else, is so for a possible reason."""
    if verdict != UNKNOWN:
        assert stopped == DECIDED
        return
    assert stopped != INTERRUPTED, "nobody ended the search"
    if stopped == BUDGET:
        assert limited, "without a budget none can end"
    else:
        assert stopped == (TIE if ensemble.scoring.ordered else ORDER)


def assert_twin(case: Case, person: int, twin: np.ndarray, own: int) -> None:
    """Assert that a twin is in one of the person's boxes and gets another label."""
    boxes = np.flatnonzero(case.boxes.person == person)
    inside = [is_member(case.ensemble, case.boxes, box, twin) for box in boxes]
    assert any(inside), "the twin is not similar"
    label = int(labels_of(case.ensemble, twin[np.newaxis])[0])
    assert label != own, "the twin gets the same label"
