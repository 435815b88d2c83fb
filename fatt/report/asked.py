"""What the model itself was asked beside the search."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Asked:
    """How many people the model itself was asked about; all its answers were ours.

    Attributes
    ----------
    people
        How many were asked about as they are.
    similar
        How many similar people of the fair were asked about: the spot checks.
    reason
        Why the model itself was not asked; empty if it was.
    """

    people: int = 0
    similar: int = 0
    reason: str = ""

    def __str__(self) -> str:
        if not self.people:
            reason = f": {self.reason}" if self.reason else ""
            return f"Nothing was asked of the model itself{reason}."
        own = f"The model itself was asked about {_counted(self.people)}"
        if not self.similar:
            return f"{own}, and gave the answer that was read from it."
        return (
            f"{own}, and about {_counted(self.similar)} similar to the fair; it gave "
            "the answers that were read from it."
        )


def _counted(number: int) -> str:
    return f"{number:,} {'person' if number == 1 else 'people'}"
