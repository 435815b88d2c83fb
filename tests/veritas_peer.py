"""Veritas, an independent search, asked the verifier's question.

Veritas knows thresholds only. So each variable becomes the number of its cell: numbers
in their order, then the missing value, or the codes of a category; and a set of
cells becomes a few intervals of such numbers. This keeps every function as it was.
"""

from __future__ import annotations

import bisect
import itertools
import time
from typing import Any, NamedTuple

import numpy as np
import veritas
from numpy.typing import NDArray

from fatt.ensemble import Categorical, Ensemble
from fatt.region import Boxes, code_words
from tests.search_oracles import goes_left, leaf_margins, margin_weights

Floats = NDArray[np.float64]

#: How far a solution may be from the best, as in Veritas' own check of robustness.
FOCAL = 0.2


class Line(NamedTuple):
    """A variable as whole numbers: one value of each cell, in order."""

    cuts: Floats
    values: Floats


class Peer:
    """An ensemble in Veritas' form, for one class of one's own and one rival."""

    def __init__(
        self, ensemble: Ensemble, own: int, rival: int, *, missing: bool = True
    ) -> None:
        self.ensemble = ensemble
        columns = range(len(ensemble.features))
        self.lines = [_line(ensemble, index, missing) for index in columns]
        self._cuts = [line.cuts.tolist() for line in self.lines]
        self._words = code_words(ensemble.features)
        weights, constant = margin_weights(ensemble, own, rival)
        self._leaves = leaf_margins(ensemble, weights)
        self.trees = veritas.AddTree(1, veritas.AddTreeType.REGR)
        self.trees.set_base_score(0, constant)
        # Lists are read many times faster than the fields of single nodes.
        nodes = ensemble.trees.nodes
        names = ("feature", "leaf", "left", "right", "subset", "threshold")
        self._nodes = {name: nodes[name].tolist() for name in names}
        for root in ensemble.trees.roots.tolist():
            self._add(root)

    def _add(self, root: int) -> None:
        nodes, tree = self._nodes, self.trees.add_tree()
        # Where a copy stands, which node it copies, and what its path says so far.
        todo: list[tuple[int, int, dict[int, tuple[int, int]]]] = [
            (tree.root(), root, {})
        ]
        while todo:
            place, node, path = todo.pop()
            feature = nodes["feature"][node]
            if feature < 0:
                value = self._leaves[nodes["leaf"][node]]
                tree.set_leaf_value(place, 0, float(value))
                continue
            low, high = path.get(feature, (0, len(self.lines[feature].values)))
            changes, is_left = self._changes(node)
            inside = changes[np.searchsorted(changes, low, "right") :]
            inside = inside[: np.searchsorted(inside, high)]
            if not len(inside):
                before = int(np.searchsorted(changes, low, "right"))
                left = is_left ^ bool(before % 2)
                todo.append((place, nodes["left" if left else "right"][node], path))
                continue
            cut = int(inside[len(inside) // 2])
            tree.split(place, feature, float(cut))
            left_path = {**path, feature: (low, cut)}
            right_path = {**path, feature: (cut, high)}
            todo.append((tree.left(place), node, left_path))
            todo.append((tree.right(place), node, right_path))

    def _changes(self, node: int) -> tuple[NDArray[np.int64], bool]:
        """Return the cells at which the side changes, and whether cell 0 goes left."""
        nodes = self._nodes
        line = self.lines[nodes["feature"][node]]
        if nodes["subset"][node] < 0 and len(line.values) == len(line.cuts) + 1:
            cut = np.searchsorted(line.cuts, nodes["threshold"][node], "right")
            return np.array([cut]), True
        left = goes_left(self.ensemble, node, line.values)
        return np.flatnonzero(left[1:] != left[:-1]) + 1, bool(left[0])

    def boxes(self, boxes: Boxes, box: int) -> list[list[Any]]:
        """Return a box as Veritas takes it: several, where a set is no run of cells."""
        words, runs = self._words, []
        lower, upper = boxes.lower[box].tolist(), boxes.upper[box].tolist()
        missing = boxes.missing[box].tolist()
        for index, feature in enumerate(self.ensemble.features):
            line = self.lines[index]
            is_run = lower[index] <= upper[index] and not missing[index]
            if is_run and not isinstance(feature, Categorical):
                # Most of them: a run of cells, found without an array.
                cuts = self._cuts[index]
                first = bisect.bisect_left(cuts, lower[index])
                last = bisect.bisect_left(cuts, upper[index])
                runs.append([veritas.Interval(first, last + 1)])
                continue
            inside = np.zeros(len(line.values), dtype=bool)
            if isinstance(feature, Categorical):
                bits = boxes.codes[box, words[index] : words[index + 1]].view(np.uint8)
                bits = np.unpackbits(bits, bitorder="little")[: feature.n_codes]
                inside[: feature.n_codes] = bits
                inside[feature.n_codes :] = boxes.missing[box, index]
            else:
                low, high = boxes.lower[box, index], boxes.upper[box, index]
                first, last = np.searchsorted(line.cuts, [low, high])
                inside[first : last + 1] = low <= high
                inside[len(line.cuts) + 1 :] = boxes.missing[box, index]
            ends = np.flatnonzero(np.diff(inside, prepend=False, append=False))
            runs.append([veritas.Interval(*pair) for pair in ends.reshape(-1, 2)])
        return [list(product) for product in itertools.product(*runs)]

    def largest_margin(self, boxes: Boxes, box: int) -> float:
        """Return the largest margin in the box."""
        found = []
        for intervals in self.boxes(boxes, box):
            config = veritas.Config(veritas.HeuristicType.MAX_OUTPUT)
            config.stop_when_optimal = True
            search = config.get_search(self.trees, intervals)
            search.step_for(60.0, 100)
            assert search.is_optimal()
            found.append(float(search.get_solution(0).output))
        return max(found)

    def reaches(
        self,
        boxes: Boxes,
        box: int,
        *,
        at: float,
        seconds: float,
        focal: float = FOCAL,
    ) -> bool | None:
        """Tell whether some margin in the box exceeds `at`; None if time ran out.

        The time is that of the processor, for other programs may be running.
        """
        config = veritas.Config(veritas.HeuristicType.MAX_OUTPUT)
        config.stop_when_optimal = True
        config.ignore_state_when_worse_than = at
        config.stop_when_num_solutions_exceeds = 1
        config.focal_eps = focal
        stop = time.process_time() + seconds
        for intervals in self.boxes(boxes, box):
            search = config.get_search(self.trees, intervals)
            reason = veritas.StopReason.OUT_OF_TIME
            while (
                reason == veritas.StopReason.OUT_OF_TIME
                and (left := stop - time.process_time()) > 0
            ):
                reason = search.step_for(left, 100)
            if search.num_solutions() and search.get_solution(0).output > at:
                return True
            if reason in {
                veritas.StopReason.OUT_OF_TIME,
                veritas.StopReason.OUT_OF_MEMORY,
            }:
                return None
        return False


def _line(ensemble: Ensemble, index: int, missing: bool) -> Line:
    feature = ensemble.features[index]
    absent = [np.nan] if missing else []
    if isinstance(feature, Categorical):
        return Line(np.zeros(0), np.array([*range(feature.n_codes), *absent]))
    cuts = np.array([*ensemble.thresholds(index), *feature.edges])
    if feature.missing_range is not None:
        low, high = feature.missing_range
        cuts = np.append(cuts, [np.nextafter(low, -np.inf), high])
    if feature.integer:
        cuts = np.floor(cuts)
    cuts = np.unique(cuts[cuts < np.inf])
    beyond = np.nextafter(cuts[-1:], np.inf) if len(cuts) else np.zeros(1)
    if feature.integer and len(cuts):
        beyond = np.maximum(beyond, cuts[-1:] + 1)
    return Line(cuts, np.concatenate([cuts, beyond, absent]))
