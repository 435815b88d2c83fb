"""Who is protected: index levels, columns, one-hot groups, positions and arrays."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from aif360.sklearn.utils import check_groups
from numpy.typing import NDArray

from fatt.aif360_ext.schema import free, is_known, with_levels
from fatt.ensemble import Ensemble
from fatt.errors import SpecError
from fatt.region import Relation, Schema


def complete(
    ensemble: Ensemble,
    X: Any,
    prot_attr: Any,
    *,
    schema: Schema | None,
    similarity: Relation | None,
) -> tuple[Schema, Relation]:
    """Return what the columns mean and who is similar, where that is not given.

    Parameters
    ----------
    ensemble
        The model, or one that reads the same columns.
    X
        The people.
    prot_attr
        The protected attributes.
    schema
        What the columns mean. By default it is inferred, and protected columns that
        hold only 0 and 1 have no other values.
    similarity
        Who is similar; by default the protected attributes may have any of their
        values, and nothing else may change.

    Raises
    ------
    SpecError
        If there is no such attribute, or no similarity and none that the model reads.
    """
    known = Schema.infer(ensemble, X) if schema is None else schema
    names = _names(X, prot_attr, known)
    if schema is None:
        for name in names:
            column = _column(X, name, known)
            if column is not None and np.isin(column, [0, 1]).all():
                known = with_levels(known, name, {0.0: 0.0, 1.0: 1.0})
    return known, free(known, names) if similarity is None else similarity


def is_privileged(X: Any, prot_attr: Any, priv_group: Any) -> NDArray[np.bool_]:
    """Tell who belongs to the privileged group.

    Parameters
    ----------
    X
        The people.
    prot_attr
        What makes the groups.
    priv_group
        The value of the privileged group, a tuple if there are several attributes.
    """
    given = (
        [_values(X, one) for one in prot_attr]
        if isinstance(prot_attr, list)
        else _values(X, prot_attr)
    )
    groups, _ = check_groups(X, given)
    # An index compares a tuple as if it held one value per person.
    return np.array([group == priv_group for group in groups], dtype=bool)


def is_pandas(X: Any) -> bool:
    """Tell whether people are given with an index."""
    import pandas as pd

    return isinstance(X, pd.DataFrame)


def _names(X: Any, prot_attr: Any, schema: Schema) -> list[str]:
    """Return the names of the protected attributes; arrays of values may have none."""
    levels = list(X.index.names) if is_pandas(X) else []
    if prot_attr is None:
        return [level for level in levels if isinstance(level, str)]
    names: list[Any] = []
    for one in prot_attr if isinstance(prot_attr, list) else [prot_attr]:
        if isinstance(one, numbers.Integral):
            names.append(_name_at(X, int(one), schema))
        elif not isinstance(one, str):
            names.append(getattr(one, "name", None))
        elif one in levels or schema.find(one, said_in="prot_attr"):
            names.append(one)
    return [name for name in names if isinstance(name, str)]


def _name_at(X: Any, place: int, schema: Schema) -> str:
    """Return the name of the column at a place: the model's if the table has none."""
    has_names = is_pandas(X) and X.columns.inferred_type == "string"
    known: list[str] = list(X.columns if has_names else schema.columns)
    if not -len(known) <= place < len(known):
        raise SpecError(
            f"prot_attr names the column at position {place}, and there are "
            f"{len(known)} columns."
        )
    return known[place]


def _column(X: Any, name: str, schema: Schema) -> Any:
    """Return the column of that name, if there is one."""
    if is_pandas(X):
        return X[name].to_numpy() if name in X.columns else None
    if isinstance(X, np.ndarray) and is_known(schema, name) and name in schema.columns:
        return X[:, schema.columns.index(name)]
    return None


def _values(X: Any, one: Any) -> Any:
    """Replace what names columns by values: AIF360 knows only levels of the index."""
    if isinstance(one, numbers.Integral):
        return np.asarray(X.iloc[:, one] if is_pandas(X) else X[:, one])
    if not is_pandas(X) or not isinstance(one, str) or one in X.index.names:
        return one
    if one in X.columns:
        return X[one].to_numpy()
    group = [name for name in X.columns if str(name).startswith(f"{one}=")]
    if not group:
        return one
    levels = np.array([None, *(name.partition("=")[2] for name in group)], dtype=object)
    flags = X[group].to_numpy() == 1
    return levels[np.where(flags.any(axis=1), 1 + flags.argmax(axis=1), 0)]
