"""The trees of an ONNX operator: their checks, and their comparisons as splits."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Feature, Numeric, Trees
from fatt.ensemble.floats import at_most_float32, below_float32
from fatt.errors import MalformedModelError, UnsupportedModelError

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

LEQ, LT, GTE, GT, EQ, NEQ, MEMBER, LEAF = range(8)
_TARGET_LIMIT = 2**16

#: How many cells the set splits of one model may have together.
_CELL_LIMIT = 2**26


@dataclass(frozen=True)
class Forest:
    """What a tree operator says, with children as indices over all nodes.

    Attributes
    ----------
    roots
        The root of each tree.
    mode, feature, value, true, false, tracks
        One entry per node: kind of node, column, number to compare with, the two
        children, and whether a missing value goes to the true child. Only `mode` has a
        meaning for leaves.
    members
        The values of the set of each node of the kind `MEMBER`, a folded chain.
    weights
        Node, target and number of each weight, as three arrays.
    n_targets
        Number of scores.
    base
        Numbers that join the sums; empty if there are none.
    double
        Whether numbers are compared and added in float64.
    """

    roots: Integers
    mode: Integers
    feature: Integers
    value: Floats
    true: Integers
    false: Integers
    tracks: NDArray[np.bool_]
    members: dict[int, Floats]
    weights: tuple[Integers, Integers, Floats]
    n_targets: int
    base: Floats
    double: bool

    @functools.cached_property
    def tree(self) -> Integers:
        """The tree of each node, each reached at most once; -1 if by no root."""
        tree = np.full(len(self.mode), -1, dtype=np.int64)
        level, owner = self.roots, np.arange(self.n_trees)
        while level.size:
            if (tree[level] >= 0).any() or len(np.unique(level)) != len(level):
                raise MalformedModelError(
                    "a node is reached twice: the trees share nodes or have a cycle."
                )
            tree[level] = owner
            inner = self.mode[level] != LEAF
            level, owner = level[inner], np.tile(owner[inner], 2)
            level = np.concatenate([self.true[level], self.false[level]])
        return tree

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.roots)

    @property
    def dtype(self) -> Any:
        """The type in which numbers are compared and scores added."""
        return np.float64 if self.double else np.float32

    def always_weighted(self) -> Integers:
        """Return the targets for which every row meets some leaf with a weight."""
        node, target, _ = self.weights
        leaves = np.bincount(self.tree[(self.mode == LEAF) & (self.tree >= 0)])
        pairs = self.tree[node] * self.n_targets + target
        found, counts = np.unique(pairs[self.tree[node] >= 0], return_counts=True)
        # A leaf has at most one weight for a target.
        full = counts == leaves[found // self.n_targets]
        return np.unique(found[full] % self.n_targets)

    def never_bare(self) -> bool:
        """Tell whether every row falls into some leaf with a weight."""
        bare = (self.mode == LEAF) & (self.tree >= 0)
        bare[self.weights[0]] = False
        return len(np.unique(self.tree[bare])) < self.n_trees

    def only_target(self, target: int) -> Forest:
        """Return the forest with one score, that of the target."""
        node, of, weight = self.weights
        mine = of == target
        weights = node[mine], np.zeros(int(mine.sum()), dtype=np.int64), weight[mine]
        return replace(self, weights=weights, n_targets=1)


def join(forests: list[Forest]) -> Forest:
    """Put the trees of several forests one after the other."""
    sizes = [len(forest.mode) for forest in forests]
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).tolist()
    pairs = list(zip(forests, starts, strict=True))
    return replace(
        forests[0],
        roots=np.concatenate([f.roots + s for f, s in pairs]),
        mode=np.concatenate([f.mode for f in forests]),
        feature=np.concatenate([f.feature for f in forests]),
        value=np.concatenate([f.value for f in forests]),
        true=np.concatenate([f.true + s for f, s in pairs]),
        false=np.concatenate([f.false + s for f, s in pairs]),
        tracks=np.concatenate([f.tracks for f in forests]),
        members={node + s: m for f, s in pairs for node, m in f.members.items()},
        weights=(
            np.concatenate([f.weights[0] + s for f, s in pairs]),
            np.concatenate([f.weights[1] for f in forests]),
            np.concatenate([f.weights[2] for f in forests]),
        ),
    )


def checked(forest: Forest) -> Forest:
    """Return the forest if its trees are sound and can be represented.

    Raises
    ------
    MalformedModelError
        If the trees share nodes, have a cycle, or point to nothing.
    UnsupportedModelError
        If onnxruntime computes something else than the trees say.
    """
    if np.isnan(forest.value[forest.mode != LEAF]).any():
        raise MalformedModelError("a threshold is not a number.")
    forest = _fold_chains(forest)
    _ = forest.tree  # raises if the trees are no trees
    _refuse_lookalikes(forest)
    inner = forest.mode != LEAF
    node, target, weight = forest.weights
    if not forest.n_trees:
        raise MalformedModelError("there are no trees.")
    if not 0 < forest.n_targets <= _TARGET_LIMIT:
        raise UnsupportedModelError(
            f"it has {forest.n_targets} targets; 1 to {_TARGET_LIMIT} are supported."
        )
    in_range(target, forest.n_targets)
    if inner[node].any():
        raise MalformedModelError("a weight belongs to a node with a split.")
    pairs = np.stack([node, target], axis=1)
    if len(np.unique(pairs, axis=0)) != len(pairs):
        raise UnsupportedModelError(
            "a leaf has two weights for the same target. Add them up."
        )
    if not np.isfinite(np.concatenate([weight, forest.base])).all():
        raise MalformedModelError("a weight is not a finite number.")
    return forest


def in_range(indices: Integers, count: int) -> None:
    """Refuse indices that point nowhere."""
    if indices.size and (indices.min() < 0 or indices.max() >= count):
        wrong = indices[(indices < 0) | (indices >= count)][0]
        raise MalformedModelError(
            f"the index {wrong} is outside the {count} entries there are."
        )


def _fold_chains(forest: Forest) -> Forest:
    """Make one set split of a chain of equalities with the same outcome.

    Converters write "x in {1, 4, 7}" as "x == 1, else x == 4, else x == 7", with one
    and the same node where all of them lead.
    """
    mode, false = forest.mode, forest.false.copy()
    follows = np.where(mode == EQ, forest.false, -1)
    linked = (
        (mode == EQ)
        & (mode[follows] == EQ)
        & (forest.feature[follows] == forest.feature)
        & (forest.true[follows] == forest.true)
    )
    if not linked.any():
        return forest
    heads = linked.copy()
    heads[follows[linked]] = False
    members, folded = {}, mode.copy()
    steps = 0
    for head in np.flatnonzero(heads).tolist():
        node, values = head, [forest.value[head]]
        while linked[node]:
            node = int(follows[node])
            values.append(forest.value[node])
            folded[node] = -1
            steps += 1
            if forest.tracks[node] != forest.tracks[head]:
                raise UnsupportedModelError(
                    "a chain of equalities treats missing values in "
                    "two ways, of which onnxruntime forgets one."
                )
            if steps > len(mode):
                raise MalformedModelError("trees share nodes.")
        folded[head], false[head] = MEMBER, forest.false[node]
        members[head] = np.unique(values)
    # Nodes that became part of another one are no nodes any more.
    kept = folded >= 0
    place = np.cumsum(kept) - 1
    owner, target, weight = forest.weights
    return replace(
        forest,
        roots=place[forest.roots],
        mode=folded[kept],
        feature=forest.feature[kept],
        value=forest.value[kept],
        true=place[forest.true[kept]],
        false=place[false[kept]],
        tracks=forest.tracks[kept],
        members={int(place[head]): values for head, values in members.items()},
        weights=(place[owner], target, weight),
    )


def _refuse_lookalikes(forest: Forest) -> None:
    """Refuse chains of equalities that onnxruntime would fold wrongly.

    It takes two of them for one set split if what they lead to looks alike, and does
    not look at everything: not at all weights of a leaf, nor deep into a subtree, nor
    where the second sends missing values.
    """
    equal = np.isin(forest.mode, (EQ, MEMBER))
    first = np.flatnonzero(equal & equal[forest.false])
    second = forest.false[first]
    same = forest.feature[first] == forest.feature[second]
    weights: dict[int, dict[int, float]] = {}
    for node, target, weight in zip(*forest.weights, strict=True):
        weights.setdefault(int(node), {})[int(target)] = float(weight)
    for one, other in zip(first[same].tolist(), second[same].tolist(), strict=True):
        ends = int(forest.true[one]), int(forest.true[other])
        a, b = (forest.mode[end] for end in ends)
        if a != b:
            continue
        if a == LEAF:
            left, right = (weights.get(end, {}) for end in ends)
            apart = left and right and not {*left.values()} & {*right.values()}
            alike = left == right and forest.tracks[one] == forest.tracks[other]
            if apart or alike:
                continue
        elif any(f[ends[0]] != f[ends[1]] for f in (forest.feature, forest.value)):
            continue
        raise UnsupportedModelError(
            "two equalities on the same column follow each other and "
            "lead to nodes that look alike, which onnxruntime mistakes for one. Merge "
            "them into one set."
        )


def lay_out(
    forest: Forest,
    features: tuple[Feature, ...],
    *,
    raw: bool,
    values: Floats,
    targets: Integers,
) -> tuple[tuple[Feature, ...], Trees]:
    """Bring a forest into the normal form.

    Parameters
    ----------
    forest
        The forest.
    features
        The columns that it reads.
    raw
        Whether the columns are cast to the forest's own type on the way; if not,
        they have values of that type already.
    values
        What each node adds to the scores if it is a leaf.
    targets
        As in `Trees`.

    Returns
    -------
    features
        The columns, with the edges that set splits need.
    trees
        The trees.
    """
    single = raw and not forest.double
    strict = np.isin(forest.mode, (LT, GTE))
    threshold = np.where(strict, _below(forest.value, single), forest.value)
    if single:
        threshold = np.where(strict, threshold, at_most_float32(forest.value))
    # Nothing is below minus infinity: such a split sends everything the other way.
    never = strict & np.isneginf(forest.value)
    threshold[never] = np.inf
    swapped = np.isin(forest.mode, (GTE, GT)) ^ never
    is_set = np.isin(forest.mode, (EQ, NEQ, MEMBER))
    # A missing value differs from every number.
    missing_true = forest.tracks | (forest.mode == NEQ)
    edged, subset, sets = _sets(forest, features, np.flatnonzero(is_set), single)
    return edged, Trees.lay_out(
        roots=forest.roots,
        feature=np.where(forest.mode == LEAF, -1, forest.feature),
        threshold=threshold,
        left=np.where(swapped, forest.false, forest.true),
        right=np.where(swapped, forest.true, forest.false),
        missing_left=missing_true ^ swapped,
        leaf=np.arange(len(forest.mode)),
        values=values.astype(forest.dtype),
        targets=targets,
        subset=subset,
        sets=sets,
    )


def leaf_table(forest: Forest) -> tuple[Floats, Integers]:
    """Return what each node adds if it is a leaf, and the targets of the trees.

    One column if each tree adds to one target only, else one column per target.
    """
    node, target, weight = forest.weights
    targets = np.zeros(forest.n_trees, dtype=np.int64)
    reached = forest.tree[node] >= 0
    node, target, weight = node[reached], target[reached], weight[reached]
    targets[forest.tree[node]] = target
    if np.array_equal(targets[forest.tree[node]], target):
        column = np.zeros((len(forest.mode), 1))
        column[node, 0] = weight
        return column, targets
    return dense_table(forest), np.full(forest.n_trees, -1)


def dense_table(forest: Forest) -> Floats:
    """Return the weights as a table with a row per node and a column per target."""
    node, target, weight = forest.weights
    if len(forest.mode) * forest.n_targets > 2**22 + 64 * len(node):
        raise UnsupportedModelError(
            f"{len(forest.mode)} nodes with {forest.n_targets} scores "
            "each are more than can be represented."
        )
    table = np.zeros((len(forest.mode), forest.n_targets))
    table[node, target] = weight
    return table


def _below(limits: Floats, single: bool) -> Floats:
    """Return the largest number that, cast if `single`, is below each limit."""
    if single:
        return below_float32(limits)
    return np.nextafter(limits, -np.inf)


def _sets(
    forest: Forest, features: tuple[Feature, ...], nodes: Integers, single: bool
) -> tuple[tuple[Feature, ...], Integers, list[NDArray[np.bool_]]]:
    """Cut the lines of the features where equalities hold; return cells that hold.

    The number ``v`` is the cell between the largest number below it and itself.
    """
    subset = np.full(len(forest.mode), -1, dtype=np.int64)
    subset[nodes] = np.arange(len(nodes))
    sets: list[NDArray[np.bool_]] = [np.zeros(0, dtype=bool)] * len(nodes)
    edged = list(features)
    room = _CELL_LIMIT
    for index in np.unique(forest.feature[nodes]).tolist():
        mine = nodes[forest.feature[nodes] == index].tolist()
        asked = [forest.members.get(node, forest.value[[node]]) for node in mine]
        values = np.unique(np.concatenate(asked))
        if np.isneginf(values[0]):
            raise UnsupportedModelError(
                "a node asks whether a number is minus infinity."
            )
        tops = at_most_float32(values) if single else values
        edges = np.unique(np.concatenate([_below(values, single), tops]))
        edges = edges[np.isfinite(edges)]
        room -= len(mine) * (len(edges) + 1)
        if room < 0:
            raise UnsupportedModelError(
                f"the equalities on column {features[index].name!r} "
                "are too many to be represented."
            )
        feature = features[index]
        assert isinstance(feature, Numeric)
        edged[index] = msgspec.structs.replace(feature, edges=tuple(edges.tolist()))
        for node, members in zip(mine, asked, strict=True):
            holds = np.zeros(len(edges) + 1, dtype=bool)
            ends = at_most_float32(members) if single else members
            holds[np.searchsorted(edges, ends)] = True
            sets[subset[node]] = holds ^ (forest.mode[node] == NEQ)
    return tuple(edged), subset, sets
