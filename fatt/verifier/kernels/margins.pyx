"""The margin of a rival class over the own class, and how much of it is needed to win.

All margins are in units of ``2**-exponent``. The error of a sum in floats is at most
the unit roundoff times the sum of the absolute partial results (Higham, Accuracy and
Stability of Numerical Algorithms, section 4.2); in any order, at most about n times the
unit roundoff times the sum of the absolute terms. Only between the margin from which
the rival possibly wins and that from which it certainly does, the library's own
arithmetic must be repeated.
"""

from libc.math cimport INFINITY, exp, fabs, floor, ldexp
from libc.stdint cimport int32_t, int64_t

from fatt.verifier.kernels.arena cimport integers
from fatt.verifier.kernels.records cimport (
    FAR,
    HIGHER,
    IDENTITY,
    LOSES,
    SIGMOID,
    SOFTMAX,
    TIED,
    WINS,
    Arithmetic,
    Base,
    Contest,
    Leaf,
    Problem,
    Rule,
    Search,
    Target,
    Total,
    largest,
)

cdef extern from *:
    """
    /* Pays for the roundings of the bounds themselves. */
    #define FATT_SLACK 1.0625
    /* The unit roundoffs of float32 and float64. */
    #define FATT_SINGLE_UNIT 0x1p-24
    #define FATT_DOUBLE_UNIT 0x1p-53
    """
    const double SLACK "FATT_SLACK"
    const double SINGLE_UNIT "FATT_SINGLE_UNIT"
    const double DOUBLE_UNIT "FATT_DOUBLE_UNIT"


# ---- Thresholds: how much the library's sums may round.

cdef inline double _unit_of(const Rule* rule) noexcept nogil:
    """Return the unit roundoff of the library's sums."""
    return SINGLE_UNIT if rule.single != 0 else DOUBLE_UNIT


cdef double _sum_error(
    const Rule* rule, const Total* total, int64_t trailing
) noexcept nogil:
    """Bound the error of one score before any division, in units.

    `trailing` is the exponent of the last bit of any term.
    """
    cdef bint is_whole = trailing + rule.exponent >= 0
    cdef double step, unit, rounded, terms
    terms = <double>(rule.n_trees + 2 + rule.roundings)
    if is_whole and rule.roundings == 0:
        step = ldexp(1.0, <int32_t>(trailing + rule.exponent))
        # All partial sums are multiples of the step, and small enough to be floats.
        if total.mass * SLACK <= ldexp(step, 24 if rule.single != 0 else 53):
            return 0.0
    unit = _unit_of(rule)
    if terms * unit > 0.03125:
        return INFINITY
    rounded = 0.0 if is_whole else terms
    if rule.ordered != 0:
        return SLACK * unit * (total.path + terms * rounded) + rounded
    return 2 * SLACK * terms * unit * (total.mass + rounded) + rounded


cdef inline double _largest(const Total* total) noexcept nogil:
    return <double>largest(total.low, total.high)


cdef double _division_error(const Rule* rule, double most) noexcept nogil:
    """Bound what the divisions round, in units before the division."""
    cdef int32_t divisions = (rule.divisor != 1.0) + (rule.link_divisor != 1.0)
    # The smallest floats have an absolute error instead of a relative one.
    cdef int64_t smallest = rule.exponent - (149 if rule.single != 0 else 1074)
    cdef double least = ldexp(rule.divisor * rule.link_divisor, <int32_t>smallest)
    return divisions * (2 * SLACK * _unit_of(rule) * most + least)


cdef double score_error(
    const Rule* rule, const Total* total, int64_t trailing
) noexcept nogil:
    """Bound how far the library's score is from the true sum, in units."""
    cdef double most = _largest(total)
    return _sum_error(rule, total, trailing) + _division_error(rule, most)


cdef double _link_error(const Rule* rule, double most) noexcept nogil:
    """Bound the margin, in units, that the link may round to nothing."""
    cdef double divisor, merged, reach
    if rule.link == IDENTITY:
        return 0.0
    divisor = fabs(rule.divisor * rule.link_divisor)
    merged = 32 * _unit_of(rule)
    if rule.link == SIGMOID:
        reach = fabs(rule.link_scale) * ldexp(most, <int32_t>-rule.exponent) / divisor
        if reach > 30:
            return INFINITY
        merged = 64 * DOUBLE_UNIT * exp(reach * SLACK) / fabs(rule.link_scale)
    return ldexp(merged * divisor * SLACK, <int32_t>rule.exponent)


cdef inline int64_t _to_units(double number) noexcept nogil:
    """Round down to an integer, far away numbers to the same far integer."""
    cdef double far = <double>FAR
    if number != number:
        # An infinite cut less an infinite error: no margin reaches such a cut.
        return FAR
    return <int64_t>floor(min(max(number, -far), far))


cdef inline bint _wins_ties(
    const Rule* rule, int64_t own, int64_t rival
) noexcept nogil:
    """Tell whether the rival wins over the own class when both are equal."""
    return rival < own if rule.first != 0 else rival > own


cdef Thresholds thresholds(
    const Rule* rule,
    const Total* totals,
    int64_t own,
    int64_t rival,
    double at,
    int64_t trailing,
) noexcept nogil:
    """Return the margins from which the rival possibly and certainly wins.

    `totals` is what the box allows for each output, `trailing` the exponent of the last
    bit of any term; `at` is where the side begins that is the rival of one score.
    """
    cdef Thresholds needed
    cdef double error, more, most
    if rule.one_score != 0:
        return _thresholds_of_side(rule, &totals[0], rival, at, trailing)
    error = _sum_error(rule, &totals[own], trailing)
    error += _sum_error(rule, &totals[rival], trailing)
    most = max(_largest(&totals[own]), _largest(&totals[rival]))
    more = 2 * _division_error(rule, most) + _link_error(rule, most)
    if error == 0 and more < ldexp(1.0, <int32_t>(trailing + rule.exponent)):
        # Margins are multiples of this step: either a tie, or beyond any rounding.
        needed.possible = 0 if _wins_ties(rule, own, rival) else 1
        needed.certain = needed.possible
        return needed
    needed.possible = _to_units(-(error + more)) - 1
    needed.certain = _to_units(error + more) + 2
    return needed


cdef Thresholds _thresholds_of_side(
    const Rule* rule, const Total* total, int64_t side, double at, int64_t trailing
) noexcept nogil:
    """As `thresholds`: a higher score is at least `at`, a lower one is less."""
    cdef Thresholds needed
    cdef double error = _sum_error(rule, total, trailing)
    cdef double units = ldexp(at * rule.divisor, <int32_t>rule.exponent)
    cdef bint is_exact = (
        rule.divisor == 1.0 and ldexp(units, <int32_t>-rule.exponent) == at
    )
    if error == 0 and is_exact:
        needed.possible = (
            -_to_units(-units) if side == HIGHER else _to_units(-units) + 1
        )
        needed.certain = needed.possible
        return needed
    error += _division_error(rule, _largest(total)) + 4 * DOUBLE_UNIT * fabs(units) + 1
    if side != HIGHER:
        units = -units
    needed.possible = _to_units(units - error) - 1
    needed.certain = _to_units(units + error) + 2
    return needed


# ---- The question to one rival.

cdef inline int64_t _margin_of_leaf(
    const Arithmetic* arithmetic, int64_t target, int64_t row, int64_t own, int64_t
    rival
) noexcept nogil:
    """Return what a leaf adds to the margin of the rival."""
    cdef const int64_t* scaled = arithmetic.scaled + row * arithmetic.n_columns
    if arithmetic.rule.one_score != 0:
        return scaled[0] if rival == HIGHER else -scaled[0]
    if arithmetic.rule.is_vector != 0:
        return scaled[rival] - scaled[own]
    if target == rival:
        return scaled[0]
    return -scaled[0] if target == own else 0


cdef inline bint _adds_same(
    const Arithmetic* arithmetic,
    int64_t target,
    int64_t one_row,
    int64_t other_row,
    int64_t own,
    int64_t rival,
) noexcept nogil:
    """Tell whether two leaves add the same floats to both classes."""
    cdef const double* one = arithmetic.values + one_row * arithmetic.n_columns
    cdef const double* other = arithmetic.values + other_row * arithmetic.n_columns
    if arithmetic.rule.is_vector != 0:
        return one[own] == other[own] and one[rival] == other[rival]
    if arithmetic.rule.one_score == 0 and target != own and target != rival:
        return True
    return one[0] == other[0]


cdef void _sort(
    const Leaf* leaves, int64_t first, int64_t last, int64_t* order
) noexcept nogil:
    """Write the leaves from `first` to before `last` into `order`, the best first.

    A shell sort; of equal leaves the first comes first, whatever the gaps.
    """
    cdef int64_t count = last - first, gap = 1
    cdef int64_t offset, leaf, value, place, other, better
    for offset in range(count):
        order[offset] = first + offset
    while 3 * gap < count:
        gap = 3 * gap + 1
    while gap > 0:
        for offset in range(gap, count):
            leaf = order[offset]
            value = leaves[leaf].value
            place = offset
            while place >= gap:
                other = order[place - gap]
                better = leaves[other].value
                if better > value or (better == value and other < leaf):
                    break
                order[place] = other
                place -= gap
            order[place] = leaf
        gap //= 3


cdef int aim(
    const Contest* contest, Thresholds needed, int64_t step, Search* search
) except -1 nogil:
    """Weigh the reached leaves for one rival, and set the target of the search.

    `step` is that of the largest margin, 0 if any win will do.
    """
    cdef const Arithmetic* arithmetic = contest.arithmetic
    cdef const Base* bases = arithmetic.bases
    cdef Problem* problem = &search.problem
    cdef Target* target = &search.target
    cdef Leaf* leaves = problem.leaves
    cdef int64_t own = contest.own, rival = contest.rival
    cdef int64_t* start = integers(search.arena, problem.n_trees + 1)
    cdef int64_t* order = integers(search.arena, problem.n_leaves)
    cdef int64_t constant, tree, first, last, output, leaf, row, n_active = 0, size = 0
    cdef bint differs
    if arithmetic.rule.one_score != 0:
        constant = bases[0].scaled if rival == HIGHER else -bases[0].scaled
    else:
        constant = bases[rival].scaled - bases[own].scaled
    start[0] = 0
    for tree in range(problem.n_trees):
        first, last = problem.tree_start[tree], problem.tree_start[tree + 1]
        output = arithmetic.targets[tree]
        if last - first == 1:
            row = leaves[first].row
            constant += _margin_of_leaf(arithmetic, output, row, own, rival)
            continue
        differs = False
        for leaf in range(first, last):
            row = leaves[leaf].row
            leaves[leaf].value = _margin_of_leaf(arithmetic, output, row, own, rival)
            differs = differs or not _adds_same(
                arithmetic, output, leaves[first].row, row, own, rival
            )
        if not differs:
            constant += leaves[first].value
            continue
        _sort(leaves, first, last, order + size)
        size += last - first
        n_active += 1
        start[n_active] = size
    problem.active, problem.active_start = order, start
    problem.n_active_trees, problem.n_active_leaves = n_active, size
    target.constant, target.largest = constant, step
    target.possible, target.certain = needed.possible, needed.certain
    target.ordered = arithmetic.rule.ordered
    target.decide, target.asked = decide_exactly, contest
    return 0


# ---- The library's own arithmetic.

cdef inline double _rounded(const Rule* rule, double number) noexcept nogil:
    return <double><float>number if rule.single != 0 else number


cdef double _score(
    const Arithmetic* arithmetic,
    const Leaf* leaves,
    const int64_t* chosen,
    int64_t output,
) noexcept nogil:
    """Add up one score in the library's own precision and order."""
    cdef const Rule* rule = arithmetic.rule
    cdef double base = arithmetic.bases[output].value
    cdef double total = 0.0 if rule.base_last != 0 else base
    cdef const double* values
    cdef int64_t tree
    for tree in range(rule.n_trees):
        values = arithmetic.values + leaves[chosen[tree]].row * arithmetic.n_columns
        if rule.is_vector != 0:
            total = _rounded(rule, total + values[output])
        elif arithmetic.targets[tree] == output:
            total = _rounded(rule, total + values[0])
    if rule.base_last != 0:
        total = _rounded(rule, total + base)
    if rule.divisor != 1.0:
        total = _rounded(rule, total / _rounded(rule, rule.divisor))
    if rule.link_divisor != 1.0:
        total = _rounded(rule, total / _rounded(rule, rule.link_divisor))
    return total


cdef int32_t decide_exactly(
    const void* asked, const Leaf* leaves, const int64_t* chosen
) noexcept nogil:
    """Repeat the library's arithmetic for one leaf per tree.

    What is asked about is a contest. Returns `WINS` if the rival wins over the own
    class, `LOSES` if it does not, `TIED` if this cannot be said: the library's order of
    summation is not known, or the two are so near that the link's last bits, which
    depend on the other classes, decide.
    """
    cdef const Contest* contest = <const Contest*>asked
    cdef const Arithmetic* arithmetic = contest.arithmetic
    cdef const Rule* rule = arithmetic.rule
    cdef int64_t own = contest.own, rival = contest.rival
    cdef double mine, other
    cdef bint is_higher
    if rule.ordered == 0:
        return TIED
    if rule.one_score != 0:
        is_higher = _score(arithmetic, leaves, chosen, 0) >= contest.at
        return WINS if is_higher == (rival == HIGHER) else LOSES
    mine = _score(arithmetic, leaves, chosen, own)
    other = _score(arithmetic, leaves, chosen, rival)
    if mine == other:
        return WINS if _wins_ties(rule, own, rival) else LOSES
    if rule.link == SIGMOID:
        return _compare_sigmoids(rule, mine, other, own, rival)
    if rule.link == SOFTMAX and fabs(mine - other) <= 32 * _unit_of(rule):
        return TIED
    return WINS if other > mine else LOSES


cdef int32_t _compare_sigmoids(
    const Rule* rule, double mine, double other, int64_t own, int64_t rival
) noexcept nogil:
    """Compare the sigmoids of two scores; returns as `decide_exactly` does."""
    cdef double scale = fabs(rule.link_scale), reach, merged
    if min(mine, other) > rule.flat_high + 1 / scale:
        return WINS if _wins_ties(rule, own, rival) else LOSES
    if max(mine, other) < rule.flat_low - 1 / scale:
        return WINS if _wins_ties(rule, own, rival) else LOSES
    if min(mine, other) > rule.flat_high - 1 / scale:
        return TIED
    if max(mine, other) < rule.flat_low + 1 / scale:
        return TIED
    # How far apart two scores must be depends on the steeper of the two places.
    reach = min(fabs(mine), fabs(other)) * scale
    merged = 64 * DOUBLE_UNIT * exp(min(reach, 700.0)) / scale
    if fabs(mine - other) <= merged + 2 / scale * (reach > 30):
        return TIED
    return WINS if other > mine else LOSES
