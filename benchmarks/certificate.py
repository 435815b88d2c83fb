"""How large certificates are, and how long it takes to make and to check them.

Run ``python -m benchmarks.certificate`` from the repository root. For each model and
similarity of the paper it verifies some people, makes the certificate, writes it and
checks what was written, on one thread. The result is Markdown: how many of the fair are
proved, into how many boxes, the bytes and the milliseconds for each person.

``--people 200`` asks more people, ``--case crime-forest`` only the cases whose names
contain the word, ``--boxes 5000`` allows longer proofs.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import fatt
from benchmarks import paper
from benchmarks.output import print_table, progress
from benchmarks.verify import cases
from fatt.ensemble import Ensemble
from fatt.region import Relation

TITLES = [
    "case",
    "people",
    "fair",
    "proved",
    "boxes each",
    "bytes each",
    "search ms",
    "make ms",
    "check ms",
]


def measure(
    name: str, ensemble: Ensemble, relation: Relation, options: argparse.Namespace
) -> list[str]:
    """Verify, certify, write, read and check; return the figures."""
    rows = paper.people(name).test[: options.people]
    schema = paper.schema(name, ensemble)
    times = [time.perf_counter()]
    report = fatt.verify(
        ensemble,
        rows,
        similarity=relation,
        schema=schema,
        by_position=True,
        budget=fatt.Budget(seconds=5.0),
    )
    times.append(time.perf_counter())
    certificate = report.certificate(most_boxes=options.boxes)
    times.append(time.perf_counter())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "audit.cert"
        certificate.save(path)
        size = path.stat().st_size
        begin = time.perf_counter()
        checked = fatt.Certificate.read(path).check(ensemble, rows)
        seconds = time.perf_counter() - begin
    fair, count = report.counts["fair"], len(report)
    spent = [times[1] - times[0], times[2] - times[1], seconds]
    return [
        str(count),
        str(fair),
        f"{100 * checked.fair / fair:.1f} %" if fair else "-",
        f"{checked.parts / checked.fair:.2g}" if checked.fair else "-",
        f"{size / count:.0f}",
        *(f"{1000 * each / count:.2g}" for each in spent),
    ]


def main() -> None:
    """Measure the cases that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=100)
    parser.add_argument("--case", default="")
    parser.add_argument("--boxes", type=int, default=1000)
    options = parser.parse_args()
    lines = []
    for name, kind, relations in cases(options.case, health=False):
        ensemble = paper.train(name, kind)
        for relation in relations:
            similarity = paper.similarities(name)[relation]
            case = f"{name}-{kind}-{relation}"
            lines.append([case, *measure(name, ensemble, similarity, options)])
            progress(" ".join(lines[-1]))
    print_table(TITLES, lines)


if __name__ == "__main__":
    main()
