"""The twins of all unfair people, kept as arrays and ordered by nearness."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Feature, Label, Numeric
from fatt.errors import SpecError
from fatt.frames import frame_of
from fatt.markup import cards, notebook
from fatt.verdict.person import (
    Change,
    Counterexample,
    Value,
    answers_of,
    change_in_words,
    value_of,
    values_of,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
#: Returns what a table says of some rows in a variable; None if it has no such column.
Said = Callable[[Integers, int], list[Any] | None]

#: So many pairs show themselves, as lines and as cards.
_LINES, _CARDS = 10, 6


@dataclass(frozen=True, eq=False, repr=False)
class Twins:
    """The unfair people and their twins, as arrays.

    A twin is kept as the few values in which it differs: those of case ``i`` stand at
    ``starts[i]:starts[i + 1]``.

    Attributes
    ----------
    index : ndarray of shape (n_cases,)
        Index of each unfair person.
    people : ndarray of shape (n_cases, n_variables)
        Their values, as numbers and codes.
    starts : ndarray of shape (n_cases + 1,)
        Where the changes of each case start.
    variables, values : ndarray of shape (n_changes,)
        Which variable changes, and to which number or code.
    label, twin_label : ndarray of shape (n_cases,)
        The positions of both labels among the model's classes, or both predictions.
    on_model : ndarray of shape (n_cases,), bool
        Whether the model itself confirmed both labels.
    """

    index: Integers
    people: Floats
    starts: Integers
    variables: Integers
    values: Floats
    label: NDArray[Any]
    twin_label: NDArray[Any]
    on_model: NDArray[np.bool_]

    def __post_init__(self) -> None:
        for array in vars(self).values():
            array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.index)

    def __repr__(self) -> str:
        return f"<{len(self):,} twins>"

    @classmethod
    def of(
        cls,
        *,
        index: Integers,
        people: Floats,
        twins: Floats,
        label: NDArray[Any],
        twin_label: NDArray[Any],
    ) -> Twins:
        """Compare people with their twins, and keep the changes.

        Nobody has asked the model itself yet: see `confirmed`.

        Parameters
        ----------
        index : ndarray of shape (n_cases,)
            Index of each unfair person, increasing.
        people, twins : ndarray of shape (n_cases, n_variables)
            The values of both; NaN is missing.
        label, twin_label : ndarray of shape (n_cases,)
            The positions of both labels among the model's classes.
        """
        differs = (people != twins) & ~(np.isnan(people) & np.isnan(twins))
        starts = np.zeros(len(index) + 1, dtype=np.int64)
        differs.sum(axis=1).cumsum(out=starts[1:])
        return cls(
            index=index.astype(np.int64),
            people=people,
            starts=starts,
            variables=differs.nonzero()[1].astype(np.int64),
            values=twins[differs],
            label=label,
            twin_label=twin_label,
            on_model=np.zeros(len(index), dtype=bool),
        )

    def confirmed(self, twin_label: NDArray[Any], on_model: bool) -> Twins:
        """Return the same cases, with what was said of the twins when they were asked.

        Parameters
        ----------
        twin_label : ndarray of shape (n_cases,)
            The position of each twin's label among the model's classes.
        on_model
            Whether the model itself was asked.
        """
        asked = np.full(len(self), on_model)
        return replace(self, twin_label=twin_label, on_model=asked)

    @classmethod
    def join(cls, parts: Sequence[Twins]) -> Twins:
        """Put the twins of several chunks of people behind each other; at least one."""
        sizes = [len(part.values) for part in parts]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        starts = [
            part.starts[:-1] + offset
            for part, offset in zip(parts, offsets[:-1], strict=True)
        ]
        return cls(
            index=np.concatenate([part.index for part in parts]),
            people=np.concatenate([part.people for part in parts]),
            starts=np.concatenate([*starts, offsets[-1:]]).astype(np.int64),
            variables=np.concatenate([part.variables for part in parts]),
            values=np.concatenate([part.values for part in parts]),
            label=np.concatenate([part.label for part in parts]),
            twin_label=np.concatenate([part.twin_label for part in parts]),
            on_model=np.concatenate([part.on_model for part in parts]),
        )

    @classmethod
    @functools.lru_cache(maxsize=8)
    def none(cls, n_variables: int) -> Twins:
        """Return the twins of nobody."""
        nobody = np.empty(0, dtype=np.int64)
        return cls(
            index=nobody,
            people=np.empty((0, n_variables)),
            starts=np.zeros(1, dtype=np.int64),
            variables=nobody,
            values=np.empty(0),
            label=nobody,
            twin_label=nobody,
            on_model=np.empty(0, dtype=bool),
        )

    def before(self, index: int) -> Twins:
        """Return the cases of people with smaller indices."""
        count = int(np.searchsorted(self.index, index))
        if count == len(self):
            return self
        last = self.starts[count]
        return Twins(
            index=self.index[:count],
            people=self.people[:count],
            starts=self.starts[: count + 1],
            variables=self.variables[:last],
            values=self.values[:last],
            label=self.label[:count],
            twin_label=self.twin_label[:count],
            on_model=self.on_model[:count],
        )

    def moved(self, by: int) -> Twins:
        """Return the same cases, of people so many rows further on."""
        return replace(self, index=self.index + by)

    def twin(self, case: int) -> Floats:
        """Return the values of one twin."""
        changed = slice(self.starts[case], self.starts[case + 1])
        values: Floats = self.people[case].copy()
        values[self.variables[changed]] = self.values[changed]
        return values

    def everybody(self) -> Floats:
        """Return the values of all twins, one row each."""
        values = self.people.copy()
        case = np.repeat(np.arange(len(self)), np.diff(self.starts))
        values[case, self.variables] = self.values
        return values

    def unknown(
        self, case: Integers, features: Sequence[Feature], said: Said | None
    ) -> dict[tuple[int, int], Value]:
        """Return what the table says where a person has a value without a code.

        Parameters
        ----------
        case
            Which cases.
        features
            The variables.
        said
            Returns what the table says; None if there is no table.

        Returns
        -------
        dict
            The cells, by case and variable.
        """
        found: dict[tuple[int, int], Value] = {}
        for place, feature in enumerate(features):
            if said is None or isinstance(feature, Numeric) or feature.other:
                continue
            own = case[self.people[case, place] >= len(feature.categories)]
            cells = said(self.index[own], place) if len(own) else None
            for one, cell in zip(own.tolist(), cells or (), strict=False):
                is_number = isinstance(cell, int | float) and not np.isnan(cell)
                if is_number or isinstance(cell, str):
                    found[one, place] = cell
        return found

    def changes_in_words(
        self, features: Sequence[Feature], said: Said | None = None
    ) -> list[str]:
        """Write the changes of each case, as `Counterexample.changes_in_words` does.

        Only what changes is looked at, and no counterexample is made for it.

        Parameters
        ----------
        features, said
            As in `unknown`.
        """
        case = np.repeat(np.arange(len(self)), np.diff(self.starts))
        before = self.people[case, self.variables]
        unknown = self.unknown(np.arange(len(self)), features, said)
        words = [
            change_in_words(
                features[variable].name,
                Change(
                    unknown.get((one, variable), value_of(features[variable], old)),
                    value_of(features[variable], new, is_made=True),
                ),
            )
            for one, variable, old, new in zip(
                case.tolist(),
                self.variables.tolist(),
                before.tolist(),
                self.values.tolist(),
                strict=True,
            )
        ]
        starts = self.starts.tolist()
        return [", ".join(words[a:b]) for a, b in itertools.pairwise(starts)]

    def closest_first(
        self, features: Sequence[Feature], spread: Floats
    ) -> NDArray[np.int64]:
        """Order the cases: fewest changes, then shortest way, then first person.

        Parameters
        ----------
        features
            The variables.
        spread : ndarray of shape (n_variables,)
            Unit of each numeric variable's distances, such as a standard deviation.
        """
        is_numeric = np.array([isinstance(f, Numeric) for f in features], dtype=bool)
        counts = np.diff(self.starts)
        case = np.repeat(np.arange(len(self)), counts)
        before = self.people[case, self.variables]
        with np.errstate(invalid="ignore", over="ignore"):
            steps = np.abs(self.values - before) / spread[self.variables]
        # Between a number and a gap, or between categories, there is no distance.
        steps[~is_numeric[self.variables] | np.isnan(steps)] = 0.0
        distance = np.bincount(case, weights=steps, minlength=len(self))
        return np.lexsort((self.index, distance, counts))


@dataclass(frozen=True, eq=False, repr=False)
class Counterexamples(Sequence[Counterexample]):
    """Pairs of similar people with different labels, closest first.

    Pairs that differ in fewer variables come first; of those, the ones whose numbers
    are nearer, in standard deviations of the people verified; then the earlier row.
    Each is made when it is looked at.

    Attributes
    ----------
    twins
        All cases.
    order : ndarray of int
        Which of them, in this order.
    features
        The variables.
    classes
        The model's labels.
    beside
        Makes tables of some cases, for `tables`; None if the people are not known.
    said
        Returns what the table says of values that the model does not know.
    """

    twins: Twins
    order: NDArray[np.int64]
    features: tuple[Feature, ...]
    classes: tuple[Label, ...]
    beside: Callable[[Integers], tuple[Any, Any]] | None = None
    said: Said | None = None

    @classmethod
    def of(
        cls,
        twins: Twins,
        features: tuple[Feature, ...],
        classes: tuple[Label, ...],
        spread: Floats,
        beside: Callable[[Integers], tuple[Any, Any]] | None = None,
    ) -> Counterexamples:
        """Return all cases, closest first; see `Twins.closest_first`."""
        order = np.empty(0, dtype=np.int64)
        if len(twins):
            order = twins.closest_first(features, spread)
        return cls(twins, order, features, classes, beside)

    def __len__(self) -> int:
        return len(self.order)

    def __repr__(self) -> str:
        lines = [f"\n {case}" for case in self[:_LINES]]
        if len(self) > _LINES:
            lines.append(f"\n and {len(self) - _LINES:,} more")
        return f"<{self._count}{''.join(lines)}>"

    @property
    def _count(self) -> str:
        return f"{len(self):,} counterexample{'s' * (len(self) != 1)}"

    def _repr_html_(self) -> str:
        more = f"and {len(self) - _CARDS:,} more" if len(self) > _CARDS else None
        shown = cards(case.card(f"Person {case.index}") for case in self[:_CARDS])
        return notebook(self._count, shown, more)

    def to_frame(self) -> Any:
        """Return a data frame with one row per pair, in this order.

        Returns
        -------
        data frame
            Of pandas, polars or pyarrow, whichever is installed. Columns: ``index``
            (the person's row), ``label``, ``twin_label``, ``changes`` in words, and
            ``replayed_on``.

        Raises
        ------
        MissingDependencyError
            If none of them is installed.
        """
        twins, order = self.twins, self.order.tolist()
        words = twins.changes_in_words(self.features, self.said)
        confirmed = ["model" if on else "ensemble" for on in twins.on_model]
        return frame_of(
            {
                "index": twins.index[order].tolist(),
                "label": answers_of(twins.label[order], self.classes),
                "twin_label": answers_of(twins.twin_label[order], self.classes),
                "changes": [words[case] for case in order],
                "replayed_on": [confirmed[case] for case in order],
            }
        )

    @overload
    def __getitem__(self, index: int) -> Counterexample: ...
    @overload
    def __getitem__(self, index: slice) -> Counterexamples: ...

    def __getitem__(self, index: int | slice) -> Counterexample | Counterexamples:
        if isinstance(index, slice):
            return replace(self, order=self.order[index])
        return self._case(int(self.order[index]))

    def tables(self) -> tuple[Any, Any]:
        """Return the people and their twins as two tables like the one that was passed.

        Both have its columns, types and index, so that the model itself takes them. A
        column has another type only where its own cannot hold the value of a twin.

        Examples
        --------
        >>> import fatt
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> ages = [[20.0], [30.0], [40.0], [50.0]]
        >>> tree = DecisionTreeClassifier().fit(ages, [0, 0, 1, 1])
        >>> near = fatt.Similarity(noise={"x0": 6})
        >>> report = fatt.verify(tree, ages, similarity=near)
        >>> people, twins = report.counterexamples[:1].tables()
        >>> tree.predict(people), tree.predict(twins)
        (array([1]), array([0]))
        """
        assert self.beside is not None
        return self.beside(self.order)

    def closest(self, count: int) -> Counterexamples:
        """Return the `count` closest pairs; all of them if there are fewer.

        Raises
        ------
        SpecError
            If the count is no whole number, or negative.
        """
        if not isinstance(count, int | np.integer) or count < 0:
            raise SpecError(
                f"closest is asked for {count!r} pairs; write a whole number, at "
                "least 0."
            )
        return self[:count]

    def _case(self, case: int) -> Counterexample:
        twins, own = self.twins, self.twins.people[case]
        individual = values_of(self.features, own)
        twin = values_of(self.features, twins.twin(case), made_of=own)
        unknown = twins.unknown(np.array([case]), self.features, self.said)
        for (_, place), cell in unknown.items():
            name = self.features[place].name
            if twins.twin(case)[place] == own[place]:
                twin[name] = cell
            individual[name] = cell
        return Counterexample(
            index=int(twins.index[case]),
            label=answers_of(twins.label[[case]], self.classes)[0],
            twin_label=answers_of(twins.twin_label[[case]], self.classes)[0],
            individual=individual,
            twin=twin,
            replayed_on="model" if twins.on_model[case] else "ensemble",
        )
