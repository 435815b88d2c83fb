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
    margin_of,
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
    Domain,
    Forest,
    Limits,
    Look,
    Point,
    Problem,
    Regions,
    Tally,
    Total,
    Variable,
    Workspace,
    rank_of,
)
from fatt.verifier.kernels.screen cimport screen, screen_tree

from fatt.verifier.kernels import records


_INTEGER = np.dtype(np.int64)

cdef enum:
    # So many people are looked at together, tree by tree.
    BLOCK = 64


cdef int _make_workspace(
    Workspace* workspace,
    Arena* arena,
    const Forest* forest,
    const Arithmetic* arithmetic,
    int64_t n_classes,
    int64_t n_people,
) except -1 nogil:
    """Take what one thread needs for all its people."""
    cdef int64_t depth = arithmetic.rule.depth + 1, which
    cdef Look* look
    workspace.arena = arena
    workspace.n_classes = n_classes
    workspace.n_variables = forest.n_variables
    workspace.n_ties = 0
    workspace.stack = integers(arena, depth + 1)
    # One more than a block has people, for boxes that are looked at alone.
    workspace.n_looks = min(BLOCK, n_people)
    workspace.looks = <Look*>zeros(arena, workspace.n_looks + 1, sizeof(Look))
    for which in range(workspace.n_looks + 1):
        look = &workspace.looks[which]
        look.totals = <Total*>zeros(
            arena, max(n_classes, arithmetic.n_outputs), sizeof(Total)
        )
        look.only = integers(arena, forest.n_variables)
        look.parts_at = <int32_t*>take(arena, forest.n_trees, sizeof(int32_t))
    workspace.own_cell = integers(arena, forest.n_variables)
    workspace.chosen = integers(arena, forest.n_trees)
    workspace.tied = integers(arena, workspace.limits.ties * forest.n_variables)
    workspace.rivals = integers(arena, n_classes)
    make_walk(&workspace.walk, forest, depth, arena)
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
    const Answers* answers, int64_t person, int64_t box, const Workspace* workspace
) noexcept nogil:
    """Write where the point of the local search is."""
    answers.box[person] = box
    _write_cells(
        &workspace.problem,
        workspace.point.block,
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
    Workspace* workspace,
) noexcept nogil:
    """List the rivals that the first look does not exclude; return their number."""
    cdef const Total* totals = workspace.look.totals
    cdef int64_t own = regions.label[person], rival, count = 0
    cdef Thresholds needed
    for rival in range(workspace.n_classes):
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
                or workspace.limits.screen == 0
            ):
                workspace.rivals[count] = rival
                count += 1
    return count


cdef void _keep_ties(
    const Answers* answers, int64_t person, int64_t box, const Workspace* workspace
) noexcept nogil:
    """Keep the points that could not be told for the library's own functions."""
    cdef int64_t tie, at, place
    for tie in range(min(workspace.n_ties, workspace.limits.ties)):
        at = answers.ties[person]
        if at < answers.n_kept:
            place = person * answers.n_kept + at
            answers.tie_box[place] = box
            _write_cells(
                &workspace.problem,
                workspace.tied + tie * workspace.n_variables,
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
    Workspace* workspace,
) noexcept nogil:
    """Bring a box and its person into rank space."""
    enter(forest, regions, box, &workspace.walk)
    _own_cells(
        forest, regions.people + person * regions.n_variables, workspace.own_cell
    )


cdef int _ask_rival(
    const Arithmetic* arithmetic, Workspace* workspace, Outcome* outcome
) except -1 nogil:
    """Find out whether a rival can win; the point then stands where it does."""
    cdef const Problem* problem = &workspace.problem
    cdef Point* point = &workspace.point
    make_point(workspace)
    start_at_person(problem, &workspace.margin, point)
    workspace.n_ties = 0
    if workspace.limits.largest == 0 and workspace.limits.move_once != 0:
        workspace.tally.moved_once += 1
        if move_once(problem, &workspace.margin, point):
            outcome.what, outcome.bound = FOUND, point.margin
            return 0
    branch_and_bound(arithmetic, workspace, outcome)
    return 0


cdef int32_t _decide_only_tree(
    const Forest* forest,
    const Arithmetic* arithmetic,
    const Regions* regions,
    const Answers* answers,
    int64_t person,
    int64_t box,
    Workspace* workspace,
) noexcept nogil:
    """Tell, for one box, whether the only tree gives another label somewhere."""
    cdef int32_t* first = answers.first + person * answers.n_variables
    cdef int32_t* last = answers.last + person * answers.n_variables
    cdef uint8_t* possible = answers.possible + person * answers.n_classes
    cdef int64_t index
    _enter(forest, regions, person, box, workspace)
    workspace.tally.walked += 1
    if not decide_tree(
        forest, arithmetic, regions, person, workspace, possible, first
    ):
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
    Workspace* workspace,
) noexcept nogil:
    """Take the first look at one box, beside those of the block."""
    cdef Look* look = &workspace.looks[workspace.n_looks]
    look.box, look.own = box, own
    screen(forest, arithmetic, regions, look, 1, workspace.stack)
    workspace.look = look


cdef int32_t _decide_box(
    const Forest* forest,
    const Arithmetic* arithmetic,
    const Regions* regions,
    const Answers* answers,
    int64_t person,
    int64_t box,
    Workspace* workspace,
) except -1 nogil:
    """Exclude, for one box, the rivals that cannot win; stop at the first that wins.

    Returns `UNFAIR` if a rival wins, `UNKNOWN` if one may win, else `FAIR`.
    """
    cdef uint8_t* possible = answers.possible + person * answers.n_classes
    cdef const Total* totals
    cdef int64_t own = regions.label[person], n_open, trailing, place, rival, other
    cdef double at
    cdef int32_t verdict = FAIR
    cdef Thresholds needed
    cdef Outcome outcome
    cdef Mark here
    if workspace.look == NULL:
        _look_at(forest, arithmetic, regions, box, own, workspace)
    totals = workspace.look.totals
    n_open = _open_rivals(arithmetic, regions, person, workspace)
    if n_open == 0:
        workspace.tally.screened += 1
        return FAIR
    _enter(forest, regions, person, box, workspace)
    reach(forest, workspace)
    trailing = _least_bit(arithmetic, &workspace.problem)
    here = mark(workspace.arena)
    for place in range(n_open):
        rival = workspace.rivals[place]
        at = _at(regions, person, rival)
        needed = thresholds(arithmetic.rule, totals, own, rival, at, trailing)
        if totals[rival].margin < needed.possible and workspace.limits.screen != 0:
            continue
        back_to(workspace.arena, here)
        margin_of(arithmetic, workspace, own, rival, at, needed)
        _ask_rival(arithmetic, workspace, &outcome)
        if outcome.what == FOUND:
            pull_back(&workspace.problem, &workspace.point, needed.certain)
            _write_point(answers, person, box, workspace)
            # Rivals behind this one are not asked.
            for other in range(place, n_open):
                possible[workspace.rivals[other]] = True
            return UNFAIR
        if outcome.what == STOPPED or workspace.n_ties > 0:
            possible[rival] = True
            verdict = UNKNOWN
        _keep_ties(answers, person, box, workspace)
    return verdict


cdef int _stretch_box(
    const Forest* forest,
    const Arithmetic* arithmetic,
    const Regions* regions,
    const Answers* answers,
    int64_t person,
    int64_t box,
    Workspace* workspace,
) except -1 nogil:
    """Look in one box for a larger margin than the largest so far.

    It is that of the side of the score which is asked about.
    """
    cdef const Total* totals
    cdef int64_t rival = (
        HIGHER if _is_asked(arithmetic, regions, person, HIGHER) else LOWER
    )
    cdef int64_t own = regions.label[person]
    cdef int64_t least = answers.margin[person] + 1
    cdef Thresholds needed
    cdef Outcome outcome
    cdef double error
    _look_at(forest, arithmetic, regions, box, own, workspace)
    totals = workspace.look.totals
    # The library may round the scores of a box up to what another box holds.
    error = score_error(arithmetic.rule, &totals[0], NO_STEP)
    if totals[rival].margin + error < least - 1 and workspace.limits.screen != 0:
        workspace.tally.screened += 1
        return 0
    _enter(forest, regions, person, box, workspace)
    reach(forest, workspace)
    error = score_error(
        arithmetic.rule, &totals[0], _least_bit(arithmetic, &workspace.problem)
    )
    answers.error[person] = max(answers.error[person], error)
    needed.possible = needed.certain = least
    margin_of(arithmetic, workspace, own, rival, NAN, needed)
    _ask_rival(arithmetic, workspace, &outcome)
    evaluate(&workspace.problem, &workspace.margin, &workspace.point)
    answers.bound[person] = max(answers.bound[person], outcome.bound)
    if workspace.point.margin >= least:
        answers.margin[person] = workspace.point.margin
        _write_point(answers, person, box, workspace)
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
    Workspace* workspace,
) except -1 nogil:
    """Look at the boxes of a person one after the other.

    If there is a look already, it is that at the only box.
    """
    cdef const volatile int64_t* clock = workspace.clock
    cdef bint is_walk = arithmetic.is_tree and workspace.limits.only_tree != 0
    cdef Mark here = mark(workspace.arena)
    cdef int64_t box
    cdef int32_t verdict
    _allow_all(answers, person, False)
    if arithmetic.rule.one_score == 0:
        answers.possible[person * answers.n_classes + regions.label[person]] = True
    answers.verdict[person] = FAIR
    for box in range(regions.start[person], regions.start[person + 1]):
        back_to(workspace.arena, here)
        if workspace.limits.largest != 0:
            _stretch_box(forest, arithmetic, regions, answers, person, box, workspace)
            continue
        verdict = UNKNOWN
        if clock[STOP] != 0:
            _allow_all(answers, person, True)
        elif is_walk:
            verdict = _decide_only_tree(
                forest, arithmetic, regions, answers, person, box, workspace
            )
        else:
            verdict = _decide_box(
                forest, arithmetic, regions, answers, person, box, workspace
            )
            workspace.look = NULL
        if verdict != FAIR:
            answers.verdict[person] = <int8_t>verdict
        if verdict == UNFAIR:
            # Boxes behind this one are not looked at.
            if box + 1 < regions.start[person + 1]:
                _allow_all(answers, person, True)
            break
    back_to(workspace.arena, here)
    return 0


cdef int64_t _look_at_block(
    const Forest* forest,
    const Arithmetic* arithmetic,
    const Regions* regions,
    const Answers* answers,
    int64_t begin,
    int64_t end,
    Workspace* workspace,
) noexcept nogil:
    """Take the first look at those who have one box; return how many there are."""
    cdef int64_t person, count = 0
    for person in range(begin, end):
        if (
            answers.verdict[person] == UNKNOWN
            and regions.start[person] + 1 == regions.start[person + 1]
        ):
            workspace.looks[count].box = regions.start[person]
            workspace.looks[count].own = regions.label[person]
            count += 1
    screen(forest, arithmetic, regions, workspace.looks, count, workspace.stack)
    return count


cdef int _decide_people(
    const Forest* forest,
    const Arithmetic* arithmetic,
    const Regions* regions,
    const Answers* answers,
    int64_t begin,
    int64_t end,
    Workspace* workspace,
) except -1 nogil:
    cdef int64_t time = workspace.limits.time, person, last, n_looks, seen
    if (
        arithmetic.is_tree
        and workspace.limits.only_tree != 0
        and workspace.limits.screen != 0
    ):
        screen_tree(
            forest, arithmetic, regions, answers, workspace.stack, begin, end
        )
    while begin < end:
        last = min(begin + BLOCK, end)
        n_looks, seen = 0, 0
        if (
            workspace.limits.largest == 0
            and not arithmetic.is_tree
            and workspace.clock[STOP] == 0
        ):
            n_looks = _look_at_block(
                forest, arithmetic, regions, answers, begin, last, workspace
            )
        for person in range(begin, last):
            if answers.verdict[person] != UNKNOWN:
                # The first look at the only tree was enough.
                continue
            workspace.look = NULL
            if seen < n_looks and workspace.looks[seen].box == regions.start[person]:
                workspace.look = &workspace.looks[seen]
                seen += 1
            workspace.tally.nodes = 0
            workspace.limits.time = time + workspace.clock[NOW]
            _decide_person(forest, arithmetic, regions, answers, person, workspace)
            answers.nodes[person] = workspace.tally.nodes
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
    cdef Workspace workspace
    cdef Arena arena
    read_forest(forest, &my_forest)
    read_arithmetic(arithmetic, &my_forest, &my_arithmetic)
    read_answers(answers, my_forest.n_variables, &my_answers)
    read_regions(regions, &my_forest, &my_regions, my_answers.n_classes, begin, end)
    if my_answers.n_people < end:
        raise ValueError(f"there is room for {my_answers.n_people} people's answers")
    workspace.limits = (
        <const Limits*>data_of(limits, _INTEGER, (records.N_LIMITS,), False, "limits")
    )[0]
    workspace.clock = <const volatile int64_t*>data_of(
        clock, _INTEGER, (2,), False, "clock"
    )
    workspace.tally = <Tally*>data_of(
        tally, _INTEGER, (records.N_USED,), True, "tally"
    )
    if workspace.limits.room < 1 or workspace.limits.ties < 0:
        raise ValueError("the limits make no room for the search")
    if my_arithmetic.rule.one_score != 0:
        if my_answers.n_classes != 2:
            raise ValueError("one score has two sides, and the answers have others")
    elif workspace.limits.largest != 0:
        raise ValueError("the largest margin is that of one score only")
    elif my_answers.n_classes < my_arithmetic.n_outputs:
        raise ValueError("the answers have fewer classes than there are scores")
    open_arena(&arena)
    try:
        with nogil:
            _make_workspace(
                &workspace,
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
                &workspace,
            )
    finally:
        close_arena(&arena)
