import numpy as np
from numpy.typing import NDArray

from fatt.train.ranks import Ranks, Rows
from fatt.train.training_set import Traced

NEVER: int

def score_changes(
    ranks: Ranks,
    rows: Rows,
    traced: Traced,
    node: int,
    pairs: NDArray[np.int64],
    worth: NDArray[np.int64],
    unfair: NDArray[np.int64],
    min_leaf: int,
    alone: NDArray[np.int64],
    scores: NDArray[np.int64],
) -> None: ...
