"""The people who are verified: the user's own table, and what the trees see of it."""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical
from fatt.ensemble.plain import Plain, is_pandas
from fatt.ensemble.tables import as_array, as_frame, places_of, require_table
from fatt.errors import DataError, SpecError, first, hint
from fatt.people.edits import with_changes
from fatt.people.sensitive import Grouping, grouped, sensitive_features_of
from fatt.region import Variables
from fatt.region.inference import read_columns
from fatt.region.variables import places
from fatt.threads import CHUNK
from fatt.verdict import Twins, value_of


class People:
    """The rows that a user passed, read a part at a time.

    The table is kept as it is, not copied: a later change of it changes the
    groups that a report shows, though not its verdicts and twins.

    Parameters
    ----------
    table
        Two-dimensional array or list, or data frame that `narwhals` knows.
    variables
        How the model's columns make up the variables that people know.

    Raises
    ------
    DataError
        If there are no rows.
    """

    #: Attributes that stand beside the table, as groups, by name.
    sensitive: Mapping[str, Grouping] = MappingProxyType({})

    def __init__(self, table: Any, variables: Variables) -> None:
        self.variables = variables
        self.table = table
        is_array = isinstance(table, np.ndarray)
        if not is_array and not is_pandas(table) and self.frame is None:
            self.table, is_array = as_array(table), True
        if is_array:
            require_table(self.table)
        is_known = is_array or is_pandas(table)
        self._count = len(self.table if is_known else self.frame)
        if not self._count:
            raise DataError("there are no rows; pass at least one person.")

    def __len__(self) -> int:
        return self._count

    def __repr__(self) -> str:
        names = [feature.name for feature in self.variables.ensemble.features]
        shown = first(names, most=10)
        return f"<{len(self):,} people, {len(names):,} variables: {shown}>"

    @functools.cached_property
    def frame(self) -> Any:
        """The table as a frame of `narwhals`; None if it is no data frame."""
        return as_frame(self.table)

    def with_sensitive(self, given: Any) -> People:
        """Return the same people with attributes that stand beside the table.

        Parameters
        ----------
        given
            As `fatt.verify` takes ``sensitive_features``; None for no others.

        Raises
        ------
        DataError
            If it does not tell one value per person.
        """
        if given is None:
            return self
        other = copy.copy(self)
        other.sensitive = sensitive_features_of(given, self.table)
        return other

    def rows(self, start: int, stop: int) -> Any:
        """Return some rows, as a table of the same kind."""
        if (start, stop) == (0, len(self)):
            return self.table
        if self.frame is None:
            return self.table[start:stop]
        return self.frame[start:stop].to_native()

    def take(self, index: NDArray[np.int64]) -> Any:
        """Return the rows with these numbers, as a table of the same kind."""
        if self.frame is None:
            return self.table[index]
        return self.frame[index, :].to_native()

    def said(self, index: NDArray[np.int64], variable: int) -> list[Any] | None:
        """Return what the table says of a category, where no code tells it.

        Parameters
        ----------
        index
            Which rows.
        variable
            Which variable.

        Returns
        -------
        list or None
            The cells; None if the variable is no column of the model.
        """
        variables, model = self.variables, self.variables.model
        names = [feature.name for feature in model.features]
        own = variables.schema.variables[variable].columns
        if len(own) != 1 or variables.ensemble.features[variable].name not in names:
            return None
        column = places(variables.schema, model)[own[0]]
        if self.frame is None:
            return list(self.take(index)[:, column].tolist())
        column = places_of(self.frame, model.features, model.inputs)[column]
        return list(self.frame[index, column].to_list())

    def beside(self, twins: Twins, cases: NDArray[np.int64]) -> tuple[Any, Any]:
        """Return some unfair people, and their twins, as tables of the user's kind.

        Parameters
        ----------
        twins
            The twins of some of these people.
        cases
            Which of the cases.
        """
        rows, model = self.take(twins.index[cases]), self.variables.model
        own, other = twins.people[cases], twins.everybody()[cases]
        before, after = map(self.variables.scatter, (own, other))
        return rows, with_changes(rows, before, after, model)

    def values(self, start: int, stop: int) -> NDArray[np.float64]:
        """Return the numbers and codes of some rows, one column per variable.

        Raises
        ------
        DataError
            If the model's library would refuse a row.
        """
        try:
            return self._values(start, stop)
        except DataError:
            if start:
                # Read again from the first row, so that the message counts from there.
                self._values(0, stop)
            raise

    def chunks(self, n_rows: int | None = None) -> Iterator[NDArray[np.float64]]:
        """Yield the values of the first rows, or of all, some rows at a time."""
        n_rows = len(self) if n_rows is None else n_rows
        for start in range(0, n_rows, CHUNK):
            yield self.values(start, min(start + CHUNK, n_rows))

    @functools.cached_property
    def _plain(self) -> Plain | None:
        return self.variables.plain(self.table)

    def cells(self, places: list[int]) -> NDArray[np.float64]:
        """Return columns of numbers, of shape (n_people, n_places).

        Parameters
        ----------
        places
            Which of the columns that the model reads, in its order.
        """
        if self._plain is not None:
            return self._plain.columns(places)
        return read_columns(self.variables.model, self.table, places)

    def _values(self, start: int, stop: int) -> NDArray[np.float64]:
        if self._plain is not None:
            values = self.variables.gather_plain(self._plain, start, stop)
            if values is not None:
                return values
        rows = self.variables.model.read(self.rows(start, stop))
        return self.variables.gather(rows)

    def column(self, name: str) -> Grouping:
        """Return a sensitive feature, a variable, or any column of a frame, as groups.

        Parameters
        ----------
        name
            Name of a sensitive feature, else of a variable, or of a column that the
            model need not read.

        Returns
        -------
        group : ndarray of shape (n_people,)
            The group of each person.
        values : list
            What the people of each group have in common.

        Raises
        ------
        SpecError
            If there is neither a variable nor a column of this name.
        """
        if name in self.sensitive:
            return self.sensitive[name]
        features = self.variables.ensemble.features
        names = [feature.name for feature in features]
        columns = [] if self.frame is None else [str(c) for c in self.frame.columns]
        own = features[names.index(name)] if name in names else None
        # Of categories behind fingerprints the model knows those alone it asks for.
        is_print = isinstance(own, Categorical) and own.coding == "fingerprint"
        if own is not None and not (is_print and name in columns):
            return self._variable(names.index(name))
        if name in columns and self.frame is not None:
            return grouped(self.frame[:, columns.index(name)].to_list())
        raise SpecError(
            f"there is no variable and no column {name!r} to group people by. "
            f"{hint(name, [*self.sensitive, *names, *columns])}"
        )

    def _variable(self, place: int) -> Grouping:
        feature = self.variables.ensemble.features[place]
        numbers = np.concatenate([values[:, place] for values in self.chunks()])
        kinds, group = np.unique(numbers, return_inverse=True)
        return group.astype(np.int64), [value_of(feature, n) for n in kinds.tolist()]
