"""The protected attributes: where a model reads them, and what they may become.

A protected attribute must be found: as a variable, as a column, or as a family of
one-hot columns such as ``sex=F`` or ``sex_F``. Else the model must plainly not read it.
Whatever lies between is refused, because an attribute that is dropped in silence looks
fair.
"""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Ensemble
from fatt.errors import SpecError
from fatt.region import Number, Ordinal, Relation, Schema, Similarity, Variables
from fatt.region.inference import refuse_broken_groups
from fatt.train.people import schema_of

Codes = NDArray[np.int64]

#: How often equal values must meet before that is no chance.
_REPEATS = 3


class Attribute(NamedTuple):
    """A protected attribute, as AIF360 knows it.

    Attributes
    ----------
    name
        Its name.
    values : ndarray of shape (n_rows,), optional
        Its value in each row; None if only a column of the model can tell.
    levels
        The number in its column for each value that people know, if these are all.
    """

    name: str
    values: NDArray[Any] | None = None
    levels: Mapping[float, float] = MappingProxyType({})


def derive(
    ensemble: Ensemble,
    X: Any,
    attributes: Sequence[Attribute],
    similarity: Relation | None = None,
) -> Schema:
    """Infer a schema in which families of one-hot columns are one variable.

    Parameters
    ----------
    ensemble
        The model, or one that reads the same columns.
    X
        The rows.
    attributes
        The protected attributes. A number with levels has no other values.
    similarity
        Who is similar, if that is given; it may name families as well.
    """
    names = [one.name for one in attributes]
    if similarity is not None:
        names += [move.name for move in similarity.moves if move.name is not None]
    schema = schema_of(X, ensemble, names)
    for one in attributes:
        schema = _with_levels(schema, one, ensemble, X)
    return schema


def _with_levels(
    schema: Schema, attribute: Attribute, ensemble: Ensemble, X: Any
) -> Schema:
    """Return a schema in which the column of an attribute has finitely many values."""
    if not attribute.levels or not _is_known(schema, attribute.name):
        return schema
    variable = schema.find(attribute.name)
    if not isinstance(variable, Number):
        return schema
    try:
        _refuse_one_flag(attribute.name, schema, ensemble, X)
    except SpecError:
        # As a number it will be refused as soon as it varies.
        return schema
    numbers = dict(sorted(attribute.levels.items()))
    known = [int(value) if value.is_integer() else value for value in numbers]
    kind = Ordinal(levels=tuple(known), values=tuple(numbers.values()))
    return schema.with_({variable.name: kind})


def _refuse_one_flag(name: str, schema: Schema, ensemble: Ensemble, X: Any) -> None:
    """Raise if a name means one flag of several that are one variable."""
    refuse_broken_groups(Similarity(vary=[name]), Variables(ensemble, schema), X)


def _is_known(schema: Schema, name: str) -> bool:
    return name in schema.columns or any(v.name == name for v in schema.variables)


def free(
    ensemble: Ensemble,
    X: Any,
    attributes: Sequence[Attribute],
    *,
    schema: Schema,
    said_in: str,
) -> Similarity:
    """Return the similarity in which the protected attributes vary, and nothing else.

    Warns of attributes that the model does not read.

    Parameters
    ----------
    ensemble, X, schema
        The model, the rows, and what the columns mean.
    attributes
        The protected attributes.
    said_in
        What names them, for messages.

    Raises
    ------
    SpecError
        If an attribute does not exist, the model may read it in other columns, or the
        model reads none at all.
    """
    found = {
        one.name: schema.find(one.name, said_in=said_in)
        for one in attributes
        if one.values is None or _is_known(schema, one.name)
    }
    moving = {column for variable in found.values() for column in variable.columns}
    others = [column for column in schema.columns if column not in moving]

    @functools.cache
    def rows() -> NDArray[np.float64]:
        return ensemble.read(X)

    def codes_of(*columns: str) -> Codes:
        return _codes(*(rows()[:, schema.columns.index(one)] for one in columns))

    for name, variable in found.items():
        _refuse_one_flag(name, schema, ensemble, X)
        own = codes_of(*variable.columns)
        copies = [
            column
            for column in others
            if _go_together(name, own, column, codes_of(column))
        ]
        if copies:
            raise SpecError(
                f"{name!r} may vary, and in these rows it goes together with "
                f"{_listed(copies)}, which would stay the same. Name all that change: "
                f"similarity=Similarity(vary={[variable.name, *copies]})."
            )
    unread = [one for one in attributes if one.name not in found]
    for one in unread:
        _refuse_one_flag(one.name, schema, ensemble, X)
        like = [column for column in others if _shares_name(one.name, column)]
        own = _codes(np.asarray(one.values))
        together = [
            column
            for column in others
            if not like
            and (_tells(own, codes_of(column)) or _tells(codes_of(column), own))
        ]
        if like or together:
            how = "goes together in these rows with" if together else "may be read in"
            raise SpecError(
                f"{said_in} names {one.name!r}. No column of the model is called so, "
                f"but it {how} {_listed(like or together)}. Leave it out, or say which "
                "columns may vary with similarity=Similarity(vary=[...]). If several "
                "are flags of one variable, join them with "
                "schema=Schema.infer(fatt.load(model), X, one_hot=[...])."
            )
    absent = ", ".join(repr(one.name) for one in unread) or "none is named"
    if not found:
        raise SpecError(
            f"the model reads none of the protected attributes ({absent}), so that "
            "people who differ in them alone get the same answer. Say with similarity= "
            "what else may differ."
        )
    if unread:
        warnings.warn(
            f"{absent} does not vary: no column of the model is called so, and none "
            f"goes together with it in these rows. What varies: {_listed(found)}.",
            stacklevel=3,
        )
    return Similarity(vary=list(dict.fromkeys(v.name for v in found.values())))


def _codes(*columns: NDArray[Any]) -> Codes:
    """Return a number for the values in each row, equal where the values are."""
    import pandas as pd

    found = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        own = pd.factorize(column, use_na_sentinel=False)[0]
        found = np.unique(found * (len(own) + 1) + own, return_inverse=True)[1]
    return found


def _tells(one: Codes, other: Codes) -> bool:
    """Tell whether one column gives the other away, too often to be chance."""
    width = other.max(initial=0) + 1
    pairs, count = np.unique(one * width + other, return_counts=True)
    if len(np.unique(pairs // width)) < len(pairs):
        return False
    # How often values were seen again, for each value of the other column.
    repeats = np.bincount(pairs % width, weights=count - 1)
    return bool(repeats.sum() - repeats.max(initial=0) >= _REPEATS)


def _go_together(name: str, own: Codes, column: str, codes: Codes) -> bool:
    """Tell whether a column is a copy of an attribute, or by its name a part of it."""
    ways = _tells(own, codes), _tells(codes, own)
    is_part = _shares_name(name, column) or _shares_name(column, name)
    return any(ways) if is_part else all(ways)


def _shares_name(name: str, column: str) -> bool:
    """Tell whether a column's name has an attribute's name in it, word by word."""
    return f"_{_words(name)}_" in f"_{_words(column)}_"


def _words(name: str) -> str:
    return re.sub(r"[\W_]+|(?<=[a-z])(?=[A-Z])", "_", name).lower()


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))


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


def tell_another_question(model: Any, similarity: Relation) -> None:
    """Warn if a model was trained for another similarity than is asked about."""
    trained = getattr(model, "similarity_", None)
    if trained is not None and trained != similarity:
        warnings.warn(
            f"the model was trained for {trained!r}, and is asked about "
            f"{similarity!r}. Pass similarity=model.similarity_ to ask the same.",
            stacklevel=3,
        )
