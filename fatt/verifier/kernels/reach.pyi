import numpy as np
from numpy.typing import NDArray

def depth_first(
    left: NDArray[np.int32], roots: NDArray[np.int64]
) -> NDArray[np.int64]: ...
