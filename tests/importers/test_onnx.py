"""ONNX graphs answer what onnxruntime answers, bit for bit, or are refused."""

from __future__ import annotations

import itertools
import sys
import time
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

import fatt
from fatt import Similarity
from fatt.ensemble import Categorical, Ensemble
from fatt.errors import (
    CertificateError,
    DataError,
    FattError,
    MalformedModelError,
    MissingDependencyError,
    SpecError,
    UnsupportedModelError,
)
from fatt.region import Integer
from tests.certificate.forgery import Draft
from tests.probes import probe_rows, same_bits

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from tests.importers.onnx_builder import (  # noqa: E402
    Leaf,
    Split,
    classifier,
    ensemble,
    graph,
    regressor,
)

pytestmark = pytest.mark.onnx

MANY = settings(max_examples=60, deadline=None, derandomize=True)
FEW = settings(max_examples=12, deadline=None, derandomize=True)
DTYPES = {1: np.float32, 6: np.int32, 7: np.int64, 11: np.float64}
UNKNOWN = "no such label"


def run(model: Any, feed: dict[str, Any], threads: int = 1) -> list[Any]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    answers: list[Any] = session.run(None, feed)
    return answers


def feed_of(model: Any, read: Ensemble, rows: NDArray[np.float64]) -> dict[str, Any]:
    """Cast probe rows to the inputs' types; codes of categories become labels."""
    feed, start = {}, 0
    for item in model.graph.input:
        tensor = item.type.tensor_type
        width = tensor.shape.dim[1].dim_value
        cells = rows[:, start : start + width]
        if tensor.elem_type == TensorProto.STRING:
            feed[item.name] = labels_of(read, start, cells[:, 0])[:, np.newaxis]
        else:
            with np.errstate(over="ignore"):
                feed[item.name] = cells.astype(DTYPES[tensor.elem_type])
        start += width
    return feed


def labels_of(read: Ensemble, index: int, codes: NDArray[np.float64]) -> NDArray[Any]:
    feature = read.features[index]
    assert isinstance(feature, Categorical)
    names = [*feature.categories, UNKNOWN]
    return np.array([names[int(code)] for code in codes], dtype=object)


def table_of(read: Ensemble, rows: NDArray[np.float64]) -> NDArray[Any]:
    table = rows.astype(object)
    for index, feature in enumerate(read.features):
        if isinstance(feature, Categorical):
            table[:, index] = labels_of(read, index, rows[:, index])
    return table


def probes(read: Ensemble, seed: int = 0, n_rows: int = 150) -> NDArray[np.float64]:
    with np.errstate(over="ignore"):
        return probe_rows(read, np.random.default_rng(seed), n_rows)


def agrees(model: Any, read: Ensemble, *, scores: bool = True, **kwargs: Any) -> None:
    """Compare labels, and the scores where the second output holds them."""
    rows = probes(read, **kwargs)
    for index, item in enumerate(model.graph.input):
        if item.type.tensor_type.elem_type == TensorProto.INT64:
            rows[:, index] = np.round(np.clip(rows[:, index], -1e9, 1e9))
    labels, given_scores = run(model, feed_of(model, read, rows))[:2]
    table = table_of(read, rows)
    assert np.array_equal(np.ravel(labels), read.predict(table))
    if scores:
        raw = read.raw_scores(table)
        given_scores = given_scores.reshape(len(rows), -1)
        if raw.shape[1] < given_scores.shape[1]:
            # Two classes, one score: it is in the second column.
            given_scores = np.ascontiguousarray(given_scores[:, 1:])
        # The operator hands out float32 even if it adds in float64.
        assert same_bits(raw.astype(given_scores.dtype) + 0, given_scores + 0)


# Trees built by hand.

NUMBERS = [0.0, 1.0, 2.0, 0.1, 1.5, -3.0, 1e-40, 3.3e38, float("inf"), 30.0, -0.0]
PLAIN_MODES = ("LEQ", "LT", "GTE", "GT", "EQ", "NEQ")


@st.composite
def trees(draw: Any, modes: tuple[str, ...], leaves: Any, depth: int) -> Any:
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return draw(leaves)
    mode = draw(st.sampled_from(modes))
    value: Any = float(np.float32(draw(st.sampled_from(NUMBERS))))
    return Split(
        mode,
        draw(st.integers(0, 1)),
        value,
        draw(trees(modes, leaves, depth - 1)),
        draw(trees(modes, leaves, depth - 1)),
        draw(st.sampled_from([0, 0, 1])),
    )


def weights(*numbers: float) -> Any:
    return st.sampled_from([float(np.float32(number)) for number in numbers])


@st.composite
def leaves(draw: Any, layout: str, n_classes: int, numbers: Any) -> Leaf:
    if layout in ("first", "second"):
        return Leaf([(int(layout == "second"), draw(numbers))])
    if layout == "one":
        return Leaf([(draw(st.integers(0, n_classes - 1)), draw(numbers))])
    chosen = range(n_classes)
    if layout == "some":
        chosen = [c for c in chosen if draw(st.integers(0, 3))] or [0]
    return Leaf([(c, draw(numbers)) for c in chosen])


MODE_SETS = st.sampled_from([PLAIN_MODES, ("LEQ",), ("LT",), ("EQ",), ("GT", "GTE")])


@MANY
@given(data=st.data())
def test_classifiers_of_every_layout_agree(data: Any) -> None:
    n_classes = data.draw(st.integers(2, 4))
    layout = data.draw(st.sampled_from(["first", "second", "all", "one", "some"]))
    numbers = data.draw(
        st.sampled_from(
            [weights(0.5, 0.25, 0), weights(-0.5, 0.1, 0), weights(0.1, 0.7)]
        )
    )
    tree = trees(data.draw(MODE_SETS), leaves(layout, n_classes, numbers), 3)
    base = data.draw(st.sampled_from([None, 1, n_classes]))
    if base == 1 and n_classes > 2:
        base = None
    double = data.draw(st.booleans())
    model = classifier(
        data.draw(st.lists(tree, min_size=1, max_size=4)),
        data.draw(st.sampled_from([[3, 7, 9, 8], list("abcd"), [0, 1, 2, 3]]))[
            :n_classes
        ],
        base=base and [0.25, 0.1, -0.5, 0.7][:base],
        double=double,
    )
    try:
        read = fatt.load(model).ensemble
    except UnsupportedModelError:
        assume(False)
    first_column = layout == "first" and n_classes == 2 and base == 2
    complete = len(read.classes) == n_classes
    agrees(model, read, scores=complete and not first_column, n_rows=100)


@MANY
@given(data=st.data())
def test_the_new_operator_agrees_in_every_mode(data: Any) -> None:
    n_targets = data.draw(st.integers(1, 3))
    leaf = leaves("one", n_targets, weights(0.5, 0.25, -0.5, 0.1, 0.7, 0))
    modes = data.draw(st.sampled_from([PLAIN_MODES, ("EQ",), ("LT",)]))
    tree = trees(modes, leaf, 3).filter(lambda node: isinstance(node, Split))
    model = ensemble(
        data.draw(st.lists(tree, min_size=1, max_size=4)),
        n_targets,
        double=data.draw(st.booleans()),
        average=data.draw(st.booleans()),
        # onnxruntime leaves these functions out if there is one target.
        transform=data.draw(st.integers(0, 3)) if n_targets == 1 else 0,
        cut=data.draw(st.sampled_from([0.0, 0.5, 0.25])),
    )
    try:
        read = fatt.load(model).ensemble
    except UnsupportedModelError:
        assume(False)
    agrees(model, read, n_rows=100)


@FEW
@given(data=st.data())
def test_regressors_with_a_label_rule_agree(data: Any) -> None:
    n_targets = data.draw(st.integers(1, 3))
    leaf = leaves("all", n_targets, weights(0.5, 0.25, -0.5, 0.1, 0))
    average = data.draw(st.booleans())
    model = regressor(
        data.draw(st.lists(trees(("LEQ", "GT"), leaf, 2), min_size=1, max_size=4)),
        n_targets,
        cut=0.25,
        aggregate_function="AVERAGE" if average else "SUM",
        **({} if average else {"base_values": [0.1, 0.2, 0.3][:n_targets]}),
    )
    agrees(model, fatt.load(model).ensemble)


def stump(no: list[tuple[int, float]], yes: list[tuple[int, float]]) -> Split:
    return Split("GT", 0, 0.5, Leaf(yes), Leaf(no))


@pytest.mark.parametrize(
    ("no", "yes", "base", "at", "classes"),
    [
        ([(0, 0.3)], [(0, 0.75)], None, 0.5, (3, 7)),
        ([(0, -0.3)], [(0, 0.75)], None, 0.0, (3, 7)),
        ([(1, 0.5)], [(1, 0.75)], [9.0], 0.5, (3, 7)),
        ([(0, 0.25)], [(0, 0.5)], [0.25, 8.0], 0.5, (3, 7)),
        ([(0, 0.3), (1, 0.0)], [(0, 0.5), (1, 0.5)], None, 0.0, (0, 1)),
        ([(0, -0.3), (1, 0.0)], [(0, 0.5), (1, 0.5)], [9.0, 0.25], 0.0, (0, 1)),
    ],
)
def test_the_cut_and_the_labels_of_two_classes(
    no: Any, yes: Any, base: Any, at: float, classes: tuple[int, int]
) -> None:
    model = classifier([stump(no, yes)], [3, 7], base=base)
    read = fatt.load(model).ensemble
    assert read.decision.at == np.nextafter(np.float32(at), np.float32(1))  # type: ignore[union-attr]
    assert read.classes == classes
    agrees(model, read, scores=False)


@pytest.mark.parametrize("transform", ["SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"])
def test_the_label_of_a_classifier_ignores_its_post_transform(transform: str) -> None:
    rows = [[(0, 0.5), (1, 0.25), (2, 0.5)], [(0, 0.1), (1, 0.3), (2, 0.30000001)]]
    model = classifier([stump(*rows)], [0, 1, 2], transform=transform)
    read = fatt.load(model).ensemble
    agrees(model, read, scores=False)
    assert read == fatt.load(classifier([stump(*rows)], [0, 1, 2])).ensemble


@MANY
@given(data=st.data())
def test_probabilities_of_two_classes(data: Any) -> None:
    """They are onnxruntime's to the last bit, and so is every cut of them."""
    layout = data.draw(st.sampled_from(["first", "second", "all"]))
    numbers = data.draw(
        st.sampled_from(
            [weights(0.5, 0.25, 0), weights(-3.5, 0.1, 2.7, 0), weights(-0.1, -0.7)]
        )
    )
    tree = trees(("LEQ", "GT"), leaves(layout, 2, numbers), 3)
    base = data.draw(st.sampled_from([None, [0.25], [0.25, -0.1]]))
    transform = data.draw(st.sampled_from(["NONE", "LOGISTIC", "LOGISTIC", "SOFTMAX"]))
    proto = classifier(
        data.draw(st.lists(tree, min_size=1, max_size=3)),
        ["no", "yes"],
        base=base,
        transform=transform,
        double=data.draw(st.integers(0, 5)) == 5,
    )
    try:
        model = fatt.load(proto)
    except UnsupportedModelError:
        assume(False)
    link = model.ensemble.link
    rows = probes(model.ensemble, n_rows=60)
    given_numbers = run(proto, feed_of(proto, model.ensemble, rows))[1]
    if link is None:
        assert (
            transform == "SOFTMAX"
            or model.ensemble.scoring.dtype == "float64"
            or (len(base or ()) == 2)
        )
        return
    second = given_numbers[:, 1]
    assert same_bits(link(model.raw_scores(rows))[:, 0] + 0, second + 0)
    if link.other != "unknown":
        assert same_bits(model.predict_proba(rows) + 0, given_numbers + 0)
        assert same_bits(model.ask_proba(rows) + 0, given_numbers + 0)
    for place, label in enumerate(("no", "yes")):
        limit = float(data.draw(st.sampled_from(given_numbers[:, place].tolist())))
        if not 0 <= limit <= 1:
            continue
        if place == 0 and link.other == "unknown":
            with pytest.raises(SpecError, match="first class is made of other leaves"):
                model.deciding(threshold=limit, pos_label=model.classes[0])
            continue
        cut = model.deciding(threshold=limit, pos_label=model.classes[place])
        reached = given_numbers[:, place] >= np.float32(limit)
        assert np.array_equal(cut.predict(rows) == cut.classes[place], reached), label
        assert cut.ask(rows) == cut.predict(rows).tolist()


@pytest.mark.parametrize("kind", range(7))
def test_cut_offs_of_what_skl2onnx_writes(kind: int, tmp_path: Any) -> None:
    from skl2onnx import to_onnx

    rows, labels = draw_data(1, 2)
    fitted = sklearn_model(kind, 0).fit(rows, labels)
    proto = to_onnx(fitted, rows[:1])
    (tmp_path / "model.onnx").write_bytes(proto.SerializeToString())
    model = fatt.load(tmp_path / "model.onnx")
    given_numbers = np.concatenate([model.ask_proba(row[np.newaxis]) for row in rows])
    if model.ensemble.link is None:
        # Bags are graphs of many operators, and what comes out is not followed.
        with pytest.raises(SpecError, match="as a function of one score alone"):
            fatt.load(tmp_path / "model.onnx", threshold=0.3)
        assert kind in (5, 6)
        return
    for limit in np.unique(given_numbers[:, 1])[[0, -2, -1]].tolist():
        cut = fatt.load(tmp_path / "model.onnx", threshold=limit)
        possible = cut.possible_labels(rows)
        reached = (given_numbers[:, 1] >= np.float32(limit)).astype(int)
        assert possible[np.arange(len(rows)), reached].all()
        if model.ensemble.scoring.ordered:
            assert cut.predict(rows).tolist() == cut.ask(rows) == reached.tolist()
    with pytest.raises(SpecError, match="hands out no scores"):
        fatt.load(tmp_path / "model.onnx", threshold=0.3, cut_on="score")


def numbers_alone(model: Any) -> Any:
    """Return a copy without the label and what makes it."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    del copy.graph.node[1:]
    del copy.graph.output[0]
    return copy


@FEW
@given(data=st.data())
def test_numbers_of_regressors_agree(data: Any) -> None:
    leaf = leaves("all", 1, weights(0.5, 0.25, -0.5, 0.1, 0))
    average = data.draw(st.booleans())
    is_new = data.draw(st.booleans())
    tree = trees(("LEQ", "GT"), leaf, 3).filter(lambda node: isinstance(node, Split))
    built = data.draw(st.lists(tree, min_size=1, max_size=5))
    if is_new:
        proto = ensemble(built, 1, average=average, double=data.draw(st.booleans()))
    else:
        aggregate = "AVERAGE" if average else "SUM"
        more = {} if average else {"base_values": [0.1]}
        proto = regressor(built, 1, aggregate_function=aggregate, **more)
    numbers = numbers_alone(proto)
    model = fatt.load(numbers)
    assert not model.classes
    rows = probes(model.ensemble, n_rows=60)
    feed = feed_of(numbers, model.ensemble, rows)
    lower, upper = model.ensemble.prediction_bounds(rows)
    for threads in (1, 2):
        found = np.ravel(run(numbers, feed, threads)[0])
        assert np.all((lower <= found) & (found <= upper))
        if model.ensemble.scoring.ordered:
            assert same_bits(model.predict(rows) + 0, found + 0)
    assert (
        model.ask(rows[:1])
        == np.ravel(
            run(numbers, {name: part[:1] for name, part in feed.items()})[0]
        ).tolist()
    )


@pytest.mark.parametrize(
    "trees_and_base",
    [
        ([stump([(0, 0.5)], [(1, 0.5)])], None),
        ([stump([(1, 0.5)], [(1, 0.7)])], [0.1, 0.2]),
        ([stump([], [(0, 0.7)])], [0.6]),
    ],
)
def test_a_label_rule_that_depends_on_the_row_is_refused(trees_and_base: Any) -> None:
    built, base = trees_and_base
    with pytest.raises(UnsupportedModelError, match="without weights"):
        fatt.load(classifier(built, [0, 1], base=base))


def test_equalities_that_onnxruntime_folds_wrongly_are_refused() -> None:
    def leaf(second: float) -> Leaf:
        return Leaf([(0, 2.0), (1, second), (2, 1.0)])

    chain = Split("EQ", 0, 3.0, leaf(1), Split("EQ", 0, 1.0, leaf(2), leaf(3)))
    model = classifier([chain], [0, 1, 2])
    answers = run(model, {"X": np.array([[1, 0]], dtype=np.float32)})
    with pytest.raises(UnsupportedModelError, match="look alike"):
        fatt.load(model)
    # Remove the refusal once onnxruntime answers the second leaf here.
    assert answers[1].tolist() == [[2.0, 1.0, 1.0]]


def test_sets_are_refused() -> None:
    yes, no = Leaf([(0, 1.0)]), Leaf([(0, -1.0)])
    model = ensemble([Split("MEMBER", 0, 0.0, yes, no)], 1)
    with pytest.raises(UnsupportedModelError, match="mode 6; fatt reads 0 to 5"):
        fatt.load(model)
    values = numpy_helper.from_array(np.array([1, np.nan], np.float32), "values")
    [node, *_] = model.graph.node
    node.attribute.append(helper.make_attribute("membership_values", values))
    with pytest.raises(UnsupportedModelError, match="'membership_values' is not"):
        fatt.load(model)


def test_the_order_of_the_sum_is_fixed_up_to_three_trees() -> None:
    rng = np.random.default_rng(0)

    def tree() -> Split:
        low, high = rng.normal(size=2).astype(np.float32).tolist()
        return stump([(0, low)], [(0, high)])

    rows = rng.normal(size=(2000, 2)).astype(np.float32)
    for n_trees, ordered in ((3, True), (4, False), (40, False)):
        model = classifier([tree() for _ in range(n_trees)], [0, 1])
        read = fatt.load(model).ensemble
        assert read.scoring.ordered == ordered
        assert bool(read.source.notes[1:]) != ordered
        lower, upper = read.score_bounds(rows)
        one, two, three = (run(model, {"X": rows}, threads=t)[1] for t in (1, 2, 3))
        assert same_bits(one[:, 1], read.raw_scores(rows)[:, 0])
        for scores in (two, three):
            assert np.all((lower[:, 0] <= scores[:, 1]) & (scores[:, 1] <= upper[:, 0]))
            assert not ordered or same_bits(one, scores)


# Graphs that converters write.


def draw_data(seed: int, n_classes: int) -> tuple[NDArray[Any], NDArray[Any]]:
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 5, (60, 3)).astype(np.float32) / 3
    labels = (rows[:, 0] * 3 + rng.integers(0, 3, 60)).astype(int) % n_classes
    labels[:n_classes] = np.arange(n_classes)
    return rows, labels


def sklearn_model(kind: int, seed: int) -> Any:
    from sklearn import ensemble as forests
    from sklearn import tree

    small: dict[str, Any] = {"max_depth": 3, "random_state": seed}
    stumps = tree.DecisionTreeClassifier(max_depth=2)
    return [
        lambda: tree.DecisionTreeClassifier(**small),
        lambda: tree.ExtraTreeClassifier(**small),
        lambda: forests.RandomForestClassifier(5, **small),
        lambda: forests.ExtraTreesClassifier(4, **small),
        lambda: forests.GradientBoostingClassifier(n_estimators=4, **small),
        lambda: forests.BaggingClassifier(stumps, 5, random_state=seed),
        lambda: forests.BaggingClassifier(stumps, 3, max_features=2, random_state=seed),
    ][kind]()


def without_transform(model: Any) -> Any:
    """Return a copy whose scores are raw, and the names of its outputs in order."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for node in copy.graph.node:
        for attribute in node.attribute:
            if attribute.name == "post_transform":
                attribute.s = b"NONE"
    return copy


@FEW
@given(
    seed=st.integers(0, 99),
    n_classes=st.integers(2, 3),
    kind=st.integers(0, 6),
    text=st.booleans(),
)
def test_what_skl2onnx_writes_agrees(
    seed: int, n_classes: int, kind: int, text: bool
) -> None:
    from skl2onnx import to_onnx

    rows, labels = draw_data(seed, n_classes)
    named = np.array(["no", "yes", "perhaps"])[labels] if text else labels * 2 + 3
    fitted = sklearn_model(kind, seed).fit(rows, named)
    model = to_onnx(fitted, rows[:1], options={"zipmap": False})
    read = fatt.load(without_transform(model)).ensemble
    assert read == fatt.load(model).ensemble
    agrees(without_transform(model), read)
    agrees(model, read, scores=False)
    zipped = to_onnx(fitted, rows[:1])
    assert fatt.load(zipped).ensemble == read


def test_doubles_are_compared_and_added_as_doubles() -> None:
    from skl2onnx import to_onnx

    rows, labels = draw_data(0, 2)
    fitted = sklearn_model(2, 0).fit(rows, labels)
    model = to_onnx(fitted, rows[:1].astype(np.float64), options={"zipmap": False})
    read = fatt.load(model).ensemble
    assert read.scoring.dtype == "float64"
    agrees(model, read)


@pytest.mark.xgboost
@FEW
@given(seed=st.integers(0, 99), n_classes=st.integers(2, 3))
def test_what_onnxmltools_writes_for_xgboost_agrees(seed: int, n_classes: int) -> None:
    import xgboost
    from onnxmltools.convert import convert_xgboost
    from onnxmltools.convert.common.data_types import FloatTensorType

    rows, labels = draw_data(seed, n_classes)
    rows[::7, seed % 3] = np.nan
    fitted = xgboost.XGBClassifier(n_estimators=3, max_depth=3, n_jobs=1)
    fitted.fit(rows, labels)
    model = convert_xgboost(fitted, initial_types=[("x", FloatTensorType([None, 3]))])
    model = without_transform(model)
    agrees(model, fatt.load(model).ensemble, seed=seed)


@pytest.mark.lightgbm
@FEW
@given(seed=st.integers(0, 99), n_classes=st.integers(2, 3), categorical=st.booleans())
def test_what_onnxmltools_writes_for_lightgbm_agrees(
    seed: int, n_classes: int, categorical: bool
) -> None:
    import lightgbm
    from onnxmltools.convert import convert_lightgbm
    from onnxmltools.convert.common.data_types import FloatTensorType

    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 9, (120, 2)).astype(np.float64)
    labels = (rows[:, 0] * 7 % 5 + rows[:, 1]).astype(int) % n_classes
    fitted = lightgbm.LGBMClassifier(
        n_estimators=3,
        num_leaves=6,
        min_child_samples=1,
        min_data_per_group=1,
        cat_smooth=0,
        cat_l2=0,
        max_cat_to_onehot=1,
        n_jobs=1,
        verbose=-1,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted.fit(rows, labels, categorical_feature=[0] if categorical else "auto")
        model = convert_lightgbm(
            fitted, initial_types=[("x", FloatTensorType([None, 2]))], zipmap=False
        )
    model = without_transform(model)
    try:
        read = fatt.load(model).ensemble
    except UnsupportedModelError as refusal:
        assert categorical
        assert "look alike" in str(refusal)  # noqa: PT017
        return
    agrees(model, read, seed=seed)


@pytest.mark.parametrize("scaled", [False, True])
def test_a_graph_that_takes_tables_of_any_width_reads_what_its_operators_read(
    scaled: bool,
) -> None:
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import FloatTensorType
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rows, labels = draw_data(3, 2)
    forest = RandomForestClassifier(5, max_depth=3, random_state=0)
    steps = [StandardScaler(), forest] if scaled else [forest]
    fitted = make_pipeline(*steps).fit(rows, labels)
    shape = [("x", FloatTensorType([None, None]))]
    model = to_onnx(fitted, initial_types=shape, options={"zipmap": False})
    loaded = fatt.load(model)
    assert len(loaded.features) == rows.shape[1]
    assert any("leaves open" in note for note in loaded.ensemble.source.notes)
    rows = rows.astype(np.float32)
    assert loaded.predict(rows).tolist() == loaded.ask(rows)
    fixed = to_onnx(fitted, rows[:1], options={"zipmap": False})
    assert np.array_equal(loaded.predict(rows), fatt.load(fixed).predict(rows))
    # One of two inputs: nobody says which columns are whose.
    model.graph.input.append(
        helper.make_tensor_value_info("more", TensorProto.FLOAT, [None, 1])
    )
    with pytest.raises(UnsupportedModelError, match="several inputs one leaves"):
        fatt.load(model)


def test_a_graph_whose_width_nothing_tells_is_refused() -> None:
    normalizer = helper.make_node(
        "Normalizer", ["X"], ["same"], domain="ai.onnx.ml", norm="MAX"
    )
    model = stairs([normalizer], TensorProto.FLOAT, 0.5)
    model.graph.input[0].type.tensor_type.shape.dim[1].Clear()
    with pytest.raises(UnsupportedModelError, match="operators tell"):
        fatt.load(model)


def preparations() -> dict[str, tuple[Any, Any]]:
    from sklearn import preprocessing as pre
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline

    ignore = pre.OneHotEncoder(handle_unknown="ignore")
    code = pre.OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    bins = {"n_bins": 3, "quantile_method": "averaged_inverted_cdf"}
    return {
        "standard": (pre.StandardScaler(), ignore),
        "min-max": (pre.MinMaxScaler(), pre.OneHotEncoder(drop="first")),
        "clipped": (pre.MinMaxScaler(clip=True), pre.OneHotEncoder(drop="if_binary")),
        "robust": (pre.RobustScaler(), code),
        "max-abs": (pre.MaxAbsScaler(), pre.OrdinalEncoder()),
        "imputed": (make_pipeline(SimpleImputer(), pre.StandardScaler()), ignore),
        "bins": (pre.KBinsDiscretizer(encode="ordinal", **bins), ignore),
        "hot bins": (pre.KBinsDiscretizer(encode="onehot-dense", **bins), code),
        "coded": (pre.OrdinalEncoder(), ignore),
        "hot": (pre.OneHotEncoder(handle_unknown="ignore"), ignore),
        "as it is": ("passthrough", ignore),
    }


def pipeline_model(name: str, kind: str) -> Any:
    import pandas as pd
    from skl2onnx import convert_sklearn
    from skl2onnx.common import data_types as types
    from sklearn.compose import ColumnTransformer
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline

    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 30, 90).astype(np.float32),
            "hours": rng.integers(0, 9, 90).astype(np.float32),
            "sex": rng.choice(["F", "M"], 90),
            "job": rng.choice(["a", "b", "c"], 90),
        }
    )
    labels = (frame.age > 22) ^ (frame.sex == "F") | (frame.job == "b") & (
        frame.hours > 4
    )
    numbers, categories = preparations()[name]
    columns = [("n", numbers, ["age", "hours"]), ("c", categories, ["sex", "job"])]
    fitted = make_pipeline(
        ColumnTransformer(columns),
        RandomForestClassifier(3, max_depth=4, random_state=0),
    ).fit(frame, labels.astype(int).to_numpy())
    number = getattr(types, f"{kind}TensorType")([None, 1])
    text = types.StringTensorType([None, 1])
    inputs = [("age", number), ("hours", number), ("sex", text), ("job", text)]
    return convert_sklearn(fitted, initial_types=inputs, options={"zipmap": False})


# skl2onnx does not write the first, and onnxruntime does not run the others.
NOT_RUN = {("imputed", "Int64")} | {
    (n, "Double") for n in ("imputed", "bins", "hot bins")
}
RUN = [
    (name, kind)
    for name in sorted(preparations())
    for kind in ("Float", "Double", "Int64")
    if (name, kind) not in NOT_RUN
]


@pytest.mark.parametrize(("name", "kind"), RUN)
def test_pipelines_are_pulled_back_to_their_raw_columns(name: str, kind: str) -> None:
    model = pipeline_model(name, kind)
    read = fatt.load(model).ensemble
    assert [feature.name for feature in read.features] == ["age", "hours", "sex", "job"]
    agrees(model, read, n_rows=400)


@pytest.mark.parametrize(
    "option", ["output_class_labels", "decision_path", "decision_leaf"]
)
@pytest.mark.parametrize("text", [False, True])
def test_integers_and_strings_beside_the_label_are_left_out(
    option: str, text: bool
) -> None:
    from skl2onnx import to_onnx

    rows, labels = draw_data(0, 3)
    named = np.array(["no", "yes", "perhaps"])[labels] if text else labels
    fitted = sklearn_model(2, 0).fit(rows, named)
    model = to_onnx(fitted, rows[:1], options={"zipmap": False, option: True})
    assert len(model.graph.output) == 3
    agrees(model, fatt.load(model).ensemble)


def test_two_labels_are_refused() -> None:
    model = classifier([leaf_pair()], [0, 1])
    node = helper.make_node("Identity", ["label"], ["again"])
    model.graph.node.append(node)
    info = helper.make_tensor_value_info("again", TensorProto.INT64, None)
    model.graph.output.append(info)
    with pytest.raises(UnsupportedModelError, match="2 of the outputs"):
        fatt.load(model)


# Integers, which the library keeps in 32 or 64 bits.


def stairs(nodes: list[Any], kind: int, *limits: float, **constants: Any) -> Any:
    """Return a model whose label counts the limits that the column "Z" exceeds."""
    n_classes = max(len(limits) + 1, 3)

    def leaf(index: int) -> Leaf:
        return Leaf([(c, float(c == index)) for c in range(n_classes)])

    tree: Any = leaf(len(limits))
    for index in reversed(range(len(limits))):
        tree = Split("LEQ", 0, limits[index], leaf(index), tree)
    trees_node = classifier([tree], list(range(n_classes))).graph.node[0]
    trees_node.input[0] = "Z"
    return graph(
        [*nodes, trees_node],
        [("X", kind, [None, 1])],
        [("label", TensorProto.INT64), ("scores", TensorProto.FLOAT)],
        constants,
    )


def cast_to(kind: int, before: str, after: str) -> Any:
    return helper.make_node("Cast", [before], [after], to=kind)


def encoder(after: str = "Z", **lists: Any) -> Any:
    return helper.make_node(
        "LabelEncoder", ["X"], [after], domain="ai.onnx.ml", **lists
    )


def test_integers_that_a_cast_would_wrap_are_not_taken() -> None:
    nodes = [cast_to(TensorProto.INT32, "X", "a"), cast_to(TensorProto.FLOAT, "a", "Z")]
    model = stairs(nodes, TensorProto.INT64, 0.5, 2.0)
    read = fatt.load(model).ensemble
    taken = np.array([[-(2**31) + 1], [-1], [1], [5], [2**31 - 1]])
    assert np.array_equal(run(model, {"X": taken})[0], read.predict(taken))
    for wrapped in (2**31, 2**32 + 1, -(2**31) - 1):
        with pytest.raises(DataError, match="beyond -2147483647"):
            read.predict([[wrapped]])


@pytest.mark.parametrize(
    ("kind", "lists", "to"),
    [
        (TensorProto.STRING, {"keys_strings": ["a"], "values_int64s": [2**32]}, 6),
        (TensorProto.INT64, {"keys_int64s": [1], "values_int64s": [2**32]}, 6),
        (TensorProto.FLOAT, {"keys_floats": [1.0], "values_floats": [1e20]}, 7),
        (TensorProto.STRING, {"keys_strings": ["a"], "values_floats": [np.nan]}, 7),
    ],
)
def test_looked_up_numbers_that_a_cast_would_spoil_are_refused(
    kind: int, lists: dict[str, Any], to: int
) -> None:
    nodes = [
        encoder("a", **lists),
        cast_to(to, "a", "b"),
        cast_to(TensorProto.FLOAT, "b", "Z"),
    ]
    with pytest.raises(UnsupportedModelError, match=r"Cast.*large numbers"):
        fatt.load(stairs(nodes, kind, 0.5))


def test_looked_up_numbers_are_cast() -> None:
    nodes = [
        encoder("a", keys_strings=["x", "y"], values_floats=[1.5, -2.5]),
        cast_to(TensorProto.INT32, "a", "b"),
        cast_to(TensorProto.FLOAT, "b", "Z"),
    ]
    model = stairs(nodes, TensorProto.STRING, -2.2, -1.5, 0.5, 1.2)
    agrees(model, fatt.load(model).ensemble)


def test_a_label_that_a_cast_would_wrap_is_refused() -> None:
    weights_of = [(0, 0.1), (1, 0.2), (2, 0.3)]
    for largest, fits in ((2**31 - 1, True), (-(2**31), True), (2**31, False)):
        model = classifier([stump(weights_of, weights_of)], [largest, 1, 2])
        model.graph.node[0].output[0] = "wide"
        model.graph.node.append(cast_to(TensorProto.INT32, "wide", "label"))
        if fits:
            assert fatt.load(model).classes[0] == largest
            continue
        with pytest.raises(UnsupportedModelError, match="too large for the type int32"):
            fatt.load(model)


@pytest.mark.parametrize(
    "node",
    [
        encoder(keys_int64s=[2**53], values_floats=[1.0]),
        encoder(keys_int64s=[1], values_int64s=[-(2**53)]),
        encoder(keys_int64s=[1], values_int64s=[1], default_int64=2**60 + 1),
        helper.make_node(
            "OneHotEncoder", ["X"], ["Z"], domain="ai.onnx.ml", cats_int64s=[2**53 + 1]
        ),
    ],
)
def test_integers_that_float64_cannot_tell_apart_are_refused(node: Any) -> None:
    with pytest.raises(UnsupportedModelError, match=r"beyond 2\*\*53 - 1"):
        fatt.load(stairs([node], TensorProto.INT64, 0.5))


@pytest.mark.parametrize(
    ("kind", "lowest", "highest"),
    [
        (TensorProto.INT32, -(2**31), 2**31 - 1),
        (TensorProto.INT64, -(2**53) + 1, 2**53 - 1),
    ],
)
def test_an_integer_input_takes_whole_numbers_only(
    kind: int, lowest: int, highest: int
) -> None:
    model = stairs([cast_to(TensorProto.FLOAT, "X", "Z")], kind, -2e9, 1.2, 2e9)
    read = fatt.load(model).ensemble
    rows = np.array([[lowest], [1], [2], [highest]])
    labels = run(model, {"X": rows.astype(DTYPES[kind])})[0]
    assert np.array_equal(labels, read.predict(rows))
    for wrong in (1.5, np.nan, float(highest) + 1, float(lowest) - 1):
        with pytest.raises(DataError, match="'X' is"):
            read.predict([[wrong]])


def test_a_number_is_looked_up_by_distinct_keys() -> None:
    lists = {"keys_floats": [5.0, 6.0, -1.0], "values_floats": [1.0, 2.0, 3.0]}
    model = stairs([encoder(**lists)], TensorProto.FLOAT, 0.5, 1.5, 2.5)
    agrees(model, fatt.load(model).ensemble)
    for keys in ([5.0, 6.0, 5.0], [5.0, np.nan, 6.0], [0.0, -0.0, 1.0]):
        wrong = encoder(**{**lists, "keys_floats": keys})
        with pytest.raises(UnsupportedModelError, match="listed twice"):
            fatt.load(stairs([wrong], TensorProto.FLOAT, 0.5))
    # onnxruntime takes the first of equal keys.
    twice = encoder(keys_strings=["a", "b", "a"], values_floats=[1.0, 2.0, 3.0])
    model = stairs([twice], TensorProto.STRING, 0.5, 1.5, 2.5)
    assert run(model, {"X": np.array([["a"]], dtype=object)})[0].tolist() == [1]
    with pytest.raises(UnsupportedModelError, match="listed twice"):
        fatt.load(model)


# What cannot be followed is refused with the operator's name.


def leaf_pair() -> Split:
    return stump([(0, 0.25)], [(0, 0.75)])


def behind(node: Any, **constants: Any) -> Any:
    """Return a classifier that reads the output "Z" of a node on "X"."""
    model = classifier([leaf_pair()], [0, 1])
    model.graph.node[0].input[0] = "Z"
    model.graph.node.insert(0, node)
    for name, value in constants.items():
        model.graph.initializer.append(numpy_helper.from_array(value, name))
    return model


@pytest.mark.parametrize(
    ("node", "what"),
    [
        (
            helper.make_node("MatMul", ["X", "c"], ["Z"]),
            r"'MatMul'.*It mixes columns\. Make what it computes columns",
        ),
        (helper.make_node("Sigmoid", ["X"], ["Z"]), "'Sigmoid'"),
        (helper.make_node("Custom", ["X"], ["Z"], domain="mine"), "'Custom' of 'mine'"),
        (
            helper.make_node("Normalizer", ["X"], ["Z"], domain="ai.onnx.ml"),
            "Normalizer",
        ),
        (helper.make_node("Mul", ["X", "X"], ["Z"]), "the same column once more"),
        (helper.make_node("Concat", ["X", "X"], ["Z"], axis=0), "across people"),
        (helper.make_node("If", ["X"], ["Z"]), "'If'"),
    ],
)
def test_an_operator_that_cannot_be_followed_is_named(node: Any, what: str) -> None:
    model = behind(node, c=np.ones((2, 2), dtype=np.float32))
    with pytest.raises(UnsupportedModelError, match=what):
        fatt.load(model)


@pytest.mark.parametrize(
    "op",
    ["Concat", "Identity", "Cast", "Gather", "Greater", "Reshape", "Mul", "ArgMax"],
)
def test_operators_without_inputs_are_refused(op: str) -> None:
    for inputs in ([], [""], ["", ""]):
        with pytest.raises(FattError, match=r"\w \w"):
            fatt.load(behind(helper.make_node(op, inputs, ["Z"])))


def relabelled(node: Any, **constants: Any) -> Any:
    """Return a model of the classes 0 to 2, with a node from "place" to "label"."""
    rows = [[(0, 0.1), (1, 0.2), (2, 0.3)], [(0, 0.5), (1, 0.2), (2, 0.3)]]
    model = classifier([stump(*rows)], [0, 1, 2])
    model.graph.node[0].output[0] = "place"
    model.graph.node.append(node)
    for name, value in constants.items():
        model.graph.initializer.append(numpy_helper.from_array(value, name))
    return model


def test_an_encoder_that_merges_classes_is_refused_by_name() -> None:
    node = helper.make_node(
        "LabelEncoder",
        ["place"],
        ["label"],
        domain="ai.onnx.ml",
        keys_int64s=[0, 1, 2],
        values_int64s=[5, 5, 6],
    )
    with pytest.raises(UnsupportedModelError, match=r"LabelEncoder.*same label"):
        fatt.load(relabelled(node))


@pytest.mark.parametrize(
    ("op", "domain", "shape", "fits"),
    [
        ("Gather", "", (3,), True),
        ("Gather", "", (1, 3), False),
        ("ArrayFeatureExtractor", "ai.onnx.ml", (1, 3), True),
        ("ArrayFeatureExtractor", "ai.onnx.ml", (3, 1), False),
    ],
)
def test_labels_are_chosen_along_their_axis(
    op: str, domain: str, shape: tuple[int, ...], fits: bool
) -> None:
    node = helper.make_node(op, ["names", "place"], ["label"], domain=domain)
    model = relabelled(node, names=np.array([7, 8, 9]).reshape(shape))
    if fits:
        agrees(model, fatt.load(model).ensemble)
        return
    with pytest.raises(UnsupportedModelError, match=op):
        fatt.load(model)
    with pytest.raises(Exception, match=r"out of"):
        run(model, {"X": np.zeros((1, 2), dtype=np.float32)})


def test_columns_with_the_same_name_get_other_names() -> None:
    joined = helper.make_node("Concat", ["x", "x1"], ["Z"], axis=1)
    model = behind(joined)
    del model.graph.input[:]
    for name, width in (("x", 2), ("x1", 1)):
        info = helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, width])
        model.graph.input.append(info)
    read = fatt.load(model).ensemble
    assert [feature.name for feature in read.features] == ["x[0]", "x[1]", "x1"]
    agrees(model, read)
    model.graph.input[1].name = "x"
    with pytest.raises(MalformedModelError, match="same name"):
        fatt.load(model)


def chain(op: str, count: int, inputs: Any, **attributes: Any) -> list[Any]:
    """Return nodes from "X" to "Z", each behind the other."""
    names = ["X", *(f"v{index}" for index in range(count - 1)), "Z"]
    return [
        helper.make_node(op, inputs(before), [after], **attributes)
        for before, after in itertools.pairwise(names)
    ]


def test_long_chains_of_operations_are_refused() -> None:
    two = np.array([1.5], dtype=np.float32)
    for count in (90, 1200):
        nodes = chain("Mul", count, lambda before: [before, "c"])
        model = stairs(nodes, TensorProto.FLOAT, 0.5, c=two)
        if count == 90:
            agrees(model, fatt.load(model).ensemble)
            continue
        with pytest.raises(UnsupportedModelError, match="follows 100 other"):
            fatt.load(model)


def test_tables_that_grow_without_end_are_refused() -> None:
    nodes = chain("Concat", 40, lambda before: [before, before], axis=1)
    with pytest.raises(UnsupportedModelError, match="131072 columns"):
        fatt.load(stairs(nodes, TensorProto.FLOAT, 0.5))
    count = 2**16 + 1
    picks = helper.make_node("Gather", ["X", "c"], ["Z"], axis=1)
    model = stairs([picks], TensorProto.FLOAT, 0.5, c=np.zeros(count, dtype=np.int64))
    with pytest.raises(UnsupportedModelError, match="65537 columns"):
        fatt.load(model)
    copies = helper.make_node("Mul", ["X", "c"], ["Z"])
    model = stairs([copies], TensorProto.FLOAT, 0.5, c=np.ones(count, dtype=np.float32))
    with pytest.raises(UnsupportedModelError, match="65537 columns"):
        fatt.load(model)


def test_large_tables_behind_each_other_are_refused() -> None:
    nodes = chain("Identity", 3, lambda before: [before])
    model = stairs(nodes, TensorProto.FLOAT, 0.5)
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 2**16
    with pytest.raises(UnsupportedModelError, match="columns together"):
        fatt.load(model)


def test_many_keys_for_many_columns_are_refused() -> None:
    keys = [float(key) for key in range(100)]
    model = stairs(
        [encoder(keys_floats=keys, values_floats=keys)], TensorProto.FLOAT, 0.5
    )
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 2**16
    with pytest.raises(UnsupportedModelError, match="100 keys for 65536 columns"):
        fatt.load(model)


def test_many_inputs_are_refused_together() -> None:
    model = classifier([leaf_pair()], [0, 1])
    info = helper.make_tensor_value_info("Y", TensorProto.FLOAT, [None, 2**16])
    model.graph.input.append(info)
    with pytest.raises(UnsupportedModelError, match="65538 columns"):
        fatt.load(model)


def test_an_ensemble_is_not_averaged_with_itself() -> None:
    from skl2onnx import to_onnx

    rows, labels = draw_data(0, 2)
    model = to_onnx(sklearn_model(5, 0).fit(rows, labels), rows[:1])
    assert isinstance(fatt.load(model).ensemble, Ensemble)
    [joined] = [node for node in model.graph.node if node.op_type == "Concat"]
    joined.input[1] = joined.input[0]
    with pytest.raises(UnsupportedModelError, match="repeats the scores"):
        fatt.load(model)


def mean_of(*sizes: int, **changes: Any) -> Any:
    """Build the mean of regressors of so many trees each, with a cut behind it."""
    stump = Split("LEQ", 0, 0.0, Leaf([(0, 1.0)]), Leaf([(0, -1.0)]))
    nodes, layers = [], []
    for number, size in enumerate(sizes):
        [trees, *rule] = regressor([stump] * size, 1, **changes).graph.node
        trees.output[0] = f"part {number}"
        layers.append(f"layer {number}")
        inputs = [trees.output[0], "shape"]
        nodes += [trees, helper.make_node("Reshape", inputs, layers[-1:])]
    joined = helper.make_node("Concat", layers, ["stack"], axis=0)
    mean = helper.make_node("ReduceMean", ["stack", "axes"], ["scores"], keepdims=0)
    constants = {
        "shape": np.array([1, -1, 1]),
        "axes": np.array([0]),
        "cut": np.array([0.0], dtype=np.float32),
    }
    return graph(
        [*nodes, joined, mean, *rule],
        [("X", TensorProto.FLOAT, [None, 2])],
        [("label", TensorProto.INT64), ("scores", TensorProto.FLOAT)],
        constants,
    )


def test_only_single_trees_are_averaged() -> None:
    model = mean_of(1, 1, 1)
    agrees(model, fatt.load(model).ensemble)
    for broken in (
        mean_of(1, 2),
        mean_of(1, 1, base_values=[2.0]),
        mean_of(2, 2, aggregate_function="AVERAGE"),
    ):
        with pytest.raises(UnsupportedModelError, match="mean of single trees"):
            fatt.load(broken)


@pytest.mark.parametrize("kind", [TensorProto.INT64, TensorProto.STRING])
def test_many_categories_take_little_time(kind: int) -> None:
    numbers = list(range(1000))
    keys: dict[str, Any] = {"cats_int64s": numbers}
    if kind == TensorProto.STRING:
        keys = {"cats_strings": [str(number) for number in numbers]}
    nodes = [
        helper.make_node("OneHotEncoder", ["X"], ["o"], domain="ai.onnx.ml", **keys),
        helper.make_node("Flatten", ["o"], ["Z"]),
    ]
    model = stairs(nodes, kind, 0.5)
    start = time.process_time()
    read = fatt.load(model).ensemble
    assert time.process_time() - start < 5
    agrees(model, read)


def test_many_classes_take_little_time() -> None:
    weights_of = [(c, float(c == 7)) for c in range(60_000)]
    model = classifier([stump(weights_of, weights_of)], list(range(60_000)))
    start = time.process_time()
    assert fatt.load(model).predict([[0.0, 0.0]]).tolist() == [7]
    assert time.process_time() - start < 5


def test_a_subgraph_is_refused() -> None:
    body = helper.make_graph([], "body", [], [])
    model = behind(helper.make_node("Identity", ["X"], ["Z"], then_branch=body))
    with pytest.raises(FattError, match="holds a graph"):
        fatt.load(model)


def test_a_graph_without_a_label_is_refused() -> None:
    model = regressor([stump([(0, 1.0)], [(1, 2.0)])], 2)
    del model.graph.output[0]
    with pytest.raises(UnsupportedModelError, match="2 numbers for each row"):
        fatt.load(model)
    model.graph.output.append(model.graph.output[0])
    with pytest.raises(UnsupportedModelError, match="Export a classifier"):
        fatt.load(model)


@pytest.mark.parametrize("name", ["MIN", "MAX"])
def test_minima_and_maxima_are_refused(name: str) -> None:
    model = regressor([stump([(0, 1.0)], [(0, 2.0)])] * 2, 1, aggregate_function=name)
    with pytest.raises(UnsupportedModelError, match=name):
        fatt.load(model)


def test_a_label_behind_a_softmax_is_refused() -> None:
    leaf = stump([(0, 1.0), (1, 0.5)], [(0, 2.0), (1, 0.5)])
    with pytest.raises(UnsupportedModelError, match="SOFTMAX"):
        fatt.load(regressor([leaf], 2, post_transform="SOFTMAX"))


def test_a_missing_number_is_refused() -> None:
    with pytest.raises(SpecError, match="only XGBoost"):
        fatt.load(classifier([leaf_pair()], [0, 1]), missing=-1.0)


# Damaged and hostile models.


def test_node_ids_that_onnxruntime_does_not_take_are_refused() -> None:
    for last in (2, 3):
        model = classifier(
            [leaf_pair()],
            [0, 1],
            nodes_nodeids=[0, 1, last],
            nodes_falsenodeids=[last, 0, 0],
            class_nodeids=[1, last],
        )
        if last == 2:
            agrees(model, fatt.load(model).ensemble)
            continue
        with pytest.raises(MalformedModelError, match="node id 3, but only 3 nodes"):
            fatt.load(model)
        with pytest.raises(Exception, match="node_id"):
            run(model, {"X": np.zeros((1, 2), dtype=np.float32)})


@pytest.mark.parametrize(
    "changes",
    [
        {"nodes_values": [0.5]},
        {"nodes_truenodeids": [1, 0, 0, 0]},
        {"nodes_truenodeids": [9, 0, 0]},
        {"nodes_truenodeids": [-1, 0, 0]},
        {"nodes_truenodeids": [0, 0, 0]},
        {"nodes_falsenodeids": [1, 0, 0]},
        {"nodes_featureids": [2, 0, 0]},
        {"nodes_featureids": [-1, 0, 0]},
        {"nodes_nodeids": [0, 1, 1]},
        {"nodes_nodeids": [0, 1, 2**40]},
        {"nodes_treeids": [0, 1, 0]},
        {"nodes_treeids": [0, 0, -5]},
        {"nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAVES"]},
        {"nodes_modes": ["LEAF", "LEAF", "LEAF"]},
        {"nodes_values": [float("nan"), 0.0, 0.0]},
        {"class_ids": [0, 2]},
        {"class_ids": [0, -1]},
        {"class_nodeids": [1, 5]},
        {"class_nodeids": [1, 0]},
        {"class_nodeids": [1, 1]},
        {"class_weights": [1.0]},
        {"class_weights": [1.0, float("inf")]},
        {"class_weights": [1.0, 3e38]},
        {"base_values": [0.0, 0.0, 0.0]},
        {"classlabels_int64s": [5, 5]},
        {"classlabels_int64s": [5]},
        {"classlabels_strings": ["a", "b"]},
        {"post_transform": "BLAH"},
        {"post_transform": 3},
        {"nodes_hitrates_as_tensor": 1.0, "nodes_values": None},
        {
            "nodes_values_as_tensor": numpy_helper.from_array(np.zeros(3)),
            "nodes_values": None,
        },
    ],
)
def test_contradictory_trees_are_refused(changes: dict[str, Any]) -> None:
    model = classifier([leaf_pair()], [0, 1], **changes)
    with pytest.raises(FattError, match=r"\w \w"):
        fatt.load(model)


@pytest.mark.parametrize(
    "changes",
    [
        {"tree_roots": [1]},
        {"tree_roots": [0, 0]},
        {"tree_roots": None},
        {"nodes_truenodeids": [7]},
        {"nodes_trueleafs": [0]},
        {"nodes_modes": numpy_helper.from_array(np.array([9], dtype=np.uint8))},
        {"nodes_modes": numpy_helper.from_array(np.array([6], dtype=np.uint8))},
        {"nodes_modes": numpy_helper.from_array(np.array(["LEQ"], dtype=object))},
        {"leaf_targetids": [0, 1]},
        {"leaf_weights": numpy_helper.from_array(np.zeros(2))},
        {"n_targets": 0},
        {"n_targets": -3},
        {"n_targets": 2**40},
        {"aggregate_function": 8},
        {"nodes_falsenodeids": [0], "nodes_truenodeids": [1], "tree_roots": [0, 9]},
    ],
)
def test_contradictory_new_trees_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(FattError, match=r"\w \w"):
        fatt.load(ensemble([leaf_pair()], 1, **changes))


def test_a_lone_leaf_of_the_new_operator_is_refused_unless_it_is_its_own() -> None:
    changes = {"nodes_truenodeids": [1], "nodes_falsenodeids": [1]}
    with pytest.raises(UnsupportedModelError, match="another leaf"):
        fatt.load(ensemble([leaf_pair()], 1, **changes))
    model = ensemble([leaf_pair()], 1, nodes_truenodeids=[0], nodes_falsenodeids=[0])
    agrees(model, fatt.load(model).ensemble)


def edited(**fields: Any) -> Any:
    """Return a model with a scaler whose constant tensor is changed."""
    model = behind(
        helper.make_node("Mul", ["X", "c"], ["Z"]), c=np.ones(2, dtype=np.float32)
    )
    tensor = model.graph.initializer[0]
    for name, value in fields.items():
        if isinstance(value, list):
            del getattr(tensor, name)[:]
            getattr(tensor, name).extend(value)
        else:
            setattr(tensor, name, value)
    return model


@pytest.mark.parametrize(
    "fields",
    [
        {"dims": [2**40]},
        {"dims": [-2]},
        {"dims": [2**32, 2**32]},
        {"raw_data": b"123"},
        {"raw_data": b""},
        {"data_type": 99},
        {"data_type": 8},
        {"data_location": 1},
    ],
)
def test_tensors_that_lie_about_themselves_are_refused(fields: dict[str, Any]) -> None:
    assert isinstance(fatt.load(edited()).ensemble, Ensemble)
    with pytest.raises(FattError, match=r"\w \w"):
        fatt.load(edited(**fields))


def test_a_wide_input_takes_no_memory() -> None:
    with pytest.raises(UnsupportedModelError, match="number of columns"):
        fatt.load(classifier([leaf_pair()], [0, 1], n_features=2**40))


def test_unknown_versions_of_the_operators_are_refused() -> None:
    model = classifier([leaf_pair()], [0, 1])
    model.opset_import[1].version = 6
    with pytest.raises(UnsupportedModelError, match="older version"):
        fatt.load(model)
    del model.opset_import[1]
    with pytest.raises(MalformedModelError, match="names no version"):
        fatt.load(model)


def test_nodes_out_of_order_are_refused() -> None:
    model = ensemble([leaf_pair()], 1)
    nodes = list(model.graph.node)[::-1]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    with pytest.raises(MalformedModelError, match="not computed before"):
        fatt.load(model)


def test_without_the_onnx_package_the_reader_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from fatt.importers.onnx import read

    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingDependencyError, match=r"fatt\[onnx\]"):
        read(classifier([leaf_pair()], [0, 1]).SerializeToString(), missing=None)


def test_a_file_reads_as_its_model(tmp_path: Any) -> None:
    model = classifier([leaf_pair()], ["no", "yes"])
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    read = fatt.load(path).ensemble
    assert read == fatt.load(model).ensemble
    assert (read.source.format, read.source.model) == (
        "ONNX file",
        "TreeEnsembleClassifier",
    )
    assert [feature.name for feature in read.features] == ["X0", "X1"]
    assert not read.inputs.named


# Numbers beyond those that fatt follows, of which onnxruntime still makes something.


def wrapping() -> Any:
    """Return a model of integers that loses their upper bits."""
    nodes = [cast_to(TensorProto.INT32, "X", "a"), cast_to(TensorProto.FLOAT, "a", "Z")]
    return stairs(nodes, TensorProto.INT64, 0.5, 2.0)


@pytest.mark.parametrize("sign", [-1, 1])
def test_who_is_beyond_a_cast_is_never_left_out(sign: int) -> None:
    model, end = wrapping(), 2**31 - 1
    own, twin = np.array([[sign * (end - 5)]]), np.array([[sign * (end + 5)]])
    assert run(model, {"X": own})[0] != run(model, {"X": twin})[0]
    read = fatt.load(model)
    beyond = (
        r"'X' goes up to .* above 2147483647.*'X': Number\(upper"
        if sign > 0
        else r"'X' goes down to .* below -2147483647.*'X': Number\(lower"
    )
    with pytest.raises(SpecError, match=beyond):
        fatt.verify(read, own, similarity=Similarity(noise={"X": 10}))
    near = fatt.verify(read, own, similarity=Similarity(noise={"X": 4}))
    assert near.counts == {"fair": 1, "unfair": 0, "unknown": 0}
    bounds = {"upper" if sign > 0 else "lower": sign * (end - 1)}
    schema = fatt.Schema.infer(read, own).with_(X=Integer(**bounds))
    report = fatt.verify(
        read, own, similarity=Similarity(noise={"X": 10}), schema=schema
    )
    assert report.counts == near.counts
    made = report.certificate()
    assert made.check(read).fair == 1
    forged = Draft(
        model=read.ensemble,
        schema=fatt.Schema.infer(read, own),
        similarity=made.similarity,
        values=made.values,
        verdicts=made.verdicts,
        labels=made.labels,
        proofs={0: [None]},
        twins={},
    ).certificate()
    with pytest.raises(CertificateError, match=r"'X' (above|below) .*nothing is prov"):
        forged.check(read)


@pytest.mark.parametrize("scale", [2.0, -2.0])
def test_who_is_beyond_a_cast_behind_a_preparation_is_never_left_out(
    scale: float,
) -> None:
    nodes = [cast_to(TensorProto.INT32, "X", "a"), cast_to(TensorProto.FLOAT, "a", "Z")]
    model = stairs(nodes, TensorProto.FLOAT, 0.5, 2.0)
    scaler = StandardScaler().fit([[0.0], [2.0]])
    scaler.scale_ = np.array([scale])
    people = np.array([[2.0**31 - 64.0], [64.0 - 2.0**31]])
    read = fatt.load(model, prepare=scaler)
    for person in people:
        with pytest.raises(SpecError, match=r"'x0' goes (up|down) to .* cannot follow"):
            fatt.verify(read, [person], similarity=Similarity(noise={"x0": 1e4}))


def test_integers_of_64_bits_may_vary_freely_unless_a_split_lies_beyond() -> None:
    nodes = [cast_to(TensorProto.FLOAT, "X", "Z")]
    similarity = Similarity(vary=["X"])
    people = np.arange(40).reshape(-1, 1)
    for far, is_followed in ((2.0**40, True), (2.0**60, False), (-(2.0**60), False)):
        read = fatt.load(stairs(nodes, TensorProto.INT64, *sorted([0.5, far])))
        if is_followed:
            report = fatt.verify(read, people, similarity=similarity)
            assert report.counts["unfair"] == 40
            continue
        with pytest.raises(SpecError, match=r"'X' goes (up|down) to"):
            fatt.verify(read, people, similarity=similarity)
