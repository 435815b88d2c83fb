"""A part that takes its time, and leaves a trace of each batch."""

from __future__ import annotations

import os
import time
import uuid
from pathlib import Path
from typing import Any

from fatt import Part


class Slow(Part):
    """Workers can be killed while it works."""

    def __call__(self, batch: Any) -> Any:
        folder = os.environ.get("FATT_TEST_TRACES")
        if folder and len(batch):
            (Path(folder) / f"{os.getpid()}-{uuid.uuid4()}").touch()
            time.sleep(0.3)
        return super().__call__(batch)
