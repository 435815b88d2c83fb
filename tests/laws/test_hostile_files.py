"""No file, however damaged, does more than raise a `FattError`."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import fatt
from fatt.errors import UntrustedModelError

ROOT = Path(__file__).parents[2]
MODELS = ROOT / "tests" / "data" / "models"
FILES_PER_PROCESS = 3000
EVERY_NTH_ARRAY = 97


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_damaged_files_are_refused_or_read(seed: int, tmp_path: Path) -> None:
    command = [sys.executable, "-X", "faulthandler", "-m", "tests.laws.fuzz"]
    arguments = [str(MODELS), str(seed), str(FILES_PER_PROCESS), str(tmp_path)]
    run = subprocess.run(
        command + arguments,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    result = json.loads(run.stdout)
    assert result["wrong"] == []
    assert result["total"] == FILES_PER_PROCESS
    # The damage must reach every format, and not be trivial.
    for counts in result["counts"].values():
        assert counts["refused"] > 0
    assert sum(c.get("imported", 0) for c in result["counts"].values()) > 100


@pytest.mark.slow
def test_damaged_arrays_crash_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-X", "faulthandler", "-m", "tests.laws.fuzz_arrays"]
    arguments = [str(MODELS), str(tmp_path), str(EVERY_NTH_ARRAY)]
    run = subprocess.run(
        command + arguments,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    result = json.loads(run.stdout)
    assert result["wrong"] == []
    for suffix in (".skops", ".joblib"):
        assert result["counts"][f"{suffix} refused"] > 50
        assert result["counts"][f"{suffix} imported"] > 50


class Evil:
    """Writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (self.path,))


@pytest.mark.parametrize("name", ["m.pkl", "m.joblib", "m.json", "m.skops", "m.txt"])
def test_no_pickle_is_opened_unasked(name: str, tmp_path: Path) -> None:
    proof = tmp_path / "proof"
    model = tmp_path / name
    model.write_bytes(pickle.dumps(Evil(proof)))
    with pytest.raises(UntrustedModelError, match="allow_pickle"):
        fatt.load(model)
    assert not proof.exists()
