"""Why a proof may be about the wrong thing: what does not fit, or was not thought of.

A verdict is right about the rows that were given. Whether these are the rows that the
model was made for, whether the similarity lets anybody move, and what gives away an
attribute that may vary, is told here; all of it is measured on the table.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical, Ensemble, Label, Numeric
from fatt.ensemble.joint import places_of
from fatt.errors import Arg, SpecError
from fatt.people import People
from fatt.region import Number, Relation, Schema, Space
from fatt.region.amounts import Step, short
from fatt.threads import CHUNK
from fatt.verdict import answers_of

if TYPE_CHECKING:
    from fatt.report.report import Report

Matrix = NDArray[np.float64]

#: Fewer people tell nothing about whether rows fit a model.
_ENOUGH = 10
#: Most values are this share, and far from a threshold by this share of their spread.
_MOST, _FAR = 0.99, 0.25
#: All of so many values at least are beyond so many thresholds by no chance.
_MANY, _SEVERAL = 20, 3
#: A column of codes has so many values at most.
_CODES = 20
#: From this association on a column nearly gives away another.
TELLS = 0.5
#: How many people are looked at to measure associations.
_LOOKED_AT = 20_000
_BINS = 8
_SHOWN = 5
#: What answers that cannot be right may come from.
UNFIT = "the rows may not be prepared as the model's were"


class Doubt(NamedTuple):
    """Why a verdict may be about the wrong rows.

    Attributes
    ----------
    sentence
        What was seen, and what helps.
    is_grave
        Whether a proof about such rows most likely says nothing, so that nobody may
        take it for one unseen.
    """

    sentence: str
    is_grave: bool = True


def alone(report: Report) -> int:
    """Count the people who are similar to nobody else."""
    space = Space(report.similarity, report.people.variables)
    return sum(int(np.count_nonzero(space.alone(values))) for values in _chunks(report))


def refuse_vacuous(similarity: Relation, schema: Schema) -> NoReturn:
    """Refuse a similarity under which nobody in a table is similar to anybody else.

    One person may be left out by a condition; of everybody that is a mistake.

    Raises
    ------
    SpecError
        Always. What is fair then is fair because nothing was asked.
    """
    said = " ".join(similarity.describe(schema).split("\n"))
    raise SpecError(
        "nobody in this table is similar to anybody else, so that all would count as "
        "fair and nothing be proved: a condition that nobody meets, noise below the "
        f"step of whole numbers, or a value that a condition holds fixed. {said}."
    )


def warnings(report: Report, *, options: bool = True) -> tuple[Doubt, ...]:
    """Say why the rows may not be those that the model was made for.

    Parameters
    ----------
    report
        The report.
    options
        Whether to spell the options that help, which not every reader types.
    """
    # More than two different answers tell no more than two.
    labels, classes = np.unique(report.findings.label)[:2], report.findings.classes
    is_known = not report.interrupted and not (classes and labels[0] < 0)
    answers = answers_of(labels, classes) if is_known else []
    return misfits(report.people, answers, options=options)


def misfits(
    people: People, answers: Collection[Label], *, options: bool = True
) -> tuple[Doubt, ...]:
    """Say why people may not be those that the model was made for; a few tell nothing.

    Parameters
    ----------
    people
        The people.
    answers
        The different answers that the model gives them; none if these are not known.
    options
        As for `warnings`.
    """
    if len(people) < _ENOUGH:
        return ()
    found = []
    codes, before = (
        (f" ({Arg('codes')})", f" ({Arg('prepare')})") if options else ("", "")
    )
    beyond = _beyond_thresholds(people)
    if beyond:
        found.append(
            "These rows may not be prepared as the model's were: most values lie "
            f"beyond all thresholds of the model in {_first(beyond)}. If the model was "
            "trained on scaled or encoded columns, load it with its preparation"
            f"{before}, or as the pipeline that holds both."
        )
    strange = _strange_categories(people)
    if strange:
        found.append(
            "Most values are no category that the model knows, and are all the same "
            f"to it, in {_first(strange)}. Spell them as the model does, say what "
            f"codes mean{codes}, or load the model with its preparation{before}."
        )
    if len(answers) == 1:
        [answer] = answers
        found.append(
            f"The model answers {answer!r} for everybody in this table. Then {UNFIT}, "
            "or its columns be in another order; or it answers that always."
        )
    unreached = _unreached(people)
    if unreached and not beyond:
        told = (
            "No value reaches a threshold of the model, and the next whole number "
            f"would, in {_first(unreached)}. Codes that begin at another number than "
            "in the training look like that."
        )
        return (*map(Doubt, found), Doubt(told, is_grave=False))
    return tuple(map(Doubt, found))


def _first(found: list[str]) -> str:
    """List the first of the columns that were found."""
    more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return "; ".join(found[:_SHOWN]) + more


def notes(report: Report, *, options: bool = True) -> tuple[str, ...]:
    """Say what the similarity leaves out, or lets in without saying so.

    Parameters
    ----------
    report, options
        As for `warnings`.
    """
    found = []
    if len(report) == 1 and report.alone:
        found.append(
            "This person is similar to nobody else, and counts as fair for that "
            "reason alone."
        )
    elif report.alone:
        found.append(
            f"{report.alone:,} of {len(report):,} are similar to nobody else, and "
            "count as fair for that reason alone."
        )
    found += [
        f"The model does not read {name!r}, so that it cannot matter. One must vary "
        "what stands for it in the columns that the model reads."
        for name in _unread(report)
    ]
    values = report.people.values(0, min(_LOOKED_AT, len(report)))
    found += _covered(report, values).values()
    found += _proxies(report, values, options)
    return tuple(found)


def _chunks(report: Report) -> Iterator[Matrix]:
    people = report.people
    for start in range(0, len(people), CHUNK):
        yield people.values(start, min(start + CHUNK, len(people)))


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


def _beyond_thresholds(people: People) -> list[str]:
    """Say in which columns most values lie far beyond all thresholds, on one side.

    Near a threshold at the end of its column most people may well be; and where most
    have one value, such as a capital gain of 0, the thresholds are about the others.
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


def _strange_categories(people: People) -> list[str]:
    """Say in which columns most values are no category that the model knows.

    Many others may be none: a model needs to know only what it asks for, and of a
    column that it never asks about nothing.
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
            names = [repr(one) for one in feature.categories[:_SHOWN]]
            more = ", ..." if len(feature.categories) > _SHOWN else ""
            found.append(
                f"{feature.name!r} ({count:,} of {len(known):,}; the model knows "
                f"{', '.join(names)}{more})"
            )
    return found


def _moving(report: Report) -> tuple[dict[str, None], set[str]]:
    """Return what may be anything, and all that may differ in some way, by name."""
    schema = report.people.variables.schema
    moving = [
        (name, move)
        for name, move in report.similarity.moving(schema)
        if not move.stays(schema.find(name))
    ]
    varied = dict.fromkeys(name for name, move in moving if move.varies)
    return varied, {name for name, _ in moving}


def held_fixed(report: Report) -> list[str]:
    """Name the columns of the model in which all similar people agree."""
    _, moving = _moving(report)
    names = [feature.name for feature in report.people.variables.ensemble.features]
    return [name for name in names if name not in moving]


def _used(ensemble: Ensemble) -> NDArray[np.bool_]:
    """Tell which variables a split asks about."""
    used = np.zeros(len(ensemble.columns) + 1, dtype=bool)
    used[ensemble.trees.nodes["feature"]] = True
    n_features = len(ensemble.features)
    for joint, is_used in zip(ensemble.joints, used[n_features:-1], strict=True):
        used[places_of(joint.formula)] |= is_used
    return used[:n_features]


def _unread(report: Report) -> list[str]:
    ensemble = report.people.variables.ensemble
    used = _used(ensemble)
    varied, _ = _moving(report)
    return [
        feature.name
        for index, feature in enumerate(ensemble.features)
        if feature.name in varied and not used[index]
    ]


def _covered(report: Report, values: Matrix) -> dict[str, str]:
    """Say which noise is so large that it lets a column be anything, by its name."""
    schema = report.people.variables.schema
    names = [one.name for one in schema.variables]
    found = {}
    for name, move in report.similarity.moving(schema):
        variable, amount = schema.find(name), move.amount
        # Of noise for all numbers nobody asks what it does to one of them.
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
                f"{short(float(low))} to {short(float(high))}: it means that {name!r} "
                "may be any of them."
            )
    return found


def _proxies(report: Report, values: Matrix, options: bool) -> list[str]:
    """Name the columns that stayed fixed and nearly give away what varies."""
    features = report.people.variables.ensemble.features
    varied, moving = _moving(report)
    varied |= dict.fromkeys(_covered(report, values))
    found = []
    for name in varied:
        [place] = [i for i, feature in enumerate(features) if feature.name == name]
        target = _groups(values[:, place], isinstance(features[place], Categorical))
        near = _telling(report.people, values, target, moving)
        if near:
            spelt = Arg("vary", [*varied, near[0][1]])
            way_out = f"; to vary it as well: {spelt}" if options else "."
            found.append(
                f"Nearly giving away {name!r}, and the same for all similar people: "
                f"{_listed(near)}. Such a column may stand for {name!r}{way_out}"
            )
    return found


def stand_ins(people: People, name: str) -> str:
    """Say which columns that the model reads nearly give away another one.

    Parameters
    ----------
    people
        The people, with a column of that name.
    name
        The column.
    """
    count = min(_LOOKED_AT, len(people))
    group, _ = people.column(name)
    near = _telling(people, people.values(0, count), group[:count], {name})
    if not near:
        return f"No column that the model reads nearly gives away {name!r}."
    option = Arg("vary", [near[0][1]])
    return f"Nearly giving away {name!r}: {_listed(near)}. To vary the first: {option}"


def _telling(
    people: People, values: Matrix, target: NDArray[np.int64], moving: set[str]
) -> list[tuple[float, str]]:
    """Return the columns read and fixed that tell a grouping, the best first."""
    ensemble = people.variables.ensemble
    used = _used(ensemble)
    telling = [
        (association(target, _groups(values[:, index], is_category)), feature.name)
        for index, feature in enumerate(ensemble.features)
        if feature.name not in moving and used[index]
        for is_category in [isinstance(feature, Categorical)]
    ]
    return sorted((one for one in telling if one[0] >= TELLS), reverse=True)


def _listed(near: list[tuple[float, str]]) -> str:
    shown = [f"{name!r} ({size:.2f})" for size, name in near[:_SHOWN]]
    return ", ".join(shown) + ", of 1 at most"


def _groups(values: Matrix, is_category: bool) -> NDArray[np.int64]:
    """Return in which group each person is: a category, or a range of numbers."""
    kinds, group = np.unique(values, return_inverse=True)
    if is_category or len(kinds) <= _BINS:
        return group.astype(np.int64)
    known = values[~np.isnan(values)]
    edges = np.unique(np.quantile(known, np.linspace(0, 1, _BINS + 1)[1:-1]))
    return np.where(np.isnan(values), _BINS + 1, np.searchsorted(edges, values))


def association(one: NDArray[np.int64], other: NDArray[np.int64]) -> float:
    """Return how far two groupings tell each other: from 0, not at all, to 1.

    This is Cramer's V, corrected for the bias that small tables have.

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
