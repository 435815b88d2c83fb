"""The base of all plain data in an ensemble."""

from __future__ import annotations

import msgspec


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Immutable named values that can be written to a file and read back strictly."""
