"""The scalers, imputers and encoders among the operators for machine learning."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.errors import MalformedModelError, UnsupportedModelError
from fatt.importers.onnx import outcome
from fatt.importers.onnx.columns import (
    INTEGER_LIMIT,
    INTEGERS,
    Table,
    compute,
    look_up,
    one_hot,
    table_of,
)
from fatt.importers.onnx.proto import DOUBLE, FLOAT, INT64, STRING, Call, Handler

Array = NDArray[Any]

_LISTS = ("strings", "int64s", "floats")
_CATEGORY_LIMIT = 4096
#: How many entries the tables of all columns of a label encoder may have together.
_CELL_LIMIT = 2**18


def _scaler(call: Call) -> tuple[Any, ...]:
    call.attributes.only("offset", "scale")
    table = table_of(call)
    width = len(table.columns)
    pairs = []
    for name in ("offset", "scale"):
        numbers = call.attributes.floats(name)
        if len(numbers) not in (1, width) or not np.isfinite(numbers).all():
            raise MalformedModelError(
                f"{call.where}: {name} has {len(numbers)} numbers for {width} columns, "
                "or one that is not finite."
            )
        pairs.append(np.broadcast_to(numbers, width))
    wide = table.kind == DOUBLE

    def scaled(offset: np.float32, scale: np.float32) -> Callable[[Array], Array]:
        def step(values: Array) -> Array:
            # Integers become float32 before, float64 only behind the arithmetic.
            numbers = values if wide else values.astype(np.float32)
            kind = numbers.dtype.type
            result = (numbers - kind(offset)) * kind(scale)
            return np.asarray(result, dtype=np.float32)

        return step

    columns = [
        compute(column, scaled(offset, scale), call.where)
        for column, offset, scale in zip(table.numbers(call.where), *pairs, strict=True)
    ]
    return (replace(table, columns=tuple(columns), kind=FLOAT),)


def _imputer(call: Call) -> tuple[Any, ...]:
    call.attributes.only("imputed_value_floats", "replaced_value_float")
    table = table_of(call)
    values = call.attributes.floats("imputed_value_floats")
    if table.kind != FLOAT or len(values) not in (1, len(table.columns)):
        raise UnsupportedModelError(
            f"{call.where}: only missing floats can be imputed, each column with its "
            "own number or all with one."
        )
    if not math.isnan(call.attributes.number("replaced_value_float", 0.0)):
        raise UnsupportedModelError(
            f"{call.where}: it replaces a number, not missing values."
        )

    def filled(number: np.float32) -> Callable[[Array], Array]:
        return lambda numbers: np.where(np.isnan(numbers), number, numbers)

    columns = [
        column.then(filled(number))
        for column, number in zip(
            table.numbers(call.where),
            np.broadcast_to(values, len(table.columns)),
            strict=True,
        )
    ]
    return (replace(table, columns=tuple(columns)),)


def _one_hot(call: Call) -> tuple[Any, ...]:
    call.attributes.only("cats_int64s", "cats_strings", "zeros")
    table = table_of(call)
    names = call.attributes.strings("cats_strings")
    numbers = call.attributes.integers("cats_int64s").tolist()
    keys: list[Any] = names if table.kind == STRING else numbers
    _refuse_long(keys, call.where)
    fits = table.kind == STRING or table.kind in INTEGERS
    if not fits or not keys or (names and numbers) or len(table.columns) != 1:
        raise UnsupportedModelError(
            f"{call.where}: only one column of strings or of integers can be encoded "
            "at a time, by its own categories."
        )
    if len(set(keys)) != len(keys):
        raise MalformedModelError(f"{call.where}: a category is listed twice.")
    if len(keys) > _CATEGORY_LIMIT:
        raise UnsupportedModelError(
            f"{call.where}: {len(keys)} categories; up to {_CATEGORY_LIMIT} are "
            "supported."
        )
    strict = not call.attributes.integer("zeros", 1)
    if strict and table.kind != STRING:
        raise UnsupportedModelError(
            f"{call.where}: it refuses unknown numbers, which cannot be represented."
        )
    columns = [
        replace(column, unknown=not strict)
        for column in one_hot(table.columns[0], keys)
    ]
    return (Table(tuple(columns), FLOAT, table.rank + 1),)


def _label_encoder(call: Call) -> tuple[Any, ...]:
    keys, values, default = _encoder_table(call)
    value = call.input(0)
    if isinstance(value, outcome.OUTCOMES):
        return (outcome.rename(value, keys, values, default, call.where),)
    table = table_of(call)
    _refuse_long([*keys, *values, default], call.where)
    kinds = {str: {STRING}, int: INTEGERS, float: {FLOAT}}
    if table.kind not in kinds[type(keys[0])] or isinstance(values[0], str):
        raise UnsupportedModelError(
            f"{call.where}: only strings, integers and floats can be looked up in a "
            "list of their own kind, for numbers."
        )
    if len(keys) * len(table.columns) > _CELL_LIMIT:
        raise UnsupportedModelError(
            f"{call.where}: {len(keys)} keys for {len(table.columns)} columns are more "
            "than is supported."
        )
    kind = FLOAT if isinstance(values[0], float) else INT64
    numbers = np.array(values, dtype=np.float32 if kind == FLOAT else np.float64)
    columns = [look_up(column, keys, numbers, default) for column in table.columns]
    return (replace(table, columns=tuple(columns), kind=kind),)


def _encoder_table(call: Call) -> tuple[list[Any], list[Any], Any]:
    """Return keys, values and default of a label encoder."""
    get = call.attributes
    get.only(
        *(f"{side}_{kind}" for side in ("keys", "values") for kind in _LISTS),
        *("default_string", "default_int64", "default_float"),
    )
    (_, keys), (kind, values) = (_entries(call, side) for side in ("keys", "values"))
    if len(keys) != len(values):
        raise MalformedModelError(
            f"{call.where}: there are {len(keys)} keys and {len(values)} values."
        )
    missing = any(isinstance(key, float) and math.isnan(key) for key in keys)
    if missing or len(set(keys)) != len(keys):
        raise UnsupportedModelError(
            f"{call.where}: a key is listed twice, or is not a number."
        )
    defaults: dict[str, Any] = {
        "strings": get.string("default_string", "_Unused"),
        "int64s": get.integer("default_int64", -1),
        "floats": float(np.float32(get.number("default_float", -0.0))),
    }
    return keys, values, defaults[kind]


def _entries(call: Call, side: str) -> tuple[str, list[Any]]:
    """Return the one list of keys, or of values, and its kind."""
    get = call.attributes
    lists: dict[str, list[Any]] = {
        "strings": get.strings(f"{side}_strings"),
        "int64s": get.integers(f"{side}_int64s").tolist(),
        "floats": get.floats(f"{side}_floats").astype(np.float64).tolist(),
    }
    given = [(kind, entries) for kind, entries in lists.items() if entries]
    if len(given) != 1:
        raise UnsupportedModelError(
            f"{call.where}: its {side} are not one list of strings, integers or floats."
        )
    return given[0]


def _refuse_long(entries: list[Any], where: str) -> None:
    """Refuse integers that cannot be told from their neighbours in float64."""
    long = [e for e in entries if isinstance(e, int) and abs(e) > INTEGER_LIMIT]
    if long:
        raise UnsupportedModelError(
            f"{where}: the integer {long[0]} is beyond 2**53 - 1, which cannot be "
            "represented."
        )


HANDLERS: dict[tuple[str, str], Handler] = {
    ("ai.onnx.ml", "Imputer"): _imputer,
    ("ai.onnx.ml", "LabelEncoder"): _label_encoder,
    ("ai.onnx.ml", "OneHotEncoder"): _one_hot,
    ("ai.onnx.ml", "Scaler"): _scaler,
}
