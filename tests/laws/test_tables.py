"""Reading tables: our labels are the library's, in every form that a table can have.

Where the library answers, we answer the same, or refuse what `REFUSED` lists; where it
refuses, we refuse, but for what `ANSWERED` lists. Each run looks at some of the tables
of every model; ``FATT_EFFORT=20 pytest tests/laws/test_tables.py`` looks at all.
"""

from __future__ import annotations

import functools
import warnings
import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import fatt
from fatt.ensemble import Ensemble
from fatt.errors import FattError
from tests.laws.effort import EFFORT, for_seeds
from tests.laws.forms import (
    COLUMNS,
    MODELS,
    PLAIN,
    PLAIN_TEXTS,
    TABLES,
    Cells,
    Kind,
    draw_cells,
    kind_of,
    make_table,
)

N_ROWS = 40
#: How many tables of each model are looked at.
N_TABLES = 40 * EFFORT
#: Forms of arrays that can hold texts.
MIXED = ("frame", "pyarrow", "polars", "object", "lists", "tuples", "dict", "series")


class Case(NamedTuple):
    """A table: which column of which container has which form, or the form of all."""

    container: str
    column: str
    form: str
    gaps: bool
    new: bool

    def table(self, kind: Kind) -> Any:
        """Build it for a model; None if there is no such table."""
        rng = np.random.default_rng(zlib.crc32(repr(self).encode()))
        gaps = (self.column or "x",) if self.gaps else ()
        cells = draw_cells(rng, N_ROWS, gaps, new=self.new)
        if not self.column:
            return build(lambda: TABLES[self.form](cells, kind.names))
        forms = plain_forms(self.container, kind) | {self.column: self.form}
        return build(lambda: make_table(self.container, cells, forms))


def build(make: Callable[[], Any]) -> Any:
    """Build a table; None if its container cannot hold the cells, such as gaps."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return make()
    except Exception:
        return None


def plain_forms(container: str, kind: Kind) -> dict[str, str]:
    forms = PLAIN[container] | {"t": PLAIN_TEXTS[container][kind.text]}
    return {name: forms[name] for name in kind.names}


def cases_of(kind: Kind) -> Iterator[Case]:
    for container, columns in COLUMNS.items():
        for column in kind.names:
            for form in columns[column]:
                for gaps in (False, True):
                    yield Case(container, column, form, gaps, False)
                    if column == "t":
                        yield Case(container, column, form, gaps, True)
    for form in TABLES:
        if "t" not in kind.names or form.startswith(MIXED):
            yield Case("whole", "", form, False, False)
            yield Case("whole", "", form, True, False)


def family_of(name: str) -> str:
    """The models that read tables alike."""
    first = name.replace(",", "").split()[0]
    if first in ("xgboost", "lightgbm", "catboost", "onnx", "adaboost"):
        return first
    if first in ("tree", "extra", "forest", "bagging", "gb", "hgb"):
        return "categories" if "with" in name and first == "hgb" else "trees"
    return "pipeline"


@functools.cache
def ensemble_of(name: str) -> Ensemble:
    return fatt.load(kind_of(name).model).ensemble


def ask(predict: Callable[[Any], Any], table: Any) -> list[Any] | Exception:
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return list(np.ravel(predict(table)).tolist())
    except Exception as error:
        return error


def verdict_on(name: str, table: Any) -> str:
    """Compare both answers; what is wrong whatever the lists say fails at once."""
    ours = ask(ensemble_of(name).predict, table)
    theirs = ask(kind_of(name).predict, table)
    if isinstance(ours, Exception):
        assert isinstance(ours, FattError), f"not a refusal: {ours!r}"
        return "both refuse" if isinstance(theirs, Exception) else "refused"
    if isinstance(theirs, Exception):
        return "answered"
    assert ours == theirs, f"other labels for\n{table}"
    return "same"


@functools.cache
def takes(name: str, container: str) -> bool:
    """Tell whether the library takes plain tables of a container at all."""
    kind = kind_of(name)
    if container == "whole":
        return True
    cells = draw_cells(np.random.default_rng(0), N_ROWS)
    table = make_table(container, cells, plain_forms(container, kind))
    return not isinstance(ask(kind.predict, table), Exception)


def listed(lists: dict[str, str], name: str, case: Case) -> bool:
    """Tell whether a list has a form, for all columns or for this one."""
    forms = lists.get(f"{family_of(name)}, {case.container}", "")
    return case.form in forms.split("; ") or (
        f"{case.form} ({case.column})" in forms.split("; ")
    )


@pytest.mark.parametrize("name", MODELS)
def test_labels_are_those_of_the_library(name: str) -> None:
    kind = kind_of(name)
    cases = list(cases_of(kind))
    order = np.random.default_rng(zlib.crc32(name.encode())).permutation(len(cases))
    verdicts: dict[str, int] = {}
    for place in order[:N_TABLES].tolist():
        case = cases[place]
        table = case.table(kind)
        if table is None:
            continue
        verdict = verdict_on(name, table)
        verdicts[verdict] = verdicts.get(verdict, 0) + 1
        if verdict == "refused":
            assert listed(REFUSED, name, case), f"a new refusal: {case}"
        if verdict == "answered" and takes(name, case.container):
            assert listed(ANSWERED, name, case), f"the library refuses: {case}"
    assert verdicts["same"] > 3


def entries_of(lists: dict[str, str]) -> Iterator[tuple[str, str, str, str]]:
    """Yield family, container, form and column, which is empty if all are meant."""
    for key, forms in lists.items():
        family, container = key.split(", ")
        for entry in forms.split("; "):
            form, _, column = entry.partition(" (")
            yield family, container, form, column.removesuffix(")")


@pytest.mark.parametrize("verdict", ["refused", "answered"])
def test_no_list_has_what_is_not_so(verdict: str) -> None:
    """Each run looks at some entries; a table that gives the verdict is enough."""
    entries = list(entries_of(REFUSED if verdict == "refused" else ANSWERED))
    rng = np.random.default_rng(zlib.crc32(verdict.encode()))
    for place in rng.permutation(len(entries))[: 15 * EFFORT].tolist():
        family, container, form, column = entries[place]
        assert any(
            verdict_on(name, table) == verdict
            for name in MODELS
            if family_of(name) == family
            for case in cases_of(kind_of(name))
            if (case.container, case.form) == (container, form)
            if column in ("", case.column)
            if (table := case.table(kind_of(name))) is not None
        ), f"take it off the list: {entries[place]}"


@for_seeds(60)
def test_forms_together(seed: int) -> None:
    """Columns in any forms beside each other: the library's labels, or a refusal."""
    rng = np.random.default_rng(seed)
    name = str(rng.choice(list(MODELS)))
    kind = kind_of(name)
    container = str(rng.choice(list(COLUMNS)))
    forms = plain_forms(container, kind)
    for column in kind.names:
        if rng.random() < 0.6:
            forms[column] = str(rng.choice(list(COLUMNS[container][column])))
    gaps = tuple(column for column in kind.names if rng.random() < 0.3)
    cells: Cells = draw_cells(rng, N_ROWS, gaps, new=bool(rng.random() < 0.2))
    table = build(lambda: make_table(container, cells, forms))
    if table is not None:
        verdict_on(name, table)


#: What we refuse and the library takes, by family and container; each refusal says what
#: to pass instead. A form that is not here must not be refused.
REFUSED: dict[str, str] = {
    "categories, pandas": (
        "arrow decimal (n); category (f); longdouble; object Decimal (n); object "
        "NaT; object texts (n); object texts (x); texts (n); texts (x)"
    ),
    "categories, polars": "Date; Decimal (n); Int128; String (n); String (x)",
    "categories, pyarrow": (
        "bool dictionary; date; decimal (n); dictionary; dictionary chunks; "
        "dictionary in order; dictionary int8; dictionary uint16; dictionary with "
        "null; int dictionary; string (n); string (x)"
    ),
    "categories, whole": "big endian; longdouble; masked",
    "catboost, pandas": (
        "arrow decimal; bytes; complex; longdouble; object texts (n); object texts "
        "(x); texts (n); texts (x)"
    ),
    "catboost, polars": "String (n); String (x)",
    "catboost, whole": (
        "big endian; bytes; complex; frame with more; int64; longdouble; masked; "
        "matrix; more columns; one dimension; polars with more; series; sparse "
        "matrix; texts; uint64"
    ),
    "lightgbm, pandas": "category (f); category (n); category (x)",
    "lightgbm, polars": "Boolean; codes",
    "lightgbm, pyarrow": "bool; codes",
    "lightgbm, whole": (
        "big endian; bytes; complex; frame numbered; frame numbered texts; frame of "
        "strange names; frame of tuples; frame reordered; frame with double name; "
        "int32; int64; longdouble; masked; matrix; object NA; object NaN; object "
        "None; polars reordered; pyarrow reordered; sparse matrix; texts; uint32; "
        "uint64"
    ),
    "onnx, pandas": (
        "arrow decimal; category (f); complex; dates; durations; longdouble; object "
        "texts (n); object texts (x); texts (n); texts (x)"
    ),
    "onnx, polars": "Date; Int128; String (n); String (x)",
    "onnx, pyarrow": (
        "bool dictionary; date; dictionary; int dictionary; string (n); string (x)"
    ),
    "onnx, whole": (
        "big endian; bytes; complex; dict; frame with double name; int64; "
        "longdouble; masked; matrix; texts; uint64"
    ),
    "pipeline, pandas": (
        "Float32; arrow decimal; arrow dictionary (f); arrow dictionary (n); arrow "
        "dictionary (x); arrow float; category (f); category (n); category (x); "
        "codes; dates; durations; float16; float32; integer codes; longdouble; "
        "object Decimal; object NA (f); object NA (n); object NA (x); object NaN "
        "(f); object NaN (n); object NaN (x); object NaT; object None (f); object "
        "None (n); object None (x); object texts (n); object texts (x); texts (n); "
        "texts (x)"
    ),
    "pipeline, polars": (
        "Boolean; Date; Decimal (n); Decimal (x); Float32; Int128; Object (f); "
        "Object (n); Object (x); String (n); String (x); codes"
    ),
    "pipeline, pyarrow": (
        "bool; bool dictionary; codes; decimal; dictionary; dictionary chunks; "
        "dictionary in order; dictionary int8; dictionary uint16; dictionary with "
        "null; float; halffloat; int dictionary; string (n); string (x)"
    ),
    "pipeline, whole": (
        "big endian; bytes; float16; float32; frame numbered; frame of tuples; "
        "int64; longdouble; masked; object NA; object NaN; object None; sparse "
        "matrix; texts; uint64"
    ),
    "trees, pandas": (
        "category (f); longdouble; object texts (n); object texts (x); texts (n); "
        "texts (x)"
    ),
    "trees, polars": "Date; Int128; String (n); String (x)",
    "trees, pyarrow": (
        "bool dictionary; date; dictionary; int dictionary; string (n); string (x)"
    ),
    "trees, whole": (
        "big endian; bytes; frame numbered; frame of tuples; int64; longdouble; "
        "masked; sparse matrix; texts; uint64"
    ),
    "xgboost, pandas": "category (n); codes; integer codes",
    "xgboost, polars": "Boolean; codes",
    "xgboost, pyarrow": (
        "bool; codes; dictionary (t); dictionary chunks; dictionary int8; "
        "dictionary uint16"
    ),
    "xgboost, whole": (
        "big endian; int64; longdouble; masked; matrix; object NA; object NaN; "
        "object None; polars lazy; polars reordered; pyarrow reordered; sparse "
        "matrix; uint64"
    ),
}

#: What we take and the library refuses. Cells of one meaning only, in a container or a
#: type that the library has no way to take (files hold texts, for instance); columns
#: beside those that the model reads, or in another order; and tables without rows.
ANSWERED: dict[str, str] = {
    "categories, whole": "frame without rows; no rows; pyarrow batch",
    "catboost, pandas": (
        "arrow bool; boolean; category (f); category (n); category (x)"
    ),
    "catboost, whole": (
        "frame with more texts; pyarrow; pyarrow batch; pyarrow reordered"
    ),
    "lightgbm, polars": "Decimal (n); Decimal (x)",
    "lightgbm, pyarrow": "decimal; halffloat; null (f); null (n); null (x)",
    "lightgbm, whole": (
        "frame with more; frame with more texts; frame without rows; no rows; "
        "polars; polars with more; pyarrow"
    ),
    "onnx, pandas": (
        "Float32; Float64; Int16; Int32; Int64; Int8; UInt16; UInt32; UInt64; "
        "UInt8; arrow bool; arrow double; arrow float; arrow int; arrow small int; "
        "arrow uint; boolean"
    ),
    "onnx, whole": (
        "bool; every other row; float16; float32; float64; in columns; int16; "
        "int32; int64; int8; lists; no rows; object NA; object NaN; object None; "
        "one row; read-only; tuples; turned; uint16; uint32; uint8"
    ),
    "pipeline, pandas": (
        "Float32; Float64; Int16; Int32; Int64; Int8; UInt16; UInt32; UInt64; "
        "UInt8; arrow bool; arrow decimal; arrow dictionary (t); arrow double; "
        "arrow float; arrow int; arrow large; arrow small int; arrow string; arrow "
        "type; arrow uint; boolean; object NA (t); sparse; string; string python"
    ),
    "pipeline, whole": (
        "bool; bytes; frame reordered; frame with more; frame with more texts; "
        "frame without rows; lists; no rows; object NA; object NaN; object None; "
        "polars reordered; polars with more; pyarrow; pyarrow batch; pyarrow "
        "reordered; texts; tuples"
    ),
    "trees, whole": (
        "frame of strange names; frame reordered; frame with more; frame with more "
        "texts; frame without rows; no rows; polars reordered; polars with more; "
        "pyarrow reordered"
    ),
    "xgboost, pandas": "arrow decimal; category more",
    "xgboost, polars": "Decimal (n); Decimal (x)",
    "xgboost, pyarrow": "decimal; halffloat; null (f); null (n); null (x)",
    "xgboost, whole": (
        "frame reordered; frame with more; frame with more texts; lists; polars "
        "reordered; polars with more; pyarrow batch; pyarrow reordered; tuples"
    ),
}

#: AdaBoost looks for NaN alone, and its trees take a None among objects for missing.
_GAPS = {
    "pandas": "object Decimal; object None",
    "polars": "Object",
    "pyarrow": "bool (f); decimal; null",
    "whole": "object None",
}
REFUSED |= {
    f"adaboost, {container}": f"{REFUSED[f'trees, {container}']}; {more}"
    for container, more in _GAPS.items()
}
ANSWERED["adaboost, whole"] = ANSWERED["trees, whole"]
