"""How far a search is, and when it must end."""

from __future__ import annotations

import sys
import time

from fatt.train.objective import Scored

_WIDTH = 20


class Deadline:
    """Tells when a search has taken long enough.

    Parameters
    ----------
    seconds
        How long it may take from now on.
    """

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def is_over(self) -> bool:
        """Tell whether the time is over."""
        return time.monotonic() >= self._end


class ProgressBar:
    """Writes one line to standard error, again and again.

    Parameters
    ----------
    total
        How many generations there are at most.
    is_on
        Whether anything is written.
    """

    def __init__(self, total: int, *, is_on: bool) -> None:
        self._total = max(1, total)
        self._is_on = is_on
        self._started = time.monotonic()

    def show(self, generation: int, best: Scored) -> None:
        """Tell which generation it is, and how good the best tree is."""
        if not self._is_on:
            return
        filled = _WIDTH * generation // self._total
        bar = "█" * filled + "░" * (_WIDTH - filled)
        seconds = time.monotonic() - self._started
        sys.stderr.write(
            f"\r{bar} generation {generation}/{self._total}: accuracy "
            f"{best.accuracy:.2%}, fairness {best.fairness:.2%}, {best.n_leaves} "
            f"leaves, {seconds:.0f} s\x1b[K"
        )
        sys.stderr.flush()

    def close(self) -> None:
        """End the line."""
        if self._is_on:
            sys.stderr.write("\n")
