"""Individual fairness in the manner of `aif360.sklearn`.

There the protected attributes of people are levels of the index of a pandas object. All
that takes `prot_attr` here also takes columns, families of one-hot columns such as
``sex=F`` or ``sex_F``, and positions of columns. The metrics are functions that take
the people first, so that AIF360's own `difference`, `ratio` and `intersection` can be
applied to them as well.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
from aif360.sklearn.utils import check_groups
from numpy.typing import NDArray

from fatt import train
from fatt.aif360_ext.protected import (
    Attribute,
    derive,
    free,
    refuse_both,
    tell_another_question,
)
from fatt.aif360_ext.question import ratio, refuse_other_labels, shares
from fatt.audit import verify
from fatt.audit.asked import Scored
from fatt.ensemble import Ensemble, Label
from fatt.errors import SpecError
from fatt.importers import load
from fatt.metrics import WeightedScorer
from fatt.region import Relation, Schema
from fatt.report import Report

__all__ = [
    "FATTClassifier",
    "Scorer",
    "certified_fairness_score",
    "individual_unfairness_difference",
    "individual_unfairness_ratio",
    "make_scorer",
]


class Asked(Scored, total=False):
    """What all metrics can be asked; see `certified_fairness_score`."""

    similarity: Relation | None
    sample_weight: Any
    pos_label: Label


def complete(
    ensemble: Ensemble,
    X: Any,
    prot_attr: Any,
    *,
    schema: Schema | None,
    similarity: Relation | None,
) -> tuple[Schema, Relation]:
    """Return the schema and the similarity, where these are not given.

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
        If no similarity is given, and an attribute is not found or none is read.
    """
    given = prot_attr if isinstance(prot_attr, list) else [prot_attr]
    if prot_attr is None:
        levels = list(X.index.names) if is_pandas(X) else []
        given = [str(level) for level in levels if level is not None]
        if similarity is None and 0 < len(given) < len(levels):
            raise SpecError(
                f"level {levels.index(None)} of the index of X has no name, so that it "
                "is not clear what varies. Name it with X.rename_axis(index=[...]), "
                "or name what varies with prot_attr=[...]."
            )
    attributes = []
    for one in given:
        name = _name_of(one, X, ensemble)
        if name is not None:
            attributes.append(_attribute(name, one, X))
        elif similarity is None:
            raise SpecError(
                f"prot_attr holds a {type(one).__name__} without a name, which tells "
                "groups, and not what may vary. Name attributes, or say with "
                "similarity= who is similar."
            )
    if schema is None:
        schema = derive(ensemble, X, attributes, similarity)
    if similarity is None:
        said_in = "the index" if prot_attr is None else "prot_attr"
        similarity = free(ensemble, X, attributes, schema=schema, said_in=said_in)
    return schema, similarity


def _name_of(one: Any, X: Any, ensemble: Ensemble) -> str | None:
    """Return the name of a protected attribute; arrays of values may have none."""
    if isinstance(one, int | np.integer) and not isinstance(one, bool):
        names = [str(name) for name in getattr(X, "columns", ())]
        names = names or list(Schema.from_ensemble(ensemble).columns)
        if not -len(names) <= one < len(names):
            raise SpecError(
                f"prot_attr names the column at position {one}, and there are "
                f"{len(names)} columns."
            )
        return names[int(one)]
    name = getattr(one, "name", one)
    return name if isinstance(name, str) else None


def _attribute(name: str, given: Any, X: Any) -> Attribute:
    """Return an attribute with what people tell of it."""
    values = cells = None
    columns = [str(column) for column in getattr(X, "columns", ())]
    if name in columns:
        cells = np.asarray(X.iloc[:, columns.index(name)] if is_pandas(X) else X[name])
        values = cells
    elif isinstance(given, int | np.integer):
        cells = np.asarray(X)[:, int(given)]
    elif np.shape(given) == (len(X),):
        values = np.asarray(given)
    levels = [str(level) for level in X.index.names] if is_pandas(X) else []
    if name in levels:
        values = np.asarray(X.index.get_level_values(levels.index(name)))
    is_flag = cells is not None and np.isin(cells, [0, 1]).all()
    return Attribute(name, values, {0.0: 0.0, 1.0: 1.0} if is_flag else {})


def is_privileged(
    X: Any, prot_attr: Any, priv_group: Any, report: Report
) -> NDArray[np.bool_]:
    """Tell which people belong to the privileged group.

    Parameters
    ----------
    X
        The people.
    prot_attr
        What makes the groups.
    priv_group
        The value of the privileged group, a tuple if there are several attributes.
    report
        The report on the people, which knows values by the names of variables.
    """

    def values(one: Any) -> Any:
        # AIF360 itself takes levels of the index, and values.
        if isinstance(one, int | np.integer):
            return np.asarray(X.iloc[:, one] if is_pandas(X) else X[:, one])
        if not isinstance(one, str) or (is_pandas(X) and one in X.index.names):
            return one
        place, known = report.people.column(one)
        return np.array([known[at] for at in place.tolist()], dtype=object)

    is_list = isinstance(prot_attr, list)
    given = [values(one) for one in prot_attr] if is_list else values(prot_attr)
    groups, _ = check_groups(X, None if prot_attr is None else given)
    # An index compares a tuple as if it held one value per person.
    return np.array([group == priv_group for group in groups], dtype=bool)


def is_pandas(X: Any) -> bool:
    """Tell whether people are given with an index."""
    import pandas as pd

    return isinstance(X, pd.DataFrame)


def certified_fairness_score(
    X: Any,
    y_pred: Any = None,
    *,
    estimator: Any,
    prot_attr: Any = None,
    **asked: Unpack[Asked],
) -> float:
    """Return the share of people who are proved to be treated fairly.

    Parameters
    ----------
    X
        The people: data frame with the protected attributes in its index, or whatever
        `fatt.verify` takes if there is a similarity.
    y_pred
        Labels or predictions that the estimator gave them, if it is to be checked that
        it did.
    estimator
        Fitted model, as `fatt.load` takes it.
    prot_attr
        Protected attributes that may change if no similarity is given: a name or a list
        of names, of index levels, columns or groups of one-hot columns, or positions of
        columns; by default all levels of the index.
    similarity
        Who is similar. By default the protected attributes may have any of their
        values, and nothing else may change.
    pos_label
        The class whose probability `threshold` cuts; 1 as in `aif360.sklearn`. Without
        a threshold nothing depends on it.
    schema, budget, sample_weight, spot_checks, threshold, tolerance, direction, \
favorable
        As in `fatt.verify`.

    Returns
    -------
    float
        A lower bound: people who stay unknown do not count as fair.

    Raises
    ------
    SpecError
        If the estimator gives other labels than `y_pred`, reads no protected attribute,
        a name is absent, or `pos_label` is no class and there is a threshold.
    """
    report = _verify(X, y_pred, estimator, prot_attr, **asked)
    weight = _weights(asked.get("sample_weight"), len(report))
    return float(shares(report, weight).fair)


def individual_unfairness_difference(
    X: Any,
    y_pred: Any = None,
    *,
    estimator: Any,
    prot_attr: Any = None,
    priv_group: Any = 1,
    **asked: Unpack[Asked],
) -> float:
    """Return how much larger the share of unfairly treated unprivileged people is.

    Only people with a counterexample count. If a budget leaves some unknown, the true
    difference may be another one.

    Parameters
    ----------
    X, y_pred, estimator
        As in `certified_fairness_score`.
    prot_attr
        What makes the groups: as in `certified_fairness_score`, or arrays with one
        value per person, as in AIF360. By default the whole index. Named attributes
        also vary if no similarity is given.
    priv_group
        The value of the privileged group, a tuple if there are several attributes; all
        others are unprivileged.
    **asked
        As in `certified_fairness_score`: similarity, schema, budget, sample_weight,
        spot_checks, threshold, pos_label, tolerance, direction and favorable.

    Returns
    -------
    float
        The share of the unprivileged minus that of the privileged; NaN if a group has
        no people.
    """
    report = _verify(X, y_pred, estimator, prot_attr, **asked)
    unprivileged, privileged = _unfair(report, X, prot_attr, priv_group, asked)
    return float(unprivileged - privileged)


def individual_unfairness_ratio(
    X: Any,
    y_pred: Any = None,
    *,
    estimator: Any,
    prot_attr: Any = None,
    priv_group: Any = 1,
    **asked: Unpack[Asked],
) -> float:
    """Return how many times larger the share of unfairly treated unprivileged is.

    Parameters
    ----------
    X, y_pred, estimator, prot_attr, priv_group, **asked
        As in `individual_unfairness_difference`.

    Returns
    -------
    float
        Infinite if all unfairly treated people are unprivileged, NaN if there are none.
    """
    report = _verify(X, y_pred, estimator, prot_attr, **asked)
    return float(ratio(*_unfair(report, X, prot_attr, priv_group, asked)))


def _unfair(
    report: Report, X: Any, prot_attr: Any, priv_group: Any, asked: Asked
) -> tuple[np.float64, np.float64]:
    """Return the shares of unfairly treated unprivileged and privileged people."""
    weight = _weights(asked.get("sample_weight"), len(report))
    privileged = is_privileged(X, prot_attr, priv_group, report)
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
    estimator: Any,
    prot_attr: Any,
    *,
    similarity: Relation | None = None,
    schema: Schema | None = None,
    threshold: float | None = None,
    pos_label: Label = 1,
    **asked: Any,
) -> Report:
    model = load(estimator)
    if threshold is not None:
        model = model.deciding(threshold=threshold, pos_label=pos_label)
    ensemble = model.ensemble
    if y_pred is not None:
        refuse_other_labels(ensemble, X, np.ravel(y_pred), [ensemble.classes])
    is_given = similarity is not None
    schema, similarity = complete(
        ensemble, X, prot_attr, schema=schema, similarity=similarity
    )
    if not is_given:
        tell_another_question(estimator, similarity)
    # Many people share an index, and pandas would try to align them by it.
    people = X.reset_index(drop=True) if is_pandas(X) else X
    # Tables and models of AIF360 share the order of their columns.
    return verify(
        model, people, similarity=similarity, schema=schema, by_position=True, **asked
    ).whole()


Metric = Callable[..., float]


@dataclass(frozen=True)
class Scorer(WeightedScorer):
    """Scores a fitted estimator, the higher the better; see `make_scorer`.

    Attributes
    ----------
    metric
        `certified_fairness_score` or `individual_unfairness_difference`.
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
        `certified_fairness_score`, which is the score itself, or
        `individual_unfairness_difference`, whose absolute value counts against the
        model. (The ratio is undefined for the best of all models.)
    **arguments
        Arguments of the metric, such as `similarity`, `prot_attr` and `priv_group`.

    Raises
    ------
    SpecError
        If it is another metric.

    Examples
    --------
    >>> fair = make_scorer(certified_fairness_score, prot_attr="sex")
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
    certified_fairness_score: lambda share: share,
    individual_unfairness_difference: lambda difference: -abs(difference),
}


class FATTClassifier(train.FATTClassifier):
    """A small decision tree that is accurate, and provably fair to individuals.

    The classifier of `fatt.FATTClassifier`, in the manner of `aif360.sklearn`: instead
    of a similarity it is enough to name the protected attributes.

    Parameters
    ----------
    prot_attr
        Protected attributes, which may have any of their values in a similar person: a
        name or a list of names, of index levels, columns or groups of one-hot columns,
        or positions of columns; by default all levels of the index.
    similarity : Similarity, optional
        Who is similar, instead of `prot_attr`.
    **parameters
        The other parameters of `fatt.FATTClassifier`, such as `fairness_weight`,
        `max_leaves` and `random_state`.

    Attributes
    ----------
    classes_, ensemble_, schema_, front_, accuracy_, fairness_, n_features_in_
        As in `fatt.FATTClassifier`.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> sex, income = rng.integers(0, 2, 500), rng.normal(size=500)
    >>> X = pd.DataFrame({"sex": sex, "income": income})
    >>> y = (income + sex + rng.normal(size=500) > 0.5).astype(int)
    >>> tree = FATTClassifier("sex", random_state=0).fit(X, y)
    >>> tree.fairness_
    1.0
    """

    def __init__(
        self,
        prot_attr: Any = None,
        *,
        similarity: Relation | None = None,
        **parameters: Any,
    ) -> None:
        super().__init__(similarity, **parameters)
        self.prot_attr = prot_attr

    def _meaning(self, X: Any, blank: Ensemble) -> tuple[Schema, Relation]:
        if self.prot_attr is not None:
            refuse_both("prot_attr", self.prot_attr, self.similarity)
        return complete(
            blank, X, self.prot_attr, schema=self.schema, similarity=self.similarity
        )


def _with_all_parameters(own: Any, inherited: Any) -> inspect.Signature:
    """Return a signature that names what ``**parameters`` stands for."""
    signatures = inspect.signature(inherited), inspect.signature(own)
    parameters = {**signatures[0].parameters, **signatures[1].parameters}
    del parameters["parameters"]
    return inspect.Signature(sorted(parameters.values(), key=lambda one: one.kind))


# scikit-learn reads the names of the parameters from the signature.
FATTClassifier.__init__.__signature__ = (  # type: ignore[attr-defined]
    _with_all_parameters(FATTClassifier.__init__, train.FATTClassifier.__init__)
)
