"""How a library turns leaves into scores, and scores into a label."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import libm
from fatt.ensemble.features import Label, Record
from fatt.ensemble.table_exp import is_at_end, table_exp
from fatt.errors import Arg, SpecError

Scores = NDArray[Any]

#: How to say that a cut-off is one of the raw score.
CUT_SCORE = Arg("cut_on", "score")
#: How to say where bands begin.
SUCH_CUTS = Arg("cuts", {"approve": 0.0, "review": 0.14, "decline": 0.365})


class Scoring(Record, frozen=True, kw_only=True):
    """The arithmetic that adds up the leaves.

    Attributes
    ----------
    dtype
        Precision in which each sum is rounded.
    base
        One number per output that joins the sum.
    base_last
        Whether the base is added after the trees, not before.
    divisor
        The sum is divided by this number in the end.
    ordered
        Whether the library always adds the trees in order. If not, its sums may differ
        from ours in their last bits; see `Ensemble.score_bounds`.
    roundings
        How often at most the library, or whoever read it, rounds a term besides the
        additions, as averages of averages do; not 0 only without order.
    """

    dtype: Literal["float32", "float64"]
    base: tuple[float, ...]
    base_last: bool = False
    divisor: float = 1.0
    ordered: bool = True
    roundings: int = 0

    @property
    def single(self) -> bool:
        """Whether sums are rounded to float32."""
        return self.dtype == "float32"


class Isotonic(Record, frozen=True, kw_only=True):
    """scikit-learn's isotonic calibration: lines between points, level beyond them.

    Between two points it never decreases, but where one line ends and the next begins
    rounding may take it down by a last bit: `turn` looks at all `x`.

    Attributes
    ----------
    x, y
        The points; `x` increases, and `y` does not decrease.
    single
        Whether it computes in float32.
    """

    x: tuple[float, ...]
    y: tuple[float, ...]
    single: bool = False

    def __call__(self, numbers: Scores) -> NDArray[np.float64]:
        """Return the probability for each number, as scipy interpolates for it."""
        x, y = self._points
        numbers = np.clip(numbers.astype(x.dtype), x[0], x[-1])
        if not self.single or len(x) == 1:
            return np.interp(numbers, x, y)
        upper = np.clip(np.searchsorted(x, numbers), 1, len(x) - 1)
        lower = upper - 1
        slope = (y[upper] - y[lower]) / (x[upper] - x[lower])
        made: Scores = slope * (numbers - x[lower]) + y[lower]
        return made.astype(np.float64)

    def is_sound(self) -> bool:
        """Tell whether the points rise, and all probabilities lie between 0 and 1."""
        x, y = self._points
        if not 1 <= len(x) == len(y) or not np.isfinite([x, y]).all():
            return False
        if x.tolist() != list(self.x) or not np.all(np.diff(x) > 0):
            return False
        rises = np.all(np.diff(y) >= 0) and y[0] >= 0
        with np.errstate(all="ignore"):
            return bool(rises and np.all(self._around_points() <= 1))

    @property
    def is_monotone(self) -> bool:
        """Whether no line ends higher than the next begins."""
        before, at, after = self._around_points()
        return bool(np.all((before <= at) & (at <= after)))

    def _around_points(self) -> Scores:
        """Return the probabilities just before, at, and just after each point."""
        x, _ = self._points
        down, up = x.dtype.type(-np.inf), x.dtype.type(np.inf)
        return self(np.stack([np.nextafter(x, down), x, np.nextafter(x, up)]))

    @property
    def _points(self) -> tuple[Scores, Scores]:
        dtype = np.float32 if self.single else np.float64
        return np.array(self.x, dtype=dtype), np.array(self.y, dtype=dtype)


class Link(Record, frozen=True, kw_only=True):
    """How a library makes a probability or prediction of a score, with its roundings.

    Never decreasing, but for the last bits of an `Isotonic` or ``"table exp"``; see
    `is_monotone` and `turns_back`.

    Attributes
    ----------
    function
        ``"sigmoid"`` is ``1 / (1 + exp(-scale * score))``, and ``"two-sided sigmoid"``
        that of onnxruntime, which takes it of the absolute score and subtracts it from
        1 if the score is negative. The exponential function is that of the C library,
        NumPy's own, or CatBoost's (``"table exp"``), which round differently.
    scale
        By what the sigmoid multiplies scores.
    divisor
        Scores are divided by this number first.
    calibration
        What a calibrator of scikit-learn makes of all that, in float64: slope and shift
        of one more sigmoid, ``1 / (1 + exp(slope * x + shift))`` with a negative slope,
        or an isotonic function.
    other
        How the probability of the first of two classes is made: 1 less that of the
        second (``"complement"``), by the same function of the negative score
        (``"mirrored"``), or of leaves that are not known.
    """

    function: Literal[
        "identity",
        "sigmoid",
        "two-sided sigmoid",
        "exp",
        "numpy exp",
        "numpy expm1",
        "table exp",
    ] = "identity"
    scale: float = 1.0
    divisor: float = 1.0
    calibration: tuple[float, float] | Isotonic | None = None
    other: Literal["complement", "mirrored", "unknown"] = "complement"

    @property
    def is_identity(self) -> bool:
        """Whether the number is the score itself."""
        plain = self.function == "identity" and self.divisor == 1.0
        return plain and self.calibration is None

    @property
    def is_monotone(self) -> bool:
        """Whether it never decreases, not even by a last bit."""
        isotonic = self.calibration
        rises = not isinstance(isotonic, Isotonic) or isotonic.is_monotone
        return rises and self.function != "table exp"

    def turns_back(self, scores: Scores) -> NDArray[np.bool_]:
        """Tell near which scores it may decrease, for a reason that is known.

        Of an `Isotonic` nothing is told.
        """
        if self.function != "table exp":
            return np.zeros(scores.shape, dtype=bool)
        return is_at_end(scores)

    def of_first(self, scores: Scores) -> Scores:
        """Return the probability of the first of two classes, for scores of the second.

        Raises
        ------
        SpecError
            If it is not known.
        """
        if self.other == "mirrored":
            return self(-scores)
        if self.other == "complement":
            return np.asarray(1.0 - self(scores))
        raise SpecError(
            "the probability of the first class is made of other leaves than that of "
            "the second, which alone is known: ask about the second class."
        )

    def __call__(self, scores: Scores) -> Scores:
        """Return what the library makes of each score, in the type of the library.

        Parameters
        ----------
        scores : ndarray, float32 or float64
            As `Ensemble.raw_scores` returns them.
        """
        linked = self.uncalibrated(scores)
        if self.calibration is None:
            return linked
        if isinstance(self.calibration, Isotonic):
            return self.calibration(linked)
        slope, shift = self.calibration
        wide = linked.astype(np.float64)
        with np.errstate(over="ignore"):
            wide = -(slope * wide + shift)
        made = [sigmoid(x) for x in wide.ravel().tolist()]
        return np.array(made, dtype=np.float64).reshape(wide.shape)

    def uncalibrated(self, scores: Scores) -> Scores:
        """Return what a calibrator is given of each score."""
        if self.divisor != 1.0:
            scores = scores / scores.dtype.type(self.divisor)
        if self.function == "identity":
            return scores
        if self.function in {"numpy exp", "numpy expm1"}:
            with np.errstate(over="ignore"):
                made = np.exp if self.function == "numpy exp" else np.expm1
                return np.asarray(made(scores))
        if self.function == "table exp":
            return table_exp(scores)
        single = scores.dtype == np.float32
        one: Callable[[float], float]
        if self.function == "exp":
            one = partial(libm.exp, single=bool(single))
        elif self.function == "two-sided sigmoid":
            one = _two_sided_sigmoid
        else:
            one = _single_sigmoid if single else partial(sigmoid, scale=self.scale)
        linked = [one(score) for score in scores.ravel().tolist()]
        return np.array(linked, dtype=scores.dtype).reshape(scores.shape)


def _beyond(end: str, strict: bool) -> str:
    """Say whether a number itself belongs to what lies above it."""
    return f"above {end}" if strict else f"from {end} on"


class CutOff(Record, frozen=True, kw_only=True):
    """A decision as people say it: one class from some probability on.

    Attributes
    ----------
    threshold
        The class is given from this number on, compared as NumPy compares an array of
        the library's type with a plain number.
    strict
        Whether the number itself does not suffice.
    on
        Whether the probability of the class is compared, or its raw score.
    of
        The class; None for the second of two.
    """

    threshold: float
    strict: bool = False
    on: Literal["probability", "score"] = "probability"
    of: Label | None = None

    def reached(self, numbers: NDArray[Any]) -> NDArray[np.bool_]:
        """Tell which probabilities or scores get the class."""
        with np.errstate(over="ignore"):
            threshold = numbers.dtype.type(self.threshold)
        if self.strict:
            return np.asarray(numbers > threshold)
        return np.asarray(numbers >= threshold)

    def codes(self, numbers: NDArray[Any]) -> NDArray[np.int64]:
        """Return 1 for those who get the class, 0 for the others."""
        return self.reached(numbers).astype(np.int64)

    def words(self) -> str:
        """Say the rule in words."""
        of = "the second class" if self.of is None else repr(self.of)
        on = "raw score" if self.on == "score" else self.on
        return f"{of} {_beyond(f'a {on} of {self.threshold!r}', self.strict)}"


class Cut(Record, frozen=True, kw_only=True, tag="cut"):
    """The second of two classes iff the only score is at least a number.

    Attributes
    ----------
    at
        The smallest score that gets the second class. Where the library compares a
        probability, this is found by bisection on its own formula.
    asked
        The cut-off that somebody asked for, in place of the library's own rule.
    """

    at: float
    asked: CutOff | None = None

    @property
    def edges(self) -> tuple[float, ...]:
        """The smallest score of each class but the first."""
        return (self.at,)


class Cuts(Record, frozen=True, kw_only=True):
    """Bands as people say them: names, each from some number on.

    Attributes
    ----------
    names
        What the bands are called, from the lowest to the highest.
    ends
        The lower end of each band, compared as NumPy compares an array of the library's
        type with a plain number. Nobody is below the first.
    strict
        Whether the number itself still belongs to the band below.
    on
        What is compared: a probability, its raw score, or what a regressor predicts.
    of
        The class whose probability it is; None if it is a prediction.
    """

    names: tuple[str, ...]
    ends: tuple[float, ...]
    strict: bool = False
    on: Literal["probability", "score", "prediction"] = "probability"
    of: Label | None = None

    def codes(self, numbers: NDArray[Any]) -> NDArray[np.int64]:
        """Return the place of the band in which each number is."""
        reached = np.zeros(numbers.shape, dtype=np.int64)
        for end in self.ends[1:]:
            cut = CutOff(threshold=end, strict=self.strict)
            reached += cut.reached(numbers)
        return reached

    def words(self) -> str:
        """Say the rule in words."""
        of = f" of {self.of!r}" if self.of is not None else ""
        bands = [
            f"{name!r} {_beyond(repr(end), self.strict)}"
            for name, end in zip(self.names[:0:-1], self.ends[:0:-1], strict=True)
        ]
        return f"by its {self.on}{of}: {', '.join(bands)}, else {self.names[0]!r}"


class Bands(Record, frozen=True, kw_only=True, tag="bands"):
    """One of several classes in order, by how many numbers the only score reaches.

    Attributes
    ----------
    edges
        The smallest score of each class but the first, never decreasing; found by
        bisection on the library's own formula.
    asked
        The bands that somebody asked for.
    """

    edges: tuple[float, ...]
    asked: Cuts


class Argmax(Record, frozen=True, kw_only=True, tag="argmax"):
    """The class whose linked score is largest.

    Attributes
    ----------
    link
        What is compared. The link can round two different scores to the same number,
        and then `ties` decides, which is why it belongs to the label.
    scale
        With the sigmoid: ``1 / (1 + exp(-scale * score))``.
    divisor
        Scores are divided by this number before the link.
    ties
        Which of several largest classes wins.
    """

    link: Literal["identity", "softmax", "sigmoid"] = "identity"
    scale: float = 1.0
    divisor: float = 1.0
    ties: Literal["first", "last"] = "first"


class Prediction(Record, frozen=True, kw_only=True, tag="prediction"):
    """A number, and no class: what the link makes of the only score.

    Attributes
    ----------
    link
        How the library makes the number.
    of
        The class whose probability the number is; None if the library calls it a
        prediction.
    """

    link: Link = Link()
    of: Label | None = None


#: What makes a label of scores.
LabelRule: TypeAlias = Cut | Bands | Argmax

Decision: TypeAlias = LabelRule | Prediction

# Linked scores further apart than this (relatively) differ also after exact rounding:
# far above the last bit, far below what people would call a difference.
_NEAR = {"float32": 1e-5, "float64": 1e-12}


def decide(scores: Scores, decision: LabelRule) -> NDArray[np.int64]:
    """Return the index of the class that the library answers for each row of scores."""
    if isinstance(decision, Cut):
        # As float64: numpy would round the number to the type of the scores (version 1
        # any, version 2 a plain one).
        return (scores[:, 0].astype(np.float64) >= decision.at).astype(np.int64)
    if isinstance(decision, Bands):
        alone = scores[:, 0].astype(np.float64)
        return np.searchsorted(decision.edges, alone, side="right").astype(np.int64)
    if decision.divisor != 1.0:
        scores = scores / scores.dtype.type(decision.divisor)
    if decision.link == "identity":
        return _argmax(scores, decision)
    with np.errstate(over="ignore"):
        if decision.link == "softmax":
            close = np.exp(scores - scores.max(axis=1, keepdims=True))
        else:
            close = 1 / (1 + np.exp(-decision.scale * scores.astype(np.float64)))
    near = close >= close.max(axis=1, keepdims=True) * (1 - _NEAR[scores.dtype.name])
    labels = _argmax(close, decision)
    for row in np.flatnonzero(near.sum(axis=1) > 1):
        exact = _linked(scores[row].tolist(), decision, scores.dtype == np.float32)
        labels[row] = _argmax(np.array([exact]), decision)[0]
    return labels


def _argmax(scores: Scores, decision: Argmax) -> NDArray[np.int64]:
    if decision.ties == "first":
        return np.asarray(np.argmax(scores, axis=1))
    return np.asarray(scores.shape[1] - 1 - np.argmax(scores[:, ::-1], axis=1))


def _linked(scores: list[float], decision: Argmax, single: bool) -> list[float]:
    """Apply the link with the C library's functions and the library's roundings."""
    if decision.link == "sigmoid":
        return [sigmoid(score, scale=decision.scale) for score in scores]
    top = max(scores)
    powers = [
        libm.exp(libm.round_to(score - top, single=single), single=single)
        for score in scores
    ]
    total = 0.0
    for power in powers:
        total += power
    total = libm.round_to(total, single=single)
    return [libm.round_to(power / total, single=single) for power in powers]


#: `expf` overflows beyond this; XGBoost stops its sigmoid there.
_SINGLE_LIMIT = float(np.float32(88.7))


def _single_sigmoid(score: float) -> float:
    """Return the logistic function as XGBoost rounds it, to float32 at each step."""
    power = np.float32(libm.exp(min(-score, _SINGLE_LIMIT), single=True))
    return float(np.float32(1) / (power + np.float32(1)))


def _two_sided_sigmoid(score: float) -> float:
    """Return the logistic function as onnxruntime rounds it, each step to float32."""
    power = np.float32(libm.exp(-abs(score), single=True))
    high = np.float32(1) / (np.float32(1) + power)
    return float(np.float32(1) - high if score < 0 else high)


def sigmoid(score: float, *, scale: float = 1.0) -> float:
    """Return the logistic function as LightGBM and scikit-learn round it."""
    return 1.0 / (1.0 + libm.exp(-scale * score, single=False))
