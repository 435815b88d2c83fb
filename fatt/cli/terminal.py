"""The terminal: exit codes, messages, progress, and a report on it."""

from __future__ import annotations

import contextlib
import inspect
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Any, TypeVar

import click

from fatt.errors import FattError
from fatt.progress import Progress, bar

if TYPE_CHECKING:
    from fatt.report import Report
    from fatt.verdict import Counterexample

F = TypeVar("F", bound=Callable[..., Any])

#: So many groups and twins of a report are shown.
_SHOWN_GROUPS = 20
_SHOWN_TWINS = 5


class Exit(IntEnum):
    """The exit code of every subcommand."""

    #: Proven; or done, where no proof was asked for.
    DONE = 0
    #: Refuted.
    REFUTED = 1
    #: Could not run.
    COULD_NOT_RUN = 2
    #: Undecided: the budget ended, or the user interrupted the run.
    UNDECIDED = 3


def exits(meanings: Mapping[Exit, str]) -> Callable[[F], F]:
    """Tell in a subcommand's help what it means with which exit code.

    Parameters
    ----------
    meanings
        What its exit codes mean. That it could not run goes without saying.
    """
    told = {Exit.COULD_NOT_RUN: "could not run", **meanings}
    words = "; ".join(f"{code:d} {told[code]}" for code in sorted(told))

    def decorate(command: F) -> F:
        # Before the examples, which stand as they are.
        text = inspect.cleandoc(command.__doc__ or "")
        text, mark, examples = text.partition("\n\n\b\n")
        command.__doc__ = f"{text}\n\nExit codes: {words}.{mark}{examples}"
        return command

    return decorate


def say(message: str) -> None:
    """Write a message, which is no result, to stderr."""
    click.echo(f"fatt: {message}", err=True)


#: What goes wrong without a mistake in fatt itself.
_KNOWN = (FattError, OSError, click.ClickException, click.Abort)


def is_bug(error: BaseException) -> bool:
    """Tell whether an error is a mistake in fatt itself."""
    return not isinstance(error, (*_KNOWN, KeyboardInterrupt, MemoryError))


def sentence(error: BaseException) -> str:
    """Say in one sentence why a command could not run."""
    text = str(error)
    if isinstance(error, click.UsageError):
        command = error.ctx.command_path if error.ctx else "fatt"
        text = f"{error.format_message()} See '{command} --help'."
    elif isinstance(error, OSError) and error.filename:
        text = f"{error.filename}: {error.strerror or error}."
    elif isinstance(error, KeyboardInterrupt | click.Abort):
        text = "interrupted before there was anything to keep."
    elif isinstance(error, MemoryError):
        text = "there is not enough memory; pass fewer people at a time."
    elif is_bug(error):
        # Python's own exit code would be 1, which means that fairness is refuted.
        text = "this is a bug in fatt: please report it with the lines above."
    return printable(text)


def warn(warnings: Iterable[str], *, in_result: bool) -> None:
    """Write why a result may be about the wrong rows, before it.

    Parameters
    ----------
    warnings
        The sentences.
    in_result
        Whether they belong to the text of the result; else they are messages.
    """
    for warning in warnings:
        if in_result:
            click.echo(f"Warning: {printable(warning)}\n")
        else:
            say(f"warning: {printable(warning)}")


def printable(text: str) -> str:
    """Replace control characters, with which a file could rewrite the terminal."""
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in text)


class Patience:
    """Says how far something is, if it takes long: seldom, for lines stay in a log.

    What counts is processor time, so that a busy machine makes nobody say more.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._done = self._total = 0
        self._next = 2.0

    def note(self, done: int, total: int) -> None:
        """Remember how many are done, and how many there are."""
        self._done, self._total = done, total

    def look(self, seconds: float) -> None:
        """Say so after two seconds; then whenever four times as many have gone."""
        if seconds < self._next:
            return
        self._next = 4 * seconds
        how_far = f", {self._done:,} of {self._total:,} done" if self._total else ""
        say(f"{self._what}{how_far}, after {seconds:.0f} s of processor time.")


@contextlib.contextmanager
def lines(what: str) -> Iterator[Progress]:
    """Say at times how far something is, as `Patience` does."""
    patience, is_over = Patience(what), threading.Event()
    start = time.process_time()

    def watch() -> None:
        while not is_over.wait(0.2):
            patience.look(time.process_time() - start)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield patience.note
    finally:
        is_over.set()
        watcher.join()


@contextlib.contextmanager
def progress(what: str, *, quiet: bool) -> Iterator[Progress | None]:
    """Show a bar with the time that is left; without a terminal, say a line at times.

    Parameters
    ----------
    what
        What is being done.
    quiet
        Whether to show nothing.
    """
    if quiet:
        yield None
        return
    if not sys.stderr.isatty():
        with lines(what) as tell:
            yield tell
        return
    from rich.console import Console

    with bar(what, Console(stderr=True)) as show:
        yield show


def print_report(
    report: Report,
    groups: Sequence[str],
    *,
    ids: Sequence[str] | None,
    min_fairness: float | None,
    more: Sequence[str] = (),
) -> None:
    """Print a report for people.

    Parameters
    ----------
    report
        The report.
    groups
        The columns to count by; several also together.
    ids
        What people are called.
    min_fairness
        The share of fair people that was asked for.
    more
        Sentences on who is harmed, and by what.
    """
    from fatt.report.sentences import (
        CLOSEST,
        ROWS,
        caveats,
        decision,
        fair_of,
        headline,
    )

    lines = [
        headline(report, min_fairness),
        f"Fairness: {fair_of(report.total)}.",
        *more,
        "",
        report.similarity.describe(report.people.variables.schema),
        *decision(report),
        *report.notes,
        "",
        str(report.asked),
    ]
    for names in _together(groups):
        lines += ["", *_by_group(report, names)]
    if len(report.counterexamples):
        lines += ["", f"The closest twins ({CLOSEST}; {ROWS}):"]
        lines += [
            f"  {twin_line(case, ids)}"
            for case in report.counterexamples.closest(_SHOWN_TWINS)
        ]
    lines += ["", *caveats(report)] if caveats(report) else []
    for line in "\n".join(lines).split("\n"):
        click.echo(printable(line))


def twin_line(case: Counterexample, ids: Sequence[str] | None = None) -> str:
    """Write a pair in one line, with the person's row."""
    row = f"row {case.index}"
    who = row if ids is None else f"{ids[case.index]} ({row})"
    return f"{who}  {case.in_words}"


def _together(groups: Sequence[str]) -> list[tuple[str, ...]]:
    single: list[tuple[str, ...]] = [(name,) for name in groups]
    return [*single, tuple(groups)] if len(groups) > 1 else single


def _by_group(report: Report, names: tuple[str, ...]) -> list[str]:
    from fatt.report.sentences import fair_of
    from fatt.verdict import in_words

    found = report.by_group(*names)
    lines = [f"By {' and '.join(names)}:"]
    for values, group in list(found.items())[:_SHOWN_GROUPS]:
        key = values if isinstance(values, tuple) else (values,)
        who = ", ".join(map(in_words, key))
        lines.append(f"  {who:24} {fair_of(group)} fair")
    if len(found) > _SHOWN_GROUPS:
        lines.append(f"  and {len(found) - _SHOWN_GROUPS:,} more")
    return lines
