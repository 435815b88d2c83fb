"""Tables as people have them, taken apart into one array per column."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble.features import Feature, Inputs
from fatt.errors import Arg, DataError, first

#: Up to here every integer is a float64.
EXACT = 2**53


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes
    ----------
    cells : ndarray of shape (n_rows,)
        Numbers in their own type, or objects.
    in_frame
        Whether it comes from a data frame, which knows the types of its columns.
    is_objects
        Whether the table holds Python objects or categories there, of which libraries
        may take the codes for the values.
    distinct : pair of arrays, or None
        The different cells, each once, and for each row which of them it is; known of
        texts only, which are many and mostly the same.
    held_in : dtype, or None
        The type of numbers among which some are missing, if the table has another one
        for them than `cells`.
    native
        The type that the column has in its own data frame; None in an array.
    """

    cells: NDArray[Any]
    in_frame: bool
    is_objects: bool
    distinct: tuple[NDArray[Any], NDArray[np.int64]] | None = None
    held_in: np.dtype[Any] | None = None
    native: Any = None

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the cells in the table."""
        return self.cells.dtype if self.held_in is None else self.held_in

    @property
    def in_pandas(self) -> bool:
        """Whether it is a column of a pandas frame."""
        return type(self.native).__module__.partition(".")[0] in {"numpy", "pandas"}

    @property
    def in_arrow(self) -> bool:
        """Whether it is a column of a pandas frame that keeps its cells in pyarrow."""
        return type(self.native).__name__ == "ArrowDtype"

    @property
    def categories(self) -> list[Any] | None:
        """What a category column of a pandas frame lists; None for other columns."""
        is_category = type(self.native).__name__ == "CategoricalDtype"
        return list(self.native.categories) if is_category else None

    @property
    def is_numeric(self) -> bool:
        """Whether all cells are numbers by their type."""
        return self.cells.dtype.kind in "biuf"


def columns_of(
    rows: Any, features: Sequence[Feature], inputs: Inputs
) -> tuple[list[Callable[[], Column]], int]:
    """Return what gives the column of each feature, and the number of rows.

    Columns are made only when they are asked for: large tables are never copied whole.

    Parameters
    ----------
    rows
        Two-dimensional array, or data frame that `narwhals` knows.
    features
        The columns wanted: by name from a frame that has more, in order from an array.
    inputs
        How the library reads tables.

    Raises
    ------
    DataError
        If there is no such column, or it is of a type that is no label and no number.
    """
    frame = as_frame(rows)
    if frame is None:
        if inputs.by_position == "names":
            raise DataError(
                "the rows have no names, and what prepares some of the model's columns "
                "finds its own by name: pass a data frame with the columns "
                f"{', '.join(feature.name for feature in features)}."
            )
        return _from_array(as_array(rows), features)
    series = series_of(frame, places_of(frame, features, inputs))
    return [functools.partial(_from_series, get) for get in series], len(frame)


def as_frame(rows: Any) -> Any:
    """Return rows as a frame of `narwhals`, or None if they are no data frame."""
    if hasattr(rows, "tocsr"):
        raise DataError(
            "sparse rows are not supported, since libraries differ on what an absent "
            "cell means; pass rows.toarray()."
        )
    if isinstance(rows, np.ndarray):
        return None
    import narwhals as nw

    try:
        native = nw.from_native(rows, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise DataError(
            "several columns of the rows have the same name; rename them."
        ) from error
    if isinstance(native, nw.LazyFrame):
        raise DataError("the rows are a lazy frame; pass rows.collect().")
    return native if isinstance(native, nw.DataFrame) else None


def as_array(rows: Any) -> NDArray[Any]:
    """Return rows that are no data frame as an array, of objects if there is text."""
    if isinstance(rows, np.ndarray):
        return rows
    if isinstance(rows, Mapping):
        raise DataError(
            "the rows are a dict; pass a table with one row per person, such as "
            "pandas.DataFrame([row]) for one person, or pandas.DataFrame(columns)."
        )
    try:
        table = np.asarray(rows)
        # Of numbers and texts together numpy would make texts only.
        return np.asarray(rows, dtype=object) if table.dtype.kind in "US" else table
    except ValueError as error:
        raise DataError(
            "the rows do not all have the same length; pass one cell per column."
        ) from error


def require_table(array: NDArray[Any]) -> None:
    """Raise a DataError unless an array has rows and columns."""
    if array.ndim == 2:
        return
    found = f"an array of shape {array.shape}"
    if array.ndim == 0:
        found = repr(array.item())
    elif array.ndim == 1:
        found = "one row or column of cells"
    raise DataError(
        f"the rows are {found}; pass a table with one row per person and one column "
        "per feature. One person is a table with one row: [row]."
    )


def _from_array(
    array: NDArray[Any], features: Sequence[Feature]
) -> tuple[list[Callable[[], Column]], int]:
    require_table(array)
    if array.shape[1] != len(features):
        raise DataError(
            f"the rows have {array.shape[1]} columns and the model reads "
            f"{len(features)}; pass those columns, in the model's order, or a data "
            "frame whose columns are named as the model's."
        )
    if isinstance(array, np.ma.MaskedArray):
        raise DataError("the rows are masked; pass rows.filled(numpy.nan).")
    if isinstance(array, np.matrix):
        raise DataError("the rows are a numpy.matrix; pass numpy.asarray(rows).")
    if array.dtype.kind not in "biufOUS" or not array.dtype.isnative:
        raise DataError(
            f"the rows have type {array.dtype}; pass numbers or labels in the byte "
            "order of this machine, such as rows.astype(float)."
        )
    is_objects = array.dtype.kind not in "biuf"
    made = [
        functools.partial(Column, array[:, i], False, is_objects)
        for i in range(array.shape[1])
    ]
    return list(made), len(array)


def places_of(frame: Any, features: Sequence[Feature], inputs: Inputs) -> list[int]:
    """Return where in the frame each feature stands.

    Parameters
    ----------
    frame
        Data frame of `narwhals`.
    features
        The columns wanted.
    inputs
        How the library reads tables.

    Raises
    ------
    DataError
        If there is no such column, several could be the one, or they stand in an order
        in which the library would take one for another.
    """
    places = places_by_name(frame, features, inputs)
    if places != sorted(places) and _by_position(frame, inputs):
        found = ", ".join(str(frame.columns[place]) for place in sorted(places))
        wanted = ", ".join(feature.name for feature in features)
        raise DataError(
            "the columns of the rows stand in another order than those of the model, "
            "whose library takes columns by position, whatever their names. The rows "
            f"have {found}; the model has {wanted}. Pass the columns in the model's "
            "order, or load the model from its file, whose columns are found by name."
        )
    if inputs.by_position == "whole" and len(frame.columns) > len(places):
        mine = {*places}
        others = [str(n) for i, n in enumerate(frame.columns) if i not in mine]
        raise DataError(
            f"the rows also have {first(others)}, and a step of the model "
            "gets the whole table, in which it may go by where columns stand: leave "
            "out those that it was not trained on."
        )
    return places


def refuse_positions(frame: Any, features: Sequence[Feature]) -> None:
    """Refuse a frame with names for a model without: nobody said which is which.

    A frame that was made of an array has no names: its columns are numbered from 0, as
    polars, for one, calls them ``column_0``.

    Parameters
    ----------
    frame
        Data frame of `narwhals`, or None if the table is none.
    features
        What the model reads, in order.

    Raises
    ------
    DataError
        If the frame has names of its own. The message says which column would be which.
    """
    if frame is None:
        return
    names = list(map(str, frame.columns))
    stem = names[0].removesuffix("0") if names else ""
    if names == [f"{stem}{place}" for place in range(len(names))]:
        return
    if len(names) != len(features):
        places_by_name(frame, features, Inputs(named=False))
    pairs = by_position(frame, features)
    shown = first([f"{own} = {name}" for own, name in pairs])
    raise DataError(
        "the model has no names of columns and the table has, so that only their order "
        "would tell which is which, and a wrong order gives a clean verdict about "
        f"something else. By position it would be {shown}. If that is how the model "
        f"was trained, say so: {Arg('by_position', True)}; or name the columns of the "
        f"model in its order, {Arg('columns', ...)}, and the table may have any order."
    )


def by_position(frame: Any, features: Sequence[Feature]) -> list[tuple[str, str]]:
    """Return which column of a frame each one of a model without names takes."""
    return [
        (feature.name, str(name))
        for feature, name in zip(features, frame.columns, strict=True)
    ]


def _by_position(frame: Any, inputs: Inputs) -> bool:
    if inputs.by_position == "others":
        return not frame.implementation.is_pandas()
    return inputs.by_position in {"all", "whole"}


def places_by_name(
    frame: Any, features: Sequence[Feature], inputs: Inputs
) -> list[int]:
    """Return where each feature stands, in whatever order.

    Parameters
    ----------
    frame
        Whatever has names of columns.
    features
        The columns wanted.
    inputs
        How the library reads tables.

    Raises
    ------
    DataError
        If there is no such column, or several could be the one.
    """
    names = [
        # Names of several levels are joined, as XGBoost does.
        " ".join(map(str, name)) if isinstance(name, tuple) else str(name)
        for name in frame.columns
    ]
    renamed = dict(inputs.renamed)
    names = [renamed.get(name, name) for name in names]
    if not inputs.named:
        if len(names) != len(features):
            raise DataError(
                f"the frame has {len(names)} columns; the model was trained without "
                f"column names and reads {len(features)}, by position."
            )
        _refuse_moved(names, features)
        return list(range(len(names)))
    exact: dict[str, list[int]] = {}
    # LightGBM writes the blanks of a name as underscores.
    loose: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        exact.setdefault(name, []).append(place)
        loose.setdefault(name.replace(" ", "_"), []).append(place)
    return [
        _only_place(
            feature.name, exact.get(feature.name) or loose.get(feature.name), names
        )
        for feature in features
    ]


def _refuse_moved(names: list[str], features: Sequence[Feature]) -> None:
    """Refuse a frame that has the model's own numbers as names, in another order.

    Some libraries then go by these names after all.
    """
    places = {feature.name: place for place, feature in enumerate(features)}
    for place, name in enumerate(names):
        if places.get(name, place) != place:
            raise DataError(
                f"the frame calls its column {place} {name!r}, which is what the model "
                f"calls column {places[name]}, and libraries differ on what that "
                "means; pass an array, or give the columns other names."
            )


def _only_place(wanted: str, places: list[int] | None, names: list[str]) -> int:
    if places is None:
        found = f"Columns found: {', '.join(names)}."
        raw = [name for name in names if wanted.startswith((f"{name}_", f"{name}="))]
        if raw:
            raise DataError(
                f"the rows lack the column {wanted!r}, which the model reads: it seems "
                f"to be made of {max(raw, key=len)!r} before the training, by one-hot "
                "encoding or otherwise. Pass rows that are prepared in the same way, "
                f"or the fitted encoder as {Arg('prepare')}. {found}"
            )
        close = difflib.get_close_matches(wanted, names, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise DataError(
            f"the rows lack the column {wanted!r}, which the model reads.{hint} "
            f"{found} If one of them is meant, say so: {Arg('rename', ...)}. If it was "
            "computed of others before the training, let the rows hold it."
        )
    if len(places) > 1:
        raise DataError(
            f"several columns of the rows could be {wanted!r}, which the model reads; "
            "rename the others."
        )
    return places[0]


def series_of(frame: Any, places: Sequence[int]) -> list[Callable[[], Any]]:
    """Return what gives the columns of a frame at some places.

    A frame finds a column by its name at once; by its place it would look at all, which
    takes minutes if there are thousands.
    """
    names = frame.columns
    return [functools.partial(frame.get_column, names[place]) for place in places]


def _from_series(get: Callable[[], Any]) -> Column:
    import narwhals as nw

    series = get()
    numbers = numbers_of(series)
    native = _type_of(series)
    if numbers is not None:
        return Column(numbers, True, is_objects=False, native=native)
    dtype = series.dtype
    if dtype.is_temporal() or dtype in {nw.Int128, nw.UInt128}:
        raise DataError(
            f"column {series.name!r} has type {dtype}; pass numbers or labels."
        )
    if isinstance(native, np.dtype) and (native.kind == "c" or native.itemsize > 8):
        raise DataError(f"column {series.name!r} has type {native}; pass float64.")
    has_nulls = series.null_count() > 0
    # pandas hands the libraries its nullable booleans as numbers, others as objects.
    is_pandas = series.implementation.is_pandas_like()
    is_number = dtype.is_float() or dtype.is_integer()
    if dtype == nw.Boolean:
        is_number = is_pandas or not has_nulls
    if not is_number:
        return _of_objects(series, has_nulls and is_pandas and dtype == nw.Categorical)
    if dtype.is_integer() and series.null_count() < len(series):
        _check_integers(series)
    held_in = np.dtype(bool if dtype == nw.Boolean else str(dtype).lower())
    if dtype == nw.Boolean:
        series = series.cast(nw.Int8)
    numbers = series.cast(nw.Float64).to_numpy()
    return Column(numbers, True, is_objects=False, held_in=held_in, native=native)


def _type_of(series: Any) -> Any:
    """Return the type of a column in its own frame, which pyarrow calls otherwise."""
    own = series.to_native()
    return own.dtype if hasattr(own, "dtype") else own.type


def numbers_of(series: Any) -> NDArray[Any] | None:
    """Return a column of numbers that is an array already, or can be without gaps.

    Parameters
    ----------
    series
        Series of `narwhals`.

    Returns
    -------
    ndarray of shape (n_rows,), or None
        None if there are gaps, other than NaN, or more than numbers.
    """
    import narwhals as nw

    dtype = series.dtype
    if not (dtype.is_float() or dtype.is_integer() or dtype == nw.Boolean):
        return None
    if dtype in {nw.Int128, nw.UInt128}:
        return None
    # What numpy holds for pandas has no gaps but NaN; counting them would take long.
    is_numpy = isinstance(getattr(series.to_native(), "dtype", None), np.dtype)
    if not is_numpy and series.null_count() > 0:
        return None
    numbers: NDArray[Any] = series.to_numpy()
    return numbers


def _of_objects(series: Any, is_nullable_category: bool) -> Column:
    import narwhals as nw

    distinct = _distinct_texts(series)
    if distinct is not None:
        texts, places = distinct
        return Column(texts[places], True, False, distinct, native=_type_of(series))
    cells = np.empty(len(series), dtype=object)
    cells[:] = series.to_list()
    if series.implementation.is_pyarrow() and series.dtype == nw.Categorical:
        _refuse_nulls(series, cells)
    if is_nullable_category and any(
        isinstance(cell, bool | np.bool_) for cell in cells
    ):
        raise DataError(
            f"column {series.name!r} has booleans and nulls as categories, which "
            "libraries see as numbers; pass it as type boolean."
        )
    kinds = (nw.Object, nw.Categorical, nw.Enum, nw.Boolean)
    return Column(cells, True, series.dtype in kinds, native=_type_of(series))


def _refuse_nulls(series: Any, cells: NDArray[Any]) -> None:
    """Refuse nulls in a dictionary of pyarrow.

    Libraries that turn such a column into an array take the entry before the first one,
    that is the last one, for a null, which depends on the other rows too.
    """
    for row, cell in enumerate(cells):
        if cell is None:
            raise DataError(
                f"row {row}: column {series.name!r} is a null in a pyarrow dictionary, "
                "for which scikit-learn takes the last entry of the dictionary, and "
                "other libraries a missing value; pass the column without a "
                "dictionary, as column.cast(column.type.value_type) gives it."
            )


def _distinct_texts(series: Any) -> tuple[NDArray[Any], NDArray[np.int64]] | None:
    """Return the different texts of a column, and which each is; None if unknown."""
    import narwhals as nw

    if series.dtype != nw.String or series.null_count() > 0:
        return None
    try:
        cells = series.to_arrow()
        if hasattr(cells, "combine_chunks"):
            # As after a concatenation.
            cells = cells.combine_chunks()
        encoded = cells.dictionary_encode()
    except (ImportError, TypeError, ValueError, NotImplementedError):
        # Without pyarrow, with texts that are no Unicode, or where only the first
        # hundred objects, at which narwhals looks, are texts.
        return None
    texts = np.array(encoded.dictionary.to_pylist(), dtype=object)
    return texts, encoded.indices.to_numpy().astype(np.int64)


def _check_integers(series: Any) -> None:
    if not -EXACT <= series.min() <= series.max() <= EXACT:
        raise DataError(
            f"column {series.name!r} holds integers beyond 2**53 and nulls, which no "
            "float64 holds exactly."
        )
