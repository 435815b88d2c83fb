"""The version of this package: it stands in `VERSION`, which the build reads too."""

from __future__ import annotations

import os

_HOME = os.path.join(os.path.dirname(__file__), "VERSION")

with open(_HOME, encoding="utf-8") as _file:
    __version__ = _file.read().strip()
