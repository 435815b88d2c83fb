"""From arrays to pointers: what Python hands over is checked here, once.

Types, shapes, order and writability; a wrong array is an exception, never a crash. The
records of C and of Python are compared when this is imported.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from fatt.ensemble.arrays cimport data_of, n_columns_of
from fatt.verifier.kernels.records cimport (
    CODES,
    COUNT,
    FAR,
    FREE,
    TABLE,
    Answers,
    Arithmetic,
    Base,
    Cost,
    Forest,
    Kin,
    Limits,
    Node,
    Regions,
    Rule,
    Spending,
    Tally,
    Variable,
    has,
)

from fatt.verifier.kernels import records


def _check_layouts():
    """Compare the records that Python fills with those of C, field by field."""
    cdef Node node
    cdef Variable variable
    cdef Base base
    cdef Rule rule
    cdef Cost cost
    cdef Kin kin
    for name, seen in (
        ("NODE", np.asarray(<Node[:1]>&node)),
        ("VARIABLE", np.asarray(<Variable[:1]>&variable)),
        ("BASE", np.asarray(<Base[:1]>&base)),
        ("RULE", np.asarray(<Rule[:1]>&rule)),
        ("COST", np.asarray(<Cost[:1]>&cost)),
        ("KIN", np.asarray(<Kin[:1]>&kin)),
    ):
        if seen.dtype != getattr(records, name):
            raise ImportError(
                f"the compiled kernels of fatt read another {name} than "
                "fatt/verifier/kernels/records.py writes: build fatt again."
            )
    n_pointers = (sizeof(Answers) - 4 * sizeof(int64_t)) // sizeof(void*)
    if (
        sizeof(Limits) != 8 * records.N_LIMITS
        or sizeof(Tally) != 8 * records.N_USED
        or n_pointers != len(records.Answers._fields)
    ):
        raise ImportError("the compiled kernels of fatt are old: build fatt again.")


_check_layouts()

_INTEGER = np.dtype(np.int64)
_SMALL = np.dtype(np.int32)
_FLOAT = np.dtype(np.float64)
_FLAG = np.dtype(np.bool_)
_WORD = np.dtype(np.uint64)


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


cdef int read_arithmetic(
    object given, const Forest* forest, Arithmetic* arithmetic
) except -1:
    """Check the arrays of the arithmetic, and that they are those of the forest."""
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


cdef int read_regions(
    object given, const Forest* forest, Regions* regions, int64_t n_classes,
    int64_t begin, int64_t end,
) except -1:
    """Check the arrays, and what they say of people from `begin` to before `end`."""
    people, label, below, above, start, lower, upper, missing, codes, spending = given
    cdef int64_t n_people = len(label), n_boxes = len(lower), person, box
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
    regions.spending.rule = NULL
    if spending is not None:
        read_spending(spending, forest, n_people, n_boxes, &regions.spending)
        for person in range(begin, end):
            for box in range(regions.start[person], regions.start[person + 1]):
                _check_own(forest, regions, person, box)
    return 0


cdef int read_spending(
    object given,
    const Forest* forest,
    int64_t n_people,
    int64_t n_boxes,
    Spending* spending,
) except -1:
    """Check the arrays of costs; there are none if no box has a budget."""
    cdef int64_t n_variables = forest.n_variables, n_rules, n_entries, place, n_codes
    cdef const Cost* cost
    spending.rule = NULL
    if given is None:
        return 0
    rule, most, each, tables, people, lower, upper, missing = given
    shape = (n_boxes, n_variables)
    n_rules, n_entries = len(each), len(tables)
    spending.rule = <const int64_t*>data_of(rule, _INTEGER, (n_boxes,), False, "rule")
    spending.most = <const int64_t*>data_of(most, _INTEGER, (n_boxes,), False, "most")
    spending.each = <const Cost*>data_of(
        each, records.COST, (n_rules, n_variables), False, "each"
    )
    spending.tables = <const int64_t*>data_of(
        tables, _INTEGER, (n_entries,), False, "tables"
    )
    spending.people = <const double*>data_of(
        people, _FLOAT, (n_people, n_variables), False, "people"
    )
    spending.lower = <const double*>data_of(lower, _FLOAT, shape, False, "lower")
    spending.upper = <const double*>data_of(upper, _FLOAT, shape, False, "upper")
    spending.missing = <const uint8_t*>data_of(missing, _FLAG, shape, False, "missing")
    spending.n_rules = n_rules
    for place in range(n_rules * n_variables):
        cost = &spending.each[place]
        if not FREE <= cost.kind <= TABLE:
            raise ValueError(f"{cost.kind} is no kind of cost")
        if cost.missing < 0 or not cost.scale >= 0:
            raise ValueError("a cost is negative or no number")
        is_category = forest.variables[place % n_variables].kind == CODES
        if cost.kind == TABLE:
            n_codes = forest.variables[place % n_variables].n_cells
            if not is_category or not 0 <= cost.table <= n_entries - n_codes * n_codes:
                raise ValueError(f"variable {place % n_variables} has no such table")
        elif is_category and cost.kind > COUNT:
            raise ValueError(f"variable {place % n_variables} has codes, no distance")
    return 0


cdef int check_budget(
    const Spending* spending, int64_t box, int64_t n_variables
) except -1:
    """Check the rule and the budget of a box."""
    cdef int64_t rule = spending.rule[box], most = spending.most[box]
    if not -1 <= rule < spending.n_rules:
        raise ValueError(f"the rule of box {box} is {rule}, of {spending.n_rules}")
    # Each variable costs at most one more than the budget, so that sums fit.
    if not 0 <= most < FAR // (n_variables + 1):
        raise ValueError(f"the budget of box {box} is {most}")
    return 0


cdef int _check_own(
    const Forest* forest, const Regions* regions, int64_t person, int64_t box
) except -1:
    """Refuse a box with a budget in which its person does not cost nothing.

    Every tree then has a leaf in the box that can be paid.
    """
    cdef const Spending* spending = &regions.spending
    cdef int64_t n_variables = forest.n_variables, index, place, code, other
    cdef const uint64_t* codes = regions.codes + box * regions.n_words
    cdef const int64_t* row
    cdef const Variable* variable
    cdef const Cost* cost
    cdef double own
    cdef bint is_inside
    check_budget(spending, box, n_variables)
    if spending.rule[box] < 0:
        return 0
    for index in range(n_variables):
        variable = &forest.variables[index]
        place = box * n_variables + index
        own = spending.people[person * n_variables + index]
        code = -1
        if own != own:
            is_inside = spending.missing[place] != 0
        elif variable.kind != CODES:
            is_inside = spending.lower[place] <= own <= spending.upper[place]
            # A number that nobody else may have, and that counts as missing.
            if variable.missing_low <= own <= variable.missing_high:
                is_inside = is_inside or spending.missing[place] != 0
        else:
            is_inside = 0 <= own < <double>variable.n_cells
            if is_inside:
                code = <int64_t>own
                is_inside = has(codes, variable.code_start, code)
        if not is_inside:
            raise ValueError(f"person {person} is not in box {box}")
        cost = &spending.each[spending.rule[box] * n_variables + index]
        if cost.kind == TABLE and code >= 0:
            row = spending.tables + cost.table + code * variable.n_cells
            for other in range(variable.n_cells):
                if row[other] < 0 or (other == code and row[other] != 0):
                    raise ValueError(
                        f"from code {code} to {other} variable {index} costs "
                        f"{row[other]}"
                    )
    return 0


cdef int read_answers(object given, int64_t n_variables, Answers* answers) except -1:
    """Check the arrays that receive the answers, in the order of the pointers."""
    cdef void** pointers = <void**>answers
    cdef int64_t place
    sizes = records.Sizes(
        n_people=len(given.verdict),
        n_variables=n_variables,
        n_classes=n_columns_of(given.possible, "possible"),
        n_kept=n_columns_of(given.tie_box, "tie_box"),
    )
    for place, (shape, kind) in enumerate(records.rooms(sizes)):
        pointers[place] = data_of(
            given[place], np.dtype(kind), shape, True, given._fields[place]
        )
    answers.n_people, answers.n_variables = sizes.n_people, n_variables
    answers.n_classes, answers.n_kept = sizes.n_classes, sizes.n_kept
    return 0
