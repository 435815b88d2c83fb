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
    "tighten.py",
    _lost("if top - leaves[leaf].value > slack:", ">", ">="),
    _lost("if bound < may:", "<", "<="),
    _lost(
        "_drop_leaves(problem, alive, start, box, bound - may)",
        "bound - may",
        "(bound - may) // 2",
    ),
    _lost(
        "if counted[number] == last - first:", "== last - first", ">= last - first - 1"
    ),
    _lost(
        "    for tree in range(len(start) - 1):\n        total += leaves[alive[start[tree]]].value",
        "range(len(start) - 1)",
        "range(1, len(start) - 1)",
    ),
)

_DUAL = _of(
    "dual.py",
    _lost(
        "    for tree in range(len(start) - 1):\n        best = np.int64(_NONE)\n        for position in range(start[tree], start[tree + 1]):",
        "range(len(start) - 1)",
        "range(1, len(start) - 1)",
    ),
    _lost(
        "share = total // count + (rank < total - total // count * count)",
        " + (rank < total - total // count * count)",
        "",
    ),
    _lost("price[base + member] += share - worth[base + member]", "+=", "="),
    _lost("if best - shared[member] > slack:", ">", ">="),
    _lost(
        "if _drop_classes(fact, prices.shared, box, kept, bound - may):",
        "bound - may",
        "(bound - may) // 2",
    ),
    _lost(
        "if _drop_leaves(prices, alive, start, bound - may):",
        "bound - may",
        "(bound - may) // 2",
    ),
    _lost("if best - prices.value[leaf] <= slack:", "<=", "<"),
    _lost(
        "bound = _bound(prices, constant, alive, start)",
        "_bound(prices, constant, alive, start)",
        "may - 1",
    ),
    _lost(
        "anywhere = max(anywhere, prices.value[leaf] - slots[slot, 3])",
        " - slots[slot, 3]",
        "",
    ),
    _lost("gain += most", "most", "most + 1"),
    _lost("prices.value[leaf] += here - prices.part[ask]", " - prices.part[ask]", ""),
    _lost("rest = prices.value[leaf] - prices.part[ask]", " - prices.part[ask]", ""),
)

_CHOICE = _of(
    "choose.py",
    _lost("if losses[fact.class_start + member].at > slack:", ">", ">="),
    _lost("loss.best = max(loss.best, free)", "max", "min"),
    _lost(
        "            return leaves[leaf].value", "leaves[leaf].value", "np.int64(_NONE)"
    ),
    _lost("loss.at += _loss(top, loss.best, huge)", "huge)", "huge) + 1"),
)

_BRANCHING = _of(
    "branch.py",
    _lost("            if some == 0:", "some == 0", "some == 1 and some == 0"),
    _lost("boxes[row, fact.word_start + offset] &= ~sides[row, offset]", "~", ""),
    _lost("if climb.total[0] < stakes[MAY]:", "<", "<="),
    _lost(
        "if climb.total[0] >= stakes[SURELY]:", "stakes[SURELY]", "stakes[SURELY] - 1"
    ),
    _lost("            row -= 1\n            while", "row -= 1", "row -= 2"),
    _lost("if cut[above] >= 0:", ">=", "<"),
    _lost("        count[0] += 1", "1", "0"),
    _lost(
        "weigh(problem, alive, start, box, losses, slack + 1)\n            dropped = drop_classes(facts, losses, box, slack)",
        "losses, box, slack)",
        "losses, box, slack // 2)",
    ),
)

_CLIMB = _of(
    "climb.py",
    _lost("        if broken == 0:", "== 0", "<= 1"),
    _lost("if leaves[leaf].broken != (0 if holds else 1):", "(0 if holds else 1)", "0"),
    _lost(
        "np.int64(before) - np.int64(after)",
        "before) - np.int64(after",
        "after) - np.int64(before",
    ),
    _lost(
        "if beyond < fact.n_classes and gain[beyond] >= least:", "least", "least - 1"
    ),
)

_SETTLING = _of(
    "lead.py",
    _lost("is_second = _score(library, leaves, chosen, 0) >= rule.at", ">=", ">"),
    _lost(
        "    if mine == other:\n        return 1 if wins_ties(rule, own, rival) else 0\n    if rule.link == SIGMOID",
        "1 if wins_ties(rule, own, rival) else 0",
        "0",
    ),
    _lost(
        "total = 0.0 if rule.base_last != 0 else base",
        "0.0 if rule.base_last != 0 else base",
        "base",
    ),
    _lost(
        "return np.float64(np.float32(number)) if rule.single != 0 else number",
        "np.float64(np.float32(number)) if rule.single != 0 else number",
        "number",
    ),
    _lost("constant += leaves[first].value", "leaves[first].value", "0"),
    _lost(
        "return -scaled[row, 0] if target == own else np.int64(0)",
        "-scaled[row, 0] if target == own else np.int64(0)",
        "np.int64(0)",
    ),
    _lost(
        "            and values[one, rival] == values[other, rival]",
        "values[one, rival] == values[other, rival]",
        "own != rival",
    ),
)

_BAND = _of(
    "band.py",
    _lost(
        "least = np.int64(0 if wins_ties(rule, own, rival) else 1)",
        "0 if wins_ties(rule, own, rival) else 1",
        "1",
    ),
    _lost("least = -_to_units(-at) if own == 0 else _to_units(-at) + 1", "+ 1", "+ 2"),
    _lost(
        "least = -_to_units(-at) if own == 0 else _to_units(-at) + 1",
        "-_to_units(-at) if",
        "1 - _to_units(-at) if",
    ),
    _lost(
        "return _to_units(-(error + more)) - 1, _to_units(error + more) + 2",
        "_to_units(-(error + more)) - 1",
        "np.int64(1)",
    ),
    _lost(
        "if total.mass * _SLACK <= math.ldexp(step, 24 if rule.single != 0 else 53):",
        "total.mass * _SLACK <= math.ldexp(step, 24 if rule.single != 0 else 53)",
        "total.mass >= 0",
    ),
    _lost(
        "return 2.0**-24 if rule.single != 0 else 2.0**-53",
        "2.0**-24 if rule.single != 0 else 2.0**-53",
        "2.0**-53",
    ),
    _lost(
        "return _to_units(at - error) - 1, _to_units(at + error) + 2",
        "_to_units(at - error) - 1",
        "_to_units(at) + 1",
    ),
    _lost("if rule.link == IDENTITY:", "== IDENTITY", "!= -1"),
    _lost("return divisions * (2", "divisions", "0 * divisions"),
)

_SCREEN = _of(
    "screen.py",
    _lost(
        "                    found = 1 if lower[box, feature] <= threshold else 0\n                    if upper[box, feature] > threshold:\n                        found |= 2\n                elif only",
        "<=",
        "<",
    ),
    _lost(
        "                    found = 1 if lower[box, feature] <= threshold else 0\n                    if upper[box, feature] > threshold:\n                        found |= 2\n                else",
        "<=",
        "<",
    ),
    _lost("if size == 0 and box + 1 < start[person + 1]:", "box + 1", "box + 2"),
    _lost("totals[0].lead = -totals[0].low", "low", "high"),
    _lost(
        "totals[rival].lead = totals[rival].high - totals[own].low",
        "totals[own].low",
        "totals[own].high",
    ),
    _lost(
        "return 1 + is_right if code == node.alone >> 1 else 2 - is_right",
        "code == node.alone",
        "code != node.alone",
    ),
    _lost(
        "count += 1 if word & (word - ONE) == 0 else 2",
        " if word & (word - ONE) == 0 else 2",
        "",
    ),
    _lost("            if members & ~left != 0:", "!= 0", "== members"),
    _lost("        if number <= cuts[middle]:", "<=", "<"),
    _lost(
        "total.tree_high = max(total.tree_high, value)",
        "max(total.tree_high, value)",
        "value",
    ),
)

_EXTRACTION = _of(
    "extract.py",
    _lost("if mine.first <= min(node.split, mine.last):", "<=", "<"),
    _lost("if max(mine.first, node.split + 1) <= mine.last:", "<=", "<"),
    _lost(
        "            mine.last = min(mine.last, node.split)",
        "node.split)",
        "node.split - 1)",
    ),
    _lost("if (node.missing_left != 0) != is_left:", ") != is_left", ") == is_left"),
    _lost("        if mine.missing != 0:", "!= 0", "> 1"),
    _lost(
        "mine.first, mine.last, mine.missing = old.first, old.last, old.missing",
        "old.missing",
        "mine.missing",
    ),
    _lost("        if here & ~left != 0:", "!= 0", "== here"),
)

_COMPACTION = _of(
    "compact.py",
    _lost("        if ask.missing != 0:", "!= 0", "> 1"),
    _lost("last = class_of[begin + ask.last - mine.first]", "ask.last", "ask.first"),
)

_DECISION = _of(
    "search.py",
    _lost(
        "    for leaf in range(len(leaves) - 1):",
        "range(len(leaves) - 1)",
        "range(1, 1)",
    ),
    _lost("if outcome == STOPPED or count > 0:", "outcome == STOPPED or ", ""),
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
    _lost("        if rival != own:", "!=", ">"),
    _lost(
        "answers.bound[person] = max(answers.bound[person], bound)",
        "max(answers.bound[person], bound)",
        "bound",
    ),
)

_ONE_TREE = _of(
    "single.py",
    _lost(
        "return min(max(own, mine.first), mine.last)",
        "min(max(own, mine.first), mine.last)",
        "max(own, mine.first)",
    ),
)

_POINTS = _of(
    "points.py",
    _lost(
        "after = np.nextafter(below, np.inf)", "np.nextafter(below, np.inf)", "below"
    ),
    _lost(
        "low, high = max(low, lower[box, index]), min(high, upper[box, index])",
        "max(low, lower[box, index])",
        "low",
    ),
)

#: What only numbers tell that nobody draws: the last bits of links and of sums.
_LAST_BITS = [
    Mutant(f"{_FOLDER}/{file}", *_lost(*change), ("tests/verifier/test_search.py",))
    for file, *change in (
        (
            "lead.py",
            "if rule.link == SOFTMAX and abs(mine - other) <= 32 * unit_of(rule):",
            "32",
            "0",
        ),
        (
            "lead.py",
            "merged + 2 / scale * (reach > 30)",
            "merged + 2 / scale * (reach > 30)",
            "0 * merged",
        ),
        ("band.py", "if rule.link == IDENTITY:", "== IDENTITY", "!= SIGMOID"),
        ("screen.py", "total.mass += max(abs(low), abs(high))", "max", "min"),
    )
]

MUTANTS = (
    *_PROPAGATION,
    *_DUAL,
    *_CHOICE,
    *_BRANCHING,
    *_CLIMB,
    *_SETTLING,
    *_BAND,
    *_SCREEN,
    *_EXTRACTION,
    *_COMPACTION,
    *_DECISION,
    *_ONE_TREE,
    *_POINTS,
    *_LAST_BITS,
)
