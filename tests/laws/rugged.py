"""Cases that the search must really branch for: many small trees over few variables.

The trees share their variables and disagree, so that the sum of their best leaves is
far above any score. The decision is then moved to the highest score that occurs, to the
number beside it, or a little below: what is to be found is one point, or none.
"""

from __future__ import annotations

from dataclasses import replace

import msgspec
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
from tests.cases import Case, join
from tests.search_oracles import as_read, cells_of, points_of

Floats = NDArray[np.float64]
Rng = np.random.Generator

Row = tuple[int, float, int, int, bool, int]

#: Kinds of leaves: exact steps, floats that round, one class per leaf, sums far beyond
#: and far below one, both at once, and margins at which a sigmoid is nearly flat.
LEAVES = ("steps", "rough", "votes", "huge", "tiny", "mixed", "steep")


def rugged_case(seed: int, *, leaves: str | None = None, large: bool = False) -> Case:
    """Draw a case with one person.

    Parameters
    ----------
    seed
        Decides everything.
    leaves
        Kind of leaves, one of `LEAVES`; any if None.
    large
        Whether to draw more trees, over more variables.
    """
    rng = np.random.default_rng(seed)
    leaves = leaves or str(rng.choice(LEAVES))
    features = _features(rng, 8 if large else int(rng.integers(4, 7)), large)
    n_trees = int(rng.integers(80, 120)) if large else int(rng.integers(6, 22))
    levels = [3, 3, 4] if large else [0, 1, 2, 2, 2, 3, 3]
    ensemble = _ensemble(rng, features, n_trees, levels, leaves)
    person = _person(rng, ensemble)
    boxes = _boxes(rng, ensemble, person)
    points = np.concatenate(
        [
            chunk
            for box in range(len(boxes))
            for chunk in points_of(cells_of(ensemble, boxes, box))
        ]
    )
    ensemble = _on_the_edge(rng, ensemble, points)
    return Case(ensemble, person[np.newaxis], boxes)


def _features(rng: Rng, count: int, large: bool) -> tuple[Feature, ...]:
    """Few cells each, so that brute force sees all of them."""
    found: list[Feature] = []
    for index in range(count):
        kind = 0 if large else int(rng.integers(5))
        name = f"f{index}"
        if kind <= 1:
            found.append(Numeric(name=name, accepts_missing=kind == 1))
        elif kind == 2:
            found.append(Numeric(name=name, edges=(0.5, 1.5, 2.5)))
        elif kind == 3:
            found.append(Numeric(name=name, integer=True, missing_range=(1.0, 1.0)))
        else:
            names = tuple("abcd"[: rng.integers(2, 5)])
            found.append(Categorical(name=name, categories=names, accepts_missing=True))
    return tuple(found)


def _ensemble(
    rng: Rng,
    features: tuple[Feature, ...],
    n_trees: int,
    levels: list[int],
    leaves: str,
) -> Ensemble:
    rows: list[Row] = []
    sets: list[NDArray[np.bool_]] = []
    roots = []
    for _ in range(n_trees):
        roots.append(len(rows))
        _grow(rng, features, rows, sets, int(rng.choice(levels)))
    columns = [list(column) for column in zip(*rows, strict=True)]
    names = ("feature", "threshold", "left", "right", "missing_left", "subset")
    n_outputs = int(rng.choice([1, 1, 2, 3]))
    if leaves in {"votes", "steep"}:
        n_outputs = max(n_outputs, 2)
    is_vector = n_outputs > 1 and (leaves == "votes" or bool(rng.integers(2)))
    dtype = str(rng.choice(["float32", "float64"]))
    shape = (len(rows), n_outputs if is_vector else 1)
    trees = Trees.lay_out(
        **dict(zip(names, columns, strict=True)),
        roots=roots,
        sets=sets,
        leaf=np.arange(len(rows)),
        values=_values(rng, leaves, shape).astype(dtype),
        targets=np.full(n_trees, -1) if is_vector else np.arange(n_trees) % n_outputs,
    )
    link = "sigmoid" if leaves == "steep" else "identity"
    if n_outputs > 1 and leaves == "rough" and rng.integers(2):
        link = "softmax"
    return Ensemble(
        features=features,
        classes=tuple(range(max(2, n_outputs))),
        trees=trees,
        scoring=Scoring(
            dtype=dtype,  # type: ignore[arg-type]
            base=(0.0,) * n_outputs,
            base_last=bool(rng.integers(2)),
            divisor=float(rng.choice([1.0, 1.0, 1.0, n_trees])),
            ordered=link != "identity" or n_trees > 50 or bool(rng.random() < 0.9),
        ),
        decision=Cut(at=0.0)
        if n_outputs == 1
        else Argmax(
            link=link,  # type: ignore[arg-type]
            ties=str(rng.choice(["first", "last"])),  # type: ignore[arg-type]
        ),
        source=Source(library="random"),
    )


def _grow(
    rng: Rng,
    features: tuple[Feature, ...],
    rows: list[Row],
    sets: list[NDArray[np.bool_]],
    depth: int,
) -> None:
    """Add a tree of so many levels, the root first."""
    here = len(rows)
    rows.append((-1, 0.0, -1, -1, False, -1))
    if depth == 0:
        return
    index = int(rng.integers(len(features)))
    feature, subset = features[index], -1
    if isinstance(feature, Categorical) or feature.edges:
        subset = len(sets)
        sets.append(rng.random(feature.n_codes) < 0.5)
    threshold = 0.0 if subset >= 0 else float(rng.choice([0.0, 1.0, 2.0]))
    missing_left = bool(rng.integers(2))
    left = len(rows)
    _grow(rng, features, rows, sets, depth - 1)
    right = len(rows)
    _grow(rng, features, rows, sets, depth - 1)
    rows[here] = (index, threshold, left, right, missing_left, subset)


def _values(rng: Rng, leaves: str, shape: tuple[int, int]) -> Floats:
    if leaves == "votes":
        return np.eye(shape[1])[rng.integers(shape[1], size=shape[0])]
    if leaves == "rough":
        return rng.normal(size=shape)
    steps = rng.integers(-16, 17, size=shape) / 8.0
    if leaves == "mixed":
        return np.where(rng.random(shape) < 0.3, steps * 2.0**24, steps / 3)
    steep = float(rng.choice([1.0, 3.0, 6.0]))
    return (
        steps * {"steps": 1.0, "huge": 1e34, "tiny": 2.0**-140, "steep": steep}[leaves]
    )


def _person(rng: Rng, ensemble: Ensemble) -> Floats:
    person = np.zeros(len(ensemble.features))
    for index, feature in enumerate(ensemble.features):
        if not isinstance(feature, Categorical):
            person[index] = rng.choice([1.0, 2.0])
        if feature.accepts_missing and rng.random() < 0.2:
            person[index] = np.nan
    return person


def _boxes(rng: Rng, ensemble: Ensemble, person: Floats) -> Boxes:
    """Return one to three boxes, most variables free; some with ends at infinity."""
    words = code_words(ensemble.features)
    parts = []
    for _ in range(int(rng.choice([1, 1, 2, 3]))):
        shape = (1, len(person))
        lower, upper = np.zeros(shape), np.zeros(shape)
        missing = np.zeros(shape, dtype=bool)
        codes = np.zeros((1, words[-1]), dtype=np.uint64)
        for index, feature in enumerate(ensemble.features):
            own, is_free = person[index], bool(rng.random() < 0.85)
            missing[0, index] = np.isnan(own) or (is_free and feature.accepts_missing)
            if isinstance(feature, Categorical):
                kept = (rng.random(feature.n_codes - 1) < 0.9) & is_free
                kept[0] |= own == 0
                for code in np.flatnonzero(kept).tolist():
                    codes[0, words[index]] |= np.uint64(1 << code)
                continue
            ends = [(0.0, 3.0), (-np.inf, np.inf), (1.0, np.inf), (0.0, 2.0)]
            alone = (np.inf, -np.inf) if np.isnan(own) else (own, own)
            lower[0, index], upper[0, index] = (
                ends[rng.integers(len(ends))] if is_free else alone
            )
        parts.append(Boxes(np.array([0]), lower, upper, missing, codes))
    return join(parts)


def _on_the_edge(rng: Rng, ensemble: Ensemble, points: Floats) -> Ensemble:
    """Move the decision to where few points win, or none."""
    scores = ensemble._scores(as_read(ensemble, points)).astype(np.float64)
    if isinstance(ensemble.decision, Cut):
        ordered = np.unique(scores[:, 0])
        low, high = ordered[0], ordered[-1]
        near = [
            high,
            np.nextafter(high, np.inf),
            ordered[max(len(ordered) - 2, 0)],
            low,
            np.nextafter(low, np.inf),
        ]
        at = float(rng.choice(near)) + 0.0
        return replace(ensemble, decision=Cut(at=at))
    # Class 0 wins nearly everywhere; the others get as far as a tie, or one step more.
    scores = scores * ensemble.scoring.divisor
    base = np.zeros(scores.shape[1])
    unit = float(np.abs(ensemble.trees.values).max()) / 16 or 1.0
    for rival in range(1, len(base)):
        lead = float((scores[:, rival] - scores[:, 0]).max())
        base[rival] = -lead + unit * float(rng.choice([-1.0, 0.0, 0.0, 1.0]))
    base = base.astype(ensemble.scoring.dtype).astype(np.float64)
    scoring = msgspec.structs.replace(
        ensemble.scoring, base=tuple((base + 0.0).tolist())
    )
    return replace(ensemble, scoring=scoring)
