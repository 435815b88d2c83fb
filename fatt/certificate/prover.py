"""From verdicts to a certificate: prove again, so that others can check it.

The prover only chooses how to cut all that is similar to a person into parts. Whether a
part is closed it asks the checker, so that what it calls a proof is one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fatt.certificate.certificate import CLAIMED, UNKNOWN, Certificate, contents_of
from fatt.certificate.closing import Cut, Open, Problem
from fatt.certificate.judge import Around, Judge
from fatt.ensemble import Ensemble
from fatt.ensemble.allowed import Allowed
from fatt.region import Relation, Schema
from fatt.verdict import FAIR

Floats = NDArray[np.float64]


class TwinChanges(NamedTuple):
    """How the twins differ from the unfair people, in the order of these.

    Attributes
    ----------
    sizes : ndarray
        In how many variables each twin differs.
    variables, values : ndarray
        In which, and what they are.
    """

    sizes: NDArray[Any]
    variables: NDArray[Any]
    values: Floats


def make(  # noqa: PLR0913
    model: Ensemble,
    schema: Schema,
    similarity: Relation,
    *,
    values: Floats,
    verdicts: NDArray[np.int8],
    labels: NDArray[Any],
    twins: TwinChanges,
    most_boxes: int,
    allowed: Allowed | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Certificate:
    """Make a certificate of what was found out about people.

    Parameters
    ----------
    model, schema, similarity
        What it is about.
    values : ndarray of shape (n_people, n_variables)
        The people.
    verdicts, labels : ndarray of shape (n_people,)
        What was found out: the codes of `fatt.verdict`, and the classes.
    twins
        The twins of the unfair.
    most_boxes
        How many boxes are tried for one person, at most. Whoever needs more is claimed
        to be fair without a proof.
    allowed
        Which answers of similar people are still fair; by default the same labels.
    progress
        Called with the number of people done and the number of all.
    """
    judge = Judge(model, schema, similarity, allowed)
    if not model.classes:
        # Of predictions the own one is the middle of three classes.
        labels = np.ones(len(values), dtype=np.int64)
    said = verdicts.astype(np.uint8)
    steps: list[Cut | None] = []
    for people in judge.chunks(len(values)):
        fair = people.start + np.flatnonzero(verdicts[people] == FAIR)
        around = judge.around(values[fair], labels[fair])
        for person, ways in zip(fair.tolist(), around, strict=True):
            proof = _prove_all(ways, most_boxes)
            if proof is None:
                said[person] = CLAIMED
            else:
                steps.extend(proof)
        if progress is not None:
            progress(people.stop, len(values))
    return Certificate.of(
        contents_of(
            model_digest=model.digest,
            schema=schema,
            similarity=similarity,
            values=values,
            verdicts=said,
            labels=np.where(said == UNKNOWN, -1, labels),
            steps=steps,
            twins=twins,
            allowed=allowed,
        )
    )


def _prove_all(ways: list[Around], most_boxes: int) -> list[Cut | None] | None:
    """Return the proofs for all ways to be similar; None if one of them fails."""
    steps: list[Cut | None] = []
    for way in ways:
        proof = prove(way, most_boxes)
        if proof is None:
            return None
        steps.extend(proof)
    return steps


def prove(around: Around, most_parts: int) -> list[Cut | None] | None:
    """Return the cuts that part all that is similar into closed parts.

    Parameters
    ----------
    around
        All that is similar to a person in one way.
    most_parts
        How many parts are looked at, at most.

    Returns
    -------
    list or None
        The cuts from the whole to the parts, left sides first; None stands for a part
        that is closed. If there are not enough parts, None instead of the list.
    """
    if around.is_closed:
        return [None]
    problem = around.problem()
    proof: list[Cut | None] = []
    waiting = [(problem.whole, problem.everything())]
    while waiting:
        if len(proof) + len(waiting) > most_parts:
            return None
        part, alive = waiting.pop()
        left = problem.first_open(part, alive)
        if left is None:
            proof.append(None)
            continue
        cut = _choose(problem, left)
        if cut is None:
            return None
        sides = problem.parts(part, cut)
        assert sides is not None
        proof.append(cut)
        for side in reversed(sides):
            waiting.append((side, problem.meeting(alive, side)))
    return proof


def _choose(problem: Problem, left: Open) -> Cut | None:
    """Choose the cut whose sides both lose most; None if there is nothing to cut."""
    best = np.maximum.reduceat(left.lead, left.starts)
    found: list[tuple[float, Cut]] = []
    first, last = problem.leaf_lines(left.alive)
    for place, index in enumerate(problem.lines):
        low, high = int(left.part.first[place]), int(left.part.last[place])
        if low < high:
            at = (
                np.clip(first[:, place] - low, 0, high - low),
                np.clip(last[:, place] - low, 0, high - low),
            )
            scores = _line_scores(left, best, at, high - low)
            cell = int(np.argmax(scores))
            found.append((float(scores[cell]), Cut(index, low + cell)))
    allowed = problem.leaf_sets(left.alive)
    for number, index in enumerate(problem.sets):
        span = problem.span(number)
        inside = np.flatnonzero(left.part.inside[span])
        if len(inside) > 1:
            mine = allowed[:, span][:, inside]
            scores = _set_scores(left, best, mine)
            place = int(np.argmax(scores))
            cell = int(problem.set_cells[number][inside[place]])
            found.append((float(scores[place]), Cut(index, cell, alone=True)))
    if not found:
        return None
    return max(found, key=lambda pair: pair[0])[1]


def _line_scores(
    left: Open, best: Floats, at: tuple[NDArray[np.int64], NDArray[np.int64]], size: int
) -> Floats:
    """Weigh the cuts of a line: behind each cell but the last."""
    counts = np.diff(np.append(left.starts, len(left.alive)))
    tree = np.repeat(np.arange(len(best)), counts)
    up_to = np.full((len(best), size + 1), -np.inf)
    np.maximum.at(up_to, (tree, at[0]), left.lead)
    up_to = np.maximum.accumulate(up_to, axis=1)[:, :-1]
    beyond = np.full((len(best), size + 1), -np.inf)
    np.maximum.at(beyond, (tree, at[1]), left.lead)
    beyond = np.maximum.accumulate(beyond[:, ::-1], axis=1)[:, ::-1][:, 1:]
    return _weigh(left, best, up_to, beyond)


def _set_scores(left: Open, best: Floats, allowed: NDArray[np.bool_]) -> Floats:
    """Weigh the cuts that part one cell from the others."""
    lead = left.lead[:, np.newaxis]
    at = np.where(allowed, lead, -np.inf)
    others = allowed.sum(axis=1, keepdims=True) > allowed
    without = np.where(others, lead, -np.inf)
    return _weigh(
        left,
        best,
        np.maximum.reduceat(at, left.starts, axis=0),
        np.maximum.reduceat(without, left.starts, axis=0),
    )


def _weigh(left: Open, best: Floats, one: Floats, other: Floats) -> Floats:
    """Multiply what both sides lose; more than the slack is worth nothing."""
    unit = left.slack / 1024 + np.finfo(np.float64).tiny
    limit = left.slack + unit
    losses = [
        np.minimum(np.maximum(best[:, np.newaxis] - side, 0).sum(axis=0), limit)
        for side in (one, other)
    ]
    return np.asarray((losses[0] + unit) * (losses[1] + unit))
