from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.verifier.kernels.records import Arithmetic, Asked, Forest, Pairs

TOTAL: np.dtype[Any]

def climb(
    pairs: Pairs,
    asked: Asked,
    forest: Forest,
    arithmetic: Arithmetic,
    starts: NDArray[np.int64],
    sweeps: int,
    to_first: bool,
) -> NDArray[np.int64]: ...
def search(
    pairs: Pairs,
    asked: Asked,
    forest: Forest,
    arithmetic: Arithmetic,
    box: NDArray[np.uint64],
    aim: tuple[int, int, int, int, int],
    limits: NDArray[np.int64],
    clock: NDArray[np.int64],
    tally: NDArray[np.int64],
) -> tuple[
    int,
    int,
    NDArray[np.int64],
    int,
    NDArray[np.uint64],
    NDArray[np.int64],
    int,
    NDArray[np.int64],
]: ...
def needed(
    forest: Forest,
    arithmetic: Arithmetic,
    totals: NDArray[Any],
    own: int,
    rival: int,
    at: float,
    trailing: int,
) -> tuple[int, int]: ...
def error_of(
    forest: Forest, arithmetic: Arithmetic, totals: NDArray[Any], trailing: int
) -> float: ...
