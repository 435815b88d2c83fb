"""Settings for all tests."""

from __future__ import annotations

import os
import signal

# The tests run in several processes: threads of the libraries would only fight. Tests
# about threads ask for them explicitly.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Shells make what they start in the background deaf to Ctrl-C, which some tests press.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Changed kernels are built at the first import. The first process does it here, before
# others start that would all build at once.
import fatt.ensemble  # noqa: E402, F401

pytest_plugins = ["tests.refusals"]
