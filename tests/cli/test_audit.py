from __future__ import annotations

import csv
import hashlib
import html
import io
import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner, Result
from sklearn.tree import DecisionTreeClassifier

import fatt as library
from fatt.cli import fatt, main
from fatt.region import Similarity
from tests.cli import town

SIMILAR = ("--noise", "age=2", "--noise", "income=5%", "--vary", "sex")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("town")
    town.model().save(path / "bank.fatt")
    town.write_csv(path / "people.csv", town.people())
    return path


@pytest.fixture
def files(folder: Path) -> tuple[str, str]:
    return str(folder / "bank.fatt"), str(folder / "people.csv")


def audit(*arguments: str, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(
        fatt, ["audit", *arguments], input=stdin, catch_exceptions=False
    )


def fails(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: str
) -> str:
    """Return the one line that the command says when it cannot run."""
    monkeypatch.setattr("sys.argv", ["fatt", *words])
    with pytest.raises(SystemExit) as stopped:
        main()
    captured = capsys.readouterr()
    assert stopped.value.code == 2
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("fatt: ")
    return captured.err


def test_the_report_is_that_of_the_library(files: tuple[str, str]) -> None:
    pandas = pytest.importorskip("pandas")
    similarity = Similarity(noise={"age": 2, "income": "5%"}, vary=["sex"])
    expected = library.verify(
        town.model(), pandas.DataFrame(town.people()), similarity=similarity
    )
    found = json.loads(audit(*files, *SIMILAR, "--json").stdout)
    assert found == json.loads(expected.to_json())


def test_the_summary_has_counts_groups_and_twins(files: tuple[str, str]) -> None:
    report = json.loads(audit(*files, *SIMILAR, "--json").stdout)
    unfair = report["counts"]["unfair"]
    assert unfair > 0
    text = audit(*files, *SIMILAR, "--group", "party", "--id", "name").stdout
    assert f"For {unfair} of " in text
    assert "'income' may differ by up to 5%" in text
    assert "By party:\n  blue" in text
    case = report["counterexamples"][0]
    assert f"  p{case['index']} (row {case['index']})  {case['label']}" in text


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ((), 0),
        (("--min-fairness", "0.1"), 0),
        (("--min-fairness", "1"), 1),
    ],
)
def test_exit_codes(
    files: tuple[str, str], arguments: tuple[str, ...], code: int
) -> None:
    result = audit(*files, *SIMILAR, *arguments, "--quiet")
    assert result.exit_code == code
    assert result.output == ""


def test_a_budget_can_leave_the_question_undecided(tmp_path: Path) -> None:
    model, people = town.hard_case(tmp_path)
    words = (model, people, "--noise", "0.3", "--budget", "total_nodes=5")
    counts = json.loads(audit(*words, "--json").stdout)["counts"]
    assert counts["unknown"] > 0
    share = (counts["fair"] + counts["unknown"] / 2) / sum(counts.values())
    result = audit(*words, "--min-fairness", str(share))
    assert result.exit_code == 3
    assert result.stdout.startswith("Undecided (")
    assert f"{counts['unknown']} are unknown" in result.stdout
    assert audit(*words).exit_code == 0


def test_the_demo_needs_nothing() -> None:
    result = audit("--demo")
    assert result.exit_code == 0
    assert "1,000" in result.stdout
    assert "own library was not asked: the bank is made up, and its" in result.stdout
    assert (
        "The closest twins (fewest columns that differ first, then the smallest steps; "
        "row 0 is the first person, as in the CSV and in Python):"
    ) in result.stdout
    assert "  row 18  denied → granted   sex female → male" in result.stdout


def test_a_spec_file_says_who_is_similar(
    files: tuple[str, str], tmp_path: Path
) -> None:
    spec = tmp_path / "audit.toml"
    similarity = Similarity(noise={"age": 2, "income": "5%"}, vary=["sex"])
    spec.write_text(similarity.to_toml(), encoding="utf-8")
    by_options = audit(*files, *SIMILAR, "--json").stdout
    assert audit(*files, "--spec", str(spec), "--json").stdout == by_options


def test_people_come_from_the_standard_input(files: tuple[str, str]) -> None:
    model, people = files
    data = Path(people).read_bytes()
    found = audit(model, "-", *SIMILAR, "--json", stdin=data).stdout
    assert found == audit(model, people, *SIMILAR, "--json").stdout


def test_csv_has_a_row_per_person(files: tuple[str, str], tmp_path: Path) -> None:
    target = tmp_path / "findings.csv"
    audit(*files, *SIMILAR, "--id", "name", "--csv", str(target))
    rows = list(csv.DictReader(io.StringIO(target.read_text(encoding="utf-8"))))
    report = json.loads(audit(*files, *SIMILAR, "--json").stdout)
    assert [row["name"] for row in rows] == town.people()["name"]
    assert [row["verdict"] for row in rows] == [
        finding["verdict"] for finding in report["findings"]
    ]
    twins = {case["index"]: case["twin_label"] for case in report["counterexamples"]}
    assert [row["twin_label"] for row in rows] == [
        twins.get(index, "") for index in range(len(rows))
    ]


def test_html_is_written_whole_and_tells_how(
    files: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "audit.html"
    proofs = str(tmp_path / "audit.cert")
    words = ["audit", *files, *SIMILAR, "--html", str(target), "--label", "truth"]
    words += ["--certificate", proofs, "--note", "Audited by <nobody>."]
    monkeypatch.setattr("sys.argv", ["fatt", *words])
    assert audit(*words[1:]).exit_code == 0
    page = target.read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert page.endswith("</html>\n")
    assert f"fatt audit {files[0]} {files[1]} \\\n  --" in page
    assert f" \\\n  --certificate {proofs} \\\n  --note &#x27;Audited by" in page
    assert "&#x27;truth&#x27; for" in page
    assert "How much the score differs" in page
    assert f"fatt check {proofs} {files[0]}" in page
    assert hashlib.sha256(Path(proofs).read_bytes()).hexdigest() in page
    assert "Audited by &lt;nobody&gt;." in page
    assert sorted(tmp_path.iterdir()) == [Path(proofs), target]


def test_the_share_of_right_answers_is_counted(files: tuple[str, str]) -> None:
    text = audit(*files, *SIMILAR, "--label", "truth").stdout
    report = json.loads(audit(*files, *SIMILAR, "--json").stdout)
    truth = town.people()["truth"]
    labels = [finding["label"] for finding in report["findings"]]
    right = sum(a == b for a, b in zip(labels, truth, strict=True))
    assert f"for {right} of {len(truth)} people" in text


def test_outcomes_in_other_words_are_not_compared(files: tuple[str, str]) -> None:
    told = audit(*files, *SIMILAR, "--label", "party")
    assert "The model's answer is that of" not in told.stdout
    assert (
        "Column 'party' holds 'blue', 'red', and the model answers 'denied', "
        "'granted', so that they were not compared. If they mean the same, give the "
        "model's answers the words of the column; if these stand in the same order: "
        "--answers denied=blue,granted=red."
    ) in told.stdout


def test_outcomes_may_be_coded_otherwise_than_the_answers(
    files: tuple[str, str], tmp_path: Path
) -> None:
    """Codes 1 and 2 for answers 0 and 1 share a code, and mean another one by it."""
    people = town.people()
    path = str(tmp_path / "coded.fatt")
    library.load(town.model(), answers={"denied": "0", "granted": "1"}).save(path)
    codes = {"denied": "1", "granted": "2"}
    people["coded"] = [codes[truth] for truth in people["truth"]]
    people["coded"][0] = ""
    table = town.write_csv(tmp_path / "people.csv", people)
    asked = (path, table, *SIMILAR, "--label", "coded")
    told = audit(*asked)
    assert "holds '1', '2', and the model answers '0', '1'" in told.stdout
    assert "The model is right about" not in told.stdout
    text = audit(*asked, "--answers", "0=1,1=2").stdout
    whole = audit(*files, *SIMILAR, "--json")
    found = [finding["label"] for finding in json.loads(whole.stdout)["findings"]]
    pairs = list(zip(found, people["truth"], strict=True))[1:]
    right = sum(answer == truth for answer, truth in pairs)
    assert f"column 'coded' for {right} of {len(pairs)} people" in text


def test_a_failed_write_leaves_the_old_file(
    files: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "findings.csv"
    target.write_text("old", encoding="utf-8")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    monkeypatch.setattr(
        "sys.argv", ["fatt", "audit", *files, *SIMILAR, "--csv", str(target)]
    )
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert target.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "there is no model; write fatt audit MODEL PEOPLE, or try fatt audit"),
        (["MODEL"], "there is no file of people"),
        (["MODEL", "PEOPLE"], "nothing says who is similar; add --noise age=3"),
        (["MODEL", "PEOPLE", "--vary", "sexx"], "Did you mean 'sex'?"),
        (["MODEL", "nobody.csv", "--vary", "sex"], "cannot read the people from nob"),
        (["no.json", "PEOPLE", "--vary", "sex"], "cannot read the model file no.json"),
        (["MODEL", "MODEL", "--vary", "sex"], "is not UTF-8"),
        (["MODEL", "PEOPLE", "--vari", "sex"], "'--vary'?) See 'fatt audit --help'."),
        (["MODEL", "PEOPLE", "--noise", "age=x"], "noise of 'age' is 'x'; write"),
        (["MODEL", "PEOPLE", "--noise", "3", "--noise", "age=2"], "name all or none"),
        (["MODEL", "PEOPLE", "--noise", "age=1", "--noise", "age=2"], "two things"),
        (["MODEL", "PEOPLE", "--vary", "sex", "--spec", "y.toml"], "or none"),
        (["MODEL", "PEOPLE", "--spec", "x.toml"], "--spec x.toml: cannot read it"),
        (["MODEL", "PEOPLE", "--vary", "sex", "--group", "prty"], "mean 'party'?"),
        (["MODEL", "PEOPLE", "--vary", "sex", "--id", "nme"], "Did you mean 'name'?"),
        (["MODEL", "PEOPLE", "--vary", "sex", "--html", "no/x"], "there is no folder"),
        (["MODEL", "PEOPLE", "--vary", "sex", "--csv", "."], "is a folder"),
        (["MODEL", "PEOPLE", "--vary", "sex", "--budget", "s"], "'s' is no number"),
        (["MODEL", "PEOPLE", "--vary", "sex", "--budget", "node=3"], "mean 'nodes'?"),
        (["MODEL", "PEOPLE", "--vary", "sex", "--min-fairness", "2"], "not in the ran"),
        (["--demo", "MODEL"], "--demo brings its own model and people"),
    ],
)
def test_every_mistake_is_one_sentence_with_a_way_out(
    files: tuple[str, str],
    words: list[str],
    said: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("y.toml").write_text('[[similar]]\nvary = ["sex"]\n', encoding="utf-8")
    named = {"MODEL": files[0], "PEOPLE": files[1]}
    arguments = ["audit", *(named.get(word, word) for word in words)]
    assert said in fails(capsys, monkeypatch, *arguments)


def test_an_interrupted_audit_writes_what_is_known(
    files: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fatt.verifier import Verifier

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Verifier, "verify", interrupt)
    page, table = tmp_path / "audit.html", tmp_path / "findings.csv"
    result = audit(*files, *SIMILAR, "--html", str(page), "--csv", str(table))
    assert result.exit_code == 3
    assert "The run was interrupted" in result.stdout
    assert "The run was interrupted" in page.read_text(encoding="utf-8")
    assert "unknown" in table.read_text(encoding="utf-8")


def test_a_bug_is_not_taken_for_a_refutation(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(**_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("fatt.cli.audit.Request", broken)
    monkeypatch.setattr("sys.argv", ["fatt", "audit", "--demo"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert "this is a bug in fatt" in capsys.readouterr().err


@pytest.mark.xgboost
def test_the_model_itself_is_asked_about_people_and_some_similar(
    tmp_path: Path,
) -> None:
    xgboost = pytest.importorskip("xgboost")
    rows = [[float(age), float(age * 37 % 11)] for age in range(20, 80)]
    model = xgboost.XGBClassifier(n_estimators=3, max_depth=2)
    model.fit(rows, [age > 40 for age, _ in rows])
    model.get_booster().feature_names = ["age", "years"]
    model.save_model(tmp_path / "credit.json")
    columns = dict(zip(("age", "years"), zip(*rows, strict=True), strict=True))
    people = town.write_csv(tmp_path / "people.csv", columns)
    words = (str(tmp_path / "credit.json"), people, "--noise", "age=2")
    told = audit(*words).stdout
    assert "The model's own library was asked about 60 people and " in told
    none = audit(*words, "--spot-checks", "0").stdout
    assert "asked about 60 people. It gave the answers that fatt read" in none
    some = json.loads(audit(*words, "--spot-checks", "7", "--json").stdout)
    asked = {"people": 60, "similar": 7, "reason": "", "rounded": 0}
    assert some["asked"] == asked


def test_the_summary_says_that_nothing_was_asked(files: tuple[str, str]) -> None:
    told = audit(*files, *SIMILAR).stdout
    assert "own library was not asked: only the model's exact form is here." in told


def test_groups_are_added_to_those_that_vary(files: tuple[str, str]) -> None:
    text = audit(*files, *SIMILAR, "--group", "party").stdout
    assert "By sex:" in text
    assert "By party:" in text


def test_sensitive_features_come_from_another_file(
    files: tuple[str, str], tmp_path: Path
) -> None:
    people = town.people()
    towns = ["Ulm", "", "Bonn"] * 20
    path = tmp_path / "towns.csv"
    given = ("--sensitive-features", str(path), "--id", "name")
    town.write_csv(path, {"name": people["name"], "town": towns})
    text = audit(*files, *SIMILAR, *given).stdout
    assert "By town:\n  Bonn                     " in text
    assert "  missing " in text
    assert "By name" not in text
    page = tmp_path / "page.html"
    audit(*files, *SIMILAR, *given, "--html", str(page), "--quiet")
    assert "Findings by town" in page.read_text(encoding="utf-8")


def test_sensitive_features_of_other_people_are_refused(
    files: tuple[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = str(tmp_path / "towns.csv")
    names = town.people()["name"]
    words = ("audit", *files, *SIMILAR, "--id", "name", "--sensitive-features", path)
    town.write_csv(Path(path), {"name": [names[0], *names[:-1]], "town": names})
    said = fails(capsys, monkeypatch, *words)
    assert "row 1: name is 'p1' in" in said
    assert "the same people in the same order" in said
    town.write_csv(Path(path), {"name": names[:9], "town": names[:9]})
    assert "has 9 values in 'town'" in fails(capsys, monkeypatch, *words)


def test_junit_tells_proven_from_refuted(
    files: tuple[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "junit.xml"

    def suite(*words: str) -> ET.Element:
        audit(*files, *SIMILAR, "--quiet", "--junit", str(path), *words)
        return ET.parse(path).getroot()

    found = suite("--min-fairness", "1")
    [failure] = found.iter("failure")
    assert failure.get("type") == "refuted"
    assert (failure.get("message") or "").startswith("Not met (100% required). For ")
    assert " → " in (failure.text or "")
    assert (found.get("tests"), found.get("failures")) == ("2", "1")
    report = json.loads(audit(*files, *SIMILAR, "--json").stdout)
    told = {one.get("name"): one.get("value") for one in found.iter("property")}
    assert told["fairness.lower"] == str(report["fairness"]["lower"])
    assert told["unfair"] == str(report["counts"]["unfair"])
    assert suite().get("failures") == "0"
    assert suite("--min-fairness", "0").get("failures") == "0"


def test_junit_writes_no_signs_that_xml_forbids() -> None:
    from fatt.cli.junit import to_junit
    from tests.report.hostile import HOSTILE, bank

    names = HOSTILE
    table = [[20.0, names[2]], [29.0, names[3]]]
    similarity = Similarity(noise={names[0]: 2}, vary=[names[1]])
    report = library.verify(bank(names), table, similarity=similarity)
    for is_strict in (True, False):
        text = to_junit(
            report,
            name=names[4],
            min_fairness=1.0,
            warnings=[names[4]],
            is_strict=is_strict,
        )
        suite = ET.fromstring(text)
        kinds = [one.get("type") for one in suite.iter("failure")]
        # A warning fails the build only if it is asked for.
        assert kinds == ["refuted", "warning"][: 1 + is_strict]
        assert len(suite.findall("testcase")) == 2


def test_junit_says_that_nothing_was_decided() -> None:
    from fatt.cli.junit import to_junit
    from tests.report import made

    def kind(report: library.Report, share: float) -> str | None:
        text = to_junit(
            report, name="", min_fairness=share, warnings=[], is_strict=False
        )
        [failure] = ET.fromstring(text).iter("failure")
        return failure.get("type")

    assert kind(made.report(), 0.3) == "undecided"
    assert kind(made.report(interrupted=True), 0.1) == "interrupted"


def test_columns_that_the_model_does_not_read_are_told_once(
    files: tuple[str, str], tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    told = audit(*files, *SIMILAR, "--html", str(page)).stdout
    words = "does not read 'name', 'truth', 'party' of"
    assert told.count(words) == 1
    assert html.unescape(page.read_text(encoding="utf-8")).count(words) == 1
    named = ("--id", "name", "--label", "truth", "--group", "party")
    assert "does not read" not in audit(*files, *SIMILAR, *named).stdout
    assert "read 'truth' of" in audit(*files, *SIMILAR, *named[:2], *named[4:]).stdout
    ignored = ("--ignore", "name", "--ignore", "truth", "--ignore", "party")
    assert "does not read" not in audit(*files, *SIMILAR, *ignored).stdout


def test_a_raw_column_behind_one_hot_columns_is_not_to_be_renamed(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pandas = pytest.importorskip("pandas")
    people = pandas.DataFrame({"age": [30, 40, 50], "job": ["cook", "nurse", "cook"]})
    tree = DecisionTreeClassifier(random_state=0)
    tree.fit(pandas.get_dummies(people, dtype=float), [0, 1, 0])
    library.load(tree).save(tmp_path / "jobs.fatt")
    people.to_csv(tmp_path / "raw.csv", index=False)
    model, raw = str(tmp_path / "jobs.fatt"), str(tmp_path / "raw.csv")
    said = fails(capsys, monkeypatch, "audit", model, raw, "--noise", "age=2")
    assert "'job_cook', which the model reads: it seems to be made of 'job'" in said
    assert "or the fitted encoder as --prepare" in said
    assert "--rename" not in said
    people.rename(columns={"age": "Age"}).to_csv(raw, index=False)
    said = fails(capsys, monkeypatch, "audit", model, raw, "--noise", "age=2")
    assert "say so: --rename FILE" in said


def test_budgets_are_options(files: tuple[str, str], tmp_path: Path) -> None:
    one = audit(*files, *SIMILAR, "--at-most", "1", "--json")
    [asked] = json.loads(one.stdout)["similarity"]
    expected = Similarity(noise={"age": 2, "income": "5%"}, vary=["sex"], at_most=1)
    assert Similarity(**asked) == expected
    words = ("--distance", "age=1/10", "--distance", "sex=0", "--limit", "0.5")
    ball = json.loads(audit(*files, *words, "--norm", "l2", "--json").stdout)
    expected = Similarity(distance={"age": 0.1, "sex": 0}, limit=0.5, norm="l2")
    assert Similarity(**ball["similarity"][0]) == expected
    page = tmp_path / "page.html"
    assert audit(*files, *words, "--html", str(page)).exit_code in (0, 1)
    assert "each unit costs 0.1" in page.read_text(encoding="utf-8")
    spec = tmp_path / "spec.toml"
    spec.write_text(expected.to_toml())
    again = json.loads(audit(*files, "--spec", str(spec), "--json").stdout)
    assert again["counts"] == ball["counts"]


def test_budgets_that_mean_nothing(
    files: tuple[str, str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for words, told in (
        (("--distance", "age"), "--distance age says no cost"),
        (("--distance", "=3"), "--distance =3 says no cost"),
        (("--distance", "age=1", "--distance", "age=2"), "two things of 'age'"),
        (("--distance", "age=-1"), "distance of 'age' is '-1'"),
        (("--limit", "2"), "write --distance age=0.1"),
        (("--at-most", "2"), "nothing may change"),
        ((*SIMILAR, "--at-most", "0"), "at_most is 0"),
    ):
        assert told in fails(capsys, monkeypatch, "audit", *files, *words)
