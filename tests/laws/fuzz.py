"""Load damaged files in a process of its own, with bounded memory and time.

Run as ``python -m tests.laws.fuzz FOLDER SEED COUNT DRAFTS``; prints what happened as
JSON. A crash or an endless loop shows in how the process ends.
"""

from __future__ import annotations

import json
import resource
import signal
import sys
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

import fatt
from fatt.ensemble.file import to_bytes
from fatt.errors import FattError
from tests.laws.mutations import mutate
from tests.strategies import random_ensemble

MEMORY = 4 * 2**30
SECONDS_PER_FILE = 10


def outcome(path: Path, *, allow_pickle: bool = False) -> str:
    """Load one file: what happened, in a word, or the error that should not be."""
    # Of the processor: a busy machine is no endless loop.
    signal.setitimer(signal.ITIMER_PROF, SECONDS_PER_FILE)
    try:
        ensemble = fatt.load(path, allow_pickle=allow_pickle).ensemble
        ensemble.validate()
    except FattError as error:
        sentence = str(error)
        return "refused" if sentence.endswith(".") else f"no sentence: {sentence!r}"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return "imported"


def time_is_up(*_: object) -> None:
    raise TimeoutError(f"no answer within {SECONDS_PER_FILE} s")


def main(folder: Path, seed: int, count: int, drafts: Path) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("error")
    # A pickle is a program: nobody can promise what a damaged one does. CatBoost's JSON
    # is read in a process of its own, which takes seconds.
    paths = sorted(
        path
        for path in folder.iterdir()
        if path.suffix not in {".npz", ".pkl"} and "-json" not in path.name
    )
    originals = {path.name: path.read_bytes() for path in paths}
    originals["native.fatt"] = to_bytes(random_ensemble(seed))
    names = list(originals)
    # The first file of a kind pays for the imports, which is not what is timed.
    for path in paths:
        fatt.load(path)
    signal.signal(signal.SIGPROF, time_is_up)
    counts: dict[str, Counter[str]] = {}
    wrong = []
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        name = names[number % len(names)]
        path = drafts / name
        path.write_bytes(mutate(originals[name], rng))
        result = outcome(path)
        if result not in {"refused", "imported"}:
            wrong.append({"file": name, "seed": seed, "number": number, "got": result})
            result = "wrong"
        counts.setdefault(path.suffix, Counter())[result] += 1
    print(json.dumps({"counts": counts, "wrong": wrong[:20], "total": count}))  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
