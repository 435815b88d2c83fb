"""The checks that every ensemble passes before anybody can use it."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from fatt.ensemble.features import Categorical, Label, is_writable
from fatt.ensemble.fingerprint import codes_by_fingerprint
from fatt.ensemble.joint import Constant, Formula, Operation, Read
from fatt.ensemble.scoring import Argmax, Bands, Cut, Isotonic, Prediction
from fatt.ensemble.trees import NODE, Trees, left_children, n_words, starts_of
from fatt.errors import MalformedModelError, UnsupportedModelError

if TYPE_CHECKING:
    from fatt.ensemble.ensemble import Ensemble


def check(ensemble: Ensemble) -> None:
    """Raise `MalformedModelError` unless all parts of the ensemble fit together."""
    _check_features(ensemble)
    _check_joints(ensemble)
    _check_structure(ensemble.trees, len(ensemble.columns))
    _check_unused(ensemble.trees)
    _check_sets(ensemble)
    _check_outputs(ensemble)
    _check_link(ensemble)
    _check_finite(ensemble)


def _require(condition: object, message: str) -> None:
    if not condition:
        raise MalformedModelError(message)


def _check_features(ensemble: Ensemble) -> None:
    names = Counter(feature.name for feature in ensemble.features)
    twice = sorted(name for name, count in names.items() if count > 1)
    _require(not twice, f"several features have the same name: {', '.join(twice)}.")
    _require_writable("a feature", names)
    for feature in ensemble.features:
        _require(
            feature.lower <= feature.upper,
            f"feature {feature.name!r} takes no value: its bounds are crossed.",
        )
        if feature.missing_range is not None:
            low, high = feature.missing_range
            _require(
                low <= high, f"feature {feature.name!r}: missing range is crossed."
            )
        if isinstance(feature, Categorical):
            distinct = len(set(feature.categories)) == len(feature.categories)
            _require(distinct, f"feature {feature.name!r} lists a category twice.")
            if feature.coding == "fingerprint":
                _check_fingerprints(feature)
            _require(
                len(feature.codes) in {0, len(feature.categories)},
                f"feature {feature.name!r} does not have one code per category.",
            )
            _require_short(
                f"a category of feature {feature.name!r}",
                (*feature.categories, *feature.codes),
            )
            _require_writable(f"a category of {feature.name!r}", feature.categories)
            continue
        # In plain Python: there may be many features, and few have edges.
        _require(
            not any(math.isnan(edge) for edge in feature.edges)
            and all(low < high for low, high in itertools.pairwise(feature.edges)),
            f"the edges of feature {feature.name!r} do not increase.",
        )


def _check_joints(ensemble: Ensemble) -> None:
    for joint in ensemble.joints:
        feature = joint.feature
        _require(feature.lower <= feature.upper, "a computed column takes no value.")
        # The cells read as missing would be computed with as the numbers they are.
        _require(
            feature.missing_range is None
            and all(one.missing_range is None for one in ensemble.features),
            "columns are computed where numbers are read as missing.",
        )
        _require(
            all(low < high for low, high in itertools.pairwise(feature.edges)),
            "the edges of a computed column do not increase.",
        )
        _check_formula(ensemble, joint.formula)


def _check_formula(ensemble: Ensemble, formula: Formula) -> None:
    match formula:
        case Operation():
            _check_formula(ensemble, formula.left)
            _check_formula(ensemble, formula.right)
        case Constant():
            _require(math.isfinite(formula.value), "a computed column has no number.")
        case Read():
            place, constants = formula.place, [one for _, one in formula.operations]
            _require(
                0 <= place < len(ensemble.features)
                and all(map(math.isfinite, constants)),
                "a computed column reads a feature that there is not.",
            )
            feature = ensemble.features[place]
            codes = feature.n_codes if isinstance(feature, Categorical) else 0
            _require(
                len(formula.table) == codes,
                f"a computed column reads {feature.name!r} as what it is not.",
            )


def _require_short(what: str, labels: tuple[Label, ...]) -> None:
    """Refuse whole numbers that no file and no array holds."""
    if not _are_short(labels):
        raise UnsupportedModelError(
            f"{what} is a whole number of more than 64 bits, which fatt does not hold; "
            "write such numbers as texts and fit again."
        )


def _require_writable(what: str, labels: Iterable[Label]) -> None:
    odd = next((label for label in labels if not is_writable(label)), "")
    _require(
        not odd,
        f"{what} is called {odd!r}, which holds half a surrogate pair: no file can "
        "hold that, so that nothing about it could be saved; rename it and fit again.",
    )


def _check_fingerprints(feature: Categorical) -> None:
    texts = [label for label in feature.categories if isinstance(label, str)]
    _require(
        len(texts) == len(feature.categories)
        and len(codes_by_fingerprint(tuple(texts))) == len(texts),
        f"two categories of feature {feature.name!r} have the same fingerprint, or "
        "one is no text.",
    )


def _are_short(labels: tuple[Label, ...]) -> bool:
    """Tell whether all whole numbers among the labels fit into a file."""
    return all(-(2**63) <= x < 2**64 for x in labels if isinstance(x, int))


def _check_structure(trees: Trees, n_features: int) -> None:
    nodes, roots = trees.nodes, trees.roots
    _require(nodes.dtype == NODE, "the nodes have another record type.")
    _require(len(trees.targets) == len(roots), "not every tree has a target.")
    _require(trees.values.ndim == 2, "the leaf values are no table.")
    _require(
        (len(roots) > 0) == (len(nodes) > 0)
        and (len(roots) == 0 or roots[0] == 0)
        and np.all(roots[:-1] < roots[1:])
        and (len(roots) == 0 or roots[-1] < len(nodes)),
        "the trees do not follow each other.",
    )
    inner = nodes["feature"] >= 0
    _require(np.all(nodes["feature"] >= -1), "a node splits on a negative feature.")
    _require(
        np.all(nodes["feature"] < n_features),
        f"a node splits on a feature beyond the {n_features} that there are.",
    )
    sizes = np.diff(np.append(roots, len(nodes)))
    n_inner = np.add.reduceat(inner, roots) if len(roots) else sizes
    left = left_children(inner, sizes)
    # Every node but the root then has one parent, and it stands before the node.
    _require(
        np.all(sizes == 2 * n_inner + 1)
        and np.array_equal(nodes["left"], left)
        and np.array_equal(nodes["right"], np.where(inner, left + 1, -1))
        and np.all(~inner | (left > np.arange(len(nodes)))),
        "the nodes do not stand in breadth-first order.",
    )
    leaves = nodes["leaf"][~inner]
    _require(
        np.array_equal(leaves, np.arange(len(leaves)))
        and len(trees.values) == len(leaves),
        "the leaves do not match the table of leaf values.",
    )


def _check_unused(trees: Trees) -> None:
    """Fields without a meaning have one value, so that equal trees have equal bytes."""
    nodes = trees.nodes
    inner, is_set = nodes["feature"] >= 0, nodes["subset"] >= 0
    threshold = nodes["threshold"]
    _require(
        np.all(inner | (nodes["subset"] == -1))
        and np.all((nodes["leaf"] == -1) == inner)
        and np.all((threshold == 0) | (inner & ~is_set))
        and not np.any((threshold == 0) & np.signbit(threshold))
        and np.all(
            (nodes["missing_left"] == 0) | (inner & (nodes["missing_left"] == 1))
        ),
        "a node holds something where nothing belongs.",
    )


def _check_sets(ensemble: Ensemble) -> None:
    trees = ensemble.trees
    feature, subset = trees.nodes["feature"], trees.nodes["subset"]
    is_set = subset >= 0
    categorical = np.array(
        [isinstance(column, Categorical) for column in ensemble.columns], dtype=bool
    )
    _require(
        not categorical.any()
        or not np.any((feature >= 0) & ~is_set & categorical[feature]),
        "a categorical feature is split by a threshold.",
    )
    _require(np.all(subset >= -1), "a set split has a negative word.")
    sizes = np.array([n_words(f.n_codes) for f in ensemble.columns], dtype=np.int64)
    owners = feature[is_set]
    ends = np.cumsum(sizes[owners])
    _require(
        np.array_equal(subset[is_set], starts_of(sizes[owners]))
        and ends[-1:].sum() == len(trees.words),
        "the category sets do not match the set splits.",
    )
    used = np.array([f.n_codes for f in ensemble.columns], dtype=np.uint64) % 64
    shift = used[owners]
    spare = (trees.words[ends - 1] >> shift) * (shift > 0)
    _require(not spare.any(), "a category set has more members than there are codes.")


def _check_outputs(ensemble: Ensemble) -> None:
    trees, decision = ensemble.trees, ensemble.decision
    n_outputs, n_classes = ensemble.n_outputs, len(ensemble.classes)
    _require(n_outputs >= 1, "the model has no output.")
    vector = trees.targets == -1
    _require(
        np.all((trees.targets >= -1) & (trees.targets < n_outputs)),
        f"a tree adds to an output beyond the {n_outputs} that there are.",
    )
    width = trees.values.shape[1]
    _require(
        len(trees) == 0
        or (vector.all() and width == n_outputs)
        or (not vector.any() and width == 1),
        "the leaf values do not have as many columns as the trees have outputs.",
    )
    _require(
        ensemble.scoring.roundings == 0
        or (ensemble.scoring.roundings > 0 and not ensemble.scoring.ordered),
        "a sum in a known order says how often it rounds otherwise.",
    )
    if isinstance(decision, Prediction):
        _require(not n_classes, "the model predicts a number and lists classes.")
        _require(n_outputs == 1, f"a prediction needs 1 output, not {n_outputs}.")
        _require(ensemble.link is None, "a prediction has a link of its own.")
        return
    _require(n_classes >= 1, "the model has no class.")
    _require(
        len(set(ensemble.classes)) == n_classes, "the model lists a class label twice."
    )
    _require_short("a class label", ensemble.classes)
    _require_writable("a class", ensemble.classes)
    if isinstance(decision, Cut):
        _require(n_classes == 2, f"a cut needs 2 classes, not {n_classes}.")
        _require(n_outputs == 1, f"a cut needs 1 output, not {n_outputs}.")
        _require(not math.isnan(decision.at), "the cut is not a number.")
    if isinstance(decision, Bands):
        edges = decision.edges
        _require(n_outputs == 1, f"bands need 1 output, not {n_outputs}.")
        _require(n_classes == len(edges) + 1, "the bands have other classes.")
        _require(list(edges) == sorted(edges), "the bands have no order.")
        _require(not any(map(math.isnan, edges)), "an edge is not a number.")
    if isinstance(decision, Argmax):
        _require(
            n_classes == n_outputs, f"{n_outputs} outputs decide {n_classes} classes."
        )
        _require(
            ensemble.scoring.ordered or decision.link == "identity",
            "a sum without order cannot decide through a link.",
        )
        _require(0 < decision.scale < math.inf, "the scale is not a positive number.")


def _check_link(ensemble: Ensemble) -> None:
    decision = ensemble.decision
    link = decision.link if isinstance(decision, Prediction) else ensemble.link
    if link is not None:
        fits = 0 < link.scale < math.inf and 1 <= link.divisor < math.inf
        # float32 knows no other sigmoid.
        plain = link.scale == link.divisor == 1
        fits = fits and _fits(link.calibration)
        fits = fits and (plain or not ensemble.scoring.single)
        _require(fits, "the scale or the divisor of a link is out of range.")


def _fits(calibration: tuple[float, float] | Isotonic | None) -> bool:
    """Tell whether a calibrator gives probabilities that do not decrease."""
    if calibration is None:
        return True
    if isinstance(calibration, Isotonic):
        return calibration.is_sound()
    slope, shift = calibration
    return -math.inf < slope < 0 and math.isfinite(shift)


def _check_finite(ensemble: Ensemble) -> None:
    """No NaN, and no sum that could overflow whatever leaves a row falls into."""
    trees, scoring = ensemble.trees, ensemble.scoring
    thresholds = trees.nodes["threshold"]
    _require(not np.isnan(thresholds).any(), "a threshold is not a number.")
    _require(
        trees.values.dtype in (np.float32, np.float64), "leaf values are not floats."
    )
    _require(np.isfinite(trees.values).all(), "a leaf value is not a finite number.")
    _require(
        all(math.isfinite(number) for number in scoring.base),
        "the base score is not a finite number.",
    )
    dtype = np.dtype(scoring.dtype)
    divisors = [scoring.divisor]
    if isinstance(ensemble.decision, Argmax):
        divisors.append(ensemble.decision.divisor)
    _require(
        all(1 <= divisor < math.inf for divisor in divisors),
        "a divisor is smaller than 1, or not a finite number.",
    )
    with np.errstate(over="ignore"):
        fits = all(float(dtype.type(x)) == x for x in (*scoring.base, *divisors))
        fits = fits and np.array_equal(trees.values.astype(dtype), trees.values)
    _require(fits, "leaf values, base or divisor need more digits than the sum has.")
    if len(trees):
        with np.errstate(over="ignore"):
            largest = np.abs(trees.values.astype(np.float64)).max(axis=1)
            leaves = np.flatnonzero(trees.nodes["feature"] < 0)
            first = np.searchsorted(leaves, trees.roots)
            total = np.maximum.reduceat(largest, first).sum()
            total += max(abs(number) for number in scoring.base)
        _require(
            total < float(np.finfo(dtype).max) / 4,
            "the leaf values are so large that their sum may overflow.",
        )
