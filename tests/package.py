"""Try a wheel where only the core dependencies are: ``python -m tests.package dist``.

Makes an empty environment, installs the newest wheel of the folder into it, and audits
a kept XGBoost file there, with neither XGBoost, pandas nor a C compiler at hand.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

import numpy as np

MODELS = Path(__file__).parent / "data" / "models"
MODEL = "xgboost-3.1.3-logistic.ubj"
ABSENT = ("aif360", "dask", "lightgbm", "onnx", "pandas", "xgboost")


COMPILERS = ("cc", "gcc", "clang", "c99", "cl")


def run(*command: str | Path) -> str:
    """Run a command outside of the repository: only what is installed counts.

    All that is found by its name is what stands beside the command itself.
    """
    environment = {
        name: os.environ[name]
        for name in os.environ
        if name not in {"CC", "PYTHONPATH"}
    }
    environment["PATH"] = str(Path(command[0]).parent)
    found = [name for name in COMPILERS if shutil.which(name, path=environment["PATH"])]
    assert not found, f"there is a compiler: {found}"
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [str(word) for word in command],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise SystemExit(f"{command} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def write_people(path: Path, names: list[str]) -> int:
    """Write the people whose answers are kept beside the model."""
    with np.load((MODELS / MODEL).with_suffix(".npz")) as kept:
        rows = kept["rows"]
    rows = rows[np.isfinite(rows).all(axis=1)][:100]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([names, *rows.tolist()])
    return len(rows)


def main(folder: str) -> None:
    wheel = max(
        Path(folder).resolve().glob("*.whl"), key=lambda path: path.stat().st_mtime
    )
    with tempfile.TemporaryDirectory() as empty:
        home = Path(empty) / "environment"
        venv.create(home, with_pip=True)
        python, fatt = home / "bin" / "python", home / "bin" / "fatt"
        run(python, "-m", "pip", "install", "-q", "--only-binary", ":all:", wheel)
        look = "import importlib.util as u; print([n for n in {} if u.find_spec(n)])"
        found = run(python, "-c", look.format(ABSENT)).strip()
        assert found == "[]", f"more than the core dependencies are there: {found}"
        told = json.loads(run(fatt, "inspect", MODELS / MODEL, "--json"))
        names = [feature["name"] for feature in told["features"]]
        people = Path(empty) / "people.csv"
        n_people = write_people(people, names)
        audit = [fatt, "audit", MODELS / MODEL, people, "--noise", "0.1", "--json"]
        counts = json.loads(run(*audit))["counts"]
        assert sum(counts.values()) == n_people, counts
        assert not counts["unknown"], counts
        sys.stdout.write(
            f"{wheel.name} audits {n_people} people with the core alone: {counts}\n"
        )


if __name__ == "__main__":
    main(sys.argv[1])
