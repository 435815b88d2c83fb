"""What stands between the steps of a pipeline: arrays, or frames of some library."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt.errors import DataError, UnsupportedModelError
from tests.laws.effort import for_seeds

pytestmark = [
    pytest.mark.filterwarnings("ignore:Found unknown categories"),
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),
    pytest.mark.filterwarnings("ignore:X has feature names"),
    pytest.mark.filterwarnings("ignore:When `set_output` is configured"),
]
OUTPUTS = ["default", "pandas", "polars"]


def people(rng: np.random.Generator, n: int, absent: Any = None) -> pd.DataFrame:
    jobs = np.empty(n, dtype=object)
    jobs[:] = [
        absent if job == "none" else job
        for job in rng.choice(["a", "b", "none"], n, p=[0.5, 0.3, 0.2])
    ]
    sex = np.empty(n, dtype=object)
    sex[:] = rng.choice(["F", "M"], n).tolist()
    return pd.DataFrame({"sex": sex, "job": jobs}, dtype=object)


def labels(frame: pd.DataFrame) -> Any:
    numbers = {"a": 0, "b": 1}
    jobs = np.array([numbers.get(job, 2) for job in frame["job"]])
    return 2 * jobs + (frame["sex"] == "F").to_numpy()


def one_hot(**more: Any) -> OneHotEncoder:
    return OneHotEncoder(
        drop="first", handle_unknown="ignore", sparse_output=False, **more
    )


def ways(rng: np.random.Generator) -> dict[str, Pipeline]:
    """Return pipelines that hand None on to an encoder."""
    imputer = SimpleImputer(strategy="most_frequent")
    ordinal = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    encoder = one_hot() if rng.random() < 0.5 else ordinal
    chain = make_pipeline(imputer, encoder)
    tree = DecisionTreeClassifier(random_state=0)
    both = ["sex", "job"]
    return {
        "imputed": make_pipeline(imputer, encoder, tree),
        "in columns": make_pipeline(ColumnTransformer([("t", chain, both)]), tree),
        "behind columns": make_pipeline(
            ColumnTransformer([("t", imputer, both)]), encoder, tree
        ),
        "passed": make_pipeline(
            ColumnTransformer([("t", "passthrough", both)]), encoder, tree
        ),
        "identity": make_pipeline(FunctionTransformer(), encoder, tree),
        "imputed twice": make_pipeline(
            imputer,
            SimpleImputer(missing_values=None, strategy="constant", fill_value="x"),
            encoder,
            tree,
        ),
    }


@pytest.mark.parametrize("output", OUTPUTS)
@for_seeds(12)
def test_answers_hang_on_nobody_else(output: str, seed: int) -> None:
    """Whoever is answered is answered alike alone, with all, and with others absent."""
    rng = np.random.default_rng(seed)
    X = people(rng, 60)
    way = str(rng.choice(list(ways(rng))))
    model = ways(rng)[way].set_output(transform=output)
    by_position = bool(rng.random() < 0.3) and "column" not in way and way != "passed"
    table = X.to_numpy() if by_position else X
    try:
        model.fit(table, labels(X))
    except (TypeError, ValueError):
        return
    try:
        ensemble = fatt.load(model)
    except UnsupportedModelError:
        return
    many = people(rng, 25)
    batches = [many, many[many["job"].isna()], *(many[i : i + 1] for i in range(25))]
    for batch in batches:
        rows = batch.to_numpy() if by_position else batch
        try:
            answers = ensemble.predict(rows)
        except DataError:
            continue
        assert answers.tolist() == model.predict(rows).tolist(), way


@pytest.mark.parametrize("way", ["imputed", "in columns", "behind columns"])
@pytest.mark.parametrize("how", ["set_output", "configuration"])
def test_none_that_pandas_may_turn_into_nan_is_refused(way: str, how: str) -> None:
    rng = np.random.default_rng(0)
    X = people(rng, 80)
    model = ways(rng)[way]
    absent = X[X["job"].isna()]
    with sklearn.config_context(
        transform_output="pandas" if how == "configuration" else "default"
    ):
        if how == "set_output":
            model.set_output(transform="pandas")
        model.fit(X, labels(X))
        # The reason: some versions of pandas tell the same people something else
        # among others.
        among = model.predict(X)[X["job"].isna()]
        kept = pd.DataFrame(np.array([["a"], [None]], dtype=object)).iloc[1, 0] is None
        assert kept == (among.tolist() == model.predict(absent).tolist())
        with pytest.raises(
            UnsupportedModelError, match="depends on the other rows"
        ) as caught:
            fatt.load(model)
    assert "'job'" in str(caught.value)


@pytest.mark.parametrize("way", ["imputed", "in columns", "behind columns"])
@pytest.mark.parametrize("output", ["default", "polars"])
def test_none_that_stays_is_answered(way: str, output: str) -> None:
    rng = np.random.default_rng(0)
    X = people(rng, 80)
    model = ways(rng)[way].set_output(transform=output).fit(X, labels(X))
    ensemble = fatt.load(model)
    for rows in (X, X[X["job"].isna()], X[:1]):
        assert ensemble.predict(rows).tolist() == model.predict(rows).tolist()


@pytest.mark.parametrize("output", OUTPUTS)
def test_nan_that_is_imputed_is_answered_in_every_frame(output: str) -> None:
    """What people do: no None reaches the encoder, and all is as without frames."""
    rng = np.random.default_rng(0)
    X = people(rng, 80, absent=np.nan)
    model = ways(rng)["imputed"].set_output(transform=output).fit(X, labels(X))
    ensemble = fatt.load(model)
    for rows in (X, X[X["job"].isna()], X[:1], people(rng, 9)):
        try:
            expected = model.predict(rows).tolist()
        except (TypeError, ValueError):
            with pytest.raises(DataError):
                ensemble.predict(rows)
            continue
        assert ensemble.predict(rows).tolist() == expected


def test_an_encoder_that_refuses_unknown_labels_refuses_none() -> None:
    rng = np.random.default_rng(0)
    X = people(rng, 80)
    encoder = OneHotEncoder(sparse_output=False)
    model = make_pipeline(
        SimpleImputer(strategy="most_frequent"), encoder, DecisionTreeClassifier()
    )
    ensemble = fatt.load(model.set_output(transform="pandas").fit(X, labels(X)))
    known = X[~X["job"].isna()]
    assert ensemble.predict(known).tolist() == model.predict(known).tolist()
    with pytest.raises(DataError, match="'job' is None"):
        ensemble.predict(X)
