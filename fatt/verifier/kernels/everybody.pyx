"""Searches among pairs of similar people: what Python calls, part after part.

`pairs` has made the problem, and Python says what each leaf is worth. Here both become
the records that local search and branch and bound know.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memcpy

from fatt.ensemble.arrays cimport data_of
from fatt.verifier.kernels.arena cimport (
    Arena,
    close_arena,
    filled,
    integers,
    open_arena,
    take,
    zeros,
)
from fatt.verifier.kernels.boundary cimport read_arithmetic, read_forest
from fatt.verifier.kernels.branch_and_bound cimport Outcome, branch_and_bound
from fatt.verifier.kernels.local_search cimport ascend, evaluate
from fatt.verifier.kernels.margins cimport Thresholds, score_error, thresholds
from fatt.verifier.kernels.records cimport (
    MOST,
    NO_MARGIN,
    Arithmetic,
    Constraint,
    Demand,
    Domain,
    Entry,
    Forest,
    Frontier,
    Leaf,
    Limits,
    Search,
    Sides,
    Tally,
    Total,
    copy_integers,
)
from fatt.verifier.kernels.sides cimport climb_on, decide_pair

from fatt.verifier.kernels import pairs as made_by, records

_INTEGER = np.dtype(np.int64)
_WORD = np.dtype(np.uint64)
_FLOAT = np.dtype(np.float64)

cdef Total _total
TOTAL = np.asarray(<Total[:1]>&_total).dtype


cdef int _read_problem(object given, object asked, Search* search) except -1:
    """Check the arrays of a problem and of what is asked; they stay Python's."""
    cdef int64_t n_trees = len(given.tree_start) - 1, n_leaves = len(given.rows)
    cdef int64_t n_domains = len(given.domains), n_constraints = len(given.constraints)
    cdef int64_t n_active = len(asked.active_start) - 1, number, most = 1, place
    search.problem.tree_start = <int64_t*>data_of(
        given.tree_start, _INTEGER, (n_trees + 1,), True, "tree_start"
    )
    search.problem.leaves = <Leaf*>data_of(
        given.leaves, made_by.LEAF, (n_leaves + 1,), True, "leaves"
    )
    search.problem.constraints = <Constraint*>data_of(
        given.constraints, made_by.CONSTRAINT, (n_constraints,), True, "constraints"
    )
    search.problem.masks = <uint64_t*>data_of(
        given.masks, _WORD, (len(given.masks),), True, "masks"
    )
    search.problem.domains = <Domain*>data_of(
        given.domains, made_by.DOMAIN, (n_domains,), True, "domains"
    )
    search.problem.active = <int64_t*>data_of(
        asked.active, _INTEGER, (len(asked.active),), True, "active"
    )
    search.problem.active_start = <int64_t*>data_of(
        asked.active_start, _INTEGER, (n_active + 1,), True, "active_start"
    )
    search.point.start = <int64_t*>data_of(
        given.entry_start, _INTEGER, (n_domains + 1,), True, "entry_start"
    )
    search.point.entries = <Entry*>data_of(
        given.entries, made_by.ENTRY, (n_constraints,), True, "entries"
    )
    search.problem.conditions, search.problem.cells = NULL, NULL
    search.problem.blocks, search.problem.budget = NULL, NULL
    search.problem.n_trees, search.problem.n_leaves = n_trees, n_leaves
    search.problem.n_constraints, search.problem.n_domains = n_constraints, n_domains
    search.problem.n_blocks, search.problem.n_words = len(given.cells), 0
    search.problem.n_active_trees = n_active
    search.problem.n_active_leaves = len(asked.active)
    for number in range(n_domains):
        search.problem.n_words += search.problem.domains[number].width
        most = max(most, search.problem.domains[number].n_blocks)
    for place in range(search.problem.n_active_leaves):
        if not 0 <= search.problem.active[place] < n_leaves:
            raise ValueError("an active leaf is none of the leaves")
    cdef const int64_t* value = <const int64_t*>data_of(
        asked.value, _INTEGER, (n_leaves,), False, "value"
    )
    _write_values(search, value)
    search.point.block = filled(search.arena, n_domains, 0)
    search.point.gain = <int64_t*>zeros(search.arena, most + 1, sizeof(int64_t))
    search.most_domains, search.n_ties = n_domains, 0
    search.chosen = integers(search.arena, n_trees)
    search.target.constant = asked.constant
    search.target.largest = 0
    search.target.ordered = 1
    search.target.decide, search.target.asked = decide_pair, NULL
    search.sides, search.frontier = NULL, NULL
    return most


cdef void _write_values(Search* search, const int64_t* value) noexcept nogil:
    cdef int64_t leaf
    for leaf in range(search.problem.n_leaves):
        search.problem.leaves[leaf].value = value[leaf]


cdef int _read_sides(
    object given,
    object asked,
    const Arithmetic* arithmetic,
    Search* search,
    Sides* sides,
) except -1:
    """Check what is demanded of both people, if anything is."""
    cdef int64_t n_demands = len(asked.terms), n_leaves = search.problem.n_leaves
    cdef int64_t n_trees = search.problem.n_trees, number, tree, n_edges
    cdef const int64_t* values
    cdef const int64_t* terms
    cdef const double* ends
    cdef Demand* demand
    if n_demands == 0:
        return 0
    values = <const int64_t*>data_of(
        asked.demands, _INTEGER, (n_demands, n_leaves), False, "demands"
    )
    terms = <const int64_t*>data_of(
        asked.terms, _INTEGER, (n_demands, 6), False, "terms"
    )
    ends = <const double*>data_of(asked.ends, _FLOAT, (n_demands,), False, "ends")
    sides.rows = <const int32_t*>data_of(
        given.rows, np.dtype(np.int32), (n_leaves, 2), False, "rows"
    )
    sides.demands = <Demand*>take(search.arena, n_demands, sizeof(Demand))
    sides.n_demands, sides.n_trees = n_demands, n_trees
    sides.gap, sides.sure = 0, NO_MARGIN
    sides.bound, sides.is_linked = 0, asked.steps is not None
    for number in range(n_demands):
        demand = &sides.demands[number]
        demand.value = values + number * n_leaves
        demand.constant = terms[6 * number]
        demand.possible, demand.certain = terms[6 * number + 1], terms[6 * number + 2]
        demand.person = terms[6 * number + 3]
        demand.contest.arithmetic, demand.contest.at = arithmetic, ends[number]
        demand.contest.own = terms[6 * number + 4]
        demand.contest.rival = terms[6 * number + 5]
        if demand.person not in (0, 1):
            raise ValueError("there are two people")
    sides.stands = <Leaf*>zeros(search.arena, n_trees, sizeof(Leaf))
    sides.each = integers(search.arena, n_demands + 2 * n_trees)
    for tree in range(n_trees):
        number = search.problem.tree_start[tree + 1] - search.problem.tree_start[tree]
        sides.each[n_demands + tree] = number > 1
        sides.each[n_demands + n_trees + tree] = tree
    if asked.steps is not None:
        edges, least, most = asked.steps
        n_edges = len(edges)
        if n_demands != 2:
            raise ValueError("a gap is that of two scores")
        sides.steps.edges = <const int64_t*>data_of(
            edges, _INTEGER, (n_edges,), False, "edges"
        )
        sides.steps.least = <const int64_t*>data_of(
            least, _INTEGER, (n_edges + 1,), False, "least"
        )
        sides.steps.most = <const int64_t*>data_of(
            most, _INTEGER, (n_edges + 1,), False, "most"
        )
        sides.steps.n_edges = n_edges
    search.sides = sides
    search.target.ordered = arithmetic.rule.ordered or sides.is_linked
    search.target.asked = sides
    return 0


def climb(pairs, asked, forest, arithmetic, starts, int64_t sweeps, bint to_first):
    """Move from points to better ones, one variable at a time.

    Parameters
    ----------
    pairs, asked
        The problem.
    forest, arithmetic
        The ensemble.
    starts : ndarray of int64, shape (n_starts, n_domains)
        Blocks; they receive where the points end.
    sweeps
        Sweeps over the variables, at most.
    to_first
        Whether to stop at the first point that has all that is demanded.

    Returns
    -------
    ndarray of int64, shape (n_starts,)
        What the points are worth: their margin, or how near they are to what is
        demanded, at least 0 if they perhaps have all of it. Those behind the first
        are not looked at.
    """
    cdef Arena arena
    cdef Search search
    cdef Sides sides
    cdef Forest my_forest
    cdef Arithmetic my_arithmetic
    cdef int64_t row, n_starts = len(starts), most, n_domains = len(pairs.domains)
    cdef int64_t* blocks
    cdef int64_t* worth
    cdef int64_t* gains = NULL
    cdef int64_t* totals = NULL
    read_forest(forest, &my_forest)
    read_arithmetic(arithmetic, &my_forest, &my_arithmetic)
    found = np.full(n_starts, NO_MARGIN, dtype=np.int64)
    blocks = <int64_t*>data_of(starts, _INTEGER, (n_starts, n_domains), True, "starts")
    worth = <int64_t*>data_of(found, _INTEGER, (n_starts,), True, "found")
    open_arena(&arena)
    try:
        search.arena = &arena
        most = _read_problem(pairs, asked, &search)
        _read_sides(pairs, asked, &my_arithmetic, &search, &sides)
        for row in range(n_starts * n_domains):
            if not 0 <= blocks[row] < search.problem.domains[row % n_domains].n_blocks:
                raise ValueError("a start is none of the blocks")
        if search.sides != NULL:
            gains = integers(&arena, (most + 1) * sides.n_demands)
            totals = integers(&arena, 3 * sides.n_demands)
        with nogil:
            for row in range(n_starts):
                copy_integers(
                    blocks + row * n_domains, search.point.block, n_domains
                )
                if search.sides == NULL:
                    evaluate(&search.problem, &search.target, &search.point)
                    ascend(&search.problem, &search.point, sweeps)
                    worth[row] = search.point.margin
                else:
                    worth[row] = climb_on(
                        &sides,
                        &search.problem,
                        &search.target,
                        &search.point,
                        gains,
                        totals,
                        sweeps,
                    )
                copy_integers(
                    search.point.block, blocks + row * n_domains, n_domains
                )
                if to_first and worth[row] >= 0:
                    break
    finally:
        close_arena(&arena)
    return found


def search(pairs, asked, forest, arithmetic, box, aim, limits, clock, tally):
    """Search a part of the box for a pair.

    Parameters
    ----------
    pairs, asked
        The problem.
    forest, arithmetic
        The ensemble.
    box : ndarray of uint64
        The part.
    aim
        The margin from which a pair possibly wins, and that from which it certainly
        does; the same of the gap, if there are steps; and how much larger than the best
        so far a margin must be, 0 if any win will do.
    limits, clock, tally
        As in `decide`; the nodes of the limits and the tally are those of all parts.

    Returns
    -------
    tuple
        What came out, a bound on the margin, the blocks of the best point, its margin,
        boxes and bounds of what is still open, how many points could not be told, and
        some of these.
    """
    cdef Arena arena
    cdef Search mine
    cdef Sides sides
    cdef Forest my_forest
    cdef Arithmetic my_arithmetic
    cdef Frontier frontier
    cdef Outcome outcome
    cdef int64_t n_domains = len(pairs.domains)
    cdef uint64_t[:, ::1] my_boxes
    cdef int64_t[::1] my_bounds
    cdef int64_t[::1] my_point
    cdef int64_t[:, ::1] my_ties
    read_forest(forest, &my_forest)
    read_arithmetic(arithmetic, &my_forest, &my_arithmetic)
    mine.limits = (
        <const Limits*>data_of(limits, _INTEGER, (records.N_LIMITS,), False, "limits")
    )[0]
    mine.clock = <const volatile int64_t*>data_of(clock, _INTEGER, (2,), False, "clock")
    mine.tally = <Tally*>data_of(tally, _INTEGER, (records.N_USED,), True, "tally")
    if mine.limits.room < 1 or mine.limits.ties < 0:
        raise ValueError("the limits make no room for the search")
    open_arena(&arena)
    try:
        mine.arena = &arena
        _read_problem(pairs, asked, &mine)
        _read_sides(pairs, asked, &my_arithmetic, &mine, &sides)
        mine.tied = integers(&arena, mine.limits.ties * n_domains)
        frontier.box = <const uint64_t*>data_of(
            box, _WORD, (mine.problem.n_words,), False, "box"
        )
        mine.frontier = &frontier
        possible, certain, gap, sure, step = aim
        mine.target.possible, mine.target.certain = possible, certain
        mine.target.largest = step
        if mine.sides != NULL:
            # Only the sums of both people tell whether a pair wins.
            mine.target.certain, sides.gap, sides.sure = MOST, gap, sure
        mine.point.margin = NO_MARGIN
        with nogil:
            branch_and_bound(&mine, &outcome)
            evaluate(&mine.problem, &mine.target, &mine.point)
        boxes = np.empty((frontier.n_open, mine.problem.n_words), dtype=np.uint64)
        bounds = np.empty(frontier.n_open, dtype=np.int64)
        point = np.empty(n_domains, dtype=np.int64)
        n_kept = min(mine.n_ties, mine.limits.ties)
        ties = np.empty((n_kept, n_domains), dtype=np.int64)
        if boxes.nbytes > 0:
            my_boxes, my_bounds = boxes, bounds
            memcpy(&my_boxes[0, 0], frontier.boxes, boxes.nbytes)
            memcpy(&my_bounds[0], frontier.bounds, bounds.nbytes)
        if n_domains > 0:
            my_point = point
            memcpy(&my_point[0], mine.point.block, point.nbytes)
        if ties.nbytes > 0:
            my_ties = ties
            memcpy(&my_ties[0, 0], mine.tied, ties.nbytes)
        return (
            outcome.what, outcome.bound, point, mine.point.margin, boxes, bounds,
            mine.n_ties, ties,
        )
    finally:
        close_arena(&arena)


def needed(forest, arithmetic, totals, own, rival, double at, int64_t trailing):
    """Return the margins from which a rival possibly and certainly wins somewhere.

    Parameters
    ----------
    forest, arithmetic
        The ensemble.
    totals : ndarray of `TOTAL`
        What the trees allow for each output.
    own, rival
        The classes, or the sides of one score.
    at
        Where the side begins.
    trailing
        The exponent of the last bit of all values.
    """
    cdef Forest my_forest
    cdef Arithmetic mine
    cdef Thresholds found
    cdef const Total* each
    read_forest(forest, &my_forest)
    read_arithmetic(arithmetic, &my_forest, &mine)
    each = <const Total*>data_of(totals, TOTAL, (mine.n_outputs,), False, "totals")
    found = thresholds(mine.rule, each, own, rival, at, trailing)
    return found.possible, found.certain


def error_of(forest, arithmetic, totals, int64_t trailing):
    """Bound how far the library's only score is from the true sum, in units.

    Parameters
    ----------
    forest, arithmetic, totals, trailing
        As in `needed`.
    """
    cdef Forest my_forest
    cdef Arithmetic mine
    cdef const Total* each
    read_forest(forest, &my_forest)
    read_arithmetic(arithmetic, &my_forest, &mine)
    each = <const Total*>data_of(totals, TOTAL, (mine.n_outputs,), False, "totals")
    return score_error(mine.rule, each, trailing)
