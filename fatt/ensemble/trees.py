"""The trees of an ensemble as flat, read-only arrays in one normal form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fatt.errors import MalformedModelError

#: One node. A row goes left iff its value is missing and `missing_left`, or the value
#: is at most `threshold`, or (where `subset` is not -1) its code's bit is set in the
#: words that start at `subset`. A leaf has `feature` -1 and a row `leaf` of the values.
NODE = np.dtype(
    {
        "names": [
            "feature",
            "left",
            "right",
            "subset",
            "leaf",
            "missing_left",
            "threshold",
        ],
        "formats": ["<i4", "<i4", "<i4", "<i4", "<i4", "<i4", "<f8"],
    },
    align=True,
)

_WORD_BITS = 64

#: The largest index that fits into a node.
_MOST = 2**31 - 1


@dataclass(frozen=True, eq=False)
class Trees:
    """All trees, one after the other, each breadth first.

    Build it with `lay_out`, which checks the structure and brings it into this form;
    equal trees then have equal arrays.

    Attributes
    ----------
    nodes : ndarray of `NODE`
        Children stand behind their parent, the right one next to the left one; the
        indices count from the first node of all.
    roots : ndarray of shape (n_trees,)
        Index of the root of each tree.
    words : ndarray of uint64
        The bit sets of the set splits, in the order of their nodes.
    values : ndarray of shape (n_leaves, 1) or (n_leaves, n_outputs)
        What each leaf adds to the scores, in the library's own dtype. Weights of trees
        are already multiplied in, rounded as the library rounds.
    targets : ndarray of shape (n_trees,)
        The output that a tree adds to; -1 where its leaves hold all outputs.
    """

    nodes: NDArray[Any]
    roots: NDArray[np.int64]
    words: NDArray[np.uint64]
    values: NDArray[Any]
    targets: NDArray[np.int32]

    def __post_init__(self) -> None:
        for array in (self.nodes, self.roots, self.words, self.values, self.targets):
            array.setflags(write=False)

    @classmethod
    def lay_out(  # noqa: PLR0913
        cls,
        *,
        roots: ArrayLike,
        feature: ArrayLike,
        threshold: ArrayLike,
        left: ArrayLike,
        right: ArrayLike,
        missing_left: ArrayLike,
        leaf: ArrayLike,
        values: ArrayLike,
        targets: ArrayLike,
        subset: ArrayLike | None = None,
        sets: Sequence[NDArray[np.bool_]] = (),
    ) -> Trees:
        """Check trees as a library stores them and bring them into the normal form.

        Nodes may come in any order, and nodes that no root reaches are left out.

        Parameters
        ----------
        roots
            Index of each tree's root.
        feature, threshold, left, right, missing_left, leaf
            One entry per node, children as indices into these same arrays; `feature`
            is -1 for a leaf, and `leaf` then the row of `values`. Entries that have no
            meaning for a node are ignored.
        values, targets
            As in the class.
        subset
            For each node the index of its set in `sets`, -1 for a numeric split.
        sets
            For each set split, which codes of its feature go left.

        Raises
        ------
        MalformedModelError
            If an index is out of range, two nodes share a child, or there is a cycle.
        """
        given = _Given(
            feature=np.asarray(feature, dtype=np.int64),
            left=np.asarray(left, dtype=np.int64),
            right=np.asarray(right, dtype=np.int64),
            roots=np.asarray(roots, dtype=np.int64),
        )
        if max(len(given.feature), given.feature.max(initial=0)) > _MOST:
            raise MalformedModelError(
                f"there are more than {_MOST} nodes, or a node splits on a feature "
                "beyond that number."
            )
        order, sizes = _breadth_first(given)
        # Some libraries keep this very order: then nothing needs to be moved.
        moved = not np.array_equal(order, np.arange(len(given.feature)))
        pick = order if moved else slice(None)
        inner = given.feature[pick] >= 0
        leaves = np.asarray(leaf, dtype=np.int64)[pick][~inner]
        table = np.asarray(values)
        if table.ndim == 1:
            table = table[:, np.newaxis]
        if leaves.size and (leaves.min() < 0 or leaves.max() >= len(table)):
            raise MalformedModelError("a leaf points outside the table of leaf values.")

        nodes = np.zeros(len(order), dtype=NODE)
        nodes["feature"] = np.where(inner, given.feature[pick], -1)
        nodes["left"] = left_children(inner, sizes)
        nodes["right"] = np.where(inner, nodes["left"] + 1, -1)
        nodes["missing_left"] = inner & np.asarray(missing_left, dtype=bool)[pick]
        nodes["leaf"] = np.where(inner, -1, np.cumsum(~inner) - 1)
        nodes["subset"], words = _pack_sets(subset, sets, order, inner)
        numeric = inner & (nodes["subset"] < 0)
        wide = np.asarray(threshold, dtype=np.float64)[pick]
        # Both zeros compare alike; keep one, so that equal trees have equal bytes.
        nodes["threshold"] = np.where(numeric, wide, 0.0) + 0.0
        return cls(
            nodes=nodes,
            roots=starts_of(sizes),
            words=words,
            values=np.ascontiguousarray(table[leaves]),
            targets=np.asarray(targets, dtype=np.int32),
        )

    @classmethod
    def joined(cls, parts: Sequence[Trees]) -> Trees:
        """Return the trees of several ensembles over the same features, in order."""
        nodes = [part.nodes.copy() for part in parts]
        firsts = starts_of([len(part.nodes) for part in parts])
        leaves = starts_of([part.n_leaves for part in parts])
        words = starts_of([len(part.words) for part in parts])
        for own, first, leaf, word in zip(nodes, firsts, leaves, words, strict=True):
            inner = own["feature"] >= 0
            for side in ("left", "right"):
                own[side][inner] += first
            own["leaf"][~inner] += leaf
            own["subset"][own["subset"] >= 0] += word
        roots = zip(parts, firsts, strict=True)
        return cls(
            nodes=np.concatenate(nodes),
            roots=np.concatenate([part.roots + first for part, first in roots]),
            words=np.concatenate([part.words for part in parts]),
            values=np.concatenate([part.values for part in parts]),
            targets=np.concatenate([part.targets for part in parts]),
        )

    def __len__(self) -> int:
        return len(self.roots)

    @property
    def n_leaves(self) -> int:
        """Number of leaves of all trees."""
        return len(self.values)

    def only(self, keep: NDArray[np.bool_]) -> Trees:
        """Return some of the trees, in their order.

        Parameters
        ----------
        keep : ndarray of shape (n_trees,)
            Which trees.
        """
        sizes = np.diff(self.roots, append=len(self.nodes))
        kept = np.repeat(keep, sizes)
        is_leaf = self.nodes["feature"] < 0
        nodes = self.nodes[kept]
        # How many nodes were left out before each that stays.
        shift = np.cumsum(~kept, dtype=np.int32)[kept]
        for side in ("left", "right"):
            nodes[side] -= np.where(nodes["feature"] < 0, 0, shift)
        nodes["leaf"][nodes["feature"] < 0] = np.arange(np.sum(kept & is_leaf))
        # The set of a node ends where that of the next begins.
        owners = np.flatnonzero(self.nodes["subset"] >= 0)
        widths = np.diff(self.nodes["subset"][owners], append=len(self.words))
        stays = kept[owners]
        nodes["subset"][nodes["subset"] >= 0] = starts_of(widths[stays])
        return Trees(
            nodes=nodes,
            roots=starts_of(sizes[keep]),
            words=self.words[np.repeat(stays, widths)],
            values=self.values[kept[is_leaf]],
            targets=self.targets[keep],
        )

    def depths(self) -> NDArray[np.int64]:
        """Return the depth of each tree; a single leaf has depth 0."""
        depth = np.zeros(len(self.nodes), dtype=np.int64)
        level = self.roots[self.nodes["feature"][self.roots] >= 0]
        while level.size:
            children = np.concatenate(
                [self.nodes["left"][level], self.nodes["right"][level]]
            )
            depth[children] = np.tile(depth[level], 2) + 1
            level = children[self.nodes["feature"][children] >= 0]
        return np.maximum.reduceat(depth, self.roots) if len(self) else depth


def left_children(
    inner: NDArray[np.bool_], sizes: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the left child of each node of breadth-first trees, -1 for leaves.

    Before the children of the r-th inner node stand the children of all inner nodes
    before it, and the roots of its own tree and of all trees before.
    """
    rank = np.cumsum(inner) - 1
    tree = np.repeat(np.arange(len(sizes)), sizes)
    return np.where(inner, 2 * rank + tree + 1, -1)


def starts_of(sizes: ArrayLike) -> NDArray[np.int64]:
    """Return where each of several arrays starts when they are joined."""
    counts = np.asarray(sizes, dtype=np.int64)
    return np.cumsum(counts) - counts


def join_children(
    child: ArrayLike, inner: NDArray[np.bool_], sizes: ArrayLike
) -> NDArray[np.int64]:
    """Turn indices of nodes within their trees into indices over all trees.

    Parameters
    ----------
    child
        For each node, the index of a child.
    inner
        Which nodes have children.
    sizes
        Number of nodes of each tree.
    """
    index, counts = np.asarray(child, dtype=np.int64), np.asarray(sizes, np.int64)
    if np.any(inner & ((index < 0) | (index >= np.repeat(counts, counts)))):
        raise MalformedModelError("a node has a child outside its tree.")
    return index + np.repeat(starts_of(counts), counts)


def n_words(n_codes: int) -> int:
    """Return how many words a set over `n_codes` codes takes."""
    return -(-n_codes // _WORD_BITS)


def pack(members: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Return sets, one per row, as bits in words."""
    padded = np.zeros((len(members), _WORD_BITS * n_words(members.shape[1])), bool)
    padded[:, : members.shape[1]] = members
    packed = np.packbits(padded, axis=1, bitorder="little")
    return packed.view("<u8").astype(np.uint64)


def holds(
    words: NDArray[np.uint64], first: NDArray[Any] | int, codes: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Tell which codes are in sets.

    Parameters
    ----------
    words : ndarray of shape (..., n_words)
        Sets as bits, side by side.
    first
        With which word each set begins.
    codes
        For each set the codes that are asked about.

    Examples
    --------
    >>> sets = pack(np.array([[True, False, True], [False, True, False]]))
    >>> holds(sets, 0, np.arange(3)).tolist()
    [[True, False, True], [False, True, False]]
    """
    word, bit = words[..., first + codes // _WORD_BITS], codes % _WORD_BITS
    return np.asarray(word >> bit.astype(np.uint64) & np.uint64(1), dtype=bool)


@dataclass(frozen=True)
class _Given:
    """The structure of trees as a library stores them."""

    feature: NDArray[np.int64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    roots: NDArray[np.int64]


def _breadth_first(
    given: _Given,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Order the reachable nodes by tree, then by depth; return also the trees' sizes.

    All trees advance together, level by level. Each node may be reached once.
    """
    count = len(given.feature)
    _check_range(given.roots, count, "a root")
    seen = np.zeros(count, dtype=bool)
    parent = np.full(count, -1, dtype=np.int64)
    level, tree = given.roots, np.arange(len(given.roots))
    levels, trees = [level], [tree]
    if len(np.unique(level)) != len(level):
        raise MalformedModelError("two trees share their root.")
    seen[level] = True
    while level.size:
        inner = given.feature[level] >= 0
        level, tree = level[inner], tree[inner]
        children = np.stack([given.left[level], given.right[level]], axis=1).ravel()
        _check_range(children, count, "a child")
        tree = np.repeat(tree, 2)
        marks = np.arange(len(children))
        parent[children] = marks
        if seen[children].any() or (parent[children] != marks).any():
            raise MalformedModelError(
                "a node is reached twice: the trees share nodes or have a cycle."
            )
        seen[children] = True
        level = children
        levels.append(level)
        trees.append(tree)
    reached, owner = np.concatenate(levels), np.concatenate(trees)
    order = reached[np.argsort(owner, kind="stable")]
    return order, np.bincount(owner, minlength=len(given.roots))


def _check_range(indices: NDArray[np.int64], count: int, what: str) -> None:
    if indices.size and (indices.min() < 0 or indices.max() >= count):
        wrong = indices[(indices < 0) | (indices >= count)][0]
        raise MalformedModelError(
            f"{what} has index {wrong}, outside the {count} nodes there are."
        )


def _pack_sets(
    subset: ArrayLike | None,
    sets: Sequence[NDArray[np.bool_]],
    order: NDArray[np.int64],
    inner: NDArray[np.bool_],
) -> tuple[NDArray[np.int32], NDArray[np.uint64]]:
    """Return each node's first word, and the words of all sets in node order."""
    first = np.full(len(order), -1, dtype=np.int32)
    if subset is None:
        return first, np.zeros(0, dtype=np.uint64)
    index = np.where(inner, np.asarray(subset, dtype=np.int64)[order], -1)
    nodes = np.flatnonzero(index >= 0)
    chosen = [sets[number] for number in index[nodes].tolist()]
    sizes = np.array([n_words(len(bits)) for bits in chosen], dtype=np.int64)
    starts = starts_of(sizes)
    flat = np.zeros(int(sizes.sum()) * _WORD_BITS, dtype=bool)
    for start, bits in zip((starts * _WORD_BITS).tolist(), chosen, strict=True):
        flat[start : start + len(bits)] = bits
    first[nodes] = starts
    words = np.packbits(flat, bitorder="little").view("<u8").astype(np.uint64)
    return first, words
