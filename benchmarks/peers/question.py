"""A question that all verifiers can be asked: noise on every column of numbers.

ART takes numbers between 0 and 1, moves all columns by the same amount, and knows no
categories; so the question has none. The data are the numbers of the paper's crime
data, the model is scikit-learn's GradientBoosting with the base score zero, since ART
leaves the base score out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import GradientBoostingClassifier

import fatt
from benchmarks import paper
from fatt.ensemble import Ensemble
from fatt.region import Boxes, Neighbourhood, Schema, Similarity, Variables


class Question(NamedTuple):
    """A model, some people, who is similar to them, and the boxes that this spans."""

    model: GradientBoostingClassifier
    ensemble: Ensemble
    values: NDArray[np.float64]
    epsilon: float
    schema: Schema
    similarity: Similarity
    boxes: Boxes

    @property
    def labels(self) -> NDArray[Any]:
        """What the model answers."""
        return np.asarray(self.model.predict(self.values))


def ask(n_trees: int, depth: int, epsilon: float, n_people: int) -> Question:
    """Train the model, and draw the boxes."""
    people = paper.people("crime")
    numbers = people.notes["numeric"]["names"]
    train, test = people.train[numbers].to_numpy(), people.test[numbers].to_numpy()
    low, high = train.min(axis=0), train.max(axis=0)
    train, test = [np.clip((rows - low) / (high - low), 0, 1) for rows in (train, test)]
    model = GradientBoostingClassifier(
        n_estimators=n_trees, max_depth=depth, init="zero", random_state=0
    )
    model.fit(train, people.label)
    ensemble = fatt.load(model).ensemble
    values = test[:n_people]
    schema = Schema.infer(ensemble, train)
    similarity = Similarity(noise=epsilon)
    boxes = Neighbourhood(similarity, Variables(ensemble, schema)).boxes(values)
    return Question(model, ensemble, values, epsilon, schema, similarity, boxes)
