"""Engines that people run already: each hands its batches to `fatt.Part`.

Each of `spark`, `ray` and `dask` has two functions.
`verify` is lazy, as the engine is, and its rows are those of `fatt.verify` on the whole
table, however the engine splits it. `infer_schema` looks at all rows first, where they
lie. An engine is imported where it is used.
"""

from __future__ import annotations

import functools
import json
import operator
import pickle
import platform
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from fatt.audit.part import table_of
from fatt.errors import DataError, FattError
from fatt.importers import load
from fatt.region import Schema
from fatt.version import __version__


def packed(something: Any) -> bytes:
    """Return something as bytes, which say by whom they were pickled."""
    return json.dumps(_here()).encode() + b"\n" + pickle.dumps(something)


@functools.lru_cache(maxsize=4)
def unpacked(data: bytes) -> Any:
    """Return what was packed elsewhere; made once in each process.

    Raises
    ------
    FattError
        If it was packed by another fatt or another Python.
    """
    head, _, body = data.partition(b"\n")
    ours = _here()
    for what, version in json.loads(head).items():
        if ours[what] != version:
            raise FattError(
                f"the driver has {what} {version}, and this worker {ours[what]}; "
                "install the same on all machines."
            )
    return pickle.loads(body)


def _here() -> dict[str, str]:
    python = ".".join(platform.python_version_tuple()[:2])
    return {"fatt": __version__, "Python": python}


def answering(part: Any) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Return a function that answers batches, and can be sent to workers."""
    return functools.partial(_answered, packed(part))


def _answered(part: bytes, batches: Iterable[Any]) -> Iterator[Any]:
    return map(unpacked(part), batches)


def observing(model: Any) -> Callable[[Iterable[Any]], Iterator[bytes]]:
    """Return a function that looks at batches, and says in bytes what it saw."""
    return functools.partial(_observed, packed(load(model).ensemble))


def _observed(ensemble: bytes, batches: Iterable[Any]) -> Iterator[bytes]:
    model = unpacked(ensemble)
    tables = map(table_of, batches)
    seen = [Schema.observe(model, one) for one in tables if len(one)]
    if seen:
        yield pickle.dumps(functools.reduce(operator.or_, seen))


def schema_of(model: Any, seen: Iterable[bytes]) -> Schema:
    """Return the schema of all rows, from what was seen of each part.

    Raises
    ------
    DataError
        If there are no rows.
    """
    parts = [pickle.loads(one) for one in seen]
    if not parts:
        raise DataError("there are no rows; pass at least one person.")
    return Schema.infer(load(model), functools.reduce(operator.or_, parts))
