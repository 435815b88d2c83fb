from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fatt
from fatt.ensemble import (
    Argmax,
    Categorical,
    Cut,
    Ensemble,
    Numeric,
    Scoring,
    Source,
    Trees,
)
from fatt.ensemble.file import from_bytes, to_bytes
from fatt.errors import (
    DataError,
    MalformedModelError,
    SpecError,
    UnsupportedModelError,
)
from tests import oracles
from tests.probes import same_bits
from tests.strategies import ensembles, random_ensemble, random_rows

SEEDS = st.integers(0, 2**32 - 1)


def stump(threshold: float = 0.5, **changes: object) -> Ensemble:
    """One split on one column: 0 to the left, 1 to the right."""
    parts = {
        "features": (Numeric(name="age"),),
        "classes": ("no", "yes"),
        "trees": Trees.lay_out(
            roots=[0],
            feature=[0, -1, -1],
            threshold=[threshold, 0, 0],
            left=[1, -1, -1],
            right=[2, -1, -1],
            missing_left=[True, False, False],
            leaf=[-1, 0, 1],
            values=np.array([0.0, 1.0]),
            targets=[0],
        ),
        "scoring": Scoring(dtype="float64", base=(0.0,)),
        "decision": Cut(at=0.5),
        "source": Source(library="by hand"),
    }
    return Ensemble(**{**parts, **changes})  # type: ignore[arg-type]


@settings(max_examples=150, deadline=None, derandomize=True)
@given(ensembles(), SEEDS)
def test_scores_are_those_of_the_slow_evaluator(ensemble: Ensemble, seed: int) -> None:
    rows = random_rows(ensemble, np.random.default_rng(seed), 20)
    expected = np.array([oracles.raw_scores(ensemble, row) for row in rows])
    assert same_bits(ensemble.raw_scores(np.array(rows, dtype=object)), expected)


@pytest.mark.parametrize("count", [1, 7, 8, 9, 64, 67])
def test_rows_score_alone_as_they_do_together(count: int) -> None:
    for seed in range(12):
        ensemble = random_ensemble(seed)
        rows = random_rows(ensemble, np.random.default_rng(seed), count)
        together = ensemble.raw_scores(np.array(rows, dtype=object))
        alone = [ensemble.raw_scores(np.array([row], dtype=object)) for row in rows]
        assert same_bits(together, np.concatenate(alone))


@settings(max_examples=100, deadline=None, derandomize=True)
@given(ensembles(), SEEDS)
def test_score_bounds_hold_every_order_of_summation(
    ensemble: Ensemble, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    rows = random_rows(ensemble, rng, 5)
    table = np.array(rows, dtype=object)
    lower, upper = ensemble.score_bounds(table)
    possible = ensemble.possible_labels(table)
    assert possible.any(axis=1).all()
    if ensemble.scoring.ordered:
        assert np.array_equal(lower, upper)
        assert (possible.sum(axis=1) == 1).all()
        return
    for _ in range(10):
        order = rng.permutation(len(ensemble.trees)).tolist()
        scores = np.array([oracles.raw_scores(ensemble, row, order) for row in rows])
        assert (lower <= scores).all()
        assert (scores <= upper).all()
        if isinstance(ensemble.decision, Argmax):
            labels = scores.argmax(axis=1)
        else:
            labels = (scores[:, 0] >= ensemble.decision.at).astype(int)
        assert possible[np.arange(len(rows)), labels].all()


def test_score_bounds_are_tight() -> None:
    ensemble = random_ensemble(7)
    loose = replace(
        ensemble,
        scoring=Scoring(dtype="float64", base=ensemble.scoring.base, ordered=False),
    )
    rows = np.array(random_rows(loose, np.random.default_rng(0), 50), dtype=object)
    lower, upper = loose.score_bounds(rows)
    assert (upper - lower).max() < 1e-12


@settings(max_examples=60, deadline=None, derandomize=True)
@given(ensembles())
def test_the_file_form_reads_back_equal(ensemble: Ensemble) -> None:
    data = to_bytes(ensemble)
    again = from_bytes(data)
    assert again == ensemble
    assert again.source == ensemble.source
    assert to_bytes(again) == data


def test_save_and_load(tmp_path: Path) -> None:
    ensemble = random_ensemble(1)
    ensemble.save(tmp_path / "model.fatt")
    assert fatt.load(tmp_path / "model.fatt").ensemble == ensemble
    assert [path.name for path in tmp_path.iterdir()] == ["model.fatt"]


@settings(max_examples=30, deadline=None, derandomize=True)
@given(ensembles())
def test_a_pickled_ensemble_is_equal_and_immutable(ensemble: Ensemble) -> None:
    again = pickle.loads(pickle.dumps(ensemble))
    assert again == ensemble
    with pytest.raises(ValueError, match="read-only"):
        again.trees.values[:] = 0


def test_a_damaged_file_is_refused() -> None:
    data = to_bytes(random_ensemble(1))
    for position in range(0, len(data), 37):
        broken = bytearray(data)
        broken[position] ^= 1
        with pytest.raises(MalformedModelError):
            from_bytes(bytes(broken))
    with pytest.raises(MalformedModelError, match="checksum"):
        from_bytes(data[:-1])


def test_the_digest_tells_functions_apart_and_ignores_the_source() -> None:
    ensemble = stump()
    assert ensemble == stump(source=Source(library="elsewhere"))
    assert hash(ensemble) == hash(stump())
    assert ensemble != stump(threshold=0.25)
    assert ensemble != stump(decision=Cut(at=0.75))
    assert ensemble != stump(classes=("no", "maybe"))
    assert ensemble != stump(features=(Numeric(name="years"),))


def test_the_digest_stays_the_same_between_releases() -> None:
    assert stump().digest == DIGEST


DIGEST = "1effc0b375e5b151d1dd5ddddd534880ab1bc01e0f71f951d533233be893eb05"


def test_the_order_of_nodes_and_unreachable_nodes_do_not_matter() -> None:
    shuffled = Trees.lay_out(
        roots=[3],
        feature=[-1, 0, -1, 0],
        threshold=[9, 9, 9, 0.5],
        left=[-1, 0, -1, 2],
        right=[-1, 2, -1, 0],
        missing_left=[True, True, True, True],
        leaf=[1, -1, 0, -1],
        values=np.array([0.0, 1.0]),
        targets=[0],
    )
    assert stump(trees=shuffled) == stump()


@pytest.mark.parametrize(
    ("left", "right", "message"),
    [
        ([1, -1, -1], [1, -1, -1], "reached twice"),
        ([0, -1, -1], [2, -1, -1], "reached twice"),
        ([1, -1, -1], [3, -1, -1], "index 3, outside the 3 nodes"),
        ([-1, -1, -1], [2, -1, -1], "index -1"),
    ],
)
def test_structures_that_are_no_trees_are_refused(
    left: list[int], right: list[int], message: str
) -> None:
    with pytest.raises(MalformedModelError, match=message):
        Trees.lay_out(
            roots=[0],
            feature=[0, -1, -1],
            threshold=[0, 0, 0],
            left=left,
            right=right,
            missing_left=[False] * 3,
            leaf=[0, 1, 2],
            values=np.zeros(3),
            targets=[0],
        )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"features": ()}, "beyond the 0"),
        ({"classes": ("one",)}, "a cut needs 2 classes"),
        ({"classes": ("one", "one")}, "label twice"),
        ({"decision": Cut(at=float("nan"))}, "not a number"),
        (
            {"scoring": Scoring(dtype="float64", base=(0.0, 0.0))},
            "a cut needs 1 output",
        ),
        ({"decision": Argmax()}, "1 outputs decide 2 classes"),
        ({"scoring": Scoring(dtype="float64", base=())}, "no output"),
        ({"scoring": Scoring(dtype="float64", base=(np.inf,))}, "base score"),
        ({"scoring": Scoring(dtype="float32", base=(0.1,))}, "more digits"),
        ({"scoring": Scoring(dtype="float64", base=(0.0,), divisor=0)}, "divisor"),
        ({"scoring": Scoring(dtype="float64", base=(1.7e308,))}, "overflow"),
        ({"threshold": float("nan")}, "threshold is not a number"),
    ],
)
def test_parts_that_do_not_fit_are_refused(
    changes: dict[str, object], message: str
) -> None:
    with pytest.raises(MalformedModelError, match=message):
        stump(**changes)  # type: ignore[arg-type]


def test_whole_numbers_that_no_file_holds_are_refused_as_they_are_sound() -> None:
    with pytest.raises(UnsupportedModelError, match=r"64 bits.*as texts"):
        stump(classes=("one", 2**70))


def test_arrays_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        stump().trees.values[0] = 3


def test_hard_votes_count_trees_and_ties_go_to_the_last_class() -> None:
    leaves = np.array([[0.9, 0.1], [0.4, 0.6]])
    trees = Trees.lay_out(
        roots=[0, 1],
        feature=[-1, -1],
        threshold=[0, 0],
        left=[-1, -1],
        right=[-1, -1],
        missing_left=[False, False],
        leaf=[0, 1],
        values=leaves,
        targets=[-1, -1],
    )
    soft = stump(
        trees=trees,
        scoring=Scoring(dtype="float64", base=(0.0, 0.0), divisor=2.0),
        decision=Argmax(),
    )
    assert soft.predict([[0.0]]).tolist() == ["no"]
    assert soft.hard_votes().predict([[0.0]]).tolist() == ["yes"]
    with pytest.raises(SpecError, match="hard voting"):
        stump().hard_votes()


def test_rows_of_no_people_get_no_labels() -> None:
    assert stump().predict(np.empty((0, 1))).shape == (0,)


def test_a_wrong_number_of_columns_is_named() -> None:
    with pytest.raises(DataError, match="3 columns and the model reads 1"):
        stump().predict(np.zeros((2, 3)))


@pytest.mark.parametrize(
    ("field", "node", "junk"),
    [
        ("leaf", 0, 7),
        ("left", 1, 7),
        ("subset", 1, 7),
        ("missing_left", 0, 9),
        ("missing_left", 2, 1),
        ("threshold", 1, 3.0),
        ("threshold", 1, -0.0),
    ],
)
def test_equal_functions_have_equal_bytes(field: str, node: int, junk: float) -> None:
    ensemble = stump()
    nodes = ensemble.trees.nodes.copy()
    nodes[field][node] = junk
    with pytest.raises(MalformedModelError):
        replace(ensemble, trees=replace(ensemble.trees, nodes=nodes))


def test_sets_have_no_members_beyond_the_codes() -> None:
    feature = Categorical(name="sex", categories=("F", "M"))
    trees = Trees.lay_out(
        roots=[0],
        feature=[0, -1, -1],
        threshold=[0.0] * 3,
        left=[1, -1, -1],
        right=[2, -1, -1],
        missing_left=[False] * 3,
        leaf=[-1, 0, 1],
        values=np.array([0.0, 1.0]),
        targets=[0],
        subset=[0, -1, -1],
        sets=[np.array([True, False, True])],
    )
    ensemble = stump(features=(feature,), trees=trees)
    rows = np.array([["F"], ["M"], ["X"]], dtype=object)
    assert ensemble.raw_scores(rows).tolist() == [[0.0], [1.0], [0.0]]
    words = trees.words | np.uint64(8)
    with pytest.raises(MalformedModelError, match="more members"):
        replace(ensemble, trees=replace(trees, words=words))


@pytest.mark.parametrize(
    "classes", [("a\0", "a"), (2**63, -1), (2**53 + 1, 0.5), (True, 2), (5, 2**63 + 1)]
)
def test_labels_come_out_as_they_are(classes: tuple[object, ...]) -> None:
    found = stump(classes=classes).predict([[0.0], [1.0]]).tolist()
    assert found == list(classes)
    assert [type(label) for label in found] == [type(label) for label in classes]


def test_features_beyond_the_size_of_a_node_are_refused() -> None:
    with pytest.raises(MalformedModelError, match="2147483647"):
        Trees.lay_out(
            roots=[0],
            feature=[2**32, -1, -1],
            threshold=[0.0] * 3,
            left=[1, -1, -1],
            right=[2, -1, -1],
            missing_left=[False] * 3,
            leaf=[-1, 0, 1],
            values=np.zeros(2),
            targets=[0],
        )


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"classes": ("no", "y\udfff")}, "a class is called"),
        ({"features": (Numeric(name="\ud800age"),)}, "a feature is called"),
        (
            {
                "features": (
                    Categorical(name="age", categories=("M\ud83d\ude00\udbff",)),
                )
            },
            "a category of 'age' is called",
        ),
    ],
)
def test_what_no_file_can_hold_is_refused_at_once(
    changes: dict[str, object], what: str
) -> None:
    with pytest.raises(MalformedModelError, match=f"{what} .* half a surrogate pair"):
        stump(**changes)
    assert stump(classes=("no", "\U0001f600"))
