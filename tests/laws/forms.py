"""Fitted models of every kind, and tables in every form that people have.

A table has a column ``x`` of numbers, ``n`` of small whole numbers, ``f`` of booleans
and ``t`` of texts, each in a form of its own: `COLUMNS` are the forms that a column has
in a container, `TABLES` those that a whole table has.
"""

from __future__ import annotations

import datetime
import decimal
import functools
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

TEXTS = ["a", "b", "c", "d"]
NUMBERS = ("x", "n", "f")
EVERYTHING = ("x", "n", "f", "t")
TREE, FOREST = "DecisionTreeClassifier", "RandomForestClassifier"
HIST = "HistGradientBoostingClassifier"

#: Plain cells of each column; None where there is nothing.
Cells = dict[str, list[Any]]
Form = Callable[[list[Any]], Any]


def draw_cells(
    rng: np.random.Generator,
    n_rows: int,
    gaps: tuple[str, ...] = (),
    *,
    new: bool = False,
) -> Cells:
    """Draw a table; columns named in `gaps` have some, and `new` adds unseen texts."""
    cells: Cells = {
        # Halves, which every type of floats holds.
        "x": (rng.integers(-8, 9, n_rows) / 2).tolist(),
        "n": rng.integers(0, 7, n_rows).tolist(),
        "f": rng.integers(0, 2, n_rows).astype(bool).tolist(),
        "t": rng.choice(["a", "b", "c", "d", *["z"] * new], n_rows).tolist(),
    }
    for name in gaps:
        absent = rng.random(n_rows) < 0.3
        cells[name] = [
            None if gone else cell
            for gone, cell in zip(absent, cells[name], strict=True)
        ]
    return cells


def answers_of(cells: Cells) -> np.ndarray:
    """Return labels that hang on all columns, gaps included."""
    labels = []
    for x, n, f, t in zip(*(cells[name] for name in EVERYTHING), strict=True):
        score = -1.0 if x is None else x
        score += 2.0 if n is None else (-1.5, 1, -0.5, 2, 0, -2, 1.5)[n]
        score += 0.7 if f is None else f * 1.5
        score += {None: 3.0, "a": -2.0, "b": 1.0, "c": -1.0, "d": 2.5}[t]
        labels.append(int(score > 0) + int(score > 3))
    return np.array(labels)


# Columns.


def _object(cells: list[Any]) -> np.ndarray:
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array


def _each(change: Callable[[Any], Any], cells: list[Any]) -> list[Any]:
    """Change what there is, and leave the gaps."""
    return [None if cell is None else change(cell) for cell in cells]


def _code(text: str) -> float:
    return float("abcdz".index(text))


def _day(_: Any) -> datetime.date:
    return datetime.date(2020, 1, 1)


def _nan(cells: list[Any]) -> list[Any]:
    return [np.nan if cell is None else cell for cell in cells]


def _series(dtype: Any, gap: Any = None) -> Form:
    return lambda cells: pd.Series(
        _object([gap if cell is None else cell for cell in cells]), dtype=dtype
    )


def _floats(dtype: Any) -> Form:
    return lambda cells: pd.Series(np.array(_nan(cells), dtype=float).astype(dtype))


def _integers(dtype: Any) -> Form:
    return lambda cells: pd.Series(np.array(cells).astype(dtype))


def _sparse(cells: list[Any]) -> pd.Series:
    return pd.Series(pd.arrays.SparseArray(np.array(_nan(cells), dtype=float)))


def _categories(categories: list[Any] | None = None, ordered: bool = False) -> Form:
    def make(cells: list[Any]) -> pd.Series:
        return pd.Series(pd.Categorical(cells, categories=categories, ordered=ordered))

    return make


def _arrow(type_: Any) -> Form:
    return lambda cells: pa.array(cells, type=type_)


def _chunks(make: Form) -> Form:
    """Cut a column of arrow into pieces, which may have dictionaries of their own."""

    def cut(cells: list[Any]) -> Any:
        middle = len(cells) // 2
        return pa.chunked_array([make(cells[:middle]), make(cells[middle:])])

    return cut


def _dictionary(index: Any = None) -> Form:
    def make(cells: list[Any]) -> Any:
        array = pa.array(cells).dictionary_encode()
        if index is None:
            return array
        indices = array.indices.cast(index)
        return pa.DictionaryArray.from_arrays(indices, array.dictionary)

    return make


def _ordered_dictionary(cells: list[Any]) -> Any:
    """The dictionary in alphabetical order, with an entry that no row has."""
    known = [*sorted({cell for cell in cells if cell is not None}), "unused"]
    places = [None if cell is None else known.index(cell) for cell in cells]
    return pa.DictionaryArray.from_arrays(pa.array(places, pa.int8()), pa.array(known))


def _null_in_dictionary(cells: list[Any]) -> Any:
    """The gaps are an entry of the dictionary."""
    return pa.array(cells).dictionary_encode(null_encoding="encode")


def _polars(dtype: Any) -> Form:
    return lambda cells: pl.Series(cells, dtype=dtype, strict=False)


_WIDTHS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
#: The same widths as pandas calls its nullable types, and polars all.
_NULLABLE = [name.replace("i", "I").replace("u", "U") for name in _WIDTHS]
_DECIMAL = pa.decimal128(9, 3)


def _arrow_series(type_: Any) -> Form:
    return lambda cells: pd.Series(pa.array(cells, type_), dtype=pd.ArrowDtype(type_))


def _arrow_dictionary(value: Any) -> Form:
    type_ = pd.ArrowDtype(pa.dictionary(pa.int32(), value))
    return lambda cells: pd.Series(
        pd.array(pa.array(cells, value).dictionary_encode(), dtype=type_)
    )


_PANDAS_FLOATS: dict[str, Form] = {
    "float64": _floats("float64"),
    "float32": _floats("float32"),
    "float16": _floats("float16"),
    "longdouble": _floats("longdouble"),
    "Float64": _series("Float64"),
    "Float32": _series("Float32"),
    "arrow double": _series("double[pyarrow]"),
    "arrow float": _series("float[pyarrow]"),
    "object None": _series(object),
    "object NaN": _series(object, np.nan),
    "object NA": _series(object, pd.NA),
    "object Decimal": lambda cells: _series(object)(_each(decimal.Decimal, cells)),
    "object texts": lambda cells: _series(object)(_each(str, cells)),
    "texts": lambda cells: _series("str")(_each(str, cells)),
    "arrow decimal": lambda cells: _arrow_series(_DECIMAL)(
        _each(decimal.Decimal, cells)
    ),
    "category": _categories(),
    "sparse": _sparse,
    "arrow dictionary": lambda cells: _arrow_dictionary(pa.float64())(
        _each(float, cells)
    ),
    "complex": lambda cells: pd.Series(np.array(_nan(cells), dtype=complex)),
    "dates": lambda cells: pd.Series(
        [pd.NaT if c is None else pd.Timestamp("2020-01-01") for c in cells]
    ),
    "durations": lambda cells: pd.Series(
        [pd.NaT if c is None else pd.Timedelta(int(c), "s") for c in cells]
    ),
}
_PANDAS_WHOLE: dict[str, Form] = {
    **{name: _integers(name) for name in _WIDTHS},
    **{name: _series(name) for name in _NULLABLE},
    "arrow int": _series("int64[pyarrow]"),
    "arrow small int": _series("int8[pyarrow]"),
    "arrow uint": _series("uint64[pyarrow]"),
}
_PANDAS_FLAGS: dict[str, Form] = {
    "bool": _integers("bool"),
    "boolean": _series("boolean"),
    "arrow bool": _series("bool[pyarrow]"),
}
_PANDAS_TEXTS: dict[str, Form] = {
    "str": _series("str"),
    "object None": _series(object),
    "object NaN": _series(object, np.nan),
    "object NA": _series(object, pd.NA),
    "object NaT": _series(object, pd.NaT),
    "string": _series("string"),
    "string python": _series("string[python]"),
    "arrow string": _series("string[pyarrow]"),
    "arrow type": _arrow_series(pa.string()),
    "arrow large": _arrow_series(pa.large_string()),
    "category": _categories(),
    "category all": _categories([*TEXTS]),
    "category turned": _categories([*reversed(TEXTS)]),
    "category more": _categories(["0", *TEXTS, "y", "z"]),
    "category ordered": _categories([*TEXTS], ordered=True),
    "category of objects": lambda cells: pd.Series(
        pd.Categorical(cells, categories=pd.Index(TEXTS, dtype=object))
    ),
    "bytes": lambda cells: _series(object)(_each(str.encode, cells)),
    "arrow dictionary": _arrow_dictionary(pa.string()),
    "codes": lambda cells: _floats(float)(_each(_code, cells)),
    "integer codes": lambda cells: pd.Series(
        [-1 if cell is None else int(_code(cell)) for cell in cells]
    ),
}
_POLARS_FLOATS: dict[str, Form] = {
    "Float64": _polars(pl.Float64),
    "Float32": _polars(pl.Float32),
    "Float64 NaN": lambda cells: pl.Series(_nan(cells), dtype=pl.Float64),
    "Decimal": _polars(pl.Decimal(9, 3)),
    "String": lambda cells: _polars(pl.String)(_each(str, cells)),
    "Object": _polars(pl.Object),
    "Date": lambda cells: _polars(pl.Date)(_each(_day, cells)),
}
_POLARS_WHOLE: dict[str, Form] = {
    name: _polars(getattr(pl, name)) for name in (*_NULLABLE, "Int128")
}
_POLARS_FLAGS: dict[str, Form] = {"Boolean": _polars(pl.Boolean)}
_POLARS_TEXTS: dict[str, Form] = {
    "String": _polars(pl.String),
    "Categorical": _polars(pl.Categorical),
    "Enum": _polars(pl.Enum([*TEXTS, "z"])),
    "Enum turned": _polars(pl.Enum(["z", *reversed(TEXTS)])),
    "Object": _polars(pl.Object),
    "codes": lambda cells: _polars(pl.Float64)(_each(_code, cells)),
}
_ARROW_FLOATS: dict[str, Form] = {
    "double": _arrow(pa.float64()),
    "float": _arrow(pa.float32()),
    "halffloat": lambda cells: _arrow(pa.float16())(_each(np.float16, cells)),
    "NaN": lambda cells: pa.array(_nan(cells), pa.float64()),
    "chunks": _chunks(_arrow(pa.float64())),
    "decimal": lambda cells: _arrow(_DECIMAL)(_each(decimal.Decimal, cells)),
    "dictionary": _dictionary(),
    "string": lambda cells: _arrow(pa.string())(_each(str, cells)),
    "date": lambda cells: _arrow(pa.date32())(_each(_day, cells)),
    "null": lambda cells: pa.nulls(len(cells)),
}
_ARROW_WHOLE: dict[str, Form] = {
    **{name: _arrow(getattr(pa, name)()) for name in _WIDTHS},
    "int chunks": _chunks(_arrow(pa.int64())),
    "int dictionary": _dictionary(),
}
_ARROW_FLAGS: dict[str, Form] = {
    "bool": _arrow(pa.bool_()),
    "bool dictionary": _dictionary(),
}
_ARROW_TEXTS: dict[str, Form] = {
    "string": _arrow(pa.string()),
    "large_string": _arrow(pa.large_string()),
    "string_view": _arrow(pa.string_view()),
    "chunks": _chunks(_arrow(pa.string())),
    "dictionary": _dictionary(),
    "dictionary int8": _dictionary(pa.int8()),
    "dictionary uint16": _dictionary(pa.uint16()),
    "dictionary in order": _ordered_dictionary,
    "dictionary with null": _null_in_dictionary,
    "dictionary chunks": _chunks(_dictionary()),
    "null": lambda cells: pa.nulls(len(cells)),
    "codes": lambda cells: _arrow(pa.float64())(_each(_code, cells)),
}

#: The forms of a column by container and column.
COLUMNS: dict[str, dict[str, dict[str, Form]]] = {
    "pandas": {
        "x": _PANDAS_FLOATS,
        "n": {**_PANDAS_WHOLE, **_PANDAS_FLOATS},
        "f": {**_PANDAS_FLAGS, **_PANDAS_WHOLE, **_PANDAS_FLOATS},
        "t": _PANDAS_TEXTS,
    },
    "polars": {
        "x": _POLARS_FLOATS,
        "n": {**_POLARS_WHOLE, **_POLARS_FLOATS},
        "f": {**_POLARS_FLAGS, **_POLARS_WHOLE, **_POLARS_FLOATS},
        "t": _POLARS_TEXTS,
    },
    "pyarrow": {
        "x": _ARROW_FLOATS,
        "n": {**_ARROW_WHOLE, **_ARROW_FLOATS},
        "f": {**_ARROW_FLAGS, **_ARROW_FLOATS},
        "t": _ARROW_TEXTS,
    },
}
#: The form that other columns have while one is looked at.
PLAIN = {
    "pandas": {"x": "float64", "n": "float64", "f": "float64"},
    "polars": {"x": "Float64 NaN", "n": "Float64 NaN", "f": "Float64 NaN"},
    "pyarrow": {"x": "NaN", "n": "NaN", "f": "NaN"},
}
PLAIN_TEXTS = {
    "pandas": ("category all", "object NaN", "codes"),
    "polars": ("Enum", "String", "codes"),
    "pyarrow": ("dictionary in order", "string", "codes"),
}


def make_table(container: str, cells: Cells, forms: dict[str, str]) -> Any:
    """Build a table of a container with each column in its form."""
    columns = {n: COLUMNS[container][n][form](cells[n]) for n, form in forms.items()}
    if container == "pandas":
        return pd.DataFrame(columns)
    return pl.DataFrame(columns) if container == "polars" else pa.table(columns)


# Whole tables.


def _matrix(dtype: Any) -> Callable[[Cells, tuple[str, ...]], Any]:
    def make(cells: Cells, names: tuple[str, ...]) -> np.ndarray:
        columns = [_nan(cells[name]) for name in names]
        return np.array(columns, dtype=float).T.astype(dtype, order="C")

    return make


def _objects(gap: Any) -> Callable[[Cells, tuple[str, ...]], Any]:
    def make(cells: Cells, names: tuple[str, ...]) -> np.ndarray:
        columns = [[gap if c is None else c for c in cells[name]] for name in names]
        return np.array(columns, dtype=object).T

    return make


def _frame(cells: Cells, names: tuple[str, ...]) -> pd.DataFrame:
    forms = PLAIN["pandas"] | {"t": "category all"}
    return make_table("pandas", cells, {name: forms[name] for name in names})


def _arrow_frame(cells: Cells, names: tuple[str, ...]) -> pa.Table:
    return pa.Table.from_pandas(_frame(cells, names))


def _masked(cells: Cells, names: tuple[str, ...]) -> Any:
    matrix = _matrix(float)(cells, names)
    return np.ma.masked_invalid(matrix)


def _with_labels(change: Callable[[pd.DataFrame], Any]) -> Callable[..., Any]:
    return lambda cells, names: change(_frame(cells, names))


def _double_index(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.set_axis([0] * len(frame), axis=0)


def _several_levels(frame: pd.DataFrame) -> pd.DataFrame:
    levels = pd.MultiIndex.from_arrays([range(len(frame)), ["k"] * len(frame)])
    return frame.set_axis(levels, axis=0)


def _named(names: Callable[[int], Any]) -> Callable[..., Any]:
    return _with_labels(
        lambda frame: frame.set_axis([names(i) for i in range(frame.shape[1])], axis=1)
    )


def _sparse_matrix(cells: Cells, names: tuple[str, ...]) -> Any:
    import scipy.sparse

    return scipy.sparse.csr_matrix(_matrix(float)(cells, names))


TABLES: dict[str, Callable[[Cells, tuple[str, ...]], Any]] = {
    "float64": _matrix("float64"),
    "float32": _matrix("float32"),
    "float16": _matrix("float16"),
    "longdouble": _matrix("longdouble"),
    "big endian": _matrix(">f8"),
    **{name: _matrix(name) for name in _WIDTHS},
    "bool": _matrix("bool"),
    "object None": _objects(None),
    "object NaN": _objects(np.nan),
    "object NA": _objects(pd.NA),
    "texts": lambda c, n: _matrix("float64")(c, n).astype("U"),
    "bytes": lambda c, n: _matrix("float64")(c, n).astype("S"),
    "complex": _matrix("complex128"),
    "in columns": lambda c, n: np.asfortranarray(_matrix("float64")(c, n)),
    "every other row": lambda c, n: np.repeat(_matrix("float64")(c, n), 2, axis=0)[::2],
    "turned": lambda c, n: _matrix("float64")(c, n)[::-1, ::-1][:, ::-1],
    "read-only": lambda c, n: np.frombuffer(_matrix("float64")(c, n).tobytes()).reshape(
        -1, len(n)
    ),
    "masked": _masked,
    "matrix": lambda c, n: np.asmatrix(_matrix("float64")(c, n)),
    "lists": lambda c, n: _objects(np.nan)(c, n).tolist(),
    "tuples": lambda c, n: [tuple(row) for row in _objects(np.nan)(c, n).tolist()],
    "sparse matrix": _sparse_matrix,
    "one dimension": lambda c, n: _matrix("float64")(c, n)[0],
    "three dimensions": lambda c, n: _matrix("float64")(c, n)[None],
    "fewer columns": lambda c, n: _matrix("float64")(c, n)[:, 1:],
    "more columns": lambda c, n: np.hstack([_matrix("float64")(c, n)] * 2),
    "no rows": lambda c, n: _matrix("float64")(c, n)[:0],
    "one row": lambda c, n: _matrix("float64")(c, n)[:1],
    "frame": _frame,
    "frame of one row": _with_labels(lambda frame: frame.iloc[:1]),
    "frame without rows": _with_labels(lambda frame: frame.iloc[:0]),
    "frame in columns": _with_labels(lambda frame: frame.copy()),
    "frame reordered": _with_labels(lambda frame: frame[frame.columns[::-1]]),
    "frame with more": _with_labels(lambda frame: frame.assign(more=1.0)),
    "frame with more texts": _with_labels(lambda frame: frame.assign(more="?")),
    "frame with less": _with_labels(lambda frame: frame.iloc[:, 1:]),
    "frame doubled": _with_labels(lambda frame: pd.concat([frame, frame], axis=1)),
    "frame with double name": _with_labels(
        lambda frame: frame.set_axis(["x", *frame.columns[:-1]], axis=1)
    ),
    "frame double index": _with_labels(_double_index),
    "frame several levels": _with_labels(_several_levels),
    "frame turned index": _with_labels(lambda frame: frame.iloc[::-1]),
    "frame index of dates": _with_labels(
        lambda frame: frame.set_axis(pd.date_range("2020", periods=len(frame)), axis=0)
    ),
    "frame index named x": _with_labels(lambda frame: frame.rename_axis("x")),
    "frame numbered": _named(int),
    "frame numbered texts": _named(str),
    "frame of tuples": _named(lambda i: ("k", i)),
    "frame of strange names": _named(lambda i: ["x", 1, None, 2.5][i]),
    "pyarrow": _arrow_frame,
    "pyarrow reordered": lambda c, n: _arrow_frame(c, n).select([*reversed(n)]),
    "pyarrow batch": lambda c, n: _arrow_frame(c, n).to_batches()[0],
    "polars": lambda c, n: pl.from_pandas(_frame(c, n)),
    "polars reordered": lambda c, n: pl.from_pandas(_frame(c, n)).select(
        [*reversed(n)]
    ),
    "polars with more": lambda c, n: pl.from_pandas(_frame(c, n)).with_columns(
        more=pl.lit(1.0)
    ),
    "polars lazy": lambda c, n: pl.from_pandas(_frame(c, n)).lazy(),
    "dict": lambda c, n: {name: _nan(c[name]) for name in n},
    "series": lambda c, n: _frame(c, n)[n[0]],
}


# Models.


class Kind(NamedTuple):
    """A fitted model.

    Attributes
    ----------
    model
        What `fatt.load` takes.
    predict
        Gives the library's labels for a table.
    names
        The columns that it reads.
    text
        Which plain form of ``t`` it was trained on.
    gaps
        Which columns had gaps when it was trained.
    """

    model: Any
    predict: Callable[[Any], Any]
    names: tuple[str, ...]
    text: int = 0
    gaps: tuple[str, ...] = ()


def _trained(
    names: tuple[str, ...],
    gaps: tuple[str, ...] = (),
    text: int = 0,
    n_classes: int = 3,
) -> tuple[pd.DataFrame, np.ndarray]:
    cells = draw_cells(np.random.default_rng(len(names)), 300, gaps)
    forms = PLAIN["pandas"] | {"t": PLAIN_TEXTS["pandas"][text]}
    frame = make_table("pandas", cells, {name: forms[name] for name in names})
    return frame, np.minimum(answers_of(cells), n_classes - 1)


def _fitted(
    model: Any, *, as_array: bool = False, n_classes: int = 3, **how: Any
) -> Kind:
    names = how.pop("names", NUMBERS)
    frame, y = _trained(names, n_classes=n_classes, **how)
    model.fit(frame.to_numpy() if as_array else frame, y)
    return Kind(model, model.predict, names, **how)


@functools.cache
def kind_of(name: str) -> Kind:
    """Return a fitted model by its name."""
    with warnings.catch_warnings():
        # On bins that have nobody, and the like.
        warnings.simplefilter("ignore")
        return MODELS[name]()


def _small(kind: str, **options: Any) -> Any:
    import sklearn.ensemble
    import sklearn.tree

    module = sklearn.tree if hasattr(sklearn.tree, kind) else sklearn.ensemble
    if "Hist" in kind:
        options |= {"max_iter": 4, "min_samples_leaf": 3, "max_leaf_nodes": 8}
    elif kind not in {"BaggingClassifier", "AdaBoostClassifier"}:
        options["max_depth"] = 5
    if "Tree" not in kind.removesuffix("Classifier")[-4:] and "Hist" not in kind:
        options["n_estimators"] = 4
    return getattr(module, kind)(random_state=0, **options)


def _piped(
    *steps: Any, output: str | None = None, last: Any = None, **how: Any
) -> Kind:
    from sklearn.pipeline import make_pipeline

    last = _small(TREE) if last is None else last
    model = make_pipeline(*steps, last)
    if output:
        model.set_output(transform=output)
    return _fitted(model, **how)


def _encoded(
    texts: Any, *, numbers: Any = "passthrough", output: str | None = None, **how: Any
) -> Kind:
    from sklearn.compose import ColumnTransformer

    how = {"names": EVERYTHING, "text": 1} | how
    parts = [("numbers", numbers, list(NUMBERS)), ("texts", texts, ["t"])]
    step = ColumnTransformer(parts, sparse_threshold=0)
    return _piped(step, output=output, **how)


def _one_hot(**options: Any) -> Any:
    from sklearn.preprocessing import OneHotEncoder

    options = {"sparse_output": False, "handle_unknown": "ignore"} | options
    return OneHotEncoder(**options)


def _ordinal(**options: Any) -> Any:
    from sklearn.preprocessing import OrdinalEncoder

    options = {"handle_unknown": "use_encoded_value", "unknown_value": -1} | options
    return OrdinalEncoder(**options)


def _imputed(imputer: dict[str, Any], encoder: Any) -> Any:
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline

    return make_pipeline(SimpleImputer(**imputer), encoder)


def _imputer(**options: Any) -> Any:
    from sklearn.impute import SimpleImputer

    return SimpleImputer(**options)


def _scaler(name: str) -> Any:
    import sklearn.preprocessing

    return getattr(sklearn.preprocessing, name)()


def _boosted(library: str, **options: Any) -> Any:
    """A small model that is not fitted."""
    if library == "xgboost":
        import xgboost

        return xgboost.XGBClassifier(
            n_estimators=4, max_depth=4, enable_categorical=True, n_jobs=1
        )
    if library == "catboost":
        import catboost

        return catboost.CatBoostClassifier(
            iterations=4,
            depth=3,
            learning_rate=0.8,
            max_ctr_complexity=1,
            verbose=0,
            allow_writing_files=False,
            thread_count=1,
            **options,
        )
    import lightgbm

    return lightgbm.LGBMClassifier(
        n_estimators=4,
        num_leaves=8,
        min_child_samples=3,
        min_data_per_group=2,
        cat_smooth=1,
        max_cat_to_onehot=1,
        verbose=-1,
        n_jobs=1,
    )


def _xgboost(**how: Any) -> Kind:
    return _fitted(_boosted("xgboost"), **how)


def _xgboost_booster(**how: Any) -> Kind:
    import xgboost

    kind = _xgboost(n_classes=2, **how)
    booster = kind.model.get_booster()

    def predict(table: Any) -> Any:
        names = {}
        if isinstance(table, np.ndarray):
            kinds = booster.feature_types
            names = {"feature_names": booster.feature_names, "feature_types": kinds}
        matrix = xgboost.DMatrix(table, enable_categorical=True, **names)
        return (booster.predict(matrix) > np.float32(0.5)).astype(int)

    return kind._replace(model=booster, predict=predict)


def _lightgbm(**how: Any) -> Kind:
    return _fitted(_boosted("lightgbm"), **how)


def _lightgbm_booster(**how: Any) -> Kind:
    kind = _lightgbm(n_classes=2, **how)
    booster = kind.model.booster_
    return kind._replace(
        model=booster, predict=lambda table: (booster.predict(table) > 0.5).astype(int)
    )


def _catboost(one_hot: int = 0, **how: Any) -> Kind:
    """A model that asks for up to so many categories, and keeps statistics of more."""
    if one_hot:
        how |= {"names": EVERYTHING, "text": 1}
        model = _boosted("catboost", cat_features=["t"], one_hot_max_size=one_hot)
    else:
        model = _boosted("catboost")
    kind = _fitted(model, **how)

    def predict(table: Any) -> Any:
        # Some frames of polars end the process, also of the types that it takes.
        is_polars = isinstance(table, pl.DataFrame)
        return model.predict(table.to_pandas() if is_polars else table)

    return kind._replace(predict=predict)


def _onnx(kind: str, *, wide: bool) -> Kind:
    """A model whose table is cast to the types of its inputs, as callers must do."""
    import onnxruntime
    from skl2onnx import convert_sklearn
    from skl2onnx.common.data_types import FloatTensorType
    from sklearn.compose import ColumnTransformer

    steps = [] if wide else [ColumnTransformer([("all", "passthrough", list(NUMBERS))])]
    fitted = _piped(*steps, last=_small(kind), as_array=wide)
    inputs = [(name, FloatTensorType([None, 1])) for name in NUMBERS]
    model = convert_sklearn(
        fitted.model,
        initial_types=[("X", FloatTensorType([None, 3]))] if wide else inputs,
        options={"zipmap": False},
    )
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )

    def predict(table: Any) -> Any:
        if wide:
            return session.run(None, {"X": np.asarray(table).astype(np.float32)})[0]
        if isinstance(table, np.ndarray):
            raise TypeError("the inputs have names")
        cells = {n: np.asarray(table[n]).astype(np.float32)[:, None] for n in NUMBERS}
        return session.run(None, cells)[0]

    return Kind(model, predict, NUMBERS)


FREQUENT = {"strategy": "most_frequent"}

MODELS: dict[str, Callable[[], Kind]] = {
    "tree": lambda: _fitted(_small(TREE)),
    "tree with gaps": lambda: _fitted(_small(TREE), gaps=("x",)),
    "tree of an array": lambda: _fitted(_small(TREE), as_array=True),
    "extra tree": lambda: _fitted(_small("ExtraTreeClassifier")),
    "forest": lambda: _fitted(_small(FOREST), gaps=("x", "n")),
    "extra trees": lambda: _fitted(_small("ExtraTreesClassifier")),
    "bagging": lambda: _fitted(_small("BaggingClassifier")),
    "adaboost": lambda: _fitted(_small("AdaBoostClassifier")),
    "gb": lambda: _fitted(_small("GradientBoostingClassifier")),
    "hgb": lambda: _fitted(_small(HIST), gaps=("x", "n")),
    "hgb of an array": lambda: _fitted(_small(HIST), as_array=True),
    "hgb with categories": lambda: _fitted(
        _small(HIST), names=EVERYTHING, gaps=("x", "t")
    ),
    "hgb with categories, no gaps": lambda: _fitted(_small(HIST), names=EVERYTHING),
    "hgb with texts": lambda: _fitted(
        _small(HIST, categorical_features=["t"]),
        names=EVERYTHING,
        text=1,
    ),
    "hgb with codes": lambda: _fitted(
        _small(HIST, categorical_features=["n"]), gaps=("n",)
    ),
    "imputer and scaler": lambda: _piped(
        _imputer(), _scaler("StandardScaler"), gaps=("x",)
    ),
    "imputer": lambda: _piped(_imputer(strategy="most_frequent"), gaps=("x", "n")),
    "indicator": lambda: _piped(_imputer(add_indicator=True), gaps=("x", "n")),
    "min max": lambda: _piped(_scaler("MinMaxScaler"), last=_small(FOREST)),
    "max abs, pandas": lambda: _piped(_scaler("MaxAbsScaler"), output="pandas"),
    "robust, polars": lambda: _piped(_scaler("RobustScaler"), output="polars"),
    "binner": lambda: _piped(_scaler("KBinsDiscretizer")),
    "one-hot": lambda: _encoded(_one_hot()),
    "one-hot of gaps": lambda: _encoded(_one_hot(), gaps=("t",)),
    "one-hot strict": lambda: _encoded(_one_hot(handle_unknown="error")),
    "one-hot, pandas": lambda: _encoded(_one_hot(), output="pandas"),
    "one-hot, polars": lambda: _encoded(_one_hot(), output="polars"),
    "one-hot of categories": lambda: _encoded(_one_hot(), text=0),
    "one-hot of numbers": lambda: _piped(_one_hot()),
    "ordinal": lambda: _encoded(_ordinal()),
    "ordinal of gaps": lambda: _encoded(_ordinal(), gaps=("t",), last=_small(HIST)),
    "ordinal of numbers": lambda: _piped(_ordinal(), gaps=("x",)),
    "frequent one-hot": lambda: _encoded(_imputed(FREQUENT, _one_hot()), gaps=("t",)),
    "frequent one-hot, pandas": lambda: _encoded(
        _imputed(FREQUENT, _one_hot()), gaps=("t",), output="pandas"
    ),
    "constant ordinal": lambda: _encoded(
        _imputed({"strategy": "constant", "fill_value": "?"}, _ordinal()), gaps=("t",)
    ),
    "imputers everywhere": lambda: _encoded(
        _imputed(FREQUENT, _one_hot()),
        numbers=_imputer(strategy="median"),
        gaps=("x", "t"),
    ),
    "ordinal then xgboost": lambda: _encoded(_ordinal(), last=_boosted("xgboost")),
    "ordinal then lightgbm, pandas": lambda: _encoded(
        _ordinal(),
        output="pandas",
        last=_boosted("lightgbm"),
    ),
    "xgboost": lambda: _xgboost(gaps=("x", "n")),
    "xgboost of an array": lambda: _xgboost(as_array=True),
    "xgboost with categories": lambda: _xgboost(names=EVERYTHING, gaps=("x", "t")),
    "xgboost booster": _xgboost_booster,
    "xgboost booster with categories": lambda: _xgboost_booster(names=EVERYTHING),
    "lightgbm": lambda: _lightgbm(gaps=("x", "n")),
    "lightgbm of an array": lambda: _lightgbm(as_array=True),
    "lightgbm with categories": lambda: _lightgbm(names=EVERYTHING, gaps=("x", "t")),
    "lightgbm booster": _lightgbm_booster,
    "lightgbm booster with categories": lambda: _lightgbm_booster(names=EVERYTHING),
    "catboost": lambda: _catboost(gaps=("x", "n")),
    "catboost of an array": lambda: _catboost(as_array=True),
    "catboost with categories": lambda: _catboost(9, gaps=("x",)),
    "catboost with statistics": lambda: _catboost(2, n_classes=2),
    "onnx": lambda: _onnx(FOREST, wide=True),
    "onnx by name": lambda: _onnx(TREE, wide=False),
}
