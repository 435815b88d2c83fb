"""Wrong versions of budgets outside the kernels: a cost, a limit or a twin lost."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_LAWS = ("tests/laws/test_distances.py",)
_SAID = ("tests/region/test_distance.py",)
_CHECKED = ("tests/certificate/test_spending.py",)

MUTANTS = tuple(
    Mutant(f"fatt/{file}", old, new, kills)
    for kills, file, old, new in (
        # What a distance and a number of attributes mean for variables.
        (
            _LAWS,
            "region/tariffs.py",
            "(counts or most < len(moving))",
            "(counts or most < len(moving) - 1)",
        ),
        (_LAWS, "region/tariffs.py", "_cost(COUNT, price=1)", "_cost(COUNT, price=2)"),
        (
            _LAWS,
            "region/tariffs.py",
            'SQUARE if distance.norm == "l2" else LINEAR',
            "LINEAR",
        ),
        (
            _LAWS,
            "region/tariffs.py",
            "found[here, there] = found[there, here] = least",
            "found[here, there] = least",
        ),
        (
            _LAWS,
            "region/tariffs.py",
            "costs = distance.steps(size * away)",
            "costs = distance.steps(size * away / 2)",
        ),
        (
            _SAID,
            "region/tariffs.py",
            "steps = 0 if steps <= STEPS else steps",
            "steps = 0",
        ),
        (
            _LAWS,
            "region/distance.py",
            'size = size * size if self.norm == "l2" else size',
            "size = size + 0",
        ),
        (_SAID, "region/distance.py", "steps * (1 + 2.0**-50)", "steps * (1 - 1e-9)"),
        (
            _SAID,
            "region/distance.py",
            "near if abs(size - near) <= 1e-12 * near else size",
            "size",
        ),
        (
            _LAWS,
            "region/neighbourhood.py",
            'each[number]["table"] += sum(map(len, tables))',
            'each[number]["table"] += 0 * sum(map(len, tables))',
        ),
        (
            _LAWS,
            "region/neighbourhood.py",
            "rule=np.where(has_budget[rule], rule, -1)",
            "rule=np.where(has_budget[rule], 0, -1)",
        ),
        # People with a number that nobody else may have, and that counts as missing.
        (
            _LAWS,
            "verifier/kernels/boundary.pyx",
            "is_inside = is_inside or spending.missing[place] != 0",
            "is_inside = is_inside",
        ),
        # Who can be paid for.
        (
            _LAWS,
            "region/boxes.py",
            "similar[some] = spent <= mine.costs.most[some]",
            "similar[some] = spent < mine.costs.most[some]",
        ),
        (
            _SAID,
            "region/boxes.py",
            "can_pay |= inside & (spent <= most)",
            "can_pay |= inside & (spent < most)",
        ),
        (
            _SAID,
            "region/boxes.py",
            "is_paid[some] = spent <= self.costs.most[some]",
            "is_paid[some] = spent < self.costs.most[some]",
        ),
        (
            _LAWS,
            "region/costs.py",
            "gap | lost | (kind == COUNT)",
            "gap | lost",
        ),
        (
            _LAWS,
            "audit/drawn.py",
            "is_paid = cost <= most - spent",
            "is_paid = cost <= most",
        ),
        # Radii.
        (_LAWS, "audit/limits.py", "most[unfair] -= 1", "most[unfair] -= 2"),
        (
            _LAWS,
            "audit/limits.py",
            "self._most[who] = costs - 1",
            "self._most[who] = costs // 2",
        ),
        (
            _LAWS,
            "audit/limits.py",
            "self._most[fair] + 1, -1)",
            "self._most[fair] + 2**40, -1)",
        ),
        # The checker.
        (
            _CHECKED,
            "certificate/costs.py",
            "return np.where(same, 0, 1)",
            "return np.where(same, 0, 0)",
        ),
        (
            _LAWS,
            "certificate/costs.py",
            'size = size * size if self.norm == "l2" else size',
            "size = size + 0",
        ),
        (
            _CHECKED,
            "certificate/judge.py",
            "inside &= costs.each.sum(axis=1) <= costs.most",
            "inside &= costs.each.sum(axis=1) >= 0",
        ),
        (
            _CHECKED,
            "certificate/closing.py",
            "if asked[-1].sum() > self._purse.most:",
            "if asked[-1].sum() >= self._purse.most:",
        ),
        (
            _CHECKED,
            "certificate/closing.py",
            "is_paid = asked[:-1].sum(axis=1) <= self._purse.most",
            "is_paid = asked[:-1].sum(axis=1) < self._purse.most",
        ),
        (
            _CHECKED,
            "certificate/spending.py",
            "total + best, mass",
            "total + best / 2, mass",
        ),
        (
            _CHECKED,
            "certificate/spending.py",
            "gain[some] / n_moved[some]",
            "gain[some] / (n_moved[some] + 1)",
        ),
        (
            _CHECKED,
            "certificate/spending.py",
            "self.most - int(cheapest.sum())",
            "self.most - int(cheapest.sum()) - 1",
        ),
        (
            _CHECKED,
            "certificate/spending.py",
            "np.maximum.accumulate(table, axis=1).sum(axis=0)",
            "table.sum(axis=0)",
        ),
        (
            _CHECKED,
            "certificate/spending.py",
            "step = np.maximum(step, cuts + 1)",
            "step = cuts + 2",
        ),
        (
            _CHECKED,
            "certificate/spending.py",
            "np.maximum(own, first[:, place])",
            "np.maximum(own + 1, first[:, place])",
        ),
    )
)
