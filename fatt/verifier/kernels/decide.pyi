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
