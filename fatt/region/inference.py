"""A schema from what a model and its rows say, and what rows say against one."""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical, Ensemble, Feature, Inputs
from fatt.ensemble import Numeric as NumericFeature
from fatt.ensemble.cells import (
    gaps_of,
    is_missing,
    mark_missing,
    text_of_category,
    unknown_of,
)
from fatt.ensemble.encoding import read
from fatt.ensemble.plain import Blocks
from fatt.ensemble.tables import Column, as_array, as_frame, columns_of, places_of
from fatt.errors import Arg, DataError, SpecError, hint
from fatt.region.combined import asked, joined, seen_in
from fatt.region.existence import Together
from fatt.region.kinds import AnyVariable, Binary, Category, Integer, Number
from fatt.region.moments import Moments
from fatt.region.one_hot import Groups, SuspectGroups, flags_of, prefixes
from fatt.region.schema import Schema
from fatt.region.similarity import Relation, narrowed
from fatt.region.variables import Variables
from fatt.threads import in_order, until_done

#: Up to so many values are few, and kept.
FEW = 20

#: How many rows are looked at at a time, so that they stay in the cache.
_BLOCK = 8192
#: The same for all columns together.
_CELLS = 2**17
#: Texts that the model does not know are kept if they are few.
_STRANGERS = 20


def from_features(features: Sequence[Feature]) -> Schema:
    """Return the schema of a model's features, one variable each."""
    return Schema(
        columns=tuple(feature.name for feature in features),
        variables=tuple(
            _of_feature(f.name, f, has_others=isinstance(f, Categorical) and f.is_open)
            for f in features
        ),
    )


def infer(
    ensemble: Ensemble,
    X: Any,
    *,
    one_hot: Collection[str] = (),
    exist: Any = (),
    n_threads: int = 1,
) -> Schema:
    """Return the schema that the names and types of columns tell.

    Rows are looked at in blocks, so that large tables are never copied. In place of
    rows stands what was observed of them.
    """
    if isinstance(X, Statistics):
        if exist:
            raise SpecError(
                f"{Arg('exist')} asks for combinations, and what was observed of parts "
                "keeps none; pass the rows, or list the combinations in a similarity."
            )
        return _schema(ensemble, X)
    if isinstance(one_hot, str):
        raise SpecError(
            f"{Arg('one_hot')} is {one_hot!r}; write a list of names: [{one_hot!r}]."
        )
    table = _Table(ensemble, X)
    groups = table.groups(one_hot, n_threads)
    found = groups.variables()
    _require(one_hot, found, table.numbers)
    taken = {column for variable in found for column in variable.columns}
    rest = [name for name in table.numbers if name not in taken]
    schema = _schema(ensemble, table.statistics(groups, rest))
    if not exist:
        return schema
    return with_seen(ensemble, msgspec.structs.replace(schema, exist=exist), X)


@dataclass(frozen=True, eq=False)
class Statistics:
    """What some of the rows say of the schema; ``a | b`` is what both say.

    Attributes
    ----------
    names
        The columns.
    types
        The kinds of numpy's types that columns of numbers have.
    others
        The columns with values that are none of the model's categories.
    groups
        The columns that may be one variable.
    moments
        How the numbers lie.
    values
        The numbers themselves, of columns that have few.
    texts
        The texts of the columns of which the model knows fingerprints only.
    """

    names: list[str]
    types: dict[str, str]
    others: frozenset[str]
    groups: Groups
    moments: dict[str, Moments]
    values: dict[str, frozenset[float]]
    texts: dict[str, frozenset[str]]

    def __or__(self, other: Statistics) -> Statistics:
        """Return what the rows of both say."""
        if other.names != self.names:
            raise DataError(
                f"some of the rows have the columns {', '.join(self.names)}, and "
                f"others {', '.join(other.names)}; give all the same."
            )
        types, moments = self.types, self.moments
        return Statistics(
            names=self.names,
            types={name: _joint(types[name], other.types[name]) for name in types},
            others=self.others | other.others,
            groups=self.groups.joined(other.groups),
            moments={name: moments[name] | other.moments[name] for name in moments},
            values={
                name: both
                for name in self.values.keys() & other.values.keys()
                if len(both := self.values[name] | other.values[name]) <= FEW
            },
            texts={name: self.texts[name] | other.texts[name] for name in self.texts},
        )


def observe(ensemble: Ensemble, X: Any, *, one_hot: Collection[str] = ()) -> Statistics:
    """Return what some of the rows say of which a schema is inferred."""
    table = _Table(ensemble, X)
    return table.statistics(table.groups(one_hot), list(table.numbers))


def _joint(one: str, other: str) -> str:
    """Return the type of numbers of which some have one type, and some another."""
    if one == other:
        return one
    return "i" if {one, other} <= {"i", "u"} else "f"


def _schema(ensemble: Ensemble, seen: Statistics) -> Schema:
    groups = seen.groups.variables()
    variables: dict[str, AnyVariable] = {}
    taken = {column for group in groups for column in group.columns}
    for name, feature in zip(seen.names, ensemble.features, strict=True):
        if name in taken:
            continue
        texts = seen.texts.get(name, frozenset())
        variables[name] = _of_feature(
            name, feature, has_others=name in seen.others, texts=texts
        )
        if isinstance(feature, NumericFeature):
            whole = feature.integer or seen.types[name] in "iu"
            kind = Integer if whole else Number
            variables[name] = kind(
                name=name,
                columns=(name,),
                sd=seen.moments[name].sd,
                seen=_listed(seen.values.get(name, frozenset())),
            )
            if seen.types[name] == "b":
                variables[name] = Binary(
                    name=name, columns=(name,), levels=(False, True)
                )
    return Schema(columns=tuple(seen.names), variables=(*variables.values(), *groups))


def _listed(values: frozenset[float]) -> tuple[float, ...] | msgspec.UnsetType:
    """Return values in order; one alone does not tell which others there are."""
    if len(values) < 2:
        return msgspec.UNSET
    return tuple(int(v) if v.is_integer() else v for v in sorted(values))


def read_columns(ensemble: Ensemble, X: Any, places: list[int]) -> NDArray[np.float64]:
    """Return columns of numbers, of shape (n_rows, n_places), by the model's order."""
    columns, n_rows = columns_of(X, ensemble.features, ensemble.inputs)
    rows = slice(0, n_rows)
    found = []
    for place in places:
        feature = ensemble.features[place]
        assert isinstance(feature, NumericFeature)
        found.append(_Numbers(columns[place](), feature, ensemble.inputs).read(rows))
    return np.stack(found, axis=1)


def with_seen(
    ensemble: Ensemble, schema: Schema, X: Any, similarity: Relation | None = None
) -> Schema:
    """Return the schema with the combinations of rows that somebody asks for.

    Parameters
    ----------
    ensemble
        The model.
    schema
        What the columns mean; its `exist` may ask.
    X
        The rows.
    similarity
        Who is similar; its `exist` may ask as well.
    """
    seen = combinations_in(ensemble, schema, X, similarity)
    return msgspec.structs.replace(schema, seen=joined([schema.seen, seen]))


def combinations_in(
    ensemble: Ensemble, schema: Schema, X: Any, similarity: Relation | None = None
) -> tuple[Together, ...]:
    """Return the combinations of rows for which schema or similarity ask."""
    said = asked(schema, similarity)
    if not said:
        return ()
    variables = Variables(ensemble, narrowed(schema, similarity))
    frame, parts = as_frame(X), []
    is_frame = frame is not None
    table: Any = frame if is_frame else as_array(X)
    for start in range(0, len(table), _BLOCK):
        rows = table[start : start + _BLOCK]
        block = rows.to_native() if is_frame else rows
        parts.append(seen_in(said, variables, variables.gather(ensemble.read(block))))
    return joined(parts)


def refuse_broken_groups(relation: Relation, variables: Variables, X: Any) -> None:
    """Raise if the similarity moves a group of flags that the schema tears apart.

    A single row with two ones makes the columns ``race=A`` and ``race=B`` numbers
    without bounds. To vary one of them would ask about people who cannot exist.

    Parameters
    ----------
    relation
        Who is similar to whom.
    variables
        The model's variables.
    X
        The rows.

    Raises
    ------
    SpecError
        If such a group is named, or one of its columns, or is moved unnamed.
    """
    schema, model = variables.schema, variables.model
    SuspectGroups(relation, schema, model).refuse(
        functools.partial(read_columns, model, X)
    )


def _require(
    one_hot: Collection[str], found: Sequence[AnyVariable], columns: Iterable[str]
) -> None:
    """Raise unless all these variables were found."""
    known = {variable.name for variable in found}
    for name in one_hot:
        if name not in known:
            raise SpecError(
                f"{Arg('one_hot')} names {name!r}, and the columns "
                f"{', '.join(flags_of(name, columns))} are no one-hot columns: they "
                "must be 0 or 1, and at most one of them 1."
            )


class _Table:
    """The columns of a table: its numbers, and which categories it has."""

    def __init__(self, ensemble: Ensemble, X: Any) -> None:
        columns, self._n_rows = columns_of(X, ensemble.features, ensemble.inputs)
        self.names = _names(ensemble, X)
        self.numbers = {
            name: _Numbers(make(), feature, ensemble.inputs)
            for name, feature, make in zip(
                self.names, ensemble.features, columns, strict=True
            )
            if isinstance(feature, NumericFeature)
        }
        self.others = frozenset(
            name
            for place, (name, feature) in enumerate(
                zip(self.names, ensemble.features, strict=True)
            )
            if not isinstance(feature, NumericFeature)
            and feature.may_be_unknown
            and feature.coding != "fingerprint"
            and _are_others(
                unknown_of(_distinct(ensemble, X, place) or columns[place](), feature),
                feature.categories,
            )
        )
        self.texts = {
            name: _texts(_distinct(ensemble, X, place) or columns[place]())
            for place, (name, feature) in enumerate(
                zip(self.names, ensemble.features, strict=True)
            )
            if not isinstance(feature, NumericFeature)
            and feature.coding == "fingerprint"
        }

    @property
    def types(self) -> dict[str, str]:
        """The kinds of numpy's types that the columns have."""
        return {name: column.type for name, column in self.numbers.items()}

    def groups(self, one_hot: Collection[str] = (), n_threads: int = 1) -> Groups:
        """Look for variables behind groups of columns, in so many threads."""
        told = {name: flags_of(name, self.numbers) for name in one_hot}
        for name, columns in told.items():
            if not columns:
                raise SpecError(
                    f"{Arg('one_hot')} names {name!r}, and no column of numbers is "
                    f"called {name}_...; {hint(name, self.numbers)}"
                )
        # What somebody said stands above names: ``status_0_lt=_5`` may be a level.
        taken = {column for columns in told.values() for column in columns}
        groups = {
            name: columns
            for name, columns in prefixes(self.names, self.numbers).items()
            if taken.isdisjoint(columns)
        } | told
        if not groups:
            return Groups({}, [])
        # Where nothing is copied it is faster to look at all columns than to pick some.
        columns = list(self.numbers)
        blocks = Blocks([column.cells for column in self.numbers.values()])
        if blocks.need_copies:
            columns = [name for part in groups.values() for name in part]
            blocks = Blocks([self.numbers[name].cells for name in columns])
        size = max(1, _CELLS // len(columns))

        def see(first: int, last: int) -> Groups:
            found = Groups(groups, columns)
            for start in range(first, last, size):
                found.see(blocks.read(start, min(start + size, last)))
            return found

        if n_threads == 1:
            return see(0, self._n_rows)
        ends = np.linspace(0, self._n_rows, n_threads + 1, dtype=np.int64).tolist()
        parts: list[Groups] = []
        if until_done(in_order(see, itertools.pairwise(ends), n_threads), parts.append):
            raise KeyboardInterrupt
        return functools.reduce(Groups.joined, parts)

    def statistics(self, groups: Groups, numbers: Sequence[str]) -> Statistics:
        """Return what the rows say, of these columns of numbers how they lie."""
        return Statistics(
            self.names,
            self.types,
            self.others,
            groups,
            self.moments(numbers),
            self.values(numbers),
            self.texts,
        )

    def values(self, names: Sequence[str]) -> dict[str, frozenset[float]]:
        """Return the values of those columns of numbers that have few."""
        found = {name: self.numbers[name].few(self._n_rows) for name in names}
        return {name: few for name, few in found.items() if few is not None}

    def moments(self, names: Sequence[str]) -> dict[str, Moments]:
        """Return how the numbers of some columns lie."""
        starts = range(0, self._n_rows, _BLOCK)
        return {
            name: functools.reduce(
                operator.or_,
                (
                    Moments.of(self.numbers[name].known(slice(start, start + _BLOCK)))
                    for start in starts
                ),
                Moments(),
            )
            for name in names
        }


class _Numbers:
    """A column of numbers, read in blocks of rows."""

    def __init__(self, column: Column, feature: NumericFeature, inputs: Inputs) -> None:
        self._gaps, self.type = gaps_of((feature,)), column.dtype.kind
        self._has_gap = feature.missing_range is not None
        self.cells = column.cells
        if not column.is_numeric:
            self.cells = read(column.cells[:, np.newaxis], (feature,), inputs)[:, 0]

    def read(self, rows: slice) -> NDArray[np.float64]:
        """Return some numbers, also those that the model reads as missing."""
        return self.cells[rows].astype(np.float64)

    def known(self, rows: slice) -> NDArray[np.float64]:
        """Return some numbers without those that are missing."""
        numbers = mark_missing(self.read(rows)[:, np.newaxis], self._gaps)[:, 0]
        missing = np.isnan(numbers)
        return numbers[~missing] if missing.any() else numbers

    def few(self, n_rows: int) -> frozenset[float] | None:
        """Return the values, if there are few and all are finite."""
        if self.type == "b" or self._has_gap:
            return None
        # The first rows of most columns tell that there are many values.
        found = {cell for cell in self.cells[: 2 * FEW].tolist() if cell == cell}  # noqa: PLR0124
        for start in range(2 * FEW, n_rows, _BLOCK):
            if len(found) > FEW:
                return None
            numbers = self.known(slice(start, start + _BLOCK))
            found.update(numbers[~np.isin(numbers, list(found))].tolist())
        if len(found) > FEW or not all(map(math.isfinite, found)):
            return None
        # Both zeros are one number; adding zero keeps the positive one.
        return frozenset(float(value) + 0.0 for value in found)


def _texts(column: Column) -> frozenset[str]:
    """Return the texts that a column of categories holds."""
    texts = map(text_of_category, column.cells.tolist())
    return frozenset(text for text in texts if text is not None)


def _are_others(unknown: Iterable[Any], known: Iterable[Any]) -> bool:
    """Tell whether a value that is no category is more than a misspelt one.

    One cell ``Male`` beside ``male`` does not make a third sex.
    """
    spellings = {_spelling(value) for value in known}
    return any(_spelling(value) not in spellings for value in unknown)


def _spelling(value: Any) -> Any:
    """Return what is left of a text without case, spaces and punctuation."""
    if not isinstance(value, str):
        return None if is_missing(value) else value
    text = value.casefold()
    return "".join(filter(str.isalnum, text)) or text.strip()


def _distinct(ensemble: Ensemble, X: Any, place: int) -> Column | None:
    """Return a column of a frame with each of its values once, if it can tell them."""
    frame = as_frame(X)
    if frame is None:
        return None
    features, inputs = ensemble.features, ensemble.inputs
    position = places_of(frame, features, inputs)[place]
    by_position = msgspec.structs.replace(inputs, named=False)
    try:
        short = frame[:, [position]].unique()
        (make,), _ = columns_of(
            short.to_native(), features[place : place + 1], by_position
        )
        return make()
    except Exception:  # frames hold what they like, such as values without a hash
        return None


def _names(ensemble: Ensemble, X: Any) -> list[str]:
    """Return the model's names of its columns, or the frame's if it has none."""
    names = [feature.name for feature in ensemble.features]
    given = getattr(X, "columns", None)
    if ensemble.inputs.named or given is None:
        return names
    found = [str(name) for name in getattr(X, "column_names", given)]
    return found if len(set(found)) == len(names) else names


def _of_feature(
    name: str,
    feature: Feature,
    *,
    has_others: bool = False,
    texts: Collection[str] = (),
) -> AnyVariable:
    if not isinstance(feature, NumericFeature):
        known = {text for text in texts if feature.code_of(text) is not None}
        unknown = set(texts) - known
        return Category(
            name=name,
            columns=(name,),
            others=has_others or _are_others(unknown, known),
            texts=tuple(sorted(texts if len(unknown) <= _STRANGERS else known)),
        )
    return (Integer if feature.integer else Number)(name=name, columns=(name,))
