"""How much lead a class needs: from where it may win, and from where it surely does.

All leads are in units of ``2**-exponent``. The error of a sum in floats is at most the
unit roundoff times the sum of the absolute partial results (Higham, Accuracy and
Stability of Numerical Algorithms, section 4.2); in any order, at most about n times the
unit roundoff times the sum of the absolute terms.
"""

from __future__ import annotations

import math

import numpy as np

from fatt.verifier.kernels.compiled import inner, small
from fatt.verifier.kernels.records import IDENTITY, SIGMOID

#: Leads are far below this, whatever the box.
FAR = 2**62

#: Pays for the roundings of the bounds themselves.
_SLACK = 1.0625


@small
def unit_of(rule):
    """Return the unit roundoff of the library's sums."""
    return 2.0**-24 if rule.single != 0 else 2.0**-53


@inner
def sum_error(rule, total, trailing):
    """Bound the error of one score before any division, in units.

    Parameters
    ----------
    rule, total
        The arithmetic, and what the box allows for the score.
    trailing
        Exponent of the last bit of any term.
    """
    is_whole = trailing + rule.exponent >= 0
    if is_whole:
        step = math.ldexp(1.0, trailing + rule.exponent)
        # All partial sums are multiples of the step, and small enough to be floats.
        if total.mass * _SLACK <= math.ldexp(step, 24 if rule.single != 0 else 53):
            return 0.0
    terms = rule.n_trees + 2
    unit = unit_of(rule)
    if terms * unit > 0.03125:
        return math.inf
    rounded = 0.0 if is_whole else np.float64(terms)
    if rule.ordered != 0:
        return _SLACK * unit * (total.path + terms * rounded) + rounded
    return 2 * _SLACK * terms * unit * (total.mass + rounded) + rounded


@inner
def _largest(total):
    return np.float64(max(abs(total.low), abs(total.high)))


@inner
def _division_error(rule, largest):
    """Bound what the divisions round, in units before the division."""
    divisions = (rule.divisor != 1.0) + (rule.link_divisor != 1.0)
    # The smallest floats have an absolute error instead of a relative one.
    smallest = rule.exponent - (149 if rule.single != 0 else 1074)
    least = math.ldexp(rule.divisor * rule.link_divisor, smallest)
    return divisions * (2 * _SLACK * unit_of(rule) * largest + least)


@inner
def score_error(rule, total, trailing):
    """Bound how far the library's score is from the true sum, in units."""
    largest = _largest(total)
    return sum_error(rule, total, trailing) + _division_error(rule, largest)


@inner
def _link_error(rule, largest):
    """Bound the lead, in units, that the link may round to nothing."""
    if rule.link == IDENTITY:
        return 0.0
    divisor = abs(rule.divisor * rule.link_divisor)
    merged = 32 * unit_of(rule)
    if rule.link == SIGMOID:
        reach = abs(rule.link_scale) * math.ldexp(largest, -rule.exponent) / divisor
        if reach > 30:
            return math.inf
        merged = 64 * 2.0**-53 * math.exp(reach * _SLACK) / abs(rule.link_scale)
    return math.ldexp(merged * divisor * _SLACK, rule.exponent)


@small
def _to_units(number):
    """Round down to an integer, far away numbers to the same far integer."""
    return np.int64(math.floor(min(max(number, -FAR), FAR)))


@small
def wins_ties(rule, own, rival):
    """Tell whether the rival wins over the own class when both are equal."""
    return rival < own if rule.first != 0 else rival > own


@inner
def needed(rule, totals, own, rival, trailing):
    """Return the lead from which the rival may win, and from which it surely wins.

    Parameters
    ----------
    rule, totals
        The arithmetic, and what the box allows for each output.
    own, rival
        The two classes.
    trailing
        Exponent of the last bit of any term.
    """
    if rule.is_cut != 0:
        return _needed_at_cut(rule, totals[0], own, trailing)
    error = sum_error(rule, totals[own], trailing)
    error += sum_error(rule, totals[rival], trailing)
    largest = max(_largest(totals[own]), _largest(totals[rival]))
    more = 2 * _division_error(rule, largest) + _link_error(rule, largest)
    if error == 0 and more < math.ldexp(1.0, trailing + rule.exponent):
        # Leads are multiples of this step: either a tie, or beyond any rounding.
        least = np.int64(0 if wins_ties(rule, own, rival) else 1)
        return least, least
    return _to_units(-(error + more)) - 1, _to_units(error + more) + 2


@inner
def _needed_at_cut(rule, total, own, trailing):
    error = sum_error(rule, total, trailing)
    at = math.ldexp(rule.at * rule.divisor, rule.exponent)
    is_exact = rule.divisor == 1.0 and math.ldexp(at, -rule.exponent) == rule.at
    if error == 0 and is_exact:
        least = -_to_units(-at) if own == 0 else _to_units(-at) + 1
        return least, least
    error += _division_error(rule, _largest(total)) + 4 * 2.0**-53 * abs(at) + 1
    if own != 0:
        at = -at
    return _to_units(at - error) - 1, _to_units(at + error) + 2
