"""The gears of the search, each from the first node on, and each off.

Drawn cases mostly end before the later gears begin; here nothing cheap comes first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from fatt.verifier.gears import Gears

NEVER = 2**60

#: Nothing but branching: neither the first look nor local search nor prices.
BARE = Gears(
    screen=False,
    only_tree=False,
    step=False,
    climb=0,
    climb_again=NEVER,
    patience=NEVER,
)

GEARS = {
    "defaults": Gears(),
    "no first look": Gears(screen=False, only_tree=False),
    "no local search": Gears(step=False, climb=0, climb_again=NEVER),
    "nothing but branching": BARE,
    "no steps, but a climb": replace(BARE, climb=1, climb_again=1),
    "any cut": replace(BARE, weigh=False),
    "prices at once": replace(BARE, patience=0),
    "prices at once, one sweep": replace(BARE, patience=0, sweeps=1),
    "prices at once, no sweep": replace(BARE, patience=0, sweeps=0),
    "prices at once, every sweep": replace(BARE, patience=0, sweeps=60, least_gain=999),
    "prices at once, any cut": replace(BARE, patience=0, weigh=False),
    "prices late": replace(BARE, patience=5),
    "no room": replace(BARE, room=1, doubts=0),
    "many doubts": replace(BARE, patience=0, doubts=64),
}


def some_gears(seed: int) -> list[Gears]:
    """Return the defaults, and three of the others: many seeds see all of them."""
    first, *others = GEARS.values()
    drawn = np.random.default_rng(seed).permutation(len(others))[:3]
    return [first, *(others[number] for number in drawn)]


@pytest.fixture(
    scope="module",
    autouse=True,
    params=["defaults", "prices at once", "nothing but branching"],
)
def every_gear(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let a module that imports this run its tests in several gears."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fatt.verifier.search.Gears", lambda: GEARS[request.param])
        yield
