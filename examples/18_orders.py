"""
Orders that all people keep
===========================

Nobody has worked for longer than since the age of sixteen. Where age and years of
employment both may differ a little, a search without that order finds twins who began
to work as children. `exist` keeps them out.
"""

# %%
import numpy as np
import pandas as pd
from sklearn.ensemble import GradientBoostingClassifier

import fatt
from fatt.errors import DataError

rng = np.random.default_rng(0)
age = rng.integers(18, 40, size=2_000)
tenure = (rng.random(2_000) ** 0.3 * (age - 16)).astype(int)
income = rng.integers(15, 120, size=2_000)
people = pd.DataFrame({"age": age, "tenure": tenure, "income": income})
repaid = income / 10 + tenure > rng.normal(25, scale=3, size=2_000)
model = GradientBoostingClassifier(n_estimators=40, random_state=0).fit(people, repaid)

# %%
# Without the order some twins cannot exist.
free = fatt.Similarity(noise={"age": 3, "tenure": 2})
report = fatt.verify(model, people[:500], similarity=free)
twins = [case.twin for case in report.counterexamples]
impossible = sum(twin["tenure"] > twin["age"] - 16 for twin in twins)
print(report.counts, f"{impossible} of {len(twins)} twins cannot exist")

# %%
# With it they all can. Whoever was fair stays fair.
ordered = fatt.Similarity(noise={"age": 3, "tenure": 2}, exist=["tenure <= age - 16"])
kept = fatt.verify(model, people[:500], similarity=ordered)
print(kept.counts)
for case in kept.counterexamples:
    assert case.twin["tenure"] <= case.twin["age"] - 16
assert kept.is_fair[report.is_fair].all()

# %%
# A person who breaks the order is refused by row and values.
wrong = people[:1].assign(age=20, tenure=9)
try:
    fatt.verify(model, wrong, similarity=ordered)
except DataError as error:
    print(error)
