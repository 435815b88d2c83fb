"""Charts as SVG inside a page, coloured by its style sheet.

Every chart has a title for screen readers. Its figures also stand in a table or in the
text.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fatt.markup import Markup, tag

Floats = NDArray[np.float64]

_WIDTH, _HEIGHT = 400, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 14, 10, 42


def share_bar(counts: Sequence[int], names: Sequence[str]) -> Markup:
    """Draw the parts of a whole as one bar.

    Parameters
    ----------
    counts
        The size of each part.
    names
        Their names, which are also their classes in the style sheet.
    """
    total = max(1, sum(counts))
    said = ", ".join(
        f"{count:,} {name}" for count, name in zip(counts, names, strict=True)
    )
    parts, start = [], 0.0
    for count, name in zip(counts, names, strict=True):
        width = 100 * count / total
        if count:
            parts.append(tag("rect", class_=name, x=start, y=0, width=width, height=10))
        start += width
    return tag(
        "svg",
        tag("title", said),
        *parts,
        class_="share",
        viewBox="0 0 100 10",
        preserveAspectRatio="none",
        role="img",
    )


def histogram(numbers: Floats, *, title: str, x_title: str, n_bins: int = 20) -> Markup:
    """Draw a histogram from 0 to the largest number.

    Parameters
    ----------
    numbers
        Finite and not negative.
    title
        What the chart shows, for screen readers.
    x_title
        What the numbers are.
    n_bins
        Number of bins.
    """
    highest = float(numbers.max(initial=0.0)) or 1.0
    counts, edges = np.histogram(numbers, bins=n_bins, range=(0.0, highest))
    tallest = max(1, int(counts.max()))
    axes = _Axes(highest, tallest)
    columns = [
        tag(
            "rect",
            tag("title", f"{low:.3g} to {high:.3g}: {count:,}"),
            class_="column",
            x=axes.x(low) + 0.5,
            y=axes.y(count),
            width=max(0.5, axes.x(high) - axes.x(low) - 1),
            height=axes.y(0) - axes.y(count),
        )
        for low, high, count in zip(edges[:-1], edges[1:], counts.tolist(), strict=True)
        if count
    ]
    return axes.chart(columns, title=title, x_title=x_title)


def curve(
    at: Floats,
    lower: Floats,
    upper: Floats,
    *,
    title: str,
    x_title: str,
    mark: tuple[float, str],
) -> Markup:
    """Draw a share that lies between two bounds, as steps.

    Parameters
    ----------
    at
        Increasing and positive.
    lower, upper
        The bounds on the share from each place to the next.
    title, x_title
        As in `histogram`.
    mark
        A place of interest, and its name.
    """
    axes = _Axes(float(at[-1]), 1)
    place = axes.x(mark[0])
    between = _steps(axes, at, upper) + _steps(axes, at, lower)[::-1]
    parts = [
        tag("path", class_="between", d="M" + "L".join(between) + "Z"),
        tag("path", class_="bound", d="M" + "L".join(_steps(axes, at, lower))),
        tag("path", class_="bound", d="M" + "L".join(_steps(axes, at, upper))),
        tag("line", class_="here", x1=place, x2=place, y1=axes.y(0), y2=axes.y(1)),
        tag("text", mark[1], x=place + 4, y=axes.y(0) - 5),
    ]
    return axes.chart(parts, title=title, x_title=x_title)


def _steps(axes: _Axes, at: Floats, share: Floats) -> list[str]:
    points = []
    for index, value in enumerate(share.tolist()):
        stop = at[min(index + 1, len(at) - 1)]
        points += [
            f"{axes.x(end):.2f} {axes.y(value):.2f}" for end in (at[index], stop)
        ]
    return points


class _Axes:
    """Where numbers stand on a chart, from 0 to the highest in both directions."""

    def __init__(self, x_highest: float, y_highest: float) -> None:
        self._x, self._y = x_highest or 1.0, y_highest

    def x(self, number: float) -> float:
        return float(_LEFT + (_WIDTH - _LEFT - _RIGHT) * number / self._x)

    def y(self, number: float) -> float:
        return float(_HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * number / self._y)

    def chart(self, parts: list[Markup], *, title: str, x_title: str) -> Markup:
        """Return the parts with axes around them."""
        lines, texts = [], []
        for number in _ticks(self._y, 4):
            y = self.y(number)
            lines.append(
                tag("line", class_="grid", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=y, y2=y)
            )
            shown = f"{number:.0%}" if self._y == 1 else f"{number:,.6g}"
            texts.append(tag("text", shown, x=_LEFT - 6, y=y + 4, text_anchor="end"))
        below = _HEIGHT - _BOTTOM + 15
        texts += [
            tag("text", f"{number:g}", x=self.x(number), y=below, text_anchor="middle")
            for number in _ticks(self._x, 6)
        ]
        middle = (_LEFT + _WIDTH - _RIGHT) / 2
        texts.append(
            tag("text", x_title, x=middle, y=_HEIGHT - 6, text_anchor="middle")
        )
        return tag(
            "svg",
            tag("title", title),
            *lines,
            *parts,
            *texts,
            class_="chart",
            viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
            role="img",
        )


def _ticks(highest: float, most: int) -> list[float]:
    """Return round numbers from 0 to the highest, at most so many above 0.

    Examples
    --------
    >>> _ticks(130, 4), _ticks(1, 4)
    ([0.0, 50.0, 100.0], [0.0, 0.25, 0.5, 0.75, 1.0])
    """
    power = 10.0 ** math.floor(math.log10(highest / most))
    step = next(
        power * size for size in (1, 2, 2.5, 5, 10) if power * size * most >= highest
    )
    return [index * step for index in range(int(highest / step * (1 + 1e-9)) + 1)]
