"""Wrong versions of the trainer's kernels: a side, a box or a person counted wrongly."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_LAWS = ("tests/train/test_kernels.py",)
#: What else notices that these are wrong.
_OTHERS = {
    "optimum.py": ("tests/train/test_optimum.py",),
    "groups.py": ("tests/train/test_groups.py",),
    "models.py": ("tests/train/test_fairness.py",),
    "ranks.py": (*_LAWS, "tests/train/test_parameters.py"),
    "people.py": ("tests/train/test_fairness.py", "tests/train/test_groups.py"),
    "search.py": ("tests/train/test_parameters.py", "tests/train/test_groups.py"),
    "training.py": ("tests/train/test_parameters.py", "tests/train/test_groups.py"),
}

MUTANTS = tuple(
    Mutant(f"fatt/train/{file}", old, new, _OTHERS.get(file, _LAWS))
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
            "return bool(((low == high) & (low == own)).all())",
            "return bool(((low == high) & (low == own)).any())",
        ),
        # So it does in a family of singles of which nobody holds others.
        (
            "ranks.py",
            "            (alike & (is_inside == (own < size))).all()\n            and (",
            "            (is_inside == (own < size)).all()\n            and (",
        ),
        (
            "ranks.py",
            "alike &= (is_inside == 0) | (high == INSIDE)",
            "alike &= True",
        ),
        (
            "kernels/changes.pyx",
            "            if row >= rows.n_still:\n",
            "            if row >= 0:\n",
        ),
        (
            "kernels/changes.pyx",
            "        for row in range(n_still):\n            total[first[row] + own[row]] += still_gain\n",
            "        for row in range(n_still):\n            total[first[row] + own[row]] += gain\n",
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
            "rest += (count == size) * is_unfair[person] * unfair[person]",
            "rest += (count == size) * unfair[person]",
        ),
        (
            "kernels/around.pyx",
            "        n_near += count > size\n",
            "        n_near += count >= size\n",
        ),
        (
            "kernels/around.pyx",
            "            count += hit != 0\n",
            "            count += 1\n",
        ),
        # Of whom is left out, the boxes are.
        (
            "kernels/around.pyx",
            "            around.box[size] = around.box[at]\n",
            "            around.box[size] = around.box[size]\n",
        ),
        (
            "kernels/around.pyx",
            "    around.n_near = n_near\n    around.start[n_near] = size\n\n\ncdef int look_around",
            "    around.n_near = n_near\n\n\ncdef int look_around",
        ),
        # Who is elsewhere is worth what they are worth there.
        (
            "kernels/around.pyx",
            "rest += (1 - is_here) * worth[",
            "rest += worth[",
        ),
        (
            "kernels/around.pyx",
            "beyond[word] = ~within[word]",
            "beyond[word] = ~<uint64_t>0",
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
        (
            "kernels/tallies.pyx",
            "+= weight[box] if high == BOTH else -weight[box]",
            "+= weight[box]",
        ),
        (
            "kernels/tallies.pyx",
            "        if low == BOTH:\n            base += weight[box]\n",
            "",
        ),
        (
            "kernels/tallies.pyx",
            "inside[place] = sums[place] + sums[size + 1]",
            "inside[place] = sums[place]",
        ),
        # A missing value is inside or outside of a chain, and of singles.
        (
            "ranks.py",
            "return np.where(missing, size, own), low, np.where(may_miss, size, high)",
            "return np.where(missing, size, own), low, high",
        ),
        (
            "ranks.py",
            "high = INSIDE + OUTSIDE * ((count > 1) | lost_outside)",
            "high = INSIDE + OUTSIDE * (count > 1)",
        ),
        # Of families that are left out, those of singles leave no row behind.
        (
            "ranks.py",
            "row=np.where(row < 0, -1, np.cumsum(row >= 0) - 1),",
            "row=row,",
        ),
        # Some of the people have their own boxes, and the members of these.
        (
            "ranks.py",
            "first.append(begin + total)",
            "first.append(begin)",
        ),
        # Which side of a flipped split is inside.
        (
            "ranks.py",
            "return np.asarray(inside != self.flipped[split])",
            "return np.asarray(inside)",
        ),
        (
            "ranks.py",
            "return (outside, inside) if self.flipped[split] else (inside, outside)",
            "return inside, outside",
        ),
        (
            "descent.py",
            "            if people.ranks.flipped[split]:\n",
            "            if not people.ranks.flipped[split]:\n",
        ),
        # Nodes that stay keep their numbers, and limits hold below a new split.
        (
            "descent.py",
            "followed += numbers[piece] if isinstance(piece, slice) else [-1]",
            "followed += numbers[piece] if isinstance(piece, slice) else []",
        ),
        (
            "descent.py",
            "        and depth_at[place] < limits.max_depth\n",
            "        and depth_at[place] <= limits.max_depth\n",
        ),
        (
            "descent.py",
            "        if sizes[inner] + sizes[outer] <= room\n",
            "        if sizes[inner] + sizes[outer] <= room + 1\n",
        ),
        (
            "growth.py",
            "            if ranks.flipped[split]:\n",
            "            if not ranks.flipped[split]:\n",
        ),
        # A leaf costs what it costs, and so does being unfair.
        (
            "descent.py",
            "        worth = score - per_leaf * (sizes[inner] + sizes[outer])\n",
            "        worth = score - per_leaf * sizes[inner]\n",
        ),
        (
            "fitness.py",
            "gain = scored.accuracy - scored.n_leaves * self.leaf_cost",
            "gain = scored.accuracy - self.leaf_cost",
        ),
        (
            "fitness.py",
            "unfair = int(self.people.weight[traced.unfair].sum())",
            "unfair = int(traced.unfair.mean() * UNITS)",
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
            "                - self._between(_FEW, *beside),\n",
            "                - self._between(_MOST, *beside),\n",
        ),
        (
            "optimum.py",
            "torn[2] += (alone * left * reach[0]) @ both.T",
            "torn[2] += (alone * reach[0]) @ both.T",
        ),
        # People are added up a block at a time, and each of them once.
        (
            "optimum.py",
            "for start in range(0, len(self.all_people), size):",
            "for start in range(0, 1, size):",
        ),
        # What was not looked at for want of time may still be better.
        (
            "optimum.py",
            "return Optimum(search.tree, max(search.beyond, prefix.bound))",
            "return Optimum(search.tree, max(search.beyond, search.best))",
        ),
        # A price on the gap makes the label of those who are ahead worth less.
        (
            "groups.py",
            "slope=share[ahead] - share[behind],",
            "slope=share[behind] - share[ahead],",
        ),
        (
            "groups.py",
            "worst = int(np.argmax([np.ptp(rate) for rate in rates]))",
            "worst = 0",
        ),
        (
            "groups.py",
            "error=float(np.sqrt(variance[ahead] + variance[behind])),",
            "error=float(np.sqrt(variance[ahead])),",
        ),
        (
            "groups.py",
            "            count = count * np.isin(codes == positive, classes)\n",
            "",
        ),
        (
            "groups.py",
            "return [share @ (labels == self.positive) for share in self.shares]",
            "return [share @ (labels == 1) for share in self.shares]",
        ),
        # The verifier has the last word about people whose boxes have gaps.
        (
            "models.py",
            "    exact[chosen] = found.verdict != FAIR\n",
            "    exact[chosen] = False\n",
        ),
        (
            "models.py",
            "        if behind > 0:\n",
            "        if behind > 1:\n",
        ),
        (
            "people.py",
            "found |= missing & (boxes.lower[:, index] <= boxes.upper[:, index])",
            "pass",
        ),
        (
            "people.py",
            "found |= (size > 1) & (size < most + missing.any())",
            "found |= (size > 2) & (size < most + missing.any())",
        ),
        (
            "people.py",
            "            price=self.price / whole,\n",
            "            price=self.price,\n",
        ),
        # What varies freely for everybody who counts.
        (
            "ranks.py",
            "found[family] = everywhere[weights > 0].all()",
            "found[family] = everywhere.all()",
        ),
        # The weight that makes trees fair enough, and the answer without a price.
        (
            "search.py",
            "        if search.best(1)[0].fairness >= min_fairness:\n",
            "        if search.best(1)[0].fairness < min_fairness:\n",
        ),
        (
            "search.py",
            "odds = _HALF / (np.log(2) * (share + _UNMISSED))",
            "odds = _HALF * np.log(2) * (share + _UNMISSED)",
        ),
        (
            "search.py",
            "search.objective, gap_price=price, slope=spread.slope",
            "search.objective, gap_price=price, slope=-spread.slope",
        ),
        (
            "training.py",
            "    wanted = min(most, settings.min_fairness or 0.0)\n",
            "    wanted = 0.0\n",
        ),
        (
            "training.py",
            "if settings.is_close(one.gap, one.gap_error, one.ratio, one.ratio_error)",
            "if one.gap >= 0",
        ),
    )
)
