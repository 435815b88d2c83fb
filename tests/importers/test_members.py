"""What fitted objects hold: what is not known is refused by name, never ignored."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

import fatt
from fatt.errors import MalformedModelError, ModelError, UnsupportedModelError
from fatt.importers.sklearn import members
from tests.laws.effort import EFFORT

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "age": RNG.integers(18, 90, 80).astype(float),
        "debt": RNG.normal(size=80),
        "sex": RNG.choice(["F", "M"], 80),
        "job": RNG.choice(["a", "b", "c"], 80),
    }
)
TABLE.loc[::9, "age"] = np.nan
LABELS = ((TABLE["debt"] > 0) ^ (TABLE["sex"] == "F")).astype(int).to_numpy()
NUMBERS = TABLE[["age", "debt"]].fillna(40.0)


def pipeline() -> Pipeline:
    numbers = make_pipeline(
        SimpleImputer(add_indicator=True),
        StandardScaler(),
        MinMaxScaler(),
        RobustScaler(),
        MaxAbsScaler(),
    )
    columns = ColumnTransformer(
        [
            ("numbers", numbers, ["age"]),
            ("bins", KBinsDiscretizer(3, encode="onehot-dense"), ["debt"]),
            ("sex", OneHotEncoder(sparse_output=False), ["sex"]),
            ("job", OrdinalEncoder(), ["job"]),
        ]
    )
    return make_pipeline(columns, FunctionTransformer(), DecisionTreeClassifier())


def hist() -> Any:
    model = HistGradientBoostingClassifier(
        max_iter=3, categorical_features="from_dtype"
    )
    return model.fit(TABLE.astype({"sex": "category", "job": "category"}), LABELS)


MODELS: dict[str, Callable[[], Any]] = {
    "tree": lambda: DecisionTreeClassifier().fit(NUMBERS, LABELS),
    "extra tree": lambda: ExtraTreeClassifier().fit(NUMBERS, LABELS),
    "forest": lambda: RandomForestClassifier(3).fit(NUMBERS, LABELS),
    "extra trees": lambda: ExtraTreesClassifier(3).fit(NUMBERS, LABELS),
    "bagging": lambda: BaggingClassifier(n_estimators=3).fit(NUMBERS, LABELS),
    "boosting": lambda: GradientBoostingClassifier(n_estimators=3).fit(NUMBERS, LABELS),
    "hist": hist,
    "pipeline": lambda: pipeline().fit(TABLE, LABELS),
}


def parts(model: Any) -> Iterator[Any]:
    """Yield a model and every estimator, transformer and tree of boosting inside."""
    yield model
    held = vars(model)
    inside = [
        *np.ravel(held.get("estimators_", [])),
        *(step for _, step in held.get("steps", [])),
        *(part for _, part, _ in held.get("transformers_", [])),
        *(predictor for stage in held.get("_predictors", []) for predictor in stage),
        *(held.get(name) for name in ("_bin_mapper", "_preprocessor", "indicator_")),
        *([held["_encoder"]] if "_encoder" in held else []),
        *([held["init_"]] if hasattr(held.get("init_"), "predict") else []),
    ]
    for part in inside:
        if hasattr(part, "__dict__"):
            yield from parts(part)


TRIED = settings(max_examples=60 * EFFORT, derandomize=True, deadline=None)

MADE = {name: make() for name, make in MODELS.items()}
PARTS = [
    (name, place)
    for name, model in MADE.items()
    for place, _ in enumerate(parts(model))
]


def part_of(name: str, place: int) -> tuple[Any, Any]:
    model = copy.deepcopy(MADE[name])
    return model, list(parts(model))[place]


def test_all_that_is_known_is_read() -> None:
    assert len(PARTS) > 40
    for model in MADE.values():
        fatt.load(model)


@TRIED
@given(
    where=st.sampled_from(PARTS),
    name=st.from_regex(r"[a-z]{1,9}_[a-z]{0,3}", fullmatch=True),
    private=st.booleans(),
)
def test_unknown_attributes_are_refused_by_name(
    where: tuple[str, int], name: str, private: bool
) -> None:
    model, part = part_of(*where)
    name = f"_{name}" if private else name.rstrip("_") + "_"
    known = members._known()
    if name in known["Any"] | known[type(part).__name__]:
        return
    setattr(part, name, np.arange(3))
    with pytest.raises(UnsupportedModelError, match=name):
        fatt.load(model)
    with pytest.raises(UnsupportedModelError, match=name):
        fatt.load(pickle.loads(pickle.dumps(model)))


def test_notes_change_nothing() -> None:
    for name, place in PARTS:
        model, part = part_of(name, place)
        part.comment = "made in May"
        assert fatt.load(model).digest == fatt.load(MADE[name]).digest


@TRIED
@given(where=st.sampled_from(PARTS), data=st.data())
def test_renamed_attributes_are_never_ignored(
    where: tuple[str, int], data: st.DataObject
) -> None:
    model, part = part_of(*where)
    fitted = [n for n in vars(part) if n.startswith("_") or n.endswith("_")]
    name = data.draw(st.sampled_from(sorted(fitted or vars(part))))
    held = vars(part)
    held[f"{name.strip('_')}_renamed_"] = held.pop(name)
    with pytest.raises(ModelError):
        fatt.load(model)


METHODS = ("predict", "predict_proba", "decision_function", "transform", "apply")


@pytest.mark.parametrize("name", MODELS)
def test_replaced_methods_are_refused_by_name(name: str) -> None:
    count = 0
    for place, _ in enumerate(parts(MADE[name])):
        for method in METHODS:
            model, part = part_of(name, place)
            if not hasattr(type(part), method):
                continue
            count += 1
            setattr(part, method, lambda X: np.zeros(len(X)))
            with pytest.raises(UnsupportedModelError, match=rf"the {method} of this"):
                fatt.load(model)
    assert count >= 3


@pytest.mark.parametrize(
    "method", ["_validate_X_predict", "__sklearn_tags__", "get_metadata_routing"]
)
def test_other_methods_decide_too(method: str) -> None:
    forest = copy.deepcopy(MADE["forest"])
    if not hasattr(type(forest), method):
        pytest.skip("an older scikit-learn")
    setattr(forest, method, lambda *_, **__: None)
    with pytest.raises(UnsupportedModelError, match=method):
        fatt.load(forest)


@pytest.mark.xgboost
@pytest.mark.parametrize("inside", [False, True])
def test_replaced_methods_of_xgboost(inside: bool) -> None:
    from xgboost import XGBClassifier

    model = XGBClassifier(n_estimators=2).fit(NUMBERS, LABELS)
    fatt.load(model)
    part = model.get_booster() if inside else model
    part.predict = lambda *_, **__: np.zeros(1)
    for broken in (model, part, make_pipeline(FunctionTransformer(), model)):
        with pytest.raises(UnsupportedModelError, match="the predict of this"):
            fatt.load(broken)


@pytest.mark.lightgbm
@pytest.mark.parametrize("inside", [False, True])
def test_replaced_methods_of_lightgbm(inside: bool) -> None:
    from lightgbm import LGBMClassifier

    model = LGBMClassifier(n_estimators=2, verbose=-1).fit(NUMBERS, LABELS)
    fatt.load(model)
    part = model.booster_ if inside else model
    part.predict = lambda *_, **__: np.zeros(1)
    for broken in (model, part, make_pipeline(FunctionTransformer(), model)):
        with pytest.raises(UnsupportedModelError, match="the predict of this"):
            fatt.load(broken)


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, StandardScaler])
def test_an_unknown_parameter_is_refused(
    kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a later version may add one, whose default need not be the old behaviour."""
    old = kind.__init__

    def made(self: Any, *, categorical_features: Any = "auto", **rest: Any) -> None:
        self.categorical_features = categorical_features
        old(self, **rest)

    model = copy.deepcopy(MADE["pipeline"])
    monkeypatch.setattr(kind, "__init__", made)
    monkeypatch.delattr(kind, "__signature__", raising=False)
    members._parameters.cache_clear()
    try:
        with pytest.raises(UnsupportedModelError, match="categorical_features"):
            fatt.load(model)
    finally:
        members._parameters.cache_clear()


class Grown:
    """Stands for the tree of a version that has more to say than today's."""

    __slots__ = ("_made",)

    def __init__(self, tree: Any, state: dict[str, Any], *more: Any) -> None:
        kind, arguments, _ = tree.__reduce__()
        self._made = kind, (*arguments, *more), state

    def __reduce__(self) -> Any:
        return self._made


def with_field(nodes: Any, name: str, kind: str, old: str | None = None) -> Any:
    """Return nodes with a field more, or with another one in its place."""
    fields = [
        (field, nodes.dtype[field]) for field in nodes.dtype.names if field != old
    ]
    grown = np.zeros(nodes.shape, dtype=[*fields, (name, kind)])
    for field, _ in fields:
        grown[field] = nodes[field]
    return grown


def tree_of(name: str) -> tuple[Any, Any]:
    model = copy.deepcopy(MADE[name])
    member = model
    if name not in {"tree", "extra tree"}:
        member = np.ravel(model.estimators_)[0]
    return model, member


PLAIN = ["tree", "extra tree", "forest", "extra trees", "bagging", "boosting"]


@pytest.mark.parametrize("name", PLAIN)
def test_unknown_fields_of_nodes_are_refused(name: str) -> None:
    """As scikit-learn 1.10 stores splits by category beside a threshold of -inf."""
    model, member = tree_of(name)
    state = member.tree_.__reduce__()[2]
    nodes = state["nodes"]
    for old in [None, *nodes.dtype.names]:
        grown = with_field(nodes, "left_cat_bitset", "u8", old)
        other = copy.copy(member)
        other.tree_ = Grown(member.tree_, {**state, "nodes": grown})
        with pytest.raises(UnsupportedModelError, match="left_cat_bitset"):
            fatt.load(holding(model, member, other))
        if old is not None:
            less = np.array(nodes[[n for n in nodes.dtype.names if n != old]])
            other.tree_ = Grown(member.tree_, {**state, "nodes": less})
            with pytest.raises(MalformedModelError, match=old):
                fatt.load(holding(model, member, other))


@pytest.mark.parametrize("name", PLAIN)
def test_unknown_members_of_trees_are_refused(name: str) -> None:
    model, member = tree_of(name)
    state = member.tree_.__reduce__()[2]

    class Wider(Grown):
        n_categories = 3

    for tree, what in (
        (Wider(member.tree_, state), "n_categories"),
        (Grown(member.tree_, {**state, "cat_bitsets": 1}), "cat_bitsets"),
        (Grown(member.tree_, state, [3]), "made of 4"),
    ):
        other = copy.copy(member)
        other.tree_ = tree
        with pytest.raises(UnsupportedModelError, match=what):
            fatt.load(holding(model, member, other))
    other = copy.copy(member)
    other.tree_ = Grown(member.tree_, state)
    with pytest.raises(MalformedModelError, match="of type Grown"):
        fatt.load(holding(model, member, other))


def holding(model: Any, old: Any, new: Any) -> Any:
    """Return the model with another member in the place of an old one."""
    if model is old:
        return new
    model = copy.copy(model)
    members_ = copy.copy(model.estimators_)
    if isinstance(members_, np.ndarray):
        members_[0, 0] = new
    else:
        members_[0] = new
    model.estimators_ = members_
    return model


@pytest.mark.parametrize("name", PLAIN)
def test_a_split_at_minus_infinity_is_refused(name: str) -> None:
    model, member = tree_of(name)
    kind, arguments, state = member.tree_.__reduce__()
    for place, found in ((0, -np.inf), (0, np.inf)):
        tree = kind(*arguments)
        nodes = state["nodes"].copy()
        nodes["threshold"][place] = found
        tree.__setstate__({**state, "nodes": nodes})
        other = copy.copy(member)
        other.tree_ = tree
        changed = holding(model, member, other)
        if found > 0:
            # Splits of missing values from all others have this threshold.
            rows = NUMBERS.to_numpy()
            assert (fatt.load(changed).predict(rows) == changed.predict(NUMBERS)).all()
            continue
        with pytest.raises(UnsupportedModelError, match="minus infinity"):
            fatt.load(changed)


def test_unknown_fields_of_histogram_boosting_are_refused() -> None:
    nodes = MADE["hist"]._predictors[0][0].nodes
    for old in [None, *nodes.dtype.names]:
        model = copy.deepcopy(MADE["hist"])
        model._predictors[0][0].nodes = with_field(nodes, "linear", "f8", old)
        with pytest.raises(UnsupportedModelError, match="linear"):
            fatt.load(model)


@pytest.mark.parametrize("name", ["tree", "forest", "boosting", "hist"])
def test_files_are_guarded_too(name: str, tmp_path: Path) -> None:
    model = copy.deepcopy(MADE[name])
    path = tmp_path / "model.skops"
    skops.io.dump(model, path)
    fatt.load(path)
    last = list(parts(model))[-1]
    last.categories_left_ = np.arange(3)
    skops.io.dump(model, path)
    with pytest.raises(UnsupportedModelError, match="categories_left_"):
        fatt.load(path)
    pickled = tmp_path / "model.pkl"
    pickled.write_bytes(pickle.dumps(model))
    with pytest.raises(UnsupportedModelError, match="categories_left_"):
        fatt.load(pickled, allow_pickle=True)
