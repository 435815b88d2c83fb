"""
A certificate that others can check
===================================

A report is a claim. A certificate carries the evidence: proofs for the fair, twins for
the unfair. Whoever has the model checks it without the search.
"""

# %%
# The auditor verifies a model, and writes down the evidence.
import tempfile
from pathlib import Path

from sklego.datasets import load_arrests
from xgboost import XGBClassifier

import fatt

arrests = load_arrests(as_frame=True)
people = arrests.drop(columns="released")
texts = ["colour", "sex", "employed", "citizen"]
people[texts] = people[texts].astype("category")
model = XGBClassifier(n_estimators=30, max_depth=3, enable_categorical=True)
model.fit(people, arrests["released"] == "Yes")

folder = Path(tempfile.mkdtemp())
model.save_model(folder / "release.json")
similarity = fatt.Similarity(vary=["colour"], noise={"age": 1})
report = fatt.verify(folder / "release.json", people.head(500), similarity=similarity)
report.certificate().save(folder / "audit.cert")
print(report)

# %%
# Somebody else checks it against the model file.
certificate = fatt.Certificate.read(folder / "audit.cert")
print(certificate.check(folder / "release.json"))

# %%
# It holds for this model only. Another one is refused.
other = XGBClassifier(n_estimators=31, max_depth=3, enable_categorical=True)
other.fit(people, arrests["released"] == "Yes")
try:
    certificate.check(other)
except fatt.errors.CertificateError as error:
    print(error)
