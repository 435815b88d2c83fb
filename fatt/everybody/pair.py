"""Two similar people who are treated differently."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Feature, Label
from fatt.markup import Markup, notebook
from fatt.verdict import Change, Value, changes_between, values_of
from fatt.verdict.person import compared


@dataclass(frozen=True, eq=False)
class Pair:
    """Two similar people, and what the model answers about both.

    They need not be people whom anybody has seen.

    Attributes
    ----------
    values : ndarray of shape (2, n_variables)
        Numbers and codes of the variables, NaN for missing.
    features
        The variables.
    before, after
        What the model answers about the one, and about the other.
    label
        The class of which the answers are probabilities or scores, or
        ``"prediction"``; None if the answers are labels.
    on_model
        Whether the model itself was asked; else only its exact form.
    """

    values: NDArray[np.float64]
    features: tuple[Feature, ...]
    before: Any
    after: Any
    label: Label | None = None
    on_model: bool = False

    @property
    def individual(self) -> dict[str, Value]:
        """The values of the one, by variable."""
        return values_of(self.features, self.values[0])

    @property
    def twin(self) -> dict[str, Value]:
        """The values of the other, by variable."""
        return values_of(self.features, self.values[1], made_of=self.values[0])

    @property
    def changes(self) -> dict[str, Change]:
        """The variables in which the two differ, with both values."""
        return changes_between(self.individual, self.twin)

    def __str__(self) -> str:
        changes = ", ".join(f"{name} {change}" for name, change in self.changes.items())
        return f"{_said(self.before)} → {_said(self.after)}   {changes}"

    def card(self) -> Markup:
        """Return the two people side by side as HTML."""
        of = "answer" if self.label is None else f"of {self.label}"
        if self.label == "prediction":
            of = "prediction"
        answers = (of, _said(self.before), _said(self.after))
        return compared("One person", self.individual, self.twin, answers)

    def _repr_html_(self) -> str:
        return notebook("Two similar people", self.card())


def _said(answer: Any) -> str:
    return f"{answer:.6g}" if isinstance(answer, float) else str(answer)
