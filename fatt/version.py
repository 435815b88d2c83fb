"""The version of this package: its only home, which the build reads too."""

__version__ = "0.2.0"
