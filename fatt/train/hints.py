"""What a FATT tree tells other learners: how deep, and how many people at a leaf."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from sklearn.tree import DecisionTreeClassifier


@dataclass(frozen=True)
class Hints:
    """Parameters that a tree suggests for CART.

    Attributes
    ----------
    max_depth
        Depth of the tree, at least 1.
    min_samples_leaf
        Number of training people at its smallest leaf.
    """

    max_depth: int
    min_samples_leaf: int


def hinted_cart(
    hints: Hints,
    X: Any,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    random_state: Any = None,
) -> DecisionTreeClassifier:
    """Train scikit-learn's CART with what a FATT tree suggests.

    Parameters
    ----------
    hints
        The ``hints_`` of a fitted `FATTClassifier`.
    X, y, sample_weight
        Columns of numbers, the labels, and the weights.
    random_state
        As in scikit-learn.

    Examples
    --------
    >>> from fatt.train import Hints, hinted_cart
    >>> X, y = [[1.0], [2.0], [3.0], [4.0]], [0, 0, 1, 1]
    >>> hinted_cart(Hints(max_depth=1, min_samples_leaf=2), X, y).get_depth()
    1
    """
    from sklearn.tree import DecisionTreeClassifier

    cart = DecisionTreeClassifier(random_state=random_state, **asdict(hints))
    return cart.fit(X, y, sample_weight=sample_weight)
