"""The README's example and the scripts in examples/ run, and print what they say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
#: What each example must print if it does its job.
PROOF = {"demo.py": "all margins equal bit for bit: True"}
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def run(*arguments: str) -> str:
    environment = {**os.environ, "PYTHONWARNINGS": "error"}
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True
    ).stdout


def test_the_readme_example_prints_what_the_readme_says() -> None:
    readme = (ROOT / "README.md").read_text()
    [(code, output)] = re.findall(
        r"```python\n(.*?)```\n\n```text\n(.*?)```", readme, re.DOTALL
    )
    assert run("-c", code) == output


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_is_short_and_runs(path: Path) -> None:
    assert len(path.read_text().splitlines()) < 80
    assert PROOF[path.name] in run(str(path))
