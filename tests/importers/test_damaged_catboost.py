"""CatBoost files that contradict themselves: each is refused by its own sentence."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fatt
from fatt.errors import MalformedModelError, ModelError, UnsupportedModelError
from fatt.importers import catboost as importer
from fatt.importers import registry
from fatt.importers.catboost import file as cbm
from fatt.importers.catboost import normal_form
from fatt.importers.catboost.flatbuffers import Buffer, Table
from fatt.importers.catboost.live import written

catboost = pytest.importorskip("catboost")

MODELS = Path(__file__).parents[1] / "data" / "models"
SYMMETRIC = MODELS / "catboost-1.2.10-symmetric.cbm"
DEPTHWISE = MODELS / "catboost-1.2.10-depthwise-multi.cbm"


@pytest.fixture(scope="module")
def model() -> Any:
    """A model with one-hot columns, statistics of single columns, and gaps."""
    rng = np.random.default_rng(0)
    n = 120
    X = pd.DataFrame(
        {
            "town": rng.choice(list("abcdef"), n),
            "job": rng.choice(list("uvwxyz"), n),
            "sex": rng.choice(list("FM"), n),
            "own": rng.choice(list("yn"), n),
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.integers(18, 80, n)),
        }
    )
    y = X["town"].isin(["a", "b"]) ^ X["job"].isin(["u", "v"]) ^ (X["age"] > 50)
    y = y ^ (X["sex"] == "F") ^ (X["own"] == "y")
    return catboost.CatBoostClassifier(
        iterations=12,
        depth=4,
        max_ctr_complexity=1,
        one_hot_max_size=2,
        cat_features=[0, 1, 2, 3],
        verbose=0,
        allow_writing_files=False,
        thread_count=1,
    ).fit(X, y.astype(int))


def saved(model: Any, folder: Path, form: str) -> bytes:
    path = folder / f"model.{form}"
    model.save_model(str(path), format=form)
    return path.read_bytes()


# Binary files, in which single numbers are changed.


class File:
    """A .cbm file; places are those in its core, behind 8 bytes."""

    def __init__(self, data: bytes) -> None:
        self.size = int.from_bytes(data[4:8], "little")
        self.data = bytearray(data)

    @property
    def model(self) -> Table:
        core = bytes(self.data[8 : 8 + self.size])
        return Buffer(core).root("model", 4)

    @property
    def trees(self) -> Table:
        return self.model.table(1, "trees", 19)

    def number(
        self, table: Table, field: int, form: str, value: Any, at: int = 8
    ) -> None:
        """Write a number into a field that is there."""
        assert table.has(field)
        place = at + table._at + table._fields[field]
        struct.pack_into(f"<{form}", self.data, place, value)

    def item(
        self,
        table: Table,
        field: int,
        form: str,
        value: Any,
        at: int = 8,
        item: int = 0,
    ) -> None:
        """Write one of the numbers of a list; the item -1 is how many there are."""
        start = at + table._place(field) + 4 if item >= 0 else at + table._place(field)
        place = start + max(item, 0) * struct.calcsize(f"<{form}")
        struct.pack_into(f"<{form}", self.data, place, value)

    @property
    def tables_at(self) -> int:
        """Where the tables of the statistics begin, with their number."""
        return 8 + self.size

    @property
    def tables(self) -> Iterator[tuple[Table, int]]:
        """The tables of the statistics, and where the bytes of each begin."""
        count, at = struct.unpack_from("<I", self.data, self.tables_at)[0], 4
        for _ in range(count):
            start = self.tables_at + at + 4
            size = struct.unpack_from("<I", self.data, start - 4)[0]
            content = bytes(self.data[start : start + size])
            yield Buffer(content).root("table of a statistic", 5), start
            at += 4 + size

    @property
    def table(self) -> tuple[Table, int]:
        """The first of them."""
        return next(self.tables)


def way_with_nan(file: File) -> None:
    [column] = file.trees.tables(5, "columns", 6)
    file.number(column, 5, "b", 7)


def part(name: bytes) -> Callable[[File], None]:
    def change(file: File) -> None:
        old = b"static_provider_v1"
        assert file.data.count(old) == 1
        file.data[:] = file.data.replace(old, name.ljust(len(old), b"_"))

    return change


def table_twice(file: File) -> None:
    at = file.tables_at
    count, size = struct.unpack_from("<II", file.data, at)
    struct.pack_into("<I", file.data, at, count + 1)
    file.data += file.data[at + 4 : at + 8 + size]


def unknown_kind(file: File) -> None:
    for table, at in file.tables:
        base = table.table(0, "statistic", 3)
        # The first kind is not written down.
        if base.has(1):
            file.number(base, 1, "b", 17, at)
            return
    raise AssertionError("no statistic of another kind than the first")


def table_list(field: int, count: int) -> Callable[[File], None]:
    def change(file: File) -> None:
        table, at = file.table
        file.item(table, field, "I", count, at, -1)

    return change


def keys(change_keys: Callable[[Any], None]) -> Callable[[File], None]:
    def change(file: File) -> None:
        table, at = file.table
        records = np.frombuffer(table.array(1, "u1").tobytes(), cbm._BUCKET).copy()
        change_keys(records)
        start = at + table._place(1) + 4
        file.data[start : start + records.nbytes] = records.tobytes()

    return change


def key_twice(records: Any) -> None:
    full = np.flatnonzero(records["key"] != np.uint64(cbm._EMPTY))
    records["key"][full[1]] = records["key"][full[0]]


def all_full(records: Any) -> None:
    empty = np.flatnonzero(records["key"] == np.uint64(cbm._EMPTY))
    records["key"][empty] = np.arange(100, 100 + len(empty), dtype=np.uint64)


def lost_key(records: Any) -> None:
    size = len(records)
    full = records["key"] != np.uint64(cbm._EMPTY)
    # An entry behind an empty place, whose own place is yet before that.
    places = [p for p in range(size) if full[p] and not full[p - 1]]
    records["key"][places[0]] = np.uint64((places[0] - 1) % size + 64 * size)


def few_rows(records: Any) -> None:
    full = np.flatnonzero(records["key"] != np.uint64(cbm._EMPTY))
    records["row"][full[0]] = 2**20


def one_hot_twice(file: File) -> None:
    first, second, *_ = file.trees.tables(6, "one-hot columns", 3)
    file.number(second if second.has(0) else first, 0, "i", first.number(0, "i", 0))


BINARY: dict[str, Callable[[File], None]] = {
    "a column has an unknown way with NaN": way_with_nan,
    "reads texts, of which it computes": part(b"text_process"),
    "has a part 'something_new": part(b"something_new"),
    "two tables belong to one statistic": table_twice,
    "a broken row": table_list(2, 4 * 3),
    "too few rows": keys(few_rows),
    "a broken entry": table_list(1, 11),
    "a size that is no power of 2": table_list(1, 3 * cbm._BUCKET.itemsize),
    "a hash table has a key twice": keys(key_twice),
    "a hash table has no empty place": keys(all_full),
    "a hash table has a key that nobody finds": keys(lost_key),
    "a column is one-hot twice": one_hot_twice,
    "a statistic of the unknown kind 17": unknown_kind,
}


@pytest.mark.parametrize("said", BINARY)
def test_files_with_statistics(said: str, model: Any, tmp_path: Path) -> None:
    file = File(saved(model, tmp_path, "cbm"))
    fatt.load(tmp_path / "model.cbm")
    BINARY[said](file)
    with pytest.raises(ModelError, match=said):
        importer.read(bytes(file.data), missing=None)


def no_trees(file: File) -> None:
    file.model._fields[1] = 0
    place = file.model._at - struct.unpack_from("<i", file.data, 8 + file.model._at)[0]
    struct.pack_into("<H", file.data, 8 + place + 4 + 2, 0)


def new_field(file: File) -> None:
    """The list of fields of a table of two has a third one."""
    at = file.model._at
    start = 8 + at - struct.unpack_from("<i", file.data, 8 + at)[0]
    # The model says that its list of fields goes on into what follows.
    struct.pack_into("<H", file.data, start, 4 + 2 * 12)


def n_outputs(count: int) -> Callable[[File], None]:
    return lambda file: file.number(file.trees, 0, "i", count)


def ints(field: int, value: int, item: int = 0) -> Callable[[File], None]:
    return lambda file: file.item(file.trees, field, "i", value, item=item)


def leaf_without_values(file: File) -> None:
    count = len(file.trees.array(11, "<u4"))
    for item in range(count):
        file.item(file.trees, 11, "I", 1, item=item)


TREES: dict[str, tuple[Path, Callable[[File], None]]] = {
    "its trees is absent": (SYMMETRIC, no_trees),
    r"a field in its model that fatt does not know \(number": (SYMMETRIC, new_field),
    "not have as many numbers as it has outputs": (SYMMETRIC, n_outputs(5)),
    "its trees do not follow each other": (SYMMETRIC, ints(3, 5)),
    "another number of splits than": (SYMMETRIC, ints(1, 3, -1)),
    "another number of leaves than": (SYMMETRIC, ints(8, 8, -1)),
    "another number of nodes than": (DEPTHWISE, ints(11, 3, -1)),
    "a leaf has no values": (DEPTHWISE, leaf_without_values),
    "a split is none of those that": (SYMMETRIC, ints(1, 10**6)),
}


@pytest.mark.parametrize("said", TREES)
def test_trees(said: str) -> None:
    path, change = TREES[said]
    file = File(path.read_bytes())
    change(file)
    with pytest.raises(ModelError, match=said):
        importer.read(bytes(file.data), missing=None)


def test_bias(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2))
    own = catboost.CatBoostRegressor(
        iterations=2, depth=2, verbose=0, allow_writing_files=False
    ).fit(X, X[:, 0] + 3)
    for item, form, value, said in (
        (-1, "I", 2, "another number of biases than of outputs"),
        (0, "d", float("nan"), "its scale or bias is no number"),
    ):
        file = File(saved(own, tmp_path, "cbm"))
        file.item(file.trees, 16, form, value, item=item)
        with pytest.raises(MalformedModelError, match=said):
            importer.read(bytes(file.data), missing=None)


def test_a_statistic_without_its_table(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"town": rng.choice(list("abcdef"), 80), "x": rng.random(80)})
    y = (X["town"].isin(["a", "b"])).astype(int)
    own = catboost.CatBoostClassifier(
        iterations=3,
        max_ctr_complexity=1,
        one_hot_max_size=2,
        cat_features=["town"],
        final_ctr_computation_mode="Skip",
        verbose=0,
        allow_writing_files=False,
    ).fit(X, y)
    saved(own, tmp_path, "cbm")
    with pytest.raises(UnsupportedModelError, match="ctr_computation_mode='Default'"):
        fatt.load(tmp_path / "model.cbm")


# What files of CatBoost's own hand do not show


def changed_info(file: Any, **told: Any) -> Any:
    return replace(file, info=file.info | told)


def with_ctrs(file: Any, **told: Any) -> Any:
    return replace(file, ctrs=[replace(ctr, **told) for ctr in file.ctrs])


def many_people(file: Any) -> Any:
    table = file.ctrs[0].table
    many = replace(table, counts=np.full_like(table.counts, 2**31 - 1))
    return with_ctrs(file, table=many)


def print_twice(file: Any) -> Any:
    one_hot = [(index, np.array([1, 1])) for index, _ in file.one_hot]
    return replace(file, one_hot=one_hot)


def same_number(file: Any) -> Any:
    first, *others = file.categories
    return replace(file, categories=[first, *(replace(c, index=0) for c in others)])


FILES: dict[str, Callable[[Any], Any]] = {
    "counts that are no numbers of people": many_people,
    "a class that its table does not have": lambda file: with_ctrs(file, target=7),
    "a column asks for a fingerprint twice": print_twice,
    "two columns have the same number": same_number,
    "its probability threshold is '2'": lambda file: changed_info(
        file, binclass_probability_threshold="2"
    ),
    "its classes have no labels": lambda file: changed_info(
        file, class_params='{"class_to_label": ["one", "two"]}'
    ),
    "its class_params cannot be read": lambda file: changed_info(
        file, class_params="{"
    ),
    "the loss Logloss has 3 outputs": lambda file: replace(
        file, values=np.tile(file.values, 3), bias=(0.0,) * 3
    ),
    "another number of biases": lambda file: replace(file, bias=(0.0,) * 3),
    "its scale or bias is no number": lambda file: replace(file, bias=(np.nan,)),
}


@pytest.mark.parametrize("said", FILES)
def test_files_that_contradict_themselves(
    said: str, model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = cbm.parse(written(model))
    monkeypatch.setattr(importer, "parse", lambda data: FILES[said](file))
    with pytest.raises(MalformedModelError, match=said):
        importer.read(cbm.MAGIC, missing=None)


@pytest.mark.parametrize(
    ("home", "limit", "most", "said"),
    [
        (normal_form, "FEATURES", 1, r"5 columns; fatt reads up to 1\."),
        (registry, "CODES", 1, r"categories together; fatt reads up to 1\."),
        (registry, "SET_BITS", -(10**9), "category sets of the model take .* bits"),
    ],
)
def test_limits(
    home: Any,
    limit: str,
    most: int,
    said: str,
    model: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(home, limit, most)
    with pytest.raises(UnsupportedModelError, match=said):
        fatt.load(model)


def test_a_split_beyond_all() -> None:
    """As in a file without its second form of splits, which is checked before."""
    file = cbm.parse(SYMMETRIC.read_bytes())
    split = np.where(file.nodes.split >= 0, 10**6, -1)
    with pytest.raises(MalformedModelError, match="a split is none of those"):
        normal_form.make_columns(replace(file, nodes=replace(file.nodes, split=split)))


def test_another_format_of_the_trees_is_refused_by_its_name() -> None:
    data = SYMMETRIC.read_bytes()
    assert data.count(b"FlabuffersModel_v1") == 1
    with pytest.raises(UnsupportedModelError, match=r"'FlabuffersModel_v9'.*tested"):
        cbm.parse(data.replace(b"FlabuffersModel_v1", b"FlabuffersModel_v9"))
