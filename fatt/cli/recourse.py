"""``fatt recourse``: what people in a file can do to get the answer they want."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from fatt.cli import options
from fatt.cli.files import Command, Written
from fatt.cli.options import (
    budget_of,
    model_names,
    model_options,
    people_names,
    search_options,
    unread_options,
)
from fatt.cli.terminal import Exit, exits, lines, printable
from fatt.errors import SpecError
from fatt.storage import write_text

if TYPE_CHECKING:
    from fatt.advice import Recourses

#: So many people are shown.
_SHOWN = 10


@click.command("recourse", cls=Command, short_help="Find what people can change.")
@click.argument("model", type=click.Path())
@click.argument("people", type=click.Path())
@click.option("--may-change", "may_change", multiple=True, metavar="NAME=HOW",
              help="What may change: NAME=+20, NAME=-5000, NAME=known, or values such "
              "as 'NAME=clerk|sales'. Repeatable.")  # fmt: skip
@click.option("--wanted", required=True, metavar="ANSWER",
              help="The answer that people want.")  # fmt: skip
@click.option("--cost", "costs", multiple=True, metavar="NAME=SIZE",
              help="What a unit costs, or another value. By default the fewest columns "
              "count, then steps in standard deviations. Repeatable.")  # fmt: skip
@click.option("--norm", type=click.Choice(("l0", "l1", "l2")), default="l1",
              show_default=True, help="How costs add up.")  # fmt: skip
@click.option("--options", "count", type=click.IntRange(min=0), default=3,
              show_default=True, metavar="N",
              help="How many ways to show for each person.")  # fmt: skip
@click.option("--group", "groups", multiple=True, metavar="NAME",
              help="Count by this column, too. Repeatable.")  # fmt: skip
@unread_options
@search_options
@click.option("--csv", "csv_file", type=Written(), metavar="FILE",
              help="Write a line per person.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@people_names
@model_names
@model_options
@click.pass_context
@exits({
    Exit.DONE: "everybody has the answer, or can get it",
    Exit.REFUTED: "somebody is proved to have no way",
    Exit.UNDECIDED: "undecided within the budget",
})  # fmt: skip
def command(context: click.Context, /, **given: Any) -> None:
    """Find the cheapest change that gets each person in PEOPLE the wanted answer.

    \b
      fatt recourse credit.json people.csv --may-change hours=+20 --wanted granted
      fatt recourse credit.json people.csv --may-change debt=-5000 \\
        --may-change 'job=clerk|sales' --wanted granted --cost debt=0.001 --cost job=2
    """  # noqa: D301
    with lines("looking for recourse"):
        code = _run(Request(**given))
    context.exit(code)


@dataclass(frozen=True, kw_only=True)
class Request(options.Request):
    """What the user asked for; the names are those of the options."""

    may_change: tuple[str, ...]
    wanted: str
    costs: tuple[str, ...]
    norm: str
    count: int
    groups: tuple[str, ...]
    csv_file: str | None


def _run(request: Request) -> Exit:
    from fatt.advice import recourse
    from fatt.people.typed import type_for_model

    table = request.read_people(str(request.people))
    model = request.load(request.model)
    may_change = _pairs("--may-change", request.may_change)
    typed = type_for_model(
        table,
        model.ensemble,
        groups=[*request.groups, *(n for n in may_change if n in table.columns)],
        others=request.beside(),
        ignored=request.ignored,
        one_hot=request.one_hot or request.said().one_hot,
    )
    schema = request.with_kinds(typed.schema)
    found = recourse(
        model,
        typed.table,
        may_change={
            name: how.split("|") if "|" in how else how
            for name, how in may_change.items()
        },
        wanted=request.answer(model.classes, request.wanted),
        cost=_costs(request.costs),
        norm=request.norm,
        options=request.count,
        schema=schema,
        budget=budget_of(request.budget),
        n_jobs=request.jobs,
    )
    ids = typed.others.get(request.identity or "")
    if request.csv_file is not None:
        write_text(request.csv_file, _csv(found, ids, request.identity))
    if request.as_json:
        import msgspec

        click.echo(msgspec.json.encode(_plain(found)).decode())
    else:
        for line in _lines(request, found, ids):
            click.echo(printable(line))
    counts = found.counts
    if counts["none"]:
        return Exit.REFUTED
    return Exit.UNDECIDED if counts["unknown"] else Exit.DONE


def _pairs(option: str, given: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in given:
        name, mark, how = text.rpartition("=")
        if not mark or not name or name in found:
            why = "is named twice" if name in found else "says nothing of a column"
            raise SpecError(f"{option} {text} {why}; write {option} age=+3.")
        found[name] = how
    return found


def _costs(given: tuple[str, ...]) -> dict[str, float] | None:
    try:
        found = {name: float(size) for name, size in _pairs("--cost", given).items()}
    except ValueError:
        raise SpecError(
            f"--cost {' '.join(given)}: a cost is no number; write --cost age=0.5."
        ) from None
    return found or None


def _plain(found: Recourses) -> dict[str, Any]:
    return {
        "format": "fatt-recourse-1",
        "wanted": found.wanted,
        "counts": found.counts,
        "people": [
            {
                "status": one.status,
                "cost": None if one.cost is None else list(one.cost),
                "options": [
                    {
                        "cost": option.cost,
                        "is_cheapest": option.is_cheapest,
                        "changes": {
                            name: {"before": old, "after": new}
                            for name, (old, new) in option.changes.items()
                        },
                    }
                    for option in one.options
                ],
            }
            for one in found
        ],
    }


def _csv(found: Recourses, ids: list[str] | None, name: str | None) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    most = max((len(one.options) for one in found), default=0)
    named = [] if ids is None else [str(name)]
    ways = [f"option_{place + 1}" for place in range(most)]
    writer.writerow([*named, "row", "status", "cost", *ways])
    for one in found:
        who = [] if ids is None else [ids[one.index]]
        cost = one.options[0].cost if one.options else ""
        shown = [str(option) for option in one.options]
        blank = [""] * (most - len(shown))
        writer.writerow([*who, one.index, one.status, cost, *shown, *blank])
    return text.getvalue()


def _lines(request: Request, found: Recourses, ids: list[str] | None) -> list[str]:
    counts = found.counts
    said = [
        f"Of {len(found):,} people {counts['has it']:,} get {found.wanted!r} as they "
        f"are, {counts['possible']:,} can get it, {counts['none']:,} are proved to "
        f"have no way within what may change, {counts['unknown']:,} are undecided."
    ]
    for name in request.groups:
        said += ["", f"By {name}:"]
        for value, group in found.by_group(name).items():
            said.append(
                f"  {value!s:24} {group.counts['possible']:,} of {group.size:,} can "
                f"get it, {group.counts['none']:,} have no way; in the middle "
                f"{group.median_columns:g} columns, cost {group.median_cost:.4g}"
            )
    able = [one for one in found if one.options][:_SHOWN]
    if able:
        said += ["", "The cheapest changes (row 0 is the first person):"]
    for one in able:
        who = f"row {one.index}" if ids is None else f"{ids[one.index]}"
        said.append(f"  {who}  {'; or '.join(map(str, one.options))}")
    return said
