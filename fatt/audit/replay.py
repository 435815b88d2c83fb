"""What is found, asked again of the model itself, with no tolerance.

Where the model's own library is at hand, it answers for everybody in the user's own
table, for every twin, and for some people similar to those who are fair. An answer that
is not ours ends the audit: then the model or the table was read wrongly.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fatt.audit.membership import Membership
from fatt.audit.spot_checks import Drawn
from fatt.ensemble.table import as_frame, places_of, series_of
from fatt.errors import DataError, ReplayError
from fatt.model import Model, NotAtHand, in_short
from fatt.people import People
from fatt.people.edits import stacked, with_changes
from fatt.region import Boxes, Variables
from fatt.threads import CHUNK
from fatt.verdict import Findings

Matrix = NDArray[np.float64]
Classes = NDArray[np.int64]
Places = NDArray[np.int64]

#: Makes of a table one that the model's library takes.
Form: TypeAlias = Callable[[Any], Any]

#: Ends every message about an answer that contradicts the search.
BUG = "This is a bug in fatt: please report it with the model and the row."


class Replay:
    """Asks a model itself what it answers, and compares that with what was found.

    Parameters
    ----------
    model
        The model.
    variables
        How the model reads people.

    Attributes
    ----------
    reason
        Why the model itself cannot be asked; empty if it can, or was not yet.
    """

    def __init__(self, model: Model, variables: Variables) -> None:
        self.reason = ""
        self._model = model
        self._variables = variables
        self._ensemble = variables.model
        self._codes = {label: code for code, label in enumerate(self._ensemble.classes)}
        self._membership = Membership(variables.ensemble.features)
        self._form: Form | None = None

    def anew(self) -> Replay:
        """Return one for another table, which may be of another kind."""
        # For each call of an auditor: `copy.copy` takes three times as long.
        other = object.__new__(Replay)
        other.__dict__.update(self.__dict__, reason="", _form=None)
        return other

    @property
    def is_at_hand(self) -> bool:
        """Whether the model itself can be asked, as far as is known; else `reason`."""
        if not self.reason:
            try:
                _ = self._model.live
            except NotAtHand as error:
                self.reason = str(error)
        return not self.reason

    def everybody(self, people: People) -> Classes | None:
        """Ask for everybody's own answer, in the user's own table.

        Returns
        -------
        ndarray of shape (n_people,), or None
            The class of each person; None if the model itself cannot be asked.

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
                answers = self._ask(people.rows(start, stop))
            except _RefusedError as error:
                # What we refuse ourselves, we can say more about.
                people.values(start, stop)
                raise self._refused(people, start, stop, error) from error
            if answers is None:
                return None
            parts.append(self._classes_of(answers, np.arange(start, stop)))
        return np.concatenate(parts)

    def compare(
        self, people: People, start: int, answers: Classes, label: NDArray[np.int32]
    ) -> None:
        """Compare the answers of some people with what was found.

        Parameters
        ----------
        people
            All people.
        start
            The row of the first of them.
        answers, label : ndarray of shape (n_some,)
            The class of each as the model says, and as the search does.

        Raises
        ------
        ReplayError
            If the model answers what it cannot, if it is what was read.
        """
        wrong = np.flatnonzero(answers != label)
        if wrong.size and not self._ensemble.scoring.ordered:
            # Where the library does not fix its sums, it may answer either.
            possible = self._ensemble.possible_labels(people.take(start + wrong))
            wrong = wrong[~possible[np.arange(len(wrong)), answers[wrong]]]
        self._require_equal(start + wrong, answers[wrong], label[wrong], "the person")

    def require_similar(
        self, boxes: Boxes, start: int, people: Places, twins: Matrix
    ) -> None:
        """Make sure that twins are similar to people, by the definition.

        Parameters
        ----------
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
        is_similar = self._membership.are_similar(boxes, people, twins)
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
        label: Classes,
    ) -> tuple[Classes, bool]:
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
            The class of each twin.
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
        if self._form is None:
            # Elsewhere than where everybody was asked: how does it take such rows?
            answers = self._ask(rows)
            if answers is None:
                return twin_label, False
            found = self._classes_of(answers, index)
            self._require_equal(index, found, label, "the person")
        who = "the twin that was found"
        table = with_changes(rows, own, other, self._ensemble)
        found = self._ask_others(table, index, who)
        for place in np.flatnonzero(found != twin_label).tolist():
            # A twin of another may have changed the type of a column, and so this one.
            one = slice(place, place + 1)
            rows = everybody.take(index[one])
            table = with_changes(rows, own[one], other[one], self._ensemble)
            found[one] = self._ask_others(table, index[one], who)
        self._require_equal(index, found, twin_label, "the twin")
        return twin_label, True

    def _pairs(
        self, index: Places, people: Matrix, twins: Matrix, label: Classes
    ) -> tuple[Matrix, Matrix, Classes]:
        """Return people and twins in the model's columns, and the twins' classes.

        Raises
        ------
        ReplayError
            If the exact form gives people another class, or their twins the same.
        """
        rows = self._variables.scatter(np.vstack([people, twins]))
        classes, count = self._decide(rows), len(index)
        found, twin_label = classes[:count], classes[count:]
        self._require_equal(index, found, label, "the person")
        for case in np.flatnonzero(twin_label == label):
            raise ReplayError(
                f"row {index[case]}: the twin that was found gets the person's own "
                f"label, {self._ensemble.classes[label[case]]!r}. {BUG}"
            )
        return rows[:count], rows[count:], twin_label

    def together(
        self, people: People, found: Findings, drawn: Drawn | None
    ) -> tuple[Classes, bool] | None:
        """Ask about everybody, all twins and some similar people, if can be in one go.

        Parameters
        ----------
        people
            All people.
        found
            What was found about them.
        drawn
            Some people similar to the fair; None if there are none.

        Returns
        -------
        twin_label, on_model
            As `twins` returns them; or None if an answer is not what was found, or the
            model takes not everybody: then it must be asked piece by piece.
        """
        twins = found.twins
        twin_label = twins.twin_label
        if len(twins):
            own, other, twin_label = self._pairs(
                twins.index, twins.people, twins.everybody(), twins.label
            )
        if not self.is_at_hand:
            return twin_label, False
        tables: list[Any] = [people.rows(0, len(people))]
        label: list[NDArray[Any]] = [found.label]
        if len(twins):
            rows = people.take(twins.index)
            tables.append(with_changes(rows, own, other, self._ensemble))
            label.append(twin_label)
        if drawn is not None:
            tables.append(drawn.table)
            label.append(found.label[drawn.index])
        table = stacked(tables)
        answers = None if table is None else self._ask_in_one(table, tables[0])
        if answers is None:
            return None
        codes = [self._codes.get(answer, -1) for answer in answers]
        return (twin_label, True) if codes == np.concatenate(label).tolist() else None

    def _ask_in_one(self, table: Any, people: Any) -> list[Any] | None:
        """Ask about people and others behind them, in a form that suits the people.

        None if there is no such form, or if the others do not suit it.
        """
        for form in self._forms(people):
            for rows in (table, people):
                try:
                    answers = self._model.ask(form(rows))
                except Exception:  # libraries raise what they like
                    continue
                return answers if rows is table else None
        return None

    def similar(self, drawn: Drawn, label: Classes) -> int:
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
        if self._form is None:
            return 0
        others = self._contradicting(drawn, label)
        n_asked = len(drawn)
        for place in others.tolist():
            # Another may have changed the type of a column, and so who was drawn.
            others = self._contradicting(drawn.alone(place), label[place : place + 1])
            n_asked -= len(others)
        return n_asked

    def _contradicting(self, drawn: Drawn, label: Classes) -> Places:
        """Ask about some people; return who gets another label than was found.

        The table does not say of them what was drawn, so that this proves nothing.

        Raises
        ------
        ReplayError
            If somebody gets another label who is in the table as drawn.
        """
        found = self._ask_others(drawn.table, drawn.index, "somebody similar")
        wrong = np.flatnonzero(found != label)
        if not wrong.size:
            return wrong
        is_as_drawn = self._is_as_drawn(drawn)[wrong]
        for place in wrong[is_as_drawn].tolist():
            classes = self._ensemble.classes
            raise ReplayError(
                f"row {drawn.index[place]}: the search says that everybody similar "
                f"gets {classes[label[place]]!r}, and the model answers "
                f"{classes[found[place]]!r} for one who differs in "
                f"{drawn.changes(place, self._variables)}. {BUG}"
            )
        return wrong

    def _is_as_drawn(self, drawn: Drawn) -> NDArray[np.bool_]:
        """Tell of whom the table says what was drawn."""
        read = self._variables.gather(self._ensemble.read(drawn.table))
        is_missing = np.isnan(read) & np.isnan(drawn.values)
        return np.asarray(((read == drawn.values) | is_missing).all(axis=1))

    def _decide(self, matrix: Matrix) -> Classes:
        return self._ensemble.decide(self._ensemble.mark_missing(matrix))

    def _ask(self, rows: Any) -> list[Any] | None:
        """Return a label per row, or None if the model itself cannot be asked.

        Raises
        ------
        _RefusedError
            If the model that the user passed takes the rows in no form.
        """
        if not self.is_at_hand:
            return None
        forms = [self._form] if self._form is not None else self._forms(rows)
        errors: list[Exception] = []
        for form in forms:
            try:
                answers = self._model.ask(form(rows))
            except Exception as error:  # libraries raise what they like
                errors.append(error)
                continue
            self._form = form
            return answers
        told = in_short(errors[0])
        if self._model.given is not None:
            raise _RefusedError(told) from errors[0]
        self.reason = f"its library takes the rows in no form ({told})"
        return None

    def _forms(self, rows: Any) -> list[Form]:
        """Return ways to hand a table to the model, the surest first.

        To the model that the user passed the rows go as they are. If it refuses them,
        as some libraries do if there are more columns than they know, or in another
        order: only the columns that it reads, in its order; and if it knows no such
        tables, or wants names: as a frame of pandas. A model that was read from a file
        gets its columns in its order at once, for those of files go by name; or else
        the codes of its categories.
        """
        model, is_given = self._ensemble, self._model.given is not None
        frame = as_frame(rows)
        forms: list[Form] = [lambda table: table]
        if frame is not None:
            places = places_of(frame, model.features, model.inputs)
            if places != list(range(len(frame.columns))):
                forms.append(lambda table: _selected(table, places).to_native())
            if is_given and not frame.implementation.is_pandas_like():
                forms.append(lambda table: _selected(table, places).to_pandas())
        elif is_given and model.inputs.named:
            names = [feature.name for feature in model.features]
            forms.append(functools.partial(_named, names))
        return forms if is_given else [*forms[::-1], model.read]

    def _ask_others(self, table: Any, index: Places, who: str) -> Classes:
        """Return the class of each of some people whom we made from the user's."""
        assert self._form is not None
        try:
            answers = self._ask(table)
        except _RefusedError as error:
            refused = str(error)
        else:
            if answers is not None:
                return self._classes_of(answers, index)
            refused = self.reason
        told = (
            f"row {index[0]} or a later one: the model takes the person and not {who} "
            f"({refused})."
        )
        if self._has_other_gaps(table):
            raise DataError(
                f"{told} Tables of polars and pyarrow cannot hold every missing value "
                "that a model knows, such as NaN among texts; pass a frame of pandas."
            )
        raise ReplayError(f"{told} {BUG}")

    def _has_other_gaps(self, table: Any) -> bool:
        """Tell whether a column that is read has gaps its kind of table cannot write.

        Columns of Arrow know null, and NaN only among floats; what a library makes of a
        null among texts, and whether it takes one, is another matter than NaN.
        """
        frame = as_frame(table)
        if frame is None or frame.implementation.is_pandas_like():
            return False
        places = places_of(frame, self._ensemble.features, self._ensemble.inputs)
        read = (get() for get in series_of(frame, places))
        return any(not one.dtype.is_numeric() and one.null_count() for one in read)

    def _refused(
        self, people: People, start: int, stop: int, refused: _RefusedError
    ) -> DataError:
        """Say which row the model's library refuses: half by half, some of them."""
        first, last = start, stop
        while last - first > 1:
            middle = (first + last) // 2
            if self._refuses(people.rows(first, middle)):
                last = middle
            else:
                first = middle
        alone = self._refuses(people.rows(first, last))
        where = f"row {first}" if alone else f"rows {start} to {stop - 1}"
        return DataError(
            f"{where}: the model's own library refuses this ({refused}), and gives no "
            "answer that could be fair; pass rows that model.predict takes."
        )

    def _refuses(self, rows: Any) -> bool:
        try:
            self._ask(rows)
        except _RefusedError:
            return True
        return False

    def _classes_of(self, answers: list[Any], index: Places) -> Classes:
        found = np.array([self._codes.get(answer, -1) for answer in answers])
        for place in np.flatnonzero(found < 0):
            raise ReplayError(
                f"row {index[place]}: the model answers {answers[place]!r}, which is "
                f"none of its classes {list(self._ensemble.classes)}. {BUG}"
            )
        return found.astype(np.int64)

    def _require_equal(
        self, index: Places, answers: Classes, label: NDArray[Any], who: str
    ) -> None:
        for place in np.flatnonzero(answers != label):
            classes = self._ensemble.classes
            raise ReplayError(
                f"row {index[place]}: the search says that {who} gets "
                f"{classes[label[place]]!r}, and the model answers "
                f"{classes[answers[place]]!r}. {BUG}"
            )


class _RefusedError(Exception):
    """What a library raised, in short."""


def _selected(table: Any, places: list[int]) -> Any:
    return as_frame(table)[:, places]


def _named(names: list[str], table: NDArray[Any]) -> Any:
    import pandas as pd

    # Of objects pandas makes texts if it can, and NaN of what is missing among them.
    dtype = object if table.dtype == object else None
    return pd.DataFrame(table, columns=names, dtype=dtype)
