"""ONNX models of trees, as onnxruntime computes them."""

from __future__ import annotations

import importlib.metadata
import math
import re
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from fatt.ensemble import (
    Categorical,
    Ensemble,
    Feature,
    Inputs,
    Numeric,
    Source,
)
from fatt.errors import UnsupportedModelError
from fatt.importers.columns.pullback import pull_back
from fatt.importers.onnx import live
from fatt.importers.onnx.answers import Answer, Labelled
from fatt.importers.onnx.forest import LEAF, Forest, lay_out
from fatt.importers.onnx.graph import Input, follow, inputs_of, refuse_without_trees
from fatt.importers.onnx.proto import INT32, INT64, STRING, parse
from fatt.importers.onnx.tensors import INT32_LIMIT, INTEGER_LIMIT, INTEGERS, Column
from fatt.importers.registry import inside, refuse_missing
from fatt.importers.versions import TESTED, check_file, note_newer
from fatt.model import Model

_INFINITE = -math.inf, math.inf
#: The smallest and the largest number of each type that can be followed.
_BOUNDS = {
    INT32: (-INT32_LIMIT - 1, INT32_LIMIT),
    INT64: (-INTEGER_LIMIT, INTEGER_LIMIT),
}


def read(data: bytes, *, missing: float | None) -> Model:
    """Read an ONNX file."""
    refuse_missing(missing, "an ONNX file")
    # A damaged file can hold numbers at whose mere sight NumPy warns.
    with np.errstate(all="ignore"):
        ensemble = _import(parse(data), "ONNX file")
    opened = partial(live.open_model, data, ensemble)
    return Model(ensemble, opened, hands_out_scores=False)


def convert(model: Any, *, missing: float | None) -> Model:
    """Convert an ``onnx.ModelProto``."""
    refuse_missing(missing, "an ONNX model")
    if type(model).__name__ != "ModelProto":
        raise UnsupportedModelError(
            f"cannot import a {type(model).__name__}; pass the whole ModelProto."
        )
    with np.errstate(all="ignore"):
        ensemble = _import(model, "ModelProto")
    opened = partial(live.open_model, model.SerializeToString(), ensemble)
    return Model(ensemble, opened, given=model, hands_out_scores=False)


def _import(model: Any, form: str) -> Ensemble:
    refuse_without_trees(model)
    inputs = inputs_of(model.graph)
    answer = follow(model, inputs)
    with inside(f"the {answer.operator}"):
        made = answer.table.numbers()
    forest, columns = _only_read(answer.labelled.scored.forest, made)
    features = _raw_features(inputs, made, columns)
    source = _source(model, form, answer, inputs)
    # onnxruntime itself takes every number.
    beyond = _answered_beyond(inputs, forest, columns)
    reading = Inputs(
        named=all(item.width == 1 for item in inputs),
        bounds_of="fatt",
        open_below=beyond,
        open_above=beyond,
    )
    if all(column.plain for column in columns):
        sources = np.array([column.source for column in columns], dtype=np.int64)
        forest = replace(forest, feature=sources[forest.feature])
        direct = _build(answer.labelled, forest, features, source, raw=True)
        return replace(direct, inputs=reading)
    if answer.table.kind in INTEGERS:
        # The trees compare integers as float32.
        columns = tuple(c.then(lambda v: v.astype(np.float32)) for c in columns)
    inner = tuple(Numeric(name=f"column {place}") for place in range(len(columns)))
    return pull_back(
        _build(answer.labelled, forest, inner, source, raw=False),
        features=features,
        columns=[column.described(features[column.source]) for column in columns],
        inputs=reading,
        source=source,
    )


def _only_read(
    forest: Forest, columns: tuple[Column, ...]
) -> tuple[Forest, tuple[Column, ...]]:
    """Leave out the columns that no tree reads; keep one, if there are no splits."""
    asked = np.where(forest.mode == LEAF, -1, forest.feature)
    read = np.unique(asked[asked >= 0])
    if not read.size:
        read = np.zeros(1, dtype=np.int64)
    places = np.searchsorted(read, np.maximum(asked, read[0]))
    return replace(forest, feature=places), tuple(columns[i] for i in read.tolist())


def _build(
    labelled: Labelled,
    forest: Forest,
    features: tuple[Feature, ...],
    source: Source,
    *,
    raw: bool,
) -> Ensemble:
    """Build the ensemble on the given columns, which are raw inputs if `raw`."""
    scored = labelled.scored
    edged, trees = lay_out(
        forest, features, raw=raw, values=scored.values, targets=scored.targets
    )
    return Ensemble(
        features=edged,
        classes=labelled.classes,
        trees=trees,
        scoring=scored.scoring,
        decision=labelled.decision,
        link=labelled.link,
        source=source,
    )


def _raw_features(
    inputs: tuple[Input, ...], made: tuple[Column, ...], read: tuple[Column, ...]
) -> tuple[Feature, ...]:
    """Return the raw columns with the values that the graph can be followed for.

    Of text, what any column made of it refuses is refused by onnxruntime. No number is,
    so that only those columns count that the trees read.
    """
    kinds = [item.kind for item in inputs for _ in range(item.width)]
    of_source: list[list[Column]] = [[] for _ in kinds]
    for column in made:
        of_source[column.source].append(column)
    bounds = [_BOUNDS.get(kind, _INFINITE) for kind in kinds]
    for column in read:
        for source, limit in column.limits:
            lower, upper = bounds[source]
            bounds[source] = max(lower, -limit), min(upper, limit)
    return tuple(
        _categorical(name, mine) if kind == STRING else _numeric(name, kind, *ends)
        for name, kind, mine, ends in zip(
            _names(inputs), kinds, of_source, bounds, strict=True
        )
    )


def _answered_beyond(
    inputs: tuple[Input, ...], forest: Forest, columns: tuple[Column, ...]
) -> tuple[int, ...]:
    """Return the raw columns beyond whose bounds the trees may answer otherwise.

    What is cast or multiplied may turn round there. Integers of 64 bits beyond those
    that float64 knows go on in one direction, which matters if a split lies there.
    """
    kinds = [item.kind for item in inputs for _ in range(item.width)]
    beyond = {source for column in columns for source, _ in column.limits}
    for place, column in enumerate(columns):
        if kinds[column.source] == INT64 and column.values is None:
            mine = (forest.mode != LEAF) & (forest.feature == place)
            sets = [each for node, each in forest.members.items() if mine[node]]
            numbers = np.concatenate([forest.value[mine], *sets])
            low, high = np.sort(column.of(np.array([-INTEGER_LIMIT, INTEGER_LIMIT])))
            if ((numbers <= low) | (numbers >= high)).any():
                beyond.add(column.source)
    return tuple(sorted(beyond))


def _names(inputs: tuple[Input, ...]) -> list[str]:
    """Name the raw columns; those of a wide input are numbered."""
    names: list[str] = []
    for pattern in ("{}{}", "{}[{}]"):
        names = [
            item.name if item.width == 1 else pattern.format(item.name, place)
            for item in inputs
            for place in range(item.width)
        ]
        if len(set(names)) == len(names):
            break
    return names


def _categorical(name: str, columns: list[Column]) -> Categorical:
    """Describe a raw column of text by the columns that are made of it."""
    lists = dict.fromkeys(column.labels or () for column in columns)
    return Categorical(
        name=name,
        categories=tuple(dict.fromkeys(label for each in lists for label in each)),
        accepts_missing=False,
        accepts_unknown=all(column.unknown for column in columns),
    )


def _numeric(name: str, kind: int, lower: float, upper: float) -> Numeric:
    return Numeric(
        name=name,
        lower=lower,
        upper=upper,
        accepts_missing=math.isinf(upper),
        integer=kind in INTEGERS,
    )


def _source(model: Any, form: str, answer: Answer, inputs: tuple[Input, ...]) -> Source:
    notes = [
        *_newer(model),
        "The labels and scores are those that onnxruntime computes.",
    ]
    if not answer.labelled.scored.scoring.ordered:
        notes.append(
            "With several threads and more than 50 rows at a time, onnxruntime adds "
            "the trees in another order, so that the last bits of its scores vary."
        )
    notes += [
        f"The file leaves open how many columns {item.name!r} has; it reads the first "
        f"{item.width}."
        for item in inputs
        if item.is_open
    ]
    whole = [item.name for item in inputs if item.kind in INTEGERS]
    if whole:
        notes.append(f"These inputs hold integers only: {', '.join(whole)}.")
    told = str(model.producer_version)
    # CatBoost writes several lines about itself there.
    found = re.search(r"release ([0-9.]*[0-9])", told)
    version = found[1] if found else told.partition("\n")[0]
    return Source(
        library="ONNX",
        version=f"{model.producer_name} {version}".strip(),
        format=form,
        model=answer.operator,
        notes=(*notes, *answer.labelled.notes),
    )


def _newer(model: Any) -> tuple[str, ...]:
    """Return notes on versions that are newer than tested, or refuse them."""
    versions = [("ONNX file", model.ir_version)]
    versions += [
        (item.domain or "ai.onnx", item.version)
        for item in model.opset_import
        if (item.domain or "ai.onnx") in TESTED
    ]
    notes = [
        check_file(
            library,
            str(version),
            at_hand=lambda: _can_be_asked(model),
            way_out="Export it for an older version, or install onnxruntime.",
        )
        for library, version in versions
    ]
    return sum(notes, _of_installed())


def _of_installed() -> tuple[str, ...]:
    """Return the note on an onnxruntime that is newer than tested."""
    try:
        installed = importlib.metadata.version("onnxruntime")
    except importlib.metadata.PackageNotFoundError:
        return ()
    return note_newer("onnxruntime", installed)


def _can_be_asked(model: Any) -> bool:
    """Tell whether onnxruntime takes the model."""
    try:
        live.session_of(model.SerializeToString())
    except Exception:  # onnxruntime has errors of its own
        return False
    return True
