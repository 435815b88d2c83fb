"""Scores as integers, and how far the library's own sums may be from them.

Leaf values are scaled by a power of two and rounded to integers, so that sums are
exact and have no order. What the library adds up in floats differs from that by a
bounded amount: only inside this band the library's own arithmetic must be repeated.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Argmax, Ensemble
from fatt.ensemble.floats import smallest_float
from fatt.ensemble.scoring import decide, sigmoid
from fatt.verifier.kernels.records import (
    BASE,
    IDENTITY,
    RULE,
    SIGMOID,
    SOFTMAX,
    Arithmetic,
    Forest,
)

# Sums of scaled scores stay below this power of 2. That leaves room for differences of
# sums, and for the multipliers between trees.
_LARGEST = 53

_LINKS = {"identity": IDENTITY, "softmax": SOFTMAX, "sigmoid": SIGMOID}

#: The exponent of the last set bit of zero: beyond that of any float.
ZERO_EXPONENT = 2000


def arithmetic_of(ensemble: Ensemble) -> Arithmetic:
    """Return what the leaves hold, in units as well, and the library's arithmetic."""
    trees, scoring = ensemble.trees, ensemble.scoring
    exponent = _scale_of(ensemble)
    values = np.array(trees.values, dtype=np.float64, order="C")
    bases = np.zeros(len(scoring.base), dtype=BASE)
    bases["value"] = scoring.base
    bases["scaled"] = np.rint(np.ldexp(bases["value"], exponent))
    bases["trailing"] = _trailing_exponents(bases["value"])
    decision = ensemble.decision
    argmax = decision if isinstance(decision, Argmax) else Argmax()
    rule = np.zeros(1, dtype=RULE)
    rule["divisor"] = scoring.divisor
    rule["link_scale"], rule["link_divisor"] = argmax.scale, argmax.divisor
    if argmax.link == "sigmoid":
        rule["flat_low"], rule["flat_high"] = _flat_ends(argmax.scale)
    rule["exponent"], rule["link"] = exponent, _LINKS[argmax.link]
    rule["depth"] = trees.depths().max(initial=0)
    rule["n_trees"] = len(trees)
    rule["single"], rule["base_last"] = scoring.single, scoring.base_last
    rule["ordered"], rule["roundings"] = scoring.ordered, scoring.roundings
    rule["one_score"] = not isinstance(decision, Argmax)
    # Leaves that hold all of one output are leaves of that output.
    targets = np.maximum(trees.targets, -int(len(scoring.base) > 1))
    rule["is_vector"] = bool(np.any(targets < 0))
    rule["first"] = argmax.ties == "first"
    return Arithmetic(
        values=values,
        scaled=np.rint(np.ldexp(values, exponent)).astype(np.int64),
        trailing=_trailing_exponents(values).min(axis=1, initial=ZERO_EXPONENT),
        targets=targets.astype(np.int32),
        bases=bases,
        rule=rule,
        **_leaf_answers(ensemble),
    )


def _leaf_answers(ensemble: Ensemble) -> dict[str, NDArray[Any]]:
    """Return the class or score of each leaf of a single tree; else nothing."""
    trees, scoring = ensemble.trees, ensemble.scoring
    answers: dict[str, NDArray[Any]] = {
        "labels": np.zeros(0, dtype=np.int64),
        "scores": np.zeros(0),
    }
    if len(trees) != 1 or scoring.roundings:
        return answers
    dtype = np.dtype(scoring.dtype)
    base = np.array(scoring.base, dtype=dtype)
    added = np.zeros((trees.n_leaves, len(base)), dtype=dtype)
    target = trees.targets[0]
    added[:, slice(None) if target < 0 else [target]] = trees.values
    scores = (added + base) / dtype.type(scoring.divisor)
    if isinstance(ensemble.decision, Argmax):
        return {**answers, "labels": decide(scores, ensemble.decision)}
    return {**answers, "scores": scores[:, 0].astype(np.float64)}


def _flat_ends(scale: float) -> tuple[float, float]:
    """Return the scores below which the sigmoid is 0, and above which it is 1."""
    low = smallest_float(lambda score: sigmoid(score, scale=scale) > 0, np.float64)
    high = smallest_float(lambda score: sigmoid(score, scale=scale) >= 1, np.float64)
    return low, high


def _scale_of(ensemble: Ensemble) -> int:
    """Return the largest exponent by which all sums can be scaled without overflow."""
    values = np.abs(ensemble.trees.values.astype(np.float64)).max(axis=1, initial=0.0)
    leaves = (
        np.add.reduceat(ensemble.trees.nodes["feature"] < 0, ensemble.trees.roots)
        if len(ensemble.trees)
        else np.zeros(0, dtype=np.int64)
    )
    starts = np.cumsum(leaves) - leaves
    per_tree = np.maximum.reduceat(values, starts) if len(leaves) else values
    base = max((abs(number) for number in ensemble.scoring.base), default=0.0)
    largest = float(per_tree.sum()) + base
    if largest == 0:
        return 0
    # One power of two pays for the rounding of this very sum.
    _, exponent = np.frexp(largest)
    return int(min(_LARGEST - 1 - int(exponent), 1000))


def one_output(
    forest: Forest, arithmetic: Arithmetic, output: int
) -> tuple[Forest, Arithmetic]:
    """Return the model that adds up only one of the scores, in the same way."""
    rule, values = arithmetic.rule.copy(), arithmetic.values
    scaled = arithmetic.scaled
    keep = np.ones(len(forest.roots), dtype=bool)
    if rule["is_vector"][0]:
        values, scaled = values[:, [output]], scaled[:, [output]]
    else:
        keep = arithmetic.targets == output
    rule["is_vector"], rule["one_score"], rule["n_trees"] = 0, 1, keep.sum()
    alone = arithmetic._replace(
        values=np.ascontiguousarray(values),
        scaled=np.ascontiguousarray(scaled),
        targets=np.zeros(int(keep.sum()), dtype=np.int32),
        bases=arithmetic.bases[output : output + 1].copy(),
        rule=rule,
        labels=np.zeros(0, dtype=np.int64),
        scores=np.zeros(0),
    )
    return forest._replace(roots=forest.roots[keep]), alone


def to_scores(
    units: NDArray[np.int64],
    error: NDArray[np.float64],
    arithmetic: Arithmetic,
    sign: int,
) -> NDArray[np.float64]:
    """Turn bounds on a score times `sign`, in units, into bounds on the score.

    The error of the library's own sums, in units, is added; all roundings go outwards.
    """
    rule = arithmetic.rule
    exponent, divisor = int(rule["exponent"][0]), rule["divisor"][0]
    total = units.astype(np.float64)
    is_exact = (error == 0) & (total.astype(np.int64) == units)
    # Units have more digits than floats, and the sum is rounded.
    above = np.nextafter(np.nextafter(total + error, np.inf), np.inf)
    total = np.ldexp(np.where(is_exact, total, above), -exponent)
    if divisor != 1.0:
        total = np.nextafter(total / divisor, np.inf)
    return sign * total


def _trailing_exponents(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return for each number the exponent of its last set bit."""
    fraction, exponent = np.frexp(values)
    whole = np.abs(np.ldexp(fraction, 53)).astype(np.int64)
    last = whole & -whole
    _, position = np.frexp(last.astype(np.float64))
    found = exponent.astype(np.int64) - 53 + position - 1
    return np.where(whole == 0, ZERO_EXPONENT, found)
