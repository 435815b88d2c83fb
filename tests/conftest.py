"""Settings for all tests."""

from __future__ import annotations

import os

# The tests run in several processes: threads of the libraries would only fight. Tests
# about threads ask for them explicitly.
os.environ.setdefault("OMP_NUM_THREADS", "1")
