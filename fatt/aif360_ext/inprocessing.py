"""Training as an in-processing algorithm of AIF360."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
from aif360.algorithms import Transformer
from sklearn.exceptions import NotFittedError

from fatt.aif360_ext.dataset import (
    Groups,
    attributes_of,
    favorable_label,
    frame_of,
    labels_of,
    members,
    names_of,
    said_in,
    weights_of,
    with_answers,
)
from fatt.aif360_ext.protected import derive, free, refuse_both
from fatt.errors import DataError, SpecError, hint
from fatt.region import Relation
from fatt.train import FATTClassifier
from fatt.train.splits import blank_tree

#: How far the rates of privileged and unprivileged people may lie apart by default.
_MAX_GAP = 0.1
#: The classifier's parameters that a dataset tells, or another parameter.
_OWN = {"pos_label", "random_state", "schema"}


class FATT(Transformer):  # type: ignore[misc]
    """Learns a small decision tree that is accurate, and provably fair to individuals.

    Each tree that the search looks at is verified for all training people: does it give
    all people who are similar to a person the same label? Instance weights count, in
    accuracy and in fairness.

    Parameters
    ----------
    sensitive_attr : str, list of str or None
        What may differ in a similar person: names of protected attributes, columns, or
        families of columns such as `race` for ``race=White``. They may have any of
        their values, and nothing else may differ. By default all protected attributes
        of the dataset, as in `IndividualFairnessMetric`.
    unprivileged_groups, privileged_groups
        Groups, as in other algorithms of AIF360; pass both or neither. Their rates of
        the favorable label are brought together as well.
    similarity
        Who is similar, in the units of ``dataset.features``, instead of
        `sensitive_attr`.
    max_gap
        The largest difference between the rates of the two groups; None for any. The
        gap is an estimate, with the interval ``model_.gap_interval_``, and no proof.
        Beside `min_ratio`, `group_weight` or ``algorithm="paper"`` the default is None.
    seed
        Seed of all random choices.
    **parameters
        Other parameters of `fatt.FATTClassifier`, such as `fairness_weight`,
        `max_leaves`, `constraint` and `min_ratio`.

    Attributes
    ----------
    model_ : fatt.FATTClassifier
        The tree, with what it reaches on the training data and the other trees of the
        front. An `IndividualFairnessMetric` takes it, or this object, as its model.
    similarity_ : Similarity
        Who was similar to whom in the training.

    Examples
    --------
    >>> tree = FATT(sensitive_attr="sex", seed=0).fit(train)    # doctest: +SKIP
    >>> predicted = tree.predict(test)                          # doctest: +SKIP
    """

    def __init__(
        self,
        sensitive_attr: str | Sequence[str] | None = None,
        unprivileged_groups: Groups | None = None,
        privileged_groups: Groups | None = None,
        *,
        similarity: Relation | None = None,
        max_gap: float | None = _MAX_GAP,
        seed: int | None = None,
        **parameters: Any,
    ) -> None:
        super().__init__(
            sensitive_attr=sensitive_attr,
            unprivileged_groups=unprivileged_groups,
            privileged_groups=privileged_groups,
            similarity=similarity,
            max_gap=max_gap,
            seed=seed,
            **parameters,
        )
        if sensitive_attr is not None:
            refuse_both("sensitive_attr", sensitive_attr, similarity)
            names_of(sensitive_attr)
        known = sorted({*inspect.signature(FATTClassifier).parameters, "seed"} - _OWN)
        for name in parameters:
            if name not in known:
                raise TypeError(f"FATT has no parameter {name!r}. {hint(name, known)}")
        if bool(unprivileged_groups) != bool(privileged_groups):
            absent = "privileged" if unprivileged_groups else "unprivileged"
            raise SpecError(
                f"there are no {absent}_groups to compare the others with: name both "
                "unprivileged_groups and privileged_groups, or neither."
            )
        self.sensitive_attr = sensitive_attr
        self.unprivileged_groups = unprivileged_groups
        self.privileged_groups = privileged_groups
        self.similarity = similarity
        self.max_gap = max_gap
        self.seed = seed
        self.parameters = parameters

    def fit(self, dataset: Any) -> FATT:
        """Train the tree.

        Parameters
        ----------
        dataset : BinaryLabelDataset
            Dataset with the true labels.

        Raises
        ------
        SpecError
            If an attribute does not exist, or a parameter makes no sense.
        DataError
            If nothing can be learned from the dataset.
        """
        people, labels = frame_of(dataset), labels_of(dataset)
        blank = blank_tree(
            people,
            list(people.columns),
            named=True,
            classes=tuple(np.unique(labels).tolist()),
        )
        chosen = attributes_of(dataset, self.sensitive_attr)
        similarity = self.similarity
        schema = derive(blank, people, [*attributes_of(dataset), *chosen], similarity)
        if similarity is None:
            where = said_in(self.sensitive_attr)
            similarity = free(blank, people, chosen, schema=schema, said_in=where)
        groups = self._groups(dataset)
        self.model_ = FATTClassifier(
            similarity,
            schema=schema,
            max_gap=self._gap(groups is not None),
            pos_label=favorable_label(dataset),
            random_state=self.seed,
            **self.parameters,
        ).fit(
            people,
            labels,
            sample_weight=weights_of(dataset),
            sensitive_features=groups,
        )
        self.ensemble_, self.similarity_ = self.model_.ensemble_, similarity
        return self

    def predict(self, dataset: Any) -> Any:
        """Return a copy of a dataset with the labels of the tree.

        Parameters
        ----------
        dataset : BinaryLabelDataset
            Dataset with the features that the tree was trained on.

        Returns
        -------
        BinaryLabelDataset
            Its scores are probabilities of the favorable label.

        Raises
        ------
        SpecError
            If the favorable label is none of those that the tree was trained on.
        """
        if not hasattr(self, "model_"):
            raise NotFittedError("this FATT is not trained yet; call fit first.")
        return with_answers(dataset, self.model_)

    def _gap(self, has_groups: bool) -> float | None:
        """Return how close the groups must be."""
        names = ("min_ratio", "group_weight")
        is_paper = self.parameters.get("algorithm") == "paper"
        is_said = any(self.parameters.get(name) is not None for name in names)
        if has_groups or "group" in self.parameters:
            by_default = self.max_gap == _MAX_GAP and (is_said or is_paper)
            gap = None if by_default else self.max_gap
            # With 1 the gap is only measured.
            return 1.0 if gap is None and not is_said else gap
        if self.max_gap not in {None, _MAX_GAP}:
            raise SpecError(
                f"max_gap is {self.max_gap}, and there are no groups to compare: name "
                "unprivileged_groups and privileged_groups."
            )
        return None

    def _groups(self, dataset: Any) -> Any:
        """Return the group of each person, if both groups are named."""
        named = {
            "unprivileged": self.unprivileged_groups,
            "privileged": self.privileged_groups,
        }
        if not all(named.values()):
            return None
        found = np.full(len(labels_of(dataset)), "", dtype=object)
        for name, groups in named.items():
            try:
                is_in = members(dataset, groups)
            except ValueError:
                known = ", ".join(one.name for one in attributes_of(dataset))
                raise SpecError(
                    f"{name}_groups is {groups!r}; each group is a dict of protected "
                    f"attributes, which are {known}."
                ) from None
            if not is_in.any():
                raise DataError(
                    f"no person is in {name}_groups, {groups!r}, so that there is no "
                    "gap. Name groups that the dataset has."
                )
            if (found[is_in] != "").any():
                raise SpecError(
                    "a person is in both unprivileged_groups and privileged_groups. "
                    "Name groups that share no people."
                )
            found[is_in] = name
        return found
