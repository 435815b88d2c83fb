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

MUTANTS = (
    *_PROPAGATION,
    *_DUAL,
    *_CHOICE,
    *_BRANCHING,
    *_CLIMB,
    *_SETTLING,
)
