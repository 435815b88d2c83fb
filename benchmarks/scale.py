"""Weak scaling: twice the people on twice the workers, and the cost of a person.

Usage: ``python -m benchmarks.scale [--people 100000] [--parts 4]``. Each worker is a
process with one thread. Every worker gets the same number of people, in Parquet files
of equal size. With perfect scaling the time stays the same.

On a busy machine workers wait for processors; then the work of processors for each
person tells more than the time that passes. It should stay the same, too.

The last lines extrapolate to a billion people, on paper: in hours of processors, if
each worker has one to itself, and in hours of workers as they were here. That assumes:
the same model and similarity; parts of equal cost on the whole, and many more of them
than workers; files that each worker reads and writes as fast as here; a scheduler that
is not asked for more than some hundreds of parts a second.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster
from sklearn.ensemble import RandomForestClassifier

from fatt import Ensemble, Schema, Similarity, load
from fatt.audit import verify_partitions

SIMILARITY = Similarity(noise={"age": 2, "income": "5%"}, vary=["sex"])
BILLION = 1_000_000_000


def people(n_people: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, n_people),
            "income": rng.gamma(6.0, 7.5, n_people).round(1),
            "years": rng.geometric(0.13, n_people),
            "sex": rng.integers(0, 2, n_people),
        }
    )


def model_of() -> Ensemble:
    table = people(5_000, seed=0)
    granted = table["income"] + table["age"] / 4 + 4 * table["sex"] > 55
    forest = RandomForestClassifier(20, max_depth=6, random_state=0)
    return load(forest.fit(table, granted)).ensemble


class Cost(NamedTuple):
    """Seconds that passed, seconds of processors, and bytes of findings."""

    passed: float
    worked: float
    size: int


def cost(model: Ensemble, n_workers: int, n_people: int, n_parts: int) -> Cost:
    """Return what people cost who are as many for each worker."""
    schema = Schema.infer(model, people(5_000, seed=0))
    with (
        tempfile.TemporaryDirectory() as name,
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        folder = Path(name)
        (folder / "few").mkdir()
        (folder / "all").mkdir()
        for part in range(n_workers * n_parts):
            here = people(n_people // n_parts, seed=part)
            here.to_parquet(folder / "all" / f"{part}.parquet")
            # Every worker imports and loads the compiled search before the clock runs.
            here[:100].to_parquet(folder / "few" / f"{part}.parquet")
        for which in ("few", "all"):
            before = sum(client.run(time.process_time).values())
            begin = time.perf_counter()
            report = verify_partitions(
                model,
                str(folder / which / "*.parquet"),
                similarity=SIMILARITY,
                schema=schema,
                output=folder / f"{which}-findings",
            )
        passed = time.perf_counter() - begin
        worked = sum(client.run(time.process_time).values()) - before
        print(report)
        files = report.folder.glob("part-*.parquet")
        return Cost(passed, worked, sum(file.stat().st_size for file in files))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--people", type=int, default=100_000, help="for each worker")
    parser.add_argument("--parts", type=int, default=4, help="for each worker")
    given = parser.parse_args()
    model = model_of()
    costs = {}
    for n_workers in (1, 2):
        found = cost(model, n_workers, given.people, given.parts)
        costs[n_workers], n_people = found, n_workers * given.people
        print(
            f"{n_workers} worker(s): {found.passed:.2f} s; for each person "
            f"{found.worked / n_people * 1e6:.1f} µs of a processor and "
            f"{found.size / n_people:.1f} bytes of findings"
        )
    more = costs[2].worked / (2 * costs[1].worked) - 1
    print(f"weak scaling: time {costs[1].passed / costs[2].passed:.0%}, and")
    print(f"processors work {more:+.0%} for each person")
    for what, seconds in zip(("processors", "workers"), _each(costs[2]), strict=True):
        hours = BILLION * seconds / given.people / 3600
        print(f"a billion people, on paper: {hours:,.1f} hours of {what}")


def _each(found: Cost) -> tuple[float, float]:
    """Return the seconds of one of two workers: those it worked, those that passed."""
    return found.worked / 2, found.passed


if __name__ == "__main__":
    main()
