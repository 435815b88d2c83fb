import numpy as np
from numpy.typing import NDArray

from fatt.train.ranks import Ranks

def tally_splits(
    ranks: Ranks,
    people: NDArray[np.int64],
    boxes: NDArray[np.int64],
    worth: NDArray[np.int64],
    weight: NDArray[np.int64],
    inside: NDArray[np.int64],
    n_inside: NDArray[np.int64],
    torn: NDArray[np.int64],
) -> None: ...
