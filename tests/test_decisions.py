"""Bands, tolerances and directions wherever a model is asked about, and bad input."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier
from sklearn.model_selection import GridSearchCV
from xgboost import XGBClassifier, XGBRegressor

import fatt
from fatt.errors import FattError, JournalError, SpecError
from fatt.metrics import fairness_scorer, individual_fairness_score
from tests.repairs.town import people

TABLE, LABEL = people(150, n_classes=3)
PRICE = 300 + 100 * LABEL + 40 * TABLE["age"]
SIMILARITY = fatt.Similarity(noise={"income": 0.2}, vary=["sex"])
BANDS = {"approve": 0.0, "review": 0.3, "decline": 0.7}

_FEW: dict[str, Any] = {"n_estimators": 8, "max_depth": 3, "n_jobs": 1}
REGRESSOR = XGBRegressor(**_FEW).fit(TABLE, PRICE)
CLASSIFIER = XGBClassifier(**_FEW).fit(TABLE, LABEL == 2)
SEVERAL = RandomForestClassifier(8, max_depth=4, random_state=0).fit(TABLE, LABEL)

#: Every kind of decision: whom is asked, and what.
KINDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "label": (CLASSIFIER, {}),
    "threshold": (CLASSIFIER, {"threshold": 0.3}),
    "bands": (CLASSIFIER, {"cuts": BANDS}),
    "lower band": (CLASSIFIER, {"cuts": BANDS, "direction": "not lower"}),
    "probability": (CLASSIFIER, {"tolerance": 0.1}),
    "worse label": (CLASSIFIER, {"direction": "not lower", "favorable": 1}),
    "price": (REGRESSOR, {"tolerance": "5%"}),
    "amount": (REGRESSOR, {"tolerance": 20, "direction": "not higher"}),
    "direction": (REGRESSOR, {"direction": "not lower"}),
    "price bands": (REGRESSOR, {"cuts": {"low": -np.inf, "high": 400.0}}),
}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> tuple[Any, dict[str, Any]]:
    return KINDS[request.param]


def _asked(model: Any, asked: dict[str, Any]) -> Any:
    return fatt.verify(model, TABLE, similarity=SIMILARITY, **asked)


def test_auditors_radii_and_scorers_agree(kind: tuple[Any, dict[str, Any]]) -> None:
    model, asked = kind
    report = _asked(model, asked)
    fair = report.is_fair
    assert 0 < fair.sum() < len(TABLE)
    given: dict[str, Any] = {"similarity": SIMILARITY, **asked}
    auditor = fatt.Auditor(model, schema=TABLE, **given)
    assert auditor.verify(TABLE).is_fair.tolist() == fair.tolist()
    again = pickle.loads(pickle.dumps(auditor))
    assert again.verify(TABLE[7:]).is_fair.tolist() == fair[7:].tolist()
    radii = fatt.radius(model, TABLE, **given)
    assert (radii.lower >= 1).tolist() == fair.tolist()
    assert individual_fairness_score(model, TABLE, **given) == fair.mean()
    scorer = fairness_scorer(**given)
    assert pickle.loads(pickle.dumps(scorer)) == scorer
    assert isinstance(hash(scorer), int)
    assert scorer(model, TABLE) == fair.mean()


def test_workers_and_parts_answer_the_same(
    kind: tuple[Any, dict[str, Any]], tmp_path: Path
) -> None:
    import dask
    import dask.dataframe as dd

    model, asked = kind
    report = _asked(model, asked)
    auditor = fatt.Auditor(model, similarity=SIMILARITY, schema=TABLE, **asked)
    # What a worker of joblib does with its task.
    found = pickle.loads(pickle.dumps(auditor)).examine(TABLE, fatt.Budget())
    assert found.verdict.tolist() == report.findings.verdict.tolist()
    assert found.label.tolist() == report.findings.label.tolist()
    with dask.config.set(scheduler="synchronous"):
        parts = fatt.audit.verify_partitions(
            model,
            dd.from_pandas(TABLE, npartitions=3),
            similarity=SIMILARITY,
            output=tmp_path / "parts",
            **asked,
        )
        assert parts.counts == report.counts
        files = sorted((tmp_path / "parts").glob("part-*.parquet"))
        labels = pd.concat([pd.read_parquet(file) for file in files])["label"]
        assert labels.tolist() == [str(one.label) for one in report.findings]
        other: dict[str, Any] = {"tolerance": 0.31}
        with pytest.raises(FattError, match="about something else"):
            fatt.audit.verify_partitions(
                model,
                dd.from_pandas(TABLE, npartitions=3),
                similarity=SIMILARITY,
                output=tmp_path / "parts",
                **other,
            )


def test_joblib_sends_prices_to_processes() -> None:
    report = _asked(REGRESSOR, {"tolerance": "5%"})
    with joblib.parallel_config(backend="loky", n_jobs=2):
        sent = _asked(REGRESSOR, {"tolerance": "5%"})
    assert sent.to_json() == report.to_json()


def test_parts_of_a_regressor_need_a_tolerance(tmp_path: Path) -> None:
    import dask.dataframe as dd

    with pytest.raises(SpecError, match="tolerance=50"):
        fatt.audit.verify_partitions(
            REGRESSOR,
            dd.from_pandas(TABLE, npartitions=2),
            similarity=SIMILARITY,
            output=tmp_path / "parts",
        )
    assert not (tmp_path / "parts").exists()


def test_a_journal_is_about_one_decision(
    kind: tuple[Any, dict[str, Any]], tmp_path: Path
) -> None:
    model, asked = kind
    journal = tmp_path / "journal"
    report = _asked(model, {**asked, "journal": journal})
    assert _asked(model, {**asked, "journal": journal}).to_json() == report.to_json()
    for other_model, other in KINDS.values():
        if other_model is model and other != asked:
            with pytest.raises(JournalError, match=r"about|asks for something else"):
                _asked(model, {**other, "journal": journal})


def test_grid_search_chooses_among_regressors() -> None:
    search = GridSearchCV(
        GradientBoostingRegressor(n_estimators=10, random_state=0),
        {"max_depth": [1, 3]},
        refit="fairness",
        scoring={"fairness": fairness_scorer(SIMILARITY, tolerance="10%")},
        cv=2,
    )
    search.fit(TABLE, PRICE)
    found = search.cv_results_["mean_test_fairness"]
    assert found[0] > found[1]
    assert search.best_params_ == {"max_depth": 1}
    best = search.best_estimator_
    report = fatt.verify(best, TABLE, similarity=SIMILARITY, tolerance="10%")
    assert search.score(TABLE, PRICE) == report.fairness.lower


@pytest.mark.parametrize("of", ["score", "probability", "prediction"])
def test_gaps_are_those_of_the_model_without_bands(of: Any) -> None:
    model, cuts = (CLASSIFIER, BANDS)
    if of == "prediction":
        model, cuts = REGRESSOR, {"low": -np.inf, "high": 400.0}
    plain = fatt.score_gap(model, TABLE, similarity=SIMILARITY, of=of)
    banded = fatt.score_gap(
        fatt.load(model, cuts=cuts), TABLE, similarity=SIMILARITY, of=of
    )
    assert list(banded) == list(plain)
    name = "prediction" if of == "prediction" else "of 1"
    assert f">{name}</th>" in banded[0]._repr_html_()


def test_gaps_tell_who_is_fair() -> None:
    gaps = fatt.score_gap(REGRESSOR, TABLE, similarity=SIMILARITY, of="prediction")
    own = REGRESSOR.predict(TABLE).astype(np.float64)
    assert [gap.before for gap in gaps] == own.tolist()
    middle = float(np.median(gaps.lower))
    report = _asked(REGRESSOR, {"tolerance": middle})
    assert report.is_fair.tolist() == (gaps.lower <= middle).tolist()
    assert report.is_fair[gaps.upper <= middle].all()


def test_repair_is_about_labels() -> None:
    asked: dict[str, Any] = {"similarity": SIMILARITY}
    with pytest.raises(SpecError, match="pass a classifier"):
        fatt.repair(REGRESSOR, TABLE, PRICE, **asked)
    with pytest.raises(SpecError, match="threshold= in place of cuts="):
        fatt.repair(fatt.load(CLASSIFIER, cuts=BANDS), TABLE, LABEL == 2, **asked)


def test_one_of_several_probabilities() -> None:
    model = fatt.load(SEVERAL).predicting(2)
    assert model.predicting(2) is model.predicting() is model
    with pytest.raises(SpecError, match="predicts the probability of 2: load"):
        model.predicting(1)
    with pytest.raises(SpecError, match="predicts a number: load the classifier"):
        fatt.load(REGRESSOR).predicting(1)


#: What is wrong, of which model, and what the sentence says.
WRONG: list[tuple[Any, dict[str, Any], str]] = [
    (CLASSIFIER, {"threshold": 1.2}, "between 0 and 1.*cut_on='score'"),
    (CLASSIFIER, {"threshold": -0.1}, "between 0 and 1"),
    (CLASSIFIER, {"threshold": np.nan}, "write a finite number"),
    (CLASSIFIER, {"cuts": {"a": 0.0, "b": 1.5}}, "no other beyond 1"),
    (CLASSIFIER, {"cuts": {"a": -0.5, "b": 0.5}}, "first band begins at 0"),
    (CLASSIFIER, {"cuts": {"a": 0.1, "b": 0.5}}, "first band begins at 0"),
    (CLASSIFIER, {"cuts": {"a": 0.0, "c": 0.5, "b": 0.4}}, "'b'.*in order"),
    (CLASSIFIER, {"cuts": {"a": 0.0, "b": 0.5, "c": 0.5}}, "'c'.*in order"),
    (CLASSIFIER, {"cuts": {"a": 0.0}}, "at least two"),
    (CLASSIFIER, {"cuts": {"a": 0.0, "b": np.nan}}, "hold nan; write numbers"),
    (CLASSIFIER, {"cuts": {"a": 0.0, "b": 0.4}, "threshold": 0.5}, "one or the other"),
    (CLASSIFIER, {"cuts": BANDS, "tolerance": 0.1}, "leave out one of the two"),
    (CLASSIFIER, {"threshold": 0.3, "tolerance": 0.1}, "leave out one of the two"),
    (CLASSIFIER, {"tolerance": 5}, "everybody would count as fair"),
    (CLASSIFIER, {"tolerance": -0.1}, "at least 0"),
    (CLASSIFIER, {"direction": "not lower"}, "no order.*favorable=1"),
    (
        CLASSIFIER,
        {"direction": "not lower", "threshold": 0.3},
        "no order: say which is better",
    ),
    (CLASSIFIER, {"favorable": True}, "there is no direction"),
    (CLASSIFIER, {"direction": "not lower", "favorable": 7}, "never answers"),
    (
        CLASSIFIER,
        {"cuts": BANDS, "direction": "not lower", "favorable": "approve"},
        "have their own order: leave it out",
    ),
    (SEVERAL, {"tolerance": 0.1}, r"3 classes.*predicting\(2\)"),
    (SEVERAL, {"threshold": 0.1}, "3 classes.*pos_label=2"),
    (SEVERAL, {"direction": "not higher", "favorable": 2}, "scores compete"),
    (REGRESSOR, {}, "tolerance=50.*direction='not lower'"),
    (REGRESSOR, {"threshold": 300.0}, "predicts a number.*pass a classifier"),
    (REGRESSOR, {"threshold": 300.0, "tolerance": 5}, "predicts a number"),
    (REGRESSOR, {"tolerance": -5}, "tolerance is -5; write a number.*at least 0"),
    (REGRESSOR, {"tolerance": "-5%"}, "tolerance is '-5%'"),
    (REGRESSOR, {"tolerance": np.nan}, "tolerance is nan"),
    (REGRESSOR, {"tolerance": "nan%"}, "tolerance is 'nan%'"),
    (REGRESSOR, {"tolerance": np.inf}, "tolerance is inf"),
    (REGRESSOR, {"tolerance": "five"}, "tolerance is 'five'"),
    (REGRESSOR, {"cuts": {"a": 0.0, "b": 400.0}}, "begin at -inf"),
    (
        REGRESSOR,
        {"cuts": {"a": -np.inf, "b": 400.0}, "tolerance": 5},
        "leave out one of the two",
    ),
    (
        REGRESSOR,
        {"direction": "not lower", "favorable": 1},
        "have their own order: leave it out",
    ),
]


@pytest.mark.parametrize(("model", "asked", "reason"), WRONG)
def test_wrong_questions_in_python(
    model: Any, asked: dict[str, Any], reason: str
) -> None:
    with pytest.raises(SpecError, match=reason) as told:
        _asked(model, asked)
    assert "\n" not in str(told.value)
    with pytest.raises(SpecError, match=reason):
        fatt.Auditor(model, similarity=SIMILARITY, **asked).verify(TABLE)


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"direction": "up"}, "write 'not lower' or 'not higher'"),
        ({"tolerance": True}, "tolerance is True"),
        ({"tolerance": [5]}, r"tolerance is \[5\]"),
        ({"cuts": [0.0, 400.0]}, "write names with lower ends"),
        ({"cuts": {"a": -np.inf, "b": "high"}}, "'b' begins at 'high'"),
        ({"cuts": {1: -np.inf, 2: 400.0}}, "the name 1; write texts"),
        ({"cuts": {}}, "at least two"),
    ],
)
def test_wrong_types_in_python(asked: dict[str, Any], reason: str) -> None:
    with pytest.raises(SpecError, match=reason):
        _asked(REGRESSOR, asked)


def test_what_is_loaded_and_what_is_asked_agree() -> None:
    cut, banded = (
        fatt.load(CLASSIFIER, threshold=0.3),
        fatt.load(CLASSIFIER, cuts=BANDS),
    )
    wrong: list[tuple[Any, dict[str, Any]]] = [
        (cut, {"threshold": 0.4}),
        (cut, {"cuts": BANDS}),
        (banded, {"threshold": 0.3}),
        (banded, {"cuts": {**BANDS, "review": 0.31}}),
        (banded, {"cuts": {"approve": 0.0, "decline": 0.7}}),
    ]
    ways: list[Callable[..., Any]] = [
        lambda model, **asked: _asked(model, asked),
        lambda model, **asked: fatt.Auditor(model, similarity=SIMILARITY, **asked),
        lambda model, **asked: fatt.radius(
            model, TABLE, similarity=SIMILARITY, **asked
        ),
        fatt.load,
    ]
    for model, asked in wrong:
        for way in ways:
            with pytest.raises(SpecError, match=r"decides already: .* another rule: "):
                way(model, **asked)
    assert _asked(cut, {"threshold": 0.3}).counts == _asked(cut, {}).counts
    assert _asked(banded, {"cuts": BANDS}).counts == _asked(banded, {}).counts
