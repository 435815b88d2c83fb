"""How much a score can change among similar people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fatt.audit.run import Chunk, Run
from fatt.ensemble import Link
from fatt.ensemble.table_exp import FALL
from fatt.everybody.numbers import asked_of, labels_of, link_of
from fatt.verdict import Of, ScoreGaps

Floats = NDArray[np.float64]


def gaps_of(run: Run, of: Of) -> ScoreGaps:
    """Find the gaps of everybody; see `fatt.score_gap`."""
    link = link_of(run.variables.model, of)
    parts: list[tuple[NDArray[Any], ...]] = []
    for chunk in run.chunks():
        parts.append(_gaps(run, chunk, link))
        run.report(chunk.stop)
    lower, upper, output, before, after, people, twins = (
        np.concatenate(part) for part in zip(*parts, strict=True)
    )
    ensemble = run.variables.ensemble
    return ScoreGaps(
        lower,
        upper,
        output,
        before,
        after,
        people,
        twins,
        ensemble.features,
        labels_of(ensemble),
        asked_of(ensemble, of),
    )


class _Side(NamedTuple):
    """Similar people who change one score as far as possible in one direction."""

    output: int
    points: Floats
    found: Floats
    bound: Floats


def _gaps(run: Run, chunk: Chunk, link: Link | None) -> tuple[NDArray[Any], ...]:
    people = chunk.values
    own = _linked(run, link, _scores(run, people))
    n_people = len(people)
    lower, upper = np.zeros(n_people), np.zeros(n_people)
    output = np.zeros(n_people, dtype=np.int64)
    before, twins = own[:, 0].copy(), people.copy()
    after = before.copy()
    for side in _sides(run, chunk, link):
        change = np.abs(side.found - own[:, side.output])
        larger = change > lower
        lower[larger], output[larger] = change[larger], side.output
        before[larger], after[larger] = own[larger, side.output], side.found[larger]
        twins[larger] = side.points[larger]
        # Rounding keeps the order: what is nearer also has the smaller difference.
        upper = np.maximum(upper, np.abs(side.bound - own[:, side.output]))
    return lower, np.maximum(lower, upper), output, before, after, people, twins


def _sides(run: Run, chunk: Chunk, link: Link | None) -> Iterator[_Side]:
    for output in range(run.variables.ensemble.n_outputs):
        found = run.extremes(chunk, output)
        for points, bound in (
            (found.lowest_at, found.lowest.lower),
            (found.highest_at, found.highest.upper),
        ):
            attained = _linked(run, link, _scores(run, points))[:, output]
            far = _linked(run, link, bound)
            if link is not None and not link.is_monotone:
                # What is nearer may have a prediction that is larger by last bits.
                is_highest = bound is found.highest.upper
                far = far * (1 + FALL if is_highest else 1 - FALL)
            yield _Side(output, points, attained, far)


def _linked(run: Run, link: Link | None, scores: Floats) -> Floats:
    """Return the probabilities of scores, or of bounds on scores.

    A bound that is rounded to the type of the scores still bounds all of them, for
    they have that type.
    """
    if link is None:
        return scores
    with np.errstate(over="ignore"):
        rounded = scores.astype(run.variables.ensemble.scoring.dtype)
    return link(rounded).astype(np.float64)


def _scores(run: Run, values: Floats) -> Floats:
    ensemble = run.variables.ensemble
    encoded = ensemble.mark_missing(values)
    return ensemble._scores(encoded).astype(np.float64)
