"""Individual fairness in the manner of `aif360.sklearn`.

There the protected attributes of people are levels of the index of a pandas object. All
that takes `prot_attr` here also takes columns, groups of one-hot columns such as
``sex=F`` and ``sex=M``, and positions of columns.
"""

from fatt.aif360_ext.sklearn.inprocessing import FATTClassifier
from fatt.aif360_ext.sklearn.metrics import (
    individual_fairness_score,
    individual_unfairness_difference,
    individual_unfairness_ratio,
)
from fatt.aif360_ext.sklearn.scorer import Scorer, make_scorer

__all__ = [
    "FATTClassifier",
    "Scorer",
    "individual_fairness_score",
    "individual_unfairness_difference",
    "individual_unfairness_ratio",
    "make_scorer",
]
