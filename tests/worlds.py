"""Small worlds that several tests share: people, and models of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier

#: Four people who differ in age alone.
AGES = [[20.0], [30.0], [40.0], [50.0]]


def tree() -> DecisionTreeClassifier:
    """One cut, at 35: who is older is granted a loan."""
    return DecisionTreeClassifier().fit(AGES, ["deny", "deny", "grant", "grant"])


def people(n_rows: int = 60, seed: int = 0) -> pd.DataFrame:
    """Whole numbers, texts and decimal numbers."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 70, n_rows),
            "sex": rng.choice(["F", "M"], n_rows),
            "hours": np.round(rng.normal(35, 8, n_rows), 1),
        }
    )
