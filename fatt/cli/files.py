"""The files of a command: whatever it writes is none that it reads, nor written twice.

A parameter of the type `Written` is written, every other `click.Path` is read. The file
of ``--spec`` names more that are read.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from fatt.cli.terminal import say, sentence
from fatt.errors import SpecError
from fatt.storage import require_writable, write_text

#: How a file of tests begins.
_TESTS = re.compile(rb"(\xef\xbb\xbf)?\s*(<\?xml[^>]*>)?\s*<testsuite")


class Written(click.Path):
    """The type of an option that names a file to write."""


class Command(click.Command):
    """A subcommand that spoils no file, and whose tests say if it could not run."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Parse the words; if they are wrong, the file of ``--junit`` says so."""
        given = list(args)
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.UsageError as error:
            extra |= {"resilient_parsing": True, "ignore_unknown_options": True}
            _fail_tests(super().make_context(info_name, given, parent, **extra), error)
            raise

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, once its files are known to stand apart."""
        try:
            for option, path in _named(ctx, written=True):
                require_writable(path, option)
                _require_apart(ctx, option, path)
            return super().invoke(ctx)
        except click.exceptions.Exit:
            raise
        except BaseException as error:
            _fail_tests(ctx, error)
            raise


def _named(ctx: click.Context, *, written: bool) -> Iterator[tuple[str, str]]:
    """Yield each parameter that names files, written or read, and their paths."""
    for param in ctx.command.params:
        given = ctx.params.get(param.name or "")
        if given is None or not isinstance(param.type, click.Path):
            continue
        if isinstance(param.type, Written) is written:
            is_option = isinstance(param, click.Option)
            name = param.opts[0] if is_option else param.human_readable_name
            paths = given if isinstance(given, tuple) else (given,)
            yield from ((name, path) for path in paths)


def _in_spec(path: str | None) -> Iterator[tuple[str, str]]:
    """Yield the files that the file of ``--spec`` names."""
    from fatt.cli.spec import Spec, read_spec

    spec = Spec()
    with contextlib.suppress(SpecError):  # The command itself will say so.
        spec = read_spec(path)
    said = spec.audit
    named = [("model", said.model), ("people", said.people)]
    for key, file in [*named, *(("prepare", one) for one in said.prepare)]:
        if file is not None:
            yield f"{key} in [audit] of {path}", file


def _require_apart(ctx: click.Context, option: str, path: str) -> None:
    """Refuse to write a file that is read, or that another option writes."""
    for name, other in _named(ctx, written=True):
        if name != option and _is_same(path, other):
            raise SpecError(
                f"{option} {path} and {name} {other} are the same file; name two."
            )
    for source in (_named(ctx, written=False), _in_spec(ctx.params.get("spec"))):
        for name, other in source:
            if _is_same(path, other):
                raise SpecError(
                    f"{option} {path} is the file that is read as {name}, and would be "
                    "overwritten; name another file."
                )


def _is_same(one: str, other: str) -> bool:
    """Tell whether two paths lead to one file that could be lost, also by links."""
    try:
        return os.path.samefile(one, other) and Path(one).is_file()
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)


def _fail_tests(ctx: click.Context, error: BaseException) -> None:
    """Let no file of tests say what an earlier run found, if this one cannot end."""
    path = ctx.params.get("junit")
    if path is None:
        return
    from fatt.cli.junit import failed_run

    with contextlib.suppress(OSError, SpecError):
        _require_apart(ctx, "--junit", path)
        if _is_precious(path):
            say(f"--junit {path} stays as it is, since it is no file of tests.")
        else:
            write_text(path, failed_run(sentence(error)))


def _is_precious(path: str) -> bool:
    """Tell whether there is a file that holds anything but tests.

    A command that could not run may not know all that it would have read.
    """
    if not Path(path).is_file():
        return False
    with Path(path).open("rb") as file:
        begin = file.read(4096)
    return bool(begin.strip()) and _TESTS.match(begin) is None
