"""Who is fair, who is not, and who is the twin: one person after the other.

Arrays are checked first; below only C is left: no Python object, and no lock.
"""

import numpy as np

from libc.math cimport NAN
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t

from fatt.ensemble.arrays cimport data_of
from fatt.verifier.kernels.arena cimport (
    Arena,
    Mark,
    back_to,
    close_arena,
    integers,
    mark,
    open_arena,
    take,
    zeros,
)
from fatt.verifier.kernels.boundary cimport (
    read_answers,
    read_arithmetic,
    read_forest,
    read_regions,
)
from fatt.verifier.kernels.branch_and_bound cimport Outcome, branch_and_bound
from fatt.verifier.kernels.local_search cimport (
    evaluate,
    make_point,
    move_once,
    pull_back,
    start_at_person,
)
from fatt.verifier.kernels.margins cimport (
    Thresholds,
    aim,
    score_error,
    thresholds,
)
from fatt.verifier.kernels.reach cimport decide_tree, enter, make_walk, reach
from fatt.verifier.kernels.records cimport (
    CODES,
    FAIR,
    FOUND,
    HIGHER,
    LOWER,
    NO_STEP,
    NOW,
    STOP,
    STOPPED,
    UNFAIR,
    UNKNOWN,
    Answers,
    Arithmetic,
    Block,
    Contest,
    Domain,
    Forest,
    Limits,
    Look,
    Point,
    Problem,
    Regions,
    Search,
    Tally,
    Target,
    Total,
    Variable,
    Visit,
    rank_of,
)
from fatt.verifier.kernels.screen cimport screen, screen_tree
from fatt.verifier.kernels.tariff cimport make_tariff, set_tariff

from fatt.verifier.kernels import records


_INTEGER = np.dtype(np.int64)

cdef enum:
    # So many people are looked at together, tree by tree.
    BLOCK = 64


cdef int _make_visit(
    Visit* visit,
    Arena* arena,
    const Forest* forest,
    const Arithmetic* arithmetic,
    int64_t n_classes,
    int64_t n_people,
) except -1 nogil:
    """Take what one thread needs to walk through the boxes of all its people."""
    cdef int64_t depth = arithmetic.rule.depth + 1, which
    cdef Look* look
    visit.n_classes = n_classes
    visit.stack = integers(arena, depth + 1)
    # One more than a block has people, for boxes that are looked at alone.
    visit.n_looks = min(BLOCK, n_people)
    visit.looks = <Look*>zeros(arena, visit.n_looks + 1, sizeof(Look))
    for which in range(visit.n_looks + 1):
        look = &visit.looks[which]
        look.totals = <Total*>zeros(
            arena, max(n_classes, arithmetic.n_outputs), sizeof(Total)
        )
        look.only = integers(arena, forest.n_variables)
        look.parts_at = <int32_t*>take(arena, forest.n_trees, sizeof(int32_t))
    visit.own_cell = integers(arena, forest.n_variables)
    visit.rivals = integers(arena, n_classes)
    visit.contest.arithmetic = arithmetic
    make_walk(&visit.walk, forest, depth, arena)
    make_tariff(&visit.tariff, forest, arena)
    return 0


cdef int _make_search(
    Search* search, Arena* arena, int64_t n_trees, int64_t most_domains
) except -1 nogil:
    """Take what one thread needs for all its searches."""
    search.arena = arena
    search.most_domains = most_domains
    search.n_ties = 0
    search.sides, search.frontier = NULL, NULL
    search.chosen = integers(arena, n_trees)
    search.tied = integers(arena, search.limits.ties * most_domains)
    return 0


# ---- One person.

cdef void _own_cells(
    const Forest* forest, const double* person, int64_t* cell
) noexcept nogil:
    """Write the cell of each of a person's values."""
    cdef const Variable* variable
    cdef int64_t index
    for index in range(forest.n_variables):
        variable = &forest.variables[index]
        if person[index] != person[index]:
            cell[index] = variable.n_cells
        elif variable.kind == CODES:
            cell[index] = <int64_t>person[index]
        else:
            cell[index] = rank_of(
                forest.cuts, variable.cut_start, variable.cut_end, person[index]
            )


cdef int64_t _least_bit(
    const Arithmetic* arithmetic, const Problem* problem
) noexcept nogil:
    """Return the exponent of the last bit of all values that a box reaches."""
    cdef int64_t output, leaf, least = arithmetic.bases[0].trailing
    for output in range(arithmetic.n_outputs):
        least = min(least, arithmetic.bases[output].trailing)
    for leaf in range(problem.n_leaves):
        least = min(least, arithmetic.trailing[problem.leaves[leaf].row])
    return least


cdef void _write_cells(
    const Problem* problem,
    const int64_t* point,
    int32_t* first,
    int32_t* last,
    int64_t n_variables,
) noexcept nogil:
    """Write the cells of the variables in which a point differs from the person."""
    cdef const Domain* domain
    cdef const Block* block
    cdef int64_t index, number
    for index in range(n_variables):
        first[index] = last[index] = -1
    for number in range(problem.n_domains):
        domain = &problem.domains[number]
        if point[number] != domain.own:
            block = &problem.blocks[domain.block_start + point[number]]
            first[domain.variable] = <int32_t>block.first
            last[domain.variable] = <int32_t>block.last


cdef void _write_point(
    const Answers* answers, int64_t person, int64_t box, const Search* search
) noexcept nogil:
    """Write where the point of the local search is."""
    answers.box[person] = box
    _write_cells(
        &search.problem,
        search.point.block,
        answers.first + person * answers.n_variables,
        answers.last + person * answers.n_variables,
        answers.n_variables,
    )


cdef inline double _at(
    const Regions* regions, int64_t person, int64_t rival
) noexcept nogil:
    """Return where the side of a score begins that is a rival; NaN if not asked."""
    return regions.above[person] if rival == HIGHER else regions.below[person]


cdef inline bint _is_asked(
    const Arithmetic* arithmetic, const Regions* regions, int64_t person, int64_t rival
) noexcept nogil:
    """Tell whether the answer of a rival would not be that of the person."""
    cdef double at
    if arithmetic.rule.one_score != 0:
        at = _at(regions, person, rival)
        return at == at
    return rival != regions.label[person]


cdef int64_t _open_rivals(
    const Arithmetic* arithmetic,
    const Regions* regions,
    int64_t person,
    Visit* visit,
    bint is_screened,
) noexcept nogil:
    """List the rivals that the first look does not exclude; return their number."""
    cdef const Total* totals = visit.look.totals
    cdef int64_t own = regions.label[person], rival, count = 0
    cdef Thresholds needed
    for rival in range(visit.n_classes):
        if _is_asked(arithmetic, regions, person, rival):
            needed = thresholds(
                arithmetic.rule,
                totals,
                own,
                rival,
                _at(regions, person, rival),
                NO_STEP,
            )
            if (
                totals[rival].margin >= needed.possible
                or not is_screened
            ):
                visit.rivals[count] = rival
                count += 1
    return count


cdef void _keep_ties(
    const Answers* answers, int64_t person, int64_t box, const Search* search
) noexcept nogil:
    """Keep the points that could not be told for the library's own functions."""
    cdef int64_t tie, at, place
    for tie in range(min(search.n_ties, search.limits.ties)):
        at = answers.ties[person]
        if at < answers.n_kept:
            place = person * answers.n_kept + at
            answers.tie_box[place] = box
            _write_cells(
                &search.problem,
                search.tied + tie * search.most_domains,
                answers.tie_first + place * answers.n_variables,
                answers.tie_last + place * answers.n_variables,
                answers.n_variables,
            )
        answers.ties[person] += 1


cdef void _enter(
    const Forest* forest,
    const Regions* regions,
    int64_t person,
    int64_t box,
    Visit* visit,
) noexcept nogil:
    """Bring a box and its person into rank space."""
    enter(forest, regions, box, &visit.walk)
    _own_cells(forest, regions.people + person * regions.n_variables, visit.own_cell)
    set_tariff(forest, regions, person, box, visit)


cdef int _find(Search* search, Outcome* outcome) except -1 nogil:
    """Find out whether a point wins; the point of the search then stands there."""
    cdef const Problem* problem = &search.problem
    cdef const Target* target = &search.target
    cdef Point* point = &search.point
    make_point(search)
    start_at_person(problem, target, point)
    search.n_ties = 0
    if target.largest == 0 and search.limits.move_once != 0:
        search.tally.moved_once += 1
        if move_once(problem, target, point):
            outcome.what, outcome.bound = FOUND, point.margin
            return 0
    branch_and_bound(search, outcome)
    return 0


cdef int32_t _decide_only_tree(
    const Forest* forest,
    const Arithmetic* arithmetic,
    const Regions* regions,
    const Answers* answers,
    int64_t person,
    int64_t box,
    Visit* visit,
) except -1 nogil:
    """Tell, for one box, whether the only tree gives another label somewhere."""
    cdef int32_t* first = answers.first + person * answers.n_variables
    cdef int32_t* last = answers.last + person * answers.n_variables
    cdef uint8_t* possible = answers.possible + person * answers.n_classes
    cdef int64_t index
    _enter(forest, regions, person, box, visit)
    if not decide_tree(forest, arithmetic, regions, person, visit, possible, first):
        return FAIR
    for index in range(answers.n_variables):
        last[index] = first[index]
    answers.box[person] = box
    return UNFAIR


cdef void _look_at(
    const Forest* forest,
    const Arithmetic* arithmetic,
    const Regions* regions,
    int64_t box,
    int64_t own,
    Visit* visit,
) noexcept nogil:
    """Take the first look at one box, beside those of the block."""
    cdef Look* look = &visit.looks[visit.n_looks]
    look.box, look.own = box, own
    screen(forest, arithmetic, regions, look, 1, visit.stack)
    visit.look = look


cdef int32_t _decide_box(
    const Forest* forest,
    const Arithmetic* arithmetic,
    const Regions* regions,
    const Answers* answers,
    int64_t person,
    int64_t box,
    Visit* visit,
    Search* search,
) except -1 nogil:
    """Exclude, for one box, the rivals that cannot win; stop at the first that wins.

    Returns `UNFAIR` if a rival wins, `UNKNOWN` if one may win, else `FAIR`.
    """
    cdef uint8_t* possible = answers.possible + person * answers.n_classes
    cdef Contest* contest = &visit.contest
    cdef const Total* totals
    cdef int64_t own = regions.label[person], n_open, trailing, place, rival, other
    cdef bint is_screened = search.limits.screen != 0
    cdef int32_t verdict = FAIR
    cdef Thresholds needed
    cdef Outcome outcome
    cdef Mark here
    if visit.look == NULL:
        _look_at(forest, arithmetic, regions, box, own, visit)
    totals = visit.look.totals
    n_open = _open_rivals(arithmetic, regions, person, visit, is_screened)
    if n_open == 0:
        search.tally.screened += 1
        return FAIR
    _enter(forest, regions, person, box, visit)
    reach(forest, visit, search)
    trailing = _least_bit(arithmetic, &search.problem)
    here = mark(search.arena)
    for place in range(n_open):
        rival = visit.rivals[place]
        contest.own, contest.rival = own, rival
        contest.at = _at(regions, person, rival)
        needed = thresholds(arithmetic.rule, totals, own, rival, contest.at, trailing)
        if totals[rival].margin < needed.possible and is_screened:
            continue
        back_to(search.arena, here)
        aim(contest, needed, 0, search)
        _find(search, &outcome)
        if outcome.what == FOUND:
            pull_back(&search.problem, &search.point, needed.certain)
            _write_point(answers, person, box, search)
            # Rivals behind this one are not asked.
            for other in range(place, n_open):
                possible[visit.rivals[other]] = True
            return UNFAIR
        if outcome.what == STOPPED or search.n_ties > 0:
            possible[rival] = True
            verdict = UNKNOWN
        _keep_ties(answers, person, box, search)
    return verdict


cdef int _stretch_box(
    const Forest* forest,
    const Arithmetic* arithmetic,
    const Regions* regions,
    const Answers* answers,
    int64_t person,
    int64_t box,
    Visit* visit,
    Search* search,
) except -1 nogil:
    """Look in one box for a larger margin than the largest so far.

    It is that of the side of the score which is asked about.
    """
    cdef Contest* contest = &visit.contest
    cdef const Total* totals
    cdef int64_t rival = (
        HIGHER if _is_asked(arithmetic, regions, person, HIGHER) else LOWER
    )
    cdef int64_t own = regions.label[person]
    cdef int64_t least = answers.margin[person] + 1
    cdef Thresholds needed
    cdef Outcome outcome
    cdef double error
    _look_at(forest, arithmetic, regions, box, own, visit)
    totals = visit.look.totals
    # The library may round the scores of a box up to what another box holds.
    error = score_error(arithmetic.rule, &totals[0], NO_STEP)
    if totals[rival].margin + error < least - 1 and search.limits.screen != 0:
        search.tally.screened += 1
        return 0
    _enter(forest, regions, person, box, visit)
    reach(forest, visit, search)
    error = score_error(
        arithmetic.rule, &totals[0], _least_bit(arithmetic, &search.problem)
    )
    answers.error[person] = max(answers.error[person], error)
    needed.possible = needed.certain = least
    contest.own, contest.rival, contest.at = own, rival, NAN
    aim(contest, needed, search.limits.largest, search)
    _find(search, &outcome)
    evaluate(&search.problem, &search.target, &search.point)
    answers.bound[person] = max(answers.bound[person], outcome.bound)
    if search.point.margin >= least:
        answers.margin[person] = search.point.margin
        _write_point(answers, person, box, search)
    return 0


cdef void _allow_all(
    const Answers* answers, int64_t person, bint allowed
) noexcept nogil:
    cdef int64_t label
    for label in range(answers.n_classes):
        answers.possible[person * answers.n_classes + label] = allowed


cdef int _decide_person(
    const Forest* forest,
    const Arithmetic* arithmetic,
    const Regions* regions,
    const Answers* answers,
    int64_t person,
    Visit* visit,
    Search* search,
) except -1 nogil:
    """Look at the boxes of a person one after the other.

    If there is a look already, it is that at the only box.
    """
    cdef const volatile int64_t* clock = search.clock
    cdef bint is_walk = arithmetic.is_tree and search.limits.only_tree != 0
    cdef Mark here = mark(search.arena)
    cdef int64_t box
    cdef int32_t verdict
    _allow_all(answers, person, False)
    if arithmetic.rule.one_score == 0:
        answers.possible[person * answers.n_classes + regions.label[person]] = True
    answers.verdict[person] = FAIR
    for box in range(regions.start[person], regions.start[person + 1]):
        back_to(search.arena, here)
        if search.limits.largest != 0:
            _stretch_box(
                forest, arithmetic, regions, answers, person, box, visit, search
            )
            continue
        verdict = UNKNOWN
        if clock[STOP] != 0:
            _allow_all(answers, person, True)
        elif is_walk:
            search.tally.walked += 1
            verdict = _decide_only_tree(
                forest, arithmetic, regions, answers, person, box, visit
            )
        else:
            verdict = _decide_box(
                forest, arithmetic, regions, answers, person, box, visit, search
            )
            visit.look = NULL
        if verdict != FAIR:
            answers.verdict[person] = <int8_t>verdict
        if verdict == UNFAIR:
            # Boxes behind this one are not looked at.
            if box + 1 < regions.start[person + 1]:
                _allow_all(answers, person, True)
            break
    back_to(search.arena, here)
    return 0


cdef int64_t _look_at_block(
    const Forest* forest,
    const Arithmetic* arithmetic,
    const Regions* regions,
    const Answers* answers,
    int64_t begin,
    int64_t end,
    Visit* visit,
) noexcept nogil:
    """Take the first look at those who have one box; return how many there are."""
    cdef int64_t person, count = 0
    for person in range(begin, end):
        if (
            answers.verdict[person] == UNKNOWN
            and regions.start[person] + 1 == regions.start[person + 1]
        ):
            visit.looks[count].box = regions.start[person]
            visit.looks[count].own = regions.label[person]
            count += 1
    screen(forest, arithmetic, regions, visit.looks, count, visit.stack)
    return count


cdef int _decide_people(
    const Forest* forest,
    const Arithmetic* arithmetic,
    const Regions* regions,
    const Answers* answers,
    int64_t begin,
    int64_t end,
    Visit* visit,
    Search* search,
) except -1 nogil:
    cdef int64_t time = search.limits.time, person, last, n_looks, seen
    if (
        arithmetic.is_tree
        and search.limits.only_tree != 0
        and search.limits.screen != 0
    ):
        screen_tree(
            forest, arithmetic, regions, answers, visit.stack, begin, end
        )
    while begin < end:
        last = min(begin + BLOCK, end)
        n_looks, seen = 0, 0
        if (
            search.limits.largest == 0
            and not arithmetic.is_tree
            and search.clock[STOP] == 0
        ):
            n_looks = _look_at_block(
                forest, arithmetic, regions, answers, begin, last, visit
            )
        for person in range(begin, last):
            if answers.verdict[person] != UNKNOWN:
                # The first look at the only tree was enough.
                continue
            visit.look = NULL
            if seen < n_looks and visit.looks[seen].box == regions.start[person]:
                visit.look = &visit.looks[seen]
                seen += 1
            search.tally.nodes = 0
            search.limits.time = time + search.clock[NOW]
            _decide_person(
                forest, arithmetic, regions, answers, person, visit, search
            )
            answers.nodes[person] = search.tally.nodes
        begin = last
    return 0


def decide(
    forest, arithmetic, regions, answers, int64_t begin, int64_t end, limits, clock,
    tally
):
    """Decide the people from `begin` to before `end`.

    Parameters
    ----------
    forest, arithmetic
        The ensemble.
    regions
        The people and their boxes.
    answers
        Receives the answers; people who are not unknown there are left alone.
    begin, end
        The first person, and the one behind the last.
    limits : ndarray of int64
        The most nodes and milliseconds for a person, and whether to look for the
        highest or lowest score, on the side that the regions ask about; then where the
        search changes gear.
    clock : ndarray of int64
        The milliseconds since the start, and whether to stop: another thread writes it.
    tally : ndarray of int64
        Counts on how often the search was in each gear.
    """
    cdef Forest my_forest
    cdef Arithmetic my_arithmetic
    cdef Regions my_regions
    cdef Answers my_answers
    cdef Visit visit
    cdef Search search
    cdef Arena arena
    read_forest(forest, &my_forest)
    read_arithmetic(arithmetic, &my_forest, &my_arithmetic)
    read_answers(answers, my_forest.n_variables, &my_answers)
    read_regions(regions, &my_forest, &my_regions, my_answers.n_classes, begin, end)
    if my_answers.n_people < end:
        raise ValueError(f"there is room for {my_answers.n_people} people's answers")
    search.limits = (
        <const Limits*>data_of(limits, _INTEGER, (records.N_LIMITS,), False, "limits")
    )[0]
    search.clock = <const volatile int64_t*>data_of(
        clock, _INTEGER, (2,), False, "clock"
    )
    search.tally = <Tally*>data_of(
        tally, _INTEGER, (records.N_USED,), True, "tally"
    )
    if search.limits.room < 1 or search.limits.ties < 0:
        raise ValueError("the limits make no room for the search")
    if my_arithmetic.rule.one_score != 0:
        if my_answers.n_classes != 2:
            raise ValueError("one score has two sides, and the answers have others")
    elif search.limits.largest != 0:
        raise ValueError("the largest margin is that of one score only")
    elif my_answers.n_classes < my_arithmetic.n_outputs:
        raise ValueError("the answers have fewer classes than there are scores")
    open_arena(&arena)
    try:
        with nogil:
            _make_search(
                &search, &arena, my_forest.n_trees, my_forest.n_variables
            )
            _make_visit(
                &visit,
                &arena,
                &my_forest,
                &my_arithmetic,
                my_answers.n_classes,
                end - begin,
            )
            _decide_people(
                &my_forest,
                &my_arithmetic,
                &my_regions,
                &my_answers,
                begin,
                end,
                &visit,
                &search,
            )
    finally:
        close_arena(&arena)
