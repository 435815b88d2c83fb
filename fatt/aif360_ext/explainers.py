"""What the numbers of `IndividualFairnessMetric` mean, in words and as JSON."""

from __future__ import annotations

import json
from typing import Any

from aif360.explainers import MetricJSONExplainer, MetricTextExplainer

#: How many counterexamples are told in words.
_SHOWN = 10

_GROUPS = {
    None: "",
    True: " on privileged instances",
    False: " on unprivileged instances",
}


class IndividualFairnessTextExplainer(MetricTextExplainer):  # type: ignore[misc]
    """Explains an `IndividualFairnessMetric` in words, inherited metrics included.

    Each method has the name and the arguments of the method of the metric that it
    explains.

    Parameters
    ----------
    metric
        The metric.
    """

    def individual_fairness(self, privileged: bool | None = None) -> str:
        """Explain the share of people who are proved to be treated fairly."""
        return (
            "Individual fairness (share of instances for which all similar people "
            f"provably get the same label){_GROUPS[privileged]}: "
            f"{self.metric.individual_fairness(privileged=privileged)}"
        )

    def individual_fairness_upper(self, privileged: bool | None = None) -> str:
        """Explain the upper bound on individual fairness."""
        return (
            "Upper bound on individual fairness (share of instances that are fair or "
            f"unknown){_GROUPS[privileged]}: "
            f"{self.metric.individual_fairness_upper(privileged=privileged)}"
        )

    def individual_unfairness(self, privileged: bool | None = None) -> str:
        """Explain the share of people who are proved to be treated unfairly."""
        return (
            "Individual unfairness (share of instances for which a similar person gets "
            f"another label){_GROUPS[privileged]}: "
            f"{self.metric.individual_unfairness(privileged=privileged)}"
        )

    def individual_unfairness_difference(self) -> str:
        """Explain the difference of individual unfairness between the groups."""
        return (
            "Individual unfairness difference (individual unfairness on unprivileged "
            "instances - individual unfairness on privileged instances): "
            f"{self.metric.individual_unfairness_difference()}{self._open_cases()}"
        )

    def individual_unfairness_ratio(self) -> str:
        """Explain the ratio of individual unfairness between the groups."""
        return (
            "Individual unfairness ratio (individual unfairness on unprivileged "
            "instances / individual unfairness on privileged instances): "
            f"{self.metric.individual_unfairness_ratio()}{self._open_cases()}"
        )

    def num_fair(self, privileged: bool | None = None) -> str:
        """Explain the number of people who are proved to be treated fairly."""
        return (
            f"Number of individually fair instances{_GROUPS[privileged]}: "
            f"{self.metric.num_fair(privileged=privileged)}"
        )

    def num_unfair(self, privileged: bool | None = None) -> str:
        """Explain the number of people who are proved to be treated unfairly."""
        return (
            f"Number of individually unfair instances{_GROUPS[privileged]}: "
            f"{self.metric.num_unfair(privileged=privileged)}"
        )

    def num_unknown(self, privileged: bool | None = None) -> str:
        """Explain the number of people whom the budget leaves unknown."""
        return (
            "Number of instances that the search left undecided"
            f"{_GROUPS[privileged]}: {self.metric.num_unknown(privileged=privileged)}"
        )

    def counterexamples(self) -> str:
        """Tell the closest twins that get another label."""
        cases = self.metric.counterexamples()
        shown = [f"\n{case}" for case in cases[:_SHOWN]]
        return (
            "Counterexamples (an instance and a similar person who gets another label; "
            f"{len(shown)} closest of {len(cases)}):{''.join(shown)}"
        )

    def report(self) -> str:
        """Tell who counts as similar, and how many people are treated fairly."""
        report = self.metric.report()
        return f"{report.similarity.describe()}\n{report}"

    def _open_cases(self) -> str:
        unknown = self.metric.num_unknown()
        return f" ({unknown} undecided instances are not counted)" if unknown else ""


class IndividualFairnessJSONExplainer(
    MetricJSONExplainer,  # type: ignore[misc]
    IndividualFairnessTextExplainer,
):
    """Explains an `IndividualFairnessMetric` as JSON, inherited metrics included.

    Each method has the name and the arguments of the method of the metric that it
    explains, and returns an object with ``metric``, ``message``, the numbers behind it,
    ``description`` and ``ideal``.

    Parameters
    ----------
    metric
        The metric.
    """

    def individual_fairness(self, privileged: bool | None = None) -> str:
        """Explain the share of people who are proved to be treated fairly."""
        return _json(
            "Individual Fairness",
            super().individual_fairness(privileged=privileged),
            self._numbers(privileged),
            "Computed as the weight of instances for which all similar people provably "
            "get the same label, divided by the weight of all instances. Undecided "
            "instances do not count as fair.",
            "The ideal value of this metric is 1.0",
        )

    def individual_fairness_upper(self, privileged: bool | None = None) -> str:
        """Explain the upper bound on individual fairness."""
        return _json(
            "Upper Bound On Individual Fairness",
            super().individual_fairness_upper(privileged=privileged),
            self._numbers(privileged),
            "Computed as the weight of fair and undecided instances, divided by the "
            "weight of all instances.",
            "The ideal value of this metric is 1.0",
        )

    def individual_unfairness(self, privileged: bool | None = None) -> str:
        """Explain the share of people who are proved to be treated unfairly."""
        return _json(
            "Individual Unfairness",
            super().individual_unfairness(privileged=privileged),
            self._numbers(privileged),
            "Computed as the weight of instances with a counterexample, divided by the "
            "weight of all instances.",
            "The ideal value of this metric is 0.0",
        )

    def individual_unfairness_difference(self) -> str:
        """Explain the difference of individual unfairness between the groups."""
        return _json(
            "Individual Unfairness Difference",
            super().individual_unfairness_difference(),
            self._numbers_by_group(),
            "Computed as the difference of individual unfairness between unprivileged "
            "and privileged groups.",
            "The ideal value of this metric is 0.0. A value > 0 implies that more of "
            "the unprivileged group are treated unlike similar people.",
        )

    def individual_unfairness_ratio(self) -> str:
        """Explain the ratio of individual unfairness between the groups."""
        return _json(
            "Individual Unfairness Ratio",
            super().individual_unfairness_ratio(),
            self._numbers_by_group(),
            "Computed as the ratio of individual unfairness between unprivileged and "
            "privileged groups.",
            "The ideal value of this metric is 1.0. A value > 1 implies that more of "
            "the unprivileged group are treated unlike similar people.",
        )

    def num_fair(self, privileged: bool | None = None) -> str:
        """Explain the number of people who are proved to be treated fairly."""
        return _json(
            "Number Of Fair Instances",
            super().num_fair(privileged=privileged),
            self._numbers(privileged),
            "Computed as the weight of instances for which all similar people provably "
            "get the same label.",
            "The ideal value of this metric is the number of instances",
        )

    def num_unfair(self, privileged: bool | None = None) -> str:
        """Explain the number of people who are proved to be treated unfairly."""
        return _json(
            "Number Of Unfair Instances",
            super().num_unfair(privileged=privileged),
            self._numbers(privileged),
            "Computed as the weight of instances with a counterexample.",
            "The ideal value of this metric is 0.0",
        )

    def num_unknown(self, privileged: bool | None = None) -> str:
        """Explain the number of people whom the budget leaves unknown."""
        return _json(
            "Number Of Undecided Instances",
            super().num_unknown(privileged=privileged),
            self._numbers(privileged),
            "Computed as the weight of instances that the search did not decide within "
            "its budget.",
            "The ideal value of this metric is 0.0",
        )

    def counterexamples(self) -> str:
        """Tell all twins that get another label, closest first."""
        return _json(
            "Counterexamples",
            super().counterexamples(),
            {"counterexamples": self._report()["counterexamples"]},
            "Each is an instance and a similar person to whom the model gives another "
            "label.",
            "The ideal number of counterexamples is 0",
        )

    def report(self) -> str:
        """Return all verdicts; see `fatt.Report.to_json`."""
        return _json(
            "Individual Fairness Report",
            super().report(),
            {"report": self._report()},
            "The verdict on each instance, in order, and all counterexamples, closest "
            "first.",
            "In the ideal report all instances are fair",
        )

    def _report(self) -> Any:
        return json.loads(self.metric.report().to_json())

    def _numbers(self, privileged: bool | None, suffix: str = "") -> dict[str, float]:
        return {
            f"numFair{suffix}": self.metric.num_fair(privileged=privileged),
            f"numUnfair{suffix}": self.metric.num_unfair(privileged=privileged),
            f"numUnknown{suffix}": self.metric.num_unknown(privileged=privileged),
            f"numInstances{suffix}": self.metric.num_instances(privileged=privileged),
        }

    def _numbers_by_group(self) -> dict[str, float]:
        return {
            **self._numbers(privileged=False, suffix="Unprivileged"),
            **self._numbers(privileged=True, suffix="Privileged"),
        }


def _json(
    metric: str, message: str, numbers: dict[str, Any], description: str, ideal: str
) -> str:
    return json.dumps(
        {
            "metric": metric,
            "message": message,
            **numbers,
            "description": description,
            "ideal": ideal,
        }
    )
