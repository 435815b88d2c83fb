"""Which importer reads which model, and what all of them bound and refuse."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import resources
from typing import Any, NamedTuple, Protocol, TypeAlias, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Ensemble, Label
from fatt.errors import Arg, ModelError, SpecError, UnsupportedModelError
from fatt.model import Model

Ints: TypeAlias = NDArray[np.int64]

#: How many first bytes of a file the importers look at.
HEAD = 4096

#: Packages whose objects are converted, and the modules that do it.
PACKAGES = {
    "sklearn": "sklearn",
    "xgboost": "xgboost",
    "lightgbm": "lightgbm",
    "catboost": "catboost",
    "imblearn": "columns.pipelines",
    "onnx": "onnx",
    "fatt": "native",
}

# A file of some bytes can name any number of columns, or any large category. Real
# models stay far below these bounds; without them a small file could fill the memory.

#: Columns of one model.
FEATURES = 2**17

#: Categories of all columns together; each is listed, also if no split names it.
CODES = 2**20

#: Bits of all category sets together, and so many more for each set.
SET_BITS, BITS_OF_A_SET = 2**27, 2**11


def check_codes(n_codes: int) -> None:
    """Refuse a model whose columns have too many categories together."""
    if n_codes > CODES:
        raise UnsupportedModelError(
            f"the columns of the model have {n_codes} categories together; fatt reads "
            f"up to {CODES}. Number them from 0 without gaps, or merge rare ones, and "
            "train again."
        )


def check_bits(n_bits: int, n_sets: int) -> None:
    """Refuse a model whose category sets are too large together."""
    most = SET_BITS + BITS_OF_A_SET * n_sets
    if n_bits > most:
        raise UnsupportedModelError(
            f"the category sets of the model take {n_bits} bits together; fatt reads "
            f"up to {most}. Number the categories from 0 without gaps, or merge "
            "rare ones, and train again."
        )


def category_sets(n_codes: Ints, number: Ints, code: Ints) -> list[NDArray[np.bool_]]:
    """Return sets as one truth value for each code of their columns.

    Parameters
    ----------
    n_codes
        For each set, how many codes its column has; 0 if no split asks for the set.
    number, code
        The members: which set holds which code.

    Raises
    ------
    UnsupportedModelError
        If the sets are too large together.
    """
    ends = np.cumsum(n_codes)
    starts = ends - n_codes
    total = int(n_codes.sum())
    check_bits(total, len(n_codes))
    used = n_codes[number] > 0
    bits = np.zeros(total, dtype=bool)
    bits[starts[number[used]] + code[used]] = True
    spans = zip(starts.tolist(), ends.tolist(), strict=True)
    return [bits[start:end] for start, end in spans]


def refusing_missing(ensemble: Ensemble) -> Ensemble:
    """Return a form that reads no missing values, as scikit-learn in sparse rows."""
    features = tuple(
        msgspec.structs.replace(feature, accepts_missing=False)
        for feature in ensemble.features
    )
    return replace(ensemble, features=features)


class Library(Protocol):
    """What a module of this package does for its models, as far as they need it."""

    def read(self, data: bytes, *, missing: float | None) -> Model:
        """Read the bytes of a file."""
        ...

    def convert(self, model: Any, *, missing: float | None) -> Model:
        """Convert a fitted object."""
        ...

    def on_sparse_rows(self, ensemble: Ensemble, model: Any) -> Ensemble:
        """Return what reads the dense copy as the fitted model reads sparse rows."""
        ...


class Format(NamedTuple):
    """A file format: its module, its suffixes, and how its first bytes look."""

    module: str
    suffixes: tuple[str, ...]
    looks_so: Callable[[bytes], bool]
    runs_code: bool = False

    def library(self) -> Library:
        """Import the module that reads the format."""
        return _module(self.module)


_CATBOOST = re.compile(
    rb'\s*\{\s*"(ctr_data|features_info|model_info|oblivious_trees|scale_and_bias|'
    rb'trees)"'
)


def _is_catboost(head: bytes) -> bool:
    """Tell a CatBoost file: its magic number, or the first member of its JSON form."""
    return head.startswith(b"CBM1") or _CATBOOST.match(head) is not None


#: The names of an objective and a booster, behind the first structure of XGBoost's
#: old binary files.
XGBOOST_BINARY = re.compile(
    rb"(binf)?.{136}[\1-\x40]\0{7}[a-z0-9:_-]+.\0{7}(gbtree|dart|gblinear)", re.DOTALL
)


def _is_xgboost(head: bytes) -> bool:
    """Tell an XGBoost file: JSON, UBJSON, or binary with its two names."""
    return (
        head.lstrip().startswith((b"{", b"bs64"))
        or XGBOOST_BINARY.match(head) is not None
    )


#: How pickles start: plain ones, the oldest kinds, and those that joblib compressed.
_PICKLES = (
    *(b"\x80", b"ccopy_reg\n", b"(dp", b"(lp", b"(i", b"\x1f\x8b", b"BZh"),
    *(b"\xfd7zXZ", b"\x5d\0\0", b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda"),
)

FORMATS = (
    Format("native", (".fatt",), lambda head: head.startswith(b"fatt-ensemble-")),
    Format("files.skops", (".skops",), lambda head: head.startswith(b"PK\x03\x04")),
    Format("lightgbm", (".txt", ".lgb"), lambda head: head.startswith(b"tree")),
    Format("catboost", (".cbm",), _is_catboost),
    Format(
        "xgboost",
        (".json", ".ubj", ".ubjson", ".xgb", ".model", ".bin", ".deprecated"),
        _is_xgboost,
    ),
    Format(
        "files.pickles",
        (".pkl", ".pickle", ".joblib"),
        lambda head: head.startswith(_PICKLES),
        runs_code=True,
    ),
    # A protobuf message has no magic number: ONNX starts with its field 1, a number.
    Format("onnx", (".onnx",), lambda head: head.startswith(b"\x08")),
)


def format_of(name: str, head: bytes) -> Format:
    """Recognise a file by its first bytes, then by its suffix.

    Parameters
    ----------
    name
        Name of the file.
    head
        Its first bytes.
    """
    for known in FORMATS:
        if known.looks_so(head):
            return known
    for known in FORMATS:
        if name.lower().endswith(known.suffixes):
            return known
    suffixes = ", ".join(suffix for known in FORMATS for suffix in known.suffixes)
    raise UnsupportedModelError(
        f"the file starts with {head[:8]!r}, which is no known model format. "
        f"Known suffixes: {suffixes}."
    )


def library_of(model: object) -> Library:
    """Choose the module that converts a fitted object, by the package of its class."""
    package = type(model).__module__.partition(".")[0]
    if package in PACKAGES:
        return _module(PACKAGES[package])
    name = f"{type(model).__module__}.{type(model).__qualname__}"
    if package == "builtins":
        raise UnsupportedModelError(
            f"cannot import a {type(model).__name__}: pass the path of a model file, "
            "or a fitted model."
        )
    for parent in type(model).__mro__[1:]:
        # Some of the libraries' classes are there to be inherited from, and no models.
        if parent.__module__.partition(".")[0] in PACKAGES and hasattr(
            parent, "predict"
        ):
            raise UnsupportedModelError(
                f"cannot import {name}, a kind of {parent.__name__} that may predict "
                f"something else: pass a {parent.__name__} itself, or its file, if "
                "fatt reads these."
            )
    raise UnsupportedModelError(
        f"cannot import {name}, of which fatt does not know what it computes. Pass a "
        "tree model of scikit-learn, XGBoost, LightGBM or CatBoost, an ONNX model, or "
        "the path of a file of one."
    )


def loaded_versions() -> dict[str, str]:
    """Return the versions of all that read or answered for models until now."""
    packages = ["numpy", *PACKAGES, "onnxruntime"]
    packages.remove("fatt")
    loaded = {name: sys.modules[name] for name in packages if name in sys.modules}
    return {name: str(module.__version__) for name, module in loaded.items()}


def _module(name: str) -> Library:
    return cast(Library, importlib.import_module(f"fatt.importers.{name}"))


@contextmanager
def inside(place: str) -> Iterator[None]:
    """Say in refusals what they are about."""
    try:
        yield
    except ModelError as error:
        raise type(error)(f"{place}: {error}") from error.__cause__


def listed(package: str, file: str) -> dict[str, list[str]]:
    """Return the names that a text file of a package lists, by what stands above them.

    Its paragraphs begin with a line that ends with a colon; the first is a comment.
    """
    path = resources.files(f"fatt.importers.{package}") / file
    entries = path.read_text(encoding="utf-8").split("\n\n")[1:]
    parts = (f"{entry}\n".partition(":\n") for entry in entries)
    return {above: names.split() for above, _, names in parts}


def plain_label(value: Any, what: str) -> Label:
    """Return the string, number or boolean that a value stands for.

    Parameters
    ----------
    value
        A category or class, as numpy or Python holds it.
    what
        What holds it, for the message.

    Raises
    ------
    UnsupportedModelError
        If it is of another kind. Dates are: numpy would turn some into integers.
    """
    is_date = isinstance(value, np.datetime64 | np.timedelta64)
    plain = value.item() if isinstance(value, np.generic) and not is_date else value
    if not isinstance(plain, str | int | float):
        raise UnsupportedModelError(
            f"{what} holds {value!r} of type {type(value).__name__}; fatt knows "
            "strings, numbers and booleans. Train the model on such values."
        )
    return plain


def refuse_missing(missing: float | None, what: str) -> None:
    """Raise unless the caller left `missing` alone, which only XGBoost knows."""
    if missing is not None:
        raise SpecError(
            f"{Arg('missing', missing)} was given for {what}; only XGBoost models take "
            "a number for missing. Leave the argument out."
        )


def refuse_replaced(model: object) -> None:
    """Refuse an object on which somebody replaced a method of its class.

    Parameters
    ----------
    model
        Fitted object of any library.

    Raises
    ------
    UnsupportedModelError
        If an attribute of the object hides a method of its class, and with it what
        the class would have answered. (A property cannot be hidden: an attribute of
        its name, which older versions of a library left behind, is never read.)
    """
    kind = type(model)
    for name in getattr(model, "__dict__", ()):
        hidden = next((c.__dict__[name] for c in kind.__mro__ if name in c.__dict__), 0)
        if hasattr(hidden, "__set__"):
            continue
        if callable(hidden) or hasattr(hidden, "__get__"):
            raise UnsupportedModelError(
                f"the {name} of this {kind.__name__} was replaced on the object, so "
                f"that it may answer something else than a {kind.__name__} does. "
                f"Delete the replacement (del model.{name}), or load the model anew."
            )
