"""Repair a model: other leaf values with which more people are fair."""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fatt.audit.auditor import Auditor
from fatt.audit.questions import auditor_of
from fatt.audit.run import Run
from fatt.ensemble import Bands
from fatt.errors import DataError, SpecError
from fatt.importers import load
from fatt.model import Model
from fatt.region import Relation, Schema
from fatt.region.combined import refuse_ties
from fatt.repairs.descent import descend, reach_of, task_of, undivided
from fatt.repairs.leaves import Leaves
from fatt.repairs.result import Price, Quality, Repair
from fatt.report import Report
from fatt.verifier import Budget

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

#: The cost of a divided region, relative to a wrong label: from little to much.
_WEIGHTS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
#: The most leaves of similar people that are kept. If there are more, some people stand
#: for the others.
_MOST_LEAVES = 2**24
_FEW = 200


def repair(
    model: Any,
    X: Any,
    y: Any,
    *,
    similarity: Relation,
    schema: Schema | None = None,
    by_position: bool = False,
    max_accuracy_loss: float = 0.01,
    budget: Budget | None = None,
    n_jobs: int | None = None,
) -> Repair:
    """Change the leaf values of a model so that more people are fair.

    The trees keep their splits. The given model is not changed.

    Parameters
    ----------
    model
        Fitted decision tree, random forest, extra trees, gradient boosting or
        histogram gradient boosting of scikit-learn, model of XGBoost or LightGBM, or
        pipeline that ends in one of them.
    X
        The people: an array, or a data frame that `narwhals` knows, one row each. Take
        people whom the model was not trained on. It knows the labels of the others by
        heart, and unlearning these looks like a loss of accuracy.
    y
        Their true labels.
    similarity
        Who is similar to whom.
    schema, by_position
        What the columns mean, and whether they may be taken by position, as in
        `fatt.verify`.
    max_accuracy_loss
        By how much accuracy and balanced accuracy may fall on these people. The limit
        also holds for the estimated loss on other people plus its standard error. For
        the estimate, each half of the people is judged by leaf values made for the
        other half. If nothing is cheap enough, pass more people, or allow more.
    budget, n_jobs
        For verifying, as in `fatt.verify`.

    Returns
    -------
    Repair
        With the model, of the type that was given, and its quality before and after.
        If no change raises the proved fairness within the limit, the model is the
        given one.

    Raises
    ------
    UnsupportedModelError
        If leaves of this kind of model cannot be changed.
    SpecError
        If the similarity or schema names something absent.
    DataError
        If the people or labels do not fit the model.

    Notes
    -----
    In a region of similar people, a wrong class leads by at most the sum of its largest
    lead in each tree. Leaf values are changed by convex optimization of these bounds,
    of wrong labels and of changed scores, with several weights. `fatt.verify` has
    verified what is returned.

    Examples
    --------
    >>> import fatt
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = RandomForestClassifier(10, max_depth=4, random_state=0)
    >>> forest = forest.fit(X[:300], y[:300])
    >>> similarity = fatt.Similarity(noise="0.1 sd")
    >>> repair = fatt.repair(forest, X[300:], y[300:], similarity=similarity)
    >>> repair.after.fairness.lower > repair.before.fairness.lower
    True
    """
    if (
        not isinstance(max_accuracy_loss, numbers.Real)
        or not 0 <= max_accuracy_loss <= 1
    ):
        raise SpecError(
            f"max_accuracy_loss is {max_accuracy_loss!r}; pass a share from 0 to 1, "
            "such as 0.01."
        )
    given: dict[str, Any] = {
        "similarity": similarity,
        "n_jobs": n_jobs,
        "by_position": by_position,
    }
    auditor = auditor_of(model, X, schema=schema, **given)
    schema, run = auditor.variables.schema, auditor.run(X, budget=budget)
    refuse_ties(similarity, schema, "fatt.repair")
    if isinstance(auditor.model.ensemble.label_rule, Bands):
        raise SpecError(
            "the model decides by bands. fatt.repair supports labels and one cut-off: "
            "load it with threshold= in place of cuts=."
        )
    leaves = Leaves(auditor.model, schema)
    truth = _truth(y, run)

    def verified(auditor: Auditor) -> tuple[Report, Quality]:
        report = auditor.verify(X, budget=budget, n_jobs=n_jobs).whole()
        return report, _quality(report, truth)

    report, before = verified(auditor)
    for values, price, _ in _candidates(run, leaves, truth, report.findings.label):
        if price.most > max_accuracy_loss:
            continue
        changed = leaves.write(values)
        made = load(changed).deciding_like(auditor.model)
        proof, after = verified(Auditor(made, schema=schema, **given))
        is_fairer = after.fairness.lower > before.fairness.lower
        if is_fairer and _loss(before, after) <= max_accuracy_loss:
            n_changed = leaves.changed(values)
            repaired = made if isinstance(model, Model) else changed
            return Repair(repaired, before, after, *price, n_changed, proof)
    return Repair(model, before, before, 0.0, 0.0, 0, report)


def _truth(y: Any, run: Run) -> Codes:
    """Return the class of each person's true label."""
    labels = np.asarray(y)
    if labels.shape != (len(run.people),):
        raise DataError(
            f"y has the shape {labels.shape} for {len(run.people)} people; pass one "
            "label each."
        )
    classes = run.variables.model.classes
    codes = {label: code for code, label in enumerate(classes)}
    for row, label in enumerate(labels.tolist()):
        if label not in codes:
            raise DataError(
                f"row {row}: y is {label!r}, which is no class of the model. Its "
                f"classes are {list(classes)}."
            )
    return np.array([codes[label] for label in labels.tolist()], dtype=np.int64)


def _quality(report: Report, truth: Codes) -> Quality:
    return Quality.of(report.findings.label, truth, report.fairness)


class _Candidate(NamedTuple):
    """Leaf values, their price, and the fairness they promise."""

    values: Floats
    price: Price
    promise: float


def _candidates(
    run: Run, leaves: Leaves, truth: Codes, before: NDArray[np.integer]
) -> list[_Candidate]:
    """Return leaf values that promise to be fairer, the most promising first.

    Their price is measured against the labels before.
    """
    ensemble = run.variables.ensemble
    people = run.people.values(0, len(run.people))
    some = _spread(len(people), _FEW)
    reached = reach_of(ensemble, run.boxes(people[some]), leaves.rows).leaves
    some = _spread(len(people), max(_FEW, _MOST_LEAVES * len(some) // len(reached)))
    found = []
    halves = some[::2], some[1::2]
    walks = (_walk(run, leaves, truth, part) for part in (some, *halves) if part.size)
    for (values, label, promise), *others in zip(*walks, strict=True):
        # Each half is judged by what was made for the other one.
        for half, (_, made, _) in zip(halves, others[::-1], strict=False):
            label[half] = made[half]
        found.append(_Candidate(values, Price.of(before, label, truth), promise))
    # A stable sort prefers smaller changes among equal promises.
    return sorted(found, key=lambda candidate: -candidate.promise)


def _walk(
    run: Run, leaves: Leaves, truth: Codes, some: Codes
) -> Iterator[tuple[Floats, Codes, float]]:
    """Yield leaf values made for some people, with more and more weight on fairness.

    With them: the labels of all people, and the share of regions that is proved
    undivided.
    """
    ensemble = run.variables.ensemble
    people = run.people.values(0, len(run.people))
    boxes = run.boxes(people[some])
    task = task_of(ensemble, leaves.rows, people[some], truth[some], boxes)
    values, label = leaves.values, ensemble.decide(people)
    for weight in _WEIGHTS:
        values = descend(task, leaves.values, values, label[some], weight)
        label = leaves.fill(ensemble, values).decide(people)
        yield values, label.copy(), undivided(task, values, label[some])


def _spread(n_people: int, most: int) -> Codes:
    """Return at most so many people, evenly spread."""
    return np.unique(np.linspace(0, n_people - 1, min(n_people, most)).astype(np.int64))


def _loss(before: Quality, after: Quality) -> float:
    """Return by how much the accuracy fell, or the balanced one if that fell more."""
    return max(
        before.accuracy - after.accuracy,
        before.balanced_accuracy - after.balanced_accuracy,
    )
