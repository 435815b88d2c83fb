"""Small tables of people to train on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fatt import Similarity

#: Who is similar in `mixed`.
SIMILARITY = Similarity(noise={"age": 2, "income": 150.0}, vary=["sex"])


def plain(n_people: int = 300, *, seed: int = 0) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return numbers only, with two classes of which the first column tells most."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_people, 4))
    return X, (X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=n_people) > 0).astype(int)


def mixed(n_people: int = 250, *, seed: int = 0) -> tuple[pd.DataFrame, NDArray[Any]]:
    """Return raw columns of all kinds, some cells missing, with labels as texts."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, n_people)
    income = rng.gamma(3, 500, n_people)
    sex = rng.choice(["F", "M"], n_people)
    job = rng.choice(["clerk", "cook", "nurse", "pilot"], n_people).astype(object)
    score = age / 20 + income / 900 + (sex == "M") + 2.0 * (job == "pilot")
    paid = score + rng.normal(size=n_people) > 5
    income[rng.random(n_people) < 0.1] = np.nan
    job[rng.random(n_people) < 0.1] = None
    table = pd.DataFrame({"age": age, "income": income, "sex": sex, "job": job})
    return table, np.where(paid, "paid", "late")


def three_classes(n_people: int = 300) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return numbers whose first column tells three classes apart, by and large."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n_people, 3))
    return X, np.digitize(X[:, 0] + 0.3 * rng.normal(size=n_people), [-0.5, 0.5])
