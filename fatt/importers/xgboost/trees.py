"""The trees of an XGBoost file in the normal form."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Trees
from fatt.ensemble.floats import below_float32
from fatt.ensemble.trees import join_children, starts_of
from fatt.errors import MalformedModelError, UnsupportedModelError
from fatt.importers._limits import SET_BITS
from fatt.importers.xgboost.arrays import TreeArrays
from fatt.importers.xgboost.file import ModelFile


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
    bits = int(lengths.sum())
    if bits > SET_BITS + 2048 * len(inner):
        raise UnsupportedModelError(
            f"the category sets take {bits} bits together, more than fatt reads; merge "
            "rare categories before training."
        )
    sets = [np.ones(length, dtype=bool) for length in lengths.tolist()]
    ends = np.cumsum(trees.set_sizes)
    starts = ends - trees.set_sizes
    # XGBoost sends the listed categories right, all others and unknown ones left.
    for goes_left, start, end in zip(sets, starts, ends, strict=True):
        goes_left[trees.set_members[start:end]] = False
    return subset, sets
