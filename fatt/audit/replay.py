"""Every counterexample is run through the model itself, with no tolerance."""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.audit.predictors import Predictor, predictor_of
from fatt.ensemble import Ensemble
from fatt.ensemble.encode import mark_missing
from fatt.ensemble.table import places_of
from fatt.errors import ReplayError
from fatt.people import People
from fatt.people.edits import with_changes
from fatt.region import Variables

Matrix = NDArray[np.float64]
Classes = NDArray[np.int64]

#: Ends every message about an answer that contradicts the search.
BUG = "This is a bug in fatt: please report it with the model and the row."


class Replay:
    """Asks a model again for the labels of unfair people and their twins.

    Parameters
    ----------
    model
        Whatever `fatt.load` takes.
    variables
        How the model reads people.
    """

    def __init__(self, model: Any, variables: Variables) -> None:
        self._model = model
        self._variables = variables
        self._ensemble = variables.model
        # Not every library lets several threads ask a model at the same time.
        self._lock = threading.Lock()

    def check(
        self,
        everybody: People,
        index: NDArray[np.int64],
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
        own, other = (self._variables.scatter(v) for v in (people, twins))
        own_label = self._decide(own)
        if not np.array_equal(own_label, label):
            self._compare(index, self._labels(own_label), label, "the person")
        twin_label = self._decide(other)
        for case in np.flatnonzero(twin_label == label):
            raise ReplayError(
                f"row {index[case]}: the twin that was found gets the person's own "
                f"label, {self._ensemble.classes[label[case]]!r}. {BUG}"
            )
        rows = everybody.take(index)
        is_asked = self._ask_model(index, rows, (own, other), (label, twin_label))
        return twin_label, is_asked

    def _decide(self, matrix: Matrix) -> Classes:
        return self._ensemble.decide(mark_missing(matrix, self._ensemble.features))

    def _labels(self, places: Classes) -> list[Any]:
        return [self._ensemble.classes[place] for place in places.tolist()]

    @functools.cached_property
    def _predictor(self) -> Predictor | None:
        # Libraries are imported only when there is something to replay.
        return predictor_of(self._model, self._ensemble)

    def _answers(self, ask: Predictor, table: Any, matrix: Matrix) -> list[Any]:
        """Return a label per row."""
        with self._lock, warnings.catch_warnings():
            # On names of columns that an array does not have, and the like.
            warnings.simplefilter("ignore")
            answers = np.asarray(ask(_copied(table), matrix))
        if answers.shape != (len(matrix),):
            raise ValueError(f"the model answers an array of shape {answers.shape}.")
        return list(answers.tolist())

    def _ask_model(
        self,
        index: NDArray[np.int64],
        rows: Any,
        values: tuple[Matrix, Matrix],
        labels: tuple[Classes, Classes],
    ) -> bool:
        with self._lock:
            ask = self._predictor
        own, other = values
        if ask is None:
            return False
        for form in _forms(rows, self._ensemble):
            try:
                answers = self._answers(ask, form(rows), own)
            except Exception:  # libraries raise what they like
                continue
            break
        else:
            # The model takes no table of this kind, for instance no array.
            return False
        self._compare(index, answers, labels[0], "the person")
        table = form(with_changes(rows, own, other, self._ensemble))
        try:
            answers = self._answers(ask, table, other)
        except Exception as error:
            raise ReplayError(
                f"row {index[0]} or a later one: the model takes the person and not "
                f"the twin that was found ({type(error).__name__}: {error}). {BUG}"
            ) from error
        self._compare(index, answers, labels[1], "the twin")
        return True

    def _compare(
        self, index: NDArray[np.int64], answers: list[Any], label: Classes, who: str
    ) -> None:
        expected = self._labels(label)
        if answers == expected:
            return
        for row, answer, said in zip(index.tolist(), answers, expected, strict=True):
            if answer != said:
                raise ReplayError(
                    f"row {row}: the search says that {who} gets {said!r}, and the "
                    f"model answers {answer!r}. {BUG}"
                )


def _copied(table: Any) -> Any:
    """Return a table of its own for a library, some of which write into what they get.

    Frames other than those of pandas cannot be written to.
    """
    if isinstance(table, np.ndarray):
        return table.copy(order="K")
    return table.copy() if hasattr(table, "iloc") else table


def _forms(rows: Any, model: Ensemble) -> Iterator[Callable[[Any], Any]]:
    """Yield ways to hand a table to the model, the surest first.

    Libraries look for columns by name or by position, and some refuse more columns than
    they know: first only the columns that the ensemble reads, in its order, are tried.
    """
    if not isinstance(rows, np.ndarray) and model.inputs.named:
        import narwhals as nw

        frame = nw.from_native(rows, eager_only=True)
        places = places_of(frame, model.features, model.inputs)
        if places != list(range(len(frame.columns))):
            yield lambda table: nw.from_native(table, eager_only=True)[
                :, places
            ].to_native()
    yield lambda table: table
