import numpy as np
from numpy.typing import NDArray

from fatt.train.ranks import Ranks
from fatt.train.training_set import Traced

NEVER: int

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
def score_changes(
    ranks: Ranks,
    traced: Traced,
    node: int,
    pairs: NDArray[np.int64],
    worth: NDArray[np.int64],
    unfair: NDArray[np.int64],
    min_leaf: int,
    alone: NDArray[np.int64],
    scores: NDArray[np.int64],
) -> None: ...
