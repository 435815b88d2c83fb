"""Fairness as a number, and as a scorer for model selection in scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fatt.audit import verify
from fatt.region import Relation, Schema
from fatt.verifier import Budget

__all__ = ["FairnessScorer", "fairness_scorer", "individual_fairness_score"]


def individual_fairness_score(
    estimator: Any,
    X: Any,
    *,
    similarity: Relation,
    schema: Schema | None = None,
    budget: Budget | None = None,
    sample_weight: Any = None,
) -> float:
    """Return the share of people who are proved to be treated fairly.

    People whom the budget leaves unknown do not count as fair.

    Parameters
    ----------
    estimator
        Fitted model, as `fatt.load` takes it.
    X, similarity, schema, budget, sample_weight
        As in `fatt.verify`.

    Returns
    -------
    float
        ``fatt.verify(...).fairness.lower``.

    Examples
    --------
    >>> from fatt import Similarity
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> ages = [[20.0], [30.0], [40.0], [50.0]]
    >>> tree = DecisionTreeClassifier().fit(ages, [0, 0, 1, 1])
    >>> individual_fairness_score(tree, ages, similarity=Similarity(noise={"x0": 6}))
    0.5
    """
    report = verify(
        estimator,
        X,
        similarity=similarity,
        schema=schema,
        budget=budget,
        sample_weight=sample_weight,
    )
    if report.interrupted:
        # Half a score must not decide which model is chosen.
        raise KeyboardInterrupt
    return report.fairness.lower


@dataclass(frozen=True)
class FairnessScorer:
    """Scores a fitted estimator by `individual_fairness_score`; see `fairness_scorer`.

    Attributes
    ----------
    similarity, schema, budget
        As in `fatt.verify`.
    """

    similarity: Relation
    schema: Schema | None = None
    budget: Budget | None = None

    def __call__(
        self, estimator: Any, X: Any, y: Any = None, sample_weight: Any = None
    ) -> float:
        """Return the share of people who are proved to be treated fairly by a model.

        Parameters
        ----------
        estimator
            The fitted model.
        X
            The people.
        y
            Not used: fairness does not depend on the true labels.
        sample_weight
            Weight of each person.
        """
        return individual_fairness_score(
            estimator,
            X,
            similarity=self.similarity,
            schema=self.schema,
            budget=self.budget,
            sample_weight=sample_weight,
        )


def fairness_scorer(
    similarity: Relation, *, schema: Schema | None = None, budget: Budget | None = None
) -> FairnessScorer:
    """Make a scorer for `GridSearchCV` and its kin.

    Parameters
    ----------
    similarity, schema, budget
        As in `fatt.verify`.

    Returns
    -------
    FairnessScorer
        Called with an estimator and people; can be pickled and compared.

    Examples
    --------
    >>> from fatt import Similarity
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> fairness = fairness_scorer(Similarity(noise={"x0": 6}))
    >>> search = GridSearchCV(
    ...     DecisionTreeClassifier(), {"max_depth": [1, 4]}, refit="fairness",
    ...     scoring={"accuracy": "accuracy", "fairness": fairness})
    """
    return FairnessScorer(similarity, schema, budget)
