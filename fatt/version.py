"""The version of this package: it stands in `VERSION`, which the build reads too."""

from __future__ import annotations

import os

with open(
    os.path.join(os.path.dirname(__file__), "VERSION"), encoding="utf-8"
) as _file:
    __version__ = _file.read().strip()
