"""Boxes as the trees see them: numbers that are read as missing leave their ends."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fatt.ensemble import Numeric
from fatt.region import Boxes
from fatt.verifier.twins import clip_to_numbers, holes_of

GAPS = [(0.0, 0.0), (-1e-35, 1e-35), (-1.0, 2.0), (0.5, 1.5), (-np.inf, 0.0)]


def clipped(gap: Any, integer: bool, lower: float, upper: float) -> tuple[Any, ...]:
    feature = Numeric(name="x", missing_range=gap, integer=integer)
    boxes = Boxes(
        person=np.zeros(1, dtype=np.int64),
        lower=np.array([[lower]], dtype=float),
        upper=np.array([[upper]], dtype=float),
        missing=np.array([[False]]),
        codes=np.zeros((1, 0), dtype=np.uint64),
    )
    model: Any = SimpleNamespace(features=(feature,))
    low, high, missing, _ = clip_to_numbers(boxes, holes_of(model))
    return low.item(), high.item(), missing.item()


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("integer", [True, False])
def test_numbers_read_as_missing_leave_the_ends(gap: Any, integer: bool) -> None:
    ends = range(-3, 5)
    numbers = np.arange(-3.0, 4.5, 1.0 if integer else 0.25)
    for first in ends:
        for last in range(first, 5):
            inside = numbers[(first <= numbers) & (numbers <= last)]
            is_gap = (gap[0] <= inside) & (inside <= gap[1])
            low, high, missing = clipped(gap, integer, first, last)
            assert missing == is_gap.any()
            read = inside[~is_gap]
            if integer and read.size:
                assert (low, high) == (read.min(), read.max())
            elif read.size:
                # A float has its next one between two of the numbers tried here.
                assert low <= read.min() <= low + 0.25
                assert high - 0.25 <= read.max() <= high
                assert not gap[0] <= low <= gap[1]
                assert not gap[0] <= high <= gap[1]
            else:
                assert low > high
