"""Refuse what has made kernels wrong before: ``lint_kernels.py [BUILD FOLDER]``.

Of the sources: functions that do not say whether they raise, or that raise where they
say they do not, division as in C, whose quotients of negatives differ, C's ``long``,
which has 32 bits on Windows, records that are copied out of an array where they may be
meant, booleans that count, and a clock that is not volatile. Of the C that Cython wrote
into the build folder: variables that became a ``long`` after all. Of the commands that
compiled it: that floats are not fused, and that integers wrap.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "fatt"

# From `cdef` to the end of a signature, which may take several lines.
SIGNATURE = re.compile(
    r"^cdef (?!extern|struct|enum|class|packed)[^=\n(]*\([^()]*\)[^:\n]*", re.M
)
# One that may raise, and the whole of one that may not.
RAISING = re.compile(r"^cdef [^=\n(]*?(\w+)\([^()]*\)[^:\n]*\bexcept\b", re.M)
SILENT = re.compile(r"^cdef [^=\n(]*\([^()]*\)[^:\n]*\bnoexcept\b[^:\n]*:", re.M)
REFUSED = {
    r"\blong\b": "C's long has 32 bits on Windows; write int64_t",
    r"cdivision\s*[=(]\s*True": "C rounds quotients of negatives up; leave it off",
    r"\bcpython\.array\b": "take memory from the arena",
    r"\babs\(": "abs of a C integer is a Python call; write absolute() or fabs()",
    r"infer_types": "declare every variable",
    r"\bcpdef\b|\bcdef class\b": "kernels hold no Python objects; write def or cdef",
    r"(?<!volatile )int64_t ?\* ?clock\b": "another thread writes it; say volatile",
}
# Variables that hold records or booleans, and what must not be done with them. An entry
# of an array may follow on the next line, and a name may be one of several.
RECORD = re.compile(
    r"^ +cdef (?:const )?[A-Z]\w*[a-z]\w* (\w+(?:, \w+)*)(?=$| = )", re.M
)
COPIED = (
    r"^ +(?:cdef (?:const )?\w+ )?{name} = (?:[\w.]+|\([^\n]*\))\[",
    r"^ +(?:[\w.]+, )+{name}(?:, [\w.]+)* = |^ +{name}(?:, [\w.]+)+ = ",
    r"^ +for {name} in ",
)
BOOLEAN = re.compile(r"^ +cdef bint ([^\n]+)$", re.M)
COUNTED = (r"^ +{name} [-+*]= ", r"^ +{name} = {name} [-+*] ")
FLAGS = ("-ffp-contract=off", "-fwrapv")


def _without_comments(text: str) -> str:
    """Blank comments and docstrings out, so that lines keep their numbers.

    What Cython reads in a comment stays.
    """

    def blank(found: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", found[0])

    return re.sub(r'"""(?:.|\n)*?"""|#(?! *cython *:)[^\n]*', blank, text)


def _inside(code: str, start: int) -> tuple[int, str]:
    """Return what is left of a function from a place on: its lines are indented."""
    start = code.rfind("\n", 0, start) + 1
    found = re.compile(r"(?:(?: [^\n]*)?(?:\n|\Z))*").match(code, start)
    assert found is not None
    return start, found[0]


def _misused(code: str) -> Iterator[tuple[int, str]]:
    """Yield where variables that were declared are used as they must not be."""
    for kind, patterns, why in (
        (RECORD, COPIED, "this copies the record; take its address, with & and *"),
        (BOOLEAN, COUNTED, "a boolean does not count; declare it int64_t"),
    ):
        for declared in kind.finditer(code):
            start, inside = _inside(code, declared.start())
            for name in re.findall(r"(\w+)(?=,|$| =)", declared[1]):
                for pattern in patterns:
                    for wrong in re.finditer(pattern.format(name=name), inside, re.M):
                        yield start + wrong.start(), why


def raising(text: str) -> set[str]:
    """Return the names of the functions of a source that may raise."""
    return set(RAISING.findall(_without_comments(text)))


def faults(text: str, may_raise: Iterable[str] = ()) -> Iterator[tuple[int, str]]:
    """Yield the lines of a source that are wrong, and why.

    `may_raise` has the names of functions that must not be called where nothing raises.
    """
    code = _without_comments(text)
    found = [
        (match.start(), why)
        for pattern, why in REFUSED.items()
        for match in re.finditer(pattern, code)
    ]
    found += _misused(code)
    for match in SIGNATURE.finditer(code):
        if not re.search(r"\bnoexcept\b|\bexcept\b", match[0]):
            found.append((match.start(), "say if it raises: noexcept, or except -1"))
    calls = "|".join(sorted(may_raise))
    for match in SILENT.finditer(code) if calls else ():
        start, inside = _inside(code, match.end() + 1)
        for call in re.finditer(rf"(?<![\w.])(?:{calls})\(", inside):
            why = f"{call[0]}) raises, and this function says it does not"
            found.append((start + call.start(), why))
    for place, why in found:
        yield code.count("\n", 0, place) + 1, why


def faults_in_c(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of C where a variable of ours has an inexact type."""
    for found in re.finditer(r"\b(?:unsigned )?long __pyx_v_(?!__pyx)\w+", text):
        line = text.count("\n", 0, found.start()) + 1
        yield line, f"{found[0]} has 32 bits on Windows; declare it int64_t"


def faults_in_commands(text: str) -> Iterator[str]:
    """Yield what is wrong with the commands of a build, as `meson` lists them."""
    for entry in json.loads(text):
        command = entry["command"]
        if re.search(r"cdivision\s*=\s*True", command):
            yield f"{entry['file']}: C rounds quotients of negatives up; leave it off"
        if entry["file"].endswith(".c"):
            for flag in FLAGS:
                if flag not in command.split():
                    yield f"{entry['file']}: compiled without {flag}"


def main(folders: list[str]) -> int:
    """Print what is wrong; return how many lines."""
    paths = sorted([*PACKAGE.rglob("*.pyx"), *PACKAGE.rglob("*.pxd")])
    sources = {path: path.read_text(encoding="utf-8") for path in paths}
    written = [path for folder in folders for path in Path(folder).rglob("*.pyx.c")]
    if folders and not written:
        sys.stdout.write(f"nothing that Cython wrote is in {folders}\n")
        return 1
    may_raise = set().union(*map(raising, sources.values()))
    told = [
        f"{path}:{line}: {why}"
        for path, text in sources.items()
        for line, why in faults(text, may_raise)
    ]
    for path in written:
        text = path.read_text(encoding="utf-8")
        told += [f"{path}:{line}: {why}" for line, why in faults_in_c(text)]
    for folder in folders:
        commands = Path(folder, "compile_commands.json").read_text(encoding="utf-8")
        told += faults_in_commands(commands)
    sys.stdout.writelines(f"{line}\n" for line in told)
    return len(told)


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
