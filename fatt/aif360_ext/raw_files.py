"""AIF360's own datasets, read from raw files in any folder, on any pandas."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, TypeVar

from fatt.errors import DataError, SpecError

D = TypeVar("D")

_OF_ADULT = (
    "age workclass fnlwgt education education-num marital-status occupation "
    "relationship race sex capital-gain capital-loss hours-per-week native-country "
    "income-per-year"
)
_OF_GERMAN = (
    "status month credit_history purpose credit_amount savings employment "
    "investment_as_income_percentage personal_status other_debtors residence_since "
    "property age installment_plans housing number_of_credits skill_level "
    "people_liable_for telephone foreign_worker credit"
)
_ADULT: dict[str, Any] = {"names": _OF_ADULT.split(), "skipinitialspace": True}
_GERMAN: dict[str, Any] = {"names": _OF_GERMAN.split(), "sep": " ", "header": None}

#: The raw files of each class, and how AIF360 reads them.
_FILES: dict[str, dict[str, dict[str, Any]]] = {
    "AdultDataset": {
        "adult/adult.test": {"header": 0, **_ADULT},
        "adult/adult.data": {"header": None, **_ADULT},
    },
    "BankDataset": {"bank/bank-additional-full.csv": {"sep": ";"}},
    "CompasDataset": {"compas/compas-scores-two-years.csv": {"index_col": "id"}},
    "GermanDataset": {"german/german.data": _GERMAN},
}


def read_dataset(cls: type[D], folder: str | Path, **arguments: Any) -> D:
    """Read one of AIF360's datasets from a folder with raw files.

    AIF360 looks for raw files only inside its own installation, ends the process if
    one is missing, and cannot handle the texts of pandas 3.

    Parameters
    ----------
    cls
        ``AdultDataset``, ``BankDataset``, ``CompasDataset`` or ``GermanDataset``.
    folder
        Folder with subfolders as in ``aif360/data/raw``: ``adult/adult.data``,
        ``german/german.data`` and so on.
    **arguments
        Arguments of the class.

    Raises
    ------
    SpecError
        If it is another class.
    DataError
        If there is no such file.

    Examples
    --------
    >>> from aif360.datasets import GermanDataset
    >>> german = read_dataset(GermanDataset, "data/raw")    # doctest: +SKIP
    """
    import pandas as pd
    from aif360.datasets import StandardDataset

    if cls.__name__ not in _FILES:
        raise SpecError(
            f"read_dataset knows {', '.join(_FILES)}, and not {cls!r}; read the table "
            "yourself, and pass it to StandardDataset."
        )
    given = inspect.signature(cls).bind(**arguments)
    given.apply_defaults()
    arguments, parts = given.arguments, []
    for name, how in _FILES[cls.__name__].items():
        file = Path(folder) / name
        if not file.is_file():
            raise DataError(
                f"there is no raw file {file}. Put it there. AIF360's documentation "
                "says where it comes from."
            )
        parts.append(pd.read_csv(file, na_values=arguments["na_values"], **how))
    table = _with_objects(pd.concat(parts, ignore_index=len(parts) > 1))
    prepare = arguments.pop("custom_preprocessing")
    if prepare is not None:
        table = _with_objects(prepare(table))
    dataset = cls.__new__(cls)
    StandardDataset.__init__(dataset, df=table, **arguments)
    return dataset


def _with_objects(table: Any) -> Any:
    """Return a table whose texts are objects, as AIF360 expects them."""
    import pandas as pd

    texts = [name for name in table if isinstance(table[name].dtype, pd.StringDtype)]
    return table.astype(dict.fromkeys(texts, object))
