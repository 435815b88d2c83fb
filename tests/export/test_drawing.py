"""Drawings of trees."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import matplotlib as mpl
import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.transforms import Bbox
from sklearn.datasets import load_iris
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier

from fatt.ensemble import Ensemble, Numeric
from fatt.errors import MissingDependencyError, UnsupportedModelError
from fatt.export import export_text, plot_tree
from tests.export.forests import one_tree, random_forest, stump
from tests.export.reader import said


@pytest.fixture(autouse=True)
def _without_a_screen() -> Iterator[None]:
    mpl.use("Agg")
    yield
    pyplot.close("all")


def boxes_of(ax: Axes) -> dict[str, Bbox]:
    """Draw, and return where each framed text stands, in pixels."""
    ax.figure.canvas.draw()
    framed = [text for text in ax.texts if text.get_bbox_patch() is not None]
    return {
        f"{number} {text.get_text()}": text.get_bbox_patch().get_window_extent()
        for number, text in enumerate(framed)
    }


@pytest.mark.parametrize("seed", range(3))
def test_all_nodes_are_drawn_apart_from_each_other(seed: int) -> None:
    ensemble = random_forest(seed, categories=True)
    ax = plot_tree(ensemble)
    boxes = list(boxes_of(ax).values())
    assert len(boxes) == len(ensemble.trees.nodes)
    for index, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:index])
    inside = ax.figure.bbox
    assert all(inside.containsx(box.x0) and inside.containsx(box.x1) for box in boxes)
    assert all(inside.containsy(box.y0) and inside.containsy(box.y1) for box in boxes)


def test_what_one_sees_is_what_the_text_says() -> None:
    ensemble = one_tree(random_forest(3, categories=False))
    ax = plot_tree(ensemble)
    seen = [text.get_text().replace("\n", " ") for text in ax.texts]
    questions, leaves = said(export_text(ensemble))
    answers = ["yes", "no"] * len(questions)
    assert sorted(seen) == sorted(questions + leaves + answers)


def test_yes_leads_up() -> None:
    ax = plot_tree(stump(Numeric(name="age", accepts_missing=False), 30.0))
    heights = {text.get_text(): text.get_position()[1] for text in ax.texts}
    assert ax.yaxis_inverted()
    assert heights["deny (80%)"] < heights["age <= 30.00"] < heights["approve (90%)"]


def test_classes_have_their_colours() -> None:
    X, y = load_iris(return_X_y=True)
    tree = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0).fit(X, y)
    found = {
        (text.get_text(), mpl.colors.to_hex(text.get_bbox_patch().get_facecolor()))
        for text in plot_tree(tree).texts
        if text.get_bbox_patch() is not None
    }
    leaves = {("0 (100%)", "#e69f00"), ("1 (98%)", "#5ab6ea"), ("2 (98%)", "#07a177")}
    assert leaves < found


def test_control_characters_are_spelt_out() -> None:
    ensemble = stump(Numeric(name="a\n└── x\0\u202e", accepts_missing=False), 1.0)
    question = r"a\n└── x\x00\u202e <= 1.00"
    assert export_text(ensemble).splitlines()[0] == f"├── {question} → deny (80%)"
    seen = [text.get_text().replace("\n", " ") for text in plot_tree(ensemble).texts]
    assert question in seen


def test_dollars_are_no_formulas() -> None:
    ax = plot_tree(stump(Numeric(name="$\\alpha$ $", accepts_missing=False), 30.0))
    ax.figure.canvas.draw()
    assert "$\\alpha$ $ <= 30.00" in [text.get_text() for text in ax.texts]


def test_a_small_room_makes_small_letters() -> None:
    ensemble = one_tree(random_forest(3, categories=False))
    sizes = []
    for side in (2.0, 4.0):
        _, ax = pyplot.subplots(figsize=(side, side))
        assert plot_tree(ensemble, ax=ax) is ax
        sizes.append(ax.texts[-1].get_fontsize())
    assert sizes[0] < sizes[1]


def test_a_tree_without_splits() -> None:
    tree = DecisionTreeClassifier().fit([[1.0], [2.0]], ["same", "same"])
    assert [text.get_text() for text in plot_tree(tree).texts] == ["same (100%)"]


def test_margins_are_refused() -> None:
    model = GradientBoostingClassifier(n_estimators=2).fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(UnsupportedModelError, match="cannot make a drawing"):
        plot_tree(model)


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    ensemble: Ensemble = stump(Numeric(name="age"), 30.0)
    with pytest.raises(MissingDependencyError, match=r"fatt\[plot\]"):
        plot_tree(ensemble)
