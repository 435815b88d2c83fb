"""Objects that contradict themselves or cannot be followed, each by its sentence."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn._loss.link import LogitLink
from sklearn._loss.loss import HalfBinomialLoss, HalfPoissonLoss
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import (
    BaggingClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.feature_selection import SelectKBest
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import fatt
from fatt.ensemble import Numeric
from fatt.ensemble.joint import Operation, Read
from fatt.errors import (
    MalformedModelError,
    ModelError,
    SpecError,
    UnsupportedModelError,
)
from fatt.importers import registry
from fatt.importers.columns import joints
from fatt.importers.files import pickles
from fatt.importers.sklearn import calibration, wrappers

# category_encoders still sets an option that pandas 3 warns of.
pytestmark = pytest.mark.filterwarnings("ignore:.*no_silent_downcasting")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = (X[:, 0] > 0).astype(int)
Y3 = np.digitize(X[:, 1], [-0.5, 0.5])
SMALL: dict[str, Any] = {"max_depth": 2, "random_state": 0}
TREE = DecisionTreeClassifier(**SMALL).fit(X, Y)
PEOPLE = pd.DataFrame({"sex": list("FM") * 30, "age": X[:, 0], "pay": X[:, 1]})


def changed(model: Any, **values: Any) -> Any:
    """Return a copy with other fitted attributes; ``a.b`` is one of a part."""
    model = copy.deepcopy(model)
    for path, value in values.items():
        *way, last = path.split(".")
        part = model
        for name in way:
            part = getattr(part, name)
        setattr(part, last, value)
    return model


def without(model: Any, name: str) -> Any:
    model = copy.deepcopy(model)
    delattr(model, name)
    return model


BOOSTED = GradientBoostingClassifier(n_estimators=2, **SMALL).fit(X, Y)
BOOSTED_NUMBER = GradientBoostingRegressor(n_estimators=2, **SMALL).fit(X, X[:, 0])
FOREST = RandomForestClassifier(3, **SMALL).fit(X, Y)
BAGGED = BaggingClassifier(DecisionTreeClassifier(**SMALL), 2).fit(X, Y)
VOTE = VotingClassifier([("one", TREE), ("two", FOREST)], voting="soft").fit(X, Y)
SIGMOID = CalibratedClassifierCV(BOOSTED, ensemble=False, cv=3).fit(X, Y)
HIST = HistGradientBoostingClassifier(max_iter=2).fit(X, Y)
HIST_NUMBER = HistGradientBoostingRegressor(max_iter=2).fit(X, X[:, 0])
PAIR = DecisionTreeRegressor(max_depth=2).fit(X, X[:, :2])


def with_part(stages: Any, part: Any) -> Any:
    stages = stages.copy()
    stages[0, 0] = part
    return stages


def categories() -> Any:
    frame = PEOPLE.assign(sex=PEOPLE["sex"].astype("category"))
    model = HistGradientBoostingClassifier(max_iter=2).fit(frame, Y)
    encoder = model._preprocessor.named_transformers_["encoder"]
    encoder.unknown_value = -1
    return model


def slope(value: float) -> Any:
    model = copy.deepcopy(SIGMOID)
    model.calibrated_classifiers_[0].calibrators[0].a_ = value
    return model


def falling() -> Any:
    """An isotonic calibrator whose line passes one half down by a last bit."""
    model = CalibratedClassifierCV(
        BOOSTED, ensemble=False, cv=3, method="isotonic"
    ).fit(X, Y)
    calibrator = model.calibrated_classifiers_[0].calibrators[0]
    calibrator.out_of_bounds = "nan"
    return model


def nodes() -> Any:
    model = copy.deepcopy(HIST)
    predictor = model._predictors[0][0]
    predictor.raw_left_cat_bitsets = predictor.raw_left_cat_bitsets.astype(np.uint64)
    return model


def thresholds_of_three() -> Any:
    tree = DecisionTreeClassifier(**SMALL).fit(X, Y)
    model = FixedThresholdClassifier(tree, threshold=0.3).fit(X, Y)
    model.estimator_ = DecisionTreeClassifier(**SMALL).fit(X, Y3)
    return model


def score_of_a_tree() -> Any:
    tree = DecisionTreeClassifier(**SMALL)
    model = FixedThresholdClassifier(tree, threshold=0.3).fit(X, Y)
    model.response_method = "decision_function"
    return model


def sparse_before(step: Any) -> Any:
    encoder = OneHotEncoder(sparse_output=True).fit(PEOPLE[["sex"]])
    made = encoder.transform(PEOPLE[["sex"]])
    step = step.fit(made.toarray(), Y)
    last = DecisionTreeClassifier(**SMALL).fit(step.transform(made.toarray()), Y)
    return Pipeline([("codes", encoder), ("step", step), ("tree", last)])


def wrong_width() -> Any:
    return Pipeline([("few", SelectKBest(k=2).fit(X, Y)), ("tree", TREE)])


def other_places() -> Any:
    columns = ColumnTransformer([("a", StandardScaler(), ["age", "pay"])]).fit(PEOPLE)
    tree = DecisionTreeClassifier(**SMALL).fit(columns.transform(PEOPLE), Y)
    columns.output_indices_["a"] = slice(0, 5)
    return Pipeline([("columns", columns), ("tree", tree)])


def no_numbers() -> Any:
    scaler = StandardScaler().fit(X)
    scaler.mean_[0] = np.nan
    return Pipeline([("scaler", scaler), ("tree", TREE)])


def other_bins() -> Any:
    bins = KBinsDiscretizer(3, encode="ordinal", strategy="uniform").fit(X)
    bins.encode = "thermometer"
    return Pipeline([("bins", bins), ("tree", TREE)])


def columns_in_two_ways() -> Any:
    few = DecisionTreeClassifier(**SMALL).fit(X[:, :2], Y)
    return changed(VOTE, estimators_=[TREE, few])


def frames_in_two_ways() -> Any:
    named = RandomForestClassifier(2, **SMALL).fit(
        pd.DataFrame(X, columns=["a", "b", "c"]), Y
    )
    return changed(VOTE, estimators_=[TREE, named])


def of_lightgbm(**values: Any) -> Any:
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMClassifier(n_estimators=2, verbose=-1).fit(X, Y)
    for name, value in values.items():
        setattr(model, name, value)
    return model


def class_of_lightgbm(classes: Any) -> Any:
    model = of_lightgbm()
    model._le.classes_ = np.array(classes, dtype=object)
    model._classes = model._le.classes_
    model._n_classes = len(classes)
    return model


OBJECTS: dict[str, Callable[[], Any]] = {
    r"lacks a part that its library gives it": lambda: without(
        HIST, "_baseline_prediction"
    ),
    "calibrator holds no finite numbers": lambda: slope(np.nan),
    "turns the order of the scores around": lambda: slope(0.5),
    "none that CalibratedClassifierCV makes": falling,
    "around a model of two classes that has no cut-off": lambda: CalibratedClassifierCV(
        FixedThresholdClassifier(BOOSTED, threshold=0.3), ensemble=False, cv=3
    ).fit(X, Y),
    "the model answers 2 questions at once": lambda: changed(
        BOOSTED, estimators_=with_part(BOOSTED.estimators_, PAIR)
    ),
    "not every bagged tree says which columns": lambda: changed(
        BAGGED, estimators_features_=BAGGED.estimators_features_[:1]
    ),
    "the RandomForestClassifier holds no tree": lambda: changed(FOREST, estimators_=[]),
    "the boosted model holds no table of trees": lambda: changed(
        BOOSTED, estimators_=np.empty((0, 1), dtype=object)
    ),
    "holds a DecisionTreeClassifier in place of a tree": lambda: changed(
        BOOSTED, estimators_=with_part(BOOSTED.estimators_, TREE)
    ),
    "the prior has not one probability per class": lambda: changed(
        BOOSTED, **{"init_.class_prior_": np.array([1.0])}
    ),
    "the GradientBoostingRegressor has the loss 'cubic'": lambda: changed(
        BOOSTED_NUMBER, loss="cubic"
    ),
    "does not start from one number": lambda: changed(
        BOOSTED_NUMBER, **{"init_.constant_": np.zeros((1, 2))}
    ),
    "has the loss HalfPoissonLoss": lambda: changed(BOOSTED, _loss=HalfPoissonLoss()),
    "does not fit the number of trees a stage": lambda: changed(
        GradientBoostingClassifier(n_estimators=2, **SMALL).fit(X, Y3),
        _loss=HalfBinomialLoss(),
        classes_=np.array([0, 1]),
        **{"init_.class_prior_": np.array([0.5, 0.5])},
    ),
    "with a LogitLink, which fatt does not know": lambda: changed(
        HIST_NUMBER, **{"_loss.link": LogitLink()}
    ),
    "the encoder of the categories was tampered": categories,
    "arrays have another type or shape": nodes,
    "the model names 2 columns and reads 3": lambda: changed(
        TREE, feature_names_in_=np.array(["a", "b"], dtype=object)
    ),
    "does not transform one number per row": lambda: TransformedTargetRegressor(
        DecisionTreeRegressor(**SMALL), func=np.log1p, inverse_func=np.expm1
    ).fit(X, np.abs(X[:, :1])),
    "holds a model of 3 classes, and cuts": thresholds_of_three,
    "has response_method='decision_function', which": score_of_a_tree,
    "the TunedThresholdClassifierCV is not fitted": lambda: without(
        TunedThresholdClassifierCV(TREE, cv=2).fit(X, Y), "best_threshold_"
    ),
    "answer other classes than it": lambda: changed(
        VOTE, estimators_=[TREE, DecisionTreeClassifier(**SMALL).fit(X, Y3)]
    ),
    "the models inside read their columns": columns_in_two_ways,
    "the models inside read .* in different ways": frames_in_two_ways,
    "the steps make 2 columns and the DecisionTree": wrong_width,
    "part 'a' makes 2 columns, which do not fit": other_places,
    "the step MinMaxScaler gets a sparse matrix": lambda: sparse_before(MinMaxScaler()),
    "a ColumnTransformer gets a sparse matrix": lambda: sparse_before(
        ColumnTransformer([("a", StandardScaler(), [0, 1])])
    ),
    "a scaler holds a parameter that is not": no_numbers,
    "encode='thermometer', which is not known": other_bins,
    "StandardScaler does not say how many columns": lambda: Pipeline(
        [("scaler", StandardScaler()), ("tree", TREE)]
    ),
    "the LGBMClassifier has 3 classes": lambda: class_of_lightgbm([0, 1, 2]),
    "list of classes holds .* of type": lambda: class_of_lightgbm([(1, 2), None]),
}


@pytest.mark.parametrize("said", OBJECTS)
def test_objects(said: str) -> None:
    model = OBJECTS[said]()
    with pytest.raises(ModelError, match=said):
        fatt.load(model)


def test_leaves_that_weigh_nearly_the_same() -> None:
    """Counts that differ, and whose shares in float64 do not."""
    counts = np.array([[[1.9, np.nextafter(1.9, 2), 0.39045226130653266]]])
    with pytest.raises(UnsupportedModelError, match="weigh so nearly the same"):
        pickles._turn_into_shares(counts)


def test_an_exponential_that_falls(monkeypatch: pytest.MonkeyPatch) -> None:
    """As that of another machine or another NumPy may."""
    model = TransformedTargetRegressor(
        RandomForestRegressor(2, **SMALL), func=np.log1p, inverse_func=np.expm1
    ).fit(X, np.abs(X[:, 0]))
    fatt.load(model)
    own = SimpleNamespace(**vars(np))
    own.diff = lambda line, axis: -np.ones_like(line)
    monkeypatch.setattr(wrappers, "np", own)
    with pytest.raises(UnsupportedModelError, match="NumPy's expm1 goes down"):
        fatt.load(model)


def test_arguments_that_do_not_fit(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="a model decides by the one or the other"):
        fatt.load(TREE, threshold=0.3, cuts={"no": 0.0, "yes": 0.5})
    with pytest.raises(SpecError, match="add threshold="):
        fatt.load(TREE, strict=True)
    with pytest.raises(ModelError, match=r"cannot read the model file .*No such file"):
        fatt.load(tmp_path / "model.json")
    (tmp_path / "empty.json").touch()
    with pytest.raises(MalformedModelError, match=r"the model file .* is empty"):
        fatt.load(tmp_path / "empty.json")
    (tmp_path / "codes.json").write_text('{"sex": ["F", "M"]}')
    with pytest.raises(SpecError, match="no codes; write the code of each text"):
        fatt.load(TREE, prepare=tmp_path / "codes.json")
    frame = PEOPLE.assign(sex=PEOPLE["sex"].astype("category"))
    model = HistGradientBoostingClassifier(max_iter=2).fit(frame, Y)
    with pytest.raises(SpecError, match="the model reads labels there itself"):
        fatt.load(model, prepare={"sex": {"female": 0, "male": 1}})


def test_codes_that_the_model_does_not_know() -> None:
    codes = np.column_stack([RNG.integers(0, 4, 200), RNG.normal(size=200)])
    model = HistGradientBoostingClassifier(max_iter=2, categorical_features=[0])
    model.fit(codes, codes[:, 0] > 1)
    with pytest.raises(SpecError, match=r"codes= of 'x0' names 9\.5, which the"):
        fatt.load(model, codes={"x0": {9.5: "nine"}})


def test_own_estimators_before_they_are_fitted() -> None:
    unfitted = fatt.FATTClassifier(fatt.Similarity(noise={"x0": 1}))
    with pytest.raises(UnsupportedModelError, match="FATTClassifier is not fitted"):
        fatt.load(unfitted)
    with pytest.raises(UnsupportedModelError, match="cannot import a Similarity"):
        fatt.load(fatt.Similarity(noise={"x0": 1}))


def test_tiny_numbers_in_a_sparse_matrix() -> None:
    """What is below 1e-35 is a zero to LightGBM in dense rows only."""
    lightgbm = pytest.importorskip("lightgbm")
    cells = np.where(RNG.random((200, 2)) < 0.5, 0.0, 1.0)
    encoder = OneHotEncoder(sparse_output=True).fit(cells)
    model = lightgbm.LGBMClassifier(n_estimators=2, min_child_samples=2, verbose=-1)
    made = make_pipeline(encoder, model).fit(cells, cells[:, 0] > 0)
    text = model.booster_.model_to_string()
    booster = lightgbm.Booster(model_str=text)
    fatt.load(made)
    tiny = text.replace("threshold=1.0000000180025095e-35", "threshold=1e-36")
    assert tiny != text
    start = tiny.index("tree_sizes=")
    tiny = tiny[:start] + tiny[tiny.index("\n", start) + 1 :]
    model._Booster = lightgbm.Booster(model_str=tiny)
    assert booster.num_trees() == 2
    with pytest.raises(UnsupportedModelError, match="splits tiny numbers and gets a"):
        fatt.load(made)


def test_too_many_category_sets_of_lightgbm(monkeypatch: pytest.MonkeyPatch) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    codes = RNG.integers(0, 9, size=(300, 1)).astype(float)
    model = lightgbm.LGBMClassifier(n_estimators=2, min_child_samples=2, verbose=-1)
    model.fit(codes, codes[:, 0] % 2, categorical_feature=[0])
    fatt.load(model)
    monkeypatch.setattr(registry, "SET_BITS", -(10**9))
    with pytest.raises(UnsupportedModelError, match=r"category sets .* bits together"):
        fatt.load(model)


def test_a_calibrator_around_probabilities_that_nobody_knows() -> None:
    xgboost = pytest.importorskip("xgboost")
    hinge = xgboost.XGBClassifier(n_estimators=2, objective="binary:hinge")
    model = CalibratedClassifierCV(hinge, ensemble=False, cv=3).fit(X, Y)
    with pytest.raises(UnsupportedModelError, match="of a XGBClassifier, which fatt"):
        fatt.load(model)


def test_an_isotonic_calibrator_that_falls(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one may by the last bit, at one half of all places."""
    model = CalibratedClassifierCV(BOOSTED, ensemble=False, cv=3, method="isotonic")
    model.fit(X, Y)
    fatt.load(model)

    def likelier(*_: Any) -> None:
        raise SpecError("it turns twice")

    monkeypatch.setattr(calibration, "likelier", likelier)
    with pytest.raises(UnsupportedModelError, match="goes up and down by the last bit"):
        fatt.load(model)


def test_a_label_that_one_step_refuses_and_another_knows() -> None:
    codes = OneHotEncoder(
        categories=[["F", "M", "X"]], handle_unknown="ignore", sparse_output=False
    )
    flags = MissingIndicator(missing_values="X", features="missing-only")
    columns = ColumnTransformer([("a", codes, ["sex"]), ("b", flags, ["sex"])])
    model = make_pipeline(columns, DecisionTreeClassifier(**SMALL)).fit(PEOPLE, Y)
    with pytest.raises(UnsupportedModelError, match="MissingIndicator refuses 'X'"):
        fatt.load(model)


def test_a_label_that_meets_numbers() -> None:
    products = PolynomialFeatures((2, 2), interaction_only=True, include_bias=False)
    steps = products, SimpleImputer()
    model = make_pipeline(*steps, DecisionTreeClassifier()).fit(X, Y)
    model[1].missing_values = "none"
    with pytest.raises(UnsupportedModelError, match="the label 'none' meets a column"):
        fatt.load(model)


def encoded(encoder: Any, frame: pd.DataFrame) -> Any:
    encoder.fit(frame, Y)
    tree = DecisionTreeClassifier(**SMALL).fit(encoder.transform(frame), Y)
    return Pipeline([("encoder", encoder), ("tree", tree)])


def test_encoders_that_keep_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    library = pytest.importorskip("category_encoders")
    frame = PEOPLE.assign(sex=pd.Series([None] * 60, dtype=object))
    empty = encoded(library.OrdinalEncoder(cols=["sex"]), frame)
    with pytest.raises(UnsupportedModelError, match="knows no level of its column 'se"):
        fatt.load(empty)
    frame = PEOPLE.assign(job=list("abc") * 20)[["sex", "job", "age"]]
    model = encoded(library.OrdinalEncoder(cols=["sex", "job"]), frame)
    fatt.load(model)
    own = library.OrdinalEncoder.transform

    def joined(self: Any, rows: Any, **given: Any) -> Any:
        made = own(self, rows, **given)
        return made.assign(sex=made["sex"] + 10 * made["job"])

    def computed(self: Any, rows: Any, **given: Any) -> Any:
        made = own(self, rows, **given)
        return made.assign(age=2 * made["age"])

    # As encoders of a later version might.
    for transform, said in (
        (joined, "joins columns: its output 0 is made of"),
        (computed, "computes with the column 'age', which is none of those"),
    ):
        monkeypatch.setattr(library.OrdinalEncoder, "transform", transform)
        with pytest.raises(UnsupportedModelError, match=said):
            fatt.load(model)


def test_cells_that_hang_on_other_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    library = pytest.importorskip("category_encoders")
    frame = PEOPLE.assign(job=list("abc") * 20)[["job", "age"]]
    model = encoded(library.CountEncoder(cols=["job"]), frame)
    fatt.load(model)
    own = library.CountEncoder.transform
    monkeypatch.setattr(
        library.CountEncoder,
        "transform",
        lambda self, rows, **given: own(self, rows, **given) * len(rows),
    )
    with pytest.raises(UnsupportedModelError, match="makes of a cell of 'job' depends"):
        fatt.load(model)


# What is computed of several columns


def test_products_in_another_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """As another scikit-learn may compute them."""
    powers = PolynomialFeatures(degree=2)
    model = make_pipeline(powers, DecisionTreeClassifier(**SMALL)).fit(X, Y)
    fatt.load(model)
    own = PolynomialFeatures.transform
    monkeypatch.setattr(
        PolynomialFeatures,
        "transform",
        lambda self, rows: np.nextafter(own(self, rows), np.inf),
    )
    with pytest.raises(UnsupportedModelError, match="products of PolynomialFeatures"):
        fatt.load(model)


def test_products_beyond_all_numbers() -> None:
    a, b = Read(place=0), Read(place=1)
    square = Operation(a, "*", a)
    with pytest.raises(SpecError, match="that overflows for some who are similar in"):
        joints._mapped(Operation(square, "*", b), 0, Numeric(name="a"), np.zeros(2))
    with pytest.raises(SpecError, match="a fixed part of that is infinite"):
        joints.steps_along(Operation(a, "*", b), 0, np.array([1.0, np.inf]))


def test_a_label_is_refused_where_unknown_ones_are_taken() -> None:
    table = pd.DataFrame({"colour": ["red", "green", "blue"]})
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=9)
    codes = encoder.fit_transform(table)
    logarithm = FunctionTransformer(np.log).fit(codes + 1)
    tree = DecisionTreeClassifier().fit(np.log(codes[codes[:, 0] > 0]), [0, 1])
    steps = [("encoder", encoder), ("logarithm", logarithm), ("tree", tree)]
    # The logarithm of the first code is minus infinity, which the tree refuses.
    with pytest.raises(UnsupportedModelError, match="one step refuses 'blue', and all"):
        fatt.load(Pipeline(steps))
