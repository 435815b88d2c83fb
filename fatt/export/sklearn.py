"""Export trees as a fitted scikit-learn model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical, Ensemble
from fatt.errors import UnsupportedModelError
from fatt.export.averaged import load_averaged, require_plain_numbers, spans


def to_sklearn(model: Any) -> Any:
    """Return a fitted scikit-learn classifier with the same answers.

    Parameters
    ----------
    model
        Fitted model or path of a model file, as `fatt.load` takes it: a tree, or trees
        that average shares of the classes. All columns must be numbers.

    Returns
    -------
    DecisionTreeClassifier, or RandomForestClassifier if there are several trees
        It saw no data, so its numbers of samples, impurities and feature importances
        mean nothing.

    Raises
    ------
    UnsupportedModelError
        If the model is of another kind, or has a column of categories.

    Notes
    -----
    scikit-learn rounds inputs to float32 before it compares. Labels and probabilities
    are the same for every float32 number, and for whole numbers up to 2**24. A float64
    number next to a threshold may be rounded to its other side. A model that was read
    from scikit-learn comes back the same for all numbers. Missing values (NaN) go where
    the ensemble sends them. Missing values that the ensemble refuses are not refused.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from fatt.export import to_sklearn
    >>> tree = DecisionTreeClassifier().fit([[20.0], [40.0]], ["deny", "approve"])
    >>> to_sklearn(tree).predict([[29.0], [31.0]])
    array(['deny', 'approve'], dtype='<U7')
    """
    what = "a model of scikit-learn"
    ensemble = load_averaged(model, what)
    require_plain_numbers(ensemble, what)
    _require_numbers(ensemble, what)
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.tree import DecisionTreeClassifier

    trees = [
        _fitted(DecisionTreeClassifier(), ensemble, tree_=_tree(ensemble, number))
        for number in range(len(ensemble.trees))
    ]
    if len(trees) == 1:
        return _named(trees[0], ensemble)
    # The trees of a forest know their classes by number.
    for tree in trees:
        tree.classes_ = np.arange(len(ensemble.classes), dtype=np.float64)
    forest = RandomForestClassifier(n_estimators=len(trees))
    parts = {"estimators_": trees, "estimator_": DecisionTreeClassifier()}
    return _named(_fitted(forest, ensemble, **parts), ensemble)


def _require_numbers(ensemble: Ensemble, what: str) -> None:
    for feature in ensemble.features:
        if isinstance(feature, Categorical):
            raise UnsupportedModelError(
                f"cannot make {what} of this model: column {feature.name!r} holds "
                "categories, which scikit-learn's trees do not take. Train behind a "
                "one-hot step, OneHotEncoder(sparse_output=False) with "
                "set_output(transform='pandas'), and export the tree behind it; or use "
                "to_onnx, which takes categories."
            )


def _fitted(model: Any, ensemble: Ensemble, **parts: Any) -> Any:
    """Set the attributes that fitting would have set."""
    learned = {
        "n_features_in_": len(ensemble.features),
        "n_outputs_": 1,
        "n_classes_": len(ensemble.classes),
        "classes_": _classes(ensemble),
        **parts,
    }
    for name, value in learned.items():
        setattr(model, name, value)
    return model


def _named(model: Any, ensemble: Ensemble) -> Any:
    """Set the names of the columns, if the ensemble requires them."""
    if ensemble.inputs.named:
        names = [feature.name for feature in ensemble.features]
        model.feature_names_in_ = np.array(names, dtype=object)
    return model


def _classes(ensemble: Ensemble) -> NDArray[Any]:
    kinds = {type(label) for label in ensemble.classes}
    # One numpy type would change labels of several types.
    return np.array(ensemble.classes, dtype=object if len(kinds) > 1 else None)


def _tree(ensemble: Ensemble, number: int) -> Any:
    """Return one tree as scikit-learn's own object."""
    from sklearn.tree._tree import TREE_UNDEFINED, Tree

    start, end = spans(ensemble)[number]
    nodes, n_classes = ensemble.trees.nodes[start:end], len(ensemble.classes)
    inner = nodes["feature"] >= 0
    tree = Tree(len(ensemble.features), np.array([n_classes], dtype=np.intp), 1)
    made = np.zeros(len(nodes), dtype=tree.__getstate__()["nodes"].dtype)
    for name, side in (("left_child", "left"), ("right_child", "right")):
        made[name] = np.where(inner, nodes[side] - start, -1)
    made["feature"] = np.where(inner, nodes["feature"], TREE_UNDEFINED)
    made["threshold"] = np.where(inner, nodes["threshold"], TREE_UNDEFINED)
    made["missing_go_to_left"] = nodes["missing_left"]
    values = np.zeros((len(nodes), 1, n_classes))
    values[~inner, 0] = ensemble.trees.values[nodes["leaf"][~inner]]
    # Children stand behind their parents. A parent holds the mean of its leaves; each
    # leaf counts as one person.
    people = np.where(inner, 0, 1)
    for node in np.flatnonzero(inner)[::-1].tolist():
        both = [nodes["left"][node] - start, nodes["right"][node] - start]
        people[node] = people[both].sum()
        values[node] = np.average(values[both], axis=0, weights=people[both])
    made["n_node_samples"] = made["weighted_n_node_samples"] = people
    tree.__setstate__(
        {
            "max_depth": int(ensemble.trees.depths()[number]),
            "node_count": len(nodes),
            "nodes": made,
            "values": values,
        }
    )
    return tree
