from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.verifier.kernels.records import Forest, Spending

def read_cells(
    forest: Forest,
    people: NDArray[np.float64],
    bounds: tuple[NDArray[Any], ...],
    which: NDArray[np.int64],
    cells: tuple[NDArray[np.int32], NDArray[np.int32]],
    points: NDArray[np.float64],
    spending: Spending | None = None,
) -> None: ...
