"""scikit-learn's trees, forests and boosted models."""

from __future__ import annotations

from typing import Any

import numpy as np

from fatt.ensemble import Argmax, Ensemble, Inputs, Numeric, Scoring, Source, Trees
from fatt.ensemble.floats import FLOAT32_LIMIT, at_most_float32
from fatt.importers._refusals import refuse_missing


def convert(model: Any, *, missing: float | None) -> Ensemble:
    """Convert a fitted scikit-learn model."""
    refuse_missing(missing, "a scikit-learn model")
    trees = [model] if not hasattr(model, "estimators_") else list(model.estimators_)
    arrays = [t.tree_ for t in trees]
    counts = np.array([a.node_count for a in arrays])
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    feature = np.concatenate([np.where(a.children_left < 0, -1, a.feature) for a in arrays])
    laid = Trees.lay_out(
        roots=starts,
        feature=feature,
        threshold=at_most_float32(np.concatenate([a.threshold for a in arrays])),
        left=np.concatenate([a.children_left + s for a, s in zip(arrays, starts)]),
        right=np.concatenate([a.children_right + s for a, s in zip(arrays, starts)]),
        missing_left=np.concatenate([a.missing_go_to_left for a in arrays]),
        leaf=np.arange(counts.sum()),
        values=np.concatenate([a.value[:, 0, :] for a in arrays]),
        targets=np.full(len(arrays), -1),
    )
    k = laid.values.shape[1]
    return Ensemble(
        features=tuple(Numeric(name=f"x{i}", lower=-FLOAT32_LIMIT, upper=FLOAT32_LIMIT) for i in range(model.n_features_in_)),
        classes=tuple(model.classes_.tolist()),
        trees=laid,
        scoring=Scoring(dtype="float64", base=(0.0,) * k, divisor=float(len(arrays))),
        decision=Argmax(),
        inputs=Inputs(named=False),
        source=Source(library="scikit-learn", model=type(model).__name__),
    )
