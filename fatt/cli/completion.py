"""``fatt completion``: what a shell needs to complete our options."""

from __future__ import annotations

import click

_SHELLS = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print the completion script of a SHELL.

    For bash, put this line into ~/.bashrc; likewise for the others:

        eval "$(fatt completion bash)"
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    root = context.find_root().command
    click.echo(kind(root, {}, "fatt", "_FATT_COMPLETE").source())
