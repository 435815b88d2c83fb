"""The compiled walk of rows through trees.

Imported only when rows are to be scored: numba costs half a second to import, and a
few seconds to compile the kernel the first time on a machine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np

from fatt.ensemble.trees import NODE


def kernel_files(package: Path) -> list[Path]:
    """Return the files of a package that hold compiled functions."""
    files = [*package.rglob("kernels.py"), *package.rglob("kernels/*.py")]
    return sorted(files, key=lambda path: path.relative_to(package).parts)


def digest_of(package: Path) -> str:
    """Return a name for the text of all kernels of a package."""
    digest = hashlib.sha256()
    for path in kernel_files(package):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


#: Names the text of all kernels. Numba looks only at the file of the kernel itself to
#: tell whether what it keeps on disk is out of date, so this becomes part of the name.
SOURCES = digest_of(Path(__file__).parent.parent)


def read_only(dtype: numba.types.Type, ndim: int = 1) -> numba.types.Array:
    """Return the type of arrays that a kernel only reads."""
    return numba.types.Array(dtype, ndim, "C", readonly=True)


def compiled(signature: numba.types.Type) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function for one signature, and keep the result on disk if possible."""

    def compile_now(function: Callable[..., Any]) -> Any:
        function.__qualname__ += f"-{SOURCES}"
        try:
            return numba.njit(signature, cache=True, nogil=True)(function)
        except RuntimeError:
            # Neither the package nor the user has a folder that can be written to.
            return numba.njit(signature, nogil=True)(function)

    return compile_now


_NODES = read_only(numba.from_dtype(NODE))
_WORDS = read_only(numba.uint64)
_FLOATS = read_only(numba.float64)
_FLOAT_TABLE = read_only(numba.float64, 2)

# A block of rows goes through one tree after the other, so that a tree's nodes stay in
# the cache while the block passes.
_BLOCK = 64


@compiled(
    numba.boolean(_WORDS, _FLOATS, numba.int64, numba.int64, numba.int64, numba.float64)
)
def _in_set(words, edges, first_word, first_edge, last_edge, value):
    """Tell whether the set that starts at `first_word` holds the code of a value.

    Codes of categories come as they are, and then `first_edge` is -1; numbers are
    ranked among the edges from `first_edge` to before `last_edge`.
    """
    if value != value:
        return False
    if first_edge < 0:
        code = np.int64(value)
    else:
        low, high = first_edge, last_edge
        while low < high:
            middle = (low + high) // 2
            if value <= edges[middle]:
                high = middle
            else:
                low = middle + 1
        code = low - first_edge
    word = words[first_word + code // 64]
    return (word >> np.uint64(code % 64)) & np.uint64(1) != 0


@compiled(
    numba.void(
        _NODES,
        read_only(numba.int64),
        _WORDS,
        _FLOAT_TABLE,
        read_only(numba.int32),
        _FLOATS,
        read_only(numba.int64, 2),
        _FLOAT_TABLE,
        numba.boolean,
        numba.float64[:, ::1],
    )
)
def add_leaves(
    nodes, roots, words, values, targets, edges, cells, rows, single, scores
):
    """Add to `scores`, in the order of the trees, the leaf that each row falls into.

    If `single`, each sum is rounded to float32. Adding two float32 in float64 and
    rounding the result is the same as adding them in float32, because float64 has more
    than twice the digits and two more.
    """
    # Unsigned indices spare numba's test for negative ones at every step.
    n_rows = np.uint64(rows.shape[0])
    n_outputs = np.uint64(scores.shape[1])
    start = np.uint64(0)
    while start < n_rows:
        stop = min(start + np.uint64(_BLOCK), n_rows)
        for tree in range(roots.shape[0]):
            root = np.uint64(roots[tree])
            target = targets[tree]
            for row in range(start, stop):
                node = root
                feature = nodes[node].feature
                while feature >= 0:
                    value = rows[row, np.uint64(feature)]
                    if nodes[node].subset >= 0:
                        first, last = cells[feature, 0], cells[feature, 1]
                        right = not _in_set(
                            words, edges, nodes[node].subset, first, last, value
                        )
                    else:
                        right = not value <= nodes[node].threshold
                    if value != value:
                        right = nodes[node].missing_left == 0
                    # Siblings are neighbours: adding the answer spares a branch that
                    # the processor could not foresee.
                    node = np.uint64(nodes[node].left) + np.uint64(right)
                    feature = nodes[node].feature
                leaf = np.uint64(nodes[node].leaf)
                if target >= 0:
                    only = np.uint64(target)
                    total = scores[row, only] + values[leaf, 0]
                    scores[row, only] = np.float32(total) if single else total
                else:
                    for output in range(n_outputs):
                        total = scores[row, output] + values[leaf, output]
                        scores[row, output] = np.float32(total) if single else total
        start = stop
