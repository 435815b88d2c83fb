"""How often each group gets the favourable label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fatt.ensemble import Label
from fatt.errors import SpecError, hint
from fatt.verdict import Value

if TYPE_CHECKING:
    from fatt.report.report import Report

#: Below this ratio agencies of the US take a closer look.
FOUR_FIFTHS = 0.8


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


def favourable_label(classes: Sequence[Label], given: Label | None) -> Label | None:
    """Return the favourable label: the second of two by custom; else it must be given.

    Parameters
    ----------
    classes
        The model's labels.
    given
        The label, or the text that it is written as.

    Raises
    ------
    SpecError
        If the model has no such label.
    """
    if given is None:
        return classes[1] if len(classes) == 2 else None
    for label in classes:
        if str(label) == str(given):
            return label
    raise SpecError(
        f"the model has no answer {str(given)!r} that could be favourable. "
        f"{hint(str(given), [str(label) for label in classes])}"
    )


def selection_rates(
    report: Report, names: Sequence[str], favourable: Label
) -> Mapping[tuple[Value, ...], Rate]:
    """Count how often a label is given, group by group.

    Parameters
    ----------
    report
        A report. People whose label is not known, since the run was interrupted, are
        left out.
    names
        The variables or columns whose values, taken together, make the groups.
    favourable
        The label.
    """
    columns = [report.people.column(name) for name in names]
    label = report.findings.label
    wanted = report.findings.classes.index(favourable)
    groups = np.column_stack([group for group, _ in columns])[label >= 0]
    keys, which = np.unique(groups, axis=0, return_inverse=True)
    sizes = np.bincount(which.ravel(), minlength=len(keys))
    chosen = np.bincount(
        which.ravel(), weights=label[label >= 0] == wanted, minlength=len(keys)
    )
    shares = chosen / sizes
    largest = float(shares.max(initial=0.0))
    return {
        tuple(value[place] for place, (_, value) in zip(key, columns, strict=True)): (
            Rate(share, share / largest if largest else None)
        )
        for key, share in zip(keys.tolist(), shares.tolist(), strict=True)
    }
