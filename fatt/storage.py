"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Iterator
from pathlib import Path

from fatt.errors import SpecError


def write(path: str | Path, data: bytes) -> None:
    """Write a file, whole or not at all.

    Parameters
    ----------
    path
        The file; one that exists is replaced.
    data
        Its bytes.

    Raises
    ------
    OSError
        If it cannot be written; then what was there before is there still.
    """
    with draft_of(path) as draft:
        draft.write_bytes(data)


def write_text(path: str | Path, text: str) -> None:
    """Write a text in UTF-8, whole or not at all; half a surrogate becomes ``?``."""
    write(path, text.encode("utf-8", errors="replace"))


@contextlib.contextmanager
def draft_of(path: str | Path) -> Iterator[Path]:
    """Yield a new file beside a place, which takes that place when all went well.

    Several processes may write the same file: one of them wins, whole. A device or a
    pipe, such as ``/dev/stdout``, cannot be replaced, and is yielded itself.

    Raises
    ------
    OSError
        If it cannot be written. The error names the file.
    """
    target = Path(path)
    is_special = target.exists() and not target.is_file()
    name = f".{target.name}.{uuid.uuid4().hex}.part"
    draft = target if is_special else target.with_name(name)
    try:
        yield draft
        if not is_special:
            with draft.open("rb+") as file:
                os.fsync(file.fileno())
            draft.replace(target)
    except OSError as error:
        error.filename = str(path)
        raise
    finally:
        if not is_special:
            draft.unlink(missing_ok=True)


def require_writable(path: str, option: str) -> None:
    """Find out before a long run whether its result can be written.

    Parameters
    ----------
    path
        Where it is to be written.
    option
        What named the path, for the message.

    Raises
    ------
    SpecError
        If the folder does not exist, or the path is a folder.
    """
    target = Path(path)
    if target.is_dir():
        raise SpecError(f"{option} {path} is a folder; name a file in it.")
    if not target.parent.is_dir():
        raise SpecError(f"{option} {path}: there is no folder {target.parent}.")
    if not os.access(target.parent, os.W_OK):
        raise SpecError(f"{option} {path}: {target.parent} cannot be written to.")
