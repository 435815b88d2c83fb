"""From people to boxes: where those who are similar to a person may be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import msgspec
import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical, Numeric
from fatt.ensemble.trees import pack
from fatt.errors import Arg, DataError, SpecError
from fatt.region import growth
from fatt.region.amounts import from_to
from fatt.region.boxes import Boxes, code_words
from fatt.region.combined import Combined
from fatt.region.costs import COST, Costs
from fatt.region.kinds import AnyVariable, Category, Integer, Number
from fatt.region.rules import Rules, bind
from fatt.region.similarity import Relation
from fatt.region.tariffs import add_budget
from fatt.region.ties import Tied, bind_ties
from fatt.region.variables import Variables

Matrix = NDArray[np.float64]
Mask = NDArray[np.bool_]
Words = NDArray[np.uint64]

_LARGEST = float(np.finfo(np.float64).max)


class Neighbourhood:
    """Who is similar to whom, among people with certain variables.

    Parameters
    ----------
    similarity
        Who is similar to whom.
    variables
        The model's variables.
    counts
        Whether the attributes that differ are counted even if all of them may.

    Attributes
    ----------
    combined
        The variables of the boxes: those that are tied together are one.

    Raises
    ------
    SpecError
        If the similarity does not fit the variables.
    """

    def __init__(
        self, similarity: Relation, variables: Variables, *, counts: bool = False
    ) -> None:
        self._variables = variables
        self.combined = Combined(similarity, variables)
        self._words = code_words(variables.ensemble.features)
        rules = [bind(one, variables) for one in similarity.alternatives]
        for one, mine in zip(similarity.alternatives, rules, strict=True):
            add_budget(mine, one, variables, counts=counts)
        domains, anything = self._domains()
        # Behind the alternatives stands one that lets nothing move: it is for those
        # whom none of them is about.
        moved = [self._moves(one) for one in (*rules, Rules())]
        moves, members, meeting = (np.stack(part) for part in zip(*moved, strict=True))
        levels = [one.levels[index] for one in rules for index in sorted(one.levels)]
        has_order = moves["kind"] == growth.LEVELS
        sizes = moves["n_levels"][has_order]
        moves["order"][has_order] = np.cumsum(sizes) - sizes
        orders = np.concatenate(
            [np.zeros(0, dtype=np.int64), *(order for _, order in levels)]
        )
        self._budgets = [one.budget for one in (*rules, Rules())]
        self._prepared = (domains, moves, members, meeting, anything, orders)
        growth.check_space(self._prepared)
        self._ties = bind_ties(
            [(one.formulas, one.orders, one.between) for one in (*rules, Rules())],
            variables,
            (domains["low"], domains["high"]),
        )
        if self._ties is not None:
            self._require_tied(rules)
        # Of a column that nothing asks for, no value is known, and there are many.
        self._with_unasked_category = [
            number
            for number, one in enumerate(rules)
            if any(
                isinstance(feature, Categorical) and not feature.categories
                for feature in map(variables.ensemble.features.__getitem__, one.free)
            )
        ]

    @property
    def has_ties(self) -> bool:
        """Whether columns move along, or keep an order."""
        return self._ties is not None

    def alone(self, people: Matrix) -> NDArray[np.bool_]:
        """Tell which people are similar to nobody else.

        Parameters
        ----------
        people : ndarray of shape (n_people, n_variables)
            What `Variables.gather` returned.

        Returns
        -------
        ndarray of shape (n_people,)
        """
        boxes, combined = self.boxes(people), self.combined
        moves = boxes.moves(combined.join(people), combined.ensemble.features)
        is_alone = np.ones(len(people), dtype=bool)
        is_alone[boxes.person[moves.any(axis=1)]] = False
        for number in self._with_unasked_category:
            is_alone &= ~self._meets(people, number)
        return is_alone

    def boxes(self, people: Matrix, *, scale: Matrix | None = None) -> Boxes:
        """Return where people may move, in the variables of `combined`.

        Parameters
        ----------
        people : ndarray of shape (n_people, n_variables)
            What `Variables.gather` returned.
        scale : ndarray of shape (n_people,), optional
            Multiplies every amount of noise but ranges, for each person.

        Raises
        ------
        DataError
            If a person has a value that the schema excludes, or a combination of
            values that does not exist.
        SpecError
            If similar people have numbers whose answers are not followed.
        """
        count, n_variables = people.shape
        most = count * max(1, len(self._prepared[1]) - 1)
        boxes = (
            np.empty(most, dtype=np.int64),
            np.empty(most, dtype=np.int64),
            np.empty((most, n_variables)),
            np.empty((most, n_variables)),
            np.empty((most, n_variables), dtype=np.bool_),
            np.empty((most, int(self._words[-1])), dtype=np.uint64),
        )
        sizes = np.ones(count) if scale is None else np.ascontiguousarray(scale)
        n_boxes = growth.grow(
            self._prepared, np.ascontiguousarray(people), sizes, boxes
        )
        if n_boxes < 0:
            self._refuse(people)
        variables = self._variables
        for index in sorted({*variables.open_below, *variables.open_above}):
            self._require_followed(
                index, *(ends[:n_boxes, index] for ends in boxes[2:4])
            )
        # What there might have been more was never touched, and takes no memory.
        person, rule, lower, upper, missing, codes = (
            array[:n_boxes] for array in boxes
        )
        costs = self._costs(rule, people)
        ties = self._tie(people, person, rule, (lower, upper))
        grown = Boxes(person, lower, upper, missing, codes, costs, ties)
        return self.combined.boxes(grown, people, rule)

    def _costs(self, rule: NDArray[np.int64], people: Matrix) -> Costs | None:
        """Return how much may be spent in boxes, each by one of the alternatives."""
        if not any(self._budgets):
            return None
        tables = [np.zeros(0, dtype=np.int64)]
        each = np.zeros((len(self._budgets), people.shape[1]), dtype=COST)
        most = np.zeros(len(self._budgets), dtype=np.int64)
        for number, budget in enumerate(self._budgets):
            if budget is None:
                continue
            each[number], most[number] = budget.each, budget.most
            each[number]["table"] += sum(map(len, tables))
            tables.append(budget.tables)
        has_budget = np.array([budget is not None for budget in self._budgets])
        return Costs(
            rule=np.where(has_budget[rule], rule, -1),
            most=most[rule],
            each=each,
            tables=np.concatenate(tables),
            people=np.ascontiguousarray(people).view(),
        )

    def _require_tied(self, rules: Sequence[Rules]) -> None:
        """Refuse what cannot be said of tied columns."""
        assert self._ties is not None
        # The search of ties knows no alternative in which a tied column goes missing.
        tied = set[int]().union(*(ties.tied for ties in self._ties))
        for one in rules:
            for place in sorted(tied & set(one.missing)):
                name = self._variables.schema.variables[place].name
                raise SpecError(
                    f"missing names {name!r}, which follow or an order in exist ties "
                    "to other columns; leave it out of one of them."
                )
            if one.budget is not None:
                raise SpecError(
                    "a similarity with a formula in follow or an order in exist cannot "
                    "have at_most or distance yet; leave one of them out."
                )

    def _tie(
        self,
        people: Matrix,
        person: NDArray[np.int64],
        alternative: NDArray[np.int64],
        bounds: tuple[Matrix, Matrix],
    ) -> Tied | None:
        """Let columns move along in boxes, and narrow those that are tied."""
        if self._ties is None:
            return None
        tied = Tied(self._ties, alternative, people[:, self._ties[0].columns])
        lower, upper = bounds
        for number, ties in enumerate(tied.rules):
            mine = np.flatnonzero(alternative == number)
            own, cells = tied.people[person[mine]], np.ix_(mine, tied.columns)
            ties.require_own(own, person[mine])
            lower[cells], upper[cells] = ties.around(own, lower[cells], upper[cells])
        return tied

    def _require_followed(self, index: int, lowest: Matrix, highest: Matrix) -> None:
        """Refuse boxes that reach numbers whose answers are not followed."""
        feature = self._variables.ensemble.features[index]
        assert isinstance(feature, Numeric)
        if (lowest < feature.lower).any():
            reached = (
                f"down to {lowest.min():.15g}",
                f"below {feature.lower:.15g}",
                "lower",
            )
        elif (highest > feature.upper).any():
            reached = (
                f"up to {highest.max():.15g}",
                f"above {feature.upper:.15g}",
                "upper",
            )
        else:
            return
        end, beyond, bound = reached
        name = self._variables.schema.variables[index].name
        raise SpecError(
            f"by the similarity {name!r} goes {end}, and fatt cannot follow exactly "
            f"what the model makes of numbers {beyond}: if nobody has them, say so, "
            f"such as {Arg('schema', (name, 'Number', {bound: ...}))}."
        )

    def _domains(self) -> tuple[NDArray[Any], Words]:
        """Return what values people can have, and bit sets of all their codes."""
        features = self._variables.ensemble.features
        domains = np.zeros(len(features), dtype=growth.DOMAIN)
        domains["word"] = self._words[:-1]
        domains["missing_low"] = 1.0
        anything = np.zeros(int(self._words[-1]), dtype=np.uint64)
        for index, feature in enumerate(features):
            domain, variable = domains[index], self._variables.schema.variables[index]
            if isinstance(feature, Categorical):
                members = codes_of_anybody(feature, variable)
                domain["n_codes"] = feature.n_codes
                anything[self._span(index)] = _bits(members)
                continue
            assert isinstance(variable, Number)
            domain["least"], domain["most"] = variable.bounds
            bounded = feature
            # So that it is seen who would be beyond an open end.
            if index in self._variables.open_below:
                bounded = msgspec.structs.replace(bounded, lower=-np.inf)
            if index in self._variables.open_above:
                bounded = msgspec.structs.replace(bounded, upper=np.inf)
            domain["low"], domain["high"] = bounds_of(variable, bounded)
            domain["is_whole"] = feature.integer
            domain["must_be_whole"] = isinstance(variable, Integer)
            if feature.missing_range is not None:
                domain["missing_low"], domain["missing_high"] = feature.missing_range
        return domains, anything

    def _moves(self, rules: Rules) -> tuple[NDArray[Any], Words, Words]:
        """Return how each variable moves, and the codes exchanged and asked for."""
        moves = np.zeros(len(self._words) - 1, dtype=growth.MOVE)
        members, meeting = np.zeros((2, int(self._words[-1])), dtype=np.uint64)
        for index, step in rules.steps.items():
            moves["kind"][index] = growth.PERCENT if step.unit else growth.STEP
            moves["below"][index], moves["above"][index] = step.below, step.above
        for index, numbers in rules.ranges.items():
            moves["kind"][index] = growth.EXCHANGE
            moves["below"][index], moves["above"][index] = numbers.low, numbers.high
        for index, (step, order) in rules.levels.items():
            moves["kind"][index] = growth.LEVELS
            moves["below"][index], moves["above"][index] = step.below, step.above
            moves["n_levels"][index] = len(order)
        for index, codes in rules.sets.items():
            moves["kind"][index] = growth.EXCHANGE
            members[self._span(index)] = _bits(codes)
        moves["kind"][rules.free] = growth.FREE
        moves["may_miss"][rules.missing] = True
        for index, ends in rules.between.items():
            moves["is_met"][index] = True
            moves["met_low"][index], moves["met_high"][index] = ends
        for index, codes in rules.among.items():
            moves["is_met"][index] = True
            meeting[self._span(index)] = _bits(codes)
        return moves, members, meeting

    def _span(self, index: int) -> slice:
        """Return the words of a variable's bit set."""
        return slice(int(self._words[index]), int(self._words[index + 1]))

    def _meets(self, people: Matrix, number: int) -> Mask:
        """Tell who meets the conditions of an alternative."""
        meeting = np.empty(len(people), dtype=np.bool_)
        growth.meets(self._prepared, number, np.ascontiguousarray(people), meeting)
        return meeting

    def _refuse(self, people: Matrix) -> NoReturn:
        """Say which value the schema excludes."""
        for index, variable in enumerate(self._variables.schema.variables):
            if not isinstance(variable, Number):
                continue
            whole = isinstance(variable, Integer)
            low, high = variable.bounds
            domain, numbers = self._prepared[0][index], people[:, index]
            wrong = (numbers < low) | (numbers > high)
            if whole:
                wrong |= (numbers != np.trunc(numbers)) & ~np.isnan(numbers)
            wrong &= (numbers < domain["missing_low"]) | (
                numbers > domain["missing_high"]
            )
            if wrong.any():
                row = int(np.argmax(wrong))
                is_bounded = low > -np.inf or high < np.inf
                kinds = ["a whole number"] * whole + [from_to(low, high)] * is_bounded
                raise DataError(
                    f"row {row}: column {variable.columns[0]!r} is {numbers[row]}, and "
                    f"the schema says that {variable.name!r} is {', '.join(kinds)}; "
                    "correct the row or the schema."
                )
        raise ValueError("a person has a code that is none of its variable")


def bounds_of(variable: Number, feature: Numeric) -> tuple[float, float]:
    """Return the least and largest finite number that schema and library allow."""
    low, high = variable.bounds
    low = max(low, feature.lower, -_LARGEST)
    high = min(high, feature.upper, _LARGEST)
    return (np.ceil(low), np.floor(high)) if feature.integer else (low, high)


def _bits(codes: Mask) -> Words:
    return np.asarray(pack(codes[np.newaxis])[0])


def codes_of_anybody(feature: Categorical, variable: AnyVariable) -> Mask:
    """Tell which codes somebody may have.

    The last code stands for all values that are no category. It is for the schema to
    say that there are people who have one, and which categories people have.
    """
    codes = [not feature.reads_missing(code) for code in range(len(feature.categories))]
    has_others = isinstance(variable, Category) and variable.others
    members = np.array([*codes, feature.may_be_unknown and has_others])
    if isinstance(variable, Category) and variable.levels:
        known = {feature.code_of(level) for level in variable.levels}
        members[:-1] &= [code in known for code in range(len(codes))]
    return members
