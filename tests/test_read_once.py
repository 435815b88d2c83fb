"""A model's file is opened once, read once, and handed on, whatever is made of it."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from aif360.datasets import BinaryLabelDataset
from click.testing import CliRunner
from lightgbm import LGBMClassifier
from xgboost import XGBClassifier

import fatt
from fatt.aif360_ext import IndividualFairnessMetric
from fatt.cli import fatt as command
from fatt.importers import lightgbm, xgboost

OPENED: list[str] | None = None
SIMILAR = ("--noise", "age=4", "--vary", "sex")


def hear(event: str, told: tuple[Any, ...]) -> None:
    # A hook cannot be taken away: it listens only while a test does.
    if OPENED is not None and event == "open":
        OPENED.append(str(told[0]))


@pytest.fixture(scope="module", autouse=True)
def hook() -> None:
    sys.addaudithook(hear)


@pytest.fixture
def opened() -> Iterator[list[str]]:
    """The files that are opened by Python, in order."""
    global OPENED  # noqa: PLW0603
    OPENED = []
    yield OPENED
    OPENED = None


def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "age": rng.integers(20, 60, 120).astype(float),
            "sex": rng.integers(0, 2, 120).astype(float),
            "income": rng.normal(30, 8, 120).round(1),
        }
    )
    table["loan"] = (table["age"] > 40).astype(float)
    return table


@pytest.fixture(params=[xgboost, lightgbm], ids=["xgboost", "lightgbm"])
def files(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Path, Path, list[str]]:
    """A model's file, a file of people, and what is done with the model, in order."""
    table, module, done = people(), request.param, []
    rows, label = table.drop(columns="loan"), table["loan"].astype(int)
    path = tmp_path / ("model.json" if module is xgboost else "model.txt")
    if module is xgboost:
        XGBClassifier(n_estimators=5, max_depth=3).fit(rows, label).save_model(path)
    else:
        fitted = LGBMClassifier(n_estimators=5, num_leaves=6, verbose=-1)
        fitted.fit(rows, label).booster_.save_model(path)
    rows.to_csv(tmp_path / "people.csv", index=False)

    def count(place: Any, name: str) -> None:
        ask = getattr(place, name)

        def counted(*told: Any, **more: Any) -> Any:
            done.append(name)
            return ask(*told, **more)

        monkeypatch.setattr(place, name, counted)

    for name in ("read", "parse", "convert"):
        count(module, name)
    count(module.live, "open_file")
    return path, tmp_path / "people.csv", done


def by_command(*words: str) -> Callable[[Path, Path], None]:
    def ask(model: Path, table: Path) -> None:
        said = [str(table.parent / word) if "." in word else word for word in words]
        given = [said[0], str(model), str(table), *SIMILAR, *said[1:]]
        result = CliRunner().invoke(command, given, catch_exceptions=False)
        assert result.exit_code in {0, 1}, result.output

    return ask


def by_metric(model: Path, _: Path) -> None:
    dataset = BinaryLabelDataset(
        df=people(), label_names=["loan"], protected_attribute_names=["sex"]
    )
    metric = IndividualFairnessMetric(
        dataset,
        dataset,
        [{"sex": 0}],
        [{"sex": 1}],
        model=str(model),
        similarity=fatt.Similarity(noise={"age": 4}, vary=["sex"]),
    )
    assert metric.num_fair() + metric.num_unfair() == len(people())
    assert metric.counterexamples()
    assert len(metric.report().certificate()) == len(people())


def by_name(model: Path, table: Path) -> None:
    similar = fatt.Similarity(noise={"age": 4}, vary=["sex"])
    report = fatt.verify(str(model), pd.read_csv(table), similarity=similar)
    assert report.counts["unfair"]
    assert report.certificate().check(report.people.variables.model)


@pytest.mark.parametrize(
    "ask",
    [
        by_command("audit", "--html", "page.html", "--certificate", "audit.cert"),
        by_command("audit", "--csv", "found.csv", "--journal", "kept.journal"),
        by_command("twin", "--row", "3"),
        by_metric,
        by_name,
    ],
    ids=["page and certificate", "rows and journal", "twin", "metric", "verify"],
)
def test_a_model_is_read_once(
    ask: Callable[[Path, Path], None],
    files: tuple[Path, Path, list[str]],
    opened: list[str],
) -> None:
    model, table, done = files
    ask(model, table)
    assert opened.count(str(model)) == 1
    # And at most once by its own library, which is asked.
    assert done in (["read", "parse"], ["read", "parse", "open_file"])


def test_the_page_names_the_file_that_was_read(
    files: tuple[Path, Path, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, table, _ = files
    was_read = hashlib.sha256(model.read_bytes()).hexdigest()
    verify = fatt.Auditor.verify

    def too_late(*told: Any, **more: Any) -> Any:
        model.write_bytes(b"another one")
        return verify(*told, **more)

    monkeypatch.setattr(fatt.Auditor, "verify", too_late)
    by_command("audit", "--html", "page.html")(model, table)
    assert was_read in (table.parent / "page.html").read_text(encoding="utf-8")
