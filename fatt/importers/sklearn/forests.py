"""scikit-learn's trees, forests and bagged trees."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import (
    Argmax,
    Ensemble,
    Link,
    Numeric,
    Prediction,
    Scoring,
    Trees,
)
from fatt.ensemble.cutoff import above
from fatt.ensemble.floats import FLOAT32_LIMIT, at_most_float32
from fatt.ensemble.trees import join_children, starts_of
from fatt.errors import MalformedModelError, UnsupportedModelError
from fatt.importers.sklearn import members
from fatt.importers.sklearn.members import TRAIN_ANEW, check_members, check_tree
from fatt.importers.versions import releases_of

_LEAF = -1

# Numbers with this many binary places add up without rounding in any order.
_PLACES = 20
_EXACT = 2.0**53


def lay_out(
    trees: Sequence[Any],
    *,
    columns: Sequence[NDArray[np.int64]],
    values: Sequence[NDArray[np.float64]],
    targets: Sequence[int],
) -> Trees:
    """Join scikit-learn's own `Tree` objects.

    Parameters
    ----------
    trees
        The ``tree_`` of each member.
    columns
        For each tree, which column of the table each of its features is.
    values
        For each tree, what its nodes add to the scores.
    targets
        For each tree, the output that it adds to; -1 for all.
    """
    counts = [tree.node_count for tree in trees]
    left = np.concatenate([tree.children_left for tree in trees])
    right = np.concatenate([tree.children_right for tree in trees])
    inner = left != _LEAF
    raw = np.concatenate([tree.threshold for tree in trees])
    _check_thresholds(raw[inner])
    threshold = at_most_float32(raw)
    missing_left = np.concatenate([tree.missing_go_to_left for tree in trees]) != 0
    # Training on missing values can leave NaN as a threshold. No number is at most NaN:
    # the children change places, and all numbers go left.
    never = np.isnan(threshold)
    left, right = np.where(never, right, left), np.where(never, left, right)
    return Trees.lay_out(
        roots=starts_of(counts),
        feature=np.concatenate(list(map(_columns_of_nodes, trees, columns))),
        threshold=np.where(never, np.inf, threshold),
        left=join_children(left, inner, counts),
        right=join_children(right, inner, counts),
        missing_left=missing_left ^ never,
        leaf=np.arange(len(inner)),
        values=np.concatenate(values),
        targets=targets,
    )


def _check_thresholds(thresholds: NDArray[np.float64]) -> None:
    """Refuse splits at minus infinity, which say that something else splits.

    Training takes no infinities; missing values alone leave one, the positive.
    """
    if np.isneginf(thresholds).any():
        raise UnsupportedModelError(
            "a tree splits at minus infinity, which is no split by a number: a newer "
            f"scikit-learn marks splits by category so. {TRAIN_ANEW}"
        )


def _columns_of_nodes(tree: Any, columns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the column that each node splits on, -1 for leaves."""
    inner = tree.children_left != _LEAF
    split = tree.feature[inner]
    if tree.n_features != len(columns):
        raise MalformedModelError(
            f"a tree reads {tree.n_features} features and is given {len(columns)}."
        )
    if split.size and (split.min() < 0 or split.max() >= len(columns)):
        raise MalformedModelError(
            f"a tree splits on a feature outside the {len(columns)} that there are."
        )
    result = np.full(tree.node_count, -1, dtype=np.int64)
    result[inner] = columns[split]
    return result


def table_of(member: Any) -> NDArray[np.float64]:
    """Return the numbers that a fitted tree holds for each of its nodes.

    Raises
    ------
    UnsupportedModelError
        If the tree answers several questions at once.
    """
    tree = member.tree_
    check_tree(tree)
    if tree.n_outputs != 1:
        raise UnsupportedModelError(
            f"the model answers {tree.n_outputs} questions at once (multi-output), and "
            "fatt verifies one: train one model per column of y."
        )
    return np.asarray(tree.value[:, 0, :])


def all_columns(model: Any) -> NDArray[np.int64]:
    """Return the columns of a model that hands all of them to its trees."""
    return np.arange(members.n_features(model))


def bounded(name: str, *, accepts_missing: bool) -> Numeric:
    """Describe a column that scikit-learn casts to float32, where no infinity may be.

    Parameters
    ----------
    name
        Name of the column.
    accepts_missing
        Whether NaN may.
    """
    return Numeric(
        name=name,
        lower=-FLOAT32_LIMIT,
        upper=FLOAT32_LIMIT,
        accepts_missing=accepts_missing,
    )


@dataclass(frozen=True)
class _Forest:
    """Trees that are averaged, and which columns and classes each of them knows."""

    estimators: list[Any]
    columns: list[NDArray[np.int64]]
    classes: list[NDArray[np.int64] | None]
    divisor: int
    n_jobs: Any


def convert_tree(model: Any) -> Ensemble:
    """Convert a decision tree or extra tree."""
    return _convert(model, _Forest([model], [all_columns(model)], [None], 1, None))


def convert_forest(model: Any) -> Ensemble:
    """Convert a random forest or extra trees."""
    estimators = list(model.estimators_)
    count = len(estimators)
    columns = [all_columns(model)] * count
    forest = _Forest(estimators, columns, [None] * count, count, model.n_jobs)
    return _convert(model, forest)


def convert_bagging(model: Any) -> Ensemble:
    """Convert bagged trees."""
    # What counts is the parameter: scikit-learn takes so many trees and divides by it.
    count = int(model.n_estimators)
    estimators = list(model.estimators_)[:count]
    chosen = list(model.estimators_features_)[:count]
    if len(chosen) != len(estimators):
        raise MalformedModelError("not every bagged tree says which columns it reads.")
    forest = _Forest(
        estimators=estimators,
        columns=[_subset(columns, members.n_features(model)) for columns in chosen],
        classes=[
            np.asarray(member.classes_) if hasattr(member, "classes_") else None
            for member in estimators
        ],
        divisor=count,
        n_jobs=model.n_jobs,
    )
    return _convert(model, forest)


def convert_adaboost(model: Any) -> Ensemble:
    """Convert an AdaBoostClassifier, whose trees vote with a weight each (SAMME).

    A tree adds its weight to the class that it predicts and takes a share of it from
    each other class; of two classes, the sum of the second alone decides.

    Raises
    ------
    UnsupportedModelError
        If it was trained by another algorithm, which scikit-learn no longer computes.
    """
    if vars(model).get("algorithm") == "SAMME.R":
        raise UnsupportedModelError(
            "the AdaBoostClassifier was trained with algorithm='SAMME.R', which adds "
            "logarithms of probabilities: scikit-learn 1.6 and later count votes in "
            "their place, and give other answers. Train it with scikit-learn "
            f"{releases_of('scikit-learn')} and algorithm='SAMME'."
        )
    estimators = list(model.estimators_)
    _check_estimators(model, estimators)
    classes = members.classes(model)
    weights = np.asarray(model.estimator_weights_, dtype=np.float64)
    total = float(weights.sum())
    if len(classes) < 2 or not (len(weights) >= len(estimators) and 0 < total < np.inf):
        raise MalformedModelError(
            f"the AdaBoostClassifier has {len(estimators)} trees with weights that add "
            f"up to {total}, and {len(classes)} class(es)."
        )
    is_binary = len(classes) == 2
    # Of two classes the score is twice what the second gets of all weights.
    divisor = total / 2 if is_binary else total
    scale = scale_to_one(divisor)
    values = []
    for member, weight in zip(estimators, weights.tolist(), strict=False):
        if not np.array_equal(member.classes_, model.classes_):
            raise MalformedModelError("a tree knows other classes than the model.")
        votes = table_of(member).argmax(axis=1)
        others = -1 / (len(classes) - 1) * weight
        table = np.where(votes[:, np.newaxis] == range(len(classes)), weight, others)
        values.append(scale * (table[:, 1:] if is_binary else table))
    return Ensemble(
        features=tuple(
            bounded(name, accepts_missing=False)
            for name in members.feature_names(model)
        ),
        classes=classes,
        trees=lay_out(
            [member.tree_ for member in estimators],
            columns=[all_columns(model)] * len(estimators),
            values=values,
            targets=[0 if is_binary else -1] * len(estimators),
        ),
        scoring=Scoring(
            dtype="float64",
            base=(0.0,) if is_binary else (0.0,) * len(classes),
            divisor=scale * divisor,
        ),
        decision=above(0.0) if is_binary else Argmax(),
        inputs=members.inputs(model),
        source=members.source(model),
    )


def scale_to_one(divisor: float) -> float:
    """Return a power of two by which a divisor becomes 1 or more.

    Powers of two change no other bit of what is divided.

    Raises
    ------
    UnsupportedModelError
        If the divisor is so small that it has fewer bits than other numbers.
    """
    if divisor < np.finfo(np.float64).tiny:
        raise UnsupportedModelError(
            f"the model divides by its weights, and these are near {divisor:.3g}: so "
            "small numbers have fewer digits. Multiply all weights by 2.0**100."
        )
    return math.ldexp(1.0, max(0, 1 - math.frexp(divisor)[1]))


def _subset(chosen: Any, n_features: int) -> NDArray[np.int64]:
    columns = np.asarray(chosen, dtype=np.int64)
    if columns.ndim != 1 or np.any((columns < 0) | (columns >= n_features)):
        raise MalformedModelError("a bagged tree reads a column that does not exist.")
    return columns


def _convert(model: Any, forest: _Forest) -> Ensemble:
    _check_estimators(model, forest.estimators)
    is_regressor = not hasattr(model, "classes_")
    classes = () if is_regressor else members.classes(model)
    n_outputs = 1 if is_regressor else len(classes)
    values = [
        _spread(table_of(member), known, n_outputs)
        for member, known in zip(forest.estimators, forest.classes, strict=True)
    ]
    trees = lay_out(
        [member.tree_ for member in forest.estimators],
        columns=forest.columns,
        values=values,
        targets=[-1] * len(values),
    )
    ordered = forest.n_jobs in {None, 1} or not _order_matters(trees)
    notes = () if ordered else (_unordered_note(forest.n_jobs),)
    return Ensemble(
        features=_features(model, forest),
        classes=classes,
        trees=trees,
        scoring=Scoring(
            dtype="float64",
            base=(0.0,) * n_outputs,
            divisor=float(forest.divisor),
            ordered=ordered,
        ),
        decision=Prediction() if is_regressor else Argmax(),
        link=None if is_regressor else Link(),
        inputs=members.inputs(model),
        source=members.source(model, objective=_criterion(model), notes=notes),
    )


def _criterion(model: Any) -> str:
    """Return what the trees were grown by; a bag of trees does not say it."""
    return str(getattr(model, "criterion", ""))


def _check_estimators(model: Any, estimators: list[Any]) -> None:
    from sklearn import tree

    if not estimators:
        raise MalformedModelError(f"the {type(model).__name__} holds no tree.")
    plain, random = tree.DecisionTreeClassifier, tree.ExtraTreeClassifier
    if not hasattr(model, "classes_"):
        plain, random = tree.DecisionTreeRegressor, tree.ExtraTreeRegressor
    for member in estimators:
        if type(member) not in {plain, random}:
            raise UnsupportedModelError(
                f"the {type(model).__name__} holds a {type(member).__name__}; fatt "
                f"reads ensembles of {plain.__name__} or {random.__name__}. Train it "
                "with one of these."
            )
        check_members(member)


def _spread(
    table: NDArray[np.float64], known: NDArray[np.int64] | None, n_classes: int
) -> NDArray[np.float64]:
    """Give a tree that saw only some of the classes a zero for each of the others."""
    if table.shape[1] == n_classes:
        return table
    if (
        known is None
        or known.shape != (table.shape[1],)
        or known.dtype.kind not in "iu"
        or len(np.unique(known)) != len(known)
        or not 0 <= known.min() <= known.max() < n_classes
    ):
        raise MalformedModelError(
            f"a tree knows {table.shape[1]} classes, which do not fit the {n_classes} "
            "of the model."
        )
    spread = np.zeros((len(table), n_classes))
    spread[:, known] = table
    return spread


def _features(model: Any, forest: _Forest) -> tuple[Numeric, ...]:
    """Describe the columns; one that no tree is handed, bagging never looks at."""
    names = members.feature_names(model)
    handed = np.zeros(len(names), dtype=bool)
    refuses = np.zeros(len(names), dtype=bool)
    for member, columns in zip(forest.estimators, forest.columns, strict=True):
        handed[columns] = True
        refuses[columns] |= not _takes_missing(member)
    return tuple(
        bounded(name, accepts_missing=not refuses[index])
        if handed[index]
        else Numeric(name=name)
        for index, name in enumerate(names)
    )


def _takes_missing(member: Any) -> bool:
    """Tell whether a tree takes NaN, which depends on its settings and version."""
    # One of before 1.4, out of a pickle, lacks the parameter: forests refused NaN.
    return "monotonic_cst" in vars(member) and bool(
        member._support_missing_values(np.zeros((1, 1)))
    )


def _order_matters(trees: Trees) -> bool:
    """Tell whether sums of the leaves can depend on their order.

    Two terms add up alike both ways; so do any number of terms that are multiples of
    one power of two, as long as no sum needs more than 53 bits.
    """
    if len(trees) <= 2:
        return False
    steps = trees.values * 2.0**_PLACES
    whole = np.all(steps == np.trunc(steps))
    return not (whole and np.abs(steps).max() * len(trees) < _EXACT)


def _unordered_note(n_jobs: Any) -> str:
    return (
        f"With n_jobs={n_jobs} scikit-learn adds the trees in no fixed order, so the "
        "last bits of a score may change from call to call, and with them the label "
        "of an exact tie. Set n_jobs=1 on the model to fix the order."
    )
