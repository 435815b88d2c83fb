"""How much a score can change among similar people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from fatt.audit.run import Chunk, Run
from fatt.ensemble import Bands, Cut, Ensemble, Label, Link, Prediction
from fatt.ensemble.table_exp import FALL
from fatt.errors import SpecError
from fatt.verdict import Of, ScoreGaps

Floats = NDArray[np.float64]


def gaps_of(run: Run, of: Of) -> ScoreGaps:
    """Find the gaps of everybody; see `fatt.score_gap`."""
    link = _link(run.variables.model, of)
    parts: list[tuple[NDArray[Any], ...]] = []
    for chunk in run.chunks():
        parts.append(_gaps(run, chunk, link))
        run.report(chunk.stop)
    lower, upper, output, before, after, people, twins = (
        np.concatenate(part) for part in zip(*parts, strict=True)
    )
    ensemble = run.variables.ensemble
    labels: tuple[Label, ...] = ensemble.classes
    if isinstance(ensemble.decision, Cut):
        labels = labels[1:]
    elif isinstance(ensemble.decision, Bands | Prediction):
        labels = (_predicted(ensemble.decision),)
    return ScoreGaps(
        lower,
        upper,
        output,
        before,
        after,
        people,
        twins,
        ensemble.features,
        labels,
        _asked_of(ensemble, of),
    )


def _asked_of(ensemble: Ensemble, of: Of) -> Of:
    """Return what the numbers are; what a model predicts may be a probability."""
    decision = ensemble.decision
    is_probability = isinstance(decision, Prediction) and decision.of is not None
    return "probability" if is_probability else of


def _predicted(decision: Bands | Prediction) -> Label:
    of = decision.asked.of if isinstance(decision, Bands) else decision.of
    return "prediction" if of is None else of


def _link(model: Ensemble, of: Of) -> Link | None:
    """Return what is made of scores; None if nothing is."""
    if of not in get_args(Of):
        raise SpecError(f"of is {of!r}; write 'score', 'probability' or 'prediction'.")
    if of == "score":
        return None
    if of == "probability":
        if not model.known_link.is_monotone:
            raise SpecError(
                "of is 'probability', and the isotonic calibrator of the model goes "
                "down by a last bit somewhere, so that the largest probability need "
                "not be that of the largest score: write of='score'."
            )
        return model.known_link
    if not model.predicts:
        raise SpecError(
            "of is 'prediction', and the model gives labels; write 'score' or "
            "'probability'."
        )
    return model.decision.link if isinstance(model.decision, Prediction) else model.link


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
