"""scikit-learn pipelines, in the raw columns that go into them.

Each column that reaches the model is a chain of steps that starts at one raw column, or
at one that a step computed of several. The model is pulled back through the chains.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import msgspec
import numpy as np

from fatt.ensemble import Ensemble, Inputs
from fatt.ensemble.features import ByPosition, strictest
from fatt.errors import Arg, MalformedModelError, UnsupportedModelError
from fatt.importers.columns.algebra import Floats
from fatt.importers.columns.mixtures import (
    computed_with,
    formula_of,
    mixtures_of,
    name_of,
    split_off,
)
from fatt.importers.columns.pullback import pull_back
from fatt.importers.columns.raw import Raw, as_numbers, chains_from, raw_features
from fatt.importers.columns.steps import Numbers, Path, Table
from fatt.importers.columns.transformers import behind, is_passthrough, require_known
from fatt.importers.registry import inside, library_of, refuse_replaced
from fatt.importers.sklearn.members import check_members
from fatt.importers.versions import note_newer
from fatt.model import Live, Model


def convert(model: Any, *, missing: float | None) -> Model:
    """Convert a fitted `Pipeline` that ends in a tree model.

    Samplers of imbalanced-learn take no part in `predict`: what remains of a pipeline
    is one of scikit-learn.

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

    kind, rest = type(model), model
    if kind.__module__.partition(".")[0] == "imblearn":
        if (kind.__module__, kind.__name__) != ("imblearn.pipeline", "Pipeline"):
            raise UnsupportedModelError(
                f"cannot import an imbalanced-learn {kind.__name__}: fatt reads its "
                "Pipeline, and does not know what its other models compute. Use a "
                "sampler and a model of scikit-learn, XGBoost, LightGBM or CatBoost in "
                "such a Pipeline."
            )
        refuse_replaced(model)
        rest = Pipeline([one for one in model.steps if not _samples(one[1])])
    elif kind is not Pipeline:
        raise UnsupportedModelError(
            f"a {kind.__name__} alone predicts nothing. Pass the whole Pipeline "
            f"with its classifier, or the model, and this as {Arg('prepare')}."
        )
    steps = _flat_steps(rest)
    final = steps.pop()[1]
    if is_passthrough(final):
        raise UnsupportedModelError(
            "the pipeline ends in a step that only transforms. Pass a pipeline that "
            "ends in a classifier."
        )
    library = library_of(final)
    last = library.convert(final, missing=missing)
    inner = last.ensemble
    names, width = raw_columns(steps, inner)
    table = Table(list(map(Path, range(width))))
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
        ensemble=in_raw_columns(inner, table, names, width, steps),
        opened=partial(WholePipeline, model, rest, last),
        given=model,
    )


def _samples(step: Any) -> bool:
    """Tell whether a step changes training rows only."""
    return hasattr(step, "fit_resample")


def _flat_steps(model: Any) -> list[tuple[str, Any]]:
    """Return the steps of a pipeline, and of the pipeline that may be its last."""
    from sklearn.pipeline import Pipeline

    check_members(model)
    *steps, (name, final) = model.steps
    last = _flat_steps(final) if type(final) is Pipeline else [(name, final)]
    return [*steps, *last]


def raw_columns(
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


def in_raw_columns(
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


@dataclass(frozen=True)
class WholePipeline(Live):
    """A fitted `Pipeline`: asked for labels; the leaf values are of its last step.

    Attributes
    ----------
    pipeline
        The fitted object.
    rest
        The pipeline without samplers, of the same fitted steps.
    last
        The model at its end.
    """

    pipeline: Any
    rest: Any
    last: Model

    def labels(self, table: Any) -> Any:
        """Return what the pipeline predicts."""
        answers = np.asarray(self.pipeline.predict(table))
        # CatBoost answers several classes in a column.
        return answers.reshape(len(answers))

    def probabilities(self, table: Any) -> Any:
        """Return the pipeline's probabilities."""
        return self.pipeline.predict_proba(table)

    def scores(self, table: Any) -> Any:
        """Return the scores of the last step, on what the others make of the rows."""
        steps = self.rest
        while type(steps).__name__ == "Pipeline":
            if len(steps) > 1:
                table = steps[:-1].transform(table)
            steps = steps[-1]
        return self.last.live.scores(table)

    def leaves(self) -> Floats | None:
        """Return what each leaf of the last step adds to the scores."""
        return self.last.live.leaves()

    def with_leaves(self, values: Floats) -> Any:
        """Return a copy of the pipeline whose last step has other leaf values."""
        return _with_last(self.pipeline, self.last.live.with_leaves(values))


def _with_last(pipeline: Any, model: Any) -> Any:
    """Return a copy of a pipeline with another model at its end."""
    *steps, (name, last) = pipeline.steps
    if type(last).__name__ == "Pipeline":
        model = _with_last(last, model)
    changed = copy.copy(pipeline)
    changed.steps = [*copy.deepcopy(steps), (name, model)]
    return changed


def through(step: Any, table: Table) -> Table:
    """Return the table behind a step."""
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import FeatureUnion, Pipeline

    if step is None or isinstance(step, str):
        return table
    if is_passthrough(step) or type(step) is Pipeline:
        check_members(step)
    if type(step) is Pipeline:
        for name, inner in step.steps:
            with inside(f"step {name!r}"):
                table = through(inner, table)
        return table
    try:
        if is_passthrough(step):
            made = table
        elif type(step) is ColumnTransformer:
            made = _through_columns(step, table)
        elif type(step) is FeatureUnion:
            made = _through_union(step, table)
        else:
            is_frame = _output(step) != "default" and _gets_frame(step, table)
            made = behind(step, table, is_frame=is_frame)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise MalformedModelError(
            f"the fitted {type(step).__name__} contradicts itself or is not fitted "
            f"({type(error).__name__}: {error}). Fit the pipeline again."
        ) from error
    return _framed(step, made)


def _gets_frame(step: Any, table: Table) -> bool:
    """Tell whether a step gets a frame of pandas that another step has made."""
    is_named = hasattr(step, "feature_names_in_")
    return is_named and all(path.is_in_frame for path in table.columns)


def _framed(step: Any, table: Table) -> Table:
    """Return the table as the step hands it on: in a frame of pandas if it says so."""
    # Encoders of category_encoders make frames, whatever the configuration says.
    is_framed = type(step).__module__.startswith("category_encoders.")
    if not is_framed and _output(step) != "pandas":
        return table
    return replace(table, columns=[path.in_frame() for path in table.columns])


def _output(step: Any) -> str:
    """Return what kind of table a step of scikit-learn is told to make."""
    import sklearn

    # What the step does not say, the configuration says, as it is now.
    said = getattr(step, "_sklearn_output_config", {}).get("transform")
    return str(said or sklearn.get_config()["transform_output"])


def _through_columns(step: Any, table: Table) -> Table:
    """Return the table behind a `ColumnTransformer`."""
    check_members(step)
    if table.sparse:
        raise UnsupportedModelError(
            "a ColumnTransformer gets a sparse matrix, which is not supported. Fit the "
            "pipeline with sparse_output=False in the encoder before it."
        )
    _refuse_weights(step)
    # One that drops all columns does not say whether they were sparse.
    sparse = bool(getattr(step, "sparse_output_", False))
    result = Table([], sparse=sparse, idle=list(table.idle))
    for name, transformer, _ in step.transformers_:
        mine = [table.columns[i] for i in step._transformer_to_input_indices[name]]
        if not mine:
            continue
        if isinstance(transformer, str) and transformer == "drop":
            result.idle += [path for path in mine if path.is_checked]
            continue
        with inside(f"transformer {name!r}"):
            part = through(transformer, Table(mine))
        if isinstance(transformer, str):
            # Columns that pass are framed as the others are.
            part = _framed(step, part)
        place = step.output_indices_[name]
        if place != slice(len(result.columns), len(result.columns) + len(part.columns)):
            raise MalformedModelError(
                f"the ColumnTransformer's part {name!r} makes {len(part.columns)} "
                f"columns, which do not fit into {place}. Fit the pipeline again."
            )
        result.columns += part.columns
        result.idle += part.idle
    return result


def _through_union(step: Any, table: Table) -> Table:
    """Return the table behind a `FeatureUnion`: what its parts make, side by side."""
    check_members(step)
    _refuse_weights(step)
    result = Table([], idle=list(table.idle))
    for name, transformer in step.transformer_list:
        if isinstance(transformer, str) and transformer == "drop":
            continue
        with inside(f"transformer {name!r}"):
            part = through(transformer, Table(table.columns, sparse=table.sparse))
        result.columns += part.columns
        result.idle += part.idle
        result.sparse = result.sparse or part.sparse
    return result


def _refuse_weights(step: Any) -> None:
    if step.transformer_weights:
        raise UnsupportedModelError(
            f"a {type(step).__name__} has transformer_weights, which are not "
            "supported. Trees do not need them: fit without."
        )
