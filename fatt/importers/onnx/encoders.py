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
from fatt.importers.onnx.columns import INTEGERS, Table, compute, look_up, table_of
from fatt.importers.onnx.proto import DOUBLE, FLOAT, INT64, STRING, Call, Handler

Array = NDArray[Any]

_LISTS = ("strings", "int64s", "floats")
_CATEGORY_LIMIT = 4096


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
    columns = []
    for place in range(len(keys)):
        hot = np.zeros(len(keys), dtype=np.float32)
        hot[place] = 1
        column = look_up(table.columns[0], keys, hot, np.float32(0), call.where)
        columns.append(replace(column, unknown=column.unknown and not strict))
    return (Table(tuple(columns), FLOAT, table.rank + 1),)


def _label_encoder(call: Call) -> tuple[Any, ...]:
    keys, values, default = _encoder_table(call)
    if isinstance(call.inputs[0], outcome.OUTCOMES):
        return (outcome.rename(call.inputs[0], keys, values, default, call.where),)
    table = table_of(call)
    kinds = {str: {STRING}, int: INTEGERS, float: {FLOAT}}
    if table.kind not in kinds[type(keys[0])] or isinstance(values[0], str):
        raise UnsupportedModelError(
            f"{call.where}: only strings, integers and floats can be looked up in a "
            "list of their own kind, for numbers."
        )
    kind = FLOAT if isinstance(values[0], float) else INT64
    numbers = np.array(values, dtype=np.float32 if kind == FLOAT else np.float64)
    columns = [
        look_up(column, keys, numbers, default, call.where) for column in table.columns
    ]
    return (replace(table, columns=tuple(columns), kind=kind),)


def _encoder_table(call: Call) -> tuple[list[Any], list[Any], Any]:
    """Return keys, values and default of a label encoder."""
    get = call.attributes
    get.only(
        *(f"{side}_{kind}" for side in ("keys", "values") for kind in _LISTS),
        *("default_string", "default_int64", "default_float"),
    )
    keys: list[Any] = (
        get.strings("keys_strings")
        or get.integers("keys_int64s").tolist()
        or get.floats("keys_floats").astype(np.float64).tolist()
    )
    defaults: dict[str, Any] = {
        "strings": get.string("default_string", "_Unused"),
        "int64s": get.integer("default_int64", -1),
        "floats": float(np.float32(get.number("default_float", -0.0))),
    }
    given = [kind for kind in _LISTS if f"values_{kind}" in get]
    if len(given) != 1 or not keys or keys[0] != keys[0]:
        raise UnsupportedModelError(
            f"{call.where}: its keys and values are not lists of strings, integers or "
            "floats."
        )
    kind = given[0]
    values: list[Any]
    if kind == "strings":
        values = get.strings("values_strings")
    elif kind == "int64s":
        values = get.integers("values_int64s").tolist()
    else:
        values = get.floats("values_floats").astype(np.float64).tolist()
    if len(keys) != len(values):
        raise MalformedModelError(
            f"{call.where}: there are {len(keys)} keys and {len(values)} values."
        )
    return keys, values, defaults[kind]


HANDLERS: dict[tuple[str, str], Handler] = {
    ("ai.onnx.ml", "Imputer"): _imputer,
    ("ai.onnx.ml", "LabelEncoder"): _label_encoder,
    ("ai.onnx.ml", "OneHotEncoder"): _one_hot,
    ("ai.onnx.ml", "Scaler"): _scaler,
}
