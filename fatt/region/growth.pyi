from typing import Any

import numpy as np
from numpy.typing import NDArray

STAY: int
STEP: int
PERCENT: int
LEVELS: int
EXCHANGE: int
FREE: int
DOMAIN: np.dtype[Any]
MOVE: np.dtype[Any]

def check_space(given: tuple[NDArray[Any], ...]) -> None: ...
def grow(
    given: tuple[NDArray[Any], ...],
    people: NDArray[np.float64],
    scale: NDArray[np.float64],
    boxes: tuple[NDArray[Any], ...],
) -> int: ...
def meets(
    given: tuple[NDArray[Any], ...],
    rule: int,
    people: NDArray[np.float64],
    meeting: NDArray[np.bool_],
) -> None: ...
