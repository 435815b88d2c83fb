"""The largest gap and existence among everybody, in processor time of one thread.

``python benchmarks/everybody.py [--slow]`` trains models on adult, german and compas
and asks about all people that there can be. ``--slow`` adds the rows that take minutes.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import fatt
from fatt import Budget, Similarity, Space

RAW = Path(__file__).parents[2] / "shared" / "data" / "raw"
#: Names of the columns of the raw files.
ADULT = """
age workclass fnlwgt education education_num marital_status occupation relationship race
sex capital_gain capital_loss hours_per_week native_country income
"""
GERMAN = """
status months credit_history purpose credit_amount savings employment investment
personal_status other_debtors residence_since property age installment_plans housing
number_of_credits skill_level people_liable_for telephone foreign_worker credit
"""
NUMBERS = {
    "adult": "age education_num capital_gain capital_loss hours_per_week",
    "german": "months credit_amount investment residence_since age number_of_credits "
    "people_liable_for",
    "compas": "age priors_count juv_fel_count juv_misd_count juv_other_count",
}
NOISE: dict[str, dict[str, Any]] = {
    "adult": {"age": 2, "hours_per_week": 3, "education_num": 1},
    "german": {"age": 2, "months": 2, "credit_amount": 200},
    "compas": {"age": 2, "priors_count": 1, "juv_fel_count": 1},
}


def table(name: str) -> tuple[Any, Any]:
    """Return the people of a data set, categories as flags, and their labels."""
    if name == "adult":
        frame = pd.read_csv(
            RAW / "adult" / "adult.data",
            header=None,
            names=ADULT.split(),
            skipinitialspace=True,
            na_values="?",
        ).dropna()
        target = frame["income"].str.startswith(">50K")
        frame = frame.drop(columns=["income", "fnlwgt", "education"])
    elif name == "german":
        frame = pd.read_csv(
            RAW / "german" / "german.data", sep=" ", header=None, names=GERMAN.split()
        )
        female = frame["personal_status"].isin(["A92", "A95"])
        frame["sex"] = np.where(female, "female", "male")
        target = frame["credit"] == 1
        frame = frame.drop(columns=["credit", "personal_status"])
    else:
        frame = pd.read_csv(RAW / "compas" / "compas-scores-two-years.csv")
        near = frame["days_b_screening_arrest"].between(-30, 30)
        frame = frame[near & (frame["is_recid"] != -1)]
        target = frame["two_year_recid"] == 1
        names = [*NUMBERS["compas"].split(), "sex", "race", "c_charge_degree"]
        frame = frame[names]
    numbers = NUMBERS[name].split()
    parts = [frame[numbers].astype(int)]
    for column in frame.columns.difference(numbers, sort=False):
        cells = frame[column].astype(str)
        flags = pd.get_dummies(cells, prefix=column, prefix_sep="=", dtype=int)
        if flags.shape[1] == 2:
            flags = flags.iloc[:, 1].rename(column).to_frame()
        parts.append(flags)
    return pd.concat(parts, axis=1).reset_index(drop=True), target.to_numpy(int)


def boosted(trees: int, depth: int) -> Any:
    """Return an XGBoost classifier of a size."""
    import xgboost

    return xgboost.XGBClassifier(
        n_estimators=trees, max_depth=depth, learning_rate=0.1, n_jobs=1, random_state=0
    )


def forest(trees: int, depth: int) -> Any:
    """Return a random forest of a size."""
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(trees, max_depth=depth, random_state=0)


def rows(*, slow: bool) -> list[tuple[str, Any, dict[str, Any], dict[str, Any]]]:
    """Return the data, model, similarity and question of each row of the table."""
    found: list[tuple[str, Any, dict[str, Any], dict[str, Any]]] = []
    logit: dict[str, Any] = {"of": "score", "tolerance": 0.01}
    chance: dict[str, Any] = {"of": "probability", "tolerance": 1e-3}
    small, large, trees = (boosted, 300, 6), (boosted, 800, 8), (forest, 100, 10)
    for name, noise in NOISE.items():
        varied = [["sex"]] if name == "german" else [["sex"], ["race"]]
        for vary in varied:
            found.append((name, small, {"vary": vary}, logit))
            if slow:
                found.append((name, large, {"vary": vary}, logit))
                found.append((name, trees, {"vary": vary}, chance))
        found.append((name, small, {"vary": ["sex"]}, chance))
        found.append((name, small, {"noise": noise}, logit))
        if slow:
            found.append((name, large, {"noise": noise}, logit))
            found.append((name, trees, {"noise": noise}, chance))
    return found


def main(*, slow: bool) -> None:
    """Print the table."""
    warnings.filterwarnings("ignore")
    fitted: dict[Any, Any] = {}
    print("| data | model | similarity | of | seconds | lower | upper | nodes |")
    print("|---|---|---|---|---|---|---|---|")
    for name, size, said, asked in rows(slow=slow):
        make, trees, depth = size
        people, target = table(name)
        key = (name, make, trees, depth)
        if key not in fitted:
            fitted[key] = make(trees, depth).fit(people, target)
        similarity, space = Similarity(**said), Space.from_table(people)
        auditor = fatt.Auditor(fitted[key], similarity=similarity, schema=people)
        space.schema_of(auditor.model)
        start = time.process_time()
        found = auditor.largest_gap(space, budget=Budget(seconds=60), **asked)
        taken = time.process_time() - start
        low, high = found.bounds
        what = ", ".join([*said.get("vary", []), *said.get("noise", {})])
        print(
            f"| {name} | {make.__name__} {trees}x{depth} | {what} | {asked['of']} | "
            f"{taken:.2f} | {low:.4f} | {high:.4f} | {found.nodes:,} |",
            flush=True,
        )


if __name__ == "__main__":
    main(slow="--slow" in sys.argv)
