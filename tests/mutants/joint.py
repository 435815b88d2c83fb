"""Wrong versions of columns that are computed of several others."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_SEARCH = ("tests/verifier/test_joint.py",)
_IMPORT = (
    "tests/importers/test_formulas.py",
    "tests/importers/test_functions.py",
    "tests/importers/test_whole_numbers.py",
)

MUTANTS = tuple(
    Mutant(f"fatt/{file}.py", old, new, _SEARCH)
    for file, old, new in (
        # People with other fixed values, taken for one group.
        ("verifier/joint", "beside[np.ix_(some, places)] |= ~these[some]", "pass"),
        # The range of those before, who moved less far.
        (
            "verifier/joint",
            "keys[one].tobytes() + lower.tobytes() + upper.tobytes()",
            "keys[one].tobytes()",
        ),
        # Two columns that move, of which the first is followed.
        ("verifier/joint", "these.sum(axis=1) > 1", "these.sum(axis=1) > 2"),
        # One box of several.
        (
            "verifier/joint",
            "worst = np.maximum.reduceat(_RANK[verdict], starts)",
            "worst = _RANK[verdict][starts]",
        ),
        # What the library refuses, in columns that no split reads.
        ("verifier/joint", "        if beyond.any():", "        if beyond.all():"),
        # Division by what may be zero.
        (
            "verifier/intervals",
            "(right.low <= 0) & (right.high >= 0)",
            "right.low == 0",
        ),
        ("verifier/intervals", "formula.missing, ends[0])", "ends[0], ends[0])"),
        # Both sides of zero, where their sign turns a quotient round.
        (
            "importers/columns/joints",
            "edges=around([0.0]) if is_cut else (),",
            "edges=(),",
        ),
        (
            "importers/columns/joints",
            "            _refuse_zeros(column, feature)\n",
            "            pass\n",
        ),
        # What is computed of a missing value.
        (
            "importers/columns/joints",
            "missing=float(evaluate(formula, absent[np.newaxis])[0])",
            "missing=math.nan",
        ),
        # No number at one end of a range.
        ("importers/columns/joints", "if (first != last).any():", "if False:"),
        # A zero that loses its sign where it becomes a level.
        ("region/variables", "        self._require_own_zeros(rows, values)\n", ""),
        ("importers/naming", "    return number\n", "    return number + 0.0\n"),
        ("importers/naming", "if 0.0 in numbers and index in", "if False and index in"),
        # People whom the library refuses.
        (
            "importers/columns/joints",
            "        _require_all_taken(ensemble, pulled, fixed, place)\n",
            "        pass\n",
        ),
        # A constant on the other side.
        (
            "importers/columns/joints",
            "sides = (numbers, constant) if left else (constant, numbers)",
            "sides = (numbers, constant)",
        ),
        # Powers, as if they were monotone everywhere.
        ("importers/columns/joints", "function=sides, edges=(0.0,)", "function=sides"),
    )
) + tuple(
    Mutant(f"fatt/{file}.py", old, new, _IMPORT)
    for file, old, new in (
        # Small integers, among which one is missing.
        ("ensemble/tables", "held_in=held_in, native=native", "native=native"),
        # Integers that no float holds.
        (
            "importers/columns/pipelines",
            "if any(chain.hands_on_integers for chain in table.columns):",
            "if False:",
        ),
        ("importers/columns/pipelines", "limit < exact", "False"),
        (
            "importers/columns/raw",
            "                if step.into_floats:\n                    break\n",
            "                break\n",
        ),
        # Columns by position, in a table with others.
        (
            "ensemble/tables",
            'if inputs.by_position == "whole" and len(frame.columns) > len(places):',
            "if False:",
        ),
        # Rows of which the library refuses what is computed.
        (
            "ensemble/ensemble",
            "            if not taken.all():",
            "            if False:",
        ),
        # Another formula of the same columns.
        (
            "importers/columns/joints",
            'if formula.operator != "*" or len(set(map(key_of, factors))) != 1:',
            "if len(set(map(key_of, factors))) > 2:",
        ),
    )
)
