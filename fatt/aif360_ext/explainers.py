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
    """What is said of a metric: title, meaning, how it is computed, what is ideal."""

    title: str
    meaning: str
    description: str
    ideal: str

    def of(self, metric: Any) -> _Words:
        """Name what similar people must not get, which the metric was told."""
        another = _another(metric)
        return _Words(*(text.replace("{another}", another) for text in self))


def _another(metric: Any) -> str:
    """Say what makes an instance unfair: another label, or a number too far away."""
    words = unfair_answer(metric.report())
    return "another label" if words == ANOTHER else words


#: Metrics of everybody or of a group.
_OF_GROUPS = {
    "individual_fairness": _Words(
        "Individual Fairness",
        "Individual fairness (share of instances for which provably nobody similar "
        "gets {another})",
        "Computed as the weight of instances for which provably nobody similar gets "
        "{another}, divided by the weight of all instances. Undecided instances do "
        "not count as fair.",
        "The ideal value of this metric is 1.0",
    ),
    "individual_fairness_upper": _Words(
        "Upper Bound On Individual Fairness",
        "Upper bound on individual fairness (share of instances that are fair or "
        "unknown)",
        "Computed as the weight of fair and undecided instances, divided by the weight "
        "of all instances.",
        "The ideal value of this metric is 1.0",
    ),
    "individual_unfairness": _Words(
        "Individual Unfairness",
        "Individual unfairness (share of instances for which a similar person gets "
        "{another})",
        "Computed as the weight of instances with a counterexample, divided by the "
        "weight of all instances.",
        "The ideal value of this metric is 0.0",
    ),
    "num_fair": _Words(
        "Number Of Fair Instances",
        "Number of individually fair instances",
        "Computed as the weight of instances for which provably nobody similar gets "
        "{another}.",
        "The ideal value of this metric is the number of instances",
    ),
    "num_unfair": _Words(
        "Number Of Unfair Instances",
        "Number of individually unfair instances",
        "Computed as the weight of instances with a counterexample.",
        "The ideal value of this metric is 0.0",
    ),
    "num_unknown": _Words(
        "Number Of Undecided Instances",
        "Number of instances that the search left undecided",
        "Computed as the weight of instances that the search did not decide within its "
        "budget.",
        "The ideal value of this metric is 0.0",
    ),
}

#: Metrics that compare the groups.
_BETWEEN_GROUPS = {
    "individual_unfairness_difference": _Words(
        "Individual Unfairness Difference",
        "Individual unfairness difference (individual unfairness on unprivileged "
        "instances - individual unfairness on privileged instances)",
        "Computed as the difference of individual unfairness between unprivileged and "
        "privileged groups.",
        "The ideal value of this metric is 0.0. A value > 0 implies that more of the "
        "unprivileged group are treated unlike similar people.",
    ),
    "individual_unfairness_ratio": _Words(
        "Individual Unfairness Ratio",
        "Individual unfairness ratio (individual unfairness on unprivileged instances "
        "/ individual unfairness on privileged instances)",
        "Computed as the ratio of individual unfairness between unprivileged and "
        "privileged groups.",
        "The ideal value of this metric is 1.0. A value > 1 implies that more of the "
        "unprivileged group are treated unlike similar people.",
    ),
}


def _text_of_group(name: str) -> Callable[..., str]:
    """Return the method that tells a metric of everybody or of a group in words."""

    def explain(self: Any, privileged: bool | None = None) -> str:
        value = getattr(self.metric, name)(privileged=privileged)
        meaning = _OF_GROUPS[name].of(self.metric).meaning
        return f"{meaning}{_GROUPS[privileged]}: {value}"

    explain.__doc__ = f"Tell in words: {_OF_GROUPS[name].title.lower()}."
    return explain


def _text_between_groups(name: str) -> Callable[..., str]:
    """Return the method that tells in words how the groups compare."""

    def explain(self: Any) -> str:
        value, unknown = getattr(self.metric, name)(), self.metric.num_unknown()
        left_out = f" ({unknown} undecided instances are not counted)"
        return f"{_BETWEEN_GROUPS[name].meaning}: {value}{left_out if unknown else ''}"

    explain.__doc__ = f"Tell in words: {_BETWEEN_GROUPS[name].meaning}."
    return explain


class IndividualFairnessTextExplainer(MetricTextExplainer):  # type: ignore[misc]
    """Explains an `IndividualFairnessMetric` in words, inherited metrics included.

    Each method has the name and the arguments of the method of the metric that it
    explains.

    Parameters
    ----------
    metric
        The metric.
    """

    individual_fairness = _text_of_group("individual_fairness")
    individual_fairness_upper = _text_of_group("individual_fairness_upper")
    individual_unfairness = _text_of_group("individual_unfairness")
    num_fair = _text_of_group("num_fair")
    num_unfair = _text_of_group("num_unfair")
    num_unknown = _text_of_group("num_unknown")
    individual_unfairness_difference = _text_between_groups(
        "individual_unfairness_difference"
    )
    individual_unfairness_ratio = _text_between_groups("individual_unfairness_ratio")

    def counterexamples(self) -> str:
        """Tell the closest twins that are not treated alike."""
        cases = self.metric.counterexamples()
        shown = [f"\n{case}" for case in cases[:_SHOWN]]
        return (
            "Counterexamples (an instance and a similar person who gets "
            f"{_another(self.metric)}; {len(shown)} closest of {len(cases)}):"
            f"{''.join(shown)}"
        )

    def report(self) -> str:
        """Tell who counts as similar, and how many people are treated fairly."""
        report = self.metric.report()
        return f"{report.similarity.describe()}\n{report}"


def _json_of_group(name: str) -> Callable[..., str]:
    """Return the method that tells a metric of everybody or of a group as JSON."""

    def explain(self: Any, privileged: bool | None = None) -> str:
        text = getattr(IndividualFairnessTextExplainer, name)(self, privileged)
        words = _OF_GROUPS[name].of(self.metric)
        return _json(words, text, _numbers(self.metric, privileged))

    explain.__doc__ = f"Tell as JSON: {_OF_GROUPS[name].title.lower()}."
    return explain


def _json_between_groups(name: str) -> Callable[..., str]:
    """Return the method that tells as JSON how the groups compare."""

    def explain(self: Any) -> str:
        text = getattr(IndividualFairnessTextExplainer, name)(self)
        numbers = {
            **_numbers(self.metric, privileged=False, suffix="Unprivileged"),
            **_numbers(self.metric, privileged=True, suffix="Privileged"),
        }
        return _json(_BETWEEN_GROUPS[name], text, numbers)

    explain.__doc__ = f"Tell as JSON: {_BETWEEN_GROUPS[name].meaning}."
    return explain


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

    individual_fairness = _json_of_group("individual_fairness")
    individual_fairness_upper = _json_of_group("individual_fairness_upper")
    individual_unfairness = _json_of_group("individual_unfairness")
    num_fair = _json_of_group("num_fair")
    num_unfair = _json_of_group("num_unfair")
    num_unknown = _json_of_group("num_unknown")
    individual_unfairness_difference = _json_between_groups(
        "individual_unfairness_difference"
    )
    individual_unfairness_ratio = _json_between_groups("individual_unfairness_ratio")

    def counterexamples(self) -> str:
        """Tell all twins that are not treated alike, closest first."""
        words = _Words(
            "Counterexamples",
            super().counterexamples(),
            "Each is an instance and a similar person to whom the model gives "
            f"{_another(self.metric)}.",
            "The ideal number of counterexamples is 0",
        )
        cases = self._report()["counterexamples"]
        return _json(words, words.meaning, {"counterexamples": cases})

    def report(self) -> str:
        """Return all verdicts; see `fatt.Report.to_json`."""
        words = _Words(
            "Individual Fairness Report",
            super().report(),
            "The verdict on each instance, in order, and all counterexamples, closest "
            "first.",
            "In the ideal report all instances are fair",
        )
        return _json(words, words.meaning, {"report": self._report()})

    def _report(self) -> Any:
        return json.loads(self.metric.report().to_json())


def _numbers(
    metric: Any, privileged: bool | None, suffix: str = ""
) -> dict[str, float]:
    return {
        f"numFair{suffix}": metric.num_fair(privileged=privileged),
        f"numUnfair{suffix}": metric.num_unfair(privileged=privileged),
        f"numUnknown{suffix}": metric.num_unknown(privileged=privileged),
        f"numInstances{suffix}": metric.num_instances(privileged=privileged),
    }


def _json(words: _Words, message: str, numbers: dict[str, Any]) -> str:
    return json.dumps(
        {
            "metric": words.title,
            "message": message,
            **numbers,
            "description": words.description,
            "ideal": words.ideal,
        }
    )
