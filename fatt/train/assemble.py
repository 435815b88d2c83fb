"""From trees of the search to a model that anybody can use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.ensemble import Ensemble
from fatt.ensemble.trees import Trees
from fatt.train.genome import Genome, ends
from fatt.train.problem import Problem

Matrix = NDArray[np.float64]

#: By how much the label of a leaf wins at least.
_AHEAD = 1e-6


def assemble(
    genomes: Sequence[Genome], problem: Problem, worth: Matrix, blank: Ensemble
) -> Ensemble:
    """Return trees as a model that takes the mean of what they say.

    Parameters
    ----------
    genomes
        The trees.
    problem
        The training people.
    worth : ndarray of shape (n_people, n_classes)
        What each label is worth; a leaf tells the shares of the classes in it.
    blank
        A model that reads the same columns.
    """
    joined = np.concatenate(genomes)
    start = np.cumsum([0, *map(len, genomes)])[:-1]
    inner = joined >= 0
    places = np.flatnonzero(inner)
    end = np.concatenate([ends(g) + s for g, s in zip(genomes, start, strict=True)])
    splits = [problem.splits.items[code] for code in joined[inner].tolist()]
    sets = [split.codes for split in splits if split.codes is not None]
    has_set = np.array([split.codes is not None for split in splits], dtype=bool)
    shares = [_shares(genome, problem, worth) for genome in genomes]

    def spread(values: Any, empty: Any) -> NDArray[Any]:
        array = np.full(len(joined), empty)
        array[inner] = values
        return array

    trees = Trees.lay_out(
        roots=start,
        feature=spread([split.column for split in splits], -1),
        threshold=spread([split.threshold for split in splits], 0.0),
        left=spread(places + 1, -1),
        right=spread(end[places + 1], -1),
        missing_left=spread([split.missing_left for split in splits], False),
        leaf=np.cumsum(~inner) - 1,
        values=np.concatenate(shares) / len(genomes),
        targets=np.full(len(genomes), -1),
        subset=spread(np.where(has_set, np.cumsum(has_set) - 1, -1), -1),
        sets=sets,
    )
    return replace(blank, trees=trees)


def _shares(tree: Genome, problem: Problem, worth: Matrix) -> Matrix:
    """Return the shares of the classes at each leaf.

    Where the search gave a leaf another label than its people have, for fairness, the
    shares move towards that label just so far that it wins.
    """
    labels = -1 - tree[tree < 0]
    leaf_of = problem.leaf_of(tree)
    shares: Matrix = np.stack(
        [np.bincount(leaf_of, mine, len(labels)) for mine in worth.T], axis=1
    )
    for row, label in enumerate(labels.tolist()):
        here = shares[row]
        whole = here.sum()
        share = here / whole if whole > 0 else np.full(len(here), 1 / len(here))
        behind = np.delete(share, label).max(initial=0.0) - share[label] + _AHEAD
        if behind > 0:
            share = share / (1 + behind)
            share[label] += behind / (1 + behind)
        shares[row] = share
    return shares
