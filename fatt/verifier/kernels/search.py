"""The kernel that Python calls: decide a range of people, one after the other."""

from __future__ import annotations

import numpy as np

from fatt.verdict import FAIR, UNFAIR, UNKNOWN
from fatt.verifier.kernels.band import needed, score_error
from fatt.verifier.kernels.branch import FOUND, STOPPED, branch
from fatt.verifier.kernels.climb import (
    climb_of,
    descend,
    stand,
    start_at_person,
    step_once,
)
from fatt.verifier.kernels.compact import compact
from fatt.verifier.kernels.compiled import inner, kernel, once
from fatt.verifier.kernels.extract import enter, extract
from fatt.verifier.kernels.lead import lead_of
from fatt.verifier.kernels.records import (
    CODES,
    LARGEST,
    NOW,
    ONLY_TREE,
    SCREEN,
    SCREENED,
    STEP,
    STEPPED,
    STOP,
    TIME,
    USED,
    WALKED,
)
from fatt.verifier.kernels.screen import rank_of, screen
from fatt.verifier.kernels.sets import copy
from fatt.verifier.kernels.single import decide_tree

#: Less than any exponent of a bit: nothing is known to be a whole number of steps.
NO_STEP = -5000


@inner
def _own_cells(variables, cuts, person, cell):
    """Write the cell of each of a person's values."""
    for index in range(len(variables)):
        variable, value = variables[index], person[index]
        if value != value:
            cell[index] = variable.n_cells
        elif variable.kind == CODES:
            cell[index] = np.int64(value)
        else:
            cell[index] = rank_of(cuts, variable.cut_start, variable.cut_end, value)


@inner
def _least_bit(library, leaves):
    """Return the exponent of the last bit of all values that a box reaches."""
    least = np.int64(library.bases[0].trailing)
    for output in range(len(library.bases)):
        least = min(least, library.bases[output].trailing)
    for leaf in range(len(leaves) - 1):
        least = min(least, library.trailing[leaves[leaf].row])
    return least


@inner
def _write_cells(problem, point, first, last):
    """Write the cells of the variables in which a point differs from the person."""
    first[:] = -1
    last[:] = -1
    for number in range(len(problem.facts)):
        fact = problem.facts[number]
        if point[number] != fact.own:
            taken = problem.classes[fact.class_start + point[number]]
            first[fact.variable] = taken.first
            last[fact.variable] = taken.last


@once
def _open_rivals(library, totals, own, rivals, until):
    """List the classes that the first look does not exclude; return their number."""
    count = 0
    for rival in range(len(rivals)):
        if rival != own:
            may, _ = needed(library.rule[0], totals, own, rival, NO_STEP)
            if totals[rival].lead >= may or until[SCREEN] == 0:
                rivals[count] = rival
                count += 1
    return count


@inner
def _keep_doubts(problem, answers, person, box, count, points):
    """Keep the points that could not be told for the library's own functions."""
    for doubt in range(min(count, len(points))):
        at = answers.doubts[person]
        if at < answers.doubt_box.shape[1]:
            answers.doubt_box[person, at] = box
            first, last = (
                answers.doubt_first[person, at],
                answers.doubt_last[person, at],
            )
            _write_cells(problem, points[doubt], first, last)
        answers.doubts[person] += 1


@once
def _bounds_of(regions, box):
    return (
        regions.lower[box],
        regions.upper[box],
        regions.missing[box],
        regions.codes[box],
    )


@once
def _enter(forest, regions, person, box, scratch):
    """Bring a box and its person into rank space."""
    variables, cuts = forest.variables, forest.cuts
    bounds = _bounds_of(regions, box)
    enter(variables, cuts, bounds, scratch.ranges, scratch.cells)
    _own_cells(variables, cuts, regions.people[person], scratch.own_cell)


@once
def _problem_of(forest, regions, person, box, scratch):
    """Collect what matters in a box: the leaves that it reaches, in compact form."""
    _enter(forest, regions, person, box, scratch)
    ranges, cells = scratch.ranges, scratch.cells
    reached = extract(forest, scratch)
    return compact(forest.variables, ranges, cells, reached, scratch.own_cell)


@once
def _ask_rival(library, problem, lead, scratch, clock):
    """Find out whether a rival can win; the climb returned stands where it does."""
    climb = climb_of(problem, lead.order)
    start_at_person(problem, lead, climb)
    scratch.doubts[0] = 0
    if scratch.until[LARGEST] == 0 and scratch.until[STEP] != 0:
        scratch.used[STEPPED] += 1
        if step_once(problem, lead, climb):
            return FOUND, climb.total[0], climb
    doubts = (scratch.doubts, scratch.points)
    limits = (scratch.until, clock, scratch.used)
    outcome, bound = branch(
        library, problem, lead, climb, scratch.chosen, doubts, limits
    )
    return outcome, bound, climb


@once
def _decide_only_tree(forest, library, regions, answers, person, box, scratch):
    """Tell, for one box, whether the only tree gives another label somewhere."""
    own, labels = regions.label[person], library.labels
    _enter(forest, regions, person, box, scratch)
    scratch.used[WALKED] += 1
    first, last = answers.first[person], answers.last[person]
    if not decide_tree(forest, labels, own, scratch, answers.possible[person], first):
        return FAIR
    last[:] = first
    answers.box[person] = box
    return UNFAIR


@once
def _decide_box(forest, library, regions, answers, person, box, scratch, clock):
    """Exclude, for one box, the rivals that cannot win; stop at the first that wins.

    Returns `UNFAIR` if a rival wins, `UNKNOWN` if one may win, else `FAIR`.
    """
    own, totals, rivals = regions.label[person], scratch.totals, scratch.rivals
    screen(forest, library, regions, box, own, scratch)
    n_open = _open_rivals(library, totals, own, rivals, scratch.until)
    if n_open == 0:
        scratch.used[SCREENED] += 1
        return FAIR
    problem = _problem_of(forest, regions, person, box, scratch)
    trailing = _least_bit(library, problem.leaves)
    verdict = FAIR
    for place in range(n_open):
        rival = rivals[place]
        may, surely = needed(library.rule[0], totals, own, rival, trailing)
        if totals[rival].lead < may and scratch.until[SCREEN] != 0:
            continue
        lead = lead_of(library, problem, own, rival, may, surely)
        outcome, _, climb = _ask_rival(library, problem, lead, scratch, clock)
        if outcome == FOUND:
            answers.box[person] = box
            descend(problem, climb, surely)
            first, last = answers.first[person], answers.last[person]
            _write_cells(problem, climb.point, first, last)
            # Rivals behind this one are not asked.
            for other in range(place, n_open):
                answers.possible[person, rivals[other]] = True
            return UNFAIR
        count = scratch.doubts[0]
        if outcome == STOPPED or count > 0:
            answers.possible[person, rival] = True
            verdict = UNKNOWN
        _keep_doubts(problem, answers, person, box, count, scratch.points)
    return verdict


@once
def _stretch_box(forest, library, regions, answers, person, box, scratch, clock):
    """Look in one box for a larger lead than the largest so far."""
    own, totals = regions.label[person], scratch.totals
    screen(forest, library, regions, box, own, scratch)
    rival, least = 1 - own, answers.lead[person] + 1
    # The library may round the scores of a box up to what another box holds.
    error = score_error(library.rule[0], totals[0], NO_STEP)
    if totals[rival].lead + error < least - 1 and scratch.until[SCREEN] != 0:
        scratch.used[SCREENED] += 1
        return
    problem = _problem_of(forest, regions, person, box, scratch)
    trailing = _least_bit(library, problem.leaves)
    error = score_error(library.rule[0], totals[0], trailing)
    answers.error[person] = max(answers.error[person], error)
    lead = lead_of(library, problem, own, rival, least, least)
    _, bound, climb = _ask_rival(library, problem, lead, scratch, clock)
    stand(problem, lead, climb)
    answers.bound[person] = max(answers.bound[person], bound)
    if climb.total[0] >= least:
        answers.lead[person] = climb.total[0]
        answers.box[person] = box
        first, last = answers.first[person], answers.last[person]
        _write_cells(problem, climb.point, first, last)


@kernel
def search(forest, library, regions, answers, scratch, begin, end, limits, clock):
    """Decide the people from `begin` to before `end`.

    Parameters
    ----------
    forest, library
        The ensemble.
    regions
        The people and their boxes.
    answers
        Receives the answers.
    scratch
        What `scratch_for` returned.
    limits
        The most nodes and milliseconds for a person, and whether to look for the
        largest lead, of the only score over its negative (class 1) or the other way;
        then where the search changes gear.
    clock
        The milliseconds since the start, and whether to stop: another thread writes it.
    """
    for person in range(begin, end):
        if answers.verdict[person] != UNKNOWN:
            # The first look at the only tree was enough.
            continue
        answers.possible[person, :] = False
        answers.possible[person, regions.label[person]] = True
        answers.verdict[person] = FAIR
        scratch.used[USED] = 0
        copy(limits, scratch.until)
        scratch.until[TIME] += clock[NOW]
        for box in range(regions.start[person], regions.start[person + 1]):
            if limits[LARGEST] != 0:
                _stretch_box(
                    forest, library, regions, answers, person, box, scratch, clock
                )
                continue
            verdict = UNKNOWN
            is_walk = len(library.labels) > 0 and limits[ONLY_TREE] != 0
            if clock[STOP] == 0 and is_walk:
                verdict = _decide_only_tree(
                    forest, library, regions, answers, person, box, scratch
                )
            elif clock[STOP] == 0:
                verdict = _decide_box(
                    forest, library, regions, answers, person, box, scratch, clock
                )
            else:
                answers.possible[person, :] = True
            if verdict != FAIR:
                answers.verdict[person] = verdict
            if verdict == UNFAIR:
                # Boxes behind this one are not looked at.
                if box + 1 < regions.start[person + 1]:
                    answers.possible[person, :] = True
                break
        answers.nodes[person] = scratch.used[USED]
