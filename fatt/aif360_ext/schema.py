"""What the columns of a dataset mean, above all the protected attributes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from fatt.aif360_ext.model import with_preprocess
from fatt.ensemble import Ensemble
from fatt.errors import SpecError
from fatt.importers import load
from fatt.region import Number, Ordinal, Relation, Schema, Similarity


def schema_of(dataset: Any, *, model: Any, preprocess: Any = None) -> Schema:
    """Derive a schema from an AIF360 dataset, for a model that reads its features.

    Columns such as ``race=White`` and ``race=Black`` are one variable `race`. A
    protected attribute has the values that the dataset lists as privileged or
    unprivileged, and noise on it counts these values; if only one is listed, it may be
    any number. All other columns are numbers: AIF360 keeps only floats, so name whole
    numbers and bounds with `Schema.with_`.

    Parameters
    ----------
    dataset
        AIF360 dataset; best the training data, or all the data.
    model
        Whatever `fatt.load` takes.
    preprocess
        Fitted transformer between the dataset's features and the model.

    Returns
    -------
    Schema

    Examples
    --------
    >>> schema = schema_of(train, model=model)         # doctest: +SKIP
    >>> schema = schema.with_(age=Integer(lower=17))   # doctest: +SKIP
    """
    return derive(dataset, load(with_preprocess(model, preprocess)))


def derive(dataset: Any, ensemble: Ensemble) -> Schema:
    """Derive a schema from a dataset, for a model that was loaded; see `schema_of`."""
    schema = Schema.infer(ensemble, frame_of(dataset))
    for name in dataset.protected_attribute_names:
        schema = with_levels(schema, name, _levels(dataset, name))
    return schema


def frame_of(dataset: Any) -> Any:
    """Return the features of a dataset as a data frame, not copied."""
    import pandas as pd

    return pd.DataFrame(dataset.features, columns=dataset.feature_names, copy=False)


def with_levels(schema: Schema, name: str, levels: Mapping[float, float]) -> Schema:
    """Return a schema in which a column of numbers has finitely many values.

    Parameters
    ----------
    schema
        The schema.
    name
        Name of the column. Nothing changes if it belongs to no variable, or to one that
        is no number, such as a group of one-hot columns.
    levels
        The number in the column for each value that people know; nothing changes if
        there is none.
    """
    if not levels or not is_known(schema, name):
        return schema
    variable = schema.find(name)
    if not isinstance(variable, Number):
        return schema
    numbers = dict(sorted(levels.items()))
    known = [int(value) if value.is_integer() else value for value in numbers]
    kind = Ordinal(levels=tuple(known), values=tuple(numbers.values()))
    return schema.with_({variable.name: kind})


def _levels(dataset: Any, name: str) -> dict[float, float]:
    """Return the number in its column for each value of a protected attribute.

    There is none if the dataset does not tell all of them: then every number counts as
    a value, for a proof that forgot one would be wrong.
    """
    if name not in dataset.feature_names:
        return {}
    place = dataset.protected_attribute_names.index(name)
    own = dataset.protected_attributes[:, place]
    column = dataset.features[:, dataset.feature_names.index(name)]
    # Equal unless the features were scaled after the dataset was made.
    numbers = dict(zip(own.tolist(), column.tolist(), strict=True))
    listed = np.concatenate(
        [
            dataset.privileged_protected_attributes[place],
            dataset.unprivileged_protected_attributes[place],
        ]
    )
    if np.array_equal(own, column):
        numbers |= {float(value): float(value) for value in listed}
    is_complete = len(numbers) > 1 and numbers.keys() >= set(listed.tolist())
    is_one_to_one = len(set(numbers.values())) == len(numbers) and np.array_equal(
        [numbers[value] for value in own.tolist()], column
    )
    return numbers if is_complete and is_one_to_one else {}


def is_known(schema: Schema, name: str) -> bool:
    """Tell whether there is a variable or column of that name."""
    return name in schema.columns or any(v.name == name for v in schema.variables)


def free(schema: Schema, protected: Iterable[str]) -> Similarity:
    """Return the similarity in which protected attributes vary, and nothing else.

    Parameters
    ----------
    schema
        The variables that the model reads.
    protected
        Names of the protected attributes; those that the model does not read cannot
        change its labels.

    Raises
    ------
    SpecError
        If the model reads none of them.
    """
    names = list(protected)
    read = [schema.find(name).name for name in names if is_known(schema, name)]
    if not read:
        raise SpecError(
            "no similarity is given, which leaves the protected attributes free, and "
            f"the model reads none of them ({', '.join(map(repr, names)) or 'none'}): "
            "people who differ in them alone get the same label. Say with similarity= "
            "what else may differ."
        )
    return Similarity(vary=read)


def refuse_both(name: str, given: Any, similarity: Relation | None) -> None:
    """Raise if protected attributes are given beside a similarity, which names its own.

    Parameters
    ----------
    name, given
        The parameter with the protected attributes.
    similarity
        The similarity, or None.
    """
    if similarity is not None:
        raise SpecError(
            f"both {name}={given!r} and a similarity are given, so that it is not "
            "clear what may vary. Pass one of them; Similarity(vary=[...]) names "
            "attributes beside other differences."
        )
