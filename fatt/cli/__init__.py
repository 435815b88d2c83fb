"""The ``fatt`` command: each subcommand is a module of its own, but for completion.

Results go to stdout, progress and messages to stderr; `Exit` lists the exit codes.
Nothing heavy is imported before it is needed, so that ``--help`` is fast.
"""

from __future__ import annotations

import io
import os
import sys
import traceback
from typing import Any, TextIO

import click

from fatt import __version__
from fatt.cli import (
    audit,
    check,
    compare,
    everybody,
    init,
    inspect,
    recourse,
    train,
    twin,
)
from fatt.cli.spelling import spelt_as_options
from fatt.cli.terminal import Exit, is_bug, say, sentence

__all__ = ["fatt", "main"]


@click.group(
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
)
@click.version_option(__version__)
@click.pass_context
def fatt(context: click.Context) -> None:
    """Prove, or refute with a concrete person, that a tree model is fair."""
    context.with_resource(spelt_as_options())
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


_COMMANDS = (
    *(init, inspect, audit, everybody, compare, recourse),
    *(twin, check, train),
)
for module in _COMMANDS:
    fatt.add_command(module.command)


@fatt.command()
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script of a SHELL.

    For bash, put this line into ~/.bashrc; likewise for the others:

        eval "$(fatt completion bash)"
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(context.find_root().command, {}, "fatt", "_FATT_COMPLETE").source())


def main() -> None:
    """Run the command, and turn every known error into one sentence."""
    lost: list[OSError] = []
    sys.stdout, sys.stderr = _forgiving(sys.stdout, lost), _forgiving(sys.stderr, [])
    code = _run()
    sys.stdout.flush()
    if lost:
        say(f"cannot write the result to the standard output: {lost[0].strerror}.")
        code = Exit.COULD_NOT_RUN
    sys.exit(code)


def _forgiving(stream: TextIO, lost: list[OSError]) -> TextIO:
    """Return a stream on which no writing fails.

    A letter that a terminal lacks is shown by its number. A reader who wants no more of
    our output, such as ``head``, leaves the exit code as it is. Any other failure, such
    as a full disk, is added to ``lost``.
    """
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    stream.reconfigure(errors="backslashreplace")
    try:
        pipe = _Pipe(stream.fileno(), "w", closefd=False)
    except io.UnsupportedOperation:
        return stream
    pipe.lost = lost
    return io.TextIOWrapper(
        io.BufferedWriter(pipe),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
    )


class _Pipe(io.FileIO):
    """What a stream writes to, as long as that is possible."""

    lost: list[OSError]

    def write(self, data: Any, /) -> int:
        """Write bytes; once that fails they, and all later ones, go nowhere."""
        try:
            return super().write(data) or 0
        except OSError as error:
            if not isinstance(error, BrokenPipeError):
                self.lost.append(error)
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
            return len(data)


def _run() -> int:
    try:
        # The result is what a command exits with, if it is help or the version.
        return int(fatt.main(prog_name="fatt", standalone_mode=False) or Exit.DONE)
    except SystemExit as end:
        # So a shell's question for completions ends.
        return Exit.COULD_NOT_RUN if end.code else Exit.DONE
    except BaseException as error:
        if is_bug(error):
            traceback.print_exc()
        say(sentence(error))
        is_stopped = isinstance(error, KeyboardInterrupt | click.Abort)
        return Exit.UNDECIDED if is_stopped else Exit.COULD_NOT_RUN
