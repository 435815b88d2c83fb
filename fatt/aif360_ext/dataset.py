"""AIF360's datasets: the one place that knows what AIF360 calls its attributes."""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Ensemble, Label
from fatt.errors import DataError, SpecError
from fatt.importers import load
from fatt.model import Model
from fatt.region import Number, Ordinal, Relation, Schema, Similarity
from fatt.report import Report
from fatt.verdict import FAIR, UNFAIR, UNKNOWN

#: Groups as AIF360 writes them: any of these, each with all of its values.
Groups: TypeAlias = Sequence[Mapping[str, float]]

#: What each of a model's classes is called elsewhere, in the model's order.
Coding: TypeAlias = tuple[Label, ...]


def load_with(
    model: Any,
    preprocess: Any,
    threshold: float | None = None,
    favorable: Any = None,
) -> Model:
    """Load the model that reads what the transformer reads.

    Parameters
    ----------
    model
        Whatever `fatt.load` takes.
    preprocess
        Fitted scikit-learn transformer whose output the model reads; None if the model
        reads the raw columns.
    threshold
        As in `fatt.load`.
    favorable
        The label that is cut off, if the model answers it; else its second class is.

    Raises
    ------
    SpecError
        If a transformer is given with a file, or with an `Ensemble`.
    """
    if preprocess is None:
        return _cut(load(model), threshold, favorable)
    fitted = model.given if isinstance(model, Model) else model
    if fitted is None or isinstance(fitted, str | os.PathLike | Ensemble):
        raise SpecError(
            f"preprocess is given with the model {model!r}, and a transformer can only "
            "stand before a fitted object. Load the file with its own library, such as "
            "XGBClassifier().load_model(...)."
        )
    from sklearn.pipeline import Pipeline

    loaded = load(Pipeline([("preprocess", preprocess), ("model", fitted)]))
    if isinstance(model, Model):
        loaded = loaded.deciding_like(model)
    return _cut(loaded, threshold, favorable)


def _cut(model: Model, threshold: float | None, favorable: Any) -> Model:
    if threshold is None:
        return model
    # Of several classes, several may be favorable.
    is_one = isinstance(favorable, str | int | float) and favorable in model.classes
    pos_label = favorable if is_one else None
    return model.deciding(threshold=threshold, pos_label=pos_label)


def codings_of(classes: Coding, labels: Sequence[Label]) -> list[Coding]:
    """Return the ways in which a model's classes may stand for a dataset's labels.

    Libraries that count their classes from 0 make models of 0 and 1 for a dataset with
    the labels 1 and 2. Which is which does not matter to fairness, so both ways are
    taken; more than two classes must be the labels themselves.

    Parameters
    ----------
    classes
        The model's classes.
    labels
        The dataset's labels.

    Examples
    --------
    >>> codings_of((0, 1), [1.0, 2.0])
    [(1.0, 2.0), (2.0, 1.0)]
    >>> codings_of((0, 1), [1.0, 0.0])
    [(0.0, 1.0), (1.0, 0.0)]
    """
    if len(classes) > 2:
        return [classes]
    found = itertools.permutations(labels, len(classes))
    return sorted(found, key=lambda coding: coding != classes)


def refuse_other_labels(
    ensemble: Ensemble, rows: Any, given: NDArray[Any], codings: Sequence[Coding]
) -> None:
    """Raise unless a model gives these labels: verdicts on another one mean nothing.

    Parameters
    ----------
    ensemble
        The model.
    rows
        The people.
    given : ndarray of shape (n_people,)
        The labels that they got.
    codings
        What the model's classes may stand for, the likeliest first.

    Raises
    ------
    SpecError
        If labels differ, with the number of rows in which they do.
    """
    if len(given) != len(rows):
        raise SpecError(
            f"there are {len(given):,} predicted labels for {len(rows):,} people; pass "
            "one label each."
        )
    possible = ensemble.possible_labels(rows)
    differs = [_differs(possible, given, coding) for coding in codings]
    if not all(wrong.any() for wrong in differs):
        return
    is_own = codings[0] == ensemble.classes
    wrong = differs[0] if is_own else min(differs, key=np.count_nonzero)
    raise SpecError(
        f"the model gives other labels than those predicted in {wrong.sum():,} of "
        f"{len(given):,} rows, first in row {int(np.argmax(wrong))}. Pass the model "
        "that made them, together with whatever transformer stood before it, and the "
        "rows for which it made them."
    )


def _differs(
    possible: NDArray[np.bool_], given: NDArray[Any], coding: Coding
) -> NDArray[np.bool_]:
    agrees = np.zeros(len(given), dtype=bool)
    for place, label in enumerate(coding):
        agrees |= possible[:, place] & (given == label)
    return ~agrees


def schema_of(dataset: Any, *, model: Any, preprocess: Any = None) -> Schema:
    """Derive a schema from an AIF360 dataset, for a model that reads its features.

    Columns such as ``race=White`` and ``race=Black`` are one variable `race`. A
    protected attribute has the values that the dataset lists as privileged or
    unprivileged, and noise on it counts these values; if only one is listed, it may be
    any number. All other columns are numbers: AIF360 keeps only floats, so name whole
    numbers and bounds with `Schema.with_`.

    Parameters
    ----------
    dataset
        AIF360 dataset; best the training data, or all the data.
    model
        Whatever `fatt.load` takes.
    preprocess
        Fitted transformer between the dataset's features and the model.

    Returns
    -------
    Schema

    Examples
    --------
    >>> schema = schema_of(train, model=model)         # doctest: +SKIP
    >>> schema = schema.with_(age=Integer(lower=17))   # doctest: +SKIP
    """
    return derive(dataset, load_with(model, preprocess).ensemble)


def derive(dataset: Any, ensemble: Ensemble) -> Schema:
    """Derive a schema from a dataset, for a model that was loaded; see `schema_of`."""
    schema = Schema.infer(ensemble, frame_of(dataset))
    for name in dataset.protected_attribute_names:
        schema = with_levels(schema, name, _levels(dataset, name))
    return schema


def frame_of(dataset: Any) -> Any:
    """Return the features of a dataset as a data frame, not copied."""
    import pandas as pd

    return pd.DataFrame(dataset.features, columns=dataset.feature_names, copy=False)


def rows_of(dataset: Any, *, named: bool) -> Any:
    """Return the features for a model that knows its columns by name, or by place."""
    return frame_of(dataset) if named else dataset.features


def labels_of(dataset: Any) -> NDArray[np.float64]:
    """Return the label of each person."""
    return np.ravel(dataset.labels)


def weights_of(dataset: Any) -> NDArray[np.float64]:
    """Return the weight of each person."""
    return np.asarray(dataset.instance_weights)


def possible_labels(dataset: Any) -> list[float]:
    """Return the labels that a dataset can have; some datasets have lists of each."""
    good, bad = dataset.favorable_label, dataset.unfavorable_label
    return [*np.ravel(good).tolist(), *np.ravel(bad).tolist()]


def protected_names(dataset: Any) -> list[str]:
    """Return the names of the protected attributes."""
    return list(dataset.protected_attribute_names)


def with_answers(dataset: Any, model: Any) -> Any:
    """Return a copy of a dataset with the labels and scores that a model gives.

    Parameters
    ----------
    dataset
        Dataset with the features that the model reads.
    model
        Fitted classifier in the manner of scikit-learn. Scores are its probabilities of
        the favorable label.

    Raises
    ------
    SpecError
        If the favorable label is none of those that the model was trained on.
    """
    classes = model.classes_.tolist()
    if dataset.favorable_label not in classes:
        raise SpecError(
            f"the favorable label is {dataset.favorable_label}, and FATT was "
            f"trained on the labels {classes}; code both datasets alike."
        )
    people, predicted = frame_of(dataset), dataset.copy()
    predicted.labels = model.predict(people).reshape(-1, 1)
    favorable = classes.index(dataset.favorable_label)
    predicted.scores = model.predict_proba(people)[:, [favorable]]
    return predicted


def with_levels(schema: Schema, name: str, levels: Mapping[float, float]) -> Schema:
    """Return a schema in which a column of numbers has finitely many values.

    Parameters
    ----------
    schema
        The schema.
    name
        Name of the column. Nothing changes if it belongs to no variable, or to one that
        is no number, such as a group of one-hot columns.
    levels
        The number in the column for each value that people know; nothing changes if
        there is none.
    """
    if not levels or not is_known(schema, name):
        return schema
    variable = schema.find(name)
    if not isinstance(variable, Number):
        return schema
    numbers = dict(sorted(levels.items()))
    known = [int(value) if value.is_integer() else value for value in numbers]
    kind = Ordinal(levels=tuple(known), values=tuple(numbers.values()))
    return schema.with_({variable.name: kind})


def _levels(dataset: Any, name: str) -> dict[float, float]:
    """Return the number in its column for each value of a protected attribute.

    There is none if the dataset does not tell all of them: then every number counts as
    a value, for a proof that forgot one would be wrong.
    """
    if name not in dataset.feature_names:
        return {}
    place = dataset.protected_attribute_names.index(name)
    own = dataset.protected_attributes[:, place]
    column = dataset.features[:, dataset.feature_names.index(name)]
    # Equal unless the features were scaled after the dataset was made.
    numbers = dict(zip(own.tolist(), column.tolist(), strict=True))
    listed = np.concatenate(
        [
            dataset.privileged_protected_attributes[place],
            dataset.unprivileged_protected_attributes[place],
        ]
    )
    if np.array_equal(own, column):
        numbers |= {float(value): float(value) for value in listed}
    is_complete = len(numbers) > 1 and numbers.keys() >= set(listed.tolist())
    is_one_to_one = len(set(numbers.values())) == len(numbers) and np.array_equal(
        [numbers[value] for value in own.tolist()], column
    )
    return numbers if is_complete and is_one_to_one else {}


def is_known(schema: Schema, name: str) -> bool:
    """Tell whether there is a variable or column of that name."""
    return name in schema.columns or any(v.name == name for v in schema.variables)


def free(schema: Schema, protected: Iterable[str]) -> Similarity:
    """Return the similarity in which protected attributes vary, and nothing else.

    Parameters
    ----------
    schema
        The variables that the model reads.
    protected
        Names of the protected attributes; those that the model does not read cannot
        change its labels.

    Raises
    ------
    SpecError
        If the model reads none of them.
    """
    names = list(protected)
    read = [schema.find(name).name for name in names if is_known(schema, name)]
    if not read:
        raise SpecError(
            "no similarity is given, which leaves the protected attributes free, and "
            f"the model reads none of them ({', '.join(map(repr, names)) or 'none'}): "
            "people who differ in them alone get the same label. Say with similarity= "
            "what else may differ."
        )
    return Similarity(vary=read)


def refuse_both(name: str, given: Any, similarity: Relation | None) -> None:
    """Raise if protected attributes are given beside a similarity, which names its own.

    Parameters
    ----------
    name, given
        The parameter with the protected attributes.
    similarity
        The similarity, or None.
    """
    if similarity is not None:
        raise SpecError(
            f"both {name}={given!r} and a similarity are given, so that it is not "
            "clear what may vary. Pass one of them; Similarity(vary=[...]) names "
            "attributes beside other differences."
        )


@contextlib.contextmanager
def datasets_from(folder: str | Path | None = None) -> Iterator[None]:
    """Let AIF360's dataset classes read raw files from a folder, on any pandas.

    AIF360 looks for raw files inside its own installation only, ends the process if one
    is missing, and cannot handle the texts of pandas 3. Within this context its dataset
    classes read from the folder, a missing file is an error like any other, and texts
    are handed to `StandardDataset` as objects. Everything is as before afterwards.

    Parameters
    ----------
    folder
        Folder with subfolders as in ``aif360/data/raw``: ``adult/adult.data``,
        ``german/german.data`` and so on. By default AIF360's own.

    Raises
    ------
    DataError
        If the folder, or a file that a dataset class needs, does not exist.

    Notes
    -----
    AIF360 is changed for the whole process while the context lasts: do not make
    datasets in other threads meanwhile.

    Examples
    --------
    >>> from aif360.datasets import GermanDataset
    >>> with datasets_from("data/raw"):                 # doctest: +SKIP
    ...     german = GermanDataset()
    """
    from aif360 import datasets

    if folder is not None and not Path(folder).is_dir():
        raise DataError(f"there is no folder {folder}; pass one with the raw files.")
    package = Path(datasets.__file__).resolve().parents[1] / "data" / "raw"
    reader = _Pandas(package, package if folder is None else Path(folder).resolve())
    standard = datasets.StandardDataset
    with contextlib.ExitStack() as changes:
        for module in vars(datasets).values():
            if isinstance(module, ModuleType) and hasattr(module, "pd"):
                changes.enter_context(_replaced(module, "pd", reader))
        adapted = _on_objects(standard.__init__)
        changes.enter_context(_replaced(standard, "__init__", adapted))
        yield


@contextlib.contextmanager
def _replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


class _Pandas:
    """Stands for pandas in AIF360's modules, and reads raw files from a folder."""

    def __init__(self, package: Path, folder: Path) -> None:
        self._package, self._folder = package, folder

    def __getattr__(self, name: str) -> Any:
        import pandas as pd

        return getattr(pd, name)

    def read_csv(self, path: Any, *args: Any, **kwargs: Any) -> Any:
        import pandas as pd

        file = Path(path).resolve()
        if file.is_relative_to(self._package):
            file = self._folder / file.relative_to(self._package)
        if not file.is_file():
            # AIF360 would answer an OSError with the end of the process.
            raise DataError(
                f"there is no raw file {file}. Put it there (AIF360's documentation "
                "says where it comes from), or name the folder that has it: "
                "datasets_from(folder)."
            )
        return pd.read_csv(file, *args, **kwargs)


def _on_objects(init: Callable[..., None]) -> Callable[..., None]:
    """Return the constructor of `StandardDataset`, with texts as objects."""
    signature = inspect.signature(init)

    @functools.wraps(init)
    def adapted(*args: Any, **kwargs: Any) -> None:
        bound = signature.bind(*args, **kwargs)
        given = bound.arguments
        prepare = given.pop("custom_preprocessing", None)
        # Before the preprocessing, which may write numbers among texts, and after it,
        # since it may make new columns of texts.
        table = _as_objects(given["df"])
        given["df"] = table if prepare is None else _as_objects(prepare(table))
        init(*bound.args, **bound.kwargs)

    return adapted


def _as_objects(table: Any) -> Any:
    import pandas as pd

    texts = [name for name in table if isinstance(table[name].dtype, pd.StringDtype)]
    return table.astype(dict.fromkeys(texts, object))


class Shares(NamedTuple):
    """Weighted shares; all are NaN for nobody, or for people without weight.

    Attributes
    ----------
    fair
        Share of people who are proved to be treated fairly.
    fair_upper
        Share of people who are not proved to be treated unfairly.
    unfair
        Share of people who are proved to be treated unfairly.
    """

    fair: np.float64
    fair_upper: np.float64
    unfair: np.float64


def shares(
    report: Report,
    weight: NDArray[np.float64],
    who: NDArray[np.bool_] | None = None,
) -> Shares:
    """Return the shares of fair and unfair people, added up as AIF360 does.

    Parameters
    ----------
    report
        The verdicts.
    weight : ndarray of shape (n_people,)
        Weight of each person.
    who : ndarray of shape (n_people,), optional
        Who belongs to the group; by default everybody.
    """
    mine = np.ones(len(weight), dtype=bool) if who is None else who
    verdicts = report.findings.verdict
    fair, unfair, unknown = (
        np.sum(weight[mine & (verdicts == verdict)], dtype=np.float64)
        for verdict in (FAIR, UNFAIR, UNKNOWN)
    )
    total = np.sum(weight[mine], dtype=np.float64)
    upper = np.minimum(1.0, ratio(fair + unknown, total))
    return Shares(ratio(fair, total), np.float64(upper), ratio(unfair, total))


def ratio(numerator: np.float64, denominator: np.float64) -> np.float64:
    """Divide without a warning: by zero it is infinite, and zero by zero is NaN."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.float64(np.divide(numerator, denominator))
