"""What is handed to a kernel is checked: a wrong array is refused, never a crash."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fatt.ensemble import kernels as ensemble_kernels
from fatt.region import Neighbourhood, Similarity, growth
from fatt.region import kernels as region_kernels
from fatt.region.costs import COST, COUNT
from fatt.repairs import kernels as repair_kernels
from fatt.verifier import Verifier
from fatt.verifier.kernels import decide, points, reach
from fatt.verifier.kernels.records import Answers, Regions, Sizes, Spending
from tests.cases import Case, random_case
from tests.region import town
from tests.verifier.kept import FOLDER, read

WRONG = (TypeError, ValueError, AttributeError)


def question() -> dict[str, Any]:
    """Return arguments of `decide` that are right."""
    with np.load(FOLDER / "xgb-gaps.npz") as kept:
        case = read(kept)
    verifier = Verifier(case.ensemble)
    count, n_variables = case.people.shape
    boxes = case.boxes
    regions = Regions(
        np.array(case.people),
        np.zeros(count, dtype=np.int64),
        np.full(count, np.nan),
        np.zeros(count),
        np.searchsorted(boxes.person, np.arange(count + 1)).astype(np.int64),
        *(np.array(a) for a in (boxes.lower, boxes.upper, boxes.missing, boxes.codes)),
        spending=Spending(
            rule=np.zeros(len(boxes), dtype=np.int64),
            most=np.ones(len(boxes), dtype=np.int64),
            each=np.full((2, n_variables), np.array((1.0, COUNT, 1, 0), dtype=COST)),
            tables=np.zeros(9, dtype=np.int64),
            people=np.array(case.people),
            lower=np.array(boxes.lower),
            upper=np.array(boxes.upper),
            missing=np.array(boxes.missing),
        ),
    )
    answers = Answers.blank(Sizes(count, n_variables, 2, 1))
    limits = [100, 2**61, 0, 1, 1, 1, 25, 1, 1, 64, 24, 32, 1, 6, 16, 16, 1]
    return {
        "forest": verifier._forest,
        "arithmetic": verifier._arithmetic,
        "regions": regions,
        "answers": answers,
        "begin": 0,
        "end": count,
        "limits": np.array(limits, dtype=np.int64),
        "clock": np.zeros(2, dtype=np.int64),
        "tally": np.zeros(10, dtype=np.int64),
    }


FIELDS = [
    (group, field)
    for group, fields in {
        "forest": Verifier(random_case(1).ensemble)._forest._fields,
        "arithmetic": Verifier(random_case(1).ensemble)._arithmetic._fields,
        "regions": Regions._fields[:-1],
        "spending": Spending._fields,
        "answers": Answers._fields,
        "limits": [None],
        "clock": [None],
        "tally": [None],
    }.items()
    for field in fields
]


def spoilt(array: Any, how: str) -> Any:
    if how == "type":
        return np.zeros(array.shape, dtype=np.float32)
    if how == "swapped":
        return array.view(array.dtype.newbyteorder())
    if how == "longer":
        return np.concatenate([array, array[-1:], array[-1:]])
    if how == "deeper":
        return array[np.newaxis]
    if how == "strided":
        return np.repeat(array, 2, axis=0)[::2]
    assert how == "list"
    return array.tolist()


def put(given: dict[str, Any], group: str, field: str | None, array: Any) -> None:
    if group == "spending":
        changed = given["regions"].spending._replace(**{field: array})
        put(given, "regions", group, changed)
    elif field is None:
        given[group] = array
    else:
        given[group] = given[group]._replace(**{field: array})


def test_the_question_is_right() -> None:
    given = question()
    decide.decide(**given)
    assert set(given["answers"].verdict.tolist()) <= {0, 1, 2}
    assert given["tally"].any()


@pytest.mark.parametrize(
    "how", ["type", "swapped", "longer", "deeper", "strided", "list"]
)
@pytest.mark.parametrize(("group", "field"), FIELDS)
def test_a_wrong_array_is_refused(group: str, field: str | None, how: str) -> None:
    given = question()
    whole = given["regions"].spending if group == "spending" else given[group]
    right = whole if field is None else getattr(whole, field)
    wrong = spoilt(right, how)
    # Arrays over nodes, sets and cuts may have any length, since trees name what they
    # use of them; an empty or single one lies in order whatever the stride.
    free = {"nodes", "masks", "cuts", "variables", "bases", "labels", "scores"}
    free |= {"each", "tables"}
    if how == "longer" and field in free:
        pytest.skip("any length is right")
    if how == "swapped" and wrong.dtype == right.dtype:
        pytest.skip("one byte has no order")
    if how == "strided" and (not wrong.size or wrong.flags.c_contiguous):
        pytest.skip("in order all the same")
    put(given, group, field, wrong)
    with pytest.raises(WRONG):
        decide.decide(**given)


@pytest.mark.parametrize("field", Answers._fields)
def test_answers_that_cannot_be_written_are_refused(field: str) -> None:
    given = question()
    frozen = getattr(given["answers"], field).copy()
    frozen.setflags(write=False)
    put(given, "answers", field, frozen)
    with pytest.raises(ValueError, match="read-only"):
        decide.decide(**given)


def test_people_who_are_not_there_are_refused() -> None:
    given = question()
    count = given["end"]
    for begin, end in ((0, count + 1), (-1, 2), (3, 2)):
        with pytest.raises(ValueError, match="are not among the"):
            decide.decide(**{**given, "begin": begin, "end": end})


@pytest.mark.parametrize(
    ("field", "value"), [("label", 2), ("label", -1), ("start", -1), ("start", 10**9)]
)
def test_labels_and_boxes_that_are_not_there_are_refused(
    field: str, value: int
) -> None:
    given = question()
    for place in (0, -1):
        array = getattr(given["regions"], field).copy()
        array[place] = value
        spoilt_question = dict(given)
        put(spoilt_question, "regions", field, array)
        with pytest.raises(ValueError, match=r"label of person|box"):
            decide.decide(**spoilt_question)


@pytest.mark.parametrize(
    ("field", "value"), [("rule", 2), ("rule", -2), ("most", -1), ("most", 2**60)]
)
def test_budgets_that_cannot_be_are_refused(field: str, value: int) -> None:
    given = question()
    array = getattr(given["regions"].spending, field).copy()
    array[-1] = value
    put(given, "spending", field, array)
    with pytest.raises(ValueError, match="of box"):
        decide.decide(**given)


@pytest.mark.parametrize(
    ("field", "value"),
    [("kind", -1), ("kind", 5), ("missing", -1), ("scale", -1.0), ("scale", np.nan)],
)
def test_costs_that_cannot_be_are_refused(field: str, value: float) -> None:
    given = question()
    each = given["regions"].spending.each.copy()
    each[1, 0][field] = value
    put(given, "spending", "each", each)
    with pytest.raises(ValueError, match="cost"):
        decide.decide(**given)


def test_a_person_beside_a_box_with_a_budget_is_refused() -> None:
    """No leaf could be paid, and the search would look for one without end."""
    given = question()
    for field, value in (("lower", np.inf), ("upper", -np.inf), ("missing", False)):
        array = getattr(given["regions"].spending, field).copy()
        array[:] = value
        beside = dict(given)
        put(beside, "spending", field, array)
        with pytest.raises(ValueError, match="is not in box"):
            decide.decide(**beside)


def test_too_little_memory_is_an_exception() -> None:
    given = question()
    given["limits"][-2] = 2**59
    with pytest.raises(MemoryError, match="more memory than there is"):
        decide.decide(**given)


def drawn() -> Case:
    return random_case(3)


def test_cells_of_boxes_that_are_not_there_are_refused() -> None:
    case = drawn()
    verifier = Verifier(case.ensemble)
    count, n_variables = case.people.shape
    cells = np.full((2, count, n_variables), -1, dtype=np.int32)
    bounds = (case.boxes.lower, case.boxes.upper, case.boxes.missing)
    which = np.full(count, len(case.boxes), dtype=np.int64)
    with pytest.raises(ValueError, match="in none of the"):
        points.read_cells(
            verifier._forest,
            case.people,
            bounds,
            which,
            (cells[0], cells[1]),
            case.people.copy(),
        )


def test_children_that_are_no_nodes_are_refused() -> None:
    roots = np.zeros(1, dtype=np.int64)
    for left in ([5, -1, -1], [2, -1, -1], [1, 0, -1]):
        with pytest.raises(ValueError, match="that are no nodes"):
            reach.depth_first(np.array(left, dtype=np.int32), roots)
    with pytest.raises(ValueError, match="no root"):
        reach.depth_first(np.array([-1], dtype=np.int32), np.ones(1, dtype=np.int64))


def test_rows_of_another_model_are_refused() -> None:
    ensemble = drawn().ensemble
    rows = np.zeros((2, len(ensemble.features) + 1))
    with pytest.raises(ValueError, match="rows has the shape"):
        ensemble._scores(rows)
    edges, cells = ensemble._cells
    arrays = (
        ensemble.trees.nodes,
        ensemble.trees.roots,
        ensemble.trees.words,
        ensemble._wide_values,
        ensemble.trees.targets,
        edges,
        cells,
    )
    scores = np.zeros((2, ensemble.n_outputs))
    scores.setflags(write=False)
    with pytest.raises(ValueError, match="scores is read-only"):
        ensemble_kernels.add_leaves(*arrays, rows[:, 1:].copy(), False, scores)


def test_columns_that_are_not_there_are_refused() -> None:
    floats, places = np.zeros(1), np.array([0, 1])
    with pytest.raises(ValueError, match="column 7 is not among the 1"):
        region_kernels.scatter(
            np.zeros((2, 1)), np.array([7]), places, floats, places, np.zeros((2, 1))
        )
    with pytest.raises(ValueError, match="code beyond its last"):
        region_kernels.scatter(
            np.ones((2, 1)), np.array([0]), places, floats, places, np.zeros((2, 1))
        )


def test_spaces_that_point_elsewhere_are_refused() -> None:
    similarity = Similarity(noise={"grade": 1}, vary=["city"])
    space = Neighbourhood(similarity, town.variables())._prepared
    growth.check_space(space)
    wrong = {
        "domains": ("n_codes", 10**6, "not among the words"),
        "moves": ("n_levels", 10**6, "not among the orders"),
        "orders": ("", 10**6, "is no code"),
    }
    names = ["domains", "moves", "members", "meeting", "anything", "orders"]
    for name, (field, value, message) in wrong.items():
        arrays = [array.copy() for array in space]
        here = arrays[names.index(name)]
        (here[field] if field else here)[...] = value
        with pytest.raises(ValueError, match=message):
            growth.check_space(tuple(arrays))
    for place in range(len(space)):
        arrays = [*space[:place], space[place][..., np.newaxis], *space[place + 1 :]]
        with pytest.raises(ValueError, match="has the shape"):
            growth.check_space(tuple(arrays))
        arrays[place] = np.zeros(space[place].shape, dtype=np.float32)
        with pytest.raises(TypeError, match="and the kernel reads"):
            growth.check_space(tuple(arrays))


def test_people_and_boxes_of_another_space_are_refused() -> None:
    variables = town.variables()
    space = Neighbourhood(Similarity(vary=["sex"]), variables)
    people = town.encode(
        [[20, 500.0, 0.5, 1.0, 2, "M", "city 1", "A", "male", "x"]], variables
    )
    made = space.boxes(people)
    names = ("person", "lower", "upper", "missing", "codes")
    boxes = [np.array(getattr(made, name)) for name in names]
    boxes.insert(1, np.zeros(1, dtype=np.int64))
    right = (people, np.ones(1), tuple(boxes))
    assert growth.grow(space._prepared, *right) == 1
    for place in range(len(boxes)):
        short = tuple(b[:0] if at == place else b for at, b in enumerate(boxes))
        with pytest.raises(ValueError, match="has the shape"):
            growth.grow(space._prepared, *right[:2], short)
    with pytest.raises(ValueError, match="people has the shape"):
        growth.grow(space._prepared, people[:, 1:].copy(), *right[1:])
    with pytest.raises(ValueError, match="scale has the shape"):
        growth.grow(space._prepared, people, np.ones(2), right[2])
    with pytest.raises(ValueError, match="alternative 2 is none of 2"):
        growth.meets(space._prepared, 2, people, np.ones(1, dtype=bool))
    beyond = people.copy()
    beyond[0, [f.name for f in variables.ensemble.features].index("sex")] = 1e9
    assert growth.grow(space._prepared, beyond, *right[1:]) == -1
    with pytest.raises(ValueError, match="a code that is none of its variable"):
        space.boxes(beyond)


def test_leaves_that_are_not_there_are_refused() -> None:
    one = np.zeros((1, 1))
    columns, base = np.array([[-1], [0]]), np.zeros(2)
    own, slope = np.zeros(1, dtype=np.int64), np.zeros((1, 1))
    for leaf, end in ((1, 1), (-1, 1), (0, 2)):
        found = (np.array([[end]]), np.array([leaf]))
        with pytest.raises(ValueError, match=r"not among|not in order"):
            repair_kernels.weigh(one, columns, base, found, own, 1.0, slope, slope)
