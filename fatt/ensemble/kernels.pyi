from typing import Any

import numpy as np
from numpy.typing import NDArray

def add_leaves(
    nodes: NDArray[Any],
    roots: NDArray[np.int64],
    words: NDArray[np.uint64],
    values: NDArray[np.float64],
    targets: NDArray[np.int32],
    edges: NDArray[np.float64],
    cells: NDArray[np.int64],
    rows: NDArray[np.float64],
    single: bool,
    scores: NDArray[np.float64],
) -> None: ...
