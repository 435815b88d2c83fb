"""The columns and trees of a CatBoost model, in normal form.

A split on a number asks whether its float32 is greater than a border. A split on a
category asks for one fingerprint, or for a statistic that the model keeps by category:
both are sets of categories, found by asking about each that the model knows, and about
one that it does not know.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical, Feature, Numeric, Trees
from fatt.ensemble.fingerprint import texts_behind
from fatt.ensemble.floats import at_most_float32
from fatt.errors import UnsupportedModelError
from fatt.importers.catboost.file import (
    CategoryColumn,
    Ctr,
    Ints,
    ModelFile,
    NumberColumn,
)
from fatt.importers.catboost.flatbuffers import fail
from fatt.importers.registry import FEATURES, check_bits, check_codes
from fatt.importers.versions import releases_of

Bits = NDArray[np.bool_]

#: Makes one number of the hashes of several categories; odd, so that it has an inverse.
_MULTIPLIER = 0x4906BA494954CB65
_BACK = pow(_MULTIPLIER, -2, 2**64)


@dataclass(frozen=True)
class Splits:
    """All splits of a model, by number, and one more that stands for no split.

    Attributes
    ----------
    feature
        The column that each asks about, in the order of the table.
    border
        What the float32 of a number is compared with; 0 for categories.
    member
        What is asked of a category: the place in `sets`, -1 for numbers.
    sets
        For each, which codes of the column say yes, that of unknown values last.
    nan_right
        Whether NaN says yes.
    """

    feature: Ints
    border: NDArray[np.float32]
    member: Ints
    sets: Sequence[Bits]
    nan_right: Bits


def make_columns(file: ModelFile) -> tuple[tuple[Feature, ...], Splits]:
    """Return the features, and what each split asks of them.

    Raises
    ------
    UnsupportedModelError
        If a split that is used joins several columns.
    """
    used = set(np.unique(file.nodes.split).tolist())
    names = _names(file)
    numbers = {column.index: column for column in file.numbers}
    categories = {column.index: column for column in file.categories}
    _check_numbers(file, len(numbers), len(categories))
    feature: list[int] = []
    border: list[NDArray[np.float32]] = []
    nan_right: list[bool] = []
    for column in file.numbers:
        feature += [column.place] * len(column.borders)
        border.append(column.borders)
        nan_right += [column.nan_right] * len(column.borders)
    n_numeric = len(feature)
    asked = _questions(file, used, n_numeric)
    prints = _prints(file, asked)
    sets: list[Bits] = []
    for index, question in enumerate(asked, start=n_numeric):
        owner = question.owner
        feature.append(-1 if owner is None else categories[owner].place)
        if index in used and owner is not None:
            sets.append(question.says_yes(prints[owner]))
        else:
            sets.append(np.zeros(0, dtype=bool))
    member = [*[-1] * n_numeric, *range(len(asked)), -1]
    splits = Splits(
        feature=np.array([*feature, -1], dtype=np.int64),
        border=np.concatenate([*border, np.zeros(len(asked) + 1, np.float32)]),
        member=np.array(member, dtype=np.int64),
        sets=sets,
        nan_right=np.array([*nan_right, *[False] * (len(asked) + 1)], dtype=bool),
    )
    made: dict[int, Feature] = {
        column.place: Numeric(name=names[column.place]) for column in file.numbers
    }
    for owner, category in categories.items():
        made[category.place] = Categorical(
            name=names[category.place],
            categories=texts_behind(prints[owner].tolist(), file.texts),
            coding="fingerprint",
            accepts_missing=False,
        )
    return tuple(made[place] for place in range(len(made))), splits


def _names(file: ModelFile) -> list[str]:
    """Return the names of the columns, in the order of the table."""
    columns: list[NumberColumn | CategoryColumn] = [*file.numbers, *file.categories]
    if len(columns) > FEATURES:
        raise UnsupportedModelError(
            f"the CatBoost model has {len(columns)} columns; fatt reads up to "
            f"{FEATURES}."
        )
    by_place = {column.place: column.name for column in columns}
    if len(by_place) < len(columns) or min(by_place, default=0) < 0:
        raise fail("two of its columns have one place, or one has none")
    if max(by_place, default=-1) >= len(columns):
        some = ", ".join(str(place) for place in sorted(by_place)[:3])
        raise UnsupportedModelError(
            "the CatBoost file leaves out columns that the model does not read, as old "
            f"versions did (it tells of those at {some}, ...), and not what they are. "
            f"Train the model again with CatBoost {releases_of('CatBoost')}."
        )
    return [by_place[place] or str(place) for place in range(len(columns))]


def _check_numbers(file: ModelFile, n_numbers: int, n_categories: int) -> None:
    """Check what CatBoost relies on when it turns a row into answers to splits."""
    borders = [column.borders for column in file.numbers]
    borders += [ctr.borders for ctr in file.ctrs]
    if not all(
        (one[1:] > one[:-1]).all() and not np.isnan(one).any() for one in borders
    ):
        raise fail("borders do not increase")
    if any(len(np.unique(prints)) != len(prints) for _, prints in file.one_hot):
        raise fail("a column asks for a fingerprint twice")
    if n_numbers != len(file.numbers) or n_categories != len(file.categories):
        raise fail("two columns have the same number")
    owners = [index for index, _ in file.one_hot]
    if len(set(owners)) != len(owners):
        raise fail("a column is one-hot twice")


class _OneHot:
    """Asks whether a category has a fingerprint."""

    def __init__(self, owner: int, wanted: int) -> None:
        self.owner, self.prints = owner, np.array([wanted])

    def says_yes(self, prints: Ints) -> Bits:
        return np.append(prints == self.prints[0], False)


class _Statistic:
    """Asks whether a statistic of a category is greater than a border."""

    def __init__(self, ctr: Ctr, border: np.float32) -> None:
        is_single = not ctr.projection.n_others and len(ctr.projection.categories) == 1
        # The column that it is about; None if it joins several.
        self.owner = ctr.projection.categories[0] if is_single else None
        self.ctr, self._border = ctr, border

    @property
    def prints(self) -> Ints:
        return _keys(self.ctr)[0]

    def says_yes(self, prints: Ints) -> Bits:
        return np.asarray(statistic(self.ctr, prints) > self._border)


_Question: TypeAlias = _OneHot | _Statistic


def _questions(file: ModelFile, used: set[int], first: int) -> list[_Question]:
    """Return what the splits on categories ask, in the order of their numbers."""
    asked: list[_Question] = [
        _OneHot(owner, wanted)
        for owner, prints in file.one_hot
        for wanted in prints.tolist()
    ]
    asked += [_Statistic(ctr, border) for ctr in file.ctrs for border in ctr.borders]
    if max(used, default=-1) >= first + len(asked) or min(used, default=0) < -1:
        raise fail("a split is none of those that there are")
    owners = {column.index for column in file.categories}
    for number, question in enumerate(asked, start=first):
        if question.owner is not None and question.owner not in owners:
            raise fail("a split asks about a category that no column has")
        if number in used and question.owner is None:
            assert isinstance(question, _Statistic)
            raise _joins_several(file, question.ctr)
    return asked


def _joins_several(file: ModelFile, ctr: Ctr) -> UnsupportedModelError:
    names = {
        # A column of an array has none.
        column.index: repr(column.name) if column.name else f"column {column.place}"
        for column in file.categories
    }
    joined = [names.get(index, repr(index)) for index in ctr.projection.categories]
    if ctr.projection.n_others:
        joined.append("answers to other splits")
    return UnsupportedModelError(
        f"the CatBoost model has a statistic ({ctr.kind}) that joins "
        f"{' and '.join(joined)}, and no table over one column says what it is. Train "
        "it with max_ctr_complexity=1, which keeps statistics of single columns."
    )


def _prints(file: ModelFile, asked: Sequence[_Question]) -> dict[int, Ints]:
    """Return for each column of categories the fingerprints that it knows, in order."""
    found: dict[int, list[Ints]] = {column.index: [] for column in file.categories}
    # Splits on one statistic know the same.
    distinct = {
        id(question.ctr if isinstance(question, _Statistic) else question): question
        for question in asked
    }
    for question in distinct.values():
        if question.owner is not None:
            found[question.owner].append(question.prints)
    prints = {
        owner: np.unique(np.concatenate([np.zeros(0, np.int64), *arrays]))
        for owner, arrays in found.items()
    }
    check_codes(sum(map(len, prints.values())))
    return prints


def _keys(ctr: Ctr) -> tuple[Ints, Ints]:
    """Return the fingerprints of the categories in a table, and their rows.

    The hash of a single category is its fingerprint, read as a signed number, times an
    odd number. A key that is no such product is no category's.
    """
    with np.errstate(over="ignore"):
        signed = (ctr.table.keys * np.uint64(_BACK)).view(np.int64)
    inside = (signed >= -(2**31)) & (signed < 2**31)
    return signed[inside] % 2**32, ctr.table.rows[inside]


def statistic(ctr: Ctr, prints: Ints) -> NDArray[np.float32]:
    """Return a statistic of each category, and last of one that the table lacks.

    Parameters
    ----------
    ctr
        The statistic.
    prints
        The fingerprints of the categories, in increasing order.
    """
    keys, rows = _keys(ctr)
    row = np.full(len(prints) + 1, -1)
    row[np.searchsorted(prints, keys)] = rows
    known = row >= 0
    counts = np.zeros((len(row), ctr.table.counts.shape[1]), dtype=np.int64)
    counts[known] = ctr.table.counts[row[known]]
    good, total = counts[:, 0].astype(np.float32), counts.sum(axis=1)
    n_classes = counts.shape[1]
    if ctr.kind in {"Counter", "FeatureFreq"}:
        total = np.full(len(row), ctr.table.denominator)
    elif ctr.kind == "Buckets":
        _check_target(ctr, n_classes)
        good = counts[:, ctr.target].astype(np.float32)
    elif ctr.kind == "Borders":
        _check_target(ctr, n_classes - 1)
        good = counts[:, ctr.target + 1 :].sum(axis=1).astype(np.float32)
    elif ctr.table.sums is not None:
        good = np.zeros(len(row), dtype=np.float32)
        good[known] = ctr.table.sums[row[known]]
    if counts.min(initial=0) < 0 or total.max(initial=0) >= 2**31:
        raise fail("the table of a statistic has counts that are no numbers of people")
    first, last = (np.float32(prior) for prior in ctr.prior)
    with np.errstate(all="ignore"):
        value = (good + first) / (total.astype(np.float32) + last)
        return np.asarray((value + np.float32(ctr.shift)) * np.float32(ctr.scale))


def _check_target(ctr: Ctr, n_targets: int) -> None:
    if not 0 <= ctr.target < n_targets:
        raise fail("a statistic is about a class that its table does not have")


def lay_out(
    file: ModelFile,
    splits: Splits,
    features: Sequence[Feature],
    values: NDArray[np.float64],
) -> Trees:
    """Bring the trees into the normal form.

    Parameters
    ----------
    file
        What the file says.
    splits
        What its splits ask.
    features
        The columns.
    values : ndarray of shape (n_leaves, n_outputs)
        What each leaf adds.
    """
    # A leaf has the number -1: that of no split, which is the last one.
    nodes = file.nodes
    by_set = splits.member[nodes.split] >= 0
    sizes = np.array([f.n_codes if isinstance(f, Categorical) else 0 for f in features])
    n_bits = int(sizes[splits.feature[nodes.split[by_set]]].sum())
    check_bits(n_bits, int(by_set.sum()))
    # Infinity is greater than no border that is infinite itself.
    nan_left = ~splits.nan_right | np.isposinf(splits.border)
    return Trees.lay_out(
        roots=nodes.roots,
        feature=splits.feature[nodes.split],
        threshold=at_most_float32(splits.border)[nodes.split],
        left=nodes.left,
        right=nodes.right,
        missing_left=nan_left[nodes.split] & ~by_set,
        leaf=nodes.leaf,
        values=values,
        targets=np.full(len(nodes.roots), -1 if values.shape[1] > 1 else 0),
        subset=splits.member[nodes.split],
        # Who says yes goes to the right.
        sets=[~yes for yes in splits.sets],
    )
