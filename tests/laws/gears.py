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

#: Nothing but branching: neither the first look nor local search nor multipliers.
BARE = Gears(
    screen=False,
    only_tree=False,
    move_once=False,
    local_sweeps=0,
    restart_at=NEVER,
    dual_after=NEVER,
)

GEARS = {
    "defaults": Gears(),
    "no first look": Gears(screen=False, only_tree=False),
    "no local search": Gears(move_once=False, local_sweeps=0, restart_at=NEVER),
    "nothing but branching": BARE,
    "local search, but no single moves": replace(BARE, local_sweeps=1, restart_at=1),
    "any cut": replace(BARE, score_cuts=False),
    "dual at once": replace(BARE, dual_after=0),
    "dual at once, one sweep": replace(BARE, dual_after=0, dual_sweeps=1),
    "dual at once, no sweep": replace(BARE, dual_after=0, dual_sweeps=0),
    "dual at once, every sweep": replace(
        BARE, dual_after=0, dual_sweeps=60, dual_gain=999
    ),
    "dual at once, any cut": replace(BARE, dual_after=0, score_cuts=False),
    "dual late": replace(BARE, dual_after=5),
    "no room": replace(BARE, room=1, ties=0),
    "many ties": replace(BARE, dual_after=0, ties=64),
}


def some_gears(seed: int) -> list[Gears]:
    """Return the defaults, and three of the others: many seeds see all of them."""
    first, *others = GEARS.values()
    drawn = np.random.default_rng(seed).permutation(len(others))[:3]
    return [first, *(others[number] for number in drawn)]


@pytest.fixture(
    scope="module",
    autouse=True,
    params=["defaults", "dual at once", "nothing but branching"],
)
def every_gear(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let a module that imports this run its tests in several gears."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fatt.verifier.search.Gears", lambda: GEARS[request.param])
        yield
