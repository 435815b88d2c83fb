"""Individual fairness as metrics of AIF360."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, TypedDict, TypeVar, Unpack

import numpy as np
from aif360.metrics import ClassificationMetric, RegressionDatasetMetric

from fatt.aif360_ext.dataset import (
    Groups,
    attributes_of,
    counted_in,
    favorable_label,
    frame_of,
    labels_of,
    possible_labels,
    rows_of,
    said_in,
    weights_of,
    what_differs,
)
from fatt.aif360_ext.protected import derive, free, refuse_both, tell_another_question
from fatt.aif360_ext.question import (
    Shares,
    codings_of,
    load_with,
    ratio,
    refuse_other_labels,
    shares,
)
from fatt.audit import verify
from fatt.audit.asked import Fair
from fatt.ensemble.allowed import Direction, allowed_of
from fatt.errors import SpecError
from fatt.model import Model
from fatt.region import Relation, Schema
from fatt.report import Report
from fatt.verdict import FAIR, UNFAIR, UNKNOWN, Counterexamples
from fatt.verifier import Budget

C = TypeVar("C", bound=type)


def _without_memory(cls: C) -> C:
    """Make every public method of a metric the plain function again.

    AIF360 keeps the results of all public methods for the life of the process, each
    together with the metric that gave it, its datasets, and here a model and a report.
    """
    for name in dir(cls):
        method = getattr(cls, name)
        if not name.startswith("_") and hasattr(method, "__wrapped__"):
            setattr(cls, name, method.__wrapped__)
    return cls


class Asked(TypedDict, total=False):
    """The keywords that both metrics share; see `IndividualFairnessMetric`."""

    sensitive_attr: str | Sequence[str] | None
    similarity: Relation | None
    schema: Schema | None
    budget: Budget | None
    spot_checks: int


class _Treated:
    """Metrics of how many people are treated fairly, whatever the model answers.

    Parameters
    ----------
    dataset
        Dataset with the people.
    model
        The model, loaded.
    given
        The model as it was given, which may tell for which similarity it was trained.
    sensitive_attr, similarity, schema
        As in `IndividualFairnessMetric`.
    **asked
        Effort and what is fair, as in `fatt.verify`.
    """

    def _prepare(
        self,
        dataset: Any,
        model: Model,
        *,
        given: Any,
        sensitive_attr: str | Sequence[str] | None = None,
        similarity: Relation | None = None,
        schema: Schema | None = None,
        **asked: Any,
    ) -> None:
        ensemble = model.ensemble
        self._labelled, self._model = dataset, model
        # A model without names of its own knows its columns by position.
        self._people = rows_of(dataset, named=ensemble.inputs.named)
        if sensitive_attr is not None:
            refuse_both("sensitive_attr", sensitive_attr, similarity)
        table, chosen = frame_of(dataset), attributes_of(dataset, sensitive_attr)
        if schema is None:
            known = [*attributes_of(dataset), *chosen]
            schema = derive(ensemble, table, known, similarity)
        if similarity is None:
            similarity = free(
                ensemble, table, chosen, schema=schema, said_in=said_in(sensitive_attr)
            )
            tell_another_question(given, similarity)
        self._schema, self._similarity, self._asked = schema, similarity, asked

    @functools.cached_property
    def _report(self) -> Report:
        return verify(
            self._model,
            self._people,
            similarity=self._similarity,
            schema=self._schema,
            sample_weight=weights_of(self._labelled),
            **self._asked,
        ).whole()

    def report(self) -> Report:
        """Return the report on all people; labels in it are those of the model."""
        return self._report

    def counterexamples(self) -> Counterexamples:
        """Return each unfair person with a twin, closest first."""
        return self._report.counterexamples

    def individual_fairness(self, privileged: bool | None = None) -> np.float64:
        """Return the share of people who are proved to be treated fairly.

        Parameters
        ----------
        privileged
            Whether to count the privileged or the unprivileged groups only; by default
            all people.

        Returns
        -------
        float
            A lower bound: people who stay unknown do not count as fair. NaN if no
            person belongs to the group.
        """
        return self._shares(privileged).fair

    def individual_fairness_upper(self, privileged: bool | None = None) -> np.float64:
        """Return an upper bound on the share of people who are treated fairly.

        Parameters
        ----------
        privileged
            As in `individual_fairness`. Both are equal if no person is unknown.
        """
        return self._shares(privileged).fair_upper

    def individual_unfairness(self, privileged: bool | None = None) -> np.float64:
        """Return the share of people who are proved to be treated unfairly.

        Parameters
        ----------
        privileged
            As in `individual_fairness`.
        """
        return self._shares(privileged).unfair

    def individual_unfairness_difference(self) -> np.float64:
        """Return how much larger the share of unfairly treated unprivileged people is.

        Only people with a counterexample count. If some are unknown (`num_unknown`),
        the true difference may be another one.
        """
        # AIF360's own `difference`, which every metric of a dataset has.
        found: Any = self.difference(self.individual_unfairness)  # type: ignore[attr-defined]
        return np.float64(found)

    def individual_unfairness_ratio(self) -> np.float64:
        """Return how many times larger the share of unfairly treated unprivileged is.

        Counts as `individual_unfairness_difference` does. Infinite if all unfairly
        treated people are unprivileged, and NaN if there are none.
        """
        return ratio(
            self.individual_unfairness(privileged=False),
            self.individual_unfairness(privileged=True),
        )

    def num_fair(self, privileged: bool | None = None) -> np.float64:
        """Return the weight of the people who are proved to be treated fairly.

        Parameters
        ----------
        privileged
            As in `individual_fairness`.
        """
        return self._weight(FAIR, privileged)

    def num_unfair(self, privileged: bool | None = None) -> np.float64:
        """Return the weight of the people who are proved to be treated unfairly.

        Parameters
        ----------
        privileged
            As in `individual_fairness`.
        """
        return self._weight(UNFAIR, privileged)

    def num_unknown(self, privileged: bool | None = None) -> np.float64:
        """Return the weight of the people who stay unknown within the budget.

        Parameters
        ----------
        privileged
            As in `individual_fairness`.
        """
        return self._weight(UNKNOWN, privileged)

    def _shares(self, privileged: bool | None) -> Shares:
        weight = weights_of(self._labelled)
        return shares(self._report, weight, counted_in(self, privileged))

    def _weight(self, verdict: int, privileged: bool | None) -> np.float64:
        found = self._report.findings.verdict == verdict
        weights = weights_of(self._labelled)[found & counted_in(self, privileged)]
        return np.float64(np.sum(weights, dtype=np.float64))


@_without_memory
class IndividualFairnessMetric(_Treated, ClassificationMetric):  # type: ignore[misc]
    """Classification metrics, and the share of people who are treated fairly.

    A person is treated fairly if the model provably gives all similar people, in the
    data or not, the same label. People are verified when a number is first asked for,
    and each person counts with the dataset's instance weight.

    Parameters
    ----------
    dataset
        Dataset with the true labels.
    classified_dataset
        The same with the model's labels.
    unprivileged_groups, privileged_groups
        Groups, as in every metric of AIF360.
    model
        The model that made the labels: whatever `fatt.load` takes. It may count its
        two classes differently than the dataset its labels.
    sensitive_attr
        What may differ in a similar person, as in `FATT`: names of protected
        attributes, columns, or families of one-hot columns. By default all protected
        attributes of the dataset.
    similarity
        Who is similar, in the units of `dataset.features`, instead of
        `sensitive_attr`. By default the sensitive attributes may have any of their
        values, and nothing else may change.
    prepare
        What was applied to `dataset.features` before the model, such as a fitted
        `StandardScaler`, as in `fatt.load`. Similarity stays in raw units.
    schema
        What the columns mean. By default it is derived from `dataset`; see `schema_of`.
    budget
        Limits of the search; by default there are none.
    spot_checks
        As in `fatt.verify`.
    threshold
        The cut-off with which the labels of `classified_dataset` were made of the
        model's probabilities: the favorable label from this probability of it on. For
        other rules pass a model that `fatt.load` was told them of.

    Raises
    ------
    SpecError
        If the datasets differ in more than labels and scores, the model gives other
        labels than `classified_dataset` holds, or the similarity names something
        absent.
    ModelError
        If the model cannot be imported exactly.

    Examples
    --------
    >>> metric = IndividualFairnessMetric(              # doctest: +SKIP
    ...     test, predicted, unprivileged_groups=[{"sex": 0}],
    ...     privileged_groups=[{"sex": 1}], model=forest)
    >>> metric.individual_fairness()                    # doctest: +SKIP
    0.967
    >>> metric.equal_opportunity_difference()           # doctest: +SKIP
    -0.08
    """

    def __init__(
        self,
        dataset: Any,
        classified_dataset: Any,
        unprivileged_groups: Groups | None = None,
        privileged_groups: Groups | None = None,
        *,
        model: Any,
        prepare: Any = None,
        threshold: float | None = None,
        **asked: Unpack[Asked],
    ) -> None:
        try:
            super().__init__(
                dataset,
                classified_dataset,
                unprivileged_groups=unprivileged_groups,
                privileged_groups=privileged_groups,
            )
        except ValueError as error:
            # AIF360 says only that something differs.
            differing = what_differs(dataset, classified_dataset)
            if not differing:
                raise
            raise SpecError(
                "the two datasets differ in more than labels and scores: "
                f"{'; '.join(differing)}. Pass the true dataset, and a copy of it with "
                "the model's labels: predicted = test.copy(deepcopy=True), then "
                "predicted.labels = ..."
            ) from error
        loaded = load_with(
            model, prepare, threshold, favorable_label(classified_dataset)
        )
        self._prepare(dataset, loaded, given=model, **asked)
        ensemble = loaded.ensemble
        refuse_other_labels(
            ensemble,
            self._people,
            labels_of(classified_dataset),
            codings_of(ensemble.classes, possible_labels(classified_dataset)),
        )


@_without_memory
class IndividualFairnessRegressionMetric(_Treated, RegressionDatasetMetric):  # type: ignore[misc]
    """Metrics of a regression dataset, and the share of people who are treated fairly.

    A person is treated fairly if the model provably gives all similar people, in the
    data or not, a prediction that is near enough. People are verified when a number is
    first asked for, and each person counts with the dataset's instance weight.

    Parameters
    ----------
    dataset
        AIF360's ``RegressionDataset``, whose features the model reads. AIF360 brings
        features and outcomes to a range from 0 to 1, and a model that was trained on
        these predicts in that range.
    unprivileged_groups, privileged_groups
        Groups, as in every metric of AIF360.
    model
        The regressor: whatever `fatt.load` takes.
    tolerance, direction
        How far the predictions of similar people may differ, and which way counts, as
        in `fatt.verify`.
    sensitive_attr, similarity, prepare, schema, budget, spot_checks
        As in `IndividualFairnessMetric`.

    Raises
    ------
    SpecError
        If there is neither a tolerance nor a direction, or the similarity names
        something absent.
    ModelError
        If the model cannot be imported exactly.

    Examples
    --------
    >>> metric = IndividualFairnessRegressionMetric(    # doctest: +SKIP
    ...     test, unprivileged_groups=[{"sex": 0}], privileged_groups=[{"sex": 1}],
    ...     model=price, tolerance="5%")
    >>> metric.individual_fairness()                    # doctest: +SKIP
    0.812
    """

    def __init__(
        self,
        dataset: Any,
        unprivileged_groups: Groups | None = None,
        privileged_groups: Groups | None = None,
        *,
        model: Any,
        prepare: Any = None,
        tolerance: float | str | None = None,
        direction: Direction | None = None,
        **asked: Unpack[Asked],
    ) -> None:
        super().__init__(
            dataset,
            unprivileged_groups=unprivileged_groups,
            privileged_groups=privileged_groups,
        )
        loaded = load_with(model, prepare)
        if loaded.classes:
            raise SpecError(
                "the model gives labels, and a RegressionDataset is about numbers: "
                "pass a regressor, or fatt.load(model).predicting(label)."
            )
        allowed_of(loaded.ensemble, tolerance, direction, None)
        fair: Fair = {"tolerance": tolerance, "direction": direction}
        self._prepare(dataset, loaded, given=model, **asked, **fair)
