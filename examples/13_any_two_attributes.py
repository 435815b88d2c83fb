"""
Any two attributes, not more
============================

A decision that only falls if five things change at once says little about fairness.
Here we ask which people get another answer if any one, any two or any three attributes
change, and how many must change for each person. It needs ``pip install scikit-lego
pandas``.
"""

# %%
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklego.datasets import load_arrests

import fatt

arrests = load_arrests(as_frame=True)
people, released = arrests.drop(columns="released"), arrests["released"]
train, test, label, _ = train_test_split(people, released, random_state=0)
columns = make_column_transformer(
    (OneHotEncoder(), ["colour", "sex", "employed", "citizen"]),
    remainder="passthrough",
)
forest = RandomForestClassifier(20, max_depth=6, random_state=0)
model = make_pipeline(columns, forest).fit(train, label)
test = test.head(300)

# %%
# The more attributes may change at once, the fewer people are fair: each verdict is a
# proof for all combinations, and each twin differs in no more attributes than that.
varied = ["colour", "sex", "citizen"]
for most in (1, 2, 3):
    similarity = fatt.Similarity(noise={"age": 3, "year": 1}, vary=varied, at_most=most)
    report = fatt.verify(model, test, similarity=similarity)
    assert all(len(case.changes) <= most for case in report.counterexamples)
    print(f"any {most}: {report.counts['fair']} of {len(test)} are treated fairly")

# %%
# How many must change? The radius is that number; infinite if no number is enough.
radii = fatt.radius(model, test, similarity=similarity)
for number in (1, 2, 3):
    print(f"changed by {number}: {(radii.upper == number).sum()} people")
nearest = next(one for one in radii if one.bounds.upper == 2)
print(f"for example person {nearest.index}: {nearest.changes}")
