"""scikit-learn's pipelines, in the raw columns that people know."""

from fatt.importers.pipeline.model import convert

__all__ = ["convert"]
