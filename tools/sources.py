#!/usr/bin/env python3
"""Tell the build what it cannot know: ``sources.py version``, or ``leftovers``.

The version stands in `fatt/version.py` only. Leftovers are files in the package that
tell how it is built, or were made by running or building it: they are not to be
installed.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "fatt"
MADE = {".pyc", ".nbi", ".nbc", ".so", ".pyd", ".c", ".build"}


def version() -> str:
    """Return the version of the package."""
    text = (PACKAGE / "version.py").read_text(encoding="utf-8")
    found = re.search(r'__version__ = "(.+)"', text)
    assert found is not None
    return found[1]


def leftovers() -> str:
    """Return the paths of files that are not to be installed, one per line."""
    made = sorted(path for path in PACKAGE.rglob("*") if path.suffix in MADE)
    return "\n".join(path.relative_to(PACKAGE).as_posix() for path in made)


if __name__ == "__main__":
    sys.stdout.write({"version": version, "leftovers": leftovers}[sys.argv[1]]())
