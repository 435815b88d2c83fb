from __future__ import annotations

import json
from pathlib import Path

import pandas
import pytest
from click.testing import CliRunner, Result
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from fatt import load
from fatt.cli import fatt
from fatt.errors import SpecError
from tests.cli import town

SIMILAR = ("--noise", "age=2", "--noise", "income=5%", "--vary", "sex")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("town")
    town.model().save(folder / "bank.fatt")
    people = town.write_csv(folder / "people.csv", town.people())
    return str(folder / "bank.fatt"), people


def run(*arguments: str) -> Result:
    return CliRunner().invoke(fatt, list(arguments), catch_exceptions=False)


def test_each_person_gets_the_verdict_of_the_audit(files: tuple[str, str]) -> None:
    report = json.loads(run("audit", *files, *SIMILAR, "--json").stdout)
    cases = {case["index"]: case for case in report["counterexamples"]}
    assert cases
    for row, finding in enumerate(report["findings"][:20]):
        alone = run("twin", *files, "--row", str(row), *SIMILAR, "--json")
        [found] = json.loads(alone.stdout)["findings"]
        assert found == finding
        assert alone.exit_code == (1 if row in cases else 0)


def test_a_twin_is_shown_with_its_changes(files: tuple[str, str]) -> None:
    report = json.loads(run("audit", *files, *SIMILAR, "--json").stdout)
    case = report["counterexamples"][0]
    who = f"name=p{case['index']}"
    text = run("twin", *files, "--where", who, *SIMILAR).stdout
    labels = f"this person gets {case['label']}, and a similar one gets"
    assert text.startswith(f"Unfair: {labels} {case['twin_label']}:\n")
    for name, change in case["changes"].items():
        assert f"  {name} {change['before']} → {change['after']}\n" in text


def test_a_value_that_the_model_never_saw_is_refused(tmp_path: Path) -> None:
    rows = pandas.DataFrame(
        {"age": [20, 30, 40, 50] * 9, "sex": [*"fm" * 9, *"mf" * 9]}
    )
    encoder = OneHotEncoder(handle_unknown="ignore")
    columns = make_column_transformer((encoder, ["sex"]), remainder="passthrough")
    own = make_pipeline(columns, DecisionTreeClassifier(random_state=0))
    own.fit(rows, (rows["age"] > 30) ^ (rows["sex"] == "f"))
    load(own).save(tmp_path / "model.fatt")
    asked = (str(tmp_path / "model.fatt"), "--noise", "age=2", "--set", "age=40")
    assert run("twin", *asked, "--set", "sex=f").stderr == ""
    with pytest.raises(SpecError, match=r"does not know 'mael'\. There are: 'f', 'm'"):
        run("twin", *asked, "--set", "sex=mael")


def test_a_verdict_names_the_cut_off_that_it_is_about(tmp_path: Path) -> None:
    tree = DecisionTreeClassifier(max_depth=1).fit([[20], [30], [40]], [0, 1, 1])
    load(tree, columns=["age"]).save(tmp_path / "tree.fatt")
    asked = (str(tmp_path / "tree.fatt"), "--set", "age=40", "--noise", "age=2")
    assert "cut-off" not in run("twin", *asked).stdout
    text = run("twin", *asked, "--threshold", "0.6").stdout
    assert "The model decides by a cut-off: 1 from a probability of 0.6 on" in text


def test_the_file_of_an_audit_names_model_and_people(files: tuple[str, str]) -> None:
    spec = Path(files[0]).with_name("audit.toml")
    text = """
[audit]
model = "bank.fatt"
people = "people.csv"
label = "truth"
id = "name"
[[similar]]
noise = {age = 2, income = "5%"}
vary = ["sex"]
"""
    spec.write_text(text, encoding="utf-8")
    for row in ("0", "7"):
        asked = ("--row", row, "--json")
        by_file = run("twin", "--spec", str(spec), *asked)
        assert by_file.stdout == run("twin", *files, *SIMILAR, *asked).stdout
    # What is typed stands before what the file says.
    other = run("twin", files[0], files[1], "--spec", str(spec), "--row", "0")
    assert other.stdout == run("twin", "--spec", str(spec), "--row", "0").stdout


def test_a_file_of_an_audit_may_name_columns_of_a_model_without_names(
    tmp_path: Path,
) -> None:
    """Who is known by position needs to know which columns are none of the model's."""
    model, table = town.hard_case(tmp_path)
    lines = Path(table).read_text(encoding="utf-8").splitlines()
    more = [f"p{row},{line},1,2" for row, line in enumerate(lines[1:])]
    text = "\n".join([f"id,{lines[0]},y,more", *more])
    (tmp_path / "all.csv").write_text(text, encoding="utf-8")
    spec = tmp_path / "audit.toml"
    spec.write_text(
        f'[audit]\nmodel = "{Path(model).name}"\npeople = "all.csv"\n'
        'label = "y"\nid = "id"\nignore = ["more"]\n[columns]\nby_position = true\n'
        "[[similar]]\nnoise = 0.1\n",
        encoding="utf-8",
    )
    asked = ("--row", "3", "--json")
    named = run("twin", "--spec", str(spec), *asked)
    assert named.stdout == run("twin", model, table, "--noise", "0.1", *asked).stdout
    # New people have no outcome yet.
    other = run("twin", model, table, "--spec", str(spec), *asked)
    assert other.stdout == named.stdout


def test_rows_that_do_not_fit_the_model_are_doubted(
    files: tuple[str, str], tmp_path: Path
) -> None:
    people = town.people()
    people["income"] = [1000 * income for income in people["income"]]
    wrong = town.write_csv(tmp_path / "thousands.csv", people)
    audited = run("audit", files[0], wrong, *SIMILAR)
    told = run("twin", files[0], wrong, "--row", "3", *SIMILAR)
    doubts = [line for line in audited.stdout.splitlines() if "Warning" in line]
    assert "'income' (60 of 60 are above" in doubts[0]
    assert told.stdout.startswith("".join(f"{doubt}\n\n" for doubt in doubts))
    fitting = run("twin", *files, "--row", "3", *SIMILAR)
    assert "arning" not in fitting.output
    told = run("twin", files[0], wrong, "--row", "3", *SIMILAR, "--json")
    assert "fatt: warning: These rows may not be prepared" in told.stderr


def test_a_person_similar_to_nobody_is_told_so(files: tuple[str, str]) -> None:
    told = run("twin", *files, "--row", "3", "--noise", "age=0.5")
    assert "This person has nobody similar" in told.stdout
    more = run("twin", *files, "--row", "3", "--noise", "age=1")
    assert "nobody similar" not in more.stdout


def test_a_person_can_be_typed_in(files: tuple[str, str]) -> None:
    columns = town.people()
    for row in range(10):
        # In another order than the model's.
        typed = [
            word
            for name in ("sex", "age", "district", "years_in_job", "income")
            for word in ("--set", f"{name}={columns[name][row]}")
        ]
        alone = run("twin", files[0], *typed, *SIMILAR)
        by_row = run("twin", *files, "--row", str(row), *SIMILAR)
        assert alone.exit_code == by_row.exit_code
        # One typed number does not tell whether numbers of its kind are whole.
        assert alone.stdout.split(":")[0] == by_row.stdout.split(":")[0]


def test_values_can_be_changed(files: tuple[str, str]) -> None:
    changed = run("twin", *files, "--row", "0", "--set", "age=99", *SIMILAR, "--json")
    same = run("twin", *files, "--row", "0", *SIMILAR, "--json")
    assert json.loads(changed.stdout)["model"] == json.loads(same.stdout)["model"]
    everybody = town.people()
    everybody["age"][0] = 99
    other = town.write_csv(Path(files[1]).with_name("other.csv"), everybody)
    expected = run("twin", files[0], other, "--row", "0", *SIMILAR, "--json")
    assert changed.stdout == expected.stdout


def test_columns_without_names_are_not_mixed_up(tmp_path: Path) -> None:
    model, _ = town.hard_case(tmp_path)
    values = [(f"x{i}", 0.1 * i) for i in range(8)]
    words = [f"--set={name}={value}" for name, value in values]
    first = run("twin", model, *words, "--noise", "0.2", "--json")
    second = run("twin", model, *words[::-1], "--noise", "0.2", "--json")
    assert first.stdout == second.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "there is no model; write fatt twin MODEL PEOPLE --row 0"),
        (["MODEL"], "nobody is named; write fatt twin MODEL PEOPLE --row 0"),
        (["MODEL", "PEOPLE"], "nobody is named; add --row 0 or --where NAME=VALUE"),
        (["MODEL", "--row", "1"], "--row and --where choose from PEOPLE"),
        (["MODEL", "PEOPLE", "--row", "60"], "has 60 people; the last is row 59"),
        (["MODEL", "PEOPLE", "--row", "1", "--where", "name=p1"], "keep one"),
        (["MODEL", "PEOPLE", "--where", "name=x"], "nobody has it"),
        (["MODEL", "PEOPLE", "--where", "sex=male"], "choose one with --row"),
        (["MODEL", "PEOPLE", "--where", "nme=x"], "Did you mean 'name'"),
        (["MODEL", "PEOPLE", "--row", "1", "--set", "agee=3"], "Did you mean 'age'"),
        (["MODEL", "PEOPLE", "--row", "1", "--set", "age"], "write NAME=VALUE"),
        (["MODEL", "--set", "agee=3"], "Did you mean 'age'"),
        (
            ["MODEL", "--set", "age=3", "--set", "sex=male"],
            "also reads 'income', 'years_in_job', 'district'; add --set income=VALUE",
        ),
    ],
)
def test_mistakes_are_explained(
    files: tuple[str, str], words: list[str], said: str
) -> None:
    named = {"MODEL": files[0], "PEOPLE": files[1]}
    with pytest.raises(SpecError, match=said):
        run("twin", *(named.get(word, word) for word in words), *SIMILAR)
