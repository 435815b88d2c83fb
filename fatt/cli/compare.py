"""``fatt compare``: what a new model changes for the people in a file."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from fatt import __version__
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
    unread_options,
)
from fatt.cli.terminal import Exit, exits, printable, progress, say, warn
from fatt.errors import SpecError
from fatt.storage import write_text

if TYPE_CHECKING:
    from fatt.comparison import Comparison
    from fatt.people.files import Table
    from fatt.report import Report


@click.command("compare", cls=Command, short_help="Compare a new model with an old.")
@click.argument("old", type=click.Path())
@click.argument("model", metavar="NEW", type=click.Path())
@click.argument("people", type=click.Path(), required=False)
@similarity_options
@click.option("--group", "groups", multiple=True, metavar="NAME",
              help="Count by this column, too. Repeatable.")  # fmt: skip
@favorable_option
@unread_options
@click.option("--max-new-unfair", type=click.IntRange(min=0), metavar="N",
              help="How many people may become unfair; the exit code "
              "tells.")  # fmt: skip
@click.option("--max-changed", metavar="SHARE",
              help="How many people may get another answer: a number such as 10, or a "
              "share such as 1%; the exit code tells.")  # fmt: skip
@search_options
@click.option("--html", type=Written(), metavar="FILE", help="Write a page.")
@click.option("--csv", type=Written(), metavar="FILE", help="Write a line per person.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("--quiet", is_flag=True, help="Print nothing that was not asked for.")
@question_options
@people_names
@model_names
@model_options
@click.pass_context
@exits({
    Exit.DONE: "within the limits, or no limit asked for",
    Exit.REFUTED: "a limit is exceeded",
    Exit.UNDECIDED: "undecided within the budget",
})  # fmt: skip
def command(context: click.Context, /, **given: Any) -> None:
    """Tell what the model NEW changes for each person in PEOPLE, compared with OLD.

    Names of columns, codes and answers that options or the file of --spec give are for
    both models.

    \b
      fatt compare old.json new.txt people.csv --vary sex --html compare.html
      fatt compare old.json new.txt people.csv --spec audit.toml --max-new-unfair 0
      fatt compare old.json new.txt --spec audit.toml --max-changed 1%
    """  # noqa: D301
    context.exit(_run(_with_file(Request(**given))))


@dataclass(frozen=True, kw_only=True)
class Request(options.Request):
    """What the user asked for; the names are those of the options."""

    old: str
    groups: tuple[str, ...]
    max_new_unfair: int | None
    max_changed: str | None
    html: str | None
    csv: str | None


def _with_file(request: Request) -> Request:
    said = request.file.audit
    return replace(
        request.with_files(),
        label=request.label or said.label,
        identity=request.identity or said.id,
        ignored=request.ignored or tuple(said.ignore),
    )


def _run(request: Request) -> Exit:
    if request.people is None:
        raise SpecError(
            "there is no file of people; write fatt compare OLD NEW PEOPLE, or name it "
            "under [audit] in the file of --spec."
        )
    most = _most(request.max_changed)
    table = request.read_people(request.people)
    from fatt.comparison import Comparison

    old, ids = _verified(request, "old", request.old, table)
    assert request.model is not None
    new, _ = _verified(request, "new", request.model, table)
    wanted = None
    if request.favorable is not None:
        wanted = request.answer(old.findings.classes, request.favorable)
    compared = Comparison(old, new, wanted)
    groups = tuple(dict.fromkeys(request.groups))
    _tell(request, compared, groups, ids)
    return _exit(request, compared, most)


def _verified(
    request: Request, which: str, path: str, table: Table
) -> tuple[Report, list[str] | None]:
    """Verify one of the models; return also what people are called."""
    from fatt.audit.questions import auditor_of
    from fatt.errors import DataError, ModelError
    from fatt.people.typed import type_for_model

    try:
        model = request.load(path)
        typed = type_for_model(
            table,
            model.ensemble,
            groups=request.groups,
            others=request.beside(),
            ignored=request.ignored,
            one_hot=request.one_hot or request.said().one_hot,
        )
        with progress(f"searching the {which} model", quiet=request.quiet) as show:
            auditor = auditor_of(
                model,
                typed.table,
                similarity=request.similarity(),
                schema=request.schema_of(typed, model),
                by_position=request.takes_positions(),
                **request.fair(model.classes),
            )
            report = auditor.verify(
                typed.table,
                budget=budget_of(request.budget),
                n_jobs=request.jobs,
                progress=show,
            ).whole()
    except (SpecError, DataError, ModelError) as error:
        raise type(error)(f"the {which} model: {error}") from error
    return report, typed.others.get(request.identity or "")


def _tell(
    request: Request,
    compared: Comparison,
    groups: tuple[str, ...],
    ids: list[str] | None,
) -> None:
    """Print the result, and write the files that were asked for."""
    reports = {"old": compared.old, "new": compared.new}
    warnings = [
        f"the {name} model: {one}"
        for name, report in reports.items()
        for one in report.warnings
    ]
    warn(warnings, in_result=not (request.as_json or request.quiet))
    if request.as_json:
        click.echo(compared.to_json(groups))
    elif not request.quiet:
        for line in _lines(compared, groups, ids):
            click.echo(printable(line))
    if request.csv is not None:
        named = {} if ids is None else {str(request.identity): ids}
        write_text(request.csv, compared.to_csv(named))
    if request.html is not None:
        page = compared.to_html(groups=groups, ids=ids, provenance=_origin(request))
        write_text(request.html, page)
        if not request.quiet:
            say(f"wrote {request.html}.")


def _lines(
    compared: Comparison, groups: tuple[str, ...], ids: list[str] | None
) -> list[str]:
    from fatt.report.sentences import fair_of
    from fatt.verdict import in_words

    lines = [
        *compared.sentences(),
        f"Treated fairly: {fair_of(compared.old.total)} by the old model, "
        f"{fair_of(compared.new.total)} by the new one.",
    ]
    for name in groups:
        lines += ["", f"By {name}:"]
        for values, change in compared.by_group(name).rows():
            lines.append(
                f"  {in_words(values[0]):24} {change.changed:,} of {change.size:,} "
                f"changed, {change.newly_unfair} newly unfair, {change.newly_fair} "
                f"newly fair (p = {change.unfair_p:.3g})"
            )
    pairs = compared.clearest()
    if pairs:
        lines += ["", "The clearest people (row 0 is the first person):"]
        for pair in pairs:
            named = "" if ids is None else f"{ids[pair.row]}: "
            lines.append(f"  {named}{pair}")
    return lines


def _most(given: str | None) -> tuple[float, bool] | None:
    """Return a limit, and whether it is a share."""
    if given is None:
        return None
    is_share = given.strip().endswith("%")
    try:
        number = float(given.strip().removesuffix("%")) / (100 if is_share else 1)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf") or (is_share and number > 1):
        raise SpecError(
            f"--max-changed is {given!r}; write a number of people such as 10, or a "
            "share such as 1%."
        )
    return number, is_share


def _exit(
    request: Request, compared: Comparison, most: tuple[float, bool] | None
) -> Exit:
    total, code = compared.total, Exit.DONE
    is_asked = most is not None or request.max_new_unfair is not None
    doubts = [*compared.old.grave_doubts, *compared.new.grave_doubts]
    if is_asked and doubts and not request.file.audit.accept_doubts:
        code = Exit.COULD_NOT_RUN
    if most is not None:
        limit, is_share = most
        if total.changed > (limit * total.size if is_share else limit):
            return Exit.REFUTED
    if request.max_new_unfair is not None:
        if total.newly_unfair.least > request.max_new_unfair:
            return Exit.REFUTED
        if total.newly_unfair.most > request.max_new_unfair:
            code = code or Exit.UNDECIDED
    return code


def _origin(request: Request) -> Any:
    from fatt.report.details import Provenance

    return Provenance(
        title="Old model against new",
        model=f"{request.old} and {request.model}",
        data=str(request.people),
        date=datetime.datetime.now(datetime.UTC).date().isoformat(),
        made_with=f"fatt {__version__}",
    )
