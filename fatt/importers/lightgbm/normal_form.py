"""The trees and columns of a LightGBM file: checked, and in normal form."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import msgspec
import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical, Feature, Label, Numeric, Trees
from fatt.ensemble.trees import starts_of
from fatt.errors import UnsupportedModelError
from fatt.importers.lightgbm.text import (
    Floats,
    Ints,
    Text,
    fail,
    read_floats,
    read_ints,
)
from fatt.importers.registry import category_sets, check_codes

#: Numbers up to this size, either way, are zero for LightGBM before any tree sees them.
ZERO = float(np.float32(1e-35))

_IS_SET, _DEFAULT_LEFT = 1, 2
_WORD_BITS = 32
_WORD_LIMIT = 2**_WORD_BITS

# Codes that no split knows are for people only, and left out if they are large.
_LISTED_LIMIT = 2**10

#: Says that people are given by codes.
UNMATCHED = (
    "The model was trained on a data frame with categories, and does not say which "
    "columns they belong to; its category columns take codes, not labels."
)


class Missing(IntEnum):
    """What a numeric split takes for missing."""

    NONE = 0
    ZERO = 1
    NAN = 2


@dataclass(frozen=True)
class CategorySets:
    """The codes that the categorical splits of all trees take to the left.

    Entry ``i`` says that set ``number[i]`` holds ``code[i]``.
    """

    count: int
    number: Ints
    code: Ints


@dataclass(frozen=True)
class Forest:
    """The trees as the file stores them, one after the other.

    Tree ``t`` has ``n_leaves[t]`` leaves and one split less. A child that is not
    negative is a split of the same tree, ``-1 - i`` is its leaf ``i``. A split with
    ``subset`` -1 is numeric, any other takes the codes of that set to the left.
    """

    n_leaves: Ints
    feature: Ints
    threshold: Floats
    missing: Ints
    default_left: NDArray[np.bool_]
    subset: Ints
    left: Ints
    right: Ints
    values: Floats
    sets: CategorySets


def read_forest(text: Text, n_features: int) -> Forest:
    """Convert and check the lines of all trees."""
    if not {b"", b"0"}.issuperset(text.trees["is_linear"]):
        raise UnsupportedModelError(
            "the LightGBM model has linear trees, whose leaves are formulas and not "
            "numbers. Train it with linear_tree=False."
        )
    once = np.ones(text.n_trees, dtype=np.int64)
    n_leaves = read_ints(text, "num_leaves", once)
    n_sets = read_ints(text, "num_cat", once)
    if (n_leaves < 1).any() or (n_sets < 0).any():
        fail("a tree has no leaf, or a negative number of category sets")
    n_splits = n_leaves - 1
    feature, decision, left, right = (
        read_ints(text, key, n_splits)
        for key in ("split_feature", "decision_type", "left_child", "right_child")
    )
    threshold = read_floats(text, "threshold", n_splits)
    if ((feature < 0) | (feature >= n_features)).any():
        fail(f"a split_feature is outside the {n_features} features")
    if ((decision < 0) | (decision >> 2 > max(Missing))).any():
        fail("a decision_type is unknown")
    for child in (left, right):
        splits, leaves = np.repeat(n_splits, n_splits), np.repeat(n_leaves, n_splits)
        if ((child >= splits) | (child < -leaves)).any():
            fail("a left_child or right_child is outside its tree")
    return Forest(
        n_leaves=n_leaves,
        feature=feature,
        threshold=threshold,
        missing=decision >> 2,
        default_left=(decision & _DEFAULT_LEFT) != 0,
        subset=_subsets(threshold, (decision & _IS_SET) != 0, n_splits, n_sets),
        left=left,
        right=right,
        values=read_floats(text, "leaf_value", n_leaves),
        sets=_read_sets(text, n_sets),
    )


def _subsets(
    threshold: Floats, is_set: NDArray[np.bool_], n_splits: Ints, n_sets: Ints
) -> Ints:
    """Return for each split the number of its set among those of all trees, or -1."""
    number = np.where(is_set, threshold, 0.0)
    inside = (number >= 0) & (number < np.repeat(n_sets, n_splits))
    if not (inside | ~is_set).all():
        fail("a categorical split names a category set that its tree does not have")
    first = np.repeat(starts_of(n_sets), n_splits)
    subset = np.where(is_set, first + number.astype(np.int64), -1)
    if len(np.unique(subset[is_set])) != is_set.sum():
        fail("two categorical splits share a category set")
    return subset


def _read_sets(text: Text, n_sets: Ints) -> CategorySets:
    """Read the sets, which are stored as words of 32 bits, one bit per code."""
    n_bounds = np.where(n_sets > 0, n_sets + 1, 0)
    bounds = read_ints(text, "cat_boundaries", n_bounds)
    starts = starts_of(n_bounds)
    is_first = np.zeros(len(bounds), dtype=bool)
    is_first[starts[n_sets > 0]] = True
    lengths = np.diff(bounds, prepend=0)[~is_first]
    if bounds[is_first].any() or (lengths < 0).any():
        fail("the cat_boundaries of a tree do not increase from 0")
    n_words = np.zeros(len(n_sets), dtype=np.int64)
    n_words[n_sets > 0] = bounds[(starts + n_sets)[n_sets > 0]]
    words = read_ints(text, "cat_threshold", n_words)
    if ((words < 0) | (words >= _WORD_LIMIT)).any():
        fail("a cat_threshold is no word of 32 bits")
    bits = np.unpackbits(words.astype("<u4").view(np.uint8), bitorder="little")
    place = np.flatnonzero(bits)
    number = np.repeat(np.arange(len(lengths)), lengths)[place // _WORD_BITS]
    first_bit = starts_of(lengths) * _WORD_BITS
    return CategorySets(len(lengths), number, place - first_bit[number])


def lay_out(forest: Forest, features: Sequence[Feature], n_outputs: int) -> Trees:
    """Bring the trees into the normal form."""
    n_splits = forest.n_leaves - 1
    total = len(forest.feature)
    first_split = starts_of(n_splits)
    first_leaf = starts_of(forest.n_leaves) + total
    split, leaf = np.repeat(first_split, n_splits), np.repeat(first_leaf, n_splits)
    leaves = np.arange(len(forest.values))
    none = np.full(len(leaves), -1)
    children = [
        np.append(np.where(child >= 0, child + split, leaf - 1 - child), none)
        for child in (forest.left, forest.right)
    ]
    return Trees.lay_out(
        roots=np.where(n_splits > 0, first_split, first_leaf),
        feature=np.append(forest.feature, none),
        threshold=np.append(_without_zeros(forest.threshold), none),
        left=children[0],
        right=children[1],
        missing_left=np.append(_missing_left(forest, features), none == 0),
        leaf=np.append(np.full(total, -1), leaves),
        values=forest.values,
        targets=np.arange(len(n_splits)) % n_outputs,
        subset=np.append(forest.subset, none),
        sets=_code_sets(forest, features),
    )


def _without_zeros(threshold: Floats) -> Floats:
    """Move thresholds out of the band of numbers that LightGBM reads as zero.

    The numbers of the band go all to the left or all to the right, as zero does.
    """
    moved = np.where(threshold >= 0, ZERO, np.nextafter(-ZERO, -np.inf))
    return np.where(np.abs(threshold) <= ZERO, moved, threshold)


def _missing_left(forest: Forest, features: Sequence[Feature]) -> NDArray[np.bool_]:
    """Tell where missing values go; a missing category goes to the right.

    Splits of one feature can differ in what they take for missing, if training was
    continued on other data.
    """
    numeric = forest.subset < 0
    zero_left = forest.threshold >= 0
    zero_is_missing = np.array(
        [isinstance(f, Numeric) and f.missing_range is not None for f in features],
        dtype=bool,
    )[forest.feature]
    clash = (
        numeric
        & zero_is_missing
        & (forest.missing == Missing.NAN)
        & (zero_left != forest.default_left)
    )
    if clash.any():
        name = features[forest.feature[np.argmax(clash)]].name
        raise UnsupportedModelError(
            f"feature {name!r} takes zero for missing in some splits and only NaN in "
            "others, as after training that was continued with another "
            "zero_as_missing. Train the model in one go."
        )
    default = np.where(forest.missing == Missing.NONE, zero_left, forest.default_left)
    return numeric & default


def _code_sets(forest: Forest, features: Sequence[Feature]) -> list[NDArray[np.bool_]]:
    """Return each set as one truth value per code of its feature."""
    sizes = np.array([_n_codes(feature) for feature in features])[forest.feature]
    n_codes = np.zeros(forest.sets.count, dtype=np.int64)
    n_codes[forest.subset[forest.subset >= 0]] = sizes[forest.subset >= 0]
    return category_sets(n_codes, forest.sets.number, forest.sets.code)


def _n_codes(feature: Feature) -> int:
    return feature.n_codes if isinstance(feature, Categorical) else 0


@dataclass(frozen=True)
class Columns:
    """The features, whether their names are people's own, and notes for people."""

    features: tuple[Feature, ...]
    named: bool
    notes: tuple[str, ...]


def read_names(text: Text) -> list[str]:
    """Return the names of the features."""
    names = text.line("feature_names").split(" ") if text.line("feature_names") else []
    if len(names) != text.count("max_feature_idx") + 1:
        fail(
            f"there are {len(names)} feature_names, and max_feature_idx is "
            f"{text.count('max_feature_idx')}"
        )
    return names


def read_columns(text: Text, names: list[str], forest: Forest) -> Columns:
    """Describe the features as the trees and the header use them."""
    infos = text.line("feature_infos").split(" ")
    if len(infos) != len(names):
        fail(f"there are {len(infos)} feature_infos for {len(names)} features")
    categorical = _categorical(text, names, infos, forest)
    split_codes = _split_codes(forest, len(names))
    n_codes = {}
    for index in categorical:
        listed = _listed_codes(infos[index])
        shown = listed if listed <= _LISTED_LIMIT else 0
        n_codes[index] = max(split_codes[index], shown)
    check_codes(sum(n_codes.values()))
    labels = _labels(text)
    known = _match(labels, categorical, infos, split_codes)
    named = names != [f"Column_{index}" for index in range(len(names))]
    by_zero = np.zeros(len(names), dtype=bool)
    by_zero[forest.feature[forest.missing == Missing.ZERO]] = True
    return Columns(
        features=tuple(
            _category(name, known.get(index, []), n_codes[index])
            if index in n_codes
            else Numeric(
                name=name, missing_range=(-ZERO, ZERO) if by_zero[index] else None
            )
            for index, name in enumerate(names)
        ),
        named=named,
        notes=(UNMATCHED,) * (bool(labels) and not known),
    )


def _categorical(
    text: Text, names: list[str], infos: list[str], forest: Forest
) -> list[int]:
    """Return which features are categorical, in order.

    Splits decide. Of features without splits the header knows those that have bins,
    and the parameters also those that have one value only.
    """
    by_set = set(forest.feature[forest.subset >= 0].tolist())
    by_number = set(forest.feature[forest.subset < 0].tolist())
    both = sorted(by_set & by_number)
    if both:
        raise UnsupportedModelError(
            f"feature {names[both[0]]!r} is a number in some splits and a category in "
            "others, as after training that was continued with other categories. "
            "Train the model in one go."
        )
    listed = set(text.parameter("categorical_feature").split(","))
    unsplit = {
        index
        for index, info in enumerate(infos)
        if (str(index) in listed if info == "none" else not info.startswith("["))
    }
    return sorted(by_set | (unsplit - by_number))


def _labels(text: Text) -> list[list[Label]]:
    """Return the categories of pandas, one list per column of that type."""
    found = text.tail.rpartition("\npandas_categorical:")[2]
    if found == text.tail:
        return []
    try:
        return msgspec.json.decode(found, type=list[list[Label]] | None) or []
    except msgspec.MsgspecError as error:
        fail(f"pandas_categorical cannot be read: {error}")


def _match(
    labels: list[list[Label]],
    categorical: list[int],
    infos: list[str],
    split_codes: list[int],
) -> dict[int, list[Label]]:
    """Return the labels of each categorical feature, or none at all.

    A file does not say which columns its labels belong to. They are those that had
    the category type of pandas, in order, and as a rule these are the categorical
    features. But LightGBM reads ordered categories as numbers, and other columns can
    be declared categorical. This shows if the counts differ or if a feature has codes
    without a label; if neither is so, labels of other columns are given here unnoticed.
    """
    if len(labels) != len(categorical):
        return {}
    known = dict(zip(categorical, labels, strict=True))
    fits = all(
        not infos[index].startswith("[")
        and max(split_codes[index], _listed_codes(infos[index])) <= len(own)
        and len(own) == len(set(own))
        for index, own in known.items()
    )
    return known if fits else {}


def _split_codes(forest: Forest, n_features: int) -> list[int]:
    """Return how many codes, up to the largest one, the splits of a feature know."""
    owner = np.full(forest.sets.count, n_features)
    owner[forest.subset[forest.subset >= 0]] = forest.feature[forest.subset >= 0]
    # One place more, for the sets of no split.
    n_codes = np.zeros(n_features + 1, dtype=np.int64)
    np.maximum.at(n_codes, owner[forest.sets.number], forest.sets.code + 1)
    return n_codes.tolist()


def _listed_codes(info: str) -> int:
    """Return how many codes, up to the largest one, the header lists."""
    codes = re.findall(r"(?<![0-9-])[0-9]{1,10}(?![0-9])", info, re.ASCII)
    return max(map(int, codes), default=-1) + 1


def _category(name: str, labels: list[Label], n_codes: int) -> Categorical:
    return Categorical(
        name=name,
        categories=tuple(labels or range(n_codes)),
        coding="truncate",
        labelled=bool(labels),
    )
