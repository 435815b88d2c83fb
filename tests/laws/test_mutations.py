"""Break the search on purpose: the laws must notice.

Each mutation changes what is handed to the compiled search; the judge must then find a
wrong verdict, or the verifier itself a twin that is none, among few hundred cases.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest

from fatt.ensemble.allowed import Alike
from fatt.ensemble.scoring import Cut
from fatt.errors import FattError
from fatt.region import Boxes
from fatt.verifier import Verifier
from fatt.verifier import search as search_module
from fatt.verifier.twins import clip_to_numbers
from tests.cases import random_case
from tests.laws.judge import assert_right, truths_of

MOST_CASES = 400


def shift_a_cut(verifier: Verifier) -> None:
    nodes = verifier._forest.nodes.copy()
    kinds = verifier._forest.variables["kind"]
    ordered = nodes["feature"] >= 0
    ordered[ordered] = kinds[nodes["feature"][ordered]] == 0
    nodes["split"][ordered] += 1
    verifier._forest = verifier._forest._replace(nodes=nodes)


def drop_a_category(verifier: Verifier) -> None:
    masks = verifier._forest.masks & ~np.uint64(1)
    verifier._forest = verifier._forest._replace(masks=masks)


def turn_missing_around(verifier: Verifier) -> None:
    nodes = verifier._forest.nodes.copy()
    nodes["missing_left"] ^= nodes["feature"] >= 0
    verifier._forest = verifier._forest._replace(nodes=nodes)


def forget_a_leaf(verifier: Verifier) -> None:
    arithmetic = verifier._arithmetic
    values, scaled = arithmetic.values.copy(), arithmetic.scaled.copy()
    values[-1:], scaled[-1:] = 0.0, 0
    verifier._arithmetic = arithmetic._replace(values=values, scaled=scaled)


def round_the_leaves(verifier: Verifier) -> None:
    scaled = verifier._arithmetic.scaled >> 35 << 35
    verifier._arithmetic = verifier._arithmetic._replace(scaled=scaled)


def deny_all_rounding(verifier: Verifier) -> None:
    """Claim that every sum is exact, as those of few and short numbers are."""
    bases = verifier._arithmetic.bases.copy()
    bases["trailing"] = 2000
    trailing = np.full_like(verifier._arithmetic.trailing, 2000)
    verifier._arithmetic = verifier._arithmetic._replace(trailing=trailing, bases=bases)


def raise_the_cut(verifier: Verifier) -> None:
    decision = verifier.ensemble.decision
    if isinstance(decision, Cut):
        higher = msgspec.structs.replace(decision, at=np.nextafter(decision.at, np.inf))
        verifier._alike = Alike(
            replace(verifier.ensemble, decision=higher), verifier.allowed
        )


def _change_rule(name: str, change: Callable[[Any], Any]) -> Callable[[Verifier], None]:
    def mutate(verifier: Verifier) -> None:
        rule = verifier._arithmetic.rule.copy()
        rule[name] = change(rule[name])
        verifier._arithmetic = verifier._arithmetic._replace(rule=rule)

    return mutate


MUTATIONS: dict[str, Callable[[Verifier], None]] = {
    "a cut is shifted by one cell": shift_a_cut,
    "a category goes the other way": drop_a_category,
    "missing goes the other way": turn_missing_around,
    "a leaf is forgotten": forget_a_leaf,
    "leaves are rounded": round_the_leaves,
    "sums are taken for exact": deny_all_rounding,
    "ties go to the other class": _change_rule("first", lambda first: 1 - first),
    "the cut is one float too high": raise_the_cut,
    "the base comes first or last": _change_rule("base_last", lambda last: 1 - last),
    "every sum has an order": _change_rule("ordered", np.ones_like),
    "sums are rounded less": _change_rule("single", np.zeros_like),
    "the link is forgotten": _change_rule("link", np.zeros_like),
    "the divisor is forgotten": _change_rule("divisor", np.ones_like),
}


def is_caught(mutate: Callable[[Verifier], None]) -> bool:
    """Tell whether some case shows the mutation."""
    for seed in range(MOST_CASES):
        case = random_case(seed, n_people=5, most_points=300)
        verifier = Verifier(case.ensemble)
        mutate(verifier)
        try:
            outcomes = verifier.verify(case.people, case.boxes, n_jobs=1)
            assert_right(case, outcomes, truths_of(case))
        except (AssertionError, FattError):
            return True
    return False


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_broken_search_is_caught(name: str) -> None:
    assert is_caught(MUTATIONS[name])


def without_missing(boxes: Boxes, holes: Any) -> tuple[Any, ...]:
    lower, upper, missing, codes = clip_to_numbers(boxes, holes)
    return lower, upper, np.zeros_like(missing), codes


def without_ends(boxes: Boxes, holes: Any) -> tuple[Any, ...]:
    lower, upper, missing, codes = clip_to_numbers(boxes, holes)
    with np.errstate(over="ignore"):
        short = np.where(lower < upper, np.nextafter(upper, -np.inf), upper)
    return lower, short, missing, codes


@pytest.mark.parametrize("clip", [without_missing, without_ends])
def test_a_smaller_box_is_caught(
    clip: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_module, "clip_to_numbers", clip)
    assert is_caught(lambda verifier: None)


def test_the_search_as_it_is_is_not_caught() -> None:
    assert not is_caught(lambda verifier: None)
