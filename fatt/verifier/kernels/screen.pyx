"""The first look: the best leaf of each tree that a box reaches, added up.

Most people are decided here. The walk does not narrow the box on its way down. For
intervals that reaches no leaf too many, since intervals that meet pairwise have a
common point; for sets it may reach some, which is sound.
"""

from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from fatt.verifier.kernels.records cimport (
    AT_THRESHOLD,
    BOTH,
    FAIR,
    LEAST,
    LEFT,
    MOST,
    RIGHT,
    Answers,
    Arithmetic,
    Base,
    Forest,
    Node,
    Regions,
    Rule,
    Total,
    Variable,
    Workspace,
    has,
    largest,
    lowest,
    rank_of,
    side_of,
)


cdef int32_t _set_sides(
    const Forest* forest, const Node* node, const Regions* regions, int64_t box
) noexcept nogil:
    """Tell to which sides of a set split the numbers or codes of a box may go."""
    cdef const uint64_t* masks = forest.masks
    cdef const Variable* variable = &forest.variables[node.feature]
    cdef const uint64_t* codes = regions.codes + box * regions.n_words
    cdef int64_t offset, place, cell
    cdef uint64_t members, left
    cdef int32_t found = 0
    cdef double low, high
    if variable.code_start < variable.code_end:
        for offset in range(variable.code_end - variable.code_start):
            members = codes[variable.code_start + offset]
            left = masks[node.split + offset]
            if members & left != 0:
                found |= LEFT
            if members & ~left != 0:
                found |= RIGHT
        return found
    place = box * regions.n_variables + node.feature
    low, high = regions.lower[place], regions.upper[place]
    if low == high:
        cell = rank_of(forest.cuts, variable.cut_start, variable.cut_end, low)
        return LEFT if has(masks, node.split, cell) else RIGHT
    return BOTH if low < high else 0


cdef void screen_tree(
    const Forest* forest,
    const Arithmetic* arithmetic,
    const Regions* regions,
    const Answers* answers,
    int64_t* stack,
    int64_t begin,
    int64_t end,
) noexcept nogil:
    """Tell, of an ensemble with one tree, who surely reaches no other class.

    A walk of its own, since it decides most people and little else is to be done. The
    stack has two entries more than the tree has levels.
    """
    cdef const Node* nodes = forest.nodes
    cdef const double* lower = regions.lower
    cdef const double* upper = regions.upper
    cdef const int64_t* start = regions.start
    cdef int64_t root = forest.roots[0], n_classes = answers.n_classes
    cdef int64_t person, own, box, size, node, place, left, other
    cdef double threshold
    cdef int32_t found
    cdef bint is_fair
    for person in range(begin, end):
        own, is_fair = regions.label[person], True
        box, size = start[person], 1
        stack[0] = root
        while is_fair and size > 0:
            size -= 1
            node = stack[size]
            while nodes[node].feature >= 0:
                place = box * regions.n_variables + nodes[node].feature
                if nodes[node].alone == AT_THRESHOLD:
                    threshold = nodes[node].threshold
                    found = LEFT if lower[place] <= threshold else 0
                    if upper[place] > threshold:
                        found |= RIGHT
                else:
                    found = _set_sides(forest, &nodes[node], regions, box)
                if regions.missing[place]:
                    found |= LEFT if nodes[node].missing_left != 0 else RIGHT
                left = nodes[node].left
                if found == BOTH:
                    stack[size] = left + 1
                    size += 1
                node = left + (found == RIGHT)
            is_fair = arithmetic.labels[nodes[node].leaf] == own
            if size == 0 and box + 1 < start[person + 1]:
                box, size = box + 1, 1
                stack[0] = root
        if is_fair:
            answers.verdict[person] = FAIR
            for other in range(n_classes):
                answers.possible[person * n_classes + other] = other == own


cdef void _note_only_codes(
    const Forest* forest, const uint64_t* codes, int64_t* only
) noexcept nogil:
    """Write the only code of each variable, -1 if there are several or none."""
    cdef const Variable* variable
    cdef int64_t index, place, count
    cdef uint64_t word
    for index in range(forest.n_variables):
        variable = &forest.variables[index]
        only[index] = -1
        count = 0
        for place in range(variable.code_start, variable.code_end):
            word = codes[place]
            if word != 0:
                count += 1 if word & (word - 1) == 0 else 2
                only[index] = lowest(word) + 64 * (place - variable.code_start)
        if count != 1:
            only[index] = -1


cdef void screen(
    const Forest* forest,
    const Arithmetic* arithmetic,
    const Regions* regions,
    int64_t box,
    int64_t own,
    Workspace* workspace,
) noexcept nogil:
    """Bound, for a box, the scores and the margin of each class over the own class.

    The totals of the workspace receive the bounds.
    """
    cdef int64_t* stack = workspace.stack
    cdef const int64_t* only = workspace.only
    cdef Total* totals = workspace.totals
    cdef const double* lower = regions.lower + box * regions.n_variables
    cdef const double* upper = regions.upper + box * regions.n_variables
    cdef const uint8_t* missing = regions.missing + box * regions.n_variables
    cdef const Node* nodes = forest.nodes
    cdef const int64_t* scaled = arithmetic.scaled
    cdef const Base* bases = arithmetic.bases
    cdef const Rule* rule = arithmetic.rule
    cdef int64_t n_columns = arithmetic.n_columns, n_outputs = arithmetic.n_outputs
    cdef bint is_vector = rule.is_vector != 0
    cdef int64_t width = n_outputs if is_vector else 1
    cdef int64_t output, first, tree, size, node, feature, left, value, column
    cdef int64_t low, high
    cdef const int64_t* leaf
    cdef double threshold
    cdef int32_t found
    cdef Total* total
    _note_only_codes(forest, regions.codes + box * regions.n_words, workspace.only)
    for output in range(n_outputs):
        total = &totals[output]
        first = 0 if rule.base_last != 0 else bases[output].scaled
        total.low = total.high = first
        total.path = fabs(<double>first)
        total.mass = fabs(<double>bases[output].scaled)
        if is_vector:
            total.margin = bases[output].scaled - bases[own].scaled
    for tree in range(forest.n_trees):
        for output in range(width):
            totals[output].tree_low = MOST
            totals[output].tree_high = LEAST
            totals[output].tree_margin = LEAST
        size = 1
        stack[0] = forest.roots[tree]
        while size > 0:
            size -= 1
            node = stack[size]
            while nodes[node].feature >= 0:
                feature = nodes[node].feature
                if nodes[node].alone == AT_THRESHOLD:
                    threshold = nodes[node].threshold
                    found = LEFT if lower[feature] <= threshold else 0
                    if upper[feature] > threshold:
                        found |= RIGHT
                elif only[feature] >= 0:
                    found = side_of(&nodes[node], forest.masks, only[feature])
                else:
                    found = _set_sides(forest, &nodes[node], regions, box)
                if missing[feature]:
                    found |= LEFT if nodes[node].missing_left != 0 else RIGHT
                left = nodes[node].left
                if found == BOTH:
                    stack[size] = left + 1
                    size += 1
                node = left + (found == RIGHT)
            leaf = scaled + nodes[node].leaf * n_columns
            for output in range(width):
                value = leaf[output]
                total = &totals[output]
                total.tree_low = min(total.tree_low, value)
                total.tree_high = max(total.tree_high, value)
                if is_vector:
                    total.tree_margin = max(total.tree_margin, value - leaf[own])
        for column in range(width):
            total = &totals[column if is_vector else arithmetic.targets[tree]]
            low, high = totals[column].tree_low, totals[column].tree_high
            total.low += low
            total.high += high
            total.mass += largest(low, high)
            total.path += largest(total.low, total.high)
            if is_vector:
                total.margin += total.tree_margin
    _finish(arithmetic, own, totals)


cdef void _finish(
    const Arithmetic* arithmetic, int64_t own, Total* totals
) noexcept nogil:
    """Add a base that comes last; compare classes whose scores have their own trees."""
    cdef const Rule* rule = arithmetic.rule
    cdef int64_t output, rival
    cdef Total* total
    if rule.base_last != 0:
        for output in range(arithmetic.n_outputs):
            total = &totals[output]
            total.low += arithmetic.bases[output].scaled
            total.high += arithmetic.bases[output].scaled
            total.path += largest(total.low, total.high)
    if rule.is_cut != 0:
        totals[1].margin = totals[0].high
        totals[0].margin = -totals[0].low
    elif rule.is_vector == 0:
        for rival in range(arithmetic.n_outputs):
            totals[rival].margin = totals[rival].high - totals[own].low
