"""Of which numbers a gap is: scores, probabilities or predictions."""

from __future__ import annotations

from typing import get_args

from fatt.ensemble import Bands, Cut, Ensemble, Label, Link, Prediction
from fatt.errors import SpecError
from fatt.verdict import Of


def link_of(model: Ensemble, of: Of) -> Link | None:
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


def asked_of(ensemble: Ensemble, of: Of) -> Of:
    """Return what the numbers are; what a model predicts may be a probability."""
    decision = ensemble.decision
    is_probability = isinstance(decision, Prediction) and decision.of is not None
    return "probability" if is_probability else of


def labels_of(ensemble: Ensemble) -> tuple[Label, ...]:
    """Return the class of each score."""
    decision = ensemble.decision
    if isinstance(decision, Cut):
        return ensemble.classes[1:]
    if isinstance(decision, Bands | Prediction):
        of = decision.asked.of if isinstance(decision, Bands) else decision.of
        return ("prediction" if of is None else of,)
    return ensemble.classes
