"""How fast people are verified, with Veritas beside us on the same people and models.

Run ``python -m benchmarks.verify`` from the repository root, or ``make bench``. Both
sides use one thread and have five seconds for each person; what they take is processor
time, for other programs may be running. Ours are asked all together for the mean, and
one by one, with what a call costs, for the median and the maximum.
Veritas gets the same model, turned into its own form before the clock starts. It knows
thresholds only; so what varies is one variable to it, and what does not stays columns.
Then come 15,000 people beside the library's own `predict`, single trees in large
batches, memory, and the first answer of a fresh process. The result is Markdown.

``--people 200 --peer-people 50`` asks more people, ``--case crime-forest-noise`` only
the cases whose names contain the word. ``--focal 0.01`` gives Veritas the setting that
was best for it here, instead of the one of its own robustness check (0.2);
``--no-peers`` leaves it out. ``--health`` adds the forest of 2.5 million leaves (some
minutes of training), ``--rows 10000000`` makes the large batch larger.
"""

from __future__ import annotations

import argparse
import functools
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

import fatt
from benchmarks import paper
from benchmarks.output import print_table, progress
from benchmarks.paper import setting
from benchmarks.veritas import LIMIT, Times, Veritas, pick
from fatt.region import Boxes, Neighbourhood, Relation, Schema, Similarity, Variables
from fatt.verdict import FAIR, UNKNOWN
from fatt.verifier import Budget, Verifier

Floats = NDArray[np.float64]


def ours(verifier: Verifier, values: Floats, boxes: Boxes) -> Times:
    """Ask about all people together for the mean, then about each."""
    limit = Budget(seconds=LIMIT)
    verdicts = verifier.verify(values, boxes, budget=limit, n_jobs=1).verdict.tolist()
    together = seconds(
        lambda: verifier.verify(values, boxes, budget=limit, n_jobs=1),
        repeats=1 if UNKNOWN in verdicts else 3,
        clock=time.process_time,
    )
    each = []
    for person, verdict in enumerate(verdicts):
        # Watching the time costs time, which only the hard people need.
        budget = limit if verdict == UNKNOWN else Budget()
        alone, mine = values[person : person + 1], pick(boxes, [person])
        start = time.process_time()
        verifier.verify(alone, mine, budget=budget, n_jobs=1)
        each.append(1000 * (time.process_time() - start))
    return Times(verdicts, each, 1000 * together / len(values))


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
        schema = paper.schema(name, ensemble)
        variables = Variables(ensemble, schema)
        verifier = Verifier(variables.ensemble)
        rows = paper.people(name).test[: options.people]
        values = variables.gather(ensemble.read(rows))
        for relation in relations:
            similarity = paper.similarities(name)[relation]
            boxes = Neighbourhood(similarity, variables).boxes(values)
            mine = ours(verifier, values, boxes)
            fair = np.mean(np.array(mine.verdicts) == FAIR)
            line = [f"{name}-{kind}-{relation}", f"{ensemble.trees.n_leaves:,}"]
            line += [str(len(values)), f"{100 * fair:.1f} %", *mine.cells()]
            if not options.no_peers:
                veritas = Veritas(ensemble, schema, similarity, options.focal)
                first = rows[: options.peer_people]
                line += beside(veritas.ask(first), verifier, values, boxes)
            lines.append(line)
            progress(" ".join(line))
    print_table(titles, lines)


def beside(
    theirs: Times, verifier: Verifier, values: Floats, boxes: Boxes
) -> list[str]:
    """Compare with Veritas on the first people, whom it was asked about.

    Ours are asked about them again and again in one call, as about many people.
    """
    values = values[: len(theirs.verdicts)]
    first = pick(boxes, range(len(values)))
    times = -(-100 // len(values))
    many = Boxes(
        np.concatenate([first.person + len(values) * turn for turn in range(times)]),
        np.tile(first.lower, (times, 1)),
        np.tile(first.upper, (times, 1)),
        np.tile(first.missing, (times, 1)),
        np.tile(first.codes, (times, 1)),
    )
    begin = time.process_time()
    outcomes = verifier.verify(np.tile(values, (times, 1)), many, n_jobs=1)
    mean = 1000 * (time.process_time() - begin) / (times * len(values))
    mine = outcomes.verdict[: len(values)].tolist()
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


def predictions() -> None:
    """Compare a prepared audit of 15,000 people with the library's own labels."""
    rows = paper.people("adult").test.to_numpy(dtype=np.float64)
    rows = np.ascontiguousarray(np.resize(rows, (15_000, rows.shape[1])))
    lines = []
    for kind in (kind for name, kind in paper.models() if name == "adult"):
        model = setting.fit("adult", kind)
        if "n_jobs" in model.get_params():
            model.set_params(n_jobs=1)
        ensemble = fatt.load(model).ensemble
        schema = paper.schema("adult", ensemble)
        for relation, similarity in paper.similarities("adult").items():
            auditor = fatt.Auditor(ensemble, similarity=similarity, schema=schema)
            ours, theirs = (
                seconds(functools.partial(ask, rows), clock=time.process_time)
                for ask in (auditor.verify, model.predict)
            )
            micros = [f"{1e6 * spent / len(rows):.3g}" for spent in (ours, theirs)]
            case = f"adult-{kind}-{relation}"
            lines.append([case, *micros, f"{ours / theirs:.3g}"])
            progress(" ".join(lines[-1]))
    print_table(
        ["15,000 people", "verify, µs each", "predict, µs each", "ratio"], lines
    )


class Batch(NamedTuple):
    """A tree of 40 leaves, people for it, and who is similar to whom."""

    tree: Any
    people: pd.DataFrame
    relation: Relation

    def rows(self, count: int) -> pd.DataFrame:
        """Return so many people, the same again and again."""
        times = -(-count // len(self.people))
        return pd.concat([self.people] * times, ignore_index=True)[:count]


def one_hot() -> Batch:
    """Return a tree over the 103 one-hot columns of adult, with noise-cat."""
    data = paper.people("adult")
    tree = DecisionTreeClassifier(max_leaf_nodes=40, random_state=0)
    tree.fit(data.train, data.label)
    return Batch(tree, data.test, paper.similarities("adult")["noise-cat"])


def plain() -> Batch:
    """Return a tree over the 14 variables of adult as plain numbers, with noise-cat."""
    data, coded = paper.people("adult"), one_hot()
    model = fatt.load(coded.tree).ensemble
    variables = Variables(model, paper.schema("adult", model))
    names = [feature.name for feature in variables.ensemble.features]
    train, test = (
        pd.DataFrame(variables.gather(model.read(rows)), columns=names)
        for rows in (data.train, data.test)
    )
    tree = DecisionTreeClassifier(max_leaf_nodes=40, random_state=0)
    return Batch(tree.fit(train, data.label), test, coded.relation)


def memory_bound(table: Floats) -> float:
    """Return how long two threads need to add up a table: no reader is faster."""
    flat = table.T if table.flags.f_contiguous else table
    halves = np.array_split(flat, 2)
    with ThreadPoolExecutor(2) as pool:
        return seconds(lambda: list(pool.map(np.sum, halves)), repeats=5)


def batches(n_rows: int) -> None:
    """Verify many rows with a single tree, on two cores."""
    lines = []
    for batch in (one_hot(), plain()):
        model = fatt.load(batch.tree).ensemble
        schema = Schema.infer(model, batch.people)
        for count in (n_rows // 4, n_rows // 2, n_rows):
            rows = batch.rows(count)
            call = functools.partial(
                fatt.verify, batch.tree, rows, similarity=batch.relation, n_jobs=2
            )
            inferred = seconds(call)
            given = seconds(functools.partial(call, schema=schema))
            peers = (
                memory_bound(rows.to_numpy()),
                seconds(functools.partial(batch.tree.predict, rows)),
            )
            speeds = [f"{count / time:,.0f}" for time in (inferred, given)]
            ratios = [f"{given / time:.3g}" for time in peers]
            lines.append([f"{count:,}", str(rows.shape[1]), *speeds, *ratios])
            progress(" ".join(lines[-1]))
    print_table(
        [
            "rows, tree of 40 leaves, two cores",
            "columns",
            "people a second, fatt.verify",
            "the same, schema given",
            "its time / adding up the table on two cores",
            "its time / the library's own predict",
        ],
        lines,
    )


def seconds(
    call: Callable[[], Any],
    repeats: int = 3,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """Return the least time of several calls."""
    times = []
    for _ in range(repeats):
        start = clock()
        call()
        times.append(clock() - start)
    return min(times)


def memory(n_rows: int) -> None:
    """Print the peak memory of verifying many rows, beyond the rows themselves."""
    batch = plain()
    rows = batch.rows(n_rows)
    fatt.verify(batch.tree, rows[:1000], similarity=batch.relation, n_jobs=2)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    fatt.verify(batch.tree, rows, similarity=batch.relation, n_jobs=2)
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
    """Time the first answer of a process, and measure memory."""
    command = [sys.executable, "-W", "ignore", "-c", FIRST]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    answer, whole = map(float, found.stdout.split())
    lines = [["first answer", f"{answer:.1f} s", f"{whole:.1f} s"]]
    progress(" ".join(lines[-1]))
    print_table(["fresh process", "fatt.verify", "with all imports"], lines)
    lines = []
    for count in (n_rows // 10, n_rows):
        command = [sys.executable, "-m", "benchmarks.verify", "--memory", str(count)]
        found = subprocess.run(command, capture_output=True, text=True, check=True)
        lines.append([f"{count:,}", f"{float(found.stdout):,.0f} MB"])
        progress(" ".join(lines[-1]))
    print_table(["rows", "peak memory beyond the rows"], lines)


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
        predictions()
        batches(options.rows)
        fresh_processes(options.rows)


def warm_up() -> None:
    """Import all, so that nobody's time is counted in which that happens."""
    tree = DecisionTreeClassifier().fit([[20.0], [40.0]], [0, 1])
    fatt.verify(tree, [[29.0]], similarity=Similarity(noise=3))


if __name__ == "__main__":
    main()
