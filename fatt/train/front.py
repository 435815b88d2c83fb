"""The trees that no other tree beats in accuracy, fairness and size at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from fatt.train.genome import is_constant
from fatt.train.objective import Scored


class Archive:
    """Keeps the trees that no other tree beats in accuracy, fairness and size."""

    def __init__(self) -> None:
        self._kept: dict[bytes, Scored] = {}

    def __iter__(self) -> Iterator[Scored]:
        return iter(self._kept.values())

    def __len__(self) -> int:
        return len(self._kept)

    def add(self, trees: Iterable[Scored]) -> None:
        """Take in trees, and drop whatever is beaten now."""
        for scored in trees:
            if not is_constant(scored.tree):
                self._kept.setdefault(scored.tree.tobytes(), scored)
        kept = list(self._kept.values())
        worth = np.array([[s.accuracy, s.fairness, -s.n_leaves] for s in kept])
        self._kept = {
            kept[i].tree.tobytes(): kept[i] for i in _unbeaten(worth.reshape(-1, 3))
        }


def _unbeaten(worth: np.ndarray) -> Iterator[int]:
    """Yield the rows that no other row beats, of equal ones the first."""
    for row, mine in enumerate(worth):
        at_least = (worth >= mine).all(axis=1)
        better = at_least & (worth > mine).any(axis=1)
        same = at_least[:row] & (worth[:row] == mine).all(axis=1)
        if not better.any() and not same.any():
            yield row
