"""A schema from scikit-learn's encoders."""

from __future__ import annotations

from collections import Counter
from typing import Any

from msgspec.structs import replace

from fatt.ensemble.features import Label
from fatt.errors import Arg, SpecError
from fatt.region.kinds import AnyVariable, Number, OneHot, Ordinal
from fatt.region.schema import Schema

#: The levels that encoders make of categories without a column of their own.
INFREQUENT = "infrequent"
MISSING = "missing"


def from_transformer(transformer: Any) -> Schema:
    """Return the variables behind a fitted ColumnTransformer's output columns."""
    if not hasattr(transformer, "transformers_"):
        raise SpecError(
            f"a schema needs a fitted ColumnTransformer, not {transformer!r}; pass the "
            "fitted one, such as pipeline[0]."
        )
    columns = [str(name) for name in transformer.get_feature_names_out()]
    inputs = _input_names(transformer)
    variables: list[AnyVariable] = []
    for name, step, _ in transformer.transformers_:
        made = columns[transformer.output_indices_[name]]
        if made:
            chosen = transformer._transformer_to_input_indices[name]
            variables += _of_step(step, [inputs[place] for place in chosen], made)
    return Schema(columns=tuple(columns), variables=tuple(_distinct(variables)))


def _input_names(transformer: Any) -> list[str]:
    names = getattr(transformer, "feature_names_in_", None)
    if names is None:
        return [f"x{index}" for index in range(transformer.n_features_in_)]
    return [str(name) for name in names]


def _of_step(step: Any, inputs: list[str], made: list[str]) -> list[AnyVariable]:
    """Return the variables behind one step's output columns."""
    if hasattr(step, "steps") and len(step.steps) > 1:
        try:
            inputs = [str(x) for x in step[:-1].get_feature_names_out(inputs)]
        except (AttributeError, ValueError):
            return _numbers(made, made)
    last = step.steps[-1][1] if hasattr(step, "steps") else step
    if hasattr(last, "categories_") and len(last.categories_) == len(inputs):
        if hasattr(last, "drop_idx_"):
            return _of_one_hot(last, inputs, made)
        if hasattr(last, "encoded_missing_value") and len(made) == len(inputs):
            return [
                _of_ordinal(last, index, name, column)
                for index, (name, column) in enumerate(zip(inputs, made, strict=True))
            ]
    try:
        outputs = [str(x) for x in last.get_feature_names_out(inputs)]
    except (AttributeError, ValueError):
        outputs = made
    return _numbers(inputs if outputs == inputs else made, made)


def _numbers(names: list[str], columns: list[str]) -> list[AnyVariable]:
    return [
        Number(name=name, columns=(column,))
        for name, column in zip(names, columns, strict=True)
    ]


def _of_one_hot(encoder: Any, inputs: list[str], made: list[str]) -> list[AnyVariable]:
    variables: list[AnyVariable] = []
    left = list(made)
    for index, name in enumerate(inputs):
        categories = encoder.categories_[index].tolist()
        levels, groups, has_rare = _levels(encoder, index, categories)
        drops = encoder.drop_idx_
        drop = None if drops is None or drops[index] is None else int(drops[index])
        dropped = None if drop is None else levels[groups[drop]]
        kept = [level for level in levels if drop is None or level != dropped]
        columns, left = left[: len(kept)], left[len(kept) :]
        unknown = encoder.handle_unknown == "ignore" or (
            encoder.handle_unknown in {"infrequent_if_exist", "warn"} and not has_rare
        )
        if not kept:
            continue
        variables.append(
            OneHot(
                name=name,
                columns=tuple(columns),
                levels=tuple(kept),
                dropped=dropped,
                accepts_unknown=unknown and dropped is None,
            )
        )
    if left or sum(len(variable.columns) for variable in variables) != len(made):
        raise SpecError(
            f"the one-hot encoder of {', '.join(inputs)} made {len(made)} columns, "
            "which its categories do not explain; give the groups by hand with "
            f"{Arg('schema')}."
        )
    return variables


def _of_ordinal(encoder: Any, index: int, name: str, column: str) -> AnyVariable:
    categories = encoder.categories_[index].tolist()
    # The encoder counts without NaN, for which it writes a number of its own. It does
    # count None, and whatever else people call a missing value.
    counted = [category for category in categories if not _is_nan(category)]
    levels, _, _ = _levels(encoder, index, counted)
    values = [float(place) for place in range(len(levels))]
    missing, unknown = encoder.encoded_missing_value, encoder.unknown_value
    if len(counted) < len(categories) and not _is_nan(missing):
        levels.append(MISSING)
        values.append(float(missing))
    if unknown is None or _is_nan(unknown) or float(unknown) in values:
        unknown = None
    return Ordinal(
        name=name,
        columns=(column,),
        levels=tuple(levels),
        values=tuple(values),
        unknown_value=None if unknown is None else float(unknown),
    )


def _levels(
    encoder: Any, index: int, values: list[Any]
) -> tuple[list[Label], list[int], bool]:
    """Return the levels an encoder tells apart, each category's, and if some are rare.

    The rare categories are one level together, the last.
    """
    categories = [_label(value) for value in values]
    listed = getattr(encoder, "infrequent_categories_", None)
    rare: set[Label] = set()
    if listed is not None and listed[index] is not None:
        rare = {_label(value) for value in listed[index].tolist()}
    levels = [category for category in categories if category not in rare]
    if rare:
        levels.append(INFREQUENT)
    groups = [levels.index(INFREQUENT if x in rare else x) for x in categories]
    return levels, groups, bool(rare)


def _label(value: Any) -> Label:
    if value is None or _is_nan(value):
        return MISSING
    return value if isinstance(value, str | int | float) else str(value)


def _is_nan(value: Any) -> bool:
    return bool(value != value)  # noqa: PLR0124


def _distinct(variables: list[AnyVariable]) -> list[AnyVariable]:
    """Name variables of the same name after their first columns."""
    names = Counter(variable.name for variable in variables)
    return [
        variable
        if names[variable.name] == 1
        else replace(variable, name=variable.columns[0])
        for variable in variables
    ]
