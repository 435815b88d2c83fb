"""Metrics as scorers for model selection."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fatt.aif360_ext.sklearn.metrics import (
    individual_fairness_score,
    individual_unfairness_difference,
)
from fatt.errors import SpecError
from fatt.metrics import WeightedScorer

Metric = Callable[..., float]


@dataclass(frozen=True)
class Scorer(WeightedScorer):
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
