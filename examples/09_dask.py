"""
People in parts, on a Dask cluster
==================================

If people or findings do not fit into one memory, keep both in Parquet. Each part is one
task of whatever cluster Dask knows, and its findings are one file.
"""

import tempfile
from pathlib import Path

import pandas as pd
from dask.distributed import Client, LocalCluster
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklego.datasets import load_arrests

import fatt
from fatt.audit import verify_partitions


def main() -> None:
    # Somebody's people, in four files.
    arrests = load_arrests(as_frame=True)
    people = arrests.drop(columns="released")
    folder = Path(tempfile.mkdtemp())
    for part in range(4):
        people[part::4].to_parquet(folder / f"people-{part}.parquet")

    columns = make_column_transformer(
        (OneHotEncoder(), ["colour", "sex", "employed", "citizen"]),
        remainder="passthrough",
    )
    forest = RandomForestClassifier(20, max_depth=8, random_state=0)
    model = make_pipeline(columns, forest).fit(people, arrests["released"])

    # Two workers in processes of their own; a real cluster has more.
    similarity = fatt.Similarity(noise={"age": 2}, vary=["colour"])
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as here,
        Client(here),
    ):
        report = verify_partitions(
            model,
            str(folder / "people-*.parquet"),
            similarity=similarity,
            output=folder / "findings",
            groups=["colour"],
        )
    print(f"{sum(report.counts.values()):,} people: {report.counts}")
    for colour, group in report.by_group("colour").items():
        print(f"{colour}: {group.size} people, {group.fairness.lower:.1%} proved fair")

    # The findings lie beside each other, and are those of one machine.
    findings = pd.read_parquet(folder / "findings" / "part-000000.parquet")
    print(findings[["verdict", "label"]].value_counts().to_string())
    alone = fatt.verify(model, people, similarity=similarity)
    print("the same as on one machine:", alone.counts == report.counts)


if __name__ == "__main__":
    main()
