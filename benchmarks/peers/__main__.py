"""Ask the peers what we are asked: ``python -m benchmarks.peers``.

Verifiers get the same model, people and noise, one thread and five seconds a person
(times are those of the processor, which others using it do not lengthen);
mitigators the same training data. What is wrong is counted: a person called fair who
has a twin whom the model itself labels otherwise, or the other way round. ``--people
40`` asks about more, ``--no-training`` leaves the mitigators out, ``--no-verifying``
the verifiers. ``--data german --splits 3 --without PrejudiceRemover`` asks less of the
mitigators. The result is Markdown.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import fatt
from benchmarks.output import print_table, progress
from benchmarks.peers.mitigators import GROUPS, compare
from benchmarks.peers.question import Question, ask
from benchmarks.peers.verifiers import VERIFIERS
from benchmarks.veritas import LIMIT
from fatt.verdict import FAIR, UNFAIR, UNKNOWN

#: Trees, depth and noise, from easy to hard.
CASES = ((20, 3, 0.01), (50, 4, 0.01), (100, 6, 0.01), (100, 6, 0.03))


def truth(question: Question) -> list[int]:
    """Return the verdicts, in which each twin was replayed on scikit-learn."""
    report = fatt.verify(
        question.model,
        question.values,
        similarity=question.similarity,
        schema=question.schema,
    )
    assert not report.counts["unknown"]
    return [
        UNFAIR if finding.verdict == "unfair" else FAIR for finding in report.findings
    ]


def verifiers(n_people: int) -> None:
    lines = []
    for n_trees, depth, epsilon in CASES:
        question = ask(n_trees, depth, epsilon, n_people)
        right = truth(question)
        base = 0.0
        for name, make in VERIFIERS.items():
            judge = make(question)
            judge(0)
            verdicts, times = [], []
            for person in range(len(question.values)):
                start = time.process_time()
                verdicts.append(judge(person))
                times.append(1000 * (time.process_time() - start))
            wrong = sum(
                said not in {UNKNOWN, true}
                for said, true in zip(verdicts, right, strict=True)
            )
            mean, base = float(np.mean(times)), base or float(np.mean(times))
            solved = 100 * np.mean(np.array(verdicts) != UNKNOWN)
            line = [f"{n_trees} trees of depth {depth}, ±{epsilon}", name]
            line += [f"{100 * np.mean(np.array(right) == FAIR):.0f} %"]
            line += [f"{solved:.0f} %", str(wrong), f"{mean:.3g}", f"{max(times):.3g}"]
            lines.append([*line, f"{mean / base:.3g}"])
            progress(" ".join(lines[-1]))
    print(f"{n_people} people, one by one, {LIMIT:g} seconds each:\n")
    titles = [
        "model and noise",
        "verifier",
        "fair",
        "decided",
        "wrong",
        "mean ms",
        "max",
    ]
    print_table([*titles, "times ours"], lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=20)
    parser.add_argument("--no-training", action="store_true")
    parser.add_argument("--no-verifying", action="store_true")
    parser.add_argument("--data", nargs="+", choices=list(GROUPS), default=list(GROUPS))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--without", nargs="*", default=[], metavar="METHOD")
    options = parser.parse_args()
    if not options.no_verifying:
        verifiers(options.people)
    if not options.no_training:
        compare(options.data, options.splits, options.without)


if __name__ == "__main__":
    main()
