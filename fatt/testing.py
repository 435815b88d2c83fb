"""Assertions for the tests of people who train models."""

from __future__ import annotations

from typing import Any

from fatt.audit import verify
from fatt.errors import UnfairError
from fatt.region import Relation
from fatt.report import Report
from fatt.report.sentences import headline

__all__ = ["assert_individually_fair"]

#: So many unfair people are shown.
_SHOWN = 5


def assert_individually_fair(
    model: Any,
    X: Any,
    *,
    similarity: Relation,
    min_fairness: float = 1.0,
    accept_doubts: bool = False,
    **options: Any,
) -> Report:
    """Fail unless a model is proved to treat enough people like those similar to them.

    People who remain unknown do not count as fair.

    Parameters
    ----------
    model
        As `fatt.load` takes it.
    X
        The people.
    similarity
        Who counts as similar.
    min_fairness
        The share of people, from 0 to 1, for whom it must be proved.
    accept_doubts
        Whether a proof counts although the rows seem not to be those that the model
        was made for, as `Report.warnings` tells. Say so only after a look at them.
    **options
        Passed on to `fatt.verify`: ``schema``, ``budget``, ``n_jobs`` and so on.

    Returns
    -------
    Report
        What was found, for further assertions.

    Raises
    ------
    AssertionError
        With the counts, and the unfair people who are closest to their twins; or with
        the reason to doubt the rows.

    Examples
    --------
    >>> from fatt import Similarity
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> ages = [[20.0], [30.0], [40.0], [50.0]]
    >>> tree = DecisionTreeClassifier().fit(ages, [0, 0, 1, 1])
    >>> similarity = Similarity(noise={"x0": 4})
    >>> assert_individually_fair(tree, ages, similarity=similarity).fairness
    Bounds(lower=1.0, upper=1.0)
    """
    report = verify(model, X, similarity=similarity, **options).whole()
    try:
        report.raise_if_unfair(min_fairness, accept_doubts=accept_doubts)
    except UnfairError as error:
        if report.fairness.lower >= min_fairness:
            raise AssertionError(str(error)) from None
        said = headline(report, min_fairness)
        raise AssertionError(f"{said}{_shown(report)}") from None
    return report


def _shown(report: Report) -> str:
    twins = report.counterexamples
    lines = [f"  {twin}" for twin in twins[:_SHOWN]]
    if len(twins) > _SHOWN:
        lines.append(f"  and {len(twins) - _SHOWN:,} more")
    return "".join(f"\n{line}" for line in lines)
