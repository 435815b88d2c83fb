"""What the numbers of `IndividualFairnessMetric` mean, in words and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from aif360.explainers import MetricJSONExplainer, MetricTextExplainer

from fatt.report.sentences import ANOTHER, unfair_answer

#: How many counterexamples are told in words.
_SHOWN = 10

_GROUPS = {
    None: "",
    True: " on privileged instances",
    False: " on unprivileged instances",
}


class _Words(NamedTuple):
    """What is said of a metric."""

    meaning: str
    description: str
    ideal: str


#: Metrics of all instances or of a group.
_OF_GROUPS = {
    "individual_fairness": _Words(
        "share of instances for which it is proved that no similar person gets "
        "{another}",
        "Computed as the weight of instances for which it is proved that no similar "
        "person gets {another}, divided by the weight of all instances. Undecided "
        "instances do not count as fair.",
        "1.0",
    ),
    "individual_fairness_upper": _Words(
        "upper bound: share of instances that are fair or undecided",
        "Computed as the weight of fair and undecided instances, divided by the weight "
        "of all instances.",
        "1.0",
    ),
    "individual_unfairness": _Words(
        "share of instances for which a similar person gets {another}",
        "Computed as the weight of instances with a counterexample, divided by the "
        "weight of all instances.",
        "0.0",
    ),
    "num_fair": _Words(
        "individually fair instances",
        "Computed as the weight of instances for which it is proved that no similar "
        "person gets {another}.",
        "the number of instances",
    ),
    "num_unfair": _Words(
        "individually unfair instances",
        "Computed as the weight of instances with a counterexample.",
        "0.0",
    ),
    "num_unknown": _Words(
        "instances that the search left undecided",
        "Computed as the weight of instances that the search did not decide within its "
        "budget.",
        "0.0",
    ),
}
_MORE = "implies that more of the unprivileged group are treated unlike similar people"
#: Metrics that compare the groups.
_BETWEEN_GROUPS = {
    "individual_unfairness_difference": _Words(
        "individual unfairness on unprivileged instances - individual unfairness on "
        "privileged instances",
        "Computed as the difference of individual unfairness between unprivileged and "
        "privileged groups.",
        f"0.0. A value > 0 {_MORE}",
    ),
    "individual_unfairness_ratio": _Words(
        "individual unfairness on unprivileged instances / individual unfairness on "
        "privileged instances",
        "Computed as the ratio of individual unfairness between unprivileged and "
        "privileged groups.",
        f"1.0. A value > 1 {_MORE}",
    ),
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

    def counterexamples(self) -> str:
        """Tell the closest twins that are not treated alike."""
        cases = self.metric.counterexamples()
        shown = [f"\n{case}" for case in cases[:_SHOWN]]
        return (
            f"Counterexamples (an instance and a similar person who gets "
            f"{self._another()}; {len(shown)} closest of {len(cases)}):{''.join(shown)}"
        )

    def report(self) -> str:
        """Tell who counts as similar, and how many people are treated fairly."""
        report = self.metric.report()
        return f"{report.similarity.describe()}\n{report}"

    def _another(self) -> str:
        """Say what makes an instance unfair: another label, or a number far away."""
        words = unfair_answer(self.metric.report())
        return "another label" if words == ANOTHER else words

    def _tell(self, name: str, end: str, numbers: dict[str, Any]) -> str:
        """Say what a metric means, with its value; JSON has the numbers as well."""
        said = {**_OF_GROUPS, **_BETWEEN_GROUPS}[name]
        another = self._another()
        words = _Words(*(text.replace("{another}", another) for text in said))
        title = name.replace("num_", "number_of_").replace("_", " ")
        message = f"{title.capitalize()} ({words.meaning}){end}"
        return self._written(title.title(), message, numbers, words[1:])

    def _written(
        self, title: str, message: str, numbers: dict[str, Any], words: Any
    ) -> str:
        return message

    def _numbers(self, privileged: bool | None, suffix: str = "") -> dict[str, float]:
        metric = self.metric
        return {
            f"numFair{suffix}": metric.num_fair(privileged=privileged),
            f"numUnfair{suffix}": metric.num_unfair(privileged=privileged),
            f"numUnknown{suffix}": metric.num_unknown(privileged=privileged),
            f"numInstances{suffix}": metric.num_instances(privileged=privileged),
        }


def _of_group(name: str) -> Callable[..., str]:
    """Return the method that tells a metric of all instances or of a group."""

    def explain(self: Any, privileged: bool | None = None) -> str:
        value = getattr(self.metric, name)(privileged=privileged)
        end = f"{_GROUPS[privileged]}: {value}"
        return str(self._tell(name, end, self._numbers(privileged)))

    return explain


def _between_groups(name: str) -> Callable[..., str]:
    """Return the method that tells how the groups compare."""

    def explain(self: Any) -> str:
        value, unknown = getattr(self.metric, name)(), self.metric.num_unknown()
        left_out = f" ({unknown} undecided instances are not counted)"
        numbers = self._numbers(False, "Unprivileged")
        numbers |= self._numbers(True, "Privileged")
        return str(self._tell(name, f": {value}{left_out if unknown else ''}", numbers))

    return explain


for _make, _names in ((_of_group, _OF_GROUPS), (_between_groups, _BETWEEN_GROUPS)):
    for _name in _names:
        setattr(IndividualFairnessTextExplainer, _name, _make(_name))


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

    def counterexamples(self) -> str:
        """Tell all twins that are not treated alike, closest first."""
        return self._written(
            "Counterexamples",
            super().counterexamples(),
            {"counterexamples": self._report()["counterexamples"]},
            (
                "Each is an instance and a similar person to whom the model gives "
                f"{self._another()}.",
                "that there are none",
            ),
        )

    def report(self) -> str:
        """Return all verdicts; see `fatt.Report.to_json`."""
        return self._written(
            "Individual Fairness Report",
            super().report(),
            {"report": self._report()},
            (
                "The verdict on each instance, in order, and all counterexamples, "
                "closest first.",
                "that all instances are fair",
            ),
        )

    def _report(self) -> Any:
        return json.loads(self.metric.report().to_json())

    def _written(
        self, title: str, message: str, numbers: dict[str, Any], words: Any
    ) -> str:
        description, ideal = words
        told = {"metric": title, "message": message, **numbers}
        ideal = f"The ideal value of this metric is {ideal}"
        return json.dumps({**told, "description": description, "ideal": ideal})
