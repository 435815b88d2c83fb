"""Wrong versions of functions that are tabulated, since somebody told their values."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_TOLD = ("tests/importers/test_tabulated.py", "tests/importers/test_naming.py")

MUTANTS = tuple(
    Mutant(f"fatt/{file}.py", old, new, _TOLD)
    for file, old, new in (
        # Values that somebody told of other columns.
        ("importers/pipeline/__init__", "with telling({}):", "if True:"),
        ("importers/preparation", "if name not in read}", "}"),
        ("importers/naming", "if is_truth else list", "if False else list"),
        # Functions that look at the type of their table, or at gaps.
        (
            "importers/pipeline/functions",
            "        _require_types(transformer, rows, made, is_bool=_BOOL in types)\n",
            "",
        ),
        (
            "importers/pipeline/functions",
            "accepts_missing=bool(np.isnan(levels).any())",
            "accepts_missing=True",
        ),
        # Integers that a function makes.
        ("importers/pipeline/functions", "makes_integers=_INT64 in types", ""),
        ("importers/pipeline/functions", "> _EXACT_IN_FLOAT32", "> _EXACT"),
        ("importers/pipeline/raw", 'found.append("numpy int64")', "pass"),
        ("ensemble/encoding", 'f"foreign {kind}"', "kind"),
        ("importers/naming", "        number_types=feature.number_types,\n", ""),
    )
)
