"""CatBoost's JSON form of a model, with the numbers that CatBoost itself reads there.

Its reader is quick and not exact: of numbers with many digits it makes floats that can
be some units in the last place off, and a whole number beyond 2**53 it takes for zero.
What is asked for its label is what CatBoost loads, so numbers are read here in the same
way; where the loss would be more than that, the file is refused.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection
from typing import Any, NoReturn, TypeVar

import numpy as np

from fatt.errors import UnsupportedModelError
from fatt.importers.catboost.file import (
    CategoryColumn,
    Ctr,
    CtrTable,
    ModelFile,
    Nodes,
    NumberColumn,
    Projection,
    joined_ints,
    refuse_columns,
    symmetric_nodes,
)
from fatt.importers.catboost.flatbuffers import fail

T = TypeVar("T")

#: The members that the parts of a file have; in brackets those that may be absent.
_MEMBERS = {
    "file": "features_info model_info scale_and_bias (ctr_data) (oblivious_trees) "
    "(trees)",
    "features_info": "(float_features) (categorical_features) (cat_features_hash) "
    "(ctrs) (text_features) (embedding_features)",
    "float feature": "feature_index flat_feature_index borders has_nans "
    "(nan_value_treatment) (feature_id) (feature_name)",
    "categorical feature": "feature_index flat_feature_index (feature_id) "
    "(feature_name) (values)",
    "statistic": "borders ctr_type elements identifier prior_denomerator "
    "prior_numerator scale shift target_border_idx",
    "element": "combination_element (cat_feature_index) (float_feature_index) "
    "(border) (value)",
    "table": "counter_denominator hash_map hash_stride",
    "symmetric tree": "leaf_values (leaf_weights) splits",
    "split": "split_index split_type (border) (float_feature_index) "
    "(cat_feature_index) (value) (ctr_target_border_idx)",
    "inner node": "split left right",
    "leaf": "value (weight)",
    "text": "hash value",
}
_MEANS = ("BinarizedTargetMeanValue", "FloatTargetMeanValue")
_COUNTERS = ("Counter", "FeatureFreq")
_KINDS = ("Borders", "Buckets", *_COUNTERS)
_SPLIT_KINDS = ("FloatFeature", "OneHotFeature", "OnlineCtr")


def parse(data: bytes) -> ModelFile:
    """Read the bytes of a JSON file.

    Raises
    ------
    MalformedModelError
        If they are damaged.
    UnsupportedModelError
        If the file lost what the model needs, or the model needs what fatt does not
        know.
    """
    try:
        document = json.loads(
            data,
            parse_float=read_number,
            parse_int=read_whole,
            parse_constant=_refuse_constant,
            object_pairs_hook=_members,
        )
    except (ValueError, RecursionError) as error:
        raise fail(
            f"it starts neither as a .cbm file does, nor is it JSON ({error})"
        ) from None
    try:
        return _model(document)
    except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        raise fail(f"a member is not as it should be ({error})") from None


def read_number(text: str) -> float:
    """Read a number that is not whole, with the roundings of CatBoost's reader.

    It collects digits in a whole number up to 2**53, then in a float up to 17 of them,
    and multiplies or divides that by a power of ten.
    """
    if len(text) <= 16 and "e" not in text and "E" not in text:
        # At most 15 digits: both factors are exact, and the quotient is rounded once.
        return float(text)
    mantissa, _, exponent = text.lower().partition("e")
    whole, _, fraction = mantissa.removeprefix("-").partition(".")
    limit = 2**63 if text.startswith("-") else 2**64 - 1
    number, counted, at = int(whole[0]), 0, 1
    while at < len(whole) and number * 10 + int(whole[at]) <= limit:
        number = number * 10 + int(whole[at])
        counted, at = counted + 1, at + 1
    size = float(number)
    for digit in whole[at:]:
        size = size * 10 + int(digit)
    power = int(exponent or 0)
    is_long = at < len(whole)
    for digit in fraction:
        if not is_long and number < 2**53:
            number = number * 10 + int(digit)
            size = float(number)
        elif counted < 17:
            is_long = True
            size = size * 10 + int(digit)
        else:
            break
        power -= 1
        counted += size > 0
    if power < -308:
        size, power = size / 1e308, power + 308
    if power < -308:
        size = 0.0
    else:
        factor = float(f"1e{abs(power)}") if abs(power) <= 308 else math.inf
        size = size * factor if power >= 0 else size / factor
    return -size if text.startswith("-") else size


def read_whole(text: str) -> float | int:
    """Read a number without a point, which is a float only beyond 64 bits."""
    number = int(text) if len(text) < 400 else 10**400
    if -(2**63) <= number < 2**64:
        return number
    return read_number(text)


def _refuse_constant(text: str) -> NoReturn:
    raise fail(f"a number is {text}")


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise fail("a member is there twice")
    return members


def _float(value: Any) -> float:
    """Return a number as a float; CatBoost takes whole ones beyond 2**53 for zero."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise fail(f"{str(value)[:40]!r} stands where a number should")
    if isinstance(value, int) and abs(value) > 2**53:
        raise UnsupportedModelError(
            f"the JSON file holds the whole number {value}, which CatBoost reads as 0. "
            "Save the model as .cbm and load that file."
        )
    if not math.isfinite(value):
        raise fail("a number is too large")
    return float(value)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise fail(f"{str(value)[:40]!r} stands where a whole number should")
    return value


def _single(value: Any) -> float:
    with np.errstate(over="ignore"):
        return float(np.float32(_float(value)))


def _singles(values: Any) -> Any:
    with np.errstate(over="ignore"):
        return np.array([_float(value) for value in values or ()]).astype(np.float32)


def _part(value: Any, name: str) -> dict[str, Any]:
    """Check the members of a part of the file, of which none may be unknown."""
    if not isinstance(value, dict):
        raise fail(f"a {name} is no object")
    words = _MEMBERS[name].split()
    needed = {word for word in words if not word.startswith("(")}
    lacking = needed - value.keys()
    if lacking:
        raise fail(f"a {name} lacks {min(lacking)!r}")
    unknown = value.keys() - needed - {word.strip("()") for word in words}
    if unknown:
        raise UnsupportedModelError(
            f"the JSON file has {min(unknown)[:40]!r} in a {name}, which fatt does not "
            "know, as a newer version may write. Save the model with a tested version "
            "of catboost."
        )
    return value


def _each(values: Any, name: str, read: Callable[[dict[str, Any]], T]) -> list[T]:
    return [read(_part(value, name)) for value in values or ()]


def _model(document: Any) -> ModelFile:
    file = _part(document, "file")
    if not isinstance(file["model_info"], dict):
        raise fail("its model_info is no object")
    info = _part(file["features_info"], "features_info")
    for member, kind in (
        ("text_features", "texts"),
        ("embedding_features", "embeddings"),
    ):
        if info.get(member):
            raise refuse_columns(kind)
    numbers = _each(info.get("float_features"), "float feature", _number)
    categories = info.get("categorical_features")
    one_hot = [
        (_whole(column["feature_index"]), _prints(column["values"]))
        for column in _each(categories, "categorical feature", lambda column: column)
        if column.get("values") is not None
    ]
    tables = file.get("ctr_data") or {}
    ctrs = _each(info.get("ctrs"), "statistic", lambda ctr: _ctr(ctr, tables))
    _refuse_collisions(file["model_info"], ctrs)
    asked = [
        *(
            ("FloatFeature", column.index, x)
            for column in numbers
            for x in column.borders
        ),
        *(("OneHotFeature", index, x) for index, prints in one_hot for x in prints),
        *(("OnlineCtr", ctr.target, x) for ctr in ctrs for x in ctr.borders),
    ]
    nodes, values = _trees(file, asked)
    scale, bias = _scale_and_bias(file["scale_and_bias"], values.shape[1])
    return ModelFile(
        format="JSON",
        info=file["model_info"],
        numbers=numbers,
        categories=_each(categories, "categorical feature", _category),
        one_hot=one_hot,
        ctrs=ctrs,
        nodes=nodes,
        values=values,
        scale=scale,
        bias=bias,
        texts=tuple(
            _each(info.get("cat_features_hash"), "text", lambda one: str(one["value"]))
        ),
    )


def _name(column: dict[str, Any]) -> str:
    return str(column.get("feature_name", column.get("feature_id", "")))


def _number(column: dict[str, Any]) -> NumberColumn:
    treatment = column.get("nan_value_treatment", "AsIs")
    if treatment not in {"AsIs", "AsFalse", "AsTrue"}:
        raise fail(f"a column has {str(treatment)[:40]!r} as its way with NaN")
    if not isinstance(column["has_nans"], bool):
        raise fail("a column does not say whether it has NaN")
    return NumberColumn(
        _whole(column["feature_index"]),
        _whole(column["flat_feature_index"]),
        _name(column),
        _singles(column["borders"]),
        column["has_nans"] and treatment == "AsTrue",
    )


def _category(column: dict[str, Any]) -> CategoryColumn:
    index, place = column["feature_index"], column["flat_feature_index"]
    return CategoryColumn(_whole(index), _whole(place), _name(column))


def _prints(values: Any) -> Any:
    return np.array([_whole(value) % 2**32 for value in values], dtype=np.int64)


def _ctr(ctr: dict[str, Any], tables: dict[str, Any]) -> Ctr:
    kind = str(ctr["ctr_type"])
    if kind in _MEANS:
        raise UnsupportedModelError(
            f"the JSON file has the statistic {kind}, whose sums CatBoost cuts off "
            "when it reads the file. Save the model as .cbm and load that file."
        )
    if kind not in _KINDS:
        raise UnsupportedModelError(
            f"the JSON file has the unknown statistic {kind[:40]!r}. Save the model "
            "with a tested version of catboost."
        )
    if ctr["identifier"] not in tables:
        raise fail("a statistic has no table")
    elements = _each(ctr["elements"], "element", lambda element: element)
    categories = tuple(
        _whole(element["cat_feature_index"])
        for element in elements
        if element["combination_element"] == "cat_feature_value"
    )
    return Ctr(
        kind=kind,
        projection=Projection(categories, len(elements) - len(categories)),
        target=_whole(ctr["target_border_idx"]),
        prior=(_single(ctr["prior_numerator"]), _single(ctr["prior_denomerator"])),
        shift=_single(ctr["shift"]),
        scale=_single(ctr["scale"]),
        borders=_singles(ctr["borders"]),
        table=_table(_part(tables[ctr["identifier"]], "table")),
    )


def _table(table: dict[str, Any]) -> CtrTable:
    stride, cells = _whole(table["hash_stride"]), table["hash_map"] or []
    if stride < 2 or len(cells) % stride:
        raise fail("the table of a statistic has a broken row")
    rows = [cells[at : at + stride] for at in range(0, len(cells), stride)]
    counts = [[_whole(cell) for cell in row[1:]] for row in rows]
    keys = [str(row[0]) for row in rows]
    if not all(re.fullmatch("[0-9]{1,20}", key) for key in keys):
        raise fail("the table of a statistic has a broken key")
    if len({int(key) for key in keys}) != len(keys):
        raise fail("the table of a statistic has a key twice")
    if any(not 0 <= count < 2**31 for row in counts for count in row):
        raise fail("the table of a statistic has a broken count")
    return CtrTable(
        keys=np.array([int(key) for key in keys], dtype=np.uint64),
        rows=np.arange(len(rows)),
        counts=np.array(counts, dtype=np.int64).reshape(-1, stride - 1),
        sums=None,
        denominator=_whole(table["counter_denominator"]),
    )


def _refuse_collisions(info: Any, ctrs: list[Ctr]) -> None:
    """Refuse statistics over several targets: their tables have the same name."""
    params = info.get("params")
    params = json.loads(params) if isinstance(params, str) else params
    told = _object(_object(params).get("cat_feature_params"))
    described = [told.get("simple_ctrs") or [], told.get("combinations_ctrs") or []]
    described += list(_object(told.get("per_feature_ctrs")).values())
    targets: dict[str, set[str]] = {}
    for one in (one for part in described for one in part if isinstance(one, dict)):
        target = json.dumps(one.get("target_binarization"), sort_keys=True)
        targets.setdefault(str(one.get("ctr_type")), set()).add(target)
    used = {ctr.kind for ctr in ctrs} - set(_COUNTERS)
    if any(len(targets.get(kind, ())) > 1 for kind in used):
        raise UnsupportedModelError(
            "the CatBoost model keeps statistics over several borders of its target, "
            "whose tables overwrite each other in JSON. Save the model as .cbm and "
            "load that file."
        )


def _object(value: Any) -> dict[str, Any]:
    """Return an object, empty if there is none."""
    if value is not None and not isinstance(value, dict):
        raise fail("its params are no object")
    return value or {}


def _scale_and_bias(value: Any, n_outputs: int) -> tuple[float, tuple[float, ...]]:
    scale, bias = value
    # Versions before 0.24 write one number for all outputs.
    numbers = bias if isinstance(bias, list) else [bias or 0.0] * n_outputs
    return _float(scale), tuple(map(_float, numbers or [0.0] * n_outputs))


def _trees(
    file: dict[str, Any], asked: list[tuple[str, Any, Any]]
) -> tuple[Nodes, Any]:
    if ("trees" in file) == ("oblivious_trees" in file):
        raise fail("it has no trees, or two kinds of them")
    _, bias = file["scale_and_bias"]
    n_outputs = len(bias) if isinstance(bias, list) and bias else None
    if "trees" in file:
        return _nested(file["trees"] or [], asked, n_outputs)
    splits: list[Any] = []
    leaves: list[float] = []
    for tree in file["oblivious_trees"] or ():
        part = _part(tree, "symmetric tree")
        splits.append(
            joined_ints([[_split(split, asked) for split in part["splits"] or ()]])
        )
        values = [_float(value) for value in part["leaf_values"]]
        size = 2 ** len(splits[-1])
        n_outputs = n_outputs or len(values) // size
        if len(values) != size * n_outputs or not n_outputs:
            raise fail("a tree has another number of leaves than its splits make")
        leaves += values
    return symmetric_nodes(splits), np.array(leaves).reshape(-1, n_outputs or 1)


def _split(split: Any, asked: list[tuple[str, Any, Any]]) -> int:
    """Return the number of a split, if what it says besides is the same."""
    part = _part(split, "split")
    index, kind = _whole(part["split_index"]), part["split_type"]
    if kind not in _SPLIT_KINDS:
        raise UnsupportedModelError(
            f"the JSON file has a split of the unknown kind {str(kind)[:40]!r}. Save "
            "the model with a tested version of catboost."
        )
    if not 0 <= index < len(asked):
        raise fail("a split is none of those that there are")
    said: tuple[Any, ...] = (kind,)
    if kind == "FloatFeature":
        said += (part["float_feature_index"], _single(part["border"]))
    elif kind == "OneHotFeature":
        said += (part["cat_feature_index"], _whole(part["value"]) % 2**32)
    else:
        said += (part["ctr_target_border_idx"], _single(part["border"]))
    if said != asked[index]:
        raise fail("a split says something else than its number")
    return index


def _nested(
    trees: Collection[Any], asked: list[tuple[str, Any, Any]], n_outputs: int | None
) -> tuple[Nodes, Any]:
    """Return trees whose nodes hold their children."""
    split: list[int] = []
    children: tuple[list[int], list[int]] = ([], [])
    leaf: list[int] = []
    values: list[list[float]] = []
    roots = []

    def add(node: Any) -> int:
        number = len(split)
        is_leaf = isinstance(node, dict) and "value" in node
        part = _part(node, "leaf" if is_leaf else "inner node")
        split.append(-1 if is_leaf else _split(part["split"], asked))
        leaf.append(len(values) if is_leaf else -1)
        for side in children:
            side.append(-1)
        if is_leaf:
            told = part["value"]
            values.append(
                [_float(x) for x in (told if isinstance(told, list) else [told])]
            )
        else:
            waiting.append((number, part))
        return number

    for tree in trees:
        waiting: list[tuple[int, dict[str, Any]]] = []
        roots.append(add(tree))
        while waiting:
            number, part = waiting.pop()
            for side, name in zip(children, ("left", "right"), strict=True):
                side[number] = add(part[name])
    widths = {len(row) for row in values} | ({n_outputs} if n_outputs else set())
    if len(widths) > 1 or 0 in widths:
        raise fail("its leaves have different numbers of values")
    width = widths.pop() if widths else 1
    arrays = (split, *children, leaf, roots)
    nodes = Nodes(*(np.array(array, dtype=np.int64) for array in arrays))
    return nodes, np.array(values, dtype=np.float64).reshape(-1, width or 1)
