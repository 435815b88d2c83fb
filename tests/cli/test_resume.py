"""``--journal`` and ``--resume``: an audit that was cut off is gone on with."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fatt.audit.run import Run
from fatt.cli import fatt
from tests.cli import town

FATT = [sys.executable, "-m", "fatt"]
# A journal that says only what it is about is smaller.
HOLDS_FINDINGS = 600


def audit(*arguments: str) -> Result:
    return CliRunner().invoke(fatt, ["audit", *arguments])


def test_an_interrupted_audit_is_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(run: Run, done: int) -> None:
        raise KeyboardInterrupt

    journal = str(tmp_path / "audit.journal")
    undisturbed = audit("--demo", "--json")
    with monkeypatch.context() as patch:
        patch.setattr(Run, "report", interrupt)
        first = audit("--demo", "--json", "--journal", journal)
    assert first.exit_code == 3
    assert f"kept in {journal}; --resume goes on from there." in first.stderr
    assert first.stdout != undisturbed.stdout
    again = audit("--demo", "--json", "--journal", journal, "--resume")
    assert again.exit_code == 0
    assert again.stdout == undisturbed.stdout


def test_nothing_is_taken_up_or_overwritten_by_mistake(tmp_path: Path) -> None:
    journal = tmp_path / "audit.journal"
    words = ("--demo", "--quiet", "--journal", str(journal))
    assert "name it with --journal FILE" in str(audit("--demo", "--resume").exception)
    assert audit(*words).exit_code == 0
    kept = journal.read_bytes()
    assert "exists; add --resume to go on from it" in str(audit(*words).exception)
    other = audit(*words, "--resume", "--vary", "district")
    assert "has another similarity" in str(other.exception)
    assert journal.read_bytes() == kept
    assert "there is no folder" in str(
        audit("--demo", "--journal", str(tmp_path / "no" / "journal")).exception
    )


def test_a_killed_process_is_gone_on_with(tmp_path: Path) -> None:
    model, people = town.hard_case(tmp_path, n_people=1_000)
    journal = tmp_path / "audit.journal"
    words = [*FATT, "audit", model, people, "--noise", "0.4", "--json", "--jobs", "1"]
    resume = [*words, "--journal", str(journal), "--resume"]
    holds = HOLDS_FINDINGS
    for _ in range(4):
        with subprocess.Popen(resume, stdout=subprocess.PIPE) as process:
            while not journal.exists() or journal.stat().st_size < holds:
                assert process.poll() is None, "the search ended before it was killed"
                time.sleep(0.001)
            process.kill()
            assert process.stdout is not None
            assert process.stdout.read() == b""
        # The next run must write more than this one did before it is killed.
        holds = journal.stat().st_size + 1
    done = subprocess.run(resume, check=True, capture_output=True)
    assert journal.stat().st_size > holds
    assert done.stdout == subprocess.run(words, check=True, capture_output=True).stdout
