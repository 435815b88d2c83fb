"""Draw trees with matplotlib."""

from __future__ import annotations

import itertools
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fatt.ensemble import Ensemble
from fatt.errors import needs
from fatt.export.averaged import load_averaged
from fatt.export.words import Words

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# The colours of Okabe and Ito, which most colour-blind people can tell apart.
_COLOURS = (
    (230, 159, 0),
    (86, 180, 233),
    (0, 158, 115),
    (240, 228, 66),
    (204, 121, 167),
    (0, 114, 178),
    (213, 94, 0),
)
_PALEST = 0.2


def colour(place: int, share: float, n_classes: int) -> str:
    """Return the colour of a leaf, such as ``#e69f00``.

    Parameters
    ----------
    place
        Which of the classes the leaf stands for.
    share
        The share of that class in the leaf.
    n_classes
        Number of classes; equal shares of all give the palest colour.

    Examples
    --------
    >>> colour(0, 1.0, 2), colour(0, 0.5, 2)
    ('#e69f00', '#faeccc')
    """
    fair = 1 / n_classes
    surplus = (share - fair) / (1 - fair) if n_classes > 1 else 1.0
    strength = _PALEST + (1 - _PALEST) * min(max(surplus, 0.0), 1.0)
    mixed = (
        round(255 + strength * (part - 255)) for part in _COLOURS[place % len(_COLOURS)]
    )
    return "#" + "".join(f"{part:02x}" for part in mixed)


_LINE, _INK = "#888888", "#222222"
#: The largest size of the font, in points, and how many of them make an inch.
_LARGEST, _POINTS = 9.0, 72
#: The size of a letter and of a row of leaves, in sizes of the font.
_LETTER, _ROW = 0.62, 2.3
#: The longest line of a question, the room for the ways to its answers, and the room
#: at the sides, in letters.
_WIDTH, _GAP, _MARGIN = 28, 7.0, 1.5


def plot_tree(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the trees, from left to right, with one leaf to a row.

    Each split is a question; the upper way means yes. Leaves show their label and its
    share, in the colour of the label. Long questions are cut; `export_text` has them in
    full.

    Parameters
    ----------
    model
        Fitted model or path of a model file, as `fatt.load` takes it: a tree, or trees
        that average shares of the classes, which are drawn below each other.
    ax
        Axes to draw into, with letters small enough to fit. Default: a new figure that
        is large enough.

    Returns
    -------
    matplotlib.axes.Axes
        Where it was drawn.

    Raises
    ------
    UnsupportedModelError
        If the model is of another kind.
    MissingDependencyError
        If matplotlib is not installed.
    """
    ensemble = load_averaged(model, "a drawing")
    try:
        from matplotlib import pyplot
    except ImportError:
        raise needs("matplotlib", "drawing trees", "plot") from None
    layout = _Layout(ensemble)
    if ax is None:
        size = _LARGEST / _POINTS
        room = layout.width * _LETTER * size, layout.height * _ROW * size
        figure = pyplot.figure(figsize=room)
        ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    ax.set_axis_off()
    ax.set_xlim(0, layout.width)
    ax.set_ylim(layout.height - 0.5, -0.5)
    _draw(ax, layout)
    return ax


@dataclass(frozen=True)
class _Box:
    """A node: how deep it is, in which row, what it says and in what colour."""

    depth: int
    row: float
    text: str
    fill: str


class _Layout:
    """Where everything stands, in letters from the left and in rows from the top.

    Attributes
    ----------
    boxes
        The nodes.
    ways
        Pairs of nodes that are joined, and the answer that leads from one to the other.
    heads
        The title of each tree and its row; none if there is only one tree.
    columns
        Where the nodes of each depth begin.
    width, height
        The size of the whole.
    """

    def __init__(self, ensemble: Ensemble) -> None:
        self._words = Words(ensemble)
        self._n_classes = len(ensemble.classes)
        self.boxes: dict[int, _Box] = {}
        self.ways: list[tuple[int, int, str]] = []
        self.heads: list[tuple[str, int]] = []
        self.height = 0
        for number, root in enumerate(ensemble.trees.roots.tolist(), start=1):
            if len(ensemble.trees) > 1:
                self.heads.append((f"tree {number}", self.height))
                self.height += 1
            self._place(root, 0)
        widths = [0] * (1 + max(box.depth for box in self.boxes.values()))
        for box in self.boxes.values():
            longest = max(map(len, box.text.splitlines()))
            widths[box.depth] = max(widths[box.depth], longest)
        ends = list(itertools.accumulate(width + _GAP for width in widths))
        self.columns = [_MARGIN, *(end + _MARGIN for end in ends[:-1])]
        self.width = ends[-1] - _GAP + 2 * _MARGIN

    def _place(self, node: int, depth: int) -> float:
        """Give a node, and all below it, its place; return its row."""
        if self._words.is_leaf(node):
            leaf = self._words.leaf(node)
            text, fill = leaf.text, colour(leaf.place, leaf.share, self._n_classes)
            row = float(self.height)
            self.height += 1
        else:
            split = self._words.split(node)
            text, fill = split.question, "white"
            self.ways += [(node, split.yes, "yes"), (node, split.no, "no")]
            row = (
                self._place(split.yes, depth + 1) + self._place(split.no, depth + 1)
            ) / 2
        lines = textwrap.wrap(
            text, _WIDTH, max_lines=2, placeholder=" …", break_on_hyphens=False
        )
        self.boxes[node] = _Box(depth, row, "\n".join(lines), fill)
        return row


def _draw(ax: Axes, layout: _Layout) -> None:
    inches = ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted())
    size = min(
        _LARGEST,
        inches.width * _POINTS / (layout.width * _LETTER),
        inches.height * _POINTS / (layout.height * _ROW),
    )
    for parent, child, answer in layout.ways:
        start, end = layout.boxes[parent], layout.boxes[child]
        x = layout.columns[end.depth]
        turn = x - 0.8 * _GAP
        # The line begins under the box of the parent, wherever that box ends.
        ax.plot(
            [layout.columns[start.depth], turn, turn, x],
            [start.row, start.row, end.row, end.row],
            color=_LINE,
            linewidth=size / 10,
            zorder=1,
        )
        ax.text(
            turn + 0.5,
            end.row - 0.04,
            answer,
            size=0.8 * size,
            color=_LINE,
            va="bottom",
        )
    for box in layout.boxes.values():
        ax.text(
            layout.columns[box.depth],
            box.row,
            box.text,
            size=size,
            color=_INK,
            va="center",
            parse_math=False,
            bbox={
                "boxstyle": "round,pad=0.35",
                "facecolor": box.fill,
                "edgecolor": _LINE,
                "linewidth": size / 12,
            },
            zorder=2,
        )
    for head, row in layout.heads:
        ax.text(_MARGIN, row, head, size=size, color=_INK, weight="bold", va="center")
