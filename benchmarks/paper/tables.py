"""The paper's tables in Markdown, its figures and ours side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.output import heading, row
from benchmarks.paper import published, setting
from benchmarks.paper.cells import (
    BUDGET,
    QUALITY,
    TIMED,
    TIMED_OF_FEWER,
    Cell,
    Result,
    Results,
)
from benchmarks.paper.sentences import Difference, sentence

NAMES = {
    "accuracy": "Acc. %",
    "balanced": "Bal.Acc. %",
    "leaves": "leaves",
    "cat": "cat %",
    "noise": "noise %",
    "noise-cat": "noise-cat %",
    "conditional": "conditional %",
    "conditional-artifact": "conditional, authors' file %",
    "cat-ms": "cat, ms",
    "noise-ms": "noise, ms",
    "noise-cat-ms": "noise-cat, ms",
}


VERDICTS = ("fair", "unfair", "unknown")


class Column(NamedTuple):
    """A model of a table: what the paper prints of it, and which cells are ours."""

    title: str
    paper: dict[str, published.Figures]
    ours: str
    #: What stands beside without a figure of the paper.
    beside: str


MODELS = {
    "RF": Column("RF", published.FOREST, "forest votes", "forest"),
    "CART": Column("CART", published.CART, "tree votes", "tree"),
    "FATT": Column("FATT", published.FATT, "fatt paper", "fatt"),
    "hinted CART": Column("hinted CART", published.HINTED, "hinted paper", "hinted"),
}
BESIDE = {
    "forest": "scikit-learn's own predict",
    "tree": "scikit-learn's own predict",
    "fatt": "our default",
    "hinted": "hints of our default",
}


class Figure(NamedTuple):
    """A median over seeds: two bounds, which differ if people are unknown."""

    lower: float
    upper: float
    n_seeds: int
    #: How many people a share is of; 0 for other figures.
    n_people: int


def share(found: Result, verdicts: Iterable[str] = ("fair",)) -> float:
    """Return the share of people with one of these verdicts, in percent."""
    counts = {verdict: int(found[verdict]) for verdict in VERDICTS}
    return 100 * sum(counts[verdict] for verdict in verdicts) / sum(counts.values())


class Page:
    """The tables as far as they were measured, with notes that are counted through."""

    def __init__(self, results: Results, folder: Path) -> None:
        self.results, self.folder = results, folder
        self.lines: list[str] = []
        self.notes: dict[str, list[Difference]] = {}

    def figure(self, data: str, model: str, column: str) -> Figure | None:
        """Return what was measured, None if there is nothing."""
        n_people = 0
        if column in {"accuracy", "balanced", "leaves"}:
            found = self.results.of(data, model, QUALITY)
            lower = upper = [float(one[column]) for one in found]
        elif column.endswith("-ms"):
            found = self.results.of(data, model, column.removesuffix("-ms"))
            lower = upper = [float(one["ms"]) for one in found]
        else:
            found = self.results.of(data, model, column)
            lower = [share(one) for one in found]
            upper = [share(one, ("fair", "unknown")) for one in found]
            n_people = sum(one[verdict] for one in found[:1] for verdict in VERDICTS)
        if not found:
            return None
        return Figure(median(lower), median(upper), len(found), n_people)

    def table(self, title: str, model: str, columns: Iterable[str]) -> None:
        """Write a table of one model, for all data sets that were measured."""
        column, names = MODELS[model], list(columns)
        self.lines += [f"## {title}", ""]
        titles = [NAMES[name] for name in names]
        self.lines += heading(["data set", "what", *titles])
        for data in published.DATA:
            ours = [self.figure(data, column.ours, name) for name in names]
            if any(ours):
                cells = [
                    self._beside(model, data, name, figure)
                    for name, figure in zip(names, ours, strict=True)
                ]
                self.lines.append(row([data, "paper → ours", *cells]))
            other = [self.figure(data, column.beside, name) for name in names]
            if any(other):
                shown = [
                    show(data, name, figure)
                    for name, figure in zip(names, other, strict=True)
                ]
                self.lines.append(row([data, BESIDE[column.beside], *shown]))
        self.lines.append("")

    def _beside(self, model: str, data: str, name: str, ours: Figure | None) -> str:
        theirs, shown = MODELS[model].paper[data].get(name), show(data, name, ours)
        if theirs is None or ours is None:
            return shown
        paper = write_number(name, theirs)
        if name.endswith("-ms"):
            return f"{paper} → {shown}"
        if paper == shown:
            return f"{paper} ="
        walked = self.results.known.get(Cell(data, "tree", 0, name), {})
        apart = walked.get("ties apart")
        n_people = ours.n_people or published.DATA[data][3]
        apart = None if apart is None else round(100 * apart / n_people, 2)
        n_unknown = round((ours.upper - ours.lower) * n_people / 100)
        case = Difference(
            *(model, data, name, theirs, ours.lower),
            n_people=n_people,
            n_unknown=n_unknown,
            n_seeds=ours.n_seeds,
            ties_apart=apart,
        )
        same = self.notes.setdefault(sentence(case), [])
        same.append(case)
        return f"{paper} → {shown} [{list(self.notes).index(sentence(case)) + 1}]"

    def reasons(self) -> None:
        """Write a sentence for every figure that differs; figures may share one."""
        self.lines += ["## Why figures differ", ""]
        for number, (reason, cases) in enumerate(self.notes.items(), 1):
            what = list(dict.fromkeys(case.model for case in cases))
            if len(cases) == 1:
                what += [cases[0].data, cases[0].column]
            self.lines.append(f"{number}. {', '.join(what)}: {reason}")
        self.lines.append("")


def show(data: str, column: str, figure: Figure | None) -> str:
    """Write a figure: bounds if people are unknown, and of how many if not of all."""
    if figure is None:
        return ""
    lower, upper = (write_number(column, end) for end in figure[:2])
    shown = lower if lower == upper else f"{lower} to {upper}"
    if figure.n_people in {0, published.DATA[data][3]}:
        return shown
    return f"{shown} (of {figure.n_people:,})"


def write_number(column: str, value: float) -> str:
    if column == "leaves":
        return f"{value:,.0f}"
    return f"{value:.3g}" if column.endswith("-ms") else f"{value:.2f}"


def data_table(page: Page) -> None:
    """Write table 1: what the data sets are."""
    page.lines += ["## Table 1: the data", ""]
    titles = ["data set", "columns", "training", "positive %", "test", "positive %"]
    page.lines += heading(titles)
    for data, theirs in published.DATA.items():
        if not setting.path_of(data, page.folder).exists():
            continue
        people = setting.people(data, page.folder)
        ours = (
            people.train.shape[1],
            len(people.label),
            round(100 * float(people.label.mean()), 1),
            len(people.test_label),
            round(100 * float(people.test_label.mean()), 1),
        )
        cells = [
            f"{left:,} =" if left == right else f"{left:,} → {right:,}"
            for left, right in zip(theirs, ours, strict=True)
        ]
        page.lines.append(row([data, *cells]))
    page.lines += [
        "",
        "The paper's positive shares belong to a split with seed 0 and, for health, "
        "to another label (also Charlson 3-4 and 5+ are positive); its other tables "
        "belong to seed 42, which is used here. One member-year of health is missing "
        "from the raw file.",
        "",
    ]


def write(results: Results, folder: Path) -> str:
    """Return all tables."""
    page = Page(results, folder)
    data_table(page)
    quality = ["accuracy", "balanced", "cat", "noise", "noise-cat"]
    conditional = ["conditional", "conditional-artifact"]
    times = ["leaves", "cat-ms", "noise-ms", "noise-cat-ms"]
    small = ["accuracy", "noise-cat", "leaves"]
    page.table("Table 2: random forests", "RF", quality)
    page.table("Table 2: FATT", "FATT", quality)
    page.table("Table 3: conditional-attribute, random forests", "RF", conditional)
    page.table("Table 3: conditional-attribute, FATT", "FATT", conditional)
    page.table("Table 4: size and milliseconds a person, random forests", "RF", times)
    page.table("Table 4: size and milliseconds a person, FATT", "FATT", times)
    page.table("Table 5: FATT", "FATT", small)
    page.table("Table 5: CART", "CART", small)
    page.table("Table 5: hinted CART", "hinted CART", small)
    page.reasons()
    return "\n".join([*summary(results), *page.lines])


def summary(results: Results) -> list[str]:
    """Say what was verified, and how much is unknown."""
    counts = Counter[str]()
    for found in results.known.values():
        counts.update({name: found.get(name, 0) for name in VERDICTS})
    return [
        "# The paper's tables, again",
        "",
        f"{counts.total():,} verdicts, of which {counts['unknown']:,} are unknown with "
        f"a budget of {BUDGET.seconds:g} seconds a person. Forests and CART have seed "
        "0, as in the paper; they are read as in the paper, each tree voting for every "
        "class that has the most people in its leaf and ties going to the positive "
        "class, and beside it as scikit-learn predicts. `=` means the same figure, a "
        "number in brackets a note below. Milliseconds are those of the search alone, "
        f"on one thread, for the first {TIMED:,} people, on a machine that did other "
        "work as well. Fairness is an interval where people are unknown. Where the "
        f"number of people is given, so many were verified and {TIMED_OF_FEWER} timed.",
        "",
        "Made with `python -m benchmarks.paper`.",
        "",
    ]
