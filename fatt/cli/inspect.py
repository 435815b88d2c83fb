"""``fatt inspect``: what was read from a model file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fatt.cli.options import Request, model_names, model_options
from fatt.cli.terminal import lines, printable
from fatt.errors import first

if TYPE_CHECKING:
    from rich.table import Table

    from fatt.summary import FeatureSummary, Summary

_SHOWN_FEATURES = 40


@click.command("inspect")
@click.argument("model", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with all features.")
@model_names
@model_options
def command(model: str, as_json: bool, **given: Any) -> None:
    """Show what was read from the file MODEL."""
    from fatt.summary import summarize

    with lines("reading"):
        summary = summarize(Request(**given).load(model).ensemble)
    if as_json:
        import msgspec

        text = msgspec.json.format(msgspec.json.encode(summary), indent=2)
        click.echo(text.decode())
    else:
        _print_summary(summary)


def _print_summary(summary: Summary) -> None:
    """Print a summary for people."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    library = f"{summary.library} {summary.version}".strip()
    kind = (summary.model or "trees", library)
    rows = [
        ("model", " of ".join(filter(None, kind))),
        ("objective", summary.objective),
        ("read from", summary.format),
        ("trees", f"{summary.trees:,}, at most {summary.deepest} deep"),
        ("leaves", f"{summary.leaves:,}"),
        ("classes", ", ".join(map(repr, summary.classes))),
        ("arithmetic", summary.arithmetic),
        ("decision", summary.decision),
        ("digest", summary.digest),
        ("tested with", ", ".join(map(" ".join, summary.tested.items()))),
        *(("note", note) for note in summary.notes),
    ]
    facts = Table.grid(padding=(0, 2))
    for name, text in rows:
        if text:
            # As Text, not as markup: names come from the file, and may look like it.
            facts.add_row(name, Text(printable(text), overflow="fold"))
    used = [feature for feature in summary.features if feature.splits]
    used.sort(key=lambda feature: -feature.splits)
    console = Console(highlight=False)
    console.print(facts)
    if used:
        console.print(_feature_table(used[:_SHOWN_FEATURES]))
    unused = len(summary.features) - len(used)
    if unused:
        console.print(f"Features that no tree uses: {unused}.")
    if len(used) > _SHOWN_FEATURES:
        console.print(
            f"The {_SHOWN_FEATURES} most used of {len(used)} features; --json has all."
        )


def _feature_table(features: list[FeatureSummary]) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("feature", overflow="fold")
    table.add_column("kind")
    table.add_column("splits", justify="right")
    table.add_column("values", overflow="fold")
    table.add_column("missing")
    for feature in features:
        cells = (
            feature.name,
            feature.kind,
            f"{feature.splits:,}",
            _values(feature),
            feature.missing,
        )
        table.add_row(*(Text(printable(cell)) for cell in cells))
    return table


def _values(feature: FeatureSummary) -> str:
    if feature.kind == "categorical":
        return first([repr(one) for one in feature.categories], most=6)
    if not feature.thresholds:
        return ""
    lowest, highest = feature.thresholds[0], feature.thresholds[-1]
    if len(feature.thresholds) == 1:
        return f"cut at {lowest:.6g}"
    return f"{len(feature.thresholds):,} cuts, {lowest:.6g} to {highest:.6g}"
