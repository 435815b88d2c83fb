"""Training as an in-processing algorithm of AIF360."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from aif360.algorithms import Transformer
from sklearn.exceptions import NotFittedError

from fatt.aif360_ext.dataset import (
    Groups,
    derive,
    frame_of,
    free,
    labels_of,
    protected_names,
    refuse_both,
    weights_of,
    with_answers,
)
from fatt.region import Relation, Schema
from fatt.train import FATTClassifier
from fatt.train.splits import blank_tree


class FATT(Transformer):  # type: ignore[misc]
    """Learns a small decision tree that is accurate, and provably fair to individuals.

    Each tree that the search looks at is verified on all the training data: that the
    model gives all people who are similar to somebody the same label. Instance weights
    count, in accuracy and in fairness.

    Parameters
    ----------
    sensitive_attr : str, list of str or None
        What may be otherwise in a similar person, with any of its values, while nothing
        else may: names of protected attributes, columns, or groups of columns such as
        `race` for ``race=White``. By default all attributes that the groups name, or
        all protected attributes of the dataset if there are no groups.
    unprivileged_groups, privileged_groups
        Groups, as in other algorithms of AIF360; here only the names in them matter.
    similarity
        Who is similar, in the units of ``dataset.features``, instead of
        `sensitive_attr` and groups.
    seed
        Makes all choices of chance.
    **parameters
        Other parameters of `fatt.FATTClassifier`, such as `fairness_weight` and
        `max_leaves`.

    Attributes
    ----------
    model_ : fatt.FATTClassifier
        The tree, with what it reaches on the training data and the other trees of the
        front. An `IndividualFairnessMetric` takes it, or this object, as its model.

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
        seed: int | None = None,
        **parameters: Any,
    ) -> None:
        super().__init__(
            sensitive_attr=sensitive_attr,
            unprivileged_groups=unprivileged_groups,
            privileged_groups=privileged_groups,
            similarity=similarity,
            seed=seed,
            **parameters,
        )
        if sensitive_attr is not None:
            refuse_both("sensitive_attr", sensitive_attr, similarity)
        self.sensitive_attr = sensitive_attr
        self.unprivileged_groups = unprivileged_groups
        self.privileged_groups = privileged_groups
        self.similarity = similarity
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
        schema = derive(dataset, blank)
        similarity = self.similarity
        self.model_ = FATTClassifier(
            self._free(schema, dataset) if similarity is None else similarity,
            schema=schema,
            random_state=self.seed,
            **self.parameters,
        ).fit(people, labels, sample_weight=weights_of(dataset))
        self.ensemble_ = self.model_.ensemble_
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

    def _free(self, schema: Schema, dataset: Any) -> Relation:
        """Return the similarity in which the sensitive attributes vary."""
        groups = [*(self.unprivileged_groups or ()), *(self.privileged_groups or ())]
        in_groups = dict.fromkeys(name for group in groups for name in group)
        given = self.sensitive_attr
        names = [given] if isinstance(given, str) else list(given or in_groups)
        for name in names:
            schema.find(name, said_in="sensitive_attr" if given else "groups")
        return free(schema, names or protected_names(dataset))
