from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.ensemble import BaggingClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, balanced_accuracy_score
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt.errors import DataError, ModelError, SpecError, UnsupportedModelError
from fatt.repairs.result import Price
from tests.repairs.town import MODELS, SIMILARITY, boosters, in_words, people, pipeline

#: What may be lost: much, for the models know the labels of these people by heart, and
#: there are few of them.
LOSS = 0.15


def is_better(model: Any, repair: fatt.Repair, table: Any, label: Any) -> None:
    """Check what a repair says of itself, by other means."""
    assert type(repair.model) is type(model)
    assert repair.model is not model
    assert repair.n_changed > 0
    for which, quality in ((model, repair.before), (repair.model, repair.after)):
        report = fatt.verify(which, table, similarity=SIMILARITY)
        assert report.fairness == quality.fairness
        predicted = fatt.load(which).predict(table)
        assert quality.accuracy == pytest.approx(accuracy_score(label, predicted))
        balanced = balanced_accuracy_score(label, predicted)
        assert quality.balanced_accuracy == pytest.approx(balanced)
    assert repair.after.fairness.lower > repair.before.fairness.lower
    assert repair.after.accuracy >= repair.before.accuracy - LOSS
    assert repair.after.balanced_accuracy >= repair.before.balanced_accuracy - LOSS
    assert repair.price + repair.price_error <= LOSS
    assert repair.report.fairness == repair.after.fairness


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", MODELS)
def test_repaired_models_are_fairer(kind: str, n_classes: int) -> None:
    table, label = people(n_classes=n_classes)
    model = MODELS[kind]().fit(table, label)
    before = fatt.load(model)
    repair = fatt.repair(
        model, table, label, similarity=SIMILARITY, max_accuracy_loss=LOSS
    )
    is_better(model, repair, table, label)
    assert fatt.load(model) == before
    # What the library itself answers is what was verified.
    assert np.ravel(repair.model.predict(table)).tolist() == [
        finding.label for finding in repair.report.findings
    ]


@pytest.mark.parametrize("kind", ["XGBoost", "LightGBM"])
def test_boosters(kind: str) -> None:
    table, label = people()
    model = boosters()[kind]
    repair = fatt.repair(
        model, table, label, similarity=SIMILARITY, max_accuracy_loss=LOSS
    )
    is_better(model, repair, table, label)


def test_pipelines_with_labels_in_words() -> None:
    table, label = people()
    table, label = in_words(table), np.array(["deny", "grant"])[label]
    model = pipeline().fit(table, label)
    repair = fatt.repair(
        model, table, label, similarity=SIMILARITY, max_accuracy_loss=LOSS
    )
    is_better(model, repair, table, label)
    assert repair.model[0] is not model[0]


def test_native_categories_and_missing_values() -> None:
    table, label = people()
    table = in_words(table).astype({"sex": "category"})
    table.loc[::7, "age"] = np.nan
    model = HistGradientBoostingClassifier(
        max_iter=8, min_samples_leaf=5, categorical_features=["sex"], random_state=0
    ).fit(table, label)
    repair = fatt.repair(
        model, table, label, similarity=SIMILARITY, max_accuracy_loss=LOSS
    )
    is_better(model, repair, table, label)


def test_several_regions_for_one_person() -> None:
    table, label = people()
    model = MODELS["RandomForest"]().fit(table, label)
    either = SIMILARITY.one_at_a_time()
    repair = fatt.repair(model, table, label, similarity=either, max_accuracy_loss=LOSS)
    assert repair.after.fairness.lower > repair.before.fairness.lower
    report = fatt.verify(repair.model, table, similarity=either)
    assert report.fairness == repair.after.fairness


def test_the_same_people_give_the_same_repair() -> None:
    table, label = people()
    model = MODELS["XGBoost"]().fit(table, label)
    once, twice = (
        fatt.load(fatt.repair(model, table, label, similarity=SIMILARITY).model)
        for _ in range(2)
    )
    assert once == twice


def test_some_people_can_stand_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    table, label = people()
    model = MODELS["RandomForest"]().fit(table, label)
    monkeypatch.setattr("fatt.repairs.changes._FEW", 50)
    monkeypatch.setattr("fatt.repairs.changes._MOST_LEAVES", 1)
    repair = fatt.repair(
        model, table, label, similarity=SIMILARITY, max_accuracy_loss=LOSS
    )
    is_better(model, repair, table, label)


def test_a_model_that_cannot_be_helped_comes_back_itself() -> None:
    table, label = people()
    # No split asks for the sex, since all have the same.
    model = DecisionTreeClassifier(max_depth=3).fit(table.assign(sex=0), label)
    repair = fatt.repair(model, table, label, similarity=fatt.Similarity(vary=["sex"]))
    assert repair.model is model
    assert repair.n_changed == 0
    assert repair.after == repair.before
    assert repair.before.fairness.lower == 1.0
    assert "the model is the given one" in repr(repair)


def test_the_price_is_judged_by_people_for_whom_the_change_was_not_made() -> None:
    table, label = people()
    # Labels without any meaning: leaves can learn them by heart, and nothing else.
    label = np.random.default_rng(1).permutation(label)
    model = MODELS["GradientBoosting"]().fit(*people())
    repair = fatt.repair(
        model, table, label, similarity=SIMILARITY, max_accuracy_loss=1.0
    )
    assert repair.after.accuracy > repair.before.accuracy + 0.03
    assert repair.price > 0


def test_the_error_of_the_price_is_how_much_it_varies_from_sample_to_sample() -> None:
    rng = np.random.default_rng(0)

    def draw() -> Price:
        truth = (rng.random(400) < 0.2).astype(np.int64)
        before = np.where(rng.random(400) < 0.8, truth, 1 - truth)
        after = np.where(rng.random(400) < 0.1, 1 - before, before)
        return Price.of(before, after, truth)

    prices = [draw() for _ in range(300)]
    varies = np.std([price.loss for price in prices])
    assert np.mean([price.error for price in prices]) == pytest.approx(varies, rel=0.25)
    nothing = Price.of(np.array([0, 1]), np.array([0, 1]), np.array([1, 1]))
    assert nothing == (0.0, 0.0)


def test_no_more_accuracy_is_lost_than_allowed() -> None:
    table, label = people()
    # The label is the sex: who is fair here cannot be right.
    label = table["sex"].to_numpy()
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(table, label)
    repair = fatt.repair(model, table, label, similarity=fatt.Similarity(vary=["sex"]))
    assert repair.model is model
    assert repair.before.fairness.upper == 0.0


def test_what_is_unknown_is_not_called_fair() -> None:
    table, label = people()
    model = MODELS["GradientBoosting"]().fit(table, label)
    wide = fatt.Similarity(noise={"income": 0.5, "age": 0.5}, vary=["sex"])
    given = {"similarity": wide, "budget": fatt.Budget(nodes=0)}
    repair = fatt.repair(model, table, label, max_accuracy_loss=LOSS, **given)
    assert repair.before.fairness.upper > repair.before.fairness.lower
    assert repair.after.fairness.lower > repair.before.fairness.lower
    exact = fatt.verify(repair.model, table, similarity=wide).fairness
    assert exact.lower >= repair.after.fairness.lower


def test_it_says_what_it_did() -> None:
    table, label = people()
    model = MODELS["RandomForest"]().fit(table, label)
    repair = fatt.repair(
        model, table, label, similarity=SIMILARITY, max_accuracy_loss=LOSS
    )
    head, before, after, changed = repr(repair).splitlines()
    assert head == "<Repair on 300 people"
    assert before == f" before: {repair.before}"
    assert after == f" after:  {repair.after}"
    assert changed == (
        f" {repair.n_changed:,} leaves changed; expected change of accuracy on other "
        f"people: {-repair.price:+.2%} ± {repair.price_error:.2%}>"
    )
    assert f"accuracy {repair.after.accuracy:.2%}" in after


TABLE, LABEL = people(60)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (BaggingClassifier(DecisionTreeClassifier(), 2), "BaggingClassifier"),
        (LogisticRegression(), "LogisticRegression"),
        (xgboost.XGBClassifier(booster="dart", n_estimators=9, rate_drop=0.9), "dart"),
        (
            xgboost.XGBClassifier(
                multi_strategy="multi_output_tree", n_estimators=2, num_class=3
            ),
            "multi_strategy",
        ),
    ],
    ids=["bagging", "linear", "dart", "vector leaves"],
)
def test_other_models_are_refused_by_name(model: Any, name: str) -> None:
    table, label = people(60, n_classes=3 if name == "multi_strategy" else 2)
    model.fit(table, label)
    with pytest.raises(ModelError, match=name):
        fatt.repair(model, table, label, similarity=SIMILARITY)


def test_what_is_no_model_of_a_library_is_refused(tmp_path: Path) -> None:
    model = MODELS["XGBoost"]().fit(TABLE, LABEL)
    path = tmp_path / "model.json"
    model.save_model(path)
    for given in (path, fatt.load(path), fatt.load(model).ensemble):
        with pytest.raises(
            UnsupportedModelError, match="was given a file or an exact form"
        ):
            fatt.repair(given, TABLE, LABEL, similarity=SIMILARITY)
    bagged = BaggingClassifier(n_estimators=2).fit(TABLE, LABEL)
    with pytest.raises(UnsupportedModelError, match="cannot repair a Bagging"):
        fatt.repair(bagged, TABLE, LABEL, similarity=SIMILARITY)


def test_a_loaded_model_is_repaired_to_one() -> None:
    model = MODELS["DecisionTree"]().fit(TABLE, LABEL)
    given = {"similarity": SIMILARITY, "max_accuracy_loss": 1.0}
    loaded = fatt.repair(fatt.load(model), TABLE, LABEL, **given)
    fitted = fatt.repair(model, TABLE, LABEL, **given)
    assert loaded.n_changed == fitted.n_changed > 0
    assert loaded.model == fatt.load(fitted.model)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"y": LABEL[:-1]}, r"y has the shape \(59,\) for 60 people"),
        ({"y": pd.Series(LABEL).replace(1, 7)}, "row 1: y is 7, .* classes are"),
        ({"y": np.where(LABEL, "a", "b")}, "which is no class of the model"),
        ({"max_accuracy_loss": -0.1}, "max_accuracy_loss is -0.1"),
        ({"max_accuracy_loss": "1%"}, "max_accuracy_loss is '1%'"),
        ({"similarity": None}, "similarity is None"),
        ({"X": TABLE[:0]}, "no"),
    ],
)
def test_bad_input_is_refused(changes: dict[str, Any], message: str) -> None:
    model = MODELS["DecisionTree"]().fit(TABLE, LABEL)
    given = {"X": TABLE, "y": LABEL, "similarity": SIMILARITY, **changes}
    with pytest.raises((DataError, SpecError), match=message):
        fatt.repair(model, given.pop("X"), given.pop("y"), **given)


@pytest.mark.parametrize(
    "given",
    [
        {"columns": ["a", "b", "c"]},
        {"answers": {0: "denied", 1: "granted"}},
        {"answers": {0: "denied"}, "threshold": 0.4},
        {"columns": ["a", "b", "c"], "codes": {"a": {0: "f", 1: "m"}}},
        {"missing": -999.0},
    ],
)
def test_what_a_repaired_copy_would_not_know_is_refused(given: dict[str, Any]) -> None:
    table, label = people(60)
    rows = np.asarray(table, dtype=np.float64)
    booster = MODELS["XGBoost"]().fit(rows, label).get_booster()
    model = fatt.load(booster, **given)
    truth = np.array([model.classes[place] for place in label])
    named = pd.DataFrame(rows, columns=[feature.name for feature in model.features])
    with pytest.raises(UnsupportedModelError, match="from outside"):
        fatt.repair(
            model,
            named.replace({"a": {0: "f", 1: "m"}}) if "codes" in given else named,
            truth,
            similarity=fatt.Similarity(noise={model.features[1].name: 0.1}),
            by_position=True,
        )
