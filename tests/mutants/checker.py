"""Wrong versions of the checker: a bound off by one, a side, a leaf or a claim lost."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_FOLDER = "fatt/certificate"
_TESTS = "tests/certificate"

CLOSING = (f"{_TESTS}/test_closing.py",)
SIMILAR = (f"{_TESTS}/test_similar.py",)
TAMPERING = (f"{_TESTS}/test_tampering.py",)
CLAIMS = (f"{_TESTS}/test_claims.py",)
CODES = ("tests/laws/test_unknown_codes.py",)
WHOLE = (f"{_TESTS}/test_certificate.py",)
DECISIONS = (f"{_TESTS}/test_decisions.py",)


def _of(file: str, kills: tuple[str, ...], *pairs: tuple[str, str]) -> list[Mutant]:
    return [Mutant(f"{_FOLDER}/{file}", old, new, kills) for old, new in pairs]


#: A box is called closed although somebody in it has another label.
_CLOSED = _of(
    "closing.py",
    CLOSING,
    ("if bound + error[0] < needed[0]:", "if bound + error[0] <= needed[0]:"),
    (
        "slack = _up(_up(bound - float(needed[0])) + float(error[0]))",
        "slack = (bound - float(needed[0])) / 2",
    ),
    (
        "for rival in range(self._arithmetic.n_classes):",
        "for rival in range(self._arithmetic.n_classes - 1):",
    ),
    ("np.minimum(last[pick], at[down])", "np.minimum(last[pick], at[down] - 1)"),
    ("np.maximum(first[pick], at[up] + 1)", "np.maximum(first[pick], at[up] + 2)"),
    ("there ^= ~is_left[mine, np.newaxis]", "there &= is_left[mine, np.newaxis]"),
    (
        "np.minimum.reduceat(low, starts, axis=0).max(axis=0)",
        "np.minimum.reduceat(low, starts, axis=0).max(axis=0) + 1",
    ),
    ("inside = np.asarray(each.all(axis=0))", "inside = some.all(axis=0)"),
    (
        "if len(starts) < len(self._cells.roots):",
        "if len(starts) <= len(self._cells.roots):",
    ),
    (
        "if not np.array_equal(low, high):",
        "if not np.array_equal(low[:1], high[:1]):",
    ),
    ("if not arithmetic.is_ordered:", "if False:"),
)

#: A cut loses what lies between its sides.
_CUT = _of(
    "closing.py",
    CLOSING,
    (
        "last[place], first[place] = cut.cell, cut.cell + 1",
        "last[place], first[place] = cut.cell, cut.cell + 2",
    ),
    ("there[span] &= ~side", "there[span] &= members > cut.cell"),
)

#: The first look at many people at once.
_FIRST_LOOK = [
    *_of(
        "judge.py",
        CLOSING,
        ("np.asarray(bound + error < needed)", "np.asarray(bound + error <= needed)"),
        (
            "for step in range(1, n_classes):\n            rival",
            "for step in range(2, n_classes):\n            rival",
        ),
        ("best = np.maximum.reduceat(terms", "best = np.minimum.reduceat(terms"),
    ),
    *_of(
        "judge.py",
        TAMPERING,
        (
            "inside &= self._is_in(index, reach, twins[who, index])",
            "inside = self._is_in(index, reach, twins[who, index])",
        ),
        ("wrong = (known < low) | (known > high)", "wrong = known < low"),
    ),
]

#: The library's arithmetic is taken for more exact than it is, or for another one.
_ARITHMETIC = _of(
    "arithmetic.py",
    CLOSING,
    ("least = np.where(is_exact & wins_ties, step, least)", "least = step"),
    (
        "wins_ties = own < rival if self._decision",
        "wins_ties = own > rival if self._decision",
    ),
    (
        "exactly = np.where(is_higher, at, np.nextafter(-at, np.inf))",
        "exactly = np.nextafter(np.where(is_higher, at, -at), np.inf)",
    ),
    (
        "self._digits = 24 if scoring.single else 53",
        "self._digits = 30 if scoring.single else 60",
    ),
    ("return np.where(reach > 30, np.inf, merged)", "return np.zeros(len(mass))"),
    ("np.full(len(mass), _SLACK * 32 * self._unit * self._divisor)", "0 * mass"),
    (
        "return np.asarray(_SLACK * (rounded + self._n_divisions * divided))",
        "return np.zeros(len(mass))",
    ),
)

#: Leaves that a box reaches are left out.
_WALK = [
    *_of(
        "walk.py",
        CLOSING,
        ("np.maximum(first, at + 1) <= last", "np.maximum(first, at + 2) <= last"),
        ("first <= np.minimum(at, last)", "first < np.minimum(at, last)"),
        (") | (missing & missing_left)", ")"),
        ("(mine & ~mask).any(axis=1)", "(mine & ~mask).all(axis=1)"),
        (
            "inside[:, -1] = reach.missing | inside[:, axis.hole].any(axis=1)",
            "inside[:, -1] = reach.missing",
        ),
        (
            "np.column_stack([reach.codes, reach.missing])",
            "np.column_stack([reach.codes, reach.missing & False])",
        ),
    ),
    *_of(
        "cells.py",
        CLOSING,
        ("left = numbers <= nodes", "left = numbers < nodes"),
        (
            'last[mine] = np.searchsorted(axis.cuts, at, side="left")',
            'last[mine] = np.searchsorted(axis.cuts, at, side="right")',
        ),
        ("absent |= (numbers >= low)", "absent &= (numbers >= low)"),
    ),
]

#: Somebody who is similar is left out.
_SIMILAR = [
    *_of(
        "similar.py",
        SIMILAR,
        (
            "ends.append(values + sign * size)",
            "ends.append(values + sign * size / 2)",
        ),
        ("for rules in self.alternatives:", "for rules in self.alternatives[:1]:"),
        (
            "if condition.without_high else high",
            "if not condition.without_high else high",
        ),
        ("if isinstance(variable, Number) and variable.name", "if variable.name"),
        ("codes[~missing & members[own]] |= members", "pass"),
        (
            "near[code, other] = -amount.below <= there - here <= amount.above",
            "near[code, other] = -amount.below < there - here < amount.above",
        ),
        ("missing |= becomes", "missing |= False"),
    ),
    *_of(
        "columns.py",
        SIMILAR,
        (
            "low, high = float(np.ceil(low)), float(np.floor(high))",
            "low, high = float(np.ceil(low)) + 1, float(np.floor(high))",
        ),
        (
            "integer = feature.integer or isinstance(variable, Integer)",
            "integer = True",
        ),
        ("if variable.dropped is not None:", "if False:"),
    ),
    *_of(
        "columns.py",
        CODES,
        (
            "anything[count] = everything[count] and others",
            "anything[count] = False",
        ),
    ),
]

#: A claim is believed.
_BELIEVED = [
    *_of(
        "checker.py",
        TAMPERING,
        ("if certificate.about.model != model.digest:", "if False:"),
        ("if not np.array_equal(said, labels):", "if False:"),
        ("if step is None and around.is_closed:", "if step is None:"),
        ("if left is not None:", "if False:"),
        (
            "                if not waiting:\n                    return",
            "                return",
        ),
        ("(judge.holds(values, twins), ", "(values == values, "),
        ("judge.differs(twins, own, values),", "own == own,"),
    ),
    *_of(
        "checker.py",
        WHOLE,
        (
            "differs = (rows != held) &",
            "differs = (rows < held) &",
        ),
        ("if len(rows) != len(certificate):", "if False:"),
    ),
    *_of(
        "checker.py",
        CLAIMS,
        (
            "        if mine != other:\n            raise",
            "        if False:\n            raise",
        ),
        ("claims.require_schema(narrowed(schema, certificate.similarity))", "pass"),
        ("claims.require_similarity(similarity)", "pass"),
    ),
    *_of(
        "certificate.py",
        TAMPERING,
        ("if found._digests() != contents.about:", "if False:"),
        ("if found.counts != contents.counts:", "if False:"),
    ),
    *_of(
        "file.py",
        TAMPERING,
        ('if written.get("digest") != digest_of(', "if not digest_of("),
    ),
]

#: What a certificate takes for granted is not told, or not compared.
_TOLD = _of(
    "claims.py",
    CLAIMS,
    (
        'return any(getattr(one, "unit", "") == "sd"',
        'return False and any(getattr(one, "unit", "") == "sd"',
    ),
    (
        "if {tuple(way) for way in ours} == {tuple(way) for way in theirs}:",
        "if {tuple(way) for way in ours} <= {tuple(way) for way in theirs}:",
    ),
    ('return f"{article} {kind} {_within(low, high)}"', 'return f"any {kind}"'),
    ("is_moved or is_bounded,", "is_moved,"),
    ("tuple(place + 1 for place in column.columns)", "(1,)"),
    ("if not self.model.inputs.named:", "if self.model.inputs.named:"),
)

#: What is fair is read otherwise than it is written.
_KEPT = _of(
    "keeping.py",
    DECISIONS,
    ("if not _has_meaning(model, allowed):", "if False:"),
    (
        "too_low = (other < own) & ~(np.abs(other - own) <= limit)",
        "too_low = (other < own) & ~(np.abs(other - own) < limit)",
    ),
    (
        "too_high = (other > own) & ~(np.abs(other - own) <= limit)",
        "too_high = (other > own) & (np.abs(other - own) > 2 * limit)",
    ),
    (
        "allowed.favorable == model.classes[0]",
        "allowed.favorable == model.classes[-1]",
    ),
)

MUTANTS = (
    *_CLOSED,
    *_CUT,
    *_FIRST_LOOK,
    *_ARITHMETIC,
    *_WALK,
    *_SIMILAR,
    *_BELIEVED,
    *_TOLD,
    *_KEPT,
)
