"""The arrays of an XGBoost model file, of all its trees together.

JSON gives lists of numbers where UBJSON gives packed arrays; here both become arrays,
and whatever does not fit is refused.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble.trees import starts_of
from fatt.errors import MalformedModelError, UnsupportedModelError
from fatt.importers.xgboost import ubjson
from fatt.importers.xgboost.members import (
    MIXTURE,
    Version,
    check_members,
    refuse_mixture,
)

_DAMAGED = "The file is damaged, or no XGBoost model; save the model again."
_DIGITS = 18
_PARAM = "tree_param."
#: Integers below this are float64 numbers.
_INTEGERS = 2**53
#: The members of all trees: a list for each from JSON, a packed column from UBJSON.
Members = Mapping[str, list[Any] | ubjson.Column]


@dataclass(frozen=True)
class TreeArrays:
    """The trees of a file, one after the other, children counted within each tree."""

    sizes: NDArray[np.int64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    feature: NDArray[np.int64]
    condition: NDArray[np.float32]
    default_left: NDArray[np.bool_]
    is_set: NDArray[np.bool_]
    # The set splits: their nodes counted over all trees, and their categories.
    set_nodes: NDArray[np.int64]
    set_sizes: NDArray[np.int64]
    set_members: NDArray[np.int64]
    # Leaf values where leaves hold one per class: a row per node, else empty.
    vectors: NDArray[np.float32]


def fail(what: str) -> NoReturn:
    """Raise the error for a damaged file."""
    raise MalformedModelError(f"{what}. {_DAMAGED}")


def count(text: str, what: str, most: int) -> int:
    """Read one of the counts, which XGBoost writes as texts."""
    if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
        fail(f"{what!r} is {text[:40]!r}, not a count")
    number = int(text)
    if number > most:
        raise UnsupportedModelError(
            f"{what!r} is {number}, more than the {most} that fatt reads. If the file "
            "is not damaged, train on fewer."
        )
    return number


def members_of(trees: list[Any]) -> Members:
    """Turn the trees of a JSON file into a table, as the UBJSON reader does."""
    members = _columns(trees, "")
    return members | _columns(members.get("tree_param", []), _PARAM)


def _columns(objects: list[Any], prefix: str) -> dict[str, list[Any]]:
    for item in objects:
        if not isinstance(item, dict):
            fail("a tree is no object")
        if item.keys() != objects[0].keys():
            refuse_mixture(item, objects[0])
            fail("a tree has other members than the one before")
    keys = objects[0] if objects else ()
    return {prefix + key: [item[key] for item in objects] for key in keys}


def read_trees(trees: Members, version: Version) -> TreeArrays:
    """Join the arrays of all trees, and check that they have the right lengths.

    Parameters
    ----------
    trees
        The members of the trees.
    version
        The version of XGBoost that wrote them.
    """
    params = [key for key in trees if key.startswith(_PARAM)]
    check_members("a tree", trees.keys() - params, version)
    check_members("tree_param", [key.removeprefix(_PARAM) for key in params], version)
    left, sizes = _column(trees, "left_children", "iu")
    _check_sizes(trees, sizes)
    _check_ids(trees, len(sizes))

    def per_node(key: str, kinds: str) -> NDArray[Any]:
        column, lengths = _column(trees, key, kinds)
        if not np.array_equal(lengths, sizes):
            fail(f"a tree has more or fewer {key!r} than nodes")
        return column

    def flags(key: str) -> NDArray[np.bool_]:
        column = per_node(key, "iub")
        truth = column.astype(bool)
        if (column != truth).any():
            fail(f"{key!r} of a tree holds something else than 0 and 1")
        return truth

    is_set = np.zeros(len(left), dtype=bool)
    if "split_type" in trees:
        is_set = flags("split_type")
    nodes, set_sizes, members = _NO_SETS
    if is_set.any():
        nodes, set_sizes, members = _sets(trees, sizes)
    right = per_node("right_children", "iu")
    return TreeArrays(
        sizes=sizes,
        left=left,
        right=right,
        feature=per_node("split_indices", "iu"),
        condition=singles(per_node("split_conditions", "iuf"), "a split condition"),
        default_left=flags("default_left"),
        is_set=is_set,
        set_nodes=nodes,
        set_sizes=set_sizes,
        set_members=members,
        vectors=_vectors(trees, sizes, left, right),
    )


def _check_sizes(trees: Members, sizes: NDArray[np.int64]) -> None:
    claims = zip(_texts(trees, "num_nodes"), sizes.tolist(), strict=True)
    for text, size in set(claims):
        if size == 0 or count(text, "num_nodes", 2**31) != size:
            fail(f"a tree says it has {text[:40]} nodes, and it has {size}")


def _check_ids(trees: Members, n_trees: int) -> None:
    """Refuse trees whose numbers, by which XGBoost places them, are not in order."""
    ids = _member(trees, "id")
    if isinstance(ids, ubjson.Column):
        ids = [int.from_bytes(raw, "big", signed=True) for raw in ids.payloads]
    if ids != list(range(n_trees)):
        fail("the trees are not numbered in their order")


_NONE = np.zeros(0, dtype=np.int64)
_NO_SETS = (_NONE, _NONE, _NONE)


def _sets(
    trees: Members, sizes: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the nodes of the category sets, the sets' sizes, and their members."""
    node, n_nodes = _column(trees, "categories_nodes", "iu")
    begin, n_begins = _column(trees, "categories_segments", "iu")
    size, n_sizes = _column(trees, "categories_sizes", "iu")
    members, n_members = _column(trees, "categories", "iu")
    if not (np.array_equal(n_nodes, n_begins) and np.array_equal(n_nodes, n_sizes)):
        fail("the category sets of a tree have not as many nodes as segments")
    owner = np.repeat(np.arange(len(sizes)), n_nodes)
    # The sets of a tree follow each other and fill its list of categories.
    if (
        (size <= 0).any()
        or (size > n_members[owner]).any()
        or not np.array_equal(begin + starts_of(n_members)[owner], starts_of(size))
        or size.sum() != len(members)
    ):
        fail("the category sets of a tree do not match its list of categories")
    if (node < 0).any() or (node >= sizes[owner]).any():
        fail("a category set belongs to a node that does not exist")
    return node + starts_of(sizes)[owner], size, members


def _vectors(
    trees: Members,
    sizes: NDArray[np.int64],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
) -> NDArray[np.float32]:
    """Return the leaf vectors, one row per node, if leaves are vectors."""
    widths = {
        count(text, "size_leaf_vector", 2**31)
        for text in set(_texts(trees, "size_leaf_vector"))
    }
    if widths <= {0, 1}:
        return np.zeros((0, 1), dtype=np.float32)
    if len(widths) > 1:
        raise UnsupportedModelError(MIXTURE)
    width = widths.pop()
    if "leaf_weights" not in trees:
        column, lengths = _column(trees, "base_weights", "iuf")
        if not np.array_equal(lengths, sizes * width):
            fail(f"a tree has more or fewer 'base_weights' than {width} per node")
        return singles(column, "a leaf value").reshape(-1, width)
    # Since XGBoost 3.2 only leaves have rows, and the right child numbers them.
    column, lengths = _column(trees, "leaf_weights", "iuf")
    is_leaf = left == -1
    owner = np.repeat(np.arange(len(sizes)), sizes)[is_leaf]
    rows = np.bincount(owner, minlength=len(sizes))
    number = right[is_leaf]
    if not np.array_equal(lengths, rows * width):
        fail(f"a tree has more or fewer 'leaf_weights' than {width} per leaf")
    if (number < 0).any() or (number >= rows[owner]).any():
        fail("a leaf points outside the leaf values of its tree")
    table = singles(column, "a leaf value").reshape(-1, width)
    vectors = np.zeros((len(left), width), dtype=np.float32)
    vectors[is_leaf] = table[starts_of(rows)[owner] + number]
    return vectors


def _member(trees: Members, key: str) -> Any:
    if key not in trees:
        fail(f"the trees have no {key!r}")
    return trees[key]


def _texts(trees: Members, key: str) -> list[str]:
    """Return one of the parameters of each tree."""
    texts = _member(trees, _PARAM + key)
    if isinstance(texts, ubjson.Column) and texts.kind == "text":
        texts = [ubjson.as_text(raw) for raw in texts.payloads]
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        fail(f"{key!r} of a tree is no text")
    return texts


def _column(
    trees: Members, key: str, kinds: str
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Join the arrays that all trees have under a key; return also their lengths."""
    column = _member(trees, key)
    if isinstance(column, list):
        return _join(column, kinds, key)
    if column.kind in ("text", "number"):
        fail(f"{key!r} is not a list of numbers")
    joined = np.frombuffer(b"".join(column.payloads), column.kind)
    lengths = np.array([len(payload) for payload in column.payloads], dtype=np.int64)
    return _checked(joined, kinds, key), lengths // joined.itemsize


def numbers(array: Any, kinds: str, what: str) -> NDArray[Any]:
    """Make an array of a list of numbers or of a packed array.

    Parameters
    ----------
    array
        The list or packed array.
    kinds
        The kinds of numbers wanted, as numpy abbreviates them. Integers become int64.
    what
        What the array holds, for a message.
    """
    return _join([array], kinds, what)[0]


def _join(
    arrays: Sequence[Any], kinds: str, what: str
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    lists = [_list(array, what) for array in arrays]
    lengths = np.array([len(array) for array in lists], dtype=np.int64)
    try:
        column = np.array(list(itertools.chain.from_iterable(lists)))
    except (ValueError, OverflowError):
        fail(f"{what!r} is not a list of numbers")
    if not column.size:
        column = np.zeros(0, dtype=np.int64)
    if column.ndim != 1:
        fail(f"{what!r} is not a list of numbers")
    return _checked(column, kinds, what), lengths


def _list(array: Any, what: str) -> list[Any]:
    if isinstance(array, ubjson.Packed):
        return list(np.frombuffer(array.payload, array.dtype).tolist())
    if not isinstance(array, list):
        fail(f"{what!r} is not a list of numbers")
    return array


def _checked(column: NDArray[Any], kinds: str, what: str) -> NDArray[Any]:
    kind = column.dtype.kind
    if kind not in kinds:
        fail(f"{what!r} holds something else than numbers of its type")
    if kind in "iu":
        # An unsigned number too large becomes negative, and is refused as such.
        return column.astype(np.int64)
    return column.astype(column.dtype.newbyteorder("="))


def singles(column: NDArray[Any], what: str) -> NDArray[np.float32]:
    """Round numbers to float32 as XGBoost does, which reads them as such."""
    if column.dtype == np.float32:
        return column
    wide = column.astype(np.float64)
    with np.errstate(over="ignore"):
        single = wide.astype(np.float32)
    near = single.astype(np.float64)
    # XGBoost writes a text halfway between two float32 only for whole numbers above
    # 2^24, and reads it as the even one, as rounding does here. Another text may have
    # become the half only when it was rounded to float64.
    other = np.nextafter(
        single, np.where(near < wide, np.inf, -np.inf), dtype=np.float32
    )
    half = (near != wide) & (near / 2 + other.astype(np.float64) / 2 == wide)
    half &= (np.abs(wide) >= _INTEGERS) | (wide != np.trunc(wide))
    if half.any():
        value = wide[half][0]
        fail(f"{what} is {value}, which lies halfway between two float32 numbers")
    return single
