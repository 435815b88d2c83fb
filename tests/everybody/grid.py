"""Small models of whole numbers, and what is true of everybody there can be."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

import fatt
from fatt import Similarity, Space
from fatt.region import Integer

#: The largest value of each variable; the smallest is 0.
MOST = {"age": 7, "sex": 1, "job": 3, "debt": 5}


@dataclass(frozen=True)
class Grid:
    """A model, a table, and everybody there can be.

    Attributes
    ----------
    model
        A fitted model.
    table
        Some people, from whom the model was not made.
    everybody : ndarray of shape (n_people, n_variables)
        All there can be.
    label : ndarray of shape (n_people,)
        What the model says of them.
    """

    model: Any
    table: pd.DataFrame
    everybody: NDArray[np.int64]
    label: NDArray[Any]

    def unfair(self, noise: int) -> NDArray[np.bool_]:
        """Tell who is unfair, if ages may differ by so much, and sex may vary."""
        place = {tuple(row): i for i, row in enumerate(self.everybody.tolist())}
        found = np.zeros(len(place), dtype=bool)
        for row, i in place.items():
            age, _, *rest = row
            ages = range(max(0, age - noise), min(MOST["age"], age + noise) + 1)
            for other, sex in itertools.product(ages, (0, 1)):
                found[i] |= self.label[place[(other, sex, *rest)]] != self.label[i]
        return found

    def mass(self) -> NDArray[np.float64]:
        """Return how often the product of the table's marginals draws each."""
        mass = np.ones(len(self.everybody))
        for index, name in enumerate(MOST):
            count = np.bincount(self.table[name], minlength=MOST[name] + 1)
            mass *= (count / count.sum())[self.everybody[:, index]]
        return mass


SPACE = Space({name: Integer(lower=0, upper=most) for name, most in MOST.items()})
SIMILARITY = Similarity(noise={"age": 1}, vary=["sex"])


def grid(seed: int) -> Grid:
    """Return a grid with a random forest."""
    rng = np.random.default_rng(seed)

    def people(count: int) -> pd.DataFrame:
        return pd.DataFrame(
            {
                name: np.minimum(most, rng.integers(0, most + 1, count))
                for name, most in MOST.items()
            }
        )

    train, table = people(150), people(40)
    score = train @ rng.normal(size=len(MOST)) * (1 + rng.normal(size=len(train)))
    model = RandomForestClassifier(
        int(rng.integers(1, 6)), max_depth=4, random_state=seed % 1000
    ).fit(train, score > score.median())
    ranges = [range(most + 1) for most in MOST.values()]
    everybody = np.array(list(itertools.product(*ranges)))
    label = model.predict(pd.DataFrame(everybody, columns=list(MOST)))
    # Each value occurs, so that the table spans the same space.
    ends = pd.DataFrame([dict.fromkeys(MOST, 0), MOST])
    return Grid(model, pd.concat([table, ends]), everybody, label)


def share(the: Grid, space: Space = SPACE, **asked: Any) -> Any:
    """Return the share of the unfair."""
    asked = {"seconds": 60, "similarity": SIMILARITY, **asked}
    return fatt.unfair_share(the.model, space, **asked)
