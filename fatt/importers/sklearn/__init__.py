"""scikit-learn's tree classifiers."""

from fatt.importers.sklearn.model import convert

__all__ = ["convert"]
