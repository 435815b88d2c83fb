"""The columns and trees of an XGBoost file in normal form."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical, Feature, Numeric, Trees
from fatt.ensemble.floats import FLOAT32_LIMIT, at_most_float32, below_float32
from fatt.ensemble.trees import join_children, starts_of
from fatt.errors import Arg, MalformedModelError, SpecError, UnsupportedModelError
from fatt.importers.registry import category_sets, check_codes
from fatt.importers.xgboost.arrays import TreeArrays
from fatt.importers.xgboost.file import ModelFile


@dataclass(frozen=True)
class Cells:
    """What the cells of a table may hold.

    Attributes
    ----------
    missing
        The number taken for missing besides NaN, or NaN.
    limit
        Largest absolute value that is taken.
    """

    missing: float
    limit: float

    def missing_range(self) -> tuple[float, float] | None:
        """Return the numbers whose float32 equals the one taken for missing."""
        if math.isnan(self.missing):
            return None
        if FLOAT32_LIMIT < abs(self.missing) < math.inf:
            raise SpecError(
                f"{Arg('missing', self.missing)} is beyond float32, in which XGBoost "
                "compares; pass a number it can hold, or an infinity."
            )
        single = np.float32(self.missing)
        low = -math.inf
        if single > -np.inf:
            low = float(np.nextafter(below_float32(single), np.inf))
        return low, float(at_most_float32(single))

    def may_miss_codes(self) -> bool:
        """Tell whether the number taken for missing could be the code of a category."""
        single = np.float32(self.missing)
        return bool(np.isfinite(single) and single >= 0 and single == np.trunc(single))


def make_features(
    file: ModelFile, cells: Cells
) -> tuple[tuple[Feature, ...], NDArray[np.int64]]:
    """Return the features, and the number of categories of each (-1 for numbers)."""
    n_codes = _n_codes(file)
    names = file.feature_names or [f"f{index}" for index in range(file.n_features)]
    missing_range = cells.missing_range()
    features: list[Feature] = []
    for index, name in enumerate(names):
        if n_codes[index] < 0:
            numeric = Numeric(
                name=name,
                lower=-cells.limit,
                upper=cells.limit,
                missing_range=missing_range,
            )
            features.append(numeric)
            continue
        labels = file.categories[index]
        # A frame's own codes are compared with `missing` before its labels are
        # matched, so that labels say nothing if a code may mean missing.
        labelled = labels is not None and not cells.may_miss_codes()
        categorical = Categorical(
            name=name,
            categories=labels if labels and labelled else tuple(range(n_codes[index])),
            coding="floor",
            labelled=labelled,
            lower=-cells.limit,
            upper=cells.limit,
            missing_range=missing_range,
        )
        features.append(categorical)
    return tuple(features), n_codes


def _n_codes(file: ModelFile) -> NDArray[np.int64]:
    trees = file.trees
    inner = trees.left != -1
    used = trees.feature[inner]
    if len(used) and (used.min() < 0 or used.max() >= file.n_features):
        raise MalformedModelError(
            f"a node splits on a feature beyond the {file.n_features} that there are."
        )
    n_codes = np.full(file.n_features, -1, dtype=np.int64)
    for index, kind in enumerate(file.feature_types):
        if kind == "c":
            n_codes[index] = len(file.categories[index] or ())
    owners = trees.feature[trees.set_nodes]
    if len(owners) and (owners.min() < 0 or owners.max() >= file.n_features):
        raise MalformedModelError("a category set belongs to no feature.")
    members = trees.set_members
    if len(members) and members.min() < 0:
        raise MalformedModelError(f"a category set holds {members.min()}.")
    check_codes(int(members.max(initial=-1)) + 1)
    known = n_codes.copy()
    np.maximum.at(n_codes, np.repeat(owners, trees.set_sizes), members + 1)
    beyond = np.flatnonzero((known > 0) & (n_codes > known))
    if len(beyond):
        first = beyond[0]
        raise MalformedModelError(
            f"a split of feature {first} names category {n_codes[first] - 1}, and only "
            f"{known[first]} are stored."
        )
    check_codes(int(np.maximum(n_codes, 0).sum()))
    by_number = trees.feature[inner & ~trees.is_set]
    mixed = by_number[n_codes[by_number] >= 0]
    if len(mixed):
        raise UnsupportedModelError(
            f"feature {mixed[0]} is split both by thresholds and as categories; train "
            "the model with one type for it."
        )
    return n_codes


def lay_out(
    file: ModelFile,
    n_trees: int,
    n_codes: NDArray[np.int64],
    leaves: NDArray[np.float32],
) -> Trees:
    """Bring the first `n_trees` trees into the normal form.

    Parameters
    ----------
    file
        What the model file says.
    n_trees
        How many trees take part.
    n_codes
        Number of categories of each feature.
    leaves
        What each node would add if it were a leaf.
    """
    trees = file.trees
    inner = trees.left != -1
    # XGBoost walks to the left child, or to the node behind it.
    if (trees.right != trees.left + 1)[inner].any():
        raise MalformedModelError(
            "the right child of a node does not follow the left one, as it does in "
            "every tree that XGBoost writes."
        )
    left = join_children(trees.left, inner, trees.sizes)
    right = join_children(trees.right, inner, trees.sizes)
    by_number = inner & ~trees.is_set
    if np.isnan(trees.condition[by_number]).any():
        raise MalformedModelError("a threshold is not a number.")
    # Nothing is below minus infinity: all numbers go right.
    never = by_number & np.isneginf(trees.condition)
    left, right = np.where(never, right, left), np.where(never, left, right)
    threshold = np.full(len(inner), np.inf)
    by_number &= ~never
    threshold[by_number] = below_float32(trees.condition[by_number])
    if not np.isfinite(leaves[~inner]).all():
        raise MalformedModelError("a leaf value is not a finite number.")
    subset, sets = _sets(trees, inner, n_codes)
    return Trees.lay_out(
        roots=starts_of(trees.sizes)[:n_trees],
        feature=np.where(inner, trees.feature, -1),
        threshold=threshold,
        left=left,
        right=right,
        missing_left=trees.default_left ^ never,
        leaf=np.arange(len(inner)),
        values=leaves,
        targets=np.full(n_trees, -1) if len(trees.vectors) else file.groups[:n_trees],
        subset=subset,
        sets=sets,
    )


def _sets(
    trees: TreeArrays, inner: NDArray[np.bool_], n_codes: NDArray[np.int64]
) -> tuple[NDArray[np.int64], list[NDArray[np.bool_]]]:
    """Return the number of each node's set, and for each set which codes go left."""
    by_set = inner & trees.is_set
    subset = np.full(len(inner), -1, dtype=np.int64)
    subset[trees.set_nodes] = np.arange(len(trees.set_nodes))
    if len(np.unique(trees.set_nodes)) != len(trees.set_nodes):
        raise MalformedModelError("a node has two category sets.")
    if (subset[by_set] < 0).any():
        raise MalformedModelError("a split by categories has no category set.")
    subset[~by_set] = -1
    lengths = n_codes[trees.feature[trees.set_nodes]] + 1
    number = np.repeat(np.arange(len(lengths)), trees.set_sizes)
    # XGBoost sends the listed categories right, all others and unknown ones left.
    sets = category_sets(lengths, number, trees.set_members)
    return subset, [~listed for listed in sets]
