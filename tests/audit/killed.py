"""Kill audits with `kill -9` while they write, go on, and compare: run by tests.

Usage: ``python -m tests.audit.killed journal MODEL PEOPLE FOLDER SEED``, or ``parts``
with a folder of Parquet files as people. A run is killed as soon as it has written some
more than it found there, so that what it leaves is partly filled: again and again,
until one run gets to its end. Prints, as JSON, how many runs were killed, how many of
them left something that is partly filled, and whether each of the reports that were
reached in the end is that of an undisturbed run, byte for byte.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import dask
import numpy as np

import fatt
from fatt.audit import verify_partitions

SIMILARITY = fatt.Similarity(noise=0.05)
#: So many rounds at least and at most, and so many runs killed in the middle.
ROUNDS, MOST_ROUNDS, PARTLY = 3, 60, 9
#: A journal that says only what it is about has so many bytes.
EMPTY = 3 * 4096
#: How much later than the last growth a run is killed, in seconds, at most.
LATEST = 0.02

Run = Callable[[Path, int], None]


def main(kind: str, model: str, people: str, folder: str, seed: str) -> None:
    draw = random.Random(int(seed))
    audit, written = {"journal": _journal, "parts": _parts}[kind](model, people)
    # Loads the compiled search, which all children then share.
    whole = Path(folder, "undisturbed")
    audit(whole, 1)
    expected, full = _answer(whole), written(whole)
    killed = partly = 0
    same = []
    for number in range(MOST_ROUNDS):
        # A fast machine is done before it is killed often: it takes more rounds.
        if number >= ROUNDS and partly >= PARTLY:
            break
        place = Path(folder, str(number))
        while not (place / "answer").exists():
            held = written(place)
            child = os.fork()
            if not child:
                audit(place, draw.choice([1, 2]))
                os._exit(0)
            more = draw.randint(1, max(1, full // 4))
            while written(place) < held + more and not _is_over(child):
                time.sleep(0.0005)
            time.sleep(draw.uniform(0, LATEST) * draw.randint(0, 1))
            if _kill(child):
                killed += 1
                partly += 0 < written(place) < full
        same.append(_answer(place) == expected)
    print(json.dumps({"killed": killed, "partly": partly, "same": same}))  # noqa: T201


def _journal(model: str, people: str) -> tuple[Run, Callable[[Path], int]]:
    """Return an audit with a journal, and what tells how much that holds."""
    X = np.load(people)

    def audit(place: Path, n_jobs: int) -> None:
        place.mkdir(exist_ok=True)
        report = fatt.verify(
            model,
            X,
            similarity=SIMILARITY,
            journal=place / "journal",
            n_jobs=n_jobs,
        )
        _keep(place, report.to_json())

    def written(place: Path) -> int:
        journal = place / "journal"
        return max(0, journal.stat().st_size - EMPTY) if journal.exists() else 0

    return audit, written


def _parts(model: str, people: str) -> tuple[Run, Callable[[Path], int]]:
    """Return an audit of parts, and what tells how many of them are done."""

    def audit(place: Path, n_jobs: int) -> None:
        place.mkdir(exist_ok=True)
        given = f"{people}/*.parquet"
        with dask.config.set(scheduler="synchronous"):
            report = verify_partitions(
                model, given, similarity=SIMILARITY, output=place / "out"
            )
        files = sorted((place / "out").iterdir())
        digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in files]
        names = [path.name for path in files]
        _keep(place, json.dumps([report.to_json(), names, digests]))

    def written(place: Path) -> int:
        return len(list((place / "out").glob("part-*.parquet")))

    return audit, written


def _keep(place: Path, text: str) -> None:
    draft = place / "draft"
    draft.write_text(text)
    draft.rename(place / "answer")


def _answer(place: Path) -> bytes:
    return (place / "answer").read_bytes()


def _is_over(child: int) -> bool:
    """Tell whether a child has ended, and leave it to be waited for."""
    options = os.WEXITED | os.WNOHANG | os.WNOWAIT
    return os.waitid(os.P_PID, child, options) is not None


def _kill(child: int) -> bool:
    """Kill a child; tell whether it was still running."""
    os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) < 0


if __name__ == "__main__":
    main(*sys.argv[1:])
