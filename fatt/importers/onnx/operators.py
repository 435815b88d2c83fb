"""Operators before and behind the trees: arithmetic, reshaping, scalers and encoders.

Before the trees they act on columns of tensors, behind them on labels and scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.errors import MalformedModelError, UnsupportedModelError
from fatt.importers.onnx import answers
from fatt.importers.onnx.proto import (
    BOOL,
    DOUBLE,
    DTYPES,
    FLOAT,
    INT64,
    STRING,
    Call,
    Handler,
)
from fatt.importers.onnx.tensors import (
    INTEGER_LIMIT,
    INTEGERS,
    Column,
    Operation,
    Table,
    argmax,
    cast,
    compute,
    constant_of,
    input_table,
    look_up,
    one_hot,
    refuse_width,
)

Array = NDArray[Any]

_LISTS = ("strings", "int64s", "floats")
_CATEGORY_LIMIT = 4096
#: How many entries the tables of all columns of a label encoder may have together.
_CELL_LIMIT = 2**18


def _constant(call: Call) -> tuple[Any, ...]:
    call.attributes.only("value", "value_ints", "value_int", "value_floats")
    tensor = call.attributes.tensor("value")
    if tensor is not None:
        return (tensor,)
    if "value_ints" in call.attributes:
        return (call.attributes.integers("value_ints"),)
    if "value_floats" in call.attributes:
        return (call.attributes.floats("value_floats"),)
    return (np.array(call.attributes.integer("value_int", 0)),)


def _identity(call: Call) -> tuple[Any, ...]:
    call.attributes.only()
    return (call.input(0),)


def _cast(call: Call) -> tuple[Any, ...]:
    call.attributes.only("to", "saturate")
    after = call.attributes.integer("to", 0)
    value = call.input(0)
    if isinstance(value, answers.OUTCOMES):
        return (answers.cast(value, after),)
    if isinstance(value, np.ndarray) and after in DTYPES and value.dtype != object:
        return (value.astype(DTYPES[after]),)
    table = input_table(call)
    if after == table.kind:
        return (table,)
    if after not in {FLOAT, DOUBLE, *INTEGERS} or table.kind == STRING:
        raise UnsupportedModelError(
            f"a cast from type {table.kind} to type {after} cannot be followed."
        )
    return (table.each(lambda one: cast(one, table.kind, after), kind=after),)


def _concat(call: Call) -> tuple[Any, ...]:
    call.attributes.only("axis")
    axis = call.attributes.integer("axis", 1)
    if any(isinstance(value, answers.OUTCOMES) for value in call.inputs):
        return (answers.stack(call.inputs, axis),)
    first = input_table(call)
    tables = [input_table(call, index) for index in range(len(call.inputs))]
    if any((t.kind, t.rank) != (first.kind, first.rank) for t in tables):
        raise MalformedModelError("its inputs have different types.")
    _last_axis(call, axis, first)
    refuse_width(sum(len(table.columns) for table in tables))
    columns = tuple(column for table in tables for column in table.columns)
    return (replace(first, columns=columns),)


def _last_axis(call: Call, axis: int, table: Table) -> None:
    if axis not in (-1, table.rank - 1):
        raise UnsupportedModelError(f"it works along axis {axis}, across people.")


def _pick(call: Call, table: Table, indices: Array) -> Table:
    width = len(table.columns)
    places = indices.ravel()
    refuse_width(len(places))
    if places.dtype.kind not in "iu" or (
        places.size and (places.min() < -width or places.max() >= width)
    ):
        raise MalformedModelError(
            f"it picks a column beyond the {width} that there are."
        )
    columns = tuple(table.columns[place] for place in places.tolist())
    return replace(table, columns=columns)


def _gather(call: Call) -> tuple[Any, ...]:
    call.attributes.only("axis")
    axis = call.attributes.integer("axis", 0)
    if isinstance(call.input(1), answers.OUTCOMES):
        labels = constant_of(call, 0)
        if labels.ndim != 1 or axis not in (0, -1):
            raise UnsupportedModelError("its labels are not a plain list.")
        return (answers.name_classes(call.input(1), labels),)
    table, indices = input_table(call), constant_of(call, 1)
    _last_axis(call, axis, table)
    if indices.ndim != 1:
        raise UnsupportedModelError("it changes the number of axes.")
    return (_pick(call, table, indices),)


def _extract(call: Call) -> tuple[Any, ...]:
    call.attributes.only()
    if isinstance(call.input(1), answers.OUTCOMES):
        labels = constant_of(call, 0)
        return (answers.name_classes(call.input(1), labels),)
    return (_pick(call, input_table(call), constant_of(call, 1)),)


def _reshape(call: Call) -> tuple[Any, ...]:
    call.attributes.only("allowzero")
    shape = constant_of(call, 1).ravel().tolist()
    value = call.input(0)
    if isinstance(value, answers.OUTCOMES):
        return (answers.reshape(value, shape),)
    table = input_table(call)
    rows_kept = shape[:1] == [-1] or (
        shape[:1] == [0] and not call.attributes.integer("allowzero", 0)
    )
    if len(shape) != 2 or not rows_kept or shape[1] not in (len(table.columns), -1):
        raise UnsupportedModelError(
            f"it changes a table of {len(table.columns)} columns into "
            f"the shape {shape}."
        )
    return (replace(table, rank=2),)


def _flatten(call: Call) -> tuple[Any, ...]:
    call.attributes.only("axis")
    if call.attributes.integer("axis", 1) != 1:
        raise UnsupportedModelError("it mixes people.")
    return (replace(input_table(call), rank=2),)


def _clip(call: Call) -> tuple[Any, ...]:
    call.attributes.only()
    table = input_table(call)
    ends = [constant_of(call, index) for index in (1, 2)]
    if any(end.size != 1 or end.dtype != DTYPES.get(table.kind) for end in ends):
        raise UnsupportedModelError(
            "only numbers of one type can be clipped, at two constants."
        )
    low, high = (end.ravel()[0] for end in ends)
    if not low <= high:
        raise UnsupportedModelError("its ends are crossed.")
    return (table.each(lambda one: one.then(lambda own: np.clip(own, low, high))),)


def _arithmetic(operation: Callable[[Array, Array], Array], name: str) -> Handler:
    def handler(call: Call) -> tuple[Any, ...]:
        call.attributes.only()
        _refuse_two_columns(call)
        table, numbers, flipped = _with_constants(call)
        stepped = _beside(operation, flipped)
        if name == "Div" and (flipped or not numbers.all()):
            raise UnsupportedModelError("it divides by a column or by zero.")

        def computed(column: Column, number: Any) -> Column:
            changed = compute(column, stepped(number))
            is_still = name == "Mul" and number == 0
            return replace(changed, constant=True) if is_still else changed

        return (table.each(computed, numbers),)

    return handler


def _refuse_two_columns(call: Call) -> None:
    """Refuse an operation on two columns, such as their ratio, or on one and itself."""
    tables = [one for one in call.inputs if isinstance(one, Table)]
    sources = {tuple(column.source for column in table.columns) for table in tables}
    places = sorted({place for table in sources for place in table})
    if len(tables) > 1 and len(sources) == 1:
        raise UnsupportedModelError(
            f"it computes with a column of the table and the same column "
            f"once more, as a square does (at position {places[0]}), and what rises "
            "and falls again is not followed. Make what it makes a column of the "
            "table, and train the model on that."
        )
    if len(tables) > 1:
        which = " and ".join(map(str, places))
        raise UnsupportedModelError(
            f"it computes with two columns of the table at once (among "
            f"those at position {which}), so that a split of what it makes is about "
            "none of them alone. Make what it makes a column of the table, and train "
            "the model on that."
        )


def _beside(
    operation: Callable[[Array, Array], Array], flipped: bool
) -> Callable[[Any], Operation]:
    """Return what makes of a number the operation with it, on its left if `flipped`."""
    if flipped:
        return lambda number: lambda values: operation(number, values)
    return lambda number: lambda values: operation(values, number)


def _with_constants(call: Call) -> tuple[Table, Array, bool]:
    """Return the table, one constant per column, and whether they stand first.

    A single column may be compared with several constants: it is then repeated.
    """
    flipped = isinstance(call.input(0), np.ndarray)
    table = input_table(call, 1 if flipped else 0)
    numbers = constant_of(call, 0 if flipped else 1)
    if table.kind not in {FLOAT, DOUBLE} or numbers.dtype != DTYPES[table.kind]:
        raise UnsupportedModelError(
            "it computes with other numbers than floats of one type."
        )
    if (
        numbers.size != max(numbers.shape, default=1)
        or numbers.ndim > table.rank
        or (numbers.ndim and numbers.shape[-1] != numbers.size)
    ):
        raise UnsupportedModelError(
            f"its constant has the shape {list(numbers.shape)}, not one "
            "number per column."
        )
    if not np.isfinite(numbers).all():
        raise UnsupportedModelError("a constant is not finite.")
    width = max(len(table.columns), numbers.size)
    refuse_width(width)
    if len(table.columns) == 1:
        table = replace(table, columns=table.columns * width)
    if numbers.size not in (1, width) or len(table.columns) != width:
        raise MalformedModelError(
            f"there are {numbers.size} constants for {len(table.columns)} columns."
        )
    return table, np.broadcast_to(numbers.ravel(), width), flipped


def _compare(operation: Callable[[Array, Array], Array], name: str) -> Handler:
    def handler(call: Call) -> tuple[Any, ...]:
        call.attributes.only()
        if any(isinstance(value, answers.OUTCOMES) for value in call.inputs):
            return (answers.compare(call.inputs, name),)
        table, numbers, flipped = _with_constants(call)
        stepped, flags = _beside(operation, flipped), np.array([0.0, 1.0])

        def flagged(column: Column, number: Any) -> Column:
            return column.stepwise(stepped(number), [float(number)], flags)

        return (table.each(flagged, numbers, kind=BOOL),)

    return handler


def _argmax(call: Call) -> tuple[Any, ...]:
    call.attributes.only("axis", "keepdims", "select_last_index")
    last = call.attributes.integer("select_last_index", 0) != 0
    axis = call.attributes.integer("axis", 0)
    if isinstance(call.input(0), answers.OUTCOMES):
        return (answers.winner(call.input(0), axis, last),)
    table = input_table(call)
    _last_axis(call, axis, table)
    if last or not call.attributes.integer("keepdims", 1):
        raise UnsupportedModelError("its options are not supported.")
    column = argmax(table.numbers())
    return (Table((column,), INT64, table.rank),)


def _mean(call: Call) -> tuple[Any, ...]:
    call.attributes.only("axes", "keepdims", "noop_with_empty_axes")
    axes = call.attributes.integers("axes")
    if call.input(1) is not None:
        axes = constant_of(call, 1).ravel()
    if axes.tolist() != [0] or call.attributes.integer("keepdims", 1):
        raise UnsupportedModelError("its options are not supported.")
    return (answers.mean(call.input(0)),)


def _scaler(call: Call) -> tuple[Any, ...]:
    call.attributes.only("offset", "scale")
    table = input_table(call)
    width = len(table.columns)
    pairs = []
    for name in ("offset", "scale"):
        numbers = call.attributes.floats(name)
        if len(numbers) not in (1, width) or not np.isfinite(numbers).all():
            raise MalformedModelError(
                f"{name} has {len(numbers)} numbers for {width} columns, "
                "or one that is not finite."
            )
        pairs.append(numbers)
    wide = table.kind == DOUBLE

    def scaled(offset: np.float32, scale: np.float32) -> Operation:
        def step(values: Array) -> Array:
            # Integers become float32 before, float64 only behind the arithmetic.
            numbers = values if wide else values.astype(np.float32)
            kind = numbers.dtype.type
            result = (numbers - kind(offset)) * kind(scale)
            return np.asarray(result, dtype=np.float32)

        return step

    return (
        table.each(lambda one, *own: compute(one, scaled(*own)), *pairs, kind=FLOAT),
    )


def _imputer(call: Call) -> tuple[Any, ...]:
    call.attributes.only("imputed_value_floats", "replaced_value_float")
    table = input_table(call)
    values = call.attributes.floats("imputed_value_floats")
    if table.kind != FLOAT or len(values) not in (1, len(table.columns)):
        raise UnsupportedModelError(
            "only missing floats can be imputed, each column with its "
            "own number or all with one."
        )
    if not math.isnan(call.attributes.number("replaced_value_float", 0.0)):
        raise UnsupportedModelError("it replaces a number, not missing values.")

    def filled(number: np.float32) -> Operation:
        return lambda numbers: np.where(np.isnan(numbers), number, numbers)

    return (table.each(lambda one, number: one.then(filled(number)), values),)


def _one_hot(call: Call) -> tuple[Any, ...]:
    call.attributes.only("cats_int64s", "cats_strings", "zeros")
    table = input_table(call)
    names = call.attributes.strings("cats_strings")
    numbers = call.attributes.integers("cats_int64s").tolist()
    keys: list[Any] = names if table.kind == STRING else numbers
    _refuse_long(keys)
    fits = table.kind == STRING or table.kind in INTEGERS
    if not fits or not keys or (names and numbers) or len(table.columns) != 1:
        raise UnsupportedModelError(
            "only one column of strings or of integers can be encoded "
            "at a time, by its own categories."
        )
    if len(set(keys)) != len(keys):
        raise MalformedModelError("a category is listed twice.")
    if len(keys) > _CATEGORY_LIMIT:
        raise UnsupportedModelError(
            f"{len(keys)} categories; up to {_CATEGORY_LIMIT} are supported."
        )
    strict = not call.attributes.integer("zeros", 1)
    if strict and table.kind != STRING:
        raise UnsupportedModelError(
            "it refuses unknown numbers, which cannot be represented."
        )
    columns = [
        replace(column, unknown=not strict)
        for column in one_hot(table.columns[0], keys)
    ]
    return (Table(tuple(columns), FLOAT, table.rank + 1),)


def _label_encoder(call: Call) -> tuple[Any, ...]:
    keys, values, default = _encoder_table(call)
    value = call.input(0)
    if isinstance(value, answers.OUTCOMES):
        return (answers.rename(value, keys, values, default),)
    table = input_table(call)
    _refuse_long([*keys, *values, default])
    kinds = {str: {STRING}, int: INTEGERS, float: {FLOAT}}
    if table.kind not in kinds[type(keys[0])] or isinstance(values[0], str):
        raise UnsupportedModelError(
            "only strings, integers and floats can be looked up in a "
            "list of their own kind, for numbers."
        )
    if len(keys) * len(table.columns) > _CELL_LIMIT:
        raise UnsupportedModelError(
            f"{len(keys)} keys for {len(table.columns)} columns are more "
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
            f"there are {len(keys)} keys and {len(values)} values."
        )
    missing = any(isinstance(key, float) and math.isnan(key) for key in keys)
    if missing or len(set(keys)) != len(keys):
        raise UnsupportedModelError("a key is listed twice, or is not a number.")
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
            f"its {side} are not one list of strings, integers or floats."
        )
    return given[0]


def _refuse_long(entries: list[Any]) -> None:
    """Refuse integers that cannot be told from their neighbours in float64."""
    long = [e for e in entries if isinstance(e, int) and abs(e) > INTEGER_LIMIT]
    if long:
        raise UnsupportedModelError(
            f"the integer {long[0]} is beyond 2**53 - 1, which cannot be represented."
        )


HANDLERS: dict[tuple[str, str], Handler] = {
    ("", "Add"): _arithmetic(np.add, "Add"),
    ("", "ArgMax"): _argmax,
    ("", "Cast"): _cast,
    ("", "Clip"): _clip,
    ("", "Concat"): _concat,
    ("", "Constant"): _constant,
    ("", "Div"): _arithmetic(np.divide, "Div"),
    ("", "Flatten"): _flatten,
    ("", "Gather"): _gather,
    ("", "Greater"): _compare(np.greater, "Greater"),
    ("", "GreaterOrEqual"): _compare(np.greater_equal, "GreaterOrEqual"),
    ("", "Identity"): _identity,
    ("", "Less"): _compare(np.less, "Less"),
    ("", "LessOrEqual"): _compare(np.less_equal, "LessOrEqual"),
    ("", "Mul"): _arithmetic(np.multiply, "Mul"),
    ("", "ReduceMean"): _mean,
    ("", "Reshape"): _reshape,
    ("", "Sub"): _arithmetic(np.subtract, "Sub"),
    ("ai.onnx.ml", "ArrayFeatureExtractor"): _extract,
    ("ai.onnx.ml", "Imputer"): _imputer,
    ("ai.onnx.ml", "LabelEncoder"): _label_encoder,
    ("ai.onnx.ml", "OneHotEncoder"): _one_hot,
    ("ai.onnx.ml", "Scaler"): _scaler,
}
