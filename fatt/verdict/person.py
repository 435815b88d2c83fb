"""What is said of one person: a verdict, the labels possible, and perhaps a twin."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from enum import StrEnum
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Feature, Label, Numeric
from fatt.markup import Markup, Part, facts, listed, notebook, pair

#: A value as people write it: a number, a category, or None if it is missing.
Value: TypeAlias = Label | None


class Verdict(StrEnum):
    """Whether everybody similar to a person gets the person's label.

    Examples
    --------
    >>> Verdict.FAIR == "fair"
    True
    """

    #: Proved: every similar person gets the same label.
    FAIR = "fair"
    #: Refuted: a twin, a similar person with another label, is known.
    UNFAIR = "unfair"
    #: Neither was shown: the budget ended, or the library does not fix the label.
    UNKNOWN = "unknown"


#: The verdicts in the order of the codes that arrays hold: 0, 1 and 2.
VERDICTS = (Verdict.FAIR, Verdict.UNFAIR, Verdict.UNKNOWN)

#: Their codes: the places in `VERDICTS`.
FAIR, UNFAIR, UNKNOWN = 0, 1, 2


class Stopped(StrEnum):
    """Why a verdict is unknown; the first of these that holds.

    Examples
    --------
    >>> Stopped.BUDGET == "budget"
    True
    """

    #: The library does not fix the order of its sums, and the last bits decide.
    ORDER = "order of sums"
    #: Two classes are so near that the last bits of a softmax or sigmoid decide.
    TIE = "tie"
    #: The nodes or the time were used up.
    BUDGET = "budget"
    #: The user ended the run before.
    INTERRUPTED = "interrupted"


#: The reasons in the order of the codes that arrays hold; None if nothing is unknown.
REASONS = (None, *Stopped)

#: The codes of the reasons: the places in `REASONS`.
DECIDED, ORDER, TIE, BUDGET, INTERRUPTED = range(5)

#: The reasons in words.
BECAUSE = {
    Stopped.ORDER: "because the library does not fix the order of its sums",
    Stopped.TIE: "because the last bits of a softmax or sigmoid decide",
    Stopped.BUDGET: "because the budget ended",
    Stopped.INTERRUPTED: "because the run was interrupted",
}


class Bounds(NamedTuple):
    """A number that is known to lie between two others, both included.

    A comparison is true only if it is proved: ``bounds >= 0.9`` says that the number is
    at least 0.9 wherever it lies. So ``bounds >= 0.9`` and ``bounds < 0.9`` can both be
    false. A format such as ``.1%`` writes both ends, or one figure if they are equal;
    `lower` is rounded down, `upper` is rounded up, and one figure down.

    Attributes
    ----------
    lower, upper
        The two numbers; equal if the number is known exactly.

    Examples
    --------
    >>> Bounds(0.5, 0.75) >= 0.5, Bounds(0.5, 0.75) > 0.5, Bounds(0.5, 0.75) <= 0.5
    (True, False, False)
    >>> f"{Bounds(0.5, 0.75):.1%}", f"{Bounds(0.9996, 0.9996):.1%}"
    ('50.0% to 75.0%', '99.9%')
    """

    lower: float
    upper: float

    def __ge__(self, other: object) -> bool:
        return self.lower >= _ends(other).upper

    def __gt__(self, other: object) -> bool:
        return self.lower > _ends(other).upper

    def __le__(self, other: object) -> bool:
        return self.upper <= _ends(other).lower

    def __lt__(self, other: object) -> bool:
        return self.upper < _ends(other).lower

    def __format__(self, spec: str) -> str:
        if not spec:
            return str(self)
        lower = _rounded(self.lower, spec, ROUND_FLOOR)
        if self.lower == self.upper:
            return lower
        return f"{lower} to {_rounded(self.upper, spec, ROUND_CEILING)}"


# Numbers of NumPy leave comparisons to us, and make no array of both ends.
Bounds.__array_ufunc__ = None  # type: ignore[attr-defined]


def _ends(other: object) -> Bounds:
    """Return the ends of bounds, or of a number; these are the number itself."""
    if isinstance(other, Bounds):
        return other
    if isinstance(other, int | float | np.integer | np.floating):
        return Bounds(float(other), float(other))
    raise TypeError(
        f"bounds are compared with {other!r}; compare them with a number, or compare "
        "bounds.lower and bounds.upper."
    )


def _rounded(number: float, spec: str, rounding: str) -> str:
    """Write a number that is rounded to one side; but for its last bits."""
    if not math.isfinite(number):
        return format(number, spec)
    with localcontext(rounding=rounding):
        return format(Decimal(f"{number:.12g}"), spec)


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found out about one person.

    Attributes
    ----------
    index
        Which row the person is, counted from 0.
    verdict
        Fair, unfair or unknown.
    label
        The class that the model gives to the person; None only for a person whom an
        interrupted run did not reach.
    labels
        The classes that similar people may still get: exactly the own one if the
        verdict is fair; never too few.
    stopped
        Why the verdict is unknown; None if it is not.
    """

    index: int
    verdict: Verdict
    label: Label | None
    labels: tuple[Label, ...]
    stopped: Stopped | None = None

    def _repr_html_(self) -> str:
        told = {
            "answer": in_words(self.label) if self.label is not None else None,
            "answers of similar people": listed([in_words(one) for one in self.labels]),
            "because": BECAUSE[self.stopped] if self.stopped is not None else None,
        }
        return notebook(f"Person {self.index}: {self.verdict}", facts(told))


class Change(NamedTuple):
    """How a twin differs from an individual in one variable."""

    before: Value
    after: Value

    def __str__(self) -> str:
        return f"{in_words(self.before)} → {in_words(self.after)}"


@dataclass(frozen=True, slots=True)
class Counterexample:
    """Two similar people whom the model treats differently.

    Attributes
    ----------
    index
        Which row the individual is, counted from 0.
    label, twin_label
        The class of the individual and that of the twin.
    individual, twin
        The values of both, by variable.
    changes
        The variables in which they differ, with both values.
    replayed_on
        What confirmed both labels: the ``"model"`` itself, asked for its predictions,
        or, if neither it nor its library was at hand, the ``"ensemble"`` read from it.

    Examples
    --------
    >>> print(Counterexample(
    ...     index=17, label="approve", twin_label="deny",
    ...     individual={"age": 41, "sex": "F"}, twin={"age": 43, "sex": "M"},
    ...     replayed_on="model"))
    #17  approve → deny   age 41 → 43, sex F → M
    """

    index: int
    label: Label
    twin_label: Label
    individual: Mapping[str, Value]
    twin: Mapping[str, Value]
    replayed_on: Literal["model", "ensemble"]

    @property
    def changes(self) -> dict[str, Change]:
        """The variables in which the two differ, with both values."""
        return changes_between(self.individual, self.twin)

    @property
    def changes_in_words(self) -> str:
        """The changes as one line of text."""
        return ", ".join(change_in_words(*change) for change in self.changes.items())

    @property
    def in_words(self) -> str:
        """Both answers and the changes, as one line of text."""
        labels = " → ".join(both_in_words(self.label, self.twin_label))
        return f"{labels}   {self.changes_in_words}"

    def __str__(self) -> str:
        return f"#{self.index}  {self.in_words}"

    def card(self, title: Part) -> Markup:
        """Return the two side by side as HTML, below a title."""
        answers = ("answer", *both_in_words(self.label, self.twin_label))
        return compared(title, self.individual, self.twin, answers)

    def _repr_html_(self) -> str:
        replayed = f"Both answers confirmed on the {self.replayed_on}."
        return notebook("Counterexample", self.card(f"Person {self.index}"), replayed)


def change_in_words(name: str, change: Change) -> str:
    """Write one change of a variable."""
    return f"{name} {change}"


def changes_between(
    individual: Mapping[str, Value], twin: Mapping[str, Value]
) -> dict[str, Change]:
    """Return the variables in which two people differ, with both values."""
    return {
        name: Change(value, twin[name])
        for name, value in individual.items()
        if not _same(value, twin[name])
    }


def compared(
    title: Part,
    individual: Mapping[str, Value],
    twin: Mapping[str, Value],
    answers: tuple[str, str, str],
) -> Markup:
    """Return two people side by side as HTML.

    Parameters
    ----------
    title
        Who the first of them is.
    individual, twin
        The values of both, by variable.
    answers
        What the model says, and what it says to either of them.
    """
    changes = changes_between(individual, twin)
    return pair(
        title,
        {name: in_words(value) for name, value in individual.items()},
        {name: in_words(change.after) for name, change in changes.items()},
        answers,
    )


def _same(value: Value, other: Value) -> bool:
    """Tell whether two values are the same, where True and 1 are not."""
    return value == other and isinstance(value, bool) == isinstance(other, bool)


def answers_of(answers: NDArray[Any], classes: tuple[Label, ...]) -> list[Label]:
    """Return what answers mean: places among the classes, or predictions as they are.

    Parameters
    ----------
    answers
        Places of labels; numbers if there are no classes.
    classes
        The model's labels; none if it predicts numbers.
    """
    given: list[Any] = answers.tolist()
    return [classes[code] for code in given] if classes else given


def answer_in_words(answer: Label) -> str:
    """Write an answer for people; a prediction in float32 with the digits it has.

    Examples
    --------
    >>> answer_in_words(216.83389282226562), answer_in_words("deny")
    ('216.8339', 'deny')
    """
    text = in_words(answer)
    if isinstance(answer, float) and float(np.float32(answer)) == answer:
        return min(text, str(np.float32(answer)), key=len)
    return text


def both_in_words(answer: Label, other: Label) -> tuple[str, str]:
    """Write two answers for people; long predictions with as many digits as it takes.

    Examples
    --------
    >>> both_in_words(463.27461538461536, 412.5), both_in_words(0.0, 1.0)
    (('463.275', '412.5'), ('0.0', '1.0'))
    >>> both_in_words(463.27461538461536, 463.2746153)
    ('463.2746154', '463.2746153')
    """
    both = answer_in_words(answer), answer_in_words(other)
    if isinstance(answer, float) and isinstance(other, float):
        for digits in range(_DIGITS, 17):
            short = f"{answer:.{digits}g}", f"{other:.{digits}g}"
            if max(map(len, both)) > _LONG and len(set(short)) == len({answer, other}):
                return short
    return both


def in_words(value: Value) -> str:
    """Write a value for people; numbers with all the digits that tell them apart."""
    return "missing" if value is None else str(value)


#: Predictions that are longer are shown with so many digits, if these tell them apart.
_LONG, _DIGITS = 8, 6

#: Stands for every category that the model never saw: it cannot tell them apart.
OTHER = "(other)"


def share(fairness: Bounds) -> str:
    """Write a share that lies between two bounds; rounding claims no more than they.

    Examples
    --------
    >>> share(Bounds(0.99999, 0.99999)), share(Bounds(0.5, 0.75))
    ('99.99%', '50.00% to 75.00%')
    """
    return f"{fairness:.2%}"


def value_of(feature: Feature, number: float, *, is_made: bool = False) -> Value:
    """Return what a number or code means to people; None if it is missing.

    Parameters
    ----------
    feature
        The variable.
    number
        The number or code.
    is_made
        Whether nobody has the value yet. Of the codes that the model does not know one
        is chosen then, which its library takes.

    Examples
    --------
    >>> from fatt.ensemble import Categorical, Numeric
    >>> value_of(Categorical(name="sex", categories=("F", "M")), 1.0)
    'M'
    >>> value_of(Numeric(name="age", integer=True), 41.0)
    41
    """
    if math.isnan(number):
        return None
    if isinstance(feature, Numeric):
        is_whole = feature.integer and math.isfinite(number)
        return int(number) if is_whole else float(number)
    code = int(number)
    if code < len(feature.categories):
        return feature.categories[code]
    if is_made and not feature.labelled:
        return feature.other_code
    return feature.other or OTHER


def unknown_label(categories: tuple[Label, ...]) -> Label:
    """Return a value that is no category, of the same type where there is one."""
    if categories and not any(isinstance(c, str | bool) for c in categories):
        return max(float(category) for category in categories) + 1
    text = OTHER
    while text in categories:
        text += "?"
    return text


def values_of(
    features: Sequence[Feature],
    row: NDArray[np.float64],
    *,
    made_of: NDArray[np.float64] | None = None,
) -> dict[str, Value]:
    """Return a row of numbers and codes as people know it, by name.

    Parameters
    ----------
    features
        The variables.
    row : ndarray of shape (n_variables,)
        The numbers and codes.
    made_of : ndarray of shape (n_variables,), optional
        Those of the person whose twin the row is; the row's own by default.
    """
    made = row != (row if made_of is None else made_of)
    return {
        feature.name: value_of(feature, number, is_made=is_made)
        for feature, number, is_made in zip(
            features, row.tolist(), made.tolist(), strict=True
        )
    }


def json_value(value: Value) -> Value:
    """Return a value that JSON can hold: infinities become text."""
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value
