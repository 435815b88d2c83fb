"""How fast people are verified, with Veritas beside us on the same people and models.

Run ``python -m benchmarks.verify`` from the repository root, or ``make bench``. Both
sides use one thread and have five seconds for each person. Ours are asked all together
for the mean, and one by one, with what a call costs, for the median and the maximum.
Veritas gets the same model over the same variables, turned into its own form before the
clock starts. Then come single trees in large batches, memory, and the first answer of a
fresh process. The result is Markdown.

``--people 200 --peer-people 50`` asks more people, ``--case crime-forest-noise`` only
the cases whose names contain the word. ``--focal 0.01`` gives Veritas the setting that
was best for it here, instead of the one of its own robustness check (0.2);
``--no-peers`` leaves it out. ``--health`` adds the forest of 2.5 million leaves (some
minutes of training), ``--rows 10000000`` makes the large batch larger.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

import fatt
from benchmarks import paper
from fatt.ensemble import Argmax, Cut, Ensemble
from fatt.region import Boxes, Neighbourhood, Relation, Similarity, Variables
from fatt.verdict import FAIR, UNFAIR, UNKNOWN
from fatt.verifier import Budget, Verifier

LIMIT = 5.0
Floats = NDArray[np.float64]


class Times(NamedTuple):
    """What one side needed for each person, in milliseconds, and what it said."""

    verdicts: list[int]
    each: list[float]
    mean: float

    def cells(self) -> list[str]:
        """Return the share that was solved, the mean, the median and the maximum."""
        solved = 100 * np.mean(np.array(self.verdicts) != UNKNOWN)
        numbers = (self.mean, np.median(self.each), max(self.each))
        return [f"{solved:.0f} %", *(f"{number:.3g}" for number in numbers)]


def pick(boxes: Boxes, people: Any) -> Boxes:
    """Return the boxes of some people, who are then counted from 0."""
    mine = np.isin(boxes.person, people)
    return Boxes(
        np.searchsorted(people, boxes.person[mine]),
        boxes.lower[mine],
        boxes.upper[mine],
        boxes.missing[mine],
        boxes.codes[mine],
    )


def ours(verifier: Verifier, values: Floats, boxes: Boxes) -> Times:
    """Ask about all people together for the mean, then about each."""
    limit = Budget(seconds=LIMIT)
    verdicts = verifier.verify(values, boxes, budget=limit, n_jobs=1).verdict.tolist()
    together = seconds(
        lambda: verifier.verify(values, boxes, budget=limit, n_jobs=1),
        repeats=1 if UNKNOWN in verdicts else 3,
    )
    each = []
    for person, verdict in enumerate(verdicts):
        # Watching the time costs time, which only the hard people need.
        budget = limit if verdict == UNKNOWN else Budget()
        alone, mine = values[person : person + 1], pick(boxes, [person])
        start = time.perf_counter()
        verifier.verify(alone, mine, budget=budget, n_jobs=1)
        each.append(1000 * (time.perf_counter() - start))
    return Times(verdicts, each, 1000 * together / len(values))


class Veritas:
    """Veritas for all classes of one's own, made when they are needed."""

    def __init__(self, ensemble: Ensemble, focal: float) -> None:
        self.ensemble = ensemble
        self.focal = focal
        self.peers: dict[int, Any] = {}

    def times(self, labels: NDArray[np.int64], boxes: Boxes) -> Times:
        """Ask about each person."""
        from tests.veritas_peer import Peer

        verdicts, each = [], []
        for person, own in enumerate(labels.tolist()):
            if own not in self.peers:
                self.peers[own] = Peer(self.ensemble, own, 1 - own, missing=False)
            start = time.perf_counter()
            verdicts.append(self._verdict(own, pick(boxes, [person])))
            each.append(1000 * (time.perf_counter() - start))
        return Times(verdicts, each, float(np.mean(each)))

    def _verdict(self, own: int, boxes: Boxes) -> int:
        # Far below any difference of leaves: at a tie the library's rule decides.
        at = -1e-9 if self._wins_ties(1 - own) else 1e-9
        stop = time.perf_counter() + LIMIT
        for box in range(len(boxes)):
            left = stop - time.perf_counter()
            answer = self.peers[own].reaches(
                boxes, box, at=at, seconds=left, focal=self.focal
            )
            if answer is None:
                return UNKNOWN
            if answer:
                return UNFAIR
        return FAIR

    def _wins_ties(self, label: int) -> bool:
        decision = self.ensemble.decision
        if isinstance(decision, Cut):
            return label == 1
        assert isinstance(decision, Argmax)
        return (label == 0) == (decision.ties == "first")


def cases(wanted: str, health: bool) -> Iterator[tuple[str, str, list[str]]]:
    """Yield data sets, models and the names of their cases, of those that are asked."""
    for name, kind in paper.models():
        if not paper.path_of(name).exists():
            print(
                f"{name}-{kind} is left out: {paper.path_of(name).name} is not here.\n"
            )
            continue
        chosen = [
            relation
            for relation in paper.similarities(name)
            if wanted in f"{name}-{kind}-{relation}"
        ]
        if (name, kind) == ("health", "forest") and not health:
            if chosen:
                print("health-forest is left out: it takes minutes; pass --health.\n")
            continue
        if chosen:
            yield name, kind, chosen


def forests(options: argparse.Namespace) -> None:
    """Compare with Veritas, case by case."""
    titles = ["case", "leaves", "people", "fair", "solved", "mean ms", "median", "max"]
    peer = ["Veritas: people", "solved", "mean ms", "median", "max", "ratio", "agree"]
    titles += [] if options.no_peers else peer
    lines = []
    for name, kind, relations in cases(options.case, options.health):
        ensemble = paper.train(name, kind)
        variables = Variables(ensemble, paper.schema(name, ensemble))
        verifier, veritas = (
            Verifier(variables.ensemble),
            Veritas(variables.ensemble, options.focal),
        )
        rows = paper.people(name).test[: options.people]
        values = variables.gather(ensemble.read(rows))
        for relation in relations:
            boxes = Neighbourhood(paper.similarities(name)[relation], variables).boxes(
                values
            )
            mine = ours(verifier, values, boxes)
            fair = np.mean(np.array(mine.verdicts) == FAIR)
            line = [f"{name}-{kind}-{relation}", f"{ensemble.trees.n_leaves:,}"]
            line += [str(len(values)), f"{100 * fair:.1f} %", *mine.cells()]
            if not options.no_peers:
                line += beside(veritas, verifier, values, boxes, options.peer_people)
            lines.append(line)
            progress(" ".join(line))
    print_table(titles, lines)


def beside(
    veritas: Veritas, verifier: Verifier, values: Floats, boxes: Boxes, count: int
) -> list[str]:
    """Ask Veritas about the first people, and compare with ours on those alone.

    Ours are asked about them again and again in one call, as about many people.
    """
    values = values[:count]
    first = pick(boxes, range(len(values)))
    times = -(-100 // len(values))
    many = Boxes(
        np.concatenate([first.person + len(values) * turn for turn in range(times)]),
        np.tile(first.lower, (times, 1)),
        np.tile(first.upper, (times, 1)),
        np.tile(first.missing, (times, 1)),
        np.tile(first.codes, (times, 1)),
    )
    begin = time.perf_counter()
    outcomes = verifier.verify(np.tile(values, (times, 1)), many, n_jobs=1)
    mean = 1000 * (time.perf_counter() - begin) / (times * len(values))
    mine = outcomes.verdict[: len(values)].tolist()
    theirs = veritas.times(verifier.ensemble.decide(values), first)
    both = [
        (left, right)
        for left, right in zip(mine, theirs.verdicts, strict=True)
        if UNKNOWN not in {left, right}
    ]
    agree = sum(left == right for left, right in both)
    ratio = theirs.mean / mean
    return [
        str(len(values)),
        *theirs.cells(),
        f"{ratio:.3g}",
        f"{agree} of {len(both)}",
    ]


def single_tree() -> tuple[Any, Relation]:
    """Train a tree of 40 leaves on adult; return also noise-cat."""
    data = paper.people("adult")
    tree = DecisionTreeClassifier(max_leaf_nodes=40, random_state=0)
    tree.fit(data.train, data.label)
    return tree, paper.similarities("adult")["noise-cat"]


def batches(n_rows: int) -> None:
    """Verify many rows with a single tree, on two cores."""
    tree, relation = single_tree()
    ensemble = fatt.load(tree)
    variables = Variables(ensemble, paper.schema("adult", ensemble))
    verifier = Verifier(variables.ensemble)
    table = paper.people("adult").test
    lines = []
    for count in (n_rows // 4, n_rows // 2, n_rows):
        rows = pd.concat([table] * -(-count // len(table)), ignore_index=True)[:count]
        values = variables.gather(ensemble.read(rows))
        boxes = Neighbourhood(relation, variables).boxes(values)
        copy = seconds(lambda values=values: values.copy())
        reading = seconds(lambda values=values: ensemble.decide(values))
        search = seconds(
            lambda values=values, boxes=boxes: verifier.verify(values, boxes, n_jobs=2)
        )
        del values, boxes
        whole = seconds(
            lambda rows=rows: fatt.verify(tree, rows, similarity=relation, n_jobs=2),
            repeats=1,
        )
        speeds = [f"{count / search:,.0f}", f"{count / whole:,.0f}"]
        ratios = [f"{search / copy:.2f}", f"{search / reading:.2f}"]
        lines.append([f"{count:,}", *speeds, *ratios])
        progress(" ".join(lines[-1]))
    print_table(
        [
            "rows, tree of 40 leaves, two cores",
            "people a second, search",
            "people a second, fatt.verify",
            "search / copying the rows",
            "search / predicting them on one core",
        ],
        lines,
    )


def seconds(call: Callable[[], Any], repeats: int = 3) -> float:
    """Return the least time of several calls."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def memory(n_rows: int) -> None:
    """Print the peak memory of verifying many rows, beyond the rows themselves."""
    tree, relation = single_tree()
    table = paper.people("adult").test.astype(np.float32)
    small = table[:1000]
    fatt.verify(tree, small, similarity=relation, n_jobs=2)
    rows = pd.concat([table] * -(-n_rows // len(table)), ignore_index=True)[:n_rows]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    fatt.verify(tree, rows, similarity=relation, n_jobs=2)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print((after - before) / 2**10)


FIRST = """
import time
start = time.perf_counter()
from sklearn.tree import DecisionTreeClassifier
import fatt
tree = DecisionTreeClassifier().fit([[20.0], [40.0]], [0, 1])
ready = time.perf_counter()
fatt.verify(tree, [[29.0]], similarity=fatt.Similarity(noise=3))
print(time.perf_counter() - ready, time.perf_counter() - start)
"""


def fresh_processes(n_rows: int) -> None:
    """Time the first answer with and without compiled code, and measure memory."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        for what in ("nothing compiled yet", "compiled code kept on disk"):
            command = [sys.executable, "-W", "ignore", "-c", FIRST]
            found = subprocess.run(
                command, env=environment, capture_output=True, text=True, check=True
            )
            answer, whole = map(float, found.stdout.split())
            lines.append([f"first answer, {what}", f"{answer:.1f} s", f"{whole:.1f} s"])
            progress(" ".join(lines[-1]))
    print_table(["fresh process", "fatt.verify", "with all imports"], lines)
    lines = []
    for count in (n_rows // 10, n_rows):
        command = [sys.executable, "-m", "benchmarks.verify", "--memory", str(count)]
        found = subprocess.run(command, capture_output=True, text=True, check=True)
        lines.append([f"{count:,}", f"{float(found.stdout):,.0f} MB"])
        progress(" ".join(lines[-1]))
    print_table(["rows", "peak memory beyond the rows"], lines)


def progress(line: str) -> None:
    sys.stderr.write(line + "\n")


def print_table(titles: list[str], lines: list[list[str]]) -> None:
    """Print Markdown."""
    for line in (titles, ["---"] * len(titles), *lines):
        print(f"| {' | '.join(line)} |")
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=100)
    parser.add_argument("--peer-people", type=int, default=8)
    parser.add_argument("--focal", type=float, default=0.2)
    parser.add_argument("--case", default="")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--health", action="store_true")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--memory", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory:
        memory(options.memory)
        return
    warm_up()
    forests(options)
    if not options.case and paper.path_of("adult").exists():
        batches(options.rows)
        fresh_processes(options.rows)


def warm_up() -> None:
    """Compile, so that nobody's time is counted in which that happens."""
    tree = DecisionTreeClassifier().fit([[20.0], [40.0]], [0, 1])
    fatt.verify(tree, [[29.0]], similarity=Similarity(noise=3))


if __name__ == "__main__":
    main()
