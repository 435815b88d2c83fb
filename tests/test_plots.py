"""Drawings: into given axes, in no style."""

from __future__ import annotations

from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")
import matplotlib.pyplot as plt
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt import Budget, FATTClassifier, Similarity, plots
from tests.report import made

X = np.random.default_rng(0).random((60, 2))
Y = (X[:, 0] > 0.5).astype(int)
SIMILARITY = Similarity(noise={"x0": 0.1})


@pytest.fixture(autouse=True)
def _closed() -> object:
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def tree() -> DecisionTreeClassifier:
    return DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, Y)


def test_a_report_is_drawn_as_bars_that_add_up() -> None:
    report = made.report()
    ax = plt.subplots()[1]
    assert report.plot("sex", ax=ax) is ax
    widths = np.array([bar.get_width() for bar in ax.patches]).reshape(3, 2)
    assert np.allclose(widths.sum(axis=0), 1)
    assert np.allclose(widths[0], [0.5, 0])
    assert [text.get_text() for text in ax.get_yticklabels()] == ["F  (2)", "M  (3)"]
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == ["fair", "unfair", "unknown"]
    whole = report.plot()
    assert [text.get_text() for text in whole.get_yticklabels()] == ["everybody  (5)"]
    assert whole is not ax


def test_long_names_of_groups_are_not_cut() -> None:
    towns = ["a town with quite a long name", "b"] + ["another town"] * 3
    ax = made.report().plot({"town": towns})
    ax.figure.canvas.draw()
    texts = [*ax.get_yticklabels(), *ax.get_legend().get_texts()]
    assert texts[0].get_text() == f"{towns[0]}  (1)"
    boxes = [text.get_window_extent() for text in texts]
    assert min(box.x0 for box in boxes) >= 0
    assert max(box.x1 for box in boxes) <= ax.figure.bbox.x1


def test_a_style_goes_on_to_matplotlib() -> None:
    before = dict(mpl.rcParams)
    counts = [{"fair": 2, "unfair": 1, "unknown": 0}]
    ax = plots.groups(["all"], counts, alpha=0.25)
    assert {bar.get_alpha() for bar in ax.patches} == {0.25}
    some = plots.gaps(np.zeros(3), np.ones(3), color="black")
    assert some.lines[0].get_color() == "black"
    assert dict(mpl.rcParams) == before


def test_gaps_are_drawn_as_shares(tree: DecisionTreeClassifier) -> None:
    gaps = fatt.score_gap(tree, X, similarity=SIMILARITY)
    [line] = gaps.plot().lines
    at, share = line.get_data()
    for place, height in zip(at, share, strict=True):
        assert height == pytest.approx(np.mean(gaps.upper <= place))
    # Bounds that differ in the last bit are drawn as one line.
    nearly = replace(gaps, upper=np.nextafter(gaps.upper, np.inf))
    assert len(nearly.plot().lines) == 1


def test_radii_are_drawn_as_shares(tree: DecisionTreeClassifier) -> None:
    radii = fatt.radius(tree, X, similarity=SIMILARITY, budget=Budget(nodes=1))
    line, *_ = radii.plot().lines
    for multiple, height in zip(*line.get_data(), strict=True):
        assert height == pytest.approx(radii.fair_at(multiple).lower)
    assert radii.plot().get_xlabel() == "multiple of the noise"
    table = radii.to_frame()
    assert np.array_equal(table["lower"], radii.lower)


def test_a_front_is_drawn() -> None:
    model = FATTClassifier(SIMILARITY, random_state=0).fit(X, Y)
    ax = plt.subplots()[1]
    assert model.front_.plot(ax) is ax
    styled = model.front_.plot(alpha=0.25)
    assert styled.collections[0].get_alpha() == 0.25
    # What is written about the chosen tree stands within the axes.
    styled.figure.canvas.draw()
    [word] = styled.texts
    inside, written = styled.bbox, word.get_window_extent()
    assert inside.x0 < written.x0
    assert written.x1 < inside.x1


def test_gaps_as_a_table(tree: DecisionTreeClassifier) -> None:
    gaps = fatt.score_gap(tree, X, similarity=SIMILARITY)
    table = gaps.to_frame()
    moved = next(gap for gap in gaps if gap.changes)
    row = table.iloc[moved.index]
    assert row["changes"] == ", ".join(f"{k} {v}" for k, v in moved.changes.items())
    assert (row["before"], row["after"]) == (moved.before, moved.after)
    assert np.array_equal(table["upper"], gaps.upper)
