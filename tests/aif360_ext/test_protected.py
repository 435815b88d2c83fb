"""No protected attribute is dropped in silence, whatever its columns are called."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from aif360.datasets import BinaryLabelDataset
from sklearn.tree import DecisionTreeClassifier

from fatt import Schema, Similarity, load
from fatt.aif360_ext import FATT, IndividualFairnessMetric, schema_of
from fatt.aif360_ext.sklearn import (
    FATTClassifier,
    certified_fairness_score,
    individual_unfairness_difference,
    make_scorer,
)
from fatt.errors import SpecError
from tests.aif360_ext.made import predicted

ONE_FLAG = "names 'sex_Male', and the columns .* look like one variable 'sex'"


def people(**more: Any) -> tuple[Any, Any, Any]:
    """Return rows, their labels, which hang on sex, and whether somebody is a man."""
    rng = np.random.default_rng(0)
    male, race = rng.integers(0, 2, 400), rng.integers(0, 2, 400)
    income = rng.normal(size=400)
    index = pd.MultiIndex.from_arrays([race, male], names=["race", "sex"])
    X = pd.DataFrame({"race": race, "income": income}, index=index)
    for name, column in more.items():
        X[name] = column(male)
    return X, (income + 2 * male > 1).astype(int), male


def tree(X: Any, y: Any) -> Any:
    return DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)


def flags(male: Any, names: tuple[str, str], dtype: Any = int) -> dict[str, Any]:
    women, men = names
    return {women: (male == 0).astype(dtype), men: (male == 1).astype(dtype)}


def fair_share(model: Any, X: Any, other: dict[str, Any]) -> float:
    """Ask the model about all sexes and races of each person."""
    own, fair = model.predict(X), np.ones(len(X), dtype=bool)
    for race in (0, 1):
        for values in ({}, other):
            fair &= model.predict(X.assign(race=race, **values)) == own
    return float(fair.mean())


@pytest.mark.parametrize("names", [("sex_F", "sex_M"), ("sex=F", "sex=M")], ids=str)
@pytest.mark.parametrize("dtype", [int, bool])
def test_a_family_of_flags_is_the_attribute(names: Any, dtype: Any) -> None:
    X, y, male = people()
    X = X.assign(**flags(male, names, dtype))
    model = tree(X, y)
    fair = fair_share(model, X, flags(1 - male, names, dtype))
    assert fair < 0.5
    for prot_attr in (None, ["race", "sex"]):
        score = certified_fairness_score(X, estimator=model, prot_attr=prot_attr)
        assert score == fair
    assert make_scorer(certified_fairness_score)(model, X) == fair
    bare = X.reset_index(drop=True)
    asked = {"estimator": model, "prot_attr": "sex", "priv_group": "M"}
    unfair = model.predict(X) != model.predict(
        X.assign(**flags(1 - male, names, dtype))
    )
    expected = unfair[male == 0].mean() - unfair[male == 1].mean()
    assert individual_unfairness_difference(bare, **asked) == pytest.approx(expected)
    given = Similarity(vary=["race", "sex"])
    assert certified_fairness_score(bare, estimator=model, similarity=given) == fair
    for found in (
        FATTClassifier(random_state=0).fit(X, y),
        FATTClassifier(similarity=given, random_state=0).fit(bare, y),
    ):
        assert len(found.schema_.find("sex").columns) == 2
        assert found.fairness_ == fair_share(found, X, flags(1 - male, names, dtype))


def test_one_flag_alone_is_the_attribute() -> None:
    X, y, male = people(sex_M=lambda male: male)
    model = tree(X, y)
    fair = fair_share(model, X, {"sex_M": 1 - male})
    assert certified_fairness_score(X, estimator=model) == fair < 0.5


@pytest.mark.parametrize("position", [False, True])
def test_one_flag_of_several_is_not(position: bool) -> None:
    X, y, male = people()
    X = X.assign(**flags(male, ("sex_Female", "sex_Male")))
    model = tree(X, y)
    for table in (X, X.reset_index(drop=True)):
        prot_attr = [0, 3] if position else ["race", "sex_Male"]
        with pytest.raises(SpecError, match=ONE_FLAG):
            certified_fairness_score(table, estimator=model, prot_attr=prot_attr)
        with pytest.raises(SpecError, match=ONE_FLAG):
            FATTClassifier(prot_attr).fit(table, y)


def test_one_flag_of_several_in_a_dataset() -> None:
    X, y, male = people()
    table = X.assign(**flags(male, ("sex_Female", "sex_Male")), loan=y)
    dataset = BinaryLabelDataset(
        df=table.reset_index(drop=True).astype(float),
        label_names=["loan"],
        protected_attribute_names=["race", "sex_Male"],
    )
    table = pd.DataFrame(dataset.features, columns=dataset.feature_names)
    model = tree(table, dataset.labels.ravel())
    labels = predicted(dataset, model.predict(table))
    with pytest.raises(SpecError, match=ONE_FLAG):
        IndividualFairnessMetric(dataset, labels, model=model).individual_fairness()
    with pytest.raises(SpecError, match=ONE_FLAG):
        FATT(seed=0).fit(dataset)
    schema, vary = (
        schema_of(dataset, model=model),
        Similarity(vary=["race", "sex_Male"]),
    )
    with pytest.raises(SpecError, match=ONE_FLAG):
        IndividualFairnessMetric(
            dataset, labels, model=model, schema=schema, similarity=vary
        ).individual_fairness()
    # The variable itself is found.
    other = flags(1 - male, ("sex_Female", "sex_Male"))
    fair = fair_share(model, table, other)
    both = Similarity(vary=["race", "sex"])
    metric = IndividualFairnessMetric(dataset, labels, model=model, similarity=both)
    assert metric.individual_fairness() == fair < 0.5
    trained = FATT(["race", "sex"], seed=0).fit(dataset)
    assert len(trained.model_.schema_.find("sex").columns) == 2


@pytest.mark.parametrize(
    "columns",
    [
        {"sex:Male": lambda male: male},
        {"sex.Male": lambda male: male, "sex.Female": lambda male: 1 - male},
        {"onehot__sex_Male": lambda male: male},
        {"Sex": lambda male: male},
        {"sexMale": lambda male: male},
        {"is_sex": lambda male: male},
        # A family that its own rows contradict, and one with another column among it.
        {"sex_F": lambda male: male * 0 + 1, "sex_M": lambda male: male},
        {"sex_F": lambda male: 1 - male, "sex_ratio": lambda male: 0.1 + male},
    ],
    ids="-".join,
)
def test_columns_that_may_be_the_attribute(columns: Any) -> None:
    X, y, _ = people(**columns)
    names = ", ".join(map(repr, columns))
    with pytest.raises(SpecError, match=re.escape(f"may be read in {names}.")):
        certified_fairness_score(X, estimator=tree(X, y))
    with pytest.raises(SpecError, match=re.escape(f"may be read in {names}.")):
        FATTClassifier().fit(X, y)


@pytest.mark.parametrize(
    "column",
    [
        lambda male: male,
        lambda male: 1 - male,
        lambda male: np.where(male, 7.5, -2),
        lambda male: np.where(male, "m", "f"),
        lambda male: np.where(male, 1.0, np.nan),
        # Finer than the attribute.
        lambda male: 3 * male + np.arange(len(male)) % 3,
    ],
)
def test_a_column_with_the_attribute_s_values(column: Any) -> None:
    X, y, male = people(kind=column)
    with pytest.raises(SpecError, match="goes together in these rows with 'kind'"):
        FATTClassifier().fit(X, y)
    numbers = people(kind=lambda male: 5 - male)[0]
    with pytest.raises(SpecError, match="goes together in these rows with 'kind'"):
        certified_fairness_score(numbers, estimator=tree(numbers, y))
    with pytest.raises(SpecError, match="rows with 'x0'"):
        certified_fairness_score(
            np.column_stack([male, X.income]),
            estimator=tree(np.column_stack([male, X.income]), y),
            prot_attr=[1, pd.Series(male, name="sex")],
        )


def test_an_attribute_that_the_model_does_not_read() -> None:
    X, y, _ = people()
    model, said = tree(X, y), r"'sex' does not vary: .* What varies: 'race'\."
    with pytest.warns(UserWarning, match=said):
        score = certified_fairness_score(X, estimator=model)
    assert score == fair_share(model, X, {})
    with pytest.warns(UserWarning, match=said):
        FATTClassifier(max_iter=1).fit(X, y)
    with pytest.raises(SpecError, match=r"none of the protected attributes \('sex'\)"):
        certified_fairness_score(X, estimator=model, prot_attr="sex")


def test_an_attribute_in_two_columns() -> None:
    X, y, male = people(sex=lambda male: male, sex_Male=lambda male: male)
    told = r"'sex' may vary, and in these rows it goes together with 'sex_Male'"
    with pytest.raises(SpecError, match=told):
        certified_fairness_score(X, estimator=tree(X, y))
    with pytest.raises(SpecError, match=told):
        FATTClassifier(["sex"]).fit(X, y)
    # A column of another meaning is none.
    X, y, male = people(
        sex=lambda male: male, sex_ratio=lambda male: np.sin(range(400))
    )
    fair = fair_share(tree(X, y), X, {"sex": 1 - male})
    assert certified_fairness_score(X, estimator=tree(X, y)) == fair < 0.5


@pytest.mark.parametrize(
    ("named", "copy"),
    [
        ("sex_Male", {"sex": lambda male: male}),
        ("sex_Male", {"sexFemale": lambda male: 1 - male}),
        ("sex", {"is_male": lambda male: male}),
        ("sex", {"gender": lambda male: np.where(male, "m", "f")}),
        ("gender", {"sex": lambda male: 7 - 2 * male}),
        # Finer than the attribute, and called after it or it after this.
        ("sex_Male", {"sex": lambda male: 3 * male + np.arange(400) % 3}),
    ],
    ids=["column", "flag", "is", "word", "number", "finer"],
)
def test_a_copy_that_stays_the_same(named: str, copy: Any) -> None:
    X, y, _ = people(**{named: lambda male: male}, **copy)
    (other,) = copy
    told = f"'{named}' may vary, and in these rows it goes together with '{other}',"
    with pytest.raises(SpecError, match=told):
        FATTClassifier([named]).fit(X, y)
    if X[other].dtype.kind != "O" and pd.api.types.is_numeric_dtype(X[other]):
        # The model splits on the copy alone.
        model = tree(X.assign(**{named: 0}), y)
        with pytest.raises(SpecError, match=told):
            certified_fairness_score(X, estimator=model, prot_attr=named)
        # Whoever says what varies is asked about nothing else.
        alone = Similarity(vary=[named])
        given = {"estimator": model, "similarity": alone}
        assert certified_fairness_score(X, **given) == 1.0


def test_one_flag_of_several_beside_a_column_of_their_name() -> None:
    X, y, male = people(sex=lambda male: male)
    X = X.assign(**flags(male, ("sex_Female", "sex_Male")))
    model = tree(X.assign(sex=0, sex_Male=0), y)
    for rows in (X, X[:1], X[male == 1], X.drop(columns="sex")[male == 0]):
        if "sex" not in rows:
            model = tree(X.drop(columns="sex").assign(sex_Male=0), y)
        with pytest.raises(SpecError, match=ONE_FLAG):
            certified_fairness_score(rows, estimator=model, prot_attr="sex_Male")


def test_a_level_without_a_name() -> None:
    X, y, _ = people(kind=lambda male: male)
    X.index = X.index.set_names(["race", None])
    with pytest.raises(SpecError, match="level 1 of the index of X has no name"):
        certified_fairness_score(X, estimator=tree(X, y))
    with pytest.raises(SpecError, match="level 1 of the index of X has no name"):
        FATTClassifier().fit(X, y)
    both = certified_fairness_score(X, estimator=tree(X, y), prot_attr=["race", "kind"])
    assert both < 0.5


def test_names_and_values_that_mean_nothing() -> None:
    X, y, male = people(sex=lambda male: male)
    model = tree(X, y)
    for prot_attr in (["race", male], male, ["race", None], ("race", "sex"), True):
        with pytest.raises(SpecError, match="without a name"):
            certified_fairness_score(X, estimator=model, prot_attr=prot_attr)
    with pytest.raises(SpecError, match="prot_attr names 'gender'"):
        certified_fairness_score(X, estimator=model, prot_attr=["race", "gender"])
    with pytest.raises(SpecError, match=r"\(none is named\)"):
        certified_fairness_score(X, estimator=model, prot_attr=[])
    # Levels and columns may be numbers.
    numbers = X.set_axis([0, 1, 2], axis=1).set_axis(X.index.set_names([0, 2]))
    plain = tree(X.to_numpy(), y)
    score = certified_fairness_score(numbers, estimator=plain)
    assert score == certified_fairness_score(X, estimator=model) < 0.5


def test_a_given_schema_is_what_counts() -> None:
    X, y, male = people()
    X = X.assign(**flags(male, ("sex_F", "sex_M")))
    model = tree(X, y)
    plain = Schema.infer(load(model), X)
    with pytest.raises(SpecError, match="look like one variable 'sex'"):
        certified_fairness_score(X, estimator=model, schema=plain)
    joined = Schema.infer(load(model), X, one_hot=["sex"])
    score = certified_fairness_score(X, estimator=model, schema=joined)
    assert score == fair_share(model, X, flags(1 - male, ("sex_F", "sex_M")))
