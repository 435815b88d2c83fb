"""Individual fairness in the manner of `aif360.sklearn`.

There the protected attributes of people are levels of the index of a pandas object. The
metrics take the people first, so that AIF360's own `difference`, `ratio` and
`intersection` can be applied to them as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from aif360.sklearn.utils import check_groups
from numpy.typing import NDArray

from fatt.aif360_ext.groups import ratio, shares
from fatt.aif360_ext.model import refuse_other_labels
from fatt.aif360_ext.schema import free, with_levels
from fatt.audit import verify
from fatt.ensemble import Ensemble
from fatt.errors import SpecError
from fatt.importers import load
from fatt.region import Relation, Schema
from fatt.report import Report
from fatt.verifier import Budget

__all__ = [
    "Scorer",
    "individual_fairness_score",
    "individual_unfairness_difference",
    "individual_unfairness_ratio",
    "make_scorer",
]


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
        of names, of index levels or columns; by default all levels of the index.
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
        What makes the groups, as in AIF360: names of index levels, or arrays with one
        value per person; names of columns work as well. By default the whole index.
        Named attributes also vary if no similarity is given.
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


Metric = Callable[..., float]


@dataclass(frozen=True)
class Scorer:
    """Scores a fitted estimator, the higher the better; see `make_scorer`.

    Attributes
    ----------
    metric
        `individual_fairness_score` or `individual_unfairness_difference`.
    arguments
        Its other arguments.
    """

    metric: Metric
    arguments: tuple[tuple[str, Any], ...]

    def __call__(
        self, estimator: Any, X: Any, y: Any = None, sample_weight: Any = None
    ) -> float:
        """Return the score of a fitted estimator.

        Parameters
        ----------
        estimator
            The fitted model.
        X
            The people.
        y
            Not used: individual fairness does not depend on the true labels.
        sample_weight
            Weight of each person.
        """
        value = self.metric(
            X, estimator=estimator, sample_weight=sample_weight, **dict(self.arguments)
        )
        return _AS_SCORE[self.metric](value)


def make_scorer(metric: Metric, **arguments: Any) -> Scorer:
    """Make a scorer for model selection out of a metric of this module.

    Parameters
    ----------
    metric
        `individual_fairness_score`, which is the score itself, or
        `individual_unfairness_difference`, of which the score is minus the absolute
        value. (The ratio is undefined for the best of all models.)
    **arguments
        Arguments of the metric, such as `similarity`, `prot_attr` and `priv_group`.

    Raises
    ------
    SpecError
        If it is another metric.

    Examples
    --------
    >>> fair = make_scorer(individual_fairness_score, prot_attr="sex")
    >>> even = make_scorer(individual_unfairness_difference, prot_attr="sex",
    ...                    priv_group="Male")
    """
    if metric not in _AS_SCORE:
        known = " or ".join(function.__name__ for function in _AS_SCORE)
        raise SpecError(
            f"no scorer can be made of {metric!r}; pass {known}. For metrics of "
            "AIF360 take its own make_scorer."
        )
    return Scorer(metric, tuple(sorted(arguments.items())))


_AS_SCORE: dict[Metric, Callable[[float], float]] = {
    individual_fairness_score: lambda share: share,
    individual_unfairness_difference: lambda difference: -abs(difference),
}


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
    groups, _ = check_groups(X, _as_arrays(X, prot_attr))
    report = _verify(
        X, y_pred, prot_attr=prot_attr, sample_weight=sample_weight, **arguments
    )
    weight = _weights(sample_weight, len(report))
    # Index compares a tuple as if it held one value per person.
    is_privileged = np.array([group == priv_group for group in groups], dtype=bool)
    return (
        shares(report, weight, ~is_privileged).unfair,
        shares(report, weight, is_privileged).unfair,
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
    names = _names(X, prot_attr)
    # Many people share an index, and pandas would try to align them by it.
    people = X.reset_index(drop=True) if _is_pandas(X) else X
    if y_pred is not None:
        refuse_other_labels(ensemble, people, np.ravel(y_pred), [ensemble.classes])
    if schema is None:
        schema = _schema(ensemble, people, names)
    report = verify(
        estimator,
        people,
        similarity=free(schema, names) if similarity is None else similarity,
        schema=schema,
        budget=budget,
        sample_weight=sample_weight,
    )
    if report.interrupted:
        # Half a score must not decide anything.
        raise KeyboardInterrupt
    return report


def _schema(ensemble: Ensemble, people: Any, protected: list[str]) -> Schema:
    """Infer a schema in which protected columns of 0 and 1 have no other values."""
    schema = Schema.infer(ensemble, people)
    columns = people.columns if _is_pandas(people) else []
    for name in protected:
        if name in columns and people[name].isin([0, 1]).all():
            schema = with_levels(schema, name, {0.0: 0.0, 1.0: 1.0})
    return schema


def _names(X: Any, prot_attr: Any) -> list[str]:
    """Return the names of protected attributes; arrays of values may have none."""
    if prot_attr is None:
        given = list(X.index.names) if _is_pandas(X) else []
    else:
        given = prot_attr if isinstance(prot_attr, list) else [prot_attr]
    names = [getattr(one, "name", one) for one in given]
    return [name for name in names if isinstance(name, str)]


def _as_arrays(X: Any, prot_attr: Any) -> Any:
    """Replace names of columns by their values: AIF360 knows only index levels."""

    def resolve(one: Any) -> Any:
        is_column = (
            isinstance(one, str)
            and _is_pandas(X)
            and one not in X.index.names
            and one in X.columns
        )
        return X[one].to_numpy() if is_column else one

    if isinstance(prot_attr, list):
        return [resolve(one) for one in prot_attr]
    return resolve(prot_attr)


def _is_pandas(X: Any) -> bool:
    import pandas as pd

    return isinstance(X, pd.DataFrame)
