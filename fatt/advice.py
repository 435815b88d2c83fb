"""What people can do: the cheapest change that gets them the answer they want.

Every option is found by the search and replayed on the model. The cheapest is proved:
the budget falls below the best that is known until nobody is left who can be paid.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fatt.audit.arguments import check_budget, check_n_jobs
from fatt.audit.auditor import Auditor
from fatt.audit.questions import auditor_of
from fatt.audit.run import Chunk, Run
from fatt.audit.verification import examined
from fatt.ensemble import Categorical, Label
from fatt.ensemble.trees import pack
from fatt.errors import Arg, SpecError, hint
from fatt.frames import frame_of
from fatt.importers import load
from fatt.markup import notebook, table
from fatt.model import Model
from fatt.people import People
from fatt.region import Boxes, Schema, Similarity
from fatt.region.boxes import code_words, lone_boxes
from fatt.region.costs import COST, COUNT, FREE, LINEAR, SQUARE, TABLE, Costs
from fatt.region.kinds import Ordinal
from fatt.region.rules import bind, codes_of
from fatt.report.groups import Key, key_of, members
from fatt.verdict import (
    FAIR,
    UNFAIR,
    UNKNOWN,
    Bounds,
    Change,
    Counterexample,
    Counterexamples,
    Findings,
    Value,
    in_words,
)
from fatt.verdict.findings import OnDemand
from fatt.verifier import Budget

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]

#: What is known of a person.
HAS_IT, POSSIBLE, NONE, OPEN = "has it", "possible", "none", "unknown"
STATUS = (HAS_IT, POSSIBLE, NONE, OPEN)
#: How many steps a cost of 1 has.
_STEPS = 2.0**24
#: Nobody may spend more: sums of costs must fit.
_MOST = 2**52
#: So many sets of columns are tried at most, whatever may change.
_MOST_SETS = 4096


class Option(NamedTuple):
    """A change that gets a person the wanted answer, as the model itself confirms.

    Attributes
    ----------
    row
        All values after the change, by variable.
    changes
        What changes, with the values before and after.
    cost
        What it costs.
    is_cheapest
        Whether it is proved that no other change of these columns costs less.
    """

    row: Mapping[str, Value]
    changes: Mapping[str, Change]
    cost: float
    is_cheapest: bool

    def __str__(self) -> str:
        return ", ".join(
            f"{name} {in_words(old)} → {in_words(new)}"
            for name, (old, new) in self.changes.items()
        )


@dataclass(frozen=True)
class Recourse:
    """What one person can do.

    Attributes
    ----------
    index
        Which row the person is, counted from 0.
    status
        ``"has it"``; ``"possible"``; ``"none"``: it is proved that nothing within
        `may_change` helps; or ``"unknown"``.
    columns
        Between how many columns must change; None if nothing need or can.
    cost
        What the cheapest change costs, equal bounds if it is proved; None if there is
        no change to be made.
    options
        Changes that help, the cheapest first, each of another set of columns.
    """

    index: int
    status: str
    columns: Bounds | None
    cost: Bounds | None
    options: tuple[Option, ...]

    def __str__(self) -> str:
        if not self.options:
            return f"#{self.index}  {self.status}"
        shown = "; or ".join(map(str, self.options))
        return f"#{self.index}  {self.status}: {shown}"


class Possibilities(NamedTuple):
    """What the people of a group can do.

    Attributes
    ----------
    size
        How many people there are.
    counts
        How many have which status.
    median_columns, median_cost
        Of those who can do something, in the middle; NaN if there is nobody.
    """

    size: int
    counts: dict[str, int]
    median_columns: float
    median_cost: float


@dataclass(frozen=True, eq=False, repr=False)
class Recourses(OnDemand[Recourse]):
    """What each person can do, in order.

    Attributes
    ----------
    people
        The people.
    wanted
        The answer that people want.
    found
        One `Recourse` for each.
    """

    people: People
    wanted: Label
    found: tuple[Recourse, ...] = field(repr=False)

    def __len__(self) -> int:
        return len(self.found)

    def _at(self, place: int) -> Recourse:
        return self.found[place]

    def __repr__(self) -> str:
        told = ", ".join(f"{count:,} {name}" for name, count in self.counts.items())
        return f"<Recourse of {len(self):,} people to {self.wanted!r}: {told}>"

    @functools.cached_property
    def total(self) -> Possibilities:
        """What all people can do."""
        return self._of(range(len(self)))

    @property
    def counts(self) -> dict[str, int]:
        """How many people have which status."""
        return self.total.counts

    def by_group(self, *names: str) -> dict[Key, Possibilities]:
        """Count group by group, with median costs.

        Parameters
        ----------
        *names
            As in `fatt.Report.by_group`.

        Raises
        ------
        SpecError
            If there is no such variable or column.
        """
        if not names:
            raise SpecError("name at least one variable to group people by.")
        groups = members(self.people, names)
        return {key_of(key): self._of(rows.tolist()) for key, rows in groups.items()}

    def _of(self, rows: Sequence[int]) -> Possibilities:
        some = [self.found[row] for row in rows]
        counts = Counter(one.status for one in some)
        able = [one for one in some if one.status == POSSIBLE and one.options]
        return Possibilities(
            len(some),
            {status: counts[status] for status in STATUS},
            _median([len(one.options[0].changes) for one in able]),
            _median([one.options[0].cost for one in able]),
        )

    def to_frame(self) -> Any:
        """Return a data frame with one row per person.

        Returns
        -------
        data frame
            The kind that was asked about. Columns: ``status``, ``columns`` and ``cost``
            of the cheapest option, ``is_cheapest``, and ``option_1`` and so on, in
            words.
        """
        most = max((len(one.options) for one in self.found), default=0)
        first = [one.options[0] if one.options else None for one in self.found]
        columns: dict[str, list[Any]] = {
            "status": [one.status for one in self.found],
            "columns": [None if one is None else len(one.changes) for one in first],
            "cost": [None if one is None else one.cost for one in first],
            "is_cheapest": [
                None if one.cost is None else one.cost.lower == one.cost.upper
                for one in self.found
            ],
        }
        for place in range(most):
            columns[f"option_{place + 1}"] = [
                str(one.options[place]) if place < len(one.options) else None
                for one in self.found
            ]
        return frame_of(columns, like=self.people.frame)

    def _repr_html_(self) -> str:
        rows = [[name, f"{count:,}"] for name, count in self.counts.items()]
        return notebook(repr(self)[1:-1], table(("status", "people"), rows, ""))


class _Best(NamedTuple):
    """The cheapest change of some columns for one person."""

    cost: int
    is_proved: bool
    case: Counterexample


def recourse(
    model: Any,
    X: Any,
    *,
    may_change: Mapping[str, Any],
    wanted: Label,
    cost: Mapping[str, float] | None = None,
    norm: str = "l1",
    options: int = 3,
    schema: Schema | None = None,
    budget: Budget | None = None,
    n_jobs: int | None = None,
    threshold: float | None = None,
) -> Recourses:
    """Find the cheapest change that gets each person the wanted answer, or prove none.

    Parameters
    ----------
    model
        Fitted model or path of a model file, as `fatt.load` takes it, with two answers.
    X
        The people: array, or data frame that `narwhals` knows, one row each.
    may_change
        What may change, and which way: an amount for a number, as in the `noise` of a
        `Similarity` (``"+20"``, ``"-5000"``, ``"10%"``); for a category a list of the
        values that it may become, or ``"known"`` for all of them.
    wanted
        The answer that people want.
    cost
        What a unit of each number costs, and another value of each category. Default:
        the fewest columns first; among these, steps in standard deviations of `X`, and
        levels of ordinal variables.
    norm
        How costs add up: ``"l1"``, their sum; ``"l2"``, the root of the sum of their
        squares; ``"l0"``, where a number costs the same however far it moves.
    options
        How many options there are at most, each of another set of columns; 0 to ask
        only whether there is one.
    schema, budget, n_jobs, threshold
        As in `fatt.verify`; the budget is for each search.

    Returns
    -------
    Recourses
        One `Recourse` for each person.

    Raises
    ------
    SpecError
        If the model never gives the wanted answer, nothing may change, or what is said
        has no meaning for a column.

    Examples
    --------
    >>> import fatt
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> pay = [[20.0], [30.0], [40.0], [50.0]]
    >>> tree = DecisionTreeClassifier().fit(pay, ["deny", "deny", "grant", "grant"])
    >>> found = fatt.recourse(tree, pay, may_change={"x0": "+10"}, wanted="grant")
    >>> [one.status for one in found]
    ['none', 'possible', 'has it', 'has it']
    >>> print(found[1].options[0])
    x0 30.0 → 35.00000190734864

    Notes
    -----
    Costs are counted in whole steps, 2^24 of which are a cost of 1, and are rounded
    down for each column: no change costs less than the proved one by a step for each
    column or more. What is unfair is another question: this is advice.
    """
    check_budget(budget)
    check_n_jobs(n_jobs)
    if norm not in {"l0", "l1", "l2"}:
        raise SpecError(f"norm is {norm!r}; write 'l0', 'l1' or 'l2'.")
    loaded = load(model, threshold=threshold)
    wish = _Wish(may_change, wanted)
    asked = _Asked(loaded, X, wish, schema, _Effort(budget, n_jobs))
    return _Search(asked, _Prices(asked, cost, norm), options).answer()


class _Wish(NamedTuple):
    """What may change, and for which answer."""

    may_change: Mapping[str, Any]
    wanted: Label


class _Effort(NamedTuple):
    """How much is searched, and by how many threads."""

    budget: Budget | None
    n_jobs: int | None


class _Asked:
    """A question about what people can do, prepared."""

    def __init__(
        self, model: Model, X: Any, wish: _Wish, schema: Schema | None, effort: _Effort
    ) -> None:
        may_change, wanted, loaded = wish.may_change, wish.wanted, model
        if not isinstance(may_change, Mapping) or not may_change:
            raise SpecError(
                "may_change says nothing that may change; write what may, such as "
                f"{Arg('may_change', {'hours': '+20'})}."
            )
        _check_wanted(loaded.classes, wanted)
        if loaded.ensemble.joints:
            raise SpecError(
                "the model computes columns of several others, and costs are not "
                "followed through these yet."
            )
        if schema is not None and schema.exist:
            raise SpecError(
                "the schema says with exist which people there are, and costs are not "
                "followed through that yet; leave exist out."
            )
        listed = {name for name, said in may_change.items() if _is_listed(said)}
        similarity = Similarity(
            noise={n: said for n, said in may_change.items() if n not in listed},
            vary={n: may_change[n] for n in listed},
        )
        self.wanted = wanted
        self.auditor: Auditor = auditor_of(
            loaded,
            X,
            similarity=similarity,
            schema=schema,
            n_jobs=effort.n_jobs,
            direction="not higher",
            favorable=wanted,
        )
        self._effort = effort
        self.people = self.auditor.run(X).people
        variables = self.auditor.variables
        self.features, self.kinds = (
            variables.ensemble.features,
            variables.schema.variables,
        )
        rules = bind(similarity, variables)
        self.moving = tuple(sorted(rules.moving))
        self._levels = rules.levels
        places = {one.name: place for place, one in enumerate(self.kinds)}
        self._sets: dict[int, NDArray[Any]] = {}
        for name in listed:
            if not isinstance(may_change[name], str):
                index = places[variables.schema.find(name).name]
                feature = self.features[index]
                if not isinstance(feature, Categorical):
                    raise SpecError(
                        f"may_change lists values of {name!r}, which is a number; "
                        f"write how far it may move, such as {Arg(name, '+20')}."
                    )
                self._sets[index] = codes_of(
                    index, may_change[name], "may_change", variables
                )

    @functools.cached_property
    def values(self) -> Floats:
        """The people, in numbers and codes."""
        return np.concatenate(list(self.people.chunks()))

    def boxes(self, rows: Rows, columns: Iterable[int]) -> Boxes:
        """Return where some people may go if only these columns change."""
        values = self.values[rows]
        found = self.auditor.run(self.people.take(rows[:1])).boxes(values)
        alone, words = lone_boxes(values, self.features), code_words(self.features)
        arrays: dict[str, Any] = {
            name: getattr(alone, name).copy()
            for name in ("lower", "upper", "missing", "codes")
        }
        for index in columns:
            for name in ("lower", "upper", "missing"):
                arrays[name][:, index] = getattr(found, name)[:, index]
            span = slice(int(words[index]), int(words[index + 1]))
            arrays["codes"][:, span] |= found.codes[:, span]
            if index in self._sets:
                bits = pack(self._sets[index][np.newaxis])[0]
                # Who has a missing value keeps it.
                has = ~np.isnan(values[:, index])
                arrays["codes"][np.ix_(has, np.arange(span.start, span.stop))] |= bits
        return replace(found, **arrays)

    def search(self, rows: Rows, boxes: Boxes) -> tuple[Findings, Counterexamples]:
        """Look for somebody with the wanted answer in each box; replay who is found."""
        table = self.people.take(rows)
        run: Run = self.auditor.run(table, **self._effort._asdict())
        replay = self.auditor.replay()
        replay.everybody(run.people)
        chunk = Chunk(0, len(rows), self.values[rows], boxes)
        found = examined(run, replay, chunk, 1)
        if run.interrupted:
            raise KeyboardInterrupt
        cases = Counterexamples.of(
            found.twins, self.features, found.classes, np.ones(len(self.features))
        )
        return found, replace(cases, said=run.people.said)


class _Search:
    """The search for options: what is chosen so far, and whether it is surely the best.

    Parameters
    ----------
    asked
        Of whom it is asked, and what may change.
    prices
        What it costs.
    options
        How many options there are at most.
    """

    def __init__(self, asked: _Asked, prices: _Prices, options: int) -> None:
        self._asked, self._prices, self._options = asked, prices, options
        self._chosen: dict[int, list[_Best]] = {}
        self._unsure: set[int] = set()

    def answer(self) -> Recourses:
        """Find what each person can do."""
        asked = self._asked
        everybody = np.arange(len(asked.people))
        found, _ = asked.search(everybody, asked.boxes(everybody, asked.moving))
        wanted = found.classes.index(asked.wanted)
        status = np.full(len(everybody), OPEN, dtype=object)
        status[found.verdict == FAIR] = NONE
        status[found.verdict == UNFAIR] = POSSIBLE
        status[found.label == wanted] = HAS_IT
        able = np.flatnonzero(status == POSSIBLE).tolist()
        self._chosen = {row: [] for row in able}
        if self._options > 0:
            if self._prices.counts_columns:
                self._fewest_first()
            else:
                self._cheapest_first()
        made = tuple(
            self._recourse(row, one) for row, one in enumerate(status.tolist())
        )
        return Recourses(asked.people, asked.wanted, made)

    def _doubt(self, rows: Iterable[int]) -> None:
        """Remember of whom it is not proved that what is found first is the best."""
        self._unsure.update(row for row in rows if not self._chosen[row])

    def _recourse(self, row: int, status: str) -> Recourse:
        best, prices = self._chosen.get(row, []), self._prices
        sure = row not in self._unsure
        if not best:
            return Recourse(row, status, None, None, ())
        options = tuple(
            Option(
                one.case.twin,
                one.case.changes,
                prices.plain(one.cost),
                one.is_proved,
            )
            for one in best
        )
        first = options[0]
        is_proved = sure and best[0].is_proved
        least = len(first.changes) if sure and prices.counts_columns else 1
        columns = Bounds(least, len(first.changes))
        cost = Bounds(first.cost if is_proved else 0.0, first.cost)
        return Recourse(row, status, columns, cost, options)

    def _fewest_first(self) -> None:
        """Try all sets of columns, small ones first, that hold none that helps."""
        chosen, options, moving = self._chosen, self._options, self._asked.moving
        sets: dict[int, list[frozenset[int]]] = {row: [] for row in chosen}
        tried = 0
        for size in range(1, len(moving) + 1):
            level: dict[int, list[tuple[_Best, frozenset[int]]]] = {
                row: [] for row in chosen
            }
            for columns in itertools.combinations(moving, size):
                left = [
                    row
                    for row in chosen
                    if len(sets[row]) < options
                    and not any(one <= set(columns) for one in sets[row])
                ]
                if not left:
                    continue
                tried += 1
                if tried > _MOST_SETS:
                    self._doubt(left)
                    return
                rows = np.array(left, dtype=np.int64)
                found, is_open = self.cheapest(rows, columns)
                for row, best in found.items():
                    level[row].append((best, frozenset(columns)))
                self._doubt(is_open)
            for row, mine in level.items():
                mine.sort(key=lambda one: one[0].cost)
                chosen[row] += [one for one, _ in mine[: options - len(chosen[row])]]
                sets[row] += [columns for _, columns in mine]

    def _cheapest_first(self) -> None:
        """Find the cheapest; then the cheapest that leaves out a column of each."""
        asked, chosen = self._asked, self._chosen
        names = {one.name: place for place, one in enumerate(asked.features)}
        known: dict[tuple[int, tuple[int, ...]], _Best | None] = {}
        for _ in range(self._options):
            wanted: dict[tuple[int, ...], list[int]] = {}
            ways: dict[int, set[tuple[int, ...]]] = {}
            for row, best in chosen.items():
                used = [{names[name] for name in one.case.changes} for one in best]
                ways[row] = {
                    tuple(i for i in asked.moving if i not in left_out)
                    for left_out in itertools.product(*used)
                }
                for columns in ways[row]:
                    if columns and (row, columns) not in known:
                        wanted.setdefault(columns, []).append(row)
            for columns, left in wanted.items():
                rows = np.array(left, dtype=np.int64)
                found, is_open = self.cheapest(rows, columns)
                for row in left:
                    known[row, columns] = found.get(row)
                self._doubt(is_open)
            for row, mine in ways.items():
                new = [known.get((row, columns)) for columns in mine]
                found_new = [one for one in new if one is not None]
                if found_new:
                    chosen[row].append(min(found_new, key=lambda one: one.cost))

    def cheapest(
        self, rows: Rows, columns: Sequence[int]
    ) -> tuple[dict[int, _Best], list[int]]:
        """Find the cheapest change of some columns for some people.

        Returns
        -------
        found : dict
            By row, for those who have one.
        is_open : list
            The rows of those of whom it is not known whether they have one.
        """
        asked, prices = self._asked, self._prices
        best: dict[int, _Best] = {}
        boxes = asked.boxes(rows, columns)
        found, cases = asked.search(rows, boxes)
        is_open = rows[found.verdict == UNKNOWN].tolist()
        places = np.flatnonzero(found.verdict == UNFAIR)
        while len(places):
            costs = prices.of(boxes, asked.values[rows], np.zeros(len(rows), np.int64))
            spent = prices.spent(costs, found.twins, asked.features)
            by_place = {int(case.index): case for case in cases}
            left = []
            for place, mine in zip(found.twins.index.tolist(), spent, strict=True):
                best[int(rows[place])] = _Best(int(mine), mine == 0, by_place[place])
                if mine > 0:
                    left.append((place, int(mine) - 1))
            if not left:
                break
            places = np.array([place for place, _ in left], dtype=np.int64)
            most = np.array([limit for _, limit in left], dtype=np.int64)
            rows, boxes = rows[places], boxes.of_people(places)
            costs = prices.of(boxes, asked.values[rows], most)
            found, cases = asked.search(rows, replace(boxes, costs=costs))
            for row in rows[found.verdict == FAIR].tolist():
                best[row] = best[row]._replace(is_proved=True)
            places = np.flatnonzero(found.verdict == UNFAIR)
        return best, is_open


class _Prices:
    """What it costs to change each column, in whole steps."""

    def __init__(
        self, asked: _Asked, cost: Mapping[str, float] | None, norm: str
    ) -> None:
        self.counts_columns, self._norm = cost is None, norm
        names = [one.name for one in asked.kinds]
        given = {} if cost is None else dict(cost)
        for name, size in given.items():
            index = names.index(name) if name in names else -1
            if index not in asked.moving:
                moving = [names[i] for i in asked.moving]
                raise SpecError(
                    f"cost names {name!r}, which is nothing that may change. "
                    f"{hint(name, moving)}"
                )
            if isinstance(size, bool) or not 0 < size < 2**20:
                raise SpecError(
                    f"cost of {name!r} is {size!r}; write a number above 0 and below "
                    f"{2**20:,}."
                )
        absent = [names[i] for i in asked.moving if names[i] not in given]
        if cost is not None and absent:
            raise SpecError(
                f"cost does not say what {absent[0]!r} costs, which may change; add "
                f"{Arg(absent[0], 1)}."
            )
        self._each = np.zeros((1, len(names)), dtype=COST)
        tables = [np.zeros(0, dtype=np.int64)]
        for index in asked.moving:
            kind = asked.kinds[index]
            spread = getattr(kind, "sd", None) or 1.0
            size = given.get(names[index], 1.0 / spread)
            if isinstance(asked.features[index], Categorical):
                self._each[0, index], more = self._of_codes(asked, index, size)
                self._each[0, index]["table"] = sum(map(len, tables))
                tables.append(more)
            elif norm == "l0" and cost is not None:
                self._each[0, index] = self._count(size)
            else:
                power = SQUARE if norm == "l2" else LINEAR
                steps = _STEPS**0.5 if norm == "l2" else _STEPS
                self._each[0, index] = (size * steps, power, 0, 0)
        self._tables = np.concatenate(tables)

    def _count(self, size: float) -> tuple[float, int, int, int]:
        paid = size * size if self._norm == "l2" else size
        return (0.0, COUNT, int(paid * _STEPS), 0)

    def _of_codes(self, asked: _Asked, index: int, size: float) -> Any:
        nothing = np.zeros(0, dtype=np.int64)
        is_ordered = isinstance(asked.kinds[index], Ordinal) and index in asked._levels
        if not is_ordered:
            # Of columns that are counted, which other value is no matter.
            free = (0.0, FREE, 0, 0)
            return (free if self.counts_columns else self._count(size)), nothing
        if self._norm == "l0" and not self.counts_columns:
            return self._count(size), nothing
        _, order = asked._levels[index]
        count = asked.features[index].n_codes
        away = np.abs(np.subtract.outer(np.arange(len(order)), np.arange(len(order))))
        far = (size * away) ** (2 if self._norm == "l2" else 1)
        made = np.full((count, count), _MOST, dtype=np.int64)
        np.fill_diagonal(made, 0)
        made[np.ix_(order, order)] = (far * _STEPS).astype(np.int64)
        return (0.0, TABLE, 0, 0), made.ravel()

    def of(self, boxes: Boxes, people: Floats, most: NDArray[np.int64]) -> Costs:
        """Return the costs of boxes with these budgets."""
        return Costs(
            rule=np.zeros(len(boxes), dtype=np.int64),
            most=most,
            each=self._each.copy(),
            tables=self._tables.copy(),
            people=np.ascontiguousarray(people),
        )

    def spent(self, costs: Costs, twins: Any, features: Any) -> NDArray[np.int64]:
        """Return what twins cost, by the definition."""
        index = twins.index
        limit = replace(costs, most=np.full(len(costs.most), _MOST, dtype=np.int64))
        return limit.spent(features, index, index, twins.everybody())

    def plain(self, steps: int) -> float:
        """Return a cost as people write it."""
        size = steps / _STEPS
        return size**0.5 if self._norm == "l2" else size


def _is_listed(said: Any) -> bool:
    return (
        said in {"known", "any"}
        if isinstance(said, str)
        else (isinstance(said, Iterable))
    )


def _check_wanted(classes: tuple[Label, ...], wanted: Label) -> None:
    if not classes:
        raise SpecError(
            "the model predicts numbers, and no answer is wanted as such; load it "
            f"with {Arg('cuts', {'low': 0.0, 'high': 0.5})}."
        )
    if wanted not in classes:
        raise SpecError(
            f"wanted is {wanted!r}, which the model never answers. "
            f"{hint(wanted, classes)}"
        )
    if len(classes) != 2:
        raise SpecError(
            f"the model has {len(classes)} answers, whose scores compete: load it with "
            f"{Arg('threshold', 0.5)} and {Arg('pos_label', wanted)}."
        )


def _median(numbers: Sequence[float]) -> float:
    return float(np.median(numbers)) if numbers else float("nan")
