"""Cut-offs: what `predict_proba(X)[:, 1] >= t` answers, to the last bit."""

from __future__ import annotations

import html
import itertools
import json
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import fatt
from fatt import Similarity
from fatt.cli import main
from fatt.ensemble import Cut, CutOff
from fatt.errors import JournalError, SpecError, UnsupportedModelError
from fatt.metrics import fairness_scorer
from tests.laws.effort import for_seeds
from tests.repairs.town import in_words, people, pipeline
from tests.test_probabilities import KINDS, lightgbm_with

TABLE, LABEL = people(120)
ROWS = np.asarray(TABLE, dtype=np.float64)


def around(numbers: Any, rng: np.random.Generator) -> Iterator[float]:
    """Yield cut-offs: those that somebody has, their neighbours, and the ends."""
    some = rng.choice(np.unique(numbers), 4)
    for number in some:
        kind = number.dtype.type
        for near in (
            number,
            np.nextafter(number, kind(0)),
            np.nextafter(number, kind(1)),
        ):
            # Also in float64 next to a number in float32, which rounds to it.
            yield from (float(near), float(np.nextafter(float(near), 1.0)))
    yield from (0.0, 1.0, 0.5, 0.1, 5e-324, float(np.nextafter(1.0, 0.0)))


def reached(numbers: Any, threshold: float, strict: bool) -> Any:
    return numbers > threshold if strict else numbers >= threshold


@pytest.mark.parametrize("kind", KINDS)
@for_seeds(3)
def test_two_classes(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    label = np.where(rng.random(len(LABEL)) < 0.1, 1 - LABEL, LABEL)
    fitted = KINDS[kind]().fit(TABLE, label)
    given = fitted.predict_proba(TABLE)
    plain = fatt.load(fitted)
    for place, strict in itertools.product((1, 0), (False, True)):
        for threshold in around(given[:, place], rng):
            model = plain.deciding(
                threshold=threshold, strict=strict, pos_label=[0, 1][place]
            )
            second = reached(given[:, place], threshold, strict)
            expected = np.where(second, place, 1 - place)
            assert np.array_equal(model.predict(TABLE), expected), (threshold, place)
            assert model.ask(TABLE) == expected.tolist()


@pytest.mark.parametrize(
    "kind",
    [
        "GradientBoosting",
        "HistGradientBoosting",
        "XGBoost",
        "XGBRF",
        "LightGBM",
        "LightGBM forest",
        "RandomForest",
    ],
)
def test_scores(kind: str) -> None:
    rng = np.random.default_rng(0)
    fitted = KINDS[kind]().fit(TABLE, LABEL)
    plain = fatt.load(fitted)
    scores = plain.raw_scores(TABLE)
    scores = scores[:, -1]
    for threshold in [*around(scores, rng), -1e300, 1e300, -3.0]:
        for strict in (False, True):
            model = plain.deciding(threshold=threshold, strict=strict, cut_on="score")
            with np.errstate(over="ignore"):
                expected = reached(scores, scores.dtype.type(threshold), strict)
            assert np.array_equal(model.predict(TABLE), expected.astype(int))
            assert model.ask(TABLE) == expected.astype(int).tolist()


@pytest.mark.parametrize("kind", ["RandomForest", "LightGBM one against the rest"])
def test_one_of_several_classes(kind: str) -> None:
    table, label = people(120, n_classes=4)
    names = np.array(["a", "b", "c", "d"])[label]
    made = KINDS.get(kind, lambda: lightgbm_with(objective="multiclassova"))
    fitted = made().fit(table, names)
    given = fitted.predict_proba(table)
    rng = np.random.default_rng(0)
    for place, name in enumerate("abcd"):
        for threshold in around(given[:, place], rng):
            model = fatt.load(fitted, threshold=threshold, pos_label=name)
            assert model.classes == (f"not {name}", name)
            expected = np.where(given[:, place] >= threshold, name, f"not {name}")
            assert np.array_equal(model.predict(table), expected)
            assert model.ask(table) == expected.tolist()
        assert np.array_equal(model.predict_proba(table)[:, 1], given[:, place])
        assert np.array_equal(model.predict_proba(table), model.ask_proba(table))
    scores = fatt.load(fitted).raw_scores(table)[:, 2]
    model = fatt.load(fitted, threshold=0.2, cut_on="score", pos_label="c")
    assert np.array_equal(model.predict(table) == "c", scores >= 0.2)
    assert model.ask(table) == model.predict(table).tolist()


def test_a_half_is_not_always_what_predict_answers() -> None:
    """Where a probability is exactly one half, libraries do not agree with `>=`."""
    X = np.array([[0.0], [0.0], [1.0], [1.0], [2.0]])
    y = np.array([0, 1, 0, 1, 1])
    forest = DecisionTreeClassifier().fit(X, y)
    assert forest.predict(X[:1]).tolist() == [0]
    assert fatt.load(forest).predict(X[:1]).tolist() == [0]
    assert fatt.load(forest, threshold=0.5).predict(X[:1]).tolist() == [1]
    assert fatt.load(forest, threshold=0.5, strict=True).predict(X[:1]).tolist() == [0]
    even = HistGradientBoostingClassifier(
        max_iter=1, min_samples_leaf=1, max_leaf_nodes=2
    )
    even.fit(X[:4], y[:4])
    assert even.predict_proba(X)[:, 1].tolist() == [0.5] * 5
    assert fatt.load(even).predict(X).tolist() == even.predict(X).tolist() == [0] * 5
    assert fatt.load(even, threshold=0.5).predict(X).tolist() == [1] * 5


@pytest.mark.parametrize(
    "kind", ["RandomForest", "GradientBoosting", "XGBoost", "LightGBM"]
)
@pytest.mark.parametrize("threshold", [0.0, 0.4, 0.5, 0.62, 1.0])
def test_verdicts_are_those_of_brute_force(kind: str, threshold: float) -> None:
    fitted = KINDS[kind]().fit(TABLE, LABEL)
    similarity = Similarity(noise={"income": 0.2}, vary=["sex"])
    report = fatt.verify(fitted, TABLE, similarity=similarity, threshold=threshold)
    assert report.asked.people == len(TABLE)
    cuts = fatt.load(fitted).ensemble.thresholds(1)
    near = []
    for person, row in enumerate(ROWS):
        low, high = row[1] - 0.2, row[1] + 0.2
        values = [low, high, row[1], *cuts, *np.nextafter(cuts, np.inf)]
        near += [
            [person, sex, value, row[2]]
            for sex in (0, 1)
            for value in values
            if low <= value <= high
        ]
    who, *columns = np.array(near).T
    rows = pd.DataFrame(dict(zip(TABLE.columns, columns, strict=True)))
    given = fitted.predict_proba(rows)[:, 1] >= threshold
    n_given = np.bincount(who.astype(int), given)
    alike = (n_given == 0) | (n_given == np.bincount(who.astype(int)))
    found = [finding.verdict == "fair" for finding in report.findings]
    assert found == alike.tolist()
    certificate = report.certificate()
    model = fatt.load(fitted, threshold=threshold)
    certificate.check(model, TABLE)
    if threshold in {0.0, 1.0}:
        return
    assert 0 < sum(found) < len(TABLE)
    with pytest.raises(fatt.errors.CertificateError):
        certificate.check(fatt.load(fitted), TABLE)


def test_gaps_and_radii_are_about_the_cut() -> None:
    fitted = KINDS["XGBoost"]().fit(TABLE, LABEL)
    similarity = Similarity(noise={"income": 0.2})
    model = fatt.load(fitted, threshold=0.3)
    assert model == fatt.load(fitted, threshold=0.3)
    radii = fatt.radius(model, TABLE, similarity=similarity)
    given = fitted.predict_proba(TABLE)[:, 1] >= 0.3
    report = fatt.verify(model, TABLE, similarity=similarity)
    assert [bool(f.label) for f in report.findings] == given.tolist()
    for radius, finding in zip(radii, report.findings, strict=True):
        assert (radius.bounds.lower >= 1) == (finding.verdict == "fair")
    gaps = fatt.score_gap(model, TABLE, similarity=similarity, of="probability")
    same = fatt.score_gap(fitted, TABLE, similarity=similarity, of="probability")
    assert list(gaps) == list(same)


def test_a_pipeline_and_its_file(tmp_path: Path) -> None:
    table = in_words(TABLE)
    fitted = pipeline().fit(table, LABEL)
    model = fatt.load(fitted, threshold=0.2)
    expected = (fitted.predict_proba(table)[:, 1] >= 0.2).astype(int).tolist()
    assert model.predict(table).tolist() == model.ask(table) == expected
    model.save(tmp_path / "model.fatt")
    again = fatt.load(tmp_path / "model.fatt")
    assert again == model
    assert again.ensemble.decision == model.ensemble.decision
    assert fatt.load(tmp_path / "model.fatt", threshold=0.2) == model
    with pytest.raises(SpecError, match=r"decides already.*0\.2.*another rule.*0\.3"):
        fatt.load(again, threshold=0.3)
    fatt.load(fitted).save(tmp_path / "plain.fatt")
    assert fatt.load(tmp_path / "plain.fatt", threshold=0.2) == model
    scored = fatt.load(fitted, threshold=0.2, cut_on="score")
    assert scored.ask(table) == expected


def test_without_a_cut_off_nothing_changes() -> None:
    fitted = KINDS["LightGBM"]().fit(TABLE, LABEL)
    plain, cut = fatt.load(fitted), fatt.load(fitted, threshold=0.5)
    assert plain.digest != cut.digest
    decision = plain.ensemble.decision
    assert isinstance(decision, Cut)
    assert decision.asked is None
    assert cut.ensemble.decision.asked == CutOff(threshold=0.5, of=1)  # type: ignore[union-attr]


def test_words_for_answers_come_first() -> None:
    fitted = KINDS["RandomForest"]().fit(TABLE, LABEL)
    model = fatt.load(
        fitted, answers={0: "deny", 1: "grant"}, threshold=0.3, pos_label="deny"
    )
    expected = np.where(fitted.predict_proba(TABLE)[:, 0] >= 0.3, "deny", "grant")
    assert model.predict(TABLE).tolist() == model.ask(TABLE) == expected.tolist()
    later = fatt.load(fatt.load(fitted, threshold=0.3), answers={1: "grant"})
    assert later.ensemble.decision.asked.of == "grant"  # type: ignore[union-attr]


def test_sums_without_order_stay_unknown_at_the_cut() -> None:
    X = np.repeat(np.arange(10.0), 3)[:, np.newaxis]
    y = np.tile([0, 0, 1], 10)
    fitted = RandomForestClassifier(9, n_jobs=2, random_state=0).fit(X, y)
    one = float(fitted.predict_proba(X[:1])[0, 1])
    report = fatt.verify(
        fitted, X[:1], similarity=Similarity(noise={"x0": 0.2}), threshold=one
    )
    assert report.counts["fair"] == 0


def test_scorers_and_metrics() -> None:
    fitted = KINDS["LightGBM"]().fit(TABLE, LABEL)
    similarity = Similarity(noise={"income": 0.2})
    report = fatt.verify(fitted, TABLE, similarity=similarity, threshold=0.2)
    plain = fatt.verify(fitted, TABLE, similarity=similarity)
    assert report.fairness != plain.fairness
    scorer = fairness_scorer(similarity, threshold=0.2)
    assert scorer(fitted, TABLE) == report.fairness.lower
    auditor = fatt.Auditor(fitted, similarity=similarity, schema=TABLE, threshold=0.2)
    assert auditor.verify(TABLE).fairness == report.fairness
    copy = pickle.loads(pickle.dumps(auditor))
    assert copy.verify(TABLE).fairness == report.fairness
    model = fatt.load(fitted, threshold=0.2)
    assert fatt.verify(model, TABLE, similarity=similarity, threshold=0.2).counts == (
        report.counts
    )
    with pytest.raises(SpecError, match="decides already"):
        fatt.verify(model, TABLE, similarity=similarity, threshold=0.3)
    words = "1 from a probability of 0.2 on, else 0"
    assert words in html.unescape(report.to_html())
    assert json.loads(report.to_json())["model"]["decision"] == words
    told = json.loads(plain.to_json())["model"]
    assert told["decision"] == told["fair"] == ""


def test_a_journal_is_about_one_cut_off(tmp_path: Path) -> None:
    fitted = KINDS["GradientBoosting"]().fit(TABLE, LABEL)
    asked: dict[str, Any] = {"similarity": Similarity(noise=0.2)}
    asked["journal"] = tmp_path / "journal"
    report = fatt.verify(fitted, TABLE, threshold=0.2, **asked)
    again = fatt.verify(fitted, TABLE, threshold=0.2, **asked)
    assert again.to_json() == report.to_json()
    for other in (None, 0.21):
        with pytest.raises(JournalError):
            fatt.verify(fitted, TABLE, threshold=other, **asked)


@pytest.mark.parametrize("kind", ["GradientBoosting", "XGBoost", "LightGBM"])
def test_repair_keeps_the_cut_off(kind: str) -> None:
    fitted = KINDS[kind]().fit(TABLE, LABEL)
    model = fatt.load(fitted, threshold=0.3)
    asked: dict[str, Any] = {"similarity": Similarity(vary=["sex"])}
    repair = fatt.repair(model, TABLE, LABEL, max_accuracy_loss=0.1, **asked)
    before = fatt.verify(fitted, TABLE, threshold=0.3, **asked)
    assert repair.before.fairness == before.fairness
    after = fatt.verify(repair.model, TABLE, threshold=0.3, **asked)
    assert after.fairness == repair.after.fairness
    forest = KINDS["RandomForest"]().fit(TABLE, LABEL)
    with pytest.raises(UnsupportedModelError, match="load it without threshold="):
        fatt.repair(fatt.load(forest, threshold=0.3), TABLE, LABEL, **asked)


def test_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fitted = KINDS["XGBoost"]().fit(TABLE, LABEL)
    fitted.save_model(tmp_path / "model.json")
    TABLE.to_csv(tmp_path / "people.csv", index=False)
    spec = "[[similar]]\nnoise = {income = 0.2}\n[decision]\nthreshold = 0.2\n"
    (tmp_path / "audit.toml").write_text(spec)
    (tmp_path / "strict.toml").write_text(spec + 'strict = true\npos_label = "1"\n')
    (tmp_path / "wrong.toml").write_text(spec + "cutoff = 3\n")

    def run(*words: str, code: int = 0) -> str:
        monkeypatch.setattr(sys, "argv", ["fatt", *words])
        with pytest.raises(SystemExit) as end:
            main()
        told = capsys.readouterr()
        assert end.value.code == code, told.err
        return told.out + told.err if code == 2 else told.out

    audit = ["audit", "model.json", "people.csv", "--quiet", "--json"]
    told = json.loads(run(*audit, "--noise", "income=0.2", "--threshold", "0.2"))
    report = fatt.verify(
        fitted, TABLE, similarity=Similarity(noise={"income": 0.2}), threshold=0.2
    )
    assert told["counts"] == report.counts
    assert told["model"]["decision"] == "1 from a probability of 0.2 on, else 0"
    from_file = json.loads(run(*audit, "--spec", "audit.toml"))
    assert from_file["findings"] == told["findings"]
    strict = json.loads(run(*audit, "--spec", "strict.toml"))
    assert strict["model"]["decision"] == "1 above a probability of 0.2, else 0"
    assert "keep one" in run(*audit, "--spec", "audit.toml", "--threshold=1", code=2)
    assert "[decision]" in run(*audit, "--spec", "wrong.toml", code=2)
    assert "add --threshold" in run("inspect", "model.json", "--pos-label=1", code=2)
    both = ("--threshold=0.2", "--pos-label=2")
    assert "never answers" in run("inspect", "model.json", *both, code=2)
    assert "from a probability of 0.2 on" in run(
        "inspect", "model.json", "--threshold=0.2"
    )
    plain = run(*audit[:3], "--spec", "audit.toml", "--certificate", "a.cert")
    assert "decides by a cut-off: 1 from a probability of 0.2 on, else 0." in plain
    run("check", "a.cert", "model.json", "--threshold=0.2")
    run("check", "a.cert", "model.json", "--spec", "audit.toml")
    run("check", "a.cert", "model.json", code=2)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"threshold": 1.2}, "between 0 and 1.*cut_on='score'"),
    ({"threshold": -0.1}, "between 0 and 1"),
    ({"threshold": np.nan}, "finite"),
    ({"threshold": np.inf, "cut_on": "score"}, "finite"),
    ({"threshold": "0.3"}, "write a number"),
    ({"threshold": True}, "write a number"),
    ({"threshold": 0.3, "strict": "yes"}, "True or False"),
    ({"threshold": 0.3, "cut_on": "odds"}, "'probability' or 'score'"),
    ({"threshold": 0.3, "pos_label": "yes"}, "never answers"),
    ({"threshold": 0.3, "pos_label": np.array([1])}, "type ndarray; write the label"),
    ({"threshold": 0.3, "pos_label": [1]}, "type list"),
    ({"strict": True}, "add threshold="),
    ({"pos_label": 1}, "add threshold="),
    ({"threshold": 0.3, "cut_on": "score", "pos_label": 0}, "the score of 1"),
]


@pytest.mark.parametrize(("given", "reason"), REFUSED)
def test_refused(given: dict[str, Any], reason: str) -> None:
    fitted = KINDS["XGBoost"]().fit(TABLE, LABEL)
    with pytest.raises(SpecError, match=reason):
        fatt.load(fitted, **given)


def test_refused_models() -> None:
    table, label = people(60, n_classes=3)
    forest = KINDS["RandomForest"]().fit(table, label)
    with pytest.raises(SpecError, match=r"3 classes.*pos_label=2"):
        fatt.load(forest, threshold=0.3)
    boosted = KINDS["LightGBM"]().fit(table, label)
    with pytest.raises(SpecError, match="depend on all their scores"):
        fatt.load(boosted, threshold=0.3, pos_label=2)
    with pytest.raises(SpecError, match="predicts a number"):
        fatt.load(DecisionTreeRegressor().fit(table, label), threshold=0.3)
