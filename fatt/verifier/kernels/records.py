"""The records that the kernels work on.

Few arrays with named fields instead of many arrays: every array that one compiled
function hands to another costs time, when compiling and when running.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

#: A node of a tree. `split` is the last cell that goes left, of an ordered variable;
#: of any other the first word in `masks` of the cells that go left. All else is as in
#: `fatt.ensemble.NODE`.
NODE = np.dtype(
    [
        ("threshold", np.float64),
        ("feature", np.int32),
        ("left", np.int32),
        ("split", np.int32),
        ("subset", np.int32),
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
RANGE = np.dtype([("first", np.int64), ("last", np.int64), ("missing", np.int64)])

#: What a variable was before the walk narrowed it, and the node where it did.
TRAIL = np.dtype(
    [
        ("variable", np.int64),
        ("first", np.int64),
        ("last", np.int64),
        ("missing", np.int64),
        ("node", np.int64),
        ("mark", np.int64),
    ]
)

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


class Forest(NamedTuple):
    """The trees in rank space.

    Attributes
    ----------
    nodes : ndarray of `NODE`
    roots : ndarray of int64
    variables : ndarray of `VARIABLE`
    words : ndarray of uint64
        The sets of categories, as in `fatt.ensemble.Trees`.
    masks : ndarray of uint64
        The sets of cells, the missing one included.
    cuts : ndarray of float64
    """

    nodes: Any
    roots: Any
    variables: Any
    words: Any
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
