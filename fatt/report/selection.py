"""How often each group gets the label in question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fatt.ensemble import Label
from fatt.verdict import Value

if TYPE_CHECKING:
    from fatt.report.report import Report


class Rate(NamedTuple):
    """How often a group gets a label.

    Attributes
    ----------
    selected
        The share of the group that gets it.
    ratio
        That share divided by the largest of any group; None if no group gets it.
    """

    selected: float
    ratio: float | None


def label_in_question(report: Report) -> Label | None:
    """Return the second of two classes, by custom the favourable one; else None."""
    classes = report.findings.classes
    return classes[1] if len(classes) == 2 else None


def selection_rates(
    report: Report, names: Sequence[str]
) -> Mapping[tuple[Value, ...], Rate]:
    """Count how often the second class is given, group by group.

    Parameters
    ----------
    report
        A report on a model with two classes. People whose label is not known, since
        the run was interrupted, are left out.
    names
        The variables or columns whose values, taken together, make the groups.
    """
    columns = [report.people.column(name) for name in names]
    label = report.findings.label
    groups = np.column_stack([group for group, _ in columns])[label >= 0]
    keys, which = np.unique(groups, axis=0, return_inverse=True)
    sizes = np.bincount(which.ravel(), minlength=len(keys))
    chosen = np.bincount(
        which.ravel(), weights=label[label >= 0] == 1, minlength=len(keys)
    )
    shares = chosen / sizes
    largest = float(shares.max(initial=0.0))
    return {
        tuple(value[place] for place, (_, value) in zip(key, columns, strict=True)): (
            Rate(share, share / largest if largest else None)
        )
        for key, share in zip(keys.tolist(), shares.tolist(), strict=True)
    }
