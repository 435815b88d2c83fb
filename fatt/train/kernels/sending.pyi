import numpy as np
from numpy.typing import NDArray

from fatt.train.ranks import Ranks

def send_people(
    ranks: Ranks, tree: NDArray[np.int32], n_classes: int, leaf: NDArray[np.int64]
) -> None: ...
def send_boxes(
    ranks: Ranks,
    tree: NDArray[np.int32],
    n_classes: int,
    reached: NDArray[np.uint64],
    unfair: NDArray[np.bool_],
) -> None: ...
