"""What comes of a training: trees that no other beats, and hints for CART."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fatt.ensemble import Ensemble
from fatt.errors import SpecError
from fatt.frames import frame_of
from fatt.markup import notebook, table
from fatt.train.splits import Portable, as_trees

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from sklearn.tree import DecisionTreeClassifier

#: The figures of a tree that are shares of people.
_SHARES = ("fairness", "balanced_accuracy", "accuracy", "gap")


#: So many standard errors to each side are a 95 % interval.
_DEVIATIONS = 1.96


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


@dataclass(frozen=True)
class Figures:
    """What a tree reaches on some people.

    Attributes
    ----------
    accuracy, balanced_accuracy
        The share of people with the right label, of all and as the mean over classes.
    fairness
        The share of people who are proved to be treated fairly.
    gap, gap_error
        How far the rates of groups lie apart among these people, and the standard error
        of that as an estimate for others; 0 without groups, NaN if some group has
        no person here.
    ratio, ratio_error
        The smallest ratio of two rates, and its standard error; 1 and 0 without groups.
    """

    accuracy: float
    balanced_accuracy: float
    fairness: float
    gap: float
    gap_error: float
    ratio: float
    ratio_error: float

    @property
    def gap_interval(self) -> tuple[float, float]:
        """The 95 % interval of the gap, as an estimate for people drawn alike."""
        reach = _DEVIATIONS * self.gap_error
        return max(0.0, self.gap - reach), self.gap + reach

    @property
    def ratio_interval(self) -> tuple[float, float]:
        """The 95 % interval of the ratio, as an estimate for people drawn alike."""
        reach = _DEVIATIONS * self.ratio_error
        return max(0.0, self.ratio - reach), min(1.0, self.ratio + reach)


@dataclass(frozen=True, eq=False)
class Candidate(Figures):
    """A tree, and what it reaches on the training people.

    Attributes
    ----------
    accuracy, balanced_accuracy, fairness, gap, gap_error, ratio, ratio_error
        As in `Figures`, about the training people.
    held_out
        The same about people who were held out of the training, if any were.
    n_leaves
        Number of leaves.
    fitness
        What the search maximised.
    blank
        A model without splits.
    tree
        The tree in prefix order that belongs into it.
    shares : ndarray of shape (n_leaves, n_classes)
        The shares of the classes at its leaves.
    hints
        What other learners can take over from it.
    importances : ndarray of shape (n_columns,)
        How much purer the splits on each column make its leaves, by Gini's measure, as
        parts of 1.
    """

    held_out: Figures | None
    n_leaves: int
    fitness: float
    blank: Ensemble
    tree: Portable
    shares: NDArray[np.float64]
    hints: Hints
    importances: NDArray[np.float64]

    @cached_property
    def ensemble(self) -> Ensemble:
        """The tree as a model."""
        return replace(self.blank, trees=as_trees(self.tree, self.shares))

    def __repr__(self) -> str:
        return (
            f"<{self.n_leaves} leaves: accuracy {self.accuracy:.2%}, balanced "
            f"{self.balanced_accuracy:.2%}, fairness {self.fairness:.2%}>"
        )


class Front(Sequence[Candidate]):
    """The trees that no other beats in accuracy, fairness, size and gap at once.

    The fairest come first. Figures are about the training people, beside those about
    people who were held out of the training, if any were.

    Parameters
    ----------
    candidates
        The trees.
    chosen
        The one that the training chose.
    """

    def __init__(
        self, candidates: Sequence[Candidate], *, chosen: Candidate | None = None
    ) -> None:
        self.chosen = chosen
        self._candidates = tuple(
            sorted(candidates, key=lambda c: (-c.fairness, -c.fitness, c.n_leaves))
        )

    def __len__(self) -> int:
        return len(self._candidates)

    @overload
    def __getitem__(self, index: int) -> Candidate: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Candidate]: ...
    def __getitem__(self, index: int | slice) -> Candidate | Sequence[Candidate]:
        return self._candidates[index]

    def __repr__(self) -> str:
        return f"<Front of {len(self)} trees, fairness {self._span('fairness')}>"

    def _repr_html_(self) -> str:
        rows = [
            [
                "chosen" if one is self.chosen else str(place),
                *(f"{getattr(one, name):.2%}" for name in _SHARES),
                f"{one.n_leaves}",
            ]
            for place, one in enumerate(self)
        ]
        head = ["tree", *(name.replace("_", " ") for name in _SHARES), "leaves"]
        what = "The fairest first; all figures are about the training people"
        return notebook(
            f"Front of {len(self)} trees",
            table(head, rows, what, numbers=range(1, len(head))),
        )

    def select(
        self,
        *,
        fairness_weight: float | None = None,
        min_fairness: float = 0.0,
        min_accuracy: float = 0.0,
        max_gap: float = 1.0,
        max_leaves: int | None = None,
    ) -> Candidate:
        """Return the best tree among those that meet all conditions.

        Parameters
        ----------
        fairness_weight
            The weight of fairness against balanced accuracy; by default the fitness
            counts that the search maximised.
        min_fairness, min_accuracy, max_gap, max_leaves
            What the tree must reach, on the training people.

        Raises
        ------
        SpecError
            If no tree meets them.
        """
        fit = [
            candidate
            for candidate in self
            if candidate.fairness >= min_fairness
            and candidate.accuracy >= min_accuracy
            and candidate.gap <= max_gap
            and (max_leaves is None or candidate.n_leaves <= max_leaves)
        ]
        if not fit:
            raise SpecError(
                f"none of the {len(self)} trees has fairness {min_fairness} and "
                f"accuracy {min_accuracy} at least"
                + ("" if max_gap == 1 else f" and a gap of {max_gap} at most")
                + ("" if max_leaves is None else f" and {max_leaves} leaves at most")
                + f"; they reach fairness {self._span('fairness')} and accuracy "
                f"{self._span('accuracy')}. Ask for less, or train with another "
                "fairness_weight."
            )
        if fairness_weight is None:
            return max(fit, key=lambda candidate: candidate.fitness)
        weight = fairness_weight
        return max(
            fit, key=lambda c: (1 - weight) * c.balanced_accuracy + weight * c.fairness
        )

    def to_dict(self) -> dict[str, list[float]]:
        """Return the figures as columns, ready for a data frame."""
        names = ("accuracy", "balanced_accuracy", "fairness", "gap")
        columns = {
            name: [getattr(each, name) for each in self]
            for name in (*names, "n_leaves", "fitness")
        }
        held_out = [each.held_out for each in self if each.held_out is not None]
        for name in names if held_out else ():
            columns[f"held_out_{name}"] = [getattr(each, name) for each in held_out]
        return columns

    def to_frame(self) -> Any:
        """Return the figures as a data frame, one row per tree.

        Raises
        ------
        MissingDependencyError
            If neither pandas, polars nor pyarrow is installed.
        """
        return frame_of(self.to_dict())

    def plot(self, ax: Axes | None = None, **dots: Any) -> Axes:
        """Draw accuracy over fairness, small trees as small dots, the chosen as a star.

        A line leads from each tree to what it reaches on people who were held out of
        the training, if any were.

        Parameters
        ----------
        ax
            Where to draw; a new figure by default.
        **dots
            Passed on to matplotlib's ``scatter`` of the trees.

        Raises
        ------
        MissingDependencyError
            If matplotlib is not installed.
        """
        from fatt.plots import axes

        ax = axes(ax)
        columns: dict[str, Any] = {k: np.array(v) for k, v in self.to_dict().items()}
        size = 12 + 4 * columns["n_leaves"]
        places = columns["fairness"], columns["balanced_accuracy"]
        ax.scatter(*places, **{"s": size, "alpha": 0.6, "label": "training"} | dots)
        if "held_out_fairness" in columns:
            others = columns["held_out_fairness"], columns["held_out_balanced_accuracy"]
            ax.scatter(
                *others, s=size, facecolors="none", edgecolors="C0", label="held out"
            )
            for x, y in zip(*map(np.transpose, (places, others)), strict=True):
                ax.plot(*zip(x, y, strict=True), color="C0", alpha=0.2, zorder=0)
            ax.legend(loc="best")
        if self.chosen is not None:
            chosen = self.chosen
            place = (chosen.fairness, chosen.balanced_accuracy)
            ax.scatter(*place, s=120, marker="*", color="black", zorder=3)
            # On the side on which there is room.
            left = chosen.fairness > np.mean([min(places[0]), max(places[0])])
            ax.annotate(
                f"chosen, {chosen.n_leaves} leaves",
                place,
                textcoords="offset points",
                xytext=(-8 if left else 8, 6),
                ha="right" if left else "left",
            )
        on = "training" if ax.get_legend() is None else "training, held out"
        ax.set_xlabel(f"share of people treated fairly ({on})")
        ax.set_ylabel(f"balanced accuracy ({on})")
        return ax

    def _span(self, name: str) -> str:
        numbers = [getattr(candidate, name) for candidate in self]
        return f"{min(numbers):.2%} to {max(numbers):.2%}" if numbers else "nothing"


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
