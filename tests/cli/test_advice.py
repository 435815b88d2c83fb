"""What a message advises works, when it is done."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pandas
import pytest
from click.testing import CliRunner, Result
from sklearn.tree import DecisionTreeClassifier

import fatt as library
from fatt.cli import fatt, main
from fatt.errors import DataError, SpecError
from tests.cli import town

PEOPLE = pandas.DataFrame({"age": range(20, 60), "debt": [*range(20)] * 2})


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with the bank, and with a model whose answers are codes."""
    monkeypatch.chdir(tmp_path)
    town.model().save("bank.fatt")
    town.write_csv(Path("people.csv"), town.people())
    for name, answers in (("codes", [0, 1]), ("truths", [False, True])):
        tree = DecisionTreeClassifier(max_depth=2, random_state=0)
        tree.fit(PEOPLE, [answers[age > 40] for age in PEOPLE["age"]])
        library.load(tree).save(f"{name}.fatt")
    paid = ["no" if age < 45 else "yes" for age in PEOPLE["age"]]
    PEOPLE.assign(paid=paid).to_csv("paid.csv", index=False)


def run(*words: str) -> Result:
    return CliRunner().invoke(fatt, words)


@pytest.mark.parametrize("model", ["codes", "truths"])
def test_answers_are_proposed_as_the_model_spells_them(model: str) -> None:
    asked = (
        "audit",
        f"{model}.fatt",
        "paid.csv",
        "--noise",
        "age=1",
        "--label",
        "paid",
    )
    told = run(*asked)
    assert "so that they were not compared" in told.stdout
    [advice] = re.findall(r"(--answers \S+)\.\n", told.stdout)
    followed = run(*asked, *shlex.split(advice))
    assert followed.exit_code == 0
    assert "The model's answer is that of column 'paid' for 36 of 40" in followed.stdout


def test_an_answer_keeps_its_code_beside_its_word() -> None:
    asked = ("audit", "codes.fatt", "paid.csv", "--ignore", "paid", "--noise", "age=1")
    words = (*asked, "--answers", "0=denied,1=granted")
    better = ("--direction", "not-lower", "--favourable")
    by_code, by_word = (run(*words, *better, name) for name in ("1", "granted"))
    assert by_code.exit_code == 0
    assert "granted" in by_code.stdout
    assert by_code.stdout == by_word.stdout
    cut = ("--threshold", "0.3", "--pos-label")
    by_code, by_word = (run(*words, *cut, name) for name in ("0", "denied"))
    assert by_code.exit_code == 0
    assert "The model decides by a cut-off: 'denied'" in by_code.stdout
    assert by_code.stdout == by_word.stdout
    other = run(*words, "--favourable", "2").exception
    assert "the favorable answer '2' is no answer of the model" in str(other)


@pytest.mark.parametrize("amount", ["1,169", "1.169,50", "12%", "$12", "12 000"])
@pytest.mark.parametrize("rest", ["5", "2,300"])
def test_numbers_with_separators_are_no_codes(amount: str, rest: str) -> None:
    amounts = [amount, *[rest] * 39]
    columns = {"age": list(PEOPLE["age"]), "debt": amounts}
    town.write_csv(Path("written.csv"), columns)
    error = run("audit", "codes.fatt", "written.csv", "--noise", "age=1").exception
    assert isinstance(error, DataError)
    assert f"row 0: column 'debt' is {amount!r}" in str(error)
    assert "without separators, units or percent" in str(error)
    assert "prepare" not in str(error)


def test_texts_that_were_numbered_still_need_their_codes() -> None:
    columns = {"age": list(PEOPLE["age"]), "debt": ["A41", "A43"] * 20}
    town.write_csv(Path("written.csv"), columns)
    error = run("audit", "codes.fatt", "written.csv", "--noise", "age=1").exception
    assert '{"debt":{"A41":0,"A43":1}}' in str(error)


@pytest.mark.parametrize(
    ("data", "advice"),
    [
        ("age,debt\n20,1\n".encode("utf-16"), "iconv -f utf-16 -t utf-8"),
        ("age,debt\n20,1\n".encode("utf-16-be"), "iconv -f utf-16 -t utf-8"),
        ("age,debt\n20,1\n".encode("utf-16-le"), "iconv -f utf-16 -t utf-8"),
        (b"PK\x03\x04\x14\0\6\0", "save the sheet as CSV"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "save the sheet as CSV"),
        (b"\x1f\x8b\x08\0", "unpack it with gunzip"),
        ("age,größe\n20,1\n".encode("latin1"), "iconv -f latin1 -t utf-8"),
    ],
)
def test_a_file_of_another_kind_gets_the_advice_for_it(
    data: bytes, advice: str
) -> None:
    Path("other.csv").write_bytes(data)
    error = run("audit", "codes.fatt", "other.csv", "--noise", "age=1").exception
    assert isinstance(error, DataError)
    assert advice in str(error)
    assert str(error).count("iconv") == advice.count("iconv")


def test_a_model_that_was_loaded_otherwise_refutes_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ("codes.fatt", "paid.csv", "--ignore", "paid")
    words = ("--answers", "0=denied,1=granted")
    run("audit", *asked, *words, "--noise", "age=1", "--certificate", "audit.cert")
    assert run("check", "audit.cert", *asked, *words).exit_code == 0
    monkeypatch.setattr("sys.argv", ["fatt", "check", "audit.cert", *asked])
    with pytest.raises(SystemExit) as stopped:
        main()
    told = capsys.readouterr()
    assert (stopped.value.code, told.out) == (2, "")
    assert "codes and answers are called" in told.err


def test_a_typed_value_is_checked_as_what_it_is() -> None:
    asked = ("twin", "bank.fatt", "people.csv", "--row", "58", "--vary", "sex")
    misspelt = run(*asked, "--set", "sex=mael").exception
    assert isinstance(misspelt, SpecError)
    assert "Did you mean 'male'? There are: 'female', 'male'." in str(misspelt)
    assert "--set: column 'age' is 'old', and the model reads a number" in str(
        run(*asked, "--set", "age=old").exception
    )
    assert "--set age=30" not in str(run(*asked, "--set", "age=30").exception)


def test_the_row_of_a_person_is_that_of_the_file() -> None:
    people = town.people()
    people["district"][58] = "moon"
    town.write_csv(Path("moon.csv"), people)
    asked = ("twin", "bank.fatt", "moon.csv", "--vary", "sex")
    error = run(*asked, "--row", "58").exception
    assert str(error).startswith("row 58: column 'district' is 'moon', which the model")
    # What the file knows may be typed, and the model says what it makes of it.
    typed = run(*asked, "--row", "3", "--set", "district=moon").exception
    assert str(typed).startswith("row 3: column 'district' is 'moon', which the model")
