"""What the numbers of `IndividualFairnessMetric` mean, in words and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from aif360.explainers import MetricJSONExplainer, MetricTextExplainer

from fatt.report.sentences import ANOTHER, unfair_answer

C = TypeVar("C", bound=type)

#: How many counterexamples are told in words.
_SHOWN = 10

_GROUPS = {
    None: "",
    True: " on privileged instances",
    False: " on unprivileged instances",
}


class _Words(NamedTuple):
    """What is said of a metric."""

    title: str
    meaning: str
    description: str
    ideal: str


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


def _of_group(name: str, *, as_json: bool) -> Callable[..., str]:
    """Return the method that tells a metric of everybody or of a group."""
    words = _OF_GROUPS[name]

    def explain(self: Any, privileged: bool | None = None) -> str:
        value = getattr(self.metric, name)(privileged=privileged)
        another = _another(self.metric)
        said = _Words(*(text.replace("{another}", another) for text in words))
        message = f"{said.meaning}{_GROUPS[privileged]}: {value}"
        if not as_json:
            return message
        return _json(said, message, _numbers(self.metric, privileged))

    explain.__doc__ = f"Tell {'as JSON' if as_json else 'in words'}: {words.title}."
    return explain


def _between_groups(name: str, *, as_json: bool) -> Callable[..., str]:
    """Return the method that tells how the groups compare."""
    words = _BETWEEN_GROUPS[name]

    def explain(self: Any) -> str:
        value, unknown = getattr(self.metric, name)(), self.metric.num_unknown()
        left_out = f" ({unknown} undecided instances are not counted)"
        message = f"{words.meaning}: {value}{left_out if unknown else ''}"
        if not as_json:
            return message
        numbers = _numbers(self.metric, False, "Unprivileged")
        return _json(
            words, message, numbers | _numbers(self.metric, True, "Privileged")
        )

    explain.__doc__ = f"Tell {'as JSON' if as_json else 'in words'}: {words.title}."
    return explain


def _explaining(*, as_json: bool) -> Callable[[C], C]:
    """Give a class a method for each metric, with the name of the metric's own."""

    def complete(cls: C) -> C:
        for name in _OF_GROUPS:
            setattr(cls, name, _of_group(name, as_json=as_json))
        for name in _BETWEEN_GROUPS:
            setattr(cls, name, _between_groups(name, as_json=as_json))
        return cls

    return complete


@_explaining(as_json=False)
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
            "Counterexamples (an instance and a similar person who gets "
            f"{_another(self.metric)}; {len(shown)} closest of {len(cases)}):"
            f"{''.join(shown)}"
        )

    def report(self) -> str:
        """Tell who counts as similar, and how many people are treated fairly."""
        report = self.metric.report()
        return f"{report.similarity.describe()}\n{report}"


@_explaining(as_json=True)
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
