"""Fairness as a number, and as a scorer for scikit-learn's model selection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self, Unpack

from fatt.audit import verify
from fatt.audit.asked import Scored
from fatt.audit.spot_checks import SPOT_CHECKS
from fatt.ensemble import Label
from fatt.ensemble.allowed import Direction
from fatt.region import Relation, Schema
from fatt.verifier import Budget

__all__ = [
    "FairnessScorer",
    "WeightedScorer",
    "fairness_scorer",
    "individual_fairness_score",
]


def individual_fairness_score(
    estimator: Any,
    X: Any,
    *,
    similarity: Relation,
    sample_weight: Any = None,
    **asked: Unpack[Scored],
) -> float:
    """Return the share of people who are proved to be fair.

    Unknown people do not count as fair.

    Parameters
    ----------
    estimator
        Fitted model, as `fatt.load` takes it.
    X, similarity, sample_weight, **asked
        As in `fatt.verify`: schema, budget, spot_checks, threshold, cuts, tolerance,
        direction, favorable.

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
        sample_weight=sample_weight,
        **asked,
    )
    return report.whole().fairness.lower


@dataclass(frozen=True)
class WeightedScorer:
    """A scorer that takes weights of people from scikit-learn's model selection.

    Without metadata routing, scikit-learn passes the weights that a search is fitted
    with. With it, a scorer must ask for them: `set_score_request`.

    Attributes
    ----------
    weight_request
        What was asked for: True, False, or the name of the weights. With None,
        scikit-learn refuses weights.
    """

    weight_request: bool | str | None = field(
        default=None, init=False, repr=False, hash=False
    )

    def set_score_request(self, *, sample_weight: bool | str | None) -> Self:
        """Ask for weights, or decline them, when metadata routing is on.

        Parameters
        ----------
        sample_weight
            True to get weights, False to go without, or the name under which they are
            passed. With None, passing weights is an error.

        Returns
        -------
        WeightedScorer
            This scorer, changed in place, as scikit-learn's own scorers do.

        Raises
        ------
        RuntimeError
            If metadata routing is off.
        """
        import sklearn

        if not sklearn.get_config()["enable_metadata_routing"]:
            raise RuntimeError(
                "metadata routing is off: call "
                "sklearn.set_config(enable_metadata_routing=True) first."
            )
        _requested(self, sample_weight)
        object.__setattr__(self, "weight_request", sample_weight)
        return self

    def get_metadata_routing(self) -> Any:
        """Return scikit-learn's ``MetadataRequest``: what the scorer asks for."""
        return _requested(self, self.weight_request)

    def _accept_sample_weight(self) -> bool:
        # Newer versions of scikit-learn call this while metadata routing is off.
        return True


def _requested(scorer: WeightedScorer, sample_weight: bool | str | None) -> Any:
    from sklearn.utils.metadata_routing import MetadataRequest

    request = MetadataRequest(owner=type(scorer).__name__)
    request.score.add_request(param="sample_weight", alias=sample_weight)
    return request


@dataclass(frozen=True)
class FairnessScorer(WeightedScorer):
    """Scores a fitted estimator by `individual_fairness_score`; see `fairness_scorer`.

    Attributes
    ----------
    similarity, schema, budget, spot_checks, threshold, cuts, tolerance, direction, \
favorable
        As in `fatt.verify`.
    """

    similarity: Relation
    schema: Schema | None = None
    budget: Budget | None = None
    spot_checks: int = SPOT_CHECKS
    threshold: float | None = None
    cuts: Mapping[str, float] | None = field(default=None, hash=False)
    tolerance: float | str | None = None
    direction: Direction | None = None
    favorable: Label | None = None

    def __call__(
        self, estimator: Any, X: Any, y: Any = None, sample_weight: Any = None
    ) -> float:
        """Return the share of people to whom a model is proved fair.

        Parameters
        ----------
        estimator
            The fitted model.
        X
            The people.
        y
            Ignored: fairness does not depend on true labels.
        sample_weight
            Weight of each person.
        """
        asked = {one.name: getattr(self, one.name) for one in fields(self) if one.init}
        return individual_fairness_score(
            estimator, X, sample_weight=sample_weight, **asked
        )


def fairness_scorer(similarity: Relation, **asked: Unpack[Scored]) -> FairnessScorer:
    """Make a scorer for `GridSearchCV` and its kin.

    Parameters
    ----------
    similarity, **asked
        As in `individual_fairness_score`.

    Returns
    -------
    FairnessScorer
        A callable of an estimator and people, which can be pickled and compared. With
        scikit-learn's metadata routing on, it gets weights after
        ``set_score_request(sample_weight=True)``.

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
    return FairnessScorer(similarity, **asked)
