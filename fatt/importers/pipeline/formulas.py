"""Steps that compute columns of several others: `PolynomialFeatures`."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from fatt.ensemble.joint import (
    Constant,
    Formula,
    Operation,
    Read,
    evaluate,
    places_of,
)
from fatt.errors import UnsupportedModelError
from fatt.importers.pipeline.steps import (
    FINITE_ONLY,
    AnyStep,
    Arithmetic,
    Numbers,
    Work,
)
from fatt.importers.pullback.columns import ANYTHING, Floats, identity
from fatt.importers.pullback.joints import steps_along

#: On how many rows formulas are compared with the fitted step.
_TRIED = 400

_PASSED = Numbers(function=identity, taker=FINITE_ONLY)
_COMPUTED_WITH = Numbers(function=Arithmetic(), taker=FINITE_ONLY)


def polynomials(transformer: Any) -> Work:
    """Follow a `PolynomialFeatures`, whose products scikit-learn computes from behind.

    Raises
    ------
    UnsupportedModelError
        If the installed scikit-learn computes them otherwise.
    """
    width = transformer.n_features_in_
    formulas = [
        _product([i for i, power in enumerate(powers) for _ in range(power)])
        for powers in transformer.powers_.tolist()
    ]
    rows = _rows(width)
    with warnings.catch_warnings():
        # It may have been fitted on names.
        warnings.simplefilter("ignore")
        made = transformer.transform(rows)
    wanted = np.array([evaluate(formula, rows) for formula in formulas]).T
    if not np.array_equal(made, wanted, equal_nan=True):
        raise UnsupportedModelError(
            "the installed scikit-learn computes the products of PolynomialFeatures in "
            "a way that is not known here. Make them columns of the table, and train "
            "without it."
        )
    read = {place for formula in formulas for place in places_of(formula)}
    return Work(
        outputs=list(map(_output, formulas)),
        idle=[(i, _PASSED) for i in range(width) if i not in read],
        check=_COMPUTED_WITH,
    )


def _product(columns: Sequence[int]) -> Formula:
    if not columns:
        return Constant(1.0)
    first, *others = columns
    read = Read(place=first)
    return Operation(read, "*", _product(others)) if others else read


def _output(formula: Formula) -> tuple[int | Formula, tuple[AnyStep, ...]]:
    """Return what a product is made of; a power of one column by steps."""
    match formula:
        case Constant(value=value):
            return 0, (
                Numbers(
                    function=lambda numbers: np.full_like(numbers, value),
                    taker=FINITE_ONLY,
                    missing=value,
                ),
            )
        case Read(place=place):
            return place, (_PASSED,)
    places = places_of(formula)
    if len(places) > 1:
        return formula, ()
    powers = steps_along(formula, places[0], np.ones(places[0] + 1))
    steps = (Numbers(one.function, ANYTHING, edges=one.edges) for one in powers)
    return places[0], (_COMPUTED_WITH, *steps)


def _rows(width: int) -> Floats:
    """Return rows of all kinds: small and large numbers, whole ones, zeros."""
    rng = np.random.default_rng(0)
    shape = _TRIED, width
    rows = rng.normal(size=shape) * 10.0 ** rng.integers(-3, 7, size=shape)
    rows = np.where(rng.random(shape) < 0.4, np.rint(rows), rows)
    odd = np.array([0.0, -0.0, 1.0, -1.0, 1e200])
    return np.where(rng.random(shape) < 0.2, rng.choice(odd, size=shape), rows)
