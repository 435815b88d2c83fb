"""A model over variables instead of columns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical, Ensemble, Label
from fatt.errors import DataError, SpecError
from fatt.region.kinds import AnyVariable, OneHot
from fatt.region.merge import merge_columns, merge_trees
from fatt.region.names import hint
from fatt.region.schema import Schema

Matrix = NDArray[np.float64]


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
        places = _places(schema, model)
        self._merges = tuple(
            merge_columns(variable, [places[name] for name in variable.columns], model)
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
        values = np.empty((len(rows), len(self._merges)))
        for index, (variable, merge) in enumerate(
            zip(self.schema.variables, self._merges, strict=True)
        ):
            if merge.table is None:
                values[:, index] = rows[:, merge.columns[0]]
                continue
            cells = rows[:, merge.columns]
            find = _codes_of_columns if isinstance(variable, OneHot) else _codes
            codes = find(cells, merge.table)
            values[:, index] = codes
            without = np.flatnonzero(codes < 0)
            absent = np.isnan(cells[without]).all(axis=1)
            values[without, index] = np.nan
            if not absent.all():
                row = int(without[np.argmin(absent)])
                raise _no_level(row, cells[row], variable)
        return values

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
        rows = np.empty((len(values), len(self.model.features)))
        for index, merge in enumerate(self._merges):
            mine = values[:, index]
            if merge.table is None:
                rows[:, merge.columns[0]] = mine
                continue
            missing = np.isnan(mine)
            codes = np.where(missing, 0, mine).astype(np.int64)
            cells = merge.table[codes]
            cells[missing] = np.nan
            rows[:, merge.columns] = cells
        return rows

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


def _places(schema: Schema, model: Ensemble) -> dict[str, int]:
    """Return the index of each of the schema's columns in the model."""
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


def _codes(cells: Matrix, table: Matrix) -> Matrix:
    """Return which row of the table each number of one column equals; -1 for none."""
    numbers, known = cells[:, 0], ~np.isnan(table[:, 0])
    order = np.argsort(table[known, 0])
    ordered = table[known, 0][order]
    place = np.minimum(np.searchsorted(ordered, numbers), len(ordered) - 1)
    return np.where(
        ordered[place] == numbers, np.flatnonzero(known)[order][place], -1.0
    )


def _codes_of_columns(cells: Matrix, table: Matrix) -> Matrix:
    """Return which row of a one-hot table each row of cells equals; -1 for none."""
    zero = np.flatnonzero((table == 0).all(axis=1))
    is_one = cells == 1
    ones = np.count_nonzero(is_one, axis=1)
    zeros = np.count_nonzero(cells == 0, axis=1)
    codes: Matrix = is_one.argmax(axis=1).astype(np.float64)
    codes[ones == 0] = zero[0] if len(zero) else -1
    codes[(ones > 1) | (ones + zeros < cells.shape[1])] = -1
    return codes


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
