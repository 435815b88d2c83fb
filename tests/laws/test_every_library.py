"""Every library and loss: verdicts held to all similar people, asked of the library.

Numbers, some of them missing, categories, and a union of similarities; cuts and
tolerances at probabilities and predictions that occur, and at the floats beside them.
"""

from __future__ import annotations

import functools
import itertools
import platform
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import fatt
from fatt import Similarity
from fatt.ensemble.allowed import Allowed
from tests.importers import onnx_builder
from tests.oracles import still_fair

_TOWNS = ["a", "b", "c", "d"]
_FEW: dict[str, Any] = {"n_estimators": 6, "max_depth": 3}
_LIGHT: dict[str, Any] = {
    **_FEW,
    "min_child_samples": 1,
    "min_data_per_group": 1,
    "min_data_in_bin": 1,
    "verbose": -1,
    "n_jobs": 1,
}
_CAT: dict[str, Any] = {
    "iterations": 5,
    "depth": 3,
    "learning_rate": 0.5,
    "max_ctr_complexity": 1,
    "verbose": 0,
    "thread_count": 1,
    "allow_writing_files": False,
}
_DIRECTIONS: tuple[Any, ...] = (None, "not lower", "not higher")


class Kind(NamedTuple):
    """A model to be fitted.

    Attributes
    ----------
    make
        Returns it.
    towns
        How it takes categories: ``"category"``, ``"text"`` or not.
    gaps
        Whether it takes missing numbers.
    target
        What it is fitted to: ``"any"`` numbers, ``"positive"`` ones, those in the
        ``"unit"`` interval, or how many classes.
    """

    make: Callable[[], Any]
    towns: str = ""
    gaps: bool = False
    target: str | int = "any"


def _sklearn(name: str, **options: Any) -> Any:
    import sklearn.ensemble
    import sklearn.tree

    module = sklearn.tree if hasattr(sklearn.tree, name) else sklearn.ensemble
    return getattr(module, name)(random_state=0, **options)


def _library(name: str, **options: Any) -> Any:
    import catboost
    import lightgbm
    import xgboost

    if name.startswith("XGB"):
        categories = {"enable_categorical": True, "n_jobs": 1}
        return getattr(xgboost, name)(**_FEW, **categories, **options)
    if name.startswith("LGBM"):
        return getattr(lightgbm, name)(**{**_LIGHT, **options})
    return getattr(catboost, name)(**_CAT, cat_features=["town"], **options)


def _of(name: str, **options: Any) -> Callable[[], Any]:
    is_foreign = name.startswith(("XGB", "LGBM", "CatBoost"))
    return functools.partial(_library if is_foreign else _sklearn, name, **options)


def _numbers() -> dict[str, Kind]:
    found = {}
    both = ("category", True)
    for loss, target in {
        "reg:absoluteerror": "any",
        "reg:squaredlogerror": "positive",
        "reg:gamma": "positive",
        "reg:tweedie": "positive",
        "count:poisson": "positive",
        "reg:logistic": "unit",
    }.items():
        found[loss] = Kind(_of("XGBRegressor", objective=loss), *both, target)
    far = {"objective": "reg:pseudohubererror", "huber_slope": 9.0}
    found["xgboost huber"] = Kind(_of("XGBRegressor", **far), *both)
    found["xgboost dart"] = Kind(_of("XGBRegressor", booster="dart"), *both)
    found["xgboost quantile"] = Kind(
        _of("XGBRegressor", objective="reg:quantileerror", quantile_alpha=0.4), *both
    )
    for loss in ("huber", "fair", "quantile", "mape", "regression_l1"):
        found[f"lightgbm {loss}"] = Kind(_of("LGBMRegressor", objective=loss), *both)
    for loss in ("poisson", "gamma", "tweedie"):
        kind = Kind(_of("LGBMRegressor", objective=loss), *both, "positive")
        found[f"lightgbm {loss}"] = kind
    sampled = {"boosting_type": "rf", "subsample": 0.7, "subsample_freq": 1}
    found["lightgbm rf"] = Kind(_of("LGBMRegressor", **sampled), *both)
    found["lightgbm dart"] = Kind(_of("LGBMRegressor", boosting_type="dart"), *both)
    for loss in ("RMSE", "MAE", "Quantile"):
        make = _of("CatBoostRegressor", loss_function=loss)
        found[f"catboost {loss}"] = Kind(make, "text", True)
    if platform.machine() in {"x86_64", "AMD64"}:
        make = _of("CatBoostRegressor", loss_function="Poisson")
        found["catboost Poisson"] = Kind(make, "text", True, "positive")
    hist: dict[str, Any] = {"max_iter": 6, "min_samples_leaf": 2}
    name = "HistGradientBoostingRegressor"
    found["hist absolute_error"] = Kind(_of(name, loss="absolute_error", **hist), *both)
    found["hist poisson"] = Kind(_of(name, loss="poisson", **hist), *both, "positive")
    for loss in ("huber", "absolute_error", "quantile"):
        make = _of("GradientBoostingRegressor", **_FEW, loss=loss)
        found[f"boosted {loss}"] = Kind(make)
    found["bagging"] = Kind(_of("BaggingRegressor", n_estimators=4))
    found["forest"] = Kind(_of("RandomForestRegressor", **_FEW), gaps=True)
    found["exp"] = Kind(lambda: _transformed(np.log, np.exp), target="positive")
    found["expm1"] = Kind(lambda: _transformed(np.log1p, np.expm1), target="positive")
    found["onnx"] = Kind(lambda: _Exported(_sklearn("RandomForestRegressor", **_FEW)))
    found["onnx 5"] = Kind(_VersionFive)
    return found


def _classes() -> dict[str, Kind]:
    both = ("category", True)
    hist: dict[str, Any] = {"max_iter": 6, "min_samples_leaf": 2}
    sampled = {"boosting_type": "rf", "subsample": 0.7, "subsample_freq": 1}
    steep: dict[str, Any] = {"learning_rate": 40.0}
    return {
        "xgboost": Kind(_of("XGBClassifier"), *both, 2),
        "xgboost dart": Kind(_of("XGBClassifier", booster="dart"), *both, 2),
        "xgboost steep": Kind(_of("XGBClassifier", **steep), *both, 2),
        "lightgbm": Kind(_of("LGBMClassifier"), *both, 2),
        "lightgbm rf": Kind(_of("LGBMClassifier", **sampled), *both, 2),
        "lightgbm steep": Kind(_of("LGBMClassifier", **steep), *both, 2),
        "catboost": Kind(_of("CatBoostClassifier"), "text", True, 2),
        "hist": Kind(_of("HistGradientBoostingClassifier", **hist), *both, 2),
        "boosted steep": Kind(
            _of("GradientBoostingClassifier", **_FEW, **steep), target=2
        ),
        "exponential": Kind(
            _of("GradientBoostingClassifier", **_FEW, loss="exponential"), target=2
        ),
        "tree": Kind(_of("DecisionTreeClassifier", max_depth=3), gaps=True, target=2),
        "forest": Kind(_of("RandomForestClassifier", **_FEW), gaps=True, target=2),
        "extra trees": Kind(_of("ExtraTreesClassifier", **_FEW), target=2),
        "bagging": Kind(_of("BaggingClassifier", n_estimators=4), target=2),
        "adaboost": Kind(_of("AdaBoostClassifier", n_estimators=6), target=2),
        "adaboost of 3": Kind(_of("AdaBoostClassifier", n_estimators=6), target=3),
        "votes": Kind(_voting, target=2),
        "forest of 3": Kind(_of("RandomForestClassifier", **_FEW), target=3),
        "sigmoid": Kind(lambda: _calibrated("sigmoid"), target=2),
        "isotonic": Kind(lambda: _calibrated("isotonic"), target=2),
        "onnx": Kind(
            lambda: _Exported(_sklearn("RandomForestClassifier", **_FEW)), target=2
        ),
        "onnx boosted": Kind(
            lambda: _Exported(_sklearn("GradientBoostingClassifier", **_FEW)), target=2
        ),
    }


def _transformed(there: Any, back: Any) -> Any:
    from sklearn.compose import TransformedTargetRegressor

    inner = _sklearn("GradientBoostingRegressor", **_FEW)
    return TransformedTargetRegressor(inner, func=there, inverse_func=back)


def _voting() -> Any:
    members = [
        ("tree", _sklearn("DecisionTreeClassifier", max_depth=3)),
        ("forest", _sklearn("RandomForestClassifier", **_FEW)),
    ]
    from sklearn.ensemble import VotingClassifier

    return VotingClassifier(members, voting="soft")


def _calibrated(method: str) -> Any:
    from sklearn.calibration import CalibratedClassifierCV

    inner = _sklearn("GradientBoostingClassifier", **_FEW)
    return CalibratedClassifierCV(inner, method=method, ensemble=False, cv=2)


class _Session:
    """What onnxruntime answers about a table."""

    def __init__(self, proto: Any) -> None:
        import onnxruntime

        self.proto = proto
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        self._session = onnxruntime.InferenceSession(
            proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )

    def outputs(self, table: Any) -> list[Any]:
        cells = np.asarray(table, dtype=np.float32)
        return list(self._session.run(None, {"X": cells}))


class _Exported:
    """A model of scikit-learn, as an ONNX file has it."""

    def __init__(self, fitted: Any) -> None:
        self._fitted = fitted

    def fit(self, table: Any, target: Any) -> _Exported:
        from skl2onnx import convert_sklearn
        from skl2onnx.common.data_types import FloatTensorType

        fitted = self._fitted.fit(table.to_numpy(np.float32), target)
        types = [("X", FloatTensorType([None, table.shape[1]]))]
        is_classifier = hasattr(fitted, "classes_")
        options = {id(fitted): {"zipmap": False}} if is_classifier else None
        proto = convert_sklearn(fitted, initial_types=types, options=options)
        self._session = _Session(proto)
        self.model = proto
        return self

    def predict(self, table: Any) -> Any:
        return np.ravel(self._session.outputs(table)[0])

    def predict_proba(self, table: Any) -> Any:
        return self._session.outputs(table)[1]


class _VersionFive:
    """A TreeEnsemble of version 5 that predicts a number."""

    def fit(self, table: Any, _: Any) -> _VersionFive:
        from onnx import TensorProto, helper

        rng = np.random.default_rng(0)
        split, leaf = onnx_builder.Split, onnx_builder.Leaf
        trees = [
            split(
                str(rng.choice(["LEQ", "LT", "GTE", "GT"])),
                0,
                float(rng.integers(1, 5)),
                leaf([(0, float(np.float32(rng.normal())))]),
                split(
                    "LEQ",
                    1,
                    float(rng.choice([-0.5, 0.5])),
                    leaf([(0, float(np.float32(rng.normal())))]),
                    leaf([(0, float(np.float32(rng.normal())))]),
                ),
            )
            for _ in range(5)
        ]
        proto = onnx_builder.ensemble(trees, 1)
        del proto.graph.node[1:], proto.graph.output[:], proto.graph.initializer[:]
        scores = helper.make_tensor_value_info("scores", TensorProto.FLOAT, [None, 1])
        proto.graph.output.append(scores)
        self._session, self.model = _Session(proto), proto
        return self

    def predict(self, table: Any) -> Any:
        return np.ravel(self._session.outputs(table)[0])


class Asked(NamedTuple):
    """A fitted model, its people, and everybody who is similar to some of them."""

    fitted: Any
    model: fatt.Model
    people: Any
    rows: Any
    similarity: Any
    around: Any
    owner: NDArray[np.int64]

    def answers(self, *, place: int | None = None) -> tuple[Any, Any]:
        """Return what the library says of the rows, and of all who are similar."""
        ask = self.fitted.predict if place is None else self.fitted.predict_proba
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = [np.asarray(ask(table)) for table in (self.rows, self.around)]
        own, others = found if place is None else (one[:, place] for one in found)
        return own, others

    def judge(self, own: Any, others: Any, asked: dict[str, Any], rule: Allowed) -> int:
        """Compare all verdicts with the library's answers; return how many are fair."""
        rest = dict(asked)
        names = [name for name in ("threshold", "cuts", "strict") if name in rest]
        loaded = fatt.load(self.model, **{name: rest.pop(name) for name in names})
        if "of" in rest:
            loaded = loaded.predicting(rest.pop("of"))
        report = fatt.verify(
            loaded,
            self.rows,
            similarity=self.similarity,
            schema=fatt.Schema.infer(loaded, self.people),
            **rest,
        )
        fair = [
            bool(still_fair(mine, others[self.owner == person], rule).all())
            for person, mine in enumerate(own)
        ]
        for finding, one in zip(report.findings, fair, strict=True):
            is_open = finding.stopped == "order of sums"
            assert not is_open or not loaded.ensemble.scoring.ordered
            assert is_open or finding.verdict == ("fair" if one else "unfair"), asked
        return sum(fair)


def _table(kind: Kind, rng: np.random.Generator) -> Any:
    count = 60
    table = pd.DataFrame(
        {"age": rng.integers(0, 6, count), "debt": rng.integers(-2, 3, count) / 1.0}
    )
    if kind.gaps:
        table["debt"] = table["debt"].mask(rng.random(count) < 0.25)
    if kind.towns:
        towns = rng.choice(_TOWNS, count)
        is_text = kind.towns == "text"
        table["town"] = towns if is_text else pd.Categorical(towns, categories=_TOWNS)
    return table


def _asked(kind: Kind) -> Asked:
    rng = np.random.default_rng(7)
    people = _table(kind, rng)
    score = people["age"] * 2.0 + people["debt"].fillna(1.5) + rng.normal(size=60)
    if kind.towns:
        score += (
            people["town"].astype(str).map(dict(zip(_TOWNS, range(4), strict=True)))
        )
    target = score.to_numpy()
    if isinstance(kind.target, int):
        ends = np.quantile(target, np.arange(1, kind.target) / kind.target)
        target = np.digitize(target, ends)
    elif kind.target == "positive":
        target = np.exp(target / 4)
    elif kind.target == "unit":
        target = (target > target.mean()) * 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = kind.make().fit(people, target)
    given = getattr(fitted, "model", fitted)
    names = {"columns": list(people.columns)} if given is not fitted else {}
    model = fatt.load(given, **names)
    near = Similarity(
        noise={"age": 1},
        vary={"town": "any" if kind.towns == "text" else "known"} if kind.towns else [],
        missing=["debt"] if kind.gaps else [],
    )
    older = Similarity(noise={"age": "+2", "debt": 1}, where={"age": "<= 3"})
    rows = people[:10].reset_index(drop=True)
    cuts = model.ensemble.thresholds(1)
    cuts = cuts[np.isfinite(cuts)]
    debts = np.concatenate([cuts, np.nextafter(cuts, np.inf), [-9.0, 9.0]])
    parts = [_similar(kind, row, debts) for row in rows.itertuples(index=False)]
    around = pd.concat([pd.DataFrame(part, columns=people.columns) for part in parts])
    around = around.astype(people.dtypes.to_dict()).reset_index(drop=True)
    owner = np.repeat(np.arange(len(parts)), [*map(len, parts)])
    return Asked(fitted, model, people, rows, near | older, around, owner)


def _similar(kind: Kind, row: Any, debts: NDArray[np.float64]) -> list[Any]:
    """List somebody of every cell around a person, by the definition."""
    debt = [row.debt]
    if kind.gaps:
        debt = [*debts.tolist(), row.debt] if np.isnan(row.debt) else debt
        debt = [*debt, np.nan]
    ages = range(row.age - 1, row.age + 2)
    # CatBoost takes any text.
    anywhere = [*_TOWNS, "elsewhere"] if kind.towns == "text" else _TOWNS
    towns = [anywhere] if kind.towns else []
    found = list(itertools.product(ages, debt, *towns))
    if row.age <= 3:
        ends = [row.debt - 1, row.debt, row.debt + 1]
        inside = debts[np.abs(debts - row.debt) <= 1].tolist()
        mine = [[row.town]] if kind.towns else []
        ages = range(row.age, min(row.age + 2, 3) + 1)
        found += itertools.product(ages, {*ends, *inside}, *mine)
    return found


def _beside(numbers: Any) -> list[float]:
    """Return a number in the middle of some, and floats next to it."""
    finite = np.unique(np.asarray(numbers)[np.isfinite(numbers)])
    one = finite[len(finite) // 2]
    below = np.nextafter(one, one.dtype.type(-np.inf))
    # Which a library of float32 compares as if it were the number itself.
    return [float(one), float(below), float(np.nextafter(float(one), np.inf))]


NUMBERS, CLASSES = _numbers(), _classes()


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(name: str) -> None:
    asked = _asked(NUMBERS[name])
    own, others = asked.answers()
    wide, rest = own.astype(np.float64), others.astype(np.float64)
    gaps = np.abs(rest - wide[asked.owner])
    limits = _beside(gaps[gaps > 0])
    counts = set()
    for limit, direction in zip(limits, itertools.cycle(_DIRECTIONS), strict=False):
        rule = Allowed(tolerance=limit, direction=direction)
        how = {"tolerance": limit, "direction": direction}
        counts.add(asked.judge(wide, rest, how, rule))
    rule = Allowed(tolerance=0.25, relative=True)
    counts.add(asked.judge(wide, rest, {"tolerance": "25%"}, rule))
    assert counts != {0}
    assert counts != {len(wide)}
    for strict, end in zip((False, True, False), _beside(others), strict=True):
        over = np.greater if strict else np.greater_equal
        codes = [over(one, one.dtype.type(end)).astype(int) for one in (own, others)]
        how = {"cuts": {"low": -np.inf, "high": end}, "strict": strict}
        asked.judge(*codes, how, Allowed())


@pytest.mark.parametrize("name", CLASSES)
def test_classes(name: str) -> None:
    asked = _asked(CLASSES[name])
    loaded = asked.model
    last = loaded.classes[-1]
    own, others = asked.answers(place=len(loaded.classes) - 1)
    pos_label = {} if len(loaded.classes) == 2 else {"pos_label": last}
    if loaded.link is None:
        with pytest.raises(fatt.errors.SpecError, match="gives no probability"):
            fatt.load(loaded, threshold=0.4, **pos_label)
        return
    several = len(loaded.classes) > 2
    counts = set()
    ends = [*_beside(others), 0.0, 0.5, 1.0]
    for strict, end in zip(itertools.cycle((False, True, True)), ends, strict=False):
        over = np.greater if strict else np.greater_equal
        codes = [over(one, one.dtype.type(end)).astype(int) for one in (own, others)]
        cut = asked._replace(
            model=fatt.load(loaded, threshold=end, strict=strict, **pos_label)
        )
        if 0 < end < 1:
            counts.add(cut.judge(*codes, {}, Allowed()))
        how: dict[str, Any] = {"direction": "not lower", "favorable": last}
        if end in {0.5, 1.0}:
            cut.judge(*codes, how, Allowed(direction="not lower", favorable=last))
    assert counts != {0}
    assert counts != {len(own)}
    if name == "isotonic":
        return
    wide, rest = own.astype(np.float64), others.astype(np.float64)
    gaps = np.abs(rest - wide[asked.owner])
    limits = [*_beside(gaps[(gaps > 0) & (gaps < 0.9)]), 0.0]
    for limit, direction in zip(limits, itertools.cycle(_DIRECTIONS), strict=False):
        rule = Allowed(tolerance=limit, direction=direction)
        how = {"tolerance": limit, "direction": direction}
        asked.judge(wide, rest, how | ({"of": last} if several else {}), rule)
