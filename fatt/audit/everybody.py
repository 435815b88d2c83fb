"""All questions about everybody at once, as the command line and its page ask them."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from fatt.everybody.answers import Answers, nearest_row
from fatt.everybody.distributions import values_of
from fatt.everybody.gap import LargestGap
from fatt.progress import Progress
from fatt.region import Space
from fatt.verdict import Of, changes_between
from fatt.verdict import values_of as named_values
from fatt.verifier import Budget

if TYPE_CHECKING:
    from fatt.audit.auditor import Auditor

#: What can be asked, in order.
QUESTIONS = ("gap", "pair", "share", "regions")
#: How long the largest gap and a pair are searched for if nothing is said.
_LIMIT = Budget(seconds=60)


def everybody(
    auditor: Auditor,
    space: Space,
    *,
    questions: Collection[str],
    of: Of | None = None,
    budget: Budget | None = None,
    chance: dict[str, Any] | None = None,
    progress: Progress | None = None,
) -> Answers:
    """Ask some questions about everybody.

    Parameters
    ----------
    auditor
        The model, and who is similar to whom.
    space
        All people that there can be.
    questions
        Some of ``"gap"``, ``"pair"``, ``"share"`` and ``"regions"``.
    of, budget
        As in `fatt.largest_gap`; by default of the probability, or of the prediction
        of a model that predicts numbers, and 60 seconds for each search.
    chance
        The arguments of `fatt.unfair_share` and `fatt.where_unfair`.
    progress
        Told how far each search is.
    """
    drawn = chance or {}
    if of is None:
        of = "probability" if auditor.model.classes else "prediction"
    if budget is None or budget == Budget():
        budget = _LIMIT
    search: dict[str, Any] = {"budget": budget, "progress": progress}
    gap = auditor.largest_gap(space, of=of, **search) if "gap" in questions else None
    pair = auditor.exists_unfair(space, **search) if "pair" in questions else None
    share = regions = None
    if "share" in questions:
        share = auditor.unfair_share(space, progress=progress, **drawn)
    if "regions" in questions:
        regions = auditor.where_unfair(space, progress=progress, **drawn)
    people = drawn.get("people", space.people)
    return Answers(
        gap=gap,
        existence=pair,
        share=share,
        regions=regions,
        nearest=_nearest(auditor, space, people, gap),
    )


def _nearest(
    auditor: Auditor, space: Space, people: Any, gap: LargestGap | None
) -> tuple[int, str] | None:
    """Return the row of a table nearest to the pair, and how it differs."""
    if gap is None or gap.pair is None or people is None:
        return None
    within = auditor.within(space)
    population = space.bind(within.variables, auditor.similarity)
    values = values_of(people, population)
    row, which = nearest_row(population, values, gap.pair.values)
    features = within.variables.ensemble.features
    one, other = gap.pair.values[which], values[row]
    changes = changes_between(
        named_values(features, one), named_values(features, other)
    )
    said = ", ".join(f"{name} {change}" for name, change in changes.items())
    return row, said or "the same person"
