"""Labels, as fitted objects hold them and as plain Python values."""

from __future__ import annotations

from typing import Any

import numpy as np

from fatt.ensemble import Label
from fatt.errors import UnsupportedModelError


def plain_label(value: Any, what: str) -> Label:
    """Return the string, number or boolean that a value stands for.

    Parameters
    ----------
    value
        A category or class, as numpy or Python holds it.
    what
        What holds it, for the message.

    Raises
    ------
    UnsupportedModelError
        If it is of another kind. Dates are: numpy would turn some into integers.
    """
    is_date = isinstance(value, np.datetime64 | np.timedelta64)
    plain = value.item() if isinstance(value, np.generic) and not is_date else value
    if not isinstance(plain, str | int | float):
        raise UnsupportedModelError(
            f"{what} holds {value!r} of type {type(value).__name__}; fatt knows "
            "strings, numbers and booleans. Train the model on such values."
        )
    return plain
