"""People from a file, as a table that a model can be trained on."""

from __future__ import annotations

import importlib.util
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from fatt.audit.cells import Kind, numbers_of
from fatt.audit.files import Cells, Table
from fatt.audit.roster import Column, lay_out
from fatt.ensemble import Label
from fatt.errors import DataError, SpecError, hint, needs


@dataclass(frozen=True, eq=False)
class Pupils:
    """People whose outcomes are known.

    Attributes
    ----------
    table
        A pandas frame: numbers, and categories as texts.
    labels
        Their outcomes: whole numbers, truth values or texts.
    kinds
        Of what kind the numbers of each column are.
    """

    table: Any
    labels: list[Label]
    kinds: list[Kind]


def enrol_pupils(table: Table, *, label: str, ignored: Collection[str] = ()) -> Pupils:
    """Give the columns of a file types of their own, since no model says which.

    A column whose cells are all numbers, or missing, is one of numbers; any other is
    one of categories.

    Parameters
    ----------
    table
        The file.
    label
        The column of outcomes.
    ignored
        Columns that are not to be learnt from.

    Raises
    ------
    SpecError
        If a column that is named is absent, or no other is left.
    DataError
        If there are no rows, or an outcome is missing or is no label.
    MissingDependencyError
        If pandas is not installed.
    """
    if importlib.util.find_spec("pandas") is None:
        raise needs("pandas", "training from a file", "tables")
    for name in [label, *ignored]:
        if name not in table.columns:
            raise SpecError(
                f"{table.name} has no column {name!r}. {hint(name, table.columns)}"
            )
    names = [name for name in table.columns if name not in {label, *ignored}]
    if not names:
        raise SpecError(f"{table.name} has no column left to learn from; ignore fewer.")
    if not len(table.columns[label]):
        raise DataError(f"{table.name} has no rows; pass at least one person.")
    read = [_read(name, table.columns[name]) for name in names]
    return Pupils(
        lay_out(read, names, {}),
        _labels(label, table.columns[label]),
        [column.kind for column in read],
    )


def _read(name: str, cells: Cells) -> Column:
    try:
        values, kind = numbers_of(name, cells)
    except DataError:
        plain = cells.tolist() if isinstance(cells, np.ndarray) else cells
        labels = [None if cell in {None, ""} else cell for cell in plain]
        return Column(labels, "any", False)
    return Column(values, kind, False)


def _labels(name: str, cells: Cells) -> list[Label]:
    try:
        values, kind = numbers_of(name, cells)
    except DataError:
        texts = ["" if cell is None else str(cell) for cell in cells]
        if "" in texts:
            raise DataError(
                f"row {texts.index('')}: column {name!r}, of labels, is empty; leave "
                "out people whose outcome is not known."
            ) from None
        return list(texts)
    if np.isnan(values).any():
        raise DataError(
            f"row {int(np.argmax(np.isnan(values)))}: column {name!r}, of labels, is "
            "empty; leave out people whose outcome is not known."
        )
    if kind == "truth":
        return [bool(value) for value in values]
    is_whole = values == np.floor(values)
    if not is_whole.all():
        row = int(np.argmin(is_whole))
        raise DataError(
            f"row {row}: column {name!r}, of labels, is {values[row]}; labels are "
            "words or whole numbers."
        )
    return [int(value) for value in values]
