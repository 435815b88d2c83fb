"""Try all mutants, or those whose description holds a word: ``make mutants``.

Usage: ``python -m tests.mutants [WORD ...]``. Their tests must pass where nothing is
changed, which is tried first. A second run costs less, since the test that noticed a
mutant is remembered and comes first.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from tests.mutants.mutant import Fate, Mutant, fate_of, seconds_unchanged
from tests.mutants.table import MUTANTS


def main(words: list[str]) -> int:
    """Print what became of each mutant; return 1 if one survived."""
    chosen = [each for each in MUTANTS if all(word in str(each) for word in words)]
    seconds_unchanged(
        tuple(dict.fromkeys(test for each in chosen for test in each.kills))
    )
    survived = 0
    with ThreadPoolExecutor(max(1, (os.cpu_count() or 2) // 2)) as pool:
        for mutant, (fate, seconds) in zip(chosen, pool.map(_try, chosen), strict=True):
            survived += fate is Fate.SURVIVED
            print(f"{fate:12} {seconds:5.0f} s  {mutant}", flush=True)  # noqa: T201
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(  # noqa: T201
        f"{len(chosen) - survived} of {len(chosen)} killed "
        f"in {used.ru_utime + used.ru_stime:.0f} s of processor time"
    )
    return int(survived > 0)


def _try(mutant: Mutant) -> tuple[Fate, float]:
    begin = time.monotonic()
    return fate_of(mutant), time.monotonic() - begin


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
