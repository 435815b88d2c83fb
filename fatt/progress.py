"""How far a long run is: told to a callback, or shown as a bar by rich."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

#: Told how many people are done, and how many there are.
Progress: TypeAlias = Callable[[int, int], None]


@contextlib.contextmanager
def bar(what: str, console: Any) -> Iterator[Progress]:
    """Show a bar with the time that is left, until the block ends.

    Parameters
    ----------
    what
        What is being done.
    console
        Rich's console.
    """
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
    with Bar(*columns, console=console, transient=True) as shown:
        task = shown.add_task("preparing", total=None)

        def show(done: int, total: int) -> None:
            shown.update(task, description=what, completed=done, total=total)

        yield show


def watched(
    progress: Progress | bool | None, what: str = "searching"
) -> contextlib.AbstractContextManager[Progress | None]:
    """Return whom to tell how far a run is, for as long as a block lasts.

    Parameters
    ----------
    progress
        A callback; True for a bar in the terminal or notebook; else nobody is told.
    what
        What is being done.
    """
    if not isinstance(progress, bool):
        return contextlib.nullcontext(progress)
    if not progress:
        return contextlib.nullcontext()
    from rich.console import Console

    console = Console(stderr=True)
    if console.is_jupyter and importlib.util.find_spec("ipywidgets") is None:
        # Rich would warn with every step; of plain text it shows the end.
        console = Console(stderr=True, force_jupyter=False)
    return bar(what, console)
