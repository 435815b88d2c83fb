"""What Python calls: people in, verdicts and cells out; cells in, points out.

Arrays are checked here once, and below only C is left: no Python object, and no lock.
"""

import numpy as np

from libc.math cimport INFINITY, NAN, ceil, floor, nextafter, rint
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint64_t

from fatt.ensemble.arrays cimport data_of, n_columns_of
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
    Base,
    Block,
    Domain,
    Forest,
    Limits,
    Look,
    Node,
    Numbers,
    Point,
    Problem,
    Regions,
    Rule,
    Tally,
    Total,
    Variable,
    Workspace,
    rank_of,
)
from fatt.verifier.kernels.screen cimport screen, screen_tree

from fatt.verifier.kernels import records


def _check_layouts():
    """Compare the records that Python fills with those of C, field by field."""
    cdef Node node
    cdef Variable variable
    cdef Base base
    cdef Rule rule
    cdef Numbers numbers
    for name, seen in (
        ("NODE", np.asarray(<Node[:1]>&node)),
        ("VARIABLE", np.asarray(<Variable[:1]>&variable)),
        ("BASE", np.asarray(<Base[:1]>&base)),
        ("RULE", np.asarray(<Rule[:1]>&rule)),
        ("NUMBERS", np.asarray(<Numbers[:1]>&numbers)),
    ):
        if seen.dtype != getattr(records, name):
            raise ImportError(
                f"the compiled kernels of fatt read another {name} than "
                "fatt/verifier/kernels/records.py writes: build fatt again."
            )
    if sizeof(Limits) != 8 * records.N_LIMITS or sizeof(Tally) != 8 * records.N_USED:
        raise ImportError("the compiled kernels of fatt are old: build fatt again.")


_check_layouts()

cdef enum:
    # So many people are looked at together, tree by tree.
    BLOCK = 64

_INTEGER = np.dtype(np.int64)
_SMALL = np.dtype(np.int32)
_TINY = np.dtype(np.int8)
_FLOAT = np.dtype(np.float64)
_FLAG = np.dtype(np.bool_)
_WORD = np.dtype(np.uint64)


# ---- From arrays to pointers.

cdef int read_forest(object given, Forest* forest) except -1:
    """Check the arrays of a forest; they stay Python's."""
    nodes, roots, variables, masks, cuts = given
    forest.nodes = <const Node*>data_of(
        nodes, records.NODE, (len(nodes),), False, "nodes"
    )
    forest.roots = <const int64_t*>data_of(
        roots, _INTEGER, (len(roots),), False, "roots"
    )
    forest.variables = <const Variable*>data_of(
        variables, records.VARIABLE, (len(variables),), False, "variables"
    )
    forest.masks = <const uint64_t*>data_of(masks, _WORD, (len(masks),), False, "masks")
    forest.cuts = <const double*>data_of(cuts, _FLOAT, (len(cuts),), False, "cuts")
    forest.n_trees, forest.n_variables = len(roots), len(variables)
    return 0


cdef int _read_arithmetic(
    object given, const Forest* forest, Arithmetic* arithmetic
) except -1:
    values, scaled, trailing, targets, bases, rule, labels, scores = given
    n_leaves, n_columns = len(values), n_columns_of(values, "values")
    shape = (n_leaves, n_columns)
    arithmetic.values = <const double*>data_of(values, _FLOAT, shape, False, "values")
    arithmetic.scaled = <const int64_t*>data_of(
        scaled, _INTEGER, shape, False, "scaled"
    )
    arithmetic.trailing = <const int64_t*>data_of(
        trailing, _INTEGER, (n_leaves,), False, "trailing"
    )
    arithmetic.targets = <const int32_t*>data_of(
        targets, _SMALL, (forest.n_trees,), False, "targets"
    )
    arithmetic.bases = <const Base*>data_of(
        bases, records.BASE, (len(bases),), False, "bases"
    )
    arithmetic.rule = <const Rule*>data_of(rule, records.RULE, (1,), False, "rule")
    arithmetic.labels = <const int64_t*>data_of(
        labels, _INTEGER, (len(labels),), False, "labels"
    )
    arithmetic.scores = <const double*>data_of(
        scores, _FLOAT, (len(scores),), False, "scores"
    )
    arithmetic.n_columns, arithmetic.n_outputs = n_columns, len(bases)
    one_score = arithmetic.rule.one_score != 0
    answers, others = (scores, labels) if one_score else (labels, scores)
    if len(answers) not in (0, n_leaves) or len(others) != 0:
        raise ValueError(
            f"{len(labels)} labels and {len(scores)} scores are not those of "
            f"{n_leaves} leaves"
        )
    arithmetic.is_tree = len(answers) > 0
    if arithmetic.n_outputs < 1 or arithmetic.rule.n_trees != forest.n_trees:
        raise ValueError("the arithmetic is that of another forest")
    if arithmetic.rule.is_vector != 0 and n_columns < arithmetic.n_outputs:
        raise ValueError(f"leaves hold {n_columns} of {arithmetic.n_outputs} scores")
    return 0


cdef int _read_regions(
    object given, const Forest* forest, Regions* regions, int64_t n_classes,
    int64_t begin, int64_t end,
) except -1:
    """Check the arrays, and what they say of people from `begin` to before `end`."""
    people, label, below, above, start, lower, upper, missing, codes = given
    cdef int64_t n_people = len(label), n_boxes = len(lower), person
    n_variables, n_words = forest.n_variables, n_columns_of(codes, "codes")
    shape = (n_boxes, n_variables)
    regions.people = <const double*>data_of(
        people, _FLOAT, (n_people, n_variables), False, "people"
    )
    regions.label = <const int64_t*>data_of(
        label, _INTEGER, (n_people,), False, "label"
    )
    regions.below = <const double*>data_of(below, _FLOAT, (n_people,), False, "below")
    regions.above = <const double*>data_of(above, _FLOAT, (n_people,), False, "above")
    regions.start = <const int64_t*>data_of(
        start, _INTEGER, (n_people + 1,), False, "start"
    )
    regions.lower = <const double*>data_of(lower, _FLOAT, shape, False, "lower")
    regions.upper = <const double*>data_of(upper, _FLOAT, shape, False, "upper")
    regions.missing = <const uint8_t*>data_of(missing, _FLAG, shape, False, "missing")
    regions.codes = <const uint64_t*>data_of(
        codes, _WORD, (n_boxes, n_words), False, "codes"
    )
    regions.n_variables, regions.n_words = n_variables, n_words
    if not 0 <= begin <= end <= n_people:
        raise ValueError(f"people {begin} to {end} are not among the {n_people}")
    if regions.start[begin] < 0 or regions.start[end] > n_boxes:
        raise ValueError(f"start names boxes that are not among the {n_boxes}")
    for person in range(begin, end):
        if not 0 <= regions.label[person] < n_classes:
            raise ValueError(f"the label of person {person} is none of {n_classes}")
        if regions.start[person] >= regions.start[person + 1]:
            raise ValueError(f"person {person} has no box")
    return 0


cdef int _read_answers(object given, int64_t n_variables, Answers* answers) except -1:
    (
        verdict, possible, box, first, last, nodes,
        ties, tie_box, tie_first, tie_last, margin, bound, error,
    ) = given
    count, n_classes = len(verdict), n_columns_of(possible, "possible")
    n_kept = n_columns_of(tie_box, "tie_box")
    one, cells = (count,), (count, n_variables)
    kept = (count, n_kept, n_variables)
    answers.verdict = <int8_t*>data_of(verdict, _TINY, one, True, "verdict")
    answers.possible = <uint8_t*>data_of(
        possible, _FLAG, (count, n_classes), True, "possible"
    )
    answers.box = <int64_t*>data_of(box, _INTEGER, one, True, "box")
    answers.first = <int32_t*>data_of(first, _SMALL, cells, True, "first")
    answers.last = <int32_t*>data_of(last, _SMALL, cells, True, "last")
    answers.nodes = <int64_t*>data_of(nodes, _INTEGER, one, True, "nodes")
    answers.ties = <int64_t*>data_of(ties, _INTEGER, one, True, "ties")
    answers.tie_box = <int64_t*>data_of(
        tie_box, _INTEGER, (count, n_kept), True, "tie_box"
    )
    answers.tie_first = <int32_t*>data_of(tie_first, _SMALL, kept, True, "tie_first")
    answers.tie_last = <int32_t*>data_of(tie_last, _SMALL, kept, True, "tie_last")
    answers.margin = <int64_t*>data_of(margin, _INTEGER, one, True, "margin")
    answers.bound = <int64_t*>data_of(bound, _INTEGER, one, True, "bound")
    answers.error = <double*>data_of(error, _FLOAT, one, True, "error")
    answers.n_people, answers.n_classes, answers.n_kept = count, n_classes, n_kept
    answers.n_variables = n_variables
    return 0


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
    _read_arithmetic(arithmetic, &my_forest, &my_arithmetic)
    _read_answers(answers, my_forest.n_variables, &my_answers)
    _read_regions(regions, &my_forest, &my_regions, my_answers.n_classes, begin, end)
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


# ---- Points in given cells, each as near to its person as it can be.

cdef double _near(double own, double low, double high) noexcept nogil:
    """Return the member of an interval that is nearest, with as few digits as the own.

    A person whose number is whole, or has one decimal, gets a twin with such a number,
    where there is one: it reads better than a neighbour of some threshold. Numbers of
    at most four decimals count as written by people; fewer are better.
    """
    cdef double start = own if own == own else 0.0
    cdef double nearest = min(max(start, low), high)
    cdef double chosen = nearest, scale = 1e4, units, short
    while scale >= 1.0:
        if rint(start * scale) / scale == start:
            units = nearest * scale
            short = (ceil(units) if nearest > start else floor(units)) / scale
            if low <= short <= high:
                chosen = short
        scale = scale / 10.0
    return chosen


cdef double _lowest(
    const double* cuts, const Variable* variable, int64_t first, bint is_whole
) noexcept nogil:
    """Return the smallest number of a cell."""
    cdef double below, after
    if first == 0:
        return -INFINITY
    below = cuts[min(variable.cut_start + first, variable.cut_end) - 1]
    after = nextafter(below, INFINITY)
    # Of integers the cuts are whole, and the next number is the next whole one.
    return max(after, below + 1.0) if is_whole else after


def read_cells(forest, numbers, people, bounds, which, cells, points):
    """Fill in the points in the given cells.

    Parameters
    ----------
    forest
        The cells of each variable.
    numbers : ndarray of `NUMBERS`
        What numbers each variable has.
    people
        One row per point.
    bounds, which
        Lower, upper and missing of all boxes, and in which of them each point is.
    cells
        First and last cell in each variable; -1 where the point does not differ.
    points
        Receives the points; a copy of the people before.
    """
    cdef Forest mine
    lower_, upper_, missing_ = bounds
    first_, last_ = cells
    cdef int64_t n_rows = len(people), n_boxes = len(lower_)
    cdef int64_t n_variables, row, index, at, place, end
    cdef const Variable* variable
    cdef double low, high
    cdef bint is_missing
    read_forest(forest, &mine)
    n_variables = mine.n_variables
    shape, boxes = (n_rows, n_variables), (n_boxes, n_variables)
    cdef const double* own = <const double*>data_of(
        people, _FLOAT, shape, False, "people"
    )
    cdef const double* lower = <const double*>data_of(
        lower_, _FLOAT, boxes, False, "lower"
    )
    cdef const double* upper = <const double*>data_of(
        upper_, _FLOAT, boxes, False, "upper"
    )
    cdef const uint8_t* missing = <const uint8_t*>data_of(
        missing_, _FLAG, boxes, False, "missing"
    )
    cdef const int64_t* box = <const int64_t*>data_of(
        which, _INTEGER, (n_rows,), False, "which"
    )
    cdef const int32_t* first = <const int32_t*>data_of(
        first_, _SMALL, shape, False, "first"
    )
    cdef const int32_t* last = <const int32_t*>data_of(
        last_, _SMALL, shape, False, "last"
    )
    cdef const Numbers* number = <const Numbers*>data_of(
        numbers, records.NUMBERS, (n_variables,), False, "numbers"
    )
    cdef double* point = <double*>data_of(points, _FLOAT, shape, True, "points")
    for row in range(n_rows):
        if not 0 <= box[row] < n_boxes:
            raise ValueError(f"point {row} is in none of the {n_boxes} boxes")
    with nogil:
        for row in range(n_rows):
            for index in range(n_variables):
                at = row * n_variables + index
                place = box[row] * n_variables + index
                if first[at] < 0:
                    continue
                variable = &mine.variables[index]
                is_missing = first[at] == variable.n_cells
                if is_missing and (variable.kind == CODES or missing[place]):
                    point[at] = NAN
                    continue
                if variable.kind == CODES:
                    point[at] = first[at]
                    continue
                low, high = number[index].missing_low, number[index].missing_high
                if not is_missing:
                    low = _lowest(
                        mine.cuts, variable, first[at], number[index].is_whole != 0
                    )
                    end = variable.cut_start + last[at]
                    high = mine.cuts[end] if end < variable.cut_end else INFINITY
                low, high = max(low, lower[place]), min(high, upper[place])
                point[at] = _near(own[at], low, high)
