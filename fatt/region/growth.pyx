"""The compiled step from people to boxes: each begins as its person alone, and grows.

What there is to know of each variable, and what each alternative of a similarity says
of it, stands in records; `fatt.region.neighbourhood` fills them in, and says what is
meant.
"""

import numpy as np

from libc.math cimport INFINITY, ceil, fabs, floor, isfinite, trunc
from libc.stdint cimport int64_t, uint8_t, uint64_t

from fatt.ensemble.arrays cimport data_of

cdef enum:
    BY_NOTHING = 0
    BY_STEP = 1
    BY_PERCENT = 2
    BY_LEVELS = 3
    WITHIN = 4
    TO_ANY = 5

#: How a variable may move: not at all; by a step in its units, in hundredths, or in
#: levels; within a range or a set, if it is in there; or to anything.
STAY, STEP, PERCENT, LEVELS, EXCHANGE, FREE = (
    BY_NOTHING, BY_STEP, BY_PERCENT, BY_LEVELS, WITHIN, TO_ANY
)

cdef struct Domain:
    # The smallest and the largest number that people may come to have.
    double low
    double high
    # The smallest and the largest that the schema lets a person have.
    double least
    double most
    # The numbers that the library reads as missing; crossed if there are none.
    double missing_low
    double missing_high
    # Whether only whole numbers are members, and whether the schema says so.
    int64_t is_whole
    int64_t must_be_whole
    # How many codes a category has, and where its bit set begins; 0 for numbers.
    int64_t n_codes
    int64_t word

cdef struct Move:
    int64_t kind
    # How far down and up; or the ends of a range.
    double below
    double above
    # The codes of an ordinal variable from lowest to highest, among those of all.
    int64_t order
    int64_t n_levels
    # Whether it may become missing, and known.
    int64_t may_miss
    # Whether both persons must meet a condition, and the smallest and largest number.
    int64_t is_met
    double met_low
    double met_high

cdef Domain _domain
cdef Move _move

DOMAIN = np.asarray(<Domain[:1]>&_domain).dtype
MOVE = np.asarray(<Move[:1]>&_move).dtype

_FLOAT = np.dtype(np.float64)
_INTEGER = np.dtype(np.int64)
_FLAG = np.dtype(np.bool_)
_WORD = np.dtype(np.uint64)

# The variables, and what the alternatives say of them, one after the other.
cdef struct Space:
    const Domain* domains
    const Move* moves
    # Bit sets: codes that are interchangeable, or that a free variable may have
    # besides; those that meet the condition; and all that somebody may have.
    const uint64_t* members
    const uint64_t* meeting
    const uint64_t* anything
    const int64_t* orders
    int64_t n_rules
    int64_t n_variables
    int64_t n_words

# One box in the making.
cdef struct Box:
    double* lower
    double* upper
    uint8_t* missing
    uint64_t* codes


cdef int _read_space(object given, Space* space) except -1:
    domains, moves, members, meeting, anything, orders = given
    n_rules, n_variables, n_words = len(moves), len(domains), len(anything)
    shape, sets = (n_rules, n_variables), (n_rules, n_words)
    space.domains = <const Domain*>data_of(
        domains, DOMAIN, (n_variables,), False, "domains"
    )
    space.moves = <const Move*>data_of(moves, MOVE, shape, False, "moves")
    space.members = <const uint64_t*>data_of(members, _WORD, sets, False, "members")
    space.meeting = <const uint64_t*>data_of(meeting, _WORD, sets, False, "meeting")
    space.anything = <const uint64_t*>data_of(
        anything, _WORD, (n_words,), False, "anything"
    )
    space.orders = <const int64_t*>data_of(
        orders, _INTEGER, (len(orders),), False, "orders"
    )
    space.n_rules, space.n_variables, space.n_words = n_rules, n_variables, n_words
    return 0


def check_space(given):
    """Raise a ValueError if a space points anywhere that is not there.

    Parameters
    ----------
    given
        The arrays of a space, as `grow` takes them. It looks at none of this again.
    """
    cdef Space space
    cdef const Domain* domain
    cdef const Move* move
    cdef int64_t index, place, level, n_orders
    _read_space(given, &space)
    *_, orders = given
    n_orders = len(orders)
    for index in range(space.n_variables):
        domain = &space.domains[index]
        if domain.n_codes < 0 or domain.n_codes > 0 and not (
            0 <= domain.word <= space.n_words - (domain.n_codes + 63) // 64
        ):
            raise ValueError(f"the codes of variable {index} are not among the words")
    for place in range(space.n_rules * space.n_variables):
        move, domain = &space.moves[place], &space.domains[place % space.n_variables]
        if move.kind != BY_LEVELS:
            continue
        if not 0 <= move.order <= move.order + move.n_levels <= n_orders:
            raise ValueError(f"the levels of move {place} are not among the orders")
        for level in range(move.n_levels):
            if not 0 <= space.orders[move.order + level] < domain.n_codes:
                raise ValueError(f"level {level} of move {place} is no code")


# ---- Numbers.

cdef inline double _larger(double a, double b) noexcept nogil:
    return a if a >= b else b


cdef inline double _smaller(double a, double b) noexcept nogil:
    return a if a <= b else b


cdef inline bint _reads_missing(const Domain* domain, double number) noexcept nogil:
    return domain.missing_low <= number <= domain.missing_high


cdef inline bint _is_excluded(const Domain* domain, double number) noexcept nogil:
    """Tell whether a number counts only because the library reads it as missing."""
    if not _reads_missing(domain, number):
        return False
    return (
        not domain.low <= number <= domain.high
        or (domain.is_whole != 0 and number != trunc(number))
    )


cdef inline bint _is_wrong(const Domain* domain, double number) noexcept nogil:
    """Tell whether the schema says that nobody has such a number."""
    if domain.least <= number <= domain.most or number != number:
        if domain.must_be_whole == 0 or number == trunc(number) or number != number:
            return False
    return not _reads_missing(domain, number)


cdef inline double _size(
    const Domain* domain, const Move* move, double step, double number, double scale
) noexcept nogil:
    """Return how far a number may move."""
    cdef bint is_whole = domain.is_whole != 0 and number == trunc(number)
    cdef double size = step
    if move.kind == BY_PERCENT:
        # Multiplied first, 29% of 100 are 29 and no bit less.
        size = fabs(number)
        size = size * step / 100.0 if is_whole else size * (step / 100.0)
    size = size * scale
    # Infinite people stay, and nothing is nothing at any scale.
    if not isfinite(number) or size != size:
        return 0.0
    # Whole numbers move by whole steps; a sum could round up to one more.
    return floor(size) if is_whole else size


cdef void _grow_number(
    const Domain* domain,
    const Move* move,
    double number,
    double scale,
    double* lower,
    double* upper,
    uint8_t* missing,
) noexcept nogil:
    """Fill in the interval of a variable: what is allowed, and the person."""
    cdef double low = number, high = number
    missing[0] = number != number
    if number != number:
        low, high = INFINITY, -INFINITY
    elif move.kind != BY_NOTHING:
        if move.kind == BY_STEP or move.kind == BY_PERCENT:
            low = number - _size(domain, move, move.below, number, scale)
            high = number + _size(domain, move, move.above, number, scale)
        elif move.kind == TO_ANY:
            low, high = -INFINITY, INFINITY
        elif move.below <= number <= move.above:
            low, high = move.below, move.above
        if domain.is_whole != 0:
            low, high = ceil(low), floor(high)
        low, high = _larger(low, domain.low), _smaller(high, domain.high)
        if not _is_excluded(domain, number):
            low, high = _smaller(low, number), _larger(high, number)
        elif low <= high:
            # A number that only counts as missing is no end of an interval.
            missing[0] = True
        else:
            low = high = number
    if move.may_miss != 0:
        if number != number or _reads_missing(domain, number):
            low, high = domain.low, domain.high
        missing[0] = True
    if move.is_met != 0:
        missing[0] = False
        if domain.is_whole != 0:
            low = _larger(low, ceil(move.met_low))
            high = _smaller(high, floor(move.met_high))
        else:
            low, high = _larger(low, move.met_low), _smaller(high, move.met_high)
    lower[0], upper[0] = low, high


# ---- Categories.

cdef inline bint _has(const uint64_t* words, int64_t code) noexcept nogil:
    return (words[code // 64] >> <uint64_t>(code % 64)) & 1 != 0


cdef inline void _add(uint64_t* words, int64_t code) noexcept nogil:
    words[code // 64] |= <uint64_t>1 << <uint64_t>(code % 64)


cdef inline void _add_all(
    uint64_t* words, const uint64_t* others, int64_t count
) noexcept nogil:
    cdef int64_t word
    for word in range(count):
        words[word] |= others[word]


cdef inline int64_t _levels(double step, double scale, int64_t most) noexcept nogil:
    """Return by how many levels one may move."""
    cdef double size = floor(step * scale)
    if size != size:
        return 0
    return most if size > most else <int64_t>size


cdef void _add_levels(
    const Move* move, const int64_t* order, int64_t code, double scale, uint64_t* codes
) noexcept nogil:
    """Add the levels that are near in the order; a value outside it stays."""
    cdef int64_t own = 0, level, n_levels = move.n_levels
    while own < n_levels and order[own] != code:
        own += 1
    if own == n_levels:
        return
    for level in range(
        max(own - _levels(move.below, scale, n_levels), 0),
        min(own + _levels(move.above, scale, n_levels) + 1, n_levels),
    ):
        _add(codes, order[level])


cdef void _grow_codes(
    const Space* space,
    int64_t rule,
    int64_t index,
    double value,
    double scale,
    uint8_t* missing,
    uint64_t* codes,
) noexcept nogil:
    """Fill in the bit set of a variable, which is empty as yet."""
    cdef const Domain* domain = &space.domains[index]
    cdef const Move* move = &space.moves[rule * space.n_variables + index]
    cdef int64_t n_words = (domain.n_codes + 63) // 64, word
    cdef int64_t here = rule * space.n_words + domain.word
    cdef const uint64_t* anything = &space.anything[domain.word]
    missing[0] = value != value
    if value == value:
        _add(codes, <int64_t>value)
        if move.kind == TO_ANY:
            _add_all(codes, anything, n_words)
            _add_all(codes, &space.members[here], n_words)
        elif move.kind == BY_LEVELS:
            _add_levels(
                move, &space.orders[move.order], <int64_t>value, scale, codes
            )
        elif move.kind == WITHIN and _has(&space.members[here], <int64_t>value):
            _add_all(codes, &space.members[here], n_words)
    elif move.may_miss != 0:
        _add_all(codes, anything, n_words)
        if move.kind == TO_ANY:
            _add_all(codes, &space.members[here], n_words)
    if move.may_miss != 0:
        missing[0] = True
    if move.is_met != 0:
        missing[0] = False
        for word in range(n_words):
            codes[word] &= space.meeting[here + word]


# ---- People.

cdef bint _is_refused(const Space* space, const double* person) noexcept nogil:
    """Tell whether a person has a value that nobody may have."""
    cdef int64_t index
    cdef const Domain* domain
    for index in range(space.n_variables):
        domain = &space.domains[index]
        if domain.n_codes == 0:
            if _is_wrong(domain, person[index]):
                return True
        elif person[index] == person[index]:
            if not 0 <= person[index] < domain.n_codes:
                return True
    return False


cdef bint _meets(const Space* space, int64_t rule, const double* person) noexcept nogil:
    """Tell whether a person meets the conditions of an alternative."""
    cdef int64_t index
    cdef const Domain* domain
    cdef const Move* move
    cdef const uint64_t* meeting
    for index in range(space.n_variables):
        move = &space.moves[rule * space.n_variables + index]
        if move.is_met == 0:
            continue
        domain = &space.domains[index]
        if domain.n_codes == 0:
            if not move.met_low <= person[index] <= move.met_high:
                return False
            if _is_excluded(domain, person[index]):
                return False
        else:
            meeting = &space.meeting[rule * space.n_words + domain.word]
            if person[index] != person[index]:
                return False
            if not _has(meeting, <int64_t>person[index]):
                return False
    return True


cdef void _grow(
    const Space* space, int64_t rule, const double* person, double scale, Box box
) noexcept nogil:
    """Fill in a box by an alternative."""
    cdef int64_t index
    cdef const Domain* domain
    for index in range(space.n_words):
        box.codes[index] = 0
    for index in range(space.n_variables):
        domain = &space.domains[index]
        if domain.n_codes == 0:
            _grow_number(
                domain,
                &space.moves[rule * space.n_variables + index],
                person[index],
                scale,
                &box.lower[index],
                &box.upper[index],
                &box.missing[index],
            )
        else:
            box.lower[index] = box.upper[index] = 0.0
            _grow_codes(
                space,
                rule,
                index,
                person[index],
                scale,
                &box.missing[index],
                &box.codes[domain.word],
            )


def grow(given, people, scale, boxes):
    """Fill in the boxes of people, in their order.

    Parameters
    ----------
    given
        The arrays of a space: the variables as `DOMAIN`; what each alternative says of
        them as `MOVE`, the last of them nothing at all; of each alternative the bit
        sets of interchangeable codes, and of those that meet its conditions; the bit
        set of what somebody may have; and the codes of ordinal variables in order.
    people : ndarray of shape (n_people, n_variables)
        Values and codes.
    scale : ndarray of shape (n_people,)
        Multiplies the steps of each person.
    boxes
        The person, the alternative, lower, upper, missing and codes of as many boxes as
        there could be: one for each alternative but the last, and at least one for each
        person.

    Returns
    -------
    int
        How many there are; or, if somebody has a value that nobody may have, -1.
    """
    cdef Space space
    cdef Box box
    cdef int64_t n_people = len(people), n_boxes = 0, row, rule, first
    cdef const double* values
    cdef const double* scales
    cdef int64_t* person
    cdef int64_t* chosen
    cdef double* lower
    cdef double* upper
    cdef uint8_t* missing
    cdef uint64_t* codes
    _read_space(given, &space)
    owner, alternative, low, high, absent, sets = boxes
    n_variables, n_most = space.n_variables, n_people * max(1, space.n_rules - 1)
    shape, words = (n_most, n_variables), (n_most, space.n_words)
    values = <const double*>data_of(
        people, _FLOAT, (n_people, n_variables), False, "people"
    )
    scales = <const double*>data_of(scale, _FLOAT, (n_people,), False, "scale")
    person = <int64_t*>data_of(owner, _INTEGER, (n_most,), True, "person")
    chosen = <int64_t*>data_of(alternative, _INTEGER, (n_most,), True, "alternative")
    lower = <double*>data_of(low, _FLOAT, shape, True, "lower")
    upper = <double*>data_of(high, _FLOAT, shape, True, "upper")
    missing = <uint8_t*>data_of(absent, _FLAG, shape, True, "missing")
    codes = <uint64_t*>data_of(sets, _WORD, words, True, "codes")
    with nogil:
        for row in range(n_people):
            if _is_refused(&space, &values[row * space.n_variables]):
                n_boxes = -1
                break
            first = n_boxes
            for rule in range(space.n_rules):
                # The last one is for those to whom no other applies.
                if rule == space.n_rules - 1:
                    if n_boxes > first:
                        continue
                elif not _meets(&space, rule, &values[row * space.n_variables]):
                    continue
                box.lower = &lower[n_boxes * space.n_variables]
                box.upper = &upper[n_boxes * space.n_variables]
                box.missing = &missing[n_boxes * space.n_variables]
                box.codes = &codes[n_boxes * space.n_words]
                _grow(
                    &space, rule, &values[row * space.n_variables], scales[row], box
                )
                person[n_boxes], chosen[n_boxes] = row, rule
                n_boxes += 1
    return n_boxes


def meets(given, int64_t rule, people, meeting):
    """Tell who meets the conditions of an alternative.

    Parameters
    ----------
    given, people
        As for `grow`.
    rule
        Which alternative.
    meeting : ndarray of shape (n_people,), bool
        What to fill in.
    """
    cdef Space space
    cdef int64_t n_people = len(people), row
    cdef const double* values
    cdef uint8_t* found
    _read_space(given, &space)
    if not 0 <= rule < space.n_rules:
        raise ValueError(f"alternative {rule} is none of {space.n_rules}")
    values = <const double*>data_of(
        people, _FLOAT, (n_people, space.n_variables), False, "people"
    )
    found = <uint8_t*>data_of(meeting, _FLAG, (n_people,), True, "meeting")
    for row in range(n_people):
        found[row] = not _is_refused(
            &space, &values[row * space.n_variables]
        ) and _meets(&space, rule, &values[row * space.n_variables])
