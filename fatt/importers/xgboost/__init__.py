"""XGBoost's classifiers, as objects and as files."""

from fatt.importers.xgboost.model import convert, read

__all__ = ["convert", "read"]
