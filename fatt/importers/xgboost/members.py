"""The members of XGBoost's model files: which are known, and in which versions.

XGBoost ignores members that it does not know, and so did whoever read its files when
version 3.3 began to keep the weights of dart under another name. Here a member that is
not in `members.txt` is a refusal: it may hold something that changes the answer.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from typing import NoReturn

from fatt.errors import MalformedModelError, UnsupportedModelError
from fatt.importers.registry import listed

Version = tuple[int, ...]
#: The first version that writes a member, and the first that no longer does.
Span = tuple[Version, Version]

_NAME = re.compile(r"(\w+)(?:>=([0-9.]+))?(?:<([0-9.]+))?")

MIXTURE = (
    "some trees of the model have one value in each leaf and others one per class, as "
    "after training that went on with another multi_strategy; fatt reads models whose "
    "trees are of one kind. Train it in one go."
)


@functools.cache
def _members() -> dict[str, dict[str, Span]]:
    """Return the members of each object, and the parameters of each objective."""
    known: dict[str, dict[str, Span]] = {}
    for where, names in listed("xgboost", "members.txt").items():
        parts = (_NAME.split(name) for name in names)
        known[where] = {
            name: (_version(first or "0"), _version(end or "9999"))
            for _, name, first, end, _ in parts
        }
    return known


def _version(text: str) -> Version:
    return tuple(map(int, text.split(".")))


def check_members(where: str, found: Iterable[str], version: Version) -> None:
    """Refuse members that are not known, or that the file's version does not write.

    Parameters
    ----------
    where
        Which object they are in, as `members.txt` calls it.
    found
        The members.
    version
        The version of XGBoost that wrote the file; empty if it does not say.

    Raises
    ------
    UnsupportedModelError
        If a member is not known.
    MalformedModelError
        If it is known, and another version writes it.
    """
    known = _members()[where]
    for name in found:
        if name not in known:
            _refuse(where, name)
        first, end = known[name]
        if version and not first <= version < end:
            raise MalformedModelError(
                f"{where} has the member {name!r}, and the file says that XGBoost "
                f"{_text(version)} wrote it, which writes no such member there. The "
                "file was changed; save the model again."
            )


def refuse_mixture(names: Iterable[str], others: Iterable[str]) -> None:
    """Refuse trees of two kinds in one model, which have other members.

    Parameters
    ----------
    names, others
        The members of two trees.

    Raises
    ------
    UnsupportedModelError
        If only the leaves of one are vectors.
    """
    if "leaf_weights" in set(names) ^ set(others):
        raise UnsupportedModelError(MIXTURE)


def check_objective(objective: Mapping[str, object], version: Version) -> None:
    """Refuse members of an objective that are not known.

    Objectives that fatt does not read at all pass; others refuse them.
    """
    name = objective["name"]
    if not isinstance(name, str) or name not in _members():
        return
    for key, value in objective.items():
        if key == "name":
            continue
        if key not in _members()[name] or not isinstance(value, Mapping):
            _refuse(f"the objective {name}", key)
        check_members(key, value, version)


def _refuse(where: str, name: str) -> NoReturn:
    raise UnsupportedModelError(
        f"{where} has the member {name[:60]!r}, which fatt does not know and which may "
        "change what the model answers. Update fatt, or save the model with a version "
        "of XGBoost that fatt has been tested with."
    )


def _text(version: Version) -> str:
    return ".".join(map(str, version))
