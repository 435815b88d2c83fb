"""Pairs of similar people anywhere: how far apart they can be, and whether some are.

The problem of `kernels.pairs` has all pairs of one alternative of a similarity. The
search goes through it part by part: the part with the largest bound comes first, and is
searched depth-first for some nodes; what it leaves open goes back to the others. So the
largest bound of the open parts falls all the time, and a search that is stopped has
proved more than nothing (hybrid best-first search: Allouche, de Givry, Katsirelos,
Schiex and Zytnicki, CP 2015).
"""

from __future__ import annotations

import functools
import heapq
import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical, Ensemble, Link
from fatt.ensemble.table_exp import FALL
from fatt.region.boxes import code_words
from fatt.region.kin import Kin
from fatt.verifier.budget import Budget, Clock, clock_for
from fatt.verifier.gears import Gears
from fatt.verifier.kernels.records import (
    HIGHER,
    LOWER,
    N_USED,
    NO_MARGIN,
    NOW,
    STOP,
    Arithmetic,
    Asked,
    Forest,
    Pairs,
)
from fatt.verifier.kinship import Kinship, ends_of, kinship_of
from fatt.verifier.ranks import forest_of, variables_of
from fatt.verifier.rounding import arithmetic_of, one_output

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: Dual ascent costs more than the nodes that it saves among so many leaves.
GEARS = Gears(dual_after=2**60, ties=512)
#: Open parts until which the search goes on best-first, and nodes of a visit before
#: and after.
_PARTS = 256
_FEW, _MANY = 8, 512
#: Pairs of blocks for which a variable in which all are similar has one domain.
_JOINT = 1024
_SWEEPS = 50
#: Random points from which local search starts, and people of a table.
_STARTS, _PEOPLE = 24, 24
#: How many of equally good points the library's own arithmetic is asked about.
_EQUAL = 8
#: Steps of the tolerance in which probabilities are counted, and units of them.
_STEPS = 16
_MOST_STEPS = 2**15
_UNITS = 40
#: How often scores between which probabilities jump are parted in four.
_HALVINGS = 30
#: Kinds of domains; see `kernels.pairs`.
_BOTH, _PAIR, _FIRST, _SECOND = range(4)
_CLOSED, _FOUND, _STOPPED = range(3)
_FAR = 2**61
#: How often the steps become finer if they do not tell, and how fine they begin.
_ROUNDS, _LEAST = 4, 1e-6

Tell = Callable[[float, float], None]


class Side(NamedTuple):
    """What one of two people must have: that a rival wins over the own class.

    Attributes
    ----------
    person
        0 or 1: the second is similar to the first.
    own, rival
        Classes; or `LOWER` and `HIGHER`, the sides of the only score.
    at
        Where the side of the only score begins.
    """

    person: int
    own: int
    rival: int
    at: float = np.nan


class Number(NamedTuple):
    """What is compared: what a link makes of scores, and which changes count.

    Attributes
    ----------
    link
        What is made of scores; None if nothing is.
    rising
        Whether the number of the second person must be the larger one, or the smaller
        one; None for either.
    """

    link: Link | None = None
    rising: bool | None = None


class Effort(NamedTuple):
    """How much is searched, and from where.

    Attributes
    ----------
    budget
        When to give up, with what is known then; by default never.
    people
        Values of people from whom the search starts; None if there are none.
    tell
        Told two numbers whenever something closed: both bounds on a gap, or how many
        questions are done, of how many.
    """

    budget: Budget = Budget()
    people: Floats | None = None
    tell: Tell | None = None


@dataclass(frozen=True)
class Largest:
    """The largest gap that was found, and the one that none exceeds.

    Attributes
    ----------
    lower, upper
        Bounds on the largest gap.
    pair : ndarray of shape (2, n_variables), or None
        Two people whose gap is `lower`.
    output
        Of which score it is.
    nodes
        How many nodes the search took.
    interrupted
        Whether the user ended it.
    """

    lower: float
    upper: float
    pair: Floats | None
    output: int
    nodes: int
    interrupted: bool = False


@dataclass(frozen=True)
class Existence:
    """Whether there is a pair.

    Attributes
    ----------
    pair : ndarray of shape (2, n_variables), or None
        A pair that was found.
    proved
        Whether there is none.
    nodes
        How many nodes the search took.
    interrupted
        Whether the user ended it.
    """

    pair: Floats | None
    proved: bool
    nodes: int
    interrupted: bool = False


@dataclass
class _Problem:
    """The pairs of one alternative, as far as one score or all of them tell."""

    kin: Kin
    kinship: Kinship
    forest: Forest
    arithmetic: Arithmetic
    pairs: Pairs
    output: int

    @functools.cached_property
    def tree_of(self) -> Integers:
        """The tree of each leaf."""
        sizes = np.diff(self.pairs.tree_start)
        return np.repeat(np.arange(len(sizes)), sizes)

    @functools.cached_property
    def is_alone(self) -> NDArray[np.bool_]:
        """Which leaves are alone in their tree: they are no choice."""
        return np.asarray((np.diff(self.pairs.tree_start) == 1)[self.tree_of])

    def margins(self, person: int, own: int, rival: int) -> Integers:
        """Return what each leaf adds to the margin of a rival at one person."""
        arithmetic, rule = self.arithmetic, self.arithmetic.rule
        rows = self.pairs.rows[:, person]
        scaled = arithmetic.scaled[rows]
        if rule["one_score"][0]:
            return np.asarray(scaled[:, 0] if rival == HIGHER else -scaled[:, 0])
        if rule["is_vector"][0]:
            return np.asarray(scaled[:, rival] - scaled[:, own])
        target = arithmetic.targets[self.tree_of]
        zero = np.zeros(len(rows), dtype=np.int64)
        return np.where(
            target == rival, scaled[:, 0], np.where(target == own, -scaled[:, 0], zero)
        )

    def base(self, own: int, rival: int) -> int:
        """Return the margin of a rival before any tree."""
        scaled = self.arithmetic.bases["scaled"]
        if self.arithmetic.rule["one_score"][0]:
            return int(scaled[0] if rival == HIGHER else -scaled[0])
        return int(scaled[rival] - scaled[own])

    def constant(self, value: Integers) -> int:
        """Return what trees with one leaf add."""
        return int(value[self.is_alone].sum())

    def asking(self, value: Integers, base: int, **sides: Any) -> Asked:
        """Return what is asked, if each leaf adds so much to the margin."""
        chosen = np.flatnonzero(~self.is_alone)
        order = np.lexsort((chosen, -value[chosen], self.tree_of[chosen]))
        sizes = np.diff(self.pairs.tree_start)
        nothing = np.zeros((0, len(value)), dtype=np.int64)
        given = {
            "demands": nothing,
            "terms": np.zeros((0, 6), dtype=np.int64),
            "ends": np.zeros(0),
        }
        return Asked(
            value=value,
            constant=base + self.constant(value),
            active=chosen[order],
            active_start=np.concatenate([[0], np.cumsum(sizes[sizes > 1])]),
            **{**given, **sides},
        )

    def root_bound(self, asked: Asked) -> int:
        """Add up the best leaf of each tree."""
        best = asked.active[asked.active_start[:-1]]
        return int(asked.value[best].sum()) + asked.constant

    def whole(self) -> NDArray[np.uint64]:
        """Return the box of all blocks."""
        domains = self.pairs.domains
        box = np.zeros(int(domains["width"].sum()), dtype=np.uint64)
        for domain in domains:
            for block in range(0, int(domain["n_blocks"]), 64):
                bits = min(64, int(domain["n_blocks"]) - block)
                word = int(domain["word_start"]) + block // 64
                box[word] = np.uint64(2**bits - 1)
        return box

    # ---- Between blocks and people.

    def starts(self, people: Floats, count: int) -> Integers:
        """Return blocks from which to climb: those of people, and random ones."""
        rng = np.random.default_rng(0)
        n_blocks = self.pairs.domains["n_blocks"]
        chance = rng.random((count, len(n_blocks)))
        drawn: Integers = (chance * n_blocks).astype(np.int64)
        if not len(people):
            return drawn
        cells = self._cells_of(people)
        known = np.empty((len(people), len(n_blocks)), dtype=np.int64)
        for number, domain in enumerate(self.pairs.domains):
            begin = int(domain["block_start"])
            ends = self.pairs.cells[begin : begin + int(domain["n_blocks"])]
            own = cells[:, int(domain["variable"]), np.newaxis]
            fits = np.ones((len(people), len(ends)), dtype=bool)
            for first, last in ((ends[:, 0], ends[:, 1]), (ends[:, 2], ends[:, 3])):
                fits &= (first < 0) | ((first <= own) & (own <= last))
            known[:, number] = fits.argmax(axis=1)
        return np.concatenate([known, drawn])

    def _cells_of(self, people: Floats) -> Integers:
        cells = np.empty(people.shape, dtype=np.int64)
        for index, variable in enumerate(self.cells):
            column = people[:, index]
            known = np.nan_to_num(column)
            if isinstance(self.kin.features[index], Categorical):
                cells[:, index] = known
            else:
                cells[:, index] = np.searchsorted(variable.cuts, known)
            cells[np.isnan(column), index] = variable.n_cells
        return cells

    cells: tuple[Any, ...] = field(default=(), kw_only=True)

    def people(self, block: Integers, near: Floats) -> Floats | None:
        """Return two people in blocks, as near to somebody as they can be.

        None if no float64 numbers lie there, which can be for rounded noise only.
        """
        pair = np.stack([near, near])
        for number, domain in enumerate(self.pairs.domains):
            index = int(domain["variable"])
            ends = self.pairs.cells[int(domain["block_start"]) + block[number]]
            kind = self.pairs.kind[number]
            if kind == _BOTH:
                pair[:, index] = self._value(0, index, ends[:2], near[index])
            elif kind == _FIRST:
                # The other domain stands behind.
                theirs = self.pairs.domains[number + 1]
                place = int(theirs["block_start"]) + block[number + 1]
                both = np.concatenate([ends[:2], self.pairs.cells[place, 2:]])
                pair[:, index] = self._values(index, both, near[index])
            elif kind == _PAIR:
                pair[:, index] = self._values(index, ends, near[index])
        return pair if self.kin.is_similar(pair) else None

    def _interval(
        self, person: int, index: int, cells: Integers
    ) -> tuple[float, float]:
        box = self.kin.everybody if person else self.kin.asked
        least, most = ends_of(self.kin, box, index, self.cells[index], cells)
        return float(least[0]), float(most[-1])

    def _value(self, person: int, index: int, cells: Integers, near: float) -> float:
        """Return a value in some cells, near to another."""
        if cells[0] == self.cells[index].n_cells:
            return np.nan
        if isinstance(self.kin.features[index], Categorical):
            return float(cells[0])
        low, high = self._interval(person, index, cells)
        return float(min(max(0.0 if np.isnan(near) else near, low), high))

    def _values(self, index: int, cells: Integers, near: float) -> tuple[float, float]:
        """Return two similar values in some cells of both people."""
        n_cells = self.cells[index].n_cells
        is_code = isinstance(self.kin.features[index], Categorical)
        if is_code or cells[0] == n_cells or cells[2] == n_cells:
            mine = self._value(0, index, cells[:2], near)
            if is_code or cells[2] == n_cells:
                return mine, self._value(1, index, cells[2:], near)
            boxes = self.kin.around(index, np.array([mine]))
            low, high = self._interval(1, index, cells[2:])
            low = max(low, float(boxes.lower[0, index]))
            high = min(high, float(boxes.upper[0, index]))
            return mine, float(min(max(0.0 if np.isnan(near) else near, low), high))
        mine_ends = self._interval(0, index, cells[:2])
        other_ends = self._interval(1, index, cells[2:])
        low = max(mine_ends[0], other_ends[0])
        high = min(mine_ends[1], other_ends[1])
        if low <= high:
            same = float(min(max(0.0 if np.isnan(near) else near, low), high))
            return same, same
        if mine_ends[1] < other_ends[0]:
            return mine_ends[1], other_ends[0]
        return mine_ends[0], other_ends[1]


class _Steps(NamedTuple):
    """What a link makes of scores in units, in steps; see `records.pxd`."""

    edges: Integers
    least: Integers
    most: Integers
    unit: float

    def least_margin(self, gap: int) -> int:
        """Return the smallest difference of scores that may give a gap."""
        reached = np.searchsorted(self.most, self.least + gap)
        some = (reached <= len(self.edges)) & (reached > 0)
        # From step i up to its edge, and from behind the edge before the other one.
        upper = np.append(self.edges, _FAR)[some.nonzero()[0]]
        lower = self.edges[reached[some] - 1] + 1
        if (reached == 0).any():
            return -_FAR
        return int((lower - upper).min()) if len(lower) else _FAR


def _steps_of(asked: Asked) -> _Steps:
    edges, least, most = asked.steps
    return _Steps(edges, least, most, 0.0)


class _Aim(NamedTuple):
    """What is looked for, as `kernels.everybody.search` takes it."""

    possible: int
    certain: int
    gap: int = 0
    sure: int = NO_MARGIN
    step: int = 0


class _Part(NamedTuple):
    """An open part of a problem; those with the largest bounds come first."""

    order: int
    number: int
    place: int
    box: NDArray[np.uint64]


@dataclass
class _Run:
    """How far one question is, and what it may still take."""

    nodes: int
    time: int
    clock: Clock
    tally: Integers = field(default_factory=lambda: np.zeros(N_USED, dtype=np.int64))
    heap: list[_Part] = field(default_factory=list)
    _count: Any = field(default_factory=itertools.count)

    @property
    def is_over(self) -> bool:
        """Whether the budget is spent."""
        if self.clock[STOP] or self.clock[NOW] >= self.time:
            return True
        return bool(self.tally[0] >= self.nodes)

    def push(self, place: int, boxes: Any, bounds: Iterable[int]) -> None:
        """Add open parts of a problem."""
        for box, bound in zip(boxes, bounds, strict=True):
            part = _Part(-int(bound), next(self._count), place, np.array(box))
            heapq.heappush(self.heap, part)

    def visit(self, problem: _Problem, asked: Asked, part: _Part, aim: _Aim) -> Any:
        """Search a part for some nodes; what stays open goes back to the others."""
        from fatt.verifier.kernels import everybody

        visit = _FEW if len(self.heap) < _PARTS else _MANY
        used = int(self.tally[0])
        limits = np.array((self.nodes, self.time, 0, *map(int, astuple(GEARS))))
        limits[0] = min(used + visit, self.nodes)
        # Local search starts anew at powers of two, whatever the visits.
        limits[_RESTART] = 1 << max(used - 1, 0).bit_length()
        found = everybody.search(
            problem.pairs,
            asked,
            problem.forest,
            problem.arithmetic,
            part.box,
            aim,
            limits,
            self.clock,
            self.tally,
        )
        self.push(part.place, found[4], found[5])
        return found


#: Where the limits have the node at which local search starts anew.
_RESTART = 3 + list(Gears.__dataclass_fields__).index("restart_at")


class PairVerifier:
    """Finds pairs of similar people anywhere, or proves that there are none.

    Parameters
    ----------
    ensemble
        The model, with one feature per variable.
    """

    def __init__(self, ensemble: Ensemble) -> None:
        assert not ensemble.joints
        self.ensemble = ensemble
        self._forest = forest_of(ensemble, code_words(ensemble.features))
        self._arithmetic = arithmetic_of(ensemble)
        self._cells = variables_of(ensemble)

    # ---- Problems.

    def _problem(
        self, kin: Kin, output: int | None, run: _Run, *, is_exact: bool
    ) -> _Problem | None:
        """Return the pairs of one alternative; None if there was no time."""
        from fatt.verifier.kernels import pairs

        forest, arithmetic = self._forest, self._arithmetic
        if output is not None:
            forest, arithmetic = one_output(forest, arithmetic, output)
        kinship = kinship_of(kin, self._cells, self._forest)
        made = pairs.collect(
            forest,
            arithmetic,
            kinship.kin,
            kinship.relation,
            kinship.allowed,
            is_exact,
            _JOINT,
            run.clock,
            run.time,
        )
        if made is None:
            return None
        return _Problem(
            kin, kinship, forest, arithmetic, made, output or 0, cells=self._cells
        )

    @functools.cached_property
    def _spans(self) -> tuple[Integers, Integers]:
        """The least and the most that the leaves of each tree hold, by column."""
        nodes, roots = self._forest.nodes, self._forest.roots
        is_leaf = nodes["feature"] < 0
        rows = nodes["leaf"][is_leaf]
        starts = np.concatenate([[0], np.cumsum(is_leaf)])[roots]
        scaled = self._arithmetic.scaled[rows]
        if not len(roots):
            nothing = np.zeros((0, scaled.shape[1]), dtype=np.int64)
            return nothing, nothing
        return (
            np.minimum.reduceat(scaled, starts, axis=0),
            np.maximum.reduceat(scaled, starts, axis=0),
        )

    def _totals(self) -> NDArray[Any]:
        """Return what the trees allow for each output, as the first look does."""
        from fatt.verifier.kernels import everybody

        arithmetic, rule = self._arithmetic, self._arithmetic.rule
        totals = np.zeros(len(arithmetic.bases), dtype=everybody.TOTAL)
        least, most = self._spans
        for output, base in enumerate(arithmetic.bases["scaled"].tolist()):
            if rule["is_vector"][0]:
                low, high = least[:, output], most[:, output]
            else:
                mine = arithmetic.targets == output
                low, high = least[mine, 0], most[mine, 0]
            before = [] if rule["base_last"][0] else [base]
            behind = [base] if rule["base_last"][0] else []
            lows = np.cumsum([*before, *low, *behind], dtype=np.int64)
            highs = np.cumsum([*before, *high, *behind], dtype=np.int64)
            total = totals[output]
            total["low"], total["high"] = low.sum() + base, high.sum() + base
            total["path"] = np.maximum(np.abs(lows), np.abs(highs)).sum(dtype=float)
            mass = np.maximum(np.abs(low), np.abs(high)).sum(dtype=float)
            total["mass"] = mass + abs(base)
        return totals

    @property
    def _trailing(self) -> int:
        """The exponent of the last bit of all values."""
        least = self._arithmetic.bases["trailing"].min()
        return int(min(least, self._arithmetic.trailing.min(initial=least)))

    def _error(self, output: int) -> float:
        """Bound how far one of the library's scores is from the true sum, in units."""
        from fatt.verifier.kernels import everybody

        forest, arithmetic = one_output(self._forest, self._arithmetic, output)
        totals = self._totals()[output : output + 1].copy()
        return everybody.error_of(forest, arithmetic, totals, self._trailing)

    def _to_score(self, units: Floats, *, up: bool) -> Floats:
        """Turn units into scores, rounded outwards."""
        rule = self._arithmetic.rule
        exponent, divisor = int(rule["exponent"][0]), float(rule["divisor"][0])
        end = np.inf if up else -np.inf
        made = np.ldexp(units, -exponent)
        if divisor != 1.0:
            made = np.nextafter(made / divisor, end)
        return np.asarray(made)

    def _numbers(self, pair: Floats, output: int, link: Link | None) -> Floats:
        """Return the library's own numbers for two people."""
        scores = self.ensemble._scores(self.ensemble.mark_missing(pair))[:, [output]]
        made = scores if link is None else link(scores)
        return made[:, 0].astype(np.float64)

    # ---- How far apart two people can be.

    def largest(
        self, kins: Sequence[Kin], number: Number, tolerance: float, effort: Effort
    ) -> Largest:
        """Find the largest gap between two similar people.

        Parameters
        ----------
        kins
            Who is similar to whom, for each alternative.
        number
            What is compared.
        tolerance
            How near both bounds must be.
        effort
            How much is searched.
        """
        return _Gaps(self, number, tolerance, effort).run(kins)

    # ---- Whether a pair exists.

    def apart(
        self,
        kins: Sequence[Kin],
        number: Number,
        gap: float,
        holds: Callable[[Floats], bool],
        effort: Effort,
    ) -> Existence:
        """Find a pair that is so far apart, or prove that there is none.

        Parameters
        ----------
        kins, number, effort
            As in `largest`.
        gap
            No pair is one whose numbers are less far apart.
        holds
            Tells of two people whether they are a pair.
        """
        found = _Apart(self, number, gap, effort, holds=holds).answer(kins)
        if effort.tell is not None:
            effort.tell(1, 1)
        return found

    def exists(
        self,
        kins: Sequence[Kin],
        questions: Sequence[Sequence[Side]],
        holds: Callable[[Floats], bool],
        effort: Effort,
    ) -> Existence:
        """Find a pair that has all sides of a question, or prove that there is none.

        Parameters
        ----------
        kins, effort
            As in `largest`.
        questions
            What both people must have. The first side is that of the first person and
            the second that of the second; more may follow. One question that has a pair
            is enough.
        holds
            Tells of two people whether they are such a pair, for some question.
        """
        return _Exists(self, holds, effort).run(kins, questions)


def _run_of(budget: Budget, clock: Clock) -> _Run:
    nodes, time_limit = budget.limits
    return _Run(nodes, time_limit, clock)


def _limited(budget: Budget) -> Budget:
    """Return a budget for one question, whose limits are those of the whole run."""
    times = [t for t in (budget.seconds, budget.total_seconds) if t is not None]
    counts = [n for n in (budget.nodes, budget.total_nodes) if n is not None]
    return Budget(seconds=min(times, default=None), nodes=min(counts, default=None))


def _near(problem: _Problem, people: Floats | None) -> Floats:
    """Return the people of whom some are similar to others, in this problem."""
    if people is None:
        return np.zeros((0, len(problem.kin.features)))
    return problem.kin.among(people)


@dataclass
class _Gaps:
    """The search for the largest gap."""

    verifier: PairVerifier
    number: Number
    tolerance: float
    effort: Effort
    interrupted: bool = False
    lower: float = 0.0
    upper: float = np.inf
    pair: Floats | None = None
    output: int = 0
    best: int = 0
    most_steps: int = _MOST_STEPS

    def run(self, kins: Sequence[Kin]) -> Largest:
        """Search all problems together."""
        budget = _limited(self.effort.budget)
        with clock_for(budget) as clock:
            run = _run_of(budget, clock)
            try:
                self._search(kins, run)
            except KeyboardInterrupt:
                self.interrupted = True
        nodes = int(run.tally[0])
        bounds = self.lower, self.upper
        return Largest(*bounds, self.pair, self.output, nodes, self.interrupted)

    def _search(self, kins: Sequence[Kin], run: _Run) -> None:
        problems = self._problems(kins, run)
        if problems is None:
            # Nothing is known but what the trees allow.
            return
        if not problems:
            self.upper = self.lower
            return
        for place, (problem, asked, sign) in enumerate(problems):
            bound = self._root_bound(problem, asked)
            if bound >= self._wanted:
                self._climb(problem, asked, sign)
                run.push(place, [problem.whole()], [bound])
        self._report(run)
        while run.heap and -run.heap[0].order >= self._wanted:
            if run.is_over:
                return
            part = heapq.heappop(run.heap)
            try:
                self._visit(*problems[part.place], part, run)
            except KeyboardInterrupt:
                heapq.heappush(run.heap, part)
                raise
            self._report(run)
        run.heap.clear()
        self._report(run)

    def _problems(
        self, kins: Sequence[Kin], run: _Run
    ) -> list[tuple[_Problem, Asked, int]] | None:
        """Return what is to be searched, in which direction; None without time."""
        verifier = self.verifier
        outputs = range(verifier.ensemble.n_outputs)
        errors = [verifier._error(output) for output in outputs]
        self.error = max(errors)
        steps = [self._steps(output, errors[output]) for output in outputs]
        self._set_units(steps)
        found = []
        for kin, output in itertools.product(kins, outputs):
            is_exact = self.number.link is not None
            problem = verifier._problem(kin, output, run, is_exact=is_exact)
            if problem is None:
                return None
            for sign in self._signs(problem):
                asked = self._asked(problem, sign, steps[output])
                if not self._never_rises(problem, asked, sign, run):
                    found.append((problem, asked, sign))
        return found

    @staticmethod
    def _root_bound(problem: _Problem, asked: Asked) -> int:
        if asked.steps is None:
            return problem.root_bound(asked)
        return int(asked.steps[2][-1] - asked.steps[1][0])

    @property
    def _wanted(self) -> int:
        """The smallest gap that is looked for, in units."""
        return self.best + self.step

    def _never_rises(
        self, problem: _Problem, asked: Asked, sign: int, run: _Run
    ) -> bool:
        """Tell whether no pair of leaves has a difference above 0.

        Sums that round each step keep the order of what they add up.
        """
        verifier = self.verifier
        if not verifier.ensemble.scoring.ordered or (asked.value > 0).any():
            return False
        if self.number.link is not None and not self.number.link.is_monotone:
            return False
        # Units may have lost a last bit: the values themselves tell.
        exact = verifier._problem(problem.kin, problem.output, run, is_exact=True)
        if exact is None:
            return False
        first, second = problem.arithmetic.values[exact.pairs.rows.T, 0]
        return bool((sign * (second - first) <= 0).all())

    def _visit(
        self, problem: _Problem, asked: Asked, sign: int, part: _Part, run: _Run
    ) -> None:
        """Search a part, and keep what is better than the best so far."""
        wanted = self._wanted
        if asked.steps is None:
            found = run.visit(
                problem, asked, part, _Aim(wanted, wanted, step=self.step)
            )
            if found[3] > self.best:
                self._keep(problem, found[2], sign, found[3])
            return
        least = _steps_of(asked).least_margin(wanted)
        found = run.visit(problem, asked, part, _Aim(least, least, wanted))
        if found[0] == _FOUND:
            self._climb_from(problem, asked, sign, found[2][np.newaxis])

    def _signs(self, problem: _Problem) -> list[int]:
        """Return in which directions to ask: whether the second has the larger one."""
        if self.number.rising is not None:
            return [1 if self.number.rising else -1]
        return [1] if problem.kinship.is_symmetric else [1, -1]

    def _asked(self, problem: _Problem, sign: int, steps: _Steps | None) -> Asked:
        first, second = (0, 1) if sign > 0 else (1, 0)
        low = problem.margins(first, HIGHER, LOWER)
        high = problem.margins(second, LOWER, HIGHER)
        value = low + high
        value[problem.pairs.rows[:, 0] < 0] = 0
        if steps is None:
            return problem.asking(value, 0)
        base = problem.base(LOWER, HIGHER)
        terms = [
            (problem.constant(low) - base, -_FAR, -_FAR, first, 0, 0),
            (problem.constant(high) + base, -_FAR, -_FAR, second, 0, 0),
        ]
        return problem.asking(
            value,
            0,
            demands=np.stack([low, high]),
            terms=np.array(terms, dtype=np.int64),
            ends=np.zeros(2),
            steps=steps[:3],
        )

    def _steps(self, output: int, error: float) -> _Steps | None:
        """Return what the link makes of the scores of one output, in steps."""
        if self.number.link is None:
            return None
        verifier, link = self.verifier, self.number.link
        total = verifier._totals()[output]
        dtype = verifier.ensemble.scoring.dtype

        def made(units: Floats, *, up: bool) -> Floats:
            far = units + (error + 2 if up else -error - 2)
            with np.errstate(over="ignore"):
                scores = verifier._to_score(far, up=up).astype(dtype)
                found = link(scores[:, np.newaxis])[:, 0].astype(np.float64)
            if not link.is_monotone:
                found = found * (1 + FALL if up else 1 - FALL)
            return np.asarray(found)

        ends = np.array([total["low"], total["high"]], dtype=np.float64)
        span = float(made(ends[1:], up=True)[0] - made(ends[:1], up=False)[0])
        count = int(
            min(self.most_steps, max(2, np.ceil(_STEPS * span / self.tolerance)))
        )
        # Evenly spaced scores, and more of them wherever what is made of them jumps.
        edges = np.unique(np.rint(np.linspace(ends[0], ends[1], min(count, 256))))
        for _ in range(_HALVINGS):
            jump = np.diff(made(edges, up=True)) > span / count
            wide = jump & (np.diff(edges) > 1)
            if not wide.any() or len(edges) > 4 * count:
                break
            low, high = edges[:-1][wide], edges[1:][wide]
            inside = low + np.outer([0.25, 0.5, 0.75], high - low)
            edges = np.unique(np.concatenate([edges, np.rint(inside).ravel()]))
        edges = edges[:-1].astype(np.int64)
        inner = edges.astype(np.float64)
        unit = float(np.ldexp(max(span, np.finfo(float).tiny), -_UNITS))
        least = made(np.concatenate([ends[:1], inner]), up=False)
        most = made(np.concatenate([inner, ends[1:]]), up=True)
        return _Steps(
            edges,
            np.minimum.accumulate((np.floor(least / unit).astype(np.int64) - 1)[::-1])[
                ::-1
            ].copy(),
            np.maximum.accumulate(np.ceil(most / unit).astype(np.int64) + 1),
            unit,
        )

    def _set_units(self, steps: Sequence[_Steps | None]) -> None:
        """Set the bound that the trees alone give, and how fine the search is."""
        totals = self.verifier._totals()
        if steps[0] is not None:
            self.unit = max(s.unit for s in steps if s is not None)
            assert len(steps) == 1
            self.step = max(1, int(0.75 * self.tolerance / self.unit))
            self.error = 0.0
            width = int(steps[0].most[-1] - steps[0].least[0])
        else:
            rule = self.verifier._arithmetic.rule
            divisor = float(rule["divisor"][0])
            self.unit = float(np.ldexp(1.0, -int(rule["exponent"][0]))) / divisor
            room = 0.9 * self.tolerance / self.unit - 4 * self.error
            # Sums that may overflow have an error without end.
            self.step = max(1, int(max(room, 0.0)))
            width = int((totals["high"] - totals["low"]).max())
        self.upper = self._outward(width)

    def _outward(self, units: int) -> float:
        """Turn a bound on gaps into a number, rounded outwards."""
        # Units, their sum and product, and the difference of the library's own numbers
        # are rounded, each by a last bit.
        return float((units + 2 * self.error) * self.unit * (1 + 2.0**-48))

    def _climb(self, problem: _Problem, asked: Asked, sign: int) -> None:
        known = _near(problem, self.effort.people)
        if len(known) > _PEOPLE:
            places = np.linspace(0, len(known) - 1, _PEOPLE).astype(np.int64)
            known = known[places]
        self._climb_from(problem, asked, sign, problem.starts(known, _STARTS))

    def _climb_from(
        self, problem: _Problem, asked: Asked, sign: int, starts: Integers
    ) -> None:
        from fatt.verifier.kernels import everybody

        starts = np.ascontiguousarray(starts)
        worth = everybody.climb(
            problem.pairs,
            asked,
            problem.forest,
            problem.arithmetic,
            starts,
            _SWEEPS,
            False,
        )
        if asked.steps is not None:
            worth >>= 8
        if self.pair is not None and worth.max() <= self.best:
            return
        # Of several best points the library's own numbers may tell.
        good = starts[worth == worth.max()]
        for block in np.unique(good, axis=0)[:_EQUAL]:
            self._keep(problem, block, sign, int(worth.max()))

    def _keep(self, problem: _Problem, block: Integers, sign: int, worth: int) -> None:
        """Keep the best pair so far, if the library's own numbers are so far apart."""
        self.best = max(self.best, worth)
        people = problem.people(block, self._somebody(problem))
        if people is None:
            return
        before, after = self.verifier._numbers(people, problem.output, self.number.link)
        gap = float(after - before) * sign
        if gap > self.lower or self.pair is None:
            self.lower = max(0.0, gap)
            self.pair, self.output = people, problem.output

    def _somebody(self, problem: _Problem) -> Floats:
        known = _near(problem, self.effort.people)
        return known[0] if len(known) else problem.kin.base

    def _report(self, run: _Run) -> None:
        """Bring the upper bound up to date."""
        bound = self._wanted - 1
        if run.heap:
            bound = max(bound, -run.heap[0].order)
        self.upper = max(min(self.upper, self._outward(bound)), self.lower)
        if self.effort.tell is not None:
            self.effort.tell(self.lower, self.upper)


@dataclass
class _Apart(_Gaps):
    """The search for a pair that is so far apart: `tolerance` has the gap.

    Points at which rounding or steps leave it open are asked one by one.
    """

    holds: Callable[[Floats], bool] = field(default=lambda _: False)
    won: Floats | None = None
    is_open: bool = False

    def answer(self, kins: Sequence[Kin]) -> Existence:
        """Search all problems, with finer steps if these do not tell."""
        budget = _limited(self.effort.budget)
        self.goal, nodes = self.tolerance, 0
        with clock_for(budget) as clock:
            for fine in range(_ROUNDS):
                run = _run_of(budget, clock)
                run.nodes = max(0, run.nodes - nodes)
                self.tolerance = max(self.goal / 2, _LEAST) / 8.0**fine
                self.most_steps = _MOST_STEPS << (2 * fine)
                self.is_open = False
                try:
                    is_over = self._rounds(kins, run)
                except KeyboardInterrupt:
                    is_over = self.interrupted = self.is_open = True
                nodes += int(run.tally[0])
                if self.won is not None or is_over or not self.is_open:
                    break
        is_proved = self.won is None and not self.is_open
        return Existence(self.won, is_proved, nodes, self.interrupted)

    def _rounds(self, kins: Sequence[Kin], run: _Run) -> bool:
        """Search all problems once; tell whether finer steps would be of no use."""
        problems = self._problems(kins, run)
        if problems is None:
            self.is_open = True
            return True
        least = min(self.goal / self.unit * (1 - 2.0**-48), float(_FAR))
        error = min(2 * self.error, float(_FAR))
        possible = int(np.floor(least - error)) - 1
        certain = int(np.ceil(least * (1 + 2.0**-46) + error)) + 1
        for place, (problem, asked, sign) in enumerate(problems):
            bound = self._root_bound(problem, asked)
            if bound >= possible and self.won is None:
                self._climb(problem, asked, sign)
                run.push(place, [problem.whole()], [bound])
        is_ordered = self.verifier.ensemble.scoring.ordered
        is_fixed = self.number.link is None or not is_ordered
        while run.heap and self.won is None:
            if run.is_over:
                self.is_open = True
                return True
            part = heapq.heappop(run.heap)
            problem, asked, sign = problems[part.place]
            if asked.steps is None:
                aim = _Aim(possible, certain)
            else:
                margin = _steps_of(asked).least_margin(possible)
                aim = _Aim(margin, margin, possible, certain)
            found = run.visit(problem, asked, part, aim)
            tried = [found[2]] if found[0] == _FOUND else []
            for block in [*tried, *found[7]]:
                self._keep(problem, block, sign, NO_MARGIN)
            is_sure = found[0] == _FOUND or found[6] > len(found[7])
            if self.won is None and (is_sure or (is_fixed and found[6] > 0)):
                self.is_open |= is_sure or not is_ordered
                if self.is_open:
                    return is_fixed
        return True

    def _keep(self, problem: _Problem, block: Integers, sign: int, worth: int) -> None:
        people = problem.people(block, self._somebody(problem))
        if people is None:
            self.is_open = True
        elif self.holds(people):
            self.won = people


@dataclass
class _Exists:
    """The search for a pair that has all sides of some question."""

    verifier: PairVerifier
    holds: Callable[[Floats], bool]
    effort: Effort
    pair: Floats | None = None
    is_open: bool = False
    interrupted: bool = False

    def run(
        self, kins: Sequence[Kin], questions: Sequence[Sequence[Side]]
    ) -> Existence:
        """Search the questions one after the other."""
        budget = _limited(self.effort.budget)
        with clock_for(budget) as clock:
            run = _run_of(budget, clock)
            try:
                for kin in kins:
                    if self.pair is None:
                        self._search(kin, questions, run)
            except KeyboardInterrupt:
                self.is_open = self.interrupted = True
        is_proved = self.pair is None and not self.is_open
        nodes = int(run.tally[0])
        return Existence(self.pair, is_proved, nodes, self.interrupted)

    def _search(self, kin: Kin, questions: Sequence[Sequence[Side]], run: _Run) -> None:
        problem = self.verifier._problem(kin, None, run, is_exact=True)
        if problem is None:
            self.is_open = True
            return
        totals = self.verifier._totals()
        done: set[Any] = set()
        for place, sides in enumerate(questions):
            if self.effort.tell is not None:
                self.effort.tell(place, len(questions))
            mirrored = [side._replace(person=1 - side.person) for side in sides]
            if problem.kinship.is_symmetric and frozenset(map(repr, mirrored)) in done:
                continue
            done.add(frozenset(map(repr, sides)))
            asked = self._asked(problem, sides, totals)
            if asked is not None:
                self._answer(problem, asked, run)
            if self.pair is not None:
                return

    def _asked(
        self, problem: _Problem, sides: Sequence[Side], totals: NDArray[Any]
    ) -> Asked | None:
        """Return what is asked; None if some sum alone is too small everywhere."""
        from fatt.verifier.kernels import everybody

        trailing = self.verifier._trailing
        values, terms = [], []
        for side in sides:
            value = problem.margins(side.person, side.own, side.rival)
            model = (problem.forest, problem.arithmetic, totals)
            needed = everybody.needed(*model, side.own, side.rival, side.at, trailing)
            constant = problem.base(side.own, side.rival) + problem.constant(value)
            most = self._most(problem, value)
            if most + constant < needed[0]:
                return None
            values.append(value)
            terms.append((constant, *needed, side.person, side.own, side.rival))
        base = sum(problem.base(side.own, side.rival) for side in sides[:2])
        return problem.asking(
            values[0] + values[1],
            base,
            demands=np.stack(values),
            terms=np.array(terms, dtype=np.int64),
            ends=np.array([side.at for side in sides]),
        )

    @staticmethod
    def _most(problem: _Problem, value: Integers) -> int:
        """Return the most that trees with several leaves can add to a sum."""
        some = ~problem.is_alone
        if not some.any():
            return 0
        trees = problem.tree_of[some]
        first = np.flatnonzero(np.diff(trees, prepend=-1))
        return int(np.maximum.reduceat(value[some], first).sum())

    def _answer(self, problem: _Problem, asked: Asked, run: _Run) -> None:
        possible = max(int(asked.terms[0, 1] + asked.terms[1, 1]), -_FAR)
        if problem.root_bound(asked) < possible:
            return
        known = _near(problem, self.effort.people)[:_PEOPLE]
        starts = problem.starts(known, 8)
        self._climb(problem, asked, starts)
        run.heap.clear()
        run.push(0, [problem.whole()], [0])
        is_missed, more = False, _FEW
        is_ordered = self.verifier.ensemble.scoring.ordered
        while run.heap and self.pair is None:
            if run.is_over:
                self.is_open = True
                return
            part = heapq.heappop(run.heap)
            found = run.visit(problem, asked, part, _Aim(possible, possible))
            if found[0] == _FOUND:
                self._try(problem, found[2])
                if self.pair is None:
                    # The exact arithmetic says so, and no such people can be written.
                    self.is_open = True
                    return
            for tie in found[7]:
                self._try(problem, tie)
            # Where the library fixes its sums, a point that was tried is known.
            is_missed |= found[6] > len(found[7]) or (found[6] > 0 and not is_ordered)
            if run.tally[0] >= more and self.pair is None and run.heap:
                more *= 4
                self._climb(problem, asked, problem.starts(known[:0], 32))
        self.is_open |= is_missed and self.pair is None

    def _climb(self, problem: _Problem, asked: Asked, starts: Integers) -> None:
        from fatt.verifier.kernels import everybody

        while len(starts) and self.pair is None:
            starts = np.ascontiguousarray(starts)
            worth = everybody.climb(
                problem.pairs,
                asked,
                problem.forest,
                problem.arithmetic,
                starts,
                _SWEEPS,
                True,
            )
            [good] = np.flatnonzero(worth >= 0)[:1].reshape(1, -1)
            if not len(good):
                return
            self._try(problem, starts[good[0]])
            starts = starts[good[0] + 1 :]

    def _try(self, problem: _Problem, block: Integers) -> None:
        """Keep a pair if the library's own arithmetic says that it is one."""
        known = _near(problem, self.effort.people)
        near = known[0] if len(known) else problem.kin.base
        people = problem.people(block, near)
        if people is not None and self.holds(people):
            self.pair = people
