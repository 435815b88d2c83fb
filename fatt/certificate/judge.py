"""The questions that the checker asks about people, many at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fatt.certificate.arithmetic import Arithmetic
from fatt.certificate.cells import Cells
from fatt.certificate.closing import Prices, Problem, Question
from fatt.certificate.columns import Numbers
from fatt.certificate.keeping import Keeping
from fatt.certificate.similar import Reach, Similar
from fatt.certificate.walk import boxes_at, boxes_of, leaves_of
from fatt.ensemble import Ensemble
from fatt.ensemble.allowed import Allowed
from fatt.errors import CertificateError
from fatt.region import Relation, Schema

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

#: How many pairs of a person and a tree are looked at together.
_PAIRS = 2**14


@dataclass(frozen=True, eq=False)
class Around:
    """All that is similar to one person in one way.

    Attributes
    ----------
    judge, arithmetic, question
        The model, its arithmetic; and the person, with the box of all that is similar.
    is_closed
        Whether the first look shows that nobody there has another label.
    """

    judge: Judge
    arithmetic: Arithmetic
    question: Question
    is_closed: bool

    def problem(self) -> Problem:
        """Return the box as a problem to be parted."""
        return Problem(self.judge.cells, self.arithmetic, self.question)


class Judge:
    """A model, and who is similar to whom.

    Parameters
    ----------
    model, schema, similarity
        What a certificate is about.
    allowed
        Which answers of similar people are still fair; by default the same labels.

    Raises
    ------
    CertificateError
        If they do not fit together.
    """

    def __init__(
        self,
        model: Ensemble,
        schema: Schema,
        similarity: Relation,
        allowed: Allowed | None = None,
    ) -> None:
        _refuse_ties(schema, similarity)
        self._keeping = Keeping(model, allowed or Allowed())
        self.cells = Cells(model, schema)
        self.arithmetic = Arithmetic(model)
        self._similar = Similar(
            [axis.column for axis in self.cells.axes], schema, similarity
        )
        if self._similar.existence.says_anything:
            raise CertificateError(
                "certificates do not yet support exist= and follow=: the checker would "
                "have to know which combinations of values exist."
            )

    def labels(self, values: Floats) -> Integers:
        """Return the class that the model gives to people with these values.

        That of a prediction is 1: there is what is too low, the own one, and what is
        too high.
        """
        leaves = self._leaves_at(values)
        labels = self.arithmetic.labels(leaves)
        return self._keeping.own(self.arithmetic.scores(leaves)[:, 0], labels)

    def _leaves_at(self, values: Floats) -> Integers:
        """Return the leaf of each person in each tree."""
        boxes = boxes_at(self.cells, values)
        owner, leaves = leaves_of(self.cells, boxes)
        n_trees = len(self.cells.roots)
        if not np.array_equal(owner, np.repeat(np.arange(len(values)), n_trees)):
            raise CertificateError("a person falls into no leaf, or into two.")
        return leaves.reshape(len(values), n_trees)

    def check_values(self, values: Floats, names: list[str]) -> None:
        """Raise if somebody has a value that schema or library exclude.

        Parameters
        ----------
        values : ndarray of shape (n_people, n_variables)
            The values.
        names
            Whose they are, for the message.
        """
        for index, axis in enumerate(self.cells.axes):
            column, mine = axis.column, values[:, index]
            absent = np.isnan(mine)
            known = np.where(absent, 0.0, mine)
            if isinstance(column, Numbers):
                read = column.reads_missing(mine)
                low, high = column.variable.bounds
                wrong = (known < low) | (known > high)
                wrong |= (known < column.taken[0]) | (known > column.taken[1])
                if column.integer:
                    wrong |= known != np.floor(known)
                wrong &= ~read & ~absent
                absent |= read
            else:
                most = len(column.labels) - (not column.accepts_unknown)
                wrong = (known != np.floor(known)) | (known < 0) | (known > most)
            if not column.accepts_missing:
                wrong |= absent
            if wrong.any():
                row = int(np.argmax(wrong))
                raise CertificateError(
                    f"{names[row]} has the value {mine[row]} in "
                    f"{column.variable.name!r}, which schema or library exclude."
                )

    def around(self, values: Floats, own: Integers) -> list[list[Around]]:
        """Return for each person all that is similar, one entry per way."""
        found: list[list[Around]] = [[] for _ in values]
        edges = None
        if self._keeping.is_asked:
            scores = self.arithmetic.scores(self._leaves_at(values))[:, 0]
            edges = self._keeping.edges(scores, own)
        rules = [*self._similar.alternatives, []]
        for (who, reaches), said in zip(
            self._similar.reaches(values), rules, strict=True
        ):
            people = np.flatnonzero(who)
            mine = None if edges is None else edges[people]
            prices = [
                Prices.of(said, values[people], reaches, row)
                for row in range(len(people))
            ]
            ways = self.look(reaches, own[people], mine, prices)
            for person, way in zip(people.tolist(), ways, strict=True):
                found[person].append(way)
        return found

    def look(
        self,
        reaches: list[Reach],
        own: Integers,
        edges: Floats | None = None,
        prices: Sequence[Prices | None] | None = None,
    ) -> list[Around]:
        """Take a first look at where people may move, given how far in each variable.

        Parameters
        ----------
        reaches
            One entry per variable.
        own : ndarray of shape (n_people,)
            The classes of the people.
        edges : ndarray of shape (n_people, n_edges), optional
            Where the scores of the other classes begin, if each person has own ones.
        prices
            What it costs each person to differ, if somebody has a budget.
        """
        boxes = boxes_of(self.cells, reaches)
        owner, leaves = leaves_of(self.cells, boxes)
        starts = np.searchsorted(owner, np.arange(len(own) + 1))
        every = self.arithmetic if edges is None else self.arithmetic.between(edges)
        closed = self._closed_at_once(owner, leaves, own, every)
        around = []
        for box, label in enumerate(own.tolist()):
            mine = leaves[starts[box] : starts[box + 1]]
            price = None if prices is None else prices[box]
            question = Question(boxes, box, mine, label, price)
            one = every if edges is None else every.between(edges[[box]])
            around.append(Around(self, one, question, bool(closed[box])))
        return around

    def _closed_at_once(
        self,
        owner: Integers,
        leaves: Integers,
        own: Integers,
        arithmetic: Arithmetic | None = None,
    ) -> Flags:
        """Tell in which boxes the sum of the best leaves excludes every rival."""
        arithmetic = arithmetic or self.arithmetic
        n_classes = arithmetic.n_classes
        closed = np.ones(len(own), dtype=bool)
        for step in range(1, n_classes):
            rival = (own + step) % n_classes
            closed &= self._excludes(owner, leaves, (own, rival), arithmetic)
        return closed

    def _excludes(
        self,
        owner: Integers,
        leaves: Integers,
        pair: tuple[Integers, Integers],
        arithmetic: Arithmetic,
    ) -> Flags:
        """Tell in which boxes the sum of the best leaves lets the first of a pair win.

        The pair are the classes of the people and their rivals.
        """
        own, rival = pair
        count = len(own)
        tree = self.cells.tree[self.cells.node_of_leaf[leaves]]
        pairs = owner * len(self.cells.roots) + tree
        starts = np.flatnonzero(np.diff(pairs, prepend=-1))
        lead = arithmetic.leads(leaves, own[owner], rival[owner])
        bound = arithmetic.start(own, rival) + _sum_of_best(lead, starts, owner, count)
        masses = []
        last_bit = np.full(count, np.iinfo(np.int64).max)
        for output in arithmetic.outputs(own, rival):
            terms = np.abs(arithmetic.values[leaves, output[owner]])
            masses.append(_sum_of_best(terms, starts, owner, count))
            np.minimum.at(last_bit, owner, arithmetic.bits[leaves, output[owner]])
        needed, error = arithmetic.needed(own, rival, (masses[0], masses[1]), last_bit)
        return np.asarray(bound + error < needed)

    def holds(self, values: Floats, twins: Floats) -> Flags:
        """Tell whose twin is similar: in the set of each variable, in one way.

        And all that differs costs no more than the way lets people spend.
        """
        similar = np.zeros(len(values), dtype=bool)
        rules = [*self._similar.alternatives, []]
        for (who, reaches), way in zip(
            self._similar.reaches(values), rules, strict=True
        ):
            inside = np.ones(int(who.sum()), dtype=bool)
            for index, reach in enumerate(reaches):
                inside &= self._is_in(index, reach, twins[who, index])
            costs = self._similar.costs(way, values[who], twins[who])
            if costs is not None:
                inside &= costs.each.sum(axis=1) <= costs.most
            similar[who] |= inside
        return similar

    def _is_in(self, index: int, reach: Reach, values: Floats) -> Flags:
        column = self.cells.axes[index].column
        absent = np.isnan(values)
        if isinstance(column, Numbers):
            inside = (values >= reach.low) & (values <= reach.high)
            if column.integer:
                inside &= values == np.floor(values)
            # A number that nobody has, but is read as missing, is missing.
            absent |= column.is_sentinel(values)
            alone = (reach.low == reach.high) & column.is_sentinel(reach.low)
            return np.asarray(inside | (absent & (reach.missing | alone)))
        code = np.where(absent, 0, values).astype(np.int64)
        inside = reach.codes[np.arange(len(values)), code] & ~absent
        return np.asarray(inside | (absent & reach.missing))

    def is_certain(self, values: Floats, label: Integers) -> Flags:
        """Tell who has this label in whatever order the library adds up."""
        if self.arithmetic.is_ordered:
            return np.asarray(self.labels(values) == label)
        owner, leaves = leaves_of(self.cells, boxes_at(self.cells, values))
        return self._closed_at_once(owner, leaves, label)

    def differs(self, values: Floats, label: Integers, people: Floats) -> Flags:
        """Tell whose answer is surely not that of others, who have this label."""
        if self._keeping.is_asked:
            own, other = (
                self.arithmetic.scores(self._leaves_at(some))[:, 0]
                for some in (people, values)
            )
            return ~self._keeping.keeps(own, other)
        if self.arithmetic.is_ordered:
            return np.asarray(self.labels(values) != label)
        owner, leaves = leaves_of(self.cells, boxes_at(self.cells, values))
        n_classes = self.arithmetic.n_classes
        beaten = np.zeros(len(values), dtype=bool)
        for step in range(1, n_classes):
            winner = (label + step) % n_classes
            pair = (winner, label)
            beaten |= self._excludes(owner, leaves, pair, self.arithmetic)
        return beaten

    def chunks(self, count: int) -> Iterator[slice]:
        """Yield slices of so many people, as many as are best looked at together."""
        size = max(1, _PAIRS // max(1, len(self.cells.roots)))
        for start in range(0, count, size):
            yield slice(start, min(start + size, count))


def _sum_of_best(
    terms: Floats, starts: Integers, owner: Integers, count: int
) -> Floats:
    """Add up, for each owner, the largest term of each tree."""
    if not len(starts):
        return np.zeros(count)
    best = np.maximum.reduceat(terms, starts)
    total = np.bincount(owner[starts], weights=best, minlength=count)
    return total.astype(np.float64)


def _refuse_ties(schema: Schema, similarity: Relation) -> None:
    """Refuse similarities that tie numbers to one another."""
    said: list[object] = [*schema.exist]
    for one in similarity.alternatives:
        said += [*one.exist, *(how for _, how in one.follow)]
    ties = [one for one in said if isinstance(one, str)]
    if ties:
        raise CertificateError(
            "certificates do not yet support formulas in follow= and orders in exist=, "
            f"such as {ties[0]!r}."
        )
