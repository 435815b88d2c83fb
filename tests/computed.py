"""Models of columns that are computed of others, by formulas of any kind.

No step of a pipeline divides. So a ratio is put before a fitted model by its formula.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import fatt
from fatt.ensemble.joint import Formula, evaluate
from fatt.importers.columns.mixtures import split_off
from fatt.model import Live, Model


@dataclass(frozen=True)
class Computed(Live):
    """A model of a table, behind columns that are computed of this.

    Attributes
    ----------
    own
        The model, which reads the columns of the table and the computed ones.
    names
        The columns of the table.
    formulas
        The computed columns.
    """

    own: Any
    names: tuple[str, ...]
    formulas: Mapping[str, Formula]

    def fit(self, table: Any, y: Any) -> Computed:
        """Fit the model on a table and what is computed of it."""
        self.own.fit(self.extended(table), y)
        return self

    @property
    def model(self) -> Model:
        """The exact form, and this to be asked."""
        inner = fatt.load(self.own).ensemble
        formulas = list(self.formulas.values())
        return Model(split_off(inner, len(self.names), formulas), lambda: self)

    def extended(self, table: Any) -> Any:
        """Return a table with the computed columns behind its own."""
        table = table[list(self.names)]
        numbers = np.zeros(table.shape)
        for place, name in enumerate(self.names):
            if table[name].dtype.kind in "iuf":
                numbers[:, place] = table[name]
        made = {
            name: evaluate(formula, numbers) for name, formula in self.formulas.items()
        }
        return table.assign(**made)

    def predict(self, table: Any) -> Any:
        """Return the model's labels."""
        return self.own.predict(self.extended(table))

    def predict_proba(self, table: Any) -> Any:
        """Return the model's probabilities."""
        return self.own.predict_proba(self.extended(table))

    labels, probabilities, scores = predict, predict_proba, predict_proba


def load(own: Any, **names: Any) -> Model:
    """Load a model, also one of computed columns."""
    return fatt.load(own.model if isinstance(own, Computed) else own, **names)
