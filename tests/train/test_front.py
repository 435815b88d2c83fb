"""The trees to choose from, and the hints that a tree gives."""

from __future__ import annotations

import numpy as np
import pytest

from fatt import FATTClassifier, hinted_cart
from fatt.errors import SpecError
from tests.train import town

X, Y = town.mixed()
TREE = FATTClassifier(town.SIMILARITY, random_state=0).fit(X, Y)


def test_the_answer_is_the_fittest_and_no_tree_of_the_front_is_useless() -> None:
    front = TREE.front_
    assert front.select().ensemble is TREE.ensemble_
    assert front.select().fitness == max(each.fitness for each in front)
    assert [each.fairness for each in front] == sorted(
        (each.fairness for each in front), reverse=True
    )
    for each in front:
        labels = each.ensemble.predict(X)
        assert len(np.unique(labels)) == 2
        assert np.mean(labels == Y) == each.accuracy


def test_choosing_another_tree() -> None:
    fair = TREE.front_.select(min_fairness=0.97)
    other = TREE.with_tree(fair)
    assert other.fairness_ == fair.fairness >= 0.97
    assert other.get_n_leaves() == fair.n_leaves
    assert TREE.ensemble_ is TREE.front_.select().ensemble
    assert TREE.front_.select(max_leaves=3).n_leaves <= 3
    right = TREE.front_.select(fairness_weight=0.0)
    assert right.balanced_accuracy == max(c.balanced_accuracy for c in TREE.front_)
    with pytest.raises(SpecError, match=r"none of the \d+ trees has fairness 1.5"):
        TREE.front_.select(min_fairness=1.5)
    with pytest.raises(SpecError, match="and 1 leaves at most; they reach fairness"):
        TREE.front_.select(max_leaves=1)


def test_the_figures_as_a_table() -> None:
    table = TREE.front_.to_frame()
    assert table.to_dict("list") == TREE.front_.to_dict()
    assert {"accuracy", "balanced_accuracy", "fairness", "gap", "n_leaves"} < set(table)
    assert (table["gap"] == 0).all()


def test_a_plot_shows_every_tree() -> None:
    figure = pytest.importorskip("matplotlib.figure").Figure()
    ax = TREE.front_.plot(figure.subplots())
    assert len(ax.collections[0].get_offsets()) == len(TREE.front_)
    assert "fairly" in ax.get_xlabel()
    assert f"{TREE.get_n_leaves()} leaves" in ax.texts[0].get_text()
    # The chosen one stands out, where it lies.
    (place,) = ax.collections[1].get_offsets()
    assert tuple(place) == (TREE.fairness_, TREE.balanced_accuracy_)


def test_a_plot_shows_what_trees_reach_on_people_held_out() -> None:
    figure = pytest.importorskip("matplotlib.figure").Figure()
    assert "held_out_fairness" not in TREE.front_.to_dict()
    tree = FATTClassifier(
        town.SIMILARITY, random_state=0, validation_fraction=0.3, max_iter=3
    ).fit(X, Y)
    ax = tree.front_.plot(figure.subplots())
    places = ax.collections[1].get_offsets()
    table = tree.front_.to_dict()
    held_out = table["held_out_fairness"], table["held_out_balanced_accuracy"]
    assert np.array_equal(places, np.transpose(held_out))
    # A line leads to each of them.
    ends = sorted(tuple(np.transpose(line.get_data())[1]) for line in ax.lines)
    assert ends == sorted(map(tuple, places.tolist()))


def test_representations_say_what_counts() -> None:
    assert repr(TREE.front_).startswith(f"<Front of {len(TREE.front_)} trees, fairness")
    assert "leaves: accuracy" in repr(TREE.front_[0])
    assert len(TREE.front_[1:3]) == 2


def test_hints_shape_a_cart_tree() -> None:
    numbers, y = town.plain()
    tree = FATTClassifier(
        town.Similarity(noise=0.2), max_iter=3, max_depth=3, random_state=0
    ).fit(numbers, y)
    cart = hinted_cart(tree.hints_, numbers, y, random_state=0)
    assert cart.get_depth() <= tree.get_depth() <= 3
    assert cart.min_samples_leaf == tree.hints_.min_samples_leaf >= 5
