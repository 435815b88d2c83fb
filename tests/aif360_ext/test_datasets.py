"""AIF360's own datasets, from any folder and on any pandas; and audits of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from aif360.datasets import (
    AdultDataset,
    BankDataset,
    CompasDataset,
    GermanDataset,
    StandardDataset,
)
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier

from fatt import Similarity
from fatt.aif360_ext import IndividualFairnessMetric, read_dataset
from fatt.errors import DataError, SpecError
from tests.aif360_ext.made import RAW, are_fair, needs_raw_files, predicted

GERMAN = (
    "A11 6 A34 A43 1169 A65 A75 4 A93 A101 4 A121 67 A143 A152 2 A173 1 A192 A201 1\n"
    "A12 48 A32 A43 5951 A61 A73 2 A92 A101 2 A121 22 A143 A152 1 A173 1 A191 A201 2\n"
    "A14 12 A34 A46 2096 A61 A74 2 A93 A101 3 A121 49 A143 A152 1 A172 2 A191 A201 1\n"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "german").mkdir()
    (tmp_path / "german" / "german.data").write_text(GERMAN)
    return tmp_path


def test_a_small_german_dataset(folder: Path) -> None:
    german = read_dataset(GermanDataset, folder)
    assert type(german) is GermanDataset
    assert german.protected_attribute_names == ["sex", "age"]
    assert german.protected_attributes.tolist() == [[1, 1], [0, 0], [1, 1]]
    assert german.labels.ravel().tolist() == [1, 2, 1]
    assert (german.favorable_label, german.unfavorable_label) == (1, 2)
    assert "status=A11" in german.feature_names


def test_arguments_of_the_class(folder: Path) -> None:
    german = read_dataset(
        GermanDataset,
        str(folder),
        protected_attribute_names=["age"],
        privileged_classes=[lambda age: age > 30],
        features_to_keep=["month", "age", "credit"],
        categorical_features=[],
    )
    assert german.feature_names == ["month", "age"]
    assert german.protected_attributes.tolist() == [[1], [0], [1]]
    with pytest.raises(TypeError, match="no_such"):
        read_dataset(GermanDataset, folder, no_such=1)


def test_missing_files_do_not_end_the_process(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(DataError, match=r"no raw file .*adult\.test"):
        read_dataset(AdultDataset, folder)
    assert capsys.readouterr().out == ""
    with pytest.raises(SpecError, match=r"knows AdultDataset, .* pass it to Standard"):
        read_dataset(StandardDataset, folder)


REAL = [
    (AdultDataset, (45222, 98), (1, 0), ["race", "sex"]),
    (GermanDataset, (1000, 58), (1, 2), ["sex", "age"]),
    (CompasDataset, (6167, 401), (0, 1), ["sex", "race"]),
    (BankDataset, (30488, 57), (1, 0), ["age"]),
]


@needs_raw_files
@pytest.mark.parametrize(("cls", "shape", "labels", "protected"), REAL, ids=str)
def test_real_datasets(cls: Any, shape: Any, labels: Any, protected: Any) -> None:
    dataset = read_dataset(cls, RAW)
    assert dataset.features.shape == shape
    assert (dataset.favorable_label, dataset.unfavorable_label) == labels
    assert dataset.protected_attribute_names == protected
    train, test = dataset.split([0.8], shuffle=True, seed=0)
    test = test.subset(range(min(900, len(test.labels))))
    scaler = StandardScaler().fit(train.features)
    model = XGBClassifier(n_estimators=20, max_depth=4)
    is_favorable = train.labels.ravel() == train.favorable_label
    model.fit(scaler.transform(train.features), is_favorable.astype(int))

    def predict(features: Any) -> Any:
        return model.predict(scaler.transform(features))

    answers = np.where(predict(test.features) == 1, *labels)
    metric = IndividualFairnessMetric(
        test,
        predicted(test, answers),
        [{protected[0]: 0}],
        [{protected[0]: 1}],
        model=model,
        prepare=scaler,
    )
    fair = are_fair(predict, test)
    np.testing.assert_array_equal(metric.report().findings.verdict == 0, fair)
    assert metric.num_fair() == fair.sum()
    assert metric.num_unknown() == 0
    assert metric.accuracy() == np.mean(answers == test.labels.ravel())
    group = test.protected_attributes[:, 0] == 1
    assert metric.individual_unfairness_difference() == pytest.approx(
        np.mean(~fair[~group]) - np.mean(~fair[group])
    )
    if cls is not BankDataset:
        assert 0 < fair.sum() < len(fair)


@needs_raw_files
def test_one_hot_columns_of_adult_are_one_variable() -> None:
    adult = read_dataset(AdultDataset, RAW)
    some = adult.subset(range(2000))
    model = XGBClassifier(n_estimators=20, max_depth=4)
    model.fit(some.features, some.labels.ravel())
    metric = IndividualFairnessMetric(
        some,
        predicted(some, model.predict(some.features)),
        model=model,
        similarity=Similarity(noise={"age": 2}, vary=["workclass", "sex"]),
    )
    classes = {name for name in some.feature_names if name.startswith("workclass=")}
    changed = [case.changes.get("workclass") for case in metric.counterexamples()]
    levels = {level for change in changed if change for level in change}
    assert levels
    assert {f"workclass={level}" for level in levels} <= classes
