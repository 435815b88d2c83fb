"""The versions of the libraries that fatt is tested with, and what to do about others.

A later version can store a model in another way, or compute something else of what it
stores. A model of one is taken, with a note, where that version itself can be asked for
its answers: it is refused where nothing would tell that they are no longer ours.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable

from fatt.errors import UnsupportedModelError

#: What the tests hold of each library: its versions, or those of its file format.
TESTED: dict[str, tuple[str, ...]] = {
    "scikit-learn": ("1.5.2", "1.7.2", "1.9.1"),
    "scikit-learn pickle": (
        *("1.0.2", "1.1.3", "1.2.2", "1.3.2", "1.4.2", "1.6.1", "1.9.1"),
    ),
    "skops protocol": ("2",),
    "XGBoost": (
        *("0.90", "1.0.2", "1.3.3", "1.6.2", "1.7.6", "2.0.3", "2.1.4"),
        *("3.0.5", "3.1.3", "3.2.0", "3.3.0", "3.4.1"),
    ),
    "LightGBM": ("2.0.12", "2.2.3", "2.3.1", "3.3.5", "4.0.0", "4.3.0", "4.7.0"),
    "LightGBM text": ("v2", "v3", "v4"),
    "CatBoost": ("1.2", "1.2.5", "1.2.10"),
    "onnxruntime": ("1.18.1", "1.31.1"),
    "ONNX file": ("4", "8", "9", "10"),
    "ai.onnx": ("9", "18", "21", "22"),
    "ai.onnx.ml": ("1", "5"),
}


def release(version: str) -> tuple[int, ...]:
    """Return the first two numbers of a version, which later repairs do not change."""
    return tuple(int(part) for part in re.findall(r"\d{1,9}", version)[:2])


def releases_of(library: str) -> str:
    """Return the oldest and the newest release of a library that is tested.

    Parameters
    ----------
    library
        One that `TESTED` lists.
    """
    # Of one release there may be several repairs.
    names = list(
        dict.fromkeys(
            re.match(r"v?\d+(\.\d+)?", version)[0]  # type: ignore[index]
            for version in TESTED[library]
        )
    )
    return names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"


def all_releases() -> dict[str, str]:
    """Return the releases of every library that are tested."""
    return {library: releases_of(library) for library in TESTED}


def releases_in_words() -> str:
    """Return all that is tested, in one line."""
    return ", ".join(f"{name} {releases}" for name, releases in all_releases().items())


def is_newer(library: str, version: str) -> bool:
    """Tell whether a version belongs to a later release than any that is tested.

    Parameters
    ----------
    library
        One that `TESTED` lists.
    version
        As the library or the file says it; an empty text is not newer.
    """
    return release(version) > max(map(release, TESTED[library]))


def note_newer(library: str, version: str) -> tuple[str, ...]:
    """Return the note on a model whose library is at hand, if it is newer than tested.

    Parameters
    ----------
    library
        One that `TESTED` lists.
    version
        The installed version, which answers for the model.
    """
    if not is_newer(library, version):
        return ()
    return (
        f"{library} {version} is newer than the versions that fatt was tested with, "
        f"{releases_of(library)}: a verdict is as good as the answers of the model "
        "itself that it was compared with.",
    )


def check_file(
    library: str, version: str, *, at_hand: Callable[[], bool], way_out: str
) -> tuple[str, ...]:
    """Return the notes on a file of some version, or refuse it.

    Parameters
    ----------
    library
        One that `TESTED` lists.
    version
        The version that wrote the file.
    at_hand
        Tells whether that version can be asked for the answers of the file; called only
        if it is newer than tested.
    way_out
        A sentence on what to do about a refusal.

    Raises
    ------
    UnsupportedModelError
        If the version is newer than tested, and cannot be asked.
    """
    if not is_newer(library, version):
        return ()
    if at_hand():
        return note_newer(library, version)
    raise UnsupportedModelError(
        f"the file was made with {library} {version}, which is newer than the versions "
        f"that fatt was tested with, {releases_of(library)}, and that version is not "
        f"here to be asked whether it means the same. {way_out}"
    )


def is_installed(package: str, version: str) -> bool:
    """Tell whether a package is installed in the release that a version belongs to.

    Parameters
    ----------
    package
        Its name when it is imported.
    version
        Any version of the release.
    """
    try:
        installed = str(importlib.import_module(package).__version__)
    except Exception:  # libraries raise what they like
        return False
    return release(installed) == release(version)
