"""People from a file, as a table that the model takes, and what is known of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fatt.audit.cells import Kind, labels_of, numbers_of
from fatt.audit.files import Cells, Table
from fatt.ensemble import Categorical, Ensemble, Feature
from fatt.ensemble.table import places_by_name
from fatt.errors import DataError, MissingDependencyError, SpecError, hint
from fatt.region import Schema
from fatt.region.kinds import AnyVariable, Binary, Integer, Number


@dataclass(frozen=True, eq=False)
class Roster:
    """People from a file.

    Attributes
    ----------
    table
        What `fatt.verify` takes: a pandas frame, or an array if pandas is absent.
    schema
        What the columns mean, inferred from all people.
    others
        The columns that were named besides those of the model, as texts.
    """

    table: Any
    schema: Schema
    others: dict[str, list[str]]


class _Header(NamedTuple):
    """The names of columns, which is all that is needed to find them."""

    columns: list[str]


def enrol(
    table: Table,
    ensemble: Ensemble,
    *,
    groups: Sequence[str] = (),
    others: Sequence[str] = (),
    ignored: Collection[str] = (),
    one_hot: Collection[str] = (),
) -> Roster:
    """Give the columns of a file the types that a model needs.

    Parameters
    ----------
    table
        The file.
    ensemble
        The model. If it has no names of columns, it reads all but the `others` and
        the `ignored` ones, by position.
    groups
        Columns that people will be grouped by.
    others
        Columns to hand over as texts, such as one of names.
    ignored
        Columns that are nobody's business.
    one_hot
        Variables whose columns are named as in ``race_White``.

    Raises
    ------
    DataError
        If a column that the model reads is absent, or holds what the model cannot read.
    SpecError
        If one of the other columns is absent.
    MissingDependencyError
        If there is a group that only a data frame can hold, and no pandas.
    """
    for name in [*others, *ignored]:
        if name not in table.columns:
            raise SpecError(
                f"{table.name} has no column {name!r}. {hint(name, table.columns)}"
            )
    if not table.columns or not len(next(iter(table.columns.values()))):
        raise DataError(f"{table.name} has no rows; pass at least one person.")
    left = [name for name in table.columns if name not in {*others, *ignored}]
    names = _columns_read(left, ensemble, table.name)
    read = [
        _read(feature, table.columns[name], name)
        for feature, name in zip(ensemble.features, names, strict=True)
    ]
    extra = {
        name: table.columns[name]
        for name in groups
        # A model that takes columns by position must not see any more of them.
        if name in table.columns and name not in names and ensemble.inputs.named
    }
    people = lay_out(read, names, extra)
    schema = with_kinds(
        Schema.infer(ensemble, people, one_hot=one_hot),
        [column.kind for column in read],
    )
    _require_groups(
        groups, schema, list(table.columns if ensemble.inputs.named else names)
    )
    return Roster(
        people,
        schema,
        {name: _texts(table.columns[name]) for name in others},
    )


def _require_groups(groups: Sequence[str], schema: Schema, names: list[str]) -> None:
    known = dict.fromkeys([*(one.name for one in schema.variables), *names])
    for name in groups:
        if name not in known:
            raise SpecError(
                f"there is no column {name!r} to group people by. {hint(name, known)}"
            )


def _columns_read(left: list[str], ensemble: Ensemble, file: str) -> list[str]:
    """Return the names of the columns that the model reads, in its order."""
    wanted = len(ensemble.features)
    if not ensemble.inputs.named and len(left) != wanted:
        raise DataError(
            f"{file} has {len(left)} columns, and the model, which was trained without "
            f"names of columns, reads {wanted} by position; name the others as labels, "
            f"ids or ignored. Columns: {', '.join(left)}."
        )
    try:
        places = places_by_name(_Header(left), ensemble.features, ensemble.inputs)
    except DataError as error:
        raise DataError(f"{file}: {error}") from None
    return [left[place] for place in places]


class Column(NamedTuple):
    """A column as the model needs it.

    Attributes
    ----------
    values
        An array of numbers, or a list of categories.
    kind
        Of what kind the numbers are.
    is_category
        Whether a data frame must declare it a column of categories.
    """

    values: Any
    kind: Kind
    is_category: bool


def _read(feature: Feature, cells: Cells, name: str) -> Column:
    if not isinstance(feature, Categorical) or not feature.labelled:
        values, kind = numbers_of(name, cells)
        return Column(values, kind, False)
    # LightGBM and XGBoost know labels only from columns that are declared categories.
    return Column(labels_of(feature, cells), "any", feature.coding != "label")


def lay_out(read: list[Column], names: list[str], extra: dict[str, Cells]) -> Any:
    """Return columns, and others as they stand in the file, as one table."""
    try:
        import pandas
    except ImportError:
        if extra:
            raise MissingDependencyError(
                f"grouping people by {next(iter(extra))!r}, which the model does not "
                "read, needs pandas: pip install 'fatt[tables]'."
            ) from None
        return _as_array(read)
    columns = {}
    for name, column in zip(names, read, strict=True):
        series = pandas.Series(column.values, dtype=_pandas_type(column.values))
        columns[name] = series.astype("category") if column.is_category else series
    for name, cells in extra.items():
        columns[name] = pandas.Series(cells, dtype=object)
    return pandas.DataFrame(columns)


def _pandas_type(values: Any) -> type[object] | None:
    """Keep texts and None as they are; of the rest pandas finds the type."""
    is_array = isinstance(values, np.ndarray)
    has_objects = not is_array and any(v is None or isinstance(v, str) for v in values)
    return object if has_objects else None


def _as_array(read: list[Column]) -> Any:
    if all(isinstance(column.values, np.ndarray) for column in read):
        return np.column_stack([column.values for column in read])
    table = np.empty((len(read[0].values), len(read)), dtype=object)
    for place, column in enumerate(read):
        table[:, place] = column.values
    return table


def with_kinds(schema: Schema, kinds: list[Kind]) -> Schema:
    """Say of columns on their own whether they hold whole numbers or truth values."""
    known: dict[str, AnyVariable] = {}
    kind_of = dict(zip(schema.columns, kinds, strict=True))
    for variable in schema.variables:
        if isinstance(variable, Number):
            match kind_of[variable.columns[0]]:
                case "whole":
                    known[variable.name] = Integer()
                case "truth":
                    known[variable.name] = Binary(levels=(False, True))
    return schema.with_(known)


def _texts(cells: Cells) -> list[str]:
    plain = cells.tolist() if isinstance(cells, np.ndarray) else cells
    return ["" if cell is None else str(cell) for cell in plain]
