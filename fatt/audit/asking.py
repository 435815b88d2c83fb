"""Questions to the model itself: tables in a form that its library takes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeAlias

from numpy.typing import NDArray

from fatt.ensemble import Ensemble
from fatt.ensemble.tables import as_frame, places_of, series_of
from fatt.errors import DataError, ReplayError
from fatt.model import Model, NotAtHand, in_short
from fatt.people import People

#: Makes of a table one that the model's library takes.
Form: TypeAlias = Callable[[Any], Any]

#: Ends every message about an answer that contradicts the search.
BUG = "This is a bug in fatt: please report it with the model and the row."


class Asking:
    """Asks a model itself about the rows of one table, and others like them.

    Parameters
    ----------
    model
        The model.

    Attributes
    ----------
    reason
        Why the model itself cannot be asked; empty if it can, or was not yet.
    """

    def __init__(self, model: Model) -> None:
        self.reason = ""
        self._model = model
        self._form: Form | None = None

    @property
    def _ensemble(self) -> Ensemble:
        return self._model.ensemble

    @property
    def is_at_hand(self) -> bool:
        """Whether the model itself can be asked, as far as is known; else `reason`."""
        if not self.reason:
            try:
                _ = self._model.live
            except NotAtHand as error:
                self.reason = str(error)
        return not self.reason

    @property
    def has_form(self) -> bool:
        """Whether the model has answered, so that it is known how it takes rows."""
        return self._form is not None

    def ask(self, rows: Any) -> list[Any] | None:
        """Return a label per row, or None if the model itself cannot be asked.

        Raises
        ------
        RefusedError
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
            raise RefusedError(told) from errors[0]
        self.reason = f"its library takes the rows in no form ({told})"
        return None

    def ask_others(self, table: Any, first: int, who: str) -> list[Any]:
        """Return a label for each of some people whom we made from the user's.

        Parameters
        ----------
        table
            These people, in a table of the user's kind.
        first
            The row of the first person from whom one of them was made.
        who
            What they are called in messages.

        Raises
        ------
        ReplayError
            If the model refuses them.
        DataError
            If it does because the user's kind of table cannot hold them.
        """
        assert self._form is not None
        try:
            answers = self.ask(table)
        except RefusedError as error:
            refused = str(error)
        else:
            if answers is not None:
                return answers
            refused = self.reason
        told = (
            f"row {first} or a later one: the model takes the person and not {who} "
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

    def refused(
        self, people: People, start: int, stop: int, refused: RefusedError
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
            self.ask(rows)
        except RefusedError:
            return True
        return False

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


class RefusedError(Exception):
    """What a library raised, in short."""


def _selected(table: Any, places: list[int]) -> Any:
    return as_frame(table)[:, places]


def _named(names: list[str], table: NDArray[Any]) -> Any:
    import pandas as pd

    # Of objects pandas makes texts if it can, and NaN of what is missing among them.
    dtype = object if table.dtype == object else None
    return pd.DataFrame(table, columns=names, dtype=dtype)
