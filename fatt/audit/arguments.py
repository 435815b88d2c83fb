"""What callers may pass, told apart from what they may not, in sentences."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.audit.spot_checks import SPOT_CHECKS
from fatt.errors import DataError, SpecError
from fatt.region import Relation, Schema, Space
from fatt.region.amounts import is_number
from fatt.verifier import Budget


def check_types(similarity: Any, schema: Any, budget: Any) -> None:
    """Raise a SpecError that shows what to write, if an argument is something else."""
    check_similarity(similarity)
    check_schema(schema)
    check_budget(budget)


def check_similarity(similarity: Any) -> None:
    """Raise a SpecError if something is no similarity."""
    if not isinstance(similarity, Relation):
        raise SpecError(
            f"similarity is {_shown(similarity)}; write Similarity(...), such as "
            "Similarity(noise={'age': 3}, vary=['sex'])."
        )


def check_schema(schema: Any) -> None:
    """Raise a SpecError if something is neither a schema nor None."""
    if not isinstance(schema, Schema | None):
        raise SpecError(
            f"schema is {_shown(schema)}; write Schema.infer(fatt.load(model), X), "
            "and .with_(age=Integer(lower=17)) for what you know better."
        )


def check_space(space: Any) -> None:
    """Raise a SpecError if something is no space."""
    if not isinstance(space, Space):
        raise SpecError(
            f"space is {_shown(space)}; write Space({{'age': Integer(lower=17, "
            "upper=90)}), Space(schema) or Space.from_table(people)."
        )


def check_sharing(asked: Mapping[str, Any]) -> None:
    """Raise a SpecError if an argument of a question about a share has no meaning."""
    check_budget(asked.get("budget"))
    check_n_jobs(asked.get("n_jobs"))
    confidence, seconds = asked.get("confidence", 0.99), asked.get("seconds", 10.0)
    if not is_number(confidence) or not 0 < confidence < 1:
        raise SpecError(
            f"confidence is {_shown(confidence)}; write a number between 0 and 1, such "
            "as 0.99."
        )
    if not is_number(seconds) or not seconds > 0:
        raise SpecError(
            f"seconds is {_shown(seconds)}; write a number above 0, such as 10."
        )
    for name, least, example in (("draws", 1, 400_000), ("seed", 0, 0)):
        number = asked.get(name, example)
        is_whole = isinstance(number, int | np.integer) and number is not True
        if not is_whole or number < least:
            raise SpecError(
                f"{name} is {_shown(number)}; write a whole number such as {example}."
            )


def check_max_rules(count: Any) -> None:
    """Raise a SpecError if something is no number of regions."""
    if not isinstance(count, int | np.integer) or count is True or count < 1:
        raise SpecError(f"max_rules is {_shown(count)}; write a number such as 8.")


def check_budget(budget: Any) -> None:
    """Raise a SpecError if something is neither a budget nor None."""
    if not isinstance(budget, Budget | None):
        seconds = budget if is_number(budget) else 1.0
        raise SpecError(
            f"budget is {_shown(budget)}; write Budget(seconds={seconds}), or "
            "Budget(nodes=...)."
        )


def check_n_jobs(n_jobs: Any) -> None:
    """Raise a SpecError if something is no number of threads."""
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer | None):
        raise SpecError(
            f"n_jobs is {_shown(n_jobs)}; write a number of threads such as 2, or -1 "
            "for all processors."
        )


def check_spot_checks(count: Any) -> None:
    """Raise a SpecError if something is no number of spot checks."""
    is_whole = isinstance(count, int | np.integer) and not isinstance(count, bool)
    if not is_whole or count < 0:
        raise SpecError(
            f"spot_checks is {count!r}; write a whole number such as {SPOT_CHECKS}, or "
            "0 for none."
        )


def _shown(value: Any) -> str:
    """Show a value briefly, with its type."""
    return f"{reprlib.repr(value)} ({type(value).__name__})"


def weights_of(given: Any, n_people: int) -> NDArray[np.float64] | None:
    """Return the weight of each person, relative to the largest; None if none is given.

    Raises
    ------
    DataError
        If it is not one finite number each, at least 0 and somewhere more.
    """
    if given is None:
        return None
    try:
        weight = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(
            "sample_weight holds more than numbers; pass numbers."
        ) from None
    if weight.shape != (n_people,):
        raise DataError(
            f"sample_weight has the shape {weight.shape}, and there are {n_people} "
            "people; pass one weight each."
        )
    is_weight = np.isfinite(weight) & (weight >= 0)
    if not is_weight.all():
        row = int(np.argmin(is_weight))
        raise DataError(
            f"row {row}: sample_weight is {weight[row]}; pass finite numbers, at least "
            "0."
        )
    if not weight.any():
        raise DataError("all of sample_weight is 0; somebody must have weight.")
    # Only shares matter, and the sum of the largest floats would be infinite.
    weight /= weight.max()
    weight.setflags(write=False)
    return weight
