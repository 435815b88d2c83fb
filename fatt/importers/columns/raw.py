"""What the raw columns of a pipeline hold: numbers, or labels.

A raw column becomes categorical if encoders are its only readers, else it is numeric; a
column that reaches the model untouched is what the model takes it for.

A column that no step reads is no feature if the pipeline knows its columns by name,
since it need not even be there. If the pipeline knows them by position only, it is a
categorical feature without categories, so that the positions of the others stay: it
may hold anything and no tree asks for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple, get_args

import msgspec
import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Categorical, Ensemble, Feature, Label, Numeric
from fatt.ensemble.features import NumberTypes
from fatt.errors import UnsupportedModelError
from fatt.importers.columns.algebra import (
    Coded,
    Column,
    Flags,
    Floats,
    Same,
    follow,
)
from fatt.importers.columns.mixtures import computed_with, mixtures_of
from fatt.importers.columns.steps import (
    FINITE,
    UNKNOWN,
    AnyStep,
    Levels,
    Mixture,
    Numbers,
    Path,
    Replace,
    Table,
    is_encoder,
    is_nan,
)


class Raw(NamedTuple):
    """The raw columns.

    Attributes
    ----------
    features
        What they hold.
    columns
        What is made of them: the columns that the model reads, None where several are
        computed with, and those that are computed with.
    first_steps
        The first readers of those that hold numbers.
    open_below, open_above
        Which of them have an open end there (see `fatt.ensemble.Inputs`).
    """

    features: list[Feature]
    columns: list[Column | None]
    first_steps: list[AnyStep]
    open_below: list[int]
    open_above: list[int]


def raw_features(
    inner: Ensemble,
    table: Table,
    names: list[str] | None,
    width: int,
) -> Raw:
    """Decide what the raw columns hold, and what is made of each."""
    mixed = [chain for mixture in mixtures_of(table) for chain in mixture.read]
    every = [*table.columns, *mixed]
    raw = Raw([], [None] * len(every), [], [], [])
    # A step may turn the line round: an open end of a column opens both.
    ends = {*inner.inputs.open_below, *inner.inputs.open_above}
    for source in range(width):
        mine, idle = chains_from(source, every, table.idle)
        if names is not None and not mine and not idle:
            continue
        name = f"x{source}" if names is None else names[source]
        index, chains = len(raw.features), [every[place] for place in mine]
        feature, made = _resolve(name, index, chains, idle)
        number_types = _number_types(chains)
        raw.features.append(msgspec.structs.replace(feature, number_types=number_types))
        is_mixed = any(place >= len(table.columns) for place in mine)
        for place, column in zip(mine, made, strict=True):
            raw.columns[place] = computed_with(column) if is_mixed else column
        if isinstance(feature, Numeric):
            raw.first_steps.extend(step for chain in chains for step in chain.steps[:1])
            is_beyond = not ends.isdisjoint(mine)
            if is_beyond or any(chain.is_open for chain in (*chains, *idle)):
                raw.open_below.append(index)
            if is_beyond:
                raw.open_above.append(index)
    return raw


def chains_from(
    source: int | Mixture, chains: Sequence[Path], idle: Sequence[Path]
) -> tuple[list[int], list[Path]]:
    """Return the places of the chains that start at a column, and those left out."""
    return (
        [place for place, chain in enumerate(chains) if chain.source == source],
        [chain for chain in idle if chain.source == source],
    )


def _number_types(chains: Sequence[Path]) -> NumberTypes:
    """Tell which types of numbers the steps take as they take float64."""
    found: set[NumberTypes] = {"any"}
    for chain in chains:
        is_raw = True
        for step in chain.steps:
            if isinstance(step, Replace):
                found.add(step.number_types())
                # Behind other imputers all integers and booleans are floats.
                is_raw = is_raw and step.into_integers
            elif isinstance(step, Numbers):
                if is_raw and step.in_own_type:
                    found.add("float64")
                if step.into_floats:
                    break
            else:
                break
    return max(found, key=get_args(NumberTypes).index)


def _resolve(
    name: str, index: int, chains: Sequence[Path], idle: Sequence[Path]
) -> tuple[Feature, list[Column]]:
    """Decide what a raw column holds; return its feature and the columns made of it."""
    uses = [*chains, *idle]
    if not chains and not any(chain.steps for chain in idle):
        return Categorical(name=name, categories=()), []
    if _holds_labels(chains, idle):
        return _as_labels(name, index, chains, idle)
    if any(_has_text(step) for chain in uses for step in chain.steps):
        raise UnsupportedModelError(
            f"column {name!r} is read both as numbers and as labels, or its labels "
            "reach the model as they are. Encode it, or give the steps a copy each."
        )
    return as_numbers(name, index, chains, idle)


def as_numbers(
    name: str, index: int, chains: Sequence[Path], idle: Sequence[Path]
) -> tuple[Feature, list[Column]]:
    """Return the numeric feature of a column and the columns made of it."""
    feature = Numeric(name=name)
    columns: list[Column] = []
    for chain in (*chains, *idle):
        steps = (
            step if isinstance(step, Numbers) else step.as_numbers()
            for step in chain.steps
        )
        column, feature = follow(index, steps, feature)
        columns.append(column if chain.steps else Same(index))
    return feature, columns[: len(chains)]


def _holds_labels(chains: Sequence[Path], idle: Sequence[Path]) -> bool:
    """Tell whether encoders are the only readers of a raw column, behind imputers."""
    readers = [
        next((step for step in chain.steps if not isinstance(step, Replace)), None)
        for chain in chains
    ]
    more = [step for chain in idle for step in chain.steps[:1]]
    found = [*readers, *more]
    return any(map(is_encoder, found)) and not any(
        isinstance(step, Numbers | None) for step in found
    )


def _has_text(step: AnyStep) -> bool:
    labels: list[Label | None] = []
    if isinstance(step, Replace):
        labels = [step.old, step.new]
    elif isinstance(step, Levels):
        labels = list(step.labels)
    return any(label is None or isinstance(label, str) for label in labels)


def _as_labels(
    name: str, index: int, chains: Sequence[Path], idle: Sequence[Path]
) -> tuple[Feature, list[Column]]:
    """Return the categorical feature of a raw column and the columns made of it."""
    labels = _labels(*chains, *idle)
    cells = np.empty(len(labels) + 3, dtype=object)
    cells[:] = [*labels, UNKNOWN, math.nan, None]
    folded = [_fold(chain, cells) for chain in (*chains, *idle)]
    depends = any(_depends_on_other_rows(chain) for chain in (*chains, *idle))
    taken = np.logical_and.reduce([good for _, good in folded])
    known = taken[:-3]
    takes_unknown, takes_nan, takes_none = (bool(good) for good in taken[-3:])
    if takes_unknown and not known.all():
        refused = labels[int(np.argmin(known))]
        raise UnsupportedModelError(
            f"column {name!r}: one step refuses {refused!r}, and all take unknown "
            "labels. Such a column cannot be described."
        )
    if depends and takes_unknown:
        raise UnsupportedModelError(
            f"column {name!r}: between two steps, set_output(transform='pandas') may "
            "turn None into NaN where other rows hold texts, so that the answer to a "
            "person with None depends on the other rows. "
            "Impute None (SimpleImputer(missing_values=None)), train with NaN in its "
            "place, or call set_output(transform='default') and fit again."
        )
    table = np.array([values for values, _ in folded]).reshape(len(folded), len(cells))
    unknown, nan, none = (np.append(table[:, i], taken[i]) for i in (-3, -2, -1))
    missing = "any"
    if depends:
        # Then None is refused, as all labels are that are not known.
        missing, takes_none = "nan", False
    elif not np.array_equal(nan, none, equal_nan=True):
        # What is not known as missing must be an unknown label like any other.
        missing = "nan" if np.array_equal(none, unknown, equal_nan=True) else "none"
        other = nan if missing == "none" else none
        if not np.array_equal(other, unknown, equal_nan=True):
            raise UnsupportedModelError(
                f"column {name!r}: None, NaN and unknown labels are three different "
                "things to the pipeline. Train it without None or without NaN."
            )
    # Encoders refuse infinity in a column of numbers.
    limit = math.inf if any(isinstance(c, str) for c in labels) else FINITE.upper
    feature = Categorical(
        name=name,
        categories=tuple(
            label for label, good in zip(labels, known, strict=True) if good
        ),
        lower=-limit,
        upper=limit,
        accepts_unknown=takes_unknown,
        accepts_missing=takes_none if missing == "none" else takes_nan,
        missing_as=missing,  # type: ignore[arg-type]
        of_one_kind=any(
            isinstance(step, Levels) and step.of_one_kind
            for chain in (*chains, *idle)
            for step in chain.steps
        ),
    )
    kept = np.append(np.flatnonzero(known), len(labels))
    place = -1 if missing == "none" else -2
    columns: list[Column] = [
        Coded(source=index, table=values[kept], missing=float(values[place]))
        for values in table[: len(chains)]
    ]
    return feature, columns


def _labels(*chains: Path) -> list[Label]:
    """Return all labels that the steps of a raw column know, in their order."""
    encoded: list[Label | None] = []
    others: list[Label | None] = []
    for chain in chains:
        for step in chain.steps:
            if isinstance(step, Levels):
                (encoded if step.encodes else others).extend(step.labels)
                break
            others += [step.old] if isinstance(step, Replace) else []
    labels = dict.fromkeys([*encoded, *others])
    return [label for label in labels if label is not None and not is_nan(label)]


def _fold(
    chain: Path, cells: NDArray[Any], *, none: Any = None
) -> tuple[Floats, Flags]:
    """Send cells through a chain; return what becomes of them and which are taken.

    Frames of pandas between the steps turn None into `none`.
    """
    taken = np.ones(len(cells), dtype=bool)
    for place, step in enumerate(chain.steps):
        if place in chain.framed:
            cells = np.array([none if c is None else c for c in cells], dtype=object)
        cells, good = step.of_cells(cells)
        taken &= good
    if all(isinstance(step, Replace) for step in chain.steps):
        # Labels that no encoder reads lead nowhere: what they are does not matter.
        cells = np.zeros(len(cells))
    return np.asarray(cells, dtype=np.float64), taken


def _depends_on_other_rows(chain: Path) -> bool:
    """Tell whether what becomes of None depends on the other rows of a table."""
    if not chain.framed:
        return False
    cells = np.array([None], dtype=object)
    kept, turned = (_fold(chain, cells, none=none) for none in (None, math.nan))
    return not all(map(partial(np.array_equal, equal_nan=True), kept, turned))
