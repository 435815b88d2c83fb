"""Displays in scikit-learn's manner.

``from_estimator`` verifies a model and draws what it found. A display of something that
was found already is made from it, and drawn by ``plot``. ``ax_`` and ``figure_`` are
where it was drawn. What you pass as style goes to matplotlib.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

from fatt import plots
from fatt.audit import Radii, ScoreGaps, radius, score_gap, verify
from fatt.region import Relation
from fatt.report import Groups
from fatt.report.groups import groups_or_all
from fatt.report.plots import groups as draw_groups
from fatt.train import Front

__all__ = ["FairnessDisplay", "FrontDisplay", "RadiusDisplay", "ScoreGapDisplay"]


class _Display(ABC):
    """Something that draws itself into axes, and remembers them."""

    ax_: Any
    figure_: Any

    @abstractmethod
    def _draw(self, ax: Any, **style: Any) -> Any:
        """Draw into axes, or into new ones, and return them."""

    def plot(self, ax: Any = None, **style: Any) -> Self:
        """Draw, and return the display itself.

        Parameters
        ----------
        ax
            Matplotlib's axes to draw into; by default those of a new figure.
        **style
            Passed on to matplotlib.

        Raises
        ------
        MissingDependencyError
            If matplotlib is not installed.
        """
        self.ax_ = self._draw(ax, **style)
        self.figure_ = self.ax_.figure
        return self


class FairnessDisplay(_Display):
    """Who is fair, unfair and unknown, group by group.

    Parameters
    ----------
    groups
        As `fatt.Report.by_group` returns it.

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.

    Examples
    --------
    >>> FairnessDisplay(report.by_group("sex")).plot()  # doctest: +SKIP
    """

    def __init__(self, groups: Groups) -> None:
        self.groups = groups

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        similarity: Relation,
        by: str | tuple[str, ...] = (),
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Verify a model, and draw what was found.

        Parameters
        ----------
        estimator, X, similarity, **options
            As `fatt.verify` takes them.
        by
            What to group people by: a name, or several for their intersections.
        ax
            As in `plot`.
        """
        report = verify(estimator, X, similarity=similarity, **options)
        names = (by,) if isinstance(by, str) else tuple(by)
        return cls(groups_or_all(report, names)).plot(ax)

    def _draw(self, ax: Any, **style: Any) -> Any:
        return draw_groups(self.groups, ax=ax, **style)


class ScoreGapDisplay(_Display):
    """By how much scores differ among similar people: a share of people for each size.

    Parameters
    ----------
    gaps
        As `fatt.score_gap` returns them.
    """

    def __init__(self, gaps: ScoreGaps) -> None:
        self.gaps = gaps

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        similarity: Relation,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Find the gaps of a model, and draw them.

        Parameters
        ----------
        estimator, X, similarity, **options
            As `fatt.score_gap` takes them.
        ax
            As in `plot`.
        """
        return cls(score_gap(estimator, X, similarity=similarity, **options)).plot(ax)

    def _draw(self, ax: Any, **style: Any) -> Any:
        return plots.gaps(self.gaps.lower, self.gaps.upper, ax=ax, **style)


class RadiusDisplay(_Display):
    """The share of people treated fairly as the noise grows.

    Parameters
    ----------
    radii
        As `fatt.radius` returns them.
    """

    def __init__(self, radii: Radii) -> None:
        self.radii = radii

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        similarity: Relation,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Find the radii of a model, and draw them.

        Parameters
        ----------
        estimator, X, similarity, **options
            As `fatt.radius` takes them.
        ax
            As in `plot`.
        """
        return cls(radius(estimator, X, similarity=similarity, **options)).plot(ax)

    def _draw(self, ax: Any, **style: Any) -> Any:
        return plots.radii(self.radii.lower, self.radii.upper, ax=ax, **style)


class FrontDisplay(_Display):
    """Accuracy over fairness of the trees that no other beats, and the chosen one.

    Parameters
    ----------
    front
        The ``front_`` of a `fatt.FATTClassifier`.
    """

    def __init__(self, front: Front) -> None:
        self.front = front

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **style: Any) -> Self:
        """Draw the front of a fitted `fatt.FATTClassifier`."""
        return cls(estimator.front_).plot(ax, **style)

    def _draw(self, ax: Any, **style: Any) -> Any:
        return self.front.plot(ax, **style)
