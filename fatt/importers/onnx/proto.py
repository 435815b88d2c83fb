"""ONNX protobuf messages, checked and turned into arrays.

Nothing here trusts a length that the file declares: every array is built from elements
that the file holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fatt.errors import MalformedModelError, UnsupportedModelError, needs
from fatt.importers.registry import inside

Array: TypeAlias = NDArray[Any]

# Numbers of element types and attribute types, as the ONNX format fixes them.
FLOAT, UINT8, INT32, INT64, STRING, BOOL, DOUBLE = 1, 2, 6, 7, 8, 9, 11
DTYPES: dict[int, np.dtype[Any]] = {
    FLOAT: np.dtype("<f4"),
    UINT8: np.dtype("u1"),
    INT32: np.dtype("<i4"),
    INT64: np.dtype("<i8"),
    BOOL: np.dtype("?"),
    DOUBLE: np.dtype("<f8"),
}
_FIELDS = {
    FLOAT: "float_data",
    UINT8: "int32_data",
    INT32: "int32_data",
    INT64: "int64_data",
    STRING: "string_data",
    BOOL: "int32_data",
    DOUBLE: "double_data",
}
_KINDS = {1: "f", 2: "i", 3: "s", 4: "t", 6: "floats", 7: "ints", 8: "strings"}


#: The fields of each message whose meaning is known here, or that have none.
_FIELDS_KNOWN = {
    "ModelProto": {
        *("ir_version", "opset_import", "producer_name", "producer_version"),
        *("domain", "model_version", "doc_string", "graph", "metadata_props"),
    },
    "GraphProto": {
        *("node", "name", "initializer", "doc_string", "input", "output"),
        *("value_info", "metadata_props"),
    },
    "NodeProto": {
        *("input", "output", "name", "op_type", "domain", "attribute"),
        *("doc_string", "metadata_props"),
    },
    "AttributeProto": {
        *("name", "doc_string", "type", "f", "i", "s", "t"),
        *("floats", "ints", "strings"),
    },
    "TensorProto": {
        *("dims", "data_type", "name", "doc_string", "raw_data", "float_data"),
        *("int32_data", "int64_data", "string_data", "double_data"),
        *("metadata_props", "external_data", "data_location"),
    },
    "OperatorSetIdProto": {"domain", "version"},
    "ValueInfoProto": {"name", "type", "doc_string", "metadata_props"},
    "TypeProto": {"tensor_type", "denotation"},
    "Tensor": {"elem_type", "shape"},
    "TensorShapeProto": {"dim"},
    "Dimension": {"dim_value", "dim_param", "denotation"},
}
#: Lists of messages of which only some matter: they are looked at one by one.
_APART = {
    *("node", "initializer", "value_info", "output"),
    *("metadata_props", "external_data"),
}


def refuse_unknown(message: Any) -> None:
    """Refuse a message with a field whose meaning is not known, or below it.

    Parameters
    ----------
    message
        A message of the format.

    Raises
    ------
    UnsupportedModelError
        If a field is set that may change what the model answers: one that this
        program does not follow, or that the installed ``onnx`` does not even know.
    """
    from google.protobuf.message import Message
    from google.protobuf.unknown_fields import UnknownFieldSet

    kind = message.DESCRIPTOR.name
    known = _FIELDS_KNOWN.get(kind, set())
    unknown = [str(field.field_number) for field in UnknownFieldSet(message)]
    fields = message.ListFields()
    unknown += [field.name for field, _ in fields if field.name not in known]
    if unknown:
        raise UnsupportedModelError(
            f"its field {unknown[0]} ({kind}) is not supported, and may "
            "change what the model answers. Export the model without it."
        )
    for field, value in fields:
        if field.message_type is None or field.name in _APART:
            continue
        for part in [value] if isinstance(value, Message) else value:
            refuse_unknown(part)


def parse(data: bytes) -> Any:
    """Parse the bytes of an ONNX file into a ``ModelProto``."""
    try:
        from onnx import ModelProto
    except ImportError:
        raise needs("onnx", "reading .onnx files", "onnx") from None
    from google.protobuf.message import DecodeError

    try:
        return ModelProto.FromString(data)
    except DecodeError as error:
        raise MalformedModelError(
            f"the file is no whole ONNX model ({error}). Export the model again."
        ) from error


def describe(node: Any) -> str:
    """Name a node of the graph for messages."""
    name = f" {node.name!r}" if node.name else ""
    return f"node{name} ({node.op_type})"


def text(value: bytes) -> str:
    """Decode a string of the file."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError as error:
        raise MalformedModelError("a string is not UTF-8.") from error


def tensor_array(tensor: Any) -> Array:
    """Return the values of a tensor; strings become an array of objects.

    Raises
    ------
    UnsupportedModelError
        If the values are in another file, or of a type that no tree model needs.
    MalformedModelError
        If the shape and the number of values disagree.
    """
    if tensor.external_data or tensor.data_location:
        raise UnsupportedModelError(
            "its values are in another file. Save the model as one file, "
            "without external data."
        )
    refuse_unknown(tensor)
    kind, shape = tensor.data_type, [int(size) for size in tensor.dims]
    if kind not in _FIELDS:
        raise UnsupportedModelError(f"element type {kind} is not supported.")
    if kind == STRING:
        array = np.empty(len(tensor.string_data), dtype=object)
        array[:] = [text(value) for value in tensor.string_data]
    elif tensor.raw_data:
        if any(len(getattr(tensor, field)) for field in {*_FIELDS.values()}):
            raise MalformedModelError("its values are given twice.")
        dtype = DTYPES[kind]
        if len(tensor.raw_data) % dtype.itemsize:
            raise MalformedModelError("its values are cut off.")
        array = np.frombuffer(tensor.raw_data, dtype=dtype)
    else:
        array = np.array(getattr(tensor, _FIELDS[kind])).astype(DTYPES[kind])
    if min(shape, default=1) < 0 or math.prod(shape) != len(array):
        raise MalformedModelError(
            f"the shape {shape} does not fit its {len(array)} values."
        )
    return array.reshape(shape)


class Attributes:
    """The attributes of one node, by name and expected kind.

    Parameters
    ----------
    node
        The node.
    """

    def __init__(self, node: Any) -> None:
        self._values: dict[str, Any] = {}
        for attribute in node.attribute:
            if attribute.name in self._values:
                raise MalformedModelError(
                    f"attribute {attribute.name!r} is given twice."
                )
            if attribute.type not in _KINDS:
                raise UnsupportedModelError(
                    f"attribute {attribute.name!r} holds a graph or "
                    "another thing that no tree model needs."
                )
            self._values[attribute.name] = attribute
        refuse_unknown(node)

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def only(self, *names: str) -> None:
        """Refuse attributes whose meaning is not known."""
        # A damaged name is bytes.
        unknown = sorted(set(self._values) - set(names), key=str)
        if unknown:
            raise UnsupportedModelError(f"attribute {unknown[0]!r} is not supported.")

    def _get(self, name: str, kind: str) -> Any:
        attribute = self._values.get(name)
        if attribute is None:
            return None
        if _KINDS[attribute.type] != kind:
            raise MalformedModelError(
                f"attribute {name!r} has another type than it should."
            )
        return getattr(attribute, kind)

    def integer(self, name: str, default: int) -> int:
        """Return an integer attribute."""
        value = self._get(name, "i")
        return default if value is None else int(value)

    def number(self, name: str, default: float) -> float:
        """Return a float attribute."""
        value = self._get(name, "f")
        return default if value is None else float(value)

    def string(self, name: str, default: str) -> str:
        """Return a string attribute."""
        value = self._get(name, "s")
        return default if value is None else text(value)

    def integers(self, name: str) -> NDArray[np.int64]:
        """Return a list of integers; empty if it is absent."""
        return np.array(self._get(name, "ints") or [], dtype=np.int64)

    def floats(self, name: str) -> NDArray[np.float32]:
        """Return a list of floats; empty if it is absent."""
        return np.array(self._get(name, "floats") or [], dtype=np.float32)

    def strings(self, name: str) -> list[str]:
        """Return a list of strings; empty if it is absent."""
        values = self._get(name, "strings") or []
        return [text(value) for value in values]

    def tensor(self, name: str) -> Array | None:
        """Return a tensor attribute; None if it is absent."""
        value = self._get(name, "t")
        if value is None:
            return None
        with inside(f"attribute {name!r}"):
            return tensor_array(value)


@dataclass(frozen=True)
class Call:
    """One operator with its attributes and what goes in.

    Attributes
    ----------
    attributes
        Its attributes.
    inputs
        Its inputs; None for an optional one that is absent.
    wanted
        For each output, whether anything needs it.
    """

    attributes: Attributes
    inputs: tuple[Any, ...]
    wanted: tuple[bool, ...]

    def input(self, index: int) -> Any:
        """Return an input; None if it is absent."""
        return self.inputs[index] if index < len(self.inputs) else None


#: Follows an operator: from what goes in to what comes out.
Handler: TypeAlias = Callable[[Call], tuple[Any, ...]]
