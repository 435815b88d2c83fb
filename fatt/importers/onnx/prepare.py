"""The general operators before and behind the trees: casts, picks, arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.errors import MalformedModelError, UnsupportedModelError
from fatt.importers.onnx import outcome
from fatt.importers.onnx.columns import (
    INTEGERS,
    Step,
    Table,
    argmax,
    cast,
    compute,
    constant_of,
    refuse_width,
    table_of,
)
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

Array = NDArray[Any]


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
    if isinstance(value, outcome.OUTCOMES):
        return (outcome.cast(value, after, call.where),)
    if isinstance(value, np.ndarray) and after in DTYPES and value.dtype != object:
        return (value.astype(DTYPES[after]),)
    table = table_of(call)
    if after == table.kind:
        return (table,)
    if after not in {FLOAT, DOUBLE, *INTEGERS} or table.kind == STRING:
        raise UnsupportedModelError(
            f"{call.where}: a cast from type {table.kind} to type {after} cannot be "
            "followed."
        )
    columns = [
        cast(column, table.kind, after, call.where)
        for column in table.numbers(call.where)
    ]
    return (replace(table, columns=tuple(columns), kind=after),)


def _concat(call: Call) -> tuple[Any, ...]:
    call.attributes.only("axis")
    axis = call.attributes.integer("axis", 1)
    if any(isinstance(value, outcome.OUTCOMES) for value in call.inputs):
        return (outcome.stack(call.inputs, axis, call.where),)
    first = table_of(call)
    tables = [table_of(call, index) for index in range(len(call.inputs))]
    if any((t.kind, t.rank) != (first.kind, first.rank) for t in tables):
        raise MalformedModelError(f"{call.where}: its inputs have different types.")
    _last_axis(call, axis, first)
    refuse_width(sum(len(table.columns) for table in tables), call.where)
    columns = tuple(column for table in tables for column in table.columns)
    return (replace(first, columns=columns),)


def _last_axis(call: Call, axis: int, table: Table) -> None:
    if axis not in (-1, table.rank - 1):
        raise UnsupportedModelError(
            f"{call.where}: it works along axis {axis}, across people."
        )


def _pick(call: Call, table: Table, indices: Array) -> Table:
    width = len(table.columns)
    places = indices.ravel()
    refuse_width(len(places), call.where)
    if places.dtype.kind not in "iu" or (
        places.size and (places.min() < -width or places.max() >= width)
    ):
        raise MalformedModelError(
            f"{call.where}: it picks a column beyond the {width} that there are."
        )
    columns = tuple(table.columns[place] for place in places.tolist())
    return replace(table, columns=columns)


def _gather(call: Call) -> tuple[Any, ...]:
    call.attributes.only("axis")
    axis = call.attributes.integer("axis", 0)
    if isinstance(call.input(1), outcome.OUTCOMES):
        labels = constant_of(call, 0)
        if labels.ndim != 1 or axis not in (0, -1):
            raise UnsupportedModelError(
                f"{call.where}: its labels are not a plain list."
            )
        return (outcome.name_classes(call.input(1), labels, call.where),)
    table, indices = table_of(call), constant_of(call, 1)
    _last_axis(call, axis, table)
    if indices.ndim != 1:
        raise UnsupportedModelError(f"{call.where}: it changes the number of axes.")
    return (_pick(call, table, indices),)


def _extract(call: Call) -> tuple[Any, ...]:
    call.attributes.only()
    if isinstance(call.input(1), outcome.OUTCOMES):
        labels = constant_of(call, 0)
        return (outcome.name_classes(call.input(1), labels, call.where),)
    return (_pick(call, table_of(call), constant_of(call, 1)),)


def _reshape(call: Call) -> tuple[Any, ...]:
    call.attributes.only("allowzero")
    shape = constant_of(call, 1).ravel().tolist()
    value = call.input(0)
    if isinstance(value, outcome.OUTCOMES):
        return (outcome.reshape(value, shape, call.where),)
    table = table_of(call)
    rows_kept = shape[:1] == [-1] or (
        shape[:1] == [0] and not call.attributes.integer("allowzero", 0)
    )
    if len(shape) != 2 or not rows_kept or shape[1] not in (len(table.columns), -1):
        raise UnsupportedModelError(
            f"{call.where}: it changes a table of {len(table.columns)} columns into "
            f"the shape {shape}."
        )
    return (replace(table, rank=2),)


def _flatten(call: Call) -> tuple[Any, ...]:
    call.attributes.only("axis")
    if call.attributes.integer("axis", 1) != 1:
        raise UnsupportedModelError(f"{call.where}: it mixes people.")
    return (replace(table_of(call), rank=2),)


def _clip(call: Call) -> tuple[Any, ...]:
    call.attributes.only()
    table = table_of(call)
    ends = [constant_of(call, index) for index in (1, 2)]
    if any(end.size != 1 or end.dtype != DTYPES.get(table.kind) for end in ends):
        raise UnsupportedModelError(
            f"{call.where}: only numbers of one type can be clipped, at two constants."
        )
    low, high = (end.ravel()[0] for end in ends)
    if not low <= high:
        raise UnsupportedModelError(f"{call.where}: its ends are crossed.")
    columns = [
        column.then(lambda numbers: np.clip(numbers, low, high))
        for column in table.numbers(call.where)
    ]
    return (replace(table, columns=tuple(columns)),)


def _arithmetic(operation: Callable[[Array, Array], Array], name: str) -> Handler:
    def handler(call: Call) -> tuple[Any, ...]:
        call.attributes.only()
        table, numbers, flipped = _with_constants(call)
        stepped = _beside(operation, flipped)
        if name == "Div" and (flipped or not numbers.all()):
            raise UnsupportedModelError(
                f"{call.where}: it divides by a column or by zero."
            )

        columns = []
        for column, number in zip(table.numbers(call.where), numbers, strict=True):
            changed = compute(column, stepped(number), call.where)
            if name == "Mul" and number == 0:
                changed = replace(changed, constant=True)
            columns.append(changed)
        return (replace(table, columns=tuple(columns)),)

    return handler


def _beside(
    operation: Callable[[Array, Array], Array], flipped: bool
) -> Callable[[Any], Step]:
    """Return what makes of a number the operation with it, on its left if `flipped`."""
    if flipped:
        return lambda number: lambda values: operation(number, values)
    return lambda number: lambda values: operation(values, number)


def _with_constants(call: Call) -> tuple[Table, Array, bool]:
    """Return the table, one constant per column, and whether they stand first.

    A single column may be compared with several constants: it is then repeated.
    """
    flipped = isinstance(call.input(0), np.ndarray)
    table = table_of(call, 1 if flipped else 0)
    numbers = constant_of(call, 0 if flipped else 1)
    if table.kind not in {FLOAT, DOUBLE} or numbers.dtype != DTYPES[table.kind]:
        raise UnsupportedModelError(
            f"{call.where}: it computes with other numbers than floats of one type."
        )
    if (
        numbers.size != max(numbers.shape, default=1)
        or numbers.ndim > table.rank
        or (numbers.ndim and numbers.shape[-1] != numbers.size)
    ):
        raise UnsupportedModelError(
            f"{call.where}: its constant has the shape {list(numbers.shape)}, not one "
            "number per column."
        )
    if not np.isfinite(numbers).all():
        raise UnsupportedModelError(f"{call.where}: a constant is not finite.")
    width = max(len(table.columns), numbers.size)
    refuse_width(width, call.where)
    if len(table.columns) == 1:
        table = replace(table, columns=table.columns * width)
    if numbers.size not in (1, width) or len(table.columns) != width:
        raise MalformedModelError(
            f"{call.where}: there are {numbers.size} constants for "
            f"{len(table.columns)} columns."
        )
    return table, np.broadcast_to(numbers.ravel(), width), flipped


def _compare(operation: Callable[[Array, Array], Array], name: str) -> Handler:
    def handler(call: Call) -> tuple[Any, ...]:
        call.attributes.only()
        if any(isinstance(value, outcome.OUTCOMES) for value in call.inputs):
            return (outcome.compare(call.inputs, name, call.where),)
        table, numbers, flipped = _with_constants(call)
        stepped, flags = _beside(operation, flipped), np.array([False, True])
        columns = [
            column.stepwise(stepped(number), np.array([float(number)]), flags)
            for column, number in zip(table.numbers(call.where), numbers, strict=True)
        ]
        return (replace(table, columns=tuple(columns), kind=BOOL),)

    return handler


def _argmax(call: Call) -> tuple[Any, ...]:
    call.attributes.only("axis", "keepdims", "select_last_index")
    last = call.attributes.integer("select_last_index", 0) != 0
    axis = call.attributes.integer("axis", 0)
    if isinstance(call.input(0), outcome.OUTCOMES):
        return (outcome.winner(call.input(0), axis, last, call.where),)
    table = table_of(call)
    _last_axis(call, axis, table)
    if last or not call.attributes.integer("keepdims", 1):
        raise UnsupportedModelError(f"{call.where}: its options are not supported.")
    column = argmax(table.numbers(call.where), call.where)
    return (Table((column,), INT64, table.rank),)


def _mean(call: Call) -> tuple[Any, ...]:
    call.attributes.only("axes", "keepdims", "noop_with_empty_axes")
    axes = call.attributes.integers("axes")
    if call.input(1) is not None:
        axes = constant_of(call, 1).ravel()
    if axes.tolist() != [0] or call.attributes.integer("keepdims", 1):
        raise UnsupportedModelError(f"{call.where}: its options are not supported.")
    return (outcome.mean(call.input(0), call.where),)


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
}
