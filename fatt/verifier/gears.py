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
    move_once
        Whether single changes of the person are tried first.
    local_sweeps
        Sweeps of a local search, at most; 0 leaves the point where it starts.
    restart_at
        The node at which local search starts anew; then at twice that, and so on.
    score_cuts
        Whether cuts are scored by what both sides lose, so that losing blocks go and
        the best cut is taken; else the first cut that parts the leaves of a tree is.
    dual_after
        Nodes after which the search is taken for a long one, and dual ascent begins.
    dual_sweeps, dual_gain
        Sweeps of a dual ascent, at most, and the share of the slack each must gain.
    quotes
        Whether a budget is weighed against what the trees gain, at every node.
    priced_after, priced_sweeps
        With a budget, in place of `dual_after` and `dual_sweeps`: the plain bound is
        weak there, so that dual ascent begins sooner.
    room
        Rows, leaves and constraints for which room is made at first.
    ties
        How many points that the library's own functions must tell are kept for one
        person.
    """

    screen: bool = True
    only_tree: bool = True
    move_once: bool = True
    local_sweeps: int = 25
    restart_at: int = 1
    score_cuts: bool = True
    dual_after: int = 64
    dual_sweeps: int = 24
    dual_gain: int = 32
    quotes: bool = True
    priced_after: int = 6
    priced_sweeps: int = 16
    room: int = 16
    ties: int = 4


class Tally(NamedTuple):
    """How often a search was in each gear.

    Attributes
    ----------
    screened
        Boxes that the first look decided.
    walked
        Boxes in which the only tree was walked.
    moved_once
        Rivals against whom single changes were tried.
    restarted
        Local searches that started anew.
    filtered
        Nodes at which losing blocks left the domains.
    unscored
        Cuts that were taken without a score.
    dual_ascents, dual_closed
        Nodes at which the multipliers moved, and those that were closed by that.
    grew
        How often more cuts were open than there was room for.
    """

    screened: int
    walked: int
    moved_once: int
    restarted: int
    filtered: int
    unscored: int
    dual_ascents: int
    dual_closed: int
    grew: int
