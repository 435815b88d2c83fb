"""
Repair a forest
===============

A forest is in use and should stay a forest. ``fatt.repair`` changes values at its
leaves such that more people are provably treated alike, at a price in accuracy that you
state.
"""

# %%
# A forest, and people whom it has not seen in training.
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklego.datasets import load_arrests

import fatt

arrests = load_arrests(as_frame=True)
people, released = arrests.drop(columns="released"), arrests["released"]
train, other, train_label, other_label = train_test_split(
    people, released, test_size=0.6, random_state=0
)
repairing, test, repairing_label, test_label = train_test_split(
    other, other_label, random_state=0
)
encode = (OneHotEncoder(), ["colour", "sex", "employed", "citizen"])
forest = make_pipeline(
    make_column_transformer(encode, remainder="passthrough"),
    RandomForestClassifier(20, max_depth=6, random_state=0),
)
forest.fit(train, train_label)

# %%
# One percent of accuracy may be paid.
similarity = fatt.Similarity(vary=["colour"], noise={"age": 1})
repair = fatt.repair(
    forest, repairing, repairing_label, similarity=similarity, max_accuracy_loss=0.01
)
print(repair)

# %%
# The repaired model is a pipeline like the first one, and is verified on new people.
for name, model in (("before", forest), ("after", repair.model)):
    fair = fatt.verify(model, test, similarity=similarity).fairness.lower
    print(f"{name}: {model.score(test, test_label):.1%} accurate, {fair:.1%} fair")
