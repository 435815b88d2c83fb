"""Signs that a proof is about the wrong thing, measured on the table.

A verdict is right about the rows that were given. These may not be prepared as the
model's rows were. The similarity may let nobody move. A column that was held fixed may
predict the attribute that varies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical, Ensemble, Label, Numeric, joint
from fatt.errors import Arg, DataError, SpecError, first
from fatt.people import People
from fatt.region import Category, Neighbourhood, Number, Relation, Schema
from fatt.region.amounts import Step, short
from fatt.verdict import Findings, Twins, answers_of

Matrix = NDArray[np.float64]

#: With fewer people, chance could explain that rows do not fit a model.
_ENOUGH = 10
#: "Most" is this share. "Far" from a threshold is this share of the values' spread.
_MOST, _FAR = 0.99, 0.25
#: It is no chance if all of so many values lie beyond all of so many thresholds.
_MANY, _SEVERAL = 20, 3
#: A column of codes has so many values at most.
_CODES = 20
#: From this association on, a column predicts another one.
PREDICTS = 0.5
#: A combination is missing by no chance if so many rows should have it.
_EXPECTED = 5
#: How many people are looked at to measure associations.
_LOOKED_AT = 20_000
_BINS = 8
_SHOWN = 5
#: Why answers may be wrong.
UNFIT = "the rows are not prepared as the model's rows were"


class Doubt(NamedTuple):
    """Why a verdict may be about the wrong rows.

    Attributes
    ----------
    sentence
        What was seen, and what helps.
    is_grave
        Whether a proof about such rows most likely says nothing. A gate does not pass
        then, unless somebody has accepted the doubt.
    """

    sentence: str
    is_grave: bool = False


def alone(people: People, similarity: Relation) -> int:
    """Count the people who have nobody similar."""
    space = Neighbourhood(similarity, people.variables)
    return sum(int(space.alone(values).sum()) for values in people.chunks())


def refuse_vacuous(
    similarity: Relation, schema: Schema, *, where: str = "this table"
) -> NoReturn:
    """Refuse a similarity under which nobody in a table has anybody similar.

    A condition may leave out one person. To leave out everybody is a mistake.

    Parameters
    ----------
    similarity, schema
        Who is similar to whom.
    where
        Where nobody has anybody similar.

    Raises
    ------
    SpecError
        Always. Everybody would be fair because nothing was asked.
    """
    said = " ".join(similarity.describe(schema).split("\n"))
    raise SpecError(
        f"nobody in {where} has anybody similar, so everybody would be trivially "
        "fair. Perhaps nobody meets a condition, a condition holds a value fixed, or "
        f"the noise is below the step of whole numbers. {said}."
    )


def warnings(
    people: People, findings: Findings, similarity: Relation, *, interrupted: bool
) -> tuple[Doubt, ...]:
    """Say why the rows may not be those that the model was made for.

    Parameters
    ----------
    people, findings
        The people, and what was found about them.
    similarity
        Who is similar.
    interrupted
        Whether some were not reached. The others may all get the same answer because
        of their order.
    """
    known = findings.label[findings.answered][: 0 if interrupted else None]
    # Whether there are several answers is all that matters.
    answers = answers_of(np.unique(known)[:2], findings.classes)
    return (
        *misfits(people, answers),
        *_misspelt(people, similarity),
        *_impossible(people, findings, similarity),
    )


def misfits(people: People, answers: Collection[Label]) -> tuple[Doubt, ...]:
    """Say why people may not be those that the model was made for.

    Parameters
    ----------
    people
        The people. Of a few nothing is said.
    answers
        The different answers that the model gives them; none if these are not known.
    """
    found = []
    is_many = len(people) >= _ENOUGH
    beyond = _beyond_thresholds(people) if is_many else []
    if beyond:
        listed = first(beyond, _SHOWN, "; ")
        told = (
            "These rows may not be prepared as the model's rows were. Most values lie "
            f"beyond all thresholds of the model in {listed}. If the model was trained "
            "on scaled or encoded columns, load it with its preparation "
            f"({Arg('prepare')}), or load the pipeline that holds both."
        )
        found.append(Doubt(told, is_grave=True))
    unknown, are_most = _unknown_categories(people)
    if unknown:
        listed = first(unknown, _SHOWN, "; ")
        told = (
            "Some values are no category that the model knows, and it treats all of "
            f"them alike: {listed}. Spell them as the model does, say what the codes "
            f"mean ({Arg('codes')}), or load the model with its preparation "
            f"({Arg('prepare')})."
        )
        found.append(Doubt(told, is_grave=are_most))
    infinite = _infinite(people)
    if infinite:
        listed = first(infinite, _SHOWN, "; ")
        told = (
            f"Some numbers are infinite: {listed}. A number that is too large for "
            "float64, such as 1e400, is read so. Correct these cells, or leave them "
            "empty if the value is missing."
        )
        found.append(Doubt(told))
    if is_many and len(answers) == 1:
        [answer] = answers
        told = (
            f"The model answers {answer!r} for everybody in this table. Perhaps "
            f"{UNFIT}, or the columns are in another order, or the model always "
            "answers this."
        )
        found.append(Doubt(told, is_grave=True))
    unreached = [] if beyond else _unreached(people)
    if unreached:
        told = (
            "No value reaches a threshold of the model, but the next whole number "
            f"would, in {first(unreached, _SHOWN, '; ')}. Codes that start at another "
            "number than in the training look like this."
        )
        found.append(Doubt(told))
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
    found = people.variables.model.source.counted
    if len(people) == 1 and alone:
        found.append("This person has nobody similar, and is trivially fair.")
    elif alone:
        found.append(
            f"{alone:,} of {len(people):,} people have nobody similar, and are "
            "trivially fair."
        )
    found += [
        f"{feature.name!r} varies among the values that this table or the model's "
        "splits name. The model does not say which others it was trained on. To vary "
        f"to these as well: {Arg('vary', {feature.name: 'any'})}."
        for _, feature in _categories(people, similarity)
        if feature.is_open
    ]
    found += [
        f"The model does not read {name!r}, so varying it changes nothing. Vary the "
        "columns that stand for it."
        for name in _unread(people, similarity)
    ]
    values = people.values(0, min(_LOOKED_AT, len(people)))
    found += _covered(people, similarity, values).values()
    found += _proxies(people, similarity, values)
    return tuple(found)


def _measured(people: People) -> Iterator[tuple[str, list[float], Matrix]]:
    """Yield each column of numbers that is split: name, thresholds, known values."""
    ensemble = people.variables.ensemble
    values = people.values(0, min(_LOOKED_AT, len(people)))
    for index, feature in enumerate(ensemble.features):
        if isinstance(feature, Numeric):
            cuts = [*ensemble.thresholds(index).tolist(), *feature.edges]
            cuts = [cut for cut in cuts if np.isfinite(cut)]
            known = values[np.isfinite(values[:, index]), index]
            if cuts and known.size:
                yield feature.name, cuts, known


def _unreached(people: People) -> list[str]:
    """Say in which columns of codes a step by one would reach the thresholds.

    A column of one value, such as a rare flag, tells nothing.
    """
    found = []
    for name, cuts, known in _measured(people):
        least, most = known.min(), known.max()
        is_below, is_above = (
            most <= min(cuts) < most + 1,
            least - 1 <= max(cuts) < least,
        )
        are_codes = not np.any(known % 1) and 1 < len(np.unique(known)) <= _CODES
        if known.size >= _MANY and are_codes and (is_below or is_above):
            end = min(cuts) if is_below else max(cuts)
            found.append(
                f"{name!r} ({short(least)} to {short(most)}, threshold {end:.6g})"
            )
    return found


# Differences of the largest numbers are infinite.
@np.errstate(over="ignore", invalid="ignore")
def _beyond_thresholds(people: People) -> list[str]:
    """Say in which columns most values lie far beyond all thresholds, on one side.

    Most people may well be near a threshold at the end of a column. If most have one
    value, such as a capital gain of 0, the thresholds are about the others.
    """
    found = []
    for name, cuts, known in _measured(people):
        _, counts = np.unique(known, return_counts=True)
        if counts.max() > known.size / 2:
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
                    f"{name!r} ({count:,} of {len(known):,} are {side} {short(end)})"
                )
    return found


def count_cells(
    people: People,
    chosen: Callable[[Matrix], NDArray[np.bool_]],
    n_rows: int | None = None,
) -> NDArray[np.int64]:
    """Count the chosen cells of each variable.

    Parameters
    ----------
    people
        The people.
    chosen
        Tells which cells of some rows are chosen.
    n_rows
        How many rows are looked at. Default: all.
    """
    counts = np.zeros(len(people.variables.ensemble.features), dtype=np.int64)
    for values in people.chunks(n_rows):
        counts += np.count_nonzero(chosen(values), axis=0)
    return counts


def _unknown_categories(people: People) -> tuple[list[str], bool]:
    """Say in which columns some values are no category that the model knows.

    A model that lists only the categories of its splits may have been trained on many
    more: there, only a column of hardly any other value is doubtful.

    Returns
    -------
    columns : list of str
        The columns, with counts.
    are_most : bool
        Whether most values of a column are unknown.
    """
    found, are_most = [], False
    for index, feature, count, total in _unknown(people, len(people)):
        most = max(_ENOUGH, _MOST * total)
        if not count or (feature.is_open and count < most):
            continue
        such = first(_unknown_cells(people, index, feature), _SHOWN)
        names = first([repr(one) for one in feature.categories], _SHOWN)
        found.append(
            f"{feature.name!r} ({count:,} of {total:,}, such as {such}; the model "
            f"knows {names})"
        )
        are_most |= count >= _ENOUGH and count > total / 2
    return found, are_most


def refuse_unknown(people: People) -> None:
    """Refuse a table if the model knows no category of a column.

    A few rows prove nothing. Nor does one value alone, since a table may be about a
    part of all people.

    Raises
    ------
    DataError
        If there is such a column. The model treats all its values alike.
    """
    if len(people) < _ENOUGH:
        return
    # Most tables are known to fit after a look at the first rows.
    if all(count < total for *_, count, total in _unknown(people, _ENOUGH)):
        return
    for index, feature, count, total in _unknown(people, len(people)):
        values = _unknown_cells(people, index, feature) if 0 < count == total else []
        if len(values) > 1:
            names = first([repr(one) for one in feature.categories], _SHOWN)
            raise DataError(
                f"the model knows no value of column {feature.name!r}: the table has "
                f"{first(values, _SHOWN)}, the model knows {names}. It treats unknown "
                "values alike. Spell them as the model does, say what the codes mean "
                f"({Arg('codes')}), or load the model with its preparation "
                f"({Arg('prepare')}). If they are right, add a row with a value that "
                "the model knows."
            )


def _unknown(
    people: People, n_rows: int
) -> Iterator[tuple[int, Categorical, int, int]]:
    """Yield each category that a split asks about, and two counts in the first rows.

    The first counts values that the model does not know, the second all values.
    """
    variables = people.variables
    used = _used(variables.ensemble)
    columns = {one.name for one in variables.model.features}
    own = {
        index: feature
        for index, feature in enumerate(variables.ensemble.features)
        if isinstance(feature, Categorical) and feature.name in columns and used[index]
    }
    if not own:
        return
    codes = np.full(len(used), np.nan)
    codes[[*own]] = [feature.other_code for feature in own.values()]
    unknown = count_cells(people, lambda values: values == codes, n_rows)
    if not unknown.any():
        return
    present = count_cells(people, lambda values: ~np.isnan(values), n_rows)
    for index, feature in own.items():
        yield index, feature, int(unknown[index]), int(present[index])


def _unknown_cells(people: People, index: int, feature: Categorical) -> list[str]:
    """Return the unknown values of a column as the table has them, most frequent first.

    They are those of the first rows that have any.
    """
    start = 0
    for values in people.chunks():
        rows = np.flatnonzero(values[:, index] == feature.other_code)
        if len(rows):
            break
        start += len(values)
    cells = people.said(start + rows, index) or []
    return [cell for cell, _ in Counter(map(repr, cells)).most_common()]


def _infinite(people: People) -> list[str]:
    """Say in which columns some numbers are infinite."""
    features = people.variables.ensemble.features
    return [
        f"{feature.name!r} ({count:,} of {len(people):,})"
        for feature, count in zip(features, count_cells(people, np.isinf), strict=True)
        if count
    ]


def _categories(
    people: People, similarity: Relation
) -> Iterator[tuple[int, Categorical]]:
    """Yield the categories that vary among the values that are known, by index."""
    variables = people.variables
    moves: dict[str, set[bool]] = {}
    for name, move in similarity.moving(variables.schema):
        moves.setdefault(name, set()).add(move.key == "vary" and move.values is None)
    for index, feature in enumerate(variables.ensemble.features):
        variable = variables.schema.variables[index]
        if not isinstance(feature, Categorical) or not feature.may_be_unknown:
            continue
        has_others = isinstance(variable, Category) and variable.others
        if moves.get(feature.name) == {True} and not has_others:
            yield index, feature


def _misspelt(people: People, similarity: Relation) -> Iterator[Doubt]:
    """Name rows with a category that no other row varies to."""
    for index, feature in _categories(people, similarity):
        name, values = feature.name, people.values(0, len(people))[:, index]
        rows = np.flatnonzero(values == feature.other_code)
        if rows.size:
            [cell, *_] = _unknown_cells(people, index, feature)
            yield Doubt(
                f"Row {rows[0]}: {name!r} has a value that the model does not know "
                f"({rows.size:,} such rows, such as {cell}). No other row varies to "
                "it. If it is misspelt, correct it. If there are such people, write "
                f"{Arg('vary', {name: 'any'})}."
            )


def _impossible(
    people: People, findings: Findings, similarity: Relation
) -> Iterator[Doubt]:
    """Say which columns twins combine as no row does, though chance would expect it."""
    twins = findings.twins
    pairs = _unseen_pairs(people, twins, similarity) if len(twins) else {}
    if not pairs:
        return
    names = [feature.name for feature in people.variables.ensemble.features]
    listed = sorted(pairs, key=lambda pair: -int(pairs[pair].sum()))[:_SHOWN]
    told = []
    for one, other in listed:
        count = int(pairs[one, other].sum())
        told.append(
            f"{count:,} of {len(twins):,} twins combine {names[one]!r} and "
            f"{names[other]!r} as no row does"
        )
    exist = [(names[one], names[other]) for one, other in listed]
    _, moving = _moving(people, similarity)
    still = {names[other]: None for _, other in listed if names[other] not in moving}
    follow = f" and {Arg('follow', [*still])}" if still else ""
    yield Doubt(
        f"{'; '.join(told)}. If such people do not exist, ask only about those who do: "
        f"{Arg('exist', exist)}{follow}."
    )


def _unseen_pairs(
    people: People, twins: Twins, similarity: Relation
) -> dict[tuple[int, int], NDArray[np.bool_]]:
    """Tell by pair of columns which twins combine them as no row does.

    The first of a pair varies. Only combinations count that many rows would have if
    the columns had nothing to do with each other.
    """
    features = people.variables.ensemble.features
    varied, _ = _moving(people, similarity)
    others, own = twins.everybody(), twins.people
    values = people.values(0, min(_LOOKED_AT, len(people)))
    columns = [
        place
        for place in range(len(features))
        if len(np.unique(values[:, place])) <= _CODES
    ]
    found = {}
    for one in columns:
        moved = (own[:, one] != others[:, one]) & ~np.isnan(others[:, one])
        if features[one].name not in varied or not moved.any():
            continue
        for other in columns:
            pair = [one, other]
            if (
                one == other
                or (other, one) in found
                or _is_tied(pair, people, similarity)
            ):
                continue
            unseen = np.zeros(len(twins), dtype=bool)
            for kind in np.unique(others[moved][:, pair], axis=0):
                is_such = (others[:, pair] == kind).all(axis=1) & moved
                unseen[is_such] = _is_unseen(people, values, pair, kind)
            if unseen.any():
                found[one, other] = unseen
    return found


def _is_tied(pair: list[int], people: People, similarity: Relation) -> bool:
    """Tell whether somebody has said already which combinations exist."""
    schema = people.variables.schema
    names = {people.variables.ensemble.features[place].name for place in pair}
    return any(
        names <= {schema.find(name).name for name in tie.names}
        for one in similarity.alternatives
        for tie in (*schema.together, *one.together)
    )


def _is_unseen(people: People, values: Matrix, pair: list[int], kind: Matrix) -> bool:
    """Tell whether no row has a combination that many rows should have."""
    same = values[:, pair] == kind
    if same.all(axis=1).any():
        return False
    expected = same[:, 0].sum() * same[:, 1].sum() / len(values)
    if expected < _EXPECTED:
        return False
    return not any(
        (rows[:, pair] == kind).all(axis=1).any() for rows in people.chunks()
    )


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
    for one, is_used in zip(ensemble.joints, used[n_features:-1], strict=True):
        used[joint.places_of(one.formula)] |= is_used
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
        # As Python's numbers, of which infinite ones are subtracted without a word.
        low, high = map(float, (known.min(), known.max()) if known.size else (0, 0))
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
    return sorted((one for one in found if one[0] >= PREDICTS), reverse=True)


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
    known = values[np.isfinite(values)]
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
