"""A model over variables instead of columns."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical, Ensemble, Label
from fatt.ensemble.encode import Limits
from fatt.ensemble.plain import Plain
from fatt.errors import DataError, SpecError, hint
from fatt.region.kinds import AnyVariable, OneHot
from fatt.region.merge import merge_columns, merge_trees
from fatt.region.schema import Schema

Matrix = NDArray[np.float64]

#: How many cells of a table are gathered at a time, so that they stay in the cache.
_CELLS = 2**17


class Variables:
    """A model in the variables of a schema.

    Columns such as ``race=White`` and ``race=Black`` become one categorical feature,
    whose splits are sets of levels; other columns stay as they are.

    Parameters
    ----------
    model
        The model, in its own columns.
    schema
        The variables. If the model has no names of its own for its columns, those of
        the schema count by position.

    Attributes
    ----------
    model, schema
        As given.
    ensemble
        The model over the variables, with the same scores bit for bit.

    Raises
    ------
    SpecError
        If the schema does not fit the model.
    """

    model: Ensemble
    schema: Schema
    ensemble: Ensemble

    def __init__(self, model: Ensemble, schema: Schema) -> None:
        self.model, self.schema = model, schema
        place = places(schema, model)
        self._merges = tuple(
            merge_columns(variable, [place[name] for name in variable.columns], model)
            for variable in schema.variables
        )
        features = tuple(merge.feature for merge in self._merges)
        self.ensemble = model
        if features != model.features:
            trees = merge_trees(model, self._merges)
            self.ensemble = replace(model, features=features, trees=trees)

    def gather(self, rows: Matrix) -> Matrix:
        """Turn rows of the model's columns into values and codes of the variables.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_columns)
            What `model.read` returned.

        Returns
        -------
        ndarray of shape (n_rows, n_variables)

        Raises
        ------
        DataError
            If the columns of a variable hold no level of it.
        """
        if all(merge.table is None for merge in self._merges):
            places = [int(merge.columns[0]) for merge in self._merges]
            return np.take(rows, places, axis=1)
        n_columns = len(self.model.features)
        anything = Limits(
            np.full(n_columns, -np.inf),
            np.full(n_columns, np.inf),
            np.ones(n_columns, dtype=bool),
        )
        values = np.empty((len(rows), len(self._merges)))
        table = np.require(rows, np.float64, "A").T
        wrong = self._gather(table, anything, values)
        if wrong >= 0:
            row, index = divmod(wrong, len(self._merges))
            cells = rows[row, self._merges[index].columns]
            raise _no_level(row, cells, self.schema.variables[index])
        return values

    def gather_plain(self, table: Plain, start: int, stop: int) -> Matrix | None:
        """Gather some rows of a table of plain numbers, with no copy in between.

        Returns
        -------
        ndarray of shape (n_rows, n_variables), or None
            None if a row is not plain, or has no level: `gather` says what is wrong.
        """
        values = np.empty((stop - start, len(self._merges)))
        size = max(1, _CELLS // len(self.model.features))
        for first in range(start, stop, size):
            last = min(first + size, stop)
            here = values[first - start : last - start]
            if self._gather(table.block(first, last), table.limits, here) >= 0:
                return None
        return values

    def _gather(self, table: Matrix, limits: Limits, values: Matrix) -> int:
        """Fill in the values; return a place where there is none, -1 if all is well."""
        from fatt.region.kernels import gather

        return int(gather(table, *limits, *self._lookup, values))

    @functools.cached_property
    def _lookup(self) -> tuple[NDArray[Any], ...]:
        """What the compiled `gather` needs to know of the variables, as arrays."""
        from fatt.region.kernels import COLUMN, LEVEL, NUMBER

        kinds, levels, zeros = [], [], []
        for variable, merge in zip(self.schema.variables, self._merges, strict=True):
            by_column = isinstance(variable, OneHot)
            table = np.empty((0, 1)) if merge.table is None else merge.table
            zero = np.flatnonzero((table == 0).all(axis=1))
            zeros.append(int(zero[0]) if len(zero) else -1)
            levels.append(np.empty(0) if by_column else table[:, 0])
            kind = COLUMN if by_column else LEVEL
            kinds.append(NUMBER if merge.table is None else kind)
        columns = [merge.columns for merge in self._merges]
        return (
            np.array(kinds, dtype=np.int64),
            np.concatenate(columns),
            _ends(columns),
            np.concatenate(levels),
            _ends(levels),
            np.array(zeros, dtype=np.int64),
        )

    def scatter(self, values: Matrix) -> Matrix:
        """Turn values and codes of the variables back into the model's columns.

        Parameters
        ----------
        values : ndarray of shape (n_rows, n_variables)
            As `gather` returns them.

        Returns
        -------
        ndarray of shape (n_rows, n_columns)
        """
        from fatt.region.kernels import scatter

        rows = np.empty((len(values), len(self.model.features)))
        columns, starts = self._lookup[1:3]
        scatter(values, columns, starts, *self._cells, rows)
        return rows

    @functools.cached_property
    def _cells(self) -> tuple[Matrix, NDArray[np.int64]]:
        """What stands in the columns for each code, and where each variable starts."""
        tables = [merge.table for merge in self._merges]
        cells = [np.empty(0) if table is None else table.ravel() for table in tables]
        return np.concatenate(cells), _ends(cells)

    def code(self, index: int, label: Label) -> int | None:
        """Return the code of a variable's value, found by name; None if it has none.

        Parameters
        ----------
        index
            Index of a categorical variable.
        label
            The value, or its text.
        """
        feature = self.ensemble.features[index]
        assert isinstance(feature, Categorical)
        if label in feature.categories:
            return feature.categories.index(label)
        texts = [str(category) for category in feature.categories]
        # Only a text stands for a value of another type, and only for one.
        if isinstance(label, str) and texts.count(label) == 1:
            return texts.index(label)
        return None


def places(schema: Schema, model: Ensemble) -> dict[str, int]:
    """Return the index of each of the schema's columns in the model.

    Raises
    ------
    SpecError
        If the two have different columns.
    """
    names = [feature.name for feature in model.features]
    known = names
    if not model.inputs.named:
        known = list(schema.columns)
        if len(known) != len(names):
            raise SpecError(
                f"the schema has {len(known)} columns and the model reads {len(names)}."
            )
    for column in schema.columns:
        if column not in known:
            raise SpecError(
                f"the schema has the column {column!r}, which the model does not have. "
                + hint(column, names)
            )
    for name in known:
        if name not in schema.columns:
            raise SpecError(
                f"the model reads the column {name!r}, which the schema lacks. "
                + hint(name, schema.columns)
            )
    return {name: place for place, name in enumerate(known)}


def _ends(parts: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    """Return where each part starts in all together, and where the last ends."""
    return np.cumsum([0, *map(len, parts)], dtype=np.int64)


def _no_level(row: int, cells: Matrix, variable: AnyVariable) -> DataError:
    if len(cells) == 1:
        return DataError(
            f"row {row}: column {variable.columns[0]!r} is {cells[0]}, which is no "
            f"level of the variable {variable.name!r}; correct the row or the schema."
        )
    ones = [name for name, cell in zip(variable.columns, cells, strict=True) if cell]
    return DataError(
        f"row {row}: of the columns of variable {variable.name!r} one must be 1 and "
        f"the others 0; not 0 are {', '.join(ones) or 'none'}. Correct the row or the "
        "schema (dropped= names the level for which all columns are 0)."
    )
