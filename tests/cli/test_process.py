"""The command as a process of its own: exit codes, signals, pipes and terminals."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from fatt.cli import fatt, terminal
from fatt.cli.terminal import Exit
from tests.cli import town

FATT = [sys.executable, "-m", "fatt"]
HEAVY = ("numpy", "msgspec", "narwhals", "rich", "sklearn", "pandas")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*FATT, *arguments], check=False, capture_output=True, text=True
    )


@pytest.mark.parametrize(
    "words", [[], ["audit"], ["twin"], ["train"], ["inspect"], ["completion"]]
)
def test_help_loads_nothing_heavy(words: list[str]) -> None:
    code = (
        "import sys; from fatt.cli import fatt\n"
        f"fatt.main({[*words, '--help']!r}, standalone_mode=False)\n"
        "print('\\nloaded', *sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    loaded = done.stdout.split("\nloaded ")[1].split()
    assert not set(HEAVY) & set(loaded)


def test_help_costs_little_more_than_its_parser() -> None:
    """Compare fastest runs: those of bare Python, of click, and of the help."""
    commands = (["-c", "pass"], ["-c", "import click"], ["-m", "fatt", "--help"])
    fastest = [min(seconds_of(words) for _ in range(7)) for words in commands]
    bare, parser, shown = fastest
    # Measured on a busy machine: 1 to 4 to 8, of 0.03 s. A heavy import is 1 to 30.
    assert shown < 20 * bare
    assert shown < 5 * parser


def seconds_of(words: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, *words], check=True, capture_output=True)
    return time.perf_counter() - start


def test_an_xgboost_file_needs_neither_xgboost_nor_pandas(tmp_path: Path) -> None:
    xgboost = pytest.importorskip("xgboost")
    rng = np.random.default_rng(0)
    table = rng.normal(size=(200, 3))
    model = xgboost.XGBClassifier(n_estimators=5, max_depth=3)
    model.fit(table, table[:, 0] > 0)
    model.get_booster().feature_names = ["age", "income", "years"]
    model.save_model(tmp_path / "credit.json")
    columns = dict(zip(("age", "income", "years"), table.T.tolist(), strict=True))
    people = town.write_csv(tmp_path / "people.csv", columns)
    code = (
        "import sys\n"
        "for name in ('xgboost', 'pandas', 'polars', 'pyarrow'):\n"
        "    sys.modules[name] = None\n"
        "from fatt.cli import main\n"
        "main()"
    )
    model_file = str(tmp_path / "credit.json")
    similar = ["--noise", "age=0.1", "--json"]
    for words in (["inspect", model_file], ["audit", model_file, people, *similar]):
        with_them = run(*words)
        without = subprocess.run(
            [sys.executable, "-c", code, *words],
            check=False,
            capture_output=True,
            text=True,
        )
        assert (without.returncode, without.stderr) == (0, "")
        # Without the library twins are replayed on what was read from the file, and
        # nobody else is asked about.
        if words[0] == "inspect":
            assert without.stdout == with_them.stdout
            continue
        as_model = without.stdout.replace('"ensemble"', '"model"')
        found, expected = json.loads(as_model), json.loads(with_them.stdout)
        asked, said = expected.pop("asked"), found.pop("asked")
        assert asked["people"] == len(table)
        assert asked["similar"] > 500
        reason = "xgboost is not installed"
        assert said == {"people": 0, "similar": 0, "reason": reason, "rounded": 0}
        assert found == expected


def test_the_demo_runs_and_the_exit_code_tells() -> None:
    done = run("audit", "--demo", "--min-fairness", "0.99", "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")


def test_the_command_alone_shows_the_help() -> None:
    alone, asked = run(), run("--help")
    assert (alone.returncode, alone.stderr) == (0, "")
    assert alone.stdout == asked.stdout
    for name in ("audit", "check", "completion", "inspect", "train", "twin"):
        assert f"\n  {name} " in alone.stdout


def test_mistakes_have_no_traceback() -> None:
    done = run("audit", "--demo", "--vary", "sexx")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("fatt: vary names 'sexx'")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_call_the_command(shell: str) -> None:
    done = run("completion", shell)
    assert done.returncode == 0
    assert f"_FATT_COMPLETE={shell}_complete" in done.stdout


def test_completion_knows_the_options() -> None:
    environment = {
        **os.environ,
        "_FATT_COMPLETE": "bash_complete",
        "COMP_WORDS": "fatt audit --min",
        "COMP_CWORD": "2",
    }
    done = subprocess.run(
        FATT, env=environment, check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == "plain,--min-fairness"


@pytest.mark.parametrize(("share", "code"), [("0.1", "0"), ("0.95", "1")])
def test_whoever_closes_the_pipe_changes_no_verdict(share: str, code: str) -> None:
    # Nobody reads from the start, or only the first line is read.
    for reader in ("true", "head -1 > /dev/null"):
        command = f"{sys.executable} -m fatt audit --demo --min-fairness {share}"
        done = subprocess.run(
            ["bash", "-c", f"{command} | {reader}; echo ${{PIPESTATUS[0]}}"],
            check=True,
            capture_output=True,
            text=True,
        )
        assert (done.stdout.strip(), done.stderr) == (code, "")


def _await_growth(journal: Path, process: subprocess.Popen[str]) -> None:
    """Wait until the first people are done: the search is under way."""
    start = 0
    while process.poll() is None:
        size = journal.stat().st_size if journal.exists() else 0
        start = start or size
        if size > start:
            return
        time.sleep(0.01)


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_done(tmp_path: Path) -> None:
    model, people = town.hard_case(tmp_path, n_people=3_000)
    page, table = tmp_path / "audit.html", tmp_path / "findings.csv"
    journal = tmp_path / "audit.journal"
    words = ["--noise", "2", "--jobs", "1", "--html", str(page), "--csv", str(table)]
    process = subprocess.Popen(
        [*FATT, "audit", model, people, *words, "--journal", str(journal)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        _await_growth(journal, process)
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 3, error
    assert "The run was interrupted" in out
    assert "The run was interrupted" in page.read_text(encoding="utf-8")
    assert len(table.read_text(encoding="utf-8").splitlines()) == 3_001


def test_what_takes_long_says_so_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    patience = terminal.Patience("searching")
    patience.look(1.9)
    assert capsys.readouterr().err == ""
    patience.look(2.0)
    patience.look(7.9)
    assert capsys.readouterr().err == "fatt: searching, after 2 s of processor time.\n"
    patience.note(1_500, 20_000)
    patience.look(8.0)
    told = "fatt: searching, 1,500 of 20,000 done, after 8 s of processor time.\n"
    assert capsys.readouterr().err == told

    said = threading.Event()
    monkeypatch.setattr(terminal, "say", lambda message: said.set())
    monkeypatch.setattr(terminal.time, "process_time", iter(range(0, 9999, 3)).__next__)
    with terminal.progress("searching", quiet=False) as show:
        assert show is not None
        show(1, 2)
        assert said.wait(timeout=60)
    with terminal.progress("searching", quiet=True) as show:
        assert show is None


def test_every_command_that_may_take_long_would_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    town.model().save(tmp_path / "bank.fatt")
    model, people = "bank.fatt", town.write_csv(tmp_path / "people.csv", town.people())
    asked = [model, people, "--noise", "age=2"]
    told: list[str] = []

    class Told(terminal.Patience):
        def __init__(self, what: str) -> None:
            super().__init__(what)
            told.append(what)

    monkeypatch.setattr(terminal, "Patience", Told)
    monkeypatch.chdir(tmp_path)
    for words, expected in (
        (["inspect", model], ["reading"]),
        (["init", model, people], ["reading"]),
        (
            ["audit", *asked, "--certificate", "c"],
            ["reading", "searching", "telling causes apart", "proving"],
        ),
        (["audit", *asked, "--quiet"], []),
        (["check", "c", model, people], ["checking"]),
        (["twin", *asked, "--row", "0"], ["looking for a twin"]),
    ):
        told.clear()
        done = CliRunner().invoke(fatt, words, catch_exceptions=False)
        assert done.exit_code in {0, 1}
        assert (words, told) == (words, expected)


def test_progress_is_shown_on_a_terminal_only() -> None:
    main, side = pty.openpty()
    with subprocess.Popen(
        [*FATT, "audit", "--demo"], stdout=subprocess.PIPE, stderr=side, text=True
    ) as process:
        os.close(side)
        shown = b""
        try:
            while part := os.read(main, 65536):
                shown += part
        except OSError:
            # So a closed terminal ends on Linux.
            pass
        out = process.communicate()[0]
    os.close(main)
    assert process.returncode == 0
    assert b"searching" in shown
    assert b"1000/1000" in shown
    assert "\x1b" not in out
    assert run("audit", "--demo").stderr == ""


@pytest.mark.parametrize("name", ["audit", "check", "train", "twin"])
def test_the_help_tells_every_exit_code(name: str) -> None:
    help_text = fatt.commands[name].help or ""
    told = help_text.partition("Exit codes: ")[2].partition(".\n")[0].split("; ")
    codes = [Exit(int(one.partition(" ")[0])) for one in told]
    undecided = [] if name == "check" else [Exit.UNDECIDED]
    assert codes == [Exit.DONE, Exit.REFUTED, Exit.COULD_NOT_RUN, *undecided]
