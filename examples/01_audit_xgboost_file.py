"""
Audit an XGBoost file of a third party
======================================

A file is all that an auditor gets. It is read without XGBoost and nothing in it is
executed; each verdict is about what XGBoost itself would answer.
"""

# %%
# Somebody trains a model of who is released after an arrest, and hands over a file.
import tempfile
from pathlib import Path

from sklego.datasets import load_arrests
from xgboost import XGBClassifier

arrests = load_arrests(as_frame=True)
people = arrests.drop(columns="released")
texts = ["colour", "sex", "employed", "citizen"]
people[texts] = people[texts].astype("category")
vendor = XGBClassifier(n_estimators=60, max_depth=4, enable_categorical=True)
vendor.fit(people, arrests["released"] == "Yes")
path = Path(tempfile.mkdtemp()) / "release.json"
vendor.save_model(path)

# %%
# The auditor looks at what was handed over: size, columns, and what decides.
import fatt

model = fatt.load(path)
print(model)
for feature in model.features:
    print(" ", feature.name, getattr(feature, "categories", "a number"))

# %%
# Who is similar? Here: the same person of another colour, up to two years older or
# younger. Both may change together.
similarity = fatt.Similarity(vary=["colour"], noise={"age": 2})
print(similarity.describe())

# %%
# One verdict for each person: proved fair for all similar people, or a twin.
report = fatt.verify(path, people, similarity=similarity, n_jobs=-1)
print(report)
for colour, group in report.by_group("colour").items():
    print(f"{colour}: {group.size} people, {group.fairness.lower:.1%} proved fair")

# %%
# The nearest twins, and what the vendor's own program says of the first of them.
for case in report.counterexamples.closest(5):
    print(case)
case = report.counterexamples[0]
twin = people.iloc[[case.index]].copy()
for name, change in case.changes.items():
    twin[name] = change.after
twin[texts] = twin[texts].astype(people.dtypes[texts])
print("XGBoost agrees:", bool(vendor.predict(twin)[0] == case.twin_label))
