"""Files for the command line: people, and models that read them."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

import fatt
from fatt.cli import demo
from fatt.ensemble import Ensemble

N_PEOPLE = 60


def model() -> Ensemble:
    """The bank's model of the demonstration."""
    return demo.model()


def people(n_people: int = N_PEOPLE) -> dict[str, list[Any]]:
    """Some of its people, with columns that the model does not read."""
    columns = {
        name: np.asarray(cells)[:n_people].tolist()
        for name, cells in demo.people().columns.items()
    }
    columns["name"] = [f"p{row}" for row in range(n_people)]
    columns["truth"] = ["granted", "denied"] * (n_people // 2)
    columns["party"] = ["red", "blue", "red"] * (n_people // 3)
    return columns


def write_csv(path: Path, columns: dict[str, list[Any]], delimiter: str = ",") -> str:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return str(path)


def hard_case(folder: Path, n_people: int = 40) -> tuple[str, str]:
    """A forest that takes a search to decide, and people for it."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(max(300, n_people), 8))
    label = (table[:, :4].prod(axis=1) > 0).astype(int)
    forest = RandomForestClassifier(40, max_depth=8, random_state=0).fit(table, label)
    fatt.load(forest).save(folder / "forest.fatt")
    columns = {f"x{i}": table[:n_people, i].tolist() for i in range(8)}
    return str(folder / "forest.fatt"), write_csv(folder / "crowd.csv", columns)
