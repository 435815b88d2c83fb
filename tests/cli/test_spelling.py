"""Errors on the command line name options, as those of the library name arguments."""

from __future__ import annotations

import ast
import pickle
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas
import pytest
from click.testing import CliRunner
from xgboost import XGBClassifier

import fatt
from fatt import Similarity
from fatt.cli import fatt as command
from fatt.cli import main
from fatt.cli.options import Request
from fatt.cli.spec import read_spec
from fatt.cli.spelling import as_option
from fatt.errors import Arg, SpecError
from fatt.region import Number
from tests.cli import town
from tests.test_decisions import LABEL, REGRESSOR, SEVERAL, TABLE

#: What whoever never saw Python cannot write: fatt's own calls, classes and arguments.
PYTHON = re.compile(
    r"\bfatt\.(?!json)\w+|\b(?:Schema|Similarity|Budget|FATTClassifier)\b|schema\.\w|"
    r"\bwith_\b|float\(|(?<![\w-])(?:similarity|schema|threshold|cuts|pos_label|cut_on|"
    r"strict|tolerance|direction|favou?rable|noise|vary|one_hot|columns|codes|"
    r"rename|prepare|answers|by_position|allow_pickle|budget)=|"
    r"\bmissing=\S+ (?:was given|is beyond)"
)
FOLDER = Path(fatt.__file__).parent
#: Rooms that no command enters, and the page, which names a schema and a similarity.
NOT_REACHED = (
    "aif360_ext",
    "audit/arguments.py",
    "audit/partitions.py",
    "audit/questions.py",
    "audit/radii.py",
    "cli",
    "errors.py",
    "export",
    "markup.py",
    "metrics.py",
    "repairs",
    "report/page.py",
    "report/parts.py",
    "testing.py",
    "train",
)
#: What can only be done in Python.
ONLY_IN_PYTHON = (
    "fatt.repair",
    "pass fatt.load(model)",
    "pass a FATTClassifier after its fit",
    "Schema of ",
    "the space is given as",
    "similarities have no 'and'",
    "dict.fromkeys(schema.numeric",
)


def raised() -> Iterator[tuple[str, str]]:
    """Every sentence of an error, with ``'x'`` where it names what was found."""
    for path in sorted(FOLDER.rglob("*.py")):
        name = path.relative_to(FOLDER).as_posix()
        if name.startswith(NOT_REACHED):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        told = {
            id(part)
            for node in ast.walk(tree)
            if isinstance(node, ast.JoinedStr | ast.FormattedValue)
            for part in ast.walk(node)
            if part is not node
        }
        docs = {
            id(node.value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        }
        for node in ast.walk(tree):
            if id(node) in told or id(node) in docs:
                continue
            if isinstance(node, ast.JoinedStr):
                yield f"{name}:{node.lineno}", "".join(map(_filled, node.values))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield f"{name}:{node.lineno}", node.value


def _filled(part: ast.expr) -> str:
    if isinstance(part, ast.Constant):
        return str(part.value)
    return "'x'"


def test_no_sentence_of_an_error_is_left_in_python() -> None:
    sentences = [(place, text) for place, text in raised() if " " in text]
    assert len(sentences) > 500
    left = [
        (place, text)
        for place, text in sentences
        if PYTHON.search(text) and not any(part in text for part in ONLY_IN_PYTHON)
    ]
    assert left == []


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models and people as files, and what audits' files say."""
    folder = tmp_path_factory.mktemp("spelling")
    town.model().save(folder / "bank.fatt")
    people = town.people()
    town.write_csv(folder / "people.csv", people)
    credit = XGBClassifier(**_FEW).fit(TABLE, (LABEL == 2).astype(int))
    credit.save_model(folder / "credit.json")
    bare = XGBClassifier(**_FEW).fit(TABLE.to_numpy(), LABEL == 2)
    bare.save_model(folder / "bare.json")
    REGRESSOR.save_model(folder / "price.json")
    fatt.load(SEVERAL).save(folder / "several.fatt")
    TABLE.to_csv(folder / "table.csv", index=False)
    (folder / "model.pkl").write_bytes(pickle.dumps(credit))
    (folder / "names.txt").write_text("a\nb\n", encoding="utf-8")
    (folder / "codes.json").write_text('{"sex": {"7": "male"}}', encoding="utf-8")
    (folder / "numbers.json").write_text('{"sex": {"male": 7}}', encoding="utf-8")
    specs = {
        "strict": "[decision]\nstrict = true\n",
        "levels": '[schema]\nsex = {type = "category"}\n[[similar]]\nvary = ["agee"]\n',
        "values": "[[similar]]\nvary = {age = [30, 40]}\n",
    }
    for name, text in specs.items():
        similar = "" if "similar" in text else '[[similar]]\nvary = ["sex"]\n'
        (folder / f"{name}.toml").write_text(text + similar, encoding="utf-8")
    return folder


_FEW: dict[str, Any] = {"n_estimators": 8, "max_depth": 3, "n_jobs": 1}
BANK, PRICES = "audit bank.fatt people.csv", "audit price.json table.csv"
CREDIT, SEVERALS = "audit credit.json table.csv", "audit several.fatt table.csv"

#: What somebody types, and the way out that the error shows.
MISTAKES = [
    (f"{BANK}", "--vary sex"),
    (f"{BANK} --noise sex=1", "write --vary sex"),
    (f"{BANK} --noise 18..30", "--noise age=18..30"),
    (f"{BANK} --noise age", "write age=3 if it is a column"),
    (f"{BANK} --vary agee", "Did you mean 'age'?"),
    (f"{BANK} --vary sex --threshold 3", 'cut_on = "score" under [decision]'),
    (f"{BANK} --vary sex --pos-label granted", "such as --threshold 0.12"),
    (f"{BANK} --vary sex --threshold 0.3 --pos-label x", "--pos-label is 'x'"),
    (f"{BANK} --vary sex --cuts a=0", "such as --cuts approve=0.0,review=0.14"),
    (f"{BANK} --vary sex --direction not-lower", "such as --favourable granted"),
    (f"{BANK} --vary sex --answers 3=x", "--answers names '3'"),
    (f"{BANK} --vary sex --columns names.txt", "with --rename FILE"),
    (f"{BANK} --vary sex --codes codes.json", "--codes"),
    (
        f"{BANK} --vary sex --codes numbers.json",
        "of words that become numbers --prepare",
    ),
    (f"{BANK} --vary sex --rename numbers.json", 'such as {"Age (years)"'),
    ("check nowhere.cert bank.fatt", "nowhere.cert: No such file or directory."),
    (f"{BANK} --vary sex --one-hot ages", "--one-hot names 'ages'"),
    (f"{BANK} --vary sex --missing-value 7", "--missing-value 7.0 was given"),
    (f"{BANK} --vary sex --jobs 0", "--jobs is 0"),
    (f"{BANK} --vary sex --budget fast", "write --budget 1"),
    (f"{BANK} --spec strict.toml", "such as --threshold 0.12"),
    (f"{BANK} --spec levels.toml", "'agee'"),
    (f"{BANK} --spec values.toml", "write --noise age=18..30"),
    (f"{PRICES} --vary sex", "--tolerance 5%, or --direction not-lower"),
    (f"{PRICES} --vary sex --threshold 0.5", "pass a classifier"),
    (f"{PRICES} --vary sex --cuts a=0,b=9", "begin at -inf"),
    (f"{CREDIT} --vary sex --threshold 0.3 --tolerance 0.1", "leave out one"),
    (f"{CREDIT} --vary sex --tolerance 0.1 --direction sideways", "--direction"),
    (f"{SEVERALS} --vary sex --threshold 0.5", "such as --pos-label"),
    (f"{SEVERALS} --vary sex --tolerance 0.1", "such as --pos-label"),
    (f"{SEVERALS} --vary sex --direction not-higher --favourable 2", "--threshold and"),
    ("audit bare.json table.csv --vary sex", "--columns FILE"),
    ("audit model.pkl table.csv --vary sex", "pass --allow-pickle instead"),
    ("inspect model.pkl", "pass --allow-pickle instead"),
    ("inspect bank.fatt --columns names.txt", "with --rename FILE"),
    ("inspect credit.json --threshold nan", "write a finite number"),
    ("twin bank.fatt people.csv --row 0 --noise sex=1", "write --vary sex"),
    ("train people.csv --label truth --output t.fatt --noise sex=1", "--vary sex"),
    ("train people.csv --label truth --output t.fatt --vary nobody", "'nobody'"),
]


@pytest.mark.parametrize(("words", "way_out"), MISTAKES)
def test_the_way_out_of_a_mistake_is_an_option(
    words: str,
    way_out: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.argv", ["fatt", *shlex.split(words)])
    with pytest.raises(SystemExit) as stopped:
        main()
    told = capsys.readouterr().err
    assert stopped.value.code == 2, told
    assert way_out in told
    assert not PYTHON.search(told), told


@pytest.mark.parametrize("name", ["hours-per-week", "age", "größe in cm"])
def test_what_is_to_be_written_into_the_file_can_be_read(
    name: str, tmp_path: Path
) -> None:
    told = as_option(Arg("schema", (name, "Number", {"upper": ...})))
    line = told.partition(" under ")[0].replace("...", "70")
    (tmp_path / "audit.toml").write_text(f"[schema]\n{line}\n", encoding="utf-8")
    assert read_spec(str(tmp_path / "audit.toml")).schema == {name: Number(upper=70)}


def test_anything_at_all_is_spelt_as_the_option_takes_it() -> None:
    assert as_option(Arg("vary", {"race": "any"})) == "--vary race=any"
    request = Request(vary=("sex", "race=any"))
    assert request.similarity() == Similarity(vary={"sex": "known", "race": "any"})


@pytest.mark.parametrize(
    ("argument", "in_python", "option"),
    [
        (Arg("vary", ["a b", "c"]), "vary=['a b', 'c']", "--vary 'a b' --vary c"),
        (Arg("noise", {"age": 3}), "noise={'age': 3}", "--noise age=3"),
        (Arg("cuts", {"a": 0.0}), "cuts={'a': 0.0}", "--cuts a=0.0"),
        (Arg("prepare", ...), "prepare=...", "--prepare FILE"),
        (Arg("prepare"), "prepare=", "--prepare"),
        (Arg("pos_label"), "pos_label", "--pos-label"),
        (Arg("allow_pickle", True), "allow_pickle=True", "--allow-pickle"),
        (Arg("n_jobs"), "n_jobs", "--jobs"),
        (Arg("journal", "j"), "journal='j'", "--journal j --resume"),
        (Arg("direction", "not lower"), "direction='not lower'", "--direction not-lo"),
        (Arg("fatt.verify"), "fatt.verify", "fatt audit"),
        (Arg("schema"), "Schema.with_", "[schema] in the file of --spec"),
        (
            Arg("schema", ("a", "Number", {"sd": ...})),
            "schema.with_({'a': Number(sd=...)})",
            'a = {type = "number", sd = ...} under [schema] in the file of --spec',
        ),
    ],
)
def test_an_argument_is_spelt_as_its_reader_writes_it(
    argument: Arg, in_python: str, option: str
) -> None:
    assert str(argument) == in_python
    assert as_option(argument).startswith(option)


def test_python_is_spelt_again_after_a_command(folder: Path) -> None:
    bank, people = folder / "bank.fatt", folder / "people.csv"
    wrong = ["audit", str(bank), str(people), "--noise", "sex=1"]
    assert "write --vary sex" in str(CliRunner().invoke(command, wrong).exception)
    similarity = fatt.Similarity(noise={"sex": 1})
    table = pandas.DataFrame(town.people())
    with pytest.raises(SpecError, match=r"write vary=\['sex'\]"):
        fatt.verify(bank, table, similarity=similarity)
