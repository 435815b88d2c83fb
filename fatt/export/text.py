"""Export trees as text: by branches, or a sentence for each leaf."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from fatt.errors import SpecError
from fatt.export.averaged import load_averaged
from fatt.export.words import Words


def export_text(
    model: Any, *, style: Literal["tree", "sentences"] = "tree", decimals: int = 2
) -> str:
    """Return the trees as text that people can read.

    A leaf shows its label and that label's share. A column such as ``race=White`` that
    is compared with numbers between 0 and 1 is shown as ``race is White``. Brackets say
    where missing values and unknown categories (``other``) go. Only what is still
    possible at a split is named.

    Parameters
    ----------
    model
        Fitted model or path of a model file, as `fatt.load` takes it: a tree, or trees
        that average shares of the classes.
    style
        ``"tree"`` for branches, ``"sentences"`` for a sentence per leaf with all its
        conditions.
    decimals
        Number of decimals of thresholds and shares. Shares are in percent: two decimals
        make whole percents.

    Raises
    ------
    UnsupportedModelError
        If the model is of another kind.
    SpecError
        If there is no such style.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from fatt.export import export_text
    >>> X, y = [[20.0], [30.0], [40.0], [50.0]], ["deny", "grant", "deny", "deny"]
    >>> tree = DecisionTreeClassifier(max_leaf_nodes=3).fit(X, y)
    >>> print(export_text(tree))
    ├── x0 <= 35.00
    │   ├── x0 <= 25.00 → deny (100%)
    │   └── x0 > 25.00 → grant (100%)
    └── x0 > 35.00 (or missing) → deny (100%)
    >>> print(export_text(tree, style="sentences"))
    If x0 is at most 25.00, the answer is deny (100%).
    If x0 is more than 25.00 and at most 35.00, the answer is grant (100%).
    If x0 is more than 35.00 or missing, the answer is deny (100%).
    """
    if style not in {"tree", "sentences"}:
        raise SpecError(f"style is {style!r}; choose 'tree' or 'sentences'.")
    ensemble = load_averaged(model, "a text")
    words = Words(ensemble, decimals=decimals)
    lines = _lines if style == "tree" else _sentences
    texts = ["\n".join(lines(words, root)) for root in ensemble.trees.roots.tolist()]
    if len(texts) == 1:
        return texts[0]
    head = f"The label with the largest share wins, on average over {len(texts)} trees."
    trees = [f"Tree {number}\n{text}" for number, text in enumerate(texts, start=1)]
    return "\n\n".join([head, *trees])


def _lines(words: Words, node: int, indent: str = "") -> Iterator[str]:
    if words.is_leaf(node):
        yield f"{indent}always → {words.leaf(node).text}"
        return
    split = words.split(node)
    for child, condition, branch, bar in (
        (split.yes, split.question, "├── ", "│   "),
        (split.no, split.otherwise, "└── ", "    "),
    ):
        if words.is_leaf(child):
            yield f"{indent}{branch}{condition} → {words.leaf(child).text}"
        else:
            yield f"{indent}{branch}{condition}"
            yield from _lines(words, child, indent + bar)


def _sentences(words: Words, node: int) -> Iterator[str]:
    if not words.is_leaf(node):
        split = words.split(node)
        yield from _sentences(words, split.yes)
        yield from _sentences(words, split.no)
        return
    answer, conditions = words.leaf(node).text, words.conditions(node)
    if conditions:
        *others, last = conditions
        told = f"{', '.join(others)}, and {last}" if others else last
        yield f"If {told}, the answer is {answer}."
    elif conditions is not None:
        yield f"The answer is always {answer}."
