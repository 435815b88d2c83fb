"""How long to search."""

from __future__ import annotations

from fatt.ensemble.features import Record
from fatt.errors import SpecError


class Budget(Record, frozen=True, kw_only=True):
    """When to give up, and answer unknown.

    A budget of nodes gives the same answers on every machine; one of seconds does not.

    Attributes
    ----------
    seconds, nodes
        For each person: time, and nodes of the search.
    total_seconds, total_nodes
        For the whole run. People are counted in order: those whom the search would
        reach only after the last node are unknown.

    Examples
    --------
    >>> Budget(seconds=1)
    Budget(seconds=1, nodes=None, total_seconds=None, total_nodes=None)
    """

    seconds: float | None = None
    nodes: int | None = None
    total_seconds: float | None = None
    total_nodes: int | None = None

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            limit = getattr(self, name)
            if limit is not None and not limit >= 0:
                raise SpecError(f"the budget's {name} is {limit}; pass at least 0.")
