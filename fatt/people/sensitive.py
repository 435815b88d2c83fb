"""Attributes of people that stand beside their table: what to group them by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble.tables import as_frame
from fatt.errors import Arg, DataError
from fatt.verdict import Value

#: The group of each person, and what the people of each group have in common.
Grouping: TypeAlias = tuple[NDArray[np.int64], list[Value]]


def sensitive_features_of(given: Any, table: Any) -> dict[str, Grouping]:
    """Read sensitive features in any of the forms in which fairlearn takes them.

    Parameters
    ----------
    given
        A data frame, a mapping from names to columns, a series or list for one feature,
        or an array of one or two dimensions. What has no name is called
        ``sensitive_feature_0`` and so on.
    table
        The people, in the same order.

    Raises
    ------
    DataError
        If it does not tell one value per person, its index is another, or a column
        contradicts that of the same name in the table, as rows in another order do.
    """
    n_people = len(table)
    _require_same_index(given, table)
    columns: dict[str, Grouping] = {}
    for name, cells in _columns(given):
        values = list(cells)
        if len(values) != n_people:
            raise DataError(
                f"{Arg('sensitive_features')} has {len(values):,} values in {name!r}, "
                f"and there are {n_people:,} people; pass one value each, in the same "
                "order."
            )
        columns[name] = grouped(values)
        _refuse_contradiction(name, columns[name], table)
    if not columns:
        raise DataError(
            f"{Arg('sensitive_features')} has no columns; name at least one."
        )
    return columns


def _columns(given: Any) -> Iterable[tuple[str, Iterable[Any]]]:
    if isinstance(given, Mapping):
        return [(str(name), cells) for name, cells in given.items()]
    frame = as_frame(given)
    if frame is not None:
        return [(str(name), frame[name].to_list()) for name in frame.columns]
    name = getattr(given, "name", None)
    if hasattr(given, "to_list"):
        return [("sensitive_feature_0" if name is None else str(name), given.to_list())]
    array = given if isinstance(given, np.ndarray) else _array(given)
    if array.ndim not in (1, 2):
        raise DataError(
            f"{Arg('sensitive_features')} has {array.ndim} dimensions; pass one "
            "column, or a table with one row per person."
        )
    cells = array.reshape(len(array), -1)
    return [
        (f"sensitive_feature_{place}", cells[:, place].tolist())
        for place in range(cells.shape[1])
    ]


def _array(given: Any) -> NDArray[Any]:
    """Return a list of values, or of rows, as it is: a text stays one value."""
    rows = list(given)
    is_table = bool(rows) and all(isinstance(row, list | tuple) for row in rows)
    array = np.empty((len(rows), len(rows[0])) if is_table else len(rows), dtype=object)
    try:
        array[:] = rows
    except ValueError:
        raise DataError(
            f"{Arg('sensitive_features')} has rows of several lengths; pass a table."
        ) from None
    return array


def _require_same_index(given: Any, table: Any) -> None:
    """Refuse two objects of pandas whose rows are called differently."""
    mine, other = getattr(given, "index", None), getattr(table, "index", None)
    if not (hasattr(mine, "equals") and hasattr(other, "equals")):
        return
    if len(mine) == len(other) and not mine.equals(other):  # type: ignore[union-attr,arg-type]
        raise DataError(
            f"the index of {Arg('sensitive_features')} is not that of the people, so "
            "that rows cannot be matched; write "
            "sensitive_features.loc[X.index], or pass its values without the index if "
            "the order is the same."
        )


def _refuse_contradiction(name: str, grouping: Grouping, table: Any) -> None:
    """Refuse a column that is neither finer nor coarser than its namesake."""
    frame = as_frame(table)
    if frame is None or name not in frame.columns:
        return
    own, known = grouped(frame[name].to_list()), np.ones(len(table), dtype=bool)
    most = 0
    for group, labels in (own, grouping):
        is_known = np.array([label is not None for label in labels])
        known, most = known & is_known[group], max(most, int(is_known.sum()))
    pairs = {*zip(own[0][known].tolist(), grouping[0][known].tolist(), strict=True)}
    if len(pairs) > most:
        raise DataError(
            f"{Arg('sensitive_features')} contradict the table in {name!r}: the rows "
            "may be in another order. Pass them in the order of the people, or call "
            "the column otherwise."
        )


def grouped(cells: Iterable[Any]) -> Grouping:
    """Return which cells are equal, and what each group of them holds."""
    places: dict[Any, int] = {}
    # NaN does not equal itself, and is nothing to tell.
    keys = [None if _is_missing(cell) else _plain(cell) for cell in cells]
    group = np.array([places.setdefault(key, len(places)) for key in keys])
    return group.astype(np.int64), list(places)


def _plain(cell: Any) -> Any:
    return cell.item() if isinstance(cell, np.generic) else cell


def _is_missing(cell: Any) -> bool:
    if cell is None:
        return True
    differs = cell != cell  # noqa: PLR0124
    # What pandas calls NA answers neither yes nor no.
    return differs is not False and not (isinstance(differs, np.bool_) and not differs)
