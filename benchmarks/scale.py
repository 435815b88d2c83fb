"""Weak scaling: twice the people on twice the workers, and the cost of a person.

Usage: ``python -m benchmarks.scale [--people 100000] [--parts 4]``. Each worker is a
process with one thread. Every worker gets the same number of people, in Parquet files
of equal size. With perfect scaling the time stays the same.

The last lines extrapolate to a billion people, on paper. That assumes: the same model
and similarity; parts of equal cost on the whole, many more of them than workers; files
that are read and written as fast as here by each worker; a scheduler that is not asked
for more than some hundreds of parts a second.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

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
    return load(forest.fit(table, granted))


def seconds(model: Ensemble, n_workers: int, n_people: int, n_parts: int) -> float:
    """Return how long people take who are as many for each worker."""
    schema = Schema.infer(model, people(5_000, seed=0))
    with (
        tempfile.TemporaryDirectory() as name,
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster),
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
            begin = time.perf_counter()
            report = verify_partitions(
                model,
                str(folder / which / "*.parquet"),
                similarity=SIMILARITY,
                schema=schema,
                output=folder / f"{which}-findings",
            )
        print(report)
        return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--people", type=int, default=100_000, help="for each worker")
    parser.add_argument("--parts", type=int, default=4, help="for each worker")
    given = parser.parse_args()
    model = model_of()
    took = {}
    for n_workers in (1, 2):
        took[n_workers] = seconds(model, n_workers, given.people, given.parts)
        each = took[n_workers] / given.people
        print(f"{n_workers} worker(s): {took[n_workers]:.2f} s, {each * 1e6:.1f} µs")
    print(f"weak scaling from 1 to 2 workers: {took[1] / took[2]:.0%}")
    hours = BILLION * took[2] / given.people / 3600
    print(f"a billion people, on paper: {hours:,.1f} hours of workers,")
    print(f"or {60 * hours / 100:,.0f} minutes on 100 workers")


if __name__ == "__main__":
    main()
