"""The way of columns through the steps of a pipeline."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fatt.errors import MalformedModelError, UnsupportedModelError
from fatt.importers.columns.steps import Table
from fatt.importers.columns.transformers import behind, is_passthrough
from fatt.importers.registry import inside
from fatt.importers.sklearn.members import check_members


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
