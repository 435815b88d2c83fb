"""Variables tied together: one variable whose codes are the combinations that exist.

What `exist` and `follow` tie becomes one category. So a box around a person stays a
product of intervals and sets, and the search needs nothing new. Every split on a tied
variable becomes a set of combinations, so that scores stay the same bit for bit.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical, Ensemble, Feature, Label
from fatt.ensemble.joint import places_of
from fatt.ensemble.trees import pack
from fatt.errors import DataError, SpecError, first, hint
from fatt.region.boxes import Boxes, code_words
from fatt.region.costs import COST, COUNT, FREE, STEPS, TABLE, Costs
from fatt.region.existence import Row, Swaps, Together
from fatt.region.kinds import Category, Number
from fatt.region.schema import Schema
from fatt.region.similarity import ANY, Relation, Similarity
from fatt.region.variables import Merge, Variables, merge_joint, merge_trees

Matrix = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

#: So many combinations one variable may have.
MOST_CODES = 4096
#: So many it may have where a distance says what each costs beside each other.
_MOST_PRICED = 1024
#: So many rows a table may have on the way there.
_MOST_ROWS = 2**20
#: What stands in a schema for a value that the model does not know.
_OTHER = "(other)"


class _Rows(NamedTuple):
    """Some combinations: the variables, and a row of their codes for each."""

    places: tuple[int, ...]
    codes: Integers


@dataclass(frozen=True, eq=False)
class _Rule:
    """What one alternative says of tied variables, which are counted from 0 here.

    Attributes
    ----------
    exists : ndarray of shape (n_codes,)
        Which combinations exist.
    swaps
        Followers, leaders first: for each leader, what becomes of the codes.
    loose
        Followers that move to any level that exists if one of their leaders moves.
    """

    exists: Flags
    swaps: tuple[tuple[int, tuple[tuple[int, Integers], ...]], ...]
    loose: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]

    def allowed(self, table: Integers, own: Integers, missing: Integers) -> Flags:
        """Tell which combinations each of some own combinations may become.

        Parameters
        ----------
        table : ndarray of shape (n_codes, n_parts)
            The combinations.
        own : ndarray of shape (n_owners,)
            The own ones.
        missing : ndarray of shape (n_parts,)
            The code of a missing value of each part.

        Returns
        -------
        ndarray of shape (n_owners, n_codes)
        """
        before, after = table[own][:, np.newaxis], table[np.newaxis]
        allowed = np.repeat(self.exists[np.newaxis], len(own), axis=0)
        for follower, leads in self.swaps:
            wanted = np.repeat(before[..., follower], len(table), axis=1)
            for leader, codes in leads:
                moves = before[..., leader] != after[..., leader]
                wanted = np.where(moves, codes[wanted], wanted)
            allowed &= after[..., follower] == wanted
        for leaders, followers in self.loose:
            led = np.zeros(allowed.shape, dtype=bool)
            for leader in leaders:
                led |= before[..., leader] != after[..., leader]
            for follower in followers:
                old, new = before[..., follower], after[..., follower]
                gap = missing[follower]
                allowed &= (led & ((old == gap) == (new == gap))) | (old == new)
        return allowed


@dataclass(frozen=True, eq=False)
class _Group:
    """Variables that are tied together.

    Attributes
    ----------
    places
        Which variables these are.
    sizes : ndarray of shape (n_parts,)
        How many codes each has, with one more, the last, for a missing value.
    table : ndarray of shape (n_codes, n_parts)
        The combinations, in increasing order.
    is_person : ndarray of shape (n_codes,)
        Which of them people have.
    rules
        What each alternative says, and last one under which nothing moves.
    """

    places: tuple[int, ...]
    sizes: Integers
    table: Integers
    is_person: Flags
    rules: tuple[_Rule, ...]

    def codes(self, values: Matrix) -> Integers:
        """Return the combination of each row of all variables, -1 for none."""
        mine = values[:, self.places]
        parts = np.where(np.isnan(mine), self.sizes - 1, mine).astype(np.int64)
        keys, known = _keys(parts, self.sizes), _keys(self.table, self.sizes)
        found = np.minimum(np.searchsorted(known, keys), len(known) - 1)
        return np.where(known[found] == keys, found, -1)

    def table_of(
        self,
        each: NDArray[np.void],
        tables: Integers,
        together: Sequence[Sequence[int]],
        names: Sequence[str],
    ) -> Integers:
        """Return what it costs to become another combination, the sum of its parts.

        Parameters
        ----------
        each : ndarray of `COST`, shape (n_parts,)
            What the parts cost.
        tables
            The tables of costs between categories.
        together
            The parts, of which those that stand together cost as much as the dearest.
        names
            The names of the parts, for the message.
        """
        count = len(self.table) + 1
        if count > _MOST_PRICED:
            raise SpecError(
                f"at_most or distance counts {', '.join(map(repr, names))}, which "
                f"exist or follow ties, and {count - 1:,} combinations exist, of "
                f"{_MOST_PRICED:,} that can be counted; list fewer, or tie fewer "
                "columns."
            )
        total = np.zeros((count, count), dtype=np.int64)
        for parts in together:
            dearest = np.zeros((count - 1, count - 1), dtype=np.int64)
            for column in parts:
                codes, cost = self.table[:, column], each[column]
                gap = int(self.sizes[column]) - 1
                price = np.zeros((gap + 1, gap + 1), dtype=np.int64)
                if cost["kind"] == TABLE:
                    start = int(cost["table"])
                    square = tables[start : start + gap * gap].reshape(gap, gap)
                    price[:gap, :gap] = np.minimum(square, STEPS + 1)
                most = min(cost["missing"], STEPS + 1)
                if cost["kind"] == COUNT:
                    price[:gap, :gap] = np.where(np.eye(gap, dtype=bool), 0, most)
                if cost["kind"] != FREE:
                    price[gap, :gap] = price[:gap, gap] = most
                dearest = np.maximum(dearest, price[np.ix_(codes, codes)])
            total[:-1, :-1] += dearest
        return total.ravel()

    def parts(self) -> Matrix:
        """Return the combinations as values of the variables, NaN for missing."""
        return np.where(self.table == self.sizes - 1, np.nan, self.table)


class Combined:
    """A model over variables of which some are tied together.

    Parameters
    ----------
    similarity
        Who is similar to whom.
    variables
        The model's variables.

    Attributes
    ----------
    ensemble
        The model over the variables that are not tied, and behind them one for each
        group of tied ones. The variables' own if none are.

    Raises
    ------
    SpecError
        If what is said of them has no meaning, or too many combinations exist.
    """

    ensemble: Ensemble

    def __init__(self, similarity: Relation, variables: Variables) -> None:
        self._variables = variables
        self.ensemble = variables.ensemble
        self._said = said = [_Said(one, variables) for one in similarity.alternatives]
        groups = _groups_of(said)
        self._groups = [_made(places, said, variables) for places in groups]
        if not groups:
            return
        tied = {place for group in self._groups for place in group.places}
        features = variables.ensemble.features
        _refuse_computed(variables.ensemble, tied)
        self._rest = [place for place in range(len(features)) if place not in tied]
        merges = (
            *(Merge(features[place], np.array([place])) for place in self._rest),
            *(_merge(group, features) for group in self._groups),
        )
        self.ensemble = replace(
            variables.ensemble,
            features=tuple(merge.feature for merge in merges),
            trees=merge_trees(variables.ensemble, merges),
            joints=tuple(merge_joint(j, merges) for j in variables.ensemble.joints),
        )

    @property
    def is_plain(self) -> bool:
        """Whether no variables are tied."""
        return not self._groups

    @property
    def tied(self) -> list[tuple[str, ...]]:
        """The names of the variables that are tied to each other."""
        features = self._variables.ensemble.features
        return [
            tuple(features[place].name for place in group.places)
            for group in self._groups
        ]

    def join(self, values: Matrix) -> Matrix:
        """Return values of all variables as those of the combined ones.

        Parameters
        ----------
        values : ndarray of shape (n_rows, n_variables)
            Numbers and codes, NaN for missing.

        Raises
        ------
        DataError
            If a row has a combination that does not exist.
        """
        if self.is_plain:
            return values
        codes = [group.codes(values) for group in self._groups]
        for group, mine in zip(self._groups, codes, strict=True):
            if (mine < 0).any():
                raise self._absent(group, values, int(np.argmax(mine < 0)))
        return np.column_stack([values[:, self._rest], *codes])

    def part(self, values: Matrix) -> Matrix:
        """Return values of the combined variables as those of all variables.

        Parameters
        ----------
        values : ndarray of shape (n_rows, n_combined)
            As `join` returns them.
        """
        if self.is_plain:
            return values
        found = np.empty((len(values), len(self._variables.ensemble.features)))
        found[:, self._rest] = values[:, : len(self._rest)]
        for column, group in enumerate(self._groups, len(self._rest)):
            codes = values[:, column].astype(np.int64)
            found[:, group.places] = group.parts()[codes]
        return found

    def boxes(self, boxes: Boxes, people: Matrix, rules: Integers) -> Boxes:
        """Return boxes of all variables as those of the combined ones.

        Parameters
        ----------
        boxes
            Where people may move in each variable alone.
        people : ndarray of shape (n_people, n_variables)
            The people.
        rules : ndarray of shape (n_boxes,)
            Which alternative each box is of; those beyond let nothing move.

        Raises
        ------
        DataError
            If a person has a combination that does not exist.
        """
        if self.is_plain:
            return boxes
        features = self._variables.ensemble.features
        words, n_boxes = code_words(features), len(boxes)
        sets = [boxes.codes[:, words[place] : words[place + 1]] for place in self._rest]
        for group in self._groups:
            own = group.codes(people)
            wrong = (own < 0) | ~group.is_person[own]
            if wrong.any():
                raise self._absent(group, people, int(np.argmax(wrong)))
            sets.append(_sets(group, own[boxes.person], boxes, rules, features))
        none = np.zeros((n_boxes, len(self._groups)))
        return Boxes(
            boxes.person,
            np.hstack([boxes.lower[:, self._rest], none]),
            np.hstack([boxes.upper[:, self._rest], none]),
            np.hstack([boxes.missing[:, self._rest], none.astype(bool)]),
            np.hstack(sets),
            self._costs(boxes.costs),
            None if boxes.ties is None else boxes.ties.at(self._rest),
        )

    def _costs(self, costs: Costs | None) -> Costs | None:
        """Return costs in which what is tied together counts once."""
        if costs is None:
            return None
        each = np.zeros(
            (len(costs.each), len(self._rest) + len(self._groups)), dtype=COST
        )
        each[:, : len(self._rest)] = costs.each[:, self._rest]
        tables, size = [costs.tables], len(costs.tables)
        for rule, column in np.ndindex(len(costs.each), len(self._groups)):
            group = self._groups[column]
            mine = costs.each[rule, list(group.places)]
            joint = each[rule, len(self._rest) + column : len(self._rest) + column + 1]
            if not (mine["kind"] != FREE).any():
                continue
            together = [[part] for part in range(len(group.places))]
            if self._said[rule].counts:
                together = self._said[rule].together_in(group.places)
                if len(together) == 1:
                    joint["kind"], joint["missing"] = COUNT, 1
                    continue
            tables.append(
                group.table_of(mine, costs.tables, together, self.tied[column])
            )
            joint["kind"], joint["table"] = TABLE, size
            size += len(tables[-1])
        return replace(
            costs,
            each=each,
            tables=np.concatenate(tables),
            people=self.join(costs.people),
        )

    def _absent(self, group: _Group, values: Matrix, row: int) -> DataError:
        """Say which combination of a row does not exist."""
        features = self._variables.ensemble.features
        cells = [
            f"{features[place].name!r} is {_shown(features[place], values[row, place])}"
            for place in group.places
        ]
        return DataError(
            f"row {row}: {first(cells)}, which do not exist together by exist=. "
            "Correct the row, or add this combination to those that exist."
        )


class _Said:
    """What one alternative says of combinations and followers, by variable."""

    def __init__(self, similarity: Similarity, variables: Variables) -> None:
        self._variables, self._similarity = variables, similarity
        self._place = {v.name: i for i, v in enumerate(variables.schema.variables)}
        schema = variables.schema
        follow = dict(similarity.follow)
        self.moved = {
            self._find(move.name, move.key)
            for move in similarity.moves
            if move.name is not None
        }
        # What may become values that nobody names.
        self.at_all = {
            self._find(move.name, move.key)
            for move in similarity.moves
            if move.name is not None and move.values == ANY
        }
        self.together = [
            self._rows(one)
            for one in dict.fromkeys([*schema.together, *similarity.together])
        ]
        self.swaps = {
            self._find(name, "follow"): self._leads(name, how)
            for name, how in follow.items()
            if isinstance(how, Swaps)
        }
        loose = [name for name, how in follow.items() if how is None]
        self._loose = {self._find(name, "follow"): name for name in loose}
        for place, name in self._loose.items():
            self._require_category(place, f"follow names {name!r}")
            self._require_led(place, name)

    @property
    def counts(self) -> bool:
        """Whether it counts the attributes that differ."""
        return self._similarity.at_most is not None

    def together_in(self, places: Sequence[int]) -> list[list[int]]:
        """Return which of some variables it ties together, by their index in these."""
        groups = [{place} for place in places]
        for link in self.links():
            near = [group for group in groups if group & link]
            groups = [group for group in groups if not group & link]
            groups.append({*places} & link.union(*near))
        return [sorted(map(places.index, group)) for group in groups if group]

    def links(self) -> Iterator[set[int]]:
        """Yield the variables that belong together."""
        yield from (set(rows.places) for rows in self.together)
        yield from ({place, *leads} for place, leads in self.swaps.items())

    def loose(self) -> Iterator[tuple[set[int], set[int]]]:
        """Yield leaders and followers, where these move to any level that exists."""
        left = set(self._loose)
        while left:
            followers, size = {min(left)}, 0
            while size < len(followers):
                size = len(followers)
                near = self._beside(followers)
                followers |= near & set(self._loose)
            yield near - followers, followers
            left -= followers

    def _beside(self, places: set[int]) -> set[int]:
        """Return the variables that stand together with some, these included."""
        return places.union(
            *(rows.places for rows in self.together if places & {*rows.places})
        )

    def _find(self, name: str, key: str) -> int:
        return self._place[self._variables.schema.find(name, said_in=key).name]

    def _require_category(self, place: int, said: str) -> Categorical:
        feature = self._variables.ensemble.features[place]
        variable = self._variables.schema.variables[place]
        if isinstance(variable, Number) or not isinstance(feature, Categorical):
            raise SpecError(
                f"{said}, and {feature.name!r} is a number without levels: it moves by "
                "an amount or to any number, or has many values. Vary it among a few "
                "values, or write an order or a formula."
            )
        return feature

    def _require_led(self, place: int, name: str) -> None:
        """Refuse a follower beside which nothing moves."""
        leaders = next(lead for lead, mine in self.loose() if place in mine)
        if not leaders & self.moved:
            raise SpecError(
                f"follow names {name!r}, and no exist= ties it to a column that moves; "
                f"add one, such as exist=[({name!r}, ...)], or map its levels."
            )

    def _leads(self, name: str, how: Swaps) -> dict[int, Integers]:
        """Return what becomes of the codes of a follower, by leader."""
        follower = self._find(name, "follow")
        feature = self._require_category(follower, f"follow names {name!r}")
        found = {}
        for leader, pairs in how.by:
            place = self._only() if leader is None else self._find(leader, "follow")
            said = f"follow of {name!r}"
            if place is None:
                raise SpecError(
                    f"{said} does not say what it follows, and not exactly one "
                    f"category varies; write {{{name!r}: {{'sex': {{...}}}}}}."
                )
            if place not in self.moved:
                raise SpecError(f"{said} goes by {leader!r}, which does not move.")
            self._require_category(place, f"{said} goes by {leader!r}")
            # The last code is that of a missing value, which stays.
            becomes = np.arange(feature.n_codes + 1)
            for old, new in pairs:
                becomes[self._code(follower, old, said)] = self._code(
                    follower, new, said
                )
            found[place] = becomes
        for one, other in itertools.combinations(found.values(), 2):
            if not np.array_equal(one[other], other[one]):
                raise SpecError(
                    f"follow of {name!r} gives other levels if its leaders change in "
                    "another order; write maps that agree if both change."
                )
        return found

    def _only(self) -> int | None:
        """Return the one category that varies, if there is just one."""
        varied = {
            place
            for move in self._similarity.moves
            if move.varies and move.name is not None
            for place in [self._find(move.name, "vary")]
            if isinstance(self._variables.ensemble.features[place], Categorical)
        }
        return varied.pop() if len(varied) == 1 else None

    def _code(self, place: int, label: Label | None, said: str) -> int:
        feature = self._variables.ensemble.features[place]
        assert isinstance(feature, Categorical)
        if label is None:
            return feature.n_codes
        code = self._variables.code(place, label)
        if code is None and str(label).startswith(_OTHER):
            return feature.n_codes - 1
        if code is None:
            raise SpecError(
                f"{said} names {label!r}, which is none of the values of "
                f"{feature.name!r}. {hint(label, feature.categories)}"
            )
        return code

    def _rows(self, one: Together) -> _Rows:
        """Return combinations as codes."""
        said = f"exist of {', '.join(map(repr, one.names))}"
        places = tuple(self._find(name, "exist") for name in one.names)
        if len(set(places)) < len(places):
            raise SpecError(f"{said} names one variable twice; name it once.")
        for place in places:
            self._require_category(place, said)
        if one.rows is not None:
            return self._with_gaps(_Rows(places, self._codes(places, one.rows, said)))
        for seen in self._variables.schema.seen:
            known = [self._find(name, "seen") for name in seen.names]
            if seen.rows is not None and {*places} <= {*known}:
                chosen = [known.index(place) for place in places]
                rows = [tuple(row[i] for i in chosen) for row in seen.rows]
                return _Rows(places, self._codes(places, rows, said))
        raise SpecError(
            f"{said} means the combinations that the rows of the schema have, and the "
            "schema knows none. Infer the schema from rows, and name these columns in "
            "exist there, or list the combinations."
        )

    def _codes(
        self, places: tuple[int, ...], rows: Iterable[Row], said: str
    ) -> Integers:
        known: dict[tuple[int, Label | None], int] = {}
        found = []
        for row in rows:
            for cell in zip(places, row, strict=True):
                # True equals 1, but may be another label.
                if cell not in known or isinstance(cell[1], bool):
                    known[cell] = self._code(*cell, said)
            found.append([known[cell] for cell in zip(places, row, strict=True)])
        return np.unique(np.array(found, dtype=np.int64), axis=0)

    def _with_gaps(self, rows: _Rows) -> _Rows:
        """Add listed combinations with missing values: these may be anything."""
        features = self._variables.ensemble.features
        may_lack = [
            column
            for column, place in enumerate(rows.places)
            if features[place].accepts_missing
        ]
        parts = [rows.codes]
        for count in range(1, len(may_lack) + 1):
            for columns in itertools.combinations(may_lack, count):
                gaps = rows.codes.copy()
                for column in columns:
                    gaps[:, column] = features[rows.places[column]].n_codes
                parts.append(gaps)
        return _Rows(rows.places, np.unique(np.vstack(parts), axis=0))


def refuse_ties(similarity: Relation, schema: Schema, what: str) -> None:
    """Refuse columns that are tied together, which not all can follow.

    Parameters
    ----------
    similarity, schema
        Who is similar, and who exists.
    what
        What cannot.

    Raises
    ------
    SpecError
        If there are any.
    """
    said = [one for each in similarity.alternatives for one in each.exist + each.follow]
    if said or schema.exist:
        raise SpecError(
            "the similarity or the schema says what exists or what follows, and "
            f"{what} does not support that yet; leave it out there, and verify people "
            "with it."
        )


def asked(schema: Schema, similarity: Relation | None) -> tuple[Together, ...]:
    """Return what is said of combinations that only rows know."""
    said = [*schema.together]
    for each in () if similarity is None else similarity.alternatives:
        said += each.together
    return tuple(dict.fromkeys(one for one in said if one.rows is None))


def seen_in(
    asked: Sequence[Together], variables: Variables, values: Matrix
) -> tuple[Together, ...]:
    """Return the combinations that some rows have.

    Parameters
    ----------
    asked
        Of which columns.
    variables
        The model's variables.
    values : ndarray of shape (n_rows, n_variables)
        The rows, as `Variables.gather` returns them.
    """
    schema = variables.schema
    place = {variable.name: i for i, variable in enumerate(schema.variables)}
    found = []
    for one in asked:
        places = [place[schema.find(n, said_in="exist").name] for n in one.names]
        features = [variables.ensemble.features[i] for i in places]
        rows = np.unique(values[:, places], axis=0)
        labels = {
            tuple(_label_of(f, x) for f, x in zip(features, row, strict=True))
            for row in rows.tolist()
        }
        found.append(Together(one.names, tuple(labels)))
    return tuple(found)


def joined(parts: Iterable[Sequence[Together]]) -> tuple[Together, ...]:
    """Return the combinations that some parts of a table have, together."""
    rows: dict[tuple[str, ...], set[Row]] = {}
    for part in parts:
        for one in part:
            rows.setdefault(one.names, set()).update(one.rows or ())
    return tuple(Together(names, tuple(mine)) for names, mine in rows.items())


def _label_of(feature: Feature, value: float) -> Label | None:
    """Return how a schema writes a value, None if it is missing."""
    if not isinstance(feature, Categorical):
        raise SpecError(
            f"exist names {feature.name!r}, a number without levels: it moves by an "
            "amount or to any number, or has many values. List the combinations, or "
            "write an order or a formula."
        )
    if np.isnan(value):
        return None
    if value < len(feature.categories):
        return feature.categories[int(value)]
    other = _OTHER
    while other in feature.categories:
        other += "?"
    return other


def _shown(feature: Feature, value: float) -> str:
    label = _label_of(feature, value)
    return "missing" if label is None else repr(label)


# ---- Groups.


def _groups_of(said: Sequence[_Said]) -> list[tuple[int, ...]]:
    """Return the variables that are tied together, where something may move."""
    groups: list[set[int]] = []
    for one in said:
        for link in one.links():
            near = [group for group in groups if group & link]
            groups = [group for group in groups if not group & link]
            groups.append(link.union(*near))
    moved = set[int]().union(*(one.moved for one in said))
    return sorted(tuple(sorted(group)) for group in groups if group & moved)


def _made(
    places: tuple[int, ...], said: Sequence[_Said], variables: Variables
) -> _Group:
    """Return tied variables with all combinations that are needed."""
    features = [variables.ensemble.features[place] for place in places]
    for place in places:
        at_all = any(place in one.at_all for one in said)
        _require_told_apart(place, variables, at_all=at_all)
    counts = [one.n_codes for one in features if isinstance(one, Categorical)]
    sizes = np.array(counts, dtype=np.int64) + 1
    if sizes.astype(np.float64).prod() > 2.0**62:
        raise _too_many(features, np.inf)
    single = [
        _Rows((place,), _domain(feature)[:, np.newaxis])
        for place, feature in zip(places, features, strict=True)
    ]
    mine = [
        [rows for rows in one.together if {*rows.places} <= {*places}] for one in said
    ]
    start = _Rows((), np.zeros((1, 0), dtype=np.int64))
    everybody = [rows for some in mine for rows in some]
    people = _all_of([start, *everybody, *single], places, features)
    reached = [people]
    for one, rows in zip(said, mine, strict=True):
        still = [p for p, place in enumerate(places) if place not in one.moved]
        kept = np.unique(people[:, still], axis=0)
        known = _Rows(tuple(places[p] for p in still), kept)
        reached.append(_all_of([known, *rows, *single], places, features))
    table = np.unique(np.vstack(reached), axis=0)
    if len(table) > MOST_CODES:
        raise _too_many(features, len(table))
    keys, owned = _keys(table, sizes), _keys(people, sizes)
    rules = [
        _rule(places, one, rows, table) for one, rows in zip(said, mine, strict=True)
    ]
    alone = _Rule(np.ones(len(table), dtype=bool), (), ())
    return _Group(places, sizes, table, np.isin(keys, owned), (*rules, alone))


def _require_told_apart(place: int, variables: Variables, *, at_all: bool) -> None:
    """Refuse a tied variable of which the model cannot tell some values apart.

    They have one code. So it would not be seen that one of them becomes another, nor
    which of them exists beside what.
    """
    feature = variables.ensemble.features[place]
    variable = variables.schema.variables[place]
    if not isinstance(feature, Categorical) or not isinstance(variable, Category):
        return
    alike = [text for text in variable.texts if feature.code_of(text) is None]
    is_one = len(alike) == 1 or bool(feature.other)
    is_open = at_all and feature.may_be_unknown
    if len(alike) > 1 or is_open or (variable.others and not is_one):
        shown = f", such as {first([repr(text) for text in alike])}" if alike else ""
        raise SpecError(
            f"exist or follow ties {feature.name!r}, of which the model cannot tell "
            f"some values apart{shown}, so that fatt cannot follow which of them "
            "change. Leave it out there, or list in vary of what follows the levels "
            "that are interchangeable."
        )


def _domain(feature: Feature) -> Integers:
    """Return the codes that people may have, the last but one for unknown values."""
    assert isinstance(feature, Categorical)
    is_taken = np.ones(feature.n_codes + 1, dtype=bool)
    is_taken[-2:] = feature.accepts_unknown, feature.accepts_missing
    return np.flatnonzero(is_taken)


def _all_of(
    parts: Sequence[_Rows], places: tuple[int, ...], features: Sequence[Feature]
) -> Integers:
    """Return the combinations that are in all parts, by the order of the places."""
    found = parts[0]
    for part in parts[1:]:
        common = [place for place in part.places if place in found.places]
        new = [place for place in part.places if place not in found.places]
        if not new and len(part.places) == 1:
            continue
        found = _product(found, part, common, new, features)
    return found.codes[:, [found.places.index(place) for place in places]]


def _product(
    one: _Rows,
    other: _Rows,
    common: list[int],
    new: list[int],
    features: Sequence[Feature],
) -> _Rows:
    """Join two tables of combinations where they agree in what both have."""
    mine = one.codes[:, [one.places.index(place) for place in common]]
    theirs = other.codes[:, [other.places.index(place) for place in common]]
    _, keys = np.unique(np.vstack([mine, theirs]), axis=0, return_inverse=True)
    left, right = np.split(keys.ravel(), [len(mine)])
    order = np.argsort(right, kind="stable")
    begin = np.searchsorted(right[order], left)
    counts = np.searchsorted(right[order], left, side="right") - begin
    total = int(counts.sum())
    if total > _MOST_ROWS:
        raise _too_many(features, total)
    rows = np.repeat(np.arange(len(left)), counts)
    within = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
    added = other.codes[order[begin[rows] + within]]
    chosen = [other.places.index(place) for place in new]
    codes = np.hstack([one.codes[rows], added[:, chosen]])
    return _Rows((*one.places, *new), codes)


def _rule(
    places: tuple[int, ...], said: _Said, rows: Sequence[_Rows], table: Integers
) -> _Rule:
    """Return what an alternative says of tied variables."""
    exists = np.ones(len(table), dtype=bool)
    for known in rows:
        mine = table[:, [places.index(place) for place in known.places]]
        _, keys = np.unique(np.vstack([mine, known.codes]), axis=0, return_inverse=True)
        here, there = np.split(keys.ravel(), [len(mine)])
        exists &= np.isin(here, there)
    swaps = tuple(
        (
            places.index(follower),
            tuple((places.index(leader), codes) for leader, codes in leads.items()),
        )
        for follower, leads in said.swaps.items()
        if follower in places
    )
    loose = tuple(
        (
            tuple(places.index(one) for one in sorted(leaders)),
            tuple(places.index(one) for one in sorted(followers)),
        )
        for leaders, followers in said.loose()
        if followers <= {*places}
    )
    return _Rule(exists, swaps, loose)


def _sets(
    group: _Group,
    own: Integers,
    boxes: Boxes,
    rules: Integers,
    features: Sequence[Feature],
) -> NDArray[np.uint64]:
    """Return the combinations in each box as bit sets."""
    words = code_words(features)
    rules = np.minimum(rules, len(group.rules) - 1)
    # Most people with the same combination may move alike.
    alike = [rules[:, np.newaxis], own[:, np.newaxis]]
    for place in group.places:
        alike.append(boxes.codes[:, words[place] : words[place + 1]].view(np.int64))
        alike.append(boxes.missing[:, [place]].astype(np.int64))
    _, some, which = np.unique(
        np.hstack(alike), axis=0, return_index=True, return_inverse=True
    )
    mine, chosen = own[some], rules[some]
    allowed = np.zeros((len(some), len(group.table)), dtype=bool)
    for number, rule in enumerate(group.rules):
        here = np.flatnonzero(chosen == number)
        if here.size:
            allowed[here] = rule.allowed(group.table, mine[here], group.sizes - 1)
    few = boxes.one_each(some)
    for column, place in enumerate(group.places):
        flags = np.column_stack([few.flags(features, place), few.missing[:, place]])
        allowed &= flags[:, group.table[:, column]]
    allowed[np.arange(len(some)), mine] = True
    # The last code stands for unknown values, of which there are none.
    none = np.zeros((len(some), 1), dtype=bool)
    return np.asarray(pack(np.hstack([allowed, none]))[which.ravel()])


def _keys(rows: Integers, sizes: Integers) -> Integers:
    """Return a number for each row, in the order of the rows."""
    keys = np.zeros(len(rows), dtype=np.int64)
    for column, size in enumerate(sizes.tolist()):
        keys = keys * size + rows[:, column]
    return keys


def _merge(group: _Group, features: Sequence[Feature]) -> Merge:
    """Return tied variables as one, whose categories are the combinations."""
    mine = [features[place] for place in group.places]
    parts = group.parts()
    names = tuple(
        " & ".join(_shown(f, x) for f, x in zip(mine, row, strict=True))
        for row in parts.tolist()
    )
    feature = Categorical(
        name=" & ".join(one.name for one in mine),
        categories=names,
        accepts_missing=False,
        accepts_unknown=False,
    )
    nothing = np.full((1, len(mine)), np.nan)
    return Merge(feature, np.array(group.places), np.vstack([parts, nothing]))


def _refuse_computed(ensemble: Ensemble, tied: set[int]) -> None:
    """Refuse to tie columns of which the model computes others."""
    for joint in ensemble.joints:
        for place in places_of(joint.formula):
            if place in tied:
                raise SpecError(
                    f"exist or follow ties {ensemble.features[place].name!r}, of which "
                    "the model computes another column; fatt cannot follow both yet."
                )


def _too_many(features: Sequence[Feature], count: float) -> SpecError:
    names = ", ".join(repr(one.name) for one in features)
    found = f"{count:,} combinations" if count < np.inf else "too many combinations"
    return SpecError(
        f"exist and follow tie {names}, of which {found} exist, and {MOST_CODES:,} can "
        "be followed; list those that exist, or tie fewer columns."
    )
