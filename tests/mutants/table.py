"""All mutants."""

from __future__ import annotations

from tests.mutants import checker, joint, kernels, python, train

MUTANTS = (
    *kernels.MUTANTS,
    *train.MUTANTS,
    *python.MUTANTS,
    *checker.MUTANTS,
    *joint.MUTANTS,
)
