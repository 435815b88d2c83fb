"""Labels from a larger model, which tell more than those of single people."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

Matrix = NDArray[np.float64]

#: Beyond so many people their own labels say enough.
MOST_PEOPLE = 50_000
_FOLDS = 5
#: How many categories the teacher takes at most.
_MOST_CATEGORIES = 255


def soft_labels(
    values: Matrix,
    codes: NDArray[np.int64],
    weights: Matrix,
    *,
    n_categories: NDArray[np.int64],
    seed: int,
    n_threads: int,
) -> Matrix | None:
    """Return the probability of each class by boosted trees that never saw the person.

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
        Makes the folds.
    n_threads
        Number of threads.

    Returns
    -------
    ndarray of shape (n_people, n_classes), or None
        None if some class has too few people to leave some out.
    """
    known = weights > 0
    if np.bincount(codes[known]).min() < 2 * _FOLDS:
        return None
    few = (n_categories > 0) & (n_categories <= _MOST_CATEGORIES)
    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=seed)
    # Weights that are all the same only cost time.
    weighted = weights if np.ptp(weights[known]) > 0 else None

    def teach(others: NDArray[np.int64], left_out: NDArray[np.int64]) -> Matrix:
        taught = others[known[others]]
        teacher = HistGradientBoostingClassifier(
            learning_rate=0.05,
            max_leaf_nodes=15,
            categorical_features=few if few.any() else None,
            early_stopping=False,
            random_state=seed,
        )
        # One thread for each fold: threads that share a tree mostly wait.
        with threadpool_limits(1, user_api="openmp"):
            teacher.fit(
                values[taught],
                codes[taught],
                sample_weight=None if weighted is None else weighted[taught],
            )
            return np.asarray(teacher.predict_proba(values[left_out]))

    parts = list(folds.split(values, codes))
    with ThreadPoolExecutor(min(n_threads, _FOLDS)) as pool:
        taught = list(pool.map(lambda part: teach(*part), parts))
    shares = np.empty((len(codes), taught[0].shape[1]))
    for (_, left_out), share in zip(parts, taught, strict=True):
        shares[left_out] = share
    return shares
