"""The lint of the kernels refuses what has made kernels wrong before."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

TOOL = Path(__file__).parent.parent / "tools" / "lint_kernels.py"
SPEC = importlib.util.spec_from_file_location("lint_kernels", TOOL)
assert SPEC is not None
assert SPEC.loader is not None
lint = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(lint)

RIGHT = '''"""Any long sentence, even about cdivision=True."""
cdef inline int64_t one(
    int64_t a,  # no long here
    double* b,
) noexcept nogil:
    return a // 2
cdef int two(Arena* arena) except -1 nogil
cdef struct Pair:
    int64_t one
    const volatile int64_t* clock
cdef void three(Pair* pairs) noexcept nogil:
    cdef const Pair* pair = &pairs[0]
    cdef Pair made
    pair = &pairs[1]
    made.one = pairs[1].one
    cdef bint is_one = made.one == 1, is_two = True
    made.one += is_two
cdef int64_t* take(Arena* arena) except NULL nogil:
    return NULL
cdef int four(Arena* arena) except -1 nogil:
    take(arena)
'''


def test_right_kernels_pass() -> None:
    assert list(lint.faults(RIGHT)) == []


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("cdef long count\n", 1),
        ("x = 1\ncdef unsigned long count\n", 2),
        ("cdef int64_t f(int64_t a) nogil:\n    return a\n", 1),
        ("\ncdef void f(\n    int64_t a\n) nogil\n", 2),
        ("# cython: x\n@cython.cdivision(True)\n", 2),
        ("# cython: boundscheck=False, cdivision=True\n", 1),
        ("#cython: infer_types=True\n", 1),
        ("cpdef int f() except -1:\n    return 0\n", 1),
        ("with cython.cdivision( True ):\n", 1),
        ("y = abs(x)\n", 1),
        ("    const int64_t* clock\n", 1),
        ("    cdef Pair pair\n    pair = pairs[i + 1]\n", 2),
        ("    cdef Pair one, other\n\n    other = problem.pairs[at[i]]\n", 3),
        ("    cdef const Pair pair = pairs[0]\n", 1),
        ("    cdef Pair pair\n    pair = pairs[\n        0\n    ]\n", 2),
        ("    cdef Pair pair\n    pair = (pairs + 1)[0]\n", 2),
        ("    cdef Pair one, two\n    one, two = pairs[0], pairs[1]\n", 2),
        ("    cdef Pair pair\n    for pair in pairs[:2]:\n", 2),
        ("    cdef bint count = 0\n    count += 1\n", 2),
        ("    cdef bint found, count\n    count = count + found\n", 2),
    ],
)
def test_wrong_kernels_are_refused(code: str, line: int) -> None:
    assert {found for found, _ in lint.faults(code)} == {line}


def test_errors_that_nobody_would_see_are_refused() -> None:
    raising = lint.raising(RIGHT)
    assert raising == {"two", "take", "four"}
    assert list(lint.faults(RIGHT, raising)) == []
    code = "cdef void f(Arena* arena) noexcept nogil:\n    x = 1\n    take(arena)\n"
    assert [line for line, _ in lint.faults(code, raising)] == [3]


def test_commands_that_round_otherwise_are_refused() -> None:
    flags = " ".join(lint.FLAGS)
    right = {"file": "a.c", "command": f"cc -O2 {flags} a.c"}
    cython = {"file": "a.pyx", "command": "cython -X cdivision=False a.pyx"}
    fused = {"file": "a.c", "command": "cc -O2 -fwrapv a.c"}
    divided = {**cython, "command": "cython -X cdivision=True a.pyx"}
    assert not list(lint.faults_in_commands(json.dumps([right, cython])))
    for wrong in (fused, divided):
        assert len(list(lint.faults_in_commands(json.dumps([right, wrong])))) == 1


def test_what_cython_made_a_long_is_refused() -> None:
    written = "  int64_t __pyx_v_a;\n  long __pyx_v_count;\n  long __pyx_v___pyx_x;\n"
    assert [line for line, _ in lint.faults_in_c(written)] == [2]
