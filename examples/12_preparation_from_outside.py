"""
Preparation from outside
========================

A vendor hands over a booster, a scaler and a dictionary of codes, in three files. The
people stand in another file, in raw columns, and one of them has another name there.
"""

# %%
# What the vendor did, and kept.
import json
import tempfile
from pathlib import Path

import joblib
from sklearn.preprocessing import StandardScaler
from sklego.datasets import load_arrests
from xgboost import XGBClassifier

arrests = load_arrests(as_frame=True)
released = (arrests.pop("released") == "Yes").astype(int)
codes = {
    name: {text: code for code, text in enumerate(sorted(set(arrests[name])))}
    for name in ("colour", "sex", "employed", "citizen")
}
ready = arrests.replace(codes).infer_objects()
numbers = ["year", "age", "checks"]
scaler = StandardScaler().fit(arrests[numbers])
ready[numbers] = scaler.transform(arrests[numbers])
folder = Path(tempfile.mkdtemp())
booster = XGBClassifier(n_estimators=60, max_depth=4).fit(ready.astype(float), released)
booster.save_model(folder / "release.json")
joblib.dump(scaler, folder / "scaler.pkl")
(folder / "codes.json").write_text(json.dumps(codes))

# %%
# Rows that were never scaled get a verdict as well; only a warning tells.
import fatt

people = arrests.rename(columns={"age": "Age (years)"})
raw = people.assign(**{name: people[name].map(codes[name]) for name in codes})
rename = {"Age (years)": "age"}
bare = fatt.load(folder / "release.json", rename=rename)
wrong = fatt.verify(bare, raw, similarity=fatt.Similarity(vary=["colour"]))
print(wrong.counts, *wrong.warnings, sep="\n")

# %%
# With what stands before it, the model is asked in the people's own columns.
model = fatt.load(
    folder / "release.json",
    prepare=[folder / "codes.json", folder / "scaler.pkl"],
    allow_pickle=True,
    rename=rename,
    answers={0: "kept", 1: "released"},
)
similarity = fatt.Similarity(noise={"age": 2}, vary=["colour"])
report = fatt.verify(model, people, similarity=similarity, n_jobs=-1)
print(report)
print(report.asked)
print(*report.counterexamples[:3], sep="\n")

# %%
# On the command line the same is
# ``fatt audit release.json people.csv --prepare codes.json --prepare scaler.pkl
# --allow-pickle --rename names.json --answers 0=kept,1=released --noise age=2
# --vary colour``, and ``fatt init`` with these options writes it all into a file.
