"""How hard the laws are tried.

``FATT_EFFORT=100 pytest tests/laws -n 2`` draws a hundred times as many examples.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

EFFORT = int(os.environ.get("FATT_EFFORT", "1"))

SEEDS = st.integers(0, 2**32 - 1)


def for_seeds(count: int) -> Callable[[Any], Any]:
    """Run a test for `count` times `EFFORT` seeds, the same ones each time."""

    def decorate(test: Any) -> Any:
        return settings(
            max_examples=count * EFFORT,
            derandomize=True,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow],
        )(given(seed=SEEDS)(test))

    return decorate
