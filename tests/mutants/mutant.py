"""One change to the package that makes it wrong, and the tests that must notice it.

A mutant lives in a copy of the package and its tests, in a folder of its own, so that
nothing here is touched and what was compiled stays what it is. Only changes that make
the package say something wrong are listed: what is merely slower, or the same in the
end, is none.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import math
import os
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]

#: Tests that ask the search about a few hundred models, in every gear.
PROBE = ("tests/mutants/probe.py",)

# How a kernel is compiled, as `meson.build` says, but less optimised.
_CYTHON = ("-3", *(f"-X{name}=False" for name in ("boundscheck", "wraparound")))
_CC = ("-shared", "-fPIC", "-O1", "-ffp-contract=off", "-fwrapv", "-w")

#: Where pytest remembers, for each mutant, which test failed.
MEMORY = ROOT / "build" / "mutants"

_COPIED = ("fatt", "tests", "pyproject.toml")

#: Tests that take more seconds of processor time than this are compared with the same
#: tests of the package as it is, and do not end if they take so many times as long.
PATIENCE = 40
TIMES = 4


class Fate(StrEnum):
    """What became of a mutant: all but the first are noticed."""

    SURVIVED = "SURVIVED"
    KILLED = "killed"
    ENDLESS = "does not end"


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
        return self.file.endswith((".pyx", ".pxd"))

    @property
    def digest(self) -> str:
        """A name for what is remembered of it: which test noticed it last."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:16]

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
        for source in (root / "fatt").rglob("*.pyx"):
            built = _built(source.relative_to(root))
            shutil.copy2(built, source.with_name(built.name))
        yield root


def _built(source: Path) -> Path:
    """Return the compiled form of a kernel, wherever this Python has it."""
    name = ".".join(source.with_suffix("").parts)
    spec = importlib.util.find_spec(name)
    assert spec is not None, f"{name} is not built"
    assert spec.origin is not None
    return Path(spec.origin)


def build(root: Path, file: str) -> None:
    """Compile a kernel of a copy anew, or all those that share what was changed.

    Raises
    ------
    RuntimeError
        If it cannot be compiled: then it is no mutant.
    """
    changed = root / file
    sources = [changed]
    if changed.suffix == ".pxd":
        shared = ".".join(Path(file).with_suffix("").parts)
        sources = [
            path
            for path in sorted((root / "fatt").rglob("*.pyx"))
            if f"from {shared} cimport" in path.read_text(encoding="utf-8")
        ]
    for source in sources:
        _compile(source, _built(source.relative_to(root)).name)


def compiler() -> list[str]:
    """Return the C compiler: where there is none, that of `tools/install.sh`."""
    if given := os.environ.get("CC"):
        return shlex.split(given)
    names = [name for name in ("cc", "gcc", "clang") if shutil.which(name)]
    return names[:1] or [str(Path(sys.executable).with_name("zig-cc"))]


def _compile(source: Path, target: str) -> None:
    written = source.with_suffix(".c")
    include = f"-I{sysconfig.get_path('include')}"
    for command in (
        [sys.executable, "-m", "cython", *_CYTHON, source, "-o", written],
        [*compiler(), *_CC, include, written, "-o", source.with_name(target)],
    ):
        done = subprocess.run(
            list(map(str, command)), capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"the mutant cannot be compiled: {done.stderr[-2000:]}")


def fate_of(mutant: Mutant) -> Fate:
    """Tell whether the tests notice a mutant.

    Raises
    ------
    RuntimeError
        If it cannot be compiled, or no test was run.
    """
    with copied() as root:
        apply(mutant, root)
        if mutant.is_compiled:
            build(root, mutant.file)
        return run(root, mutant.kills, remembered=MEMORY / mutant.digest)


def installed_for_development() -> str:
    """Return what would come before the path, as `MESONPY_EDITABLE_SKIP` names it."""
    finders = [getattr(finder, "_build_path", "") for finder in sys.meta_path]
    return os.pathsep.join(filter(None, finders))


def run(root: Path, tests: tuple[str, ...], *, remembered: Path) -> Fate:
    """Run tests in a copy; the one that failed last time comes first."""
    code, _ = _ask(root, tests, remembered, PATIENCE)
    if code == -signal.SIGXCPU:
        limit = TIMES * seconds_unchanged(tests)
        if limit > PATIENCE:
            code, _ = _ask(root, tests, remembered, limit)
    if code == -signal.SIGXCPU:
        return Fate.ENDLESS
    if code in {0, 1}:
        return Fate.KILLED if code == 1 else Fate.SURVIVED
    if code < 0:
        # It crashed, which nobody overlooks.
        return Fate.KILLED
    raise RuntimeError(f"the tests {' '.join(tests)} could not be run")


@functools.cache
def seconds_unchanged(tests: tuple[str, ...]) -> int:
    """Return the seconds of processor time of tests where nothing is wrong.

    Raises
    ------
    RuntimeError
        If they fail: then they would seem to notice anything.
    """
    with copied() as root:
        code, seconds = _ask(root, tests, MEMORY / "unchanged", resource.RLIM_INFINITY)
    if code:
        raise RuntimeError(f"the tests {' '.join(tests)} fail without any mutant")
    return math.ceil(seconds)


def _ask(
    root: Path, tests: tuple[str, ...], remembered: Path, limit: int
) -> tuple[int, float]:
    """Run tests in a copy; return the exit code and the seconds of processor time.

    Other programs do not count, as they would on a clock. Whoever takes more than
    `limit` is ended by the system, in compiled code as well.
    """
    environment = {
        **os.environ,
        "PYTHONPATH": str(root),
        "MESONPY_EDITABLE_SKIP": installed_for_development(),
    }
    options = ("-x", "-q", "-n", "0", "--ff", "-o", f"cache_dir={remembered}")
    ask = [sys.executable, "-c", "import fatt; print(fatt.__file__)"]
    found = subprocess.check_output(ask, cwd=root, env=environment, text=True)
    assert Path(found.strip()).parents[1] == root, found
    limited = (
        f"import resource, runpy, sys; "
        f"resource.setrlimit(resource.RLIMIT_CPU, ({limit}, resource.RLIM_INFINITY)); "
        f"sys.argv[0] = 'pytest'; runpy.run_module('pytest', run_name='__main__')"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", limited, *options, *tests],
        cwd=root,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, used.ru_utime + used.ru_stime
