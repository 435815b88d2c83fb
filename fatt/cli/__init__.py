"""The ``fatt`` command: each subcommand is a module of its own, but for completion.

Results go to stdout, progress and messages to stderr; `Exit` lists the exit codes.
Nothing heavy is imported before it is needed, so that ``--help`` is fast.
"""

from __future__ import annotations

import io
import os
import sys
import traceback

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
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that lacks a letter of a name shows its number instead.
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.exit(_run())


def _run() -> int:
    try:
        # The result is what a command exits with, if it is help or the version.
        code = int(fatt.main(prog_name="fatt", standalone_mode=False) or Exit.DONE)
        sys.stdout.flush()
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "fatt"
        say(f"{error.format_message()} See '{command} --help'.")
    except SystemExit as end:
        # So a shell's question for completions ends; and with 1, which would mean that
        # fairness is refuted, if whoever read our output wants no more.
        if not end.code:
            return Exit.DONE
        _forget_output()
    except BrokenPipeError:
        _forget_output()
    except (FattError, OSError, click.ClickException) as error:
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


def _forget_output() -> None:
    """Keep Python from complaining that nobody reads what is left to be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
