"""Settings for all tests."""

from __future__ import annotations

import os
import signal

# The tests run in several processes: threads of the libraries would only fight. Tests
# about threads ask for them explicitly.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Shells make what they start in the background deaf to Ctrl-C, which some tests press.
signal.signal(signal.SIGINT, signal.default_int_handler)
