"""The verifier: who is treated like all similar people, and who is not."""

from __future__ import annotations

import threading
from dataclasses import astuple, dataclass
from typing import Any, NamedTuple, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Argmax, Ensemble, Prediction, ScoreBounds
from fatt.ensemble.allowed import Alike, Allowed
from fatt.errors import FattError
from fatt.region.boxes import Boxes, code_words, lone_boxes
from fatt.threads import FEW, in_order, n_threads, until_done
from fatt.verdict import (
    BUDGET,
    DECIDED,
    FAIR,
    INTERRUPTED,
    ORDER,
    TIE,
    UNFAIR,
    UNKNOWN,
    Findings,
    Twins,
    pack,
)
from fatt.verifier.budget import Budget, Clock, clock_for
from fatt.verifier.gears import Gears, Tally
from fatt.verifier.kernels.records import (
    HIGHER,
    LOWER,
    N_USED,
    STOP,
    Answers,
    Arithmetic,
    Forest,
    Regions,
    Sizes,
    Spending,
)
from fatt.verifier.ranks import forest_of
from fatt.verifier.rounding import arithmetic_of, one_output, to_scores
from fatt.verifier.twins import clip_to_numbers, holes_of

Floats = NDArray[np.float64]

# People per call of a kernel: few, so that no thread waits for another in the end.
_BLOCK = 4096
_BLOCKS_PER_THREAD = 8
#: Nodes within which a few people are searched without a thread, all together.
_SHORT = 64 * FEW


@dataclass(frozen=True, eq=False)
class Extremes:
    """The lowest and the highest of one score among similar people.

    Attributes
    ----------
    lowest, highest : ScoreBounds
        Bounds, one entry per person, on the library's own lowest and highest score.
    lowest_at, highest_at : ndarray of shape (n_people, n_variables)
        Similar people who have these scores, or the nearest to them that were found.
    nodes : ndarray of int64
        How many nodes the search took.
    """

    lowest: ScoreBounds
    highest: ScoreBounds
    lowest_at: Floats
    highest_at: Floats
    nodes: NDArray[np.int64]


class Effort(TypedDict, total=False):
    """When to give up, and in how many threads to search."""

    budget: Budget | None
    n_jobs: int | None


class Extreme(NamedTuple):
    """One of both ends: bounds on the score, who has it, and how many nodes it took."""

    score: ScoreBounds
    at: Floats
    nodes: NDArray[np.int64]


class Verifier:
    """Decides, for people and the boxes of their similar people, if labels can differ.

    Sound, and complete: without a budget every answer is fair or unfair, except where
    the library does not fix the order of its sums, or where two classes are so near
    that the last bits of a softmax or sigmoid decide.

    Parameters
    ----------
    ensemble
        The model, with one feature per variable.
    allowed
        Which answers of similar people are still fair; by default the same labels.
    gears
        Where the search changes gear; no verdict depends on it.
    """

    def __init__(
        self,
        ensemble: Ensemble,
        *,
        allowed: Allowed | None = None,
        gears: Gears | None = None,
    ) -> None:
        # A box of columns says nothing of what is computed of several of them.
        assert not ensemble.joints
        self.ensemble = ensemble
        self._alike = Alike(ensemble, allowed or Allowed())
        self._gears = gears or Gears()
        self._shifts = tuple(map(int, astuple(self._gears)))
        self._used = np.zeros(N_USED, dtype=np.int64)
        self._holes = holes_of(ensemble)
        self._forest = forest_of(ensemble, code_words(ensemble.features))
        self._arithmetic = arithmetic_of(ensemble)
        self._clocks: dict[int, Clock] = {}
        self._is_stopped = False

    @property
    def allowed(self) -> Allowed:
        """Which answers of similar people are still fair."""
        return self._alike.allowed

    @property
    def tally(self) -> Tally:
        """How often all searches so far were in each gear."""
        return Tally(*self._used[1:].tolist())

    def for_one_run(self) -> Verifier:
        """Return one of the same model that is stopped without stopping others."""
        # For each call of an auditor: `copy.copy` takes three times as long.
        other = object.__new__(Verifier)
        other.__dict__.update(self.__dict__, _clocks={}, _is_stopped=False)
        return other

    def stop(self) -> None:
        """Make searches in other threads give up at once, and all later ones."""
        self._is_stopped = True
        for clock in list(self._clocks.values()):
            clock[STOP] = 1

    def verify(
        self,
        people: Floats,
        boxes: Boxes,
        *,
        starts: Floats | None = None,
        budget: Budget | None = None,
        n_jobs: int | None = None,
    ) -> Findings:
        """Decide each person.

        Parameters
        ----------
        people : ndarray of shape (n_people, n_variables)
            Numbers and category codes, NaN for missing.
        boxes
            Where each person may move.
        starts : ndarray of shape (n_people, n_variables), optional
            Where the search begins, in all boxes of each person; by default the
            people themselves, who need not lie in them.
        budget
            When to give up; by default never.
        n_jobs
            Number of threads; -1 for all processors, by default one.
        """
        label, begin = self._answers_of(people), people if starts is None else starts
        own, outer = self._own(people, label)
        run = _Run((self._forest, self._arithmetic), budget or Budget(), n_jobs)
        answers, stopped = self._search(begin, own, boxes, run)
        if outer is not None:
            self._search_outside(begin, outer, boxes, run, (answers, stopped))
        elif self.ensemble.scoring.ordered:
            self._decide_ties(begin, boxes, label, answers)
            stopped[answers.verdict != UNKNOWN] = DECIDED
        elif not isinstance(self.ensemble.decision, Prediction):
            run.interrupted |= self._doubt_own_labels(people, own, answers, stopped)
        possible = self._possible(label, own, answers)
        return Findings(
            verdict=answers.verdict,
            label=label if not self.ensemble.classes else label.astype(np.int32),
            twins=self._twins((people, begin), boxes, label, answers, possible),
            # A twin may show one more class to be possible.
            possible=pack(possible),
            nodes=answers.nodes,
            stopped=stopped,
            classes=self.ensemble.classes,
            interrupted=run.interrupted,
        )

    def extremes(
        self,
        people: Floats,
        boxes: Boxes,
        output: int,
        *,
        budget: Budget | None = None,
        n_jobs: int | None = None,
    ) -> Extremes:
        """Find the lowest and the highest of one score that similar people get.

        Parameters
        ----------
        people, boxes, budget, n_jobs
            As in `verify`.
        output
            Which of the raw scores.

        Raises
        ------
        KeyboardInterrupt
            If the user stops it.
        """
        low, high = (
            self.extreme(people, boxes, output, sign=sign, budget=budget, n_jobs=n_jobs)
            for sign in (-1, 1)
        )
        return Extremes(
            low.score, high.score, low.at, high.at, nodes=low.nodes + high.nodes
        )

    def extreme(
        self,
        people: Floats,
        boxes: Boxes,
        output: int,
        *,
        sign: int,
        **effort: Unpack[Effort],
    ) -> Extreme:
        """Find the lowest score if the sign is -1, or the highest if it is 1.

        Parameters
        ----------
        people, boxes, output, **effort
            As in `extremes`; the people are where the search begins, in the boxes.
        sign
            Which of both ends is asked about.

        Raises
        ------
        KeyboardInterrupt
            If the user stops it.
        """
        model = one_output(self._forest, self._arithmetic, output)
        budget, n_jobs = effort.get("budget") or Budget(), effort.get("n_jobs")
        run = _Run(model, budget, n_jobs, largest=True)
        side = _Own.of_side(len(people), is_higher=sign > 0)
        answers, _ = self._search(people, side, boxes, run)
        if run.interrupted:
            raise KeyboardInterrupt
        cells = (answers.first, answers.last)
        points = self._read(people, boxes, answers.box, cells)
        far = to_scores(answers.bound, answers.error, model[1], sign)
        near = self.score_bounds_of(points)[sign < 0][:, output]
        ends = (far, near) if sign < 0 else (near, far)
        return Extreme(ScoreBounds(*ends), points, answers.nodes)

    def _own(self, people: Floats, label: NDArray[Any]) -> tuple[_Own, _Own | None]:
        """Return what the answer of each person must stay.

        Behind it stands what somebody else's must leave to be surely another, where
        that is more.
        """
        code = np.zeros(len(people), dtype=np.int64)
        if isinstance(self.ensemble.decision, Argmax):
            code = label
        scores = (label, label)
        if isinstance(self.ensemble.decision, Prediction):
            lower, upper = self.score_bounds_of(people)
            scores = (lower[:, 0], upper[:, 0])
        found = self._alike.intervals(label, *scores)
        own = _Own(code, found.below, found.above)
        outer = _Own(code, found.outer_below, found.outer_above)
        is_same = all(map(_is_same, own, outer))
        return own, None if is_same else outer

    def _possible(
        self, label: NDArray[Any], own: _Own, answers: Answers
    ) -> NDArray[np.bool_]:
        """Return which classes a similar person may get; of numbers, nothing."""
        if isinstance(self.ensemble.decision, Prediction):
            return np.zeros((len(label), 0), dtype=bool)
        if isinstance(self.ensemble.decision, Argmax):
            return np.asarray(answers.possible)
        place, mine = np.arange(len(self.ensemble.classes)), label[:, None]
        # What is not asked about may be.
        lower = answers.possible[:, LOWER] | np.isnan(own.below)
        higher = answers.possible[:, HIGHER] | np.isnan(own.above)
        possible = np.where(place < mine, lower[:, None], higher[:, None])
        possible |= place == mine
        return np.asarray(possible)

    def _search_outside(
        self,
        people: Floats,
        outer: _Own,
        boxes: Boxes,
        run: _Run,
        so_far: tuple[Answers, NDArray[np.uint8]],
    ) -> None:
        """Ask again of the unfair, whose own prediction has no last bits."""
        answers, stopped = so_far
        stopped[answers.verdict != UNKNOWN] = DECIDED
        who = np.flatnonzero(answers.verdict == UNFAIR)
        if not len(who):
            return
        mine = boxes.of_people(who)
        found, why = self._search(people[who], outer.of(who), mine, run)
        is_sure = found.verdict == UNFAIR
        answers.nodes[who] += found.nodes
        first, _ = boxes.ends(who)
        place = mine.starts(len(who))[:-1]
        answers.box[who] = found.box - place + first
        answers.first[who], answers.last[who] = found.first, found.last
        answers.verdict[who[~is_sure]] = UNKNOWN
        stopped[who[~is_sure]] = np.maximum(why[~is_sure], ORDER)

    def _search(
        self, people: Floats, own: _Own, boxes: Boxes, run: _Run
    ) -> tuple[Answers, NDArray[np.uint8]]:
        """Ask the kernel; tell also why what is unknown is unknown."""
        from fatt.verifier.kernels import decide

        decision, (count, n_variables) = self.ensemble.decision, people.shape
        is_one_score = run.largest or not isinstance(decision, Argmax)
        is_linked = isinstance(decision, Argmax) and decision.link != "identity"
        kept = self._gears.ties if is_linked and not run.largest else 0
        parts = (
            self.ensemble.mark_missing(people),
            *own,
            boxes.starts(count),
            *clip_to_numbers(boxes, self._holes),
        )
        arrays: list[Any] = [*map(np.ascontiguousarray, parts), _spending(boxes)]
        regions = Regions(*arrays)
        n_rivals = 2 if is_one_score else len(self.ensemble.classes)
        sizes = Sizes(count, n_variables, n_rivals, kept)
        limits = run.limits(self._shifts)
        # Whose label cannot become a worse one is fair, and none of the search's.
        unasked = None
        if self._alike.allowed.direction is not None and not is_one_score:
            unasked = ~self._alike.is_asked(own.label)
        if run.may_be_short(count) and not self._is_stopped:
            answers, tally = _blank(sizes, unasked), np.zeros(N_USED, np.int64)
            first = limits.copy()
            first[0] = min(_SHORT // max(1, count), limits[0])
            clock = np.zeros(2, dtype=np.int64)
            question = (*run.model, regions, answers)
            decide.decide(*question, 0, count, first, clock, tally)
            # Also who is unfair may have used up the nodes, for another class before.
            if first[0] == limits[0] or (answers.nodes < first[0]).all():
                self._used += tally
                return answers, self._stopped(answers, run, limits)
        answers = _blank(sizes, unasked)
        ended = self._search_in_threads(regions, answers, run, limits)
        return answers, self._stopped(answers, run, limits, ended)

    def _stopped(
        self,
        answers: Answers,
        run: _Run,
        limits: NDArray[np.int64],
        ended: NDArray[np.bool_] | None = None,
    ) -> NDArray[np.uint8]:
        """Leave unknown who came too late, and tell why people are unknown.

        Parameters
        ----------
        answers
            What was found.
        run, limits
            How it was searched.
        ended : ndarray of shape (n_people,), optional
            Whose search may have been told to stop; by default nobody's.
        """
        late = _keep_total(answers, run.budget)
        stopped = np.zeros(len(answers.verdict), dtype=np.uint8)
        unknown = answers.verdict == UNKNOWN
        if not unknown.any():
            return stopped
        stopped[unknown] = TIE if self.ensemble.scoring.ordered else ORDER
        # Where there was a tie, more nodes or time prove nothing.
        given_up = unknown & (answers.ties == 0)
        is_over = (answers.nodes >= limits[0]) | late
        stopped[given_up & (is_over | run.budget.is_timed)] = BUDGET
        if ended is not None:
            # A budget for the whole run stops the clock as well as the user does.
            by_user = run.interrupted or self._is_stopped
            stopped[given_up & ended & ~is_over] = INTERRUPTED if by_user else BUDGET
        return stopped

    def _search_in_threads(
        self, regions: Regions, answers: Answers, run: _Run, limits: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Ask the kernel, block by block; tell whose search was perhaps stopped."""
        from fatt.verifier.kernels import decide

        question = (*run.model, regions, answers)
        used: list[NDArray[np.int64]] = []
        ended = np.ones(len(answers.verdict), dtype=bool)

        def decide_some(begin: int, end: int) -> int:
            tally = np.zeros(N_USED, dtype=np.int64)
            decide.decide(*question, begin, end, limits, clock, tally)
            used.append(tally)
            ended[begin:end] = clock[STOP] != 0
            return end

        def after(done: int) -> None:
            if run.budget.n_in_time(answers.nodes[:done]) < done:
                stop()

        def stop() -> None:
            clock[STOP] = 1

        with clock_for(run.budget) as clock:
            self._clocks[id(clock)] = clock
            if self._is_stopped:
                stop()
            try:
                threads, count = n_threads(run.n_jobs), len(answers.verdict)
                blocks = _blocks(count, threads)
                made = in_order(decide_some, blocks, threads, stop=stop)
                run.interrupted |= until_done(made, after)
            finally:
                del self._clocks[id(clock)]
        self._used += sum(used)
        return ended

    def _twins(
        self,
        searched: tuple[Floats, Floats],
        boxes: Boxes,
        label: NDArray[Any],
        answers: Answers,
        possible: NDArray[np.bool_],
    ) -> Twins:
        """Read the twins back from their cells, and make sure that they are twins."""
        people, starts = searched
        [who] = (answers.verdict == UNFAIR).nonzero()
        if not len(who):
            return Twins.none(people.shape[1])
        cells = (answers.first[who], answers.last[who])
        mine = people[who]
        twins = self._read(starts[who], boxes, answers.box[who], cells)
        found = self._answers_of(twins)
        wrong = np.flatnonzero(self._alike.keeps(label[who], found))
        if len(wrong):
            raise FattError(
                f"person {who[wrong[0]]}: the search found a twin that has the same "
                "label after all. This is a bug in fatt; please report it."
            )
        if self.ensemble.classes:
            possible[who, found] = True
        return Twins.of(
            index=who,
            people=mine,
            twins=twins,
            label=label[who],
            twin_label=found,
        )

    def _read(
        self,
        people: Floats,
        boxes: Boxes,
        which: NDArray[np.int64],
        cells: tuple[NDArray[np.int32], NDArray[np.int32]],
    ) -> Floats:
        """Return points in cells of boxes, as near to people as they can be."""
        from fatt.verifier.kernels import points

        bounds = tuple(
            map(np.ascontiguousarray, (boxes.lower, boxes.upper, boxes.missing))
        )
        own, found = np.ascontiguousarray(people), np.array(people, order="C")
        paid = _spending(boxes)
        if paid is not None:
            paid = paid._replace(people=own)
        points.read_cells(self._forest, own, bounds, which, cells, found, paid)
        return found

    def _decide_ties(
        self,
        people: Floats,
        boxes: Boxes,
        label: NDArray[np.int64],
        answers: Answers,
    ) -> None:
        """Evaluate the first few points that the kernel could not tell."""
        is_tied = (answers.verdict == UNKNOWN) & (answers.ties > 0)
        for who in is_tied.nonzero()[0]:
            kept = slice(int(answers.ties[who]))
            first, last = answers.tie_first[who, kept], answers.tie_last[who, kept]
            which = answers.tie_box[who, kept]
            rows = np.repeat(people[who : who + 1], len(which), axis=0)
            found = self._answers_of(self._read(rows, boxes, which, (first, last)))
            other = np.flatnonzero(~self._alike.keeps(label[who], found))
            if len(other):
                answers.verdict[who] = UNFAIR
                answers.box[who] = which[other[0]]
                answers.first[who], answers.last[who] = first[other[0]], last[other[0]]

    def _doubt_own_labels(
        self,
        people: Floats,
        own: _Own,
        answers: Answers,
        stopped: NDArray[np.uint8],
    ) -> bool:
        """Claim nothing about people whose own label the library does not fix.

        Returns whether the user ended the search for that.
        """
        who = np.flatnonzero(answers.verdict == UNFAIR)
        if self._alike.allowed.direction is not None:
            # Of who is fair the label may be in doubt as well, on the other side.
            who = np.flatnonzero(answers.verdict != UNKNOWN)
            label = self._answers_of(people)
            found = Alike(self.ensemble, Allowed()).intervals(label, label, label)
            own = _Own(own.label, found.below, found.above)
        if not len(who):
            return False
        alone = lone_boxes(people[who], self.ensemble.features)
        run = _Run((self._forest, self._arithmetic), Budget())
        mine, why = self._search(people[who], own.of(who), alone, run)
        unsure = who[mine.verdict != FAIR]
        answers.verdict[unsure] = UNKNOWN
        answers.possible[unsure] = True
        stopped[unsure] = np.maximum(why[mine.verdict != FAIR], ORDER)
        return run.interrupted

    def _answers_of(self, people: Floats) -> NDArray[Any]:
        """Return the places of people's labels, or their predictions."""
        return self.ensemble.answer(self.ensemble.mark_missing(people))

    def score_bounds_of(self, people: Floats) -> ScoreBounds:
        """Return bounds on all scores of people."""
        encoded = self.ensemble.mark_missing(people)
        lower, upper = self.ensemble._bounds(np.ascontiguousarray(encoded))
        return ScoreBounds(lower.astype(np.float64), upper.astype(np.float64))


class _Own(NamedTuple):
    """What the answer of each person must stay, as `Regions` has it."""

    label: NDArray[np.int64]
    below: Floats
    above: Floats

    @classmethod
    def of_side(cls, count: int, *, is_higher: bool) -> _Own:
        """Ask about one side of the score, wherever it begins."""
        some, none = np.zeros(count), np.full(count, np.nan)
        label = np.zeros(count, dtype=np.int64)
        return cls(label, none, some) if is_higher else cls(label, some, none)

    def of(self, who: NDArray[np.int64]) -> _Own:
        """Return that of some people."""
        return _Own(self.label[who], self.below[who], self.above[who])


@dataclass
class _Run:
    """How a search runs, what it looks for, and whether the user ended it."""

    model: tuple[Forest, Arithmetic]
    budget: Budget
    n_jobs: int | None = None
    largest: bool = False
    interrupted: bool = False

    def may_be_short(self, count: int) -> bool:
        """Tell whether most searches end sooner than a thread is started.

        In the main thread they must end soon: it sees no Ctrl-C before.
        """
        is_main = threading.current_thread() is threading.main_thread()
        is_long = self.largest or self.budget.is_timed or count > FEW
        return n_threads(self.n_jobs) > 0 and is_main and not is_long

    def limits(self, gears: tuple[int, ...]) -> NDArray[np.int64]:
        """Return the limits of each person's search, and what to look for.

        Behind these stand the gears, in their order.
        """
        limits = (*self.budget.limits, int(self.largest), *gears)
        return np.array(limits, dtype=np.int64)


def _is_same(one: NDArray[Any], other: NDArray[Any]) -> bool:
    return one is other or np.array_equal(one, other, equal_nan=True)


def _spending(boxes: Boxes) -> Spending | None:
    """Return the budgets of boxes as the kernels read them."""
    costs = boxes.costs
    if costs is None:
        return None
    arrays = (costs.rule, costs.most, costs.each, costs.tables, costs.people)
    bounds = (boxes.lower, boxes.upper, boxes.missing)
    return Spending(*map(np.ascontiguousarray, (*arrays, *bounds)))


def _blank(sizes: Sizes, unasked: NDArray[np.bool_] | None) -> Answers:
    """Make room for the answers; who is not asked about is fair."""
    answers = Answers.blank(sizes)
    if unasked is not None:
        answers.verdict[unasked] = FAIR
    return answers


def _blocks(count: int, threads: int) -> list[tuple[int, int]]:
    """Return where each call of a kernel starts and stops, so that no thread waits."""
    size = max(1, min(_BLOCK, -(-count // (_BLOCKS_PER_THREAD * threads))))
    return [(begin, min(begin + size, count)) for begin in range(0, count, size)]


def _keep_total(answers: Answers, budget: Budget) -> NDArray[np.bool_] | bool:
    """Forget the answers for people who come after the last node of the whole run.

    Returns who these are.
    """
    if budget.total_nodes is None:
        return False
    late = np.zeros(len(answers.verdict), dtype=bool)
    late[budget.n_in_time(answers.nodes) :] = True
    answers.verdict[late] = UNKNOWN
    answers.possible[late] = True
    answers.ties[late] = 0
    return late
