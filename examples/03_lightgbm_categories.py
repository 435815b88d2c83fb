"""
LightGBM with native categories
===============================

LightGBM splits categories into sets. Such a split stays a set here: no encoding, no
enumeration, and a text file is all that is needed.
"""

# %%
# A model over pandas categories, kept as LightGBM's own text file.
import tempfile
from pathlib import Path

import lightgbm
from sklego.datasets import load_arrests

arrests = load_arrests(as_frame=True)
people = arrests.drop(columns="released")
people["year"] = people["year"].astype(str)
texts = ["colour", "sex", "employed", "citizen", "year"]
people[texts] = people[texts].astype("category")
booster = lightgbm.train(
    {"objective": "binary", "num_leaves": 15, "min_data_per_group": 20, "verbose": -1},
    lightgbm.Dataset(people, arrests["released"] == "Yes"),
    num_boost_round=60,
)
path = Path(tempfile.mkdtemp()) / "release.txt"
booster.save_model(path)

# %%
# Three of the years are interchangeable, and so are all values of ``sex``.
import fatt

model = fatt.load(path)
print(model)
similarity = fatt.Similarity(vary={"year": ["2000", "2001", "2002"], "sex": "any"})
print(similarity.describe())
report = fatt.verify(path, people, similarity=similarity, n_jobs=-1)
print(report)

# %%
# How far does the probability of release move between similar people?
ten = people.head(10)
schema = fatt.Schema.infer(model, people)
gaps = fatt.score_gap(path, ten, similarity=similarity, schema=schema, of="probability")
for gap in gaps:
    words = ", ".join(f"{name} {change}" for name, change in gap.changes.items())
    print(f"at most {gap.bounds.upper:.3f}   {words or 'nothing moves it'}")

# %%
# The file was read without LightGBM, and answers as LightGBM does.
scores = booster.predict(people, raw_score=True)
print("same scores:", (model.raw_scores(people).ravel() == scores).all())
