"""Drawings of trees."""

from __future__ import annotations

import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import Any

import matplotlib as mpl
import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.transforms import Bbox
from sklearn.datasets import load_iris
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from fatt.ensemble import Categorical, Ensemble, Feature, Numeric
from fatt.errors import MissingDependencyError, UnsupportedModelError
from fatt.export import export_graphviz, export_text, plot_tree
from tests.export.forests import one_tree, random_forest, stump
from tests.export.reader import said

SVG = "{http://www.w3.org/2000/svg}"

needs_dot = pytest.mark.skipif(
    shutil.which("dot") is None, reason="Graphviz's program dot is not installed"
)


def drawn(source: str) -> dict[str, list[str]]:
    """Let Graphviz draw, and return the texts that one sees, by kind of object."""
    done = subprocess.run(
        ["dot", "-Tsvg"], input=source, capture_output=True, text=True, check=True
    )
    assert not done.stderr
    seen: dict[str, list[str]] = {"node": [], "edge": [], "cluster": []}
    for group in ET.fromstring(done.stdout).iter(f"{SVG}g"):
        if group.get("class") in seen:
            lines = [text.text or "" for text in group.iter(f"{SVG}text")]
            seen[group.get("class", "")].append(" ".join(lines))
    return seen


@needs_dot
@pytest.mark.parametrize("seed", range(4))
def test_all_nodes_of_random_forests_are_drawn(seed: int) -> None:
    ensemble = random_forest(seed, categories=True)
    seen = drawn(export_graphviz(ensemble))
    nodes = ensemble.trees.nodes
    assert len(seen["node"]) == len(nodes)
    n_splits = int((nodes["feature"] >= 0).sum())
    assert sorted(seen["edge"]) == ["no"] * n_splits + ["yes"] * n_splits
    n_trees = len(ensemble.trees)
    numbers = range(1, n_trees + 1) if n_trees > 1 else ()
    assert seen["cluster"] == [f"tree {number}" for number in numbers]


@needs_dot
def test_what_one_sees_is_what_the_text_says_in_dot() -> None:
    ensemble = one_tree(random_forest(3, categories=False))
    seen = drawn(export_graphviz(ensemble))["node"]
    questions, leaves = said(export_text(ensemble))
    assert sorted(seen) == sorted(questions + leaves)


NASTY = 'a"]; x [label="b\\n\\N &lt; <b>{c|d} é'


@needs_dot
@pytest.mark.parametrize(
    ("feature", "split", "question"),
    [
        (Numeric(name=NASTY, accepts_missing=False), 1.0, f"{NASTY} <= 1.00"),
        (
            Categorical(name="job", categories=(NASTY, "\\"), accepts_missing=False),
            [True, False, False],
            f"job is {NASTY}",
        ),
        # Line breaks and other control characters are spelled out.
        (
            Numeric(name="a\n└── x\0\u202e", accepts_missing=False),
            1.0,
            r"a\n└── x\x00\u202e <= 1.00",
        ),
    ],
)
def test_names_cannot_become_instructions(
    feature: Feature, split: Any, question: str
) -> None:
    ensemble = stump(feature, split)
    seen = drawn(export_graphviz(ensemble))
    assert sorted(seen["node"]) == sorted(["approve (90%)", "deny (80%)", question])
    assert export_text(ensemble).splitlines()[0] == f"├── {question} → deny (80%)"


def test_classes_have_their_colours() -> None:
    X, y = load_iris(return_X_y=True)
    tree = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0).fit(X, y)
    source = export_graphviz(tree)
    for text, colour in (
        ("0 (100%)", "#e69f00"),
        ("1 (98%)", "#5ab6ea"),
        ("2 (98%)", "#07a177"),
    ):
        assert f'[label="{text}", fillcolor="{colour}"]' in source


def test_whatever_can_be_loaded_can_be_drawn() -> None:
    forest = RandomForestClassifier(2, random_state=0).fit([[1.0], [2.0]], [0, 1])
    assert export_graphviz(forest).count("subgraph") == 2


def test_margins_are_refused_in_dot() -> None:
    model = GradientBoostingClassifier(n_estimators=2).fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(UnsupportedModelError, match="cannot make a drawing"):
        export_graphviz(model)


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
