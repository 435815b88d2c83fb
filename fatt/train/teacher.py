"""Labels from larger models, which tell more than those of single people."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from fatt.threads import each

Matrix = NDArray[np.float64]
Integers = NDArray[np.int64]

#: Beyond so many people their own labels say enough.
MOST_PEOPLE = 20_000
_FOLDS = 5
_FOREST = 150
#: How many categories boosting takes at most.
_MOST_CATEGORIES = 255
#: scikit-learn's forests take no larger numbers.
_LARGEST = float(np.finfo(np.float32).max) / 2


def soft_labels(
    values: Matrix,
    codes: Integers,
    weights: Matrix,
    *,
    n_categories: Integers,
    seed: int,
    n_threads: int,
) -> Matrix | None:
    """Return the probability of each class by trees that never saw the person.

    Boosted trees and a forest are averaged.

    Parameters
    ----------
    values : ndarray of shape (n_people, n_variables)
        The people: numbers, and codes of categories.
    codes : ndarray of shape (n_people,)
        The class of each person.
    weights : ndarray of shape (n_people,)
        The weight of each person.
    n_categories : ndarray of shape (n_variables,)
        How many categories each variable has; 0 for numbers.
    seed
        Makes the folds, and the forest.
    n_threads
        Number of threads.

    Returns
    -------
    ndarray of shape (n_people, n_classes), or None
        None if some class has too few people to leave some out.
    """
    known = np.flatnonzero(weights > 0)
    n_classes = int(codes.max()) + 1
    if (
        not values.shape[1]
        or np.bincount(codes[known], minlength=n_classes).min() < 2 * _FOLDS
    ):
        return None
    # Imported here, because it takes long, and many trainings have no teacher.
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.model_selection import StratifiedKFold

    few = (n_categories > 0) & (n_categories <= _MOST_CATEGORIES)
    # Weights that are all the same only cost time.
    weighted = weights if np.ptp(weights[known]) > 0 else None
    bounded = np.clip(values, -_LARGEST, _LARGEST)

    def fit(model: Any, taught: Integers) -> Any:
        return model.fit(
            bounded[taught],
            codes[taught],
            sample_weight=None if weighted is None else weighted[taught],
        )

    def boost(left_out: Integers) -> Matrix:
        boosted = HistGradientBoostingClassifier(
            max_iter=50,
            max_leaf_nodes=15,
            categorical_features=few if few.any() else None,
            early_stopping=False,
            random_state=seed,
        )
        # One thread each: threads that share a tree mostly wait.
        with threadpool_limits(1, user_api="openmp"):
            fit(boosted, np.setdiff1d(known, left_out))
            return np.asarray(boosted.predict_proba(bounded[left_out]))

    def plant() -> Matrix:
        forest = RandomForestClassifier(
            _FOREST, min_samples_leaf=3, oob_score=True, random_state=seed
        )
        fit(forest, known)
        shares: Matrix = np.zeros((len(codes), n_classes))
        # For a person, only the trees count that did not see this person.
        shares[known] = forest.oob_decision_function_
        if len(known) < len(codes):
            shares[weights == 0] = forest.predict_proba(bounded[weights == 0])
        return shares

    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=seed)
    left_out = [part for _, part in folds.split(bounded, codes)]
    tasks: list[Callable[[], Matrix]] = [
        plant,
        *(partial(boost, part) for part in left_out),
    ]
    shares, *boosted = each(lambda task: task(), tasks, n_threads)
    for part, found in zip(left_out, boosted, strict=True):
        shares[part] += found
    return np.asarray(shares / 2)
