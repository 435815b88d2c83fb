"""The paper's tables that are kept can be made again, and say why they differ."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.paper import setting, tables
from benchmarks.paper.__main__ import RESULTS
from benchmarks.paper.cells import Cell, Results, cells_of, measure

KEPT = Results(RESULTS / "cells.jsonl")
pytestmark = pytest.mark.skipif(
    not setting.DATA.exists(), reason="the paper's data are not here"
)


def without_times(result: dict[str, object]) -> dict[str, object]:
    return {name: result[name] for name in result if name not in {"ms", "seconds"}}


@pytest.mark.parametrize("model", ["forest votes", "tree"])
def test_cells_of_german_come_out_again(model: str) -> None:
    for cell in cells_of("german", {model: 1}, setting.DATA):
        measured = measure(cell, setting.DATA)
        assert without_times(measured) == without_times(KEPT.known[cell])


def test_what_was_enumerated_agrees_with_what_was_verified() -> None:
    finite = [found for cell, found in KEPT.known.items() if cell.relation == "cat"]
    assert len(finite) >= 16
    assert all(found["enumerated"] == found["fair"] for found in finite)


def test_the_kept_page_is_made_of_the_kept_cells() -> None:
    page = tables.write(KEPT, setting.DATA)
    assert page + "\n" == (RESULTS / "tables.md").read_text(encoding="utf-8")


def test_a_run_goes_on_where_it_was(tmp_path: Path) -> None:
    path, cell = tmp_path / "new" / "cells.jsonl", Cell("german", "tree", 0, "cat")
    Results(path).keep(cell, {"fair": 1})
    assert Results(path).known == {cell: {"fair": 1}}


def test_unknown_people_make_an_interval(tmp_path: Path) -> None:
    results = Results(tmp_path / "cells.jsonl")
    verdicts = {"fair": 50, "unfair": 30, "unknown": 20, "ms": 1.0}
    for relation in ("noise", "noise-cat"):
        results.keep(Cell("german", "forest", 0, relation), verdicts)
        verdicts = {name: 2 * count for name, count in verdicts.items()}
    line = next(
        line
        for line in tables.write(results, setting.DATA).splitlines()
        if line.startswith("| german | scikit-learn's own predict")
    )
    assert "| 50.00 to 70.00 (of 100) | 50.00 to 70.00 |" in line
