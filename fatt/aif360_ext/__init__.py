"""Individual fairness for people who work with AIF360.

The names are loaded when they are first used: `aif360.metrics` takes seconds to import,
brings TensorFlow if that is installed, and logs what else is not.

`fatt.aif360_ext.sklearn` holds the same in the manner of `aif360.sklearn`.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING

from fatt.errors import MissingDependencyError

if importlib.util.find_spec("aif360") is None:
    raise MissingDependencyError(
        "fatt.aif360_ext needs aif360: pip install 'fatt[aif360]'."
    )

if TYPE_CHECKING:
    from fatt.aif360_ext.dataset import schema_of
    from fatt.aif360_ext.explainers import (
        IndividualFairnessJSONExplainer,
        IndividualFairnessTextExplainer,
    )
    from fatt.aif360_ext.inprocessing import FATT
    from fatt.aif360_ext.metric import (
        IndividualFairnessMetric,
        IndividualFairnessRegressionMetric,
    )
    from fatt.aif360_ext.raw_files import read_dataset

__all__ = [
    "FATT",
    "IndividualFairnessJSONExplainer",
    "IndividualFairnessMetric",
    "IndividualFairnessRegressionMetric",
    "IndividualFairnessTextExplainer",
    "read_dataset",
    "schema_of",
]

_HOME = {
    "FATT": "inprocessing",
    "IndividualFairnessJSONExplainer": "explainers",
    "IndividualFairnessTextExplainer": "explainers",
    "read_dataset": "raw_files",
    "schema_of": "dataset",
}


def __getattr__(name: str) -> object:
    if name in __all__:
        home = _HOME.get(name, "metric")
        return getattr(importlib.import_module(f"fatt.aif360_ext.{home}"), name)
    raise AttributeError(f"module 'fatt.aif360_ext' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
