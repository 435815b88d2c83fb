"""What one person costs, of 1, 60 and 15,000: ``python -m benchmarks.latency``.

Milliseconds of processor time for each person, the best of several rounds: an auditor
that is prepared, `fatt.verify`, which prepares anew in each call, and Veritas, whose
boxes are built within the time, since ours are. On a busy machine only ratios within
one run mean anything. The models are exact forms, so that no library is asked; people
are rows of an array. ``--quick`` leaves out the 15,000 and the boosted models.
``--threads`` measures instead how much sooner two threads are done than one, and how
much sooner two are with work that shares nothing: a busy machine has no more to give.
"""

from __future__ import annotations

import argparse
import hashlib
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fatt
from benchmarks.output import print_table, progress
from benchmarks.paper import setting
from benchmarks.veritas import Veritas

DATA = ("german", "adult")
KINDS = ("tree", "forest", "xgb100", "lgbm100")
COUNTS = (1, 60, 15_000)
#: Calls about one person in each round: fair and unfair people, in the order of rows.
CALLS = 30
ROUNDS = 5
#: Veritas asks about one person at a time: so many stand for the 15,000.
MOST_OF_VERITAS = 60
#: The setting of Veritas that other benchmarks ask it with.
FOCAL = 0.2

TITLES = [
    "data, model",
    "people",
    "prepared",
    "fatt.verify",
    "Veritas",
    "verify / prepared",
    "Veritas / prepared",
]

Rows = NDArray[np.float64]


def best(ask: Callable[[Rows], Any], parts: list[Rows], rounds: int) -> float:
    """Return the milliseconds for each person in the fastest round."""
    n_people = sum(map(len, parts))
    ask(parts[0])
    spent = []
    for _ in range(rounds):
        start = time.process_time()
        for part in parts:
            ask(part)
        spent.append(time.process_time() - start)
    return 1000 * min(spent) / n_people


def parts_of(rows: Rows, count: int) -> list[Rows]:
    """Return people as each call gets them."""
    if count == 1:
        return [rows[at : at + 1] for at in range(CALLS)]
    return [np.resize(rows, (count, rows.shape[1]))]


def lines_of(data: str, kind: str, counts: tuple[int, ...]) -> list[list[str]]:
    """Measure one model."""
    ensemble = setting.train(data, kind)
    schema = setting.schema(data, ensemble)
    similarity = setting.similarities(data)["noise"]
    rows = np.ascontiguousarray(setting.people(data).test.to_numpy(dtype=np.float64))
    auditor = fatt.Auditor(ensemble, similarity=similarity, schema=schema)
    veritas = Veritas(ensemble, schema, similarity, FOCAL)
    # Its trees of both classes are made before the time is taken.
    veritas.ask(rows[:MOST_OF_VERITAS])
    lines = []
    for count in counts:
        rounds = ROUNDS if count < 1000 else 2
        parts = parts_of(rows, count)
        prepared = best(auditor.verify, parts, rounds)
        anew = best(
            lambda part: fatt.verify(
                ensemble, part, similarity=similarity, schema=schema
            ),
            parts,
            rounds,
        )
        peer = best(veritas.ask, [part[:MOST_OF_VERITAS] for part in parts], rounds)
        ratios = [f"{anew / prepared:.1f}", f"{peer / prepared:.1f}"]
        times = [f"{one:.3f}" for one in (prepared, anew, peer)]
        lines.append([f"{data} {kind}", f"{count:,}", *times, *ratios])
        progress(" ".join(lines[-1]))
    return lines


def threads_of(data: str, kind: str) -> list[str]:
    """Measure the time that passes with one thread and with two, in turn."""
    ensemble = setting.train(data, kind)
    similarity = setting.similarities(data)["noise"]
    auditor = fatt.Auditor(
        ensemble, similarity=similarity, schema=setting.schema(data, ensemble)
    )
    rows = setting.people(data).test.to_numpy(dtype=np.float64)
    many = np.resize(rows, (COUNTS[-1], rows.shape[1]))
    one, two = passed(lambda n_jobs: auditor.verify(many, n_jobs=n_jobs))
    idle, shared = passed(digests)
    ratios = [f"{one / two:.2f}", f"{idle / shared:.2f}"]
    return [f"{data} {kind}", f"{one:.0f}", f"{two:.0f}", *ratios]


def passed(work: Callable[[int], Any]) -> list[float]:
    """Return the milliseconds that pass with one thread and with two, in turn."""
    spent: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(ROUNDS):
        for n_jobs, times in spent.items():
            start = time.perf_counter()
            work(n_jobs)
            times.append(time.perf_counter() - start)
    return [1000 * min(times) for times in spent.values()]


def digests(n_jobs: int) -> None:
    """Do what needs no lock: two threads gain by it what the machine has to give."""
    data = bytes(20_000_000)
    with ThreadPoolExecutor(n_jobs) as pool:
        list(pool.map(hashlib.sha256, [data] * 4))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="*", default=DATA, choices=DATA)
    parser.add_argument("--threads", action="store_true")
    options = parser.parse_args()
    kinds = KINDS[:2] if options.quick else KINDS
    if options.threads:
        found = [threads_of(data, kind) for data in options.only for kind in kinds]
        titles = ["data, model", "one thread, ms", "two, ms", "one / two", "SHA-256"]
        print_table(titles, found)
        return
    counts = COUNTS[:2] if options.quick else COUNTS
    lines = [
        line
        for data in options.only
        for kind in kinds
        for line in lines_of(data, kind, counts)
    ]
    print_table(TITLES, lines)


if __name__ == "__main__":
    main()
