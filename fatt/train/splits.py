"""What a table's columns are to a tree that is trained on it, and its splits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import (
    Argmax,
    Categorical,
    Ensemble,
    Feature,
    Inputs,
    Label,
    Link,
    Numeric,
    Scoring,
    Source,
    Trees,
)
from fatt.ensemble.tables import Column, columns_of
from fatt.errors import DataError
from fatt.region import Boxes, Schema, Variables
from fatt.train.genome import ends

Matrix = NDArray[np.float64]

_LARGEST = float(np.finfo(np.float64).max)
_SOURCE = Source(library="fatt", format="fitted object", model="FATTClassifier")


class Split(NamedTuple):
    """A question about one column; yes goes left.

    Attributes
    ----------
    column
        Index of the column.
    threshold
        The largest number that goes left, of a column of numbers.
    codes
        Which codes go left, of a column of categories.
    missing_left
        Whether a missing value goes left.
    """

    column: int
    threshold: float
    codes: NDArray[np.bool_] | None
    missing_left: bool

    @property
    def key(self) -> tuple[int, float, tuple[int, ...], bool]:
        """What tells it from other splits, and orders them."""
        codes = () if self.codes is None else tuple(np.flatnonzero(self.codes).tolist())
        return self.column, self.threshold, codes, self.missing_left


#: A tree in prefix order whose splits are written out; a leaf is as in `genome`.
Portable: TypeAlias = tuple[Split | int, ...]


def candidates(
    variables: Variables,
    rows: Matrix,
    boxes: Boxes,
    worth: Matrix,
    *,
    max_bins: int,
) -> list[Split]:
    """Return the splits that part the people, and part as few boxes as they can.

    Parameters
    ----------
    variables
        A model without splits, in the variables of the schema.
    rows : ndarray of shape (n_people, n_columns)
        The people, in the columns of the model.
    boxes
        Where they may move.
    worth : ndarray of shape (n_people, n_classes)
        What each label is worth; orders the categories.
    max_bins
        Into how many parts a column is cut at most.
    """
    blank = variables.model
    place = variable_of(variables.schema, blank)
    items: list[Split] = []
    nothing = np.zeros(0)
    for column, feature in enumerate(blank.features):
        values, index = rows[:, column], place[column]
        may_miss = bool(boxes.missing[:, index].any() or np.isnan(values).any())
        if isinstance(feature, Categorical):
            found = _category_splits(column, values, feature, worth, may_miss)
        else:
            merged = isinstance(variables.ensemble.features[index], Categorical)
            found = _number_splits(
                column,
                values,
                # Similar people move between categories, not along an interval.
                (nothing, nothing)
                if merged
                else (boxes.lower[:, index], boxes.upper[:, index]),
                may_miss=may_miss,
                max_bins=max_bins,
            )
        items.extend(found)
    distinct = {split.key: split for split in items}
    return [distinct[key] for key in sorted(distinct)]


def variable_of(schema: Schema, model: Ensemble) -> list[int]:
    """Return the variable to which each column of the model belongs."""
    names = [feature.name for feature in model.features]
    known = names if model.inputs.named else list(schema.columns)
    owner = {
        column: index
        for index, variable in enumerate(schema.variables)
        for column in variable.columns
    }
    return [owner[name] for name in known]


def _number_splits(
    column: int,
    values: Matrix,
    interval: tuple[Matrix, Matrix],
    *,
    may_miss: bool,
    max_bins: int,
) -> Iterator[Split]:
    known = np.sort(values[~np.isnan(values)])
    thresholds = quiet_thresholds(known, *interval, max_bins)
    # If no value was missing in training, missing values go where most people go.
    mostly_left = 2 * np.searchsorted(known, thresholds, "right") >= len(known)
    for threshold, most in zip(thresholds.tolist(), mostly_left.tolist(), strict=True):
        for missing_left in (False, True) if may_miss else (most,):
            yield Split(column, threshold, None, missing_left)
    if may_miss and len(known):
        yield Split(column, _LARGEST, None, False)


def quiet_thresholds(
    values: Matrix, lower: Matrix, upper: Matrix, max_bins: int
) -> Matrix:
    """Return thresholds between the values, where few intervals are crossed.

    Between two neighbouring values all thresholds part the people alike, but not the
    intervals around them: each gets the one that the fewest intervals contain.

    Parameters
    ----------
    values
        The numbers of the people, in order.
    lower, upper
        Intervals; a threshold crosses one if ``lower <= threshold < upper``.
    max_bins
        One more than the largest number of thresholds.
    """
    distinct = _distinct(values)
    if len(distinct) < 2:
        return np.zeros(0)
    real = lower <= upper
    low, high = np.sort(lower[real]), np.sort(upper[real])
    edges = np.concatenate([_distinct(low), _distinct(high)])
    inside = edges[(edges > distinct[0]) & (edges < distinct[-1])]
    pieces = np.unique(np.concatenate([distinct, inside]))
    crossed = np.searchsorted(low, pieces[:-1], "right") - np.searchsorted(
        high, pieces[:-1], "right"
    )
    width = np.diff(pieces)
    gap = np.searchsorted(distinct, pieces[:-1], "right") - 1
    if len(distinct) > max_bins:
        # Neighbouring gaps together, so that the same number of people lie in each.
        behind = np.searchsorted(values, distinct[:-1], "right")
        gap = (behind * max_bins // (len(values) + 1))[gap]
    # The first piece of each gap in this order is the one least crossed, then widest.
    order = np.lexsort((-width, crossed, gap))
    first = np.flatnonzero(np.diff(gap[order], prepend=-1))
    best = np.sort(order[first])
    middle = pieces[best] + width[best] / 2
    return np.where(middle < pieces[best + 1], middle, pieces[best])


def _distinct(ordered: Matrix) -> Matrix:
    """Return numbers that are in order, each once."""
    return np.asarray(ordered[np.diff(ordered, prepend=np.nan) != 0])


def _category_splits(
    column: int,
    values: Matrix,
    feature: Categorical,
    worth: Matrix,
    may_miss: bool,
) -> Iterator[Split]:
    """Yield every category alone, and the first ones by what they are worth."""
    known = ~np.isnan(values)
    codes = values[known].astype(np.int64)
    count = np.bincount(codes, minlength=feature.n_codes)
    present = np.flatnonzero(count)
    sets = {frozenset([code]) for code in present.tolist()}
    share = np.zeros((feature.n_codes, worth.shape[1]))
    np.add.at(share, codes, worth[known])
    share /= np.maximum(share.sum(axis=1, keepdims=True), 1e-300)
    for label in range(1, worth.shape[1]):
        order = present[np.argsort(share[present, label], kind="stable")]
        sets |= {frozenset(order[:end].tolist()) for end in range(1, len(order))}
    everyone = frozenset(present.tolist())
    for members in sorted(sets - {everyone}, key=sorted):
        left = np.zeros(feature.n_codes, dtype=bool)
        left[list(members)] = True
        mostly_left = bool(2 * count[left].sum() >= len(codes))
        for missing_left in (False, True) if may_miss else (mostly_left,):
            yield Split(column, 0.0, left, missing_left)
    if may_miss and len(codes):
        left = np.zeros(feature.n_codes, dtype=bool)
        left[: len(feature.categories)] = True
        yield Split(column, 0.0, left, False)


def as_trees(tree: Portable, shares: Matrix) -> Trees:
    """Return a tree in the form of models.

    Parameters
    ----------
    tree
        The tree.
    shares : ndarray of shape (n_leaves, n_classes)
        The shares of the classes at its leaves.
    """
    inner = np.array([isinstance(node, Split) for node in tree])
    left = np.flatnonzero(inner) + 1
    return _laid_out(
        [node for node in tree if isinstance(node, Split)],
        inner,
        sides=(left, ends(np.where(inner, 0, -1))[left]),
        roots=[0],
        leaf=np.cumsum(~inner) - 1,
        values=shares,
    )


def as_stumps(variables: Variables, items: Sequence[Split]) -> Trees:
    """Return every split as a tree of its own, over the variables."""
    nodes = np.arange(3 * len(items))
    roots = nodes[::3]
    trees = _laid_out(
        items,
        nodes % 3 == 0,
        sides=(roots + 1, roots + 2),
        roots=roots,
        leaf=np.zeros(len(nodes), dtype=np.int64),
        values=np.zeros((1, variables.model.n_outputs)),
    )
    model = replace(variables.model, trees=trees)
    return Variables(model, variables.schema).ensemble.trees


def _laid_out(
    splits: Sequence[Split],
    inner: NDArray[np.bool_],
    *,
    sides: tuple[NDArray[np.int64], NDArray[np.int64]],
    **rest: Any,
) -> Trees:
    """Return trees whose inner nodes are these splits, with nodes on both sides."""

    def spread(values: Any, empty: Any) -> NDArray[Any]:
        array = np.full(len(inner), empty)
        array[inner] = values
        return array

    has_set = np.array([split.codes is not None for split in splits], dtype=bool)
    return Trees.lay_out(
        feature=spread([split.column for split in splits], -1),
        threshold=spread([split.threshold for split in splits], 0.0),
        left=spread(sides[0], -1),
        right=spread(sides[1], -1),
        missing_left=spread([split.missing_left for split in splits], False),
        targets=np.full(len(rest["roots"]), -1),
        subset=spread(np.where(has_set, np.cumsum(has_set) - 1, -1), -1),
        sets=[split.codes for split in splits if split.codes is not None],
        **rest,
    )


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
