"""
A scikit-learn pipeline, in the columns people know
===================================================

The forest sees scaled numbers and one-hot columns. The report speaks of ``age`` in
years and of ``employed``, since every split is pulled back to the column behind it,
exactly.
"""

# %%
# A pipeline as there are many: scaling, one-hot encoding, a forest.
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklego.datasets import load_arrests

import fatt

arrests = load_arrests(as_frame=True)
people, released = arrests.drop(columns="released"), arrests["released"]
train, test, train_label, test_label = train_test_split(
    people, released, random_state=0
)
columns = make_column_transformer(
    (OneHotEncoder(), ["colour", "sex", "employed", "citizen"]),
    (StandardScaler(), ["age", "year", "checks"]),
)
model = make_pipeline(columns, RandomForestClassifier(max_depth=8, random_state=0))
model.fit(train, train_label)
print(f"{model.score(test, test_label):.1%} accurate")

# %%
# What the columns mean is inferred, and can be said better: nobody is younger than 12.
from fatt.region import Integer

loaded = fatt.load(model)
schema = fatt.Schema.infer(loaded, people).with_(age=Integer(lower=12))
for variable in schema.variables:
    print(" ", variable)

# %%
# Colour alone, age alone, and both together: how many decisions does each change?
both = fatt.Similarity(vary=["colour"], noise={"age": 3})
for similarity in (*both.one_at_a_time().alternatives, both):
    report = fatt.verify(model, test, similarity=similarity, schema=schema, n_jobs=-1)
    print(f"{similarity!s:52} {report.fairness.lower:7.2%} fair")

# %%
# Each twin is a row of the same table, which the pipeline itself was asked about.
case = report.counterexamples[0]
for name, value in case.individual.items():
    mark = "→" if name in case.changes else " "
    print(f"{name:10} {value!s:>6} {mark} {case.twin[name]!s:>6}")
print(case.label, "→", case.twin_label, "as the", case.replayed_on, "itself says")
