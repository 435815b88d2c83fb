"""A classifier that is trained to be fair to individuals."""

from __future__ import annotations

import inspect
from typing import Any

from fatt import train
from fatt.aif360_ext.schema import refuse_both
from fatt.aif360_ext.sklearn.protected import complete
from fatt.ensemble import Ensemble
from fatt.region import Relation, Schema


class FATTClassifier(train.FATTClassifier):
    """A small decision tree that is accurate, and provably fair to individuals.

    The classifier of `fatt.FATTClassifier`, in the manner of `aif360.sklearn`: instead
    of a similarity it is enough to name the protected attributes.

    Parameters
    ----------
    prot_attr
        Protected attributes, which may have any of their values in a similar person: a
        name or a list of names, of index levels, columns or groups of one-hot columns,
        or positions of columns; by default all levels of the index.
    similarity : Similarity, optional
        Who is similar, instead of `prot_attr`.
    **parameters
        The other parameters of `fatt.FATTClassifier`, such as `fairness_weight`,
        `max_leaves` and `random_state`.

    Attributes
    ----------
    classes_, ensemble_, schema_, front_, accuracy_, fairness_, n_features_in_
        As in `fatt.FATTClassifier`.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> sex, income = rng.integers(0, 2, 500), rng.normal(size=500)
    >>> X = pd.DataFrame({"sex": sex, "income": income})
    >>> y = (income + sex + rng.normal(size=500) > 0.5).astype(int)
    >>> tree = FATTClassifier("sex", random_state=0).fit(X, y)
    >>> tree.fairness_
    1.0
    """

    def __init__(
        self,
        prot_attr: Any = None,
        *,
        similarity: Relation | None = None,
        **parameters: Any,
    ) -> None:
        super().__init__(similarity, **parameters)
        self.prot_attr = prot_attr

    def _meaning(self, X: Any, blank: Ensemble) -> tuple[Schema, Relation]:
        if self.prot_attr is not None:
            refuse_both("prot_attr", self.prot_attr, self.similarity)
        return complete(
            blank, X, self.prot_attr, schema=self.schema, similarity=self.similarity
        )


def _with_all_parameters(own: Any, inherited: Any) -> inspect.Signature:
    """Return a signature that names what ``**parameters`` stands for."""
    signatures = inspect.signature(inherited), inspect.signature(own)
    parameters = {**signatures[0].parameters, **signatures[1].parameters}
    del parameters["parameters"]
    return inspect.Signature(sorted(parameters.values(), key=lambda one: one.kind))


# scikit-learn reads the names of the parameters from the signature.
FATTClassifier.__init__.__signature__ = (  # type: ignore[attr-defined]
    _with_all_parameters(FATTClassifier.__init__, train.FATTClassifier.__init__)
)
