"""What was read: an ensemble described in words and figures."""

from __future__ import annotations

import msgspec
import numpy as np

from fatt.ensemble import Bands, Categorical, Cut, Ensemble, Feature, Label, Prediction
from fatt.ensemble.cutoff import rule_in_words
from fatt.ensemble.trees import n_words
from fatt.importers.versions import all_releases


class FeatureSummary(msgspec.Struct, frozen=True, kw_only=True):
    """How the trees use one column.

    Attributes
    ----------
    name, kind
        Name, and ``"numeric"`` or ``"categorical"``; ``"computed"`` of several columns.
    splits
        Number of nodes that split on the column.
    thresholds
        The distinct numbers at which the column is cut, in increasing order.
    sets
        Number of distinct sets of categories, or of cells between thresholds, by which
        the column is split.
    categories
        The categories, for a categorical column.
    missing
        What happens to a missing value: ``"refused"`` or ``"accepted"``.
    """

    name: str
    kind: str
    splits: int
    thresholds: tuple[float, ...]
    sets: int
    categories: tuple[Label, ...]
    missing: str


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """What was read from a model; the JSON form is what ``fatt inspect`` prints."""

    library: str
    version: str
    format: str
    model: str
    objective: str
    trees: int
    leaves: int
    deepest: int
    classes: tuple[Label, ...]
    features: tuple[FeatureSummary, ...]
    arithmetic: str
    decision: str
    notes: tuple[str, ...]
    digest: str
    tested: dict[str, str]


def summarize(ensemble: Ensemble) -> Summary:
    """Describe an ensemble.

    Parameters
    ----------
    ensemble
        What `fatt.load` returned.
    """
    source, trees = ensemble.source, ensemble.trees
    return Summary(
        library=source.library,
        version=source.version,
        format=source.format,
        model=source.model,
        objective=source.objective,
        trees=len(trees),
        leaves=trees.n_leaves,
        deepest=int(trees.depths().max(initial=0)),
        classes=ensemble.classes,
        features=tuple(
            _summarize_feature(ensemble, index, feature)
            for index, feature in enumerate(ensemble.columns)
        ),
        arithmetic=_arithmetic(ensemble),
        decision=_decision(ensemble),
        notes=source.notes,
        digest=ensemble.digest,
        tested=all_releases(),
    )


def _summarize_feature(
    ensemble: Ensemble, index: int, feature: Feature
) -> FeatureSummary:
    cuts: list[float] = []
    categories: tuple[Label, ...] = ()
    if isinstance(feature, Categorical):
        categories = feature.categories
    else:
        cuts = [*ensemble.thresholds(index), *feature.edges]
    return FeatureSummary(
        name=feature.name,
        kind=_kind(ensemble, index),
        splits=int(np.count_nonzero(ensemble.trees.nodes["feature"] == index)),
        thresholds=tuple(np.unique(cuts).tolist()),
        sets=_count_sets(ensemble, index, feature),
        categories=categories,
        missing="accepted" if feature.accepts_missing else "refused",
    )


def _kind(ensemble: Ensemble, index: int) -> str:
    if index >= len(ensemble.features):
        return "computed"
    is_coded = isinstance(ensemble.features[index], Categorical)
    return "categorical" if is_coded else "numeric"


def _count_sets(ensemble: Ensemble, index: int, feature: Feature) -> int:
    nodes, words = ensemble.trees.nodes, ensemble.trees.words
    mine = (nodes["feature"] == index) & (nodes["subset"] >= 0)
    starts = nodes["subset"][mine, np.newaxis]
    return len(np.unique(words[starts + np.arange(n_words(feature.n_codes))], axis=0))


def _arithmetic(ensemble: Ensemble) -> str:
    scoring = ensemble.scoring
    order = "in the order of the trees" if scoring.ordered else "in no fixed order"
    base = "last" if scoring.base_last else "first"
    divided = f", then divided by {scoring.divisor:g}" if scoring.divisor != 1 else ""
    outputs = "one score" if ensemble.n_outputs == 1 else f"{ensemble.n_outputs} scores"
    return f"{outputs} in {scoring.dtype}, base {base}, added {order}{divided}"


def _decision(ensemble: Ensemble) -> str:
    decision, classes = ensemble.decision, ensemble.classes
    asked = rule_in_words(ensemble)
    if asked:
        return asked
    assert not isinstance(decision, Bands)
    if isinstance(decision, Cut):
        return f"{classes[1]!r} from a score of {decision.at!r} on, else {classes[0]!r}"
    if isinstance(decision, Prediction):
        made = {
            "identity": "the score",
            "sigmoid": "the sigmoid of the score",
            "exp": "the exponential of the score",
            "numpy exp": "the exponential of the score",
            "numpy expm1": "the exponential of the score, less 1",
            "table exp": "the exponential of the score, as CatBoost computes it",
        }[decision.link.function]
        return f"no label: the model predicts a number, {made}"
    what = {
        "identity": "largest score",
        "softmax": "largest softmax of the scores, rounded",
        "sigmoid": "largest sigmoid of the scores, rounded",
    }[decision.link]
    return f"the class with the {what}; of equal ones the {decision.ties}"
