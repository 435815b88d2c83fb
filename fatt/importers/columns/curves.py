"""Curves that are monotone up to rounding: logarithms, powers, quantiles.

Each is one or several steps. A step is monotone to the last bit, or stays within a
known error of a function that is. Powers and quantiles are computed here once more, in
pieces. That both give the same bits is tried on numbers of all sizes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np

from fatt.ensemble import Feature
from fatt.errors import Arg, UnsupportedModelError
from fatt.importers.columns.algebra import (
    ANYTHING,
    Floats,
    above,
    around,
    below,
    last_units,
)
from fatt.importers.columns.steps import FINITE, Numbers

#: Logarithms of numpy, by their poles. These and other functions are monotone up to
#: rounding.
_POLES: dict[Any, float] = {np.log1p: -1.0, np.log: 0.0, np.log2: 0.0, np.log10: 0.0}
_ROUNDED = (*_POLES, np.cbrt, np.arcsinh)
#: Functions that are monotone to the last bit, on each side of an edge.
_EXACT: dict[Any, tuple[float, ...]] = {
    np.sqrt: (float(below(0.0)),),
    np.absolute: (0.0,),
    np.fabs: (0.0,),
    np.floor: (),
    np.ceil: (),
    np.trunc: (),
    np.rint: (),
}

#: A power this close to 0, or to 2 for negative numbers, is a logarithm.
_NO_POWER = float(np.spacing(1.0))

#: Positive numbers of all sizes.
_SIZES = np.concatenate(
    [
        np.logspace(-307, 307, 500),
        np.logspace(-9, 9, 500),
        np.arange(0.5, 500, 0.5),
    ]
)


def function_step(transformer: Any, taker: Feature) -> Numbers:
    """Return the step of a `FunctionTransformer` that calls a function of numpy.

    Raises
    ------
    UnsupportedModelError
        If it calls something else.
    """
    function = transformer.func
    known = (*_ROUNDED, *_EXACT)
    if not isinstance(function, np.ufunc) or function not in known:
        raise _refusal(getattr(function, "__name__", type(function).__name__))
    if transformer.kw_args:
        raise _refusal(f"{function.__name__} with kw_args")
    is_open = function in _POLES
    if is_open:
        lowest = float(above(_POLES[function]))
        taker = msgspec.structs.replace(taker, lower=lowest)
    return Numbers(
        function=functools.partial(_quietly, function),
        taker=taker,
        edges=_EXACT.get(function, ()),
        error=last_units if function in _ROUNDED else None,
        # In float16 for an int8.
        in_own_type=True,
        into_floats=function in _ROUNDED,
        is_open=is_open,
    )


def _refusal(called: str) -> UnsupportedModelError:
    named = ", ".join(one.__name__ for one in (*_ROUNDED, *_EXACT))
    return UnsupportedModelError(
        f"a FunctionTransformer calls {called}, and no reading of code proves what it "
        f"does to every cell: use one of numpy's {named}, without kw_args; write codes "
        "as a mapping {column: {value: code}}, the names of columns as "
        f"{Arg('rename')}; or compute its columns in the table and load the model that "
        f"reads them, with its other steps as {Arg('prepare')}."
    )


def _quietly(function: Callable[..., Floats], *arguments: Any) -> Floats:
    with np.errstate(all="ignore"):
        return np.asarray(function(*arguments))


def power_steps(transformer: Any, power: np.floating[Any]) -> tuple[Numbers, ...]:
    """Return the steps of a `PowerTransformer` on a column, its scaler left out.

    Parameters
    ----------
    transformer
        The fitted transformer.
    power
        The lambda of the column, as it is stored.

    Raises
    ------
    UnsupportedModelError
        If scikit-learn or scipy computes otherwise than is known here.
    """
    from scipy import special, stats

    if transformer.method == "box-cox":
        # The library refuses all other numbers.
        positive = msgspec.structs.replace(FINITE, lower=5e-324)
        return (
            Numbers(
                function=lambda numbers: special.boxcox(numbers, power),
                taker=positive,
                error=functools.partial(_error_of_box_cox, float(power)),
                into_floats=True,
            ),
        )
    # scikit-learn from 1.7 on leaves it to scipy, which has changed its ways as well.
    computed = getattr(transformer, "_yeo_johnson_transform", stats.yeojohnson)
    tried = np.concatenate([-_SIZES, [-0.0, 0.0], _SIZES])
    wanted = _quietly(computed, tried.copy(), power)
    for is_direct in (False, True):
        steps = _yeo_johnson(power, is_direct=is_direct)
        made = functools.reduce(lambda numbers, step: step.of(numbers), steps, tried)
        if np.array_equal(made, wanted, equal_nan=True):
            return steps
    raise UnsupportedModelError(
        "the installed scikit-learn and scipy compute the power of a PowerTransformer "
        "in a way that is not known here. Trees ask for the order alone: fit without "
        "it, or load the model behind the step, in its own columns."
    )


def _error_of_box_cox(power: float, values: Floats) -> Floats:
    """Return how far ``expm1(power * log(x)) / power`` may be off.

    What the logarithm is off by grows with the exponential, by as much as its argument.
    """
    if abs(power) < _NO_POWER:
        return 2 * last_units(values)
    with np.errstate(divide="ignore"):
        digits = np.maximum(np.log(np.minimum(np.abs(values), 1e308)), 0.0)
    factor = 4 + 2 * (digits + abs(float(np.log(abs(power)))))
    return np.asarray(factor * last_units(values), dtype=np.float64)


def _yeo_johnson(power: np.floating[Any], *, is_direct: bool) -> tuple[Numbers, ...]:
    """Return the steps of a power of 1 + |x|, with another one for negative numbers.

    Parameters
    ----------
    power
        The power of positive numbers.
    is_direct
        Whether the power is taken of ``1 + |x|`` itself, whose last digits are lost;
        else it is an exponential of a logarithm.
    """
    powers = power, 2 - power
    is_log = abs(power) < _NO_POWER, abs(power - 2) <= _NO_POWER

    def first(numbers: Floats) -> Floats:
        made = np.abs(numbers)
        for side, log in zip((numbers >= 0, numbers < 0), is_log, strict=True):
            one = made[side]
            made[side] = one + 1 if is_direct and not log else np.log1p(one)
        return np.where(numbers >= 0, made, -made)

    def second(numbers: Floats) -> Floats:
        made = np.abs(numbers)
        sides = zip((numbers >= 0, numbers < 0), powers, is_log, strict=True)
        for side, own, log in sides:
            one = made[side]
            if is_direct and not log:
                # The first step makes no number between -1 and 1.
                made[side] = (np.power(np.maximum(one, 1.0), own) - 1) / own
            elif not log:
                made[side] = np.expm1(own * one) / own
        return np.where(numbers >= 0, made, -made)

    def error(values: Floats) -> Floats:
        if not is_direct:
            return 2 * last_units(values)
        own = np.where(values >= 0, *map(float, powers))
        with np.errstate(all="ignore"):
            lost = last_units(1 + np.abs(own * values)) / np.abs(own)
        return last_units(values) + np.where(np.where(values >= 0, *is_log), 0.0, lost)

    return (
        Numbers(
            function=functools.partial(_quietly, first),
            error=last_units if any(is_log) or not is_direct else None,
            into_floats=True,
        ),
        Numbers(
            function=functools.partial(_quietly, second), taker=ANYTHING, error=error
        ),
    )


def quantile_steps(transformer: Any, quantiles: Floats) -> tuple[Numbers, ...]:
    """Return the steps of a `QuantileTransformer` on a column.

    Between two quantiles it computes a line, upwards and downwards, and takes the mean.
    Each of these sums and products is monotone, since it is rounded correctly.

    Raises
    ------
    UnsupportedModelError
        If scikit-learn or scipy computes otherwise than is known here.
    """

    def whole(numbers: Floats) -> Floats:
        flat = np.array(numbers, dtype=np.float64).ravel()
        made = transformer._transform_col(flat, quantiles, False)
        return np.asarray(made, dtype=np.float64).reshape(numbers.shape)

    edges = around(quantiles)
    if transformer.output_distribution == "uniform":
        return (Numbers(function=whole, edges=edges, into_floats=True),)
    place = functools.partial(_place, transformer.references_, quantiles)
    steps = (
        Numbers(function=place, edges=edges, into_floats=True),
        Numbers(function=_normal, taker=ANYTHING, error=last_units),
        # A step of its own: its ends are exact, however the curve is rounded there.
        Numbers(function=_clipped, taker=ANYTHING),
    )
    near = np.concatenate([np.linspace(quantiles[0], quantiles[-1], 2000), edges])
    tried = np.unique(np.concatenate([-_SIZES, near, _SIZES]))
    made = functools.reduce(lambda numbers, step: step.of(numbers), steps, tried)
    if not np.array_equal(made, whole(tried)):
        raise UnsupportedModelError(
            "the installed scikit-learn and scipy compute the normal distribution of a "
            "QuantileTransformer in a way that is not known here. Trees ask for the "
            "order alone: fit it with output_distribution='uniform'."
        )
    return steps


#: Places closer to both ends than this are taken for the ends.
_BOUND = 1e-7


def _place(references: Floats, quantiles: Floats, numbers: Floats) -> Floats:
    """Return the place of numbers among quantiles, from 0 to 1."""
    rising = np.interp(numbers, quantiles, references)
    falling = np.interp(-numbers, -quantiles[::-1], -references[::-1])
    place = 0.5 * (rising - falling)
    place[numbers + _BOUND > quantiles[-1]] = 1.0
    place[numbers - _BOUND < quantiles[0]] = 0.0
    return np.asarray(place)


def _normal(places: Floats) -> Floats:
    """Return the number below which a normal one lies so often."""
    from scipy import stats

    return np.asarray(stats.norm.ppf(places), dtype=np.float64)


def _clipped(numbers: Floats) -> Floats:
    """Return normal numbers without those beyond the bound at both ends."""
    from scipy import stats

    bound = _BOUND - np.spacing(1)
    return np.clip(numbers, stats.norm.ppf(bound), stats.norm.ppf(1 - bound))
