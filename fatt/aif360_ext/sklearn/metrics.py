"""Metrics as functions.

They take the people first, so that AIF360's own `difference`, `ratio` and
`intersection` can be applied to them as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.aif360_ext.groups import ratio, shares
from fatt.aif360_ext.model import refuse_other_labels
from fatt.aif360_ext.sklearn.protected import complete, is_pandas, is_privileged
from fatt.audit import verify
from fatt.importers import load
from fatt.region import Relation, Schema
from fatt.report import Report
from fatt.verifier import Budget


def individual_fairness_score(
    X: Any,
    y_pred: Any = None,
    *,
    estimator: Any,
    prot_attr: Any = None,
    similarity: Relation | None = None,
    schema: Schema | None = None,
    budget: Budget | None = None,
    sample_weight: Any = None,
) -> float:
    """Return the share of people who are proved to be treated fairly.

    Parameters
    ----------
    X
        The people: data frame with the protected attributes in its index, or whatever
        `fatt.verify` takes if there is a similarity.
    y_pred
        Labels that the estimator gave them, if it is to be checked that it did.
    estimator
        Fitted model, as `fatt.load` takes it.
    prot_attr
        Protected attributes that may change if no similarity is given: a name or a list
        of names, of index levels, columns or groups of one-hot columns, or positions of
        columns; by default all levels of the index.
    similarity
        Who is similar. By default the protected attributes may have any of their
        values, and nothing else may change.
    schema, budget, sample_weight
        As in `fatt.verify`.

    Returns
    -------
    float
        A lower bound: people whom the budget leaves unknown do not count as fair.

    Raises
    ------
    SpecError
        If the estimator gives other labels than `y_pred`, reads no protected attribute,
        or a name is absent.
    """
    report = _verify(
        X,
        y_pred,
        estimator=estimator,
        prot_attr=prot_attr,
        similarity=similarity,
        schema=schema,
        budget=budget,
        sample_weight=sample_weight,
    )
    return float(shares(report, _weights(sample_weight, len(report))).fair)


def individual_unfairness_difference(
    X: Any,
    y_pred: Any = None,
    *,
    estimator: Any,
    prot_attr: Any = None,
    priv_group: Any = 1,
    similarity: Relation | None = None,
    schema: Schema | None = None,
    budget: Budget | None = None,
    sample_weight: Any = None,
) -> float:
    """Return how much larger the share of unfairly treated unprivileged people is.

    Only people with a counterexample count; if a budget leaves some unknown, the true
    difference may be another one.

    Parameters
    ----------
    X, y_pred, estimator, similarity, schema, budget, sample_weight
        As in `individual_fairness_score`.
    prot_attr
        What makes the groups: as in `individual_fairness_score`, or arrays with one
        value per person, as in AIF360. By default the whole index. Named attributes
        also vary if no similarity is given.
    priv_group
        The value of the privileged group, a tuple if there are several attributes; all
        others are unprivileged.

    Returns
    -------
    float
        The share of the unprivileged minus that of the privileged; NaN if there is
        nobody in one of the groups.
    """
    unprivileged, privileged = _unfairness(
        X,
        y_pred,
        estimator=estimator,
        prot_attr=prot_attr,
        priv_group=priv_group,
        similarity=similarity,
        schema=schema,
        budget=budget,
        sample_weight=sample_weight,
    )
    return float(unprivileged - privileged)


def individual_unfairness_ratio(
    X: Any,
    y_pred: Any = None,
    *,
    estimator: Any,
    prot_attr: Any = None,
    priv_group: Any = 1,
    similarity: Relation | None = None,
    schema: Schema | None = None,
    budget: Budget | None = None,
    sample_weight: Any = None,
) -> float:
    """Return how many times larger the share of unfairly treated unprivileged is.

    Parameters
    ----------
    X, y_pred, estimator, similarity, schema, budget, sample_weight
        As in `individual_fairness_score`.
    prot_attr, priv_group
        As in `individual_unfairness_difference`.

    Returns
    -------
    float
        Infinite if all unfairly treated people are unprivileged, NaN if there are none.
    """
    unprivileged, privileged = _unfairness(
        X,
        y_pred,
        estimator=estimator,
        prot_attr=prot_attr,
        priv_group=priv_group,
        similarity=similarity,
        schema=schema,
        budget=budget,
        sample_weight=sample_weight,
    )
    return float(ratio(unprivileged, privileged))


def _unfairness(
    X: Any,
    y_pred: Any,
    *,
    prot_attr: Any,
    priv_group: Any,
    sample_weight: Any,
    **arguments: Any,
) -> tuple[np.float64, np.float64]:
    """Return the shares of unfairly treated unprivileged and privileged people."""
    report = _verify(
        X, y_pred, prot_attr=prot_attr, sample_weight=sample_weight, **arguments
    )
    weight = _weights(sample_weight, len(report))
    privileged = is_privileged(X, prot_attr, priv_group)
    return (
        shares(report, weight, ~privileged).unfair,
        shares(report, weight, privileged).unfair,
    )


def _weights(sample_weight: Any, n_people: int) -> NDArray[np.float64]:
    if sample_weight is None:
        return np.ones(n_people)
    return np.asarray(sample_weight, dtype=np.float64)


def _verify(
    X: Any,
    y_pred: Any,
    *,
    estimator: Any,
    prot_attr: Any,
    similarity: Relation | None,
    schema: Schema | None,
    budget: Budget | None,
    sample_weight: Any,
) -> Report:
    ensemble = load(estimator)
    if y_pred is not None:
        refuse_other_labels(ensemble, X, np.ravel(y_pred), [ensemble.classes])
    schema, similarity = complete(
        ensemble, X, prot_attr, schema=schema, similarity=similarity
    )
    report = verify(
        estimator,
        # Many people share an index, and pandas would try to align them by it.
        X.reset_index(drop=True) if is_pandas(X) else X,
        similarity=similarity,
        schema=schema,
        budget=budget,
        sample_weight=sample_weight,
    )
    if report.interrupted:
        # Half a score must not decide anything.
        raise KeyboardInterrupt
    return report
