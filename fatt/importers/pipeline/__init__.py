"""scikit-learn pipelines, in the raw columns that go into them.

Each column that reaches the model is a chain of steps that starts at one raw column, or
at one that a step computed of several. The model is pulled back through the chains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import msgspec

from fatt.ensemble import Ensemble, Inputs
from fatt.ensemble.features import ByPosition, strictest
from fatt.errors import Arg, MalformedModelError, UnsupportedModelError
from fatt.importers.pipeline.live import WholePipeline
from fatt.importers.pipeline.mixtures import (
    computed_with,
    formula_of,
    mixtures_of,
    name_of,
    split_off,
)
from fatt.importers.pipeline.raw import Raw, as_numbers, chains_from, raw_features
from fatt.importers.pipeline.steps import Numbers
from fatt.importers.pipeline.table import Chain, Table, inside, through
from fatt.importers.pipeline.transformers import is_passthrough, require_known
from fatt.importers.pullback import pull_back
from fatt.importers.registry import library_of
from fatt.importers.sklearn.members import check_members
from fatt.importers.versions import note_newer
from fatt.model import Model


def convert(model: Any, *, missing: float | None) -> Model:
    """Convert a fitted `Pipeline` that ends in a tree model.

    Parameters
    ----------
    model
        The fitted pipeline.
    missing
        Handed to the importer of the last step.

    Raises
    ------
    UnsupportedModelError
        If a step mixes columns, is of an unknown kind, or is not fitted.
    """
    from sklearn.pipeline import Pipeline

    if type(model) is not Pipeline:
        raise UnsupportedModelError(
            f"a {type(model).__name__} alone predicts nothing. Pass the whole Pipeline "
            f"with its classifier, or the model, and this as {Arg('prepare')}."
        )
    steps = _flat_steps(model)
    final = steps.pop()[1]
    if is_passthrough(final):
        raise UnsupportedModelError(
            "the pipeline ends in a step that only transforms. Pass a pipeline that "
            "ends in a classifier."
        )
    library = library_of(final)
    last = library.convert(final, missing=missing)
    inner = last.ensemble
    names, width = _raw_columns(steps, inner)
    table = Table(list(map(Chain, range(width))))
    for name, step in steps:
        with inside(f"step {name!r}"):
            table = through(step, table)
    if len(table.columns) != len(inner.features):
        raise MalformedModelError(
            f"the steps make {len(table.columns)} columns and the "
            f"{type(final).__name__} reads {len(inner.features)}. Fit the pipeline as "
            "a whole."
        )
    if table.sparse:
        inner = library.on_sparse_rows(inner, final)
    return replace(
        last,
        ensemble=_in_raw_columns(inner, table, names, width, steps),
        opened=partial(WholePipeline, model, last),
        given=model,
    )


@dataclass(frozen=True)
class Part:
    """What a transformer does that makes some of a model's columns by their names.

    Attributes
    ----------
    raw
        All columns before it.
    read
        Those that it reads.
    made
        Those that it makes; the model's others are raw ones.
    """

    raw: Sequence[str]
    read: Sequence[str]
    made: Sequence[str]


def prepared(
    step: Any, inner: Ensemble, part: Part | None
) -> tuple[Ensemble, Part | None]:
    """Return a model in the raw columns of a transformer that stands before it.

    Parameters
    ----------
    step
        The fitted transformer; what it makes reaches the model dense.
    inner
        The model.
    part
        Which of the model's columns it makes, if not all.

    Returns
    -------
    ensemble : Ensemble
    part : Part, or None
        None if the transformer makes more columns than it was said to make, or fewer:
        then it makes all of the model's.

    Raises
    ------
    UnsupportedModelError
        If the step mixes columns, is of an unknown kind, is not fitted, or makes other
        columns than the model reads.
    """
    own = [feature.name for feature in inner.features]
    if part is None:
        steps = [("prepare", step)]
        names, width = _raw_columns(steps, inner)
        read = list(range(width))
    else:
        steps, names, width = [], list(part.raw), len(part.raw)
        read = [names.index(name) for name in part.read]
    raw = list(map(Chain, range(width)))
    with inside("the preparation"):
        made = through(step, Table([raw[place] for place in read]))
    columns = made.columns
    if part is not None:
        if len(columns) != len(part.made):
            return prepared(step, inner, None)
        by_name = dict(zip(part.raw, raw, strict=True))
        by_name |= zip(part.made, columns, strict=True)
        columns = [by_name[name] for name in own]
    if len(columns) != len(own):
        raise UnsupportedModelError(
            f"the preparation makes {len(columns)} columns, and the model reads "
            f"{len(own)}. Pass all that stands before the model, such as the "
            "ColumnTransformer."
        )
    if names is not None and inner.inputs.named:
        _require_places(columns, names, own)
    table = Table(columns, idle=made.idle)
    ensemble = _in_raw_columns(inner, table, names, width, steps)
    if part is not None:
        # Its columns stand among others and are found by name. The order is known only
        # where it changes columns in their places.
        is_known = list(part.raw) == own and inner.inputs.by_position != "names"
        inputs = msgspec.structs.replace(
            ensemble.inputs, by_position="none" if is_known else "names"
        )
        ensemble = replace(ensemble, inputs=inputs)
    return ensemble, part


def _require_places(
    columns: Sequence[Chain], names: Sequence[str], own: Sequence[str]
) -> None:
    """Refuse to put what is made of one of a model's columns into another's place."""
    for chain, name in zip(columns, own, strict=True):
        if not isinstance(chain.source, int):
            continue
        raw = names[chain.source]
        if raw != name and {raw, name} <= set(own) & set(names):
            raise UnsupportedModelError(
                f"the preparation makes of {raw!r} what would stand in the place where "
                f"the model reads {name!r}. Let it make its columns in the model's "
                f"order, which is {', '.join(own)}."
            )


def _flat_steps(model: Any) -> list[tuple[str, Any]]:
    """Return the steps of a pipeline, and of the pipeline that may be its last."""
    from sklearn.pipeline import Pipeline

    check_members(model)
    *steps, (name, final) = model.steps
    last = _flat_steps(final) if type(final) is Pipeline else [(name, final)]
    return [*steps, *last]


def _raw_columns(
    steps: Sequence[tuple[str, Any]], inner: Ensemble
) -> tuple[list[str] | None, int]:
    """Return the names of the raw columns, if they have any, and their number."""
    first = next(iter(_first_readers(steps)), None)
    if first is None:
        known = [feature.name for feature in inner.features]
        return known if inner.inputs.named else None, len(known)
    names = getattr(first, "feature_names_in_", None)
    width = getattr(first, "n_features_in_", None)
    if width is None:
        # What is not known at all is refused for that.
        require_known(first)
        raise UnsupportedModelError(
            f"the step {type(first).__name__} does not say how many columns it reads, "
            "as if it were not fitted. Call fit first."
        )
    # Encoders of category_encoders number the columns of arrays.
    if names is None or not all(isinstance(name, str) for name in names):
        return None, int(width)
    return [str(name) for name in names], int(width)


def _first_readers(steps: Sequence[tuple[str, Any]]) -> list[Any]:
    """Return the first step that does something; of a union, that of each part."""
    for _, step in steps:
        if isinstance(step, str) or is_passthrough(step):
            continue
        if hasattr(step, "transformer_list"):
            parts = step.transformer_list
            found = [reader for part in parts for reader in _first_readers([part])]
        else:
            found = _first_readers(step.steps) if hasattr(step, "steps") else [step]
        if found:
            return found
    return []


def _order(step: Any) -> ByPosition:
    """Tell which data frames a step takes by position (see `fatt.ensemble.Inputs`)."""
    from sklearn.preprocessing import FunctionTransformer

    # A function gets whatever there is; encoders of category_encoders hand on what they
    # do not encode, in the order in which it came.
    is_function = type(step) is FunctionTransformer and not step.validate
    is_foreign = type(step).__module__.startswith("category_encoders.")
    return "whole" if is_function or is_foreign else "none"


def _in_raw_columns(
    inner: Ensemble,
    table: Table,
    names: list[str] | None,
    width: int,
    steps: Sequence[tuple[str, Any]],
) -> Ensemble:
    """Pull a model back to the columns before a table, which steps have made."""
    orders = [_order(reader) for reader in _first_readers(steps)]
    order = strictest(orders or [inner.inputs.by_position])
    mixtures = mixtures_of(table)
    raw = raw_features(inner, table, names, width)
    features, columns = raw.features.copy(), raw.columns[: len(table.columns)]
    behind, formulas = iter(raw.columns[len(table.columns) :]), []
    for mixture in mixtures:
        formulas.append(formula_of(mixture, [next(behind) for _ in mixture.read]))
        name = name_of(formulas[-1], features)
        mine, idle = chains_from(mixture, table.columns, table.idle)
        chains = [table.columns[place] for place in mine]
        feature, made = as_numbers(name, len(features), chains, idle)
        features.append(feature)
        for place, column in zip(mine, made, strict=True):
            columns[place] = computed_with(column)
    import sklearn

    newer = note_newer("scikit-learn", sklearn.__version__)
    pulled = pull_back(
        inner,
        features=features,
        columns=[one for one in columns if one is not None],
        inputs=_inputs(inner, table, raw, order, named=names is not None),
        source=msgspec.structs.replace(
            inner.source,
            model=f"Pipeline with {inner.source.model}",
            notes=tuple(dict.fromkeys((*newer, *inner.source.notes))),
        ),
    )
    return split_off(pulled, len(raw.features), formulas) if mixtures else pulled


def _inputs(
    inner: Ensemble, table: Table, raw: Raw, order: ByPosition, *, named: bool
) -> Inputs:
    """Tell which tables the steps and the model behind them take."""
    limit, exact = Inputs().integer_limit, Inputs().integer_limit
    if any(chain.hands_on_integers for chain in table.columns):
        limit = inner.inputs.integer_limit
    mixed = [chain for mixture in mixtures_of(table) for chain in mixture.read]
    steps = [step for chain in (*table.columns, *mixed) for step in chain.steps]
    if any(isinstance(step, Numbers) and step.in_own_type for step in steps):
        # They may be computed with as they are, where floats would be rounded.
        limit = min(limit, exact)
    return Inputs(
        named=named,
        integer_limit=limit,
        limits_frames=limit < exact,
        # Transformers compute in float32 if that is what they get.
        float32=inner.inputs.float32 and not raw.first_steps,
        # Scalers turn objects into numbers first; the others see None as it is.
        objects=inner.inputs.objects
        and all(
            isinstance(step, Numbers) and not step.in_own_type
            for step in raw.first_steps
        ),
        bounds_of="fatt" if raw.open_below else inner.inputs.bounds_of,
        by_position=order,
        open_below=tuple(raw.open_below),
        open_above=tuple(raw.open_above),
    )
