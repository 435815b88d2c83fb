"""LightGBM's classifiers, as objects and as files."""

from fatt.importers.lightgbm.model import convert, read

__all__ = ["convert", "read"]
