"""Small real files of several library versions still read as they predicted then."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import sklearn

import fatt
from fatt.errors import UnsupportedModelError
from fatt.importers.versions import release
from tests.probes import same_bits

MODELS = Path(__file__).parents[1] / "data" / "models"
ANSWERS = sorted(MODELS.glob("*.npz"))
INSTALLED = release(sklearn.__version__)


def test_there_are_kept_models_of_every_library() -> None:
    libraries = {path.name.partition("-")[0] for path in ANSWERS}
    assert libraries >= {
        *("sklearn", "pickle", "xgboost", "lightgbm", "catboost", "onnx")
    }


@pytest.mark.parametrize("answers", ANSWERS, ids=lambda path: path.stem)
def test_a_kept_model_predicts_what_its_library_predicted(answers: Path) -> None:
    with np.load(answers) as file:
        kept = dict(file)
    missing = float(kept["missing"]) if "missing" in kept else None
    [model] = set(MODELS.glob(f"{answers.stem}.*")) - {answers}
    if model.suffix == ".pkl" and release(answers.stem.split("-")[1]) > INSTALLED:
        with pytest.raises(UnsupportedModelError, match="Install scikit-learn"):
            fatt.load(model, allow_pickle=True)
        return
    loaded = fatt.load(model, missing=missing, allow_pickle=model.suffix == ".pkl")
    rows = kept["rows"]
    if "texts" in kept:
        # Numbers and texts in one table.
        rows = np.hstack([rows.astype(object), kept["texts"].astype(object)])
    assert same_bits(loaded.raw_scores(rows), kept["raw"])
    assert np.array_equal(loaded.predict(rows), kept["labels"])
    if model.suffix == ".pkl":
        # Pickles hold the model itself, in the form that the installed version reads.
        assert loaded.ask(rows) == kept["labels"].tolist()
