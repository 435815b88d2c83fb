from __future__ import annotations

import html
import json
import pickle
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xgboost
from click.testing import CliRunner, Result
from sklearn.tree import DecisionTreeClassifier

from fatt import Certificate, load
from fatt.cli import fatt
from fatt.errors import OtherModelError, SpecError
from fatt.region import Integer
from tests.cli import town

SIMILAR = ("--noise", "age=2", "--noise", "income=5%", "--vary", "sex")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, str]:
    """A certificate, its model and its people."""
    folder = tmp_path_factory.mktemp("certified")
    town.model().save(folder / "bank.fatt")
    people = town.write_csv(folder / "people.csv", town.people())
    model, certificate = str(folder / "bank.fatt"), str(folder / "audit.cert")
    made = run("audit", model, people, *SIMILAR, "--certificate", certificate)
    assert made.exit_code == 0
    assert f"wrote {certificate}" in made.stderr
    return certificate, model, people


def run(*arguments: str) -> Result:
    return CliRunner().invoke(fatt, list(arguments), catch_exceptions=False)


def test_what_holds_is_said_precisely(files: tuple[str, str, str]) -> None:
    certificate, model, people = files
    report = json.loads(run("audit", model, people, *SIMILAR, "--json").stdout)
    alone = run("check", certificate, model)
    assert alone.exit_code == 0
    assert f"- {report['counts']['fair']} are proved fair" in alone.stdout
    assert "No table was given" in alone.stdout
    with_people = run("check", certificate, model, people)
    assert with_people.exit_code == 0
    assert "row by row" in with_people.stdout


def test_json_tells_the_same(files: tuple[str, str, str]) -> None:
    _, model, people = files
    found = json.loads(run("check", *files, "--json").stdout)
    report = json.loads(run("audit", model, people, *SIMILAR, "--json").stdout)
    assert found["fairness"] == report["fairness"]
    assert found["is_data_checked"] is True
    assert found["fair"] == report["counts"]["fair"]


def test_the_file_of_the_audit_names_columns_that_the_model_does_not_read(
    tmp_path: Path,
) -> None:
    ages = np.arange(20.0, 60.0)
    tree = DecisionTreeClassifier(random_state=0).fit(ages[:, None], ages > 40)
    model, certificate = str(tmp_path / "tree.fatt"), str(tmp_path / "audit.cert")
    load(tree).save(model)
    columns = {"age": ages.tolist(), "case": ages.tolist(), "repaid": ages.tolist()}
    people = town.write_csv(tmp_path / "people.csv", columns)
    spec = tmp_path / "audit.toml"
    audit = 'id = "case"\nignore = ["repaid"]\n[columns]\nby_position = true'
    similar = "[[similar]]\nnoise = 3"
    spec.write_text(f"[audit]\n{audit}\n{similar}\n", encoding="utf-8")
    words = ["--spec", str(spec)]
    assert not run(
        "audit", model, people, *words, "--certificate", certificate
    ).exit_code
    checked = run("check", certificate, model, people, *words)
    assert "row by row" in checked.stdout
    # Other people need not have all of these columns.
    fewer = town.write_csv(tmp_path / "fewer.csv", {"age": ages.tolist()})
    assert "row by row" in run("check", certificate, model, fewer, *words).stdout


def test_other_people_are_told(files: tuple[str, str, str], tmp_path: Path) -> None:
    columns = town.people()
    columns["age"][3] += 1
    other = town.write_csv(tmp_path / "other.csv", columns)
    refused = run("check", *files[:2], other)
    assert refused.exit_code == 1
    assert "does not hold: person 3 is another one in the table" in refused.stdout


@pytest.mark.xgboost
def test_twins_are_asked_of_the_library_if_it_is_at_hand(tmp_path: Path) -> None:
    xgboost = pytest.importorskip("xgboost")
    rng = np.random.default_rng(0)
    table = np.round(rng.normal(size=(200, 3)), 2)
    model = xgboost.XGBClassifier(n_estimators=8, max_depth=3, n_jobs=1)
    model.fit(pd.DataFrame(table, columns=["a", "b", "c"]), table.sum(axis=1) > 0)
    model.save_model(tmp_path / "model.json")
    columns = dict(zip("abc", table[:30].T.tolist(), strict=True))
    people = town.write_csv(tmp_path / "people.csv", columns)
    paths = [str(tmp_path / name) for name in ("audit.cert", "model.json")]
    made = run("audit", paths[1], people, "--noise", "0.1", "--certificate", paths[0])
    assert made.exit_code == 0
    found = json.loads(run("check", *paths, people, "--json").stdout)
    assert found["unfair"] > 0
    assert found["twins_confirmed_by_library"]
    assert not json.loads(run("check", *paths, "--json").stdout)[
        "twins_confirmed_by_library"
    ]
    assert "own library confirms" in run("check", *paths, people).stdout


def test_a_changed_certificate_is_told(
    files: tuple[str, str, str], tmp_path: Path
) -> None:
    changed = tmp_path / "changed.cert"
    text = Path(files[0]).read_text(encoding="utf-8")
    changed.write_text(text.replace("age = 2", "age = 3"), encoding="utf-8")
    refused = run("check", str(changed), files[1])
    assert refused.exit_code == 1
    assert "the certificate was changed" in refused.stdout


def test_another_model_is_told(files: tuple[str, str, str], tmp_path: Path) -> None:
    model, _ = town.hard_case(tmp_path)
    # Nothing is refuted: the same model may have been loaded in another way.
    with pytest.raises(OtherModelError, match="is about another model"):
        run("check", files[0], model)


def test_a_file_that_is_not_there_is_no_refutation(
    files: tuple[str, str, str],
) -> None:
    with pytest.raises(FileNotFoundError):
        run("check", "nowhere.cert", files[1])


def test_where_to_write_is_asked_first(files: tuple[str, str, str]) -> None:
    with pytest.raises(SpecError, match="--certificate"):
        run("audit", *files[1:], *SIMILAR, "--certificate", "/nowhere/audit.cert")


def test_the_command_on_the_page_reads_the_model_as_the_audit_did(
    tmp_path: Path,
) -> None:
    rng = np.random.default_rng(0)
    table = rng.integers(0, 5, (80, 2)).astype(float)
    columns = {"age": table[:, 0].tolist(), "debt": table[:, 1].tolist()}
    people = town.write_csv(tmp_path / "people.csv", columns)
    trees = xgboost.XGBClassifier(n_estimators=2, max_depth=2)
    trees.fit(pd.DataFrame(columns), table[:, 0] > table[:, 1])
    trees.save_model(tmp_path / "model.json")
    tree = DecisionTreeClassifier().fit(pd.DataFrame(columns), table[:, 0] > 2)
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(tree))
    page, certificate = tmp_path / "audit.html", str(tmp_path / "audit.cert")
    wanted = ("--html", str(page), "--certificate", certificate)
    for name, option in {
        "model.json": "--missing-value=0.0",
        "model.pkl": "--allow-pickle",
    }.items():
        model = str(tmp_path / name)
        run("audit", model, people, "--noise", "age=1", option, *wanted)
        text = page.read_text(encoding="utf-8").replace("\\\n", "")
        shown = re.search("fatt (check .*?)<", text)
        assert shown is not None
        checked = run(*shlex.split(html.unescape(shown[1])))
        assert checked.exit_code == 0


@pytest.mark.parametrize("said", ["best", "all", "3"])
def test_the_iterations_that_count_are_chosen_and_said(
    said: str, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 9, (200, 2)).astype(float), columns=["a", "b"])
    label = (table["a"] + rng.normal(size=200) > 4).astype(int)
    model = xgboost.XGBClassifier(n_estimators=40, early_stopping_rounds=9, max_depth=2)
    half = (table[100:], label[100:])
    model.fit(table[:100], label[:100], eval_set=[half], verbose=False)
    model.save_model(tmp_path / "model.json")
    n_trees, few = model.get_booster().num_boosted_rounds(), model.best_iteration + 1
    assert few < n_trees
    said_so = f"{few if said == 'best' else said} of {n_trees}"
    note = f"Trees that count: {f'all {n_trees}' if said == 'all' else said_so}"
    table.to_csv(tmp_path / "people.csv", index=False)
    files = [str(tmp_path / name) for name in ("model.json", "people.csv")]
    page, certificate = tmp_path / "audit.html", str(tmp_path / "audit.cert")
    wanted = ("--html", str(page), "--certificate", certificate)
    told = run("audit", *files, "--noise", "a=1", "--iteration", said, *wanted).stdout
    assert note in told
    text = page.read_text(encoding="utf-8").replace("\\\n", "")
    assert note in text
    shown = re.search("fatt (check .*?)<", text)
    assert shown is not None
    assert run(*shlex.split(html.unescape(shown[1]))).exit_code == 0
    inspected = run("inspect", files[0], "--iteration", said).stdout
    assert note in " ".join(inspected.split())
    made = tmp_path / "made.toml"
    run("init", *files, "--iteration", said, "--output", str(made))
    assert re.search(f"^iteration = .?{said}", made.read_text("utf-8"), re.MULTILINE)
    toml = f"[[similar]]\nnoise = {{ a = 1 }}\n[audit]\niteration = '{said}'\n"
    by_file = run("audit", *files, "--spec", spec(tmp_path / "audit.toml", toml))
    assert note in by_file.stdout


def test_iterations_that_are_not_there_are_refused(tmp_path: Path) -> None:
    X = np.arange(40.0).reshape(-1, 1)
    trees = xgboost.XGBClassifier(n_estimators=2, max_depth=2).fit(X, X[:, 0] > 9)
    trees.save_model(tmp_path / "model.json")
    for said, reason in (
        ("best", "has no best iteration"),
        ("last", "iteration is 'last'; write 'best', 'all', or how many"),
        ("0", "iteration is 0; write"),
        ("9", "iteration is 9, and the XGBoost model has 2 iterations"),
    ):
        with pytest.raises(SpecError, match=reason):
            run("inspect", str(tmp_path / "model.json"), "--iteration", said)


def spec(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


EXPECTED = """[[similar]]
noise = { age = 2, income = "5%" }
vary = ["sex"]
"""


def test_what_was_taken_for_granted_is_printed(files: tuple[str, str, str]) -> None:
    told = run("check", *files[:2]).stdout
    assert "- 'age' may differ by up to 2, in whole numbers\n" in told
    assert "- 'sex' may be 'female' or 'male'\n" in told
    assert "anything" not in told
    assert re.search(r"- column \d: 'sex', 'female' or 'male'\n", told)
    found = json.loads(run("check", *files[:2], "--json").stdout)
    (sex,) = [one for one in found["premises"] if one["variable"] == "sex"]
    assert sex["values"] == "'female' or 'male'"
    assert sex["matters"]


def test_a_similarity_that_was_expected_is_compared(
    files: tuple[str, str, str], tmp_path: Path
) -> None:
    same = spec(tmp_path / "same.toml", EXPECTED)
    found = run("check", *files, "--spec", same)
    assert found.exit_code == 0
    assert "The similarity is as expected; judge the rest:" in found.stdout
    as_json = json.loads(run("check", *files, "--spec", same, "--json").stdout)
    assert as_json["expected"] == ["similarity"]
    other = spec(tmp_path / "other.toml", EXPECTED.replace("age = 2", "age = 5"))
    refused = run("check", *files, "--spec", other)
    assert refused.exit_code == 1
    assert "does not hold: it is about another similarity" in refused.stdout
    assert "up to 2, in whole numbers', and 'may differ by up to 5" in refused.stdout
    assert len(refused.stdout.splitlines()) == 2


def test_a_schema_that_was_expected_is_compared(
    files: tuple[str, str, str], tmp_path: Path
) -> None:
    schema = Certificate.read(files[0]).schema
    schema.save(tmp_path / "same.json")
    found = run("check", *files, "--schema", str(tmp_path / "same.json"))
    assert found.exit_code == 0
    assert "The schema is as expected; judge the rest:" in found.stdout
    schema.with_(age=Integer(lower=18)).save(tmp_path / "other.json")
    refused = run("check", *files, "--schema", str(tmp_path / "other.json"))
    assert refused.exit_code == 1
    assert "any whole number; expected was 'age', a whole number of at least 18." in (
        refused.stdout
    )


@pytest.mark.parametrize(
    ("option", "text", "message"),
    [
        ("--spec", "similar = 3", "other: there is no"),
        ("--schema", "{}", "other is no schema"),
        ("--spec", None, "cannot read it: No such file"),
        ("--schema", None, "No such file or directory"),
    ],
)
def test_expectations_that_cannot_be_read_are_no_refutation(
    files: tuple[str, str, str],
    tmp_path: Path,
    option: str,
    text: str | None,
    message: str,
) -> None:
    path = tmp_path / "other"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises((SpecError, OSError), match=message):
        run("check", *files, option, str(path))


def test_a_file_that_is_no_certificate_is_no_refutation(
    files: tuple[str, str, str], tmp_path: Path
) -> None:
    schema = tmp_path / "schema.json"
    Certificate.read(files[0]).schema.save(schema)
    for path in (files[1], files[2], str(schema)):
        done = subprocess.run(
            [sys.executable, "-m", "fatt", "check", path, files[1]],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2
        assert "no certificate that fatt can read" in done.stderr
        assert not done.stdout


def test_columns_beside_the_models_are_named_as_in_an_audit(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = rng.integers(0, 9, (40, 2)).astype(float)
    tree = DecisionTreeClassifier(max_depth=3).fit(table, table.sum(axis=1) > 8)
    load(tree).save(tmp_path / "tree.fatt")
    columns = {
        "who": [f"p{row}" for row in range(40)],
        "age": table[:, 0].tolist(),
        "debt": table[:, 1].tolist(),
        "truth": [0, 1] * 20,
        "note": ["x"] * 40,
    }
    people = town.write_csv(tmp_path / "people.csv", columns)
    model, certificate = str(tmp_path / "tree.fatt"), str(tmp_path / "audit.cert")
    others = ("--label", "truth", "--id", "who", "--ignore", "note")
    made = run(
        *("audit", model, people, "--by-position", "--vary", "age", *others),
        *("--certificate", certificate),
    )
    assert made.exit_code == 0
    found = run("check", certificate, model, people, *others)
    assert found.exit_code == 0
    assert "which is called what is what the certificate says, and the table." in (
        found.stdout
    )
    # The model has no names: in another order the columns are others.
    turned = {name: columns[name] for name in ("who", "debt", "age", "truth", "note")}
    turned |= {"debt": columns["age"], "age": columns["debt"]}
    other = town.write_csv(tmp_path / "other.csv", turned)
    refused = run("check", certificate, model, other, *others)
    assert refused.exit_code == 1
    assert "'age' in the certificate and 'debt' in the table" in refused.stdout
