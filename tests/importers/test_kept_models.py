"""Small real files of several library versions still read as they predicted then."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fatt
from tests.probes import same_bits

MODELS = Path(__file__).parents[1] / "data" / "models"
ANSWERS = sorted(MODELS.glob("*.npz"))


def test_there_are_kept_models_of_every_library() -> None:
    libraries = {path.name.partition("-")[0] for path in ANSWERS}
    assert libraries >= {"sklearn", "xgboost", "lightgbm", "catboost", "onnx"}


@pytest.mark.parametrize("answers", ANSWERS, ids=lambda path: path.stem)
def test_a_kept_model_predicts_what_its_library_predicted(answers: Path) -> None:
    with np.load(answers) as file:
        kept = dict(file)
    missing = float(kept["missing"]) if "missing" in kept else None
    [model] = set(MODELS.glob(f"{answers.stem}.*")) - {answers}
    ensemble = fatt.load(model, missing=missing)
    rows = kept["rows"]
    if "texts" in kept:
        # Numbers and texts in one table.
        rows = np.hstack([rows.astype(object), kept["texts"].astype(object)])
    assert same_bits(ensemble.raw_scores(rows), kept["raw"])
    assert np.array_equal(ensemble.predict(rows), kept["labels"])
