"""LightGBM's text format: a header, the trees and a tail of parameters.

Numbers of all trees are converted together, key by key: tree by tree would take many
times longer.
"""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from fatt.errors import MalformedModelError, UnsupportedModelError
from fatt.importers.versions import TESTED, releases_of

Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]

_Number = TypeVar("_Number", int, float)

# Numbers stand between blanks in a tree, and between commas in JSON.
_COMMAS = bytes.maketrans(b" ", b",")

# The lines of a tree that are read, in the order in which LightGBM writes them.
_KEYS = (
    "num_leaves",
    "num_cat",
    "split_feature",
    "threshold",
    "decision_type",
    "left_child",
    "right_child",
    "leaf_value",
)
_LATE_KEYS = ("cat_boundaries", "cat_threshold", "is_linear")

# Known besides: lines that tell of training, or of leaves that are formulas.
_OTHER_KEYS = {
    *("Tree", "split_gain", "leaf_weight", "leaf_count", "internal_value"),
    *("internal_weight", "internal_count", "shrinkage", "leaf_parent"),
    *("leaf_const", "num_features", "leaf_features", "leaf_coeff"),
}
_TREE_KEYS = {key.encode() for key in {*_KEYS, *_LATE_KEYS, *_OTHER_KEYS}}
_HEADER_KEYS = {
    *("tree", "version", "num_class", "num_tree_per_iteration", "label_index"),
    *("max_feature_idx", "objective", "average_output", "feature_names"),
    *("monotone_constraints", "feature_infos", "tree_sizes"),
}
_BLOCKS = ("parameters", "parser")
# All that numbers are written with, infinite ones too.
_DIGITS = b"0123456789+-.eEinf "


def _tree_pattern() -> re.Pattern[bytes]:
    """Build the pattern of one tree, which ends with empty lines.

    Other lines may stand anywhere. They are skipped possessively, so that the time is
    linear whatever the file holds, and never hold a known key, so that no line counts
    twice. They need an equals sign: without it LightGBM joins a line to the next key.
    """
    others = rf"(?:(?!Tree=|(?:{'|'.join(_KEYS + _LATE_KEYS)})=)[^=\n]++=.*+\n)*+"
    lines = [rf"Tree=(?P<Tree>.*+)\n{others}"]
    lines += [rf"{key}=(?P<{key}>.*+)\n{others}" for key in _KEYS]
    lines += [rf"(?:{key}=(?P<{key}>.*+)\n{others})?+" for key in _LATE_KEYS]
    return re.compile("".join([*lines, r"\n++"]).encode())


_TREE = _tree_pattern()


@dataclass(frozen=True)
class Text:
    """A model file: its header, the known lines of its trees, and what follows."""

    header: dict[str, str]
    trees: dict[str, tuple[bytes, ...]]
    tail: str

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.trees["Tree"])

    def line(self, key: str) -> str:
        """Return the value of a line that the header must have."""
        if key not in self.header:
            fail(f"the header has no line {key!r}")
        return self.header[key]

    def count(self, key: str) -> int:
        """Return a number of things, which the header must have."""
        text = self.line(key)
        # Longer numbers make no sense, and Python refuses to read very long ones.
        if not re.fullmatch(r"[0-9]{1,9}", text, re.ASCII):
            fail(f"{key} is {text[:40]!r}, which is no count")
        return int(text)

    def parameter(self, key: str) -> str:
        """Return a training parameter as it is written, or an empty text."""
        found = re.search(rf"^\[{key}: (.*)\]$", self.tail, re.MULTILINE)
        return found.group(1) if found else ""


def fail(what: str) -> NoReturn:
    """Raise the error for a file that contradicts itself."""
    raise MalformedModelError(
        f"the LightGBM file is damaged: {what}. Ask for a fresh copy, written by "
        "Booster.save_model."
    )


def parse(data: bytes) -> Text:
    """Take a model file apart into its lines."""
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
    if not data.startswith(b"tree\n"):
        raise MalformedModelError(
            f"a LightGBM text file starts with the line 'tree'; found {data[:16]!r}."
        )
    if b"\r" in data or b"\0" in data:
        fail("it holds a lone carriage return or a zero byte, where LightGBM stops")
    end = _end_of_trees(data)
    start = data.find(b"\nTree=", 0, end) + 1 or end
    header = _header(data[:start])
    if end == len(data) and "tree_sizes" not in header:
        fail("no line tells where the trees end, so that it may have been cut off")
    if "label_index" not in header:
        fail("the header has no line 'label_index', without which LightGBM stops")
    version = header.get("version", "")
    if version not in TESTED["LightGBM text"]:
        raise UnsupportedModelError(
            f"the LightGBM file has format version {version[:40]!r}, and only "
            f"{releases_of('LightGBM text')} are known. Load it with LightGBM "
            f"{releases_of('LightGBM')} and save it again."
        )
    _check_known(set(header) - _HEADER_KEYS, "the header")
    lines = set(re.findall(rb"^([^=\n]++)", data[start:end], re.MULTILINE))
    unknown = {key.decode(errors="replace") for key in lines - _TREE_KEYS}
    trees = _trees(data, start, end)
    _check_known(unknown, "a tree")
    if "tree_sizes" in header:
        _check_sizes(header["tree_sizes"], trees)
    columns = zip(*(tree.groups(b"") for tree in trees), strict=True)
    keys = _TREE.groupindex
    # Parameters hold file names in any encoding; all that is needed is ASCII.
    tail = data[end:].decode(errors="replace")
    _check_known(_unknown_lines(tail), "the end of the file")
    return Text(
        header=header,
        trees=dict(zip(keys, columns, strict=True))
        if trees
        else dict.fromkeys(keys, ()),
        tail=tail,
    )


def _end_of_trees(data: bytes) -> int:
    """Return where the trees end, which LightGBM says since 2.2.

    Before, the importances of the features followed. A file that has neither was cut,
    or somebody cut off what no answer needs; ``tree_sizes`` tells.
    """
    for mark in (b"\nend of trees\n", b"\n\nfeature importances:\n"):
        place = data.rfind(mark)
        if place >= 0:
            return place + 1
    return len(data)


def rewritten(text: Text) -> str:
    """Return a file with the same answers, from which LightGBM can be trusted to read.

    LightGBM ends the whole process over some lines that have no part in an answer, and
    that nobody checked. They are left out; all others are as they were.
    """
    trees = [
        "".join(
            f"{key}={value}\n"
            for key, value in zip(
                text.trees, (line.decode() for line in lines), strict=True
            )
            if value or key in _KEYS
        )
        + "\n\n"
        for lines in zip(*text.trees.values(), strict=True)
    ]
    header = {
        **text.header,
        "tree_sizes": " ".join(str(len(tree)) for tree in trees),
    }
    bare = {"tree", "average_output"}
    head = "".join(
        f"{key}\n" if key in bare else f"{key}={value}\n"
        for key, value in header.items()
    )
    labels = re.findall(r"^pandas_categorical:.*$", text.tail, re.MULTILINE)
    return "\n".join([head, *["".join(trees) + "end of trees"], "", *labels[-1:], ""])


def _check_known(unknown: set[str], where: str) -> None:
    """Refuse lines of which nobody knows whether they change an answer."""
    if unknown:
        names = ", ".join(repr(name[:40]) for name in sorted(unknown)[:5])
        raise UnsupportedModelError(
            f"{where} of the LightGBM file has lines that are not known here: {names}. "
            "They may change what the model answers. Save it with LightGBM "
            f"{releases_of('LightGBM')}."
        )


def _unknown_lines(tail: str) -> set[str]:
    """Return the lines behind the trees that belong to no known section."""
    names = "|".join(_BLOCKS)
    outside = re.sub(rf"^({names}):\n.*?^end of \1$", "", tail, flags=re.M | re.S)
    known = r"end of trees|feature[_ ]importances:|.*=[0-9]+|pandas_categorical:.*|\s*"
    return {line for line in outside.split("\n") if not re.fullmatch(known, line)}


def _header(head: bytes) -> dict[str, str]:
    try:
        lines = [line.partition("=") for line in head.decode().split("\n") if line]
    except UnicodeDecodeError as error:
        fail(f"it is no UTF-8 text ({error.reason} at byte {error.start})")
    header = {key: value for key, _, value in lines}
    if len(header) != len(lines):
        fail("the header has the same line twice")
    return header


def _trees(data: bytes, start: int, end: int) -> list[re.Match[bytes]]:
    """Match the trees that stand between two places."""
    trees: list[re.Match[bytes]] = []
    while start < end:
        tree = _TREE.match(data, start, end)
        if tree is None or tree["Tree"] != b"%d" % len(trees):
            fail(f"tree {len(trees)} lacks a line or has one too many")
        trees.append(tree)
        start = tree.end()
    return trees


def _check_sizes(told: str, trees: list[re.Match[bytes]]) -> None:
    """Compare the trees with the sizes in bytes by which LightGBM finds them."""
    sizes = told.split()
    if len(sizes) != len(trees):
        fail(f"tree_sizes lists {len(sizes)} trees, and {len(trees)} are there")
    for number, (size, tree) in enumerate(zip(sizes, trees, strict=True)):
        actual = tree.end() - tree.start()
        if size != str(actual):
            fail(f"tree {number} has {actual} bytes, and tree_sizes says {size[:40]}")


def read_ints(text: Text, key: str, counts: Ints) -> Ints:
    """Convert the whole numbers under one key of all trees, ``counts[t]`` of tree t."""
    try:
        trees = msgspec.json.decode(_as_json(text, key), type=list[list[int]])
        return _joined(trees, key, counts, np.int64)
    except (msgspec.MsgspecError, OverflowError):
        fail(f"a {key} of some tree is no whole number")


def read_floats(text: Text, key: str, counts: Ints) -> Floats:
    """Convert the numbers under one key of all trees, ``counts[t]`` of tree t."""
    try:
        trees = _decode_floats(_as_json(text, key))
        return _joined(trees, key, counts, np.float64)
    except msgspec.MsgspecError:
        fail(f"a {key} of some tree is no number")


def _as_json(text: Text, key: str) -> bytes:
    """Return the numbers under one key as an array of arrays, one for each tree."""
    lines = text.trees[key]
    if any(line.translate(None, _DIGITS) for line in lines):
        fail(f"a {key} of some tree is no number")
    return b"[[%s]]" % b"],[".join(lines).translate(_COMMAS) if lines else b"[]"


def _decode_floats(json: bytes) -> list[list[float]]:
    if b"inf" not in json:
        return msgspec.json.decode(json, type=list[list[float]])
    # JSON has no infinity; truth values stand for it on the way.
    if b"true" in json or b"false" in json:
        raise msgspec.DecodeError
    json = json.replace(b"-inf", b"false").replace(b"inf", b"true")
    infinite = {True: math.inf, False: -math.inf}
    return [
        [number if isinstance(number, float) else infinite[number] for number in tree]
        for tree in msgspec.json.decode(json, type=list[list[float | bool]])
    ]


def _joined(
    trees: list[list[_Number]], key: str, counts: Ints, dtype: type[np.generic]
) -> NDArray[Any]:
    """Return the numbers of all trees in one array, if each tree has its count."""
    found = np.array([len(tree) for tree in trees], dtype=np.int64)
    wrong = np.flatnonzero(found != counts)
    if wrong.size:
        tree = wrong[0]
        fail(
            f"tree {tree} has {found[tree]} numbers in {key}, and {counts[tree]} are "
            "expected"
        )
    numbers = itertools.chain.from_iterable(trees)
    return np.fromiter(numbers, dtype=dtype, count=int(found.sum()))
