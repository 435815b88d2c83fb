"""
People in a data frame of Spark
===============================

The people stay where they are: each batch is answered on the worker that holds it, and
only counts come back. Ray and Dask have the same two functions.
"""

import os
import shutil
import sys
import tempfile

from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklego.datasets import load_arrests

import fatt


def main() -> None:
    if shutil.which("java") is None:
        print("Spark needs Java 17: apt-get install default-jre-headless")
        return
    from pyspark.sql import SparkSession

    from fatt.engines import spark

    arrests = load_arrests(as_frame=True)
    people = arrests.drop(columns="released").head(1000)
    columns = make_column_transformer(
        (OneHotEncoder(), ["colour", "sex", "employed", "citizen"]),
        remainder="passthrough",
    )
    forest = RandomForestClassifier(20, max_depth=8, random_state=0)
    model = make_pipeline(columns, forest).fit(people, arrests["released"].head(1000))

    # Two threads here; on a cluster the session is there already.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", False)
    session = builder.config("spark.driver.host", "127.0.0.1").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    frame = session.createDataFrame(people.reset_index(names="id"))

    schema = spark.infer_schema(frame, model)
    similarity = fatt.Similarity(noise={"age": 2}, vary=["colour"])
    auditor = fatt.Auditor(model, similarity=similarity, schema=schema)
    found = spark.verify(frame, auditor, keep=["id", "colour"])
    folder = tempfile.mkdtemp()
    found.write.mode("overwrite").parquet(folder)
    session.stop()

    report = fatt.Report.from_parts(folder)
    print(report)
    print(report.by_group("colour"))
    alone = fatt.verify(model, people, similarity=similarity, schema=schema)
    print("the same as in one process:", alone.counts == report.counts)


if __name__ == "__main__":
    main()
