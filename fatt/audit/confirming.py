"""Two people who were made up, asked again of the model itself."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.audit.asking import BUG, Asking, RefusedError
from fatt.ensemble import Categorical, Prediction
from fatt.ensemble.tables import as_frame
from fatt.errors import ReplayError, SpecError
from fatt.everybody.pair import Pair
from fatt.model import Model
from fatt.people import People
from fatt.people.edits import with_changes
from fatt.region import Variables


def confirmed(
    model: Model, variables: Variables, pair: Pair | None, table: Any
) -> Pair | None:
    """Ask the model itself about both people of a pair, if it is at hand.

    Parameters
    ----------
    model, variables
        The model, and how it reads people.
    pair
        Two people, with what the exact form answers about them.
    table
        People of whom one lends what the model does not read; None if there is none.

    Returns
    -------
    Pair or None
        The pair, which says whether the model was asked.

    Raises
    ------
    ReplayError
        If the model answers something else.
    """
    if pair is None:
        return None
    if pair.label is not None and not isinstance(model.ensemble.decision, Prediction):
        try:
            model = model.predicting(pair.label)
        except SpecError:
            # Scores and probabilities that the library does not hand out.
            return pair
    asking, exact = Asking(model), model.ensemble
    rows = variables.scatter(pair.values)
    people = _table(variables, rows, table)
    if people is None:
        return pair
    try:
        answers = asking.ask(people)
    except RefusedError:
        return pair
    if answers is None:
        return pair
    expected = exact.answer(exact.mark_missing(rows))
    if exact.classes:
        expected = np.array(exact.classes, dtype=object)[expected]
    found = [str(answer) for answer in answers]
    if exact.scoring.ordered and found != [str(one) for one in expected.tolist()]:
        raise ReplayError(
            f"the search says that two similar people get {expected.tolist()}, and the "
            f"model answers {answers}. {BUG}"
        )
    return dataclasses.replace(pair, on_model=True)


def _table(variables: Variables, rows: NDArray[np.float64], table: Any) -> Any:
    """Return two people as rows that a library takes; None if that is not known."""
    model = variables.model
    if table is not None and (as_frame(table) is not None or len(table)):
        people = People(table, variables)
        twice = people.take(np.zeros(2, dtype=np.int64))
        return with_changes(twice, model.read(twice), rows, model)
    if any(isinstance(feature, Categorical) for feature in model.features):
        return None
    if not model.inputs.named:
        return rows
    import pandas as pd

    return pd.DataFrame(rows, columns=[feature.name for feature in model.features])
