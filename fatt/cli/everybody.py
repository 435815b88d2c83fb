"""``fatt global``: what can a model do to anyone, not only to people in a file."""

from __future__ import annotations

import datetime
import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from fatt.cli import options
from fatt.cli.files import Command, Written
from fatt.cli.options import (
    budget_of,
    favorable_option,
    model_names,
    model_options,
    people_names,
    question_options,
    search_options,
    similarity_options,
)
from fatt.cli.terminal import Exit, exits, lines, printable, progress, say
from fatt.errors import SpecError
from fatt.storage import write_text

if TYPE_CHECKING:
    from fatt.audit import Auditor
    from fatt.everybody.answers import Answers, Met
    from fatt.people.files import Table
    from fatt.region import Space

#: What is asked, in order.
_QUESTIONS = ("gap", "pair", "share", "regions")


@click.command("global", cls=Command, short_help="Ask what a model can do to anyone.")
@click.argument("model", type=click.Path(), required=False)
@click.argument("people", type=click.Path(), required=False)
@click.option("--space", type=click.Path(), metavar="FILE",
              help="All people that there can be: TOML with [schema] and [where], or a "
              "schema as JSON. By default those between the values of "
              "PEOPLE.")  # fmt: skip
@similarity_options
@click.option("--ask", "asked", multiple=True, type=click.Choice(_QUESTIONS),
              help="Ask only this: the largest effect (gap), whether a pair is treated "
              "differently (pair), the share of unfair people (share), where they are "
              "(regions). Repeatable.")  # fmt: skip
@click.option("--of", type=click.Choice(["probability", "score", "prediction"]),
              help="What the largest effect is about; by default the probability, or "
              "the prediction of a model of numbers.")  # fmt: skip
@click.option("--distribution", type=click.Choice(["marginals", "rows", "uniform"]),
              help="How people are drawn: each column as often as its values occur in "
              "PEOPLE, as smoothed rows of PEOPLE, or uniformly.")  # fmt: skip
@click.option("--confidence", type=float, default=0.99, show_default=True,
              metavar="NUMBER", help="Of the interval of the share.")  # fmt: skip
@click.option("--seconds", type=float, default=10.0, show_default=True,
              metavar="NUMBER", help="About how long the share and the regions may "
              "take, each.")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True,
              metavar="N", help="The source of chance.")  # fmt: skip
@click.option("--max-gap", type=click.FloatRange(min=0), metavar="NUMBER",
              help="The largest effect may not exceed this; the exit code "
              "tells.")  # fmt: skip
@click.option("--max-share", type=click.FloatRange(0, 1), metavar="SHARE",
              help="The share of unfair people may not exceed this; the exit code "
              "tells.")  # fmt: skip
@click.option("--no-pair", is_flag=True,
              help="No two similar people may be treated differently; the exit code "
              "tells.")  # fmt: skip
@search_options
@question_options
@favorable_option
@click.option("--html", type=Written(), metavar="FILE", help="Write a page.")
@click.option("--json", "as_json", is_flag=True, help="Print the answers as JSON.")
@click.option("--quiet", is_flag=True, help="Print nothing that was not asked for.")
@people_names
@model_names
@model_options
@click.pass_context
@exits({
    Exit.DONE: "all demands are met, or there is none",
    Exit.REFUTED: "a demand is not met",
    Exit.UNDECIDED: "undecided within the budget, or interrupted",
})  # fmt: skip
def command(context: click.Context, /, **given: Any) -> None:
    """Ask what MODEL can do to anyone: nobody needs to be in a file.

    PEOPLE tell how often values occur, and from where to where they go.

    \b
      fatt global credit.json --space space.toml --vary sex --html global.html
      fatt global credit.json people.csv --vary sex --noise age=2 --max-gap 0.2
      fatt global credit.json people.csv --vary sex --max-share 0.01 --json
      fatt global credit.json --space space.toml --vary sex --no-pair
    """  # noqa: D301
    context.exit(_run(Request(**given).with_files()))


@dataclass(frozen=True, kw_only=True)
class Request(options.Request):
    """What the user asked for; the names are those of the options."""

    space: str | None
    asked: tuple[str, ...]
    of: Any
    distribution: Any
    confidence: float
    seconds: float
    seed: int
    max_gap: float | None
    max_share: float | None
    no_pair: bool
    html: str | None

    def asks(self, question: str) -> bool:
        """Tell whether a question is asked: of itself, or by a demand."""
        demanded = {
            "gap": self.max_gap is not None,
            "pair": self.no_pair,
            "share": self.max_share is not None,
        }
        return not self.asked or question in self.asked or demanded.get(question, False)


def _run(request: Request) -> Exit:
    path = _required(request)
    similarity = request.similarity()
    from fatt.audit import Auditor

    with lines("reading"):
        model = request.load(path)
        space, table, people = _space(request, model)
        fair = request.fair(model.classes)
        schema = space.schema_of(model)
        auditor = Auditor(model, similarity=similarity, schema=schema, **fair)
    answers = _answers(request, auditor, space, people)
    demands = answers.judged(
        max_gap=request.max_gap,
        max_share=request.max_share,
        no_pair=request.no_pair,
    )
    _print(request, answers, demands)
    if request.html is not None:
        from fatt.report.everybody_page import page_of

        page = page_of(
            answers,
            similarity=similarity,
            schema=auditor.variables.schema,
            demands=demands,
            provenance=_provenance(request, auditor, table),
        )
        write_text(request.html, page)
        if not request.quiet:
            say(f"wrote {request.html}.")
    return _exit(answers, demands)


def _required(request: Request) -> str:
    """Return the path of the model, where a space is said, too."""
    if request.model is None:
        raise SpecError(
            "there is no model; write fatt global MODEL --space FILE, or name it under "
            "[audit] in the file of --spec."
        )
    if request.space is None and request.people is None:
        raise SpecError(
            "nothing says what people there can be; add --space FILE, or a file of "
            "PEOPLE."
        )
    return request.model


def _print(request: Request, answers: Answers, demands: dict[str, Met]) -> None:
    if request.as_json:
        click.echo(json.dumps({**answers.to_dict(), "demands": demands}, indent=2))
    elif not request.quiet:
        from fatt.everybody.answers import said_of

        for text in "\n".join(said_of(answers)).split("\n"):
            click.echo(printable(text))
        for name, met in demands.items():
            click.echo(f"--{name}: {met}.")


def _exit(answers: Answers, demands: dict[str, Met]) -> Exit:
    if "refuted" in demands.values():
        return Exit.REFUTED
    if "undecided" in demands.values() or answers.interrupted:
        return Exit.UNDECIDED
    return Exit.DONE


def _space(request: Request, model: Any) -> tuple[Space, Table | None, Any]:
    """Return the space, the file of people, and what the model reads of it."""
    from fatt.people.typed import type_for_model
    from fatt.region import Space

    table = people = None
    if request.people is not None:
        table = request.read_people(request.people)
        people = type_for_model(
            table,
            model.ensemble,
            ignored=request.unread(table),
            one_hot=request.one_hot or request.said().one_hot,
        ).table
    if request.space is not None:
        return Space.read(request.space), table, people
    one_hot = request.one_hot or request.said().one_hot
    return Space.from_table(people, one_hot=one_hot), table, people


def _answers(request: Request, auditor: Auditor, space: Space, people: Any) -> Answers:
    from fatt.audit.everybody import everybody

    budget = budget_of(request.budget)
    chance = {
        "people": people,
        "distribution": request.distribution,
        "confidence": request.confidence,
        "seconds": request.seconds,
        "seed": request.seed,
        "n_jobs": request.jobs,
    }
    with progress("searching", quiet=request.quiet) as show:
        return everybody(
            auditor,
            space,
            questions=[one for one in _QUESTIONS if request.asks(one)],
            of=request.of,
            budget=budget,
            chance=chance,
            progress=show,
        )


def _provenance(request: Request, auditor: Auditor, table: Table | None) -> Any:
    from fatt.cli.audit import on_lines, versions
    from fatt.report.details import Provenance

    return Provenance(
        title="What the model can do to anyone",
        model=request.model or "",
        model_digest=auditor.model.file_digest,
        data="" if table is None else table.name,
        data_digest="" if table is None else table.digest,
        command=on_lines(["fatt", *sys.argv[1:]]),
        date=datetime.datetime.now(datetime.UTC).date().isoformat(),
        made_with=versions(),
    )
