"""Random ensembles, drawn straight in the IR."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

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


def random_feature(rng: np.random.Generator, name: str) -> Feature:
    kind = rng.integers(4)
    if kind == 0:
        return Numeric(name=name)
    if kind == 1:
        edges = np.unique(rng.normal(size=rng.integers(1, 200)))
        return Numeric(name=name, edges=tuple(edges.tolist()))
    if kind == 2:
        low = float(rng.normal())
        return Numeric(name=name, missing_range=(low, low + float(rng.integers(2))))
    categories = tuple(f"c{index}" for index in range(rng.integers(1, 150)))
    return Categorical(name=name, categories=categories)


def random_trees(
    rng: np.random.Generator, features: tuple[Feature, ...], width: int, dtype: Any
) -> dict[str, Any]:
    """Arguments of `Trees.lay_out` for up to nine trees of up to thirty splits."""
    rows: list[tuple[int, float, int, int, bool, int]] = []
    sets: list[Any] = []
    roots = []
    for _ in range(rng.integers(1, 10)):
        roots.append(len(rows))
        first = len(rows)
        rows.append((-1, 0.0, -1, -1, False, -1))
        leaves = [first]
        for _ in range(rng.integers(0, 30)):
            node = leaves.pop(int(rng.integers(len(leaves))))
            index = int(rng.integers(len(features)))
            feature = features[index]
            is_set = isinstance(feature, Categorical) or (
                bool(feature.edges) and rng.random() < 0.5
            )
            if is_set:
                sets.append(rng.random(feature.n_codes) < 0.5)
            here = len(rows)
            rows[node] = (
                index,
                float(np.round(rng.normal(), int(rng.integers(4)))),
                here,
                here + 1,
                bool(rng.integers(2)),
                len(sets) - 1 if is_set else -1,
            )
            rows += [(-1, 0.0, -1, -1, False, -1)] * 2
            leaves += [here, here + 1]
    feature_column, threshold, left, right, missing_left, subset = zip(
        *rows, strict=True
    )
    values = np.round(rng.normal(size=(len(rows), width)), int(rng.integers(1, 17)))
    return {
        "roots": roots,
        "feature": feature_column,
        "threshold": threshold,
        "left": left,
        "right": right,
        "missing_left": missing_left,
        "leaf": np.arange(len(rows)),
        "values": values.astype(dtype),
        "subset": subset,
        "sets": sets,
    }


def random_ensemble(seed: int) -> Ensemble:
    rng = np.random.default_rng(seed)
    names = [f"f{index}" for index in range(rng.integers(1, 6))]
    features = tuple(random_feature(rng, name) for name in names)
    n_outputs = int(rng.integers(1, 4))
    vector = n_outputs > 1 and bool(rng.integers(2))
    dtype = str(rng.choice(["float32", "float64"]))
    drawn = random_trees(rng, features, n_outputs if vector else 1, dtype)
    n_trees = len(drawn["roots"])
    targets = np.full(n_trees, -1) if vector else rng.integers(n_outputs, size=n_trees)
    base = rng.normal(size=n_outputs).astype(dtype).astype(np.float64)
    return Ensemble(
        features=features,
        classes=tuple(f"class {index}" for index in range(max(2, n_outputs))),
        trees=Trees.lay_out(**drawn, targets=targets),
        scoring=Scoring(
            dtype=dtype,  # type: ignore[arg-type]
            base=tuple(base.tolist()),
            base_last=bool(rng.integers(2)),
            divisor=float(rng.integers(1, 4)),
            ordered=bool(rng.integers(2)),
        ),
        decision=Cut(at=0.0) if n_outputs == 1 else Argmax(),
        source=Source(library="random"),
    )


def ensembles() -> st.SearchStrategy[Ensemble]:
    return st.integers(0, 2**32 - 1).map(random_ensemble)


def random_rows(
    ensemble: Ensemble, rng: np.random.Generator, n_rows: int
) -> list[list[Any]]:
    """Rows as people have them: numbers, labels, None."""
    columns: list[list[Any]] = []
    for index, feature in enumerate(ensemble.features):
        if isinstance(feature, Categorical):
            pool: list[Any] = [*feature.categories, "never seen", None]
        else:
            cuts = np.concatenate([ensemble.thresholds(index), feature.edges])
            cuts = np.concatenate([cuts, feature.missing_range or ()])
            near = np.concatenate(
                [cuts, np.nextafter(cuts, np.inf), rng.normal(size=9)]
            )
            pool = [*near.tolist(), np.nan, np.inf, -np.inf]
        columns.append([pool[pick] for pick in rng.integers(len(pool), size=n_rows)])
    return [list(row) for row in zip(*columns, strict=True)]
