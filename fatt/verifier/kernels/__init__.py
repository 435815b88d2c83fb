"""The search, compiled ahead: how people are decided, one after the other.

What is searched
----------------
An ensemble is a sum of trees. Between two neighbouring thresholds it cannot tell
numbers apart, so each variable has finitely many *cells*, and a box of similar people
is a set of cells per variable. A *rival* class wins somewhere in the box, or the person
is fair. Its *margin* over the own class at a point is the sum, over the trees, of what
the leaf there adds to it: an integer, in units of ``2**-exponent``. ::

    box, cells        x0: 3..7 or missing     x1: {a, c}
                            |                       |
    reach             leaves of tree 0       leaves of tree 1      ...
                      leaf: row, value       leaf: row, value
                        |  constraints: variable and the cells that lead here
                        v
    blocks            cells that no reached leaf tells apart, joined:
                        domain 0 (x0): block 0 = 3..4, block 1 = 5..7, block 2 = missing
                        domain 1 (x1): block 0 = a,    block 1 = c
                        a constraint is then a set of blocks: one bit each, in `masks`
                            |
    branch and bound  row 0   [ 1 1 1 | 1 1 ]   alive: leaves of each tree, best first
                      row 1   [ 1 1 0 | 1 1 ]   alive: fewer; stands behind row 0's
                      ...     a cut per row; the other side waits

Propagation, local search, dual ascent and branch and bound see only a `Problem` (the
leaves, their values, the blocks) and a `Target` (the margin that wins). They know
nothing of people, classes and libraries: another question becomes another `Problem`.

`records.pxd` has the records; leaves, constraints, domains and blocks lie in flat
arrays, and whatever belongs to one entry lies between its `start` and that of the next.

Budgets
-------
A box may have a budget: how much others may spend on differing, all variables together
(`fatt.region.costs`). Costs are integers and never fall away from the person, so that
cells, blocks and leaves cost the sum, over the variables, of least costs. ::

    tariff            x0: cell 3 costs 0, cell 4 costs 1, ...     x1: {a} costs 0, ...
    reach             a side of a node that cannot be paid is not entered
    Budget            block: what it costs     asked: what a constraint costs at least
    spending          what the part costs at least, what is left, the best price

Pairs
-----
Questions about everybody there can be have two people instead of one person and a box.
Both walk down each tree at once, and a leaf is then a pair of leaves. ::

    kin               x0 is shared     x1: cells that both may have, similar or not
    pairs             leaf: rows of both, value: how much more the second one adds
    blocks            domain 0 (x0): blocks of both people
                      domain 1 (x1): *pairs* of blocks that two similar people have
    sides             demands: sums of their own that one of the two must reach
    everybody         one part of the box after the other; what stays open comes back

So similarity lies in the domains, and all other kernels see an ordinary problem.

What each kernel keeps true
---------------------------
screen
    The sum of the best leaves that a box reaches bounds every margin in it from above.
    The walk does not narrow the box, so that it may see leaves too many, never too few.
    Down to where the box first parts nothing is narrowed: `reach` begins there, and
    does not walk a tree of which the box reaches one leaf.
reach
    A leaf is collected if and only if the box has a point that falls into it; the box
    is the same afterwards. Every point of a block satisfies the same constraints.
    With a budget: a point that can be paid. Points that cannot may be in no leaf.
tariff
    The cost of a block is that of its cheapest member in the box, which `points` finds.
    The person is in the box and costs nothing, so each tree has a leaf to be paid.
margins
    Below `possible` the library's own floats let the rival lose, from `certain` on they
    let it win, at every point of the box; in between `decide_exactly` repeats them.
local_search
    `margin` is that of the point, and `broken` of each leaf counts the constraints that
    it breaks. It finds wins, and never rules one out.
propagation
    No leaf and no block is dropped that a point with a margin of `possible` needs.
    Whenever nothing changes any more, each living leaf has a point in the box, and each
    tree's leaves allow all of it. So only domains that became smaller since, which
    `changed` must name, can cost a leaf, and only trees that lose one can cost blocks.
spending
    No block and no leaf is dropped that a point within the budget, with a margin of
    `possible`, needs. `cheapest` and `left` are those of the part that `spend` saw
    last; a part that became smaller may cost more. A quote bounds the margin of every
    point that can be paid, at any price.
dual_ascent
    The multipliers of a domain's block add up to zero over the trees, and the budget if
    there is one: each point keeps its margin, so that the sum of the best leaves,
    multipliers included, bounds it. The bound never grows; no number leaves 64 bits.
branch_and_bound
    Every point of the box at which the rival wins, or beats the best so far, lies in
    the row that is looked at, in the other side of an open cut, or has been found.
    What a tree loses changes only where its best leaf does, at the ends of runs.
pairs
    A pair of leaves is collected if and only if two similar people reach it, unless it
    was joined with others that say the same; a zero leaf stands for any two rows that
    are the same. Every point of a domain of pairs is two similar people. Of a range of
    cells the ends tell what is similar, since `low` and `high` rise.
sides
    No leaf is dropped that a pair needs which possibly has all that is demanded. Steps
    bound what a library makes of a score, from both sides.
everybody
    Every pair that is looked for lies in one of the open parts, or has been found.
decide
    A person is fair if no rival wins in any box, unfair if a point is known at which
    one certainly wins, else unknown; `possible` holds every class that may win. So
    for a box of one point, which asks if the person's own answer is certain.
points
    A point lies in its cells and its box, and is a person's where nothing differs. With
    a budget it costs no more than any other in its cells.

Sources
-------
Bounds from best leaves and boxes of cells: Devos, Meert and Davis, Versatile
Verification of Tree Ensembles (ICML 2021). Rounding: Higham, Accuracy and Stability of
Numerical Algorithms, section 4.2. Branching by the product of what both sides lose:
Achterberg, Koch and Martin, Branching Rules Revisited (2005). Dual ascent: Werner, A
Linear Programming Approach to Max-sum Problem (2007); Sontag, Globerson and Jaakkola,
Introduction to Dual Decomposition for Inference (2011). Open parts that take turns:
Allouche, de Givry, Katsirelos, Schiex and Zytnicki, Anytime Hybrid Best-First Search
with Tree Decomposition for Weighted CSP (2015).

Who owns which memory
---------------------
Python owns what it hands over (`Forest`, `Arithmetic`, `Regions`, `Answers`, limits,
clock, tally) and keeps it alive during the call; `boundary` checks types, shapes, order
and writability once, and below are only pointers. Threads share all of it: each writes
the answers of its own people and its own tally; the clock alone is written meanwhile,
by Python, and read as volatile. Everything else lies in one arena per call, which is
freed on every path: what lives as long as the call first, then what belongs to a box,
then to a rival. Only functions that take memory can fail; they say ``except -1``, all
others ``noexcept``.
"""
