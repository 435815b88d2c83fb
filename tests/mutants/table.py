"""All mutants."""

from __future__ import annotations

from tests.mutants import kernels, python

MUTANTS = (*kernels.MUTANTS, *python.MUTANTS)
