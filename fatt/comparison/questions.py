"""The question: what a new model changes for each person."""

from __future__ import annotations

from typing import Any, Unpack

from fatt.audit import verify
from fatt.audit.asked import Effort, Rule
from fatt.comparison.comparison import Comparison
from fatt.errors import DataError, ModelError, SpecError
from fatt.region import Relation, Schema
from fatt.report import Report


class _Asked(Effort, Rule, total=False):
    """How both models decide, what is fair, and how much is searched."""

    schema: Schema | None
    by_position: bool
    sensitive_features: Any
    sample_weight: Any


def compare(
    old: Any, new: Any, X: Any, *, similarity: Relation, **asked: Unpack[_Asked]
) -> Comparison:
    """Verify two models on the same people, and tell what changes for each.

    Parameters
    ----------
    old, new
        Fitted models or paths of model files, of any two libraries, as `fatt.load`
        takes them. Both must have the same answers.
    X
        The people: array, or data frame that `narwhals` knows, one row each. Each model
        reads its own columns of it.
    similarity
        Who is similar to whom, for both models.
    **asked
        As in `fatt.verify`: schema, by_position, budget, n_jobs, progress,
        sample_weight, sensitive_features, threshold, cuts, tolerance, direction,
        favorable, which also tells who is harmed.

    Returns
    -------
    Comparison
        Whose answer changes; who becomes unfair or fair; who is newly harmed.

    Raises
    ------
    SpecError
        If the models have other answers, or `fatt.verify` would refuse one of them.
    DataError, ModelError
        As `fatt.verify` raises them.

    Examples
    --------
    >>> import fatt
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> ages = [[20.0], [30.0], [40.0], [50.0]]
    >>> old = DecisionTreeClassifier().fit(ages, ["deny", "deny", "grant", "grant"])
    >>> new = DecisionTreeClassifier().fit(ages, ["deny", "grant", "grant", "grant"])
    >>> compared = fatt.compare(old, new, ages, similarity=fatt.Similarity(noise=6))
    >>> compared.total.changed, compared.total.newly_unfair
    (1, Count(least=1, most=1))
    """
    favorable = asked.get("favorable")
    if asked.get("direction") is None:
        # Of labels without an order it only tells who is harmed.
        asked.pop("favorable", None)
    first = _verified(old, X, "old", similarity=similarity, **asked)
    second = _verified(new, X, "new", similarity=similarity, **asked)
    return Comparison(first, second, favorable)


def _verified(model: Any, X: Any, which: str, **asked: Any) -> Report:
    try:
        return verify(model, X, **asked).whole()
    except (SpecError, DataError, ModelError) as error:
        raise type(error)(f"the {which} model: {error}") from error
