"""One change to the package that makes it wrong, and the tests that must notice it.

A mutant lives in a copy of the package and its tests, in a folder of its own, so that
nothing here is touched and what was compiled stays what it is. Only changes that make
the package say something wrong are listed: what is merely slower, or the same in the
end, is none.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]

#: Tests that ask the search about a few hundred models, in every gear.
PROBE = ("tests/mutants/probe.py",)

#: What makes the copy ready to run. A mutant may go wrong here already, but only in the
#: package's own words: what does not compile is no mutant.
_BUILD = """
import sys
from pathlib import Path
import fatt
from fatt.errors import FattError
from fatt.verifier.warm import compile_kernels
assert Path(fatt.__file__).parents[1] == Path.cwd(), fatt.__file__
try:
    compile_kernels()
except (FattError, IndexError):
    pass
"""

_COPIED = ("fatt", "tests", "pyproject.toml")
_SECONDS = 900


class Mutant(NamedTuple):
    """A change of one place.

    Attributes
    ----------
    file
        The file, from the root of the repository.
    old, new
        What stands there, exactly once, and what shall stand there instead.
    kills
        The tests that notice.
    """

    file: str
    old: str
    new: str
    kills: tuple[str, ...] = PROBE

    @property
    def is_compiled(self) -> bool:
        """Whether the change must be compiled before it can be tested."""
        return "kernels" in self.file

    def __str__(self) -> str:
        before, after = self.old.splitlines(), self.new.splitlines()
        changed = [line.strip() for line in after if line not in before]
        said = changed[0] if changed else f"without {before[0].strip()}"
        return f"{self.file}: {said[:60]}"


def apply(mutant: Mutant, root: Path) -> None:
    """Change the copy; the place must be there, and must be the only one."""
    path = root / mutant.file
    text = path.read_text(encoding="utf-8")
    count = text.count(mutant.old)
    assert count == 1, f"{mutant.file} holds {mutant.old!r} {count} times"
    assert mutant.old != mutant.new
    path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")


@contextmanager
def copied() -> Iterator[Path]:
    """Yield the root of a copy of the package and the tests, with what is compiled."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        for name in _COPIED:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, root / name)
            else:
                shutil.copy2(ROOT / name, root / name)
        yield root


def is_killed(mutant: Mutant) -> bool:
    """Tell whether the tests notice a mutant.

    Raises
    ------
    RuntimeError
        If it cannot be compiled, or no test was run.
    """
    with copied() as root:
        apply(mutant, root)
        return run(root, mutant.kills, is_compiled=mutant.is_compiled)


def run(root: Path, tests: tuple[str, ...], *, is_compiled: bool) -> bool:
    """Tell whether tests fail in a copy."""
    if is_compiled:
        _call(root, "-c", _BUILD)
    options = ("-x", "-q", "-n", "0", "-p", "no:cacheprovider")
    try:
        code = _call(root, "-m", "pytest", *options, *tests)
    except subprocess.TimeoutExpired:
        return True
    if code in {0, 1}:
        return code == 1
    if code < 0:
        # It crashed, which nobody overlooks.
        return True
    raise RuntimeError(f"the tests {' '.join(tests)} could not be run")


def _call(root: Path, *arguments: str) -> int:
    environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    if arguments[0] == "-c" and done.returncode:
        raise RuntimeError(f"the mutant cannot be compiled: {done.stderr[-2000:]}")
    return done.returncode
