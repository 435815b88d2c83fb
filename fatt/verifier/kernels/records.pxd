# The records that the kernels work on, and bit sets; see the page of this package.
#
# Those that Python fills (`Node`, `Variable`, `Base`, `Rule`, `Cost`) stand in
# `records.py` once more, as dtypes: `boundary` compares the two when imported.
from libc.math cimport INFINITY, nextafter
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint64_t

from fatt.verifier.kernels.arena cimport Arena

cdef extern from *:
    """
    #include <stdint.h>
    #define FATT_FAR ((int64_t)1 << 62)
    #define FATT_NO_MARGIN (-((int64_t)1 << 62))
    #define FATT_STEPS ((int64_t)1 << 20)
    static inline int64_t fatt_lowest(uint64_t word) {
    #if defined(__GNUC__) || defined(__clang__)
        return __builtin_ctzll(word);
    #else
        int64_t position = 0;
        while (!(word & 1)) { word >>= 1; ++position; }
        return position;
    #endif
    }
    """
    # Margins are far below this, whatever the box.
    const int64_t FAR "FATT_FAR"
    # Less than any margin.
    const int64_t NO_MARGIN "FATT_NO_MARGIN"
    # Prices count costs in so many steps at most.
    const int64_t STEPS "FATT_STEPS"
    const int64_t LEAST "INT64_MIN"
    const int64_t MOST "INT64_MAX"
    # The bits of all domains.
    const uint64_t ALL "UINT64_MAX"
    # The position of the lowest set bit of a word that is not zero.
    int64_t lowest "fatt_lowest"(uint64_t word) noexcept nogil

cdef enum:
    FAIR = 0
    UNFAIR = 1
    UNKNOWN = 2

# Kinds of variables: cells in order, split by rank; or categories, or cells of numbers,
# split by sets.
cdef enum:
    ORDERED = 0
    CODES = 1
    CELLS = 2

# Entries of a node's `alone`.
cdef enum:
    AT_THRESHOLD = -1
    BY_SET = -2

# What a value costs, as in `fatt.region.costs`.
cdef enum:
    FREE = 0
    COUNT = 1
    LINEAR = 2
    SQUARE = 3
    TABLE = 4

# Where a score goes that leaves a person's interval: the rivals of one score.
cdef enum:
    LOWER = 0
    HIGHER = 1

# Links between scores and labels.
cdef enum:
    IDENTITY = 0
    SOFTMAX = 1
    SIGMOID = 2

# To which sides of a split a box may go.
cdef enum:
    LEFT = 1
    RIGHT = 2
    BOTH = 3

# What became of the search for a point at which a rival wins.
cdef enum:
    CLOSED = 0
    FOUND = 1
    STOPPED = 2

# What the library's arithmetic says of a point; a tie cannot be told here.
cdef enum:
    LOSES = 0
    WINS = 1
    TIED = 2

cdef enum:
    # Less than any exponent of a bit: nothing is known to be a whole number of steps.
    NO_STEP = -5000

# Entries of the clock: milliseconds since the start, and whether to stop now. Another
# thread writes them.
cdef enum:
    NOW = 0
    STOP = 1

# ---- What Python fills.

cdef struct Node:
    double threshold
    int32_t feature
    int32_t left
    int32_t split
    int32_t alone
    int32_t leaf
    int32_t missing_left

cdef struct Variable:
    int64_t kind
    int64_t n_cells
    int64_t hole_first
    int64_t hole_last
    int64_t cut_start
    int64_t cut_end
    int64_t width
    int64_t set_start
    int64_t code_start
    int64_t code_end
    int64_t is_whole
    double missing_low
    double missing_high

cdef struct Base:
    double value
    int64_t scaled
    int64_t trailing

cdef struct Rule:
    double divisor
    double link_scale
    double link_divisor
    double flat_low
    double flat_high
    int64_t exponent
    int64_t link
    int64_t depth
    int64_t n_trees
    int64_t single
    int64_t base_last
    int64_t ordered
    int64_t roundings
    int64_t one_score
    int64_t is_vector
    int64_t first

cdef struct Cost:
    double scale
    int64_t kind
    int64_t missing
    int64_t table

# ---- Arrays that Python owns; see the tuples of the same names in `records.py`.

cdef struct Forest:
    const Node* nodes
    const int64_t* roots
    const Variable* variables
    const uint64_t* masks
    const double* cuts
    int64_t n_trees
    int64_t n_variables

cdef struct Arithmetic:
    const double* values
    const int64_t* scaled
    const int64_t* trailing
    const int32_t* targets
    const Base* bases
    const Rule* rule
    const int64_t* labels
    const double* scores
    int64_t n_columns
    int64_t n_outputs
    bint is_tree

# `rule` is NULL if no box has a budget.
cdef struct Spending:
    const int64_t* rule
    const int64_t* most
    const Cost* each
    const int64_t* tables
    const double* people
    const double* lower
    const double* upper
    const uint8_t* missing
    int64_t n_rules

cdef struct Regions:
    const double* people
    const int64_t* label
    const double* below
    const double* above
    const int64_t* start
    const double* lower
    const double* upper
    const uint8_t* missing
    const uint64_t* codes
    Spending spending
    int64_t n_variables
    int64_t n_words

cdef struct Answers:
    int8_t* verdict
    uint8_t* possible
    int64_t* box
    int32_t* first
    int32_t* last
    int64_t* nodes
    int64_t* ties
    int64_t* tie_box
    int32_t* tie_first
    int32_t* tie_last
    int64_t* margin
    int64_t* bound
    double* error
    int64_t n_people
    int64_t n_classes
    int64_t n_kept
    int64_t n_variables

# How long to search, what for, and where the search changes gear; `gears.py` says what
# each gear is. Python hands them over as integers in this order.
cdef struct Limits:
    int64_t nodes
    int64_t time
    int64_t largest
    int64_t screen
    int64_t only_tree
    int64_t move_once
    int64_t local_sweeps
    int64_t restart_at
    int64_t score_cuts
    int64_t dual_after
    int64_t dual_sweeps
    int64_t dual_gain
    int64_t quotes
    int64_t priced_after
    int64_t priced_sweeps
    int64_t room
    int64_t ties

# The nodes of one person; then, over all people, how often the search was in each gear.
# Python takes them as integers in this order.
cdef struct Tally:
    int64_t nodes
    int64_t screened
    int64_t walked
    int64_t moved_once
    int64_t restarted
    int64_t filtered
    int64_t unscored
    int64_t dual_ascents
    int64_t dual_closed
    int64_t grew

# ---- Arrays in the arena.

# What a box allows for one output, in units: the lowest and highest score, the sum of
# the largest absolute partial sums (`path`) and terms (`mass`), the largest margin of
# the class over the own one; and the same of the tree that is being walked.
cdef struct Total:
    double path
    double mass
    int64_t low
    int64_t high
    int64_t margin
    int64_t tree_low
    int64_t tree_high
    int64_t tree_margin

# The first look at a box of somebody of the own class: what it allows for each output,
# the only code of each variable (-1 if there are several), and the node of each tree at
# which the box first goes to both sides, or -1 less the row of the only leaf that it
# reaches. Plain boxes are walked faster.
cdef struct Look:
    Total* totals
    int64_t* only
    int32_t* parts_at
    int64_t box
    int64_t own
    bint is_plain

# An ordered variable's cells in a box: from `first` to `last`, and perhaps missing. Of
# any other variable the only cell, if `first` and `last` are the same.
cdef struct Range:
    int64_t first
    int64_t last
    int64_t missing

# What a variable was before the walk narrowed it, and the least that it cost then.
cdef struct Trail:
    int64_t variable
    int64_t first
    int64_t last
    int64_t missing
    int64_t cost

# A node whose right side the walk has yet to see, and how long the trail was there.
cdef struct Open:
    int64_t node
    int64_t mark

# What one box's person must pay for other cells: the costs of its variables, the box
# and the person as they are, and the budget. While a tree is walked: the least that
# each variable costs in what is left of the box (`now`), and the sum of that. `cell`
# has the cost of each cell of the variables that are split by sets.
cdef struct Tariff:
    const Cost* each
    const int64_t* tables
    const double* people
    const double* lower
    const double* upper
    const uint8_t* missing
    const int64_t* own_cell
    int64_t most
    int64_t spent
    int64_t* now
    int64_t* cell

# A box in rank space, and how far a walk has narrowed it. `tariff` is NULL if nothing
# need be paid.
cdef struct Walk:
    Tariff* tariff
    Range* ranges
    uint64_t* cells
    Trail* trail
    uint64_t* trail_cells
    Open* opened
    int64_t* seen
    int64_t widest
    int64_t depth
    int64_t n_open

# A reached leaf: its row of values, how many of its constraints the point of the local
# search breaks, where its constraints begin, what it adds to the margin, and the
# domains that it constrains, as `bit_of` has them.
cdef struct Leaf:
    int32_t row
    int32_t broken
    int64_t start
    int64_t value
    uint64_t domains

# A constraint of a leaf over cells: a variable and its cells (of an ordered one from
# `first` to `last` and perhaps missing; of others the set that begins at `first`).
cdef struct Condition:
    int64_t variable
    int64_t first
    int64_t last
    int64_t missing

# The same over blocks: the number of the domain, and where the set of its blocks begins
# among the masks. The search reads these all the time, and they are small.
cdef struct Constraint:
    int64_t domain
    int64_t place

# A variable that matters: the variable behind it, the words of a set over its blocks
# and where that begins in a box, where its blocks begin among all, their number,
# whether neighbouring blocks are neighbours, and the block in which the person is.
cdef struct Domain:
    int64_t variable
    int64_t width
    int64_t word_start
    int64_t block_start
    int64_t n_blocks
    int64_t is_ordered
    int64_t own

# The cells of a block: no reached leaf tells them apart.
cdef struct Block:
    int64_t first
    int64_t last

# How much may be spent on blocks, all domains together: the cost of each block, the
# least that each constraint and each leaf asks for, and the most that each domain may
# cost. Of the part that was looked at last: the least that each domain costs, and how
# much is left above that. A price is a margin for a step of 2**shift. Scratch: what
# blocks gain, all trees together (`gain`) and one alone (`mine`), and domains that gain
# something (`moved`).
cdef struct Budget:
    int64_t most
    int64_t* block
    int64_t* asked
    int64_t* leaf
    int64_t* dearest
    int64_t* cheapest
    int64_t left
    int64_t shift
    int64_t price
    int64_t* gain
    int64_t* mine
    int64_t* moved

# The leaves that a box reaches, over domains. Those of tree t stand from
# `tree_start[t]` to before `tree_start[t + 1]`; the constraints of leaf i from
# `leaves[i].start` to before `leaves[i + 1].start`, as do its conditions. Of the active
# trees, whose leaves add different margins, `active` has the leaves, the best of each
# tree first, and `active_start` where each tree's begin. `budget` is NULL if nothing
# need be paid.
cdef struct Problem:
    int64_t* tree_start
    Leaf* leaves
    Condition* conditions
    Constraint* constraints
    uint64_t* cells
    uint64_t* masks
    Domain* domains
    Block* blocks
    Budget* budget
    int64_t n_trees
    int64_t n_leaves
    int64_t n_constraints
    int64_t n_domains
    int64_t n_blocks
    int64_t n_words
    int64_t* active
    int64_t* active_start
    int64_t n_active_trees
    int64_t n_active_leaves

# Tells, of one leaf per tree, if a point wins: `LOSES`, `WINS` or `TIED`. It is handed
# what `asked` of the target points to, of which the search knows nothing.
ctypedef int32_t (*Decide)(
    const void* asked, const Leaf* leaves, const int64_t* chosen
) noexcept nogil

# What the search looks for: a point with a margin from which it possibly wins, and from
# which it certainly does; in between `decide` tells. `constant` is what all margins
# have in common. If the largest margin is wanted, only margins count that are larger by
# `largest` than the largest so far; else it is 0. If `ordered` is 0, one tie rules out
# a proof.
cdef struct Target:
    int64_t constant
    int64_t possible
    int64_t certain
    int64_t largest
    int64_t ordered
    Decide decide
    const void* asked

# Where a constraint's set of blocks is among the masks, and the leaf that has it.
cdef struct Entry:
    int64_t place
    int64_t leaf

# A point that moves, its margin, and the constraints by domain. `gain` is scratch, one
# entry per block of a domain, and one more.
cdef struct Point:
    int64_t* start
    Entry* entries
    int64_t* block
    int64_t* gain
    int64_t margin

# What the margin loses if a variable takes a block, or one up to it, or one beyond it,
# or any other.
cdef struct Loss:
    int64_t at
    int64_t up_to
    int64_t beyond
    int64_t without

# A part of a box: one set of blocks per domain, and the leaves that are alive in it,
# those of each tree together, the best first.
cdef struct Part:
    uint64_t* box
    int64_t* alive
    int64_t* start
    int64_t n_trees

# A tree and a domain that some of its leaves constrain: where its multipliers begin,
# the best of them in the box, and its runs: blocks side by side that no leaf of the
# tree tells apart.
cdef struct Edge:
    int64_t tree
    int64_t domain
    int64_t place
    int64_t best
    int64_t first_run
    int64_t n_runs

# What trees pay each other for blocks; see `dual_ascent`. `run_of` has the run of each
# block of an edge, `run_best` the best multiplier of each run in the box, `run_rest`
# what the tree's best leaf in it is worth without the edge. The set of runs that a
# constraint allows begins at `runs_at` among the words of `runs`. A budget pays and is
# paid as a tree is: `paid` has its multiplier of each block, `priced` the domains that
# have a cost, `price` what a step of cost is worth.
cdef struct Multipliers:
    int64_t* edge_of
    Edge* edges
    int64_t* run_of
    int64_t* run_best
    int64_t* run_rest
    int64_t* runs_at
    uint64_t* runs
    int64_t* by_domain
    int64_t* domain_start
    int64_t* tree_start
    int64_t* multiplier
    int64_t* marginal
    int64_t* part
    int64_t* value
    int64_t* shared
    int64_t limit
    int64_t* paid
    int64_t* priced
    int64_t n_priced
    int64_t price

# One rival and the own class: what `decide_exactly` is asked about. Of one score the
# rivals are its two sides, and `at` is where the side begins.
cdef struct Contest:
    const Arithmetic* arithmetic
    int64_t own
    int64_t rival
    double at

# The walk through one person's boxes: the box in rank space, the first looks, the
# person's cells, the rivals that are still open, the one that is asked about, and what
# other cells cost.
cdef struct Visit:
    Walk walk
    Look* looks
    Look* look
    int64_t n_looks
    int64_t* stack
    int64_t* own_cell
    int64_t* rivals
    int64_t n_classes
    Contest contest
    Tariff tariff

# ---- Pairs of similar people.

# How two people may differ in a variable: not at all; each as they like; or so that a
# cell of the one says which cells the other may have. Of ordered variables these go
# from `low` to `high`, from `start` on, the entry of missing last, and `may_lose` tells
# whether a number may become missing, `may_miss` whether missing may stay so. Of others
# there is a set of cells for each cell, from `start` on among the words of `rows`.
cdef struct Kin:
    int64_t moves
    int64_t is_free
    int64_t start
    int64_t may_lose
    int64_t may_miss

# What one of two people must have: a rival that wins over the own class. `value` has
# what each leaf adds to the margin of the rival at that person. In between `possible`
# and `certain` the library's own arithmetic tells.
cdef struct Demand:
    const int64_t* value
    int64_t constant
    int64_t possible
    int64_t certain
    int64_t person
    Contest contest

# What a library makes of scores, in steps: a score in units up to `edges[i]`, and above
# the edge before, gives at least `least[i]` and at most `most[i]`. The last entry is
# for all scores above the last edge.
cdef struct Steps:
    const int64_t* edges
    const int64_t* least
    const int64_t* most
    int64_t n_edges

# What a pair must have besides a margin: all demands; or, if there are steps, a gap
# between the two scores, of which the first demand has the lower one, with the sign
# changed, and the second the higher one. It perhaps has it if it may be `gap`, and
# certainly if it is at least `sure`. `rows` has the rows of both
# people for each leaf; `stands` is room for one person's, `each` for their numbers.
# `bound` is the largest gap that the part may have that `narrow` saw last, or how far
# the worst of its sums is from what is demanded.
cdef struct Sides:
    Demand* demands
    int64_t n_demands
    Steps steps
    int64_t gap
    int64_t sure
    int64_t bound
    const int32_t* rows
    Leaf* stands
    int64_t* each
    int64_t n_trees
    int64_t is_linked

# A search that is stopped and goes on later: the part of the box to look at, and then,
# of all that it left open, the boxes and their bounds.
cdef struct Frontier:
    const uint64_t* box
    uint64_t* boxes
    int64_t* bounds
    int64_t n_open

# One search, for any problem and target: where it stands, the points that could not be
# told, of at most so many domains, and how far it may go. Made
# once per call, as a visit is, and used again for every box. `sides` and `frontier` are
# NULL unless pairs are searched.
cdef struct Search:
    Arena* arena
    Problem problem
    Budget budget
    Target target
    Point point
    Multipliers multipliers
    int64_t* chosen
    int64_t* tied
    int64_t most_domains
    int64_t n_ties
    Limits limits
    Tally* tally
    const volatile int64_t* clock
    Sides* sides
    Frontier* frontier


# ---- Bit sets in words of 64 bits, at an offset of a flat array.

cdef inline bint has(
    const uint64_t* words, int64_t start, int64_t member
) noexcept nogil:
    """Tell whether a set holds a member."""
    return (words[start + (member >> 6)] >> (member & 63)) & 1 != 0


cdef inline void add(uint64_t* words, int64_t start, int64_t member) noexcept nogil:
    """Put a member into a set."""
    words[start + (member >> 6)] |= <uint64_t>1 << (member & 63)


cdef inline void remove(uint64_t* words, int64_t start, int64_t member) noexcept nogil:
    """Take a member out of a set."""
    words[start + (member >> 6)] &= ~(<uint64_t>1 << (member & 63))


cdef inline uint64_t bit_of(int64_t domain) noexcept nogil:
    """Return the bit of a domain in one word; beyond 64 of them, some share it."""
    return <uint64_t>1 << (domain & 63)


cdef inline void add_range(
    uint64_t* words, int64_t start, int64_t first, int64_t last
) noexcept nogil:
    """Put the members from `first` to `last` into a set, a word at a time."""
    cdef int64_t place = first >> 6, end = last >> 6
    cdef uint64_t word = ~<uint64_t>0 << (first & 63)
    if first > last:
        return
    while place < end:
        words[start + place] |= word
        word = ~<uint64_t>0
        place += 1
    words[start + end] |= word & (~<uint64_t>0 >> (63 - (last & 63)))


cdef inline bint meets(
    const uint64_t* left,
    int64_t left_start,
    const uint64_t* right,
    int64_t right_start,
    int64_t width,
) noexcept nogil:
    """Tell whether two sets have a common member."""
    cdef int64_t offset
    for offset in range(width):
        if left[left_start + offset] & right[right_start + offset] != 0:
            return True
    return False


cdef inline bint within(
    const uint64_t* left,
    int64_t left_start,
    const uint64_t* right,
    int64_t right_start,
    int64_t width,
) noexcept nogil:
    """Tell whether the right set has all members of the left one."""
    cdef int64_t offset
    for offset in range(width):
        if left[left_start + offset] & ~right[right_start + offset] != 0:
            return False
    return True


cdef inline int64_t first_from(
    const uint64_t* words, int64_t start, int64_t width, int64_t member
) noexcept nogil:
    """Return the smallest member that is at least `member`; -1 if there is none."""
    cdef int64_t place = member >> 6, following
    cdef uint64_t word
    if place >= width:
        return -1
    word = words[start + place] >> (member & 63)
    if word != 0:
        return member + lowest(word)
    for following in range(place + 1, width):
        word = words[start + following]
        if word != 0:
            return following * 64 + lowest(word)
    return -1


# ---- Small functions that are compiled into their callers.

cdef inline int64_t rank_of(
    const double* cuts, int64_t begin, int64_t end, double number
) noexcept nogil:
    """Return the cell of a number among the cuts from `begin` to before `end`."""
    cdef int64_t low = begin, high = end, middle
    while low < high:
        middle = (low + high) >> 1
        if number <= cuts[middle]:
            high = middle
        else:
            low = middle + 1
    return low - begin


cdef inline double smallest_of(
    const double* cuts, const Variable* variable, int64_t cell
) noexcept nogil:
    """Return the smallest number of a cell."""
    cdef double below, after
    if cell == 0:
        return -INFINITY
    below = cuts[min(variable.cut_start + cell, variable.cut_end) - 1]
    after = nextafter(below, INFINITY)
    # Of integers the cuts are whole, and the next number is the next whole one.
    return max(after, below + 1.0) if variable.is_whole != 0 else after


cdef inline double largest_of(
    const double* cuts, const Variable* variable, int64_t cell
) noexcept nogil:
    """Return the largest number of a cell."""
    cdef int64_t end = variable.cut_start + cell
    return cuts[end] if end < variable.cut_end else INFINITY


cdef inline int32_t side_of(
    const Node* node, const uint64_t* masks, int64_t code
) noexcept nogil:
    """Tell to which side of a set split a category goes."""
    cdef int32_t is_right
    if node.alone >= 0:
        # One look at the node is enough; its set lies somewhere else in memory.
        is_right = node.alone & 1
        return LEFT + is_right if code == node.alone >> 1 else RIGHT - is_right
    return LEFT if has(masks, node.split, code) else RIGHT


cdef inline int64_t absolute(int64_t number) noexcept nogil:
    """Return the absolute value; Cython's `abs` of an integer is a Python call."""
    return -number if number < 0 else number


cdef inline int64_t largest(int64_t one, int64_t other) noexcept nogil:
    """Return the larger of two absolute values."""
    return max(absolute(one), absolute(other))


cdef inline void copy_integers(
    const int64_t* source, int64_t* target, int64_t count
) noexcept nogil:
    cdef int64_t place
    for place in range(count):
        target[place] = source[place]


cdef inline void copy_words(
    const uint64_t* source, uint64_t* target, int64_t count
) noexcept nogil:
    cdef int64_t place
    for place in range(count):
        target[place] = source[place]
