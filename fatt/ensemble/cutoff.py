"""A cut-off for one class: the score from which a library's probability reaches it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from fatt.ensemble.ensemble import Ensemble
from fatt.ensemble.features import Label
from fatt.ensemble.floats import largest_where, smallest_float
from fatt.ensemble.scoring import Argmax, Cut, CutOff, Isotonic, Link, Prediction
from fatt.errors import SpecError, hint

#: On how many floats on both sides of a cut its rule is tried.
_NEAR = 64


def cut_off(ensemble: Ensemble, asked: CutOff) -> Ensemble:
    """Return the ensemble that decides by a cut-off of one class.

    Parameters
    ----------
    ensemble
        The model.
    asked
        The cut-off; if it names no class, the second of two is meant.

    Returns
    -------
    Ensemble
        Its only score is that of the class, and its last class is the class; whoever
        does not reach the cut-off gets the other one, or is called ``"not ..."``.

    Raises
    ------
    SpecError
        If there is no such class or probability, the number is out of range, or the
        model decides by another cut-off already.
    """
    decision = ensemble.decision
    if isinstance(decision, Prediction):
        raise SpecError(
            f"threshold is {asked.threshold!r}, and the {ensemble.source.model} "
            "predicts a number, which has no classes to cut between: pass a classifier."
        )
    place = _place(ensemble, asked)
    asked = msgspec.structs.replace(asked, of=ensemble.classes[place])
    if isinstance(decision, Cut) and decision.asked is not None:
        if decision.asked == asked:
            return ensemble
        raise SpecError(
            f"the model decides already: {decision.asked.words()}; now it should by "
            f"another rule: {asked.words()}. Load it anew."
        )
    _check_threshold(asked)
    if isinstance(decision, Argmax):
        ensemble, place = one_output(ensemble, place), 1
    return replace(ensemble, decision=Cut(at=_cut(ensemble, asked, place), asked=asked))


def rule_in_words(ensemble: Ensemble) -> str:
    """Say the cut-off by which a model was told to decide; nothing if by none."""
    decision = ensemble.decision
    if not isinstance(decision, Cut) or decision.asked is None:
        return ""
    other = next(label for label in ensemble.classes if label != decision.asked.of)
    return f"{decision.asked.words()}, else {other!r}"


def _place(ensemble: Ensemble, asked: CutOff) -> int:
    """Return which class is cut off."""
    classes = ensemble.classes
    if asked.of is not None:
        if asked.of in classes:
            return classes.index(asked.of)
        raise SpecError(
            f"pos_label is {asked.of!r}, which the model never answers. "
            f"{hint(str(asked.of), map(str, classes))}"
        )
    if len(classes) != 2:
        raise SpecError(
            f"threshold is {asked.threshold!r}, and the model has {len(classes)} "
            "classes: say with pos_label= whose probability is cut, such as "
            f"pos_label={classes[-1]!r}."
        )
    return 1


def _check_threshold(asked: CutOff) -> None:
    if not math.isfinite(asked.threshold):
        raise SpecError(f"threshold is {asked.threshold!r}; write a finite number.")
    if asked.on == "probability" and not 0 <= asked.threshold <= 1:
        raise SpecError(
            f"threshold is {asked.threshold!r}, and probabilities lie between 0 and 1; "
            "write cut_on='score' if it is a raw score."
        )


def one_output(ensemble: Ensemble, place: int) -> Ensemble:
    """Return the ensemble with the score of one class alone, which comes last.

    Parameters
    ----------
    ensemble
        One with a score for each class.
    place
        Which class.

    Returns
    -------
    Ensemble
        Its cut has no meaning yet.
    """
    classes, trees, scoring = ensemble.classes, ensemble.trees, ensemble.scoring
    other: Label = f"not {classes[place]}"
    if len(classes) == 2:
        other = classes[1 - place]
    if bool(np.all(trees.targets == -1)):
        trees = replace(trees, values=trees.values[:, [place]].copy())
    else:
        trees = trees.only(trees.targets == place)
        trees = replace(trees, targets=np.zeros_like(trees.targets))
    base = (scoring.base[place],)
    return replace(
        ensemble,
        classes=(other, classes[place]),
        trees=trees,
        scoring=msgspec.structs.replace(scoring, base=base),
        decision=Cut(at=0.0),
    )


def _cut(ensemble: Ensemble, asked: CutOff, place: int) -> float:
    """Return the smallest score that gets the second class."""
    dtype = np.dtype(ensemble.scoring.dtype).type
    made = Link()
    if asked.on == "probability":
        made = _link(ensemble, asked)
    elif place == 0:
        raise SpecError(
            f"pos_label is {asked.of!r} and cut_on is 'score', but the only score is "
            f"that of {ensemble.classes[1]!r}: a higher one speaks against "
            f"{asked.of!r}. Cut the score of {ensemble.classes[1]!r}."
        )

    def is_second(scores: NDArray[Any]) -> NDArray[np.bool_]:
        if place == 0:
            return ~asked.reached(made.of_first(scores))
        return asked.reached(made(scores))

    return turn(is_second, made, dtype)


def _link(ensemble: Ensemble, asked: CutOff) -> Link:
    if ensemble.link is None:
        source = ensemble.source
        raise SpecError(
            f"threshold is {asked.threshold!r}, and a {source.model or 'model'} of "
            f"{source.library} with the objective {source.objective or '(none)'!r} "
            f"gives no probability of {asked.of!r} that is known as a function of one "
            "score alone: those of several boosted classes depend on all their scores. "
            "Cut its score (cut_on='score') if its library hands it out, or train a "
            "forest or a model of two classes."
        )
    return ensemble.link


def turn(
    is_second: Callable[[NDArray[Any]], NDArray[np.bool_]], link: Link, dtype: Any
) -> float:
    """Return the smallest score for which a rule holds, which then goes on to hold.

    Parameters
    ----------
    is_second
        The rule, on arrays of scores.
    link
        How it makes a probability of a score, which may not increase everywhere.
    dtype
        The type of the scores.

    Returns
    -------
    float
        Minus infinity if it holds for all, infinity if for none.

    Raises
    ------
    SpecError
        If it holds, and then does not, close to the number.
    """
    most = float(np.finfo(dtype).max)
    ends = is_second(np.array([-most, most], dtype=dtype))
    if ends[0] or not ends[1]:
        at = -math.inf if ends[0] else math.inf
        near = np.zeros(0, dtype=dtype)
    else:
        at = smallest_float(
            lambda s: bool(is_second(np.array([s], dtype=dtype))[0]), dtype
        )
        near = _around(np.array([at], dtype=dtype), _NEAR)
    tried = np.concatenate([near, _joints(link, dtype)])
    if not np.array_equal(is_second(tried), tried.astype(np.float64) >= at):
        raise SpecError(
            "the library rounds its probabilities so that they go up and down around "
            "this threshold, and it is no cut of the score. Move it by a little."
        )
    return at


def _joints(link: Link, dtype: Any) -> NDArray[Any]:
    """Return the first and last scores of each line of an isotonic calibrator.

    What holds of both ends of a line, along which the link never decreases, holds of
    all scores between them.
    """
    if not isinstance(link.calibration, Isotonic):
        return np.zeros(0, dtype=dtype)
    joints = np.array(link.calibration.x)
    given = np.float32 if link.calibration.single else np.float64

    def linked(numbers: NDArray[np.float64]) -> NDArray[Any]:
        with np.errstate(over="ignore"):
            return link.uncalibrated(numbers.astype(dtype)).astype(given)

    below, _ = largest_where(lambda numbers: linked(numbers) < joints, len(joints))
    up_to, _ = largest_where(lambda numbers: linked(numbers) <= joints, len(joints))
    with np.errstate(over="ignore"):
        ends = np.unique(np.concatenate([below, up_to]).astype(dtype))
    return _around(ends[np.isfinite(ends)], 1)


def _around(scores: NDArray[Any], count: int) -> NDArray[Any]:
    """Return scores and so many floats on both sides of each, one below the other."""
    line = [scores]
    for _ in range(count):
        line.append(np.nextafter(line[-1], scores.dtype.type(np.inf)))
        line.insert(0, np.nextafter(line[0], scores.dtype.type(-np.inf)))
    return np.concatenate(line)
