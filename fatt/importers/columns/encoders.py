"""Encoders of categories, tabulated: asked once for each level, and the table is kept.

What an encoder makes of a level, of levels that it does not know and of missing cells
is what the fitted object itself answers, for one row as for all.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fatt.ensemble import Label
from fatt.errors import UnsupportedModelError
from fatt.importers.columns.algebra import Floats
from fatt.importers.columns.steps import (
    UNKNOWN,
    AnyStep,
    Levels,
    Table,
    is_nan,
    label_or_none,
)
from fatt.importers.registry import refuse_replaced

_NARROW = {np.dtype("f2"), np.dtype("f4")}

#: Encoders of category_encoders that keep a table for each column.
_TABULATED = {
    *("BackwardDifferenceEncoder", "BaseNEncoder", "BinaryEncoder", "CatBoostEncoder"),
    *("CountEncoder", "GrayEncoder", "HelmertEncoder", "JamesSteinEncoder"),
    *("LeaveOneOutEncoder", "MEstimateEncoder", "OneHotEncoder", "OrdinalEncoder"),
    *("PolynomialEncoder", "QuantileEncoder", "RankHotEncoder", "SumEncoder"),
    *("TargetEncoder", "WOEEncoder"),
}

#: How many levels are asked for in rows of their own.
_ALONE = 50

#: How many numbers the table of one column may have: 2 GiB of them.
_CELLS = 2**28


class _Column(NamedTuple):
    """A column that an encoder encodes.

    Attributes
    ----------
    place
        Where it stands.
    labels
        The labels that the encoder knows.
    others
        Which other cells it takes: see `Levels`.
    answers : ndarray of shape (n_labels + n_others, n_outputs)
        What it makes of a row with each of these cells, all else being equal.
    of_one_kind
        As in `fatt.ensemble.Categorical`.
    """

    place: int
    labels: Sequence[Label]
    others: Sequence[object]
    answers: Floats
    of_one_kind: bool = False

    def step(self, output: int) -> Levels:
        """Return what becomes of the column in one output."""
        known, rest = np.split(self.answers[:, output], [len(self.labels)])
        return self._levels(known, rest.tolist())

    def check(self) -> Levels:
        """Return the step that only refuses what the encoder refuses."""
        return self._levels(np.zeros(len(self.labels)), [0.0] * len(self.others))

    def _levels(self, known: Floats, rest: Sequence[float]) -> Levels:
        places: dict[Label | None, int] = {}
        places |= ((label, place) for place, label in enumerate(self.labels))
        others = dict(zip(self.others, rest, strict=True))
        return Levels(places, known, others, of_one_kind=self.of_one_kind)


def _tabulated(
    columns: Iterable[_Column],
    made: dict[int, tuple[int, tuple[AnyStep, ...]]],
    name: str,
) -> tuple[list[tuple[int, tuple[AnyStep, ...]]], list[tuple[int, AnyStep]]]:
    """Return the outputs of an encoder, and what it checks besides, as tables.

    Parameters
    ----------
    columns
        What it makes of each column.
    made
        Outputs that are known already.
    name
        What it is called.
    """
    checks: dict[int, AnyStep] = {}
    first = None
    for column in columns:
        start = column.answers[0]
        same = (column.answers == start) | (np.isnan(column.answers) & np.isnan(start))
        if first is None:
            # An output that never varies is taken for one of the first column.
            still = np.flatnonzero(same.all(axis=0)).tolist()
            first = {j: column.step(j) for j in still}
            of_first = column.place
        for j in np.flatnonzero(~same.all(axis=0)).tolist():
            if j in made:
                raise UnsupportedModelError(
                    f"{name} joins columns: its output {j} is made of column "
                    f"{column.place} and of another one."
                )
            made[j] = column.place, (column.step(j),)
        checks[column.place] = column.check()
    for j, step in (first or {}).items():
        made.setdefault(j, (of_first, (step,)))
    used = {place for place, _ in made.values()}
    idle = [(place, check) for place, check in checks.items() if place not in used]
    return [made[j] for j in sorted(made)], idle


def encoder(encoder: Any, table: Table) -> Table:
    """Ask an encoder what it makes of each category, of unknown and missing cells."""
    columns = [_labels_of(encoder, i) for i in range(len(encoder.categories_))]
    cells = [[*labels, *others.values()] for labels, others in columns]
    asked = (
        _Column(i, labels, list(others), _asked(encoder, cells, i))
        for i, (labels, others) in enumerate(columns)
    )
    return table.behind(
        *_tabulated(asked, {}, type(encoder).__name__),
        sparse=bool(getattr(encoder, "sparse_output", False)),
        narrow=np.dtype(getattr(encoder, "dtype", float)) in _NARROW,
    )


def _asked(encoder: Any, cells: list[list[Any]], i: int) -> Floats:
    """Return what an encoder makes of the cells of a column, the others at rest."""
    table = np.empty((len(cells[i]), len(cells)), dtype=object)
    for place, column in enumerate(cells):
        table[:, place] = column if place == i else column[0]
    with warnings.catch_warnings():
        # The encoder may warn of unknown cells and of absent column names: both are
        # meant here.
        warnings.simplefilter("ignore")
        width = encoder.transform(table[:1]).shape[1]
        if len(table) * width > _CELLS:
            raise UnsupportedModelError(_too_wide(encoder, i, width))
        codes = encoder.transform(table)
    if hasattr(codes, "check_format"):
        # Compiled code would follow any index that the arrays of a file lead to.
        codes.check_format(full_check=True)
    dense = codes.toarray() if hasattr(codes, "toarray") else codes
    return np.asarray(dense).astype(np.float64)


def _too_wide(encoder: Any, i: int, width: int) -> str:
    kind = type(encoder).__name__
    column = getattr(encoder, "feature_names_in_", range(i + 1))[i]
    return (
        f"the {kind} knows {len(encoder.categories_[i]):,} categories of the column "
        f"{column!r} and makes {width:,} columns: a table of both is too large. Leave "
        "the column out if it names single people, or train with fewer columns: "
        "OneHotEncoder(min_frequency=...), or a TargetEncoder."
    )


def _labels_of(encoder: Any, i: int) -> tuple[list[Label], dict[object, Any]]:
    """Return the labels a column of an encoder knows, and the other cells it takes."""
    name = type(encoder).__name__
    known = [
        label_or_none(c, f"a category of the {name}") for c in encoder.categories_[i]
    ]
    labels = [label for label in known if label is not None and not is_nan(label)]
    others: dict[object, Any] = {}
    if any(map(is_nan, known)):
        others["nan"] = math.nan
    if None in known:
        others["none"] = None
    if len(others) > 1:
        raise UnsupportedModelError(
            f"the {name} has both None and NaN as categories of its column {i}, and "
            "tables do not tell them apart. Train with one of them."
        )
    # A TargetEncoder takes everything.
    if getattr(encoder, "handle_unknown", "ignore") != "error":
        others |= {"nan": math.nan, "none": None, UNKNOWN: _unknown_labels(labels)[0]}
    return labels, others


def _unknown_labels(labels: Sequence[Label]) -> list[Label]:
    """Return some labels that are none of those given."""
    if any(isinstance(label, str) for label in labels):
        longest = max(map(str, labels), key=len)
        return [longest + "?", "?"] if "?" not in labels else [longest + "?"]
    new = next(n for n in itertools.count() if n not in labels)
    return [new, new + 0.5, -1e9 - new]


def category_encoder(encoder: Any, table: Table) -> Table:
    """Ask an encoder of category_encoders what it makes of each level of its columns.

    Raises
    ------
    UnsupportedModelError
        If it joins columns, keeps no table, or does not answer the same for one row as
        for all.
    """
    name = f"category_encoders' {type(encoder).__name__}"
    if type(encoder).__name__ not in _TABULATED:
        why = "it is not known to keep a table of levels for each column"
        if type(encoder).__name__ == "HashingEncoder":
            why = "it hashes any text, so that it has no list of levels"
        raise UnsupportedModelError(
            f"{name} is not supported: {why}. Use another of its encoders, such as "
            "TargetEncoder or OrdinalEncoder."
        )
    refuse_replaced(encoder)
    if getattr(encoder, "composite_cols", None):
        raise UnsupportedModelError(
            f"{name} joins columns (composite_cols), and what it makes says nothing "
            "about one raw column. Fit it without."
        )
    return table.behind(*_Tabulation(encoder, name).outputs())


class _Tabulation:
    """An encoder of category_encoders and the levels of its columns."""

    def __init__(self, encoder: Any, name: str) -> None:
        self.encoder, self.name = encoder, name
        self.columns = list(encoder.feature_names_in_)
        self.levels = {column: self._levels(column) for column in encoder.cols}

    def outputs(self) -> tuple[Any, Any]:
        """Return the outputs, and what it checks besides."""
        rest = self._ask([{}])
        made: dict[int, tuple[int, tuple[AnyStep, ...]]] = {}
        for place, column in enumerate(self.columns):
            if column not in self.levels:
                made |= dict.fromkeys(self._copies(column, rest[0]), (place, ()))
        asked = (
            self._asked_of(column, labels) for column, labels in self.levels.items()
        )
        outputs, idle = _tabulated(asked, made, self.name)
        return outputs, idle

    def _levels(self, column: Any) -> list[Label]:
        """Return the levels that the encoder knows in a column."""
        owner = getattr(self.encoder, "ordinal_encoder", None) or self.encoder
        mapping = owner.mapping
        if isinstance(mapping, list):
            [mapping] = [one["mapping"] for one in mapping if one["col"] == column]
        else:
            mapping = mapping[column]
        found = [
            label_or_none(level, f"a level of {self.name}") for level in mapping.index
        ]
        levels = [level for level in found if level is not None and not is_nan(level)]
        if not levels:
            raise UnsupportedModelError(
                f"{self.name} knows no level of its column {column!r}. Fit it again."
            )
        return levels

    def _ask(self, rows: Sequence[dict[Any, Any]]) -> Floats:
        """Return what becomes of rows that are at rest but for the cells given."""
        import pandas as pd

        cells = {
            column: [
                row.get(
                    column, self.levels[column][0] if column in self.levels else 0.0
                )
                for row in rows
            ]
            for column in self.columns
        }
        frame = pd.DataFrame(
            {
                column: pd.Series(
                    values, dtype=object if column in self.levels else np.float64
                )
                for column, values in cells.items()
            }
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = self.encoder.transform(frame)
        return np.asarray(made, dtype=np.float64)

    def _copies(self, column: Any, rest: Floats) -> list[int]:
        """Return the outputs that are a column as it is."""
        [row] = self._ask([{column: 12345.5}])
        changed = np.flatnonzero((row != rest) & ~(np.isnan(row) & np.isnan(rest)))
        if (rest[changed] != 0.0).any() or (row[changed] != 12345.5).any():
            raise UnsupportedModelError(
                f"{self.name} computes with the column {column!r}, which is none of "
                "those that it encodes."
            )
        return list(changed.tolist())

    def _asked_of(self, column: Any, labels: list[Label]) -> _Column:
        """Return what becomes of each level, and of other cells that are taken."""
        others: dict[object, Floats] = {}
        asked: list[tuple[Any, Floats]] = []
        unknown = _unknown_labels(labels)
        for kind, cells in (
            ("nan", [math.nan]),
            ("none", [None]),
            (UNKNOWN, unknown),
        ):
            for cell in cells:
                try:
                    [row] = self._ask([{column: cell}])
                except ValueError:
                    break
                asked.append((cell, row))
                self._require_same(others.setdefault(kind, row), row, column)
        if "none" in others:
            among = self._ask([{column: None}, {column: labels[0]}])[0]
            if not np.array_equal(among, others["none"], equal_nan=True):
                raise UnsupportedModelError(
                    f"what {self.name} makes of None in {column!r} depends on the "
                    "other rows: alone it is a missing number to pandas, and else a "
                    "missing text. Fill missing cells of the column with a text, and "
                    "fit again."
                )
        known = self._ask([{column: label} for label in labels])
        some = np.linspace(0, len(labels) - 1, min(len(labels), _ALONE)).astype(int)
        for place in some.tolist():
            [row] = self._ask([{column: labels[place]}])
            asked.append((labels[place], row))
            self._require_same(known[place], row, column)
        together = self._ask([{column: cell} for cell, _ in reversed(asked)])
        for (_, row), found in zip(reversed(asked), together, strict=True):
            self._require_same(row, found, column)
        answers = np.array([*known, *others.values()])
        return _Column(
            self.columns.index(column), labels, list(others), answers, of_one_kind=True
        )

    def _require_same(self, one: Floats, other: Floats, column: Any) -> None:
        if not np.array_equal(one, other, equal_nan=True):
            raise UnsupportedModelError(
                f"what {self.name} makes of a cell of {column!r} depends on the other "
                "rows, or differs between levels that it does not know. Such a column "
                "has no table."
            )
