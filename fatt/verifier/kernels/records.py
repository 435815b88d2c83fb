"""The records that the kernels work on.

Few arrays with named fields instead of many arrays: every array that one compiled
function hands to another costs time, when compiling and when running.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

#: Kinds of variables: cells in order, split by rank; or categories, or cells of
#: numbers, split by sets.
ORDERED, CODES, CELLS = 0, 1, 2

#: Entries of a node's `alone`.
AT_THRESHOLD, BY_SET = -1, -2

#: Links between scores and labels.
IDENTITY, SOFTMAX, SIGMOID = 0, 1, 2

#: Entries of the clock: milliseconds since the start, and whether to stop now.
NOW, STOP = 0, 1

#: Entries of the limits: most nodes, when to stop, whether the largest lead is wanted;
#: then where the search changes gear, in the order of `fatt.verifier.gears.Gears`.
NODES, TIME, LARGEST = 0, 1, 2
SCREEN, ONLY_TREE, STEP, CLIMB, CLIMB_AGAIN, WEIGH = 3, 4, 5, 6, 7, 8
PATIENCE, SWEEPS, LEAST_GAIN, ROOM, DOUBTS = 9, 10, 11, 12, 13
N_LIMITS = 14

#: Entries of what was used: the nodes of one person; then, over all people, how often
#: the search was in each gear, in the order of `fatt.verifier.gears.Tally`.
USED = 0
SCREENED, WALKED, STEPPED, CLIMBED, DROPPED, PARTED, BARGAINED, PRICED_OUT, GREW = (
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    9,
)
N_USED = 10

#: Entries of the walk: how long the trail is, and how many nodes are open.
DEPTH, COUNT = 0, 1

#: Less than any lead.
NO_LEAD = -(2**62)

#: A node of a tree. `split` is the last cell that goes left, of an ordered variable;
#: of any other the first word in `masks` of the cells that go left. `alone` is
#: `AT_THRESHOLD` or `BY_SET`; or, if all categories but one go the same way, twice that
#: one, and 1 more if it goes right. All else is as in `fatt.ensemble.NODE`.
NODE = np.dtype(
    [
        ("threshold", np.float64),
        ("feature", np.int32),
        ("left", np.int32),
        ("split", np.int32),
        ("alone", np.int32),
        ("leaf", np.int32),
        ("missing_left", np.int32),
    ]
)

#: The cells of a variable. They end before `n_cells`, which stands for missing; those
#: from `hole_first` to `hole_last` are read as missing. The cuts begin at `cut_start`;
#: a set over the cells takes `width` words, and begins at `set_start` in a box. The
#: codes of a category begin at `code_start` in the words of `fatt.region.Boxes`.
VARIABLE = np.dtype(
    [
        (name, np.int64)
        for name in (
            "kind",
            "n_cells",
            "hole_first",
            "hole_last",
            "cut_start",
            "cut_end",
            "width",
            "set_start",
            "code_start",
            "code_end",
        )
    ]
)

#: The base of one output: the float, in units, and the exponent of its last bit.
BASE = np.dtype([("value", np.float64), ("scaled", np.int64), ("trailing", np.int64)])

#: The arithmetic and the decision of the library; see `fatt.ensemble.scoring`. Scores
#: in units are scores times ``2**exponent``. The sigmoid is 0 below `flat_low` and 1
#: above `flat_high`.
RULE = np.dtype(
    [
        ("divisor", np.float64),
        ("at", np.float64),
        ("link_scale", np.float64),
        ("link_divisor", np.float64),
        ("flat_low", np.float64),
        ("flat_high", np.float64),
        ("exponent", np.int64),
        ("link", np.int64),
        ("depth", np.int64),
        ("n_trees", np.int64),
        ("single", np.int64),
        ("base_last", np.int64),
        ("ordered", np.int64),
        ("is_cut", np.int64),
        ("is_vector", np.int64),
        ("first", np.int64),
    ]
)

#: What a box allows for one output, in units: the lowest and highest score, the sum of
#: the largest absolute partial sums (`path`) and terms (`mass`), the largest lead of
#: the class over the own one; and the same of the tree that is being walked.
TOTAL = np.dtype(
    [
        ("path", np.float64),
        ("mass", np.float64),
        ("low", np.int64),
        ("high", np.int64),
        ("lead", np.int64),
        ("tree_low", np.int64),
        ("tree_high", np.int64),
        ("tree_lead", np.int64),
    ]
)

#: An ordered variable's cells in a box: from `first` to `last`, and perhaps missing.
#: Of any other variable the only cell, if `first` and `last` are the same.
RANGE = np.dtype([("first", np.int64), ("last", np.int64), ("missing", np.int64)])

#: What a variable was before the walk narrowed it.
TRAIL = np.dtype(
    [
        ("variable", np.int64),
        ("first", np.int64),
        ("last", np.int64),
        ("missing", np.int64),
    ]
)

#: A node whose right side the walk has yet to see, and how long the trail was there.
OPEN = np.dtype([("node", np.int64), ("mark", np.int64)])

#: A reached leaf: its row of values, where its constraints begin, what it adds to the
#: lead, and how many of its constraints the point of the local search breaks.
LEAF = np.dtype(
    [
        ("row", np.int64),
        ("start", np.int64),
        ("value", np.int64),
        ("broken", np.int64),
    ]
)

#: A constraint of a leaf: a variable and its cells (of an ordered one from `first` to
#: `last` and perhaps missing; of others the set that begins at `first`). Then, in
#: compact form: the number of the variable, and where its set of classes begins.
ASKED = np.dtype(
    [
        ("variable", np.int64),
        ("first", np.int64),
        ("last", np.int64),
        ("missing", np.int64),
        ("number", np.int64),
        ("place", np.int64),
    ]
)

#: A compact variable: the variable behind it, the words of a set over its classes and
#: where that begins in a box, where its classes begin among all, their number, whether
#: neighbouring classes are neighbours, and the class in which the person is.
FACT = np.dtype(
    [
        ("variable", np.int64),
        ("width", np.int64),
        ("word_start", np.int64),
        ("class_start", np.int64),
        ("n_classes", np.int64),
        ("is_ordered", np.int64),
        ("own", np.int64),
    ]
)

#: The cells of a class.
CLASS = np.dtype([("first", np.int64), ("last", np.int64)])

#: What the lead loses if a variable takes a class, or one up to it, or one beyond it,
#: or any other; and the best leaf of one tree that allows the class.
LOSS = np.dtype(
    [
        ("at", np.int64),
        ("up_to", np.int64),
        ("beyond", np.int64),
        ("without", np.int64),
        ("best", np.int64),
    ]
)


#: The numbers of a variable: those that the library reads as missing, crossed if there
#: are none, and whether all are whole.
NUMBERS = np.dtype(
    [
        ("missing_low", np.float64),
        ("missing_high", np.float64),
        ("is_whole", np.int64),
    ]
)


class Forest(NamedTuple):
    """The trees in rank space.

    Attributes
    ----------
    nodes : ndarray of `NODE`
    roots : ndarray of int64
    variables : ndarray of `VARIABLE`
    masks : ndarray of uint64
        The sets of cells, the missing one included.
    cuts : ndarray of float64
    """

    nodes: Any
    roots: Any
    variables: Any
    masks: Any
    cuts: Any


class Library(NamedTuple):
    """What the leaves hold, and what the library makes of it.

    Attributes
    ----------
    values : ndarray of float64, shape (n_leaves, n_columns)
    scaled : ndarray of int64, same shape
        The values in units.
    trailing : ndarray of int64, shape (n_leaves,)
        Exponent of the last bit of any value of the leaf.
    targets : ndarray of int32
    bases : ndarray of `BASE`
    rule : ndarray of `RULE`, with one entry
    labels : ndarray of int64
        If there is only one tree, the class of each leaf; else empty.
    """

    values: Any
    scaled: Any
    trailing: Any
    targets: Any
    bases: Any
    rule: Any
    labels: Any


class Problem(NamedTuple):
    """The leaves that a box reaches, over compact variables.

    Attributes
    ----------
    tree_start : ndarray of int64
        Where the leaves of each tree begin.
    leaves : ndarray of `LEAF`
    asked : ndarray of `ASKED`
    masks : ndarray of uint64
        The sets of classes that the constraints allow.
    facts : ndarray of `FACT`
    classes : ndarray of `CLASS`
    """

    tree_start: Any
    leaves: Any
    asked: Any
    masks: Any
    facts: Any
    classes: Any


class Lead(NamedTuple):
    """How far a rival class can get ahead of the own class.

    Attributes
    ----------
    order, start : ndarray of int64
        The leaves of the trees whose answers differ, the best of each tree first, and
        where each tree's begin.
    own, rival
        The two classes.
    constant
        What the base and the trees with one answer add.
    may, surely
        The lead from which the rival may win, and from which it surely wins.
    """

    order: Any
    start: Any
    own: Any
    rival: Any
    constant: Any
    may: Any
    surely: Any


class Climb(NamedTuple):
    """A point that moves, and the constraints by variable.

    Attributes
    ----------
    start, entries : ndarray of int64
        For each variable its constraints as pairs: constraint, leaf.
    point : ndarray of int64
        The class of each variable.
    gain : ndarray of int64
        Scratch, one entry per class of a variable.
    total : ndarray of int64
        The lead at the point, in its only entry.
    """

    start: Any
    entries: Any
    point: Any
    gain: Any
    total: Any


class Regions(NamedTuple):
    """People and their boxes, as the kernel reads them.

    Attributes
    ----------
    people
        Encoded rows; numbers that the library reads as missing are NaN.
    label
        The class of each person.
    start
        Where the boxes of each person begin.
    lower, upper, missing, codes
        As in `fatt.region.Boxes`.
    """

    people: Any
    label: Any
    start: Any
    lower: Any
    upper: Any
    missing: Any
    codes: Any


class Answers(NamedTuple):
    """What the kernel found, one row per person.

    Attributes
    ----------
    verdict
        `FAIR`, `UNFAIR` or `UNKNOWN`.
    possible
        Which classes a similar person may get.
    box
        The box in which the twin is.
    first, last
        The cells of the twin in each variable; -1 where it does not differ.
    nodes
        Number of nodes of the search.
    doubts
        How many points could not be told.
    doubt_box, doubt_first, doubt_last
        The first few of them, as for twins.
    lead, bound, error
        If the largest lead is asked for: the largest found, a bound on all, and a bound
        on the rounding of the library, in units. The point is then where the twin is.
    """

    verdict: Any
    possible: Any
    box: Any
    first: Any
    last: Any
    nodes: Any
    doubts: Any
    doubt_box: Any
    doubt_first: Any
    doubt_last: Any
    lead: Any
    bound: Any
    error: Any


class Scratch(NamedTuple):
    """Room that is used again for every box."""

    totals: Any
    stack: Any
    only: Any
    ranges: Any
    cells: Any
    trail: Any
    trail_cells: Any
    opened: Any
    walk: Any
    seen: Any
    own_cell: Any
    chosen: Any
    points: Any
    rivals: Any
    used: Any
    doubts: Any
    until: Any


def scratch_for(
    forest: Forest, library: Library, n_classes: int, n_doubts: int = 0
) -> Scratch:
    """Make room for one thread, and for so many points in doubt."""
    variables = forest.variables
    levels = int(library.rule["depth"][0]) + 2
    widest = max(1, int(variables["width"].max(initial=0)))
    return Scratch(
        totals=np.zeros(max(n_classes, len(library.bases)), dtype=TOTAL),
        stack=np.zeros(levels, dtype=np.int64),
        only=np.zeros(len(variables), dtype=np.int64),
        ranges=np.zeros(len(variables), dtype=RANGE),
        cells=np.zeros(int(variables["width"].sum()) + 1, dtype=np.uint64),
        trail=np.zeros(levels, dtype=TRAIL),
        trail_cells=np.zeros((levels, widest), dtype=np.uint64),
        opened=np.zeros(levels, dtype=OPEN),
        walk=np.zeros(2, dtype=np.int64),
        seen=np.zeros(len(variables), dtype=np.int64),
        own_cell=np.zeros(len(variables), dtype=np.int64),
        chosen=np.zeros(len(forest.roots), dtype=np.int64),
        points=np.zeros((n_doubts, len(variables)), dtype=np.int64),
        rivals=np.zeros(n_classes, dtype=np.int64),
        used=np.zeros(N_USED, dtype=np.int64),
        doubts=np.zeros(1, dtype=np.int64),
        until=np.zeros(N_LIMITS, dtype=np.int64),
    )
