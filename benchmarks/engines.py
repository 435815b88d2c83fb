"""Engines beside one process, in one run: time, processors, and the driver's memory.

Usage: ``python -m benchmarks.engines [--rows 1000000] [--engines plain threads dask]``.
The people are those of the bank's data set, repeated with noise on their numbers, in
Parquet files. Each engine runs in a process of its own with two workers, reads the same
files, verifies the same people and writes their findings to Parquet. The schema is
inferred from a first pass over all rows, which is timed apart, as is the start of the
engine.

On a busy machine only the ratio of one run's figures tells anything.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

import fatt
from fatt import Schema, Similarity

BANK = Path("../shared/data/raw/bank/bank-additional-full.csv")
COLUMNS = ["age", "campaign", "pdays", "previous", "emp.var.rate", "euribor3m"]
SIMILARITY = Similarity(noise={"age": 3, "campaign": 1, "euribor3m": 0.1})
FILE_ROWS = 100_000
ENGINES = ("plain", "threads", "dask", "ray", "spark")


Work: TypeAlias = Callable[[], tuple[float, float]]


def write_people(folder: Path, n_rows: int) -> Path:
    """Write the people and the model; return where the model is."""
    import xgboost

    bank = pd.read_csv(BANK, sep=";")
    table, bought = bank[COLUMNS].astype(float), bank["y"] == "yes"
    model = xgboost.XGBClassifier(n_estimators=100, max_depth=5).fit(table, bought)
    model.save_model(folder / "model.json")
    rng = np.random.default_rng(0)
    (folder / "people").mkdir()
    for number in range(-(-n_rows // FILE_ROWS)):
        size = min(FILE_ROWS, n_rows - number * FILE_ROWS)
        part = table.iloc[rng.integers(0, len(table), size)].reset_index(drop=True)
        part["age"] += rng.integers(-2, 3, size)
        part["euribor3m"] = (part["euribor3m"] + rng.normal(0, 0.1, size)).round(3)
        part.insert(0, "id", np.arange(size) + number * FILE_ROWS)
        part.to_parquet(folder / "people" / f"{number:05}.parquet", index=False)
    return folder / "model.json"


def plain(folder: Path, output: Path, *, n_jobs: int = 1) -> Work:
    """Verify all rows with `fatt.verify` in this process."""

    def work() -> tuple[float, float]:
        begin = time.perf_counter()
        table = pd.read_parquet(folder / "people")
        schema = Schema.infer(fatt.load(folder / "model.json"), table[COLUMNS])
        seen = time.perf_counter()
        auditor = fatt.Auditor(
            folder / "model.json", similarity=SIMILARITY, schema=schema
        )
        found = auditor.verify(table[COLUMNS], n_jobs=n_jobs).to_frame()
        output.mkdir()
        found.insert(0, "id", table["id"])
        found.astype({"label": str}).to_parquet(output / "found.parquet")
        return seen - begin, time.perf_counter() - seen

    return work


def on_engine(folder: Path, read: Any, engine: Any, write: Any) -> Work:
    """Verify all rows on an engine that has been started."""

    def work() -> tuple[float, float]:
        begin = time.perf_counter()
        frame = read(str(folder / "people"))
        schema = engine.infer_schema(frame, folder / "model.json")
        seen = time.perf_counter()
        auditor = fatt.Auditor(
            folder / "model.json", similarity=SIMILARITY, schema=schema
        )
        write(engine.verify(frame, auditor, keep=["id"]))
        return seen - begin, time.perf_counter() - seen

    return work


def started(name: str, folder: Path, output: Path) -> Work:
    """Start an engine with two workers, and return the work."""
    if name in {"plain", "threads"}:
        return plain(folder, output, n_jobs=1 if name == "plain" else 2)
    if name == "dask":
        import dask.dataframe as dd
        from dask.distributed import Client, LocalCluster

        from fatt.engines import dask as on_dask

        made = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
        Client(made)
        return on_engine(
            folder,
            dd.read_parquet,
            on_dask,
            lambda found: found.to_parquet(str(output), write_index=False),
        )
    if name == "ray":
        import ray

        from fatt.engines import ray as on_ray

        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        return on_engine(
            folder,
            ray.data.read_parquet,
            on_ray,
            lambda found: found.write_parquet(str(output)),
        )
    from pyspark.sql import SparkSession

    from fatt.engines import spark as on_spark

    os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_HOSTNAME": "localhost"}
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.files.maxPartitionBytes", "8m")
        .getOrCreate()
    )
    return on_engine(
        folder,
        session.read.parquet,
        on_spark,
        lambda found: found.write.parquet(str(output)),
    )


def run(name: str, folder: Path) -> dict[str, float]:
    """Run one engine in this process."""
    with tempfile.TemporaryDirectory() as place:
        output = Path(place) / "found"
        begin = time.perf_counter()
        work = started(name, folder, output)
        start = time.perf_counter() - begin
        schema, verify = work()
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
        if name in {"plain", "threads"}:
            unfair = (pd.read_parquet(output)["verdict"] == "unfair").sum()
        else:
            unfair = fatt.Report.from_parts(output).counts["unfair"]
    return {
        "start": start,
        "schema": schema,
        "verify": verify,
        "driver MiB": memory,
        "unfair": int(unfair),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES)
    parser.add_argument("--run", choices=ENGINES, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.run:
        print("RESULT" + json.dumps(run(given.run, given.folder)), flush=True)
        # Clusters end with their driver.
        os._exit(0)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_people(folder, given.rows)
        print(f"{given.rows:,} rows, {os.cpu_count()} processors")
        plain_seconds = {}
        for name in given.engines:
            command = [sys.executable, "-m", "benchmarks.engines", "--run", name]
            told = subprocess.run(
                [*command, "--folder", str(folder)],
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            [line] = [one for one in told.splitlines() if one.startswith("RESULT")]
            found = json.loads(line.removeprefix("RESULT"))
            plain_seconds[name] = found["verify"]
            # Two workers are compared with two threads.
            beside = plain_seconds.get("threads", plain_seconds.get("plain", np.nan))
            print(
                f"{name:8} start {found['start']:6.1f} s  schema "
                f"{found['schema']:6.1f} s  verify {found['verify']:7.1f} s  ratio "
                f"{found['verify'] / beside:5.2f}  driver {found['driver MiB']:6.0f} "
                f"MiB  unfair {found['unfair']:,}",
                flush=True,
            )


if __name__ == "__main__":
    main()
