"""One colour per class, the stronger the larger the share."""

from __future__ import annotations

# The colours of Okabe and Ito, which most colour-blind people can tell apart.
_COLOURS = (
    (230, 159, 0),
    (86, 180, 233),
    (0, 158, 115),
    (240, 228, 66),
    (204, 121, 167),
    (0, 114, 178),
    (213, 94, 0),
)
_PALEST = 0.2


def colour(place: int, share: float, n_classes: int) -> str:
    """Return the colour of a leaf, such as ``#e69f00``.

    Parameters
    ----------
    place
        Which of the classes the leaf stands for.
    share
        The share of that class in the leaf.
    n_classes
        Number of classes; equal shares of all give the palest colour.

    Examples
    --------
    >>> colour(0, 1.0, 2), colour(0, 0.5, 2)
    ('#e69f00', '#faeccc')
    """
    fair = 1 / n_classes
    surplus = (share - fair) / (1 - fair) if n_classes > 1 else 1.0
    strength = _PALEST + (1 - _PALEST) * min(max(surplus, 0.0), 1.0)
    mixed = (
        round(255 + strength * (part - 255)) for part in _COLOURS[place % len(_COLOURS)]
    )
    return "#" + "".join(f"{part:02x}" for part in mixed)
