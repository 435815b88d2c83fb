from __future__ import annotations

import shutil
import subprocess
import xml.etree.ElementTree as ET
from typing import Any

import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from fatt.ensemble import Categorical, Feature, Numeric
from fatt.errors import UnsupportedModelError
from fatt.export import export_graphviz, export_text
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
def test_what_one_sees_is_what_the_text_says() -> None:
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


def test_margins_are_refused() -> None:
    model = GradientBoostingClassifier(n_estimators=2).fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(UnsupportedModelError, match="cannot make a drawing"):
        export_graphviz(model)
