"""The paper's reading of single trees, in which a tie is an answer of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.paper.setting import People


def fair_with_ties_apart(model: Any, people: People) -> int:
    """Count the people whose neighbours under noise-cat all get the same classes.

    A leaf answers all classes that have the most people in it: one, or two at a tie.
    Walks scikit-learn's own arrays, apart from all code of ours.
    """
    given = people.notes["similarity"]
    low, high = people.test.to_numpy(copy=True), people.test.to_numpy(copy=True)
    numbers, epsilon = given["noise"]["columns"], given["noise"]["epsilon"]
    low[:, numbers] -= epsilon
    high[:, numbers] += epsilon
    for group in given["cat"]["columns"]:
        low[:, group], high[:, group] = 0, 1
    low, high = low.astype(np.float32), high.astype(np.float32)
    tree, reached = model.tree_, {0: np.ones(len(low), dtype=bool)}
    answers: dict[tuple[bool, ...], Any] = {}
    # Children stand behind their parents.
    for node, (left, right) in enumerate(
        zip(tree.children_left, tree.children_right, strict=True)
    ):
        here = reached.pop(node)
        if left < 0:
            counts = tree.value[node, 0]
            classes = tuple((counts == counts.max()).tolist())
            answers[classes] = answers.get(classes, False) | here
            continue
        column, threshold = tree.feature[node], tree.threshold[node]
        reached[left] = here & (low[:, column] <= threshold)
        reached[right] = here & (high[:, column] > threshold)
    return int((sum(here.astype(int) for here in answers.values()) == 1).sum())
