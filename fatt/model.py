"""A model: its exact form, and the model itself where its own library is at hand."""

from __future__ import annotations

import functools
import numbers
import threading
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import (
    Argmax,
    Bands,
    Categorical,
    Cut,
    CutOff,
    Cuts,
    Ensemble,
    Feature,
    Label,
    Link,
    Prediction,
    ScoreBounds,
)
from fatt.ensemble.cutoff import bands, cut_off, probability_of, rule_in_words
from fatt.ensemble.scoring import SUCH_CUTS
from fatt.errors import Arg, SpecError
from fatt.markup import Part, code, facts, listed, name_of, notebook, table, tag

#: Of what a library raises, so many characters are told.
_LONGEST = 200
#: So many columns are shown in a notebook.
_SHOWN_COLUMNS = 40


class NotAtHand(Exception):  # noqa: N818
    """Says why a model itself cannot be asked."""


class Live(ABC):
    """A model in its own library; each package of `fatt.importers` has its own."""

    @abstractmethod
    def labels(self, table: Any) -> Any:
        """Return a label, or a number, per row of a table, as the library answers."""

    @abstractmethod
    def probabilities(self, table: Any) -> Any:
        """Return a probability per row and class, as the library answers."""

    @abstractmethod
    def scores(self, table: Any) -> Any:
        """Return the raw scores of each row, as the library hands them out."""

    def leaves(self) -> NDArray[np.float64] | None:
        """Return what each leaf adds to the scores, one row per leaf.

        Some rows may belong to no leaf. None if the leaves of such a model cannot be
        changed.
        """
        return None

    def with_leaves(self, values: NDArray[np.float64]) -> Any:
        """Return a copy of the model with other leaf values, as `leaves` has them."""
        raise NotImplementedError


@dataclass(frozen=True)
class Around(Live):
    """A model that is asked about tables, or answers, in another form than its own.

    Attributes
    ----------
    live
        The model itself.
    """

    live: Live

    def asked(self, of: Callable[[Any], Any], table: Any) -> Any:
        """Ask one of the model's own questions about a table."""
        return of(table)

    def labels(self, table: Any) -> Any:
        """Return the model's own answers."""
        return self.asked(self.live.labels, table)

    def probabilities(self, table: Any) -> Any:
        """Return the model's own probabilities."""
        return self.asked(self.live.probabilities, table)

    def scores(self, table: Any) -> Any:
        """Return the model's own scores."""
        return self.asked(self.live.scores, table)


@dataclass(frozen=True)
class WithCutOff(Around):
    """A model whose probabilities, scores or predictions are cut at numbers.

    Attributes
    ----------
    rule
        The cut-off, or the bands.
    place
        Which column of what the model hands out is cut.
    classes
        The answers, in the order of what is cut.
    is_alone
        Whether nothing else of what the model hands out belongs to its exact form.
    """

    rule: CutOff | Cuts
    place: int
    classes: tuple[Label, ...]
    is_alone: bool

    def labels(self, table: Any) -> Any:
        """Return what the cut-off makes of the model's answers."""
        live = self.live
        ask = {
            "score": live.scores,
            "probability": live.probabilities,
            "prediction": live.labels,
        }[self.rule.on]
        found = np.asarray(ask(table))
        column = found.reshape(len(found), -1)[:, self.place]
        answers = np.empty(len(self.classes), dtype=object)
        answers[:] = self.classes
        return answers[self.rule.codes(column)]

    def probabilities(self, table: Any) -> Any:
        """Return the model's own probabilities of the two classes that are left."""
        found = np.asarray(self.live.probabilities(table))
        if not self.is_alone:
            return found
        return np.column_stack([1.0 - found[:, self.place], found[:, self.place]])

    def leaves(self) -> NDArray[np.float64] | None:
        """Return what each leaf adds to the scores."""
        return self.live.leaves()

    def with_leaves(self, values: NDArray[np.float64]) -> Any:
        """Return a copy of the model itself, which knows of no cut-off."""
        return self.live.with_leaves(values)


@dataclass(frozen=True)
class WithProbability(Around):
    """A model whose answer is the probability of one class.

    Attributes
    ----------
    place
        Which class.
    """

    place: int

    def labels(self, table: Any) -> Any:
        """Return the probability of each row."""
        return np.asarray(self.live.probabilities(table))[:, self.place]


@dataclass(frozen=True)
class NoLive:
    """Opens no model, and says why."""

    reason: str

    def __call__(self) -> Live:
        """Raise the reason."""
        raise NotAtHand(self.reason)


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """A tree model, read exactly; `fatt.load` returns it.

    Parameters
    ----------
    ensemble
        What the model computes, bit for bit.
    opened
        Returns the model itself, or raises `NotAtHand`. It is called on first use, for
        that may import the library.
    given
        The fitted object, if there is one: what it refuses, its library refuses. A
        model that the library reads from a file may only want another form of table.
    file_digest
        The SHA-256 of the file that the model was read from; empty if there is none.
    hands_out_scores
        Whether the library hands out the scores, so that somebody can cut them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import fatt
    >>> X, y = load_iris(return_X_y=True)
    >>> model = fatt.load(DecisionTreeClassifier(random_state=0).fit(X, y))
    >>> model.classes
    (0, 1, 2)
    >>> model.predict(X[:1]).tolist() == model.ask(X[:1])
    True
    """

    ensemble: Ensemble
    opened: Callable[[], Live] = NoLive("only the model's exact form is here")
    given: Any = None
    file_digest: str = ""
    hands_out_scores: bool = True
    # Not every library lets several threads ask a model at the same time.
    _lock: Any = field(default_factory=threading.RLock, init=False)

    def __eq__(self, other: object) -> bool:
        """Tell whether both compute the same."""
        return isinstance(other, Model) and self.ensemble == other.ensemble

    def __hash__(self) -> int:
        return hash(self.ensemble)

    def __reduce__(self) -> tuple[Any, ...]:
        own = self.ensemble, self.opened, self.given, self.file_digest
        return Model, (*own, self.hands_out_scores)

    def __repr__(self) -> str:
        return "<Model" + repr(self.ensemble).removeprefix("<Ensemble")

    def _repr_html_(self) -> str:
        source = self.ensemble.source
        kind = " ".join(filter(None, [source.library, source.version, source.format]))
        rows = [
            [name_of(one.name), *_read_as(one)]
            for one in self.features[:_SHOWN_COLUMNS]
        ]
        more = f", the first {len(rows):,}" if len(rows) < len(self.features) else ""
        what = f"Columns that it reads: {len(self.features):,}{more}"
        return notebook(
            ["Model: ", name_of(source.model or "trees")],
            facts(
                {
                    "read from": name_of(kind),
                    "trees": f"{len(self.ensemble.trees):,}",
                    "answers": listed([str(label) for label in self.classes])
                    if self.classes
                    else "a number",
                    "decides": rule_in_words(self.ensemble),
                    "what it computes": code(self.digest),
                    "notes": [tag("p", note) for note in source.notes],
                }
            ),
            table(("column", "kind", "values"), rows, what),
        )

    @property
    def features(self) -> tuple[Feature, ...]:
        """The columns that the model reads, in order."""
        return self.ensemble.features

    @property
    def classes(self) -> tuple[Label, ...]:
        """The labels that the model answers, in order; none if it predicts a number."""
        return self.ensemble.classes

    @property
    def link(self) -> Link | None:
        """How the library makes a probability, or a prediction, of each score."""
        decision = self.ensemble.decision
        return decision.link if isinstance(decision, Prediction) else self.ensemble.link

    @property
    def digest(self) -> str:
        """Names what the model computes; see `Ensemble.digest`."""
        return self.ensemble.digest

    def deciding(
        self,
        *,
        threshold: float,
        strict: bool = False,
        cut_on: Literal["probability", "score"] = "probability",
        pos_label: Label | None = None,
    ) -> Model:
        """Return the model that decides by a cut-off; the parameters are `fatt.load`'s.

        Raises
        ------
        SpecError
            If there is no such cut-off, or the model decides by another one already.
        """
        return self._by(_cut_off(threshold, strict, cut_on, pos_label))

    def deciding_by(
        self,
        cuts: Mapping[str, float],
        *,
        strict: bool = False,
        cut_on: Literal["probability", "score"] = "probability",
        pos_label: Label | None = None,
    ) -> Model:
        """Return the model that decides by bands; the parameters are `fatt.load`'s.

        Raises
        ------
        SpecError
            If there are no such bands, or the model decides by others already.
        """
        return self._by(_cuts(cuts, strict, cut_on, pos_label))

    def _by(self, asked: CutOff | Cuts) -> Model:
        """Return the model that decides by a cut-off, or by bands."""
        if asked.on == "score" and not self.hands_out_scores:
            raise SpecError(
                "cut_on is 'score', and nobody can decide by that: the library hands "
                f"out no scores of a {self.ensemble.source.kind}. Cut its probability."
            )
        own, is_two = self.ensemble, isinstance(asked, CutOff)
        cut = cut_off(own, asked) if isinstance(asked, CutOff) else bands(own, asked)
        if cut is own:
            return self
        rule = cut.decision
        assert isinstance(rule, Cut | Bands)
        assert rule.asked is not None
        of, classes = rule.asked.of, cut.classes
        place = 0 if of is None else own.classes.index(of)
        if rule.asked.on == "score" and own.n_outputs == 1:
            # Of a score alone there is one column.
            place = 0
        if is_two:
            # The class that is cut off may be the first of the model's own.
            classes = tuple(sorted(classes, key=lambda label: label == of))
        is_alone = is_two and isinstance(own.decision, Argmax)
        opened = functools.partial(
            _open, self.opened, rule.asked, place, classes, is_alone
        )
        return replace(self, ensemble=cut, opened=opened)

    def predicting(self, label: Label | None = None) -> Model:
        """Return the model that answers the probability of one class, a number.

        Parameters
        ----------
        label
            The class, by default the second of two.

        Raises
        ------
        SpecError
            If there is no such class, or no probability of it that is known.
        """
        own = self.ensemble
        if isinstance(own.decision, Prediction):
            if label is None or label == own.decision.of:
                return self
            raise SpecError(
                f"the probability of {label!r} is asked for, and the model predicts "
                f"{rule_in_words(own) or 'a number'}: load the classifier anew."
            )
        made = probability_of(own, label)
        assert isinstance(made.decision, Prediction)
        place = own.classes.index(made.decision.of)
        opened = functools.partial(_open_probability, self.opened, place)
        return replace(self, ensemble=made, opened=opened)

    def deciding_like(self, other: Model) -> Model:
        """Return the model with the cut-off of another, if that was given one."""
        rule = other.ensemble.decision
        if isinstance(rule, Prediction) and rule.of is not None:
            return self.predicting(rule.of)
        asked = rule.asked if isinstance(rule, Cut | Bands) else None
        return self if asked is None else self._by(asked)

    def predict(self, rows: Any) -> NDArray[Any]:
        """Return the label, or the number, of each row; see `Ensemble.predict`."""
        return self.ensemble.predict(rows)

    def raw_scores(self, rows: Any) -> NDArray[Any]:
        """Return the scores of each row; see `Ensemble.raw_scores`."""
        return self.ensemble.raw_scores(rows)

    def score_bounds(self, rows: Any) -> ScoreBounds:
        """Return what the scores of each row may be; see `Ensemble.score_bounds`."""
        return self.ensemble.score_bounds(rows)

    def predict_proba(self, rows: Any) -> NDArray[Any]:
        """Return the probabilities of each row; see `Ensemble.predict_proba`."""
        return self.ensemble.predict_proba(rows)

    def possible_labels(self, rows: Any) -> NDArray[np.bool_]:
        """Tell which labels each row may get; see `Ensemble.possible_labels`."""
        return self.ensemble.possible_labels(rows)

    def save(self, path: str | Path) -> None:
        """Write the exact form to a file; see `Ensemble.save`."""
        self.ensemble.save(path)

    @property
    def live(self) -> Live:
        """The model itself, in its own library.

        Raises
        ------
        NotAtHand
            If the library is not installed or does not take the model, for instance
            because the file is too old for it; for files that hold no model of their
            own, or whose objects are not to be trusted; and for an `Ensemble`.
        """
        with self._lock:
            live = self._found
        if isinstance(live, NotAtHand):
            raise live
        return live

    def ask(self, table: Any) -> list[Label]:
        """Return the label of each row in the words of the model's own library.

        Parameters
        ----------
        table
            Rows in a form that the library takes. It gets a copy.

        Raises
        ------
        NotAtHand
            If there is nobody to ask; besides, whatever the library raises.
        """
        answers = self._asked(self.live.labels, table)
        if answers.shape != (len(table),):
            raise ValueError(f"the model answers an array of shape {answers.shape}.")
        return list(answers.tolist())

    def ask_proba(self, table: Any) -> NDArray[Any]:
        """Return the probabilities of each row in the words of the model's own library.

        Parameters
        ----------
        table
            Rows in a form that the library takes. It gets a copy.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)

        Raises
        ------
        NotAtHand
            If there is nobody to ask; besides, whatever the library raises.
        """
        answers = self._asked(self.live.probabilities, table)
        if answers.shape != (len(table), len(self.classes)):
            raise ValueError(f"the model answers an array of shape {answers.shape}.")
        return answers

    def _asked(self, of: Callable[[Any], Any], table: Any) -> NDArray[Any]:
        with self._lock, warnings.catch_warnings():
            # On names of columns that an array does not have, and the like.
            warnings.simplefilter("ignore")
            return np.asarray(of(_copied(table)))

    @cached_property
    def _found(self) -> Live | NotAtHand:
        try:
            return self.opened()
        except NotAtHand as error:
            return error
        except ImportError as error:
            return NotAtHand(f"{error.name or error} is not installed")
        except Exception as error:  # libraries raise what they like
            return NotAtHand(f"its library does not take it ({in_short(error)})")


def _open(opened: Callable[[], Live], *rule: Any) -> WithCutOff:
    return WithCutOff(opened(), *rule)


def _open_probability(opened: Callable[[], Live], place: int) -> WithProbability:
    return WithProbability(opened(), place)


def _cuts(cuts: Any, strict: Any, cut_on: Any, pos_label: Any) -> Cuts:
    """Check what a user wrote of bands."""
    if not isinstance(cuts, Mapping):
        raise SpecError(f"cuts are {cuts!r}; write names with lower ends: {SUCH_CUTS}.")
    for name, end in cuts.items():
        if not isinstance(name, str) or not name:
            raise SpecError(f"cuts have the name {name!r}; write texts: {SUCH_CUTS}.")
        if isinstance(end, bool) or not isinstance(end, numbers.Real):
            raise SpecError(f"the band {name!r} begins at {end!r}; write a number.")
    rule = _cut_off(0.0, strict, cut_on, pos_label)
    return Cuts(
        names=tuple(cuts),
        ends=tuple(map(float, cuts.values())),
        strict=rule.strict,
        on=rule.on,
        of=rule.of,
    )


def _cut_off(threshold: Any, strict: Any, cut_on: Any, pos_label: Any) -> CutOff:
    """Check what a user wrote."""
    if isinstance(threshold, bool) or not isinstance(threshold, numbers.Real):
        raise SpecError(f"threshold is {threshold!r}; write a number such as 0.12.")
    if not isinstance(strict, bool | np.bool_):
        raise SpecError(f"strict is {strict!r}; write True or False.")
    if cut_on not in {"probability", "score"}:
        raise SpecError(f"cut_on is {cut_on!r}; write 'probability' or 'score'.")
    if isinstance(pos_label, np.generic):
        pos_label = pos_label.item()
    if not isinstance(pos_label, str | int | float | None):
        raise SpecError(
            f"{Arg('pos_label')} is of type {type(pos_label).__name__}; write the "
            "label of one class, as the model answers it."
        )
    return CutOff(
        threshold=float(threshold), strict=bool(strict), on=cut_on, of=pos_label
    )


def _read_as(feature: Feature) -> list[Part]:
    """Say how a model reads a column."""
    if isinstance(feature, Categorical):
        return ["category", listed([str(one) for one in feature.categories])]
    kind = "whole number" if feature.integer else "number"
    return [kind, "any, or missing" if feature.accepts_missing else "any"]


def in_short(error: Exception) -> str:
    """Return what a library raised, in a line."""
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:_LONGEST]}".rstrip(": .")


def _copied(table: Any) -> Any:
    """Return a table of its own for a library, some of which write into what they get.

    Frames other than those of pandas cannot be written to.
    """
    if isinstance(table, np.ndarray):
        return table.copy(order="K")
    return table.copy() if hasattr(table, "iloc") else table
