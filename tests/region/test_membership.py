"""Who lies in a box."""

from __future__ import annotations

import numpy as np

from fatt.ensemble import Categorical, Numeric
from fatt.region import Boxes
from fatt.region.boxes import Membership

FEATURES = (
    Numeric(name="hours"),
    Numeric(name="age", integer=True, missing_range=(-1.0, -1.0)),
    Categorical(name="city", categories=tuple(range(70))),
)
HERE = Membership(FEATURES)
NAN = np.nan


def boxes() -> Boxes:
    """One box for person 0; two for person 2, the second for missing values."""
    codes = np.zeros((3, 2), dtype=np.uint64)
    codes[:, 0] = 0b101
    codes[0, 1] = 0b10
    return Boxes(
        person=np.array([0, 2, 2]),
        lower=np.array([[1.0, 10.0, 0.0], [1.0, 10.0, 0.0], [np.inf, np.inf, 0.0]]),
        upper=np.array([[2.0, 12.0, 0.0], [2.0, 12.0, 0.0], [-np.inf, -np.inf, 0.0]]),
        missing=np.array([[False] * 3, [False] * 3, [True] * 3]),
        codes=codes,
    )


def similar(person: int, *values: float) -> bool:
    rows = np.array([values])
    return bool(HERE.are_similar(boxes(), np.array([person]), rows)[0])


def test_both_ends_belong_to_an_interval() -> None:
    assert similar(0, 1.0, 10, 0)
    assert similar(0, 2.0, 12, 2)
    assert not similar(0, np.nextafter(1.0, 0), 10, 0)
    assert not similar(0, np.nextafter(2.0, 3), 12, 2)


def test_whole_numbers() -> None:
    assert not similar(0, 1.0, 10.5, 0)


def test_sets_of_categories() -> None:
    assert similar(0, 1.0, 10, 65)
    assert not similar(0, 1.0, 10, 64)
    assert not similar(0, 1.0, 10, 1)
    # Person 2 may not have the category that person 0 may have.
    assert not similar(2, 1.0, 10, 65)


def test_missing_values() -> None:
    assert not similar(0, NAN, 10, 0)
    assert not similar(0, 1.0, 10, NAN)
    assert similar(2, NAN, NAN, NAN)
    # A number that is read as missing is as good as a missing one.
    assert similar(2, NAN, -1.0, 2)
    assert not similar(0, 1.0, -1.0, 0)
    # No box allows some of both.
    assert not similar(2, 1.0, NAN, 0)


def test_several_people_at_once() -> None:
    rows = np.array([[1.0, 10, 0], [NAN, NAN, NAN]])
    assert HERE.are_similar(boxes(), np.array([0, 2]), rows).tolist() == [True] * 2
    rows = rows[::-1].copy()
    assert HERE.are_similar(boxes(), np.array([0, 2]), rows).tolist() == [
        False,
        True,
    ]
