"""What is found, asked again of the model itself, with no tolerance.

Where the model's own library is at hand, it answers for everybody in the user's own
table, for every twin, and for some people similar to those who are fair. An answer that
is not ours ends the audit: then the model or the table was read wrongly.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.audit.asking import BUG, Asking, RefusedError
from fatt.audit.drawn import Drawn
from fatt.certificate import Certificate
from fatt.ensemble.allowed import Alike, Allowed
from fatt.errors import CertificateError, ReplayError
from fatt.model import Model
from fatt.people import People
from fatt.people.edits import with_changes
from fatt.region import Boxes, Variables
from fatt.region.boxes import Membership
from fatt.region.combined import Combined
from fatt.threads import CHUNK
from fatt.verdict import UNFAIR, answers_of

Matrix = NDArray[np.float64]
#: Places of labels among the classes, or predictions.
Given = NDArray[Any]
Places = NDArray[np.int64]


class Replay:
    """Asks a model itself what it answers, and compares that with what was found.

    Parameters
    ----------
    model
        The model.
    variables
        How the model reads people.
    allowed
        Which answers of similar people are still fair; by default the same labels.
    """

    def __init__(
        self, model: Model, variables: Variables, allowed: Allowed | None = None
    ) -> None:
        self._model = model
        self._alike = Alike(variables.model, allowed or Allowed())
        self._variables = variables
        self._ensemble = variables.model
        self._codes = {label: code for code, label in enumerate(self._ensemble.classes)}
        self._membership = Membership(variables.ensemble.features)
        self._asking = Asking(model)

    def anew(self) -> Replay:
        """Return one for another table, which may be of another kind."""
        # For each call of an auditor: `copy.copy` takes three times as long.
        other = object.__new__(Replay)
        other.__dict__.update(self.__dict__, _asking=Asking(self._model))
        return other

    @property
    def reason(self) -> str:
        """Why the model itself cannot be asked; empty if it can, or was not yet."""
        return self._asking.reason

    def everybody(self, people: People) -> Given | None:
        """Ask for everybody's own answer, in the user's own table.

        Returns
        -------
        ndarray of shape (n_people,), or None
            The class of each person, or the prediction; None if the model itself
            cannot be asked.

        Raises
        ------
        DataError
            If the model that the user passed refuses a row.
        ReplayError
            If an answer is none of the model's classes.
        """
        parts = []
        for start in range(0, len(people), CHUNK):
            stop = min(start + CHUNK, len(people))
            try:
                answers = self._asking.ask(people.rows(start, stop))
            except RefusedError as error:
                # What we refuse ourselves, we can say more about.
                people.values(start, stop)
                raise self._asking.refused(people, start, stop, error) from error
            if answers is None:
                return None
            parts.append(self._classes_of(answers, np.arange(start, stop)))
        return np.concatenate(parts)

    def compare(self, people: People, start: int, answers: Given, label: Given) -> int:
        """Compare the answers of some people with what was found.

        Parameters
        ----------
        people
            All people.
        start
            The row of the first of them.
        answers, label : ndarray of shape (n_some,)
            The class of each as the model says, and as the search does.

        Returns
        -------
        int
            How many answers differ within the rounding that the library does not fix.

        Raises
        ------
        ReplayError
            If the model answers what it cannot, if it is what was read.
        """
        other = wrong = np.flatnonzero(answers != label)
        if wrong.size and not self._ensemble.scoring.ordered:
            # Where the library does not fix its sums, it may answer either.
            rows = self._ensemble.encode(people.take(start + wrong))
            wrong = wrong[~self._may_be(answers[wrong], rows)]
        self._require_equal(start + wrong, answers[wrong], label[wrong], "the person")
        return len(other)

    def require_similar(
        self,
        combined: Combined,
        boxes: Boxes,
        start: int,
        people: Places,
        twins: Matrix,
    ) -> None:
        """Make sure that twins are similar to people, by the definition.

        Parameters
        ----------
        combined
            The variables of the boxes.
        boxes
            Where some people may move.
        start
            The row of the first of them.
        people : ndarray of shape (n_cases,)
            Who of them is unfair, increasing.
        twins : ndarray of shape (n_cases, n_variables)
            The values of the twins.

        Raises
        ------
        ReplayError
            If one of them is not similar.
        """
        membership = self._membership
        if not combined.is_plain:
            membership = Membership(combined.ensemble.features)
        is_similar = membership.are_similar(boxes, people, combined.join(twins))
        if not is_similar.all():
            raise ReplayError(
                f"row {start + people[np.argmin(is_similar)]}: the twin that was found "
                f"is not similar. {BUG}"
            )

    def twins(
        self,
        everybody: People,
        index: Places,
        people: Matrix,
        twins: Matrix,
        label: Given,
    ) -> tuple[Given, bool]:
        """Confirm that people and their twins get different labels.

        Parameters
        ----------
        everybody
            All people.
        index : ndarray of shape (n_cases,)
            Index of each unfair person.
        people, twins : ndarray of shape (n_cases, n_variables)
            The values of both.
        label : ndarray of shape (n_cases,)
            The class of each person, as the search says.

        Returns
        -------
        twin_label : ndarray of shape (n_cases,)
            The class of each twin, as the model itself says if it was asked.
        on_model : bool
            Whether the model itself was asked; else only the ensemble.

        Raises
        ------
        ReplayError
            If the model gives other labels.
        """
        own, other, twin_label = self._pairs(index, people, twins, label)
        if self.reason:
            return twin_label, False
        rows = everybody.take(index)
        if not self._asking.has_form:
            # Elsewhere than where everybody was asked: how does it take such rows?
            answers = self._asking.ask(rows)
            if answers is None:
                return twin_label, False
            found = self._classes_of(answers, index)
            wrong = self._others(found, label, own)
            self._require_equal(index[wrong], found[wrong], label[wrong], "the person")
        who = "the twin that was found"
        table = with_changes(rows, own, other, self._ensemble)
        found = self._ask_others(table, index, who)
        for place in self._others(found, twin_label, other).tolist():
            # A twin of another may have changed the type of a column, and so this one.
            one = slice(place, place + 1)
            rows = everybody.take(index[one])
            table = with_changes(rows, own[one], other[one], self._ensemble)
            found[one] = self._ask_others(table, index[one], who)
        wrong = self._others(found, twin_label, other)
        self._require_equal(index[wrong], found[wrong], twin_label[wrong], "the twin")
        return found, True

    def _pairs(
        self, index: Places, people: Matrix, twins: Matrix, label: Given
    ) -> tuple[Matrix, Matrix, Given]:
        """Return people and twins in the model's columns, and the twins' classes.

        Raises
        ------
        ReplayError
            If the exact form gives people another class, or their twins the same.
        """
        rows = self._variables.scatter(np.vstack([people, twins]))
        answers = self._ensemble.answer(self._ensemble.mark_missing(rows))
        count = len(index)
        found, twin_label = answers[:count], answers[count:]
        self._require_equal(index, found, label, "the person")
        for case in np.flatnonzero(self._alike.keeps(label, twin_label)):
            raise ReplayError(
                f"row {index[case]}: the twin that was found gets the person's own "
                f"label, {self._said(label[case])}. {BUG}"
            )
        return rows[:count], rows[count:], twin_label

    def similar(self, drawn: Drawn, label: Given) -> int:
        """Confirm that people similar to the fair get their label.

        Parameters
        ----------
        drawn
            The similar people.
        label : ndarray of shape (n_drawn,)
            The class of the person to whom each is similar.

        Returns
        -------
        int
            How many were asked about; none if the model itself cannot be asked.

        Raises
        ------
        ReplayError
            If the model gives somebody another label, or refuses somebody.
        """
        if not self._asking.has_form:
            return 0
        others = self._contradicting(drawn, label)
        n_asked = len(drawn)
        for place in others.tolist():
            # Another may have changed the type of a column, and so who was drawn.
            others = self._contradicting(drawn.alone(place), label[place : place + 1])
            n_asked -= len(others)
        return n_asked

    def _contradicting(self, drawn: Drawn, label: Given) -> Places:
        """Ask about some people; return who gets another label than was found.

        The table does not say of them what was drawn, so that this proves nothing.

        Raises
        ------
        ReplayError
            If somebody gets another label who is in the table as drawn.
        """
        found = self._ask_others(drawn.table, drawn.index, "somebody similar")
        wrong = np.flatnonzero(~self._alike.keeps(label, found))
        if not wrong.size:
            return wrong
        is_as_drawn = self._is_as_drawn(drawn)[wrong]
        for place in wrong[is_as_drawn].tolist():
            raise ReplayError(
                f"row {drawn.index[place]}: the search says that everybody similar "
                f"gets what is like {self._said(label[place])}, and the model answers "
                f"{self._said(found[place])} for one who differs in "
                f"{drawn.changes(place)}. {BUG}"
            )
        return wrong

    def _is_as_drawn(self, drawn: Drawn) -> NDArray[np.bool_]:
        """Tell of whom the table says what was drawn."""
        read = self._variables.gather(self._ensemble.read(drawn.table))
        is_missing = np.isnan(read) & np.isnan(drawn.values)
        return np.asarray(((read == drawn.values) | is_missing).all(axis=1))

    def _may_be(self, answers: Given, encoded: Matrix) -> NDArray[np.bool_]:
        """Tell which answers encoded rows may get, whatever the order of sums."""
        if self._ensemble.classes:
            possible = self._ensemble.possible_of(encoded)
            return np.asarray(possible[np.arange(len(answers)), answers])
        lower, upper = self._ensemble.answer_bounds(encoded)
        return np.asarray((lower <= answers) & (answers <= upper))

    def _others(self, answers: Given, label: Given, matrix: Matrix) -> Places:
        """Return where a model answers what it cannot, given what was found."""
        wrong = np.flatnonzero(answers != label)
        if wrong.size and not (self._ensemble.scoring.ordered or self._codes):
            rows = self._ensemble.mark_missing(matrix[wrong])
            wrong = wrong[~self._may_be(answers[wrong], rows)]
        return wrong

    def _said(self, answer: Any) -> str:
        return repr(answers_of(np.array([answer]), self._ensemble.classes)[0])

    def _ask_others(self, table: Any, index: Places, who: str) -> Given:
        """Return the class of each of some people whom we made from the user's."""
        return self._classes_of(self._asking.ask_others(table, index[0], who), index)

    def _classes_of(self, answers: list[Any], index: Places) -> Given:
        if not self._codes:
            return np.array(answers, dtype=np.float64)
        found = np.array([self._codes.get(answer, -1) for answer in answers])
        for place in np.flatnonzero(found < 0):
            raise ReplayError(
                f"row {index[place]}: the model answers {answers[place]!r}, which is "
                f"none of its classes {list(self._ensemble.classes)}. {BUG}"
            )
        return found.astype(np.int64)

    def _require_equal(
        self, index: Places, answers: Given, label: Given, who: str
    ) -> None:
        for place in np.flatnonzero(answers != label):
            raise ReplayError(
                f"row {index[place]}: the search says that {who} gets "
                f"{self._said(label[place])}, and the model answers "
                f"{self._said(answers[place])}. {BUG}"
            )


def confirm_twins(certificate: Certificate, model: Model, X: Any) -> bool:
    """Ask a model's own library for the labels of all people and twins.

    Parameters
    ----------
    certificate
        A certificate that was checked with these people.
    model
        The model that it is about.
    X
        The people.

    Returns
    -------
    bool
        Whether the model was asked about twins; False if its library is not at hand,
        or if nobody is unfair.

    Raises
    ------
    CertificateError
        If the model gives other labels.
    """
    unfair = np.flatnonzero(certificate.verdicts == UNFAIR)
    if certificate.allowed.tolerance is not None:
        model = model.predicting()
    people = People(X, Variables(model.ensemble, certificate.schema))
    labels: Given = certificate.labels
    if not model.classes:
        labels = model.ensemble.answer(model.ensemble.encode(X))
    label = labels[unfair]
    replay = Replay(model, people.variables, certificate.allowed)
    try:
        answers = replay.everybody(people)
        if answers is not None:
            replay.compare(people, 0, answers, labels)
        if not len(unfair):
            return False
        _, is_asked = replay.twins(
            people, unfair, certificate.values[unfair], certificate.twins(), label
        )
    except ReplayError as error:
        raise CertificateError(str(error)) from error
    return is_asked
