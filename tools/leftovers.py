"""List the files of the package that are not to be installed.

They tell how it is built, or were made by running or building it.
"""

from __future__ import annotations

import sys
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "fatt"
SUFFIXES = {".build", ".c", ".pyc", ".pyd", ".so"}

if __name__ == "__main__":
    found = sorted(path for path in PACKAGE.rglob("*") if path.suffix in SUFFIXES)
    paths = [path.relative_to(PACKAGE).as_posix() for path in found]
    sys.stdout.write("\n".join(paths))
