"""The columns that a LightGBM file describes."""

from __future__ import annotations

import re
from dataclasses import dataclass

import msgspec
import numpy as np

from fatt.ensemble import Categorical, Feature, Label, Numeric
from fatt.errors import UnsupportedModelError
from fatt.importers._limits import CODES
from fatt.importers.lightgbm.forest import ZERO, Forest, Missing
from fatt.importers.lightgbm.text import Text, fail

# Codes that no split knows are for people only, and left out if they are large.
_LISTED_LIMIT = 2**10

_UNMATCHED = (
    "The model was trained on a data frame with categories, and does not say which "
    "columns they belong to; its category columns take codes, not labels."
)


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
    if sum(n_codes.values()) > CODES:
        raise UnsupportedModelError(
            f"the categories of the model have more than {CODES} codes. Number "
            "them from 0 without gaps and train again."
        )
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
        notes=(_UNMATCHED,) * (bool(labels) and not known),
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
