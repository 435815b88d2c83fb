"""One exact model of any tree ensemble."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble.cells import Gaps, gaps_of, mark_missing
from fatt.ensemble.encoding import read
from fatt.ensemble.features import Categorical, Feature, Inputs, Label, Record
from fatt.ensemble.joint import Joint, evaluate, in_words
from fatt.ensemble.scoring import (
    CUT_SCORE,
    Argmax,
    Bands,
    Cut,
    Decision,
    LabelRule,
    Link,
    Prediction,
    Scoring,
    decide,
)
from fatt.ensemble.trees import Trees
from fatt.ensemble.validation import check
from fatt.errors import Arg, DataError, SpecError, UnsupportedModelError

#: How a note begins that says which trees of a model count.
COUNTED = "Trees that count: "


class Source(Record, frozen=True, kw_only=True):
    """Where an ensemble came from; it has no part in what the ensemble computes.

    Attributes
    ----------
    library, version
        The library that wrote the model, and its version where the model says so.
    format
        What was read, such as ``"UBJSON file"`` or ``"fitted object"``.
    model
        Kind of model, such as ``"XGBClassifier"`` or ``"gbtree"``.
    objective
        The library's name for what was optimised; empty if there is none.
    notes
        Sentences on exactness that a user should read.
    """

    library: str
    version: str = ""
    format: str = ""
    model: str = ""
    objective: str = ""
    notes: tuple[str, ...] = ()

    @property
    def counted(self) -> list[str]:
        """The notes on which trees count, where callers of the library may differ."""
        return [note for note in self.notes if note.startswith(COUNTED)]

    @property
    def kind(self) -> str:
        """What the model is called in a sentence, also if no file says its kind."""
        return self.model or "model"


class Modelled(Protocol):
    """Something whose exact form is an ensemble: a loaded model."""

    @property
    def ensemble(self) -> Ensemble:
        """What the model computes."""
        ...


class ScoreBounds(NamedTuple):
    """Lower and upper bounds on raw scores, each of shape (n_rows, n_outputs)."""

    lower: NDArray[Any]
    upper: NDArray[Any]


@dataclass(frozen=True, eq=False, kw_only=True)
class Ensemble:
    """A tree ensemble that computes, bit for bit, what its library computes.

    Immutable. Two ensembles are equal iff they have the same digest, that is, iff they
    compute the same function in the same way; where they came from does not matter.

    Attributes
    ----------
    features
        The columns that the model reads, in order.
    classes
        The labels, in the library's order; none if the model predicts a number.
    trees
        The trees, in the order in which they are added up.
    scoring
        The arithmetic from leaves to scores.
    decision
        The rule from scores to the label, or to the number that is predicted.
    inputs
        How the library reads tables.
    source
        Where the model came from.
    link
        How the library makes a probability of each score, or the prediction whose bands
        are the classes; None if it gives none, or none that is known. It has no part in
        the digest, since it changes no label.
    joints
        The columns that the model computes of several features, in order. To the trees
        they stand behind the features.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import fatt
    >>> tree = DecisionTreeClassifier().fit([[20.0], [40.0]], ["deny", "approve"])
    >>> ensemble = fatt.load(tree)
    >>> ensemble.predict([[29.9], [30.1]])
    array(['deny', 'approve'], dtype='<U7')
    """

    features: tuple[Feature, ...]
    classes: tuple[Label, ...]
    trees: Trees
    scoring: Scoring
    decision: Decision
    source: Source
    inputs: Inputs = field(default_factory=Inputs)
    link: Link | None = None
    joints: tuple[Joint, ...] = ()

    def __post_init__(self) -> None:
        self.validate()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ensemble) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __reduce__(self) -> tuple[object, ...]:
        # A copy in another process is checked and immutable like any other.
        from fatt.ensemble.file import from_bytes, to_bytes

        return from_bytes, (to_bytes(self),)

    def __repr__(self) -> str:
        return (
            f"<Ensemble of {self.source.library or 'unknown origin'}: "
            f"{len(self.trees)} trees, {self.trees.n_leaves} leaves, "
            f"{len(self.features)} features, {self._answers}>"
        )

    @property
    def _answers(self) -> str:
        return f"{len(self.classes)} classes" if self.classes else "predicts a number"

    @property
    def label_rule(self) -> LabelRule:
        """The rule from scores to the label.

        Raises
        ------
        SpecError
            If the model predicts a number.
        """
        if isinstance(self.decision, Prediction):
            raise SpecError(
                f"the {self.source.kind} predicts a number, and has no labels: this is "
                f"about labels, so pass a classifier. {Arg('fatt.verify')} asks with a "
                "tolerance how far the number moves."
            )
        return self.decision

    @property
    def n_outputs(self) -> int:
        """Number of raw scores per row."""
        return len(self.scoring.base)

    @property
    def columns(self) -> tuple[Feature, ...]:
        """What the trees split on: the features, and the columns computed of them."""
        return (*self.features, *(joint.feature for joint in self.joints))

    @functools.cached_property
    def digest(self) -> str:
        """SHA-256 of everything that decides what the ensemble computes."""
        from fatt.ensemble.file import digest

        return digest(self)

    def validate(self) -> None:
        """Check that all parts fit together.

        Called whenever an ensemble is made, so that one that exists is sound.

        Raises
        ------
        MalformedModelError
            If a part is out of range or contradicts another.
        """
        check(self)

    def save(self, path: str | Path) -> None:
        """Write the ensemble to a file that `fatt.load` reads back equal.

        The file appears whole or not at all.
        """
        from fatt.ensemble.file import write

        write(self, path)

    def encode(self, rows: Any) -> NDArray[np.float64]:
        """Turn rows into the matrix of numbers and category codes the trees read.

        Parameters
        ----------
        rows
            Array, or data frame that `narwhals` knows.

        Raises
        ------
        DataError
            If a column is absent, or holds a value that the library would refuse.
        """
        return self.mark_missing(self.read(rows))

    def read(self, rows: Any) -> NDArray[np.float64]:
        """Turn rows into numbers and category codes as `encode` does, but lose nothing.

        Numbers that the library reads as missing stay as they are, so that one can tell
        which other numbers are near.
        """
        matrix = read(rows, self.features, self.inputs)
        if self.joints:
            self._require_taken(self.mark_missing(matrix))
        return matrix

    def require_no_joints(self, why: str) -> None:
        """Refuse what is not done with columns that a model computes of several.

        Raises
        ------
        UnsupportedModelError
            If the model has such columns.
        """
        if self.joints:
            words = in_words(self.joints[0].formula, self.features)
            raise UnsupportedModelError(
                f"a step of the model computes {words}, and {why}. Make such columns "
                "part of the table, and train without the step."
            )

    def joint_values(self, encoded: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what encoded rows hold in the columns computed of several features.

        Returns
        -------
        ndarray of shape (n_rows, n_joints)
        """
        made = [evaluate(joint.formula, encoded) for joint in self.joints]
        return np.array(made).reshape(len(made), len(encoded)).T

    def _require_taken(self, encoded: NDArray[np.float64]) -> None:
        """Refuse rows of which the model computes what its library refuses."""
        made = self.joint_values(encoded)
        for joint, values in zip(self.joints, made.T, strict=True):
            taken = (values >= joint.feature.lower) & (values <= joint.feature.upper)
            taken |= np.isnan(values) & joint.feature.accepts_missing
            if not taken.all():
                row = int(np.argmin(taken))
                raise DataError(
                    f"row {row}: the model computes "
                    f"{in_words(joint.formula, self.features)}, which is {values[row]} "
                    "there, and its library refuses that; leave the row out."
                )

    def mark_missing(self, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        """Turn the numbers that the library reads as missing into NaN.

        Parameters
        ----------
        matrix : ndarray of shape (n_rows, n_features)
            What `read` returned.
        """
        return mark_missing(matrix, self._gaps)

    @functools.cached_property
    def _gaps(self) -> Gaps:
        return gaps_of(self.features)

    def raw_scores(self, rows: Any) -> NDArray[Any]:
        """Return the scores that the library's label rests on, with its own bits.

        Parameters
        ----------
        rows
            Array, or data frame that `narwhals` knows.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs), float32 or float64
            Margins of boosted models, averaged probabilities of forests. If the
            library does not fix its order of summation, the scores in the order of the
            trees; `score_bounds` then says how far off the library may be.
        """
        return self._scores(self.encode(rows))

    def decide(self, encoded: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the index of the class that the library answers for encoded rows."""
        rows = np.ascontiguousarray(encoded, dtype=np.float64)
        return decide(self._scores(rows), self.label_rule)

    def answer(self, encoded: NDArray[np.float64]) -> NDArray[Any]:
        """Return the places of the labels of encoded rows, or their predictions.

        Returns
        -------
        ndarray of shape (n_rows,), int64 or float64
        """
        if not isinstance(self.decision, Prediction):
            return self.decide(encoded)
        scores = self._scores(np.ascontiguousarray(encoded, dtype=np.float64))
        return np.asarray(self.decision.link(scores)[:, 0].astype(np.float64))

    def answer_bounds(self, encoded: NDArray[np.float64]) -> ScoreBounds:
        """Return bounds on the predictions of encoded rows, as `prediction_bounds`."""
        assert isinstance(self.decision, Prediction)
        lower, upper = self._bounds(np.ascontiguousarray(encoded, dtype=np.float64))
        link = self.decision.link
        return ScoreBounds(link(lower)[:, 0], link(upper)[:, 0])

    def score_bounds(self, rows: Any) -> ScoreBounds:
        """Return bounds between which the library's raw scores lie, whatever its order.

        For a library with a fixed order of summation both are the scores themselves.

        Notes
        -----
        With ``n`` terms, unit roundoff ``u`` and any order of summation, the error of a
        sum is at most ``(n-1)u / (1-(n-1)u)`` times the sum of the absolute terms
        (Higham, Accuracy and Stability of Numerical Algorithms, section 4.2). Two
        orders differ by twice that; the base or the division adds one rounding.
        """
        return self._bounds(self.encode(rows))

    def predict(self, rows: Any) -> NDArray[Any]:
        """Return the label that the library answers for each row, or the number.

        Parameters
        ----------
        rows
            Array, or data frame that `narwhals` knows.

        Returns
        -------
        ndarray of shape (n_rows,)
            For a library without a fixed order of summation, the label of the sum in
            the order of the trees; `possible_labels` tells where others can occur.
        """
        if isinstance(self.decision, Prediction):
            return np.asarray(self.decision.link(self.raw_scores(rows))[:, 0])
        labels = np.array(self.classes)
        given = [(type(label), label) for label in self.classes]
        if [(type(label), label) for label in labels.tolist()] != given:
            # In one numpy type they would be rounded, cut or changed.
            labels = np.array(self.classes, dtype=object)
        return labels[decide(self.raw_scores(rows), self.decision)]

    def prediction_bounds(self, rows: Any) -> ScoreBounds:
        """Return bounds between which the number lies that the library predicts.

        For a library with a fixed order of summation both are the number itself.

        Raises
        ------
        SpecError
            If the model gives labels.
        """
        if not isinstance(self.decision, Prediction):
            raise SpecError(
                "the model gives labels, and predicts no number: ask for its "
                "possible_labels, or its score_bounds."
            )
        return self.answer_bounds(self.encode(rows))

    def predict_proba(self, rows: Any) -> NDArray[Any]:
        """Return the probabilities that the library gives, with its own bits.

        Parameters
        ----------
        rows
            Array, or data frame that `narwhals` knows.

        Returns
        -------
        ndarray of shape (n_rows, n_classes), float32 or float64
            If the library does not fix its order of summation, those of the sums in
            the order of the trees.

        Raises
        ------
        SpecError
            If the model gives no probabilities that are known.
        """
        if isinstance(self.decision, Bands):
            raise SpecError(
                "the model decides by bands, which have no probabilities: ask the "
                "model as it is without cuts."
            )
        link, scores = self.known_link, self.raw_scores(rows)
        if isinstance(self.decision, Cut):
            return np.hstack([link.of_first(scores), link(scores)])
        return np.asarray(link(scores))

    @property
    def predicts(self) -> bool:
        """Whether the library's answer is a number, also if bands make labels of it."""
        if isinstance(self.decision, Bands):
            return self.decision.asked.of is None
        return isinstance(self.decision, Prediction)

    @property
    def known_link(self) -> Link:
        """How the library makes a probability of each score.

        Raises
        ------
        SpecError
            If the model gives no probabilities that are known.
        """
        if self.predicts:
            raise SpecError(
                f"the {self.source.kind} predicts a number, and gives no "
                "probabilities: ask for of='prediction', or of='score'."
            )
        if self.link is None:
            source = self.source
            raise SpecError(
                f"a {source.kind} of {source.library} with the objective "
                f"{source.objective or '(none)'!r} has no probabilities that fatt "
                "knows: they are known of forests and of logistic boosting with two "
                f"classes. Ask for scores: of='score'; for a cut-off, {CUT_SCORE}."
            )
        return self.link

    def possible_labels(self, rows: Any) -> NDArray[np.bool_]:
        """Tell which classes the library may answer, given its order of summation.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Exactly one class per row if the order is fixed.
        """
        return self.possible_of(self.encode(rows))

    def possible_of(self, encoded: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Tell which classes encoded rows may get; see `possible_labels`."""
        rule = self.label_rule
        possible = np.zeros((len(encoded), len(self.classes)), dtype=bool)
        if self.scoring.ordered:
            chosen = decide(self._scores(encoded), rule)
            possible[np.arange(len(encoded)), chosen] = True
            return possible
        lower, upper = self._bounds(encoded)
        if isinstance(rule, Cut | Bands):
            # As in `decide`: the cut is not rounded to the type of the scores.
            edges = np.array([-np.inf, *rule.edges, np.inf])
            least = upper[:, :1].astype(np.float64) >= edges[:-1]
            return np.asarray(least & (lower[:, :1].astype(np.float64) < edges[1:]))
        return np.asarray(upper >= lower.max(axis=1, keepdims=True))

    def hard_votes(self) -> Ensemble:
        """Return the ensemble in which each tree votes, as forests do in the paper.

        A tree votes for every class that has the most weight in its leaf; of several
        classes with the most votes the last one wins, in binary problems the positive.

        Raises
        ------
        SpecError
            If the trees do not give one number per class.
        """
        if not np.all(self.trees.targets == -1) or not isinstance(
            self.decision, Argmax
        ):
            raise SpecError(
                "hard voting needs trees whose leaves hold one number per class, as in "
                "forests; the trees of this model add up to a margin."
            )
        values = self.trees.values
        votes = (values == values.max(axis=1, keepdims=True)).astype(np.float64)
        return replace(
            self,
            trees=replace(self.trees, values=votes),
            scoring=Scoring(dtype="float64", base=(0.0,) * self.n_outputs),
            decision=Argmax(ties="last"),
            link=None,
        )

    def thresholds(self, feature: int) -> NDArray[np.float64]:
        """Return the distinct thresholds of a numeric column, in increasing order."""
        nodes = self.trees.nodes
        mine = (nodes["feature"] == feature) & (nodes["subset"] < 0)
        return np.unique(nodes["threshold"][mine])

    @functools.cached_property
    def _cells(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """All edges in one array, and each feature's slice of it (-1 for codes)."""
        edges: list[float] = []
        cells = np.full((len(self.columns), 2), -1, dtype=np.int64)
        for index, feature in enumerate(self.columns):
            if not isinstance(feature, Categorical):
                cells[index] = len(edges), len(edges) + len(feature.edges)
                edges.extend(feature.edges)
        return np.array(edges, dtype=np.float64), cells

    @functools.cached_property
    def _wide_values(self) -> NDArray[np.float64]:
        return np.ascontiguousarray(self.trees.values, dtype=np.float64)

    def _sum(
        self, encoded: NDArray[np.float64], of: Callable[[Any], Any]
    ) -> NDArray[np.float64]:
        """Add up `of` the base and the leaves, in order, in the library's precision."""
        from fatt.ensemble import kernels

        base = of(np.array(self.scoring.base, dtype=np.float64))
        scores = np.zeros((len(encoded), self.n_outputs))
        if not self.scoring.base_last:
            # Assigned, not added to zero: a negative zero keeps its sign.
            scores[:] = base
        trees, (edges, cells) = self.trees, self._cells
        if self.joints:
            encoded = np.hstack([encoded, self.joint_values(encoded)])
        kernels.add_leaves(
            trees.nodes,
            trees.roots,
            trees.words,
            of(self._wide_values),
            trees.targets,
            edges,
            cells,
            encoded,
            self.scoring.single,
            scores,
        )
        if self.scoring.base_last:
            scores += base
        return scores

    def _scores(self, encoded: NDArray[np.float64]) -> NDArray[Any]:
        dtype = np.dtype(self.scoring.dtype)
        scores = self._sum(encoded, of=lambda terms: terms).astype(dtype)
        if self.scoring.divisor != 1.0:
            scores /= dtype.type(self.scoring.divisor)
        return scores

    def _bounds(self, encoded: NDArray[np.float64]) -> ScoreBounds:
        scores = self._scores(encoded)
        if self.scoring.ordered:
            return ScoreBounds(scores, scores)
        dtype = np.dtype(self.scoring.dtype)
        unit = float(np.finfo(dtype).eps) / 2
        steps = (len(self.trees) + 2 + self.scoring.roundings) * unit
        magnitude = self._sum(encoded, of=np.abs) / abs(self.scoring.divisor)
        # Two orders differ by twice the bound; a third time pays for the roundings of
        # the magnitude and of this very formula.
        radius = 3 * steps / (1 - steps) * magnitude
        centre = scores.astype(np.float64)
        lower, upper = (centre - radius).astype(dtype), (centre + radius).astype(dtype)
        low, high = dtype.type(-np.inf), dtype.type(np.inf)
        return ScoreBounds(np.nextafter(lower, low), np.nextafter(upper, high))


def ensemble_of(model: Ensemble | Modelled) -> Ensemble:
    """Return the exact form of a model.

    Raises
    ------
    SpecError
        If it was not read yet, or is no model.
    """
    found = model if isinstance(model, Ensemble) else getattr(model, "ensemble", None)
    if not isinstance(found, Ensemble):
        raise SpecError(
            f"a {type(model).__name__} was given where a model belongs that fatt has "
            "read: pass fatt.load(model)."
        )
    return found
