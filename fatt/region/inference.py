"""A schema from what a model and its rows say."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Ensemble, Feature, Inputs
from fatt.ensemble import Numeric as NumericFeature
from fatt.ensemble.encode import mark_missing, read
from fatt.ensemble.table import Column, columns_of
from fatt.region.kinds import AnyVariable, Binary, Category, Integer, Number, OneHot
from fatt.region.schema import Schema

#: The level of a group of columns that are all 0.
NONE = "none of these"

#: How many rows are looked at at a time, so that they stay in the cache.
_BLOCK = 8192
#: The same for all columns together.
_CELLS = 2**17


def from_features(features: Sequence[Feature]) -> Schema:
    """Return the schema of a model's features, one variable each."""
    return Schema(
        columns=tuple(feature.name for feature in features),
        variables=tuple(_of_feature(f.name, f) for f in features),
    )


def infer(ensemble: Ensemble, X: Any) -> Schema:
    """Return the schema that the names and types of columns tell.

    Rows are looked at in blocks, so that large tables are never copied.
    """
    columns, n_rows = columns_of(X, ensemble.features, ensemble.inputs)
    names = _names(ensemble, X)
    numbers: dict[str, _Numbers] = {}
    variables: dict[str, AnyVariable] = {}
    for name, feature, make in zip(names, ensemble.features, columns, strict=True):
        variables[name] = _of_feature(name, feature)
        if isinstance(feature, NumericFeature):
            numbers[name] = _Numbers(make(), feature, ensemble.inputs)
    for found in _groups(X, prefixes(names, numbers), numbers, names, n_rows):
        for name in found.columns:
            del variables[name], numbers[name]
        variables[found.name] = found
    deviations = _deviations(list(numbers.values()), n_rows)
    for (name, column), sd in zip(numbers.items(), deviations, strict=True):
        variables[name] = column.variable(name, sd)
    return Schema(columns=tuple(names), variables=tuple(variables.values()))


def read_columns(ensemble: Ensemble, X: Any, places: list[int]) -> NDArray[np.float64]:
    """Return columns of numbers, of shape (n_rows, n_places), by the model's order."""
    columns, n_rows = columns_of(X, ensemble.features, ensemble.inputs)
    rows = slice(0, n_rows)
    found = []
    for place in places:
        feature = ensemble.features[place]
        assert isinstance(feature, NumericFeature)
        found.append(_Numbers(columns[place](), feature, ensemble.inputs).read(rows))
    return np.stack(found, axis=1)


def prefixes(names: list[str], numbers: Collection[str]) -> dict[str, list[str]]:
    """Return the columns that share what stands before the first equals sign.

    Parameters
    ----------
    names
        All names in use.
    numbers
        The columns of numbers.
    """
    groups: dict[str, list[str]] = {}
    for name in numbers:
        prefix, _, level = name.partition("=")
        # With a column of the group's own name nobody could tell the two apart.
        if prefix and level and prefix not in names:
            groups.setdefault(prefix, []).append(name)
    return groups


def _groups(
    X: Any,
    groups: dict[str, list[str]],
    numbers: dict[str, _Numbers],
    names: list[str],
    n_rows: int,
) -> list[Binary | OneHot]:
    """Return the variables behind groups of columns, where there are any."""
    if not groups:
        return []
    is_matrix = isinstance(X, np.ndarray) and X.dtype.kind in "biuf"
    # Of an array it is faster to look at all columns than to pick some.
    columns = (
        names if is_matrix else [name for part in groups.values() for name in part]
    )
    found = _Groups(groups, columns)
    size = max(1, _CELLS // len(columns))
    for start in range(0, n_rows, size):
        rows = slice(start, start + size)
        if is_matrix:
            found.see(X[rows].astype(np.float64, copy=False).T)
        else:
            found.see(np.stack([numbers[name].read(rows) for name in columns]))
    return found.variables()


class _Numbers:
    """A column of numbers, read in blocks of rows."""

    def __init__(self, column: Column, feature: NumericFeature, inputs: Inputs) -> None:
        self._feature, self._type = feature, column.cells.dtype.kind
        self._cells = column.cells
        if not column.is_numeric:
            self._cells = read(column.cells[:, np.newaxis], (feature,), inputs)[:, 0]

    def read(self, rows: slice) -> NDArray[np.float64]:
        """Return some numbers, also those that the model reads as missing."""
        return self._cells[rows].astype(np.float64)

    def known(self, rows: slice) -> NDArray[np.float64]:
        """Return some numbers without those that are missing."""
        numbers = mark_missing(self.read(rows)[:, np.newaxis], (self._feature,))[:, 0]
        missing = np.isnan(numbers)
        return numbers[~missing] if missing.any() else numbers

    def variable(self, name: str, sd: float) -> AnyVariable:
        """Return the variable that the column is on its own."""
        if self._type == "b":
            return Binary(name=name, columns=(name,), levels=(False, True))
        whole = self._feature.integer or self._type in "iu"
        return (Integer if whole else Number)(
            name=name, columns=(name,), sd=sd if np.isfinite(sd) else None
        )


def _deviations(columns: list[_Numbers], n_rows: int) -> NDArray[np.float64]:
    """Return the standard deviation of each column; not finite if there is none."""

    def totals(rows: slice) -> NDArray[np.float64]:
        parts = [column.known(rows) for column in columns]
        return np.array([[len(part), part.sum()] for part in parts]).reshape(-1, 2)

    def squares(rows: slice) -> NDArray[np.float64]:
        parts = [column.known(rows) for column in columns]
        away = [part - mean for part, mean in zip(parts, means, strict=True)]
        return np.array([(part * part).sum() for part in away])

    # The squares of huge numbers are infinite, and then there is no deviation.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        count, total = _add_up(totals, 0, n_rows).T
        means = total / count
        return np.asarray(np.sqrt(_add_up(squares, 0, n_rows) / count))


def _add_up(
    part: Callable[[slice], NDArray[np.float64]], start: int, stop: int
) -> NDArray[np.float64]:
    """Add up over rows, half by half: few roundings, as in numpy's own sums."""
    if stop - start <= _BLOCK:
        return part(slice(start, stop))
    half = (stop - start) // 2
    middle = start + half - half % 8
    return _add_up(part, start, middle) + _add_up(part, middle, stop)


def _names(ensemble: Ensemble, X: Any) -> list[str]:
    """Return the model's names of its columns, or the frame's if it has none."""
    names = [feature.name for feature in ensemble.features]
    given = getattr(X, "columns", None)
    if ensemble.inputs.named or given is None:
        return names
    found = [str(name) for name in getattr(X, "column_names", given)]
    return found if len(set(found)) == len(names) else names


def _of_feature(name: str, feature: Feature) -> AnyVariable:
    if not isinstance(feature, NumericFeature):
        return Category(name=name, columns=(name,))
    return (Integer if feature.integer else Number)(name=name, columns=(name,))


class _Groups:
    """Groups of columns named ``variable=level``, seen a block of rows at a time.

    Parameters
    ----------
    groups
        The columns of each.
    columns
        The columns of the blocks; some may belong to no group.
    """

    def __init__(self, groups: dict[str, list[str]], columns: list[str]) -> None:
        self._groups = groups
        places = {name: place for place, name in enumerate(columns)}
        sizes = [len(names) for names in groups.values()]
        self._places = np.array(
            [places[name] for names in groups.values() for name in names],
            dtype=np.int64,
        )
        self._starts = np.cumsum([0, *sizes], dtype=np.int64)
        self._is_variable = np.ones(len(groups), dtype=bool)
        # The least and the most ones in a row that is not missing.
        self._least = np.array(sizes, dtype=np.int64)
        self._most = np.full(len(groups), -1, dtype=np.int64)

    def see(self, cells: NDArray[np.float64]) -> None:
        """Look at some rows, which lie on their side."""
        from fatt.region.kernels import see_groups

        found = (self._is_variable, self._least, self._most)
        see_groups(cells, self._places, self._starts, *found)

    def variables(self) -> list[Binary | OneHot]:
        """Return the variables behind the groups that are one."""
        is_one_at_most = (self._most >= 0) & (self._most <= 1)
        return [
            _variable(prefix, tuple(names), has_none=bool(self._least[index] == 0))
            for index, (prefix, names) in enumerate(self._groups.items())
            if self._is_variable[index] and is_one_at_most[index]
        ]


def _variable(prefix: str, columns: tuple[str, ...], has_none: bool) -> Binary | OneHot:
    levels = tuple(name.partition("=")[2] for name in columns)
    if len(columns) == 1:
        pair = (f"not {levels[0]}", levels[0])
        return Binary(name=prefix, columns=columns, levels=pair)
    dropped = NONE if has_none else None
    return OneHot(name=prefix, columns=columns, levels=levels, dropped=dropped)
