"""The trees of an XGBoost file in the normal form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Trees
from fatt.ensemble.floats import below_float32
from fatt.errors import MalformedModelError, UnsupportedModelError
from fatt.importers.xgboost.arrays import TreeArrays
from fatt.importers.xgboost.file import ModelFile

#: Bits that all category sets together may take, besides 2048 for each node.
_MOST_BITS = 2**27


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
    _check_children(trees)
    starts = np.concatenate([[0], np.cumsum(trees.sizes)[:-1]])
    offset = np.repeat(starts, trees.sizes)
    inner = trees.left != -1
    by_number = inner & ~trees.is_set
    threshold = np.zeros(len(inner))
    threshold[by_number] = _thresholds(trees.condition[by_number])
    if not np.isfinite(leaves[~inner]).all():
        raise MalformedModelError("a leaf value is not a finite number.")
    subset, sets = _sets(trees, inner, n_codes)
    return Trees.lay_out(
        roots=starts[:n_trees],
        feature=np.where(inner, trees.feature, -1),
        threshold=threshold,
        left=trees.left + offset,
        right=trees.right + offset,
        missing_left=trees.default_left,
        leaf=np.arange(len(inner)),
        values=leaves,
        targets=np.full(n_trees, -1) if len(trees.vectors) else file.groups[:n_trees],
        subset=subset,
        sets=sets,
    )


def _check_children(trees: TreeArrays) -> None:
    inner = trees.left != -1
    size = np.repeat(trees.sizes, trees.sizes)[inner]
    left, right = trees.left[inner], trees.right[inner]
    if (left < 0).any() or (right < 0).any() or (np.maximum(left, right) >= size).any():
        raise MalformedModelError("a node has a child outside its tree.")
    # XGBoost walks to the left child, or to the node behind it.
    if (right != left + 1).any():
        raise MalformedModelError(
            "the right child of a node does not follow the left one, as it does in "
            "every tree that XGBoost writes."
        )


def _thresholds(condition: NDArray[np.float32]) -> NDArray[np.float64]:
    if np.isnan(condition).any() or np.isneginf(condition).any():
        raise MalformedModelError("a threshold is NaN or minus infinity.")
    return below_float32(condition)


class _LeftSets(Sequence[NDArray[np.bool_]]):
    """For each set split, which codes go left; made one at a time to save memory."""

    def __init__(self, trees: TreeArrays, n_codes: NDArray[np.int64]) -> None:
        self.ends = np.cumsum(trees.set_sizes)
        self.members = trees.set_members
        self.lengths = n_codes[trees.feature[trees.set_nodes]] + 1

    def __len__(self) -> int:
        return len(self.ends)

    @overload
    def __getitem__(self, index: int) -> NDArray[np.bool_]: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[NDArray[np.bool_]]: ...

    def __getitem__(
        self, index: int | slice
    ) -> NDArray[np.bool_] | Sequence[NDArray[np.bool_]]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        goes_left = np.ones(self.lengths[index], dtype=bool)
        start = self.ends[index - 1] if index else 0
        # XGBoost sends the listed categories right, all others and unknown ones left.
        goes_left[self.members[start : self.ends[index]]] = False
        return goes_left


def _sets(
    trees: TreeArrays, inner: NDArray[np.bool_], n_codes: NDArray[np.int64]
) -> tuple[NDArray[np.int64] | None, _LeftSets]:
    sets = _LeftSets(trees, n_codes)
    by_set = inner & trees.is_set
    if not by_set.any():
        return None, sets
    subset = np.full(len(inner), -1, dtype=np.int64)
    subset[trees.set_nodes] = np.arange(len(trees.set_nodes))
    if len(np.unique(trees.set_nodes)) != len(trees.set_nodes):
        raise MalformedModelError("a node has two category sets.")
    if (subset[by_set] < 0).any():
        raise MalformedModelError("a split by categories has no category set.")
    subset[~by_set] = -1
    bits = int(sets.lengths.sum())
    if bits > _MOST_BITS + 2048 * len(inner):
        raise UnsupportedModelError(
            f"the category sets take {bits} bits together, more than fatt reads; merge "
            "rare categories before training."
        )
    return subset, sets
