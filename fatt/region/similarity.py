"""Who is similar to whom, as a value that can be printed, compared and written down."""

from __future__ import annotations

import contextlib
import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from fatt.ensemble.features import Label
from fatt.errors import SpecError, hint
from fatt.markup import Markup, Part, notebook, tag
from fatt.region.amounts import (
    Amount,
    Condition,
    OneOf,
    Range,
    parse_amount,
    parse_condition,
    parse_labels,
    short,
)
from fatt.region.kinds import AnyVariable, Category, Integer, Number, Ordinal
from fatt.region.schema import Schema

#: A similarity's keys, in Python and in TOML.
KEYS = ("noise", "vary", "where", "missing")

#: What an audit's file may hold: who is similar, and what others read.
SECTIONS = ("similar", "columns", "schema", "audit", "decision")

#: Says of a variable in `vary` that every value it has may be taken.
ANY = "any"


class Relation:
    """A reflexive relation between people: one `Similarity`, or several of which any.

    Attributes
    ----------
    alternatives
        The similarities, any of which makes two persons similar.
    """

    alternatives: tuple[Similarity, ...]

    def __or__(self, other: object) -> Relation:
        if not isinstance(other, Relation):
            return NotImplemented
        return any_of(*self.alternatives, *other.alternatives)

    def __and__(self, other: object) -> NoReturn:
        raise TypeError(
            "similarities have no 'and'; write one Similarity that names all the "
            "attributes, which may then change together."
        )

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "a similarity is neither true nor false; compare with 'is None', and join "
            "similarities with '|'."
        )

    def __str__(self) -> str:
        return repr(self)

    @property
    def names(self) -> tuple[str, ...]:
        """All names that are said to differ, or must meet a condition, each once."""
        found: dict[str, None] = {}
        for one in self.alternatives:
            noise = one.noise if isinstance(one.noise, tuple) else ()
            said = [*one.vary, *noise, *one.where]
            found.update(dict.fromkeys([name for name, _ in said]))
            found.update(dict.fromkeys(one.missing))
        return tuple(found)

    def one_at_a_time(self) -> Relation:
        """Return the relation in which only one attribute may change at a time.

        Raises
        ------
        SpecError
            If the noise is one amount for all, which names no attributes.

        Examples
        --------
        >>> Similarity(noise={"age": 3}, vary=["sex"]).one_at_a_time()
        Similarity(noise={'age': 3}) | Similarity(vary=['sex'])
        """
        return any_of(*(one for each in self.alternatives for one in each.split()))

    def describe(self, schema: Schema | None = None) -> str:
        """Say in plain words who is similar.

        Parameters
        ----------
        schema
            Tells the variables, and what a standard deviation is in a column's units.

        Examples
        --------
        >>> print(Similarity(noise={"age": 3}, vary=["sex"]).describe())
        Two persons are similar if they agree in everything, except that:
        - 'age' may differ by up to 3
        - 'sex' may be anything
        """
        return _in_words(self, schema)

    def in_html(self, schema: Schema | None = None) -> list[Markup]:
        """Return `describe` as paragraphs and lists of HTML."""
        parts: list[Markup] = []
        items: list[Part] = []
        for line in [*self.describe(schema).split("\n"), ""]:
            if line.startswith("- "):
                items.append(tag("li", line[2:]))
                continue
            if items:
                parts.append(tag("ul", items))
            items = []
            if line:
                parts.append(tag("p", line))
        return parts

    def _repr_html_(self) -> str:
        return notebook("Similarity", self.in_html())

    def to_toml(self) -> str:
        """Return the TOML form, which `Similarity.from_toml` reads back equal.

        Examples
        --------
        >>> print(Similarity(noise={"age": 3}, vary=["sex"]).to_toml(), end="")
        [[similar]]
        noise = { age = 3 }
        vary = ["sex"]
        """
        return _to_toml(self)


@dataclass(frozen=True, init=False, repr=False)
class Similarity(Relation):
    """Two persons are similar if they differ only as said here.

    The attributes named may all change together; everything else stays equal. A value,
    printable, comparable and hashable. ``a | b`` is the union.

    Parameters
    ----------
    noise
        How far numbers may move: an amount for each name, or one amount for all
        numeric variables. An amount is a number in the units of the column, ``"0.3
        sd"``, ``"5%"``, one-sided ``"+3"`` or ``"-3"``, or a range ``"18..30"`` of
        interchangeable numbers. Of an ordinal variable it is a number of levels.
    vary
        Names of variables that may take any value they have; or for each name the
        values that are interchangeable (``"any"`` for all). A category has those that
        the model knows, and others where it knows codes only or a row shows one (see
        `fatt.region.Category`). A number has those between its bounds; without bounds
        those seen in the table, if these are at most 20, and else any at all.
    where
        For each name a condition that both persons must meet: ``"<= 37"``,
        ``"18..30"``, a label, or a list of labels. Others are similar to nobody.
    missing
        Names of variables that may be missing for one person and known for the other.
        Otherwise a missing value stays missing.

    Raises
    ------
    SpecError
        If nothing may change, or an amount or a condition has no meaning.

    Examples
    --------
    >>> young = Similarity(noise={"age": 2}, where={"age": "<= 37"})
    >>> older = Similarity(noise={"age": 5}, where={"age": "> 37"})
    >>> young | older
    Similarity(noise={'age': 2}, where={'age': '<= 37'}) | \
Similarity(noise={'age': 5}, where={'age': '> 37'})
    """

    noise: Amount | tuple[tuple[str, Amount], ...]
    vary: tuple[tuple[str, tuple[Label, ...] | None], ...]
    where: tuple[tuple[str, Condition], ...]
    missing: tuple[str, ...]

    def __init__(
        self,
        *,
        noise: Mapping[str, Any] | float | str | None = None,
        vary: Iterable[str] | Mapping[str, Any] = (),
        where: Mapping[str, Any] | None = None,
        missing: Iterable[str] = (),
    ) -> None:
        amounts = _noise({} if noise is None else noise)
        varied = _vary(vary)
        fields = {
            "noise": amounts,
            "vary": varied,
            "where": _where({} if where is None else where),
            "missing": _names(missing, "missing"),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        if isinstance(amounts, tuple):
            twice = dict(amounts).keys() & dict(varied).keys()
            if twice:
                raise SpecError(
                    f"{min(twice)!r} is named in noise and in vary; name it in one."
                )
            if not (amounts or varied or self.missing):
                raise SpecError(
                    "nothing may change in this similarity, and then everybody is "
                    "treated fairly; name attributes in noise, vary or missing."
                )

    def __repr__(self) -> str:
        parts = [f"{key}={value!r}" for key, value in self.plain().items()]
        return f"Similarity({', '.join(parts)})"

    @property
    def alternatives(self) -> tuple[Similarity, ...]:  # type: ignore[override]
        """The similarity itself."""
        return (self,)

    def plain(self) -> dict[str, Any]:
        """Return the arguments that make this similarity, without the empty ones."""
        noise: Any = self.noise
        if isinstance(noise, tuple):
            noise = {name: amount.plain() for name, amount in noise}
        else:
            noise = noise.plain()
        vary: Any = [name for name, values in self.vary]
        if any(values is not None for _, values in self.vary):
            vary = {name: ANY if v is None else list(v) for name, v in self.vary}
        where = {name: condition.plain() for name, condition in self.where}
        given = {
            "noise": noise,
            "vary": vary,
            "where": where,
            "missing": list(self.missing),
        }
        return {key: v for key, v in given.items() if v not in ({}, [])}

    def split(self) -> list[Similarity]:
        """Return one similarity per attribute that may change."""
        if not isinstance(self.noise, tuple):
            raise SpecError(
                "noise for all variables names none of them; write noise="
                f"dict.fromkeys(schema.numeric, {self.noise.plain()!r})."
            )
        noise, vary = dict(self.noise), dict(self.vary)
        names = dict.fromkeys([*noise, *vary, *self.missing])
        return [
            Similarity(
                noise={name: noise[name]} if name in noise else None,
                vary={name: ANY if vary[name] is None else vary[name]}
                if name in vary
                else (),
                where=dict(self.where),
                missing=[name] if name in self.missing else [],
            )
            for name in names
        ]

    @staticmethod
    def from_toml(text: str) -> Relation:
        """Read the TOML form: one ``[[similar]]`` table for each alternative.

        Raises
        ------
        SpecError
            If the text is no TOML, or has keys that mean nothing.
        """
        return _from_toml(text)

    @staticmethod
    def read_toml(path: str | Path) -> Relation:
        """Read the TOML form from a file."""
        return Similarity.from_toml(Path(path).read_text(encoding="utf-8"))


@dataclass(frozen=True, eq=False, repr=False)
class Similarities(Relation):
    """Several similarities, any of which makes two persons similar: ``a | b``."""

    alternatives: tuple[Similarity, ...]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Similarities) and set(self.alternatives) == set(
            other.alternatives
        )

    def __hash__(self) -> int:
        return hash(frozenset(self.alternatives))

    def __repr__(self) -> str:
        return " | ".join(map(repr, self.alternatives))


def narrowed(schema: Schema, similarity: Relation) -> Schema:
    """Return the schema in which numbers that may vary have the values seen.

    That is so where these are known and few, no bounds say what else there is, and no
    alternative moves the number by an amount.

    Parameters
    ----------
    schema
        What the columns mean.
    similarity
        Who is similar to whom.
    """
    free = _found(
        (name for one in similarity.alternatives for name, v in one.vary if v is None),
        schema,
    )
    kinds: dict[str, AnyVariable] = {}
    for name in sorted(free - moved_by(similarity, schema)):
        variable = schema.find(name)
        if (
            isinstance(variable, Number)
            and variable.seen is not msgspec.UNSET
            and variable.lower is variable.upper is None
        ):
            kinds[name] = Ordinal(levels=variable.seen)
    return schema.with_(kinds) if kinds else schema


def moved_by(similarity: Relation, schema: Schema) -> set[str]:
    """Return the names of the variables that an alternative moves by an amount."""
    moved = set[str]()
    for one in similarity.alternatives:
        if isinstance(one.noise, tuple):
            moved |= _found((name for name, _ in one.noise), schema)
        else:
            varied = _found((name for name, _ in one.vary), schema)
            moved |= set(schema.numeric) - varied
    return moved


def _found(names: Iterable[str], schema: Schema) -> set[str]:
    """Return the variables of these names; whoever needs the others complains."""
    found = set[str]()
    for name in names:
        with contextlib.suppress(SpecError):
            found.add(schema.find(name).name)
    return found


def any_of(*alternatives: Similarity) -> Relation:
    """Return the union of similarities, each once."""
    distinct = tuple(dict.fromkeys(alternatives))
    return distinct[0] if len(distinct) == 1 else Similarities(distinct)


def _noise(given: Any) -> Amount | tuple[tuple[str, Amount], ...]:
    if isinstance(given, Mapping):
        amounts = {
            _name(name, "noise"): parse_amount(amount, name)
            for name, amount in given.items()
        }
        return tuple(sorted(amounts.items(), key=lambda item: item[0]))
    amount = parse_amount(given, "")
    if isinstance(amount, Range):
        raise SpecError(
            f"noise is the range {amount.plain()!r} for all variables; name the "
            f"variable: noise={{'age': {amount.plain()!r}}}."
        )
    return amount


def _vary(given: Any) -> tuple[tuple[str, tuple[Label, ...] | None], ...]:
    if not isinstance(given, Mapping):
        return tuple((name, None) for name in _names(given, "vary"))
    varied: dict[str, tuple[Label, ...] | None] = {}
    for name, values in given.items():
        if isinstance(values, str) and values != ANY:
            raise SpecError(
                f"vary of {name!r} is {values!r}; write a list of the values that are "
                f"interchangeable, or {ANY!r}."
            )
        where = f"vary of {name!r}"
        varied[_name(name, "vary")] = (
            None if isinstance(values, str) else parse_labels(values, where)
        )
    return tuple(sorted(varied.items(), key=lambda item: item[0]))


def _where(given: Any) -> tuple[tuple[str, Condition], ...]:
    if not isinstance(given, Mapping):
        raise SpecError(f"where is {given!r}; write {{'age': '<= 37'}}.")
    conditions = {
        _name(name, "where"): parse_condition(condition, name)
        for name, condition in given.items()
    }
    return tuple(sorted(conditions.items(), key=lambda item: item[0]))


def _names(given: Any, key: str) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise SpecError(f"{key} is {given!r}; write a list of names: [{given!r}].")
    return tuple(sorted({_name(name, key) for name in given}))


def _name(name: object, key: str) -> str:
    if not isinstance(name, str):
        raise SpecError(f"{key} names {name!r}; names are texts.")
    return str(name)


_BARE = re.compile(r"[A-Za-z0-9_-]+")


def _to_toml(relation: Relation) -> str:
    """Return one ``[[similar]]`` table for each alternative."""
    tables = []
    for similarity in relation.alternatives:
        lines = ["[[similar]]"]
        lines += [f"{key} = {in_toml(v)}" for key, v in similarity.plain().items()]
        tables.append("\n".join(lines) + "\n")
    return "\n".join(tables)


def _from_toml(text: str) -> Relation:
    """Read what `to_toml` writes, strictly."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"the similarity is no valid TOML: {error}.") from None
    _check_keys(document, SECTIONS, "the file")
    tables = document.get("similar")
    if not isinstance(tables, list) or not tables:
        raise SpecError("there is no [[similar]] table, which says who is similar.")
    alternatives = []
    for number, table in enumerate(tables, start=1):
        if not isinstance(table, Mapping):
            raise SpecError(f"similar number {number} is {table!r}; make it a table.")
        _check_keys(table, KEYS, f"[[similar]] table {number}")
        alternatives.append(Similarity(**table))
    return any_of(*alternatives)


def _check_keys(table: Mapping[str, Any], known: tuple[str, ...], what: str) -> None:
    for key in table:
        if key not in known:
            raise SpecError(
                f"{what} has the key {key!r}, which means nothing. {hint(key, known)}"
            )


def in_toml(value: Any) -> str:
    """Return a text, number, truth value, list or dict as TOML writes it in a line."""
    if isinstance(value, dict):
        items = [f"{toml_key(name)} = {in_toml(item)}" for name, item in value.items()]
        return f"{{ {', '.join(items)} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(in_toml, value))}]"
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value)


def toml_key(name: str) -> str:
    """Return a name as TOML writes it before an equals sign."""
    return name if _BARE.fullmatch(name) else _quote(name)


def _quote(text: str) -> str:
    """Quote as JSON does, which TOML reads, and escape what TOML alone forbids."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _in_words(relation: Relation, schema: Schema | None) -> str:
    """Say in plain words who is similar; with a schema also in the columns' units."""
    return "\n".join(
        _describe(
            similarity, schema, "Or they are" if index else "Two persons are similar"
        )
        for index, similarity in enumerate(relation.alternatives)
    )


def _describe(similarity: Similarity, schema: Schema | None, start: str) -> str:
    lines = [f"- {line}" for line in _changes(similarity, schema)]
    conditions = [f"{name!r} {_met(met)}" for name, met in similarity.where]
    only = f" for both of them {' and '.join(conditions)}, and" if conditions else ""
    return "\n".join(
        [f"{start} if{only} they agree in everything, except that:", *lines]
    )


def _changes(similarity: Similarity, schema: Schema | None) -> list[str]:
    lines = []
    if isinstance(similarity.noise, tuple):
        amounts = similarity.noise
    elif schema is not None:
        # Named in vary, a number may be anything; the noise for all is for the others.
        varied = {schema.find(name).name for name, _ in similarity.vary}
        named = [name for name in schema.numeric if name not in varied]
        amounts = tuple((name, similarity.noise) for name in named)
    else:
        amounts = ()
        lines.append(f"every number {_moves(similarity.noise, None)}")
    for name, amount in amounts:
        variable = None if schema is None else schema.find(name)
        sd = variable.sd if isinstance(variable, Number) else None
        is_ordinal = isinstance(variable, Ordinal)
        lines.append(f"{name!r} {_moves(amount, sd)}{' levels' if is_ordinal else ''}")
    for name, values in similarity.vary:
        if values is None:
            lines.append(f"{name!r} may be {_anything(name, schema)}")
        else:
            shown = ", ".join(map(repr, values))
            lines.append(f"the values {shown} of {name!r} are interchangeable")
    lines += [
        f"{name!r} may be missing for one and known for the other"
        for name in similarity.missing
    ]
    return lines


def _anything(name: str, schema: Schema | None) -> str:
    """Say what a variable may be that may be anything."""
    variable = None if schema is None else schema.find(name)
    if isinstance(variable, Category) and variable.others:
        return "anything, also a value that the model does not know"
    if isinstance(variable, Ordinal) and not variable.values:
        return f"any of {', '.join(map(str, variable.levels))}"
    if not isinstance(variable, Number):
        return "anything"
    kind = "whole number" if isinstance(variable, Integer) else "number"
    low, high = variable.lower, variable.upper
    if low is not None and high is not None:
        return f"any {kind} from {short(low)} to {short(high)}"
    if low is high is None:
        return f"any {kind} at all, without bounds"
    end = f"at most {short(high)}" if high is not None else f"at least {low}"
    return f"any {kind} that is {end}, without another bound"


def _moves(amount: Amount, sd: float | None) -> str:
    if isinstance(amount, Range):
        low, high = short(amount.low), short(amount.high)
        return f"may be any number from {low} to {high} if it is one of them"
    unit = {"": "", "sd": " standard deviations", "%": "%"}[amount.unit]
    if amount.unit == "sd" and sd is not None:
        unit += f" ({max(amount.below, amount.above) * sd:.6g})"
    if amount.below == amount.above:
        return f"may differ by up to {short(amount.above)}{unit}"
    if amount.below:
        return f"may be up to {short(amount.below)}{unit} lower"
    return f"may be up to {short(amount.above)}{unit} higher"


def _met(condition: Condition) -> str:
    if isinstance(condition, OneOf):
        return "is " + " or ".join(map(repr, condition.labels))
    return f"is {condition.plain()}"
