"""Who is similar to whom, as a value that can be printed, compared and written down."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, NoReturn, TypeAlias

import msgspec

from fatt.ensemble.features import Label
from fatt.errors import Arg, SpecError
from fatt.markup import Markup, Part, notebook, tag
from fatt.region.amounts import (
    Amount,
    Condition,
    Range,
    Step,
    parse_amount,
    parse_condition,
    parse_labels,
    short,
)
from fatt.region.distance import (
    Distance,
    Norm,
    Table,
    Weight,
    parse_at_most,
    parse_distance,
    weights_of_metric,
    weights_of_scaler,
)
from fatt.region.existence import (
    Existing,
    Following,
    Swaps,
    Together,
    exist_in_python,
    parse_exist,
    parse_follow,
    plain_exist,
    plain_follow,
)
from fatt.region.formula import parse_formula
from fatt.region.kinds import AnyVariable, Integer, Number, Ordinal, anything
from fatt.region.schema import Schema
from fatt.region.toml import read_tables, write_tables

#: A similarity's keys, in Python and in TOML.
KEYS = (
    "noise",
    "vary",
    "where",
    "missing",
    "exist",
    "follow",
    "at_most",
    "distance",
    "limit",
    "norm",
)

#: What an audit's file may hold: who is similar, and what others read.
SECTIONS = ("similar", "columns", "schema", "audit", "decision")

#: Say of a variable in `vary` which values may be taken: those that the model or the
#: table knows, or any at all.
KNOWN, ANY = "known", "any"
#: The values in `vary`: some by name, any at all, or None for those that are known.
Values: TypeAlias = tuple[Label, ...] | Literal["any"] | None


class Move(NamedTuple):
    """What a similarity lets change, and how: whoever must know asks for this.

    Attributes
    ----------
    key
        Which of the `KEYS` says it.
    name
        Of what it is said; None for all numbers that may not vary.
    amount
        How far it may move, if it may not take any value.
    values
        The values that are interchangeable, if these are listed; ``"any"`` if it may
        also take values that neither the model nor the table knows.
    following
        How it moves along, if it moves only with what it follows.
    weight
        What it costs to differ, if a distance says it.
    """

    key: str
    name: str | None
    amount: Amount | None = None
    values: Values = None
    following: Following = None
    weight: Weight | Table | None = None

    @property
    def said(self) -> str:
        """How the similarity says it, for messages."""
        of_what = "is for all numbers" if self.name is None else f"names {self.name!r}"
        return f"{self.key} {of_what}"

    @property
    def varies(self) -> bool:
        """Whether other values may be taken, however far away they are."""
        return self.key == "vary" or (self.key == "distance" and self.amount is None)

    @property
    def grows(self) -> bool:
        """Whether there are multiples of it, which let more and more people in."""
        return (
            isinstance(self.amount, Step)
            and max(self.amount.below, self.amount.above) > 0
        )

    def stays(self, variable: AnyVariable | None) -> bool:
        """Tell whether noise is less than the step from a whole number to the next."""
        amount = self.amount
        if not isinstance(amount, Step) or not isinstance(variable, Integer | Ordinal):
            return False
        size = max(amount.below, amount.above)
        if amount.unit == "sd" and isinstance(variable, Integer) and variable.sd:
            return size * variable.sd < 1
        return not amount.unit and size < 1


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
    def moves(self) -> tuple[Move, ...]:
        """All that may change, and how, one alternative after the other."""
        return tuple(move for one in self.alternatives for move in _moves_of(one))

    @property
    def conditions(self) -> tuple[tuple[str, Condition], ...]:
        """What must be met to be similar to anybody, and by what."""
        return tuple(met for one in self.alternatives for met in one.where)

    @property
    def names(self) -> tuple[str, ...]:
        """All names that are said to differ, or must meet a condition, each once."""
        moved = [move.name for move in self.moves if move.name is not None]
        asked = [name for name, _ in self.conditions]
        tied = [
            name
            for one in self.alternatives
            for together in one.exist
            if isinstance(together, Together)
            for name in together.names
        ]
        return tuple(dict.fromkeys([*moved, *asked, *tied]))

    def moving(self, schema: Schema) -> Iterator[tuple[str, Move]]:
        """Yield all that may change by the names of variables, and how.

        What names no variable is left out: whoever needs it complains.

        Parameters
        ----------
        schema
            The variables.
        """
        for one in self.alternatives:
            for move in one.moves:
                if move.name is None:
                    names = _unnamed(one, schema)
                else:
                    names = list(_found([move.name], schema))
                yield from ((name, move) for name in names)

    def parts(self) -> list[Similarity]:
        """Return similarities in which one attribute may change, each once.

        Noise for all numbers counts as one attribute. So do attributes that `exist`
        or `follow` tie together.
        """
        found = dict[Similarity, None]()
        for one in self.alternatives:
            groups: dict[str | None, list[Move]] = {}
            for move in one.moves:
                groups.setdefault(_group_of(one, move.name), []).append(move)
            found |= dict.fromkeys(
                _made_of([*moves, *_followers_of(one, moves)], one)
                for moves in groups.values()
                if any(move.key != "follow" for move in moves)
            )
        return list(found)

    def only(self, *, varying: bool) -> Relation | None:
        """Return what may change by varying alone, or by all else alone.

        Parameters
        ----------
        varying
            Whether to keep what may vary, with what follows it, or all else.

        Returns
        -------
        Relation or None
            None if nothing may change then.

        Examples
        --------
        >>> Similarity(noise={"age": 3}, vary=["sex"]).only(varying=True)
        Similarity(vary=['sex'])
        """
        found = []
        for one in self.alternatives:
            leading = [move for move in one.moves if move.key != "follow"]
            mine = [move for move in leading if move.varies == varying]
            if mine:
                groups = {_group_of(one, move.name) for move in mine}
                led = [
                    move
                    for move in one.moves
                    if move.key == "follow" and _group_of(one, move.name) in groups
                ]
                followers = dict.fromkeys([*led, *_followers_of(one, mine)])
                found.append(_made_of([*mine, *followers], one, one.at_most))
        return any_of(*found) if found else None

    def with_limit(self, limit: float | None) -> Relation:
        """Return the relation with another limit of all distances.

        Parameters
        ----------
        limit
            The limit; None for none: what has a cost may then be anything that it
            could be at some cost.
        """
        return any_of(
            *(
                one
                if one.distance is None
                else Similarity(**one.plain() | one.distance.with_limit(limit).plain())
                for one in self.alternatives
            )
        )

    def with_at_most(self, count: int | None) -> Relation:
        """Return the relation with other numbers of attributes that may change at once.

        Parameters
        ----------
        count
            How many, in the alternatives that say how many; None for all.
        """
        return any_of(
            *(
                one
                if one.at_most is None
                else Similarity(**one.plain() | {"at_most": count})
                for one in self.alternatives
            )
        )

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
        for move in self.moves:
            if move.name is None:
                assert move.amount is not None
                raise SpecError(
                    "noise for all variables names none of them; write noise="
                    f"dict.fromkeys(schema.numeric, {move.amount.plain()!r})."
                )
        return any_of(*self.parts())

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
        return write_tables("similar", [one.plain() for one in self.alternatives])


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
        values that are interchangeable. A category has the values that the model or the
        table knows (see `fatt.region.Category`). A number has those between its bounds;
        without bounds those seen in the table, if these are at most 20, and else any at
        all. Instead of a list, ``"known"`` means just this, and ``"any"`` also values
        that neither the model nor the table knows.
    where
        For each name a condition that both persons must meet: ``"<= 37"``,
        ``"18..30"``, a label, or a list of labels. Others are similar to nobody.
    missing
        Names of variables that may be missing for one person and known for the other.
        Otherwise a missing value stays missing.
    exist
        Which people exist; only these are similar to anybody. A tuple of names:
        those with a combination of values that the rows of the schema have. A mapping
        from such a tuple to the combinations that exist. A text: an order that all
        people keep, such as ``"tenure <= age - 16"``. Or a list of these.
    follow
        Columns that move only if something else does. For a name, levels and what
        becomes of each when the one category that varies changes; other levels stay.
        Where several vary, a mapping from each leader to such levels. Or a formula,
        such as ``"2026 - age"``. A list of names: these move to any level that `exist`
        allows beside the new values.
    at_most
        How many of the attributes that may change may do so at the same time; by
        default all of them.
    distance
        What it costs to differ, for each name: of a number what a unit costs, ``0.1``,
        ``"1/10"`` or ``"1 / sd"``; of an ordinal variable what a level costs; of a
        category what any other value costs, or a table of the costs between two
        values, which are the same both ways: ``{("north", "south"): 0.3}``. Values that
        a table does not name stay. With 0 it may be anything, as in `vary`. What has
        a distance and `noise` keeps to both.
    limit
        The largest distance between similar people; by default 1.
    norm
        How costs add up to the distance: ``"l1"``, their sum, by default; ``"l2"``, the
        root of the sum of their squares; ``"linf"``, the largest; ``"l0"``, the sum of
        the weights of all that differ, however much.

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
    >>> Similarity(distance={"age": "1/10", "sex": 0.5}, limit=1)
    Similarity(distance={'age': 0.1, 'sex': 0.5}, limit=1, norm='l1')
    """

    noise: Amount | tuple[tuple[str, Amount], ...]
    vary: tuple[tuple[str, Values], ...]
    where: tuple[tuple[str, Condition], ...]
    missing: tuple[str, ...]
    exist: tuple[Existing, ...]
    follow: tuple[tuple[str, Following], ...]
    at_most: int | None
    distance: Distance | None

    def __init__(  # noqa: PLR0913
        self,
        *,
        noise: Mapping[str, Any] | float | str | None = None,
        vary: Iterable[str] | Mapping[str, Any] = (),
        where: Mapping[str, Any] | None = None,
        missing: Iterable[str] = (),
        exist: Iterable[Any] | Mapping[Any, Any] = (),
        follow: Iterable[Any] | Mapping[str, Any] = (),
        at_most: int | None = None,
        distance: Mapping[str, Any] | None = None,
        limit: float | None = None,
        norm: Norm | None = None,
    ) -> None:
        amounts = _noise({} if noise is None else noise)
        varied = _vary(vary)
        fields = {
            "noise": amounts,
            "vary": varied,
            "where": _where({} if where is None else where),
            "missing": _names(missing, "missing"),
            "exist": parse_exist(exist),
            "follow": parse_follow(follow),
            "at_most": parse_at_most(at_most),
            "distance": parse_distance(distance, limit, norm),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        if isinstance(amounts, tuple):
            twice = dict(amounts).keys() & dict(varied).keys()
            if twice:
                raise SpecError(
                    f"{min(twice)!r} is named in noise and in vary; name it in one."
                )
            if not (amounts or varied or self.missing or self.distance):
                counted = "" if self.at_most is None else ", whatever at_most is"
                raise SpecError(
                    f"nothing may change in this similarity{counted}, and then "
                    "everybody is treated fairly; name attributes in noise, vary, "
                    "missing or distance."
                )
        self._check_followers()
        self._check_distance()

    def _check_followers(self) -> None:
        """Refuse columns that move on their own and also follow others."""
        alone = {move.name: move.key for move in self.moves if move.key != "follow"}
        for name, _ in self.follow:
            if name in alone:
                raise SpecError(
                    f"{name!r} is named in {alone[name]} and in follow; name it in one."
                )

    def _check_distance(self) -> None:
        """Refuse what says two things of a difference."""
        if self.distance is None:
            return
        if self.at_most is not None:
            raise SpecError(
                f"at_most is {self.at_most}, and there is a distance as well; give one "
                "of them. With norm='l0' a distance counts attributes."
            )
        named = dict.fromkeys(name for name, _ in self.distance.weights)
        for key, names in (("vary", dict(self.vary)), ("missing", self.missing)):
            for name in names:
                if name in named:
                    raise SpecError(
                        f"{name!r} is named in {key} and in distance; name it in one. "
                        "A distance of 0 lets it be any value, and an alternative of "
                        "its own be missing."
                    )

    def __repr__(self) -> str:
        given = self.plain()
        if self.exist:
            given["exist"] = exist_in_python(self.exist)
        if self.distance is not None:
            given["distance"] = self.distance.in_python()
        parts = [f"{key}={value!r}" for key, value in given.items()]
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
            vary = {name: _plain(values) for name, values in self.vary}
        where = {name: condition.plain() for name, condition in self.where}
        given = {
            "noise": noise,
            "vary": vary,
            "where": where,
            "missing": list(self.missing),
            "exist": plain_exist(self.exist),
            "follow": plain_follow(self.follow),
        }
        if self.at_most is not None:
            given["at_most"] = self.at_most
        if self.distance is not None:
            given |= self.distance.plain()
        return {key: v for key, v in given.items() if v not in ({}, [])}

    @property
    def together(self) -> tuple[Together, ...]:
        """What `exist` says of combinations, without the orders."""
        return tuple(one for one in self.exist if isinstance(one, Together))

    def title(self) -> str:
        """Name in a few words what may change, and for whom."""
        moved = dict.fromkeys(move.name or "all numbers" for move in self.moves)
        where = [f", where {name} {met.plain()}" for name, met in self.where]
        return ", ".join(moved) + "".join(where)

    @classmethod
    def from_scaler(cls, scaler: Any, *, limit: float, norm: Norm = "l2") -> Similarity:
        """Return the ball of people around each one, in the units of a scaler.

        Distances between scaled rows are what a nearest-neighbour search or a
        regularised model works with; this says the same in the columns of the table.

        Parameters
        ----------
        scaler
            A fitted ``StandardScaler``, ``MinMaxScaler``, ``RobustScaler`` or
            ``MaxAbsScaler`` of scikit-learn.
        limit, norm
            As in `Similarity`.

        Raises
        ------
        SpecError
            If it is another one, or knows no names of columns.

        Examples
        --------
        >>> import pandas as pd
        >>> from sklearn.preprocessing import MinMaxScaler
        >>> scaler = MinMaxScaler().fit(pd.DataFrame({"age": [20, 70]}))
        >>> Similarity.from_scaler(scaler, limit=0.1)
        Similarity(distance={'age': 0.02}, limit=0.1, norm='l2')
        """
        return cls(distance=weights_of_scaler(scaler), limit=limit, norm=norm)

    @classmethod
    def from_metric(
        cls, metric: Any, names: Sequence[str], *, limit: float
    ) -> Similarity:
        """Return the ball of people around each one by a diagonal metric.

        Parameters
        ----------
        metric
            The matrix M of the distance ``sqrt((x - y) @ M @ (x - y))``, diagonal, or
            its diagonal alone: what fair metric learning finds.
        names
            The columns, in the order of the matrix.
        limit
            The largest distance between similar people.

        Raises
        ------
        SpecError
            If the metric mixes columns: then no sum over columns is the distance.

        Examples
        --------
        >>> Similarity.from_metric([[0.25, 0], [0, 4]], ["age", "hours"], limit=2)
        Similarity(distance={'age': 0.5, 'hours': 2}, limit=2, norm='l2')
        """
        weights = weights_of_metric(metric, names)
        return cls(distance=weights, limit=limit, norm="l2")

    @staticmethod
    def from_toml(text: str) -> Relation:
        """Read the TOML form: one ``[[similar]]`` table for each alternative.

        Raises
        ------
        SpecError
            If the text is no TOML, or has keys that mean nothing.
        """
        tables = read_tables("similar", text, sections=SECTIONS, keys=KEYS)
        return any_of(*(Similarity(**table) for table in tables))

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


def narrowed(schema: Schema, similarity: Relation | None) -> Schema:
    """Return the schema in which numbers that may vary have the values that are known.

    Those are the values that `vary` lists, and the ones in the table if these are few.
    A number stays one if an alternative moves it by an amount or to any number: so does
    `vary` without a list where the values are not known, or bounds say what there is.
    So do numbers that `exist` and the maps of `follow` name.

    Parameters
    ----------
    schema
        What the columns mean.
    similarity
        Who is similar to whom; None if nothing moves.
    """
    values: dict[str, list[Values]] = {}
    for name, move in () if similarity is None else similarity.moving(schema):
        if move.key in {"noise", "vary", "distance"}:
            # What noise reaches may be any number, too.
            values.setdefault(name, []).append(move.values if move.varies else "any")
    tied = set[str]()
    for name, labels in _levels_in(schema, similarity):
        values.setdefault(name, []).append(labels)
        tied.add(name)
    kinds: dict[str, AnyVariable] = {}
    for name in sorted(values):
        variable, said = schema.find(name), values[name]
        if not isinstance(variable, Number):
            continue
        seen = () if variable.seen is msgspec.UNSET else variable.seen
        is_bounded = not variable.lower is variable.upper is None
        listed = {x for some in said if isinstance(some, tuple) for x in some}
        # A number that is tied needs levels: those that are named, and seen ones.
        is_open = None in said and (is_bounded or not seen) and name not in tied
        if ANY in said or is_open or not (seen or listed):
            continue
        low, high = variable.bounds
        if all(isinstance(x, int | float) and low <= x <= high for x in listed):
            numbers = sorted(map(float, {*seen, *listed}))
            kinds[name] = Ordinal(levels=tuple(map(short, numbers)))
    return schema.with_(kinds) if kinds else schema


def _levels_in(
    schema: Schema, similarity: Relation | None
) -> Iterator[tuple[str, tuple[Label, ...]]]:
    """Yield the variables that must have levels to be tied, and those that are named.

    What names no variable is left out: whoever needs it complains.
    """
    ties = [*schema.together]
    named: list[tuple[str, tuple[Label | None, ...]]] = []
    for one in () if similarity is None else similarity.alternatives:
        ties += [tie for tie in one.exist if isinstance(tie, Together)]
        for name, how in one.follow:
            if isinstance(how, Swaps):
                labels = [
                    label for _, pairs in how.by for pair in pairs for label in pair
                ]
                named.append((name, tuple(labels)))
                named += [(leader, ()) for leader in how.leaders if leader is not None]
    for tie in ties:
        for place, name in enumerate(tie.names):
            named.append((name, tuple(row[place] for row in tie.rows or ())))
    for name, said in named:
        for found in _found([name], schema):
            yield found, tuple(dict.fromkeys(x for x in said if x is not None))


def _moves_of(similarity: Similarity) -> Iterator[Move]:
    """Yield what one similarity says, in the order of its keys."""
    if isinstance(similarity.noise, tuple):
        for name, amount in similarity.noise:
            yield Move("noise", name, amount=amount)
    else:
        yield Move("noise", None, amount=similarity.noise)
    for name, values in similarity.vary:
        yield Move("vary", name, values=values)
    for name in similarity.missing:
        yield Move("missing", name)
    for name, following in similarity.follow:
        yield Move("follow", name, following=following)
    if similarity.distance is not None:
        for name, weight in similarity.distance.weights:
            step = similarity.distance.step(weight)
            values = weight.labels if isinstance(weight, Table) else None
            yield Move("distance", name, amount=step, values=values, weight=weight)


def _group_of(similarity: Similarity, name: str | None) -> str | None:
    """Return the first of the names that move together with one."""
    if name is None:
        return None
    group, size = {name}, 0
    while size < len(group):
        size = len(group)
        for tied in _ties_of(similarity):
            if tied & group:
                group |= tied
    return min(group)


def _followers_of(similarity: Similarity, moves: Sequence[Move]) -> list[Move]:
    """Return what follows by formulas where some of the similarity moves.

    A formula ties nothing together: its column moves along with each of its columns.
    """
    moved = {move.name for move in moves}
    if None in moved:
        # Noise for all numbers is for all that nothing else is said of.
        said = {move.name for move in similarity.moves}
        read = [_read_by(how) for _, how in similarity.follow if isinstance(how, str)]
        moved |= set[str | None]().union(*read) - said
    found: dict[str, Move] = {}
    size = -1
    while size < len(found):
        size = len(found)
        for move in similarity.moves:
            how = move.following
            if isinstance(how, str) and moved & _read_by(how):
                found[str(move.name)] = move
                moved.add(move.name)
    return list(found.values())


def _read_by(formula: str) -> set[str | None]:
    """Return the columns of a formula."""
    return {*parse_formula(formula, "").columns}


def _ties_of(similarity: Similarity) -> Iterator[set[str]]:
    """Yield the names that count as one attribute."""
    tied = {
        name
        for one in similarity.exist
        if isinstance(one, Together)
        for name in one.names
    }
    for one in similarity.exist:
        if isinstance(one, Together):
            yield set(one.names)
    # Where nothing names the leaders, anything that varies may lead.
    moves = [move for move in similarity.moves if move.name is not None]
    varied = {str(move.name) for move in moves if move.varies}
    varied = varied or {str(move.name) for move in moves if move.weight is not None}
    for name, following in similarity.follow:
        if isinstance(following, Swaps):
            leaders = [one for one in following.leaders if one is not None]
            yield {name, *(leaders or varied)}
        elif following is None and name not in tied:
            yield {name, *varied}


def _made_of(
    moves: Iterable[Move], similarity: Similarity, at_most: int | None = None
) -> Similarity:
    """Return the similarity that lets just this change, and keeps all else."""
    given: dict[str, Any] = {"noise": {}, "vary": {}, "missing": [], "follow": []}
    weights: dict[str | None, Any] = {}
    for move in moves:
        if move.key == "follow":
            item = {move.name: move.following} if move.following else move.name
            given["follow"].append(item)
        elif move.weight is not None:
            weights[move.name] = move.weight
        elif move.name is None:
            given["noise"] = move.amount
        elif move.amount is not None:
            given["noise"][move.name] = move.amount
        elif move.varies:
            given["vary"][move.name] = _plain(move.values)
        else:
            given["missing"].append(move.name)
    if similarity.distance is not None and weights:
        given |= similarity.distance.plain() | {"distance": weights}
    return Similarity(
        **given,
        where=dict(similarity.where),
        exist=similarity.exist,
        at_most=at_most,
    )


def _unnamed(similarity: Similarity, schema: Schema) -> list[str]:
    """Return the numbers that noise for all is for: those of which nothing is said."""
    weights = () if similarity.distance is None else similarity.distance.weights
    said = [name for name, _ in (*similarity.vary, *similarity.follow, *weights)]
    varied = _found(said, schema)
    return [name for name in schema.numeric if name not in varied]


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
            f"variable: {Arg('noise', {'age': amount.plain()})}."
        )
    return amount


def _vary(given: Any) -> tuple[tuple[str, Values], ...]:
    if not isinstance(given, Mapping):
        return tuple((name, None) for name in _names(given, "vary"))
    varied: dict[str, Values] = {}
    for name, values in given.items():
        where = f"vary of {name!r}"
        if not isinstance(values, str):
            varied[_name(name, "vary")] = parse_labels(values, where)
        elif values in {KNOWN, ANY}:
            varied[_name(name, "vary")] = "any" if values == ANY else None
        else:
            raise SpecError(
                f"{where} is {values!r}; write a list of the values that are "
                f"interchangeable, {KNOWN!r} for those that the model or the table "
                f"knows, or {ANY!r}."
            )
    return tuple(sorted(varied.items(), key=lambda item: item[0]))


def _plain(values: Values) -> str | list[Label]:
    """Return values in `vary` as people write them."""
    if values is None:
        return KNOWN
    return ANY if values == ANY else list(values)


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
    last = _together(similarity, len(lines))
    conditions = [f"{name!r} {met.in_words()}" for name, met in similarity.where]
    only = f" for both of them {' and '.join(conditions)}, and" if conditions else ""
    exist = [
        one if isinstance(one, str) else one.in_words() for one in similarity.exist
    ]
    both = [f"Both of them must exist: {'; '.join(exist)}."] if exist else []
    return "\n".join(
        [
            f"{start} if{only} they agree in everything, except that:",
            *lines,
            *last,
            *both,
        ]
    )


def _together(similarity: Similarity, n_lines: int) -> list[str]:
    """Say how much may change at the same time, if not all that is listed."""
    if similarity.distance is not None:
        return [similarity.distance.in_words()]
    most = similarity.at_most
    if most is None:
        return []
    is_open = any(move.name is None for move in similarity.moves)
    if most < n_lines or is_open:
        return [f"and at most {most} of these at the same time"]
    return [f"and at most {most} of these at the same time, which are all of them"]


def _changes(similarity: Similarity, schema: Schema | None) -> list[str]:
    lines = []
    for move in similarity.moves:
        if isinstance(move.following, Swaps):
            lines += move.following.in_words(str(move.name))
        elif move.weight is not None and similarity.distance is not None:
            lines.append(
                _cost(str(move.name), move.weight, schema, similarity.distance)
            )
        elif move.name is not None:
            lines.append(_change(move.name, move, schema))
        elif schema is not None:
            lines += [
                _change(name, move, schema) for name in _unnamed(similarity, schema)
            ]
        elif move.amount is not None:
            lines.append(f"every number {move.amount.in_words()}")
    return lines


def _cost(
    name: str, weight: Weight | Table, schema: Schema | None, distance: Distance
) -> str:
    of = None if schema is None else schema.find(name)
    is_number = None if of is None else isinstance(of, Number | Ordinal)
    unit = "level" if isinstance(of, Ordinal) else "unit"
    return distance.weight_in_words(name, weight, unit, is_number=is_number)


def _change(name: str, move: Move, schema: Schema | None) -> str:
    if move.key == "follow":
        is_loose = move.following is None
        how = (
            f" as {move.following}"
            if not is_loose
            else ", to any level that exists then"
        )
        return f"{name!r} moves along{how}"
    if move.amount is not None:
        variable = None if schema is None else schema.find(name)
        sd = variable.sd if isinstance(variable, Number) else None
        levels = " levels" if isinstance(variable, Ordinal) else ""
        stays = (
            ", which is less than a whole step: it stays as it is"
            if move.stays(variable)
            else ""
        )
        return f"{name!r} {move.amount.in_words(sd)}{levels}{stays}"
    if isinstance(move.values, tuple):
        shown = ", ".join(map(repr, move.values))
        return f"the values {shown} of {name!r} are interchangeable"
    if move.varies:
        variable = None if schema is None else schema.find(name)
        at_all = move.values == ANY
        if variable is None:
            return f"{name!r} may be anything{' at all' * at_all}"
        return f"{name!r} may be {anything(variable, at_all=at_all)}"
    return f"{name!r} may be missing for one and known for the other"
