"""No clean verdict about the wrong thing: what a report says beside its counts."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import fatt
from fatt import Similarity
from fatt.errors import DataError, SpecError
from fatt.region import Integer
from fatt.report import doubts
from fatt.report.doubts import association
from tests.laws.effort import for_seeds

pandas = pytest.importorskip("pandas")
sklearn = pytest.importorskip("sklearn")

from sklearn.compose import make_column_transformer  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import OneHotEncoder, StandardScaler  # noqa: E402
from sklearn.tree import DecisionTreeClassifier  # noqa: E402


def town(count: int = 300) -> tuple[Any, Any]:
    """Return people whose relationship nearly tells their sex, and outcomes."""
    rng = np.random.default_rng(0)
    sex = rng.integers(0, 2, count)
    wife = np.where(sex == 1, rng.random(count) < 0.9, rng.random(count) < 0.03)
    frame = pandas.DataFrame(
        {
            "age": rng.integers(18, 80, count),
            "sex": sex,
            "wife": wife.astype(int),
            "income": rng.normal(30_000, 9_000, count).round(),
        }
    )
    granted = (frame["wife"] == 1) ^ (frame["age"] > 50) ^ (frame["income"] > 30_000)
    return frame, granted.astype(int)


def fitted(frame: Any, granted: Any, depth: int = 6) -> Any:
    return DecisionTreeClassifier(max_depth=depth, random_state=0).fit(frame, granted)


@pytest.fixture(scope="module")
def people() -> Any:
    return town()[0]


@pytest.fixture(scope="module")
def model() -> Any:
    return fitted(*town())


# Which column is which.


def test_a_table_with_names_needs_a_word_for_a_model_without(people: Any) -> None:
    own = DecisionTreeClassifier(random_state=0).fit(people.to_numpy(), town()[1])
    asked = {"similarity": Similarity(vary=["sex"])}
    with pytest.raises(DataError, match="x0 = age, x1 = sex, x2 = wife, x3 = income"):
        fatt.verify(own, people, **asked)
    with pytest.raises(DataError, match="by_position=True"):
        fatt.Auditor(own, **asked, schema=people)
    schema = fatt.Schema.infer(fatt.load(own), people)
    with pytest.raises(DataError, match="columns="):
        fatt.Auditor(own, **asked, schema=schema).verify(people)
    for question in (fatt.score_gap, fatt.radius):
        with pytest.raises(DataError, match="which is which"):
            question(own, people, similarity=Similarity(noise={"x0": 1}))
    told = fatt.verify(own, people, **asked, by_position=True)
    named = fatt.load(own, columns=list(people.columns))
    turned = people[people.columns[::-1]]
    assert told.counts == fatt.verify(named, turned, **asked).counts
    assert "x0 = age" in told.to_html()
    # Numbers, and the names that were made up for the model, are no names.
    bare = pandas.DataFrame(people.to_numpy())
    same = bare.set_axis(["x0", "x1", "x2", "x3"], axis=1)
    for table, name in ((people.to_numpy(), "x0"), (bare, "0"), (same, "x0")):
        report = fatt.verify(own, table, similarity=Similarity(noise={name: 1}))
        assert len(report) == len(people)


def test_a_pickled_auditor_remembers_what_it_was_told(people: Any) -> None:
    import pickle

    own = DecisionTreeClassifier(random_state=0).fit(people.to_numpy(), town()[1])
    auditor = fatt.Auditor(
        own, similarity=Similarity(vary=["sex"]), schema=people, by_position=True
    )
    again = pickle.loads(pickle.dumps(auditor))
    assert again.verify(people).counts == auditor.verify(people).counts


# Rows that do not fit.


def test_raw_rows_for_a_model_of_scaled_columns_are_doubted(people: Any) -> None:
    scaled = pandas.DataFrame(
        StandardScaler().fit_transform(people), columns=people.columns
    )
    similarity = Similarity(noise={"age": 2})
    own = fitted(scaled, town()[1])
    report = fatt.verify(own, people, similarity=similarity)
    assert report.fairness.lower == 1.0
    first, second = report.warnings
    assert "'age' (300 of 300 are above " in first
    assert "'income' (300 of 300 are above " in first
    assert "'sex'" not in first
    assert "for everybody in this table" in second
    page = report.to_html()
    assert page.index("Warning.") < page.index("<main>")
    assert "load it with its preparation (prepare=), or load the pipeline" in page
    # Neither the sheet for a board nor Python spells options of the command line.
    sheet = report.to_html(summary=True).partition("<body")[2]
    assert "--" not in sheet
    assert not any("--" in warning for warning in report.warnings)
    assert json.loads(report.to_json())["warnings"] == list(report.warnings)
    other_way = fatt.verify(fitted(*town()), scaled, similarity=similarity)
    assert "are at most " in other_way.warnings[0]


def test_rows_that_fit_are_not_doubted(people: Any, model: Any) -> None:
    report = fatt.verify(model, people, similarity=Similarity(noise={"age": 2}))
    assert report.warnings == ()
    # A rare flag, and a column that most people have at 0, are beyond by nature.
    gains = np.where(np.arange(300) % 20 == 0, 5000.0 + np.arange(300), 0.0)
    rare = people.assign(flag=np.arange(300) % 50 == 0, gains=gains)
    own = fitted(rare, (rare["gains"] > 5100) ^ rare["flag"] ^ (rare["age"] > 40))
    assert fatt.verify(own, rare, similarity=Similarity(vary=["sex"])).warnings == ()


def test_raw_rows_of_a_skewed_column_are_doubted(people: Any) -> None:
    """Close to the last threshold, by the width of the column, and all beyond it."""
    rng = np.random.default_rng(0)
    raw = people[["age"]].assign(debt=10 + rng.exponential(3_000, 300).round())
    scaled = raw.assign(debt=(raw["debt"] - 3_000) / 3_000)
    one = (scaled["debt"] > -0.3) ^ (scaled["age"] > 50)
    own = fitted(scaled, one ^ (scaled["debt"] > 0.2) ^ (scaled["debt"] > 1))
    asked = {"similarity": Similarity(noise={"age": 2})}
    warning, *_ = fatt.verify(own, raw, **asked).warnings
    assert "'debt' (300 of 300 are above " in warning
    assert fatt.verify(own, scaled, **asked).warnings == ()
    # Of a few people that may be chance, and so it may be of one threshold or two.
    for count in (19, 20):
        some = fatt.verify(own, raw[:count], **asked).warnings
        assert any("'debt'" in one for one in some) == (count == 20)
    bands = np.digitize(scaled["debt"], [-0.3, 0.2, 1])
    for cuts in (2, 3):
        few = DecisionTreeClassifier(max_leaf_nodes=cuts + 1)
        few.fit(scaled[["debt"]], np.minimum(bands, cuts))
        assert len(fatt.load(few).ensemble.thresholds(0)) == cuts
        some = fatt.verify(few, raw[["debt"]], similarity=Similarity(noise={"debt": 1}))
        assert any("'debt'" in one for one in some.warnings) == (cuts == 3)


@pytest.mark.parametrize(("first", "is_doubted"), [(1, False), (0, True), (2, True)])
def test_codes_that_begin_at_another_number_are_doubted(
    first: int, is_doubted: bool
) -> None:
    """The app counts from 1; a table that counts otherwise reaches no threshold."""
    rng = np.random.default_rng(0)
    table = pandas.DataFrame({"sex": rng.integers(1, 3, 100), "age": range(100)})
    tree = DecisionTreeClassifier(max_depth=4, random_state=0)
    tree.fit(table, (table["sex"] == 2) ^ (table["age"] > 50))
    given = table.assign(sex=table["sex"] - 1 + first)
    report = fatt.verify(tree, given, similarity=Similarity(noise={"age": 2}))
    told = [one for one in report.warnings if one.startswith("No value reaches a thre")]
    assert len(told) == is_doubted
    assert report.grave_doubts == ()
    if told:
        assert f"'sex' ({first} to {first + 1}, threshold 1.5)" in told[0]
    # One value is no list of codes.
    alone = given.assign(sex=first)
    report = fatt.verify(tree, alone, similarity=Similarity(noise={"age": 2}))
    assert not any(one.startswith("No value") for one in report.warnings)


def test_categories_that_the_model_does_not_know_are_doubted(people: Any) -> None:
    known = people[["age"]].assign(town=np.where(people["wife"], "Ulm", "Rom"))
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["town"]), remainder="passthrough"
    )
    tree = DecisionTreeClassifier(max_depth=6, random_state=0)
    own = make_pipeline(encoder, tree).fit(known, town()[1])
    asked = {"similarity": Similarity(noise={"age": 2})}
    assert fatt.verify(own, known, **asked).warnings == ()
    lower = known.assign(town=known["town"].str.lower())
    lower.loc[7, "town"] = "Rom"
    report = fatt.verify(own, lower, **asked)
    [warning] = report.warnings
    count = int((lower["town"] == "rom").sum())
    such = "'rom', 'ulm'" if count > 149 else "'ulm', 'rom'"
    said = f"'town' (299 of 300, such as {such}; the model knows 'Rom', 'Ulm')"
    assert said in warning
    assert "say what the codes mean (codes=), or load" in warning
    assert "--" not in warning
    # Nor is anything about a column that no tree asks about.
    blind = make_pipeline(encoder, DecisionTreeClassifier(max_depth=6, random_state=0))
    blind.fit(known, known["age"] > 40)
    assert fatt.verify(blind, lower, **asked).warnings == ()
    some = known.assign(town=known["town"].where(known.index % 300 > 0, "Oslo"))
    array = some[["age", "town"]].to_numpy(dtype=object)
    for model, table in ((own, some), (own, some[:1]), (fatt.load(own), array)):
        [warning] = fatt.verify(model, table, **asked).warnings
        assert f"'town' (1 of {len(table)}, such as 'Oslo'; the model" in warning


def cafe(people: Any) -> tuple[Any, Any]:
    """Return people with a purpose, and outcomes that go by it."""
    purpose = np.array(["A40", "A41", "A43"])[np.arange(300) % 3]
    frame = people[["age"]].astype(float).assign(purpose=purpose)
    return frame, ((purpose == "A43") ^ (frame["age"] > 50)).astype(int)


def lightgbm_file(frame: Any, granted: Any, path: Any) -> Any:
    lightgbm = pytest.importorskip("lightgbm")
    own = lightgbm.LGBMClassifier(n_estimators=3, min_data_per_group=1, verbose=-1)
    table = frame.assign(purpose=frame["purpose"].astype("category"))
    own.fit(table, granted).booster_.save_model(path / "model.txt")
    return path / "model.txt"


def onnx_file(frame: Any, granted: Any, path: Any) -> Any:
    skl2onnx = pytest.importorskip("skl2onnx")
    from skl2onnx.common.data_types import DoubleTensorType, StringTensorType

    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["purpose"]), remainder="passthrough"
    )
    tree = DecisionTreeClassifier(max_depth=4, random_state=0)
    own = make_pipeline(encoder, tree).fit(frame, granted)
    types = [
        ("age", DoubleTensorType([None, 1])),
        ("purpose", StringTensorType([None, 1])),
    ]
    written = skl2onnx.to_onnx(own, initial_types=types, options={"zipmap": False})
    (path / "model.onnx").write_bytes(written.SerializeToString())
    return path / "model.onnx"


@pytest.mark.parametrize("made", [lightgbm_file, onnx_file])
def test_unknown_categories_are_counted_in_every_library(
    made: Any, people: Any, tmp_path: Any
) -> None:
    frame, granted = cafe(people)
    model = made(frame, granted, tmp_path)
    asked = {"similarity": Similarity(noise={"age": 2})}
    assert fatt.verify(model, frame, **asked).warnings == ()
    other = frame.assign(purpose=frame["purpose"].replace("A43", "Möbel"))
    [warning] = fatt.verify(model, other, **asked).warnings
    assert "'purpose' (100 of 300, such as 'Möbel'; the model knows" in warning


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_infinite_numbers_are_told(people: Any) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    own = lightgbm.LGBMClassifier(n_estimators=3, verbose=-1)
    own.fit(people, town()[1])
    asked = {"similarity": Similarity(noise={"age": 2}, vary=["sex"])}
    age = people["age"].astype(float)
    one = people.assign(age=age.mask(people.index == 7, np.inf))
    report = fatt.verify(own, one, **asked)
    [warning] = report.warnings
    assert "infinite: 'age' (1 of 300). A number that is too large" in warning
    page = report.to_html()
    assert "<dt>Infinite numbers</dt><dd><bdi>age 1</bdi>" in page
    assert "Infinite" not in fatt.verify(own, people, **asked).to_html()
    for table in (people.assign(age=np.inf), one[7:8], one.assign(income=1e308)):
        assert "infinite" in " ".join(fatt.verify(own, table, **asked).warnings)
    huge = people.assign(age=np.where(people.index % 2, 1.7e308, -1.7e308))
    assert "Infinite" not in fatt.verify(own, huge, **asked).to_html()


@pytest.mark.parametrize("form", ["frame", "array"])
def test_a_column_of_which_the_model_knows_nothing_is_refused(
    form: str, people: Any
) -> None:
    known = people[["age"]].assign(town=np.where(people["wife"], "Ulm", "Rom"))
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), [1]), remainder="passthrough"
    )
    tree = DecisionTreeClassifier(max_depth=6, random_state=0)
    train = known if form == "frame" else known.to_numpy()
    own = make_pipeline(encoder, tree).fit(train, town()[1])
    lower = known.assign(town=known["town"].str.lower())
    age = "age" if form == "frame" else "x0"
    asked = {"similarity": Similarity(noise={age: 2})}

    def rows(frame: Any) -> Any:
        return frame if form == "frame" else frame.to_numpy()

    message = (
        r"column '(town|x1)': .*'(rom|ulm)', '(rom|ulm)', the model knows 'Rom', 'Ulm'"
    )
    with pytest.raises(DataError, match=message):
        fatt.verify(own, rows(lower), **asked)
    # The first ten alone decide nothing.
    late = lower.copy()
    late.loc[299, "town"] = "Rom"
    assert len(fatt.verify(own, rows(late), **asked)) == 300
    # Nor do a few people, or people who all have the same.
    assert len(fatt.verify(own, rows(lower[:9]), **asked)) == 9
    same = lower[lower["town"] == "ulm"]
    assert len(fatt.verify(own, rows(same), **asked)) == len(same)


def test_few_people_tell_nothing(people: Any, model: Any) -> None:
    asked = {"similarity": Similarity(noise={"age": 2})}
    assert fatt.verify(model, people[:1], **asked).warnings == ()
    strange = people.assign(age=people["age"] + 1000 * people["income"])
    assert fatt.verify(model, strange[:9], **asked).warnings == ()
    assert (
        "beyond all thresholds" in fatt.verify(model, strange[:10], **asked).warnings[0]
    )


def test_a_column_of_zeros_mostly_is_no_reason_to_doubt(people: Any) -> None:
    """Of a capital gain the thresholds lie where few people are."""
    rng = np.random.default_rng(0)
    some = rng.random(300) < 0.06
    gain = np.where(some, rng.integers(100, 9_000, 300), 0)
    table = people.assign(gain=gain)
    own = fitted(table, (gain > 5_000) ^ (table["age"] > 50), depth=3)
    similarity = Similarity(noise={"age": 2})
    assert fatt.verify(own, table, similarity=similarity).warnings == ()
    # Nor is a threshold with few people below it.
    hours = np.where(rng.random(300) < 0.03, 5, rng.integers(20, 60, 300))
    table = people.assign(hours=hours)
    own = fitted(table, (hours < 8) ^ (table["age"] > 50), depth=2)
    assert fatt.verify(own, table, similarity=similarity).warnings == ()


# Similar to nobody.


@pytest.mark.parametrize(
    "similarity",
    [
        Similarity(noise={"age": 2}, where={"age": "> 200"}),
        Similarity(noise={"age": 0.5}),
        Similarity(vary=["sex"], where={"sex": "== 1"}),
        Similarity(noise={"age": 0.5})
        | Similarity(vary=["sex"], where={"age": "> 99"}),
    ],
)
def test_a_similarity_that_lets_nobody_move_is_refused(
    similarity: Any, people: Any, model: Any
) -> None:
    reason = "nobody in this table has anybody similar"
    with pytest.raises(SpecError, match=reason):
        fatt.verify(model, people, similarity=similarity)
    auditor = fatt.Auditor(model, similarity=similarity, schema=people)
    with pytest.raises(SpecError, match=reason):
        auditor.verify(people[:2])


@pytest.mark.parametrize("place", [0, 1, 299])
def test_one_who_may_move_is_enough(place: int, people: Any, model: Any) -> None:
    age = people["age"].mask(np.arange(300) == place, 99.0)
    table = people.assign(age=age)
    similarity = Similarity(noise={"age": 2}, where={"age": "> 98"})
    assert fatt.verify(model, table, similarity=similarity).alone == 299


def test_people_similar_to_nobody_are_counted(people: Any, model: Any) -> None:
    similarity = Similarity(noise={"age": 2}, where={"age": "<= 30"})
    report = fatt.verify(model, people, similarity=similarity)
    older = int((people["age"] > 30).sum())
    assert report.alone == older
    assert f"{older} of 300 people have nobody similar, and are" in report.notes[0]
    assert report.notes[0] in report.to_html()
    assert json.loads(report.to_json())["alone"] == older


def test_an_auditor_may_be_asked_about_somebody_alone(people: Any, model: Any) -> None:
    similarity = Similarity(noise={"age": 2}, where={"age": "<= 30"})
    auditor = fatt.Auditor(model, similarity=similarity, schema=people)
    old = people[people["age"] > 30][:1]
    report = auditor.verify(old)
    assert report.alone == 1
    assert report.notes[0].startswith("This person has nobody similar")


@for_seeds(30)
def test_who_is_alone_is_who_has_no_other_point(seed: int) -> None:
    """Compare with the boxes, read one by one."""
    from fatt.region import Neighbourhood
    from fatt.region.boxes import code_words
    from tests.region import town as small

    rng = np.random.default_rng(seed)
    variables = small.variables()
    choices = [
        Similarity(vary=["race"]),
        Similarity(noise={"age": float(rng.choice([0.4, 1, 3]))}),
        Similarity(missing=["age"]),
        Similarity(vary=["race"], where={"age": "<= 30"}),
        Similarity(noise={"age": 2}, where={"age": "> 30"}),
    ]
    chosen = rng.choice(len(choices), size=int(rng.integers(1, 3)), replace=False)
    similarity = choices[chosen[0]]
    for other in chosen[1:]:
        similarity = similarity | choices[other]
    points = [
        [options[rng.integers(len(options))] for options in small.POINTS.values()]
        for _ in range(40)
    ]
    values = small.encode(points, variables)
    space = Neighbourhood(similarity, variables)
    boxes = space.boxes(values)
    features = variables.ensemble.features
    words = code_words(features)
    alone = np.ones(len(values), dtype=bool)
    for box in range(len(boxes)):
        for index in range(len(features)):
            bits = boxes.codes[box, words[index] : words[index + 1]]
            options = sum(int(word).bit_count() for word in bits.tolist())
            options += int(boxes.missing[box, index])
            if words[index] == words[index + 1]:
                low, high = boxes.lower[box, index], boxes.upper[box, index]
                options += 0 if low > high else 1 if low == high else 2
            if options > 1:
                alone[boxes.person[box]] = False
    assert space.alone(values).tolist() == alone.tolist()


def test_noise_that_moves_nobody_leaves_a_column_fixed(people: Any, model: Any) -> None:
    similarity = Similarity(noise={"age": 0.5, "income": 1}, vary=["sex"])
    report = fatt.verify(model, people, similarity=similarity)
    assert doubts.held_fixed(report.people, report.similarity) == ["age", "wife"]
    assert "it stays as it is" in report.to_html()


# What varies.


def test_a_number_that_varies_has_the_values_seen(people: Any, model: Any) -> None:
    report = fatt.verify(model, people, similarity=Similarity(vary=["wife", "sex"]))
    assert report.counts["unfair"] > 0
    for case in report.counterexamples:
        assert case.twin["wife"] in {0, 1}
        assert case.twin["sex"] in {0, 1}
    words = report.similarity.describe(report.people.variables.schema)
    assert "'sex' may be any of 0, 1" in words
    report.certificate().check(model, people)
    # The schema that was inferred knows the values, also for other people.
    schema = fatt.Schema.infer(fatt.load(model), people)
    some = fatt.verify(
        model, people[:3], similarity=Similarity(vary=["wife"]), schema=schema
    )
    every = fatt.verify(model, people, similarity=Similarity(vary=["wife"]))
    verdicts = every.findings.verdict.tolist()
    assert some.findings.verdict.tolist() == verdicts[:3]


def test_many_values_and_bounds_are_said_in_words(people: Any, model: Any) -> None:
    schema = fatt.Schema.infer(fatt.load(model), people)
    vary = Similarity(vary=["age", "sex"])
    words = fatt.verify(model, people, similarity=vary).similarity.describe(schema)
    assert "'age' may be any whole number at all, without bounds" in words
    bounded = schema.with_(age=Integer(lower=18, upper=80), sex=Integer(lower=0))
    report = fatt.verify(model, people, similarity=vary, schema=bounded)
    words = report.similarity.describe(report.people.variables.schema)
    assert "'age' may be any whole number from 18 to 80" in words
    assert "'sex' may be any whole number that is at least 0" in words


def test_noise_keeps_a_number_a_number(people: Any, model: Any) -> None:
    """A union in which one alternative moves what the other varies."""
    both = Similarity(vary=["sex"]) | Similarity(noise={"sex": 1})
    report = fatt.verify(model, people, similarity=both)
    words = report.similarity.describe(report.people.variables.schema)
    assert "'sex' may be any whole number at all, without bounds" in words
    auditor = fatt.Auditor(model, similarity=Similarity(vary=["wife"]), schema=people)
    for similarity in (
        Similarity(noise={"wife": 1}),
        Similarity(vary=["sex"]),
        Similarity(noise={"age": 2}),
        Similarity(noise=1),
    ):
        direct = fatt.verify(model, people, similarity=similarity)
        shared = auditor.with_similarity(similarity).verify(people)
        assert shared.findings.verdict.tolist() == direct.findings.verdict.tolist()
        assert list(map(str, shared.counterexamples)) == list(
            map(str, direct.counterexamples)
        )


def test_an_expected_schema_is_compared_as_the_similarity_reads_it(
    people: Any, model: Any
) -> None:
    similarity = Similarity(vary=["sex"])
    certificate = fatt.verify(model, people, similarity=similarity).certificate()
    schema = fatt.Schema.infer(fatt.load(model), people)
    assert certificate.check(model, similarity=similarity, schema=schema)


def test_one_value_alone_does_not_tell_which_others_there_are() -> None:
    own = DecisionTreeClassifier().fit(pandas.DataFrame({"x": [0.0, 1.0]}), [0, 1])
    one = pandas.DataFrame({"x": [0.0]})
    report = fatt.verify(own, one, similarity=Similarity(vary=["x"]))
    assert report.counts["unfair"] == 1


# Noise, proxies and what is not read.


def test_noise_that_covers_a_column_is_told(people: Any, model: Any) -> None:
    covers = fatt.verify(model, people, similarity=Similarity(noise={"wife": 3}))
    said = "'wife' covers all its values here, from 0 to 1"
    assert any(said in note for note in covers.notes)
    less = fatt.verify(model, people, similarity=Similarity(noise={"age": 3}))
    assert not any("covers" in note for note in less.notes)
    far = fatt.verify(model, people, similarity=Similarity(noise={"wife": "4 sd"}))
    assert any("covers" in note for note in far.notes)


def test_noise_that_covers_a_column_names_what_gives_it_away(
    people: Any, model: Any
) -> None:
    varied = fatt.verify(model, people, similarity=Similarity(vary=["sex"]))
    covers = fatt.verify(model, people, similarity=Similarity(noise={"sex": 1}))
    [told] = [note for note in varied.notes if "predicts" in note]
    assert told in covers.notes


def test_a_column_that_gives_away_what_varies_is_named(people: Any, model: Any) -> None:
    report = fatt.verify(model, people, similarity=Similarity(vary=["sex"]))
    [note] = [note for note in report.notes if "predicts" in note]
    assert note.startswith("'wife' (Cramér's V 0.8")
    assert note.endswith("predicts 'sex' but stays fixed. Consider varying 'wife' too.")
    assert note.replace("'", "&#x27;") in report.to_html()
    assert note.replace("'", "&#x27;") in report.to_html(summary=True)
    both = fatt.verify(model, people, similarity=Similarity(vary=["sex", "wife"]))
    assert not any("predicts" in note for note in both.notes)
    assert both.fairness.upper < report.fairness.lower


def test_what_the_model_does_not_read_is_said(people: Any) -> None:
    blind = people.drop(columns="sex")
    own = fitted(blind, town()[1])
    with pytest.raises(
        SpecError, match=r"does not read the column 'sex'.*'wife' \(Cramér's V 0.8"
    ):
        fatt.verify(own, people, similarity=Similarity(vary=["sex"]))
    unused = people.assign(town=np.arange(300) % 3)
    lazy = fitted(unused, (unused["age"] > 40).astype(int))
    report = fatt.verify(lazy, unused, similarity=Similarity(vary=["town"]))
    assert any("does not read 'town'" in note for note in report.notes)


def test_association_is_between_0_and_1() -> None:
    rng = np.random.default_rng(0)
    one, other = rng.integers(0, 3, 5000), rng.integers(0, 4, 5000)
    assert association(one, other) < 0.05
    assert association(one, 2 - one) > 0.99
    assert association(one, np.zeros(5000, dtype=np.int64)) == 0.0
