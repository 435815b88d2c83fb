"""Wrong versions of the trainer's kernels: a side, a box or a person counted wrongly."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_LAWS = ("tests/train/test_kernels.py",)

MUTANTS = tuple(
    Mutant(f"fatt/train/{file}", old, new, _LAWS)
    for file, old, new in (
        # At its own rank a person is inside.
        ("kernels.pyx", "inside = rank <= place", "inside = rank < place"),
        # Whoever misses a value may be inside everywhere.
        (
            "kernels.pyx",
            "inside = rank == place or rank == _always(ranks, family)",
            "inside = rank == place",
        ),
        # The right side counts as inside where a split is flipped.
        (
            "kernels.pyx",
            "return inside != (ranks.flipped[split] != 0)",
            "return inside",
        ),
        (
            "kernels.pyx",
            "    if ranks.flipped[split] == 0 or reached == BOTH:",
            "    if ranks.flipped[split] != 0 or reached == BOTH:",
        ),
        # From its second rank on a box no longer reaches the outside.
        (
            "kernels.pyx",
            "(OUTSIDE if ranks.high[at] > place else 0)",
            "(OUTSIDE if ranks.high[at] >= place else 0)",
        ),
        (
            "kernels.pyx",
            "sums[high[box]] -= pair.cost_in[place] - pair.cost_both[place]",
            "sums[high[box]] -= pair.cost_out[place] - pair.cost_both[place]",
        ),
        (
            "kernels.pyx",
            "sums[low[box]] -= pair.cost_both[place] - pair.cost_out[place]",
            "sums[low[box]] -= pair.cost_both[place]",
        ),
        # Two sets of labels together are several.
        (
            "kernels.pyx",
            "return others if labels == NONE else SEVERAL",
            "return others",
        ),
        # All boxes of a person count.
        (
            "kernels.pyx",
            "        if around.start[number + 1] - at > 1:\n            pair.many",
            "        if around.start[number + 1] - at > 2:\n            pair.many",
        ),
        (
            "kernels.pyx",
            "                if rank < high[around.box[at]] < following:\n",
            "                if rank < high[around.box[at]] < low[around.box[at]]:\n",
        ),
        (
            "kernels.pyx",
            "        for at in range(around.start[number], around.start[number + 1]):\n            box = around.box[at]\n",
            "        for at in range(around.start[number], around.start[number] + 1):\n            box = around.box[at]\n",
        ),
        # A category that two boxes hold is counted once.
        (
            "kernels.pyx",
            "                        seen = True\n",
            "                        seen = False\n",
        ),
        # What a box reaches of others' categories.
        (
            "kernels.pyx",
            "        base -= usual - pair.cost_out[place]\n",
            "        base -= usual\n",
        ),
        # Who is unfair elsewhere is so whatever stands here.
        (
            "kernels.pyx",
            "            around.rest -= unfair[person]\n",
            "            pass\n",
        ),
        # Too few people on the other side.
        (
            "kernels.pyx",
            "if count < min_leaf or around.n_here - count < min_leaf:",
            "if count < min_leaf:",
        ),
        # What is torn at a leaf.
        (
            "kernels.pyx",
            "                        sums[count] -= my_weight[box]\n",
            "                        sums[rank] -= my_weight[box]\n",
        ),
        # A missing value is inside or outside of a chain, and of singles.
        (
            "ranks.py",
            "return np.where(missing, size, own), low, np.where(may_miss, size, high)",
            "return np.where(missing, size, own), low, high",
        ),
        (
            "ranks.py",
            "high = _INSIDE + _OUTSIDE * ((count > 1) | lost_outside)",
            "high = _INSIDE + _OUTSIDE * (count > 1)",
        ),
        # A constant tree is worse than any other.
        ("descent.py", "and len(labels[inner] | labels[outer]) > 1\n", "\n"),
    )
)
