"""Kill audits with `kill -9` at random moments, go on, and compare: run by a test.

Usage: ``python -m tests.audit.killed MODEL PEOPLE FOLDER SEED``. Prints, as JSON, how
many runs were killed, how many of those had kept something, and whether each of the
reports that were reached in the end is that of an undisturbed run.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import numpy as np

import fatt

SIMILARITY = fatt.Similarity(noise=0.05)
ROUNDS = 6
# Of the time of an undisturbed run, how late a run is killed at most.
LATEST = 0.7


def main(model: str, people: str, folder: str, seed: str) -> None:
    X, draw = np.load(people), random.Random(int(seed))
    # Loads the compiled search, which all children then share.
    fatt.verify(model, X[:20], similarity=SIMILARITY)
    begin = time.monotonic()
    expected = fatt.verify(model, X, similarity=SIMILARITY).to_json()
    usual = time.monotonic() - begin
    killed = kept = 0
    answers = []
    for number in range(ROUNDS):
        journal, answer = Path(folder, f"journal{number}"), Path(folder, f"{number}")
        while not answer.exists():
            child = os.fork()
            if not child:
                audit(model, X, journal, answer, n_jobs=draw.choice([1, 2]))
            time.sleep(draw.uniform(0, LATEST * usual))
            os.kill(child, signal.SIGKILL)
            killed += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) < 0
            # A journal that says only what it is about has less.
            kept += journal.exists() and journal.stat().st_size > 600
        answers.append(answer.read_text() == expected)
    print(json.dumps({"killed": killed, "kept": kept, "same": answers}))  # noqa: T201


def audit(model: str, X: object, journal: Path, answer: Path, n_jobs: int) -> None:
    report = fatt.verify(
        model, X, similarity=SIMILARITY, journal=journal, n_jobs=n_jobs
    )
    draft = answer.with_suffix(".part")
    draft.write_text(report.to_json())
    draft.rename(answer)
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
