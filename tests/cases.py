"""Small models, people and boxes, drawn to be hard: for the laws of the verifier.

Leaves repeat and cancel, so that scores tie or differ by one rounding; cuts lie on
scores that people have; thresholds repeat; people sit on thresholds and beside them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import (
    Argmax,
    Categorical,
    Cut,
    Ensemble,
    Feature,
    Numeric,
    Scoring,
    Source,
    Trees,
)
from fatt.region import Boxes, code_words
from fatt.verdict import Findings
from tests.search_oracles import as_read, cells_of, n_points

Floats = NDArray[np.float64]
Rng = np.random.Generator

STYLES = ("fractions", "votes", "steps", "rough", "cancelling", "close")
MOST_POINTS = 3000


@dataclass(frozen=True)
class Case:
    """A model over variables, some people, and where each may move."""

    ensemble: Ensemble
    people: Floats
    boxes: Boxes


def arrays_of(found: Findings) -> dict[str, NDArray[Any]]:
    """What was found as plain arrays; twins have a row for everybody, mostly NaN."""
    twin = np.full((len(found), found.twins.people.shape[1]), np.nan)
    twin[found.twins.index] = found.twins.everybody()
    return {
        "verdict": found.verdict,
        "label": found.label.astype(np.int64),
        "labels": found.labels,
        "twin": twin,
        "nodes": found.nodes,
    }


def random_case(
    seed: int,
    *,
    style: str | None = None,
    ordered: bool | None = None,
    n_people: int = 3,
    most_points: int = MOST_POINTS,
    scale: int = 1,
    wide: bool = True,
) -> Case:
    """Draw a case.

    Parameters
    ----------
    seed
        Decides everything.
    style
        Kind of leaves, one of `STYLES`; any if None.
    ordered
        Whether the library always adds up in order; either if None.
    n_people
        Number of people.
    most_points
        Most combinations of cells in a box.
    scale
        Multiplies the number of trees.
    wide
        Whether categories may have more than 64 codes.
    """
    rng = np.random.default_rng(seed)
    ensemble = _ensemble(
        rng,
        style or str(rng.choice(STYLES)),
        bool(rng.random() < 0.8) if ordered is None else ordered,
        scale,
        wide,
    )
    people = random_people(ensemble, rng, n_people)
    if isinstance(ensemble.decision, Cut) and rng.random() < 0.7:
        ensemble = _with_cut_at_a_score(ensemble, people, rng)
    boxes = random_boxes(ensemble, people, rng, most_points=most_points)
    return Case(ensemble, people, boxes)


def _feature(rng: Rng, name: str, wide: bool) -> Feature:
    missing = bool(rng.integers(2))
    kind = rng.integers(8)
    if kind <= 1:
        return Numeric(name=name, accepts_missing=missing)
    if kind == 2:
        return Numeric(name=name, accepts_missing=missing, integer=True)
    if kind == 3:
        low = float(rng.integers(-2, 1))
        return Numeric(name=name, lower=low, upper=low + 3.0, accepts_missing=missing)
    if kind == 4:
        edges = np.unique(np.round(rng.normal(size=rng.integers(1, 7)), 1))
        return Numeric(
            name=name,
            edges=tuple((edges + 0.0).tolist()),
            accepts_missing=missing,
            integer=bool(rng.random() < 0.2),
        )
    if kind == 5:
        low = float(np.round(rng.normal(), 1))
        width = float(rng.choice([0.0, 0.5, 1.0]))
        return Numeric(
            name=name,
            missing_range=(low, low + width),
            integer=bool(rng.random() < 0.2),
        )
    few = kind == 6 or not wide
    count = int(rng.integers(1, 6)) if few else int(rng.integers(60, 140))
    return Categorical(
        name=name,
        categories=tuple(f"c{index}" for index in range(count)),
        accepts_missing=missing,
        accepts_unknown=bool(rng.integers(2)),
    )


def _threshold(rng: Rng) -> float:
    kind = rng.integers(20)
    if kind == 0:
        return float(rng.choice([-np.inf, np.inf, 0.0]))
    if kind <= 8:
        return float(rng.integers(-2, 3)) + float(rng.choice([0.0, 0.5]))
    return float(np.round(rng.normal(), int(rng.integers(1, 3)))) + 0.0


def _trees(rng: Rng, features: tuple[Feature, ...], n_trees: int) -> dict[str, Any]:
    """Draw the structure; arguments of `Trees.lay_out` without values and targets."""
    rows: list[tuple[int, float, int, int, bool, int]] = []
    sets: list[NDArray[np.bool_]] = []
    roots = []
    blank = (-1, 0.0, -1, -1, False, -1)
    for _ in range(n_trees):
        leaves = [len(rows)]
        roots.append(len(rows))
        rows.append(blank)
        for _ in range(rng.integers(0, 7)):
            node = leaves.pop(int(rng.integers(len(leaves))))
            index = int(rng.integers(len(features)))
            feature = features[index]
            is_set = isinstance(feature, Categorical) or (
                bool(feature.edges) and rng.random() < 0.7
            )
            if is_set:
                sets.append(rng.random(feature.n_codes) < rng.choice([0.1, 0.5, 0.9]))
            here = len(rows)
            rows[node] = (
                index,
                0.0 if is_set else _threshold(rng),
                here,
                here + 1,
                bool(rng.integers(2)),
                len(sets) - 1 if is_set else -1,
            )
            rows += [blank, blank]
            leaves += [here, here + 1]
    columns = [list(column) for column in zip(*rows, strict=True)] or [[]] * 6
    names = ("feature", "threshold", "left", "right", "missing_left", "subset")
    drawn: dict[str, Any] = dict(zip(names, columns, strict=True))
    return {**drawn, "roots": roots, "sets": sets, "leaf": np.arange(len(rows))}


def _values(rng: Rng, style: str, shape: tuple[int, int], dtype: str) -> NDArray[Any]:
    """Draw leaves: shares of few samples, steps that tie, or sums that cancel."""
    if style == "fractions" and shape[1] > 1:
        counts = rng.multinomial(1, [1 / shape[1]] * shape[1], size=shape[0])
        for _ in range(2):
            more = rng.multinomial(1, [1 / shape[1]] * shape[1], size=shape[0])
            counts += more * rng.integers(0, 2, size=(shape[0], 1))
        values = counts / counts.sum(axis=1, keepdims=True)
    elif style == "votes":
        values = rng.integers(0, 2, size=shape).astype(np.float64)
    elif style in {"fractions", "steps"}:
        step = float(rng.choice([0.1, 0.25, 1 / 3, 0.7, 1e-3]))
        values = step * rng.integers(-3, 4, size=shape)
    elif style == "cancelling":
        large = float(rng.choice([1e3, 2.0**24, 1e8, 2.0**53, 1e17]))
        values = rng.choice([-large, large, 1.0, -1.0, 0.1, 1 / 3, 0.0], size=shape)
    elif style == "close":
        tiny = float(rng.choice([1e-7, 1e-9, 1e-16, 1e-30, 5e-324]))
        values = float(rng.choice([0.0, 0.5, 3.0])) + tiny * rng.integers(-2, 3, shape)
    else:
        values = rng.normal(size=shape) * float(rng.choice([1e-3, 1.0, 1e3]))
    # A negative zero is rare in models, and has its own sign to lose.
    return np.where(values == 0, rng.choice([0.0, 0.0, -0.0]), values).astype(dtype)


def _ensemble(rng: Rng, style: str, ordered: bool, scale: int, wide: bool) -> Ensemble:
    names = [f"f{index}" for index in range(rng.integers(1, 5))]
    features = tuple(_feature(rng, name, wide) for name in names)
    n_outputs = int(rng.choice([1, 1, 2, 2, 3, 4]))
    if style == "fractions":
        n_outputs = max(n_outputs, 2)
    vector = n_outputs > 1 and (style in {"fractions", "votes"} or rng.random() < 0.5)
    dtype = str(rng.choice(["float32", "float64"]))
    n_trees = scale * int(rng.choice([1, 2, 3, 4, 5, 7, 8]))
    if rng.random() < 0.02:
        n_trees = 0
    drawn = _trees(rng, features, n_trees)
    shape = (len(drawn["leaf"]), n_outputs if vector else 1)
    targets = np.full(n_trees, -1) if vector else np.arange(n_trees) % n_outputs
    is_mean = style in {"fractions", "votes"} and rng.random() < 0.8
    base = np.zeros(n_outputs)
    if not is_mean and rng.random() < 0.7:
        base = _values(rng, style, (1, n_outputs), dtype)[0].astype(np.float64)
    return Ensemble(
        features=features,
        classes=tuple(f"class {index}" for index in range(max(2, n_outputs))),
        trees=Trees.lay_out(
            **drawn, values=_values(rng, style, shape, dtype), targets=targets
        ),
        scoring=Scoring(
            dtype=dtype,  # type: ignore[arg-type]
            base=tuple(base.tolist()),
            base_last=bool(rng.integers(2)),
            divisor=float(max(1, n_trees) if is_mean else rng.choice([1, 1, 1, 3, 7])),
            ordered=ordered,
        ),
        decision=_decision(rng, n_outputs, ordered),
        source=Source(library="random"),
    )


def _decision(rng: Rng, n_outputs: int, ordered: bool) -> Cut | Argmax:
    if n_outputs == 1:
        return Cut(at=float(rng.choice([0.0, 0.5, 2.0**-24, np.inf, -np.inf])))
    links = ["identity", "identity", "softmax", "sigmoid"] if ordered else ["identity"]
    return Argmax(
        link=str(rng.choice(links)),  # type: ignore[arg-type]
        scale=float(rng.choice([1.0, 0.7])),
        divisor=float(rng.choice([1.0, 1.0, 3.0])),
        ties=str(rng.choice(["first", "last"])),  # type: ignore[arg-type]
    )


def _with_cut_at_a_score(ensemble: Ensemble, people: Floats, rng: Rng) -> Ensemble:
    """Move the cut to a person's own score, or to the number below or above it."""
    score = ensemble._scores(as_read(ensemble, people))[0, 0].astype(np.float64)
    at = float(
        rng.choice([score, np.nextafter(score, -np.inf), np.nextafter(score, 9)])
    )
    return replace(ensemble, decision=Cut(at=at + 0.0))


def values_near(ensemble: Ensemble, index: int, rng: Rng) -> Floats:
    """Values of a numeric variable where models change their mind, all taken."""
    feature = ensemble.features[index]
    assert isinstance(feature, Numeric)
    cuts = np.array([*ensemble.thresholds(index), *feature.edges])
    cuts = np.append(cuts, feature.missing_range or ())
    around = [cuts, np.nextafter(cuts, np.inf), np.nextafter(cuts, -np.inf)]
    special = [0.0, -0.0, 1.0, -1e-320, 1e300, np.inf, -np.inf]
    values = np.concatenate([*around, rng.normal(size=4), special])
    if feature.integer:
        values = np.concatenate([np.floor(values), np.floor(values) + 1])
    return values[(values >= feature.lower) & (values <= feature.upper)]


def random_people(ensemble: Ensemble, rng: Rng, count: int) -> Floats:
    """Draw people as raw numbers and codes, NaN where missing."""
    people = np.empty((count, len(ensemble.features)))
    for index, feature in enumerate(ensemble.features):
        if isinstance(feature, Categorical):
            pool = np.arange(len(feature.categories) + feature.accepts_unknown)
            pool = pool.astype(np.float64)
        else:
            pool = values_near(ensemble, index, rng)
        people[:, index] = rng.choice(pool, size=count)
        if feature.accepts_missing:
            people[rng.random(count) < 0.15, index] = np.nan
    return people


def random_boxes(
    ensemble: Ensemble, people: Floats, rng: Rng, *, most_points: int = MOST_POINTS
) -> Boxes:
    """Draw one to three boxes around each person, few enough cells in each."""
    parts = []
    for row, person in enumerate(people):
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            box = _box(ensemble, person, rng, row)
            for index in rng.permutation(len(person)):
                if n_points(cells_of(ensemble, box, 0)) <= most_points:
                    break
                _fix(ensemble, box, person, int(index))
            parts.append(box)
    return join(parts)


def join(parts: list[Boxes]) -> Boxes:
    """Put boxes behind each other."""
    names = ("person", "lower", "upper", "missing", "codes")
    return Boxes(*(np.concatenate([getattr(p, name) for p in parts]) for name in names))


def pick(boxes: Boxes, chosen: Any, person: Any) -> Boxes:
    """Take some boxes, and say whose they are."""
    return Boxes(
        np.asarray(person, dtype=np.int64),
        boxes.lower[chosen],
        boxes.upper[chosen],
        boxes.missing[chosen],
        boxes.codes[chosen],
    )


def _box(ensemble: Ensemble, person: Floats, rng: Rng, row: int) -> Boxes:
    words = code_words(ensemble.features)
    shape = (1, len(person))
    lower, upper = np.zeros(shape), np.zeros(shape)
    missing = np.zeros(shape, dtype=bool)
    codes = np.zeros((1, words[-1]), dtype=np.uint64)
    stays = rng.choice([0.0, 0.3, 0.6])
    for index, feature in enumerate(ensemble.features):
        own, moves = person[index], rng.random() >= stays
        missing[0, index] = np.isnan(own) or bool(
            moves and feature.accepts_missing and rng.integers(2)
        )
        if isinstance(feature, Categorical):
            free = rng.random(feature.n_codes) < rng.choice([0.1, 0.5, 1.0])
            free &= moves
            free[-1] &= feature.accepts_unknown
            members = set(np.flatnonzero(free).tolist())
            if not np.isnan(own):
                members.add(int(own))
            for code in members:
                codes[0, words[index] + code // 64] |= np.uint64(1 << code % 64)
        else:
            near = values_near(ensemble, index, rng)
            lower[0, index], upper[0, index] = _interval(feature, own, moves, near, rng)
    return Boxes(np.array([row]), lower, upper, missing, codes)


def _interval(
    feature: Numeric, own: float, moves: bool, near: Floats, rng: Rng
) -> tuple[float, float]:
    if np.isnan(own):
        if not moves or rng.integers(2):
            return np.inf, -np.inf
        own = float(np.clip(np.round(rng.normal()), feature.lower, feature.upper))
    if not moves:
        return own, own
    kind = rng.integers(6)
    if kind == 0:
        return feature.lower, feature.upper
    if kind <= 2:
        # Ends on thresholds or beside them.
        low, high = near[near <= own], near[near >= own]
        return float(rng.choice([own, *low])), float(rng.choice([own, *high]))
    noise = float(rng.choice([0.1, 0.5, 1.0, 3.0]))
    low, high = max(own - noise, feature.lower), min(own + noise, feature.upper)
    if kind == 3:
        low = own
    if feature.integer:
        low, high = float(np.ceil(low)), float(np.floor(high))
    return low, high


def _fix(ensemble: Ensemble, box: Boxes, person: Floats, index: int) -> None:
    """Let one variable of a box stay as it is."""
    words = code_words(ensemble.features)
    for array in (box.lower, box.upper, box.missing, box.codes):
        array.setflags(write=True)
    own = person[index]
    box.missing[0, index] = np.isnan(own)
    if isinstance(ensemble.features[index], Categorical):
        box.codes[0, words[index] : words[index + 1]] = 0
        if not np.isnan(own):
            code = int(own)
            box.codes[0, words[index] + code // 64] = np.uint64(1 << code % 64)
    elif np.isnan(own):
        box.lower[0, index], box.upper[0, index] = np.inf, -np.inf
    else:
        box.lower[0, index] = box.upper[0, index] = own
