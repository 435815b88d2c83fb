"""Decisions on the command line: options, files of audits, and what is written."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import RandomForestRegressor
from xgboost import XGBClassifier

import fatt
from fatt.cli import fatt as command
from fatt.errors import FattError
from tests.test_decisions import LABEL, PRICE, REGRESSOR, SEVERAL, SIMILARITY, TABLE

_FEW: dict[str, Any] = {"n_estimators": 8, "max_depth": 3, "n_jobs": 1}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models and people as files."""
    folder = tmp_path_factory.mktemp("decisions")
    named = XGBClassifier(**_FEW).fit(TABLE, (LABEL == 2).astype(int))
    named.save_model(folder / "credit.json")
    REGRESSOR.save_model(folder / "price.json")
    fatt.load(SEVERAL).save(folder / "several.fatt")
    TABLE.assign(paid=PRICE).to_csv(folder / "people.csv", index=False)
    return folder


def run(*words: Any, code: int | None = 0) -> Result:
    done = CliRunner().invoke(command, [*map(str, words)], catch_exceptions=True)
    if isinstance(done.exception, FattError):
        # The command prints it, and ends with 2.
        assert code == 2, done.exception
        return done
    assert code is None or done.exit_code == code, (done.stdout, done.stderr)
    return done


def _told(done: Result) -> str:
    if isinstance(done.exception, FattError):
        return str(done.exception)
    return done.stderr


SIMILAR = ("--noise", "income=0.2", "--vary", "sex", "--ignore", "paid")

#: The options, the model, and what [decision] says instead of them.
COMMANDS: list[tuple[str, list[str], str, str]] = [
    ("credit", ["--threshold", "1.2"], "threshold = 1.2", 'cut_on = "score"'),
    ("credit", ["--threshold", "nan"], "threshold = nan", "write a finite number"),
    ("credit", ["--cuts", "a=0,b=1.5"], "cuts = {a = 0, b = 1.5}", "beyond 1"),
    ("credit", ["--cuts", "a=0,c=.5,b=.4"], "cuts={a=0,c=0.5,b=0.4}", "in order"),
    ("credit", ["--cuts", "a=0"], "cuts = {a = 0}", "at least two"),
    ("credit", ["--tolerance", "5"], "tolerance = 5", "everybody would count"),
    (
        "credit",
        ["--tolerance", ".1", "--threshold", ".3"],
        "tolerance = 0.1\nthreshold = 0.3",
        "leave out one of the two",
    ),
    (
        "credit",
        ["--tolerance", ".1", "--cuts", "a=0,b=.3"],
        "tolerance = 0.1\ncuts = {a = 0, b = 0.3}",
        "leave out one of the two",
    ),
    ("credit", ["--direction", "not-lower"], 'direction = "not lower"', "no order"),
    (
        "credit",
        ["--direction", "not-lower", "--favourable", "yes"],
        'direction = "not lower"\nfavorable = "yes"',
        "never answers|answer 'yes' is no answer",
    ),
    ("price", [], "", "--tolerance 50"),
    ("price", ["--threshold", "300"], "threshold = 300", "predicts a number"),
    ("price", ["--tolerance", "-5"], "tolerance = -5", "at least 0"),
    ("price", ["--tolerance", "nan"], "tolerance = nan", "at least 0"),
    ("price", ["--tolerance", "-5%"], 'tolerance = "-5%"', "at least 0"),
    ("price", ["--cuts", "a=0,b=400"], "cuts = {a = 0, b = 400}", "begin at -inf"),
    (
        "price",
        ["--direction", "not-lower", "--favourable", "1"],
        'direction = "not lower"\nfavorable = 1',
        "have an order|have their own order",
    ),
    ("several", ["--tolerance", ".1"], "tolerance = 0.1", "3 classes"),
    ("several", ["--tolerance", ".1", "--pos-label", "7"],
     "tolerance = 0.1\npos_label = 7", "never answers"),
]  # fmt: skip


@pytest.mark.parametrize(("model", "options", "spec", "reason"), COMMANDS)
def test_wrong_questions_on_the_command_line(
    folder: Path, tmp_path: Path, model: str, options: list[str], spec: str, reason: str
) -> None:
    file = next(folder.glob(f"{model}.*"))
    inputs = (file, folder / "people.csv")
    page = tmp_path / "page.html"
    done = run("audit", *inputs, *SIMILAR, *options, "--html", page, code=2)
    assert re.search(reason, _told(done)), _told(done)
    assert "\n" not in _told(done).strip()
    done = run("twin", *inputs, "--row", 0, *SIMILAR, *options, code=2)
    assert re.search(reason, _told(done)), _told(done)
    similar = f"[[similar]]\nnoise = {{income = 0.2}}\n[decision]\n{spec}\n"
    (tmp_path / "audit.toml").write_text(similar)
    told = ("--spec", tmp_path / "audit.toml", "--ignore", "paid")
    done = run("audit", *inputs, *told, "--html", page, code=2)
    assert re.search(reason, _told(done)), _told(done)
    assert not page.exists()


def test_a_name_twice_and_no_number(folder: Path, tmp_path: Path) -> None:
    inputs = (folder / "credit.json", folder / "people.csv", *SIMILAR)
    assert "'a' twice" in _told(run("audit", *inputs, "--cuts=a=0,a=.5", code=2))
    assert "NAME=NUMBER" in _told(run("audit", *inputs, "--cuts=a=0,b", code=2))
    assert "not-higher" in _told(run("audit", *inputs, "--direction=up", code=2))
    spec = tmp_path / "audit.toml"
    asked = ("audit", folder / "credit.json", folder / "people.csv", "--spec", spec)
    for text, reason in (
        ("cuts = {a = 0, a = 0.5}", "audit.toml: "),
        ("cuts = 3", "Expected `object"),
        ("tolerance = [1]", "tolerance"),
        ('direction = "up"', "'not lower' or 'not higher'"),
        ("favorable = 1", "there is no direction"),
        ("limit = 3", "limit"),
    ):
        spec.write_text(f"[[similar]]\nnoise = 0.2\n[decision]\n{text}\n")
        assert reason in _told(run(*asked, "--ignore=paid", code=2)), text


def _audited(folder: Path, model: str, *options: Any) -> dict[str, Any]:
    inputs = (folder / model, folder / "people.csv")
    return json.loads(run("audit", *inputs, *options, "--json", "--quiet").stdout)


@pytest.mark.parametrize(
    ("model", "options", "spec"),
    [
        ("credit.json", ["--threshold=0.3"], "threshold = 0.3"),
        ("credit.json", ["--cuts=a=0,b=.3,c=.7"], "cuts = {a = 0, b = 0.3, c = 0.7}"),
        ("credit.json", ["--tolerance=0.1"], "tolerance = 0.1"),
        ("credit.json", ["--tolerance=10%"], 'tolerance = "10%"'),
        (
            "credit.json",
            ["--direction=not-higher", "--favourable=1"],
            'direction = "not higher"\nfavorable = "1"',
        ),
        ("price.json", ["--tolerance=5%"], 'tolerance = "5%"'),
        (
            "price.json",
            ["--tolerance=20", "--direction=not-lower"],
            'tolerance = 20\ndirection = "not-lower"',
        ),
        ("price.json", ["--direction=not-lower"], 'direction = "not lower"'),
        ("price.json", ["--cuts=low=-inf,high=400"], "cuts = {low = -inf, high = 400}"),
        (
            "several.fatt",
            ["--tolerance=0.1", "--pos-label=2"],
            "tolerance = 0.1\npos_label = 2",
        ),
    ],
)
def test_options_and_the_file_say_the_same(
    folder: Path, tmp_path: Path, model: str, options: list[str], spec: str
) -> None:
    told = _audited(folder, model, *SIMILAR, *options)
    file, certificate = tmp_path / "audit.toml", tmp_path / "audit.cert"
    similar = '[[similar]]\nnoise = {income = 0.2}\nvary = ["sex"]\n'
    file.write_text(f"{similar}[decision]\n{spec}\n")
    by_file = ("--spec", file, "--ignore=paid")
    again = _audited(folder, model, *by_file, "--certificate", certificate)
    assert again == told
    assert 0 < told["counts"]["fair"] < len(TABLE)
    for finding in ("fair", "unfair"):
        row = [one["verdict"] for one in told["findings"]].index(finding)
        inputs = (folder / model, folder / "people.csv", "--row", row)
        code = int(finding == "unfair")
        alone = run("twin", *inputs, *SIMILAR, *options, code=code).stdout
        assert alone.startswith(finding.capitalize())
        assert run("twin", *inputs, *by_file, code=code).stdout == alone
    # The certificate is about this decision, and no other.
    check = ("check", certificate, folder / model)
    run(*check, "--spec", file)
    run(*check, *options)
    file.write_text(f"{similar}[decision]\nthreshold = 0.31\n")
    done = CliRunner().invoke(command, [*map(str, check), "--spec", str(file)])
    assert done.exit_code == 1 or isinstance(done.exception, FattError)


def test_a_check_expects_the_rule(folder: Path, tmp_path: Path) -> None:
    inputs = (folder / "price.json", folder / "people.csv")
    certificate, page = tmp_path / "a.cert", tmp_path / "a.html"
    files = ("--certificate", certificate, "--html", page)
    run("audit", *inputs, *SIMILAR, "--tolerance=5%", *files)
    assert "--tolerance 5%" in html.unescape(page.read_text().split("fatt check")[1])
    check = ("check", certificate, folder / "price.json")
    assert "the rule is as expected" in run(*check, "--tolerance=5%").stdout.lower()
    assert "at most 5% of it" in run(*check).stdout
    for other in (
        ["--tolerance=4%"],
        ["--tolerance=0.05"],
        ["--tolerance=5%", "--direction=not-lower"],
        ["--direction=not-lower"],
    ):
        told = run(*check, *other, code=1).stdout
        assert "it says what is fair otherwise" in told
    spec = tmp_path / "audit.toml"
    similar = '[[similar]]\nnoise = {income = 0.2}\nvary = ["sex"]\n'
    spec.write_text(f"{similar}[decision]\nstrict = false\n")
    assert "says nothing of that" in run(*check, "--spec", spec, code=1).stdout
    labels = tmp_path / "b.cert"
    run("audit", folder / "credit.json", inputs[1], *SIMILAR, "--certificate", labels)
    check = ("check", labels, folder / "credit.json")
    told = run(*check, "--direction=not-lower", "--favourable=1", code=1).stdout
    assert "labels are the same; expected: nobody similar may get a worse" in told
    assert (
        "labels are the same; expected" in run(*check, "--tolerance=.1", code=1).stdout
    )


def test_a_journal_is_resumed_for_the_same_decision(
    folder: Path, tmp_path: Path
) -> None:
    asked = ("audit", folder / "price.json", folder / "people.csv", *SIMILAR, "--json")
    kept = ("--journal", tmp_path / "journal")
    told = run(*asked, "--tolerance=5%", *kept).stdout
    assert run(*asked, "--tolerance=5%", *kept, "--resume").stdout == told
    for other in (
        ["--tolerance=5"],
        ["--tolerance=5%", "--direction=not-lower"],
        ["--cuts=low=-inf,high=400"],
    ):
        assert "name another file" in _told(
            run(*asked, *other, *kept, "--resume", code=2)
        )


def test_files_about_prices(folder: Path, tmp_path: Path) -> None:
    inputs = (folder / "price.json", folder / "people.csv")
    report = fatt.verify(REGRESSOR, TABLE, similarity=SIMILARITY, tolerance="5%")
    files = {name: tmp_path / f"audit.{name}" for name in ("html", "csv")}
    options = [word for name, file in files.items() for word in (f"--{name}", file)]
    similar = [word for word in SIMILAR if word not in {"--ignore", "paid"}]
    options += [*similar, "--label=paid", "--tolerance=5%", "--group=sex"]
    printed = run("audit", *inputs, *options).stdout
    rule = "predictions may differ from the person's own by at most 5% of it."
    assert f"What is fair: {rule}" in printed
    assert "prediction is off column 'paid' by " in printed
    rows = list(csv.DictReader(io.StringIO(files["csv"].read_text())))
    assert [float(row["label"]) for row in rows] == REGRESSOR.predict(TABLE).tolist()
    unfair = [row for row in rows if row["verdict"] == "unfair"]
    assert len(unfair) == report.counts["unfair"]
    for row in unfair:
        own, twin = float(row["label"]), float(row["twin_label"])
        assert abs(twin - own) > 0.05 * abs(own)
    page = html.unescape(files["html"].read_text())
    for words in (
        f"What is fair: {rule}",
        "Proved: no similar person gets a prediction that is too far away.",
        "Found: a similar person gets a prediction that is too far away.",
        "The twin gets a prediction that is too far away",
        "Columns that move the prediction",
        "How far until a similar person gets a prediction that is too far away",
        "How much the prediction differs",
        ">prediction</th>",
    ):
        assert words in page, words
    for words in ("same answer", "different answer", "change decisions"):
        assert words not in page, words
    told = json.loads(report.to_json())
    assert told["model"]["fair"] == rule.removesuffix(".")
    assert told["model"]["classes"] == []


@pytest.mark.parametrize(
    ("options", "rule", "unfair"),
    [
        (
            ["--cuts=a=0,b=.3,c=.7"],
            "The model decides by its probability of 1: 'c' from 0.7 on, "
            "'b' from 0.3 on, else 'a'.",
            "a different answer",
        ),
        (
            ["--cuts=a=0,b=.3", "--direction=not-lower"],
            "nobody similar may be in a lower band",
            "a lower band",
        ),
        (
            ["--direction=not-higher", "--favourable=1"],
            "nobody similar may get a better answer, where 1 is the better one",
            "a better answer",
        ),
        (
            ["--tolerance=.1"],
            "What is compared: the probability of 1.",
            "a probability that is too far away",
        ),
        (
            ["--tolerance=.1", "--direction=not-lower"],
            "lower than the person's own by at most 0.1",
            "a probability that is too much lower",
        ),
        (
            ["--tolerance=0", "--direction=not-lower"],
            "nobody similar may get a lower prediction",
            "a lower probability",
        ),
    ],
)
def test_pages_say_the_rule(
    folder: Path, tmp_path: Path, options: list[str], rule: str, unfair: str
) -> None:
    inputs = (folder / "credit.json", folder / "people.csv", *SIMILAR)
    page = tmp_path / "audit.html"
    printed = run("audit", *inputs, *options, "--html", page).stdout
    assert rule in printed
    text = html.unescape(page.read_text())
    assert rule in text
    assert f"Found: a similar person gets {unfair}." in text
    assert f"people who would get {unfair} if only this column" in text
    assert "largest difference of probability" in text


def test_a_page_takes_the_better_answer_from_the_file(
    folder: Path, tmp_path: Path
) -> None:
    spec, page = tmp_path / "audit.toml", tmp_path / "page.html"
    similar = '[[similar]]\nvary = ["sex"]\n'
    words = ("audit", folder / "credit.json", folder / "people.csv", "--spec", spec)
    spec.write_text(similar)
    run(*words, "--ignore=paid", "--html", page)
    assumed = page.read_text(encoding="utf-8")
    spec.write_text(f'{similar}[decision]\ndirection = "not lower"\nfavorable = "0"\n')
    run(*words, "--ignore=paid", "--html", page)
    said = page.read_text(encoding="utf-8")
    assert ("We assume" in assumed, "We assume" in said) == (True, False)
    for text, answer in ((assumed, "1"), (said, "0")):
        heads = re.findall(r"gets <[^>]*>(.)<", text)
        assert set(heads) == {answer}


def test_inspect_says_the_decision(folder: Path) -> None:
    price, credit = folder / "price.json", folder / "credit.json"

    def decision(*words: Any) -> str:
        return str(json.loads(run("inspect", *words, "--json").stdout)["decision"])

    assert decision(price) == "no label: the model predicts a number, the score"
    logarithm = TransformedTargetRegressor(
        RandomForestRegressor(3, random_state=0), func=np.log1p, inverse_func=np.expm1
    )
    fatt.load(logarithm.fit(TABLE, PRICE)).save(folder / "logarithm.fatt")
    made = "no label: the model predicts a number, the exponential of the score, less 1"
    assert decision(folder / "logarithm.fatt") == made
    assert decision(price, "--cuts=low=-inf,high=400") == (
        "by its prediction: 'high' from 400.0 on, else 'low'"
    )
    assert decision(credit, "--cuts=a=0,b=.3") == (
        "by its probability of 1: 'b' from 0.3 on, else 'a'"
    )
    assert decision(credit, "--threshold=.3", "--pos-label=0") == (
        "0 from a probability of 0.3 on, else 1"
    )


def test_columns_of_true_prices(folder: Path, tmp_path: Path) -> None:
    """How far predictions are off is told, and a warning if a constant is nearer."""
    table = TABLE.assign(paid=PRICE, far=PRICE.mean() - 1e6, word="yes")
    table.to_csv(tmp_path / "people.csv", index=False)
    asked = ("audit", folder / "price.json", tmp_path / "people.csv", "--vary=sex")
    options = ("--tolerance=5%", "--ignore")
    told = run(*asked, *options, "far", "--ignore=word", "--label=paid")
    assert "always predicting" in told.stdout
    assert "Warning" not in told.stdout
    told = run(*asked, *options, "paid", "--ignore=word", "--label=far")
    assert "Warning: The model's prediction is off column 'far'" in told.stdout
    told = run(*asked, *options, "paid", "--ignore=far", "--label=word")
    assert "'word' holds texts, and the model predicts numbers, so" in told.stdout
