"""No command spoils a file: neither one that it reads, nor one that it just wrote."""

from __future__ import annotations

import errno
import functools
import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner, Result

from fatt.cli import fatt
from fatt.cli.terminal import Exit
from fatt.errors import SpecError
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


def test_a_pipe_is_written_and_not_replaced() -> None:
    os.mkfifo("pipe")
    with subprocess.Popen(["cat", "pipe"], stdout=subprocess.PIPE, text=True) as reader:
        assert run(*AUDIT, "--csv", "pipe", "--quiet").exit_code == 0
        assert Path("pipe").is_fifo()
        assert reader.communicate()[0].startswith("row,verdict,")


def test_what_cannot_be_lost_may_be_named_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("fatt.cli.audit._run", lambda _: Exit.DONE)
    assert run(*AUDIT, "--csv", "/dev/null", "--html", "/dev/null").exit_code == 0


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


@pytest.mark.parametrize(
    "words",
    [
        ("audit", "--spec", "wrong.toml"),
        ("audit", "--spec", "torn.toml"),
        (*AUDIT, "--ren", "people.csv"),
        (*AUDIT, "--ren", "people.csv", "--jobs", "foo"),
    ],
)
def test_a_mistake_that_hides_what_is_read_loses_none_of_it(
    words: tuple[str, ...],
) -> None:
    wrong = SPEC.replace("[audit]", "[audit]\nfoo = 1")
    Path("wrong.toml").write_text(wrong, encoding="utf-8")
    Path("torn.toml").write_text(f"{SPEC}[", encoding="utf-8")
    before = contents()
    for path in ("people.csv", "names.json", "bank.fatt", "torn.toml"):
        result = run(*words, "--junit", path)
        assert result.exit_code != 0
        assert contents() == before
    assert "names.json stays as it is" in run(*words, "--junit", "names.json").stderr
    Path("empty.xml").touch()
    for path in ("new.xml", "empty.xml"):
        assert run(*words, "--junit", path).exit_code != 0
        assert len(errors_of(path)) == 1


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


def with_small_files(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run where no file may have more than 100 bytes, as if the disk were full."""
    limit = functools.partial(resource.setrlimit, resource.RLIMIT_FSIZE, (100, 100))
    return subprocess.run(
        [sys.executable, "-m", "fatt", *words],
        check=False,
        capture_output=True,
        text=True,
        preexec_fn=limit,
    )


def test_a_file_that_cannot_be_written_is_named_after_the_verdict() -> None:
    before = contents()
    done = with_small_files([*AUDIT, "--csv", "findings.csv"])
    assert (done.returncode, done.stderr) == (
        2,
        "fatt: findings.csv: File too large.\n",
    )
    assert "Fairness: " in done.stdout
    assert contents() == before


def test_tests_say_if_another_file_could_not_be_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(path: object, text: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", path)

    monkeypatch.setattr("fatt.cli.audit.write_text", full)
    run(*AUDIT, "--csv", "findings.csv", "--junit", "fatt.xml")
    assert errors_of("fatt.xml") == ["findings.csv: No space left on device."]


def test_a_tree_that_cannot_be_saved_is_shown() -> None:
    words = ["train", "people.csv", "--label", "truth", "--vary", "sex"]
    words += ["--ignore", "name", "--max-leaves", "3", "--output", "tree.fatt"]
    done = with_small_files(words)
    assert done.returncode == 2
    assert done.stderr.endswith("fatt: tree.fatt: File too large.\n")
    assert "A tree of " in done.stdout
    assert not Path("tree.fatt").exists()
