"""Adult's female husbands and male wives, and the same model asked about real twins.

``python -m benchmarks.existence`` trains XGBoost on Adult and asks about 1,000
held-out people: sex varies alone; only among combinations that exist; with
husbands and wives swapped; with relationship moving along. It needs
``../shared/data/raw/adult``.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pandas as pd
from xgboost import XGBClassifier

import fatt
from fatt import Similarity

FOLDER = Path(__file__).parents[2] / "shared" / "data" / "raw" / "adult"
NAMES = [
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status"),
    *("occupation", "relationship", "race", "sex", "capital-gain", "capital-loss"),
    *("hours-per-week", "native-country", "income"),
]
SWAPS = {"Husband": "Wife", "Wife": "Husband"}
PAIR = ("sex", "relationship")

ASKED = {
    "sex alone": Similarity(vary=["sex"]),
    "combinations that exist": Similarity(vary=["sex"], exist=[PAIR]),
    "husbands and wives swapped": Similarity(
        vary=["sex"], follow={"relationship": SWAPS}
    ),
    "relationship moves along": Similarity(
        vary=["sex"], exist=[PAIR], follow=["relationship"]
    ),
    "both vary freely": Similarity(vary=[*PAIR]),
    "both vary, as they exist": Similarity(vary=[*PAIR], exist=[PAIR]),
}


def read(name: str) -> pd.DataFrame:
    """Return a file of Adult, without weights."""
    table = pd.read_csv(
        FOLDER / name, names=NAMES, skipinitialspace=True, comment="|", na_values="?"
    )
    return table.drop(columns="fnlwgt")


def prepared() -> tuple[Any, pd.DataFrame]:
    """Return a model and the people it is asked about."""
    train, test = read("adult.data"), read("adult.test")
    numbers = train.select_dtypes("number").columns
    texts = [name for name in train if name not in {*numbers, "income"}]
    for name in texts:
        kind = pd.CategoricalDtype(sorted(train[name].dropna().unique()))
        train[name], test[name] = train[name].astype(kind), test[name].astype(kind)
    model = XGBClassifier(n_estimators=100, max_depth=5, enable_categorical=True)
    model.fit(train.drop(columns="income"), train["income"].str.startswith(">"))
    return model, test.drop(columns="income").head(1_000)


def main() -> None:
    """Print what each question finds, and how long it takes."""
    if not (FOLDER / "adult.data").exists():
        print(f"left out: {FOLDER} is missing")
        return
    model, people = prepared()
    first = 0.0
    rows = set(zip(people["sex"], people["relationship"], strict=True))
    for name, similarity in ASKED.items():
        auditor = fatt.Auditor(model, similarity=similarity, schema=people)
        auditor.verify(people.head(5), spot_checks=0)
        start = time.process_time()
        report = auditor.verify(people, spot_checks=0)
        seconds = time.process_time() - start
        first = first or seconds
        twins = report.counterexamples
        odd = sum((c.twin["sex"], c.twin["relationship"]) not in rows for c in twins)
        print(
            f"{name}: {report.counts['unfair']} unfair, {odd} twins that no row has, "
            f"{report.alone} alone, {seconds / first:.2f} times the first"
        )


if __name__ == "__main__":
    main()
