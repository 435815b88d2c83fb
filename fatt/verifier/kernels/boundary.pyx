"""From arrays to pointers: what Python hands over is checked here, once.

Types, shapes, order and writability; a wrong array is an exception, never a crash. The
records of C and of Python are compared when this is imported.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from fatt.ensemble.arrays cimport data_of, n_columns_of
from fatt.verifier.kernels.records cimport (
    Answers,
    Arithmetic,
    Base,
    Forest,
    Limits,
    Node,
    Numbers,
    Regions,
    Rule,
    Tally,
    Variable,
)

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
