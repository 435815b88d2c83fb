"""Wrong versions of what stands before and behind the kernels, in plain Python."""

from __future__ import annotations

from tests.mutants.mutant import PROBE, Mutant

MUTANTS = (
    tuple(
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
    )
    + tuple(
        Mutant(
            f"fatt/verifier/{file}.py", old, new, (f"tests/verifier/test_{test}.py",)
        )
        for file, test, old, new in (
            # Averages of averages, which round more often than sums do.
            ("rounding", "roundings", "ordered, scoring.roundings", "ordered, 0"),
            # The numbers next to those that are read as missing.
            ("twins", "twins", "np.where(whole, low - 1,", "np.where(whole, low,"),
            ("twins", "twins", "np.where(whole, high + 1,", "np.where(whole, high,"),
            ("twins", "twins", "np.nextafter(low, -np.inf)", "low"),
        )
    )
    + tuple(
        Mutant(f"fatt/{file}.py", old, new, (f"tests/laws/test_{test}.py",))
        for file, test, old, new in (
            # Values that neither the model nor the table knows.
            (
                "region/rules",
                "unknown_codes",
                "= unknown & feature.may_be_unknown",
                "= unknown & False",
            ),
            (
                "region/neighbourhood",
                "unknown_codes",
                "feature.may_be_unknown and has_others",
                "feature.may_be_unknown",
            ),
            (
                "certificate/similar",
                "unknown_codes",
                "column.everything if rule.is_open else column.anything",
                "column.anything",
            ),
            # A misspelt category.
            (
                "region/inference",
                "unknown_codes",
                "spellings = {_spelling(value) for value in known}",
                "spellings = set(known)",
            ),
            # The limit of a tolerance itself, below and above.
            (
                "ensemble/allowed",
                "decisions",
                "(made >= mine) | (mine - made <= limit[who])",
                "(made >= mine) | (mine - made < limit[who])",
            ),
            (
                "ensemble/allowed",
                "decisions",
                "(made > mine) & ~(made - mine <= limit[who])",
                "(made > mine) & (made - mine > 2 * limit[who])",
            ),
            # Ends that are most floats apart.
            (
                "ensemble/allowed",
                "tolerances",
                "ever & (high - 1 > low)",
                "ever & (high - low > 1)",
            ),
            # Who has the worst label already is asked, and the others are not.
            (
                "verifier/search",
                "decisions",
                "unasked = ~self._alike.is_asked(own.label)",
                "unasked = self._alike.is_asked(own.label)",
            ),
            # The score of the only tree's leaves.
            (
                "verifier/rounding",
                "tolerances",
                '"scores": scores[:, 0].astype(np.float64)}',
                '"scores": -scores[:, 0].astype(np.float64)}',
            ),
            # Bands compared in float64, where the library has float32.
            (
                "ensemble/scoring",
                "every_library",
                "threshold = numbers.dtype.type(self.threshold)",
                "threshold = np.float64(self.threshold)",
            ),
        )
    )
    + tuple(
        Mutant(
            f"fatt/importers/{file}.py", old, new, (f"tests/importers/test_{test}.py",)
        )
        for file, test, old, new in (
            # Curves that rounding turns, taken for monotone ones.
            (
                "columns/algebra",
                "functions",
                "at_most[:-1] != at_most[1:]",
                "at_most[:-1] & ~at_most[1:]",
            ),
            # What a scaler makes minus infinity of.
            (
                "columns/algebra",
                "functions",
                "cuts_by_piece(column.before, raw, wanted)",
                "cuts_by_piece(column.before, raw, np.maximum(wanted, -1e300))",
            ),
            # Numbers below the pole of a logarithm.
            (
                "columns/curves",
                "functions",
                "lowest = float(above(_POLES[function]))",
                "lowest = -1e9",
            ),
            # Gaps that are filled from other columns.
            (
                "columns/transformers",
                "preparation",
                "taker=FINITE_ONLY, into_floats=True)\n    return table.each([(step,)] * imp",
                "taker=ANYTHING, into_floats=True)\n    return table.each([(step,)] * imp",
            ),
        )
    )
)
