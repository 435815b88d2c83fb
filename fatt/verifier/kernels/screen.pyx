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
    HIGHER,
    LEAST,
    LEFT,
    LOWER,
    MOST,
    ORDERED,
    RIGHT,
    Answers,
    Arithmetic,
    Base,
    Forest,
    Look,
    Node,
    Regions,
    Rule,
    Total,
    Variable,
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
    """Tell, of an ensemble with one tree, who surely reaches no other answer.

    A walk of its own, since it decides most people and little else is to be done. The
    stack has two entries more than the tree has levels.
    """
    cdef const Node* nodes = forest.nodes
    cdef const double* lower = regions.lower
    cdef const double* upper = regions.upper
    cdef const int64_t* start = regions.start
    cdef int64_t root = forest.roots[0], n_classes = answers.n_classes
    cdef int64_t person, own, box, size, node, place, left, other
    cdef bint one_score = arithmetic.rule.one_score != 0
    cdef double threshold, score
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
            if one_score:
                score = arithmetic.scores[nodes[node].leaf]
                is_fair = not (
                    score < regions.below[person] or score >= regions.above[person]
                )
            else:
                is_fair = arithmetic.labels[nodes[node].leaf] == own
            if size == 0 and box + 1 < start[person + 1]:
                box, size = box + 1, 1
                stack[0] = root
        if is_fair:
            answers.verdict[person] = FAIR
            for other in range(n_classes):
                answers.possible[person * n_classes + other] = (
                    other == own and not one_score
                )


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


cdef void _start(
    const Forest* forest,
    const Arithmetic* arithmetic,
    const Regions* regions,
    Look* look,
) noexcept nogil:
    """Begin with the base of each score, and note how the box may be walked."""
    cdef const uint8_t* missing = regions.missing + look.box * regions.n_variables
    cdef const Base* bases = arithmetic.bases
    cdef const Rule* rule = arithmetic.rule
    cdef int64_t output, first, index
    cdef Total* total
    look.is_plain = rule.is_vector == 0
    for index in range(forest.n_variables):
        if forest.variables[index].kind != ORDERED or missing[index]:
            look.is_plain = False
    if not look.is_plain:
        _note_only_codes(
            forest, regions.codes + look.box * regions.n_words, look.only
        )
    for output in range(arithmetic.n_outputs):
        total = &look.totals[output]
        first = 0 if rule.base_last != 0 else bases[output].scaled
        total.low = total.high = first
        total.path = fabs(<double>first)
        total.mass = fabs(<double>bases[output].scaled)
        if rule.is_vector != 0:
            total.margin = bases[output].scaled - bases[look.own].scaled


cdef inline int64_t _walk_plainly(
    const Forest* forest,
    const Arithmetic* arithmetic,
    const Regions* regions,
    int64_t tree,
    Look* look,
    int64_t* stack,
) noexcept nogil:
    """As `_walk`, if all splits are at thresholds, nothing is missing, and a leaf has
    one value: below where the box parts, without branches that the processor could not
    foresee.
    """
    cdef const Node* nodes = forest.nodes
    cdef const double* lower = regions.lower + look.box * regions.n_variables
    cdef const double* upper = regions.upper + look.box * regions.n_variables
    cdef int64_t size = 1, low = MOST, high = LEAST
    cdef int64_t parts_at = forest.roots[tree], node, feature, value
    cdef bint is_left, is_right
    feature = nodes[parts_at].feature
    while feature >= 0:
        is_left = lower[feature] <= nodes[parts_at].threshold
        is_right = upper[feature] > nodes[parts_at].threshold
        if is_left & is_right:
            break
        parts_at = nodes[parts_at].left + is_right
        feature = nodes[parts_at].feature
    stack[0] = parts_at
    while size > 0:
        size -= 1
        node = stack[size]
        feature = nodes[node].feature
        while feature >= 0:
            is_left = lower[feature] <= nodes[node].threshold
            is_right = upper[feature] > nodes[node].threshold
            # Unless both sides are reached, this is written over before it is read.
            stack[size] = nodes[node].left + 1
            size += is_left & is_right
            node = nodes[node].left + (is_right & (1 - is_left))
            feature = nodes[node].feature
        value = arithmetic.scaled[nodes[node].leaf * arithmetic.n_columns]
        low, high = min(low, value), max(high, value)
    look.totals[0].tree_low, look.totals[0].tree_high = low, high
    if nodes[parts_at].feature < 0:
        return -1 - nodes[parts_at].leaf
    return parts_at


cdef inline int64_t _walk(
    const Forest* forest,
    const Arithmetic* arithmetic,
    const Regions* regions,
    int64_t tree,
    Look* look,
    int64_t* stack,
) noexcept nogil:
    """Bound what a tree adds to each score in a box.

    Returns the node at which the box first goes to both sides, or -1 less the row of
    the only leaf that it reaches.
    """
    cdef const int64_t* only = look.only
    cdef Total* totals = look.totals
    cdef const double* lower = regions.lower + look.box * regions.n_variables
    cdef const double* upper = regions.upper + look.box * regions.n_variables
    cdef const uint8_t* missing = regions.missing + look.box * regions.n_variables
    cdef const Node* nodes = forest.nodes
    cdef bint is_vector = arithmetic.rule.is_vector != 0
    cdef int64_t width = arithmetic.n_outputs if is_vector else 1
    cdef int64_t output, size, node, feature, left, value, parts_at = -1
    cdef const int64_t* leaf
    cdef double threshold
    cdef int32_t found
    cdef Total* total
    for output in range(width):
        totals[output].tree_low = MOST
        totals[output].tree_high = LEAST
        totals[output].tree_margin = LEAST
    size = 1
    node = forest.roots[tree]
    stack[0] = node
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
                found = _set_sides(forest, &nodes[node], regions, look.box)
            if missing[feature]:
                found |= LEFT if nodes[node].missing_left != 0 else RIGHT
            left = nodes[node].left
            if found == BOTH:
                if parts_at < 0:
                    parts_at = node
                stack[size] = left + 1
                size += 1
            node = left + (found == RIGHT)
        leaf = arithmetic.scaled + nodes[node].leaf * arithmetic.n_columns
        for output in range(width):
            value = leaf[output]
            total = &totals[output]
            total.tree_low = min(total.tree_low, value)
            total.tree_high = max(total.tree_high, value)
            if is_vector:
                total.tree_margin = max(total.tree_margin, value - leaf[look.own])
    return parts_at if parts_at >= 0 else -1 - nodes[node].leaf


cdef void screen(
    const Forest* forest,
    const Arithmetic* arithmetic,
    const Regions* regions,
    Look* looks,
    int64_t count,
    int64_t* stack,
) noexcept nogil:
    """Bound, for some boxes, the scores and each class's margin over the own class.

    Each look names its box and the own class, and receives the bounds, and where the
    box parts in each tree. A tree is walked for all boxes before the next one, so that
    its nodes are near the processor.
    """
    cdef bint is_vector = arithmetic.rule.is_vector != 0
    cdef int64_t width = arithmetic.n_outputs if is_vector else 1
    cdef int64_t tree, which, column, low, high
    cdef Total* total
    cdef Look* look
    for which in range(count):
        _start(forest, arithmetic, regions, &looks[which])
    for tree in range(forest.n_trees):
        for which in range(count):
            look = &looks[which]
            if look.is_plain:
                look.parts_at[tree] = <int32_t>_walk_plainly(
                    forest, arithmetic, regions, tree, look, stack
                )
            else:
                look.parts_at[tree] = <int32_t>_walk(
                    forest, arithmetic, regions, tree, look, stack
                )
            for column in range(width):
                total = &look.totals[column if is_vector else arithmetic.targets[tree]]
                low = look.totals[column].tree_low
                high = look.totals[column].tree_high
                total.low += low
                total.high += high
                total.mass += largest(low, high)
                total.path += largest(total.low, total.high)
                if is_vector:
                    total.margin += total.tree_margin
    for which in range(count):
        _finish(arithmetic, looks[which].own, looks[which].totals)


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
    if rule.one_score != 0:
        totals[HIGHER].margin = totals[0].high
        totals[LOWER].margin = -totals[0].low
    elif rule.is_vector == 0:
        for rival in range(arithmetic.n_outputs):
            totals[rival].margin = totals[rival].high - totals[own].low
