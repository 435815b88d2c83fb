"""No command spoils a file: neither one that it reads, nor one that it just wrote."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner, Result

from fatt.cli import fatt, main
from fatt.errors import SpecError
from fatt.region import Similarity
from tests.cli import town

SPEC = """
[audit]
model = "bank.fatt"
people = "people.csv"
prepare = ["steps.json"]
[[similar]]
vary = ["sex"]
"""
AUDIT = ("audit", "bank.fatt", "people.csv", "--vary", "sex")
GREEN = '<testsuite tests="1" failures="0"/>'


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a model, people, and what else a command may read."""
    monkeypatch.chdir(tmp_path)
    town.model().save("bank.fatt")
    people = town.people()
    town.write_csv(Path("people.csv"), people)
    town.write_csv(Path("towns.csv"), {"town": ["Ulm"] * town.N_PEOPLE})
    Path("audit.toml").write_text(SPEC, encoding="utf-8")
    Path("names.json").write_text('{"Age": "age"}', encoding="utf-8")
    Path("steps.json").write_text('{"sex": {"M": 0}}', encoding="utf-8")
    return tmp_path


def contents() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path().iterdir()}


def run(*words: str) -> Result:
    return CliRunner().invoke(fatt, words)


OUTPUTS = ("--html", "--summary", "--csv", "--certificate", "--junit", "--journal")


@pytest.mark.parametrize("option", OUTPUTS)
@pytest.mark.parametrize(
    "words",
    [
        (*AUDIT, "OPTION", "bank.fatt"),
        (*AUDIT, "OPTION", "people.csv"),
        (*AUDIT, "OPTION", "./people.csv"),
        (*AUDIT, "OPTION", "link.csv"),
        (*AUDIT, "OPTION", "hard.csv"),
        (*AUDIT, "--sensitive-features", "towns.csv", "OPTION", "towns.csv"),
        (*AUDIT, "--rename", "names.json", "OPTION", "names.json"),
        (*AUDIT, "--prepare", "steps.json", "OPTION", "steps.json"),
        ("audit", "--spec", "audit.toml", "OPTION", "audit.toml"),
        ("audit", "--spec", "audit.toml", "OPTION", "people.csv"),
        ("audit", "--spec", "audit.toml", "OPTION", "bank.fatt"),
        ("audit", "--spec", "audit.toml", "OPTION", "steps.json"),
    ],
)
def test_an_audit_overwrites_nothing_that_it_reads(
    words: tuple[str, ...], option: str
) -> None:
    Path("link.csv").symlink_to("people.csv")
    os.link("people.csv", "hard.csv")
    before, given = contents(), [option if word == "OPTION" else word for word in words]
    result = run(*given, "--resume") if option == "--journal" else run(*given)
    assert isinstance(result.exception, SpecError)
    assert f"{option} {words[-1]} is the file that is read as" in str(result.exception)
    assert contents() == before


@pytest.mark.parametrize("option", OUTPUTS)
def test_no_two_options_write_one_file(option: str) -> None:
    # Even if it is not there yet.
    Path("out").mkdir()
    others = [other for other in OUTPUTS if other != option]
    for other in others:
        result = run(*AUDIT, option, "new", other, "out/../new")
        assert "are the same file; name two" in str(result.exception)
        assert not Path("new").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("train", "people.csv", "--label", "truth", "--vary", "sex"),
        ("init", "bank.fatt", "people.csv"),
    ],
)
def test_the_other_commands_spare_what_they_read(words: tuple[str, ...]) -> None:
    before = contents()
    result = run(*words, "--output", "people.csv")
    assert "is the file that is read as PEOPLE" in str(result.exception)
    assert contents() == before


def test_a_device_is_written_and_not_replaced() -> None:
    result = run(*AUDIT, "--csv", "/dev/null", "--html", "/dev/null")
    assert result.exit_code == 0
    assert Path("/dev/null").is_char_device()


def errors_of(path: str) -> list[str | None]:
    suite = ET.parse(path).getroot()
    assert suite.get("errors") == "1"
    return [error.get("message") for error in suite.iter("error")]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("audit", "gone.fatt", "people.csv", "--vary", "sex"), "gone.fatt"),
        (("audit", "bank.fatt", "people.csv", "--vary", "sexx"), "vary names 'sexx'"),
        (("audit", "bank.fatt", "people.csv", "--spec", "no.toml"), "no.toml"),
        ((*AUDIT, "--csv", "people.csv"), "--csv people.csv is the file that is read"),
        ((*AUDIT, "--csv", "no/x.csv"), "there is no folder no"),
        ((*AUDIT, "--csv", "/dev/full"), "/dev/full: No space left on device."),
        ((*AUDIT, "--min-fairness", "2"), "2.0 is not in the range"),
        ((*AUDIT, "--no-such-option"), "No such option"),
    ],
)
def test_tests_of_yesterday_do_not_stay_green(
    words: tuple[str, ...], said: str
) -> None:
    for place in range(2):
        Path("fatt.xml").write_text(GREEN, encoding="utf-8")
        asked = ("--junit", "fatt.xml")
        given = (*words, *asked) if place else (words[0], *asked, *words[1:])
        assert run(*given).exit_code != 0
        [message] = errors_of("fatt.xml")
        assert said in str(message)


def test_tests_are_not_written_over_what_is_read() -> None:
    before = contents()
    for words in ((*AUDIT, "--vary", "sexx"), (*AUDIT, "--no-such-option")):
        assert run(*words, "--junit", "people.csv").exit_code != 0
        assert contents() == before


def test_an_interrupted_start_leaves_no_green_tests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path("fatt.xml").write_text(GREEN, encoding="utf-8")

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("fatt.cli.audit._read", interrupt)
    run(*AUDIT, "--junit", "fatt.xml")
    assert errors_of("fatt.xml") == ["interrupted before there was anything to keep."]


def shell(command: str) -> subprocess.CompletedProcess[str]:
    program = f"{sys.executable} -m fatt"
    return subprocess.run(
        ["bash", "-c", command.replace("FATT", program)],
        check=False,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("form", ["", "--json", "--csv findings.csv"])
def test_a_full_standard_output_is_no_verdict(form: str) -> None:
    done = shell(f"FATT {' '.join(AUDIT)} --min-fairness 0.1 {form} > /dev/full")
    told = "fatt: cannot write the result to the standard output: No space left on "
    assert (done.returncode, done.stderr) == (2, f"{told}device.\n")
    # What else was asked for is there.
    assert Path("findings.csv").exists() == form.startswith("--csv")


def test_nobody_hears_what_a_full_standard_error_would_say() -> None:
    done = shell(f"FATT {' '.join(AUDIT)} --html page.html 2> /dev/full")
    assert done.returncode == 0
    assert "Fairness: " in done.stdout


def test_a_file_that_cannot_be_written_is_named_after_the_verdict() -> None:
    before, words = contents(), [*AUDIT, "--csv", "findings.csv"]

    def small() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    done = subprocess.run(
        [sys.executable, "-m", "fatt", *words],
        check=False,
        capture_output=True,
        text=True,
        preexec_fn=small,
    )
    assert (done.returncode, done.stderr) == (
        2,
        "fatt: findings.csv: File too large.\n",
    )
    assert "Fairness: " in done.stdout
    assert contents() == before


def test_a_tree_that_cannot_be_saved_is_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["train", "people.csv", "--label", "truth", "--vary", "sex"]
    words += ["--ignore", "name", "--max-leaves", "3", "--output", "/dev/full"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["fatt", *words])
        with pytest.raises(SystemExit) as stopped:
            main()
    told = capsys.readouterr()
    assert stopped.value.code == 2
    assert "A tree of " in told.out
    assert told.err.endswith("fatt: /dev/full: No space left on device.\n")
    assert Similarity(vary=["sex"]).describe() in told.out
