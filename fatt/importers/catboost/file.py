"""CatBoost's ``.cbm`` files: what they say, and how it is read."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble.trees import starts_of
from fatt.errors import UnsupportedModelError
from fatt.importers.catboost.flatbuffers import Buffer, Table, fail

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


MAGIC = b"CBM1"

_FORMAT = "FlabuffersModel_v1"
_TABLES = "static_provider_v1"
_PARTS = {"text_process": "texts", "embed_process": "embeddings"}
_KINDS = (
    "Borders",
    "Buckets",
    "BinarizedTargetMeanValue",
    "FloatTargetMeanValue",
    "Counter",
    "FeatureFreq",
)
_BUCKET = np.dtype([("key", "<u8"), ("row", "<u4")])
_MEAN = np.dtype([("sum", "<f4"), ("count", "<i4")])
_STEP = np.dtype([("left", "<u2"), ("right", "<u2")])
_BIN = np.dtype([("bucket", "<u2"), ("mask", "u1"), ("at", "u1")])
#: So many borders of a column have a byte of their own while CatBoost predicts.
_PER_BUCKET = 254
_EMPTY = 2**64 - 1
_NO_LEAF = 2**32 - 1
_DEEPEST = 24


def parse(data: bytes) -> ModelFile:
    """Read the bytes of a ``.cbm`` file.

    Raises
    ------
    MalformedModelError
        If they are damaged.
    UnsupportedModelError
        If the model needs what fatt does not know.
    """
    core, rest = _sized(data, len(MAGIC))
    model = Buffer(core).root("model", 4)
    if model.text(0) != _FORMAT:
        raise UnsupportedModelError(
            f"the CatBoost file has the format {model.text(0)[:40]!r}, and fatt knows "
            f"{_FORMAT}. Save the model with a tested version of catboost."
        )
    trees = model.table(1, "trees", 19)
    for place, kind in ((12, "texts"), (18, "embeddings"), (13, "texts")):
        if trees.tables(place, kind, 6):
            raise refuse_columns(kind)
    tables = _read_parts(data, rest, model.texts(3))
    numbers = [_number(column) for column in trees.tables(5, "columns", 6)]
    categories = [
        CategoryColumn(
            column.number(0, "i", -1), column.number(1, "i", -1), column.text(2)
        )
        for column in trees.tables(4, "categories", 4)
    ]
    one_hot, texts = [], []
    for column in trees.tables(6, "one-hot columns", 3):
        values = column.array(1, "<i4").astype(np.int64) % 2**32
        one_hot.append((column.number(0, "i", -1), values))
        texts += column.texts(2)
    ctrs = [_ctr(feature, tables) for feature in trees.tables(7, "statistics", 2)]
    n_outputs = trees.number(0, "i", 0)
    nodes, values = _read_trees(trees, n_outputs)
    _check_bins(trees, [c.borders for c in numbers], one_hot, ctrs)
    bias = trees.array(16, "<f8").tolist() or [trees.number(15, "d", 0.0)] * n_outputs
    return ModelFile(
        info={pair.text(0): pair.text(1) for pair in model.tables(2, "description", 2)},
        numbers=numbers,
        categories=categories,
        one_hot=one_hot,
        ctrs=ctrs,
        nodes=nodes,
        values=values,
        scale=trees.number(14, "d", 1.0),
        bias=tuple(bias),
        texts=tuple(texts),
    )


def _sized(data: bytes, at: int) -> tuple[bytes, int]:
    """Return the bytes whose number stands before them, and where they end."""
    size, start = int.from_bytes(data[at : at + 4], "little"), at + 4
    if size == 2**32 - 1:
        size, start = int.from_bytes(data[start : start + 8], "little"), start + 8
    if start + size > len(data):
        raise fail("it ends too early")
    return data[start : start + size], start + size


def _number(column: Table) -> NumberColumn:
    treatment = column.number(5, "b", 0)
    if treatment not in {0, 1, 2}:
        raise fail("a column has an unknown way with NaN")
    return NumberColumn(
        column.number(1, "i", -1),
        column.number(2, "i", -1),
        column.text(4),
        column.array(3, "<f4"),
        bool(column.number(0, "?", False)) and treatment == 2,
    )


def _read_parts(data: bytes, at: int, names: list[str]) -> dict[Any, CtrTable]:
    """Read what follows the trees: the tables of the statistics."""
    tables: dict[Any, CtrTable] = {}
    for name in names:
        if name != _TABLES:
            kind = next((kind for part, kind in _PARTS.items() if part in name), None)
            if kind is not None:
                raise refuse_columns(kind)
            raise UnsupportedModelError(
                f"the CatBoost file has a part {name[:40]!r}, which fatt does not "
                "know. Save the model with a tested version of catboost."
            )
        count, at = int.from_bytes(data[at : at + 4], "little"), at + 4
        for _ in range(count):
            content, at = _sized(data, at)
            table = Buffer(content).root("table of a statistic", 5)
            base = _base(table.table(0, "statistic", 3))
            if base in tables:
                raise fail("two tables belong to one statistic")
            tables[base] = _ctr_table(table, base[1])
    if at != len(data):
        raise fail(f"{len(data) - at} bytes follow its end")
    return tables


def _base(table: Table) -> tuple[Any, str, int]:
    """Return what a statistic is kept by, its kind, and the number of its target."""
    kind = table.number(1, "b", 0)
    if not 0 <= kind < len(_KINDS):
        raise UnsupportedModelError(
            f"the CatBoost file has a statistic of the unknown kind {kind}. Save the "
            "model with a tested version of catboost."
        )
    combination = table.table(0, "statistic", 3)
    parts = tuple(
        combination.array(field, form).tobytes()
        for field, form in ((0, "<i4"), (1, "<i4,<f4"), (2, "<i4,<i4"))
    )
    return parts, _KINDS[kind], table.number(2, "i", 0)


def _ctr(feature: Table, tables: dict[Any, CtrTable]) -> Ctr:
    ctr = feature.table(0, "statistic", 6)
    parts, kind, number = _base(ctr.table(0, "statistic", 3))
    if (parts, kind, number) not in tables:
        raise UnsupportedModelError(
            "the CatBoost model has a statistic without its table, as with "
            "final_ctr_computation_mode='Skip', and CatBoost itself cannot predict "
            "with it. Train it with final_ctr_computation_mode='Default'."
        )
    categories = tuple(np.frombuffer(parts[0], "<i4").tolist())
    return Ctr(
        kind=kind,
        projection=Projection(categories, (len(parts[1]) + len(parts[2])) // 8),
        target=ctr.number(1, "i", 0),
        prior=(ctr.number(2, "f", 0.0), ctr.number(3, "f", 1.0)),
        shift=ctr.number(4, "f", 0.0),
        scale=ctr.number(5, "f", 1.0),
        borders=feature.array(1, "<f4"),
        table=tables[parts, kind, number],
    )


def _ctr_table(table: Table, kind: str) -> CtrTable:
    buckets = _records(table, 1, _BUCKET)
    keys, rows = _found(buckets["key"], buckets["row"].astype(np.int64))
    n_classes = table.number(4, "i", 0)
    sums = None
    if kind.endswith("MeanValue"):
        means = _records(table, 2, _MEAN)
        sums, counts = means["sum"], means["count"][:, np.newaxis]
    else:
        width = n_classes if kind in {"Borders", "Buckets"} else 1
        flat = _records(table, 2, np.dtype("<i4"))
        if width < 1 or len(flat) % width:
            raise fail("the table of a statistic has a broken row")
        counts = flat.reshape(-1, width)
    if len(rows) and rows.max() >= len(counts):
        raise fail("the table of a statistic has too few rows")
    return CtrTable(
        keys=keys,
        rows=rows,
        counts=counts.astype(np.int64),
        sums=sums,
        denominator=table.number(3, "i", 0),
    )


def _records(table: Table, field: int, kind: np.dtype[Any]) -> Any:
    data = table.array(field, "u1").tobytes()
    if len(data) % kind.itemsize:
        raise fail("the table of a statistic has a broken entry")
    return np.frombuffer(data, kind)


def _found(keys: Any, rows: Ints) -> tuple[Any, Ints]:
    """Return the entries of an open hash table, of which each must be found.

    A key is looked for from its own place on, up to the first empty one.
    """
    size = len(keys)
    if size & (size - 1):
        raise fail("a hash table has a size that is no power of 2")
    full = keys != np.uint64(_EMPTY)
    places = np.flatnonzero(full)
    if len(np.unique(keys[places])) != len(places):
        raise fail("a hash table has a key twice")
    if len(places) == size and size:
        raise fail("a hash table has no empty place")
    # How many full places stand in a row before each place, around the corner too.
    run, runs = 0, np.zeros(size, dtype=np.int64)
    for _ in range(2):
        for place, is_full in enumerate(full.tolist()):
            runs[place] = run
            run = run + 1 if is_full else 0
    home = (keys[places] & np.uint64(max(size - 1, 0))).astype(np.int64)
    if np.any((places - home) % max(size, 1) > runs[places]):
        raise fail("a hash table has a key that nobody finds")
    return keys[places], rows[places]


def _read_trees(trees: Table, n_outputs: int) -> tuple[Nodes, Any]:
    splits = trees.array(1, "<i4").astype(np.int64)
    sizes = trees.array(2, "<i4").astype(np.int64)
    starts = trees.array(3, "<i4").astype(np.int64)
    values = trees.array(8, "<f8")
    steps = trees.array(10, _STEP)
    if n_outputs < 1 or len(values) % n_outputs:
        raise fail("its leaves do not have as many numbers as it has outputs")
    if (sizes < 0).any() or not np.array_equal(starts, starts_of(sizes)):
        raise fail("its trees do not follow each other")
    if sizes.sum() != len(splits):
        raise fail("its trees have another number of splits than there are")
    table = values.reshape(-1, n_outputs)
    if not len(steps):
        if sizes.max(initial=0) > _DEEPEST or (2**sizes).sum() != len(table):
            raise fail("its trees have another number of leaves than there are")
        return symmetric_nodes(np.split(splits, starts[1:])), table
    leaves = trees.array(11, "<u4").astype(np.int64)
    if not len(steps) == len(leaves) == len(splits) or (sizes == 0).any():
        raise fail("its trees have another number of nodes than there are")
    return _step_nodes(splits, steps, leaves, starts, n_outputs), table


def _step_nodes(
    splits: Ints, steps: Any, leaves: Ints, starts: Ints, n_outputs: int
) -> Nodes:
    """Return trees whose nodes hold the way to their children.

    A child that stands nowhere is a leaf, whose values its parent holds.
    """
    place = np.arange(len(splits))
    inner = (steps["left"] > 0) | (steps["right"] > 0)
    n_nodes = len(splits)
    children, rows = [], [np.where(inner, -1, leaves)]
    for side in ("left", "right"):
        absent = np.flatnonzero(inner & (steps[side] == 0))
        child = place + steps[side]
        child[absent] = n_nodes + np.arange(len(absent))
        children.append(np.where(inner, child, -1))
        rows.append(leaves[absent])
        n_nodes += len(absent)
    leaf = joined_ints(rows)
    is_leaf = leaf >= 0
    if (leaf[is_leaf] == _NO_LEAF).any() or (leaf[is_leaf] % n_outputs).any():
        raise fail("a leaf has no values")
    rest = np.full(n_nodes - len(splits), -1)
    return Nodes(
        split=joined_ints([np.where(inner, splits, -1), rest]),
        left=joined_ints([children[0], rest]),
        right=joined_ints([children[1], rest]),
        leaf=np.where(is_leaf, leaf // n_outputs, -1),
        roots=starts,
    )


def _check_bins(
    trees: Table, borders: list[Any], one_hot: list[Any], ctrs: list[Ctr]
) -> None:
    """Check that there are such splits, and that their second form is the same.

    By the second form CatBoost predicts. Nodes that ask nothing have a split as well,
    with which CatBoost ends the process if there is none of its number.
    """
    bins, bucket = [], 0
    groups = [(part, False) for part in borders]
    groups += [(values, True) for _, values in one_hot]
    groups += [(ctr.borders, False) for ctr in ctrs]
    for part, is_one_hot in groups:
        number = np.arange(len(part))
        made = np.zeros(len(part), dtype=_BIN)
        made["bucket"] = bucket + number // _PER_BUCKET
        made["at"] = 255 if is_one_hot else number % _PER_BUCKET + 1
        if is_one_hot:
            made["mask"] = 255 - (number % _PER_BUCKET + 1)
        bins.append(made)
        bucket += -(-len(part) // _PER_BUCKET)
    expected = np.concatenate([np.zeros(0, dtype=_BIN), *bins])
    splits, steps = trees.array(1, "<i4"), trees.array(10, _STEP)
    if ((splits < 0) | (splits >= max(1, len(expected)))).any():
        raise fail("a split is none of those that there are")
    asked = np.ones(len(splits), dtype=bool)
    if len(steps) == len(splits):
        asked = (steps["left"] > 0) | (steps["right"] > 0)
    found = trees.array(17, _BIN)
    if trees.has(17) and (
        len(found) != len(splits)
        or not len(expected) > splits[asked].max(initial=-1)
        or not np.array_equal(found[asked], expected[splits[asked]])
    ):
        raise fail("its splits and their second form differ")
