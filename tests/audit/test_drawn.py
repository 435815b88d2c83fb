"""What is left to chance stays within its limits, and reaches what it should."""

from __future__ import annotations

import numpy as np
from sklearn.ensemble import RandomForestClassifier

import fatt
from fatt.audit.drawn import Axes, choose, draw_numbers, pick, strata
from fatt.ensemble import Ensemble


def forest() -> Ensemble:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(80, 3))
    model = RandomForestClassifier(5, max_depth=4, random_state=0)
    return fatt.load(model.fit(rows, rows.sum(axis=1) > 0)).ensemble


def test_thresholds_are_those_of_the_variable_and_within_the_ends() -> None:
    ensemble, rng = forest(), np.random.default_rng(1)
    axes = Axes.of(ensemble)
    index = rng.integers(3, size=200)
    low = rng.normal(size=200)
    high = low + rng.random(200)
    first, last = axes.between(index, low, high)
    for place, one in enumerate(index):
        cuts = ensemble.thresholds(one)
        inside = cuts[(cuts >= low[place]) & (cuts <= high[place])]
        found = axes.cuts[first[place] : last[place]]
        np.testing.assert_array_equal(found, inside)


def test_numbers_stay_between_their_ends_and_meet_thresholds() -> None:
    ensemble, rng = forest(), np.random.default_rng(2)
    axes = Axes.of(ensemble)._replace(
        whole=np.array([False, True, False]),
        gap_low=np.array([1.0, 1.0, -0.2]),
        gap_high=np.array([0.0, 0.0, 0.2]),
    )
    index = np.arange(3000) % 3
    own = np.where(index == 1, 1.0, 0.5)
    low, high = own - 2.0, np.where(index == 0, np.inf, own + 2.0)
    numbers = draw_numbers(axes, index, (low, high), own, rng)
    assert np.all((low <= numbers) & (numbers <= high))
    assert np.all(numbers[index == 1] == np.rint(numbers[index == 1]))
    assert not np.any(np.abs(numbers[index == 2]) <= 0.2)
    drawn = set(numbers[index == 0].tolist())
    cuts = ensemble.thresholds(0)
    cuts = cuts[cuts >= -1.5]
    near = [cuts, np.nextafter(cuts, np.inf), np.nextafter(cuts, -np.inf)]
    assert all(drawn & set(some.tolist()) for some in near)
    # Infinite ends are drawn as they are, else numbers that the trees tell apart.
    finite = numbers[(index == 0) & np.isfinite(numbers)]
    assert np.isinf(list(drawn)).any()
    assert finite.max() < 3 * np.abs(ensemble.thresholds(0)).max() + 3


def test_choices_are_of_what_may_be_chosen_and_reach_all_of_it() -> None:
    rng = np.random.default_rng(4)
    moves = rng.random((400, 4)) < 0.5
    changes = choose(moves, rng)
    assert not np.any(changes & ~moves)
    np.testing.assert_array_equal(changes.any(axis=1), moves.any(axis=1))
    assert {1, 2, 3, 4} == set(changes.sum(axis=1).tolist()) - {0}
    flags = np.tile([False, True, True, False, True], (30, 1))
    assert set(pick(flags, strata(rng, 30)).tolist()) == {1, 2, 4}
