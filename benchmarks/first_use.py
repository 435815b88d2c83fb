"""What the first contact with fatt costs, in processor time of one process each.

Run ``python -m benchmarks.first_use [WHAT]``: makes an empty environment, installs WHAT
into it (a wheel, or this folder if nothing is named), and does there what newcomers do.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from benchmarks.output import print_table, progress

ROOT = Path(__file__).parent.parent
REPEATS = 5
FIT = """
import numpy as np, fatt
rng = np.random.default_rng(0)
X = rng.normal(size=(1000, 8))
X[:, 0] = rng.integers(0, 2, 1000)
y = X[:, 1] + X[:, 2] * X[:, 3] + rng.normal(size=1000) > 0
similarity = fatt.Similarity(noise={"x1": 0.1}, vary=["x0"])
fatt.FATTClassifier(similarity, random_state=0).fit(X, y)
"""


def seconds(*command: str | Path) -> float:
    """Run a command outside of the repository; return its processor time.

    Raises
    ------
    SystemExit
        If the command fails.
    """
    environment = {
        name: os.environ[name] for name in os.environ if not name.startswith("PYTHON")
    }
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [str(word) for word in command],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    # An audit that refutes fairness ends with 1, and says nothing of a traceback.
    if done.returncode not in {0, 1} or "Traceback" in done.stderr:
        raise SystemExit(f"{command} failed:\n{done.stdout}{done.stderr}")
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main(what: Path) -> None:
    with tempfile.TemporaryDirectory() as home:
        venv.create(home, with_pip=True)
        python, fatt = Path(home, "bin", "python"), Path(home, "bin", "fatt")
        progress(
            f"{seconds(python, '-m', 'pip', 'install', '-q', what):.0f} s to install"
        )
        asked = {
            "python -c pass": (python, "-c", "pass"),
            "import fatt": (python, "-c", "import fatt"),
            "fatt --help": (fatt, "--help"),
            "fatt audit --demo": (fatt, "audit", "--demo"),
            "FATTClassifier.fit, 1,000 people": (python, "-c", FIT),
        }
        lines = []
        # What is asked first is asked of files that nobody has read before.
        for name in reversed(asked):
            times = [seconds(*asked[name]) for _ in range(REPEATS + 1)]
            again = statistics.median(times[1:])
            lines.append((name, f"{times[0]:.2f}", f"{again:.2f}"))
            progress(" ".join(lines[-1]))
    print_table(("what", "seconds, the first time", "again"), lines)


if __name__ == "__main__":
    main(Path(*sys.argv[1:2] or (ROOT,)).resolve())
