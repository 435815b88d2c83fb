"""Everybody there can be, by the definition: all pairs of people of small spaces.

Models of every library, every kind of relation, and thresholds at numbers that occur
and at the floats beside them. ``FATT_EFFORT=100`` draws a hundred times as many.
"""

from __future__ import annotations

import itertools
import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import fatt
from fatt import Budget, Similarity, Space
from fatt.ensemble import Argmax, Prediction
from fatt.errors import FattError
from fatt.region import Integer, Number
from tests.laws.effort import for_seeds
from tests.laws.test_every_library import _TOWNS, CLASSES, NUMBERS, Kind, _table

KINDS = {**NUMBERS, **CLASSES}
#: In one kind of model rounding takes probabilities up and down.
NAMES = [name for name in KINDS if name != "isotonic"]


class Town(NamedTuple):
    """A small space, all people of it that a model tells apart, and who is similar."""

    fitted: Any
    model: fatt.Model
    similarity: Any
    space: Space
    grid: Any
    similar: NDArray[np.bool_]

    def ask(self, method: str) -> NDArray[Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.asarray(getattr(self.fitted, method)(self.grid))

    def apart(self, numbers: NDArray[Any], direction: str | None) -> NDArray[Any]:
        """Return how far apart all two similar people are."""
        change = numbers[np.newaxis] - numbers[:, np.newaxis]
        if direction is None:
            change = np.abs(change)
        elif direction == "not lower":
            change = -change
        return np.where(self.similar[:, :, np.newaxis], change, -np.inf)


def _fitted(kind: Kind, rng: np.random.Generator) -> tuple[Any, fatt.Model, Any]:
    people = _table(kind, rng)
    weights = rng.normal(size=2) * 2
    score = people["age"] * weights[0] + people["debt"].fillna(1.5) * weights[1]
    score += rng.normal(size=len(people))
    if kind.towns:
        worth = dict(zip(_TOWNS, rng.normal(size=4) * 3, strict=True))
        score += people["town"].astype(str).map(worth)
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
    return fitted, fatt.load(given, **names), people


def _alternative(kind: Kind, rng: np.random.Generator) -> dict[str, Any]:
    """Draw what one similarity says."""
    noise: dict[str, Any] = {}
    said: dict[str, Any] = {"noise": noise}
    if rng.random() < 0.7:
        noise["age"] = [1, 2, "+2", "-1", "0..2"][rng.integers(5)]
    elif rng.random() < 0.5:
        said["vary"] = {"age": "known"}
    if rng.random() < 0.6:
        noise["debt"] = [1, 0.5, "+1.5", "-1..0.5"][rng.integers(4)]
    if kind.towns and rng.random() < 0.6:
        towns = "known" if rng.random() < 0.6 else ["a", "c"]
        said.setdefault("vary", {})["town"] = towns
    if kind.gaps and rng.random() < 0.4:
        said["missing"] = ["debt"]
    if rng.random() < 0.3:
        said["where"] = {"age": ["<= 3", "> 1"][rng.integers(2)]}
    if not noise and "vary" not in said and "missing" not in said:
        noise["age"] = 1
    return said


def _near(amount: Any, own: Any, other: Any) -> Any:
    """Tell by the definition whether numbers are similar."""
    if isinstance(amount, str) and ".." in amount:
        low, high = map(float, amount.split(".."))
        both = (low <= own) & (own <= high) & (low <= other) & (other <= high)
        return both | (own == other)
    below = above = abs(float(amount))
    if isinstance(amount, str):
        below, above = (0.0, above) if amount[0] == "+" else (below, 0.0)
    return (own - below <= other) & (other <= own + above)


def _similar(said: dict[str, Any], grid: Any) -> NDArray[np.bool_]:
    """Tell by the definition who of all people is similar to whom."""
    found = np.ones((len(grid), len(grid)), dtype=bool)
    vary, missing = said.get("vary", {}), said.get("missing", [])
    for name in ("age", "debt"):
        numbers = grid[name].to_numpy(np.float64)
        own, other = numbers[:, np.newaxis], numbers[np.newaxis]
        absent = np.isnan(own) & np.isnan(other)
        fits = own == other
        if name in vary:
            fits = ~np.isnan(own) & ~np.isnan(other)
        elif name in said["noise"]:
            fits = _near(said["noise"][name], own, other)
        if name in missing:
            fits = fits | np.isnan(own) | np.isnan(other)
        found &= fits | absent
    if "town" in grid:
        towns = grid["town"].astype(str).to_numpy()
        fits = towns[:, np.newaxis] == towns
        if "town" in vary:
            among = vary["town"]
            some = np.isin(towns, towns if among == "known" else among)
            fits = fits | (some[:, np.newaxis] & some)
        found &= fits
    if "where" in said:
        age = grid["age"].to_numpy()
        met = age <= 3 if said["where"]["age"] == "<= 3" else age > 1
        found &= met[:, np.newaxis] & met
    return found


def _town(name: str, rng: np.random.Generator) -> Town | None:
    kind = KINDS[name]
    try:
        fitted, model, people = _fitted(kind, rng)
    except FattError:
        # A calibrator may turn the order of scores around.
        return None
    alternatives = [_alternative(kind, rng) for _ in range(rng.integers(1, 3))]
    similarity: Any = Similarity(**alternatives[0])
    for said in alternatives[1:]:
        similarity = similarity | Similarity(**said)
    space = Space(
        {"age": Integer(lower=0, upper=5), "debt": Number(lower=-2, upper=2)},
        missing=["debt"] if kind.gaps else [],
        where={"age": "<= 2"} if rng.random() < 0.3 else None,
    )
    cuts = model.ensemble.thresholds(1)
    cuts = cuts[np.isfinite(cuts)]
    debts = np.concatenate([cuts, np.nextafter(cuts, np.inf), [-2, -1, 0, 0.5, 2]])
    for said in alternatives:
        amount = said["noise"].get("debt")
        if amount is not None and ".." not in str(amount):
            step = abs(float(amount))
            debts = np.concatenate([debts, debts - step, debts + step])
    debts = np.unique(debts[(debts >= -2) & (debts <= 2)])
    if len(debts) > 40:
        return None
    gaps = [np.nan] if kind.gaps else []
    towns = [*_TOWNS, *["elsewhere"] * (kind.towns == "text")]
    cells = (range(6), [*debts.tolist(), *gaps], *([towns] if kind.towns else []))
    grid = pd.DataFrame(list(itertools.product(*cells)), columns=people.columns)
    grid = grid.astype(people.dtypes.to_dict())
    similar = np.any([_similar(said, grid) for said in alternatives], axis=0)
    if space.where:
        similar &= grid["age"].to_numpy()[:, np.newaxis] <= 2
    return Town(fitted, model, similarity, space, grid, similar)


def _numbers(town: Town) -> dict[Any, NDArray[np.float64]]:
    """Return all numbers of which gaps can be asked, as the library gives them."""
    ensemble = town.model.ensemble
    scores = ensemble.raw_scores(town.grid).astype(np.float64)
    found: dict[Any, NDArray[np.float64]] = {"score": scores}
    if isinstance(ensemble.decision, Prediction):
        answers = town.ask("predict").astype(np.float64)
        found["prediction"] = answers.reshape(-1, 1)
    elif ensemble.link is not None and ensemble.link.is_monotone:
        answers = town.ask("predict_proba").astype(np.float64)
        found["probability"] = answers[:, 1:] if scores.shape[1] == 1 else answers
    return found


def _beside(number: float, rng: np.random.Generator) -> float:
    ends = (number, np.nextafter(number, np.inf), np.nextafter(number, -np.inf))
    return float(ends[rng.integers(3)])


@for_seeds(12)
def test_largest_gaps(seed: int) -> None:
    rng = np.random.default_rng(seed)
    town = _town(NAMES[seed % len(NAMES)], rng)
    if town is None:
        return
    auditor = fatt.Auditor(
        town.model, similarity=town.similarity, schema=town.space.schema_of(town.model)
    )
    is_ordered = town.model.ensemble.scoring.ordered
    for of, numbers in _numbers(town).items():
        direction: Any = [None, "not lower", "not higher"][rng.integers(3)]
        truth = max(0.0, float(town.apart(numbers, direction).max()))
        size = max(float(np.ptp(numbers)), 1e-12)
        budget = Budget(nodes=int(rng.integers(30))) if rng.random() < 0.3 else None
        found = auditor.largest_gap(
            town.space,
            of=of,
            direction=direction,
            tolerance=size * 1e-3,
            budget=budget,
        )
        rounding = 0.0 if is_ordered else 1e-5 * size
        assert found.bounds.lower - rounding <= truth <= found.bounds.upper + rounding
        if budget is None and found.bounds.lower > 0:
            assert found.bounds.upper - found.bounds.lower <= size * 1.001e-3
        if found.pair is not None:
            gap = abs(found.pair.after - found.pair.before)
            assert gap == found.bounds.lower


@for_seeds(12)
def test_existence(seed: int) -> None:
    rng = np.random.default_rng(seed)
    town = _town(NAMES[seed % len(NAMES)], rng)
    if town is None:
        return
    ensemble = town.model.ensemble
    is_linked = isinstance(ensemble.decision, Argmax) and (
        ensemble.decision.link != "identity"
    )

    def asked(truth: Any, is_fixed: bool, **question: Any) -> None:
        found = fatt.exists_unfair(
            town.model, town.space, similarity=town.similarity, **question
        )
        assert found.is_known or not is_fixed
        assert not found.is_known or (found.pair is not None) == bool(truth), question

    is_fixed = ensemble.scoring.ordered
    if not isinstance(ensemble.decision, Prediction):
        labels = town.ask("predict")
        differ = labels[:, np.newaxis] != labels
        asked((town.similar & differ).any(), is_fixed and not is_linked)
    numbers = _numbers(town)
    number = numbers.get("prediction", numbers.get("probability"))
    if number is None or number.shape[1] > 2:
        return
    number = number[:, -1:]
    gaps = town.apart(number, None)[:, :, 0]
    is_steep = bool(np.ptp(numbers["score"]) > 100)
    for _ in range(2):
        gap = _beside(rng.choice(gaps[gaps > -np.inf]), rng)
        if gap > 0:
            asked((gaps >= gap).any(), is_fixed and not is_steep, gap=gap)
        low, high = sorted(_beside(one, rng) for one in rng.choice(number[:, 0], 2))
        if low < high:
            lower, higher = number[:, 0] <= low, number[:, 0] >= high
            crossed = lower[:, np.newaxis] & higher
            truth = town.similar & (crossed | crossed.T)
            asked(truth.any(), is_fixed, between=(low, high))
