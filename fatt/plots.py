"""Drawings by matplotlib of numbers that were found: into given axes, in no style."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.errors import MissingDependencyError

Floats = NDArray[np.float64]

#: Told apart also by those who see no red and green.
_COLOURS = {"fair": "#1c6f8c", "unfair": "#b8451a", "unknown": "#9aa3ab"}


def axes(given: Any) -> Any:
    """Return the axes given, or those of a new figure.

    Raises
    ------
    MissingDependencyError
        If matplotlib is not installed.
    """
    if given is not None:
        return given
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingDependencyError(
            "plotting needs matplotlib: pip install 'fatt[plot]'"
        ) from error
    # Long names of groups must not be cut.
    return plt.subplots(layout="constrained")[1]


def gaps(lower: Floats, upper: Floats, *, ax: Any = None, **line: Any) -> Any:
    """Draw the share of people whose gap is at most so large, between its bounds.

    Parameters
    ----------
    lower, upper : ndarray of shape (n_people,)
        The largest change of each person's score that was found, and that is possible.
    ax
        Axes to draw into; by default those of a new figure.
    **line
        Passed on to matplotlib's ``step``.
    """
    ax = axes(ax)
    if np.allclose(lower, upper):
        # They differ by the rounding of a sum, which nobody could see.
        upper = lower
    at = np.unique(np.concatenate([[0.0], lower, upper]))
    most, least = (_share_up_to(numbers, at) for numbers in (lower, upper))
    _between(ax, at, least, most, line)
    ax.set(xlabel="largest change of the score", ylabel="share of people", ylim=(0, 1))
    return ax


def radii(lower: Floats, upper: Floats, *, ax: Any = None, **line: Any) -> Any:
    """Draw the share of people treated fairly as the noise grows, between its bounds.

    Parameters
    ----------
    lower, upper : ndarray of shape (n_people,)
        The largest multiple of the noise that is proved fair, and the smallest that is
        proved unfair.
    ax
        Axes to draw into; by default those of a new figure.
    **line
        Passed on to matplotlib's ``step``.
    """
    ax = axes(ax)
    ends = np.concatenate([lower, upper])
    known = np.unique(ends[np.isfinite(ends) & (ends > 0)])
    highest = max(2.0, float(np.quantile(known, 0.9)) if known.size else 0.0)
    at = np.unique([*known[known < highest], 1.0, highest])
    least = np.array([(lower >= multiple).mean() for multiple in at])
    most = np.array([(upper > multiple).mean() for multiple in at])
    # A share holds up to its own multiple, and not from there on.
    _between(ax, at, least, most, {"where": "pre"} | line)
    ax.axvline(1.0, linestyle="--", color="gray", linewidth=1)
    ax.set(xlabel="multiple of the noise", ylabel="share treated fairly", ylim=(0, 1))
    return ax


def groups(
    names: Sequence[str],
    counts: Sequence[Mapping[str, int]],
    *,
    ax: Any = None,
    **bars: Any,
) -> Any:
    """Draw one bar for each group: who is fair, unfair and unknown.

    Parameters
    ----------
    names, counts
        What each group is called, and how many people of it have each verdict.
    ax
        Axes to draw into; by default those of a new figure.
    **bars
        Passed on to matplotlib's ``barh``.
    """
    ax, places = axes(ax), range(len(names))
    sizes = np.array([sum(one.values()) for one in counts])
    start = np.zeros(len(names))
    for verdict, colour in _COLOURS.items():
        width = np.array([one[verdict] for one in counts]) / sizes
        style = {"color": colour, "label": verdict} | bars
        ax.barh(places, width, left=start, **style)
        start = start + width
    pairs = zip(names, sizes, strict=True)
    ax.set_yticks(places, [f"{name}  ({size:,})" for name, size in pairs])
    ax.invert_yaxis()
    ax.set(xlim=(0, 1), xlabel="share of people")
    # Above the bars, which fill the axes.
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False)
    return ax


def _share_up_to(numbers: Floats, at: Floats) -> Floats:
    counted = np.searchsorted(np.sort(numbers), at, side="right")
    return np.asarray(counted / len(numbers))


def _between(
    ax: Any, at: Floats, least: Floats, most: Floats, line: dict[str, Any]
) -> None:
    """Draw two steps and fill what lies between them."""
    where = line.pop("where", "post")
    [proved] = ax.step(at, least, where=where, **{"label": "at least"} | line)
    colour = proved.get_color()
    if not np.array_equal(least, most):
        style = {"label": "at most", "color": colour, "linestyle": ":"}
        ax.step(at, most, where=where, **style)
        ax.fill_between(at, least, most, step=where, color=colour, alpha=0.2)
        ax.legend()
