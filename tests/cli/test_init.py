"""A file to begin an audit with, which runs as it is."""

from __future__ import annotations

import pickle
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import fatt as library
from fatt.cli import fatt
from fatt.region import Similarity
from tests.cli.test_audit import fails

pandas = pytest.importorskip("pandas")

import joblib  # noqa: E402
from sklearn.compose import make_column_transformer  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import OneHotEncoder, StandardScaler  # noqa: E402
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor  # noqa: E402


def people() -> Any:
    rng = np.random.default_rng(0)
    sex = rng.integers(0, 2, 120)
    return pandas.DataFrame(
        {
            "Customer ID": [f"p{row}" for row in range(120)],
            "age (years)": rng.integers(18, 80, 120),
            "sex": sex,
            "wife": np.where(rng.random(120) < 0.95, sex, 1 - sex),
            "debt": rng.normal(10, 3, 120).round(3),
            "outcome": 0,
        }
    )


def made(folder: Path, *, named: bool) -> None:
    """Write a model that reads all but id and outcome, and the people."""
    frame = people()
    columns = ["age (years)", "sex", "wife", "debt"]
    X = frame[columns].rename(columns={"age (years)": "age"})
    y = ((X["wife"] == 1) ^ (X["age"] > 45)).astype(int)
    own = DecisionTreeClassifier(max_depth=5, random_state=0)
    own.fit(X if named else X.to_numpy(), y)
    library.load(own).save(folder / "model.fatt")
    frame.assign(outcome=y).to_csv(folder / "people.csv", index=False)


def run(*words: str) -> Result:
    return CliRunner().invoke(fatt, words, catch_exceptions=False)


@pytest.mark.parametrize("named", [True, False])
def test_what_is_written_runs_as_it_is(
    named: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(tmp_path, named=named)
    spec = str(tmp_path / "audit.toml")
    begun = run(
        "init", str(tmp_path / "model.fatt"), str(tmp_path / "people.csv"), "-o", spec
    )
    assert begun.exit_code == 0
    text = Path(spec).read_text(encoding="utf-8")
    said = tomllib.loads(text)
    assert said["audit"] == {
        "model": "model.fatt",
        "people": "people.csv",
        "label": "outcome",
        "id": "Customer ID",
    }
    if named:
        assert said["columns"] == {"rename": {"age (years)": "age"}}
    else:
        assert said["columns"] == {"by_position": True}
        assert '"x0" is read from "age (years)"' in text
    assert "'wife' (Cramér's V 0." in text
    [similar] = said["similar"]
    assert similar["vary"] == ["sex"]
    # Each guess is marked, and told.
    assert text.count("GUESS") - 1 == begun.stderr.count("guess: ")
    assert 'vary = ["sex"] (sensitive by their names)' in begun.stderr
    assert Similarity.from_toml(text).alternatives[0].vary == (("sex", None),)
    # From another folder too: its paths are relative to itself.
    monkeypatch.chdir(tmp_path.parent)
    audited = run("audit", "--spec", spec)
    assert audited.exit_code == 0
    assert "The model's answer is that of column 'outcome' for 120 of 120" in (
        audited.stdout
    )
    assert "By sex:" in audited.stdout
    bounded = text.replace('debt = { type = "number" }', DEBT)
    assert bounded != text
    Path(spec).write_text(bounded, encoding="utf-8")
    refused = CliRunner().invoke(fatt, ["audit", "--spec", spec])
    assert "the schema says that 'debt' is from 0 to 1" in str(refused.exception)


def test_columns_of_which_there_is_no_guess_are_told(tmp_path: Path) -> None:
    made(tmp_path, named=True)
    path = tmp_path / "people.csv"
    frame = pandas.read_csv(path).rename(columns={"age (years)": "age"})
    frame.assign(note="see file").to_csv(path, index=False)
    spec = tmp_path / "audit.toml"
    model = str(tmp_path / "model.fatt")
    assert run("init", model, str(path), "-o", str(spec)).exit_code == 0
    text = spec.read_text(encoding="utf-8")
    assert '# ignore = ["Customer ID"]\n' not in text
    assert '# ignore = ["note"]\n' in text
    # With the mark taken off, it is said.
    spec.write_text(text.replace("# ignore", "ignore"), encoding="utf-8")
    audited = run("audit", "--spec", str(spec))
    assert audited.exit_code == 0
    assert "note" not in audited.output


DEBT = 'debt = { type = "number", lower = 0, upper = 1 }'


def test_nothing_is_overwritten(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made(tmp_path, named=True)
    monkeypatch.chdir(tmp_path)
    Path("audit.toml").write_text("mine", encoding="utf-8")
    words = ("init", "model.fatt", "people.csv")
    assert "exists; name another file" in fails(capsys, monkeypatch, *words)
    assert Path("audit.toml").read_text(encoding="utf-8") == "mine"


def test_a_warning_is_told_and_strict_ends_with_2(tmp_path: Path) -> None:
    made(tmp_path, named=True)
    frame = people().rename(columns={"age (years)": "age"})
    columns = ["age", "sex", "wife", "debt"]
    y = ((frame["wife"] == 1) ^ (frame["age"] > 45)).astype(int)
    scaled = StandardScaler().fit_transform(frame[columns])
    own = DecisionTreeClassifier(random_state=0)
    own.fit(pandas.DataFrame(scaled, columns=columns), y)
    model, csv = str(tmp_path / "scaled.fatt"), str(tmp_path / "raw.csv")
    library.load(own).save(model)
    frame.assign(outcome=y).to_csv(csv, index=False)
    page = str(tmp_path / "page.html")
    words = ("audit", model, csv, "--vary", "sex", "--label", "outcome")
    told = run(*words, "--html", page)
    assert told.exit_code == 0
    # It stands above the figures.
    assert told.stdout.startswith("Warning: These rows may not be prepared as the mod")
    html = Path(page).read_text(encoding="utf-8")
    assert html.index("These rows may not") < html.index("<main>")
    assert run(*words, "--strict").exit_code == 2
    fits = ("audit", str(tmp_path / "model.fatt"), csv, "--vary", "sex", "--strict")
    assert run(*fits, "--label", "outcome").exit_code == 0
    # The model fits, and is wrong about everybody.
    frame.assign(outcome=1 - y).to_csv(csv, index=False)
    wrong = run(*fits, "--label", "outcome", "--html", page)
    assert wrong.exit_code == 2
    assert "by column 'outcome'; always answering " in wrong.stdout
    html = Path(page).read_text(encoding="utf-8")
    assert html.index("always answering") < html.index("<main>")


def test_rows_that_do_not_fit_are_told_unless_what_prepares_them_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = people().drop(columns=["Customer ID", "outcome"])
    y, table = (frame["age (years)"] > 45).astype(int), frame.to_numpy(dtype=float)
    scaler = StandardScaler().fit(table)
    own = DecisionTreeClassifier(random_state=0).fit(scaler.transform(table), y)
    monkeypatch.chdir(tmp_path)
    library.load(own).save("scaled.fatt")
    Path("scaler.pkl").write_bytes(pickle.dumps(scaler))
    # Outcomes of other names, and not at the end, are none of the model's columns.
    coded = frame.copy()
    coded.insert(1, "outcome", y.map({0: "bad", 1: "good"}))
    coded.to_csv("people.csv", index=False)
    begun = run("init", "scaled.fatt", "people.csv", "-o", "raw.toml")
    doubt = "These rows may not be prepared as the model's rows were"
    assert f"warning: {doubt}" in begun.stderr
    assert f"# WARNING: {doubt}" in Path("raw.toml").read_text(encoding="utf-8")
    prepare = ("--prepare", "scaler.pkl", "--allow-pickle")
    begun = run("init", "scaled.fatt", "people.csv", *prepare, "-o", "audit.toml")
    assert "warning" not in begun.stderr
    assert "outcomes; name the model's answers as it does" in begun.stderr
    text = Path("audit.toml").read_text(encoding="utf-8")
    assert "WARNING" not in text
    answers = '# answers = { 0 = "...", 1 = "..." }'
    assert answers in text
    told = text.replace(answers, 'answers = { 0 = "bad", 1 = "good" }')
    Path("audit.toml").write_text(told, encoding="utf-8")
    audited = run("audit", "--spec", "audit.toml", "--allow-pickle", "--strict")
    assert audited.exit_code == 0
    assert "column 'outcome' for 120 of 120 people" in audited.stdout


def test_a_column_that_the_model_does_not_read_is_told_by_name(tmp_path: Path) -> None:
    made(tmp_path, named=True)
    frame = people().rename(columns={"age (years)": "age"})
    own = DecisionTreeClassifier(random_state=0)
    own.fit(frame[["age", "wife"]], (frame["wife"] == 1) ^ (frame["age"] > 45))
    library.load(own).save(tmp_path / "blind.fatt")
    frame.to_csv(tmp_path / "raw.csv", index=False)
    words = ["audit", str(tmp_path / "blind.fatt"), str(tmp_path / "raw.csv")]
    refused = CliRunner().invoke(fatt, [*words, "--vary", "sex"])
    message = str(refused.exception)
    assert "the model does not read the column 'sex' of this table" in message
    assert "'wife' (Cramér's V 0." in message


def test_columns_of_a_one_hot_variable_are_read(tmp_path: Path) -> None:
    frame = pandas.get_dummies(
        people()[["sex", "debt"]].assign(sex=lambda t: t["sex"].map({0: "F", 1: "M"})),
        prefix_sep="=",
        dtype=int,
    )
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    tree.fit(frame, frame["sex=F"])
    library.load(tree).save(tmp_path / "model.fatt")
    frame.to_csv(tmp_path / "people.csv", index=False)
    spec = tmp_path / "audit.toml"
    files = [str(tmp_path / name) for name in ("model.fatt", "people.csv")]
    run("init", *files, "--output", str(spec))
    text = spec.read_text(encoding="utf-8")
    assert 'vary = ["sex"]' in text
    assert "varies below" not in text
    assert "# No column that the model reads predicts 'sex'.\n" in text
    assert "does not read" not in text


def applicants() -> Any:
    rng = np.random.default_rng(1)
    return pandas.DataFrame(
        {
            "age": rng.integers(18, 80, 200),
            "sex": rng.choice(["F", "M"], 200),
            "race": rng.choice(["Asian", "Black", "White"], 200),
            "income": rng.normal(30_000, 9_000, 200).round(),
        }
    )


def vendor(kind: str, folder: Path) -> list[str]:
    """Write what somebody might be handed, and return what to tell about it."""
    frame = applicants()
    codes = frame.assign(
        sex=(frame["sex"] == "M").astype(int),
        race=frame["race"].map({"Asian": 0, "Black": 1, "White": 2}),
    )
    y = ((frame["income"] > 30_000) ^ (frame["sex"] == "M")).astype(int)
    table, model, more = codes, folder / "model", []
    if kind == "XGBoost without names":
        xgboost = pytest.importorskip("xgboost")
        own = xgboost.XGBClassifier(n_estimators=4).fit(codes.to_numpy(float), y)
        own.save_model(model := model.with_suffix(".json"))
    elif kind == "LightGBM of three classes":
        lightgbm = pytest.importorskip("lightgbm")
        grade = np.digitize(frame["income"], [25_000, 35_000])
        own = lightgbm.LGBMClassifier(n_estimators=4, verbose=-1).fit(codes, grade)
        own.booster_.save_model(model := model.with_suffix(".txt"))
    elif kind == "CatBoost with categories":
        catboost = pytest.importorskip("catboost")
        own = catboost.CatBoostClassifier(
            iterations=4, max_ctr_complexity=1, verbose=False, allow_writing_files=False
        )
        own.fit(frame, y, cat_features=["sex", "race"])
        own.save_model(str(model := model.with_suffix(".cbm")))
        table = frame
    elif kind == "ONNX without names":
        skl2onnx = pytest.importorskip("skl2onnx")
        own = DecisionTreeClassifier(max_depth=4).fit(codes.to_numpy(np.float32), y)
        made = skl2onnx.to_onnx(own, codes.to_numpy(np.float32)[:1])
        (model := model.with_suffix(".onnx")).write_bytes(made.SerializeToString())
    elif kind == "a regressor":
        xgboost = pytest.importorskip("xgboost")
        own = xgboost.XGBRegressor(n_estimators=4).fit(codes, frame["income"] + y)
        own.save_model(model := model.with_suffix(".json"))
    elif kind == "a pipeline":
        own = make_pipeline(
            make_column_transformer(
                (OneHotEncoder(), ["sex", "race"]), remainder="passthrough"
            ),
            DecisionTreeClassifier(max_depth=5, random_state=0),
        )
        y = y.map({0: "<= 50K", 1: "> 50K"})
        joblib.dump(own.fit(frame, y), model := model.with_suffix(".joblib"))
        table, more = frame, ["--allow-pickle"]
    else:
        scaler = StandardScaler().fit(codes)
        own = DecisionTreeClassifier(max_depth=5, random_state=0)
        own.fit(pandas.DataFrame(scaler.transform(codes), columns=codes.columns), y)
        library.load(own).save(model := model.with_suffix(".fatt"))
        joblib.dump(scaler, folder / "scaler.pkl")
        more = ["--allow-pickle", "--prepare", str(folder / "scaler.pkl")]
    table.assign(status=y).to_csv(folder / "people.csv", index=False)
    return [str(model), str(folder / "people.csv"), *more]


@pytest.mark.parametrize(
    "kind",
    [
        "XGBoost without names",
        "LightGBM of three classes",
        "CatBoost with categories",
        "ONNX without names",
        "a regressor",
        "a pipeline",
        "a scaler beside",
    ],
)
def test_whatever_one_is_handed_can_be_audited_at_once(
    kind: str, tmp_path: Path
) -> None:
    spec = tmp_path / "audit.toml"
    begun = run("init", *vendor(kind, tmp_path), "-o", str(spec))
    assert begun.exit_code == 0
    *_, words = begun.stderr.strip().partition("then: fatt ")
    audited = run(*words.split(), "--strict")
    assert audited.exit_code == 0, audited.stderr
    assert audited.stdout.startswith("For ")
    said = tomllib.loads(spec.read_text(encoding="utf-8"))
    assert said["similar"] == [{"vary": ["sex", "race"], "noise": {"age": "0.2 sd"}}]
    # What is only proposed can be taken up as it is.
    text = spec.read_text(encoding="utf-8")
    tomllib.loads(text.replace("# answers = ", "answers = "))
    # Outcomes are compared where they are answers: not of prices, nor of grades.
    is_binary = kind not in {"LightGBM of three classes", "a regressor"}
    assert said["audit"].get("label") == ("status" if is_binary else None)
    if kind == "CatBoost with categories":
        # Also of a column of which the model asks for few categories, or for none.
        assert "  Asian  " in audited.stdout


@pytest.mark.parametrize("named", [True, False])
def test_columns_as_pandas_makes_them_are_one_variable(
    named: bool, tmp_path: Path
) -> None:
    frame = applicants().assign(paid_rent=1)
    rng = np.random.default_rng(2)
    frame["paid_loan"], frame["paid_rent"] = rng.integers(0, 2, (2, 200))
    flags = pandas.get_dummies(frame).astype(int)
    y = ((frame["race"] == "Asian") ^ (frame["sex"] == "M")).astype(int)
    own = DecisionTreeClassifier(random_state=0).fit(
        flags if named else flags.to_numpy(), y
    )
    library.load(own).save(tmp_path / "model.fatt")
    flags.assign(status=y).to_csv(tmp_path / "people.csv", index=False)
    spec = str(tmp_path / "audit.toml")
    files = [str(tmp_path / "model.fatt"), str(tmp_path / "people.csv")]
    assert run("init", *files, "-o", spec).exit_code == 0
    said = tomllib.loads(Path(spec).read_text(encoding="utf-8"))
    # Whoever pays rent may pay off a loan as well.
    assert said["columns"]["one_hot"] == ["sex", "race"]
    assert said["similar"][0]["vary"] == ["sex", "race"]
    audited = run("audit", "--spec", spec)
    assert audited.exit_code == 0
    assert "By race and sex:\n  Asian, F " in audited.stdout
    position = [] if named else ["--by-position"]
    asked = run(
        "twin", *files, "--row", "0", "--spec", spec, "--ignore", "status", *position
    )
    assert "Unfair" in asked.stdout


def test_equal_signs_are_no_levels_where_pandas_made_the_columns(
    tmp_path: Path,
) -> None:
    rng = np.random.default_rng(3)
    saved = rng.choice(["lt_0_DM", "0_lt=_..._lt_200_DM", "gt=_200_DM"], 90)
    frame = pandas.DataFrame({"age": rng.integers(18, 70, 90), "saved": saved})
    table = pandas.get_dummies(frame, dtype=int)
    for level in "AB":  # these say themselves that they are one variable
        table[f"home_town={level}"] = (table["age"] % 2 == ord(level) % 2).astype(int)
    own = DecisionTreeClassifier(random_state=0).fit(table, saved == "lt_0_DM")
    library.load(own).save(tmp_path / "model.fatt")
    table.to_csv(tmp_path / "people.csv", index=False)
    spec = str(tmp_path / "audit.toml")
    files = [str(tmp_path / "model.fatt"), str(tmp_path / "people.csv")]
    assert run("init", *files, "-o", spec).exit_code == 0
    said = tomllib.loads(Path(spec).read_text(encoding="utf-8"))
    assert said["columns"]["one_hot"] == ["saved"]
    wanted = ["--vary", "saved", "--vary", "home_town", "--one-hot", "saved"]
    audited = run("audit", *files, *wanted)
    assert audited.exit_code == 0
    assert "saved lt_0_DM → 0_lt=_..._lt_200_DM" in audited.stdout
    assert run("audit", "--spec", spec).exit_code == 0


def test_what_was_told_of_the_model_is_written_down(tmp_path: Path) -> None:
    model, table, *_ = vendor("a scaler beside", tmp_path)
    renamed = pandas.read_csv(table).rename(columns={"sex": "Gender", "race": "R"})
    renamed.to_csv(table, index=False)
    # Of guesses that do not complete the rows nothing is told.
    refused = run_and_fail("init", model, table)
    assert "lack the column 'sex'" in refused
    assert "Gender, R" in refused
    names = tmp_path / "names.json"
    names.write_text('{"R": "race"}', encoding="utf-8")
    spec = tmp_path / "audit.toml"
    begun = run(
        *("init", model, table, "-o", str(spec), "--rename", str(names)),
        *("--threshold", "0.3", "--pos-label", "1"),
    )
    said = tomllib.loads(spec.read_text(encoding="utf-8"))
    assert said["columns"]["rename"] == {"R": "race", "Gender": "sex"}
    assert said["decision"] == {"threshold": 0.3, "pos_label": 1}
    assert begun.exit_code == run("audit", "--spec", str(spec)).exit_code == 0


def test_a_column_of_words_is_no_column_of_numbers(tmp_path: Path) -> None:
    rows = pandas.DataFrame(
        {"age": [20, 30, 40, 50], "town_Ulm": [0, 1, 0, 1], "tenure": [1, 2, 3, 4]}
    )
    tree = DecisionTreeClassifier(random_state=0).fit(rows, [0, 1, 1, 0])
    library.load(tree).save(tmp_path / "model.fatt")
    raw = rows.drop(columns="town_Ulm").assign(town=["Bonn", "Ulm", "Bonn", "Ulm"])
    raw.to_csv(tmp_path / "people.csv", index=False)
    files = str(tmp_path / "model.fatt"), str(tmp_path / "people.csv")
    refused = run_and_fail("init", *files)
    assert "made of 'town' before the training, by one-hot encoding" in refused
    assert "Columns found: age, tenure, town." in refused
    raw["town_Ulm"] = rows["town_Ulm"]
    raw = raw.rename(columns={"tenure": "tenure (years)"}).assign(tenur="long")
    raw.to_csv(tmp_path / "people.csv", index=False)
    output = tmp_path / "audit.toml"
    assert run("init", *files, "-o", str(output)).exit_code == 0
    said = tomllib.loads(output.read_text(encoding="utf-8"))
    assert said["columns"]["rename"] == {"tenure (years)": "tenure"}


def run_and_fail(*words: str) -> str:
    return str(CliRunner().invoke(fatt, words).exception)


def test_texts_where_a_model_reads_numbers(tmp_path: Path) -> None:
    model, table, *_ = vendor("XGBoost without names", tmp_path)
    applicants().to_csv(table, index=False)
    told = run_and_fail("init", model, table)
    assert "column 'sex' holds texts, such as 'M'" in told
    assert 'with --prepare FILE, for all of them as in {"sex":{"M":0,"F":1}}' in told
    applicants()[["age", "income"]].to_csv(table, index=False)
    assert "if a preparation makes more of them" in run_and_fail("init", model, table)


@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, "cannot read it: No such file"), (b"[[similar", "no valid TOML")],
)
def test_a_file_that_is_none_is_told_first(
    content: bytes | None, reason: str, tmp_path: Path
) -> None:
    spec = tmp_path / "audit.toml"
    if content is not None:
        spec.write_bytes(content)
    assert reason in run_and_fail("audit", "--spec", str(spec))


def begun(folder: Path, model: Any, table: Any) -> dict[str, Any]:
    """Return the file that is begun for a model and a table; it runs as it is."""
    path, csv, spec = folder / "m.fatt", folder / "people.csv", folder / "audit.toml"
    library.load(model).save(path)
    table.to_csv(csv, index=False)
    spec.unlink(missing_ok=True)
    assert run("init", str(path), str(csv), "-o", str(spec)).exit_code == 0
    assert run("audit", "--spec", str(spec)).exit_code == 0
    return tomllib.loads(spec.read_text(encoding="utf-8"))


def test_outcomes_are_told_by_their_values(tmp_path: Path) -> None:
    """Neither two values nor a word in its name make a column that of outcomes."""
    rng = np.random.default_rng(0)
    frame = people()[["sex", "debt"]]
    went_well = (frame["debt"] > 10).astype(int) ^ (rng.random(120) < 0.1)
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(frame, went_well)
    married = np.where(rng.random(120) < 0.5, "Married", "Single")
    table = frame.assign(**{"Marital status": married, "Customer status": married})
    assert "label" not in begun(tmp_path, model, table)["audit"]
    table["went well"] = went_well
    table["newsletter"] = rng.integers(0, 2, 120)
    assert begun(tmp_path, model, table)["audit"]["label"] == "went well"
    # In other words, too.
    table["went well"] = np.where(went_well, "good", "bad")
    assert begun(tmp_path, model, table)["audit"]["label"] == "went well"


def test_outcomes_of_numbers_are_told_by_their_values(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = people()[["sex", "debt"]]
    price = np.exp(9 + frame["debt"] / 3 + rng.normal(0, 0.1, 120))
    table = frame.assign(weight=rng.normal(70, 9, 120), paid=price)
    for target, label, tolerance in (
        (price, "paid", "5%"),
        (np.log(price), None, 0.05),
        (np.log1p(price), None, 0.05),
        (np.log10(price), None, 0.02),
    ):
        model = DecisionTreeRegressor(max_depth=5, random_state=0).fit(frame, target)
        said = begun(tmp_path, model, table)
        assert said["audit"].get("label") == label
        assert said["decision"]["tolerance"] == tolerance


@pytest.mark.parametrize("age", [30, 30.5])
def test_a_column_of_one_value_gets_no_noise(age: float, tmp_path: Path) -> None:
    frame = people()[["sex", "debt"]].assign(age=people()["age (years)"])
    model = DecisionTreeClassifier(max_depth=3, random_state=0)
    model.fit(frame, frame["age"] > 45)
    said = begun(tmp_path, model, frame.assign(age=age))
    assert said["similar"] == [{"vary": ["sex"]}]
