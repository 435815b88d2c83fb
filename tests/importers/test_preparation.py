"""Preparation from outside: raw rows, the real transformer, and the real model."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import fatt
from fatt import Similarity
from fatt.cli import fatt as command
from fatt.errors import (
    DataError,
    ModelError,
    SpecError,
    UnsupportedModelError,
    UntrustedModelError,
)
from tests.laws.effort import for_seeds

pandas = pytest.importorskip("pandas")

from sklearn.compose import ColumnTransformer, make_column_transformer  # noqa: E402
from sklearn.decomposition import PCA  # noqa: E402
from sklearn.ensemble import RandomForestClassifier  # noqa: E402
from sklearn.impute import KNNImputer  # noqa: E402
from sklearn.preprocessing import (  # noqa: E402
    LabelEncoder,
    MinMaxScaler,
    OneHotEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)

NUMBERS = ["age", "income"]
SEX = {"M": 0, "F": 1}
SIMILAR = Similarity(noise={"age": 2}, vary=["sex"])


def people(rng: np.random.Generator, count: int = 90) -> Any:
    return pandas.DataFrame(
        {
            "age": rng.integers(18, 80, count).astype(float),
            "sex": rng.choice(list(SEX), count),
            "income": rng.normal(30_000, 9_000, count).round(),
        }
    )


def outcomes(frame: Any) -> Any:
    return ((frame["sex"] == "F") ^ (frame["age"] > 50)).astype(int)


def fitted(kind: str, X: Any, y: Any) -> Any:
    """Return a fitted model, of any library."""
    if kind == "sklearn":
        return RandomForestClassifier(5, random_state=0).fit(X, y)
    if kind == "xgboost":
        xgboost = pytest.importorskip("xgboost")
        return xgboost.XGBClassifier(n_estimators=4, max_depth=3).fit(X, y)
    lightgbm = pytest.importorskip("lightgbm")
    made = lightgbm.LGBMClassifier(n_estimators=4, min_child_samples=2, verbose=-1)
    return made.fit(X, y)


@pytest.mark.parametrize("kind", ["sklearn", "xgboost", "lightgbm"])
@for_seeds(4)
def test_raw_rows_get_the_answers_of_the_prepared(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    frame = people(rng)
    scalers = (StandardScaler(), MinMaxScaler(), RobustScaler())
    scaler = scalers[seed % 3].fit(frame[NUMBERS])
    ready = frame.assign(sex=frame["sex"].map(SEX))
    ready[NUMBERS] = scaler.transform(frame[NUMBERS])
    is_named = bool(rng.random() < 0.5)
    own = fitted(kind, ready if is_named else ready.to_numpy(), outcomes(frame))
    columns = None if is_named else list(ready.columns)
    model = fatt.load(own, columns=columns, prepare=[{"sex": SEX}, scaler])
    given = ready if is_named else ready.to_numpy()
    expected = own.predict(given).tolist()
    turned = frame[list(rng.permutation(frame.columns))].assign(more=1)
    for table in (frame, turned, frame.astype({"age": int})):
        assert model.predict(table).tolist() == expected
        assert model.ask(table[list(frame.columns)]) == expected
    assert (model.ask_proba(frame) == own.predict_proba(given)).all()
    report = fatt.verify(model, turned, similarity=SIMILAR)
    assert report.asked.people == len(frame)
    assert report.counts["unfair"] > 0
    for case in report.counterexamples:
        assert case.replayed_on == "model"
        twin = pandas.DataFrame([case.twin])[list(frame.columns)]
        raw = twin.assign(sex=twin["sex"].map(SEX))
        raw[NUMBERS] = scaler.transform(twin[NUMBERS])
        assert own.predict(raw if is_named else raw.to_numpy()) == [case.twin_label]
    assert report.certificate().check(model, turned)


@pytest.mark.parametrize("kind", ["sklearn", "xgboost", "lightgbm"])
@for_seeds(2)
def test_an_encoder_makes_some_columns_beside_others(kind: str, seed: int) -> None:
    """As training code puts them together: flags behind numbers, these scaled."""
    rng = np.random.default_rng(seed)
    frame = people(rng).assign(
        town=lambda f: rng.choice(["Ulm", "Bonn", "Köln"], len(f))
    )
    encoder = OneHotEncoder(sparse_output=bool(seed), drop="first")
    encoder.fit(frame[["sex", "town"]])
    scaler = StandardScaler().fit(frame[NUMBERS])

    def ready(table: Any) -> Any:
        made = encoder.transform(table[["sex", "town"]])
        flags = made.toarray() if seed else made
        scaled = pandas.DataFrame(scaler.transform(table[NUMBERS]), columns=NUMBERS)
        names = encoder.get_feature_names_out()
        joined = pandas.concat([scaled, pandas.DataFrame(flags, columns=names)], axis=1)
        return joined[["age", *names, "income"]]

    own = fitted(kind, ready(frame), outcomes(frame))
    expected = own.predict(ready(frame)).tolist()
    for steps in ([encoder, scaler], [scaler, encoder]):
        model = fatt.load(own, prepare=steps)
        assert sorted(f.name for f in model.features) == sorted(frame.columns)
        for table in (frame, frame[frame.columns[::-1]].assign(more=1)):
            assert model.predict(table).tolist() == expected
        assert model.ask(frame) == expected
        report = fatt.verify(model, frame, similarity=SIMILAR)
        assert report.counts["unfair"] > 0
        twins = pandas.DataFrame([case.twin for case in report.counterexamples])
        found = own.predict(ready(twins)).tolist()
        assert found == [case.twin_label for case in report.counterexamples]
        assert report.certificate().check(model, frame)
    with pytest.raises(UnsupportedModelError, match="makes the column 'town_Bonn'"):
        fatt.load(own, prepare=OneHotEncoder().fit(frame[["town"]]))


@pytest.mark.parametrize("kind", ["xgboost", "lightgbm"])
def test_categories_of_pandas_stand_beside_what_is_made(kind: str) -> None:
    """Libraries ask the frame for them, so that it is no array in between."""
    rng = np.random.default_rng(5)
    towns = pandas.CategoricalDtype(["Bonn", "Koeln", "Ulm"])
    frame = people(rng).assign(
        town=lambda f: pandas.Series(rng.choice(towns.categories, len(f)), dtype=towns)
    )
    scaler = StandardScaler().fit(frame[NUMBERS])
    encoder = OneHotEncoder(sparse_output=False).fit(frame[["sex"]])

    def ready(table: Any) -> Any:
        flags = encoder.transform(table[["sex"]])
        made = table[["town"]].astype(towns)
        made[encoder.get_feature_names_out()] = flags
        made[NUMBERS] = scaler.transform(table[NUMBERS])
        return made

    library = pytest.importorskip(kind)
    own = (
        library.XGBClassifier(n_estimators=4, enable_categorical=True)
        if kind == "xgboost"
        else library.LGBMClassifier(n_estimators=4, min_child_samples=2, verbose=-1)
    ).fit(ready(frame), outcomes(frame) ^ (frame["town"] == "Ulm"))
    model = fatt.load(own, prepare=[scaler, encoder])
    assert model.ask(frame) == own.predict(ready(frame)).tolist()
    report = fatt.verify(model, frame, similarity=SIMILAR)
    assert report.counts["unfair"] > 0
    assert {case.replayed_on for case in report.counterexamples} == {"model"}
    twins = pandas.DataFrame([case.twin for case in report.counterexamples])
    told = [case.twin_label for case in report.counterexamples]
    assert own.predict(ready(twins)).tolist() == told


def test_rows_without_names_have_no_order_before_what_makes_some_columns() -> None:
    """A model reads what is made first, and nobody ever put the raw columns so."""
    frame = people(np.random.default_rng(6)).replace({"sex": SEX}).astype(float)
    encoder = OneHotEncoder(sparse_output=False).fit(frame[["sex"]])
    ready = frame[NUMBERS]
    for name, flags in zip(
        encoder.get_feature_names_out(),
        encoder.transform(frame[["sex"]]).T,
        strict=True,
    ):
        ready.insert(0, name, flags)
    own = RandomForestClassifier(4, random_state=0).fit(ready, frame["age"] > 50)
    scaler = StandardScaler().fit(frame[["age"]])
    near = Similarity(noise={"age": 1})
    for prepare, rename in (
        (encoder, None),
        ([scaler, encoder], None),
        (encoder, {"Age": "age"}),
    ):
        model = fatt.load(own, prepare=prepare, rename=rename)
        with pytest.raises(DataError, match="the rows have no names"):
            fatt.verify(model, frame.to_numpy(), similarity=near)
    model = fatt.load(own, prepare=encoder)
    assert (model.predict(frame) == own.predict(ready)).all()
    # In their places columns may be scaled.
    own.fit(frame, frame["age"] > 50)
    model = fatt.load(own, prepare=scaler)
    assert (model.predict(frame) == model.predict(frame.to_numpy())).all()


def test_a_column_transformer_stands_before_a_file(tmp_path: Path) -> None:
    xgboost = pytest.importorskip("xgboost")
    frame = people(np.random.default_rng(0))
    step = make_column_transformer(
        (OneHotEncoder(), ["sex"]), (MinMaxScaler(), NUMBERS), sparse_threshold=1
    ).fit(frame)
    made = step.transform(frame)
    assert hasattr(made, "toarray")
    data = xgboost.DMatrix(made.toarray(), outcomes(frame))
    own = xgboost.train({"objective": "binary:logistic"}, data, 4)
    own.save_model(tmp_path / "model.json")
    model = fatt.load(tmp_path / "model.json", prepare=step)
    assert [feature.name for feature in model.features] == ["age", "sex", "income"]
    assert model.ask(frame) == (own.predict(data) > 0.5).astype(int).tolist()
    report = fatt.verify(model, frame, similarity=SIMILAR)
    assert report.asked.people == len(frame)
    assert report.counterexamples[0].twin["sex"] in SEX


def test_files_on_the_command_line(tmp_path: Path) -> None:
    frame = people(np.random.default_rng(1))
    labels = {"sex": LabelEncoder().fit(frame["sex"])}
    scaler = StandardScaler().fit(frame[NUMBERS])
    ready = frame.assign(sex=labels["sex"].transform(frame["sex"]))
    ready[NUMBERS] = scaler.transform(frame[NUMBERS])
    own = fitted("lightgbm", ready, outcomes(frame))
    own.booster_.save_model(tmp_path / "model.txt")
    (tmp_path / "labels.pkl").write_bytes(pickle.dumps(labels))
    (tmp_path / "labels.json").write_text(json.dumps({"sex": {"F": 0, "M": 1}}))
    (tmp_path / "scaler.pkl").write_bytes(pickle.dumps(scaler))
    frame.assign(y=own.predict(ready)).to_csv(tmp_path / "raw.csv", index=False)
    (tmp_path / "audit.toml").write_text(
        '[audit]\nmodel = "model.txt"\npeople = "raw.csv"\nlabel = "y"\n'
        'prepare = ["labels.json", "scaler.pkl"]\n[[similar]]\nvary = ["sex"]\n'
    )

    def run(*words: str) -> Any:
        files = [str(tmp_path / w) if (tmp_path / w).exists() else w for w in words]
        return CliRunner().invoke(command, files)

    audit = ("audit", "model.txt", "raw.csv", "--vary", "sex", "--label", "y")
    pickled = ("--prepare", "labels.pkl", "--prepare", "scaler.pkl")
    page, proof = str(tmp_path / "a.html"), str(tmp_path / "a.cert")
    done = run(
        *audit, *pickled, "--allow-pickle", "--html", page, "--certificate", proof
    )
    assert done.exit_code == 0
    assert "is that of column 'y' for 90 of 90 people" in done.stdout
    written = run("audit", "--spec", "audit.toml", "--allow-pickle")
    assert written.stdout == done.stdout
    check = ("check", proof, "model.txt", "raw.csv", "--label", "y")
    assert run(*check, *pickled, "--allow-pickle").exit_code == 0
    spec = ("--spec", "audit.toml", "--allow-pickle")
    assert run(*check, *spec).exit_code == 0
    told = Path(page).read_text(encoding="utf-8")
    assert f"--prepare {tmp_path / 'labels.pkl'}" in told
    refused = run(*audit, *pickled)
    assert isinstance(refused.exception, UntrustedModelError)
    begun = run("init", "model.txt", "raw.csv", *pickled, "--allow-pickle", "-o",
                str(tmp_path / "begun.toml"))  # fmt: skip
    assert begun.exit_code == 0
    assert run("audit", "--spec", "begun.toml", "--allow-pickle").exit_code == 0


@pytest.mark.parametrize(
    ("prepare", "error", "message"),
    [
        ({"sexx": SEX}, SpecError, "names the column 'sexx'"),
        ({"sex": {"M": "zero"}}, SpecError, "names 'zero', and the model reads a"),
        ({"sex": {}}, SpecError, "write the code of each text"),
        ({"sex": ["M", "F"]}, SpecError, "the place of a text is its code"),
        ({"sex": SEX, "scale": 100}, SpecError, "says 100 of column 'scale'"),
        ({"threshold": 0.3}, SpecError, "and no codes; write the code of each text"),
        (7, SpecError, "holds a int"),
        ("absent.pkl", ModelError, "cannot read the preparation"),
    ],
)
def test_what_is_no_preparation_is_refused(
    prepare: Any, error: type[Exception], message: str
) -> None:
    frame = people(np.random.default_rng(0))
    own = fitted("sklearn", frame.assign(sex=0.0), outcomes(frame))
    with pytest.raises(error, match=message):
        fatt.load(own, prepare=prepare)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ({"sex": {"classes": ["M", "F"]}}, ""),
        ({"sex": SEX, "feature_order": ["age", "sex"]}, "left aside 'feature_order'"),
        (
            {"mappings": {"sex": SEX}, "feature_order": ["age"], "cutoff": 0.3},
            "threshold=0.3",
        ),
    ],
)
def test_codes_are_read_as_people_save_them(
    content: dict[str, Any], told: str, tmp_path: Path
) -> None:
    frame = people(np.random.default_rng(0))
    ready = frame.assign(sex=frame["sex"].map(SEX))
    own = fitted("sklearn", ready, outcomes(frame))
    (tmp_path / "codes.json").write_text(json.dumps(content))
    for prepare in (content, tmp_path / "codes.json"):
        model = fatt.load(own, prepare=prepare)
        assert model.ask(frame) == own.predict(ready).tolist()
        assert told in " ".join(model.ensemble.source.notes)


def test_encoders_of_labels_are_read_inside_another_key(tmp_path: Path) -> None:
    frame = people(np.random.default_rng(0))
    labels = {"sex": LabelEncoder().fit(frame["sex"])}
    ready = frame.assign(sex=labels["sex"].transform(frame["sex"]))
    own = fitted("sklearn", ready, outcomes(frame))
    content = {"encoders": labels, "features": [*frame.columns]}
    (tmp_path / "labels.pkl").write_bytes(pickle.dumps(content))
    for prepare in (content, tmp_path / "labels.pkl"):
        model = fatt.load(own, prepare=prepare, allow_pickle=True)
        assert model.ask(frame) == own.predict(ready).tolist()
        assert "left aside 'features'" in " ".join(model.ensemble.source.notes)
    with pytest.raises(SpecError, match="of column 'scaler'"):
        fatt.load(own, prepare={"encoders": {**labels, "scaler": StandardScaler()}})


def test_lists_of_columns_are_no_codes(tmp_path: Path) -> None:
    frame = people(np.random.default_rng(0)).assign(sex=0.0)
    own = fitted("sklearn", frame, frame["age"] > 50)
    path = tmp_path / "columns.json"
    for text, reason in (
        ('["sex_F", "sex_M"]', "holds a list of JSON"),
        ("{", "no JS"),
    ):
        path.write_text(text)
        with pytest.raises(SpecError, match=rf"{reason}.*'sex': \{{'M': 0"):
            fatt.load(own, prepare=path)


def test_an_encoder_gives_its_column_another_name() -> None:
    frame = people(np.random.default_rng(0))
    ready = frame.assign(sex_encoded=frame["sex"].map(SEX))[["age", "sex_encoded"]]
    own = fitted("sklearn", ready, outcomes(frame))
    with pytest.raises(SpecError, match=r"rename=\{'sex': 'sex_encoded'\}"):
        fatt.load(own, prepare={"sex": SEX})
    model = fatt.load(own, prepare={"sex_encoded": SEX}, rename={"sex": "sex_encoded"})
    assert model.ask(frame) == own.predict(ready).tolist()
    nameless = fitted("sklearn", ready.to_numpy(), outcomes(frame))
    names = ["age", "sex"]
    with pytest.raises(SpecError, match=r"Name its 2 columns in .* columns="):
        fatt.load(nameless, prepare={"sex": SEX})
    model = fatt.load(nameless, prepare={"sex": SEX}, columns=names)
    assert model.ask(frame[names]) == own.predict(ready).tolist()


def test_neighbours_fill_no_gap_where_there_is_none() -> None:
    frame = people(np.random.default_rng(0))[NUMBERS]
    gaps = frame.mask(np.random.default_rng(1).random(frame.shape) < 0.1)
    imputer = KNNImputer(n_neighbors=3).fit(gaps)
    own = fitted("sklearn", imputer.transform(gaps), frame["age"] > 50)
    model = fatt.load(own, prepare=imputer)
    for whole in (frame, frame.astype(int)):
        said = own.predict(imputer.transform(whole))
        assert (model.predict(whole) == said).all()
    with pytest.raises(DataError, match=r"is missing, and .* that fatt can follow"):
        model.predict(gaps)
    imputer.add_indicator = True
    with pytest.raises(UnsupportedModelError, match="KNNImputer is followed where"):
        fatt.load(own, prepare=imputer)


def test_columns_are_named_in_front_of_what_knows_no_names() -> None:
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(18, 90, 200), rng.integers(0, 99, 200)]) * 1.0
    scaler = StandardScaler().fit(rows)
    own = RandomForestClassifier(3, random_state=0)
    own.fit(scaler.transform(rows), rows[:, 0] > 50)
    model = fatt.load(own, columns=NUMBERS, prepare=scaler)
    table = pandas.DataFrame(rows, columns=NUMBERS)
    said = own.predict(scaler.transform(rows))
    for given in (table, table[NUMBERS[::-1]]):
        assert (model.predict(given) == said).all()
    report = fatt.verify(
        model, table[:40], similarity=fatt.Similarity(noise={"age": 3})
    )
    assert 0 < report.counts["unfair"] < 40


def test_a_dict_may_hold_one_step_beside_names_and_thresholds(tmp_path: Path) -> None:
    frame = people(np.random.default_rng(0))[NUMBERS]
    scaler = StandardScaler().fit(frame)
    own = fitted("sklearn", scaler.transform(frame), frame["age"] > 50)
    path = tmp_path / "preparation.pkl"
    path.write_bytes(pickle.dumps({"names": NUMBERS, "scaler": scaler, "cutoff": 0.3}))
    for prepare in (path, {"scaler": scaler, "names": NUMBERS, "cutoff": 0.3}):
        model = fatt.load(own, columns=NUMBERS, prepare=prepare, allow_pickle=True)
        said = own.predict(scaler.transform(frame))
        assert (model.predict(frame) == said).all()
        notes = " ".join(model.ensemble.source.notes)
        assert "StandardScaler at 'scaler' is read; left aside are 'names'" in notes
        assert "threshold=0.3" in notes
    with pytest.raises(SpecError, match=r"says StandardScaler\(\) of column 'scaler'"):
        fatt.load(own, prepare={"scaler": scaler, "codes": {"sex": SEX}})


def test_steps_that_do_not_fit_are_refused() -> None:
    frame = people(np.random.default_rng(0)).assign(sex=lambda f: f["sex"].map(SEX))
    own = fitted("sklearn", frame, frame["sex"])
    with pytest.raises(UnsupportedModelError, match="mixes columns"):
        fatt.load(own, prepare=PCA(3).fit(frame))
    with pytest.raises(UnsupportedModelError, match="makes 2 columns, and the model"):
        fatt.load(own, prepare=StandardScaler().fit(frame[NUMBERS].to_numpy()))
    turned = StandardScaler().fit(frame[frame.columns[::-1]])
    with pytest.raises(UnsupportedModelError, match="in another order: age, sex, inc"):
        fatt.load(own, prepare=turned)


def test_a_text_without_a_code_is_refused() -> None:
    frame = people(np.random.default_rng(0))
    own = fitted("sklearn", frame.assign(sex=frame["sex"].map(SEX)), outcomes(frame))
    model = fatt.load(own, prepare={"sex": {"M": 0, "m": 0, "F": 1}})
    alike = frame.assign(sex=frame["sex"].replace("M", "m"))
    assert model.predict(alike).tolist() == model.predict(frame).tolist()
    assert model.ask(alike) == model.ask(frame)
    with pytest.raises(DataError, match="'X', which the model never saw"):
        model.predict(frame.assign(sex="X"))
    # Numbers are raw values too, and never codes.
    with pytest.raises(DataError, match="pass the column as texts"):
        model.predict(frame.assign(sex=1.0))


def test_a_preparation_that_adds_a_column_is_no_part_of_the_models() -> None:
    """Its columns are all among the model's, and it makes one of them more."""
    X = people(np.random.default_rng(3))[NUMBERS]
    step = PolynomialFeatures(interaction_only=True, include_bias=False)
    step.set_output(transform="pandas").fit(X)
    own = RandomForestClassifier(4, random_state=0)
    own.fit(step.transform(X), X["income"] / X["age"] > 600)
    model = fatt.load(own, prepare=step)
    report = fatt.verify(model, X, similarity=Similarity(noise={"age": 1}))
    assert report.asked.people == len(X)
    assert (model.predict(X) == own.predict(step.transform(X))).all()


@pytest.mark.parametrize("is_part", [False, True])
def test_what_is_made_of_a_column_stands_in_no_other_place(is_part: bool) -> None:
    """A ColumnTransformer hands columns on in its own order, under names of its own."""
    X = people(np.random.default_rng(4))[NUMBERS]
    first, second = NUMBERS
    step = ColumnTransformer(
        [("one", MinMaxScaler(), [second]), ("other", StandardScaler(), [first])]
    ).fit(X)
    ready = X.assign(debt=0.0) if is_part else X.copy()
    ready[[second, first]] = step.transform(X)
    own = RandomForestClassifier(4, random_state=0).fit(
        ready, X[first] > X[first].mean()
    )
    with pytest.raises(UnsupportedModelError, match=f"the model reads '{first}'"):
        fatt.load(own, prepare=step)
    kept = ColumnTransformer(
        [("other", StandardScaler(), [first]), ("one", MinMaxScaler(), [second])]
    ).fit(X)
    model = fatt.load(own, prepare=kept)
    assert (model.predict(X.assign(debt=0.0)) == own.predict(ready)).all()
