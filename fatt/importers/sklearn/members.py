"""What fitted objects of scikit-learn hold and say; the names stand in `members.txt`.

A later version may keep something else in them that decides: what is not known here is
refused by its name, and never ignored. scikit-learn puts what it learns into attributes
that begin or end with an underscore, and settings into constructor parameters; other
attributes are notes that somebody attached to the object, which it never reads.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable
from typing import Any

import numpy as np

from fatt.ensemble import Inputs, Label, Source
from fatt.errors import MalformedModelError, UnsupportedModelError
from fatt.importers.registry import FEATURES, listed, plain_label, refuse_replaced
from fatt.importers.versions import note_newer, releases_of

_ARGUMENTS = 3

#: What to do about a model of a version that is not known yet.
TRAIN_ANEW = (
    f"Train the model with scikit-learn {releases_of('scikit-learn')}, or install a "
    "newer fatt."
)


def is_known(part: Any) -> bool:
    """Tell whether an object is of a class that is read."""
    kind = type(part)
    return kind.__module__.startswith("sklearn.") and kind.__name__ in _known()


def check_members(part: Any) -> None:
    """Refuse a fitted object that holds what no known version gives it.

    Parameters
    ----------
    part
        Fitted estimator or transformer of scikit-learn, of a class that is read.

    Raises
    ------
    UnsupportedModelError
        If it has a parameter or a fitted attribute that is not known, or one of its
        methods was replaced.
    """
    refuse_replaced(part)
    kind: type = type(part)
    known = _known()["Any"] | _known()[kind.__name__]
    telling = [
        name
        for name in vars(part)
        if name.startswith("_") or name.endswith("_") or name in _parameters(kind)
    ]
    _refuse_unknown({*telling, *_parameters(kind)}, known, f"the {kind.__name__}")


def check_tree(tree: Any) -> None:
    """Refuse the ``tree_`` of an estimator if it holds more than trees are known to.

    Parameters
    ----------
    tree
        scikit-learn's own `Tree`.

    Raises
    ------
    UnsupportedModelError
        If its nodes have a field, or it has a member, that is not known.
    MalformedModelError
        If it is no such tree, or lacks one.
    """
    from sklearn.tree._tree import Tree

    kind: type = type(tree)
    members = {*_data_members(kind), *getattr(tree, "__dict__", ())}
    _refuse_unknown(members, _known()["Tree"], "a tree of the model")
    try:
        _, arguments, state = tree.__reduce__()
        _refuse_unknown(state, _known()["Tree saved"], "a tree of the model")
        fields = state["nodes"].dtype.names or ()
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise MalformedModelError(f"a tree is of type {kind.__name__}.") from error
    _check_fields(fields, _known()["Tree nodes"])
    if len(arguments) != _ARGUMENTS:
        raise UnsupportedModelError(
            f"a tree of the model is made of {len(arguments)} numbers and lists, and "
            f"trees are known to be made of {_ARGUMENTS}. {_ADVICE}"
        )
    if kind is not Tree:
        raise MalformedModelError(f"a tree is of type {kind.__name__}.")


def check_hist_nodes(nodes: Any) -> None:
    """Refuse the nodes of histogram boosting if they have other fields than known."""
    _check_fields(nodes.dtype.names or (), _known()["TreePredictor nodes"])


_ADVICE = f"Another scikit-learn than fatt knows may decide by it. {TRAIN_ANEW}"


def _check_fields(found: Iterable[str], known: frozenset[str]) -> None:
    found = set(found)
    _refuse_unknown(found, known, "a node of a tree")
    if found != known:
        absent = ", ".join(sorted(known - found))
        raise MalformedModelError(f"the nodes of a tree lack the field(s) {absent}.")


def _refuse_unknown(found: Iterable[str], known: frozenset[str], what: str) -> None:
    unknown = sorted(set(found) - known)
    if unknown:
        raise UnsupportedModelError(
            f"{what} holds {', '.join(unknown)}, which fatt does not know. {_ADVICE}"
        )


@functools.cache
def _known() -> dict[str, frozenset[str]]:
    """Return the names that are known, by class."""
    known = {}
    for kinds, names in listed("sklearn", "members.txt").items():
        known.update(dict.fromkeys(kinds.split(", "), frozenset(names)))
    return known


@functools.cache
def _parameters(kind: type) -> frozenset[str]:
    """Return the names of the constructor's parameters."""
    return frozenset(list(inspect.signature(kind).parameters))


@functools.cache
def _data_members(kind: type) -> frozenset[str]:
    """Return the public members of a compiled class that are no methods."""
    return frozenset(
        name
        for name in dir(kind)
        if not name.startswith("_") and not callable(getattr(kind, name))
    )


def n_features(model: Any) -> int:
    """Return the number of columns that the model reads."""
    count = int(model.n_features_in_)
    if not 0 < count <= FEATURES:
        raise UnsupportedModelError(
            f"the model claims to read {count} columns; fatt reads models of 1 to "
            f"{FEATURES} columns."
        )
    return count


def feature_names(model: Any) -> tuple[str, ...]:
    """Return the names of the columns, or x0, x1, ... if the model was given none."""
    count = n_features(model)
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return tuple(f"x{index}" for index in range(count))
    if len(names) != count:
        raise MalformedModelError(
            f"the model names {len(names)} columns and reads {count}."
        )
    return tuple(str(name) for name in names)


def inputs(model: Any, *, integer_limit: int = 2**53) -> Inputs:
    """Say how the model reads tables."""
    return Inputs(
        named=hasattr(model, "feature_names_in_"), integer_limit=integer_limit
    )


def labels(values: Any, what: str) -> tuple[Label, ...]:
    """Return numpy or Python values as the strings and numbers they stand for."""
    return tuple(plain_label(value, what) for value in np.asarray(values))


def classes(model: Any) -> tuple[Label, ...]:
    """Return the labels that the model answers, in its order."""
    return labels(model.classes_, "the list of classes")


def source(model: Any, *, objective: str = "", notes: tuple[str, ...] = ()) -> Source:
    """Describe where the model came from."""
    import sklearn

    version = str(sklearn.__version__)
    return Source(
        library="scikit-learn",
        version=version,
        format="fitted object",
        model=type(model).__name__,
        objective=objective,
        notes=(*note_newer("scikit-learn", version), *notes),
    )
