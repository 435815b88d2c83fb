from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.verifier.kernels.records import Arithmetic, Forest, Pairs

def collect(
    forest: Forest,
    arithmetic: Arithmetic,
    kin: NDArray[Any],
    relation: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint64]],
    allowed: tuple[NDArray[Any], ...],
    is_exact: bool,
    joint_limit: int,
    clock: NDArray[np.int64],
    time: int,
) -> Pairs | None: ...
