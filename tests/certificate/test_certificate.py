from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt import Certificate, Similarity
from fatt.certificate import Checked
from fatt.errors import CertificateError, SpecError

SIMILARITY = Similarity(noise={"age": 2}, vary=["town"]) | Similarity(
    noise={"income": "5%"}
)


def people(count: int, *, n_towns: int = 90, missing: bool = False) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 70, count),
            "income": np.round(rng.normal(30, 10, count), 1),
            "town": [f"town {n}" for n in rng.integers(n_towns, size=count)],
        }
    )
    if missing:
        table.loc[rng.random(count) < 0.2, "income"] = np.nan
    return table


def labels(table: pd.DataFrame, n_classes: int) -> np.ndarray[Any, Any]:
    town = table["town"].str.slice(5).astype(int)
    score = table["age"] + table["income"].fillna(25) + 8 * (town % 3)
    edges = np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1])
    return np.searchsorted(edges, score)


def encoded() -> Any:
    return make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["town"]),
        (StandardScaler(), ["age", "income"]),
    )


def as_categories(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(town=table["town"].astype("category"))


def boosted(kind: str, n_classes: int) -> tuple[Any, pd.DataFrame]:
    table = as_categories(people(400, missing=True))
    if kind == "xgboost":
        module = pytest.importorskip("xgboost")
        model = module.XGBClassifier(
            n_estimators=12, max_depth=3, enable_categorical=True, n_jobs=1
        )
    else:
        module = pytest.importorskip("lightgbm")
        model = module.LGBMClassifier(n_estimators=12, max_depth=3, verbose=-1)
    return model.fit(table, labels(table, n_classes)), table


def fitted(kind: str) -> tuple[Any, pd.DataFrame]:
    if kind in {"xgboost", "lightgbm"}:
        return boosted(kind, 2)
    if kind.endswith("3 classes"):
        return boosted(kind.split(maxsplit=1)[0], 3)
    table = people(400, n_towns=6 if kind == "hist" else 90)
    if kind == "hist":
        table = as_categories(table)
        model: Any = HistGradientBoostingClassifier(
            max_iter=12, max_depth=3, categorical_features="from_dtype"
        )
        return model.fit(table, labels(table, 2)), table
    final = {
        "tree": DecisionTreeClassifier(max_depth=5, random_state=0),
        "forest": RandomForestClassifier(15, max_depth=6, random_state=0),
        "threads": RandomForestClassifier(15, max_depth=6, random_state=0, n_jobs=2),
        "gradient": GradientBoostingClassifier(n_estimators=12, random_state=0),
    }[kind.split(" of ", maxsplit=1)[0]]
    n_classes = 4 if kind.endswith("of 4") else 2
    model = make_pipeline(encoded(), final)
    return model.fit(table, labels(table, n_classes)), table


KINDS = ["tree", "forest", "forest of 4", "threads", "gradient of 4", "hist"]
BOOSTED = ["xgboost", "lightgbm", "xgboost, 3 classes", "lightgbm, 3 classes"]


@pytest.mark.parametrize("kind", [*KINDS, *(k.replace(",", "") for k in BOOSTED)])
def test_everybody_gets_evidence_that_holds(kind: str, tmp_path: Path) -> None:
    model, table = fitted(kind)
    chosen = table.iloc[:60]
    schema = fatt.Schema.infer(fatt.load(model), table)
    report = fatt.verify(model, chosen, similarity=SIMILARITY, schema=schema)
    certificate = report.certificate()
    counts = report.counts
    assert min(counts["fair"], counts["unfair"]) > 0, "the case shows too little"
    assert certificate.counts == {**counts, "claimed": 0}
    path = tmp_path / "audit.cert"
    certificate.save(path)
    checked = Certificate.read(path).check(model, chosen)
    assert (checked.fair, checked.unfair) == (counts["fair"], counts["unfair"])
    assert checked.fairness == report.fairness
    assert checked.is_data_checked
    assert not list(tmp_path.glob("*.part"))
    other = chosen.assign(age=chosen["age"] + (np.arange(len(chosen)) == 7))
    with pytest.raises(CertificateError, match=r"person 7 is another .*'age'"):
        certificate.check(model, other)


@pytest.fixture(scope="module")
def case() -> tuple[Any, pd.DataFrame, Certificate]:
    model, table = fitted("forest")
    chosen = table.iloc[:40]
    report = fatt.verify(model, chosen, similarity=SIMILARITY)
    return model, chosen, report.certificate()


def test_another_model_is_refused(case: Any) -> None:
    _, table, certificate = case
    other, _ = fitted("tree")
    with pytest.raises(CertificateError, match="about another model"):
        certificate.check(other, table)


def test_tables_that_do_not_fit_are_refused(case: Any) -> None:
    model, table, certificate = case
    with pytest.raises(CertificateError, match="40 people, and the table has 39 rows"):
        certificate.check(model, table.iloc[:-1])
    with pytest.raises(CertificateError, match="does not fit the model"):
        certificate.check(model, table.drop(columns="age"))


def test_the_result_says_what_was_checked_and_what_not(case: Any) -> None:
    model, table, certificate = case
    checked = certificate.check(model)
    text = str(checked)
    assert "that they are the right people was not checked" in text
    assert f"{checked.fair} are proved fair: {checked.parts} boxes" in text
    assert "for you to judge:\nTwo persons are similar if" in text
    assert len(checked) == 40
    assert "row by row" in str(certificate.check(model, table))


def test_without_enough_boxes_fair_is_only_claimed() -> None:
    model, table = fitted("forest")
    report = fatt.verify(model, table.iloc[:60], similarity=SIMILARITY)
    certificate = report.certificate(most_boxes=1)
    claimed = certificate.counts["claimed"]
    assert claimed
    assert certificate.counts["fair"] + claimed == report.counts["fair"]
    checked = certificate.check(model)
    assert checked.claimed == claimed
    assert checked.fairness.lower < report.fairness.lower
    assert checked.fairness.upper == report.fairness.upper
    with pytest.raises(SpecError, match="most_boxes is 0"):
        report.certificate(most_boxes=0)


def test_nothing_is_said_of_the_unknown() -> None:
    model, table = fitted("forest")
    hasty = fatt.verify(
        model,
        table.iloc[:60],
        similarity=SIMILARITY,
        budget=fatt.Budget(total_nodes=0),
    )
    certificate = hasty.certificate()
    assert hasty.counts["unknown"] == certificate.counts["unknown"] > 0
    unknown = hasty.findings.verdict == 2
    assert (certificate.labels[unknown] == -1).all()
    assert certificate.check(model).unknown == hasty.counts["unknown"]


def test_progress_is_told() -> None:
    model, table = fitted("tree")
    report = fatt.verify(model, table, similarity=SIMILARITY)
    told: list[tuple[int, int]] = []
    report.certificate(progress=lambda done, of: told.append((done, of)))
    assert told[-1] == (400, 400)
    assert sorted(told) == told


def test_certificates_have_no_truth_value(case: Any) -> None:
    *_, certificate = case
    with pytest.raises(TypeError, match="check it"):
        bool(certificate)
    assert "not checked here" in repr(certificate)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "no certificate that fatt can read"),
        (b"{}", "no certificate that fatt can read"),
        (b"\xff\x00", "no certificate that fatt can read"),
        (b"[" * 100_000, "no certificate that fatt can read"),
    ],
)
def test_other_files_are_refused(data: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "other"
    path.write_bytes(data)
    with pytest.raises(CertificateError, match=message):
        Certificate.read(path)


def test_fairness_is_counted_by_the_checker() -> None:
    checked = Checked(
        fair=6,
        unfair=1,
        claimed=2,
        unknown=1,
        parts=9,
        model="0" * 64,
        is_data_checked=False,
        similarity="",
    )
    assert checked.fairness == (0.6, 0.9)
