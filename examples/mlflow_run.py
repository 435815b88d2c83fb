"""
The audit in an MLflow run
==========================

Bounds and counts become metrics, the page and the twins artifacts, so that runs can be
compared by what was proved. Everything stays in a folder. It needs ``pip install
scikit-lego pandas mlflow``.
"""

# %%
import tempfile
from pathlib import Path

import mlflow
from sklearn.tree import DecisionTreeClassifier
from sklego.datasets import load_arrests

import fatt

arrests = load_arrests(as_frame=True)
people, released = arrests[["age", "year", "checks"]], arrests["released"]
similarity = fatt.Similarity(noise={"age": 2, "checks": 1})

# %%
# One run for each depth.
with tempfile.TemporaryDirectory() as folder:
    mlflow.set_tracking_uri(f"sqlite:///{folder}/runs.db")
    mlflow.create_experiment("trees", artifact_location=Path(folder, "files").as_uri())
    mlflow.set_experiment("trees")
    for depth in (2, 4, 8):
        tree = DecisionTreeClassifier(max_depth=depth, random_state=0)
        report = fatt.verify(tree.fit(people, released), people, similarity=similarity)
        with mlflow.start_run():
            mlflow.log_param("depth", depth)
            mlflow.log_param("similarity", str(similarity))
            mlflow.log_metrics(
                {
                    "fairness.lower": report.fairness.lower,
                    "fairness.upper": report.fairness.upper,
                    **report.counts,
                }
            )
            mlflow.log_text(report.to_html(), "audit.html")
            mlflow.log_text(report.counterexamples.to_frame().to_csv(), "twins.csv")

    # %%
    # Which run is the fairest?
    runs = mlflow.search_runs(output_format="list")
    for run in sorted(runs, key=lambda run: -run.data.metrics["fairness.lower"]):
        fair = run.data.metrics["fairness.lower"]
        print(f"depth {run.data.params['depth']}: {fair:.1%} proved fair")
