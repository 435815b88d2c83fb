"""Wrong versions of the kernels: a bound off by one, a side, leaf or class lost."""

from __future__ import annotations

from tests.mutants.mutant import PROBE, Mutant

_FOLDER = "fatt/verifier/kernels"


def _of(file: str, *pairs: tuple[str, str]) -> list[Mutant]:
    return [Mutant(f"{_FOLDER}/{file}", old, new, PROBE) for old, new in pairs]


def _lost(text: str, before: str, after: str) -> tuple[str, str]:
    """Return a text and the same with one place changed."""
    assert text.count(before) == 1, (text, before)
    return text, text.replace(before, after)


_PROPAGATION = _of(
    "propagation.pyx",
    _lost("if top - leaves[leaf].value > bound - possible:", ">", ">="),
    _lost("    while bound >= possible:", ">=", ">"),
    _lost(
        "if top - leaves[leaf].value > bound - possible:",
        "bound - possible",
        "(bound - possible) // 2",
    ),
    # The next tree would be measured by a bound that is too low.
    _lost(
        "bound -= top - leaves[alive[begin]].value",
        "top - leaves[alive[begin]].value",
        "2 * (top - leaves[alive[begin]].value)",
    ),
    _lost("if counted[constraint.domain] == count:", "== count", ">= count - 1"),
    # A leaf that is not looked at again stays alive where it has no point.
    _lost("changed[0] |= bit_of(constraint.domain)", "bit_of(constraint.domain)", "0"),
    _lost("        changed = now\n", "now", "0"),
    _lost(
        "    for tree in range(part.n_trees):\n        total += problem.leaves[part.alive[part.start[tree]]].value",
        "range(part.n_trees)",
        "range(1, part.n_trees)",
    ),
)

_DUAL = _of(
    "dual_ascent.pyx",
    _lost(
        "    for tree in range(part.n_trees):\n        best = NO_MARGIN\n        for position in range(part.start[tree], part.start[tree + 1]):",
        "range(part.n_trees)",
        "range(1, part.n_trees)",
    ),
    _lost("        share += rank < total - share * count\n", "share * count", "total"),
    _lost("multiplier[member] += share - marginal[member]", "+=", "="),
    _lost("if best - shared[member] > slack:", ">", ">="),
    _lost(
        "                kept,\n                reached.bound - possible,\n",
        "reached.bound - possible",
        "(reached.bound - possible) // 2",
    ),
    _lost(
        "if _drop_leaves(multipliers, part, reached.bound - possible):",
        "reached.bound - possible",
        "(reached.bound - possible) // 2",
    ),
    _lost("if best - multipliers.value[leaf] <= slack:", "<=", "<"),
    _lost(
        "    bound = _bound(multipliers, part, target.constant)\n    if",
        "_bound(multipliers, part, target.constant)",
        "target.possible - 1",
    ),
    _lost(
        "anywhere = max(anywhere, multipliers.value[leaf] - edge.best)",
        " - edge.best",
        "",
    ),
    _lost("gain += spread.most", "spread.most", "spread.most + 1"),
    # A leaf allows all its runs, and is worth the best of them.
    _lost(
        "add(runs, runs_at[number], run_of[edge.place + member])",
        "edge.place + member",
        "edge.place",
    ),
    _lost(
        "run_rest[run] = max(run_rest[run], rest)", "max(run_rest[run], rest)", "rest"
    ),
    _lost("run_best[64 * offset + lowest(word)])", "64 * offset + lowest(word)", "0"),
    _lost(
        "multipliers.value[leaf] += here - multipliers.part[constraint]",
        " - multipliers.part[constraint]",
        "",
    ),
    _lost(
        "rest = multipliers.value[leaf] - multipliers.part[constraint]",
        " - multipliers.part[constraint]",
        "",
    ),
)

_CHOICE = _of(
    "branch_and_bound.pyx",
    _lost("if losses[domain.block_start + member].at > slack:", ">", ">="),
    # A leaf that does not ask for the domain allows all of it.
    _lost("    return ~<uint64_t>0\n", "~<uint64_t>0", "0"),
    _lost(
        "value = problem.leaves[alive[position]].value",
        "[position]",
        "[count - 1]",
    ),
    _lost("            rest &= ~mine\n", "~mine", "rest - 1"),
    _lost("losses[run.first].at += loss - at", "loss - at", "loss"),
    _lost("loss = _loss(top, run.best, huge)", "huge)", "huge) + 1"),
    _lost("loss[member].at += loss[member - 1].at", "[member - 1].at", "[member].at"),
)

_BRANCHING = _of(
    "branch_and_bound.pyx",
    # As in propagation: who is not told what became smaller looks at too little again.
    _lost("is_closed, changed = False, bit_of(number)", "bit_of(number)", "0"),
    _lost("is_closed, changed = False, ALL", "ALL", "0"),
    _lost("changed[0] = bit_of(rows.cut[row])", "bit_of(rows.cut[row])", "0"),
    _lost("changed[0] |= bit_of(number)", "bit_of(number)", "0"),
    _lost("            if some == 0:", "some == 0", "some == 1 and some == 0"),
    _lost("+ domain.word_start + offset] &= ~rows.sides[", "~", ""),
    # At `possible` itself nobody wins: it lies a unit below what the error allows.
    _lost("if point.margin < target.possible:", "possible", "certain"),
    _lost("if point.margin >= target.certain:", "certain", "certain - 1"),
    _lost("    row -= 1\n    while", "row -= 1", "row -= 2"),
    _lost("if rows.cut[above] >= 0:", ">=", "<"),
    _lost("        search.n_ties += 1", "1", "0"),
    _lost(
        "_drop_blocks(problem, losses, part.box, slack, &changed)",
        "slack",
        "slack // 2",
    ),
)

_LOCAL_SEARCH = _of(
    "local_search.pyx",
    _lost("        if broken == 0:", "== 0", "<= 1"),
    _lost("if leaf.broken != (0 if holds else 1):", "(0 if holds else 1)", "0"),
    _lost("].broken += before - after", "before - after", "after - before"),
    _lost("gain[64 * offset + lowest(word)] -= leaf.value", "-=", "+="),
    _lost(
        "if beyond < domain.n_blocks and gain[beyond] >= least:", "least", "least - 1"
    ),
)

_MARGINS = _of(
    "margins.pyx",
    _lost("is_higher = _score(arithmetic, leaves, chosen, 0) >= contest.at", ">=", ">"),
    _lost(
        "    if mine == other:\n        return WINS if _wins_ties(rule, own, rival) else LOSES\n    if rule.link == SIGMOID",
        "WINS if _wins_ties(rule, own, rival) else LOSES",
        "LOSES",
    ),
    _lost(
        "total = 0.0 if rule.base_last != 0 else base",
        "0.0 if rule.base_last != 0 else base",
        "base",
    ),
    _lost(
        "return <double><float>number if rule.single != 0 else number",
        "<double><float>number if rule.single != 0 else number",
        "number",
    ),
    _lost("constant += leaves[first].value", "leaves[first].value", "0"),
    _lost(
        "constant += _margin_of_leaf(arithmetic, output, row, own, rival)",
        "_margin_of_leaf(arithmetic, output, row, own, rival)",
        "0",
    ),
    _lost(
        "return -scaled[0] if target == own else 0",
        "-scaled[0] if target == own else 0",
        "0",
    ),
    _lost(
        "return one[own] == other[own] and one[rival] == other[rival]",
        "one[rival] == other[rival]",
        "own != rival",
    ),
)

_THRESHOLDS = _of(
    "margins.pyx",
    _lost(
        "needed.possible = 0 if _wins_ties(rule, own, rival) else 1",
        "0 if _wins_ties(rule, own, rival) else 1",
        "1",
    ),
    _lost(
        "-_to_units(-units) if side == HIGHER else _to_units(-units) + 1",
        "+ 1",
        "+ 2",
    ),
    _lost(
        "-_to_units(-units) if side == HIGHER else _to_units(-units) + 1",
        "-_to_units(-units) if",
        "1 - _to_units(-units) if",
    ),
    _lost(
        "needed.possible = _to_units(-(error + more)) - 1",
        "_to_units(-(error + more)) - 1",
        "1",
    ),
    _lost(
        "if total.mass * SLACK <= ldexp(step, 24 if rule.single != 0 else 53):",
        "total.mass * SLACK <= ldexp(step, 24 if rule.single != 0 else 53)",
        "total.mass >= 0",
    ),
    _lost(
        "return SINGLE_UNIT if rule.single != 0 else DOUBLE_UNIT",
        "SINGLE_UNIT if rule.single != 0 else DOUBLE_UNIT",
        "DOUBLE_UNIT",
    ),
    _lost(
        "needed.possible = _to_units(units - error) - 1",
        "_to_units(units - error) - 1",
        "_to_units(units) + 1",
    ),
    _lost("if rule.link == IDENTITY:", "== IDENTITY", "!= -1"),
    _lost("return divisions * (2", "divisions", "0 * divisions"),
)

_SCREEN = _of(
    "screen.pyx",
    _lost("found = LEFT if lower[feature] <= threshold else 0", "<=", "<"),
    _lost("found = LEFT if lower[place] <= threshold else 0", "<=", "<"),
    _lost("size += is_left & is_right", "is_left & is_right", "0"),
    _lost(
        "if forest.variables[index].kind != ORDERED or missing[index]:",
        " or missing[index]",
        "",
    ),
    # Where the leaves are collected that the box reaches.
    _lost(
        "nodes[parts_at].leaf\n    return parts_at\n",
        "return parts_at",
        "return node",
    ),
    _lost("return parts_at if parts_at >= 0 else -1 - nodes", "-1 - nodes", "-nodes"),
    _lost("                if parts_at < 0:\n", "parts_at < 0", "True"),
    _lost("if size == 0 and box + 1 < start[person + 1]:", "box + 1", "box + 2"),
    _lost("totals[LOWER].margin = -totals[0].low", "[0].low", "[0].high"),
    _lost(
        "totals[rival].margin = totals[rival].high - totals[own].low",
        "totals[own].low",
        "totals[own].high",
    ),
    _lost(
        "count += 1 if word & (word - 1) == 0 else 2",
        " if word & (word - 1) == 0 else 2",
        "",
    ),
    _lost("            if members & ~left != 0:", "!= 0", "== members"),
    _lost(
        "total.tree_high = max(total.tree_high, value)",
        "max(total.tree_high, value)",
        "value",
    ),
    _lost("total.high += high\n", "high\n", "low\n"),
)

_SHARED = _of(
    "records.pxd",
    _lost(
        "return LEFT + is_right if code == node.alone >> 1 else RIGHT - is_right",
        "code == node.alone",
        "code != node.alone",
    ),
    _lost("        if number <= cuts[middle]:", "<=", "<"),
    _lost("after = nextafter(below, INFINITY)", "nextafter(below, INFINITY)", "below"),
)

_REACH = _of(
    "reach.pyx",
    _lost("asked |= bit_of(", "|=", "="),
    _lost("if mine.first <= min(split, mine.last):", "<=", "<"),
    _lost("if max(mine.first, split + 1) <= mine.last:", "<=", "<"),
    _lost("            mine.last = min(mine.last, split)", "split)", "split - 1)"),
    _lost("if (node.missing_left != 0) != is_left:", ") != is_left", ") == is_left"),
    _lost("        if mine.missing != 0:\n            found", "!= 0", "> 1"),
    _lost(
        "mine.first, mine.last, mine.missing = old.first, old.last, old.missing",
        "old.missing",
        "mine.missing",
    ),
    _lost("        if here & ~left != 0:", "!= 0", "== here"),
    # Where a leaf ends another begins, which marks the same cell after it.
    _lost("block_of[at + condition.first] = 1", "] = 1", "] = 0"),
    _lost("        if condition.missing != 0:", "!= 0", "> 1"),
    _lost(
        "last = block_of[condition.last - mine.first]",
        "condition.last",
        "condition.first",
    ),
    _lost(
        "return min(max(own, mine.first), mine.last)",
        "min(max(own, mine.first), mine.last)",
        "max(own, mine.first)",
    ),
)

_DECISION = _of(
    "decide.pyx",
    _lost("visit.looks[count].own = regions.label[person]", "[person]", "[begin]"),
    _lost(
        "if seen < n_looks and visit.looks[seen].box == regions.start[person]:",
        "visit.looks[seen].box == regions.start[person]",
        "True",
    ),
    _lost(
        "    for leaf in range(problem.n_leaves):",
        "range(problem.n_leaves)",
        "range(0)",
    ),
    _lost(
        "if outcome.what == STOPPED or search.n_ties > 0:",
        "outcome.what == STOPPED or ",
        "",
    ),
    _lost(
        "for other in range(place, n_open):",
        "range(place, n_open)",
        "range(place, place + 1)",
    ),
    _lost("if box + 1 < regions.start[person + 1]:", "box + 1", "box + 2"),
    _lost(
        "for box in range(regions.start[person], regions.start[person + 1]):",
        "range(regions.start[person], ",
        "range(regions.start[person + 1] - 1, ",
    ),
    _lost("return rival != regions.label[person]", "!=", ">"),
    # The two sides of a score.
    _lost("        return at == at\n", "at == at", "at == at and rival == HIGHER"),
    _lost(
        "return regions.above[person] if rival == HIGHER else regions.below[person]",
        "else regions.below[person]",
        "else regions.above[person]",
    ),
    _lost(
        "answers.bound[person] = max(answers.bound[person], outcome.bound)",
        "max(answers.bound[person], outcome.bound)",
        "outcome.bound",
    ),
)

_POINTS = _of(
    "points.pyx",
    _lost(
        "low, high = max(low, lower[place]), min(high, upper[place])",
        "max(low, lower[place])",
        "low",
    ),
)

#: Both ends of an interval around one's own score: tolerances, bands and directions.
_TWO_SIDED = [
    Mutant(f"{_FOLDER}/{file}", *_lost(*change), ("tests/laws/test_tolerances.py",))
    for file, *change in (
        (
            "margins.pyx",
            "return scaled[0] if rival == HIGHER else -scaled[0]",
            " if rival == HIGHER else -scaled[0]",
            "",
        ),
        (
            "margins.pyx",
            "constant = bases[0].scaled if rival == HIGHER else -bases[0].scaled",
            "else -bases",
            "else bases",
        ),
        ("margins.pyx", "    if side != HIGHER:\n", "side != HIGHER", "False"),
        (
            "margins.pyx",
            "return WINS if is_higher == (rival == HIGHER) else LOSES",
            "is_higher == (rival == HIGHER)",
            "is_higher",
        ),
        (
            "margins.pyx",
            "needed.possible = _to_units(units - error) - 1",
            "units - error",
            "units + error",
        ),
        (
            "margins.pyx",
            "needed.certain = _to_units(units + error) + 2",
            "units + error",
            "units - error",
        ),
        (
            "decide.pyx",
            "        contest.at = _at(regions, person, rival)\n",
            "_at(regions, person, rival)",
            "0.0",
        ),
        ("screen.pyx", "totals[HIGHER].margin = totals[0].high", ".high", ".low"),
        ("reach.pyx", "if score < regions.below[person]:", "<", "<="),
        (
            "reach.pyx",
            "return HIGHER if score >= regions.above[person] else -1",
            ">=",
            ">",
        ),
        (
            "decide.pyx",
            "                rival,\n                _at(regions, person, rival),\n",
            "_at(regions, person, rival)",
            "regions.above[person]",
        ),
        (
            "decide.pyx",
            "        contest.at = _at(regions, person, rival)\n        needed",
            "_at(regions, person, rival)",
            "regions.below[person]",
        ),
        (
            "decide.pyx",
            "        return at == at\n",
            "at == at",
            "at == at and rival == LOWER",
        ),
    )
]

#: What only models tell that nobody draws: the last bits of links and of sums, answers
#: of one tree, hundreds of cells.
_RARE = [
    Mutant(f"{_FOLDER}/{file}", *_lost(*change), ("tests/verifier/test_search.py",))
    for file, *change in (
        (
            "margins.pyx",
            "if rule.link == SOFTMAX and fabs(mine - other) <= 32 * _unit_of(rule):",
            "32",
            "0",
        ),
        (
            "margins.pyx",
            "merged + 2 / scale * (reach > 30)",
            "merged + 2 / scale * (reach > 30)",
            "0 * merged",
        ),
        ("margins.pyx", "if rule.link == IDENTITY:", "== IDENTITY", "!= SIGMOID"),
        ("screen.pyx", "total.mass += largest(low, high)", "largest(", "min("),
        ("screen.pyx", "lower[feature] <= nodes[node].threshold", "<=", "<"),
        ("screen.pyx", "lower[feature] <= nodes[parts_at].threshold", "<=", "<"),
        (
            "decide.pyx",
            "if totals[rival].margin + error < least - 1 and",
            " + error",
            "",
        ),
        ("reach.pyx", "possible[rival] = True", "True", "False"),
        (
            "screen.pyx",
            "score < regions.below[person] or score >= regions.above[person]",
            "score >= ",
            "score > ",
        ),
        ("records.pxd", "        word = ~<uint64_t>0\n", "~<uint64_t>0", "0"),
        (
            "local_search.pyx",
            "gain[64 * (offset + 1)] -= leaf.value",
            "64 * (offset + 1)",
            "64 * offset",
        ),
    )
]

#: Budgets: what cannot be paid, what it costs, and what a price bounds.
_BUDGETS = [
    Mutant(
        f"{_FOLDER}/{file}",
        *_lost(*change),
        ("tests/laws/test_budgets.py", "tests/verifier/test_budgets.py"),
    )
    for file, *change in (
        (
            "tariff.pyx",
            "    if cost.kind == COUNT:\n        return min(cost.missing, most + 1)\n",
            "cost.missing",
            "1",
        ),
        ("tariff.pyx", "    return min(cost.missing, best)\n", "cost.missing", "1"),
        ("spending.pyx", "        if total > budget.most:", ">", ">="),
        ("spending.pyx", "if cost[member] - least > budget.left:", ">", ">="),
        ("spending.pyx", "    return total <= budget.left\n", "<=", "<"),
        ("spending.pyx", "budget.left = budget.most - total\n", "total", "total - 1"),
        ("spending.pyx", "left = budget.most >>", "budget.most", "-1 + budget.most"),
        # A cover that leaves out those who must move several domains.
        ("spending.pyx", "    for turn in range(2):\n", "range(2)", "range(1)"),
        (
            "spending.pyx",
            "mine[member] = max(mine[member], least)",
            "max(mine[member], least)",
            "mine[member]",
        ),
        ("spending.pyx", "        gain[member] += mine[member]\n", "+=", "="),
        (
            "spending.pyx",
            "if made.bound - most + worth < target.possible:",
            "<",
            "<=",
        ),
        ("spending.pyx", "        made.bound += base\n", "base", "base - 1"),
        ("spending.pyx", "        total += middle * left\n", "left", "(left - 1)"),
        (
            "tariff.pyx",
            "room = tariff.most - tariff.spent + tariff.now[index]",
            " + tariff.now[index]",
            "",
        ),
        # No leaf can be paid any more: an error, no endless search.
        ("tariff.pyx", "(LEFT if left <= room else 0)", "<=", "<"),
        ("tariff.pyx", "(RIGHT if right <= room else 0)", "<=", "<"),
        ("tariff.pyx", "return <int64_t>floor(size)\n", "size)", "size) + 1"),
        ("tariff.pyx", "    if cost.kind == SQUARE:\n", "SQUARE", "COUNT"),
        ("tariff.pyx", "if not size <= <double>most + 1.0:", "not size <=", "size >"),
        (
            "tariff.pyx",
            "low = max(smallest_of(forest.cuts, variable, first), tariff.lower[index])",
            "tariff.lower[index]",
            "0.0",
        ),
        (
            "tariff.pyx",
            "high = min(largest_of(forest.cuts, variable, last), tariff.upper[index])",
            "tariff.upper[index]",
            "0.0",
        ),
        ("tariff.pyx", "if variable.hole_first <= variable.hole_last:", "<=", ">"),
        (
            "tariff.pyx",
            "own * variable.n_cells + cell]",
            "own * variable",
            "0 * variable",
        ),
        (
            "tariff.pyx",
            "            budget.asked[place] = least\n",
            "least",
            "least + 1",
        ),
        ("reach.pyx", "    tariff.spent += cost - old.cost\n", " - old.cost", ""),
        ("reach.pyx", "walk.tariff.now[old.variable] = old.cost", "old.cost", "0"),
        (
            "reach.pyx",
            "_narrow(forest, here, walk, paid == LEFT)",
            "== LEFT",
            "== RIGHT",
        ),
        ("reach.pyx", "        if cost[cell] < cost[best]:", "<", ">"),
        (
            "propagation.pyx",
            "(not is_paid or can_pay(problem, leaf))",
            "or can_pay(problem, leaf)",
            "or not can_pay(problem, leaf)",
        ),
        ("dual_ascent.pyx", "        shared[member] -= worth\n", "worth", "2 * worth"),
        ("dual_ascent.pyx", "paid[place] += mine[place]", "+=", "="),
        ("dual_ascent.pyx", "    return before - after\n", " - after", " - 0 * after"),
        (
            "dual_ascent.pyx",
            "multipliers.shared[member] += paid[member]",
            "+=",
            "-=",
        ),
        (
            "branch_and_bound.pyx",
            "if made.bound < possible or made.is_empty:",
            "made.bound < possible",
            "made.bound <= possible",
        ),
        ("branch_and_bound.pyx", "0 < cost[member] - cost[now] <= left", "<= left", ""),
        # What costs least in a smaller part need not be paid, nor be in any leaf.
        (
            "branch_and_bound.pyx",
            "    return total <= budget.most\n",
            "total <= budget.most",
            "True",
        ),
        (
            "local_search.pyx",
            "if others + each[member] > budget.most:",
            "most",
            "most + 1",
        ),
        (
            "local_search.pyx",
            "if gain[member] < least or each[member] > most:",
            " > most",
            " > most + 1",
        ),
        ("points.pyx", "low, high = ceil(low), floor(high)", "ceil(low)", "low"),
        ("points.pyx", ") >= cost_of_missing(", ">=", "<"),
        ("points.pyx", "                if not is_paid:\n", "not is_paid", "True"),
    )
]

#: Rows that go down a tree side by side.
_ABREAST = [
    Mutant(
        "fatt/ensemble/kernels.pyx",
        *_lost(*change),
        ("tests/ensemble/test_ensemble.py",),
    )
    for change in (
        ("row += count", "count", "ABREAST + 1"),
        ("                            is_inside = True\n", "True", "each > 0"),
    )
]

#: From people to boxes: an end, a step, a level or a condition lost.
_GROWTH = [
    Mutant("fatt/region/growth.pyx", *_lost(*change), ("tests/region/test_boxes.py",))
    for change in (
        # 29 percent of 100 are 29.
        (
            "size = size * step / 100.0 if is_whole else size * (step / 100.0)",
            "size * step / 100.0 if is_whole else ",
            "",
        ),
        # Whole numbers move by whole steps, and stay whole.
        ("    return floor(size) if is_whole else size\n", "floor(size)", "size"),
        ("low, high = ceil(low), floor(high)", "floor(high)", "ceil(high)"),
        ("low, high = ceil(low), floor(high)", "ceil(low)", "floor(low)"),
        (
            "    if not isfinite(number) or size != size:\n",
            "not isfinite(number) or ",
            "",
        ),
        # What nobody can be.
        (
            "low, high = _larger(low, domain.low), _smaller(high, domain.high)",
            "_larger(low, domain.low)",
            "low",
        ),
        (
            "low, high = _larger(low, domain.low), _smaller(high, domain.high)",
            "_smaller(high, domain.high)",
            "high",
        ),
        ("if domain.least <= number <= domain.most or", "<= number", "< number"),
        (
            "        elif person[index] == person[index]:\n            if not 0 <=",
            "if not 0 <=",
            "if not -1 <=",
        ),
        # People beyond what others can be are similar to themselves.
        (
            "low, high = _smaller(low, number), _larger(high, number)",
            "_larger(high, number)",
            "high",
        ),
        ("elif move.below <= number <= move.above:", "<= number <=", "< number <="),
        # Numbers that are read as missing.
        (
            "            missing[0] = True\n        else:\n",
            "True",
            "False",
        ),
        (
            "        if number != number or _reads_missing(domain, number):\n",
            " or _reads_missing(domain, number)",
            "",
        ),
        ("    missing[0] = value != value\n", "value != value", "True"),
        # Conditions hold of both persons.
        ("low = _larger(low, ceil(move.met_low))", "ceil", "floor"),
        (
            "low, high = _larger(low, move.met_low), _smaller(high, move.met_high)",
            "_smaller(high, move.met_high)",
            "high",
        ),
        ("codes[word] &= space.meeting[here + word]", "&=", "|="),
        ("if not move.met_low <= person[index] <= move.met_high:", "<= move", "< move"),
        ("        if move.is_met == 0:\n", "== 0", "!= 2"),
        # Levels have an order of their own, and two ways to go.
        ("max(own - _levels(move.below, scale, n_levels), 0)", "below", "above"),
        (
            "min(own + _levels(move.above, scale, n_levels) + 1, n_levels)",
            " + 1",
            "",
        ),
        ("        _add(codes, order[level])\n", "order[level]", "level"),
        # Who is not on a list becomes nobody who is.
        (
            "elif move.kind == WITHIN and _has(&space.members[here], <int64_t>value):",
            " and _has(&space.members[here], <int64_t>value)",
            "",
        ),
        (
            "    elif move.may_miss != 0:\n        _add_all(",
            "move.may_miss != 0",
            "move.may_miss > 1",
        ),
        # Only those to whom no alternative applies are alone.
        ("                    if n_boxes > first:\n", "> first", "> first + 1"),
    )
]

_READ = ("variables", "plain_tables", "schema", "encoders")

#: From columns to variables and back: a level, a gap or a column lost.
_COLUMNS = [
    Mutant(
        "fatt/region/kernels.pyx",
        *_lost(*change),
        tuple(f"tests/region/test_{each}.py" for each in _READ),
    )
    for change in (
        ("counts.which[row] += is_one * place", " * place", ""),
        # What is neither 0 nor 1 is no category.
        (
            "counts.others[row] += 1.0 - is_zero - is_one - is_gap",
            "1.0 - is_zero - is_one - is_gap",
            "0.0",
        ),
        ("if counts.ones[row] > 1 or counts.others[row] > 0 or", "> 1", "> 2"),
        (
            "if code < 0 and not (may_lack and counts.gaps[row] == n_columns):",
            " == n_columns",
            " > 0",
        ),
        (
            "may_lack = may_lack and may_be_missing[columns[place]] != 0",
            "may_lack and",
            "may_lack or",
        ),
        ("code = <double>zero if counts.ones[row] == 0 else", "zero", "0"),
        (
            "if not low <= number <= high and not (may_lack and number != number):",
            "may_lack and ",
            "",
        ),
        ("if code < 0 and not (number != number and may_lack):", " and may_lack", ""),
        ("            if levels[place] == number:\n", "==", ">="),
        ("wrong = wrong * n_variables + variable", " + variable", ""),
        # Which columns are one variable.
        (
            "if counts.others[row] + counts.gaps[row] == 0:",
            " + counts.gaps[row]",
            "",
        ),
        ("most[group] = max(most[group], ones)", "max(most[group], ones)", "ones"),
        ("                    elif counts.gaps[row] != size:\n", "!= size", "> size"),
        # Back to the columns of the model.
        ("at = begin + <int64_t>value * size", " * size", ""),
        (
            "cell = cells[at + place] if value == value else value",
            " if value == value else value",
            "",
        ),
    )
]

_EVERYBODY = [
    Mutant(f"{_FOLDER}/{file}", old, new, ("tests/mutants/everybody.py",))
    for file, old, new in (
        # Whether two people are similar is not asked of blocks that become pairs.
        (
            "pairs.pyx",
            "        return _ranges_meet(walk, index, one, two)\n    return kin.is_free",
            "        return True\n    return kin.is_free",
        ),
        # How far a range goes is taken from the wrong ends.
        (
            "pairs.pyx",
            "max(two.first, walk.low[kin.start + one.first])",
            "max(two.first, walk.low[kin.start + one.last])",
        ),
        (
            "pairs.pyx",
            "two.last, walk.high[kin.start + one.last]",
            "two.last, walk.high[kin.start + one.first]",
        ),
        # Leaves that differ alike are joined though both scores matter.
        (
            "pairs.pyx",
            "    if not walk.is_exact:\n        for",
            "    if True:\n        for",
        ),
        (
            "pairs.pyx",
            "one == two and not walk.is_exact and walk.moving[one] == 0",
            "one == two and walk.moving[one] == 0",
        ),
        # What may differ is taken for what is shared, below some nodes.
        ("pairs.pyx", "or walk.moving[node.left + 1] != 0", "or False"),
        # The same set of blocks is taken for another one.
        (
            "pairs.pyx",
            "made[found].domain == number and _ask_same(",
            "made[found].domain == number or _ask_same(",
        ),
        # The lower score is taken for the higher one.
        ("sides.pyx", "low, high = high, total", "low, high = total, high"),
        # A leaf that loses exactly the slack is dropped.
        (
            "sides.pyx",
            "if most - value[leaf] > sides.each[number]:",
            "if most - value[leaf] >= sides.each[number]:",
        ),
        ("sides.pyx", "if sides.each[number] < 0:", "if sides.each[number] <= 0:"),
        ("sides.pyx", "steps.edges[low - 1] + 1", "steps.edges[low - 1] + 2"),
        # One person's arithmetic is repeated for the other.
        (
            "sides.pyx",
            "sides.rows[2 * chosen[tree] + person]",
            "sides.rows[2 * chosen[tree]]",
        ),
        # The other sides of open cuts are forgotten between visits.
        ("branch_and_bound.pyx", "        frontier.n_open += 1\n", "        pass\n"),
    )
]

MUTANTS = (
    *_EVERYBODY,
    *_PROPAGATION,
    *_DUAL,
    *_CHOICE,
    *_BRANCHING,
    *_LOCAL_SEARCH,
    *_MARGINS,
    *_THRESHOLDS,
    *_SCREEN,
    *_SHARED,
    *_REACH,
    *_DECISION,
    *_POINTS,
    *_TWO_SIDED,
    *_RARE,
    *_BUDGETS,
    *_ABREAST,
    *_GROWTH,
    *_COLUMNS,
)
