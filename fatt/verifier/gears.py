"""Where the search changes gear: cheap steps first, the costly ones when it gets long.

No gear changes a verdict, only how soon it is found. Tests turn each of them on from
the first node, and off, since most searches end before the late ones begin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, kw_only=True)
class Gears:
    """The thresholds of the search; the kernels read them in this order.

    Attributes
    ----------
    screen
        Whether the sum of the best leaves may decide alone, before anything else.
    only_tree
        Whether the leaves of a model with one tree are walked, instead of searched.
    step
        Whether single changes of the person are tried first.
    climb
        Sweeps of a local search, at most; 0 leaves the point where it starts.
    climb_again
        The node at which local search starts anew; then at twice that, and so on.
    weigh
        Whether cuts are weighed, so that losing classes go and the best cut is taken;
        else the first cut that parts the leaves of a tree is.
    patience
        Nodes after which the search is taken for a long one, and trees bargain.
    sweeps, least_gain
        Sweeps of the bargain, at most, and the share of the slack each must gain.
    room
        Rows, leaves and constraints for which room is made at first.
    doubts
        How many points in doubt are kept for one person.
    """

    screen: bool = True
    only_tree: bool = True
    step: bool = True
    climb: int = 25
    climb_again: int = 1
    weigh: bool = True
    patience: int = 64
    sweeps: int = 24
    least_gain: int = 32
    room: int = 16
    doubts: int = 4


class Tally(NamedTuple):
    """How often a search was in each gear.

    Attributes
    ----------
    screened
        Boxes that the first look decided.
    walked
        Boxes in which the only tree was walked.
    stepped
        Rivals against whom single changes were tried.
    climbed
        Local searches that started anew.
    dropped
        Parts from which losing classes went.
    parted
        Cuts that were taken without weighing.
    bargained, priced_out
        Parts in which the trees bargained, and those closed by that.
    grew
        How often more cuts were open than there was room for.
    """

    screened: int
    walked: int
    stepped: int
    climbed: int
    dropped: int
    parted: int
    bargained: int
    priced_out: int
    grew: int
