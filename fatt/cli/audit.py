"""``fatt audit``: who in a file of people does a model treat unlike similar people."""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import platform
import shlex
import sys
from dataclasses import dataclass, replace
from pathlib import Path
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
from fatt.cli.terminal import (
    Exit,
    exits,
    lines,
    print_report,
    printable,
    progress,
    say,
    warn,
)
from fatt.errors import DataError, SpecError, first
from fatt.storage import write_text

if TYPE_CHECKING:
    from fatt.audit import Auditor
    from fatt.cli.agreement import Agreement
    from fatt.everybody.answers import Answers
    from fatt.model import Model
    from fatt.people.files import Table
    from fatt.people.typed import TypedPeople
    from fatt.region import Relation
    from fatt.report import Report
    from fatt.report.details import Details, Provenance


@click.command("audit", cls=Command, short_help="Audit a model on a file of people.")
@click.argument("model", type=click.Path(), required=False)
@click.argument("people", type=click.Path(), required=False)
@similarity_options
@click.option("--group", "groups", multiple=True, metavar="NAME",
              help="Count by this column too, beside the categories that --vary "
              "names. Repeatable.")  # fmt: skip
@click.option("--sensitive-features", type=click.Path(), metavar="FILE",
              help="Count also by the columns of another table, whose rows stand in "
              "the order of PEOPLE; the --id is compared if it has one.")  # fmt: skip
@favorable_option
@unread_options
@click.option("--min-fairness", type=click.FloatRange(0, 1), metavar="SHARE",
              help="The share that must be treated fairly, such as 0.95; the exit code "
              "tells.")  # fmt: skip
@search_options
@click.option("--spot-checks", type=click.IntRange(min=0), default=1000,
              show_default=True, metavar="N",
              help="Ask the model itself about so many people who are similar to the "
              "fair; 0 for none.")  # fmt: skip
@click.option("--everybody", is_flag=True,
              help="Ask also what the model can do to anyone between the values of "
              "PEOPLE, and add it to the page of --html; see 'fatt "
              "global'.")  # fmt: skip
@click.option("--journal", type=Written(), metavar="FILE",
              help="Keep findings in this file as they are made.")  # fmt: skip
@click.option("--resume", is_flag=True,
              help="Go on from what the journal of an earlier run holds.")  # fmt: skip
@click.option("--html", type=Written(), metavar="FILE", help="Write a page.")
@click.option("--summary", type=Written(), metavar="FILE",
              help="Write a page that prints on one sheet.")  # fmt: skip
@click.option("--csv", type=Written(), metavar="FILE", help="Write all findings.")
@click.option("--certificate", type=Written(), metavar="FILE",
              help="Write evidence that 'fatt check' verifies; it holds the people's "
              "values.")  # fmt: skip
@click.option("--junit", type=Written(), metavar="FILE",
              help="Write the result as tests, for a build server.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option("--note", "notes", multiple=True, metavar="TEXT",
              help="A sentence for the page: the purpose, who audits, how the data "
              "were prepared. Repeatable.")  # fmt: skip
@click.option("--strict", is_flag=True,
              help="Exit with 2 if there is a warning, for instance that the rows do "
              "not fit the model.")  # fmt: skip
@click.option("--accept-doubts", is_flag=True,
              help="Let --min-fairness count although the rows seem not to be those "
              "that the model was made for: somebody looked into it.")  # fmt: skip
@click.option("--quiet", is_flag=True, help="Print nothing that was not asked for.")
@click.option("--demo", is_flag=True, help="Audit a made-up model and people.")
@question_options
@people_names
@model_names
@model_options
@click.pass_context
@exits({
    Exit.DONE: "proven, or no --min-fairness asked for",
    Exit.REFUTED: "refuted",
    Exit.UNDECIDED: "undecided within the budget, or interrupted",
})  # fmt: skip
def command(context: click.Context, /, **given: Any) -> None:
    """Prove of each person in PEOPLE that MODEL treats all similar people alike.

    PEOPLE is a CSV, JSON lines, Parquet or Arrow file, or - for the standard input.

    \b
      fatt audit --demo --html audit.html
      fatt audit credit.json people.csv --noise age=3 --vary sex
      fatt audit --spec audit.toml --min-fairness 0.95
      fatt audit credit.json people.csv --vary sex --journal audit.journal --resume
      fatt audit credit.json people.csv --vary sex --certificate audit.cert
    """  # noqa: D301
    context.exit(_run(_with_file(Request(**given))))


def _with_file(request: Request) -> Request:
    """Return the request with what the audit's file says beside who is similar."""
    said = request.file.audit
    return replace(
        request.with_files(),
        label=request.label or said.label,
        identity=request.identity or said.id,
        ignored=request.ignored or tuple(said.ignore),
        accept_doubts=request.accept_doubts or said.accept_doubts,
    )


@dataclass(frozen=True, kw_only=True)
class Request(options.Request):
    """What the user asked for; the names are those of the options."""

    groups: tuple[str, ...]
    sensitive_features: str | None
    min_fairness: float | None
    spot_checks: int
    everybody: bool
    journal: str | None
    resume: bool
    html: str | None
    summary: str | None
    junit: str | None
    csv: str | None
    certificate: str | None
    notes: tuple[str, ...]
    strict: bool
    accept_doubts: bool
    demo: bool


def _run(request: Request) -> Exit:
    _require_journal(request)
    _require_inputs(request)
    if request.everybody and request.html is None:
        raise SpecError("--everybody adds a section to a page; add --html FILE.")
    request = _with_demo(request)
    similarity, budget = request.similarity(), budget_of(request.budget)
    from fatt.audit.questions import auditor_of
    from fatt.report.groups import favorable_label

    with contextlib.nullcontext() if request.quiet else lines("reading"):
        model, table, typed = _read(request, similarity)
    if request.favorable is not None:
        # By its code or its word; a mistake is told now, not after a long run.
        favorable = request.answer(model.classes, request.favorable)
        favorable_label(model.classes, favorable)
        request = replace(request, favorable=str(favorable))
    fair = request.fair(model.classes)
    sensitive = _sensitive(request, table)
    with progress("searching", quiet=request.quiet) as show:
        auditor = auditor_of(
            model,
            typed.table,
            similarity=similarity,
            schema=request.schema_of(typed, model),
            by_position=request.takes_positions(),
            **fair,
        )
        report = auditor.verify(
            typed.table,
            budget=budget,
            n_jobs=request.jobs,
            progress=show,
            sensitive_features=sensitive,
            journal=request.journal,
            spot_checks=request.spot_checks,
        )
    if report.interrupted and request.journal is not None:
        say(f"what is done is kept in {request.journal}; --resume goes on from there.")
    given = [*request.groups, *report.people.sensitive]
    groups = tuple(dict.fromkeys([*_varied(report), *given]))
    sources = Sources(auditor, table, typed)
    agreement = _agreement(request, report, sources)
    report = replace(report, accept_doubts=request.accept_doubts)
    warnings = (*report.warnings, *agreement.warnings)
    _print(request, report, groups, sources, agreement)
    _write(request, report, groups, sources, agreement)
    _write_junit(request, report, warnings)
    if warnings and request.strict:
        return Exit.COULD_NOT_RUN
    return _exit(report, request.min_fairness)


def _require_journal(request: Request) -> None:
    path = request.journal
    if path is None:
        if request.resume:
            raise SpecError("--resume needs a journal; name it with --journal FILE.")
        return
    if not request.resume and Path(path).exists():
        raise SpecError(
            f"--journal {path} exists; add --resume to go on from it, or name another "
            "file."
        )


def _with_demo(request: Request) -> Request:
    """Return what is asked, of the demonstration also who is similar."""
    if not request.demo or request.says_who_is_similar():
        return request
    from fatt.cli import demo

    return replace(request, noise=demo.NOISE, vary=demo.VARY)


def _require_inputs(request: Request) -> None:
    if request.demo:
        if request.model is not None:
            raise SpecError("--demo brings its own model and people; name none.")
    elif request.model is None or request.people is None:
        absent = "model" if request.model is None else "file of people"
        raise SpecError(
            f"there is no {absent}; write fatt audit MODEL PEOPLE, or try "
            "fatt audit --demo."
        )


def _read(request: Request, similarity: Relation) -> tuple[Model, Table, TypedPeople]:
    """Return the model, the people as they stand in the file, and as it reads them."""
    model, table = _inputs(request)
    from fatt.people.typed import type_for_model

    typed = type_for_model(
        table,
        model.ensemble,
        # A column that is only named as what varies tells what may stand for it.
        groups=[*request.groups, *(n for n in similarity.names if n in table.columns)],
        others=request.beside(),
        ignored=request.ignored,
        one_hot=request.one_hot or request.said().one_hot,
    )
    return model, table, typed


def _inputs(request: Request) -> tuple[Model, Table]:
    if request.demo:
        from fatt.cli import demo
        from fatt.model import NoLive

        model = replace(request.load(demo.model()), opened=NoLive(demo.NO_LIBRARY))
        return model, demo.people()
    assert request.model is not None
    assert request.people is not None
    model = request.load(request.model)
    return model, request.read_people(request.people)


def _sensitive(request: Request, people: Table) -> dict[str, list[Any]] | None:
    """Read what people are grouped by from another file; its rows are the same."""
    if request.sensitive_features is None:
        return None
    from fatt.people.files import read_table

    table = read_table(request.sensitive_features)
    columns = {name: list(cells) for name, cells in table.columns.items()}
    ids = columns.pop(request.identity or "", None)
    known = people.columns.get(request.identity or "")
    if ids is not None and known is not None:
        for row, (own, other) in enumerate(zip(known, ids, strict=False)):
            if str(own) != str(other):
                raise DataError(
                    f"row {row}: {request.identity} is {own!r} in {people.name} and "
                    f"{other!r} in {table.name}; both must list the same people in the "
                    "same order."
                )
    return {
        name: [None if cell == "" else cell for cell in cells]
        for name, cells in columns.items()
    }


def _varied(report: Report) -> tuple[str, ...]:
    """Return the categories that may vary: the groups that people ask about first."""
    from fatt.ensemble import Categorical

    variables = report.people.variables
    categories = {
        feature.name
        for feature in variables.ensemble.features
        if isinstance(feature, Categorical)
    }
    moving = report.similarity.moving(variables.schema)
    names = [name for name, move in moving if move.varies]
    return tuple(name for name in dict.fromkeys(names) if name in categories)


@dataclass(frozen=True)
class Sources:
    """What was audited."""

    auditor: Auditor
    table: Table
    typed: TypedPeople

    def ids(self, request: Request) -> list[str] | None:
        """Return what people are called, if a column says so."""
        return self.typed.others.get(request.identity or "")


def _print(
    request: Request,
    report: Report,
    groups: tuple[str, ...],
    sources: Sources,
    agreement: Agreement,
) -> None:
    """Print the result, with what speaks against it first.

    Files are written afterwards: one that fails must not hide the result.
    """
    warnings = [*report.warnings, *agreement.warnings]
    warn(warnings, in_result=not (request.as_json or request.quiet))
    if request.as_json:
        click.echo(report.to_json(favorable=request.favorable))
    elif not request.quiet:
        ids = sources.ids(request)
        print_report(
            report,
            groups,
            ids=ids,
            min_fairness=request.min_fairness,
            more=_harm(request, report, sources.auditor),
        )
        for note in agreement.notes:
            click.echo(printable(note))


def _write(
    request: Request,
    report: Report,
    groups: tuple[str, ...],
    sources: Sources,
    agreement: Agreement,
) -> None:
    """Write the files that were asked for."""
    from fatt.report.rows import to_csv

    ids = sources.ids(request)
    if request.csv is not None:
        named = {} if ids is None else {str(request.identity): ids}
        text = to_csv(report, named, favorable=request.favorable)
        write_text(request.csv, text)
    if request.certificate is not None:
        _certify(request, report, request.certificate)
    pages = [path for path in (request.html, request.summary) if path is not None]
    details = _details(request, report, sources.auditor) if pages else None
    for path in pages:
        page = report.to_html(
            groups=groups,
            ids=ids,
            min_fairness=request.min_fairness,
            favorable=request.favorable or report.allowed.favorable,
            details=details,
            provenance=_provenance(request, sources, agreement),
            summary=path == request.summary,
        )
        write_text(path, page)
        if not request.quiet:
            say(f"wrote {path}.")


def _write_junit(request: Request, report: Report, warnings: tuple[str, ...]) -> None:
    if request.junit is None:
        return
    from fatt.cli.junit import to_junit

    text = to_junit(
        report,
        name=f"fatt audit {request.model or 'of the demonstration'}",
        min_fairness=request.min_fairness,
        warnings=warnings,
        is_strict=request.strict,
    )
    write_text(request.junit, text)


def _certify(request: Request, report: Report, path: str) -> None:
    """Write the certificate, and say if somebody is without a proof."""
    with progress("proving", quiet=request.quiet) as show:
        certificate = report.certificate(progress=show)
    certificate.save(path)
    claimed = certificate.counts["claimed"]
    if claimed:
        say(f"{claimed:,} of the fair are in {path} without a proof: it is too long.")
    if not request.quiet:
        say(f"wrote {path}.")


def _details(request: Request, report: Report, auditor: Auditor) -> Details | None:
    from fatt.audit.measures import measure

    if report.interrupted:
        return None
    with progress("measuring", quiet=request.quiet) as show:
        details = measure(auditor, report, n_jobs=request.jobs, progress=show)
    if not request.everybody:
        return details
    return replace(details, everybody=_everybody(request, report, auditor))


def _everybody(request: Request, report: Report, auditor: Auditor) -> Answers:
    """Ask what the model can do to anyone between the values of the table."""
    from fatt.audit.everybody import QUESTIONS, everybody
    from fatt.region import Space

    space = Space.from_table(report.people.table)
    with progress("asking about everybody", quiet=request.quiet) as show:
        return everybody(
            auditor,
            space,
            questions=QUESTIONS,
            budget=budget_of(request.budget),
            chance={"n_jobs": request.jobs},
            progress=show,
        )


def _harm(request: Request, report: Report, auditor: Auditor) -> list[str]:
    """Say who is harmed, and by what people are unfair."""
    from fatt.audit.measures import causes
    from fatt.report.harm import known_harm

    harmed = known_harm(report, request.favorable)
    said = [] if harmed is None else [harmed.sentence()]
    if report.interrupted:
        return said
    with (
        progress("telling causes apart", quiet=request.quiet) as show,
        contextlib.suppress(KeyboardInterrupt),
    ):
        why = causes(auditor, report, n_jobs=request.jobs, progress=show)
        said += [] if why is None else [str(why)]
    return said


def _left_aside(sources: Sources) -> tuple[str, ...]:
    """Say which columns were not looked at, for one may be misspelt."""
    names = sources.typed.left_aside
    if not names:
        return ()
    shown = first([repr(name) for name in names], most=8)
    return (
        f"The model does not read {shown} of {sources.table.name}; --ignore says "
        "that this is meant.",
    )


def _agreement(request: Request, report: Report, sources: Sources) -> Agreement:
    """Say how people's columns fit the model, and its answers the truth."""
    from fatt.cli.agreement import Agreement, agreement

    found, truth = Agreement(), sources.typed.others.get(request.label or "")
    if truth is not None:
        found = agreement(report, str(request.label), truth, request.said().answers)
    return found._replace(notes=(*_left_aside(sources), *found.notes))


def _provenance(request: Request, sources: Sources, agreement: Agreement) -> Provenance:
    from fatt.report.details import Provenance

    model, certificate = request.model, request.certificate
    return Provenance(
        model=model or "a model that fatt made up",
        # Of what was read: the file may be another one by now.
        model_digest=sources.auditor.model.file_digest,
        data=sources.table.name,
        data_digest=sources.table.digest,
        certificate=certificate or "",
        certificate_digest=_digest(certificate),
        command=on_lines(["fatt", *sys.argv[1:]]),
        check=on_lines(_check(request)),
        date=datetime.datetime.now(datetime.UTC).date().isoformat(),
        made_with=versions(),
        notes=(*request.notes, *agreement.notes),
        warnings=agreement.warnings,
    )


def _check(request: Request) -> list[str]:
    """Return the words of the command that checks the certificate, if one was made."""
    if request.model is None or request.certificate is None:
        return []
    words = request.words()
    if request.direction is not None and request.favorable is not None:
        words += ["--favourable", request.favorable]
    return ["fatt", "check", request.certificate, request.model, *words]


def on_lines(words: list[str]) -> str:
    """Write a command with a line for each option; browsers break within words."""
    lines: list[list[str]] = [[]]
    for word in words:
        if word.startswith("--"):
            lines.append([])
        lines[-1].append(word)
    return " \\\n  ".join(map(shlex.join, lines))


def _digest(path: str | None) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest() if path else ""


def versions() -> str:
    """Say what the audit ran on: also the model's own library, if it was asked."""
    from fatt.importers.registry import loaded_versions

    loaded = [f"{name} {version}" for name, version in loaded_versions().items()]
    system = f"{platform.system()} {platform.machine()}"
    python = f"Python {platform.python_version()}"
    return ", ".join([f"fatt {__version__}", *loaded, python, system])


def _exit(report: Report, min_fairness: float | None) -> Exit:
    from fatt.report.sentences import Judgement, judge

    if report.interrupted:
        return Exit.UNDECIDED
    if min_fairness is None:
        return Exit.DONE
    judged = judge(report, min_fairness)
    if judged is Judgement.DOUBTED:
        say(
            "nothing counts as proven while a warning says that the rows may be "
            "others; mend what it names, or add --accept-doubts once you looked into "
            "it."
        )
    return {
        Judgement.PROVEN: Exit.DONE,
        Judgement.REFUTED: Exit.REFUTED,
        Judgement.UNDECIDED: Exit.UNDECIDED,
        Judgement.DOUBTED: Exit.COULD_NOT_RUN,
    }[judged]
