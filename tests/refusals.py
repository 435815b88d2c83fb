"""Which refusals of `fatt.importers` the tests have seen: none may go without a case.

`pytest --refusals` lists those that no test of the run met, and fails if there are any.
Errors are made where they are raised, so what stands on the stack when one is made
tells which statement it belongs to; nothing is traced.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fatt
from fatt import errors
from fatt.model import NotAtHand

_IMPORTERS = Path(fatt.__file__).parent / "importers"
_ERRORS = {
    name
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, errors.FattError)
}

#: Files and lines that stood on the stack when an error was made.
_MET: set[tuple[str, int]] = set()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.addoption(
        "--refusals",
        action="store_true",
        help="fail if an importer can refuse what no test of this run holds",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Take down where each error is made."""
    if config.getoption("--refusals"):
        for kind in (errors.FattError, NotAtHand):
            _watch(kind)


def _watch(kind: type[Exception]) -> None:
    made = kind.__init__

    def init(self: Exception, *args: Any, **kwargs: Any) -> None:
        made(self, *args, **kwargs)
        frame: Any = sys._getframe(1)
        while frame is not None:
            if frame.f_code.co_filename.startswith(str(_IMPORTERS)):
                _MET.add((frame.f_code.co_filename, frame.f_lineno))
            frame = frame.f_back

    kind.__init__ = init  # type: ignore[method-assign]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over what a worker of pytest-xdist met."""
    met = getattr(node, "workeroutput", {}).get("refusals", [])
    _MET.update((file, line) for file, line in met)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand over what was met, or list what was not and fail."""
    config = session.config
    if not config.getoption("--refusals"):
        return
    if hasattr(config, "workeroutput"):
        config.workeroutput["refusals"] = sorted(_MET)
        return
    config.stash[_UNMET] = unmet = list(_unmet())
    if unmet and not session.exitstatus:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


_UNMET = pytest.StashKey[list[str]]()


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Show what no test holds."""
    unmet = config.stash.get(_UNMET, [])
    if unmet:
        terminalreporter.section("refusals that no test of this run met")
        for line in unmet:
            terminalreporter.write_line(line)


def _unmet() -> Iterator[str]:
    """Yield the refusals that no test met."""
    for path in sorted(_IMPORTERS.rglob("*.py")):
        lines = {line for file, line in _MET if file == str(path)}
        source = path.read_text(encoding="utf-8")
        for node in _sites(ast.parse(source)):
            if lines.isdisjoint(range(node.lineno, (node.end_lineno or 0) + 1)):
                said = " ".join((ast.get_source_segment(source, node) or "").split())
                yield f"{path}:{node.lineno}: {said[:100]}"


def _sites(tree: ast.AST) -> Iterator[ast.stmt | ast.expr]:
    """Yield each statement that raises an error, and each that makes one to return."""
    raised = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            raised.append(node.exc)
            # What Python itself raises tells of a slip in the code, not of a model.
            if not hasattr(builtins, ast.unparse(node.exc.func)):
                yield node
        elif (
            isinstance(node, ast.Call)
            and node not in raised
            and getattr(node.func, "id", "") in _ERRORS
        ):
            yield node
