"""CatBoost's exponential: monotone but at the ends of its steps."""

from __future__ import annotations

import math

import numpy as np

from fatt.ensemble.table_exp import FALL, is_at_end, table_exp


def lines(starts: np.ndarray, before: int, behind: int) -> np.ndarray:
    """Return floats with their neighbours."""
    line = [starts]
    for _ in range(behind):
        line.append(np.nextafter(line[-1], np.inf))
    for _ in range(before):
        line.insert(0, np.nextafter(line[0], -np.inf))
    return np.stack(line, axis=1)


def test_it_is_the_exponential() -> None:
    numbers = np.random.default_rng(0).normal(size=3000) * 50
    np.testing.assert_allclose(table_exp(numbers), np.exp(numbers), rtol=1e-12)
    ends = np.array([-math.inf, -709.0, -708.3, 0.0, 709.7, 709.79, math.inf])
    made = table_exp(ends)
    assert made[[0, 1, 3]].tolist() == [0, 0, 1]
    assert 0 < made[2] < made[4] < math.inf
    assert made[5] == made[6] == math.inf


def test_it_falls_only_where_steps_end_and_by_last_bits() -> None:
    steps = np.arange(-40 * 2048, 40 * 2048)
    numbers = lines((steps + 0.5) * math.log(2) / 2048, 8, 8)
    made = table_exp(numbers)
    falls = made[:, 1:] < made[:, :-1]
    assert falls.any()
    assert is_at_end(numbers[:, 1:][falls]).all()
    # Wherever it is compared, so near an end all is as if it did not fall.
    assert (made[:, :-1] <= made[:, 1:] * (1 + FALL / 8)).all()
    rng = np.random.default_rng(1)
    for scale in (1e-9, 1e-3, 1.0, 600.0):
        numbers = lines(rng.normal(size=2000) * scale, 0, 40)
        inside = ~is_at_end(numbers).any(axis=1)
        assert inside.mean() > 0.99
        made = table_exp(numbers)[inside]
        assert (made[:, 1:] >= made[:, :-1]).all()
