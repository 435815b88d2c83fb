"""Who is similar to whom, as a value that can be printed, compared and written down."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from fatt.ensemble.features import Label
from fatt.errors import SpecError
from fatt.region.amounts import Amount, Range, parse_amount
from fatt.region.conditions import Condition, parse_condition, parse_labels
from fatt.region.schema import Schema

#: A similarity's keys, in Python and in TOML.
KEYS = ("noise", "vary", "where", "missing")

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
        from fatt.region.words import describe

        return describe(self, schema)

    def to_toml(self) -> str:
        """Return the TOML form, which `Similarity.from_toml` reads back equal.

        Examples
        --------
        >>> print(Similarity(noise={"age": 3}, vary=["sex"]).to_toml(), end="")
        [[similar]]
        noise = { age = 3 }
        vary = ["sex"]
        """
        from fatt.region.toml import to_toml

        return to_toml(self)


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
        `fatt.region.Category`).
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
        from fatt.region.toml import from_toml

        return from_toml(text)

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
