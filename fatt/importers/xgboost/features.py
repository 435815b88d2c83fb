"""The features of an XGBoost model: which values it takes, and how it reads them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical, Feature, Numeric
from fatt.ensemble.floats import FLOAT32_LIMIT, at_most_float32, below_float32
from fatt.errors import MalformedModelError, SpecError, UnsupportedModelError
from fatt.importers._limits import CODES
from fatt.importers.xgboost.file import ModelFile


@dataclass(frozen=True)
class Cells:
    """What the cells of a table may hold.

    Attributes
    ----------
    missing
        The number taken for missing besides NaN, or NaN.
    limit
        Largest absolute value that is taken.
    """

    missing: float
    limit: float

    def missing_range(self) -> tuple[float, float] | None:
        """Return the numbers whose float32 equals the one taken for missing."""
        if math.isnan(self.missing):
            return None
        if FLOAT32_LIMIT < abs(self.missing) < math.inf:
            raise SpecError(
                f"missing={self.missing} is beyond float32, in which XGBoost compares; "
                "pass a number it can hold, or an infinity."
            )
        single = np.float32(self.missing)
        low = -math.inf
        if single > -np.inf:
            low = float(np.nextafter(below_float32(single), np.inf))
        return low, float(at_most_float32(single))

    def may_miss_codes(self) -> bool:
        """Tell whether the number taken for missing could be the code of a category."""
        single = np.float32(self.missing)
        return bool(np.isfinite(single) and single >= 0 and single == np.trunc(single))


def make_features(
    file: ModelFile, cells: Cells
) -> tuple[tuple[Feature, ...], NDArray[np.int64]]:
    """Return the features, and the number of categories of each (-1 for numbers)."""
    n_codes = _n_codes(file)
    names = file.feature_names or [f"f{index}" for index in range(file.n_features)]
    missing_range = cells.missing_range()
    features: list[Feature] = []
    for index, name in enumerate(names):
        if n_codes[index] < 0:
            numeric = Numeric(
                name=name,
                lower=-cells.limit,
                upper=cells.limit,
                missing_range=missing_range,
            )
            features.append(numeric)
            continue
        labels = file.categories[index]
        # A frame's own codes are compared with `missing` before its labels are
        # matched, so that labels say nothing if a code may mean missing.
        labelled = labels is not None and not cells.may_miss_codes()
        categorical = Categorical(
            name=name,
            categories=labels if labels and labelled else tuple(range(n_codes[index])),
            coding="floor",
            labelled=labelled,
            lower=-cells.limit,
            upper=cells.limit,
            missing_range=missing_range,
        )
        features.append(categorical)
    return tuple(features), n_codes


def _n_codes(file: ModelFile) -> NDArray[np.int64]:
    trees = file.trees
    inner = trees.left != -1
    used = trees.feature[inner]
    if len(used) and (used.min() < 0 or used.max() >= file.n_features):
        raise MalformedModelError(
            f"a node splits on a feature beyond the {file.n_features} that there are."
        )
    n_codes = np.full(file.n_features, -1, dtype=np.int64)
    for index, kind in enumerate(file.feature_types):
        if kind == "c":
            n_codes[index] = len(file.categories[index] or ())
    owners = trees.feature[trees.set_nodes]
    if len(owners) and (owners.min() < 0 or owners.max() >= file.n_features):
        raise MalformedModelError("a category set belongs to no feature.")
    members = trees.set_members
    if len(members) and members.min() < 0:
        raise MalformedModelError(f"a category set holds {members.min()}.")
    if len(members) and members.max() >= CODES:
        raise UnsupportedModelError(
            f"a category set holds the code {members.max()}; fatt reads codes up to "
            f"{CODES - 1}. Number the categories from 0."
        )
    known = n_codes.copy()
    np.maximum.at(n_codes, np.repeat(owners, trees.set_sizes), members + 1)
    beyond = np.flatnonzero((known > 0) & (n_codes > known))
    if len(beyond):
        first = beyond[0]
        raise MalformedModelError(
            f"a split of feature {first} names category {n_codes[first] - 1}, and only "
            f"{known[first]} are stored."
        )
    if n_codes.sum() > CODES:
        raise UnsupportedModelError(
            f"the features have {n_codes.sum()} categories together; fatt reads up to "
            f"{CODES}."
        )
    by_number = trees.feature[inner & ~trees.is_set]
    mixed = by_number[n_codes[by_number] >= 0]
    if len(mixed):
        raise UnsupportedModelError(
            f"feature {mixed[0]} is split both by thresholds and as categories; train "
            "the model with one type for it."
        )
    return n_codes
