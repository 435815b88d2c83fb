"""AIF360's datasets: the one place that knows what AIF360 calls its attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fatt.aif360_ext.protected import Attribute, derive
from fatt.aif360_ext.question import load_with
from fatt.errors import SpecError
from fatt.region import Schema

#: Groups as AIF360 writes them: any of these, each with all of its values.
Groups: TypeAlias = Sequence[Mapping[str, float]]


def schema_of(dataset: Any, *, model: Any, prepare: Any = None) -> Schema:
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
    prepare
        What stands between the dataset's features and the model, as in `fatt.load`.

    Returns
    -------
    Schema

    Examples
    --------
    >>> schema = schema_of(train, model=model)         # doctest: +SKIP
    >>> schema = schema.with_(age=Integer(lower=17))   # doctest: +SKIP
    """
    ensemble = load_with(model, prepare).ensemble
    return derive(ensemble, frame_of(dataset), attributes_of(dataset))


def attributes_of(dataset: Any, sensitive_attr: Any = None) -> list[Attribute]:
    """Return the protected attributes, or those that are named instead."""
    protected = {
        name: Attribute(
            name, dataset.protected_attributes[:, place], _levels(dataset, name)
        )
        for place, name in enumerate(dataset.protected_attribute_names)
    }
    names = protected if sensitive_attr is None else names_of(sensitive_attr)
    return [protected.get(name, Attribute(name)) for name in names]


def said_in(sensitive_attr: Any) -> str:
    """Say where the attributes are named that may vary, for messages."""
    is_default = sensitive_attr is None
    return "protected_attribute_names" if is_default else "sensitive_attr"


def names_of(sensitive_attr: Any) -> list[str]:
    """Return the names of the attributes that may vary.

    Raises
    ------
    SpecError
        If it names nothing.
    """
    is_list = isinstance(sensitive_attr, list | tuple)
    names = list(sensitive_attr) if is_list else [sensitive_attr]
    if not names or not all(isinstance(name, str) and name for name in names):
        raise SpecError(
            f"sensitive_attr is {sensitive_attr!r}; name one or several attributes or "
            "columns, such as sensitive_attr='sex'."
        )
    return names


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


def frame_of(dataset: Any) -> Any:
    """Return the features of a dataset as a data frame, not copied."""
    import pandas as pd

    return pd.DataFrame(dataset.features, columns=dataset.feature_names, copy=False)


def rows_of(dataset: Any, *, named: bool) -> Any:
    """Return the features for a model that knows its columns by name, or by place."""
    return frame_of(dataset) if named else dataset.features


def labels_of(dataset: Any) -> NDArray[np.float64]:
    """Return the label of each person."""
    return np.ravel(dataset.labels)


def favorable_label(dataset: Any) -> Any:
    """Return the label that people wish for; some datasets have a list of them."""
    return dataset.favorable_label


def possible_labels(dataset: Any) -> list[float]:
    """Return the labels that a dataset can have; some datasets have lists of each."""
    good, bad = dataset.favorable_label, dataset.unfavorable_label
    return [*np.ravel(good).tolist(), *np.ravel(bad).tolist()]


def weights_of(dataset: Any) -> NDArray[np.float64]:
    """Return the weight of each person."""
    return np.asarray(dataset.instance_weights)


def what_differs(dataset: Any, other: Any) -> list[str]:
    """Say what two datasets differ in besides labels and scores, as AIF360 compares.

    Parameters
    ----------
    dataset, other
        The datasets. If they are about different numbers of people, nothing else is
        compared.
    """
    sizes = [len(one.features) for one in (dataset, other)]
    if sizes[0] != sizes[1]:
        return [f"the first has {sizes[0]:,} people and the second {sizes[1]:,}"]
    found = []
    for name, mine in dataset.__dict__.items():
        its = other.__dict__.get(name)
        if name in {"labels", "scores", *dataset.ignore_fields}:
            continue
        if not isinstance(mine, np.ndarray) or np.shape(mine) != np.shape(its):
            if not np.array_equal(mine, its):
                found.append(f"{name} is not the same")
            continue
        wrong = (mine != its).reshape(sizes[0], -1).any(axis=1)
        if wrong.any():
            found.append(
                f"{name} differ in {wrong.sum():,} of {len(wrong):,} rows, first in "
                f"row {int(np.argmax(wrong))}"
            )
    return found


def members(dataset: Any, groups: Groups | None) -> NDArray[np.bool_]:
    """Tell which people belong to any of these groups; all do if none is named.

    Parameters
    ----------
    dataset
        The dataset.
    groups
        The groups, in protected attributes of the dataset.

    Raises
    ------
    ValueError
        If a group names no protected attribute.
    """
    # Takes seconds, and brings what else is installed.
    from aif360.metrics.utils import compute_boolean_conditioning_vector

    found = compute_boolean_conditioning_vector(
        dataset.protected_attributes, dataset.protected_attribute_names, groups
    )
    return np.asarray(found)


def counted_in(metric: Any, privileged: bool | None) -> NDArray[np.bool_]:
    """Tell which people count in a metric of one side, or of all people.

    Parameters
    ----------
    metric
        AIF360 metric of a dataset.
    privileged
        Whether the privileged or the unprivileged groups are asked about; None for
        all people.

    Raises
    ------
    AttributeError
        If the metric was not told those groups.
    """
    return members(metric.dataset, metric._to_condition(privileged))


def with_answers(dataset: Any, model: Any) -> Any:
    """Return a copy of a dataset with the labels and scores that a model gives.

    Parameters
    ----------
    dataset
        Dataset with the features that the model reads.
    model
        Fitted classifier in the manner of scikit-learn. Scores are its probabilities of
        the favorable label.

    Raises
    ------
    SpecError
        If the favorable label is none of those that the model was trained on.
    """
    classes = model.classes_.tolist()
    if dataset.favorable_label not in classes:
        raise SpecError(
            f"the favorable label is {dataset.favorable_label}, and FATT was "
            f"trained on the labels {classes}; code both datasets alike."
        )
    people, predicted = frame_of(dataset), dataset.copy()
    predicted.labels = model.predict(people).reshape(-1, 1)
    favorable = classes.index(dataset.favorable_label)
    predicted.scores = model.predict_proba(people)[:, [favorable]]
    return predicted
