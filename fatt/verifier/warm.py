"""Compile the kernels ahead of time, so that the first audit does not wait for it.

Run ``python -m fatt.verifier.warm``. What is compiled is kept on disk, per machine and
version.
"""

from __future__ import annotations

import numpy as np

from fatt.ensemble import Cut, Ensemble, Numeric, Scoring, Source, Trees
from fatt.region.boxes import Boxes
from fatt.verifier.search import Verifier


def compile_kernels() -> None:
    """Verify one person, for whom all kernels are compiled or read from the disk."""
    stump = Trees.lay_out(
        roots=[0],
        feature=[0, -1, -1],
        threshold=[0.0] * 3,
        left=[1, -1, -1],
        right=[2, -1, -1],
        missing_left=[False] * 3,
        leaf=[0, 0, 1],
        values=[0.0, 1.0],
        targets=[0],
    )
    ensemble = Ensemble(
        features=(Numeric(name="x"),),
        classes=(0, 1),
        trees=stump,
        scoring=Scoring(dtype="float64", base=(0.0,)),
        decision=Cut(at=0.5),
        source=Source(library=""),
    )
    person = np.zeros((1, 1))
    box = Boxes(
        np.zeros(1, dtype=np.int64),
        person,
        person + 1,
        np.zeros((1, 1), dtype=bool),
        np.zeros((1, 0), dtype=np.uint64),
    )
    Verifier(ensemble).verify(person, box)


if __name__ == "__main__":
    compile_kernels()
