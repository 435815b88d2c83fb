"""A drawing of groups by matplotlib: into given axes, in no style."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fatt.plots import axes
from fatt.report.groups import Group
from fatt.verdict import Value, in_words

#: Told apart also by those who see no red and green.
_COLOURS = {"fair": "#1c6f8c", "unfair": "#b8451a", "unknown": "#9aa3ab"}


def groups(
    found: Mapping[Value | tuple[Value, ...], Group], *, ax: Any = None, **bars: Any
) -> Any:
    """Draw one bar for each group: who is fair, unfair and unknown.

    Parameters
    ----------
    found
        As `fatt.Report.by_group` returns it.
    ax
        Axes to draw into; by default those of a new figure.
    **bars
        Passed on to matplotlib's ``barh``.
    """
    ax = axes(ax)
    names = [
        ", ".join(map(in_words, key if isinstance(key, tuple) else (key,)))
        for key in found
    ]
    sizes = np.array([group.size for group in found.values()])
    labels = [f"{name}  ({size:,})" for name, size in zip(names, sizes, strict=True)]
    start = np.zeros(len(found))
    for verdict, colour in _COLOURS.items():
        count = np.array([group.counts[verdict] for group in found.values()])
        width = count / sizes
        style = {"color": colour, "label": verdict} | bars
        ax.barh(range(len(found)), width, left=start, **style)
        start = start + width
    ax.set_yticks(range(len(found)), labels)
    ax.invert_yaxis()
    ax.set(xlim=(0, 1), xlabel="share of people")
    # Above the bars, which fill the axes.
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False)
    return ax
