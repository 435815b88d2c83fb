"""Wrong versions of what stands before and behind the kernels, in plain Python."""

from __future__ import annotations

from tests.mutants.mutant import PROBE, Mutant

MUTANTS = tuple(
    Mutant(f"fatt/verifier/{file}", old, new, PROBE)
    for file, old, new in (
        # Whether the order of a sum is fixed.
        ("rounding.py", "= scoring.ordered, scoring", "= 1, scoring"),
        # Who wins when two classes are equal.
        ("rounding.py", 'argmax.ties == "first"', 'argmax.ties == "last"'),
        # In which precision the library adds up.
        (
            "rounding.py",
            "= scoring.single, scoring.base_last",
            "= 0, scoring.base_last",
        ),
        # The last bit of a leaf, off by one.
        ("rounding.py", "- 53 + position - 1", "- 53 + position"),
        # Bounds on scores, without the library's own rounding.
        ("rounding.py", "np.nextafter(total + error, np.inf)", "total"),
        # Whole numbers that are read as missing.
        ("twins.py", "missing[:, columns] |= some", "missing[:, columns] &= some"),
        # A budget of nodes for everybody.
        ("search.py", "answers.verdict[late] = UNKNOWN\n", ""),
        # Points in doubt that have the own label prove nothing.
        (
            "search.py",
            "other = np.flatnonzero(~self._alike.keeps(label[who], found))",
            "other = np.flatnonzero(found == found)",
        ),
        # Labels that the library itself does not fix.
        ("search.py", "unsure = who[mine.verdict != FAIR]", "unsure = who[:0]"),
    )
) + tuple(
    Mutant(f"fatt/verifier/{file}.py", old, new, (f"tests/verifier/test_{test}.py",))
    for file, test, old, new in (
        # Averages of averages, which round more often than sums do.
        ("rounding", "roundings", "ordered, scoring.roundings", "ordered, 0"),
        # The numbers next to those that are read as missing.
        ("twins", "twins", "np.where(whole, low - 1,", "np.where(whole, low,"),
        ("twins", "twins", "np.where(whole, high + 1,", "np.where(whole, high,"),
        ("twins", "twins", "np.nextafter(low, -np.inf)", "low"),
    )
)
