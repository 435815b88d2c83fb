"""Which share of all people is treated unlike somebody similar: counted or bounded."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical
from fatt.everybody.distributions import Distribution, Product, Values, names_of_levels
from fatt.progress import Progress
from fatt.region import Population
from fatt.verdict import FAIR, UNFAIR, UNKNOWN, Bounds

Floats = NDArray[np.float64]
Verdicts = NDArray[np.int8]

#: Decides people, given their values; see `fatt.Auditor`.
Judge = Callable[[Floats], NDArray[Any]]

#: Cells are listed if they are not more.
MOST_CELLS = 8_000_000
#: What may be left out where cells are counted, so little that it hardly widens bounds.
_REST = 0.0005
_BATCH = 8192
_PILOT = 2048
#: What a similarity says of each variable apart from the others.
_OF_ONE_VARIABLE = {"noise", "vary", "where", "missing"}
#: Levels of a variable by which people are grouped.
_GROUPS = 20


@dataclass(frozen=True, eq=False)
class Share:
    """The share of people for whom some similar person gets another answer.

    Attributes
    ----------
    bounds
        The share lies between these.
    confidence
        How sure that is: 1 if it is counted, else the chance with which an interval
        made like this one holds the share.
    distribution
        How people are drawn, in words.
    counts
        How many of those who were asked are fair, unfair and unknown. Where people are
        drawn, each counts as often as it was drawn. Unknown people may be either.
    n_distinct
        How many different people were asked.
    by_group
        For the categories that vary, by name: the same bounds for the people with each
        level. Every interval has the stated confidence on its own.
    seed
        The source of chance; None if the share is counted.
    interrupted
        Whether the user interrupted it: the bounds are those reached until then.
    """

    bounds: Bounds
    confidence: float
    distribution: str
    counts: Mapping[str, int]
    n_distinct: int
    by_group: Mapping[str, Mapping[Any, Bounds]] = field(default_factory=dict)
    seed: int | None = None
    interrupted: bool = False

    def __str__(self) -> str:
        if self.seed is None:
            return (
                f"{_percent(self.bounds)} of the people are treated unlike somebody "
                f"similar: counted, if people are drawn {self.distribution}"
            )
        return (
            f"{_percent(self.bounds)} of the people are treated unlike somebody "
            f"similar, with a confidence of {self.confidence:.15g}, if people are "
            f"drawn {self.distribution}"
        )

    def __repr__(self) -> str:
        low, high = self.bounds
        return f"<Share from {low:.6f} to {high:.6f}, confidence {self.confidence}>"


def _percent(bounds: Bounds) -> str:
    return f"{bounds:.2%}"


def share_of(
    population: Population,
    judge: Judge,
    distribution: Distribution,
    *,
    is_mutual: bool = False,
    confidence: float = 0.99,
    seconds: float = 10.0,
    draws: int = 400_000,
    seed: int = 0,
    progress: Progress | None = None,
) -> Share:
    """Bound the share of unfair people, or count it.

    Parameters
    ----------
    population
        Whom the question is about.
    judge
        Decides people.
    distribution
        How they are drawn.
    is_mutual
        Whether all who are similar to each other are unfair as soon as one of them is.
    confidence, seconds, draws, seed
        As in `fatt.unfair_share`.
    progress
        Told how many people are done, and how many there are.
    """
    begin = time.monotonic()
    rng = np.random.default_rng(seed)
    cells = _cells(population, distribution, is_mutual=is_mutual)
    pilot = distinct(distribution.draw(rng, _PILOT))[0]
    start = time.monotonic()
    judge(pilot)
    each = (time.monotonic() - start) / len(pilot)
    if cells is not None:
        if len(cells.mass) * each > seconds:
            cells = cells.without_rest()
        if len(cells.mass) * each <= seconds:
            return _counted(population, judge, cells, distribution.words, progress)
    left = seconds - (time.monotonic() - begin)
    # How many people there is time for is known before the first one is drawn: so the
    # number does not depend on what is found.
    count = int(np.clip(left / each, _PILOT, draws))
    deadline = begin + 2 * seconds
    return _drawn(
        population,
        judge,
        (distribution, distribution.draw(rng, count)),
        (confidence, seed, deadline),
        progress,
    )


# ---- By chance.


def _drawn(
    population: Population,
    judge: Judge,
    drawn: tuple[Distribution, Floats],
    limits: tuple[float, int, float],
    progress: Progress | None,
) -> Share:
    """Bound the share by people who were drawn."""
    distribution, people = drawn
    confidence, seed, deadline = limits
    different, first, inverse = distinct(people)
    verdict = np.full(len(different), UNKNOWN, dtype=np.int8)
    done, interrupted = 0, False
    try:
        for start, stop in _batches(len(different)):
            if done and time.monotonic() > deadline:
                break
            verdict[start:stop] = judge(different[start:stop])
            done = stop
            if progress is not None:
                progress(done, len(different))
    except KeyboardInterrupt:
        interrupted = True
    # Whoever was drawn before the first one who was not reached.
    reached = int(first[done]) if done < len(different) else len(people)
    found = verdict[inverse[:reached]]
    people = people[:reached]
    return Share(
        bounds=clopper_pearson(*_counts(found), confidence),
        confidence=confidence,
        distribution=distribution.words,
        counts=_named(_counts(found)),
        n_distinct=done,
        by_group={
            name: {
                level: clopper_pearson(
                    *_counts(found[people[:, index] == code]), confidence
                )
                for code, level in levels
            }
            for name, index, levels in _groups(population)
        },
        seed=seed,
        interrupted=interrupted,
    )


def clopper_pearson(fair: int, unfair: int, unknown: int, confidence: float) -> Bounds:
    """Return the interval of a share of which so many were drawn.

    Whoever is unknown counts as fair for the lower end, and as unfair for the upper
    one: so the interval holds the share at least as often as it says.

    Parameters
    ----------
    fair, unfair, unknown
        How many people were drawn of each kind.
    confidence
        The chance that the interval holds the share.

    Examples
    --------
    >>> clopper_pearson(90, 10, 0, 0.95)
    Bounds(lower=0.0490..., upper=0.1762...)

    Notes
    -----
    Clopper and Pearson, *The use of confidence or fiducial limits illustrated in the
    case of the binomial*, Biometrika 26 (1934).
    """
    from scipy.special import betaincinv

    count, tail = fair + unfair + unknown, (1 - confidence) / 2
    low, high = unfair, unfair + unknown
    return Bounds(
        float(betaincinv(low, count - low + 1, tail)) if low else 0.0,
        float(betaincinv(high + 1, count - high, 1 - tail)) if high < count else 1.0,
    )


def distinct(people: Floats) -> tuple[Floats, NDArray[np.int64], NDArray[np.int64]]:
    """Return each person once in the order drawn, where it was drawn first, and who."""
    rows = np.ascontiguousarray(people + 0.0)
    keys = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rows[first[order]], first[order], rank[inverse.ravel()]


def _batches(count: int) -> Iterator[tuple[int, int]]:
    for start in range(0, count, _BATCH):
        yield start, min(start + _BATCH, count)


def _counts(verdict: NDArray[Any]) -> tuple[int, int, int]:
    return (
        int((verdict == FAIR).sum()),
        int((verdict == UNFAIR).sum()),
        int((verdict == UNKNOWN).sum()),
    )


def _named(counts: tuple[int, int, int]) -> dict[str, int]:
    return dict(zip(("fair", "unfair", "unknown"), counts, strict=True))


def _groups(
    population: Population,
) -> Iterator[tuple[str, int, list[tuple[int, Any]]]]:
    """Yield the categories that vary: the name, the place, and the levels by code."""
    variables, box = population.variables, population.asked
    moving = population.similarity.moving(variables.schema)
    varied = {name for name, move in moving if move.varies}
    features = variables.ensemble.features
    for index, feature in enumerate(features):
        if feature.name not in varied or not isinstance(feature, Categorical):
            continue
        codes = np.flatnonzero(box.flags(features, index)[0]).tolist()
        if len(codes) <= _GROUPS:
            names = names_of_levels(population, index)
            yield feature.name, index, [(code, names[code]) for code in codes]


# ---- By counting.


class _Cells(NamedTuple):
    """All people as far as the verdict tells them apart, in the order of their mass.

    Attributes
    ----------
    order : ndarray of shape (n_cells,)
        The number of each cell, as `numpy.unravel_index` reads it.
    mass : ndarray of shape (n_cells,)
        Its share of the people.
    rest
        The share of the people in cells that are left out.
    values
        The values of each variable.
    alike
        The places of variables of which any value gives the same verdict.
    """

    order: NDArray[np.int64]
    mass: Floats
    rest: float
    values: tuple[Values, ...]
    alike: frozenset[int]

    def without_rest(self) -> _Cells:
        """Return the cells without those that hold next to nobody."""
        kept = int(np.searchsorted(np.cumsum(self.mass), 1 - _REST)) + 1
        return self._replace(
            order=self.order[:kept],
            mass=self.mass[:kept],
            rest=float(self.mass[kept:].sum()),
        )

    def people(self, start: int, stop: int) -> Floats:
        """Return the people of some cells."""
        shape = tuple(len(one.value) for one in self.values)
        places = np.unravel_index(self.order[start:stop], shape)
        return np.stack(
            [one.value[place] for one, place in zip(self.values, places, strict=True)],
            axis=1,
        )


def _cells(
    population: Population, distribution: Distribution, *, is_mutual: bool
) -> _Cells | None:
    """List the cells of a product, those with the most mass first.

    Returns
    -------
    _Cells or None
        None if it is no product, or there are too many cells.
    """
    ensemble = population.variables.ensemble
    if not isinstance(distribution, Product) or ensemble.joints:
        return None
    said = {key for one in population.similarity.alternatives for key in one.plain()}
    if not said <= _OF_ONE_VARIABLE or population.variables.schema.exist:
        return None
    named = _named_variables(population)
    alike = _alike(population) if is_mutual else frozenset()
    values = []
    for index, one in enumerate(distribution.values):
        if index in alike:
            values.append(Values(one.value[:1], np.ones(1)))
        elif ensemble.features[index].name in named:
            if one.width:
                return None
            values.append(one)
        else:
            merged = _merged(population, index, one)
            if merged is None:
                return None
            values.append(merged)
    count = float(np.prod([float(len(one.value)) for one in values]))
    if count > MOST_CELLS:
        return None
    mass = np.ones(1)
    for one in values:
        mass = np.multiply.outer(mass, one.mass).ravel()
    order = np.argsort(-mass, kind="stable")
    return _Cells(order, mass[order], 0.0, tuple(values), alike)


def _named_variables(population: Population) -> set[str]:
    """Return the variables whose own values tell who is similar."""
    schema, similarity = population.variables.schema, population.similarity
    asked = {schema.find(name).name for name, _ in similarity.conditions}
    return asked | {name for name, _ in similarity.moving(schema)}


def _alike(population: Population) -> frozenset[int]:
    """Return the variables of which the similar people are the same for any value.

    That is where one similarity lets them be anything that people have, and nothing
    asks what they are.
    """
    schema, similarity = population.variables.schema, population.similarity
    if len(similarity.alternatives) > 1:
        return frozenset()
    said: dict[str, list[bool]] = {}
    for name, move in similarity.moving(schema):
        said.setdefault(name, []).append(move.varies and move.values is None)
    asked = {schema.find(name).name for name, _ in similarity.conditions}
    features = population.variables.ensemble.features
    return frozenset(
        index
        for index, feature in enumerate(features)
        if said.get(feature.name) == [True]
        and feature.name not in asked
        and isinstance(feature, Categorical)
        and not population.everybody.missing[0, index]
        and not feature.may_be_unknown
    )


def _merged(population: Population, index: int, one: Values) -> Values | None:
    """Return the values as far as the trees tell them apart; None if they cannot be."""
    ensemble = population.variables.ensemble
    feature = ensemble.features[index]
    if isinstance(feature, Categorical):
        return one
    cuts = np.union1d(ensemble.thresholds(index), feature.edges)
    if feature.missing_range is not None:
        return one if not one.width else None
    if one.width:
        inside = cuts[(cuts > one.value[0]) & (cuts < one.high)]
        ends = np.concatenate([one.value, inside, [one.high]])
        # Of each interval the upper end, which lies in the same cell.
        if feature.integer:
            return None
        return Values(ends[1:], np.diff(ends) / one.width)
    cell = np.searchsorted(cuts, one.value).astype(np.float64)
    cell[np.isnan(one.value)] = np.nan
    _, first, inverse = np.unique(cell, return_index=True, return_inverse=True)
    mass = np.zeros(len(first))
    np.add.at(mass, inverse.ravel(), one.mass)
    return Values(one.value[first], mass)


def _counted(
    population: Population,
    judge: Judge,
    cells: _Cells,
    words: str,
    progress: Progress | None,
) -> Share:
    """Count the share, cell by cell."""
    verdict = np.full(len(cells.mass), UNKNOWN, dtype=np.int8)
    done, interrupted = 0, False
    try:
        for start, stop in _batches(len(verdict)):
            verdict[start:stop] = judge(cells.people(start, stop))
            done = stop
            if progress is not None:
                progress(done, len(verdict))
    except KeyboardInterrupt:
        interrupted = True
    everybody = _bounds(verdict, cells.mass, cells.rest)
    by_group = {}
    shape = tuple(len(one.value) for one in cells.values)
    for name, index, levels in _groups(population):
        if index in cells.alike:
            by_group[name] = {level: everybody for _, level in levels}
            continue
        codes = cells.values[index].value[np.unravel_index(cells.order, shape)[index]]
        mass_of = dict(
            zip(cells.values[index].value, cells.values[index].mass, strict=True)
        )
        groups = {}
        for code, level in levels:
            mine, whole = codes == code, mass_of.get(float(code), 0.0)
            if whole:
                mass = cells.mass[mine] / whole
                rest = max(0.0, 1.0 - float(mass.sum()))
                groups[level] = _bounds(verdict[mine], mass, rest)
        by_group[name] = groups
    return Share(
        bounds=everybody,
        confidence=1.0,
        distribution=words,
        counts=_named(_counts(verdict[:done])),
        n_distinct=done,
        by_group=by_group,
        interrupted=interrupted,
    )


def _bounds(verdict: Verdicts, mass: Floats, rest: float) -> Bounds:
    low = float(mass[verdict == UNFAIR].sum())
    high = low + float(mass[verdict == UNKNOWN].sum()) + rest
    return Bounds(low, min(1.0, high))
