"""From a table of people to trees: everything that `FATTClassifier.fit` does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from fatt.ensemble import Categorical, Ensemble
from fatt.region import Boxes, Neighbourhood, Relation, Schema, Variables
from fatt.region.flags import refuse_broken_groups
from fatt.train import genetic, memetic
from fatt.train.assemble import assemble
from fatt.train.bits import Target
from fatt.train.candidates import Portable, Split, candidates
from fatt.train.exact import confirm, has_gaps
from fatt.train.front import Archive
from fatt.train.genome import Genome, depth_of, leaf
from fatt.train.hints import Hints
from fatt.train.objective import Objective, Scored
from fatt.train.problem import Problem
from fatt.train.progress import Deadline, ProgressBar
from fatt.train.result import Candidate, Front
from fatt.train.settings import Settings
from fatt.train.teacher import MOST_PEOPLE, soft_labels
from fatt.train.workers import Workers

Matrix = NDArray[np.float64]

#: How much the teacher's word counts against a person's own label.
_TRUST = 0.5


@dataclass(frozen=True, eq=False)
class People:
    """The training people.

    Attributes
    ----------
    variables
        A model without splits that reads their columns, in the schema's variables.
    rows, values
        The people, in the columns of the model and in the variables.
    boxes
        Where they may move.
    has_gaps
        Whose boxes are too complicated for the search; see `fatt.train.exact`.
    codes
        Their classes.
    weights
        Their weights.
    worth : ndarray of shape (n_people, n_classes)
        What each label is worth; the right labels are worth 1 together.
    """

    variables: Variables
    rows: Matrix
    values: Matrix
    boxes: Boxes
    has_gaps: NDArray[np.bool_]
    codes: NDArray[np.int64]
    weights: Matrix
    worth: Matrix


@dataclass(frozen=True, eq=False)
class Trained:
    """What came of a training.

    Attributes
    ----------
    best
        The tree that was chosen.
    front
        All trees that no other beats; empty if there are only constant ones.
    n_iter
        How many generations there were.
    interrupted
        Whether the user interrupted it.
    """

    best: Candidate
    front: Front
    n_iter: int
    interrupted: bool


def gather_people(
    X: Any,
    codes: NDArray[np.int64],
    weights: Matrix,
    class_weights: Matrix,
    *,
    blank: Ensemble,
    schema: Schema,
    similarity: Relation,
    balance: float,
) -> People:
    """Read the training people.

    Parameters
    ----------
    X
        The table.
    codes, weights
        The class and the weight of each person.
    class_weights : ndarray of shape (n_classes,)
        What the people of each class count in addition.
    blank
        A model without splits that reads the table.
    schema
        What its columns mean.
    similarity
        Who is similar to whom.
    balance
        From 0, where everybody counts alike, to 1, where every class does.
    """
    variables = Variables(blank, schema)
    refuse_broken_groups(similarity, variables, X)
    rows = blank.read(X)
    values = variables.gather(rows)
    boxes = Neighbourhood(similarity, variables).boxes(values)
    n_classes = len(class_weights)
    by_class = np.bincount(codes, weights=weights, minlength=n_classes)
    shares = np.where(by_class > 0, 1 / np.count_nonzero(by_class), 0)
    scale = (1 - balance) / by_class.sum() + balance * np.divide(
        shares, by_class, out=np.zeros(n_classes), where=by_class > 0
    )
    worth = np.zeros((len(codes), n_classes))
    worth[np.arange(len(codes)), codes] = weights * (class_weights * scale)[codes]
    worth /= worth.sum()
    gaps = has_gaps(boxes, variables.ensemble.features, len(values))
    return People(variables, rows, values, boxes, gaps, codes, weights, worth)


def train(
    people: People,
    settings: Settings,
    *,
    rng: Generator,
    n_threads: int,
    earlier: Sequence[Portable] = (),
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
    earlier
        Trees of an earlier training to start from.
    verbose
        Whether to show progress.
    keep_interrupted
        Whether Ctrl-C ends the search with what was found, if anything was.
    """
    deadline = Deadline(settings.max_seconds)
    seed = int(rng.integers(2**31))
    splits = candidates(
        people.variables,
        people.rows,
        people.boxes,
        people.worth,
        max_bins=settings.max_bins,
        others=[item for tree in earlier for item in tree if isinstance(item, Split)],
    )
    with Workers(n_threads) as workers:
        problem = Problem.of(
            people.variables,
            people.values,
            people.boxes,
            splits,
            people.weights,
            workers=workers,
        )
        targets = _targets(people, settings, seed, n_threads)
        objective = Objective(
            problem,
            targets[-1],
            settings.fairness_weight,
            settings.leaf_cost * (1 - settings.fairness_weight) / problem.n_people,
            settings.limits,
        )
        first = _first_trees(objective, targets, settings, rng, deadline)
        first += [splits.genome(tree) for tree in earlier]
        archive = Archive()
        evolve = memetic.evolve if settings.algorithm == "memetic" else genetic.evolve
        watched = _watch(
            evolve(objective, archive, first, rng, settings.operators),
            settings,
            deadline,
            verbose=verbose,
            keep_interrupted=keep_interrupted,
        )
        found = [_candidate(scored, problem, people) for scored in archive]
        majority = leaf(int(np.argmax(people.worth.sum(axis=0))))
        constant = _candidate(objective.score([majority])[0], problem, people)
    front = Front(found)
    best = front.select() if found else constant
    return Trained(best, front, watched.n_iter, watched.interrupted)


class _Watched(NamedTuple):
    n_iter: int
    interrupted: bool


def _watch(
    generations: Iterator[Scored],
    settings: Settings,
    deadline: Deadline,
    *,
    verbose: bool,
    keep_interrupted: bool,
) -> _Watched:
    """Let generations follow each other until it is time to stop."""
    bar = ProgressBar(settings.max_iter, is_on=verbose)
    n_iter, best, stale = -1, -np.inf, 0
    try:
        for n_iter, leader in enumerate(generations):
            bar.show(n_iter, leader)
            stale = 0 if leader.fitness > best else stale + 1
            best = max(best, leader.fitness)
            if (
                n_iter >= settings.max_iter
                or stale >= settings.n_iter_no_change
                or deadline.is_over()
            ):
                break
    except KeyboardInterrupt:
        if n_iter < 0 or not keep_interrupted:
            raise
        return _Watched(n_iter, interrupted=True)
    finally:
        bar.close()
    return _Watched(n_iter, interrupted=False)


def _targets(
    people: People, settings: Settings, seed: int, n_threads: int
) -> list[Target]:
    """Return what labels are worth, and the same as a teacher sees it."""
    truth = Target.of(people.worth)
    if settings.algorithm == "paper" or len(people.codes) > MOST_PEOPLE:
        return [truth]
    features = people.variables.ensemble.features
    taught = soft_labels(
        people.values,
        people.codes,
        people.weights,
        n_categories=np.array(
            [f.n_codes if isinstance(f, Categorical) else 0 for f in features]
        ),
        seed=seed,
        n_threads=n_threads,
    )
    if taught is None:
        return [truth]
    # What a label is worth to a person who has it.
    price = people.worth.max(axis=0, where=people.weights[:, np.newaxis] > 0, initial=0)
    soft = (1 - _TRUST) * people.worth + _TRUST * taught * price
    return [truth, Target.of(soft)]


def _first_trees(
    objective: Objective,
    targets: Sequence[Target],
    settings: Settings,
    rng: Generator,
    deadline: Deadline,
) -> list[Genome]:
    if settings.initial == "grown":
        return memetic.first_trees(objective, targets, deadline)
    if settings.initial == "forest":
        return genetic.forest_trees(objective, settings.population_size, rng)
    return [leaf(0) for _ in range(settings.population_size)]


def _candidate(scored: Scored, problem: Problem, people: People) -> Candidate:
    """Tell exactly what a tree is worth."""
    blank = people.variables.model
    ensemble = assemble(scored.tree, problem, people.worth, blank)
    weights = people.weights
    right = ensemble.decide(people.rows) == people.codes
    by_class = np.bincount(people.codes, weights=weights)
    hits = np.bincount(people.codes, weights=weights * right)[by_class > 0]
    unfair = confirm(
        problem.is_unfair(scored.tree),
        people.has_gaps,
        lambda: Variables(ensemble, people.variables.schema),
        people.values,
        people.boxes,
    ).astype(np.int64)
    fair_weight, unfair_weight = np.bincount(unfair, weights, minlength=2).tolist()
    at_leaves = problem.count(problem.reach(scored.tree).people[scored.tree < 0])
    return Candidate(
        accuracy=float(weights[right].sum() / weights.sum()),
        balanced_accuracy=float((hits / by_class[by_class > 0]).mean()),
        fairness=fair_weight / (fair_weight + unfair_weight),
        n_leaves=scored.n_leaves,
        fitness=scored.fitness,
        ensemble=ensemble,
        tree=problem.splits.portable(scored.tree),
        hints=Hints(
            max_depth=max(1, depth_of(scored.tree)),
            min_samples_leaf=max(1, int(at_leaves.min())),
        ),
    )
