"""Signs that a proof is about the wrong thing, measured on the table.

A verdict is right about the rows that were given. These may not be prepared as the
model's rows were. The similarity may let nobody move. A column that was held fixed may
predict the attribute that varies.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical, Ensemble, Label, Numeric
from fatt.ensemble.joint import places_of
from fatt.errors import SpecError, first
from fatt.people import People
from fatt.region import Number, Relation, Schema, Space
from fatt.region.amounts import Step, short
from fatt.verdict import Findings, answers_of

Matrix = NDArray[np.float64]

#: With fewer people, chance could explain that rows do not fit a model.
_ENOUGH = 10
#: "Most" is this share. "Far" from a threshold is this share of the values' spread.
_MOST, _FAR = 0.99, 0.25
#: It is no chance if all of so many values lie beyond all of so many thresholds.
_MANY, _SEVERAL = 20, 3
#: From this Cramer's V on, a column predicts another one.
_PREDICTS = 0.5
#: How many people are looked at to measure associations.
_LOOKED_AT = 20_000
_BINS = 8
_SHOWN = 5
#: Why answers may be wrong.
UNFIT = "the rows are not prepared as the model's rows were"


def alone(people: People, similarity: Relation) -> int:
    """Count the people who have nobody similar."""
    space = Space(similarity, people.variables)
    return sum(int(space.alone(values).sum()) for values in people.chunks())


def refuse_vacuous(similarity: Relation, schema: Schema) -> NoReturn:
    """Refuse a similarity under which nobody in a table has anybody similar.

    A condition may leave out one person. To leave out everybody is a mistake.

    Raises
    ------
    SpecError
        Always. Everybody would be fair because nothing was asked.
    """
    said = " ".join(similarity.describe(schema).split("\n"))
    raise SpecError(
        "nobody in this table has anybody similar, so everybody would be trivially "
        "fair. Perhaps nobody meets a condition, a condition holds a value fixed, or "
        f"the noise is below the step of whole numbers. {said}."
    )


def warnings(
    people: People, findings: Findings, *, interrupted: bool
) -> tuple[str, ...]:
    """Say why the rows may not be those that the model was made for.

    Parameters
    ----------
    people, findings
        The people, and what was found about them.
    interrupted
        Whether some were not reached. The others may all get the same answer because
        of their order.
    """
    known = findings.label[findings.answered][: 0 if interrupted else None]
    # Whether there are several answers is all that matters.
    answers = answers_of(np.unique(known)[:2], findings.classes)
    return misfits(people, answers)


def misfits(people: People, answers: Collection[Label]) -> tuple[str, ...]:
    """Say why people may not be those that the model was made for.

    Parameters
    ----------
    people
        The people. Of a few nothing is said.
    answers
        The different answers that the model gives them; none if these are not known.
    """
    if len(people) < _ENOUGH:
        return ()
    found = []
    beyond = _beyond_thresholds(people)
    if beyond:
        listed = first(beyond, _SHOWN, "; ")
        found.append(
            "These rows may not be prepared as the model's rows were. Most values lie "
            f"beyond all thresholds of the model in {listed}. If the model was trained "
            "on scaled or encoded columns, load it with its preparation (prepare), or "
            "load the pipeline that holds both."
        )
    strange = _strange_categories(people)
    if strange:
        listed = first(strange, _SHOWN, "; ")
        found.append(
            f"The model does not know most categories in {listed}. It treats all "
            "unknown ones alike. Spell them as the model does, say what the codes mean "
            "(codes), or load the model with its preparation (prepare)."
        )
    if len(answers) == 1:
        [answer] = answers
        found.append(
            f"The model answers {answer!r} for everybody in this table. Perhaps "
            f"{UNFIT}, or the columns are in another order, or the model always "
            "answers this."
        )
    return tuple(found)


def notes(people: People, similarity: Relation, alone: int) -> tuple[str, ...]:
    """Say what the similarity leaves out, or lets in without saying so.

    Parameters
    ----------
    people, similarity
        The people, and who is similar.
    alone
        How many people have nobody similar.
    """
    found = []
    if len(people) == 1 and alone:
        found.append("This person has nobody similar, and is trivially fair.")
    elif alone:
        found.append(
            f"{alone:,} of {len(people):,} people have nobody similar, and are "
            "trivially fair."
        )
    found += [
        f"The model does not read {name!r}, so varying it changes nothing. Vary the "
        "columns that stand for it."
        for name in _unread(people, similarity)
    ]
    values = people.values(0, min(_LOOKED_AT, len(people)))
    found += _covered(people, similarity, values).values()
    found += _proxies(people, similarity, values)
    return tuple(found)


def _beyond_thresholds(people: People) -> list[str]:
    """Say in which columns most values lie far beyond all thresholds, on one side.

    Most people may well be near a threshold at the end of a column. If most have one
    value, such as a capital gain of 0, the thresholds are about the others.
    """
    ensemble = people.variables.ensemble
    values = people.values(0, min(_LOOKED_AT, len(people)))
    found = []
    for index, feature in enumerate(ensemble.features):
        if not isinstance(feature, Numeric):
            continue
        cuts = [*ensemble.thresholds(index).tolist(), *feature.edges]
        cuts = [cut for cut in cuts if np.isfinite(cut)]
        known = values[np.isfinite(values[:, index]), index]
        _, counts = np.unique(known, return_counts=True)
        if not cuts or not known.size or counts.max() > known.size / 2:
            continue
        for side, end, away in (
            ("at most", min(cuts), min(cuts) - known),
            ("above", max(cuts), known - max(cuts)),
        ):
            is_beyond = away >= 0
            near = float(np.quantile(away, 1 - _MOST))
            spread = float(np.quantile(away, 0.95) - np.quantile(away, 0.05))
            several = len(np.unique(known[is_beyond])) >= 3
            is_all = is_beyond.all() and len(known) >= _MANY and len(cuts) >= _SEVERAL
            if (is_all or near > max(0.0, _FAR * spread)) and several:
                count = int(np.count_nonzero(is_beyond))
                found.append(
                    f"{feature.name!r} ({count:,} of {len(known):,} are {side} "
                    f"{short(end)})"
                )
    return found


def _strange_categories(people: People) -> list[str]:
    """Say in which columns the model knows the category of hardly any value.

    A model needs to know only the categories that its splits name.
    """
    variables = people.variables
    used = _used(variables.ensemble)
    values = people.values(0, min(_LOOKED_AT, len(people)))
    own = {one.name for one in variables.model.features if isinstance(one, Categorical)}
    found = []
    for index, feature in enumerate(variables.ensemble.features):
        if not isinstance(feature, Categorical) or feature.name not in own:
            continue
        if not used[index]:
            continue
        known = values[~np.isnan(values[:, index]), index]
        count = int(np.count_nonzero(known == feature.other_code))
        if count and count >= _MOST * known.size:
            names = first([repr(one) for one in feature.categories], _SHOWN)
            found.append(
                f"{feature.name!r} ({count:,} of {len(known):,}; the model knows "
                f"{names})"
            )
    return found


def _moving(people: People, similarity: Relation) -> tuple[dict[str, None], set[str]]:
    """Return the names of what may be anything, and of all that may differ."""
    schema = people.variables.schema
    moving = [
        (name, move)
        for name, move in similarity.moving(schema)
        if not move.stays(schema.find(name))
    ]
    varied = dict.fromkeys(name for name, move in moving if move.varies)
    return varied, {name for name, _ in moving}


def held_fixed(people: People, similarity: Relation) -> list[str]:
    """Name the columns of the model in which all similar people agree."""
    _, moving = _moving(people, similarity)
    names = [feature.name for feature in people.variables.ensemble.features]
    return [name for name in names if name not in moving]


def _used(ensemble: Ensemble) -> NDArray[np.bool_]:
    """Tell which variables a split asks about."""
    used = np.zeros(len(ensemble.columns) + 1, dtype=bool)
    used[ensemble.trees.nodes["feature"]] = True
    n_features = len(ensemble.features)
    for joint, is_used in zip(ensemble.joints, used[n_features:-1], strict=True):
        used[places_of(joint.formula)] |= is_used
    return used[:n_features]


def _unread(people: People, similarity: Relation) -> list[str]:
    ensemble = people.variables.ensemble
    used = _used(ensemble)
    varied, _ = _moving(people, similarity)
    return [
        feature.name
        for index, feature in enumerate(ensemble.features)
        if feature.name in varied and not used[index]
    ]


def _covered(people: People, similarity: Relation, values: Matrix) -> dict[str, str]:
    """Say which noise is so large that its column may be anything, by column."""
    schema = people.variables.schema
    names = [one.name for one in schema.variables]
    found = {}
    for name, move in similarity.moving(schema):
        variable, amount = schema.find(name), move.amount
        # Noise for all numbers at once is not about this column.
        if move.name is None or not isinstance(amount, Step):
            continue
        if not isinstance(variable, Number):
            continue
        numbers = values[:, names.index(name)]
        known = numbers[~np.isnan(numbers)]
        size = min(amount.below, amount.above)
        if amount.unit == "sd":
            size *= variable.sd or 0.0
        low, high = (known.min(), known.max()) if known.size else (0.0, 0.0)
        if amount.unit != "%" and 0 < high - low <= size:
            found[name] = (
                f"The noise on {name!r} covers all its values here, from "
                f"{short(float(low))} to {short(float(high))}. It acts as if {name!r} "
                "varied."
            )
    return found


def _proxies(people: People, similarity: Relation, values: Matrix) -> list[str]:
    """Name the columns that predict what varies, and stay fixed."""
    features = people.variables.ensemble.features
    varied, moving = _moving(people, similarity)
    varied |= dict.fromkeys(_covered(people, similarity, values))
    found = []
    for name in varied:
        [place] = [i for i, feature in enumerate(features) if feature.name == name]
        target = _groups(values[:, place], isinstance(features[place], Categorical))
        near = _predicting(people, values, target, moving)
        if near:
            stay = "stay" if len(near) > 1 else "stays"
            found.append(
                f"{_listed(near)} {name!r} but {stay} fixed. Consider varying "
                f"{near[0][1]!r} too."
            )
    return found


def stand_ins(people: People, name: str) -> str:
    """Say which columns that the model reads predict another one.

    Parameters
    ----------
    people
        The people, with a column of that name.
    name
        The column.
    """
    count = min(_LOOKED_AT, len(people))
    group, _ = people.column(name)
    near = _predicting(people, people.values(0, count), group[:count], {name})
    if not near:
        return f"No column that the model reads predicts {name!r}."
    return f"{_listed(near)} {name!r}. Consider varying {near[0][1]!r} too."


def _predicting(
    people: People, values: Matrix, target: NDArray[np.int64], moving: set[str]
) -> list[tuple[float, str]]:
    """Return the columns that are read, stay fixed and predict groups, best first."""
    ensemble = people.variables.ensemble
    used = _used(ensemble)
    found = [
        (association(target, _groups(values[:, index], is_category)), feature.name)
        for index, feature in enumerate(ensemble.features)
        if feature.name not in moving and used[index]
        for is_category in [isinstance(feature, Categorical)]
    ]
    return sorted((one for one in found if one[0] >= _PREDICTS), reverse=True)


def _listed(near: list[tuple[float, str]]) -> str:
    [(largest, best), *others] = near[:_SHOWN]
    listed = [f"{best!r} (Cramér's V {largest:.2f})"]
    listed += [f"{name!r} ({size:.2f})" for size, name in others]
    return f"{', '.join(listed)} {'predict' if others else 'predicts'}"


def _groups(values: Matrix, is_category: bool) -> NDArray[np.int64]:
    """Return in which group each person is: a category, or a range of numbers."""
    kinds, group = np.unique(values, return_inverse=True)
    if is_category or len(kinds) <= _BINS:
        return group.astype(np.int64)
    known = values[~np.isnan(values)]
    edges = np.unique(np.quantile(known, np.linspace(0, 1, _BINS + 1)[1:-1]))
    return np.where(np.isnan(values), _BINS + 1, np.searchsorted(edges, values))


def association(one: NDArray[np.int64], other: NDArray[np.int64]) -> float:
    """Return Cramér's V of two groupings, from 0 to 1, corrected for small tables.

    Examples
    --------
    >>> sex = np.array([0, 0, 1, 1] * 25)
    >>> association(sex, 1 - sex) > 0.97, association(sex, np.array([0, 1] * 50))
    (True, 0.0)
    """
    count = len(one)
    table = np.zeros((one.max() + 1, other.max() + 1))
    np.add.at(table, (one, other), 1.0)
    table = table[table.any(axis=1)][:, table.any(axis=0)]
    rows, columns = table.shape
    if count < 2 or min(rows, columns) < 2:
        return 0.0
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / count
    phi = float(((table - expected) ** 2 / expected).sum()) / count
    phi = max(0.0, phi - (rows - 1) * (columns - 1) / (count - 1))
    least = min(n - (n - 1) ** 2 / (count - 1) for n in (rows, columns)) - 1
    return min(1.0, float(np.sqrt(phi / least))) if least > 0 else 0.0
