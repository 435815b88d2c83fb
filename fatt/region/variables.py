"""A model over variables instead of columns."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical, Ensemble, Feature, Label, Numeric, Trees
from fatt.ensemble.cells import Limits
from fatt.ensemble.joint import Joint, Read, divisors_of, in_words, replaced
from fatt.ensemble.plain import Plain, PlainReader
from fatt.ensemble.trees import holds, n_words, pack, starts_of
from fatt.errors import Arg, DataError, SpecError, hint
from fatt.region.amounts import from_to
from fatt.region.kinds import (
    AnyVariable,
    Binary,
    Category,
    Integer,
    Number,
    OneHot,
    Ordinal,
)
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
    open_below, open_above
        The numbers among the variables, by index, that have an open end there (see
        `fatt.ensemble.Inputs`). One with levels has none: the model takes all of them.

    Raises
    ------
    SpecError
        If the schema does not fit the model.
    """

    model: Ensemble
    schema: Schema
    ensemble: Ensemble
    open_below: frozenset[int]
    open_above: frozenset[int]

    def __init__(self, model: Ensemble, schema: Schema) -> None:
        place = places(schema, model)
        model = _named(model, schema, place)
        self.model, self.schema = model, schema
        self._merges = tuple(
            merge_columns(variable, [place[name] for name in variable.columns], model)
            for variable in schema.variables
        )
        features = tuple(merge.feature for merge in self._merges)
        self.ensemble = model
        if features != model.features:
            trees = merge_trees(model, self._merges)
            joints = tuple(merge_joint(joint, self._merges) for joint in model.joints)
            self.ensemble = replace(
                model, features=features, trees=trees, joints=joints
            )
        self.open_below, self.open_above = (
            frozenset(
                index
                for index, variable in enumerate(schema.variables)
                if isinstance(variable, Number) and place[variable.columns[0]] in opened
            )
            for opened in (model.inputs.open_below, model.inputs.open_above)
        )

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
            If the columns of a variable hold no level of it, or a zero that the model
            tells from its level's.
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
        self._require_own_zeros(rows, values)
        return values

    def _require_own_zeros(self, rows: Matrix, values: Matrix) -> None:
        """Refuse zeros with another sign than their level's, by which models divide."""
        for joint, column, index, levels in self._divisors:
            codes = np.nan_to_num(values[:, index]).astype(np.int64)
            cells, own = rows[:, column], levels[codes]
            differs = (cells == own) & (np.signbit(cells) != np.signbit(own))
            if differs.any():
                row = int(np.argmax(differs))
                features = self.model.features
                raise DataError(
                    f"row {row}: column {features[column].name!r} is {cells[row]}, "
                    f"for which variable {self.schema.variables[index].name!r} has "
                    f"{own[row]}; and the model computes "
                    f"{in_words(joint.formula, features)}, where the sign of a zero "
                    "counts. Write the zero as the level is written, or leave the row "
                    "out."
                )

    @functools.cached_property
    def _divisors(self) -> list[tuple[Joint, int, int, Matrix]]:
        """The columns of levels that the model divides by, with those of each code."""
        return [
            (joint, column, index, merge.table[:, merge.columns == column].ravel())
            for joint in self.model.joints
            for column in sorted(divisors_of(joint.formula))
            for index, merge in enumerate(self._merges)
            if merge.table is not None and column in merge.columns
        ]

    def plain(self, rows: Any) -> Plain | None:
        """Return a table as one of plain numbers; None if there is more to it.

        There is where the model may refuse what it computes of several numbers.

        Parameters
        ----------
        rows
            Two-dimensional array, or data frame that `narwhals` knows.
        """
        return None if self.model.joints else self._plain_reader.read(rows)

    @functools.cached_property
    def _plain_reader(self) -> PlainReader:
        return PlainReader(self.model.features, self.model.inputs)

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
        from fatt.region import kernels

        given = (*limits, *self._lookup, values)
        return kernels.gather(table, *given)

    @functools.cached_property
    def _lookup(self) -> tuple[NDArray[Any], ...]:
        """What the compiled `gather` needs to know of the variables, as arrays."""
        from fatt.region import kernels

        kinds, levels, zeros = [], [], []
        for variable, merge in zip(self.schema.variables, self._merges, strict=True):
            by_column = isinstance(variable, OneHot)
            table = np.empty((0, 1)) if merge.table is None else merge.table
            zero = np.flatnonzero((table == 0).all(axis=1))
            zeros.append(int(zero[0]) if len(zero) else -1)
            levels.append(np.empty(0) if by_column else table[:, 0])
            kind = kernels.COLUMN if by_column else kernels.LEVEL
            kinds.append(kernels.NUMBER if merge.table is None else kind)
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
        from fatt.region import kernels

        rows = np.empty((len(values), len(self.model.features)))
        columns, starts = self._lookup[1:3]
        kernels.scatter(values, columns, starts, *self._cells, rows)
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
        code = feature.code_of(label)
        if code is not None:
            return code
        variable = self.schema.variables[index]
        if isinstance(variable, Category) and str(label) in variable.texts:
            # Somebody has it, and the model takes it for any text that it never saw.
            return len(feature.categories)
        texts = [str(category) for category in feature.categories]
        # Only a text stands for a value of another type, and only for one.
        if isinstance(label, str) and texts.count(label) == 1:
            return texts.index(label)
        return None


def _named(model: Ensemble, schema: Schema, place: dict[str, int]) -> Ensemble:
    """Return the model with the texts that people have for its fingerprints."""
    features = list(model.features)
    for variable in schema.variables:
        if isinstance(variable, Category) and variable.texts:
            index = place[variable.columns[0]]
            feature = features[index]
            if isinstance(feature, Categorical):
                features[index] = feature.named_after(variable.texts)
    if tuple(features) == model.features:
        return model
    return replace(model, features=tuple(features))


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
    of_model, of_schema = set(known), set(schema.columns)
    for column in schema.columns:
        if column not in of_model:
            raise SpecError(
                f"the schema has the column {column!r}, which the model does not have. "
                + hint(column, names)
            )
    for name in known:
        if name not in of_schema:
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
            f"level of the variable {variable.name!r}; correct the row or the schema. "
            "(Of a number that may vary, the levels are the values that vary lists, "
            "and those in the rows from which the schema was inferred, if these are "
            f"few. For a range write {Arg('noise', {variable.name: '18..30'})}.)"
        )
    ones = [name for name, cell in zip(variable.columns, cells, strict=True) if cell]
    return DataError(
        f"row {row}: of the columns of variable {variable.name!r} one must be 1 and "
        f"the others 0; not 0 are {', '.join(ones) or 'none'}. Correct the row or the "
        "schema (dropped= names the level for which all columns are 0)."
    )


class Merge(NamedTuple):
    """One variable, and the model's columns behind it.

    Attributes
    ----------
    feature
        The variable as the trees see it.
    columns : ndarray of shape (n_columns,)
        Indices of the model's columns.
    table : ndarray of shape (n_codes, n_columns), or None
        What stands in the columns for each code, NaN where nothing does; in a column
        of categories their codes. None if the variable is a column as it is.
    """

    feature: Feature
    columns: NDArray[np.int64]
    table: Matrix | None = None


def merge_columns(
    variable: AnyVariable, columns: Sequence[int], model: Ensemble
) -> Merge:
    """Return the variable as a feature, checked against the model's columns."""
    places = np.array(columns, dtype=np.int64)
    features = [model.features[column] for column in columns]
    numeric = [feature for feature in features if isinstance(feature, Numeric)]
    first = features[0]
    if isinstance(first, Categorical) and isinstance(variable, Category | Ordinal):
        _check_categories(variable, first)
        return Merge(msgspec.structs.replace(first, name=variable.name), places)
    if len(numeric) < len(features) or isinstance(variable, Category):
        found = "numbers" if numeric else "categories"
        raise SpecError(
            f"variable {variable.name!r} is a {type(variable).__name__}, and the model "
            f"reads {found} in column {first.name!r}."
        )
    if isinstance(variable, Number):
        low, high = variable.bounds
        if low > numeric[0].upper or high < numeric[0].lower:
            raise SpecError(
                f"variable {variable.name!r} is {from_to(low, high)}, and what the "
                f"model's library takes is "
                f"{from_to(numeric[0].lower, numeric[0].upper)}; correct the schema."
            )
        integer = numeric[0].integer or isinstance(variable, Integer)
        renamed = msgspec.structs.replace(
            numeric[0], name=variable.name, integer=integer
        )
        return Merge(renamed, places)
    return Merge(*_merge_levels(variable, places, numeric))


def _check_categories(variable: Category | Ordinal, feature: Categorical) -> None:
    for level in variable.levels:
        if feature.code_of(level) is None:
            raise SpecError(
                f"variable {variable.name!r} has the level {level!r}, which the model "
                f"does not know. {hint(level, feature.categories)}"
            )


def _merge_levels(
    variable: Binary | Ordinal | OneHot,
    places: NDArray[np.int64],
    features: Sequence[Numeric],
) -> tuple[Categorical, NDArray[np.int64], Matrix]:
    patterns, unknown = variable.patterns(), variable.unknown()
    nothing = np.full(len(places), np.nan)
    table = np.vstack([patterns, nothing if unknown is None else unknown])
    for feature, column in zip(features, table.T, strict=True):
        numbers = column[~np.isnan(column) & ~_reads_missing(feature, column)]
        taken = (feature.lower <= numbers) & (numbers <= feature.upper)
        if feature.integer:
            taken &= numbers == np.trunc(numbers)
        if not taken.all():
            raise SpecError(
                f"a level of variable {variable.name!r} has the number "
                f"{numbers[~taken][0]} in column {feature.name!r}, which the model's "
                "library refuses or fatt cannot follow."
            )
    merged = Categorical(
        name=variable.name,
        categories=variable.labels,
        accepts_missing=all(feature.accepts_missing for feature in features),
        accepts_unknown=unknown is not None,
    )
    return merged, places, table


def _reads_missing(feature: Feature, numbers: Matrix) -> NDArray[np.bool_]:
    if feature.missing_range is None:
        return np.zeros(len(numbers), dtype=bool)
    low, high = feature.missing_range
    return (low <= numbers) & (numbers <= high)


def merge_joint(joint: Joint, merges: Sequence[Merge]) -> Joint:
    """Return a computed column that reads variables instead of columns."""

    def read(column: Read) -> Read:
        place, table = column.place, column.table
        [index] = [i for i, merge in enumerate(merges) if place in merge.columns]
        merge = merges[index]
        if merge.table is not None:
            table = tuple(merge.table[:, merge.columns == place].ravel().tolist())
        return msgspec.structs.replace(column, place=index, table=table)

    return msgspec.structs.replace(joint, formula=replaced(joint.formula, read))


def merge_trees(model: Ensemble, merges: Sequence[Merge]) -> Trees:
    """Return the trees with splits on variables.

    A split on a column of a variable becomes the set of the levels that it sends left.
    Nodes, leaves and their order stay.
    """
    trees = model.trees
    n_features = len(model.columns)
    owner = np.full(n_features + 1, -1, dtype=np.int64)
    # Columns computed of several others stand behind the variables.
    owner[len(model.features) : -1] = len(merges) + np.arange(len(model.joints))
    sizes = np.array([n_words(feature.n_codes) for feature in model.columns] + [0])
    columns: dict[int, Matrix] = {}
    for index, merge in enumerate(merges):
        owner[merge.columns] = index
        if merge.table is not None:
            sizes[merge.columns] = n_words(merge.feature.n_codes)
            columns.update(zip(merge.columns.tolist(), merge.table.T, strict=True))
    merged = np.zeros(n_features + 1, dtype=bool)
    merged[list(columns)] = True

    # A leaf has the feature -1, the last entry of these arrays.
    feature = trees.nodes["feature"]
    is_set = (trees.nodes["subset"] >= 0) | merged[feature]
    places = np.flatnonzero(is_set)
    starts = starts_of(sizes[feature[places]])
    words = np.zeros(int(sizes[feature[places]].sum()), dtype=np.uint64)
    order = np.argsort(feature[places], kind="stable")
    ends = np.cumsum(np.bincount(feature[places], minlength=n_features))
    for index, mine in enumerate(np.split(order, ends[:-1])):
        split = trees.nodes[places[mine]]
        if index in columns:
            packed = pack(
                _goes_left(trees, model.features[index], split, columns[index])
            )
        else:
            packed = trees.words[split["subset"][:, np.newaxis] + range(sizes[index])]
        words[starts[mine][:, np.newaxis] + np.arange(sizes[index])] = packed

    nodes = trees.nodes.copy()
    nodes["feature"] = owner[feature]
    nodes["subset"] = -1
    nodes["subset"][places] = starts
    nodes["threshold"][places] = 0.0
    return replace(trees, nodes=nodes, words=words)


def _goes_left(
    trees: Trees, feature: Feature, split: NDArray[Any], numbers: Matrix
) -> NDArray[np.bool_]:
    """Tell which of the numbers each node sends left, of shape (n_nodes, n_numbers).

    Of a categorical column the numbers are its codes.
    """
    left = numbers <= split["threshold"][:, np.newaxis]
    is_set = split["subset"] >= 0
    if is_set.any():
        if isinstance(feature, Categorical):
            cells = np.nan_to_num(numbers).astype(np.int64)
        else:
            cells = np.searchsorted(feature.edges, numbers)
        left[is_set] = holds(trees.words, split["subset"][is_set, np.newaxis], cells)
    if isinstance(feature, Categorical):
        # A combination of variables may lack one of them.
        missing = np.isnan(numbers) | [feature.reads_missing(x) for x in numbers]
        left[:, missing] = split["missing_left"][:, np.newaxis] == 1
        return left
    missing = _reads_missing(feature, numbers)
    left[:, missing] = split["missing_left"][:, np.newaxis] == 1
    # No row has the code without a number.
    left[:, np.isnan(numbers)] = False
    return left
