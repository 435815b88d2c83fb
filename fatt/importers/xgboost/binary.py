"""XGBoost's old binary model files, which versions up to 3.0 read.

A file is C structures one after the other, in little endian: the learner, the names of
objective and booster, the trees, and attributes. It has neither names of columns nor
categories. It is read as XGBoost 3.0 reads it, the last version that does.
"""

from __future__ import annotations

import re
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.errors import UnsupportedModelError
from fatt.importers.registry import FEATURES, XGBOOST_BINARY
from fatt.importers.xgboost.answers import link_of
from fatt.importers.xgboost.arrays import TreeArrays, fail
from fatt.importers.xgboost.file import (
    LINEAR,
    NEW_NAMES,
    NO_TREES,
    ModelFile,
    best_iteration,
    check_groups,
    even_rounds,
    n_outputs_of,
    saved_by,
)

_MARK = b"binf"
_LEARNER = struct.Struct("<fIiiiIIIi100x")
_FOREST = struct.Struct("<ii152x")
_TREE = struct.Struct("<iiiiII124x")
_LENGTH = struct.Struct("<Q")
_NODE = np.dtype(
    [
        ("parent", "<i4"),
        ("left", "<i4"),
        ("right", "<i4"),
        # The feature, and in the highest bit whether missing values go left.
        ("split", "<u4"),
        ("condition", "<f4"),
    ]
)
#: Four statistics of training for each node.
_STATISTICS = 16
#: Of the split of a node that was pruned away.
_DELETED = 2**32 - 1
_GOES_LEFT = 2**31
_NAME = re.compile(r"[a-z0-9_:-]{1,64}")


def parse(data: bytes) -> ModelFile:
    """Read the bytes of a binary file.

    Raises
    ------
    MalformedModelError
        If the file is damaged.
    UnsupportedModelError
        If it holds something else than trees for one target.
    """
    if data.startswith(b"bs64"):
        raise UnsupportedModelError(
            "the file is XGBoost's binary form written in Base64, which no version of "
            "the last ten years reads. Train the model again."
        )
    if not XGBOOST_BINARY.match(data):
        raise UnsupportedModelError(
            f"the file starts with {data[:8]!r}, which is no XGBoost model: neither "
            "JSON nor UBJSON nor the old binary form. Save the model with "
            "save_model('model.json')."
        )
    try:
        return _parse(_Reader(data))
    except _EndError:
        fail("the binary file ends too early, or a part of it has an impossible size")


def _parse(reader: _Reader) -> ModelFile:
    reader.skip_mark()
    (base, n_features, n_classes, has_attributes, _, major, minor, n_targets, _) = (
        reader.unpack(_LEARNER)
    )
    objective, booster = reader.name(), reader.name()
    if booster == "gblinear":
        raise UnsupportedModelError(LINEAR)
    if booster not in {"gbtree", "dart"} or not objective:
        fail("the names of an objective and of a booster are not where they belong")
    if n_features > FEATURES:
        raise UnsupportedModelError(
            f"the model has {n_features} features, more than the {FEATURES} that fatt "
            "reads. If the file is not damaged, train on fewer."
        )
    if n_classes < 0:
        fail(f"it has {n_classes} classes")
    # The version says nothing before 1.0, the number of targets before 1.6.
    version = (major, minor) if major else ()
    n_outputs = n_outputs_of(n_classes, max(n_targets, 1))
    n_trees, parallel = reader.unpack(_FOREST)
    if not n_trees:
        raise UnsupportedModelError(NO_TREES)
    trees = _trees(reader, n_trees)
    groups = reader.array("<i4", n_trees).astype(np.int64)
    check_groups(groups, n_outputs, n_trees)
    weights = _weights(reader, n_trees) if booster == "dart" else None
    attributes = reader.texts() if has_attributes else {}
    return ModelFile(
        format="binary",
        version=version,
        booster=booster,
        objective=NEW_NAMES.get(objective, objective),
        n_outputs=n_outputs,
        base_score=_base_score(np.float32(base), objective, version),
        feature_names=[],
        feature_types=[],
        n_features=n_features,
        saved_by=saved_by(attributes),
        best_iteration=best_iteration(attributes),
        # Before 1.6 it is the number of roots, of which there is one.
        round_ends=even_rounds(n_trees, max(parallel, 1) * n_outputs),
        groups=groups,
        weights=weights,
        trees=trees,
        categories=[None] * n_features,
    )


def _base_score(
    told: np.float32, objective: str, version: tuple[int, ...]
) -> NDArray[np.float32]:
    """Return the base score as a later version would write it.

    Before 1.0 a file has the margin, and XGBoost makes a prediction of it first.
    """
    if not np.isfinite(told):
        fail(f"the base score is {told}")
    score = np.array([told], dtype=np.float32)
    if version or objective.startswith("multi:"):
        return score
    if objective == "binary:hinge":
        return (score > 0).astype(np.float32)
    return np.asarray(link_of(objective)(score), dtype=np.float32)


def _weights(reader: _Reader, n_trees: int) -> NDArray[np.float32]:
    if reader.length() != n_trees:
        fail(f"the dart has not as many weights as its {n_trees} trees")
    return reader.array("<f4", n_trees).astype(np.float32)


def _trees(reader: _Reader, n_trees: int) -> TreeArrays:
    if n_trees < 0:
        fail(f"there are {n_trees} trees")
    nodes: list[NDArray[Any]] = []
    for _ in range(n_trees):
        n_roots, n_nodes, n_deleted, _, _, width = reader.unpack(_TREE)
        if n_nodes < 1 or n_roots != 1:
            fail(f"a tree has {n_nodes} nodes and {n_roots} roots")
        if width > 1:
            fail("a tree has leaves of several values, which the format cannot hold")
        tree = reader.array(_NODE, n_nodes)
        reader.take(_STATISTICS * n_nodes)
        if (tree["split"][1:] == _DELETED).sum() != n_deleted:
            fail("a tree has more or fewer nodes deleted than it says")
        nodes.append(tree)
    joined = np.concatenate(nodes)
    none = np.zeros(0, dtype=np.int64)
    return TreeArrays(
        sizes=np.array([len(tree) for tree in nodes], dtype=np.int64),
        left=joined["left"].astype(np.int64),
        right=joined["right"].astype(np.int64),
        feature=(joined["split"] % _GOES_LEFT).astype(np.int64),
        condition=joined["condition"].astype(np.float32),
        default_left=joined["split"] >= _GOES_LEFT,
        is_set=np.zeros(len(joined), dtype=bool),
        set_nodes=none,
        set_sizes=none,
        set_members=none,
        vectors=np.zeros((0, 1), dtype=np.float32),
    )


class _EndError(Exception):
    """A part would reach beyond the end of the file."""


class _Reader:
    """Takes one thing after the other out of some bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._place = 0

    def skip_mark(self) -> None:
        if self._data.startswith(_MARK):
            self._place = len(_MARK)

    def take(self, size: int) -> bytes:
        end = self._place + size
        if end > len(self._data):
            raise _EndError
        taken = self._data[self._place : end]
        self._place = end
        return taken

    def unpack(self, layout: struct.Struct) -> tuple[Any, ...]:
        return layout.unpack(self.take(layout.size))

    def array(self, dtype: Any, count: int) -> NDArray[Any]:
        size = np.dtype(dtype).itemsize
        return np.frombuffer(self.take(size * count), dtype=dtype)

    def length(self) -> int:
        return int(self.unpack(_LENGTH)[0])

    def name(self) -> str:
        """Read a short text of plain letters; an empty one if there is none."""
        text = self.text()
        return text if _NAME.fullmatch(text) else ""

    def texts(self) -> dict[str, str]:
        """Read pairs of texts."""
        count = self.length()
        # A pair has at least two lengths.
        if count * 2 * _LENGTH.size > len(self._data):
            raise _EndError
        return {self.text(): self.text() for _ in range(count)}

    def text(self) -> str:
        """Read a text of any length."""
        return self.take(self.length()).decode(errors="replace")
