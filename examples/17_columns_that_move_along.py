"""
Columns that move along
=======================

A table holds the age and the year of birth, a debt and its ratio to the income. If only
the age moves, the twin cannot exist: whoever is older was born earlier. `follow` says
how one column depends on another. A sum moves by the same step as what it follows, so
nobody's birthday breaks it. Any other formula is computed anew, and must hold in each
person's own row.
"""

# %%
import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

import fatt

rng = np.random.default_rng(0)
age = rng.integers(20, 70, size=2_000)
income = rng.integers(15, 120, size=2_000) * 1_000.0
debt = rng.integers(0, 60, size=2_000) * 500.0
people = pd.DataFrame(
    {
        "age": age,
        # Not all had their birthday this year.
        "birth_year": 2026 - age - rng.integers(0, 2, size=2_000),
        "income": income,
        "debt": debt,
        "ratio": debt / income,
    }
)
repaid = debt / income + rng.normal(scale=0.2, size=2_000) < 0.4 + age / 400
forest = RandomForestClassifier(30, max_depth=6, random_state=0).fit(people, repaid)

# %%
# Three years more or less: the year of birth moves along.
older = fatt.Similarity(noise={"age": 3}, follow={"birth_year": "2026 - age"})
report = fatt.verify(forest, people[:300], similarity=older)
print(report.counts)
for case in report.counterexamples[:2]:
    print(case)
    moved = case.twin["age"] - case.individual["age"]
    assert case.twin["birth_year"] == case.individual["birth_year"] - moved

# %%
# A debt of up to 1,000 more or less: the ratio is computed anew.
owing = fatt.Similarity(noise={"debt": 1_000}, follow={"ratio": "debt / income"})
report = fatt.verify(forest, people[:300], similarity=owing)
print(report.counts)
for case in report.counterexamples:
    assert case.twin["ratio"] == case.twin["debt"] / case.twin["income"]

# %%
# Said naively, both may move on their own, and a fair person may look unfair.
naive = fatt.Similarity(noise={"debt": 1_000, "ratio": 0.05})
print(fatt.verify(forest, people[:300], similarity=naive).counts)
