"""What kept questions gave, byte for byte: reports, rows, pages and certificates.

A change that is meant to change none of them must leave the digests in
``tests/data/frozen.json`` as they are. Where a format changes on purpose, say so in the
changelog, and write them anew: ``python -m tests.report.frozen``.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import fatt
from fatt import Budget, Report, Schema, Similarity
from fatt.importers.versions import releases_in_words
from fatt.report.rows import to_csv
from tests.verifier.kept import FOLDER, read

KEPT = Path(__file__).parents[1] / "data" / "frozen.json"

#: Questions whose models read numbers: how far people may move, in their deviations.
CASES = {"tree": 0.004, "forest": 0.04, "votes": 0.03, "xgb": 0.02, "lgbm": 0.04}


def report_of(name: str) -> Report:
    """Ask once more, of more people than are kept: also of those between two of them.

    No library is asked, so that the answers are the same wherever the tests run.
    """
    with np.load(FOLDER / f"{name}.npz") as kept:
        question = read(kept)
    known = question.people
    people = np.concatenate([known, (known + np.roll(known, 1, axis=0)) / 2])
    noise = float(np.round(CASES[name] * known.std(), 6))
    return fatt.verify(
        question.ensemble,
        people,
        similarity=Similarity(noise=noise),
        schema=Schema.from_ensemble(question.ensemble),
        budget=Budget(nodes=1),
    )


def outputs(report: Report) -> Iterator[tuple[str, str]]:
    """Yield what is written of a report, without the versions that are installed."""
    document = json.loads(report.to_json())
    del document["tested"]
    yield "json", json.dumps(document)
    yield "csv", to_csv(report)
    yield "page", report.to_html().replace(releases_in_words(), "")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "certificate")
        report.certificate().save(path)
        yield "certificate", path.read_text(encoding="utf-8")


def digests(report: Report) -> dict[str, str]:
    return {
        kind: hashlib.sha256(text.encode()).hexdigest()[:16]
        for kind, text in outputs(report)
    }


if __name__ == "__main__":
    found = {name: digests(report_of(name)) for name in CASES}
    KEPT.write_text(json.dumps(found, indent=1) + "\n")
