"""From people to boxes: where those who are similar to a person may be."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical, Numeric
from fatt.errors import DataError
from fatt.region.amounts import Range, Step, from_to
from fatt.region.boxes import Boxes, code_words
from fatt.region.kinds import (
    AnyVariable,
    Category,
    Integer,
    Number,
    OneHot,
    Ordinal,
)
from fatt.region.rules import Rules, bind
from fatt.region.similarity import Relation
from fatt.region.variables import Variables, pack

Matrix = NDArray[np.float64]
Mask = NDArray[np.bool_]
Places = NDArray[np.int64]

_LARGEST = float(np.finfo(np.float64).max)


class Space:
    """Who is similar to whom, among people with certain variables.

    Parameters
    ----------
    similarity
        Who is similar to whom.
    variables
        The model's variables.

    Raises
    ------
    SpecError
        If the similarity does not fit the variables.
    """

    def __init__(self, similarity: Relation, variables: Variables) -> None:
        self._domains = Domains(variables)
        self._rules = [bind(one, variables) for one in similarity.alternatives]

    def check_reach(self, people: NDArray[np.float64]) -> None:
        """Raise `DataError` if a person has a value that nobody could come to have.

        Parameters
        ----------
        people : ndarray of shape (n_people, n_variables)
            What `Variables.gather` returned.
        """
        for rules in self._rules:
            self._domains.check_reach(people, rules)

    def boxes(
        self, people: NDArray[np.float64], *, scale: NDArray[np.float64] | None = None
    ) -> Boxes:
        """Return where people may move.

        Parameters
        ----------
        people : ndarray of shape (n_people, n_variables)
            What `Variables.gather` returned.
        scale : ndarray of shape (n_people,), optional
            Multiplies every amount of noise but ranges, for each person.

        Raises
        ------
        DataError
            If a person has a value that the schema excludes.
        """
        domains = self._domains
        domains.check(people)
        drafts = []
        alone = np.ones(len(people), dtype=bool)
        for rules in self._rules:
            applies = domains.applies(people, rules)
            draft = Draft(domains, people, np.flatnonzero(applies))
            draft.spread(rules, None if scale is None else scale[applies])
            drafts.append(draft)
            alone &= ~applies
        if alone.any():
            drafts.append(Draft(domains, people, np.flatnonzero(alone)))
        if len(drafts) == 1:
            return drafts[0].boxes()
        parts = [draft.boxes() for draft in drafts]
        person = np.concatenate([part.person for part in parts])
        order = np.argsort(person, kind="stable")
        return Boxes(
            person=person[order],
            lower=np.concatenate([part.lower for part in parts])[order],
            upper=np.concatenate([part.upper for part in parts])[order],
            missing=np.concatenate([part.missing for part in parts])[order],
            codes=np.concatenate([part.codes for part in parts])[order],
        )


class Domains:
    """All the values that people can have, by variable.

    Attributes
    ----------
    numeric, categorical : ndarray of indices
        The variables of each kind.
    low, high : ndarray of shape (n_variables,)
        The smallest and the largest finite number that schema and library allow, whole
        for integer variables.
    integer : ndarray of shape (n_variables,)
        Whether only whole numbers are allowed.
    missing_low, missing_high : ndarray of shape (n_variables,)
        The numbers that the library reads as missing; crossed if there are none.
    words : ndarray of shape (n_variables + 1,)
        Where each variable's bit set starts.
    anything : ndarray of shape (n_words,)
        The bit sets of all the codes that somebody may have.
    """

    def __init__(self, variables: Variables) -> None:
        self.variables = variables
        features = variables.ensemble.features
        count = len(features)
        self.words = code_words(features)
        self.anything = np.zeros(int(self.words[-1]), dtype=np.uint64)
        self.low, self.high = np.zeros(count), np.zeros(count)
        self.integer = np.zeros(count, dtype=bool)
        self.missing_low, self.missing_high = np.ones(count), np.zeros(count)
        is_numeric = np.zeros(count, dtype=bool)
        for index, feature in enumerate(features):
            if isinstance(feature, Categorical):
                members = _codes_of_anybody(feature, variables.schema.variables[index])
                self.anything[self.span(index)] = pack(members[np.newaxis])[0]
                continue
            is_numeric[index] = True
            self.low[index], self.high[index] = self._bounds(index, feature)
            self.integer[index] = feature.integer
            if feature.missing_range is not None:
                self.missing_low[index], self.missing_high[index] = (
                    feature.missing_range
                )
        self.numeric = np.flatnonzero(is_numeric)
        self.categorical = np.flatnonzero(~is_numeric)
        self.has_missing_range = self.missing_low <= self.missing_high

    def _bounds(self, index: int, feature: Numeric) -> tuple[float, float]:
        variable = self.variables.schema.variables[index]
        assert isinstance(variable, Number)
        low, high = variable.bounds
        low = max(low, feature.lower, -_LARGEST)
        high = min(high, feature.upper, _LARGEST)
        return (np.ceil(low), np.floor(high)) if feature.integer else (low, high)

    def span(self, index: int) -> slice:
        """Return the words of a variable's bit set."""
        return slice(int(self.words[index]), int(self.words[index + 1]))

    def check(self, people: Matrix) -> None:
        """Raise `DataError` if a person has a value that the schema excludes."""
        for index, variable in enumerate(self.variables.schema.variables):
            if not isinstance(variable, Number):
                continue
            whole = isinstance(variable, Integer)
            low, high = variable.bounds
            if not whole and low == -np.inf and high == np.inf:
                continue
            numbers = people[:, index]
            wrong = (numbers < low) | (numbers > high)
            if whole:
                wrong |= (numbers != np.trunc(numbers)) & ~np.isnan(numbers)
            wrong &= ~self.reads_missing(people, np.array([index]))[:, 0]
            if wrong.any():
                row = int(np.argmax(wrong))
                is_bounded = low > -np.inf or high < np.inf
                kinds = ["a whole number"] * whole + [from_to(low, high)] * is_bounded
                raise DataError(
                    f"row {row}: column {variable.columns[0]!r} is {numbers[row]}, and "
                    f"the schema says that {variable.name!r} is {', '.join(kinds)}; "
                    "correct the row or the schema."
                )

    def check_reach(self, people: Matrix, rules: Rules) -> None:
        """Raise `DataError` if nobody could become what a person is.

        That is so if a value may be anything, the schema says that all people have one
        of the model's categories, and a person has another value.
        """
        varied = np.intersect1d([*rules.free, *rules.missing], self.categorical)
        for index in varied.astype(np.int64).tolist():
            feature = self.variables.ensemble.features[index]
            unknown = feature.n_codes - 1
            word = int(self.words[index]) + unknown // 64
            if self.anything[word] >> np.uint64(unknown % 64) & np.uint64(1):
                continue
            outside = self.applies(people, rules) & (people[:, index] == unknown)
            if outside.any():
                raise DataError(
                    f"row {int(np.argmax(outside))}: {feature.name!r} has a value that "
                    "the model does not know. The similarity lets it be anything, and "
                    "by the schema nobody else could have that value. "
                    + _way_out(self.variables.schema.variables[index])
                )

    def reads_missing(self, people: Matrix, columns: Places) -> Mask:
        """Tell which numbers of these variables the library reads as missing."""
        numbers = people[:, columns]
        return (numbers >= self.missing_low[columns]) & (
            numbers <= self.missing_high[columns]
        )

    def excluded(self, people: Matrix, columns: Places) -> Mask:
        """Tell which numbers count only because the library reads them as missing."""
        numbers = people[:, columns]
        valid = (numbers >= self.low[columns]) & (numbers <= self.high[columns])
        valid &= ~self.integer[columns] | (numbers == np.trunc(numbers))
        return ~valid & self.reads_missing(people, columns)

    def applies(self, people: Matrix, rules: Rules) -> Mask:
        """Tell who meets the conditions."""
        meets = np.ones(len(people), dtype=bool)
        for index, (low, high) in rules.between.items():
            numbers = people[:, index]
            meets &= (numbers >= low) & (numbers <= high)
            meets &= ~self.excluded(people, np.array([index]))[:, 0]
        for index, codes in rules.among.items():
            known = ~np.isnan(people[:, index])
            meets &= known & codes[np.where(known, people[:, index], 0).astype(int)]
        return meets


def _codes_of_anybody(feature: Categorical, variable: AnyVariable) -> Mask:
    """Tell which codes somebody may have.

    The last code stands for all values that are no category. Where categories are but
    numbered codes, the rest of the numbers are values like any other; labels are a
    list, and it is for the schema to say that there are people beyond it.
    """
    codes = [not feature.reads_missing(code) for code in range(len(feature.categories))]
    has_others = isinstance(variable, Category) and variable.others
    beyond = feature.accepts_unknown and (has_others or not feature.labelled)
    return np.array([*codes, beyond])


class Draft:
    """Boxes in the making: each begins as its person alone, and grows.

    Parameters
    ----------
    domains
        What values there are.
    people : ndarray of shape (n_people, n_variables)
        Everybody.
    chosen : ndarray of shape (n_boxes,)
        Who gets a box.
    """

    def __init__(self, domains: Domains, people: Matrix, chosen: Places) -> None:
        self.domains, self.person = domains, chosen
        self.people = people if len(chosen) == len(people) else people[chosen]
        self.missing = np.isnan(self.people)
        self.lower = self.people.copy()
        self.lower[:, domains.categorical] = 0.0
        self.upper = self.lower.copy()
        if self.missing.any():
            absent = self.missing.copy()
            absent[:, domains.categorical] = False
            self.lower[absent], self.upper[absent] = np.inf, -np.inf
        self.codes = np.zeros((len(chosen), int(domains.words[-1])), dtype=np.uint64)
        # Sets of one word are all made at once; only a few variables need more.
        sizes = np.diff(domains.words)[domains.categorical]
        few, many = domains.categorical[sizes == 1], domains.categorical[sizes > 1]
        self.codes[:, domains.words[few]] = self._bits(self._code(few), few)
        rows = np.arange(len(chosen))
        for index in many.tolist():
            code = self._code(index)
            word = domains.words[index] + code // 64
            self.codes[rows, word] = self._bits(code, index)

    def boxes(self) -> Boxes:
        """Return what was made."""
        return Boxes(self.person, self.lower, self.upper, self.missing, self.codes)

    def spread(self, rules: Rules, scale: Matrix | None) -> None:
        """Let the boxes grow as the rules allow, and cut them to the conditions."""
        for unit in ("", "%"):
            steps = {i: step for i, step in rules.steps.items() if step.unit == unit}
            if steps:
                self._step(steps, unit, scale)
        for index, numbers in rules.ranges.items():
            self._exchange_numbers(index, numbers)
        for index, (step, order) in rules.levels.items():
            self._step_levels(index, step, order, scale)
        for index, codes in rules.sets.items():
            self._exchange_codes(index, codes)
        numeric = np.intersect1d(rules.free, self.domains.numeric)
        if len(numeric):
            shape = len(self.people), len(numeric)
            self._widen(numeric, np.full(shape, -np.inf), np.full(shape, np.inf))
        for index in np.intersect1d(rules.free, self.domains.categorical).tolist():
            self._free_codes(index, ~self.missing[:, index])
        for index in rules.missing:
            self._free_missing(index)
        self._cut(rules)

    def _code(self, index: int | Places) -> Places:
        code = self.people[:, index]
        return np.where(self.missing[:, index], 0, code).astype(np.int64)

    def _bits(self, code: Places, index: int | Places) -> NDArray[np.uint64]:
        """Return codes as the bits of a word, none for those that are missing."""
        bit = np.uint64(1) << (code % 64).astype(np.uint64)
        return np.where(self.missing[:, index], np.uint64(0), bit)

    def _step(self, steps: dict[int, Step], unit: str, scale: Matrix | None) -> None:
        columns = np.array(list(steps), dtype=np.int64)
        numbers = self.people[:, columns]
        whole = self.domains.integer[columns] & (numbers == np.trunc(numbers))
        ends = []
        for sign, sizes in (
            (-1.0, [step.below for step in steps.values()]),
            (1.0, [step.above for step in steps.values()]),
        ):
            size = np.array(sizes)
            with np.errstate(over="ignore", invalid="ignore"):
                if unit == "%":
                    # Multiplied first, 29% of 100 are 29 and no bit less.
                    size = np.where(
                        whole,
                        np.abs(numbers) * size / 100,
                        np.abs(numbers) * (size / 100),
                    )
                if scale is not None:
                    size = size * scale[:, np.newaxis]
                if size.ndim == 2:
                    # Infinite people stay, and nothing is nothing at any scale.
                    moves = np.isfinite(numbers) & ~np.isnan(size)
                    size = np.where(moves, size, 0.0)
                # Whole numbers move by whole steps; a sum could round up to one more.
                size = np.where(whole, np.floor(size), size)
                ends.append(numbers + sign * size)
        self._widen(columns, ends[0], ends[1])

    def _exchange_numbers(self, index: int, members: Range) -> None:
        columns = np.array([index])
        numbers = self.people[:, columns]
        inside = (numbers >= members.low) & (numbers <= members.high)
        self._widen(
            columns,
            np.where(inside, members.low, numbers),
            np.where(inside, members.high, numbers),
        )

    def _widen(self, columns: Places, low: Matrix, high: Matrix) -> None:
        """Set the intervals to what is allowed from low to high, and the person."""
        domains, numbers = self.domains, self.people[:, columns]
        whole = domains.integer[columns]
        if whole.any():
            low[:, whole], high[:, whole] = (
                np.ceil(low[:, whole]),
                np.floor(high[:, whole]),
            )
        np.maximum(low, domains.low[columns], out=low)
        np.minimum(high, domains.high[columns], out=high)
        if domains.has_missing_range[columns].any():
            # A number that only counts as missing is no end of an interval.
            excluded = domains.excluded(self.people, columns)
            reaches = excluded & (low <= high)
            self.missing[:, columns] |= reaches
            numbers = np.where(reaches, low, numbers)
            alone = excluded & ~reaches
            low[alone], high[alone] = np.inf, -np.inf
        np.minimum(low, numbers, out=low)
        np.maximum(high, numbers, out=high)
        absent = np.isnan(numbers)
        if absent.any():
            low[absent], high[absent] = np.inf, -np.inf
        self.lower[:, columns], self.upper[:, columns] = low, high

    def _step_levels(
        self, index: int, step: Step, order: Places, scale: Matrix | None
    ) -> None:
        """Add the levels that are near in the order; a value outside it stays."""
        features = self.domains.variables.ensemble.features
        rank = np.full(features[index].n_codes, -1, dtype=np.int64)
        rank[order] = np.arange(len(order))
        mine = rank[self._code(index)]
        size = np.ones(len(self.people)) if scale is None else scale
        most = float(len(order))
        with np.errstate(over="ignore", invalid="ignore"):
            down = np.nan_to_num(np.floor(step.below * size), nan=0.0)
            up = np.nan_to_num(np.floor(step.above * size), nan=0.0)
        below = np.minimum(down, most).astype(np.int64)
        above = np.minimum(up, most).astype(np.int64)
        # The levels below each rank; a stretch of levels is a difference of two.
        below_rank = pack(rank < np.arange(len(order) + 1)[:, np.newaxis])
        low = np.maximum(mine - below, 0)
        high = np.minimum(mine + above + 1, len(order))
        moves = (mine >= 0) & ~self.missing[:, index]
        near = below_rank[high] & ~below_rank[low]
        self.codes[moves, self.domains.span(index)] |= near[moves]

    def _exchange_codes(self, index: int, members: Mask) -> None:
        inside = ~self.missing[:, index] & members[self._code(index)]
        self.codes[inside, self.domains.span(index)] |= pack(members[np.newaxis])

    def _free_codes(self, index: int, who: Mask) -> None:
        span = self.domains.span(index)
        self.codes[who, span] |= self.domains.anything[span]

    def _free_missing(self, index: int) -> None:
        """Let a value become missing, and a missing one become anything."""
        columns = np.array([index])
        absent = np.isnan(self.people[:, index])
        if index in self.domains.categorical:
            self._free_codes(index, absent)
        else:
            absent |= self.domains.reads_missing(self.people, columns)[:, 0]
            self.lower[absent, index] = self.domains.low[index]
            self.upper[absent, index] = self.domains.high[index]
        self.missing[:, index] = True

    def _cut(self, rules: Rules) -> None:
        for index, (low, high) in rules.between.items():
            whole = self.domains.integer[index]
            least, most = (np.ceil(low), np.floor(high)) if whole else (low, high)
            self.lower[:, index] = np.maximum(self.lower[:, index], least)
            self.upper[:, index] = np.minimum(self.upper[:, index], most)
            self.missing[:, index] = False
        for index, codes in rules.among.items():
            self.codes[:, self.domains.span(index)] &= pack(codes[np.newaxis])
            self.missing[:, index] = False


def _way_out(variable: AnyVariable) -> str:
    """Say how a schema tells that there are people beyond its levels."""
    name = variable.name
    if isinstance(variable, OneHot):
        made = f"name the level for which all columns are 0: {name}=OneHot(dropped=...)"
    elif isinstance(variable, Ordinal) and variable.unknown_value is not None:
        made = f"make {variable.unknown_value} a level of its own"
    else:
        made = f"say that there are others: schema.with_({name}=Category(others=True))"
    return f"Infer the schema from these rows, or {made}."
