"""
People in a data set of Ray
===========================

Ray hands out batches, and `fatt` answers each where it lies. The answers are those of
one process, and lie in files that are counted some rows at a time.
"""

import tempfile

import pandas as pd
import ray
from sklearn.ensemble import GradientBoostingClassifier
from sklego.datasets import load_arrests

import fatt
from fatt.engines import ray as engine


def main() -> None:
    arrests = load_arrests(as_frame=True)
    people = pd.DataFrame(
        {
            "age": arrests["age"],
            "checks": arrests["checks"],
            "white": (arrests["colour"] == "White").astype(int),
        }
    ).head(1000)
    released = arrests["released"].head(1000)
    model = GradientBoostingClassifier(n_estimators=30, random_state=0)
    model.fit(people, released)

    # One machine with two places to work; `ray.init("auto")` finds a cluster.
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    table = people.reset_index(names="id")
    dataset = ray.data.from_pandas([table[:500], table[500:]])

    schema = engine.infer_schema(dataset.drop_columns(["id"]), model)
    similarity = fatt.Similarity(noise={"age": 2}, vary=["white"])
    auditor = fatt.Auditor(model, similarity=similarity, schema=schema)
    found = engine.verify(dataset, auditor, keep=["id", "white"])
    folder = tempfile.mkdtemp()
    found.write_parquet(folder)
    ray.shutdown()

    report = fatt.Report.from_parts(folder)
    print(report)
    print(report.by_group("white"))
    alone = auditor.verify(people)
    print("the same as in one process:", alone.counts == report.counts)


if __name__ == "__main__":
    main()
