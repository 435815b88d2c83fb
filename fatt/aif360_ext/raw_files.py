"""AIF360's own datasets, made of raw files in any folder, on any pandas."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from fatt.errors import DataError


@contextlib.contextmanager
def datasets_from(folder: str | Path | None = None) -> Iterator[None]:
    """Let AIF360's dataset classes read raw files from a folder, on any pandas.

    AIF360 looks for raw files inside its own installation only, ends the process if one
    is missing, and cannot handle the texts of pandas 3. Within this context its dataset
    classes read from the folder, a missing file is an error like any other, and texts
    are handed to `StandardDataset` and `RegressionDataset` as objects. Everything is as
    before afterwards.

    Parameters
    ----------
    folder
        Folder with subfolders as in ``aif360/data/raw``: ``adult/adult.data``,
        ``german/german.data`` and so on. By default AIF360's own.

    Raises
    ------
    DataError
        If the folder, or a file that a dataset class needs, does not exist.

    Notes
    -----
    AIF360 is changed for the whole process while the context lasts: do not make
    datasets in other threads meanwhile.

    Examples
    --------
    >>> from aif360.datasets import GermanDataset
    >>> with datasets_from("data/raw"):                 # doctest: +SKIP
    ...     german = GermanDataset()
    """
    from aif360 import datasets

    if folder is not None and not Path(folder).is_dir():
        raise DataError(f"there is no folder {folder}; pass one with the raw files.")
    package = Path(datasets.__file__).resolve().parents[1] / "data" / "raw"
    reader = _Pandas(package, package if folder is None else Path(folder).resolve())
    with contextlib.ExitStack() as changes:
        for module in vars(datasets).values():
            if isinstance(module, ModuleType) and hasattr(module, "pd"):
                changes.enter_context(_replaced(module, "pd", reader))
        for made in (datasets.StandardDataset, datasets.RegressionDataset):
            adapted = _on_objects(made.__init__)
            changes.enter_context(_replaced(made, "__init__", adapted))
        yield


@contextlib.contextmanager
def _replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


class _Pandas:
    """Stands for pandas in AIF360's modules, and reads raw files from a folder."""

    def __init__(self, package: Path, folder: Path) -> None:
        self._package, self._folder = package, folder

    def __getattr__(self, name: str) -> Any:
        import pandas as pd

        return getattr(pd, name)

    def read_csv(self, path: Any, *args: Any, **kwargs: Any) -> Any:
        import pandas as pd

        file = Path(path).resolve()
        if file.is_relative_to(self._package):
            file = self._folder / file.relative_to(self._package)
        if not file.is_file():
            # AIF360 would answer an OSError with the end of the process.
            raise DataError(
                f"there is no raw file {file}. Put it there (AIF360's documentation "
                "says where it comes from), or name the folder that has it: "
                "datasets_from(folder)."
            )
        return pd.read_csv(file, *args, **kwargs)


def _on_objects(init: Callable[..., None]) -> Callable[..., None]:
    """Return the constructor of a dataset, with texts as objects."""
    signature = inspect.signature(init)

    @functools.wraps(init)
    def adapted(*args: Any, **kwargs: Any) -> None:
        bound = signature.bind(*args, **kwargs)
        given = bound.arguments
        prepare = given.pop("custom_preprocessing", None)
        # Before the preprocessing, which may write numbers among texts, and after it,
        # since it may make new columns of texts.
        table = _as_objects(given["df"])
        given["df"] = table if prepare is None else _as_objects(prepare(table))
        init(*bound.args, **bound.kwargs)

    return adapted


def _as_objects(table: Any) -> Any:
    import pandas as pd

    texts = [name for name in table if isinstance(table[name].dtype, pd.StringDtype)]
    return table.astype(dict.fromkeys(texts, object))
