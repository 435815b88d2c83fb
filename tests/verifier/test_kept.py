"""The search answers what it answered when the answers were kept, byte for byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.verifier.kept import FOLDER, answers, read, same_bytes

FILES = sorted(FOLDER.glob("*.npz"))


def _read(path: Path) -> dict[str, Any]:
    with np.load(path) as kept:
        return dict(kept)


def test_enough_is_kept() -> None:
    """Every verdict occurs often, and some searches are long enough for all gears."""
    kept = [_read(path) for path in FILES]
    verdicts = np.concatenate([each["long.verdict"] for each in kept])
    assert np.bincount(verdicts, minlength=3).min() >= 10
    assert max(each["extremes.nodes"].max() for each in kept) >= 500
    assert any(np.isnan(each["people"]).any() for each in kept)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_answers_stay_the_same(path: Path) -> None:
    kept = _read(path)
    # Threads share nothing but the model; some questions are asked with two.
    n_jobs = 2 if path.stem.endswith(("-wide", "-1")) else None
    for name, found in answers(read(kept), n_jobs):
        assert same_bytes(np.asarray(found), kept[name]), name
