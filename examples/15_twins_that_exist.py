"""
Twins that can exist
====================

Swap the sex of everybody, and a table of people turns into one with female husbands. A
verdict about these says nothing. Say which combinations exist, or what moves along.
"""

# %%
# A lender's table: sex and relationship belong together, as they do in real ones.
import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier

import fatt
from fatt import Similarity

rng = np.random.default_rng(0)
sex = rng.choice(["female", "male"], 1_000)
relationship = rng.choice(["married", "own child", "unmarried"], 1_000)
spouse = np.where(sex == "male", "husband", "wife")
relationship = np.where(relationship == "married", spouse, relationship)
people = pd.DataFrame({"sex": sex, "relationship": relationship})
people["age"] = rng.integers(20, 60, 1_000)
people = people.astype({"sex": "category", "relationship": "category"})
is_older, is_wife = people["age"] > 45, relationship == "wife"
granted = (sex == "male") & (people["age"] > 30) | is_wife & is_older
model = LGBMClassifier(n_estimators=20, verbose=-1).fit(people, granted)

# %%
# Without any rule the report counts the twins that no row resembles, and says what to
# write.
naive = fatt.verify(model, people, similarity=Similarity(vary=["sex"]))
print(naive.counts)
print(naive.warnings[0])

# %%
# Only combinations that the table has. Husbands and wives have nobody similar then.
exist = Similarity(vary=["sex"], exist=[("sex", "relationship")])
report = fatt.verify(model, people, similarity=exist)
print(report.counts, "alone:", report.alone)

# %%
# A married man's twin is a married woman: the levels are swapped when the sex changes.
swaps = {"husband": "wife", "wife": "husband"}
swapped = Similarity(vary=["sex"], follow={"relationship": swaps})
report = fatt.verify(model, people, similarity=swapped)
print(report.counts)
print(report.counterexamples[0])

# %%
# Or the relationship moves along to any level that exists beside the new sex.
along = Similarity(
    vary=["sex"], exist=[("sex", "relationship")], follow=["relationship"]
)
print(along.describe())
print(fatt.verify(model, people, similarity=along).counts)
