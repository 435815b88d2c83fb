"""What was found, drawn: displays as scikit-learn has them.

Each is made by ``from_estimator``, which verifies, or from what was found already, and
draws itself once; ``plot`` draws it again. ``ax_`` and ``figure_`` are where it stands.
No style is forced: what you pass goes on to matplotlib.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

from fatt import plots
from fatt.audit import Radii, ScoreGaps, radius, score_gap, verify
from fatt.region import Relation
from fatt.report import Groups, Report
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
    >>> FairnessDisplay.from_report(report, "sex")  # doctest: +SKIP
    """

    def __init__(self, groups: Groups) -> None:
        self.groups = groups

    @classmethod
    def from_report(
        cls, report: Report, *names: str, ax: Any = None, **style: Any
    ) -> Self:
        """Draw what a report says.

        Parameters
        ----------
        report
            As `fatt.verify` returns it.
        *names
            What to group people by, as in `fatt.Report.by_group`; by default its
            sensitive features, or everybody together if there are none.
        ax, **style
            As in `plot`.
        """
        return cls(groups_or_all(report, names)).plot(ax, **style)

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
        return cls.from_report(report, *names, ax=ax)

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
    def from_gaps(cls, gaps: ScoreGaps, *, ax: Any = None, **style: Any) -> Self:
        """Draw gaps; `ax` and `style` are those of `plot`."""
        return cls(gaps).plot(ax, **style)

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
    def from_radii(cls, radii: Radii, *, ax: Any = None, **style: Any) -> Self:
        """Draw radii; `ax` and `style` are those of `plot`."""
        return cls(radii).plot(ax, **style)

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
    def from_front(cls, front: Front, *, ax: Any = None, **style: Any) -> Self:
        """Draw a front; `ax` and `style` are those of `plot`."""
        return cls(front).plot(ax, **style)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **style: Any) -> Self:
        """Draw the front of a fitted `fatt.FATTClassifier`, as `from_front` does."""
        return cls(estimator.front_).plot(ax, **style)

    def _draw(self, ax: Any, **style: Any) -> Any:
        return self.front.plot(ax, **style)
