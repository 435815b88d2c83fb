"""From verdicts to a certificate: prove again, so that others can check it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fatt.certificate.certificate import CLAIMED, UNKNOWN, Certificate, contents_of
from fatt.certificate.closing import Cut
from fatt.certificate.judge import Around, Judge
from fatt.certificate.prover import prove
from fatt.ensemble import Ensemble
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
    progress
        Called with the number of people done and the number of all.
    """
    judge = Judge(model, schema, similarity)
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
