"""All mutants."""

from __future__ import annotations

from tests.mutants import budgets, checker, joint, kernels, python, train

MUTANTS = (
    *kernels.MUTANTS,
    *train.MUTANTS,
    *python.MUTANTS,
    *checker.MUTANTS,
    *joint.MUTANTS,
    *budgets.MUTANTS,
)
