"""Functions that only their author knows, tabulated where there are few values.

Behind an encoder or a discretizer each column has a list of values, and of a raw column
somebody may have told all that there are. The fitted step is asked about all rows that
these make, and the table of its answers is kept if they do not hang on other rows, and
each is made of one column.
"""

from __future__ import annotations

import importlib.util
import itertools
import math
import warnings
from collections.abc import Iterator, Sequence, Set
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from fatt.errors import UnsupportedModelError
from fatt.importers.pipeline.steps import Numbers, Work
from fatt.importers.pullback.columns import (
    ANYTHING,
    Floats,
    around,
    identity,
    table_of,
)

#: Whether functions may be called: not those of files that nobody vouches for.
MAY_CALL: ContextVar[bool] = ContextVar("MAY_CALL", default=True)

#: How many rows a function is asked about, and how many of them one by one.
_ROWS = 4096
_ALONE = 50
#: Among how many others rows are asked about, drawn again and again.
_AMONG = (2, 2, 3, 3, 7, 20, 100, 2 * _ROWS)
#: Up to here integers are floats as well.
_EXACT = 2**53
#: Up to here also float32, as which LightGBM takes an array of them.
_EXACT_IN_FLOAT32 = 2**24


def tabulated(
    transformer: Any, values: Sequence[Floats], *, in_frame: bool, flags: bool
) -> Work:
    """Ask a `FunctionTransformer` about all rows that there are.

    Parameters
    ----------
    transformer
        The fitted transformer.
    values
        All numbers that each column can have; NaN among them if it may be missing.
    in_frame
        Whether it gets a frame of pandas.
    flags
        Whether some of the columns may hold booleans.

    Raises
    ------
    UnsupportedModelError
        If it may not be called, the rows are too many, what it makes of a row hangs on
        others or on the type of its cells, or it joins columns.
    """
    rows = _rows(transformer, values)
    made, types = _asked(transformer, rows, in_frame=in_frame, flags=flags)
    return _work(transformer, values, [False] * len(values), made, types)


def tabulated_as_told(
    transformer: Any,
    values: Sequence[Floats],
    told: Sequence[bool],
    *,
    in_frame: bool,
    flags: bool,
) -> Work:
    """Ask a `FunctionTransformer` about all rows that there are, as somebody told.

    Missing cells are taken if it can be told what it makes of them.

    Parameters
    ----------
    transformer, values, in_frame, flags
        As in `tabulated`.
    told
        Which columns go by what somebody told. They may come in several types, and in
        either kind of table: all are tried, and must give the same or be refused.

    Raises
    ------
    UnsupportedModelError
        If it cannot be tabulated, or leaves a column out.
    """
    rows = _rows(transformer, values)
    gaps = np.isnan(rows).any(axis=1)
    try:
        made, types = _asked(transformer, rows, in_frame=in_frame, flags=flags)
        _require_types(transformer, rows, made, is_bool=_BOOL in types)
        if gaps.any() and not gaps.all():
            # Integers are asked about among themselves.
            some = rows[~gaps]
            found, _ = _asked(transformer, some, in_frame=in_frame, flags=flags)
            _require_same(_called(transformer), found, made[~gaps])
    except UnsupportedModelError:
        present = [
            own[~np.isnan(own)] if by_told else own
            for own, by_told in zip(values, told, strict=True)
        ]
        if list(map(len, present)) == list(map(len, values)):
            raise
        return tabulated_as_told(
            transformer, present, told, in_frame=in_frame, flags=flags
        )
    work = _work(transformer, values, told, made, types)
    if work.idle:
        raise UnsupportedModelError(
            f"{_called(transformer)} and leaves a column out, of which it may yet look "
            "at the type. Give it the columns that it reads, and fit again."
        )
    return work


def _rows(transformer: Any, values: Sequence[Floats]) -> Floats:
    """Return all rows that there are, if it may be asked about so many."""
    called = _called(transformer)
    if not MAY_CALL.get():
        raise UnsupportedModelError(
            f"{called}, and nothing in such a file is run. Pass the fitted model, or "
            "do the same with a step that is supported."
        )
    shape = tuple(map(len, values))
    if math.prod(shape) > _ROWS:
        raise UnsupportedModelError(
            f"{called} on columns whose values make {math.prod(shape):,} different "
            f"rows; up to {_ROWS:,} are tried. Give each column a FunctionTransformer "
            "of its own."
        )
    return np.array(list(itertools.product(*values)), dtype=np.float64)


def _work(
    transformer: Any,
    values: Sequence[Floats],
    told: Sequence[bool],
    made: Floats,
    types: Set[np.dtype[Any]],
) -> Work:
    """Return the work of a transformer that makes these numbers of all rows."""
    shape = tuple(map(len, values))
    outputs = made.reshape(*shape, -1)
    work = Work(narrow=_BOOL in types)
    for j in range(outputs.shape[-1]):
        output = outputs[..., j]
        varies = [
            not _same(output, np.take(output, [0], axis)) for axis in range(len(shape))
        ]
        if sum(varies) > 1:
            names = getattr(transformer, "feature_names_in_", np.arange(len(shape)))
            joined = ", ".join(repr(str(name)) for name in names[varies])
            raise UnsupportedModelError(
                f"{_called(transformer)}, which makes a column of several ({joined}). "
                "Make what it computes a column of the table, and train without it."
            )
        i = varies.index(True) if any(varies) else 0
        own = np.moveaxis(output, i, 0).reshape(shape[i], -1)[:, 0]
        step = replace(_table(values[i], own), makes_integers=_INT64 in types)
        work.outputs.append((i, (_as_told(step, values[i]) if told[i] else step,)))
    used = {i for i, _ in work.outputs}
    for i in set(range(len(shape))) - used:
        work.idle.append((i, Numbers(function=identity, taker=ANYTHING)))
    return work


def _table(levels: Floats, made: Floats) -> Numbers:
    """Return the step that looks up what was made of each level."""
    here = ~np.isnan(levels)
    return Numbers(
        function=table_of(levels[here], made[here], math.nan),
        taker=ANYTHING,
        missing=math.nan if here.all() else float(made[~here][0]),
        edges=around(levels[here]),
        values=tuple(made.tolist()),
    )


def _as_told(step: Numbers, levels: Floats) -> Numbers:
    """Return the step where it is known what other numbers the column has: none.

    Then it does not matter what becomes of them, as long as the steps behind take that.
    """
    own = levels[~np.isnan(levels)]
    made = step.function(own)
    function = table_of(own, made, float(made[0]) if len(made) else math.nan)
    taker = msgspec.structs.replace(
        ANYTHING, accepts_missing=bool(np.isnan(levels).any())
    )
    return replace(step, function=function, taker=taker, goes_by_told=True)


def _asked(
    transformer: Any, rows: Floats, *, in_frame: bool, flags: bool
) -> tuple[Floats, Set[np.dtype[Any]]]:
    """Return what is made of rows, alone, among others and of any type.

    Returns
    -------
    made : ndarray of shape (n_rows, n_outputs)
    types : set
        Of which types it is: with booleans and integers the next step may compute
        otherwise than with floats.
    """
    called = _called(transformer)
    tables: list[NDArray[Any]] = [rows, np.where(rows == 0, -0.0, rows)]
    if (rows == np.trunc(rows)).all():
        tables.append(rows.astype(np.int64))
    if flags and np.isin(rows, (0.0, 1.0)).all():
        tables.append(rows.astype(bool))
    wanted = _answers(transformer, rows, called, in_frame=in_frame)
    types: set[np.dtype[Any]] = set().union(
        *(
            require_alike(transformer, table, wanted, called, in_frame=in_frame)
            for table in tables
        )
    )
    made = wanted.astype(np.float64)
    if _INT64 in types and (np.abs(made) > _EXACT_IN_FLOAT32).any():
        raise UnsupportedModelError(
            f"{called}, which makes integers beyond 2^24, which a model such as "
            "LightGBM rounds. Let it return float64, and fit again."
        )
    return made, types


def require_alike(
    transformer: Any,
    table: NDArray[Any],
    wanted: NDArray[Any],
    called: str,
    *,
    in_frame: bool,
) -> Set[np.dtype[Any]]:
    """Refuse a function that makes other numbers of the rows of a table than wanted.

    It is asked about each alone, among others, and in another order.

    Returns
    -------
    set
        Of which types they are.
    """
    every = np.arange(len(table))
    some = np.unique(np.linspace(0, len(table) - 1, _ALONE).astype(int))
    rng = np.random.default_rng(0)
    # Some rows twice: a function may count them.
    among = [rng.integers(len(table), size=size) for size in _AMONG]
    types: set[np.dtype[Any]] = set()
    for part in [every, every[::-1], *some[:, np.newaxis], *among]:
        found = _answers(transformer, table[part], called, in_frame=in_frame)
        types.add(found.dtype)
        _require_same(called, found, wanted[part])
    return types


def _require_same(called: str, found: NDArray[Any], wanted: NDArray[Any]) -> None:
    if not np.array_equal(found, wanted, equal_nan=True):
        raise UnsupportedModelError(
            f"{called}, and what that makes of a cell hangs on other rows, on chance, "
            "or on the type of the cells. Do the same with a step that is supported, "
            "or in the table."
        )


def _require_types(
    transformer: Any, rows: Floats, wanted: Floats, *, is_bool: bool
) -> None:
    """Refuse a function that makes other numbers of a table as people may hand it over.

    It may be a frame or an array, of integers, of floats, or of Python objects, and a
    frame of both kinds of numbers; what the function raises at, nobody is answered.
    """
    parts = slice(None), slice(None, None, -1), slice(0, 1), slice(1, 2)
    tables = itertools.product(_tables(transformer, rows), parts)
    for (here, table), part in tables:
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                answer = np.asarray(transformer.transform(table[part].copy()))
                numbers = answer.astype(np.float64)
        except Exception:  # functions raise what they like
            continue
        is_known = answer.dtype in _KINDS or answer.dtype == object
        if not is_known or (answer.dtype == bool) != is_bool:
            numbers = np.full(1, math.inf)
        _require_same(_called(transformer), numbers, wanted[here][part])


def _tables(transformer: Any, rows: Floats) -> Iterator[tuple[NDArray[np.int64], Any]]:
    """Yield tables of rows in all types that they may have, and which rows these are.

    Columns of integers have no gaps.
    """
    columns = range(rows.shape[1])
    names = getattr(transformer, "feature_names_in_", np.asarray(columns))
    parts = [np.isnan(own) | (own == np.trunc(own)) for own in rows.T]
    whole = frozenset(place for place in columns if parts[place].all())
    chosen = {frozenset[int](), whole}
    chosen |= {one for place in whole for one in (frozenset({place}), whole - {place})}
    for integers in chosen:
        gaps = np.isnan(rows[:, sorted(integers)])
        here = np.flatnonzero(~gaps.any(axis=1))
        cells = [
            rows[here, place].astype(np.int64 if place in integers else np.float64)
            for place in columns
        ]
        if len(integers) in {0, len(columns)}:
            yield here, np.column_stack(cells)
        objects = np.column_stack([own.astype(object) for own in cells])
        yield here, objects
        if importlib.util.find_spec("pandas"):
            import pandas as pd

            frame = pd.DataFrame(dict(zip(names, cells, strict=True)))
            yield here, frame
            yield here, frame.astype("category")
            yield here, pd.DataFrame(objects, columns=names)


def _answers(
    transformer: Any, table: NDArray[Any], called: str, *, in_frame: bool
) -> NDArray[Any]:
    given: Any = table.copy()
    if in_frame:
        import pandas as pd

        # Nothing may hang on what the rows are called, nor on an order of that.
        index = len(table) + np.random.default_rng(0).permutation(len(table))
        given = pd.DataFrame(given, columns=transformer.feature_names_in_, index=index)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            answer = transformer.transform(given)
    except Exception as error:  # functions raise what they like
        raise UnsupportedModelError(
            f"{called}, which fails on values that the steps before it can make "
            f"({type(error).__name__}: {error}). Do the same with a step that is "
            "supported, or in the table."
        ) from error
    if not np.array_equal(np.asarray(given), table, equal_nan=True):
        raise UnsupportedModelError(
            f"{called}, which writes into the table that it gets, and other steps may "
            "get the same. Let it begin with a copy, and fit again."
        )
    if hasattr(answer, "toarray"):
        raise UnsupportedModelError(
            f"{called}, which makes a sparse matrix. Let it return an array, and fit "
            "again."
        )
    if in_frame and not given.index.equals(getattr(answer, "index", given.index)):
        raise UnsupportedModelError(
            f"{called}, which gives the rows another index, by which pandas puts "
            "columns beside each other. Let it keep the index, and fit again."
        )
    made = np.asarray(answer)
    shape, kind = made.shape, made.dtype
    if len(shape) != 2 or len(made) != len(table) or kind not in _KINDS:
        raise UnsupportedModelError(
            f"{called}, which makes {kind} of shape {list(shape)} of {len(table)} "
            "rows; followed are tables of float64, int64 and bool, a row for each."
        )
    if kind == np.int64 and ((made > _EXACT) | (made < -_EXACT)).any():
        raise UnsupportedModelError(
            f"{called}, which makes integers beyond 2^53, which are rounded behind it. "
            "Let it return smaller ones, and fit again."
        )
    return made


_INT64, _BOOL = np.dtype(np.int64), np.dtype(bool)
_KINDS = {np.dtype(np.float64), _INT64, _BOOL}


def _same(one: Floats, other: Floats) -> bool:
    return bool(((one == other) | (np.isnan(one) & np.isnan(other))).all())


def _called(transformer: Any) -> str:
    name = getattr(transformer.func, "__name__", "a function")
    return f"a FunctionTransformer calls {name}"
