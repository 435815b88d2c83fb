"""The terminal: exit codes, messages and progress."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import TypeAlias

import click


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


#: Told how many people are done, and how many there are.
Progress: TypeAlias = Callable[[int, int], None]


def say(message: str) -> None:
    """Write a message, which is no result, to stderr."""
    click.echo(f"fatt: {message}", err=True)


def printable(text: str) -> str:
    """Replace control characters, with which a file could rewrite the terminal."""
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in text)


@contextlib.contextmanager
def progress(what: str, *, quiet: bool) -> Iterator[Progress | None]:
    """Show a bar with the time that is left, if there is a terminal to show it on.

    Parameters
    ----------
    what
        What is being done.
    quiet
        Whether to show nothing.
    """
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("preparing", total=None)

        def show(done: int, total: int) -> None:
            bar.update(task, description=what, completed=done, total=total)

        yield show
