"""Names from outside, on the command line and in the audit's file."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fatt.cli import fatt
from fatt.errors import OtherModelError
from tests.cli.test_audit import fails

np = pytest.importorskip("numpy")
lightgbm = pytest.importorskip("lightgbm")
pytest.importorskip("pandas")

WORDS = {"1": "White", "2": "Asian", "4": "Black"}
SPEC = """
[[similar]]
vary = ["race"]

[columns]
names = ["age", "race"]
rename = { "Age (years)" = "age" }
codes = { race = { 1 = "White", 2 = "Asian", 4 = "Black" } }
answers = { 0 = "denied", 1 = "granted" }
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("names")
    rng = np.random.default_rng(0)
    age, race = rng.integers(18, 80, 200), rng.choice([1, 2, 4], 200)
    granted = ((race == 4) ^ (age > 50)).astype(int)
    model = lightgbm.LGBMClassifier(n_estimators=5, min_child_samples=2, verbose=-1)
    model.fit(np.column_stack([age, race]), granted)
    model.booster_.save_model(path / "model.txt")
    # In another order than the model's, and race once in words.
    rows = [
        f"{WORDS[str(r)] if place % 2 else r},{g},{a}"
        for place, (a, r, g) in enumerate(zip(age, race, granted, strict=True))
    ]
    (path / "people.csv").write_text("\n".join(["race,y,Age (years)", *rows]) + "\n")
    (path / "names.txt").write_text("age\nrace\n")
    (path / "rename.json").write_text(json.dumps({"Age (years)": "age"}))
    (path / "codes.json").write_text(json.dumps({"race": WORDS}))
    (path / "audit.toml").write_text(SPEC)
    return path


def run(home: Path, *words: str) -> Result:
    files = [str(home / word) if (home / word).exists() else word for word in words]
    return CliRunner().invoke(fatt, files)


def options(home: Path) -> list[str]:
    return [
        *("--columns", "names.txt", "--rename", "rename.json"),
        *("--codes", "codes.json", "--answers", "0=denied,1=granted"),
    ]


def test_options_and_file_say_the_same(home: Path) -> None:
    audit = ["audit", "model.txt", "people.csv", "--label", "y"]
    said = run(home, *audit, *options(home), "--vary", "race")
    written = run(home, *audit, "--spec", "audit.toml")
    assert said.exit_code == written.exit_code == 0
    assert said.stdout == written.stdout
    assert "denied → granted   race " in said.stdout
    assert "The model's answer is that of column 'y' for " in said.stdout
    assert "The model's own library was asked about 200 people" in said.stdout


def test_a_certificate_is_checked_under_the_same_names(
    home: Path, tmp_path: Path
) -> None:
    path = str(tmp_path / "audit.cert")
    page = str(tmp_path / "audit.html")
    audit = [
        "audit",
        "model.txt",
        "people.csv",
        "--ignore",
        "y",
        "--spec",
        "audit.toml",
    ]
    run(home, *audit, "--certificate", path, "--html", page)
    check = ["check", path, "model.txt", "people.csv", "--ignore", "y"]
    assert run(home, *check, "--spec", "audit.toml").exit_code == 0
    assert run(home, *check, *options(home)).exit_code == 0
    other = run(home, "check", path, "model.txt", "--columns", "names.txt")
    assert isinstance(other.exception, OtherModelError)
    assert "give those of the audit" in str(other.exception)
    words = Path(page).read_text().replace("\\\n", "").split()
    place = words.index(str(home / "model.txt"), words.index("check"))
    assert words[place + 1 : place + 2] == ["--spec"]
    assert words[place + 2].startswith(str(home / "audit.toml"))


def test_twin_and_inspect_know_the_names(home: Path) -> None:
    twin = run(
        home, "twin", "model.txt", "--spec", "audit.toml",
        "--set", "age=40", "--set", "race=Black",
    )  # fmt: skip
    assert twin.exit_code == 1
    assert "this person gets granted" in twin.stdout
    shown = run(home, "inspect", "model.txt", "--columns", "names.txt", "--json")
    names = [feature["name"] for feature in json.loads(shown.stdout)["features"]]
    assert names == ["age", "race"]


def test_names_of_columns_may_be_json(home: Path) -> None:
    names = (home / "names.txt").read_text(encoding="utf-8").split()
    (home / "names.json").write_text(json.dumps(names), encoding="utf-8")
    shown = [
        run(home, "inspect", "model.txt", "--columns", file, "--json").stdout
        for file in ("names.txt", "names.json")
    ]
    assert shown[0] == shown[1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--answers", "yes"], "write ANSWER=WORD"),
        (["--answers", "0=a,0=b"], "names '0' twice"),
        (["--rename", "codes.json"], "Expected `str`, got `object`"),
        (["--rename", "absent.json"], "cannot read it"),
        (["--columns", "absent.txt"], "cannot read it"),
        (["--columns", "numbers.json"], "Expected `str`, got `int`"),
        (["--columns", "names.pkl"], 'joblib.load("names.pkl"), sep=chr(10))'),
    ],
)
def test_mistakes_are_told(
    home: Path,
    words: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(home)
    Path("numbers.json").write_text("[1, 2]", encoding="utf-8")
    Path("names.pkl").write_bytes(pickle.dumps(["age", "race"]))
    audit = ("audit", "model.txt", "people.csv", "--ignore", "y", "--vary", "race")
    assert message in fails(capsys, monkeypatch, *audit, *words)


def test_what_is_said_twice_or_means_nothing_is_refused(
    home: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(home)
    audit = ("audit", "model.txt", "people.csv", "--spec")
    message = fails(capsys, monkeypatch, *audit, "audit.toml", "--columns", "names.txt")
    assert "--columns and names in [columns] of audit.toml" in message
    (tmp_path / "odd.toml").write_text(SPEC.replace("rename", "renames"))
    message = fails(capsys, monkeypatch, *audit, str(tmp_path / "odd.toml"))
    assert "[columns] is not understood" in message
    (tmp_path / "two.toml").write_text(SPEC.replace('= "age" }', '= "race" }'))
    message = fails(capsys, monkeypatch, *audit, str(tmp_path / "two.toml"))
    assert "would have the name 'race'" in message
    (tmp_path / "no.toml").write_text(SPEC.replace("Age (years)", "Age (year)"))
    message = fails(capsys, monkeypatch, *audit, str(tmp_path / "no.toml"))
    assert "does not have. Did you mean 'Age (years)'?" in message
