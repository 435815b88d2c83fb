"""Write models, schemas and certificates in the forms of this version, to be kept.

Run ``python tests/data/make_files.py`` from the repository root. It fills
``tests/data/files/VERSION``, which later versions must still read:
``tests/certificate/test_kept_files.py`` does. A folder that exists is left alone, since
what an older version wrote cannot be written again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import xgboost
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt import Budget, Schema, Similarity
from fatt.region import Binary, Integer, Number, OneHot, Ordinal, Relation

FOLDER = Path(__file__).parent / "files" / fatt.__version__
N_PEOPLE = 12


@dataclass
class Kept:
    """What is audited: a model, people, and who is similar."""

    model: Any
    people: Any
    similarity: Relation
    kinds: dict[str, Any]
    budget: Budget | None = None


def town() -> pd.DataFrame:
    """People with every kind of column."""
    rng = np.random.default_rng(0)
    sex = rng.integers(0, 2, 300)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 70, 300).astype(float),
            "income": np.round(rng.lognormal(10, 0.5, 300), 2),
            "grade": rng.integers(0, 4, 300).astype(float),
            "sex=F": sex.astype(float),
            "sex=M": 1.0 - sex,
        }
    )


def answers(table: pd.DataFrame, n_classes: int = 2) -> np.ndarray[Any, Any]:
    score = table["age"] / 20 + table["income"] / 2e4 + table["grade"] + table["sex=F"]
    return pd.qcut(score, n_classes, labels=False).to_numpy()


def all_kept() -> dict[str, Kept]:
    table = town()
    two, three = answers(table), answers(table, 3)
    named = {
        "age": Integer(lower=18.0, upper=90.0),
        "income": Number(lower=0.0),
        "grade": Ordinal(levels=("low", "some", "good", "best"), values=(0, 1, 2, 3)),
        "sex": OneHot(columns=("sex=F", "sex=M"), levels=("F", "M")),
    }
    wide = Similarity(noise={"age": 3, "income": "0.1 sd", "grade": 1}, vary=["sex"])
    young = Similarity(noise={"age": 2}, where={"age": "<= 37"})
    older = Similarity(noise={"age": "+5"}, vary=["sex"], where={"age": "> 37"})
    raw = table[["age", "income"]].assign(sex=np.where(table["sex=F"], "Frau", "男"))
    coded = table[["age", "income"]].assign(
        sex=pd.Categorical(raw["sex"], categories=["Frau", "男"])
    )
    encode = make_column_transformer(
        (OneHotEncoder(), ["sex"]), remainder="passthrough"
    )
    with_gaps = table.mask(table == table.loc[0, "age"])
    people = table.iloc[:N_PEOPLE]
    return {
        "tree": Kept(
            DecisionTreeClassifier(max_depth=4, random_state=0).fit(table, two),
            people,
            wide,
            {**named, "age": Integer(lower=18, upper=90)},
        ),
        "forest": Kept(
            RandomForestClassifier(5, max_depth=4, random_state=0).fit(table, two),
            people,
            young | older,
            named,
        ),
        "nameless": Kept(
            GradientBoostingClassifier(n_estimators=4, max_depth=2, random_state=0).fit(
                table.to_numpy(), three
            ),
            people.to_numpy(),
            Similarity(noise="2%"),
            {"x3": Binary(levels=("no", "yes"))},
        ),
        "xgboost": Kept(
            xgboost.XGBClassifier(n_estimators=6, max_depth=3, n_jobs=1).fit(
                with_gaps, two
            ),
            with_gaps.iloc[:N_PEOPLE],
            Similarity(noise={"income": "5%"}, vary=["age"], missing=["age"]),
            {"age": Integer(lower=18, upper=90.5)},
        ),
        "lightgbm": Kept(
            lightgbm.LGBMClassifier(
                n_estimators=6, max_depth=3, n_jobs=1, verbose=-1, min_cat_smooth=1
            ).fit(coded, two),
            coded.iloc[:N_PEOPLE],
            Similarity(noise={"age": 2}, vary={"sex": ["Frau", "男"]}),
            {},
        ),
        "hist": Kept(
            HistGradientBoostingClassifier(max_iter=6, max_depth=3, random_state=0).fit(
                with_gaps, three
            ),
            with_gaps.iloc[:N_PEOPLE],
            Similarity(noise={"age": "30..50"}, vary=["sex"]),
            {"sex": OneHot(columns=("sex=F", "sex=M"), levels=("F", "M"))},
            Budget(total_nodes=0),
        ),
        "pipeline": Kept(
            make_pipeline(
                encode, RandomForestClassifier(5, max_depth=4, random_state=0)
            ).fit(raw, two),
            raw.iloc[:N_PEOPLE],
            Similarity(noise={"age": 1.5, "income": 1000}, vary=["sex"]),
            {"income": Number(lower=-0.0, upper=1e6, sd=10)},
        ),
    }


def main() -> None:
    FOLDER.mkdir(parents=True)
    facts = {}
    for name, kept in all_kept().items():
        ensemble = fatt.load(kept.model)
        ensemble.save(FOLDER / f"{name}.fatt")
        schema = Schema.infer(ensemble, kept.people).with_(kept.kinds)
        schema.save(FOLDER / f"{name}.schema.json")
        report = fatt.verify(
            ensemble,
            kept.people,
            similarity=kept.similarity,
            schema=schema,
            budget=kept.budget,
        )
        certificate = report.certificate()
        certificate.save(FOLDER / f"{name}.cert")
        facts[name] = {
            "digest": ensemble.digest,
            "schema": certificate.about.schema,
            "people": certificate.about.people,
            "similarity": kept.similarity.to_toml(),
            "counts": certificate.counts,
            "labels": ensemble.predict(kept.people).tolist(),
            "variables": repr(schema),
        }
    text = json.dumps(facts, indent=1, ensure_ascii=False) + "\n"
    (FOLDER / "facts.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
