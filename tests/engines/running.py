"""Real engines, each with several worker processes, and what differs between them."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Engine:
    """A running engine: how it takes tables, gives them back, and loses a worker."""

    name: str
    verify: Callable[..., Any]
    infer_schema: Callable[..., Any]
    frame: Callable[[pd.DataFrame, int], Any]
    rows: Callable[[Any], pd.DataFrame]
    write: Callable[[Any, Path], Any]
    kill_a_worker: Callable[[list[int]], None]


def kill(pids: list[int]) -> None:
    """Kill the process that has begun last, and so has not finished."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pids[-1], signal.SIGKILL)


def pieces(table: pd.DataFrame, count: int) -> list[pd.DataFrame]:
    """Return parts of a table, one of them empty if there are several."""
    size = -(-len(table) // max(1, count - 1))
    parts = [table[start : start + size] for start in range(0, len(table), size)]
    return [*parts, table[:0]] if count > 1 else parts


@contextlib.contextmanager
def dask_cluster() -> Iterator[Engine]:
    """Run Dask with four workers."""
    import dask.dataframe as dd
    from dask.distributed import Client, LocalCluster

    from fatt.engines import dask as engine

    def frame(table: pd.DataFrame, count: int) -> Any:
        return dd.concat(
            [dd.from_pandas(one, npartitions=1) for one in pieces(table, count)]
        )

    def write(found: Any, folder: Path) -> None:
        found.to_parquet(str(folder), write_index=False)

    with (
        LocalCluster(n_workers=4, threads_per_worker=1, dashboard_address=":0") as made,
        Client(made),
    ):
        yield Engine(
            "dask", engine.verify, engine.infer_schema, frame, compute, write, kill
        )


def compute(found: Any) -> pd.DataFrame:
    """Return the rows that Dask has found."""
    rows: pd.DataFrame = found.compute()
    return rows


@contextlib.contextmanager
def ray_cluster() -> Iterator[Engine]:
    """Run Ray with two nodes."""
    ray = pytest.importorskip("ray")
    import logging

    from ray.cluster_utils import Cluster

    from fatt.engines import ray as engine

    node = {
        "num_cpus": 1,
        "object_store_memory": 100 * 2**20,
        "include_dashboard": False,
    }
    cluster = Cluster(initialize_head=True, head_node_args=node)
    cluster.add_node(num_cpus=1, object_store_memory=100 * 2**20)
    ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
    ray.data.DataContext.get_current().enable_progress_bars = False
    logging.getLogger("ray.data").setLevel("ERROR")

    def frame(table: pd.DataFrame, count: int) -> Any:
        parts = [pa.Table.from_pandas(one) for one in pieces(table, count)]
        return ray.data.from_arrow(parts)

    try:
        yield Engine(
            "ray",
            engine.verify,
            engine.infer_schema,
            frame,
            lambda found: found.to_pandas(),
            lambda found, folder: found.write_parquet(str(folder)),
            kill,
        )
    finally:
        ray.shutdown()
        cluster.shutdown()


@contextlib.contextmanager
def spark_cluster() -> Iterator[Engine]:
    """Run Spark with two executors, which are processes."""
    sql = pytest.importorskip("pyspark.sql")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java: apt-get install openjdk-17-jre-headless")
    from fatt.engines import spark as engine

    os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_HOSTNAME": "localhost"}
    os.environ["PYSPARK_PYTHON"] = sys.executable
    options = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.executorEnv.PYTHONPATH": str(ROOT),
        "spark.ui.showConsoleProgress": "false",
    }
    builder = sql.SparkSession.builder.master("local-cluster[2,1,1024]")
    for name, value in options.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")

    def frame(table: pd.DataFrame, count: int) -> Any:
        whole = pa.Table.from_pandas(table, preserve_index=False)
        return session.createDataFrame(whole).repartition(count)

    def kill_an_executor(_: list[int]) -> None:
        found = subprocess.run(
            ["pgrep", "-f", "CoarseGrainedExecutorBackend"],
            capture_output=True,
            text=True,
            check=True,
        )
        kill([int(pid) for pid in found.stdout.split()])

    try:
        yield Engine(
            "spark",
            engine.verify,
            engine.infer_schema,
            frame,
            lambda found: found.toArrow().to_pandas(),
            lambda found, folder: found.write.parquet(str(folder)),
            kill_an_executor,
        )
    finally:
        session.stop()


CLUSTERS = {"dask": dask_cluster, "ray": ray_cluster, "spark": spark_cluster}


def wait_for(folder: Path, count: int = 2, seconds: float = 60) -> list[int]:
    """Wait until some batches have begun, and return by which processes."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        traces = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime)
        if len(traces) >= count:
            return [int(one.name.partition("-")[0]) for one in traces]
        time.sleep(0.02)
    raise TimeoutError(f"fewer than {count} batches have begun")
