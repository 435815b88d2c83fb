"""What a CatBoost file says."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fatt.errors import UnsupportedModelError
from fatt.importers.catboost.flatbuffers import fail

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class NumberColumn:
    """A column of numbers: its place in the table, its name and its borders.

    `nan_right` says whether NaN counts as greater than every border.
    """

    index: int
    place: int
    name: str
    borders: NDArray[np.float32]
    nan_right: bool


@dataclass(frozen=True)
class CategoryColumn:
    """A column of categories: its number among those, its place and its name."""

    index: int
    place: int
    name: str


class Projection(NamedTuple):
    """What a statistic is kept by: categories, and answers to other splits."""

    categories: tuple[int, ...]
    n_others: int


@dataclass(frozen=True)
class CtrTable:
    """What was counted of each category in the training data.

    Attributes
    ----------
    keys
        The hash of each category, or combination of them; `rows` says its row.
    rows
        See above.
    counts : ndarray of shape (n_rows, n_classes), or None
        How often each class of the target occurs; one column for counters.
    sums : ndarray of shape (n_rows,), or None
        The sums of the target, for means; `counts` then has one column.
    denominator
        What counts of a counter are divided by.
    """

    keys: NDArray[np.uint64]
    rows: Ints
    counts: Ints
    sums: NDArray[np.float32] | None
    denominator: int


@dataclass(frozen=True)
class Ctr:
    """A statistic of the target by category, which trees compare with borders."""

    kind: str
    projection: Projection
    target: int
    prior: tuple[float, float]
    shift: float
    scale: float
    borders: NDArray[np.float32]
    table: CtrTable


@dataclass(frozen=True)
class Nodes:
    """Trees as arrays over all nodes; `split` is -1 for a leaf, whose values `leaf` is.

    A row goes to the right if the answer to the split is yes.
    """

    split: Ints
    left: Ints
    right: Ints
    leaf: Ints
    roots: Ints


@dataclass(frozen=True)
class ModelFile:
    """A CatBoost model.

    Attributes
    ----------
    info
        What it says about itself: texts by name, some of which are JSON.
    numbers, categories
        Its columns.
    one_hot
        For some columns of categories, the fingerprints that splits ask for.
    ctrs
        Its statistics. Splits are numbered: first the borders of all numbers, then the
        fingerprints, then the borders of the statistics.
    nodes, values
        Its trees, and a row of numbers for each leaf.
    scale, bias
        The sum is multiplied by the one, and the other is added.
    texts
        Texts that may be behind the fingerprints.
    """

    info: dict[str, str]
    numbers: Sequence[NumberColumn]
    categories: Sequence[CategoryColumn]
    one_hot: Sequence[tuple[int, Ints]]
    ctrs: Sequence[Ctr]
    nodes: Nodes
    values: Floats
    scale: float
    bias: tuple[float, ...]
    texts: tuple[str, ...] = field(default=())

    @property
    def n_outputs(self) -> int:
        """How many scores there are."""
        return len(self.bias)

    @property
    def version(self) -> str:
        """The version that trained the model; empty if it does not say."""
        told = str(self.info.get("catboost_version_info", ""))
        found = re.search(r"(?:tags/v|release )(\d+(?:\.\d+)+)", told)
        return found[1] if found else ""

    @property
    def loss(self) -> str:
        """The name of what was optimised; empty if it does not say."""
        loss = self.said("params").get("loss_function")
        if loss is None:
            loss = self.said("loss_function")
        name = loss.get("type", "") if isinstance(loss, dict) else loss
        return str(name).partition(":")[0]

    def said(self, key: str) -> dict[str, Any]:
        """Return what is written under a key, which is JSON; empty if nothing is."""
        try:
            told = json.loads(self.info.get(key, "{}"))
        except (ValueError, RecursionError):
            raise fail(f"its {key} cannot be read") from None
        return told if isinstance(told, dict) else {"type": told}


def refuse_columns(kind: str) -> UnsupportedModelError:
    """Return the refusal of columns whose preparation is not a table of categories."""
    return UnsupportedModelError(
        f"the CatBoost model reads {kind}, of which it computes numbers in ways that "
        "fatt does not follow. Train it without them, or with numbers computed before."
    )


def symmetric_nodes(splits: Sequence[Ints]) -> Nodes:
    """Return trees all of whose nodes of one level ask the same.

    Parameters
    ----------
    splits
        For each tree, the split of each level. The answer on level ``k`` is bit ``k``
        of the number of the leaf.
    """
    parts: dict[str, list[Ints]] = {name: [] for name in ("split", "left", "right")}
    leaves: list[Ints] = []
    roots: list[int] = []
    n_nodes = n_leaves = 0
    for asked in splits:
        depth = len(asked)
        inner = 2**depth - 1
        place = np.arange(2 * inner + 1, dtype=np.int64)
        level = np.log2(place + 1).astype(np.int64) if depth else np.zeros(1, int)
        is_leaf = place >= inner
        first = 2**level - 1
        # The next level has a node for each answer: no, then yes.
        left = n_nodes + 2 ** (level + 1) - 1 + (place - first)
        parts["split"].append(
            np.where(is_leaf, -1, np.append(asked, -1)[np.minimum(level, depth)])
        )
        parts["left"].append(np.where(is_leaf, -1, left))
        parts["right"].append(np.where(is_leaf, -1, left + 2**level))
        leaves.append(np.where(is_leaf, n_leaves + place - inner, -1))
        roots.append(n_nodes)
        n_nodes, n_leaves = n_nodes + len(place), n_leaves + inner + 1
    joined = {name: joined_ints(arrays) for name, arrays in parts.items()}
    return Nodes(**joined, leaf=joined_ints(leaves), roots=np.array(roots, np.int64))


def joined_ints(arrays: Sequence[Any]) -> Ints:
    """Return whole numbers one after the other; there may be none."""
    return np.concatenate([np.zeros(0, dtype=np.int64), *arrays]).astype(np.int64)
