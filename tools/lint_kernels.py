"""Refuse what has made kernels wrong before: ``lint_kernels.py [BUILD FOLDER]``.

Of the sources: functions that do not say whether they raise, division as in C, whose
quotients of negatives differ, C's ``long``, which has 32 bits on Windows, records that
are copied out of an array where they may be meant, and a clock that is not volatile. Of
the C that Cython wrote into the build folder: variables that became a ``long`` after
all.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "fatt"

# From `cdef` to the end of a signature, which may take several lines.
SIGNATURE = re.compile(
    r"^cdef (?!extern|struct|enum|class|packed)[^=\n(]*\([^()]*\)[^:\n]*", re.M
)
REFUSED = {
    r"\blong\b": "C's long has 32 bits on Windows; write int64_t",
    r"cdivision\s*[=(]\s*True": "C rounds quotients of negatives up; leave it off",
    r"\bcpython\.array\b": "take memory from the arena",
    r"\babs\(": "abs of a C integer is a Python call; write absolute() or fabs()",
    r"infer_types": "declare every variable",
    r"(?<!volatile )int64_t ?\* ?clock\b": "another thread writes it; say volatile",
}
# A variable that holds a record, and one that is given an entry of an array.
RECORD = re.compile(r"^ +cdef (?:const )?[A-Z]\w*[a-z]\w* (\w+(?:, \w+)*)$", re.M)
ENTRY = r"^ +{name} = (?!&)[\w.]+\[[^\n]*\]$"


def _without_comments(text: str) -> str:
    """Blank comments and docstrings out, so that lines keep their numbers."""

    def blank(found: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", found[0])

    return re.sub(r'"""(?:.|\n)*?"""|#[^\n]*', blank, text)


def faults(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a source that are wrong, and why."""
    code = _without_comments(text)
    for pattern, why in REFUSED.items():
        for found in re.finditer(pattern, code):
            yield code.count("\n", 0, found.start()) + 1, why
    for found in RECORD.finditer(code):
        # To the end of the function: its lines are indented.
        inside = re.compile(r"(?:\n(?: .*)?(?=\n|\Z))*").match(code, found.end())
        assert inside is not None
        for name in found[1].split(", "):
            for copy in re.finditer(ENTRY.format(name=name), inside[0], re.M):
                line = code.count("\n", 0, inside.start() + copy.start()) + 1
                yield line, "this copies the record; take its address, with & and *"
    for found in SIGNATURE.finditer(code):
        if not re.search(r"\bnoexcept\b|\bexcept\b", found[0]):
            line = code.count("\n", 0, found.start()) + 1
            yield line, "say whether the function raises: noexcept, or except -1"


def faults_in_c(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of C where a variable of ours has an inexact type."""
    for found in re.finditer(r"\b(?:unsigned )?long __pyx_v_(?!__pyx)\w+", text):
        line = text.count("\n", 0, found.start()) + 1
        yield line, f"{found[0]} has 32 bits on Windows; declare it int64_t"


def main(folders: list[str]) -> int:
    """Print what is wrong; return how many lines."""
    sources = sorted([*PACKAGE.rglob("*.pyx"), *PACKAGE.rglob("*.pxd")])
    written = [path for folder in folders for path in Path(folder).rglob("*.pyx.c")]
    if folders and not written:
        sys.stdout.write(f"nothing that Cython wrote is in {folders}\n")
        return 1
    count = 0
    for paths, look in ((sources, faults), (written, faults_in_c)):
        for path in paths:
            for line, why in look(path.read_text(encoding="utf-8")):
                sys.stdout.write(f"{path}:{line}: {why}\n")
                count += 1
    return count


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
