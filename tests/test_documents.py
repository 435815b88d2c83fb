"""The README's code and the scripts in examples/ run, and print what they say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
#: A piece of code, and the output shown below it, if any.
SHOWN = re.compile(
    r"```python\n(.*?)```\n(?:\n```(?:text|toml)\n(.*?)```\n)?", re.DOTALL
)
#: Ends the output of a piece of code.
END = "\x00\n"
#: What each example must print if it does its job.
PROOF = {
    "demo.py": [
        r"Of 1,307 people [\d,]+ are proved to be treated like all\n"
        r"similar people, [1-9]\d* are not, and 0 are unknown:\n"
        r"fairness is at least (\d\d\.\d\d%) and at most \1\.",
        r"  Black, Female +\d+ people, +\d+\.\d% fair\n",
        r"  Similarity\(vary=\['colour'\]\) +[1-9]\d*  \{'held': \d+, 'released': \d+",
        r"  #\d+ +(held → released|released → held) +age \d+ → \d+\n",
        r"\b(\d+) of \1 twins were replayed on the XGBoost model;",
        r"it gives each of them the other label: True\.",
        r"by up to 0\.\d+ in the median, and by up to\n0\.\d+ for the person",
        r"One year of age changes the decision on [1-9]\d* people",
        r"The searches took \d+\.\d seconds",
    ]
}
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def run(*arguments: str) -> str:
    environment = {**os.environ, "PYTHONWARNINGS": "error", "PYTHONUTF8": "1"}
    command = [sys.executable, *arguments]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_readme_prints_what_the_readme_says() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    pieces = SHOWN.findall(readme)
    assert len(pieces) == readme.count("```python")
    # One after the other, as a reader would: later pieces use what earlier ones made.
    code = "".join(f"{code}\nprint(end={END!r})\n" for code, _ in pieces)
    *printed, rest = run("-c", code).split(END)
    assert printed == [output for _, output in pieces]
    assert not rest


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_is_short_and_does_its_job(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) < 100
    printed = run(str(path))
    missing = [proof for proof in PROOF[path.name] if not re.search(proof, printed)]
    assert not missing, printed
