"""The records and arrays that Python hands to the kernels.

Few arrays with named fields instead of many arrays. `records.pxd` has the same records
once more, as C reads them, and those that only the kernels know; `boundary` compares
the two when it is imported.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from fatt.region import costs
from fatt.verdict import UNKNOWN

#: Kinds of variables: cells in order, split by rank; or categories, or cells of
#: numbers, split by sets.
ORDERED, CODES, CELLS = 0, 1, 2

#: Entries of a node's `alone`.
AT_THRESHOLD, BY_SET = -1, -2

#: Links between scores and labels.
IDENTITY, SOFTMAX, SIGMOID = 0, 1, 2

#: Where a score goes that leaves a person's interval: the rivals of one score.
LOWER, HIGHER = 0, 1

#: Entries of the clock: milliseconds since the start, and whether to stop now.
NOW, STOP = 0, 1

#: How many limits there are: most nodes, when to stop, whether the largest margin is
#: wanted; then the gears, in the order of `fatt.verifier.gears.Gears`.
N_LIMITS = 17

#: How many counts there are: the nodes of one person; then, over all people, how often
#: the search was in each gear, in the order of `fatt.verifier.gears.Tally`.
N_USED = 10

#: Less than any margin.
NO_MARGIN = -(2**62)

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
#: codes of a category begin at `code_start` in the words of `fatt.region.Boxes`. All
#: numbers are whole if `is_whole` is not 0. Those from `missing_low` to `missing_high`
#: are read as missing: crossed if there are none.
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
            "is_whole",
        )
    ]
    + [("missing_low", np.float64), ("missing_high", np.float64)]
)

#: The base of one output: the float, in units, and the exponent of its last bit.
BASE = np.dtype([("value", np.float64), ("scaled", np.int64), ("trailing", np.int64)])

#: The arithmetic and the decision of the library; see `fatt.ensemble.scoring`. Scores
#: in units are scores times ``2**exponent``. The sigmoid is 0 below `flat_low` and 1
#: above `flat_high`.
RULE = np.dtype(
    [
        ("divisor", np.float64),
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
        ("roundings", np.int64),
        ("one_score", np.int64),
        ("is_vector", np.int64),
        ("first", np.int64),
    ]
)

#: How two people may differ in a variable; see `records.pxd`.
KIN = np.dtype(
    [(name, np.int64) for name in ("moves", "is_free", "start", "may_lose", "may_miss")]
)

#: What it costs a variable to differ.
COST = costs.COST


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


class Arithmetic(NamedTuple):
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
        If there is only one tree with several scores, the class of each leaf; else
        empty.
    scores : ndarray of float64
        If there is only one tree with one score, that of each leaf; else empty.
    """

    values: Any
    scaled: Any
    trailing: Any
    targets: Any
    bases: Any
    rule: Any
    labels: Any
    scores: Any


class Regions(NamedTuple):
    """People and their boxes, as the kernel reads them.

    Attributes
    ----------
    people
        Encoded rows; numbers that the library reads as missing are NaN.
    label
        The class of each person, where there is a score for each; else 0.
    below, above
        Where there is one score: it leaves the interval around the person's own if it
        is less than the one or at least the other. NaN where a side is not asked about.
    start
        Where the boxes of each person begin.
    lower, upper, missing, codes
        As in `fatt.region.Boxes`.
    spending
        None if no box has a budget.
    """

    people: Any
    label: Any
    below: Any
    above: Any
    start: Any
    lower: Any
    upper: Any
    missing: Any
    codes: Any
    spending: Any = None


class Spending(NamedTuple):
    """How much may be spent in each box, and on what.

    Attributes
    ----------
    rule, most, each, tables, people
        As in `fatt.region.costs.Costs`.
    lower, upper, missing
        The boxes as they are: those of the regions may lack the numbers that the
        library reads as missing.
    """

    rule: Any
    most: Any
    each: Any
    tables: Any
    people: Any
    lower: Any
    upper: Any
    missing: Any


class Pairs(NamedTuple):
    """The pairs of leaves that two similar people reach, over pairs of blocks.

    Attributes
    ----------
    tree_start
        Where the leaves of each tree begin.
    leaves, constraints, masks, domains
        As the kernels have them; see `records.pxd`. Sets that are the same are kept
        once.
    rows
        The rows of both leaves of each pair; -1 if they are the same row, whichever.
    kind
        Whose blocks each domain has: 0 both people's, 1 pairs of them, 2 those of the
        first, 3 those of the second.
    cells
        First and last cell of the first person and of the second, for each block.
    entry_start, entries
        The constraints by domain.
    """

    tree_start: Any
    leaves: Any
    rows: Any
    constraints: Any
    masks: Any
    domains: Any
    kind: Any
    cells: Any
    entry_start: Any
    entries: Any


class Asked(NamedTuple):
    """What is asked about pairs.

    Attributes
    ----------
    value, constant
        What each pair of leaves adds to the margin, and what all have in common.
    active, active_start
        The leaves of trees with several, the best first, and where each tree begins.
    demands
        What each leaf adds to each sum that is demanded, one row for each.
    terms
        Of each sum: the constant, from when it possibly and certainly suffices, the
        person, own and rival class; integers.
    ends
        Where the side begins that is demanded of one score.
    steps
        Edges, least and most, or None.
    """

    value: Any
    constant: int
    active: Any
    active_start: Any
    demands: Any
    terms: Any
    ends: Any
    steps: Any = None


class Field(NamedTuple):
    """An array of answers.

    Attributes
    ----------
    dtype
        Its type.
    shape
        Its shape behind the people: names of `Sizes`.
    blank
        What stands there before the search.
    """

    dtype: type
    shape: tuple[str, ...]
    blank: Any


class Sizes(NamedTuple):
    """How many people, variables, classes, and ties of one person have room."""

    n_people: int
    n_variables: int
    n_classes: int
    n_kept: int


class Answers(NamedTuple):
    """What the kernel found, one row per person; each default says what an array is.

    `records.pxd` has the pointers in the same order: a new field needs no other place.

    Attributes
    ----------
    verdict
        `FAIR`, `UNFAIR` or `UNKNOWN`.
    possible
        Which classes a similar person may get; where there is one score, whether it may
        be lower, and whether higher, than the person's interval.
    box
        The box in which the twin is.
    first, last
        The cells of the twin in each variable; -1 where it does not differ.
    nodes
        Number of nodes of the search.
    ties
        How many points could not be told.
    tie_box, tie_first, tie_last
        The first few of them, as for twins.
    margin, bound, error
        If the largest margin is asked for: the largest found, a bound on all, and a
        bound on the rounding of the library, in units. The point is then where the twin
        is.
    """

    verdict: Any = Field(np.int8, (), UNKNOWN)
    possible: Any = Field(np.bool_, ("n_classes",), True)
    box: Any = Field(np.int64, (), 0)
    first: Any = Field(np.int32, ("n_variables",), -1)
    last: Any = Field(np.int32, ("n_variables",), -1)
    nodes: Any = Field(np.int64, (), 0)
    ties: Any = Field(np.int64, (), 0)
    tie_box: Any = Field(np.int64, ("n_kept",), 0)
    tie_first: Any = Field(np.int32, ("n_kept", "n_variables"), -1)
    tie_last: Any = Field(np.int32, ("n_kept", "n_variables"), -1)
    margin: Any = Field(np.int64, (), NO_MARGIN)
    bound: Any = Field(np.int64, (), NO_MARGIN)
    error: Any = Field(np.float64, (), 0.0)

    @classmethod
    def blank(cls, sizes: Sizes) -> Answers:
        """Make room for the answers."""
        # `numpy.full` takes three times as long for one person.
        made = cls(*(np.empty(*room) for room in rooms(sizes)))
        for array, field in zip(made, cls(), strict=True):
            array.fill(field.blank)
        return made


def rooms(sizes: Sizes) -> Iterator[tuple[tuple[int, ...], type]]:
    """Yield the shape and the type of each array of the answers."""
    size = sizes._asdict()
    for field in Answers():
        yield (sizes.n_people, *(size[name] for name in field.shape)), field.dtype
