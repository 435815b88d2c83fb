"""All mutants."""

from __future__ import annotations

from tests.mutants import checker, kernels, python

MUTANTS = (*kernels.MUTANTS, *python.MUTANTS, *checker.MUTANTS)
