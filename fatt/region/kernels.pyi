import numpy as np
from numpy.typing import NDArray

NUMBER: int
LEVEL: int
COLUMN: int

def gather(
    table: NDArray[np.float64],
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    missing: NDArray[np.bool_],
    kinds: NDArray[np.int64],
    columns: NDArray[np.int64],
    starts: NDArray[np.int64],
    levels: NDArray[np.float64],
    first_levels: NDArray[np.int64],
    zeros: NDArray[np.int64],
    values: NDArray[np.float64],
) -> int: ...
def see_groups(
    table: NDArray[np.float64],
    columns: NDArray[np.int64],
    starts: NDArray[np.int64],
    is_variable: NDArray[np.bool_],
    least: NDArray[np.int64],
    most: NDArray[np.int64],
) -> None: ...
def scatter(
    values: NDArray[np.float64],
    columns: NDArray[np.int64],
    starts: NDArray[np.int64],
    cells: NDArray[np.float64],
    first_cells: NDArray[np.int64],
    rows: NDArray[np.float64],
) -> None: ...
