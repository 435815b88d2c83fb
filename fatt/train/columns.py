"""What the columns of a table are to a tree that is trained on it."""

from __future__ import annotations

from typing import Any

import numpy as np

from fatt.ensemble import Categorical, Ensemble, Feature, Inputs, Label, Numeric
from fatt.ensemble.ensemble import Source
from fatt.ensemble.scoring import Argmax, Link, Scoring
from fatt.ensemble.table import Column, columns_of
from fatt.ensemble.trees import Trees
from fatt.errors import DataError

_LARGEST = float(np.finfo(np.float64).max)
_SOURCE = Source(library="fatt", format="fitted object", model="FATTClassifier")


def blank_tree(
    X: Any, names: list[str], *, named: bool, classes: tuple[Label, ...]
) -> Ensemble:
    """Return the tree of one leaf that reads such a table.

    Parameters
    ----------
    X
        Two-dimensional array, or data frame that `narwhals` knows.
    names
        The names of the columns.
    named
        Whether they are the table's own.
    classes
        The labels.

    Raises
    ------
    DataError
        If a column is neither of numbers nor of labels.
    """
    unread = tuple(Numeric(name=name) for name in names)
    inputs = Inputs(named=named)
    columns, _ = columns_of(X, unread, inputs)
    features = tuple(
        _feature(name, make()) for name, make in zip(names, columns, strict=True)
    )
    return Ensemble(
        features=features,
        classes=classes,
        trees=Trees.lay_out(
            roots=[0],
            feature=[-1],
            threshold=[0.0],
            left=[-1],
            right=[-1],
            missing_left=[False],
            leaf=[0],
            values=np.full((1, len(classes)), 1 / len(classes)),
            targets=[-1],
        ),
        scoring=Scoring(dtype="float64", base=(0.0,) * len(classes)),
        decision=Argmax(),
        link=Link(),
        source=_SOURCE,
        inputs=inputs,
    )


def _feature(name: str, column: Column) -> Feature:
    if column.is_numeric:
        return Numeric(name=name, lower=-_LARGEST, upper=_LARGEST)
    cells = column.cells.tolist() if column.distinct is None else column.distinct[0]
    labels = {cell for cell in cells if _is_label(cell, name)}
    if labels and all(isinstance(label, int | float) for label in labels):
        return Numeric(name=name, lower=-_LARGEST, upper=_LARGEST)
    # By type first: texts and numbers have no order among each other.
    ordered = sorted(labels, key=lambda label: (type(label).__name__, label))
    return Categorical(name=name, categories=tuple(ordered))


def _is_label(cell: Any, name: str) -> bool:
    """Tell whether a cell is a label; if not, it is missing."""
    if cell is None or (isinstance(cell, float) and np.isnan(cell)):
        return False
    if isinstance(cell, str | int | float):
        return True
    if type(cell).__name__ in {"NAType", "NaTType"}:
        return False
    raise DataError(
        f"column {name!r} holds {cell!r}, a {type(cell).__name__}; pass numbers or "
        "labels."
    )
