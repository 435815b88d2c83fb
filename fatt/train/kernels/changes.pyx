"""What a tree is worth after every change at one of its nodes.

With the rest of the tree as it is, one pass over people and boxes adds up, by rank or
by category, what every split of a family would change. The sums are exact, because all
numbers are whole.
"""

from libc.stdint cimport INT64_MIN, int32_t, int64_t, uint8_t, uint16_t, uint64_t
from libc.string cimport memset

from fatt.ensemble.arrays cimport n_columns_of
from fatt.train.kernels.around cimport (
    Around,
    HERE,
    labels_in,
    look_around,
    N_SUBTREES,
    worth_in,
)
from fatt.train.kernels.boundary cimport (
    check_places,
    flags_of,
    numbers_of,
    read_ranks,
    read_rows,
    read_tree,
    results_of,
    sets_of,
)
from fatt.train.kernels.records cimport (
    BOTH,
    INSIDE,
    is_member,
    joined,
    N_RANKS,
    OUTSIDE,
    Ranks,
    Rows,
    SEVERAL,
    Tree,
    what_reaches,
)
from fatt.verifier.kernels.arena cimport (
    Arena,
    back_to,
    close_arena,
    integers,
    mark,
    Mark,
    open_arena,
    take,
    words,
)

#: The score of what is not allowed.
NEVER = INT64_MIN


cdef int64_t _score_alone(const Around* around, int64_t part) noexcept nogil:
    """Return what the tree is worth with one part at the node."""
    cdef int64_t place, number, total = around.rest
    cdef int32_t labels
    for place in range(around.n_here):
        total += worth_in(around, part, around.here[place])
    for number in range(around.n_near):
        labels = around.elsewhere[number]
        for place in range(around.start[number], around.start[number + 1]):
            labels = joined(labels, labels_in(around, part, place))
        if labels == SEVERAL:
            total -= around.unfair[around.near[number]]
    return total


# The only box of a person at the node, and what it costs, by the sides of a split that
# it reaches.
cdef struct Alone:
    int64_t box
    int64_t cost[BOTH + 1]


# A person for whom it makes a difference to be inside, and how much the tree gains by
# that: by what their label is worth; and in families that no box crosses, where the box
# is on their own side, also by what it costs. Exchanged, it loses as much.
cdef struct Moved:
    int64_t person
    int64_t gain
    int64_t still_gain


# How two parts do on the two sides of any split, and how they do exchanged. Of each
# two numbers the second is for the exchanged ones.
cdef struct Pair:
    int64_t inner[2]
    int64_t outer[2]
    # What it is worth if all people were outside.
    int64_t base[2]
    int64_t n_moved
    Moved* moved
    # The boxes of people who have one here, if they matter.
    int64_t n_alone
    Alone* alone
    # The people who have several boxes here.
    int64_t n_many
    int64_t* many


# What is added up by the ranks of all families, row after row of `Rows`.
cdef struct Sums:
    # Where each row begins, and room for all.
    int64_t* first
    int64_t size
    # What is gained inside from a rank on; exchanged, it is lost.
    int64_t* gain
    # What boxes cost more from a rank on, for both ways.
    int64_t* cost


cdef inline int64_t _exchanged(int64_t reached) noexcept nogil:
    """Return what a box reaches of a split if inside and outside change places."""
    return reached if reached == BOTH else BOTH - reached


cdef int _make_pair(const Around* around, Arena* arena, Pair* pair) except -1 nogil:
    """Work out what does not depend on the split."""
    cdef int64_t place = 0, number, at, person, cost
    cdef int32_t labels, within, without
    cdef Alone* one
    pair.base[0] = pair.base[1] = around.rest
    pair.moved = <Moved*>take(arena, around.n_here + around.n_near + 1, sizeof(Moved))
    pair.alone = <Alone*>take(arena, around.n_near + 1, sizeof(Alone))
    pair.many = integers(arena, around.n_near)
    pair.n_moved = pair.n_alone = pair.n_many = 0
    for number in range(around.n_near):
        # Both lists are in order.
        while place < around.n_here and around.here[place] <= around.near[number]:
            _add_person(around, pair, around.here[place])
            place += 1
        at = around.start[number]
        if around.start[number + 1] - at > 1:
            pair.many[pair.n_many] = number
            pair.n_many += 1
            continue
        person = around.near[number]
        cost, labels = around.unfair[person], around.elsewhere[number]
        within = joined(labels, labels_in(around, pair.inner[0], at))
        without = joined(labels, labels_in(around, pair.outer[0], at))
        if joined(within, without) != SEVERAL:
            continue
        one = pair.alone + pair.n_alone
        one.box = around.box[at]
        one.cost[0], one.cost[BOTH] = 0, cost
        one.cost[INSIDE] = cost if within == SEVERAL else 0
        one.cost[OUTSIDE] = cost if without == SEVERAL else 0
        pair.base[0] -= one.cost[OUTSIDE]
        pair.base[1] -= one.cost[INSIDE]
        if within == SEVERAL and without == SEVERAL:
            # A person treated unfairly on both sides is so at every split.
            continue
        pair.n_alone += 1
        if one.cost[OUTSIDE] == one.cost[INSIDE]:
            continue
        if pair.n_moved == 0 or pair.moved[pair.n_moved - 1].person != person:
            pair.moved[pair.n_moved].person = person
            pair.moved[pair.n_moved].gain = pair.moved[pair.n_moved].still_gain = 0
            pair.n_moved += 1
        pair.moved[pair.n_moved - 1].still_gain += one.cost[OUTSIDE] - one.cost[INSIDE]
    while place < around.n_here:
        _add_person(around, pair, around.here[place])
        place += 1
    return 0


cdef inline void _add_person(
    const Around* around, Pair* pair, int64_t person
) noexcept nogil:
    """Add a person who is here to those for whom it may make a difference."""
    cdef int64_t inner = worth_in(around, pair.inner[0], person)
    cdef int64_t outer = worth_in(around, pair.outer[0], person)
    cdef Moved* one = pair.moved + pair.n_moved
    pair.base[0] += outer
    pair.base[1] += inner
    one.person, one.gain = person, inner - outer
    one.still_gain = one.gain
    pair.n_moved += inner != outer


cdef int64_t _cost(
    const Around* around,
    const Pair* pair,
    int64_t way,
    int64_t number,
    int64_t family,
    int64_t place,
) noexcept nogil:
    """Return what a person costs at one split; -1 means before the first."""
    cdef const Ranks* ranks = around.ranks
    cdef int32_t labels = around.elsewhere[number]
    cdef int64_t at, reached
    for at in range(around.start[number], around.start[number + 1]):
        if ranks.row[family] >= 0 and place < 0:
            reached = ranks.low[family * ranks.n_boxes + around.box[at]]
        else:
            reached = what_reaches(ranks, family, place, around.box[at])
        if reached & INSIDE:
            labels = joined(labels, labels_in(around, pair.inner[way], at))
        if reached & OUTSIDE:
            labels = joined(labels, labels_in(around, pair.outer[way], at))
    return around.unfair[around.near[number]] if labels == SEVERAL else 0


cdef void _add_people(
    const Rows* rows, const Pair* pair, Sums* sums
) noexcept nogil:
    """Add up by rank what people gain, in all families at once."""
    # All that stays the same is named: what is added up may lie anywhere, for all that
    # the compiler knows.
    cdef int64_t place, row, gain, still_gain
    cdef int64_t n_rows = rows.n_rows, n_still = rows.n_still
    cdef const int64_t* first = sums.first
    cdef int64_t* total = sums.gain
    cdef const uint16_t* own
    for place in range(pair.n_moved):
        gain, still_gain = pair.moved[place].gain, pair.moved[place].still_gain
        own = rows.own + pair.moved[place].person * n_rows
        for row in range(n_still):
            total[first[row] + own[row]] += still_gain
        for row in range(n_still, n_rows):
            total[first[row] + own[row]] += gain


cdef void _add_boxes(const Rows* rows, const Pair* pair, Sums* sums) noexcept nogil:
    """Add up by rank what boxes cost along the chains that some box crosses."""
    cdef int64_t place, row, n_crossed = rows.n_crossed
    cdef const int64_t* first = sums.first + rows.n_still
    cdef int64_t* cost = sums.cost
    cdef const uint16_t* ends
    cdef const Alone* one
    cdef int64_t* low
    cdef int64_t* high
    cdef int64_t more, less
    for place in range(pair.n_alone):
        one = pair.alone + place
        ends = rows.ends + 2 * one.box * n_crossed
        # By reaching the other side too, the one way and exchanged.
        more = one.cost[BOTH] - one.cost[OUTSIDE]
        less = one.cost[BOTH] - one.cost[INSIDE]
        for row in range(n_crossed):
            low = cost + 2 * (first[row] + ends[2 * row])
            high = cost + 2 * (first[row] + ends[2 * row + 1])
            low[0] += more
            low[1] += less
            high[0] -= less
            high[1] -= more


cdef void _add_many_in_chain(
    const Around* around,
    const Pair* pair,
    int64_t family,
    int64_t* costs,
    int64_t* base,
) noexcept nogil:
    """Add up what people with several boxes cost along a chain."""
    cdef const uint16_t* low = around.ranks.low + family * around.ranks.n_boxes
    cdef const uint16_t* high = around.ranks.high + family * around.ranks.n_boxes
    cdef int64_t place, number, at, rank, following, before, after, way
    for place in range(2 * pair.n_many):
        number, way = pair.many[place // 2], place % 2
        before = _cost(around, pair, way, number, family, -1)
        base[way] -= before
        rank = -1
        while True:
            # The next rank where anything changes.
            following = N_RANKS
            for at in range(around.start[number], around.start[number + 1]):
                if rank < low[around.box[at]] < following:
                    following = low[around.box[at]]
                if rank < high[around.box[at]] < following:
                    following = high[around.box[at]]
            if following == N_RANKS:
                break
            rank = following
            after = _cost(around, pair, way, number, family, rank)
            costs[2 * rank + way] += after - before
            before = after


cdef void _add_singles(
    const Around* around,
    const Pair* pair,
    int64_t family,
    int64_t* costs,
    int64_t* base,
) noexcept nogil:
    """Add up by category what boxes cost there, and what they cost elsewhere."""
    cdef const Ranks* ranks = around.ranks
    cdef const uint16_t* low = ranks.low + family * ranks.n_boxes
    cdef const uint16_t* high = ranks.high + family * ranks.n_boxes
    cdef const int64_t* first = (
        ranks.member_start + ranks.row[family] * (ranks.n_boxes + 1)
    )
    cdef int64_t place, member
    cdef int64_t more[2]
    cdef const Alone* one
    for place in range(pair.n_alone):
        one = pair.alone + place
        base[0] -= one.cost[low[one.box]] - one.cost[OUTSIDE]
        base[1] -= one.cost[_exchanged(low[one.box])] - one.cost[INSIDE]
        if low[one.box] == high[one.box]:
            continue
        more[0] = one.cost[high[one.box]] - one.cost[low[one.box]]
        more[1] = one.cost[_exchanged(high[one.box])]
        more[1] -= one.cost[_exchanged(low[one.box])]
        for member in range(first[one.box], first[one.box + 1]):
            costs[2 * ranks.members[member]] += more[0]
            costs[2 * ranks.members[member] + 1] += more[1]


cdef void _add_many_among_singles(
    const Around* around,
    const Pair* pair,
    int64_t family,
    int64_t* costs,
    int64_t* base,
) noexcept nogil:
    """Add up by category what people with several boxes cost there, and elsewhere."""
    cdef const Ranks* ranks = around.ranks
    cdef const int64_t* first = (
        ranks.member_start + ranks.row[family] * (ranks.n_boxes + 1)
    )
    cdef int64_t place, box, number, at, other, member, single, usual, way
    cdef bint seen
    for place in range(2 * pair.n_many):
        number, way = pair.many[place // 2], place % 2
        usual = _cost(around, pair, way, number, family, -1)
        base[way] -= usual
        for at in range(around.start[number], around.start[number + 1]):
            box = around.box[at]
            for member in range(first[box], first[box + 1]):
                single, seen = ranks.members[member], False
                for other in range(around.start[number], at):
                    if is_member(ranks, ranks.row[family], around.box[other], single):
                        seen = True
                if not seen:
                    costs[2 * single + way] += (
                        _cost(around, pair, way, number, family, single) - usual
                    )


cdef void _score_pair(
    const Around* around, const Pair* pair, Sums* sums, int64_t** scores
) noexcept nogil:
    """Tell what the tree is worth with each split at the node, and two parts below.

    `scores` receives it for both ways, unless it is NULL.
    """
    cdef const Ranks* ranks = around.ranks
    cdef const Rows* rows = around.rows
    cdef int64_t row, family, place, size, way, sign
    cdef int64_t base[2]
    cdef int64_t* gain
    cdef int64_t* cost
    cdef int64_t total
    memset(sums.gain, 0, <size_t>sums.size * sizeof(int64_t))
    memset(sums.cost, 0, <size_t>(2 * sums.size) * sizeof(int64_t))
    _add_people(rows, pair, sums)
    _add_boxes(rows, pair, sums)
    for row in range(rows.n_rows):
        family = rows.order[row]
        size = ranks.start[family + 1] - ranks.start[family]
        gain, cost = sums.gain + sums.first[row], sums.cost + 2 * sums.first[row]
        base[0], base[1] = pair.base[0], pair.base[1]
        if ranks.row[family] < 0:
            if pair.n_many > 0:
                _add_many_in_chain(around, pair, family, cost, base)
        else:
            # Some are inside at every split.
            base[0] += gain[size + 1]
            base[1] -= gain[size + 1]
            if row >= rows.n_still:
                _add_singles(around, pair, family, cost, base)
            if pair.n_many > 0:
                _add_many_among_singles(around, pair, family, cost, base)
        for way in range(2):
            if scores[way] == NULL:
                continue
            sign, total = 1 - 2 * way, base[way]
            for place in range(size):
                if ranks.row[family] < 0:
                    total += sign * gain[place] - cost[2 * place + way]
                    scores[way][ranks.start[family] + place] = total
                else:
                    scores[way][ranks.start[family] + place] = (
                        total + sign * gain[place] - cost[2 * place + way]
                    )


cdef void _forbid_small(
    const Around* around,
    int64_t min_leaf,
    Sums* sums,
    int64_t* scores,
    int64_t n_pairs,
) noexcept nogil:
    """Put `NEVER` where too few people are on a side."""
    cdef const Ranks* ranks = around.ranks
    cdef const Rows* rows = around.rows
    cdef int64_t place, row, family, size, inside, total, number
    cdef int64_t n_rows = rows.n_rows
    cdef const int64_t* first = sums.first
    cdef const uint16_t* own
    cdef int64_t* counts = sums.gain
    cdef const int64_t* count
    memset(counts, 0, <size_t>sums.size * sizeof(int64_t))
    for place in range(around.n_here):
        own = rows.own + around.here[place] * n_rows
        for row in range(n_rows):
            counts[first[row] + own[row]] += 1
    for row in range(n_rows):
        family = rows.order[row]
        size = ranks.start[family + 1] - ranks.start[family]
        count, total = counts + first[row], 0
        for place in range(size):
            total += count[place]
            inside = total
            if ranks.row[family] >= 0:
                inside = count[place] + count[size + 1]
            if inside < min_leaf or around.n_here - inside < min_leaf:
                for number in range(n_pairs):
                    scores[
                        number * ranks.n_splits + ranks.start[family] + place
                    ] = INT64_MIN


cdef int _make_room(const Around* around, Arena* arena, Sums* sums) except -1 nogil:
    """Take memory for sums by rank."""
    cdef const Ranks* ranks = around.ranks
    cdef int64_t row, family
    sums.first = integers(arena, around.rows.n_rows)
    sums.size = 0
    for row in range(around.rows.n_rows):
        family = around.rows.order[row]
        sums.first[row] = sums.size
        # One more each for people who are inside nowhere, and everywhere.
        sums.size += ranks.start[family + 1] - ranks.start[family] + 2
    # Whatever ranks there are, they do not lead beyond.
    sums.gain = integers(arena, sums.size + N_RANKS)
    sums.cost = integers(arena, 2 * (sums.size + N_RANKS))
    return 0


def score_changes(
    ranks,
    rows,
    traced,
    int64_t node,
    pairs,
    worth,
    unfair,
    int64_t min_leaf,
    alone,
    scores,
):
    """Tell what a tree is worth after every change at one node.

    What may stand at the node, or on either side of a split there, are parts: a leaf of
    each class, then the left and the right subtree that are there, then both together
    as they are.

    Parameters
    ----------
    ranks
        As in `send_people`.
    rows
        The same ranks person by person; see `fatt.train.ranks.Rows`.
    traced
        A tree, and what `send_people` and `send_boxes` tell of it; see
        `fatt.train.training_set.Traced`.
    node
        Where the tree is changed.
    pairs : ndarray of int64, of shape (n_pairs, 2)
        The parts inside and outside of a new split.
    worth : ndarray of int64, of shape (n_people, n_classes)
        What each label is worth to each person.
    unfair : ndarray of int64, of shape (n_people,)
        What it costs to be unfair to each person.
    min_leaf
        Smallest number of people on each side of a new split.
    alone : ndarray of int64, of shape (n_classes + 3,)
        Receives what the tree is worth with each part at the node; `NEVER` for subtrees
        of a leaf. The last is what it is worth as it is.
    scores : ndarray of int64, of shape (n_pairs, n_splits)
        Receives what it is worth with each split and pair there; `NEVER` where too few
        people are on a side.
    """
    cdef Ranks mine
    cdef Rows my_rows
    cdef Tree my_tree
    cdef Around around
    cdef Sums sums
    cdef Pair pair
    cdef Arena arena
    cdef Mark before
    cdef int64_t n_classes = n_columns_of(worth, "worth"), n_pairs = len(pairs)
    cdef int64_t n_parts = n_classes + N_SUBTREES, first, number, other, place, part
    cdef const int64_t* my_pairs
    cdef const int64_t* my_leaf
    cdef const uint64_t* my_reached
    cdef const uint8_t* my_unfair
    cdef int64_t* my_alone
    cdef int64_t* my_scores
    cdef int64_t* ways[2]
    cdef uint64_t* is_scored
    tree, leaf = traced.tree, traced.leaf
    reached, is_unfair = traced.reached, traced.unfair
    read_ranks(ranks, &mine)
    read_rows(rows, &mine, &my_rows)
    around.ranks, around.rows, around.tree = &mine, &my_rows, &my_tree
    around.worth = numbers_of(worth, (mine.n_people, n_classes), "worth")
    around.unfair = numbers_of(unfair, (mine.n_people,), "unfair")
    my_pairs = numbers_of(pairs, (n_pairs, 2), "pairs")
    my_leaf = numbers_of(leaf, (mine.n_people,), "leaf")
    my_unfair = flags_of(is_unfair, (mine.n_people,), False, "is_unfair")
    my_alone = results_of(alone, (n_parts,), "alone")
    my_scores = results_of(scores, (n_pairs, mine.n_splits), "scores")
    check_places(my_pairs, 2 * n_pairs, n_parts)
    open_arena(&arena)
    try:
        read_tree(tree, mine.n_splits, n_classes, &arena, &my_tree)
        check_places(my_leaf, mine.n_people, my_tree.n_leaves)
        my_reached = sets_of(
            reached, (mine.n_boxes, my_tree.n_words), False, "reached"
        )
        if not 0 <= node < my_tree.size:
            raise ValueError(f"the tree has no node {node}")
        first = 0 if my_tree.codes[node] >= 0 else HERE
        for place in range(2 * n_pairs):
            if n_classes <= my_pairs[place] < n_classes + first:
                raise ValueError("a leaf has no subtrees")
        with nogil:
            look_around(&around, node, my_leaf, my_reached, my_unfair, &arena)
            for part in range(n_parts):
                if n_classes <= part < n_classes + first:
                    my_alone[part] = INT64_MIN
                else:
                    my_alone[part] = _score_alone(&around, part)
            _make_room(&around, &arena, &sums)
            is_scored = words(&arena, n_pairs)
            before = mark(&arena)
            for number in range(n_pairs):
                if is_scored[number]:
                    continue
                pair.inner[0] = pair.outer[1] = my_pairs[2 * number]
                pair.outer[0] = pair.inner[1] = my_pairs[2 * number + 1]
                ways[0], ways[1] = my_scores + number * mine.n_splits, NULL
                # Exchanged, two parts are scored at the same time.
                for other in range(number + 1, n_pairs):
                    if (
                        my_pairs[2 * other] == pair.inner[1]
                        and my_pairs[2 * other + 1] == pair.outer[1]
                    ):
                        ways[1] = my_scores + other * mine.n_splits
                        is_scored[other] = 1
                        break
                back_to(&arena, before)
                _make_pair(&around, &arena, &pair)
                _score_pair(&around, &pair, &sums, ways)
            _forbid_small(&around, min_leaf, &sums, my_scores, n_pairs)
    finally:
        close_arena(&arena)
