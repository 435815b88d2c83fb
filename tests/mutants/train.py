"""Wrong versions of the trainer's kernels: a side, a box or a person counted wrongly."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_LAWS = ("tests/train/test_kernels.py",)
_PROOFS = ("tests/train/test_optimum.py",)

MUTANTS = tuple(
    Mutant(f"fatt/train/{file}", old, new, _PROOFS if "optimum" in file else _LAWS)
    for file, old, new in (
        # At its own rank a person is inside.
        (
            "kernels/sending.pyx",
            "n_inside += low[one] <= place",
            "n_inside += low[one] < place",
        ),
        # From its second rank on a box no longer reaches the outside.
        (
            "kernels/sending.pyx",
            "            n_outside += high[one] > place\n",
            "            n_outside += high[one] >= place\n",
        ),
        (
            "kernels/records.pxd",
            "(OUTSIDE if ranks.high[at] > place else 0)",
            "(OUTSIDE if ranks.high[at] >= place else 0)",
        ),
        # Whoever misses a value may be inside everywhere.
        (
            "kernels/sending.pyx",
            "reached = (low[one] == place) | (low[one] == always)",
            "reached = low[one] == place",
        ),
        # The right side counts as inside where a split is flipped.
        (
            "kernels/sending.pyx",
            "    if ranks.flipped[tree.codes[node]]:\n",
            "    if ranks.flipped[tree.codes[node]] > 1:\n",
        ),
        # Leaves are many more than fit into a word.
        (
            "kernels/sending.pyx",
            "reached[chosen[number] * tree.n_words + at // 64] |= bit",
            "reached[chosen[number] * tree.n_words] |= bit",
        ),
        (
            "kernels/sending.pyx",
            "        bit = <uint64_t>1 << at % 64\n",
            "        bit = <uint64_t>1 << at % 32\n",
        ),
        # What leaving and entering a split costs, and exchanged.
        (
            "kernels/changes.pyx",
            "            low[0] += more\n",
            "            low[0] += less\n",
        ),
        (
            "kernels/changes.pyx",
            "            high[0] -= less\n",
            "            high[0] -= more\n",
        ),
        (
            "kernels/changes.pyx",
            "            high[1] -= more\n",
            "            high[1] -= less\n",
        ),
        # Along a chain that no box crosses it costs the same at the person's own rank.
        (
            "kernels/changes.pyx",
            "still_gain += one.cost[OUTSIDE] - one.cost[INSIDE]",
            "still_gain += one.cost[INSIDE] - one.cost[OUTSIDE]",
        ),
        (
            "ranks.py",
            "kind[family] = 0 if is_still.all() else 1",
            "kind[family] = 0 if is_still.any() else 1",
        ),
        (
            "kernels/changes.pyx",
            "total += sign * gain[place]",
            "total += gain[place]",
        ),
        (
            "kernels/changes.pyx",
            "            base[1] -= gain[size + 1]\n",
            "",
        ),
        (
            "kernels/changes.pyx",
            "return reached if reached == BOTH else BOTH - reached",
            "return reached",
        ),
        (
            "kernels/changes.pyx",
            "pair.outer[0] = pair.inner[1] = my_pairs[2 * number + 1]",
            "pair.outer[0] = my_pairs[2 * number + 1]\n                pair.inner[1] = my_pairs[2 * number]",
        ),
        # Two sets of labels together are several.
        (
            "kernels/records.pxd",
            "return others if labels == NONE else SEVERAL",
            "return others",
        ),
        # All boxes of a person count.
        (
            "kernels/changes.pyx",
            "        if around.start[number + 1] - at > 1:\n            pair.many",
            "        if around.start[number + 1] - at > 2:\n            pair.many",
        ),
        (
            "kernels/changes.pyx",
            "                if rank < high[around.box[at]] < following:\n",
            "                if rank < high[around.box[at]] < low[around.box[at]]:\n",
        ),
        (
            "kernels/changes.pyx",
            "        for at in range(around.start[number], around.start[number + 1]):\n            box = around.box[at]\n",
            "        for at in range(around.start[number], around.start[number] + 1):\n            box = around.box[at]\n",
        ),
        # A category that two boxes hold is counted once.
        (
            "kernels/changes.pyx",
            "                        seen = True\n",
            "                        seen = False\n",
        ),
        # What a box reaches of others' categories.
        (
            "kernels/changes.pyx",
            "base[0] -= one.cost[low[one.box]] - one.cost[OUTSIDE]",
            "base[0] -= one.cost[low[one.box]]",
        ),
        # Whom nothing here concerns may be treated unfairly all the same.
        (
            "kernels/around.pyx",
            "around.unfair[person] if is_unfair[person] else 0",
            "0",
        ),
        # Growths from one leaf share what they found out, split by split.
        (
            "growth.py",
            "        if split not in self._sides:\n",
            "        if not self._sides:\n",
        ),
        # Who is unfair elsewhere is so whatever stands here.
        (
            "kernels/around.pyx",
            "            around.rest -= around.unfair[person]\n",
            "            pass\n",
        ),
        # Too few people on the other side.
        (
            "kernels/changes.pyx",
            "if inside < min_leaf or around.n_here - inside < min_leaf:",
            "if inside < min_leaf:",
        ),
        # What is torn at a leaf.
        (
            "kernels/tallies.pyx",
            "            sums[high] -= weight[box]\n",
            "            sums[low] -= weight[box]\n",
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
        # Of families that are left out, those of singles leave no row behind.
        (
            "ranks.py",
            "row=np.where(row < 0, -1, np.cumsum(row >= 0) - 1),",
            "row=row,",
        ),
        # A constant tree is worse than any other.
        ("descent.py", "and len(labels[inner] | labels[outer]) > 1\n", "\n"),
        # What is known of one tree is not known of another.
        (
            "descent.py",
            "key = (traced.tree.tobytes(), place)",
            "key = (traced.tree[:1].tobytes(), place)",
        ),
        # What no tree is worth more than is no less than what the best one is worth.
        (
            "optimum.py",
            "    most = objective.priced.max(axis=1).sum()\n",
            "    most = objective.priced.min(axis=1).sum()\n",
        ),
        (
            "optimum.py",
            "                if label != other_label:\n",
            "                if label == other_label:\n",
        ),
        (
            "optimum.py",
            "np.where(np.diff(ranks.box_start) == 1, cost, 0)",
            "np.where(np.diff(ranks.box_start) >= 1, 2 * cost, 0)",
        ),
        (
            "optimum.py",
            "- (opened * few) @ (1 - second).T,",
            "- (opened * most) @ (1 - second).T,",
        ),
        (
            "optimum.py",
            "        torn = (self.alone * left * self.reach[0]) @ both.T\n",
            "        torn = (self.alone * self.reach[0]) @ both.T\n",
        ),
        # What was not looked at for want of time may still be better.
        (
            "optimum.py",
            "return Optimum(search.tree, max(search.beyond, prefix.bound))",
            "return Optimum(search.tree, max(search.beyond, search.best))",
        ),
    )
)
