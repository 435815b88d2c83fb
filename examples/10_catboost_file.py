"""
A CatBoost file
===============

CatBoost stores fingerprints of its categories, not their texts. The table of people
tells what they are called, and every other text counts as well.
"""

# %%
# A model over texts as they are, kept as CatBoost's own file.
import tempfile
from pathlib import Path

from catboost import CatBoostClassifier
from sklego.datasets import load_arrests

arrests = load_arrests(as_frame=True)
people = arrests.drop(columns="released")
texts = ["colour", "sex", "employed", "citizen"]
people[texts] = people[texts].astype(str)
classifier = CatBoostClassifier(
    iterations=60,
    depth=4,
    cat_features=texts,
    # Statistics of single columns only: others say nothing about one column.
    max_ctr_complexity=1,
    verbose=0,
    allow_writing_files=False,
    random_seed=0,
)
classifier.fit(people, arrests["released"])
path = Path(tempfile.mkdtemp()) / "release.cbm"
classifier.save_model(path)

# %%
# The file asks for one colour alone, by its fingerprint.
import fatt

model = fatt.load(path)
print(model)
print("stored:", len(model.features[0].categories), "fingerprint of colour")

# %%
# Reports say what the table says. Each twin was asked of CatBoost itself.
similarity = fatt.Similarity(vary=["colour"], noise={"age": 2})
report = fatt.verify(path, people, similarity=similarity, n_jobs=-1)
print(report)
for case in report.counterexamples.closest(3):
    print(case, "- asked of the", case.replayed_on)

# %%
# The file was read without CatBoost, and answers as CatBoost does.
scores = classifier.predict(people, prediction_type="RawFormulaVal")
print("same scores:", (model.raw_scores(people).ravel() == scores).all())
