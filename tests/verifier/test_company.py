"""Threads share a verifier and its model, and nothing else: answers stay the same."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fatt.verdict import Findings
from fatt.verifier import Budget, Verifier, search
from tests.cases import Case, arrays_of, random_case

# More people than are looked at together, some with several boxes.
N_PEOPLE, N_THREADS, N_CALLS = 150, 16, 96
BUDGET = Budget(nodes=200)
#: Cuts, links, sums in any order, one tree, and splits by sets among them.
SEEDS = range(8)


@pytest.fixture
def frequent_switches() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def ask(verifier: Verifier, case: Case, who: NDArray[Any], **options: Any) -> Findings:
    boxes = case.boxes.of_people(who)
    return verifier.verify(case.people[who], boxes, budget=BUDGET, **options)


def assert_same(found: Findings, known: dict[str, NDArray[Any]], who: Any) -> None:
    for field, array in arrays_of(found).items():
        np.testing.assert_array_equal(array, known[field][who], field)


@pytest.mark.parametrize("seed", SEEDS)
def test_nobody_notices_who_else_is_asked(
    seed: int, monkeypatch: pytest.MonkeyPatch, frequent_switches: None
) -> None:
    case = random_case(seed, n_people=N_PEOPLE, most_points=200)
    everybody = np.arange(N_PEOPLE)
    alone = [ask(Verifier(case.ensemble), case, everybody[[i]]) for i in everybody]
    answers = [arrays_of(each) for each in alone]
    known = {
        field: np.concatenate([each[field] for each in answers]) for field in answers[0]
    }
    verifier = Verifier(case.ensemble)
    # All in one call of the kernel, which looks at many together.
    monkeypatch.setattr(search, "_BLOCKS_PER_THREAD", 1)
    assert_same(ask(verifier, case, everybody), known, everybody)

    def hammer(call: int) -> tuple[NDArray[Any], Findings]:
        rng = np.random.default_rng([seed, call])
        who = np.sort(rng.choice(N_PEOPLE, rng.integers(1, 40), replace=False))
        return who, ask(verifier, case, who, n_jobs=int(rng.integers(1, 4)))

    # And many calls at once, a few people each.
    monkeypatch.setattr(search, "_BLOCK", 1 + seed % 3)
    with ThreadPoolExecutor(N_THREADS) as pool:
        for who, found in pool.map(hammer, range(N_CALLS)):
            assert_same(found, known, who)
