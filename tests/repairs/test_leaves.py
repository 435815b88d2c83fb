from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fatt
from fatt.region import Schema, Variables
from fatt.repairs.leaves import Leaves
from tests.repairs.town import MODELS, boosters, in_words, people, pipeline


def fitted(kind: str, n_classes: int) -> tuple[Any, Any]:
    """Fit a model; return it with its people."""
    table, label = people(n_classes=n_classes)
    if kind == "pipeline":
        table = in_words(table)
        return pipeline().fit(table, label), table
    if kind.endswith("Booster"):
        return boosters()[kind.removesuffix("Booster")], table
    return MODELS[kind]().fit(table, label), table


CASES = [(kind, n_classes) for kind in (*MODELS, "pipeline") for n_classes in (2, 3)]
CASES += [("XGBoostBooster", 2), ("LightGBMBooster", 2)]


@pytest.mark.parametrize(("kind", "n_classes"), CASES)
def test_written_leaves_are_read_back(kind: str, n_classes: int) -> None:
    model, table = fitted(kind, n_classes)
    ensemble = fatt.load(model).ensemble
    schema = Schema.infer(ensemble, table)
    leaves = Leaves(fatt.load(model), schema)
    # The same values make the same model, to the last bit.
    same = leaves.write(leaves.values)
    assert type(same) is type(model)
    assert fatt.load(same).ensemble == ensemble
    # Other ones are added by the library as the ensemble adds them.
    rng = np.random.default_rng(0)
    steps = rng.integers(-8, 9, size=leaves.values.shape) / 16
    values = leaves.values + steps
    other = leaves.write(values)
    over_variables = Variables(fatt.load(other).ensemble, schema).ensemble
    filled = leaves.fill(Variables(ensemble, schema).ensemble, values)
    np.testing.assert_allclose(
        over_variables.trees.values, filled.trees.values, rtol=1e-12
    )
    assert leaves.changed(values) == (steps != 0).any(axis=1).sum()
    if hasattr(model, "predict_proba"):
        # CatBoost answers a column for several classes.
        answers = np.ravel(other.predict(table))
        assert answers.tolist() == fatt.load(other).predict(table).tolist()
    # And the given model is what it was.
    assert fatt.load(model).ensemble == ensemble


def test_only_rounds_that_take_part_are_changed() -> None:
    import xgboost

    table, label = people()
    model = xgboost.XGBClassifier(
        n_estimators=60, max_depth=3, learning_rate=1.0, early_stopping_rounds=3
    )
    model.fit(table[:150], label[:150], eval_set=[(table, label)], verbose=False)
    ensemble = fatt.load(model).ensemble
    assert len(ensemble.trees) < model.get_booster().num_boosted_rounds()
    leaves = Leaves(fatt.load(model), Schema.infer(ensemble, table))
    assert len(leaves.rows) == ensemble.trees.n_leaves
    same = leaves.write(leaves.values)
    assert same.best_iteration == model.best_iteration
    assert fatt.load(same).ensemble == ensemble
