"""Make the paper's tables again: ``python -m benchmarks.paper``.

``--quick`` takes minutes: without the forest of health, with few seeds. Without it, all
of it takes hours; a run that was interrupted goes on where it was. ``--data FOLDER``
names the data made of the public raw files: ``NAME.npz`` and ``NAME.json`` of adult,
compas, crime, german and health, and in ``FOLDER/artifact`` those with the authors' own
scaling. The cells and the tables go to ``--out``, where what is there is not made
again: name another folder to measure anew.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from benchmarks.paper import setting
from benchmarks.paper.cells import FIXED, TRAINED, Results, cells_of, measure
from benchmarks.paper.figure import draw
from benchmarks.paper.tables import write

RESULTS = Path(__file__).parent / "results"
QUICK_SEEDS, SEEDS = 3, 20


def plan(data: str, quick: bool) -> dict[str, int]:
    """Return the models of a data set that are measured, and with how many seeds."""
    forests = not (quick and data == "health")
    fixed = {model: 1 for model in FIXED if forests or not model.startswith("forest")}
    return fixed | dict.fromkeys(TRAINED, QUICK_SEEDS if quick else SEEDS)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="minutes, not hours")
    parser.add_argument("--data", type=Path, default=setting.DATA, help="the folder")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where results go")
    parser.add_argument("--only", nargs="*", default=list(setting.FORESTS))
    options = parser.parse_args()
    results = Results(options.out / "cells.jsonl")
    for data in options.only:
        if not setting.path_of(data, options.data).exists():
            sys.stderr.write(f"{data} is left out: it is not in {options.data}.\n")
            continue
        for cell in cells_of(data, plan(data, options.quick), options.data):
            if cell in results.known:
                continue
            start = time.perf_counter()
            results.keep(cell, measure(cell, options.data))
            spent = time.perf_counter() - start
            sys.stderr.write(f"{cell} ({spent:.1f} s) {results.known[cell]}\n")
    draw(results, options.out / "distribution.svg")
    tables = write(results, options.data)
    (options.out / "tables.md").write_text(tables + "\n", encoding="utf-8")
    print(tables)


if __name__ == "__main__":
    main()
