from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.verifier.kernels.records import Answers, Arithmetic, Forest, Regions

def decide(
    forest: Forest,
    arithmetic: Arithmetic,
    regions: Regions,
    answers: Answers,
    begin: int,
    end: int,
    limits: NDArray[np.int64],
    clock: NDArray[np.int64],
    tally: NDArray[np.int64],
) -> None: ...
def read_cells(
    forest: Forest,
    numbers: NDArray[Any],
    people: NDArray[np.float64],
    bounds: tuple[NDArray[Any], ...],
    which: NDArray[np.int64],
    cells: tuple[NDArray[np.int32], NDArray[np.int32]],
    points: NDArray[np.float64],
) -> None: ...
