"""Trees in the language of Graphviz."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

from fatt.export.averaged import load_averaged, spans
from fatt.export.colours import colour
from fatt.export.words import Words

_STYLE = (
    'node [shape=box, style="rounded,filled", fillcolor="white", color="#888888", '
    'fontname="Helvetica"];',
    'edge [color="#888888", fontname="Helvetica", fontsize=10];',
)
_WIDTH = 32


def export_graphviz(model: Any) -> str:
    """Return the trees as DOT, which Graphviz draws.

    Each split is a question, with the answer yes on its left. Leaves show their label
    and its share, in the colour of the label.

    Parameters
    ----------
    model
        Fitted model or path of a model file, as `fatt.load` takes it: a tree, or trees
        whose shares of the classes are averaged.

    Raises
    ------
    UnsupportedModelError
        If the model is of another kind.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from fatt.export import export_graphviz
    >>> tree = DecisionTreeClassifier().fit([[20.0], [40.0]], ["deny", "grant"])
    >>> print(export_graphviz(tree).splitlines()[4])
      n0 [label="x0 <= 30.00"];
    """
    ensemble = load_averaged(model, "a drawing")
    words, n_classes = Words(ensemble), len(ensemble.classes)
    lines = ["digraph {", "  ordering=out;", *(f"  {line}" for line in _STYLE)]
    several = len(ensemble.trees) > 1
    for number, (start, end) in enumerate(spans(ensemble), start=1):
        drawn = [f"  {line}" for line in _lines(words, start, end, n_classes)]
        if several:
            head = [f"subgraph cluster_{number} {{", f'  label="tree {number}";']
            drawn = [f"  {line}" for line in (*head, *drawn, "}")]
        lines += drawn
    return "\n".join([*lines, "}"])


def _lines(words: Words, start: int, end: int, n_classes: int) -> Iterator[str]:
    for node in range(start, end):
        if words.is_leaf(node):
            leaf = words.leaf(node)
            fill = colour(leaf.place, leaf.share, n_classes)
            yield f'n{node} [label="{_label(leaf.text)}", fillcolor="{fill}"];'
            continue
        split = words.split(node)
        yield f'n{node} [label="{_label(split.question)}"];'
        yield f'n{node} -> n{split.yes} [label="yes"];'
        yield f'n{node} -> n{split.no} [label="no"];'


def _label(text: str) -> str:
    """Wrap a text, and take from all its signs the meaning that they have in DOT."""
    plain = text.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")
    # Lines end between words only, so that no sign is torn from its backslash.
    lines = textwrap.wrap(plain, _WIDTH, break_long_words=False, break_on_hyphens=False)
    return "\\n".join(lines)
