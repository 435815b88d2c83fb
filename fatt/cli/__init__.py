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
from fatt.cli import audit, check, init, inspect, train, twin
from fatt.cli.spelling import as_options
from fatt.cli.terminal import Exit, printable, say
from fatt.errors import FattError

__all__ = ["fatt", "main"]


@click.group(
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
)
@click.version_option(__version__)
@click.pass_context
def fatt(context: click.Context) -> None:
    """Prove, or refute with a concrete person, that a tree model is fair."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


for module in (init, inspect, audit, twin, check, train):
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
    sys.stdout, sys.stderr = _forgiving(sys.stdout), _forgiving(sys.stderr)
    sys.exit(_run())


def _forgiving(stream: TextIO) -> TextIO:
    """Return a stream on which nothing that is written fails for want of a reader.

    A letter that a terminal lacks is shown by its number. Whoever wants no more of our
    output, such as ``head``, leaves the exit code as it is.
    """
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    stream.reconfigure(errors="backslashreplace")
    try:
        pipe = _Pipe(stream.fileno(), "w", closefd=False)
    except io.UnsupportedOperation:
        return stream
    return io.TextIOWrapper(
        io.BufferedWriter(pipe),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering,
    )


class _Pipe(io.FileIO):
    """What a stream writes to, as long as somebody reads it."""

    def write(self, data: Any, /) -> int:
        """Write bytes; without a reader they, and all later ones, go nowhere."""
        try:
            return super().write(data) or 0
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
            return len(data)


def _run() -> int:
    try:
        # The result is what a command exits with, if it is help or the version.
        code = int(fatt.main(prog_name="fatt", standalone_mode=False) or Exit.DONE)
        sys.stdout.flush()
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "fatt"
        say(f"{error.format_message()} See '{command} --help'.")
    except SystemExit as end:
        # So a shell's question for completions ends.
        if not end.code:
            return Exit.DONE
    except OSError as error:
        say(
            printable(
                f"{error.filename}: {error.strerror}." if error.filename else str(error)
            )
        )
    except (FattError, click.ClickException) as error:
        say(printable(as_options(str(error))))
    except (KeyboardInterrupt, click.Abort):
        say("interrupted before there was anything to keep.")
        return Exit.UNDECIDED
    except MemoryError:
        say("there is not enough memory; pass fewer people at a time.")
    except Exception:
        # Python's own exit code would be 1, which means that fairness is refuted.
        traceback.print_exc()
        say("this is a bug in fatt: please report it with the lines above.")
    else:
        return code
    return Exit.COULD_NOT_RUN
