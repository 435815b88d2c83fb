"""What the exit codes mean."""

from __future__ import annotations

from enum import IntEnum


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
