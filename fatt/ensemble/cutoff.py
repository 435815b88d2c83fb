"""Cut-offs and bands: the scores from which a library's probability reaches them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NoReturn

import msgspec
import numpy as np
from numpy.typing import NDArray

from fatt.ensemble.ensemble import Ensemble
from fatt.ensemble.features import Label
from fatt.ensemble.floats import largest_where, smallest_float
from fatt.ensemble.scoring import (
    CUT_SCORE,
    SUCH_CUTS,
    Argmax,
    Bands,
    Cut,
    CutOff,
    Cuts,
    Isotonic,
    Link,
    Prediction,
)
from fatt.errors import Arg, SpecError, hint

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
            f"threshold is {asked.threshold!r}, and the {ensemble.source.kind} "
            "predicts a number, which has no classes to cut between: pass a classifier."
        )
    if isinstance(decision, Bands):
        _refuse_other(decision.asked, asked)
    place = _place(ensemble, asked.of, f"threshold is {asked.threshold!r}")
    asked = msgspec.structs.replace(asked, of=ensemble.classes[place])
    if isinstance(decision, Cut) and decision.asked is not None:
        if decision.asked == asked:
            return ensemble
        _refuse_other(decision.asked, asked)
    _check_threshold(asked)
    if isinstance(decision, Argmax):
        ensemble, place = one_output(ensemble, place), 1
    return replace(ensemble, decision=Cut(at=_cut(ensemble, asked, place), asked=asked))


def _refuse_other(decides: CutOff | Cuts, asked: CutOff | Cuts) -> NoReturn:
    raise SpecError(
        f"the model decides already: {decides.words()}; now it should by "
        f"another rule: {asked.words()}. Load it anew."
    )


def bands(ensemble: Ensemble, asked: Cuts) -> Ensemble:
    """Return the ensemble that decides by bands of one probability or prediction.

    Parameters
    ----------
    ensemble
        The model.
    asked
        The bands; if they name no class, the second of two is meant.

    Returns
    -------
    Ensemble
        Its classes are the bands.

    Raises
    ------
    SpecError
        If there is no such class or probability, the bands are out of order or range,
        or the model decides by others already.
    """
    decision = ensemble.decision
    if isinstance(decision, Prediction) and asked.on == "probability":
        asked = msgspec.structs.replace(asked, on="prediction")
    if isinstance(decision, Bands) and asked.of is None:
        # What is not said is as it was said before.
        on = decision.asked.on if asked.on == "probability" else asked.on
        asked = msgspec.structs.replace(asked, of=decision.asked.of, on=on)
    if isinstance(decision, Bands) and decision.asked == asked:
        return ensemble
    if isinstance(decision, Bands | Cut) and decision.asked is not None:
        _refuse_other(decision.asked, asked)
    if isinstance(decision, Prediction):
        _check_bands(asked)
        known: Link | None = decision.link
        made = decision.link if asked.on == "prediction" else Link()
    else:
        place = _place(ensemble, asked.of, f"cuts are {list(asked.ends)}")
        asked = msgspec.structs.replace(asked, of=ensemble.classes[place])
        _check_bands(asked)
        if isinstance(decision, Argmax):
            ensemble = one_output(ensemble, place)
        elif place == 0:
            raise SpecError(
                f"{Arg('pos_label')} is {asked.of!r}, and the only score is that of "
                f"{ensemble.classes[1]!r}: cut the probability of "
                f"{ensemble.classes[1]!r}, with the bands in the other order."
            )
        made, known = Link(), ensemble.link
        if asked.on == "probability":
            made = _link(ensemble, f"cuts are {list(asked.ends)}", asked.of)
    dtype = np.dtype(ensemble.scoring.dtype).type
    cuts = [CutOff(threshold=end, strict=asked.strict) for end in asked.ends[1:]]
    edges = [turn(partial(_reaches, cut, made), made, dtype) for cut in cuts]
    return replace(
        ensemble,
        classes=asked.names,
        decision=Bands(edges=tuple(edges), asked=asked),
        link=known,
    )


def _check_bands(asked: Cuts) -> None:
    """Refuse bands that no number falls into, or that leave some out."""
    ends, names = asked.ends, asked.names
    if len(names) < 2:
        raise SpecError(
            f"cuts have one band, {list(names)}; write at least two, such as "
            f"{SUCH_CUTS}."
        )
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise SpecError(f"cuts have two bands of the name {twice!r}; name each once.")
    if any(math.isnan(end) for end in ends):
        raise SpecError(f"cuts hold {math.nan!r}; write numbers.")
    for name, before, end in zip(names[1:], ends[:-1], ends[1:], strict=True):
        if not before < end < math.inf:
            raise SpecError(
                f"the band {name!r} begins at {end!r}, behind one that begins at "
                f"{before!r}: write the bands in order, each with its lower end."
            )
    if asked.on == "probability":
        if ends[0] != 0 or ends[-1] > 1:
            raise SpecError(
                f"cuts are {list(ends)}, and probabilities lie between 0 and 1: the "
                "first band begins at 0, and no other beyond 1."
            )
    elif ends[0] != -math.inf:
        raise SpecError(
            f"the first band, {names[0]!r}, begins at {ends[0]!r}, and a {asked.on} "
            "can be lower: let it begin at -inf."
        )


def probability_of(ensemble: Ensemble, label: Label | None) -> Ensemble:
    """Return the ensemble that predicts the probability of one class.

    Parameters
    ----------
    ensemble
        The model.
    label
        The class; None for the second of two.

    Raises
    ------
    SpecError
        If there is no such class or probability, or the model decides by a cut-off.
    """
    decision = ensemble.decision
    assert not isinstance(decision, Prediction)
    if not isinstance(decision, Argmax) and decision.asked is not None:
        raise SpecError(
            "tolerance is about how far numbers move, and the model decides by a "
            f"cut-off or bands ({rule_in_words(ensemble)}), whose labels are the same "
            "or not: leave out one of the two."
        )
    place = _place(ensemble, label, "a tolerance is given", "fatt.load(...).predicting")
    label, link = ensemble.classes[place], _link(ensemble, "tolerance", None)
    if isinstance(link.calibration, Isotonic):
        raise SpecError(
            "tolerance is about probabilities, and isotonic calibration makes them in "
            f"steps that rounding takes up and down: cut them with {Arg('threshold')} "
            f"or {Arg('cuts')}, or ask about the model that is calibrated."
        )
    if isinstance(decision, Argmax):
        ensemble = one_output(ensemble, place)
    elif place == 0:
        other = ensemble.classes[1]
        raise SpecError(
            f"the only score is that of {other!r}, and the probability of {label!r} is "
            f"what it leaves over: ask about {other!r}, which moves as far."
        )
    predicted = Prediction(link=link, of=label)
    return replace(ensemble, classes=(), decision=predicted, link=None)


def rule_in_words(ensemble: Ensemble) -> str:
    """Say the cut-off by which a model was told to decide; nothing if by none."""
    decision = ensemble.decision
    if isinstance(decision, Bands):
        return decision.asked.words()
    if isinstance(decision, Prediction) and decision.of is not None:
        return f"the probability of {decision.of!r}"
    if not isinstance(decision, Cut) or decision.asked is None:
        return ""
    other = next(label for label in ensemble.classes if label != decision.asked.of)
    return f"{decision.asked.words()}, else {other!r}"


def _place(
    ensemble: Ensemble, label: Label | None, said: str, way: str = "pos_label"
) -> int:
    """Return which class is meant."""
    classes = ensemble.classes
    if label is not None:
        if label in classes:
            return classes.index(label)
        raise SpecError(
            f"{Arg('pos_label')} is {label!r}, which the model never answers. "
            f"{hint(label, classes)}"
        )
    if len(classes) != 2:
        raise SpecError(
            f"{said}, and the model has {len(classes)} classes: say whose probability "
            f"is meant, such as {Arg(way, classes[-1])}."
        )
    return 1


def _check_threshold(asked: CutOff) -> None:
    if not math.isfinite(asked.threshold):
        raise SpecError(f"threshold is {asked.threshold!r}; write a finite number.")
    if asked.on == "probability" and not 0 <= asked.threshold <= 1:
        raise SpecError(
            f"threshold is {asked.threshold!r}, and probabilities lie between 0 and 1; "
            f"write {CUT_SCORE} if it is a raw score."
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
    if len(trees) and bool(np.all(trees.targets == -1)):
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
        made = _link(ensemble, f"threshold is {asked.threshold!r}", asked.of)
    elif place == 0:
        raise SpecError(
            f"{Arg('pos_label')} is {asked.of!r} and cut_on is 'score', but the only "
            f"score is that of {ensemble.classes[1]!r}: a higher one speaks against "
            f"{asked.of!r}. Cut the score of {ensemble.classes[1]!r}."
        )

    def is_second(scores: NDArray[Any]) -> NDArray[np.bool_]:
        if place == 0:
            return ~asked.reached(made.of_first(scores))
        return asked.reached(made(scores))

    return turn(is_second, made, dtype)


def _reaches(cut: CutOff, made: Link, scores: NDArray[Any]) -> NDArray[np.bool_]:
    return cut.reached(made(scores))


def _link(ensemble: Ensemble, said: str, label: Label | None) -> Link:
    if ensemble.link is None:
        source = ensemble.source
        of = "" if label is None else f" of {label!r}"
        raise SpecError(
            f"{said}, and the {source.kind} of {source.library} with the objective "
            f"{source.objective or '(none)'!r} gives no probability{of} that is known "
            "to the last bit as a function of one score alone: that of AdaBoost is a "
            "softmax by NumPy, and those of several boosted classes depend on all "
            f"their scores. If its library hands its score out, cut that: {CUT_SCORE}. "
            "Or train a forest or a gradient boosted model of two classes."
        )
    return ensemble.link


def above(limit: float, dtype: Any = np.float64) -> Cut:
    """Return the rule that takes the second class iff the score exceeds a limit.

    Parameters
    ----------
    limit
        The limit, a number of the type.
    dtype
        The type of the score.
    """
    kind = np.dtype(dtype).type
    return Cut(at=float(np.nextafter(kind(limit), kind(np.inf))))


def likelier(link: Link, dtype: Any = np.float64) -> Cut:
    """Return the rule that takes the second class iff it is likelier than the first.

    Parameters
    ----------
    link
        How the probability of the second class is made of the score.
    dtype
        The type of the score.
    """

    def is_second(scores: NDArray[Any]) -> NDArray[np.bool_]:
        return np.asarray(link(scores) > link.of_first(scores))

    return Cut(at=turn(is_second, link, np.dtype(dtype).type))


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
    turns = np.array_equal(is_second(tried), tried.astype(np.float64) >= at)
    if not turns or link.turns_back(near).any():
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
