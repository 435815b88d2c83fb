from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.verifier.kernels.records import Forest

def collect(
    forest: Forest,
    regions: tuple[NDArray[Any], ...],
    depth: int,
    ends: NDArray[np.int64],
) -> NDArray[np.int64]: ...
def weigh(
    values: NDArray[np.float64],
    columns: NDArray[np.int64],
    base: NDArray[np.float64],
    reach: tuple[NDArray[np.int64], NDArray[np.int64]],
    own: NDArray[np.int64],
    steep: float,
    slope: NDArray[np.float64],
    bend: NDArray[np.float64],
) -> NDArray[np.float64]: ...
