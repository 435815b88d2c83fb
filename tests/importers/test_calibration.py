"""scikit-learn's calibrated classifiers: its probabilities, to the last bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.model_selection import (
    FixedThresholdClassifier,
    TunedThresholdClassifierCV,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fatt
from fatt.ensemble import Isotonic, Link
from fatt.ensemble.cutoff import turn
from fatt.errors import SpecError, UnsupportedModelError
from fatt.importers.versions import release
from tests.laws.effort import for_seeds
from tests.repairs.town import MODELS, people

TABLE, LABEL = people(150)
METHODS = ("sigmoid", "isotonic")
# Since SciPy 1.18 lines in float32, which XGBoost's scores are, are drawn otherwise.
SINGLES = release(scipy.__version__) < (1, 18)


def noisy(seed: int = 0) -> Any:
    """Answers that a model of the others is wrong about here and there."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random(len(LABEL)) < 0.3, 0, LABEL)


def assert_same(fitted: Any) -> fatt.Model:
    model = fatt.load(fitted)
    expected = fitted.predict(TABLE).tolist()
    assert model.predict(TABLE).tolist() == model.ask(TABLE) == expected
    return model


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", MODELS)
def test_one_calibrator(kind: str, method: str) -> None:
    inner = MODELS[kind]().fit(TABLE[:80], LABEL[:80])
    truth, rng = noisy(), np.random.default_rng(0)
    calibrated = CalibratedClassifierCV(FrozenEstimator(inner), method=method)
    given = calibrated.fit(TABLE, truth).predict_proba(TABLE)
    if method == "isotonic" and kind.startswith("XGB") and not SINGLES:
        with pytest.raises(UnsupportedModelError, match="float32"):
            fatt.load(calibrated)
        return
    model = assert_same(calibrated)
    assert np.array_equal(model.predict_proba(TABLE), given)
    assert np.array_equal(model.ask_proba(TABLE), given)
    some = rng.choice(np.unique(given[:, 1]), 3)
    for threshold in [*some, *np.nextafter(some, 0), *np.nextafter(some, 1), 0.5]:
        if 0 <= threshold <= 1:
            cut = model.deciding(threshold=float(threshold))
            expected = (given[:, 1] >= threshold).astype(int).tolist()
            assert cut.predict(TABLE).tolist() == cut.ask(TABLE) == expected
    assert_same(FixedThresholdClassifier(calibrated, threshold=0.3).fit(TABLE, truth))
    around = CalibratedClassifierCV(
        make_pipeline(StandardScaler(), MODELS[kind]()),
        method=method,
        ensemble=False,
        cv=2,
    )
    assert_same(around.fit(TABLE, truth))
    report = fatt.verify(calibrated, TABLE, similarity=fatt.Similarity(noise=0.1))
    assert report.asked.people == len(TABLE)


def test_lines_in_float32_are_refused_where_scipy_draws_them_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def calibrated(kind: str) -> CalibratedClassifierCV:
        inner = FrozenEstimator(MODELS[kind]().fit(TABLE, LABEL))
        return CalibratedClassifierCV(inner, method="isotonic").fit(TABLE, noisy())

    single, double = calibrated("XGBoost"), calibrated("RandomForest")
    monkeypatch.setattr(scipy, "__version__", "1.18.0")
    with pytest.raises(UnsupportedModelError, match=r"float32.*SciPy before 1\.18"):
        fatt.load(single)
    assert_same(double)
    monkeypatch.setattr(scipy, "__version__", "1.17.1")
    fatt.load(single)


def test_around_and_inside_of_others(tmp_path: Path) -> None:
    forest = MODELS["RandomForest"]()
    calibrated = CalibratedClassifierCV(forest, method="isotonic", ensemble=False, cv=2)
    piped = make_pipeline(StandardScaler(), calibrated).fit(TABLE, noisy())
    model = assert_same(piped)
    model.save(tmp_path / "model.fatt")
    again = fatt.load(tmp_path / "model.fatt")
    assert again == model
    assert np.array_equal(again.predict_proba(TABLE), piped.predict_proba(TABLE))
    tuned = TunedThresholdClassifierCV(calibrated, cv=2).fit(TABLE, noisy())
    assert_same(tuned)


@pytest.mark.parametrize("method", METHODS)
def test_in_skops_files(method: str, tmp_path: Path) -> None:
    skops = pytest.importorskip("skops.io")
    forest = MODELS["RandomForest"]()
    calibrated = CalibratedClassifierCV(forest, method=method, ensemble=False, cv=2)
    skops.dump(calibrated.fit(TABLE, noisy()), tmp_path / "model.skops")
    model = fatt.load(tmp_path / "model.skops")
    assert np.array_equal(model.predict_proba(TABLE), calibrated.predict_proba(TABLE))


def drawn(seed: int) -> tuple[IsotonicRegression, Isotonic]:
    """A fitted calibrator, and how fatt reads it."""
    rng = np.random.default_rng(seed)
    dtype = rng.choice([np.float32, np.float64]) if SINGLES else np.float64
    x = rng.choice([rng.random(40), rng.normal(size=40) ** 5, np.exp(-rng.random(40))])
    x = np.append(x, x[: rng.integers(0, 5)]).astype(dtype)
    y = (rng.random(len(x)) < rng.choice([0.5, x.clip(0, 1).mean()])).astype(dtype)
    fitted = IsotonicRegression(out_of_bounds="clip").fit(x, y)
    points = fitted.X_thresholds_.tolist(), fitted.y_thresholds_.tolist()
    read = Isotonic(x=tuple(points[0]), y=tuple(points[1]), single=dtype == np.float32)
    return fitted, read


def near(read: Isotonic) -> Any:
    """The points, their neighbours, and numbers between and beyond them."""
    x = np.array(read.x, dtype=np.float32 if read.single else np.float64)
    middle = x[:-1] + (x[1:] - x[:-1]) * x.dtype.type(0.3)
    line = [x, middle, x[:1] - 1, x[-1:] + 1]
    for start in (x, middle):
        for end in (-np.inf, np.inf):
            step = start
            for _ in range(3):
                step = np.nextafter(step, x.dtype.type(end))
                line.append(step)
    return np.unique(np.concatenate(line))


@for_seeds(100)
def test_isotonic_functions_to_the_last_bit(seed: int) -> None:
    fitted, read = drawn(seed)
    numbers = near(read)
    assert np.array_equal(read(numbers), fitted.predict(numbers).astype(np.float64))
    one = [float(read(numbers[i : i + 1])[0]) for i in range(len(numbers))]
    assert one == read(numbers).tolist()


@for_seeds(60)
def test_cuts_of_isotonic_functions(seed: int) -> None:
    """Each cut is right for all numbers around all points, or is refused."""
    _, read = drawn(seed)
    if not read.is_sound():
        return
    numbers = near(read)
    rng = np.random.default_rng(seed)
    link = Link(function=rng.choice(["identity", "sigmoid"]), calibration=read)
    if link.function == "sigmoid":
        numbers = np.unique(rng.normal(size=200) * 3).astype(numbers.dtype)
    made = link(numbers)
    for value in rng.choice(made, 5):
        for limit in (value, np.nextafter(value, 0), np.nextafter(value, 1)):
            try:
                at = turn(
                    lambda s, limit=limit: link(s) >= limit, link, numbers.dtype.type
                )
            except SpecError:
                rises = made[np.argmax(made >= limit) :] >= limit
                assert not rises.all() or link.function == "sigmoid"
                continue
            assert np.array_equal(made >= limit, numbers >= at)


def test_a_line_that_ends_too_high_is_no_cut() -> None:
    """Just before the second point the line is above it, by a last bit."""
    for seed in range(1000):
        # Close to zero, floats are finer than what is left of them in differences.
        rng = np.random.default_rng(seed)
        high, higher = np.sort(rng.random(2)).tolist()
        read = Isotonic(x=(-rng.random(), 1e-9, 1.0), y=(0.0, high, higher))
        joint = np.nextafter(read.x[1], 0.0)
        top = read(np.array([joint]))[0]
        if top > high:
            break
    else:
        pytest.fail("no such line was found")
    link = Link(calibration=read)
    assert not link.is_monotone
    with pytest.raises(SpecError, match="up and down"):
        turn(lambda s: link(s) >= top, link, np.float64)
    at = turn(lambda s: link(s) >= read.y[1], link, np.float64)
    assert at <= joint


def test_calibrators_that_are_refused() -> None:
    inner = MODELS["RandomForest"]().fit(TABLE, LABEL)
    calibrated = CalibratedClassifierCV(FrozenEstimator(inner)).fit(TABLE, 1 - LABEL)
    with pytest.raises(UnsupportedModelError, match="turns the order"):
        fatt.load(calibrated)
    calibrated.fit(TABLE, noisy())
    calibrated.calibrated_classifiers_[0].method = "temperature"
    with pytest.raises(UnsupportedModelError, match="'temperature'; fatt follows"):
        fatt.load(calibrated)
    averaged = CalibratedClassifierCV(inner, cv=3).fit(TABLE, LABEL)
    with pytest.raises(UnsupportedModelError, match=r"averages 3.*ensemble=False"):
        fatt.load(averaged)
    with pytest.raises(NotFittedError):
        fatt.load(CalibratedClassifierCV(inner))
    table, label = people(60, n_classes=3)
    several = CalibratedClassifierCV(inner, cv=2, ensemble=False).fit(table, label)
    with pytest.raises(UnsupportedModelError, match="3 classes, and divides"):
        fatt.load(several)


def test_isotonic_calibrators_that_are_refused() -> None:
    inner = MODELS["RandomForest"]().fit(TABLE, LABEL)
    calibrated = CalibratedClassifierCV(FrozenEstimator(inner), method="isotonic")
    calibrated.fit(TABLE, noisy())
    [[calibrator]] = [c.calibrators for c in calibrated.calibrated_classifiers_]
    for name, value, reason in (
        ("out_of_bounds", "nan", "does not keep to its ends"),
        ("X_max_", np.float64(0.7), "does not keep to its ends"),
        ("y_thresholds_", -calibrator.y_thresholds_, "does not rise"),
        ("y_thresholds_", calibrator.y_thresholds_ * 1.5, "above 1"),
        ("y_thresholds_", calibrator.y_thresholds_[1:], "does not rise"),
    ):
        kept = getattr(calibrator, name)
        setattr(calibrator, name, value)
        with pytest.raises(UnsupportedModelError, match=reason):
            fatt.load(calibrated)
        setattr(calibrator, name, kept)
    assert_same(calibrated)
