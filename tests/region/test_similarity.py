from __future__ import annotations

import ast
import itertools
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

import fatt
from fatt.ensemble import Numeric
from fatt.errors import DataError, SpecError
from fatt.region import (
    Integer,
    Number,
    Ordinal,
    Schema,
    Similarities,
    Similarity,
    Variables,
)
from fatt.region.amounts import Range, Step
from fatt.region.rules import bind
from fatt.region.similarity import Relation, any_of, narrowed
from tests.region import town

sizes = st.floats(0, 1e300)
amounts = st.one_of(
    sizes,
    st.integers(0, 10**12),
    st.builds(
        lambda sign, size, unit: f"{sign}{size!r}{unit}",
        st.sampled_from(["", "+", "-"]),
        sizes,
        st.sampled_from(["", " sd", "%", "sd", " %"]),
    ),
    st.tuples(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9)).map(
        lambda ends: f"{min(ends)!r}..{max(ends)!r}"
    ),
)
names = st.text(min_size=1, max_size=5) | st.sampled_from(["age", "h w", 'a"b', "a=b"])
labels = st.lists(
    st.text(max_size=4)
    | st.integers(-(2**60), 2**60)
    | st.booleans()
    | st.floats(0, 9),
    min_size=1,
    max_size=3,
)
conditions = st.one_of(
    st.builds(
        lambda sign, number: f"{sign}{number!r}",
        st.sampled_from(["<=", "< ", "> ", ">= ", "== "]),
        st.floats(-1e9, 1e9),
    ),
    labels,
    st.just("18..30"),
    st.just("== Female"),
)


@st.composite
def similarities(draw: st.DrawFn) -> Similarity:
    noise: Any = draw(st.dictionaries(names, amounts, max_size=3))
    free = names.filter(lambda name: name not in noise)
    vary: Any = draw(
        st.dictionaries(free, labels | st.sampled_from(["any", "known"]), max_size=3)
        | st.lists(free, max_size=3)
    )
    missing = draw(st.lists(names, max_size=2))
    if not (noise or vary or missing):
        noise = draw(sizes)
    where = draw(st.dictionaries(names, conditions, max_size=2))
    return Similarity(noise=noise, vary=vary, where=where, missing=missing)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(similarities(), min_size=1, max_size=3))
def test_every_form_says_the_same(found: list[Similarity]) -> None:
    relation = any_of(*found)
    for again in (
        eval(repr(relation)),
        Similarity.from_toml(relation.to_toml()),
        pickle.loads(pickle.dumps(relation)),
    ):
        assert again == relation
        assert hash(again) == hash(relation)
        assert repr(again) == repr(relation)
    assert relation.describe()


def test_equal_things_are_equal() -> None:
    first = Similarity(noise={"a": 3, "b": "0.30 sd"}, vary=["x", "y"])
    second = Similarity(noise={"b": "0.3sd", "a": "3.0"}, vary=("y", "x", "x"))
    assert first == second
    assert hash(first) == hash(second)
    assert first != Similarity(noise={"a": 3}, vary=["x", "y"])
    assert Similarity(noise={"a": "18..30"}) == Similarity(noise={"a": "18 .. 30.0"})
    assert Similarity(noise={"a": "+3"}) != Similarity(noise={"a": 3})
    assert Similarity(noise=np.float64(0.3)) == Similarity(noise=0.3)
    where = Similarity(vary=["x"], where={"a": "<=37", "b": ["q", "p"]})
    assert where == Similarity(vary=["x"], where={"b": ["p", "q"], "a": "<= 37.0"})
    assert Similarity(vary=["x"], where={"a": "== p"}) == Similarity(
        vary=["x"], where={"a": "p"}
    )


def test_unions_are_flat_and_unordered() -> None:
    a, b, c = (Similarity(vary=[name]) for name in "abc")
    union = (a | b) | (c | a)
    assert isinstance(union, Similarities)
    assert union.alternatives == (a, b, c)
    assert union == c | b | a
    assert hash(union) == hash(c | b | a)
    assert union != a | b
    assert (a | a) == a
    assert a.alternatives == (a,)


def test_what_has_no_meaning_says_what_to_write() -> None:
    a, b = Similarity(vary=["a"]), Similarity(vary=["b"])
    with pytest.raises(TypeError, match="one Similarity that names all"):
        a & b
    with pytest.raises(TypeError, match="one Similarity that names all"):
        (a | b) & a
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(a)
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(a | b)
    with pytest.raises(TypeError, match="unsupported operand"):
        a | 3  # type: ignore[operator]
    with pytest.raises(AttributeError):
        a.vary = ()  # type: ignore[misc]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "nothing may change"),
        ({"where": {"age": "<= 37"}}, "nothing may change"),
        ({"noise": {}, "vary": []}, "nothing may change"),
        ({"noise": {"age": -3}}, "at least 0. One-sided"),
        ({"noise": {"age": math.inf}}, "must be a finite number"),
        ({"noise": {"age": math.nan}}, "must be a finite number"),
        ({"noise": {"age": "1e999"}}, "write a number"),
        ({"noise": {"age": "3 years"}}, "'3 years'; write a number, '0.3 sd'"),
        ({"noise": {"age": ""}}, "write a number"),
        ({"noise": {"age": True}}, "write a number"),
        ({"noise": {"age": None}}, "write a number"),
        ({"noise": {"age": [1, 2, 3]}}, "write a number"),
        ({"noise": {"age": [18, 30]}}, r"two things. Write '18\.\.30' if .* or 30 if"),
        ({"noise": {"gain": (-1000, 1000)}}, r"one-sided '\+1000' or '-1000'"),
        ({"noise": {"age": "30..18"}}, "smaller number first"),
        ({"noise": "18..30"}, "name the variable"),
        ({"noise": {3: 3}}, "names are texts"),
        ({"noise": {"age": 3}, "vary": ["age"]}, "'age' is named in noise and in vary"),
        ({"vary": "sex"}, r"write a list of names: \['sex'\]"),
        ({"vary": [3]}, "names are texts"),
        ({"vary": {"sex": "Male"}}, "write a list of the values"),
        ({"vary": {"sex": []}}, "empty list"),
        ({"vary": {"sex": [None]}}, "a label or a list of labels"),
        ({"vary": ["sex"], "where": ["age"]}, "write {'age': '<= 37'}"),
        ({"vary": ["sex"], "where": {"age": "<= old"}}, r"write \['<= old'\]"),
        ({"vary": ["sex"], "where": {"age": "< nan"}}, "compares with no number"),
        ({"vary": ["sex"], "where": {"age": []}}, "nobody meets"),
        ({"missing": "age"}, "write a list of names"),
    ],
)
def test_senseless_similarities_are_refused(given: Any, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        Similarity(**given)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"noise": {"agee": 3}}, "noise names 'agee'.*Did you mean 'age'"),
        ({"vary": ["rase"]}, "vary names 'rase'.*Did you mean 'race'"),
        ({"vary": ["SEX"]}, "Did you mean 'sex'"),
        ({"missing": ["agee"]}, "missing names 'agee'"),
        ({"vary": ["sex"], "where": {"agee": "> 3"}}, "where names 'agee'"),
        ({"noise": {"race": 1}}, r"write vary=\['race'\]"),
        ({"noise": {"race=A": 1}}, r"write vary=\['race'\]"),
        ({"noise": {"sex": 1}}, r"write vary=\['sex'\]"),
        ({"noise": {"city": 1}}, r"write vary=\['city'\]"),
        ({"noise": {"size": "1 sd"}}, "by how many levels"),
        ({"noise": {"size": "1..2"}}, "by how many levels"),
        ({"noise": {"income": "1 sd"}}, "deviation is not known"),
        ({"noise": "1 sd"}, "deviation is not known"),
        ({"vary": {"city": ["city 01"]}}, "'city 01', which is none.*Did you mean"),
        ({"vary": {"age": [18, 19]}}, "a number that is also moved"),
        ({"vary": {"age": [18, 200]}}, "lists 200, and 'age' .* from 0 to 120"),
        ({"vary": {"age": ["young"]}}, "lists 'young', and 'age' is a number"),
        ({"vary": {"sex": ["male"], "sex=male": ["not male"]}}, "two things of 'sex'"),
        ({"noise": {"age": 3}, "vary": ["sex"], "where": {"sex": "mal"}}, "'mal'"),
        (
            {"vary": ["sex"], "where": {"age": "under 37"}},
            "'age' is a number; write '<= 37', '> 37', '18..30' or '== 37'",
        ),
        ({"vary": ["sex"], "where": {"age": [18, 19]}}, "'age' is a number"),
        ({"vary": ["sex"], "where": {"age": True}}, "'age' is a number"),
        ({"vary": ["sex"], "where": {"race": "<= 3"}}, "name them in a list"),
        ({"vary": ["sex"], "where": {"age": "> 120"}}, "which no value it can have"),
        ({"vary": ["sex"], "where": {"age": "== 121"}}, "which no value it can have"),
        ({"vary": ["sex"], "where": {"grade": "> 5"}}, "which no value it can have"),
        ({"missing": ["income"]}, "takes no missing values"),
    ],
)
def test_what_does_not_fit_the_variables_is_refused(given: Any, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        bind(Similarity(**given), town.variables())


def test_the_same_variable_under_two_names() -> None:
    rules = bind(Similarity(vary=["race=A", "race=B", "race"]), town.variables())
    assert rules.free == [town.NAMES.index("race")]
    kinds = (Number(name="years", columns="age"), Number(name="b", columns="b"))
    schema = Schema(columns=("age", "b"), variables=kinds)
    variables = Variables(town.make((Numeric(name="age"), Numeric(name="b"))), schema)
    with pytest.raises(SpecError, match="two things of 'years'"):
        bind(Similarity(noise={"age": 3, "years": 4}), variables)
    with pytest.raises(SpecError, match="'years' is named in noise and in vary"):
        bind(Similarity(noise={"age": 3}, vary=["years"]), variables)
    assert bind(Similarity(noise=1, vary=["years"]), variables).steps.keys() == {1}
    with pytest.raises(SpecError, match="there are none"):
        bind(Similarity(noise=1, vary=["years", "b"]), variables)


def test_a_constant_number_has_no_noise_in_deviations() -> None:
    def rules(similarity: Similarity, *sds: float | None) -> Any:
        names = [f"x{place}" for place in range(len(sds))]
        features = tuple(Numeric(name=name) for name in names)
        kinds = tuple(
            Number(name=name, columns=name, sd=sd)
            for name, sd in zip(names, sds, strict=True)
        )
        schema = Schema(columns=tuple(names), variables=kinds)
        return bind(similarity, Variables(town.make(features), schema))

    for_all = Similarity(noise="-2 sd")
    assert rules(for_all, 0.0, 1.5).steps == {0: Step(0.0, 0.0), 1: Step(3.0, 0.0)}
    with pytest.raises(SpecError, match=r"each of them \(x0, x1\) all rows have the s"):
        rules(for_all, 0.0, 0.0)
    with pytest.raises(SpecError, match=r"'x1' is '-2 sd', and its .* is not known"):
        rules(for_all, 0.0, None)
    # Who names a number wants it to move.
    with pytest.raises(SpecError, match=r"'x0' is '2 sd', and its .* deviation is 0"):
        rules(Similarity(noise={"x0": "2 sd", "x1": 1}), 0.0, 1.5)
    # What may be anything is not counted in deviations.
    with pytest.raises(SpecError, match=r"each of them \(x0\) all rows"):
        rules(Similarity(noise="1 sd", vary=["x1"]), 0.0, 1.5)
    assert rules(Similarity(noise=1), 0.0).steps == {0: Step(1.0, 1.0)}


def test_labels_are_found_by_value_or_text() -> None:
    grade = town.NAMES.index("grade")
    for label in (5, 5.0, "5", "== 5"):
        similarity = Similarity(vary=["sex"], where={"grade": label})
        codes = bind(similarity, town.variables()).among[grade]
        assert codes.tolist() == [False, False, True, False]


def test_one_at_a_time() -> None:
    similarity = Similarity(
        noise={"age": 3},
        vary={"sex": "known", "job": "any", "race": ["a", "b"]},
        where={"age": "> 3"},
        missing=["age", "job"],
    )
    where = {"age": "> 3"}
    assert similarity.one_at_a_time() == any_of(
        Similarity(noise={"age": 3}, where=where, missing=["age"]),
        Similarity(vary=["sex"], where=where),
        Similarity(vary={"race": ["a", "b"]}, where=where),
        Similarity(vary={"job": "any"}, missing=["job"], where=where),
    )
    union = Similarity(vary=["a", "b"]) | Similarity(vary=["c"])
    assert len(union.one_at_a_time().alternatives) == 3
    with pytest.raises(SpecError, match=r"dict.fromkeys\(schema.numeric, 0.3\)"):
        Similarity(noise=0.3).one_at_a_time()


def test_what_follows_stays_with_what_it_follows() -> None:
    born = {"born": "2026 - age", "cohort": "born / 10"}
    ages: dict[str, Any] = {"noise": {"age": 3}, "follow": born}
    follow = {**born, "ratio": "debt / income"}
    similarity = Similarity(
        noise={"age": 3, "debt": 1, "income": 2}, vary=["sex"], follow=follow
    )
    ratio = {"ratio": "debt / income"}
    assert similarity.one_at_a_time() == any_of(
        Similarity(**ages),
        Similarity(noise={"debt": 1}, follow=ratio),
        Similarity(noise={"income": 2}, follow=ratio),
        Similarity(vary=["sex"]),
    )
    assert similarity.only(varying=True) == Similarity(vary=["sex"])
    numbers = similarity.only(varying=False)
    assert numbers is not None
    assert dict(numbers.alternatives[0].follow) == follow
    # Noise for all numbers moves those that formulas read.
    blanket = Similarity(noise=1, vary=["sex"], follow=born).parts()
    assert Similarity(noise=1, follow=born) in blanket


def test_followers_of_which_nothing_names_the_leader_stay() -> None:
    # A schema may say which combinations exist.
    both = Similarity(noise={"age": 1}, vary=["sex"], follow=["kin"])
    assert Similarity(vary=["sex"], follow=["kin"]) in both.parts()
    swaps = {"kin": {"wife": "husband"}}
    priced = Similarity(distance={"sex": 0.5}, follow=swaps)
    assert priced.parts() == [priced]


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(similarities(), min_size=1, max_size=3))
def test_moves_tell_all_that_may_change(found: list[Similarity]) -> None:
    relation = any_of(*found)
    # Put together again, the parts of each alternative are all that it allows.
    for one in relation.alternatives:
        parts = one.parts()
        assert all(len({move.name for move in part.moves}) == 1 for part in parts)
        assert {move for part in parts for move in part.moves} == set(one.moves)
        assert all(part.where == one.where for part in parts)
    assert relation.parts() == list(
        dict.fromkeys(part for one in relation.alternatives for part in one.parts())
    )
    said = {move.name for move in relation.moves} - {None}
    assert set(relation.names) == said | {name for name, _ in relation.conditions}


def test_moves_by_the_names_of_variables() -> None:
    columns = ("age", "pay", "year")
    numbers = tuple(Number(name=name, columns=(name,)) for name in columns)
    schema = Schema(columns=columns, variables=numbers)
    relation = Similarity(noise=2, vary=["pay"]) | Similarity(
        noise={"age": "18..30", "pay": "0 sd"}, missing=["year", "nothing"]
    )
    assert [(name, *move[:4]) for name, move in relation.moving(schema)] == [
        ("age", "noise", None, Step(2.0, 2.0), None),
        ("year", "noise", None, Step(2.0, 2.0), None),
        ("pay", "vary", "pay", None, None),
        ("age", "noise", "age", Range(18.0, 30.0), None),
        ("pay", "noise", "pay", Step(0.0, 0.0, "sd"), None),
        ("year", "missing", "year", None, None),
    ]
    moves = relation.moves
    assert [move.said for move in moves[:2]] == [
        "noise is for all numbers",
        "vary names 'pay'",
    ]
    # Of a range there is no multiple, and of nothing neither.
    assert [move.grows for move in moves] == [True] + [False] * 5
    assert [move.varies for move in moves] == [False, True] + [False] * 4


def test_whoever_asks_what_may_change_asks_for_moves() -> None:
    root = Path(fatt.__file__).parent
    looking = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in {"noise", "vary"}
    }
    assert looking == {
        "certificate/similar.py",
        "cli/options.py",
        # Counts of people whom noise alone harms.
        "report/details.py",
        "region/rules.py",
        "region/similarity.py",
    }


def test_titles_of_what_may_change() -> None:
    similarity = Similarity(noise=2, vary=["sex"], missing=["sex"], where={"a": "> 3"})
    assert [one.title() for one in similarity.parts()] == [
        "all numbers, where a > 3",
        "sex, where a > 3",
    ]


def test_words() -> None:
    similarity: Relation = Similarity(
        noise={"age": "2 sd", "size": 1, "income": "-5%", "score": "0..1"},
        vary={"race": ["A", "B"], "sex": "any", "grade": "any"},
        where={"age": "> 18", "city": ["city 1", "city 2"]},
        missing=["job"],
    ) | Similarity(noise="+1", vary=["age"])
    assert similarity.describe(town.schema()).splitlines() == [
        "Two persons are similar if for both of them 'age' is > 18 and 'city' is "
        "'city 1' or 'city 2', and they agree in everything, except that:",
        "- 'age' may differ by up to 2 standard deviations (5)",
        "- 'income' may be up to 5% lower",
        "- 'score' may be any number from 0 to 1 if it is one of them",
        "- 'size' may differ by up to 1 levels",
        "- 'grade' may be anything, also a value that the model does not know",
        "- the values 'A', 'B' of 'race' are interchangeable",
        "- 'sex' may be anything",
        "- 'job' may be missing for one and known for the other",
        "Or they are if they agree in everything, except that:",
        "- 'income' may be up to 1 higher",
        "- 'score' may be up to 1 higher",
        "- 'ratio' may be up to 1 higher",
        "- 'age' may be any whole number from 0 to 120",
    ]
    assert "every number may be up to 1 higher" in similarity.describe()


def test_toml_is_read_from_files(tmp_path: Path) -> None:
    path = tmp_path / "audit.toml"
    path.write_text(
        '[[similar]]\nnoise = { age = 3, "hours per week" = "0.3 sd", x = "1..2" }\n'
        'vary = ["sex"]\n\n[similar.where]\nage = "<= 37"\n\n'
        '[[similar]]\nvary = { race = ["a", "b"] }\n',
        encoding="utf-8",
    )
    assert Similarity.read_toml(path) == Similarity(
        noise={"age": 3, "hours per week": "0.3 sd", "x": "1..2"},
        vary=["sex"],
        where={"age": "<= 37"},
    ) | Similarity(vary={"race": ["a", "b"]})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no .*similar.* table"),
        ("similar = 3", "no .*similar.* table"),
        ("similar = [3]", "make it a table"),
        ("[[similar]]\nnose = 3", "key 'nose'.*Did you mean 'noise'"),
        ("[[similr]]\nnoise = 3", "key 'similr'.*Did you mean 'similar'"),
        ("[[similar]]\nnoise = ", "no valid TOML"),
        ("[[similar]]", "nothing may change"),
        ('[[similar]]\nvary = ["x"]\nwhere = {d = 2020-01-01}', "a label or a list"),
    ],
)
def test_senseless_toml_is_refused(text: str, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        Similarity.from_toml(text)


@pytest.mark.parametrize("amount", [np.array([1.0, 2.0]), 10**400, [10**400, 1]])
def test_what_is_no_plain_number_is_no_amount(amount: Any) -> None:
    with pytest.raises(SpecError, match="noise of 'age'"):
        Similarity(noise={"age": amount})


def test_noise_below_a_whole_step_is_told_to_move_nothing() -> None:
    variables = (
        Integer(name="age", columns=("age",), sd=4.0),
        Number(name="debt", columns=("debt",), sd=0.5),
    )
    schema = Schema(columns=("age", "debt"), variables=variables)
    stays = "which is less than a whole step: it stays as it is"
    for amount, moves in ((0.5, False), ("0.2 sd", False), (1, True), ("0.3 sd", True)):
        words = Similarity(noise={"age": amount, "debt": 0.5}).describe(schema)
        [age, debt] = words.splitlines()[1:]
        assert (stays in age) != moves
        assert stays not in debt
    # Of hundredths that depends on the person.
    assert stays not in Similarity(noise={"age": "1%"}).describe(schema)


def test_a_number_takes_the_values_that_are_listed() -> None:
    columns = ("sex", "job", "age")
    variables = (
        Integer(name="sex", columns=("sex",), sd=0.5, seen=(0, 1)),
        Integer(name="job", columns=("job",), lower=0, upper=9),
        Number(name="age", columns=("age",)),
    )
    schema = Schema(columns=columns, variables=variables)
    codes = Similarity(vary={"sex": [1, 0], "job": [2, 7.0]})
    found = narrowed(schema, codes)
    assert found.find("sex") == Ordinal(name="sex", columns=("sex",), levels=(0, 1))
    assert found.find("job") == Ordinal(name="job", columns=("job",), levels=(2, 7))
    assert found.find("age") == variables[2]
    assert Similarity.from_toml(codes.to_toml()) == codes
    assert "the values 0, 1 of 'sex' are interchangeable" in codes.describe(found)
    # Somebody with another value that was seen stays as is.
    more = narrowed(schema, Similarity(vary={"sex": [1, 2]}))
    assert more.find("sex").labels == (0, 1, 2)
    # What noise or `any` reaches may be any number.
    for other in (Similarity(noise={"sex": 1}), Similarity(vary={"sex": "any"})):
        assert narrowed(schema, codes | other).find("sex") == variables[0]
    assert narrowed(schema, Similarity(vary={"sex": "any"})) == schema
    assert narrowed(schema, Similarity(vary={"sex": "known"})) != schema


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1))
def test_codes_vary_among_those_that_are_listed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 4, 60), rng.integers(0, 5, 60)])
    X = X.astype(float)
    clf = DecisionTreeClassifier(random_state=0).fit(X, rng.integers(0, 2, 60))
    similarity = Similarity(vary={"x0": [0, 2], "x1": [1, 3]}) | Similarity(vary=["x0"])
    own = clf.predict(X)
    fair = np.ones(len(X), dtype=bool)
    for row, (one, two) in enumerate(X):
        ones = {one} | ({0, 2} if one in {0, 2} else set())
        twos = {two} | ({1, 3} if two in {1, 3} else set())
        near = [*itertools.product(ones, twos), *((x, two) for x in range(4))]
        fair[row] = (clf.predict(near) == own[row]).all()
    report = fatt.verify(clf, X, similarity=similarity)
    np.testing.assert_array_equal(report.is_fair, fair)
    assert report.certificate().check(clf).fair == report.counts["fair"]
    with pytest.raises(DataError, match=r"x0' is 5.0, .* the values that vary lists"):
        fatt.verify(
            clf,
            [[0, 1], [5, 1]],
            similarity=similarity,
            schema=(Schema.infer(fatt.load(clf), X)),
        )
    auditor = fatt.Auditor(clf, similarity=Similarity(vary=["x0"]), schema=X)
    wider = auditor.with_similarity(Similarity(vary={"x0": [0, 9]}))
    assert wider.variables.schema.find("x0").labels == (0, 1, 2, 3, 9)
