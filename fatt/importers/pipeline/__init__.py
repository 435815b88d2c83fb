"""scikit-learn pipelines, in the raw columns that go into them.

Each column that reaches the model is a chain of steps that starts at one raw column. A
raw column becomes categorical if encoders are its only readers, else it is numeric; a
column that reaches the model untouched is what the model takes it for.

A column that no step reads is no feature if the pipeline knows its columns by name,
since it need not even be there. If the pipeline knows them by position only, it is a
categorical feature without categories, so that the positions of the others stay: it
may hold anything and no tree asks for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import (
    Categorical,
    Ensemble,
    Feature,
    Inputs,
    Label,
    Numeric,
)
from fatt.ensemble.features import ALLOWED, NumberTypes
from fatt.errors import MalformedModelError, UnsupportedModelError
from fatt.importers.pipeline.live import WholePipeline
from fatt.importers.pipeline.mixtures import (
    computed_with,
    formula_of,
    mixtures_of,
    name_of,
    split_off,
)
from fatt.importers.pipeline.steps import (
    FINITE,
    UNKNOWN,
    AnyStep,
    Flag,
    Lookup,
    Numbers,
    Replace,
    is_nan,
)
from fatt.importers.pipeline.table import (
    Chain,
    Mixture,
    Table,
    inside,
    through,
    turns_none,
)
from fatt.importers.pipeline.transformers import is_passthrough, require_known
from fatt.importers.pullback import pull_back
from fatt.importers.pullback.columns import (
    Coded,
    Column,
    Flags,
    Floats,
    Same,
    follow,
)
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
            "with its classifier, or the model, and this as prepare=."
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
    table = Table([Chain(index) for index in range(width)])
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
    ensemble = _in_raw_columns(inner, table, names, width)
    # The steps of scikit-learn look at names, or refuse another order; encoders of
    # category_encoders hand on another order, and functions get it.
    first = _first_reader(steps)
    by_position = inner.inputs.by_position if first is None else "none"
    if type(first).__module__.startswith("category_encoders.") or _is_open(first):
        by_position = "all"
    inputs = msgspec.structs.replace(ensemble.inputs, by_position=by_position)
    ensemble = replace(ensemble, inputs=inputs)
    return replace(
        last,
        ensemble=ensemble,
        opened=partial(WholePipeline, model, last),
        given=model,
    )


def prepared(step: Any, inner: Ensemble, only: Sequence[str] | None) -> Ensemble:
    """Return a model in the raw columns of a transformer that stands before it.

    Parameters
    ----------
    step
        The fitted transformer; what it makes reaches the model dense.
    inner
        The model.
    only
        The columns of the model that the transformer changes, one by one, if it leaves
        the others alone.

    Raises
    ------
    UnsupportedModelError
        If the step mixes columns, is of an unknown kind, is not fitted, or makes other
        columns than the model reads.
    """
    own = [feature.name for feature in inner.features]
    if only is None:
        names, width = _raw_columns([("prepare", step)], inner)
    else:
        names, width = own, len(own)
    places = range(width) if only is None else [own.index(name) for name in only]
    table = Table([Chain(index) for index in range(width)])
    with inside("the preparation"):
        made = through(step, Table([table.columns[place] for place in places]))
    columns = made.columns
    if only is not None and len(made.columns) == len(places):
        columns = list(table.columns)
        for place, chain in zip(places, made.columns, strict=True):
            columns[place] = chain
    if len(columns) != len(own):
        raise UnsupportedModelError(
            f"the preparation makes {len(columns)} columns, and the model reads "
            f"{len(own)}. Pass all that stands before the model, such as the "
            "ColumnTransformer."
        )
    return _in_raw_columns(inner, Table(columns, idle=made.idle), names, width)


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
    first = _first_reader(steps)
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


def _first_reader(steps: Sequence[tuple[str, Any]]) -> Any:
    """Return the first step that does something, if there is one."""
    for _, step in steps:
        # The parts of a union all read the same columns.
        inner = getattr(step, "steps", getattr(step, "transformer_list", None))
        reader = step if inner is None else _first_reader(inner)
        if not is_passthrough(reader) and not isinstance(reader, str):
            return reader
    return None


def _is_open(step: Any) -> bool:
    """Tell whether a step hands a table to a function without a look at its names."""
    from sklearn.preprocessing import FunctionTransformer

    return type(step) is FunctionTransformer and not step.validate


def _in_raw_columns(
    inner: Ensemble, table: Table, names: list[str] | None, width: int
) -> Ensemble:
    """Pull a model back to the columns before a table.

    Most models take what a logarithm makes of numbers below its pole, a missing value,
    and refuse minus infinity, which it makes of the pole itself. Then the raw numbers
    have a hole, and only those above it are followed.
    """
    try:
        return _pulled_back(inner, table, names, width, is_open=False)
    except UnsupportedModelError:
        if not any(chain.has_pole for chain in (*table.columns, *table.idle)):
            raise
    return _pulled_back(inner, table.above_poles(), names, width, is_open=True)


def _pulled_back(
    inner: Ensemble,
    table: Table,
    names: list[str] | None,
    width: int,
    *,
    is_open: bool,
) -> Ensemble:
    """Pull a model back, which may take numbers below the poles (`is_open`)."""
    mixtures = mixtures_of(table)
    mixed = [chain for mixture in mixtures for chain in mixture.read]
    every = [*table.columns, *mixed]
    features: list[Feature] = []
    columns: list[Column | None] = [None] * len(every)
    first_steps: list[AnyStep] = []
    open_below: list[int] = []
    open_above: list[int] = []
    for index in range(width):
        name = f"x{index}" if names is None else names[index]
        mine = [i for i, chain in enumerate(every) if chain.source == index]
        chains = [every[i] for i in mine]
        idle = [chain for chain in table.idle if chain.source == index]
        if names is not None and not mine and not idle:
            continue
        feature, made = _resolve(name, len(features), chains, idle)
        number_types = _number_types(chains)
        features.append(msgspec.structs.replace(feature, number_types=number_types))
        is_mixed = any(i >= len(table.columns) for i in mine)
        for i, column in zip(mine, made, strict=True):
            columns[i] = computed_with(column) if is_mixed else column
        if isinstance(feature, Numeric):
            first_steps += [step for chain in chains for step in chain.steps[:1]]
            has_pole = is_open and any(chain.has_pole for chain in (*chains, *idle))
            # A step may turn the line round: an open end of a column opens both.
            ends = {*inner.inputs.open_below, *inner.inputs.open_above}
            is_beyond = not ends.isdisjoint(mine)
            if has_pole or is_beyond:
                open_below.append(len(features) - 1)
            if is_beyond:
                open_above.append(len(features) - 1)
    n_features, formulas = len(features), []
    behind = iter(columns[len(table.columns) :])
    for mixture in mixtures:
        read = [next(behind) for _ in mixture.read]
        formulas.append(formula_of(mixture, read))
        name = name_of(formulas[-1], features)
        mine = [i for i, one in enumerate(table.columns) if one.source is mixture]
        idle = [chain for chain in table.idle if chain.source is mixture]
        feature, made = _as_numbers(
            name, len(features), [table.columns[i] for i in mine], idle
        )
        features.append(feature)
        for i, column in zip(mine, made, strict=True):
            columns[i] = computed_with(column)
    copied = any(
        all(isinstance(step, Replace) for step in chain.steps)
        for chain in table.columns
        if not isinstance(chain.source, Mixture)
    )
    inputs = Inputs(
        named=names is not None,
        integer_limit=(inner.inputs if copied else Inputs()).integer_limit,
        # Transformers compute in float32 if that is what they get.
        float32=inner.inputs.float32 and not first_steps,
        # Scalers turn objects into numbers first; the others see None as it is.
        objects=inner.inputs.objects
        and all(
            isinstance(step, Numbers) and step.number_types == "any"
            for step in first_steps
        ),
        bounds_of="fatt" if open_below else inner.inputs.bounds_of,
        open_below=tuple(open_below),
        open_above=tuple(open_above),
    )
    import sklearn

    model = f"Pipeline with {inner.source.model}"
    newer = note_newer("scikit-learn", sklearn.__version__)
    notes = (*newer, *inner.source.notes)
    pulled = pull_back(
        inner,
        features=features,
        columns=[one for one in columns[: len(table.columns)] if one is not None],
        inputs=inputs,
        source=msgspec.structs.replace(
            inner.source, model=model, notes=tuple(dict.fromkeys(notes))
        ),
    )
    return split_off(pulled, n_features, formulas) if mixtures else pulled


def _number_types(chains: Sequence[Chain]) -> NumberTypes:
    """Tell which types of numbers the first steps take as they take float64."""
    first = [step for chain in chains for step in chain.steps[:1]]
    found = [step.taken for step in first if isinstance(step, Flag)]
    for chain in chains:
        is_raw = True
        for step in chain.steps:
            if isinstance(step, Numbers) and is_raw:
                found.append(step.number_types)
            if not isinstance(step, Replace):
                break
            found.append(step.number_types())
            if is_raw:
                found.append(step.taken)
            # Behind such an imputer all integers and booleans are floats.
            is_raw = is_raw and step.into_integers
    common = ALLOWED["any"].intersection(*(ALLOWED[types] for types in found))
    return next(types for types, kinds in ALLOWED.items() if kinds <= common)


def _resolve(
    name: str, index: int, chains: Sequence[Chain], idle: Sequence[Chain]
) -> tuple[Feature, list[Column]]:
    """Decide what a raw column holds; return its feature and the columns made of it."""
    uses = [*chains, *idle]
    if not uses:
        return Categorical(name=name, categories=()), []
    if _holds_labels(chains, idle):
        return _as_labels(name, index, chains, idle)
    if any(_has_text(step) for chain in uses for step in chain.steps):
        raise UnsupportedModelError(
            f"column {name!r} is read both as numbers and as labels, or its labels "
            "reach the model as they are. Encode it, or give the steps a copy each."
        )
    return _as_numbers(name, index, chains, idle)


def _as_numbers(
    name: str, index: int, chains: Sequence[Chain], idle: Sequence[Chain]
) -> tuple[Feature, list[Column]]:
    """Return the numeric feature of a column and the columns made of it."""
    feature = Numeric(name=name)
    columns: list[Column] = []
    for chain in (*chains, *idle):
        steps = (
            step if isinstance(step, Numbers) else step.as_numbers()
            for step in chain.steps
        )
        column, feature = follow(index, steps, feature)
        columns.append(column if chain.steps else Same(index))
    return feature, columns[: len(chains)]


def _holds_labels(chains: Sequence[Chain], idle: Sequence[Chain]) -> bool:
    """Tell whether encoders are the only readers of a raw column, behind imputers."""
    readers = [
        next((step for step in chain.steps if not isinstance(step, Replace)), None)
        for chain in chains
    ]
    more = [step for chain in idle for step in chain.steps[:1]]
    return any(isinstance(step, Lookup) for step in [*readers, *more]) and not any(
        isinstance(step, Numbers | None) for step in [*readers, *more]
    )


def _has_text(step: AnyStep) -> bool:
    match step:
        case Numbers():
            return False
        case Replace():
            labels: list[Label | None] = [step.old, step.new]
        case Flag():
            labels = [step.value]
        case Lookup():
            labels = list(step.labels)
    return any(label is None or isinstance(label, str) for label in labels)


def _as_labels(
    name: str, index: int, chains: Sequence[Chain], idle: Sequence[Chain]
) -> tuple[Feature, list[Column]]:
    """Return the categorical feature of a raw column and the columns made of it."""
    labels = _labels(*chains, *idle)
    cells = np.empty(len(labels) + 3, dtype=object)
    cells[:] = [*labels, UNKNOWN, math.nan, None]
    folded = [_fold(chain, cells) for chain in (*chains, *idle)]
    hangs = any(_hangs_on_others(chain) for chain in (*chains, *idle))
    taken = np.logical_and.reduce([good for _, good in folded])
    known = taken[:-3]
    takes_unknown, takes_nan, takes_none = (bool(good) for good in taken[-3:])
    if takes_unknown and not known.all():
        refused = labels[int(np.argmin(known))]
        raise UnsupportedModelError(
            f"column {name!r}: one step refuses {refused!r} and all take labels that "
            "nobody knows; such a column cannot be described."
        )
    if hangs and takes_unknown:
        raise UnsupportedModelError(
            f"column {name!r}: between two steps, set_output(transform='pandas') turns "
            "None into NaN if other rows hold texts there, and leaves it if none does, "
            "so that what a person with None is told hangs on who else is asked about. "
            "Impute None (SimpleImputer(missing_values=None)), train with NaN in its "
            "place, or call set_output(transform='default') and fit again."
        )
    table = np.array([values for values, _ in folded]).reshape(len(folded), len(cells))
    unknown, nan, none = (np.append(table[:, i], taken[i]) for i in (-3, -2, -1))
    missing = "any"
    if hangs:
        # Then None is refused, as all labels are that are not known.
        missing, takes_none = "nan", False
    elif not np.array_equal(nan, none, equal_nan=True):
        # What is not known as missing must be an unknown label like any other.
        missing = "nan" if np.array_equal(none, unknown, equal_nan=True) else "none"
        other = nan if missing == "none" else none
        if not np.array_equal(other, unknown, equal_nan=True):
            raise UnsupportedModelError(
                f"column {name!r}: None, NaN and unknown labels are three different "
                "things to the pipeline. Train it without None or without NaN."
            )
    # Encoders refuse infinity in a column of numbers.
    limit = math.inf if any(isinstance(c, str) for c in labels) else FINITE.upper
    feature = Categorical(
        name=name,
        categories=tuple(
            label for label, good in zip(labels, known, strict=True) if good
        ),
        lower=-limit,
        upper=limit,
        accepts_unknown=takes_unknown,
        accepts_missing=takes_none if missing == "none" else takes_nan,
        missing_as=missing,  # type: ignore[arg-type]
    )
    kept = np.append(np.flatnonzero(known), len(labels))
    place = -1 if missing == "none" else -2
    columns: list[Column] = [
        Coded(source=index, table=values[kept], missing=float(values[place]))
        for values in table[: len(chains)]
    ]
    return feature, columns


def _labels(*chains: Chain) -> list[Label]:
    """Return all labels that the steps of a raw column know, in their order."""
    labels: dict[Label, None] = {}
    replaced: dict[Label, None] = {}
    for chain in chains:
        for step in chain.steps:
            if isinstance(step, Lookup):
                labels |= dict.fromkeys(step.labels)
                break
            old = step.old if isinstance(step, Replace) else None
            if old is not None and not is_nan(old):
                replaced[old] = None
    return [*labels, *(label for label in replaced if label not in labels)]


def _fold(
    chain: Chain, cells: NDArray[Any], *, none: Any = None
) -> tuple[Floats, Flags]:
    """Send cells through a chain; return what becomes of them and which are taken.

    Frames of pandas between the steps turn None into `none`.
    """
    taken = np.ones(len(cells), dtype=bool)
    for place, step in enumerate(chain.steps):
        if place in chain.framed:
            cells = np.array([none if c is None else c for c in cells], dtype=object)
        cells, good = step.of_cells(cells)
        taken &= good
    if all(isinstance(step, Replace) for step in chain.steps):
        # Labels that no encoder reads lead nowhere: what they are does not matter.
        cells = np.zeros(len(cells))
    return np.asarray(cells, dtype=np.float64), taken


def _hangs_on_others(chain: Chain) -> bool:
    """Tell whether what becomes of None depends on the other rows of a table."""
    if not chain.framed or not turns_none():
        return False
    cells = np.array([None], dtype=object)
    kept, turned = (_fold(chain, cells, none=none) for none in (None, math.nan))
    return not all(map(partial(np.array_equal, equal_nan=True), kept, turned))
