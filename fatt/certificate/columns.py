"""The columns of a model behind each variable of a schema, read off their definitions.

Nothing here is shared with `fatt.region`, which derives the same for the search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical, Ensemble, Feature, Label, Numeric
from fatt.ensemble.fingerprint import fingerprint
from fatt.errors import CertificateError
from fatt.region import Category, Integer, Number, OneHot, Ordinal, Schema
from fatt.region.kinds import AnyVariable, Levels

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Numbers:
    """A variable that is one column of numbers.

    Attributes
    ----------
    variable
        What the schema says of it.
    columns
        The place of its only column.
    low, high
        The smallest and the largest finite number that somebody else may have.
    integer
        Whether only whole numbers exist.
    gap
        The numbers that the library reads as missing; crossed if there are none.
    accepts_missing
        Whether the library takes a missing value.
    edges
        The ends of the cells that set splits distinguish.
    taken
        The smallest and the largest number that the library takes.
    """

    variable: Number
    columns: tuple[int, ...]
    low: float
    high: float
    integer: bool
    gap: tuple[float, float]
    accepts_missing: bool
    edges: tuple[float, ...]
    taken: tuple[float, float]

    def reads_missing(self, numbers: Floats) -> NDArray[np.bool_]:
        """Tell which numbers the library takes for missing."""
        return (numbers >= self.gap[0]) & (numbers <= self.gap[1])

    def exists(self, numbers: Floats) -> NDArray[np.bool_]:
        """Tell which numbers somebody may have as a number."""
        inside = (numbers >= self.low) & (numbers <= self.high)
        return inside & (numbers == np.floor(numbers)) if self.integer else inside

    def is_sentinel(self, numbers: Floats) -> NDArray[np.bool_]:
        """Tell which numbers nobody has as a number: they only stand for missing."""
        return self.reads_missing(numbers) & ~self.exists(numbers)


@dataclass(frozen=True, eq=False)
class Codes:
    """A variable with finitely many values.

    Attributes
    ----------
    variable
        What the schema says of it.
    columns
        The places of its columns.
    labels
        What the codes are called; the code behind the last stands for unknown values.
    numbers : ndarray of shape (n_codes, n_columns), or None
        What the columns hold for each code; None if the only column holds codes.
    accepts_missing, accepts_unknown
        Whether the library takes a missing value, and one without a label.
    anything, everything : ndarray of bool, shape (n_codes,)
        The codes that a value has which may be anything: that is known, or at all.
    by_fingerprint
        Whether a text is the label with the same fingerprint.
    """

    variable: AnyVariable
    columns: tuple[int, ...]
    labels: tuple[Label, ...]
    numbers: Floats | None
    accepts_missing: bool
    accepts_unknown: bool
    anything: NDArray[np.bool_]
    everything: NDArray[np.bool_]
    by_fingerprint: bool = False

    @property
    def n_codes(self) -> int:
        """Number of codes, the one for unknown values included."""
        return len(self.labels) + 1

    def code(self, label: Label) -> int:
        """Return the code of a label, or of what the label is when written out.

        Raises
        ------
        CertificateError
            If there is none.
        """
        for code, known in enumerate(self.labels):
            if known == label:
                return code
            if self.by_fingerprint and fingerprint(str(known)) == fingerprint(
                str(label)
            ):
                return code
        if isinstance(self.variable, Category) and label in self.variable.texts:
            # The model takes it for any text that it never saw.
            return len(self.labels)
        alike = [code for code, known in enumerate(self.labels) if str(known) == label]
        if len(alike) != 1:
            raise CertificateError(
                f"the similarity names {label!r}, which {self.variable.name!r} is not."
            )
        return alike[0]


Column = Numbers | Codes


def columns_of(model: Ensemble, schema: Schema) -> tuple[Column, ...]:
    """Return the columns behind each variable.

    Raises
    ------
    CertificateError
        If the schema does not fit the model.
    """
    names = [feature.name for feature in model.features]
    if model.inputs.named and sorted(names) != sorted(schema.columns):
        raise CertificateError("the schema names other columns than the model reads.")
    if len(names) != len(schema.columns):
        raise CertificateError(
            f"the schema has {len(schema.columns)} columns and the model {len(names)}."
        )
    # A model without names of its own takes columns by their place.
    order = names if model.inputs.named else schema.columns
    place = {name: index for index, name in enumerate(order)}
    return tuple(
        _column(model, variable, tuple(place[name] for name in variable.columns))
        for variable in schema.variables
    )


def _column(model: Ensemble, variable: AnyVariable, places: tuple[int, ...]) -> Column:
    features = [model.features[place] for place in places]
    first = features[0]
    if isinstance(variable, Number) and isinstance(first, Numeric):
        # An open end excludes nobody: who is beyond gets answers as well.
        wide = first
        if places[0] in model.inputs.open_below:
            wide = msgspec.structs.replace(wide, lower=-np.inf)
        if places[0] in model.inputs.open_above:
            wide = msgspec.structs.replace(wide, upper=np.inf)
        return replace(
            _numbers(variable, places, wide), taken=(first.lower, first.upper)
        )
    if isinstance(variable, Category | Ordinal) and isinstance(first, Categorical):
        if isinstance(variable, Category):
            first = first.named_after(variable.texts)
        return Codes(
            variable,
            places,
            first.categories,
            None,
            first.accepts_missing,
            first.accepts_unknown,
            *_anything(variable, first),
            first.coding == "fingerprint",
        )
    if isinstance(variable, Levels) and all(isinstance(f, Numeric) for f in features):
        accepts_missing = all(feature.accepts_missing for feature in features)
        numbers, accepts_unknown = _level_numbers(variable)
        for feature, column in zip(features, numbers.T, strict=True):
            _require_taken(variable, feature, column)
        known = np.arange(len(variable.labels) + 1) < len(variable.labels)
        return Codes(
            variable,
            places,
            variable.labels,
            numbers,
            accepts_missing,
            accepts_unknown,
            known,
            known | accepts_unknown,
        )
    raise CertificateError(
        f"the schema says that {variable.name!r} is a {type(variable).__name__}, and "
        "the model reads its columns otherwise."
    )


def _anything(
    variable: Category | Ordinal, feature: Categorical
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the codes of a value that may be anything: that is known, or at all.

    A code that is read as missing is nobody's, and one of a category that the schema
    does not list is known to nobody. A value that is no category is known if
    the schema says that there are people with one. XGBoost takes none for what it is
    where it knows labels.
    """
    count = len(feature.categories)
    anything = np.ones(count + 1, dtype=bool)
    if feature.missing_range is not None and not feature.holds_labels:
        low, high = feature.missing_range
        codes = np.arange(count)
        anything[:count] = (codes < low) | (codes > high)
    others = isinstance(variable, Category) and variable.others
    everything = anything.copy()
    if isinstance(variable, Category) and variable.levels:
        known = {feature.code_of(level) for level in variable.levels}
        anything[:count] &= [code in known for code in range(count)]
    everything[count] = feature.accepts_unknown and not (
        feature.coding == "floor" and feature.labelled
    )
    anything[count] = everything[count] and others
    return anything, everything


def _numbers(variable: Number, places: tuple[int, ...], feature: Numeric) -> Numbers:
    low = -np.inf if variable.lower is None else float(variable.lower)
    high = np.inf if variable.upper is None else float(variable.upper)
    largest = float(np.finfo(np.float64).max)
    low = max(low, feature.lower, -largest)
    high = min(high, feature.upper, largest)
    integer = feature.integer or isinstance(variable, Integer)
    if integer:
        low, high = float(np.ceil(low)), float(np.floor(high))
    return Numbers(
        variable=variable,
        columns=places,
        low=low,
        high=high,
        integer=integer,
        gap=feature.missing_range or (1.0, 0.0),
        accepts_missing=feature.accepts_missing,
        edges=feature.edges,
        taken=(feature.lower, feature.upper),
    )


def _require_taken(variable: Levels, feature: Feature, numbers: Floats) -> None:
    """Refuse levels beyond the bounds of a column: of these nothing is known."""
    assert isinstance(feature, Numeric)
    least, most = feature.missing_range or (1.0, 0.0)
    taken = (numbers >= feature.lower) & (numbers <= feature.upper)
    taken |= np.isnan(numbers) | ((numbers >= least) & (numbers <= most))
    if not taken.all():
        raise CertificateError(
            f"the schema says that {variable.name!r} can be {numbers[~taken][0]:g} in "
            f"column {feature.name!r}, of which nothing is proved."
        )


def _level_numbers(variable: Levels) -> tuple[Floats, bool]:
    """Return what the columns hold for each code, and if one code means unknown."""
    width = len(variable.columns)
    rows: list[Sequence[float]]
    unknown: Sequence[float] | None = None
    if isinstance(variable, OneHot):
        rows = [[float(i == j) for j in range(width)] for i in range(width)]
        if variable.dropped is not None:
            rows.append([0.0] * width)
        if variable.accepts_unknown:
            unknown = [0.0] * width
    elif isinstance(variable, Ordinal):
        numbers = variable.values or variable.levels
        if any(isinstance(number, str) for number in numbers):
            raise CertificateError(
                f"the schema does not say which numbers the levels of "
                f"{variable.name!r} are."
            )
        rows = [[float(number)] for number in numbers]
        if variable.unknown_value is not None:
            unknown = [float(variable.unknown_value)]
    else:
        rows = [[0.0], [1.0]]
    nothing = [np.nan] * width
    table = np.array([*rows, nothing if unknown is None else unknown])
    return table, unknown is not None
