"""The columns of a file, typed for a model or for training.

A CSV file holds texts only: whether ``1`` is a number, a code or a name is for the
model to say. Numbers are read to the last bit, as Python reads them.
"""

from __future__ import annotations

import importlib.util
import math
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical, Ensemble, Feature, Label
from fatt.ensemble.tables import places_by_name
from fatt.errors import DataError, MissingDependencyError, SpecError, hint, needs
from fatt.people.files import Cell, Cells, Table
from fatt.people.texts import Texts
from fatt.region import Schema
from fatt.region.kinds import AnyVariable, Binary, Integer, Number

_WHOLE = re.compile(r"\s*[-+]?\d+\s*", re.ASCII)
#: A number as people write it: with separators, a unit of money, or percent.
_FORMATTED = re.compile(
    r"[^\w\s.,+-]?\s*[-+]?(\d{1,3}([\s.,'\u2019]\d{3})+([.,]\d*)?|\d+([.,]\d*)?)"
    r"\s*[^\w\s.,]?"
)
_TRUTHS = {"true": 1.0, "false": 0.0}
#: How programs write that a number is missing.
_GAPS = {"", "na", "n/a", "nan", "null", "none"}
_EXACT = 2**53

#: Whole numbers, truth values, or numbers of any other kind.
Kind: TypeAlias = Literal["whole", "truth", "any"]


class Numbers(NamedTuple):
    """A column of numbers: float64, missing ones NaN, and of what kind they are."""

    values: NDArray[np.float64]
    kind: Kind


def numbers_of(name: str, cells: Cells) -> Numbers:
    """Read a column of numbers.

    Parameters
    ----------
    name
        Name of the column, for the message.
    cells
        Its cells. Empty ones, and words such as ``NA``, are missing.

    Raises
    ------
    DataError
        If a cell is no number.

    Examples
    --------
    >>> numbers_of("age", ["41", "", "17"])
    Numbers(values=array([41., nan, 17.]), kind='whole')
    """
    if isinstance(cells, np.ndarray):
        values = cells.astype(np.float64)
        return _numbers(values, cells.dtype.kind in "iu")
    plain = cells.numbers() if isinstance(cells, Texts) else None
    if plain is not None:
        values, are_whole = plain
        return _numbers(values, are_whole)
    # Each different text is read once. To Python 1 and True are the same, and so are
    # zeros of both signs.
    keys = [cell if isinstance(cell, str) else repr(cell).encode() for cell in cells]
    first = dict(zip(reversed(keys), reversed(range(len(keys))), strict=True))
    table: dict[str | bytes, float] = {}
    for key, row in sorted(first.items(), key=lambda pair: pair[1]):
        number = _number(cells[row])
        if number is None:
            _refuse_texts(name, cells)
            if _is_formatted(cells[row]):
                raise DataError(
                    f"row {row}: column {name!r} is {cells[row]!r}, and the model "
                    "reads a number there; write it with digits and a decimal point, "
                    "such as 1169 or 1169.5, without separators, units or percent."
                )
            raise DataError(
                f"row {row}: column {name!r} is {cells[row]!r}, and the model reads a "
                "number there; leave the cell empty if it is missing."
            )
        table[key] = number
    values = np.array([table[key] for key in keys], dtype=np.float64)
    rows = sorted(first[key] for key, number in table.items() if not math.isnan(number))
    truths = [row for row in rows if _is_truth(cells[row])]
    if truths and len(truths) == len(rows):
        return Numbers(values, "truth")
    if truths:
        raise DataError(
            f"row {truths[0]}: column {name!r} is {cells[truths[0]]!r}, and other rows "
            "hold numbers there; write 1 for true and 0 for false."
        )
    are_whole = all(_is_whole(cells[row]) for row in rows)
    return _numbers(values, are_whole)


def _refuse_texts(name: str, cells: Cells) -> None:
    """Refuse a column of texts where a model reads numbers."""
    kinds = {cell: _number(cell) for cell in dict.fromkeys(cells)}
    texts = [cell for cell, number in kinds.items() if number is None]
    is_text = all(number is None or math.isnan(number) for number in kinds.values())
    if is_text and len(texts) > 1 and not any(map(_is_formatted, texts)):
        codes = {str(text): code for code, text in enumerate(texts[:2])}
        shown = msgspec.json.encode({name: codes}).decode()
        raise DataError(
            f"column {name!r} holds texts, such as {texts[0]!r}, and the model reads "
            "numbers there; if the texts were numbered for it, say how with --prepare "
            f"FILE, for all of them as in {shown}."
        )


def _is_formatted(cell: Cell) -> bool:
    return isinstance(cell, str) and _FORMATTED.fullmatch(cell) is not None


def _number(cell: Cell) -> float | None:
    """Return a number, NaN if it is missing, None if the cell is no number."""
    if cell is None:
        return math.nan
    if not isinstance(cell, str):
        return float(cell) if isinstance(cell, int | float) else None
    word = cell.strip().lower()
    if word in _GAPS:
        return math.nan
    if word in _TRUTHS:
        return _TRUTHS[word]
    try:
        # Python also takes 1_000, which to other programs is no number.
        return None if "_" in word else float(word)
    except ValueError:
        return None


def _is_truth(cell: Cell) -> bool:
    if isinstance(cell, str):
        return cell.strip().lower() in _TRUTHS
    return isinstance(cell, bool)


def _is_whole(cell: Cell) -> bool:
    if isinstance(cell, str):
        return _WHOLE.fullmatch(cell) is not None
    return isinstance(cell, int)


def _numbers(values: NDArray[np.float64], are_whole: bool) -> Numbers:
    """Tell the kind; beyond 2**53 floats do not tell whole numbers apart."""
    known = values[~np.isnan(values)]
    is_exact = bool(np.all(np.abs(known) < _EXACT))
    if are_whole and is_exact and known.size:
        # A whole number that is written -0 is zero.
        return Numbers(values + 0.0, "whole")
    return Numbers(values, "any")


def labels_of(feature: Categorical, cells: Cells) -> list[Any]:
    """Read a column of categories: each text becomes the category it is written as.

    Parameters
    ----------
    feature
        The column, with the categories that the model knows.
    cells
        Its cells. An empty one is missing, unless the empty text is a category.

    Returns
    -------
    list
        Categories, other texts and numbers as they are, and the missing value that the
        model's library knows: NaN or None.

    Examples
    --------
    >>> labels_of(Categorical(name="ward", categories=(1, 2)), ["2", "1"])
    [2, 1]
    """
    missing = None if feature.missing_as == "none" else math.nan
    if isinstance(cells, np.ndarray):
        return list(cells.tolist())
    table: dict[Cell, Any] = {None: missing, "": missing}
    for code, text in zip(feature.codes, feature.categories, strict=False):
        table.update(dict.fromkeys(_spellings([code]), text))
    table.update(_spellings(feature.categories))
    table.update(_truths_of(feature, cells))
    known = feature.codes or feature.categories
    has_numbers = any(not isinstance(label, str) for label in known)
    for cell in dict.fromkeys(cells):
        if cell not in table:
            number = _number(cell) if has_numbers and isinstance(cell, str) else None
            table[cell] = cell if number is None else number
    return [table[cell] if _is_text(cell) else cell for cell in cells]


def _truths_of(feature: Categorical, cells: Cells) -> dict[Cell, bool]:
    """Return what texts mean that are plainly booleans, to a model of fingerprints.

    CatBoost takes a boolean for the number 1 or 0, and a file writes it as a text.
    """
    words = [cell for cell in dict.fromkeys(cells) if cell not in {None, ""}]
    if feature.coding != "fingerprint" or not all(map(_is_truth, words)):
        return {}
    knows_words = any(feature.code_of(str(word)) is not None for word in words)
    knows_numbers = any(feature.code_of(number) is not None for number in "01")
    if knows_words or not knows_numbers:
        return {}
    return {word: bool(_number(word)) for word in words}


def _is_text(cell: Cell) -> bool:
    return cell is None or isinstance(cell, str)


def _spellings(categories: Iterable[Label]) -> dict[Cell, Label]:
    """Return the texts that stand for each category in a file of texts."""
    texts: dict[Cell, Label] = {}
    for label in categories:
        texts.setdefault(str(label), label)
        if isinstance(label, bool):
            texts.setdefault(str(label).lower(), label)
        elif isinstance(label, float) and label.is_integer():
            texts.setdefault(str(int(label)), label)
    # A category that is a text stands for itself, whatever else is written so.
    texts.update({label: label for label in categories if isinstance(label, str)})
    return texts


@dataclass(frozen=True, eq=False)
class TypedPeople:
    """People from a file.

    Attributes
    ----------
    table
        What `fatt.verify` takes: a pandas frame, or an array if pandas is absent.
    schema
        What the columns mean, inferred from all people.
    others
        The columns that were named besides those of the model, as texts.
    left_aside
        Columns that the model does not read, and that no option names.
    """

    table: Any
    schema: Schema
    others: dict[str, list[str]]
    left_aside: tuple[str, ...] = ()


class _Header(NamedTuple):
    """The names of columns, which is all that is needed to find them."""

    columns: list[str]


def type_for_model(
    table: Table,
    ensemble: Ensemble,
    *,
    groups: Sequence[str] = (),
    others: Sequence[str] = (),
    ignored: Collection[str] = (),
    one_hot: Collection[str] = (),
) -> TypedPeople:
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
        Columns to leave out.
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
        _read_for_model(feature, table.columns[name], name)
        for feature, name in zip(ensemble.features, names, strict=True)
    ]
    takes_more = ensemble.inputs.named and ensemble.inputs.by_position != "whole"
    extra = {
        name: table.columns[name]
        for name in groups
        # A model that takes columns by position must not see any more of them.
        if name in table.columns and name not in names and takes_more
    }
    people = lay_out(read, names, extra)
    schema = with_kinds(
        Schema.infer(ensemble, people, one_hot=one_hot),
        [column.kind for column in read],
    )
    if not takes_more:
        _refuse_others(groups, names, table)
    _require_groups(groups, schema, list(table.columns))
    return TypedPeople(
        people,
        schema,
        {name: _texts(table.columns[name]) for name in others},
        tuple(name for name in left if name not in {*names, *groups}),
    )


def _refuse_others(groups: Sequence[str], names: list[str], table: Table) -> None:
    """Refuse groups by columns that the table of the model cannot have besides."""
    for name in groups:
        if name in table.columns and name not in names:
            raise SpecError(
                "the model takes its columns by position, or a step of it gets the "
                f"whole table, so that {name!r} cannot stand beside them to group "
                "people by. Group by a column that the model reads."
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
        way_out = (
            "name these with --columns FILE, or the others with --label, --id or "
            "--ignore"
            if len(left) > wanted
            else "if a preparation makes more of them, pass it with --prepare FILE"
        )
        raise DataError(
            f"{file} has {len(left)} columns, and the model, which was trained without "
            f"names of columns, reads {wanted}; {way_out}. Columns: {', '.join(left)}."
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


def _read_for_model(feature: Feature, cells: Cells, name: str) -> Column:
    if not isinstance(feature, Categorical) or not feature.labelled:
        values, kind = numbers_of(name, cells)
        return Column(values, kind, False)
    # LightGBM and XGBoost know labels only from columns that are declared categories.
    return Column(labels_of(feature, cells), "any", not feature.holds_labels)


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
        own = list(cells) if isinstance(cells, Texts) else cells
        columns[name] = pandas.Series(own, dtype=object)
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


@dataclass(frozen=True, eq=False)
class TrainingPeople:
    """People whose outcomes are known.

    Attributes
    ----------
    table
        A pandas frame: numbers, and categories as texts.
    labels
        Their outcomes: whole numbers, truth values or texts.
    kinds
        Of what kind the numbers of each column are.
    """

    table: Any
    labels: list[Label]
    kinds: list[Kind]


def type_for_training(
    table: Table, *, label: str, ignored: Collection[str] = ()
) -> TrainingPeople:
    """Give the columns of a file types of their own, since no model says which.

    A column whose cells are all numbers, or missing, is one of numbers; any other is
    one of categories.

    Parameters
    ----------
    table
        The file.
    label
        The column of outcomes.
    ignored
        Columns that are not to be learnt from.

    Raises
    ------
    SpecError
        If a column that is named is absent, or no other is left.
    DataError
        If there are no rows, or an outcome is missing or is no label.
    MissingDependencyError
        If pandas is not installed.
    """
    if importlib.util.find_spec("pandas") is None:
        raise needs("pandas", "training from a file", "tables")
    for name in [label, *ignored]:
        if name not in table.columns:
            raise SpecError(
                f"{table.name} has no column {name!r}. {hint(name, table.columns)}"
            )
    names = [name for name in table.columns if name not in {label, *ignored}]
    if not names:
        raise SpecError(f"{table.name} has no column left to learn from; ignore fewer.")
    if not len(table.columns[label]):
        raise DataError(f"{table.name} has no rows; pass at least one person.")
    read = [_read_for_training(name, table.columns[name]) for name in names]
    return TrainingPeople(
        lay_out(read, names, {}),
        _outcomes(label, table.columns[label]),
        [column.kind for column in read],
    )


def _read_for_training(name: str, cells: Cells) -> Column:
    try:
        values, kind = numbers_of(name, cells)
    except DataError:
        plain = cells.tolist() if isinstance(cells, np.ndarray) else cells
        labels = [None if cell in {None, ""} else cell for cell in plain]
        return Column(labels, "any", False)
    return Column(values, kind, False)


def _outcomes(name: str, cells: Cells) -> list[Label]:
    try:
        values, kind = numbers_of(name, cells)
    except DataError:
        texts = ["" if cell is None else str(cell) for cell in cells]
        if "" in texts:
            raise DataError(
                f"row {texts.index('')}: column {name!r}, of labels, is empty; leave "
                "out people whose outcome is not known."
            ) from None
        return list(texts)
    if np.isnan(values).any():
        raise DataError(
            f"row {int(np.argmax(np.isnan(values)))}: column {name!r}, of labels, is "
            "empty; leave out people whose outcome is not known."
        )
    if kind == "truth":
        return [bool(value) for value in values]
    is_whole = values == np.floor(values)
    if not is_whole.all():
        row = int(np.argmin(is_whole))
        raise DataError(
            f"row {row}: column {name!r}, of labels, is {values[row]}; labels are "
            "words or whole numbers."
        )
    return [int(value) for value in values]
