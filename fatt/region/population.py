"""The people that there can be: a schema with bounds, and who of them is meant."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from fatt.ensemble import Categorical, Ensemble, Modelled, ensemble_of
from fatt.ensemble.tables import as_frame
from fatt.ensemble.trees import pack
from fatt.errors import Arg, SpecError, hint
from fatt.region.amounts import Condition, parse_condition, short
from fatt.region.boxes import Boxes, code_words
from fatt.region.kinds import AnyVariable, Category, Integer, Number, Variable
from fatt.region.neighbourhood import bounds_of, codes_of_anybody
from fatt.region.rules import conditions
from fatt.region.schema import Schema, brief
from fatt.region.similarity import Relation
from fatt.region.variables import Variables

#: What a file of a space may hold.
_KEYS = ("schema", "where", "missing")
#: A whole number with at most so many values has these as levels if some are varied.
_FEW_WHOLE = 4096


class Space:
    """All people that there can be, whether or not a table has them.

    Any value of one variable may stand beside any value of another.

    Parameters
    ----------
    schema
        What the columns mean, with bounds or levels; or for some names of variables
        what these are, and the model tells the others. Of a category the levels are
        those that the model knows, if the schema lists none.
    where
        Whom a question is about: for each name a condition as in `Similarity`, all of
        which are met. People who are similar to them need not meet any.
    missing
        Names of variables that may be missing. What a similarity lets be missing may
        be missing, too; nothing else is.

    Raises
    ------
    SpecError
        If an argument has no meaning. Whether the model has such variables and levels
        is known when a question is asked.

    Examples
    --------
    >>> import fatt
    >>> from fatt.region import Integer
    >>> fatt.Space({"age": Integer(lower=17, upper=90)}, where={"age": ">= 21"})
    <Space
     age: Integer(lower=17, upper=90)
     where age >= 21>

    Notes
    -----
    A space knows no model. `schema_of` says what it means for one, and `bind` makes the
    boxes of that: `fatt.everybody` asks about these.
    """

    def __init__(
        self,
        schema: Schema | Mapping[str, AnyVariable],
        *,
        where: Mapping[str, Any] | None = None,
        missing: Iterable[str] = (),
    ) -> None:
        if not isinstance(schema, Schema):
            schema = _kinds(schema)
        self._given: Schema | Mapping[str, AnyVariable] = schema
        self.people: Any = None
        self._spanned: dict[str, tuple[Schema, frozenset[str]]] = {}
        self._one_hot: tuple[str, ...] = ()
        self.where = _where(where)
        if isinstance(missing, str):
            raise SpecError(
                f"missing is {missing!r}; write a list of names: [{missing!r}]."
            )
        self.missing = tuple(missing)

    @classmethod
    def from_table(
        cls,
        people: Any,
        *,
        where: Mapping[str, Any] | None = None,
        one_hot: Iterable[str] = (),
    ) -> Space:
        """Return the space that a table of people spans.

        A number lies between the smallest and the largest of the table, and is whole if
        all are. A category has the values of the table. A variable may be missing if it
        is missing for somebody.

        Parameters
        ----------
        people
            Array, or data frame that `narwhals` knows, one row each.
        where
            As in `Space`.
        one_hot
            As in `Schema.infer`.
        """
        space = cls({}, where=where)
        space.people = people
        space._one_hot = tuple(one_hot)
        return space

    @classmethod
    def read(cls, path: str | Path) -> Space:
        """Read a space from a TOML file.

        Its tables are ``[schema]``, with a kind for each name such as ``age = { type =
        "integer", lower = 17, upper = 90 }``, and ``[where]``; ``missing`` is a list.
        Instead of TOML it may be a file that `Schema.save` has written.

        Raises
        ------
        SpecError
            If there is no such file, or it is not understood.
        """
        try:
            text = Path(path).read_text(encoding="utf-8-sig")
        except OSError as error:
            raise SpecError(
                f"{path}: cannot read it: {error.strerror or error}."
            ) from error
        except UnicodeDecodeError:
            raise SpecError(f"{path} is no text in UTF-8.") from None
        if text.lstrip().startswith("{"):
            return cls(Schema.read(path))
        try:
            return cls._of(tomllib.loads(text))
        except tomllib.TOMLDecodeError as error:
            raise SpecError(f"{path}: it is no valid TOML: {error}.") from None
        except SpecError as error:
            raise SpecError(f"{path}: {error}") from error

    @classmethod
    def _of(cls, document: Mapping[str, Any]) -> Space:
        for key in document:
            if key not in _KEYS:
                raise SpecError(
                    f"the space has the key {key!r}, which means nothing. "
                    f"{hint(key, _KEYS)}"
                )
        try:
            kinds = msgspec.convert(document.get("schema", {}), dict[str, AnyVariable])
            missing = msgspec.convert(document.get("missing", []), list[str])
        except msgspec.ValidationError as error:
            raise SpecError(f"it is not understood: {error}.") from None
        return cls(kinds, where=document.get("where"), missing=missing)

    def asking(self, where: Mapping[str, Any]) -> Space:
        """Return the same people, of whom a question is about others.

        Parameters
        ----------
        where
            As in `Space`.
        """
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.where = _where(where)
        return other

    def __repr__(self) -> str:
        lines = []
        if self.people is not None:
            frame = as_frame(self.people)
            count = len(self.people if frame is None else frame)
            lines.append(f"of {count:,} rows")
        elif isinstance(self._given, Schema):
            lines += repr(self._given)[: -len(">")].split("\n ")[1:]
        else:
            lines += [f"{name}: {kind}" for name, kind in _briefly(self._given)]
        lines += [f"where {name} {met.plain()}" for name, met in self.where]
        lines += [f"missing {', '.join(self.missing)}"] * bool(self.missing)
        return "<Space" + "".join(f"\n {line}" for line in lines) + ">"

    def schema_of(self, model: Ensemble | Modelled) -> Schema:
        """Return what the space says of a model's columns.

        Parameters
        ----------
        model
            The model, as `fatt.load` returns it.

        Raises
        ------
        SpecError
            If the space does not fit the model.
        DataError
            If the model's library refuses a row of the table.
        """
        ensemble = ensemble_of(model)
        if self.people is not None:
            return self._of_table(ensemble)[0]
        schema = self._given
        if not isinstance(schema, Schema):
            schema = Schema.from_ensemble(ensemble).with_(schema)
        Variables(ensemble, schema)
        return _with_whole_numbers(schema)

    def _of_table(self, model: Ensemble) -> tuple[Schema, frozenset[str]]:
        """Return what the table spans, and what it misses; for each model once."""
        if model.digest not in self._spanned:
            self._spanned[model.digest] = _spanned(model, self.people, self._one_hot)
        return self._spanned[model.digest]

    def bind(self, variables: Variables, similarity: Relation) -> Population:
        """Return the people in the variables of a model, for a question about them.

        Parameters
        ----------
        variables
            The model in the variables of `schema_of`, numbers that vary perhaps with
            levels, as `narrowed` makes them.
        similarity
            Who is similar to whom.

        Raises
        ------
        SpecError
            If a number that moves has no bounds, or nobody meets the conditions.
        """
        _require_bounds(variables.schema, similarity)
        names = {variable.name for variable in variables.schema.variables}
        absent = {_found(variables.schema, name, "missing") for name in self.missing}
        absent |= {
            name
            for name, move in similarity.moving(variables.schema)
            if move.key == "missing" and name in names
        }
        if self.people is not None:
            absent |= self._of_table(variables.model)[1]
        everybody = _box(variables, absent)
        asked = _meeting(everybody, self.where, variables)
        return Population(variables, similarity, everybody, asked)


@dataclass(frozen=True, eq=False)
class Population:
    """A space in the variables of a model, and who is similar to whom in it.

    Attributes
    ----------
    variables
        How the model reads people.
    similarity
        Who is similar to whom. Nobody similar to somebody is outside `everybody`.
    everybody : Boxes
        One box: the values that somebody can have.
    asked : Boxes
        One box, within the other: the people whom the question is about. Those who are
        similar to them may be anybody.
    """

    variables: Variables
    similarity: Relation
    everybody: Boxes
    asked: Boxes

    def about(self, asked: Boxes) -> Population:
        """Return the same people, of whom the question is about others."""
        return Population(self.variables, self.similarity, self.everybody, asked)


def _kinds(given: Any) -> dict[str, AnyVariable]:
    if not isinstance(given, Mapping):
        raise SpecError(
            f"the space is given as {type(given).__name__}; pass a Schema, kinds of "
            "variables by name, or a table of people to Space.from_table."
        )
    for name, kind in given.items():
        if not isinstance(kind, Variable):
            raise SpecError(
                f"variable {name!r} is given as {kind!r}; write Number(), "
                "Integer(), Binary(), Ordinal(), Category() or OneHot()."
            )
    return dict(given)


def _briefly(kinds: Mapping[str, AnyVariable]) -> list[tuple[str, str]]:
    """Return how the kinds are written, by name, without what is plain."""
    return [
        (name, brief(msgspec.structs.replace(kind, name=name, columns=(name,))))
        for name, kind in kinds.items()
    ]


def _where(given: Any) -> tuple[tuple[str, Condition], ...]:
    if given is None:
        return ()
    if not isinstance(given, Mapping):
        raise SpecError(f"where is {given!r}; write {{'age': '<= 37'}}.")
    return tuple((name, parse_condition(met, name)) for name, met in given.items())


def _found(schema: Schema, name: str, said_in: str) -> str:
    return schema.find(name, said_in=said_in).name


def _require_bounds(schema: Schema, similarity: Relation) -> None:
    """Refuse a number that moves and has no bounds."""
    for name, _ in similarity.moving(schema):
        variable = schema.find(name)
        if isinstance(variable, Number) and not np.isfinite(variable.bounds).all():
            kind = type(variable).__name__
            low, high = variable.lower, variable.upper
            ends = {
                "lower": ... if low is None else short(low),
                "upper": ... if high is None else short(high),
            }
            raise SpecError(
                f"the space has no bounds for {name!r}, a number that moves; say from "
                f"where to where people have it: {Arg('schema', (name, kind, ends))}."
            )


def _with_whole_numbers(schema: Schema) -> Schema:
    """Return the schema in which whole numbers with few values know all of them.

    Where a similarity lists values of such a number, people have the others as well.
    """
    kinds: dict[str, AnyVariable] = {}
    for variable in schema.variables:
        if not isinstance(variable, Integer) or variable.lower is None:
            continue
        low, high = np.ceil(variable.bounds[0]), np.floor(variable.bounds[1])
        if high - low < _FEW_WHOLE:
            seen = tuple(range(int(low), int(high) + 1))
            kinds[variable.name] = msgspec.structs.replace(variable, seen=seen)
    return schema.with_(kinds) if kinds else schema


def _spanned(
    model: Ensemble, people: Any, one_hot: tuple[str, ...]
) -> tuple[Schema, frozenset[str]]:
    """Return the schema that a table spans, and which variables it misses."""
    schema = Schema.infer(model, people, one_hot=one_hot)
    variables = Variables(model, schema)
    values = variables.gather(variables.model.read(people))
    kinds: dict[str, AnyVariable] = {}
    absent: set[str] = set()
    for index, variable in enumerate(schema.variables):
        feature, column = variables.ensemble.features[index], values[:, index]
        is_absent = np.isnan(column)
        if isinstance(variable, Number) and feature.missing_range is not None:
            least, most = feature.missing_range
            is_absent |= (column >= least) & (column <= most)
        known = np.unique(column[~is_absent])
        if is_absent.any():
            absent.add(variable.name)
        if isinstance(variable, Number) and known.size:
            is_whole = np.isfinite(known).all() and (known == np.trunc(known)).all()
            kinds[variable.name] = (Integer if is_whole else Number)(
                lower=float(known[0]), upper=float(known[-1]), sd=variable.sd
            )
        elif isinstance(variable, Category):
            assert isinstance(feature, Categorical)
            levels = tuple(
                feature.categories[code]
                for code in known.astype(np.int64).tolist()
                if code < len(feature.categories)
            )
            kinds[variable.name] = msgspec.structs.replace(variable, levels=levels)
    return _with_whole_numbers(schema.with_(kinds)), frozenset(absent)


def _box(variables: Variables, absent: set[str]) -> Boxes:
    """Return the box of all values that somebody can have."""
    features, kinds = variables.ensemble.features, variables.schema.variables
    count, words = len(features), code_words(features)
    lower, upper = np.zeros((2, 1, count))
    missing = np.zeros((1, count), dtype=bool)
    codes = np.zeros((1, int(words[-1])), dtype=np.uint64)
    for index, (feature, variable) in enumerate(zip(features, kinds, strict=True)):
        missing[0, index] = variable.name in absent
        if missing[0, index] and not feature.accepts_missing:
            raise SpecError(
                f"the space says that {variable.name!r} may be missing, and the model "
                "takes no missing value there; leave it out."
            )
        if isinstance(feature, Categorical):
            members = codes_of_anybody(feature, variable)
            codes[0, words[index] : words[index + 1]] = pack(members[np.newaxis])[0]
            continue
        assert isinstance(variable, Number)
        _require_followed(variables, index)
        lower[0, index], upper[0, index] = bounds_of(variable, feature)
    return Boxes(np.zeros(1, dtype=np.int64), lower, upper, missing, codes)


def _require_followed(variables: Variables, index: int) -> None:
    """Refuse numbers whose answers are not followed."""
    feature, variable = variables.ensemble.features[index], variables.schema.variables
    assert not isinstance(feature, Categorical)
    low, high = variable[index].bounds  # type: ignore[union-attr]
    ends = [
        ("below", "lower", feature.lower, low < feature.lower, variables.open_below),
        ("above", "upper", feature.upper, high > feature.upper, variables.open_above),
    ]
    for where, bound, end, is_beyond, opened in ends:
        if is_beyond and index in opened:
            name = variable[index].name
            raise SpecError(
                f"fatt cannot follow exactly what the model makes of {name!r} {where} "
                f"{end:.15g}; say that nobody has such numbers, such as "
                f"{Arg('schema', (name, 'Number', {bound: short(end)}))}."
            )


def _meeting(
    everybody: Boxes, where: tuple[tuple[str, Condition], ...], variables: Variables
) -> Boxes:
    """Return the box of those who meet all conditions.

    Raises
    ------
    SpecError
        If there is nobody.
    """
    if not where:
        return everybody
    features = variables.ensemble.features
    lower, upper = everybody.lower.copy(), everybody.upper.copy()
    missing, codes = everybody.missing.copy(), everybody.codes.copy()
    between, among = conditions(where, variables)
    words = code_words(features)
    for index, (least, most) in between.items():
        feature = features[index]
        low, high = max(least, lower[0, index]), min(most, upper[0, index])
        if not isinstance(feature, Categorical) and feature.integer:
            low, high = float(np.ceil(low)), float(np.floor(high))
        lower[0, index], upper[0, index] = low, high
        _require_anybody(low <= high, index, where, variables)
    for index, met in among.items():
        span = slice(int(words[index]), int(words[index + 1]))
        codes[0, span] &= pack(met[np.newaxis])[0]
        _require_anybody(bool(codes[0, span].any()), index, where, variables)
    # A value that is missing meets no condition.
    missing[0, [*between, *among]] = False
    return Boxes(everybody.person, lower, upper, missing, codes)


def _require_anybody(
    is_met: bool,
    index: int,
    where: tuple[tuple[str, Condition], ...],
    variables: Variables,
) -> None:
    if is_met:
        return
    name = variables.schema.variables[index].name
    said = next(
        met.plain() for one, met in where if variables.schema.find(one).name == name
    )
    raise SpecError(
        f"where of {name!r} is {said!r}, which nobody in the space meets; correct the "
        "condition or the space."
    )
