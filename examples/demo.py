"""The main job: audit a boosted model of real arrests, and show whom it treats apart.

The data are 5,226 arrests for possession of marijuana in Toronto, 1997 to 2002, as
carried by the package scikit-lego: who was released with a summons, and who was held?
"""

from __future__ import annotations

import time
from collections import Counter

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklego.datasets import load_arrests
from xgboost import XGBClassifier

import fatt
from fatt import Report, Similarity

DECISIONS = {0: "held", 1: "released"}


def train() -> tuple[Pipeline, pd.DataFrame]:
    arrests = load_arrests(as_frame=True)
    people = arrests.drop(columns="released")
    released = (arrests["released"] == "Yes").astype(int)
    X_train, X_test, y_train, y_test = train_test_split(
        people, released, random_state=0
    )
    texts = ["colour", "sex", "employed", "citizen"]
    encode = (OneHotEncoder(sparse_output=False), texts)
    columns = make_column_transformer(encode, remainder="passthrough")
    model = make_pipeline(columns, XGBClassifier(n_estimators=100, max_depth=4))
    model.fit(X_train, y_train)
    print(f"{fatt.load(model)}, {model.score(X_test, y_test):.1%} accurate.\n")
    return model, X_test


def show_fairness(report: Report) -> None:
    fair, unfair, unknown = report.counts.values()
    lower, upper = report.fairness
    print(f"\nOf {len(report):,} people {fair:,} are proved to be treated like all")
    print(f"similar people, {unfair:,} are not, and {unknown:,} are unknown:")
    print(f"fairness is at least {lower:.2%} and at most {upper:.2%}.\n")
    for names in (["colour"], ["sex"], ["colour", "sex"]):
        for group, of in report.by_group(*names).items():
            who = group if isinstance(group, str) else ", ".join(map(str, group))
            print(f"  {who:14}{of.size:6,} people,{of.fairness.lower:7.1%} fair")


def show_causes(model: Pipeline, X: pd.DataFrame, similarity: Similarity) -> None:
    print("\nHow many decisions change with one column alone, and to what:\n")
    for one in similarity.one_at_a_time().alternatives:
        cases = fatt.verify(model, X, similarity=one, n_jobs=-1).counterexamples
        ends = Counter(DECISIONS[case.twin_label] for case in cases)
        print(f"  {one!s:30}{len(cases):4}  {dict(sorted(ends.items()))}")


def show_twins(report: Report, model: Pipeline, columns: pd.Index) -> None:
    cases = report.counterexamples
    closest = {tuple(case.changes): case for case in reversed(cases)}
    print("\nThe closest twins for each set of columns in which twins differ:\n")
    for case in reversed(closest.values()):
        ends = f"{DECISIONS[case.label]:>8} → {DECISIONS[case.twin_label]:8}"
        print(f"  #{case.index:<5}{ends}  {case.changes_in_words}")
    replayed = sum(case.replayed_on == "model" for case in cases)
    twins = pd.DataFrame([case.twin for case in cases])[columns]
    agrees = np.array_equal(model.predict(twins), [case.twin_label for case in cases])
    print(f"\n{replayed} of {len(cases)} twins were replayed on the XGBoost model;")
    print(f"asked once more, it gives each of them the other label: {agrees}.")


def main() -> None:
    model, X = train()
    similarity = Similarity(noise={"age": 2}, vary=["colour", "sex"])
    print(similarity.describe())
    start = time.perf_counter()
    report = fatt.verify(model, X, similarity=similarity, n_jobs=-1)
    show_fairness(report)
    show_causes(model, X, similarity)
    show_twins(report, model, X.columns)
    gaps = fatt.score_gap(model, X, similarity=similarity, of="probability", n_jobs=-1)
    print("\nBetween a person and similar people the probability of release differs")
    print(f"by up to {np.median(gaps.lower):.3f} in the median, and by up to")
    print(f"{gaps.largest.lower:.3f} for the person for whom it differs most.")
    years = fatt.radius(model, X, similarity=Similarity(noise={"age": 1}), n_jobs=-1)
    print(f"One year of age changes the decision on {(years.upper <= 1).sum()} people,")
    print(f"and no age at all changes it on {np.isinf(years.lower).sum()}.")
    print(f"\nThe searches took {time.perf_counter() - start:.1f} seconds.")


if __name__ == "__main__":
    main()
