"""From a table of people to trees: everything that `FATTClassifier.fit` does."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from fatt.ensemble import Categorical
from fatt.progress import watched
from fatt.train.fitness import Objective
from fatt.train.genome import leaf
from fatt.train.groups import Groups
from fatt.train.models import HeldOut, appraise
from fatt.train.optimum import MOST_LEAVES, best_small_tree, most_worth
from fatt.train.people import People
from fatt.train.result import Candidate, Front
from fatt.train.search import Search, run
from fatt.train.settings import Settings
from fatt.train.splits import variable_of
from fatt.train.teacher import MOST_PEOPLE, soft_labels
from fatt.train.training_set import UNITS, TrainingSet

#: How many people more a leaf must get right, by a teacher and by their own labels.
_SOFT_COST, _HARD_COST = 1.5, 3.0
#: A tree of so few leaves is more likely an accident than an answer.
_STUMP = 2


@dataclass(frozen=True, eq=False)
class Trained:
    """What came of a training.

    Attributes
    ----------
    best
        The tree that was chosen.
    front
        All trees that no other beats; empty if there are only constant ones.
    fairness_weight
        The weight of fairness that chose it.
    upper
        What no tree within the limits is fitter than, if that is known.
    n_iter
        How many generations there were, or passes over trees.
    all_varies
        Whether all that tells people apart varies freely, so that nothing was left.
    one_sided
        Whether all classes but one count next to nothing.
    interrupted
        Whether the user interrupted it.
    """

    best: Candidate
    front: Front
    fairness_weight: float
    upper: float | None
    n_iter: int
    all_varies: bool
    one_sided: bool
    interrupted: bool

    def complaints(self, settings: Settings) -> Iterator[str]:
        """Tell what the user would not expect of the tree."""
        best, held_out = self.best, self.best.held_out
        max_gap, min_ratio = settings.max_gap, settings.min_ratio
        if not len(self.front):
            useless = "the tree gives every person the same label: trivially fair. "
            yield useless + self._reason(settings)
            return
        if max_gap is not None and best.gap > max_gap:
            yield (
                f"no tree was found whose groups are at most {max_gap} apart; "
                f"in the closest tree they are {best.gap:.3f} apart."
            )
        elif min_ratio is not None and best.ratio < min_ratio:
            yield (
                f"no tree was found whose groups have rates in a ratio of at least "
                f"{min_ratio}; here it is {best.ratio:.3f}."
            )
        elif (
            max_gap is not None
            and held_out is not None
            and held_out.gap_interval[0] > max_gap
        ):
            low, high = held_out.gap_interval
            yield (
                f"groups are at most {max_gap} apart among the training people, but "
                f"{low:.3f} to {high:.3f} among the people held out. Lower max_gap."
            )
        elif best.fairness < (settings.min_fairness or 0):
            yield (
                f"no tree was found that treats {settings.min_fairness:.2%} of the "
                "training people fairly; this is the fairest, with "
                f"{best.fairness:.2%}."
            )
        fittest = max(self.front, key=lambda one: one.fitness)
        if best.n_leaves <= _STUMP < fittest.n_leaves and settings.asked_of_groups:
            yield (
                f"the tree has only {best.n_leaves} leaves: it is the best that was "
                f"found whose groups are close enough ({settings.said_of_groups}). Its "
                f"accuracy is {best.accuracy:.1%}; without that limit it would be "
                f"{fittest.accuracy:.1%}, with {fittest.n_leaves} leaves and a gap of "
                f"{fittest.gap:.3f}. Allow a larger gap, or choose a tree of front_."
            )

    def _reason(self, settings: Settings) -> str:
        """Return why no tree tells people apart, and what to do."""
        if self.all_varies:
            return (
                "All columns that could tell these people apart vary freely among "
                "similar people. Let the similarity vary less, or set "
                "split_on_varying=True."
            )
        if settings.algorithm == "paper":
            return (
                "Breeding found no other that lasts; give it more generations, or "
                "choose algorithm='descent'."
            )
        if self.one_sided:
            return "All classes but one have nearly no weight; try other weights."
        return (
            "No split leaves enough people on both sides; try a smaller "
            "min_samples_leaf."
        )


def train(
    people: People,
    settings: Settings,
    *,
    rng: Generator,
    n_threads: int,
    groups: Groups | None = None,
    held_out: HeldOut | None = None,
    verbose: bool = False,
    keep_interrupted: bool = False,
) -> Trained:
    """Search for the best tree.

    Parameters
    ----------
    people
        The training people.
    settings
        The parameters.
    rng
        Makes all choices.
    n_threads
        Number of threads; the result does not depend on it.
    groups
        The groups of the people whose rates are compared, if any.
    held_out
        People held out, on whom the trees are judged as well.
    verbose
        Whether to show progress.
    keep_interrupted
        Whether Ctrl-C ends the search with what was found, if anything was.
    """
    end = time.monotonic() + settings.max_seconds
    training_set = TrainingSet.of(
        people,
        max_bins=settings.max_bins,
        split_on_varying=settings.split_on_varying,
    )
    objective = _objective(people, training_set, settings, rng, n_threads)
    objective = replace(objective, groups=groups)
    interrupted, upper = False, None
    with watched(verbose, "training") as progress:
        search = Search(objective, settings, rng, end, progress, n_threads)
        try:
            run(search)
            upper = _upper_bound(search, people)
        except KeyboardInterrupt:
            if not keep_interrupted or not len(search.archive):
                raise
            interrupted = True
    objective = search.objective
    found = [
        appraise(scored.tree, objective, people, held_out) for scored in search.archive
    ]
    if found:
        best = _chosen(found, settings)
    else:
        majority = leaf(int(np.argmax(people.worth.sum(axis=0))))
        best = appraise(majority, objective, people, held_out)
    return Trained(
        best,
        Front(found, chosen=best),
        objective.fairness_weight,
        upper,
        search.n_iter,
        not training_set.n_splits and training_set.n_left_out > 0,
        objective.is_one_sided,
        interrupted,
    )


def _upper_bound(search: Search, people: People) -> float | None:
    """Return what no tree is fitter than; if it must be small, look for the best."""
    settings, objective = search.settings, search.objective
    if (
        settings.algorithm == "paper"
        or objective.groups is not None
        or objective.is_one_sided
    ):
        return None
    if settings.max_leaves > MOST_LEAVES:
        return most_worth(objective, 2) / UNITS + objective.fairness_weight
    found = best_small_tree(
        objective,
        # The verifier may still find these to be treated fairly.
        np.where(people.has_gaps, 0, objective.cost),
        start=next((one.tree for one in search.best(1)), None),
        is_over=search.is_over,
        is_timed=np.isfinite(settings.max_seconds),
    )
    if found.tree is None:
        return None
    search.archive.add([objective.score(found.tree)])
    return found.upper / UNITS + objective.fairness_weight


def _chosen(front: list[Candidate], settings: Settings) -> Candidate:
    """Return the fittest tree that is fair enough, else the fairest.

    Groups must be close by a margin of their error; else without it; else the closest
    ones count.
    """

    def distance(one: Candidate) -> float:
        return one.gap if settings.min_ratio is None else 1 - one.ratio

    close = [
        one
        for one in front
        if settings.is_close(one.gap, one.gap_error, one.ratio, one.ratio_error)
    ] or [one for one in front if settings.is_close(one.gap, 0.0, one.ratio, 0.0)]
    if not close:
        least = min(map(distance, front))
        close = [one for one in front if distance(one) == least]
    most = max(candidate.fairness for candidate in close)
    wanted = min(most, settings.min_fairness or 0.0)
    fair = [one for one in close if one.fairness >= wanted]
    return max(fair, key=lambda one: one.fitness)


def _objective(
    people: People,
    training_set: TrainingSet,
    settings: Settings,
    rng: Generator,
    n_threads: int,
) -> Objective:
    """Return what the search maximises, at its first weight."""
    seed = int(rng.integers(2**31))
    taught = None
    if settings.algorithm == "descent" and len(people.codes) <= MOST_PEOPLE:
        place = variable_of(people.variables.schema, people.variables.model)
        used = sorted({place[split.column] for split in training_set.splits})
        features = people.variables.ensemble.features
        taught = soft_labels(
            people.values[:, used],
            people.codes,
            people.weights,
            n_categories=np.array(
                [f.n_codes if isinstance(f, Categorical) else 0 for f in features]
            )[used],
            seed=seed,
            n_threads=n_threads,
        )
    worth = people.worth if taught is None else people.valued(taught)
    cost = settings.leaf_cost
    if cost is None:
        cost = _HARD_COST if taught is None else _SOFT_COST
    return Objective(
        training_set,
        np.rint(worth * UNITS).astype(np.int64),
        settings.first_weight,
        cost,
        settings.limits,
    )
