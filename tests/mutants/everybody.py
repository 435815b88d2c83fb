"""A few models, asked about everybody: quick, and hard to get past.

Not collected with the other tests: the laws say the same of more models.
"""

from __future__ import annotations

import pytest

from tests.laws import test_everybody as laws

#: Seeds of models with noise, categories, missing values and several scores.
SEEDS = range(100, 100 + len(laws.NAMES), 3)


@pytest.mark.parametrize("seed", SEEDS)
def test_largest_gaps(seed: int) -> None:
    laws.test_largest_gaps.hypothesis.inner_test(seed)  # type: ignore[attr-defined]


@pytest.mark.parametrize("seed", SEEDS)
def test_existence(seed: int) -> None:
    laws.test_existence.hypothesis.inner_test(seed)  # type: ignore[attr-defined]
