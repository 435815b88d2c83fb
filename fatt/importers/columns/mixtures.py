"""Columns that a step computes of several raw ones: a ratio, a product.

What a pipeline does to such a column afterwards is followed as to any other, in the
numbers that are computed; of the raw columns it is known as a formula.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from fatt.ensemble import Ensemble, Feature
from fatt.ensemble.features import Numeric
from fatt.ensemble.joint import (
    Formula,
    Joint,
    Operations,
    Read,
    in_words,
    places_of,
    replaced,
)
from fatt.errors import UnsupportedModelError
from fatt.importers.columns.algebra import Coded, Column, Mapped, Same, identity
from fatt.importers.columns.joints import require_followed
from fatt.importers.columns.steps import (
    Arithmetic,
    Mixture,
    Numbers,
    Path,
    Replace,
    Table,
    is_nan,
)

#: So many of them are named in the notes on a model.
_NAMED = 3


def mixtures_of(table: Table) -> list[Mixture]:
    """Return the columns of a table that were computed of several, each once."""
    sources = (chain.source for chain in (*table.columns, *table.idle))
    found = (source for source in sources if isinstance(source, Mixture))
    return list(dict.fromkeys(found))


def computed_with(column: Column) -> Column:
    """Return a column as one of numbers, if steps compute with it besides."""
    if isinstance(column, Same):
        return Mapped(source=column.source, function=identity)
    return column


def _read(chain: Path, column: Column | None) -> Read:
    """Return how a formula reads a raw column, which has passed some steps."""
    if isinstance(column, Coded):
        return Read(
            place=column.source,
            table=tuple(column.table.tolist()),
            missing=column.missing,
        )
    assert isinstance(column, Mapped)
    operations: list[Operations] = []
    for step in chain.steps:
        function = step.function if isinstance(step, Numbers) else None
        if isinstance(function, Arithmetic):
            operations.append(function.operations)
        elif function is not identity and not (
            isinstance(step, Replace) and is_nan(step.old)
        ):
            raise UnsupportedModelError(
                "a step computes with several columns, and one of them has passed "
                "more than scalers, encoders and an imputer of missing values. That is "
                "not followed. Make what it computes a column of the table, and train "
                "without it."
            )
    return Read(
        place=column.source,
        operations=tuple(one for some in operations for one in some),
        missing=column.missing,
    )


def formula_of(mixture: Mixture, columns: Sequence[Column | None]) -> Formula:
    """Return the formula of a column, in the raw ones.

    Parameters
    ----------
    mixture
        The column.
    columns
        For each of those that it reads, what has become of the raw one.
    """
    places = places_of(mixture.formula)
    reads = {
        place: _read(chain, column)
        for place, chain, column in zip(places, mixture.read, columns, strict=True)
    }
    return replaced(mixture.formula, lambda read: reads[read.place])


def name_of(formula: Formula, features: Sequence[Feature]) -> str:
    """Return a name for what is computed, which no raw column has."""
    words = in_words(formula, features)
    while any(feature.name == words for feature in features):
        words = f"({words})"
    return words


def split_off(
    ensemble: Ensemble, n_features: int, formulas: Sequence[Formula]
) -> Ensemble:
    """Return a model that computes the last of its columns of the others.

    Raises
    ------
    UnsupportedModelError
        If what the model reads as missing, or a formula, is not followed.
    """
    features = ensemble.features[:n_features]
    if any(one.missing_range is not None for one in ensemble.features):
        raise UnsupportedModelError(
            "the model reads numbers as missing (zero_as_missing, or missing=), and a "
            "step before it computes of several columns: both together are not "
            "followed. Train with NaN where values are missing."
        )
    joints: list[Joint] = []
    for feature, formula in zip(ensemble.features[n_features:], formulas, strict=True):
        assert isinstance(feature, Numeric)
        require_followed(formula, features)
        joints.append(Joint(feature=feature, formula=formula))
    return replace(
        ensemble,
        features=features,
        joints=tuple(joints),
        source=msgspec.structs.replace(
            ensemble.source,
            notes=(*ensemble.source.notes, _note([one.feature.name for one in joints])),
        ),
    )


def _note(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    told = ", ".join(names[:_NAMED]) + (f" and {more:,} more" if more > 0 else "")
    return (
        f"The model computes columns of several others ({told}): of the columns of "
        "each, a similarity may move one at a time."
    )
