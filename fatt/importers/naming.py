"""Names given from outside: of columns, codes and answers.

The exact form then speaks of people in their own words. The model itself is still asked
in its own: `InOwnWords` turns tables and answers back.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import (
    Categorical,
    Cut,
    Ensemble,
    Feature,
    Inputs,
    Label,
    Numeric,
)
from fatt.ensemble.joint import divisors_of, in_words
from fatt.ensemble.tables import as_frame, places_of
from fatt.errors import Arg, SpecError, hint
from fatt.model import Around, Live, Model
from fatt.region.variables import Merge, merge_joint, merge_trees
from fatt.verdict import unknown_label

Rename = Mapping[str, str]
Codes = Mapping[str, Mapping[Any, str]]
Answers = Mapping[Any, Label]


def with_names(
    model: Model,
    *,
    columns: Sequence[str] | None = None,
    rename: Rename | None = None,
    codes: Codes | None = None,
    answers: Answers | None = None,
) -> Model:
    """Return a model whose columns, codes and answers have the names given here.

    Parameters
    ----------
    model
        The model, as it was read.
    columns, rename, codes, answers
        As in `fatt.load`.

    Raises
    ------
    SpecError
        If a name is given to what has one or does not exist, or two get the same.
    """
    own = ensemble = model.ensemble
    if columns is not None:
        ensemble = _with_columns(ensemble, columns)
    if rename:
        ensemble = _with_other_names(ensemble, rename)
    for name, words in (codes or {}).items():
        ensemble = _with_words(ensemble, name, words)
    if answers:
        ensemble = _with_answers(ensemble, answers)
    if ensemble is own:
        return model
    return replace(
        model,
        ensemble=ensemble,
        opened=functools.partial(_open, model.opened, own, ensemble, {}),
    )


def with_texts(model: Model, mapping: Mapping[str, Mapping[Label, Any]]) -> Model:
    """Return a model whose tables hold labels, which become numbers before it.

    Parameters
    ----------
    model
        The model, which reads the numbers.
    mapping
        For some columns the number of each label; several may have the same.

    Raises
    ------
    SpecError
        If a column does not exist, has labels of its own, or a number is none.
    """
    own = ensemble = model.ensemble
    numbers: dict[int, Sequence[Label]] = {}
    for name, given in mapping.items():
        index = _index(ensemble, name, Arg("prepare"))
        feature = ensemble.features[index]
        if isinstance(feature, Categorical) and feature.labelled:
            raise SpecError(
                f"{Arg('prepare')} maps the labels of {name!r} to numbers, and the "
                "model reads labels there itself; leave the column out."
            )
        found = [_code(feature, code, Arg("prepare")) for code in given.values()]
        named = Categorical(
            name=name,
            categories=tuple(given),
            accepts_missing=False,
            accepts_unknown=False,
        )
        numbers[index] = tuple(found)
        ensemble = _merged(ensemble, index, named, found)
    ensemble = replace(ensemble, inputs=_by_name(ensemble.inputs))
    opened = functools.partial(_open, model.opened, own, ensemble, numbers)
    return replace(model, ensemble=ensemble, opened=opened)


def _with_columns(ensemble: Ensemble, columns: Sequence[str]) -> Ensemble:
    features = ensemble.features
    if isinstance(columns, str) or not all(isinstance(name, str) for name in columns):
        raise SpecError(
            f"columns is {columns!r}; write a list of names, one for each column that "
            "the model reads, in its order."
        )
    if ensemble.inputs.named:
        named = ", ".join(feature.name for feature in features)
        raise SpecError(
            f"{Arg('columns')} names the columns of a model that has no names, and "
            f"this one has its own: {named}. Tell which columns of the table these are "
            f"with {Arg('rename', ...)}."
        )
    if len(columns) != len(features):
        raise SpecError(
            f"{Arg('columns')} has {len(columns)} names, and the model reads "
            f"{len(features)} columns; name each of them once, in the order of the "
            "training data."
        )
    _require_distinct(columns, f"{Arg('columns')} names")
    inputs = msgspec.structs.replace(ensemble.inputs, named=True, by_position="none")
    renamed = [
        msgspec.structs.replace(feature, name=name)
        for feature, name in zip(features, columns, strict=True)
    ]
    return replace(ensemble, features=tuple(renamed), inputs=inputs)


def _with_other_names(ensemble: Ensemble, rename: Rename) -> Ensemble:
    """Let tables call some columns otherwise than the model does."""
    if not isinstance(rename, Mapping):
        raise SpecError(
            f"rename is {rename!r}; write what the model calls some columns of the "
            "table: {'Age (years)': 'age'}."
        )
    if not ensemble.inputs.named:
        raise SpecError(
            f"{Arg('rename')} tells what the model calls columns of the table, and "
            "this model has no names of columns; name them all with "
            f"{Arg('columns', ...)}."
        )
    for name in rename.values():
        _index(ensemble, name, Arg("rename"))
    _require_distinct(list(rename.values()), f"{Arg('rename')} names")
    pairs = tuple((str(old), new) for old, new in rename.items())
    inputs = msgspec.structs.replace(_by_name(ensemble.inputs), renamed=pairs)
    return replace(ensemble, inputs=inputs)


def _by_name(inputs: Inputs) -> Inputs:
    """Return how tables are read of which the model gets a copy in its own order."""
    if inputs.by_position == "names":
        return inputs
    return msgspec.structs.replace(inputs, by_position="none")


def _with_answers(ensemble: Ensemble, answers: Answers) -> Ensemble:
    classes = list(ensemble.classes)
    for answer, word in answers.items():
        place = _place(answer, ensemble.classes)
        if place is None:
            raise SpecError(
                f"{Arg('answers')} names {answer!r}, which the model does not answer. "
                f"{hint(str(answer), map(str, ensemble.classes))}"
            )
        given = word.item() if isinstance(word, np.generic) else word
        is_nan = isinstance(given, float) and np.isnan(given)
        if not isinstance(given, Label) or is_nan:
            raise SpecError(
                f"{Arg('answers')} calls {answer!r} {word!r}; write a text or a number."
            )
        classes[place] = given
    _require_distinct(classes, f"{Arg('answers')} gives")
    rule = ensemble.decision
    if isinstance(rule, Cut) and rule.asked is not None and rule.asked.of is not None:
        of = classes[ensemble.classes.index(rule.asked.of)]
        asked = msgspec.structs.replace(rule.asked, of=of)
        rule = msgspec.structs.replace(rule, asked=asked)
    return replace(ensemble, classes=tuple(classes), decision=rule)


def _with_words(ensemble: Ensemble, name: str, words: Mapping[Any, str]) -> Ensemble:
    """Give the codes of one column their words."""
    index = _index(ensemble, name, Arg("codes"))
    if not isinstance(words, Mapping) or not words:
        raise SpecError(
            f"{Arg('codes')} of {name!r} is {words!r}; write the word of each code, "
            "such as {1: 'White', 4: 'Black'}."
        )
    feature = ensemble.features[index]
    if isinstance(feature, Categorical) and feature.labelled:
        named = _renamed(feature, words)
        features = list(ensemble.features)
        features[index] = named
        return replace(ensemble, features=tuple(features))
    numbers = [_code(feature, code, Arg("codes")) for code in words]
    _require_no_divisor(ensemble, index, numbers)
    if len(set(numbers)) < len(numbers):
        raise SpecError(
            f"{Arg('codes')} of {name!r} names a code twice; name each once."
        )
    texts = list(words.values())
    if isinstance(feature, Categorical):
        # Codes without a word keep their number: some rows may have them.
        count = len(feature.categories)
        rest = [code for code in map(float, range(count)) if code not in set(numbers)]
        numbers += rest
        texts += [str(int(code)) for code in rest]
    _require_distinct(texts, f"{Arg('codes')} of {name!r} gives")
    named = Categorical(
        name=name,
        categories=tuple(texts),
        codes=tuple(int(n) if n.is_integer() else n for n in numbers),
        accepts_missing=feature.accepts_missing,
        accepts_unknown=False,
        number_types=feature.number_types,
    )
    return _merged(ensemble, index, named, numbers)


def _require_no_divisor(
    ensemble: Ensemble, index: int, numbers: Sequence[float]
) -> None:
    """Refuse a word for zero where the model divides by it: it would have no sign."""
    for joint in ensemble.joints:
        if 0.0 in numbers and index in divisors_of(joint.formula):
            words = in_words(joint.formula, ensemble.features)
            raise SpecError(
                f"{Arg('codes')} gives 0 a word in the column "
                f"{ensemble.features[index].name!r}, of which the model computes "
                f"{words}: divided by 0.0 and by -0.0 is not the same, and a word has "
                f"no sign. Leave the column out of {Arg('codes')}."
            )


def _index(ensemble: Ensemble, name: str, said_in: Arg) -> int:
    names = [feature.name for feature in ensemble.features]
    if name not in names and not ensemble.inputs.named:
        raise SpecError(
            f"{said_in} names the column {name!r}, and the model has no names of "
            f"columns. Name its {len(names)} columns in its order with "
            f"{Arg('columns', ...)}."
        )
    if name not in names:
        made = [one for one in names if one.startswith(f"{name}_")]
        way = hint(name, names)
        if made:
            way = (
                f"If {made[0]!r} is made of it, name that in {said_in}, and say what "
                f"it is called in the table: {Arg('rename', {name: made[0]})}."
            )
        raise SpecError(
            f"{said_in} names the column {name!r}, which the model does not read. {way}"
        )
    return names.index(name)


def _merged(
    ensemble: Ensemble, index: int, named: Categorical, numbers: Sequence[float]
) -> Ensemble:
    """Return the model with a column of categories, each of which is a number."""
    own, known = ensemble.features[index], list(numbers)
    if isinstance(own, Categorical):
        # All codes beyond those that a split names go the same way.
        known = [min(number, float(len(own.categories))) for number in numbers]
    merges = [
        Merge(one, np.array([place])) for place, one in enumerate(ensemble.features)
    ]
    table = np.array([*known, np.nan])[:, np.newaxis]
    merges[index] = Merge(named, np.array([index]), table)
    return replace(
        ensemble,
        features=tuple(merge.feature for merge in merges),
        trees=merge_trees(ensemble, merges),
        joints=tuple(merge_joint(joint, merges) for joint in ensemble.joints),
    )


def _renamed(feature: Categorical, words: Mapping[Any, str]) -> Categorical:
    """Give the categories that a model knows other words."""
    if feature.coding == "fingerprint":
        # It would no longer know the texts behind the others.
        raise SpecError(
            f"{Arg('codes')} names the column {feature.name!r}, of whose categories "
            "the model stores fingerprints only: they are called what the table calls "
            "them. Leave it out, and pass the cells that the model was trained on."
        )
    own = feature.codes or feature.categories
    named = list(feature.categories)
    for code, word in words.items():
        place = _place(code, own)
        if place is None:
            raise SpecError(
                f"{Arg('codes')} of {feature.name!r} names {code!r}, which the model "
                f"does not know. {hint(str(code), map(str, own))}"
            )
        named[place] = word
    _require_distinct(named, f"{Arg('codes')} of {feature.name!r} gives")
    return msgspec.structs.replace(
        feature, categories=tuple(named), codes=own, coding="label"
    )


def _place(wanted: Any, known: Sequence[Label]) -> int | None:
    """Return where a label stands, or the only one that is written so."""
    if not isinstance(wanted, str):
        return known.index(wanted) if wanted in known else None
    if wanted in known:
        return known.index(wanted)
    alike = [place for place, label in enumerate(known) if str(label) == wanted]
    return alike[0] if len(alike) == 1 else None


def _code(feature: Feature, code: Any, said_in: Arg) -> float:
    """Return a code as the number that the model reads."""
    try:
        number = float(code)
    except (TypeError, ValueError):
        number = np.nan
    is_taken = feature.lower <= number <= feature.upper and np.isfinite(number)
    if isinstance(feature, Categorical) or feature.integer:
        is_taken = is_taken and number.is_integer()
    if isinstance(feature, Categorical):
        is_taken = (
            is_taken and 0 <= number < 2**24 and not feature.reads_missing(number)
        )
    if not is_taken:
        raise SpecError(
            f"{said_in} of {feature.name!r} names {code!r}, and the model reads a "
            "number there, which this is not, or not one that it takes."
        )
    return number


def _require_distinct(names: Sequence[Any], what: str) -> None:
    twice = [name for name in names if list(names).count(name) > 1]
    if twice:
        raise SpecError(f"{what} {twice[0]!r} twice; give each its own.")


def _open(
    opened: Callable[[], Live],
    own: Ensemble,
    named: Ensemble,
    numbers: dict[int, Sequence[Label]],
) -> InOwnWords:
    return InOwnWords(opened(), own, named, numbers)


@dataclass(frozen=True)
class InOwnWords(Around):
    """A model that is asked in its own words about tables that have other names.

    Attributes
    ----------
    own, named
        Its exact form as it was read, and with the names from outside.
    numbers
        What it reads for the categories of some columns, where tables never hold that.
    """

    own: Ensemble
    named: Ensemble
    numbers: dict[int, Sequence[Label]]

    def labels(self, table: Any) -> Any:
        """Return the labels under their new names; numbers as they are."""
        given = np.asarray(self.asked(self.live.labels, table))
        if not self.own.classes:
            return given
        words = dict(zip(self.own.classes, self.named.classes, strict=True))
        answers = given.tolist()
        found = np.empty(len(answers), dtype=object)
        # What is no class is handed on as it is, and refused elsewhere.
        found[:] = [words.get(answer, answer) for answer in answers]
        return found

    def leaves(self) -> NDArray[np.float64] | None:
        """Return what each leaf adds to the scores; names change nothing there."""
        return self.live.leaves()

    def with_leaves(self, values: NDArray[np.float64]) -> Any:
        """Return a copy of the model itself with other leaf values."""
        return self.live.with_leaves(values)

    def asked(self, of: Callable[[Any], Any], table: Any) -> Any:
        """Ask about a table in the model's own words."""
        is_own = self.own.features == self.named.features
        if is_own and not self.named.inputs.renamed:
            return of(table)
        frame = as_frame(table)
        is_coded = any(isinstance(f, Categorical) and f.codes for f in self._features)
        if is_coded or self.numbers:
            return of(self._in_codes(table))
        if frame is None:
            return of(table)
        chosen = frame[:, places_of(frame, self._features, self.named.inputs)]
        if self.own.inputs.named:
            chosen = chosen.rename(
                dict(zip(chosen.columns, self._own_names, strict=True))
            )
        try:
            # In the table's own types, as far as the library takes frames by position.
            return of(chosen.to_native())
        except Exception:  # libraries raise what they like
            return of(self._in_codes(table))

    @property
    def _features(self) -> tuple[Feature, ...]:
        return self.named.features

    @property
    def _own_names(self) -> list[str]:
        """What the columns are called in tables that the model itself takes."""
        called = {new: old for old, new in self.own.inputs.renamed}
        return [called.get(one.name, one.name) for one in self.own.features]

    def _in_codes(self, table: Any) -> Any:
        """Return a table of what the model itself reads, under its own names."""
        matrix = self.named.read(table)
        columns = [
            _own_cells(own, named, matrix[:, index], self.numbers.get(index, ()))
            for index, (own, named) in enumerate(
                zip(self.own.features, self._features, strict=True)
            )
        ]
        if not self.own.inputs.named:
            types = {column.dtype for column in columns}
            return np.column_stack(
                columns
                if types == {np.dtype(np.float64)}
                else [column.astype(object) for column in columns]
            )
        # By its name: a check of a certificate loads models, and needs no frames.
        pandas = importlib.import_module("pandas")
        for place, own in enumerate(self.own.features):
            if isinstance(own, Categorical) and own.labelled and own.coding != "label":
                columns[place] = pandas.Categorical(
                    columns[place], categories=list(own.categories)
                )
        return pandas.DataFrame(dict(zip(self._own_names, columns, strict=True)))


def _own_cells(
    own: Feature,
    named: Feature,
    numbers: NDArray[np.float64],
    given: Sequence[Label],
) -> Any:
    """Return a column of what the model itself reads."""
    if isinstance(own, Numeric) and isinstance(named, Numeric):
        return numbers
    assert isinstance(named, Categorical)
    codes = tuple(given) or named.codes or named.categories
    missing = None if named.missing_as == "none" else np.nan
    unknown = unknown_label(codes)
    if isinstance(own, Categorical) and not own.labelled:
        unknown = own.other_code
    values: list[Any] = [
        missing
        if np.isnan(number)
        else codes[int(number)]
        if number < len(codes)
        else unknown
        for number in numbers.tolist()
    ]
    if isinstance(own, Numeric) or not own.labelled:
        return np.array(values, dtype=np.float64)
    cells = np.empty(len(values), dtype=object)
    cells[:] = values
    return cells
