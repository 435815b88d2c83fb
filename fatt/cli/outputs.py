"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from fatt.errors import SpecError


def require_writable(path: str | None, option: str) -> None:
    """Find out before a long run whether its result can be written.

    Raises
    ------
    SpecError
        If the folder does not exist, or the path is a folder.
    """
    if path is None:
        return
    target = Path(path)
    if target.is_dir():
        raise SpecError(f"{option} {path} is a folder; name a file in it.")
    if not target.parent.is_dir():
        raise SpecError(f"{option} {path}: there is no folder {target.parent}.")
    if not os.access(target.parent, os.W_OK):
        raise SpecError(f"{option} {path}: {target.parent} cannot be written to.")


def write(path: str, text: str) -> None:
    """Write a file, whole or not at all.

    The text goes into a new file beside it, which then takes its place.
    """
    target = Path(path)
    draft = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with draft.open("xb") as file:
            file.write(text.encode("utf-8", errors="replace"))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
