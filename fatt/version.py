"""The version of this package, for files that must name what made them."""

__version__ = "0.1.0"
