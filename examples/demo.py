"""The main job: read a boosted model of real arrests, and show what was read.

The data are 5,226 arrests for possession of marijuana in Toronto, 1997 to 2002, as
carried by the package scikit-lego: who was released with a summons, and who was held?
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklego.datasets import load_arrests
from xgboost import XGBClassifier

import fatt
from fatt.cli import print_summary
from fatt.summary import summarize

LABELS = ["colour", "sex", "employed", "citizen"]


def main() -> None:
    arrests = load_arrests(as_frame=True)
    people = arrests.drop(columns="released")
    released = (arrests["released"] == "Yes").astype(int)
    X_train, X_test, y_train, _ = train_test_split(people, released, random_state=0)

    encoder = OneHotEncoder(sparse_output=False)
    columns = make_column_transformer((encoder, LABELS), remainder="passthrough")
    model = make_pipeline(columns, XGBClassifier(n_estimators=100, max_depth=4))
    model.fit(X_train, y_train)

    print("The pipeline, in the columns that people know:\n")
    ensemble = fatt.load(model)
    print_summary(summarize(ensemble))

    agree = np.mean(ensemble.predict(X_test) == model.predict(X_test))
    margins = model[-1].predict(model[:-1].transform(X_test), output_margin=True)
    same_bits = np.array_equal(ensemble.raw_scores(X_test)[:, 0], margins)
    print(f"{len(X_test)} test people: {agree:.2%} of the labels are XGBoost's own;")
    print(f"all margins equal bit for bit: {same_bits}.\n")

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "released.ubj")
        model[-1].save_model(path)
        file = fatt.load(path)
        print(f"The same trees as a vendor would hand them over: {file!r}")


if __name__ == "__main__":
    main()
