"""Which functions may be traced: those whose code names known operations alone.

A trace tells what becomes of the cells that it was given. Code that asks of what type
they are, what they hold, or how many they are may do something else with others, and
leave no trace of it. So it may name only what treats all cells alike, and neither
compare nor catch anything.
"""

from __future__ import annotations

import builtins
import dis
import functools
import itertools
from dataclasses import dataclass, field
from dis import Instruction
from types import CodeType, EllipsisType, FunctionType, ModuleType
from typing import Any

import numpy as np

#: What NumPy and pandas do to all cells alike, and what is done to lists and texts.
_KNOWN = {
    *("add", "subtract", "multiply", "divide", "true_divide", "negative", "positive"),
    *("square", "sum", "sub", "mul", "div", "truediv", "radd", "rsub", "rmul"),
    *("rdiv", "rtruediv", "pow", "column_stack", "hstack", "concatenate", "concat"),
    *("stack", "array", "asarray", "ones", "zeros", "c_", "r_", "newaxis"),
    *("expand_dims", "transpose", "T", "reshape", "ravel", "squeeze", "shape"),
    *("ndim", "errstate", "DataFrame", "Series", "ndarray", "assign", "copy"),
    *("to_frame", "to_numpy", "values", "columns", "index", "iloc", "loc", "drop"),
    *("rename", "insert", "set_axis", "add_prefix", "add_suffix", "apply", "pipe"),
    *("append", "extend", "items", "keys", "startswith", "endswith", "format"),
    *("combinations", "combinations_with_replacement", "product"),
}
_MODULES = frozenset({"numpy", "pandas", "itertools"})
#: Where the classes stand whose objects do what they seem to do.
_PLAIN = frozenset({"builtins", "numpy", "functools"})
_BUILTINS = {
    *("range", "len", "zip", "enumerate", "list", "tuple", "dict", "reversed"),
    *("sorted", "sum", "map", "isinstance", "hasattr", "str"),
}
#: What takes names as texts.
_BY_TEXT = frozenset({"apply", "hasattr"})
_OPERATORS = frozenset({"+", "-", "*", "/", "**", "[]"})

# What instructions are called, in all versions of Python.
_GLOBALS = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"})
_ATTRIBUTES = frozenset({"LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "IMPORT_FROM"})
_REFUSED = {
    "IS_OP": "a comparison",
    "STORE_GLOBAL": "a global variable that it sets",
    "DELETE_GLOBAL": "a global variable that it deletes",
    "LOAD_BUILD_CLASS": "a class of its own",
}


@dataclass
class Reading:
    """What the code of a function, and of those that it calls, says.

    Attributes
    ----------
    strangers
        What it names or does that is not known.
    has_conditions
        Whether it may go one way or the other.
    """

    strangers: list[str] = field(default_factory=list)
    has_conditions: bool = False
    _seen: dict[int, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, *things: Any) -> Reading:
        """Read functions, and what is handed to them.

        Examples
        --------
        >>> Reading.of(lambda table: table["debt"] / table["income"]).strangers
        []
        >>> Reading.of(lambda table: table["debt"].clip(lower=0)).strangers
        ["'clip'"]
        """
        reading = cls()
        for thing in things:
            reading._add(thing)
        return reading

    def _add(self, thing: Any) -> None:
        if id(thing) in self._seen:
            return
        self._seen[id(thing)] = thing
        parts: list[Any] = []
        match thing:
            case _ if _is_of_somebody(thing):
                self.strangers.append(repr(_name_of(thing)))
            case list() | tuple() | set() | frozenset():
                parts = list(thing)
            case dict():
                parts = [*thing, *thing.values()]
            case functools.partial():
                parts = [thing.func, thing.args, thing.keywords]
            case FunctionType():
                self._read(thing.__code__, thing)
                cells = thing.__closure__ or ()
                parts = [cell.cell_contents for cell in cells]
                parts += [thing.__defaults__, thing.__kwdefaults__]
            case _ if not _is_known(thing):
                self.strangers.append(repr(_name_of(thing)))
        for part in parts:
            self._add(part)

    def _read(self, code: CodeType, function: FunctionType) -> None:
        texts = [one for one in code.co_consts if isinstance(one, str)]
        before: Instruction | None = None
        for found in dis.get_instructions(code):
            name = str(found.argval)
            if found.opname in _GLOBALS:
                self._add_global(name, function)
            elif found.opname in _ATTRIBUTES and _is_stranger(name):
                self.strangers.append(repr(name))
            if name in _BY_TEXT and found.opname in _GLOBALS | _ATTRIBUTES:
                # Of cells, too, it may be asked what they can do.
                asked = {one for one in texts if hasattr(np.float64, one)}
                asked |= {one for one in texts if _is_stranger(one)}
                self.strangers += map(repr, sorted(asked))
            self.strangers += _done_by(found, before)
            self.has_conditions |= _decides(found, before)
            if found.opname != "TO_BOOL":
                before = found
        for one in code.co_consts:
            if isinstance(one, CodeType):
                self._read(one, function)
            else:
                self._add(one)

    def _add_global(self, name: str, function: FunctionType) -> None:
        if name in function.__globals__:
            self._add(function.__globals__[name])
        elif name not in _BUILTINS:
            self.strangers.append(repr(name))


def _is_known(thing: Any) -> bool:
    """Tell whether a thing that code names treats all cells alike."""
    match thing:
        case None | bool() | int() | float() | str() | np.number() | slice():
            return True
        case EllipsisType():
            return True
        case np.ndarray():
            return thing.dtype.kind in "biuf"
        case ModuleType():
            return thing.__name__ in _MODULES
    # An object of a library is not what its class is called.
    module = str(getattr(thing, "__module__", None) or type(thing).__module__)
    package, name = module.partition(".")[0], getattr(thing, "__name__", None)
    if package == "builtins":
        return name in _BUILTINS and thing is getattr(builtins, name)
    return package in _MODULES and name in _KNOWN


def _is_of_somebody(thing: Any) -> bool:
    """Tell whether a thing is of a class that does not do what its base does."""
    is_like_plain = isinstance(thing, int | float | str | list | tuple | dict)
    is_like_plain |= isinstance(thing, set | frozenset | np.ndarray | np.number)
    is_like_plain |= isinstance(thing, functools.partial)
    return is_like_plain and type(thing).__module__ not in _PLAIN


def _name_of(thing: Any) -> str:
    return str(getattr(thing, "__name__", type(thing).__name__))


@functools.cache
def _is_stranger(name: str) -> bool:
    """Tell whether an attribute is not known; those of no table are columns."""
    if name.startswith("__"):
        return True
    things: list[Any] = [np, np.ndarray, np.float64, itertools, str, list, dict]
    try:
        import pandas as pd
    except ImportError:
        pass
    else:
        things += [pd, pd.DataFrame, pd.Series, pd.Index]
    return name not in _KNOWN and any(hasattr(thing, name) for thing in things)


def _done_by(found: Instruction, before: Instruction | None) -> list[str]:
    """Return what an instruction does that is not known; nothing if it is."""
    last = before.opname if before else ""
    match found.opname:
        case "IMPORT_NAME" if found.argval not in _MODULES:
            return [repr(found.argval)]
        case "STORE_ATTR" if found.argval != "columns":
            return [repr(found.argval)]
        case "BINARY_OP" if found.argrepr.removesuffix("=") not in _OPERATORS:
            return [repr(found.argrepr)]
        case "COMPARE_OP":
            # Names of columns may be compared with a text.
            is_text = before is not None and before.argrepr[:1] in {"'", '"'}
            return [] if is_text else ["a comparison"]
        case _ if last == "PUSH_EXC_INFO" and found.opname != "WITH_EXCEPT_START":
            return ["an exception"]
    return [_REFUSED[found.opname]] if found.opname in _REFUSED else []


def _decides(found: Instruction, before: Instruction | None) -> bool:
    # The block that a with begins ends with a condition of its own.
    is_end = before is not None and before.opname == "WITH_EXCEPT_START"
    return found.opname == "CONTAINS_OP" or ("_IF_" in found.opname and not is_end)
