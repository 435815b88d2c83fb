"""ONNX models of trees, as onnxruntime computes them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import (
    Categorical,
    Ensemble,
    Feature,
    Inputs,
    Numeric,
    Source,
)
from fatt.errors import UnsupportedModelError
from fatt.importers._refusals import refuse_missing
from fatt.importers.onnx.columns import INTEGERS, Column
from fatt.importers.onnx.forest import LEAF
from fatt.importers.onnx.graph import Input, follow, inputs_of
from fatt.importers.onnx.outcome import Answer
from fatt.importers.onnx.proto import INT64, STRING, parse
from fatt.importers.onnx.splits import lay_out
from fatt.importers.pullback import pull_back

#: Integers up to this are kept exactly on their way through float64.
_INTEGER_LIMIT = 2.0**53


def read(data: bytes, *, missing: float | None) -> Ensemble:
    """Read an ONNX file."""
    refuse_missing(missing, "an ONNX file")
    # A damaged file can hold numbers at whose mere sight NumPy warns.
    with np.errstate(all="ignore"):
        return _import(parse(data), "ONNX file")


def convert(model: Any, *, missing: float | None) -> Ensemble:
    """Convert an ``onnx.ModelProto``."""
    refuse_missing(missing, "an ONNX model")
    if type(model).__name__ != "ModelProto":
        raise UnsupportedModelError(
            f"cannot import a {type(model).__name__}; pass the whole ModelProto."
        )
    with np.errstate(all="ignore"):
        return _import(model, "ModelProto")


def _import(model: Any, form: str) -> Ensemble:
    inputs = inputs_of(model.graph)
    answer = follow(model, inputs)
    columns = answer.table.numbers(f"the {answer.operator}")
    features = _raw_features(inputs, columns)
    reading = Inputs(named=all(item.width == 1 for item in inputs))
    source = _source(model, form, answer, inputs)
    if all(column.plain for column in columns):
        sources = np.array([column.source for column in columns], dtype=np.int64)
        direct = _build(answer, features, source, sources=sources)
        return replace(direct, inputs=reading)
    if answer.table.kind in INTEGERS:
        # The trees compare integers as float32.
        columns = tuple(c.then(lambda v: v.astype(np.float32)) for c in columns)
    inner = tuple(Numeric(name=f"column {place}") for place in range(len(columns)))
    labels = [f.categories if isinstance(f, Categorical) else None for f in features]
    return pull_back(
        _build(answer, inner, source),
        features=features,
        columns=[column.described(labels[column.source]) for column in columns],
        inputs=reading,
        source=source,
    )


def _build(
    answer: Answer,
    features: tuple[Feature, ...],
    source: Source,
    *,
    sources: NDArray[np.int64] | None = None,
) -> Ensemble:
    """Build the ensemble on the table's columns, or on the raw ones behind them.

    Parameters
    ----------
    answer
        The label, and what it is made of.
    features
        The columns of the ensemble.
    source
        Where the model came from.
    sources
        The raw column behind each column of the table, if they are the raw columns.
    """
    labelled, scored = answer.labelled, answer.labelled.scored
    forest = scored.forest
    if sources is not None:
        inner = forest.mode != LEAF
        raw = sources[np.where(inner, forest.feature, 0)]
        forest = replace(forest, feature=np.where(inner, raw, 0))
    edged, trees = lay_out(
        forest,
        features,
        raw=sources is not None,
        values=scored.values,
        targets=scored.targets,
    )
    return Ensemble(
        features=edged,
        classes=labelled.classes,
        trees=trees,
        scoring=scored.scoring,
        decision=labelled.decision,
        source=source,
    )


def _raw_features(
    inputs: tuple[Input, ...], columns: tuple[Column, ...]
) -> tuple[Feature, ...]:
    """Return the raw columns with the values that the graph can be followed for."""
    features: list[Feature] = []
    for item in inputs:
        for place in range(item.width):
            name = item.name if item.width == 1 else f"{item.name}{place}"
            features.append(_raw_feature(name, item.kind, len(features), columns))
    return tuple(features)


def _raw_feature(
    name: str, kind: int, index: int, columns: tuple[Column, ...]
) -> Feature:
    if kind == STRING:
        mine = [column for column in columns if column.source == index]
        labels = dict.fromkeys(label for c in mine for label in c.labels or ())
        return Categorical(
            name=name,
            categories=tuple(labels),
            accepts_missing=False,
            accepts_unknown=all(column.unknown for column in mine),
        )
    limits = [limit for c in columns for source, limit in c.limits if source == index]
    if kind in INTEGERS:
        limits.append(_INTEGER_LIMIT if kind == INT64 else 2.0**31 - 1)
    if not limits:
        return Numeric(name=name)
    limit = min(limits)
    return Numeric(name=name, lower=-limit, upper=limit, accepts_missing=False)


def _source(model: Any, form: str, answer: Answer, inputs: tuple[Input, ...]) -> Source:
    notes = ["The labels and scores are those that onnxruntime computes."]
    if not answer.labelled.scored.scoring.ordered:
        notes.append(
            "With several threads and more than 50 rows at a time, onnxruntime adds "
            "the trees in another order, so that the last bits of its scores vary."
        )
    whole = [item.name for item in inputs if item.kind in INTEGERS]
    if whole:
        notes.append(f"These inputs hold integers only: {', '.join(whole)}.")
    return Source(
        library="ONNX",
        version=f"{model.producer_name} {model.producer_version}".strip(),
        format=form,
        model=answer.operator,
        notes=(*notes, *answer.labelled.notes),
    )
