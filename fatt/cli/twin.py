"""``fatt twin``: is this person treated fairly, and if not, who is the twin."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from fatt.cli import options
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
from fatt.cli.terminal import Exit, exits, lines, printable, warn
from fatt.errors import DataError, SpecError, hint

if TYPE_CHECKING:
    from fatt.ensemble import Ensemble, Feature
    from fatt.model import Model
    from fatt.people.files import Cell, Cells, Table
    from fatt.people.typed import TypedPeople
    from fatt.region import Schema
    from fatt.report import Report
    from fatt.verdict import Finding


@click.command("twin", short_help="Ask about one person, and show a twin.")
@click.argument("model", type=click.Path(), required=False)
@click.argument("people", type=click.Path(), required=False)
@click.option("--row", type=click.IntRange(0), metavar="N",
              help="Which person of PEOPLE; 0 is the first.")  # fmt: skip
@click.option("--where", metavar="NAME=VALUE",
              help="The only person of PEOPLE with this value.")  # fmt: skip
@click.option("--set", "values", multiple=True, metavar="NAME=VALUE",
              help="A value of the person; without PEOPLE all that the model reads. "
              "Repeatable.")  # fmt: skip
@similarity_options
@click.option("--ignore", "ignored", multiple=True, metavar="NAME",
              help="A column of PEOPLE that the model does not read.")  # fmt: skip
@search_options
@question_options
@favorable_option
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@people_names
@model_names
@model_options
@click.pass_context
@exits({Exit.DONE: "fair", Exit.REFUTED: "unfair", Exit.UNDECIDED: "undecided"})
def command(context: click.Context, /, **given: Any) -> None:
    """Ask about one person: from a file of PEOPLE, typed in, or both.

    \b
      fatt twin credit.json people.csv --row 17 --noise age=3 --vary sex
      fatt twin credit.json people.csv --where id=A12 --set age=40 --vary sex
      fatt twin credit.json --set age=40 --set sex=F --vary sex
      fatt twin --spec audit.toml --row 17
    """  # noqa: D301
    with lines("looking for a twin"):
        code = _run(Request(**given).with_files())
    context.exit(code)


@dataclass(frozen=True, kw_only=True)
class Request(options.Request):
    """What the user asked for; the names are those of the options."""

    row: int | None
    where: str | None
    values: tuple[str, ...]


def _run(request: Request) -> Exit:
    if request.model is None:
        raise SpecError(
            "there is no model; write fatt twin MODEL PEOPLE --row 0, or name both "
            "under [audit] in the file of --spec."
        )
    similarity = request.similarity()
    budget = budget_of(request.budget)
    model = request.load(request.model)
    from fatt.audit import verify
    from fatt.region.inference import with_seen

    asked = _asked(request, model.ensemble)
    schema = request.with_kinds(asked.person.schema)
    if asked.everybody is not None:
        schema = with_seen(model.ensemble, schema, asked.everybody, similarity)
    fair = request.fair(model.classes)
    try:
        report = verify(
            model,
            asked.person.table,
            similarity=similarity,
            schema=schema,
            by_position=request.takes_positions(),
            budget=budget,
            n_jobs=request.jobs,
            **fair,
        )
    except DataError as error:
        # To `verify` the person is the only row.
        raise DataError(str(error).replace("row 0:", f"{asked.where}:", 1)) from None
    found = (*report.warnings, *_warnings(model, asked, schema))
    warn(found, in_result=not request.as_json)
    if request.as_json:
        click.echo(report.to_json())
    else:
        for line in [*_lines(report), *report.notes]:
            click.echo(printable(line))
    return (Exit.DONE, Exit.REFUTED, Exit.UNDECIDED)[report.findings.verdict[0]]


class _Asked(NamedTuple):
    """The person, with the schema of all people, and the table of these if any.

    Where the person comes from is for messages.
    """

    person: TypedPeople
    where: str
    everybody: Any = None


def _warnings(model: Model, asked: _Asked, schema: Schema) -> tuple[str, ...]:
    """Say why the people may not be those that the model was made for."""
    if asked.everybody is None:
        return ()
    from fatt.people import People
    from fatt.region import Variables
    from fatt.report.doubts import misfits

    people = People(asked.everybody, Variables(model.ensemble, schema))
    found = misfits(people, set(model.predict(asked.everybody).tolist()))
    return tuple(one.sentence for one in found)


def _asked(request: Request, ensemble: Ensemble) -> _Asked:
    """Return one person, with the schema of all people if there are any."""
    from fatt.people.files import Table
    from fatt.people.typed import TypedPeople, type_for_model

    one_hot = request.one_hot or request.said().one_hot
    if request.people is None:
        if request.row is not None or request.where is not None:
            raise SpecError("--row and --where choose from PEOPLE; name the file.")
        if not request.values:
            raise SpecError("nobody is named; write fatt twin MODEL PEOPLE --row 0.")
        names = [feature.name for feature in ensemble.features]
        typed = Table("--set", "", _typed(request, names, ensemble, {}))
        absent = [name for name in names if name not in typed.columns]
        if absent:
            raise SpecError(
                f"the model also reads {', '.join(map(repr, absent))}; add --set "
                f"{shlex.quote(f'{absent[0]}=VALUE')} and so on, or a file of PEOPLE "
                "and a --row, whose other values stay."
            )
        return _Asked(type_for_model(typed, ensemble, one_hot=one_hot), "--set")
    table = request.read_people(request.people)
    ignored = [*request.ignored, *request.unread(table)]
    everybody = type_for_model(table, ensemble, ignored=ignored, one_hot=one_hot)
    names = list(table.columns)
    row = _row(request, table)
    chosen: dict[str, Cells] = {}
    if row is not None:
        chosen = {name: cells[row : row + 1] for name, cells in table.columns.items()}
    chosen |= _typed(request, names, ensemble, table.columns)
    # In the order of the file, which a model without names of columns goes by.
    alone = {name: chosen[name] for name in names if name in chosen}
    person = type_for_model(
        Table(table.name, "", alone), ensemble, ignored={*ignored} & {*alone}
    )
    alone_typed = TypedPeople(person.table, everybody.schema, {})
    where = "--set" if row is None else f"row {row}"
    return _Asked(alone_typed, where, everybody.table)


def _typed(
    request: Request,
    names: list[str],
    ensemble: Ensemble,
    seen: Mapping[str, Cells],
) -> dict[str, Cells]:
    """Return the values that were typed in, in the order of the names."""
    values = dict(_pair(text, "--set", names) for text in request.values)
    for feature in ensemble.features:
        if feature.name in values:
            _require_sense(feature, values[feature.name], seen.get(feature.name, ()))
    return {name: [values[name]] for name in names if name in values}


def _require_sense(feature: Feature, value: str, seen: Iterable[Cell]) -> None:
    """Refuse a typed value that the model cannot read, or that is most likely misspelt.

    Parameters
    ----------
    feature
        The column.
    value
        What was typed.
    seen
        The cells of the same column in the file.
    """
    from fatt.ensemble import Categorical
    from fatt.people.typed import labels_of, numbers_of

    if isinstance(feature, Categorical) and feature.labelled:
        [label] = labels_of(feature, [value])
        is_known = not value or feature.is_open or feature.code_of(label) is not None
        if not is_known and value not in map(str, seen):
            raise SpecError(
                f"--set {feature.name}={value}: the model does not know {value!r}. "
                f"{hint(value, map(str, feature.categories))}"
            )
        return
    try:
        numbers_of(feature.name, [value])
    except DataError as error:
        raise DataError(str(error).replace("row 0:", "--set:", 1)) from None


def _row(request: Request, table: Table) -> int | None:
    """Return the row of the person in the file; None if nobody is chosen there."""
    if request.row is not None and request.where is not None:
        raise SpecError("--row and --where both choose a person; keep one.")
    row = request.row
    if request.where is not None:
        name, value = _pair(request.where, "--where", list(table.columns))
        row = _row_where(name, value, table)
    if row is None:
        if not request.values:
            raise SpecError("nobody is named; add --row 0 or --where NAME=VALUE.")
        return None
    n_people = len(next(iter(table.columns.values())))
    if row >= n_people:
        raise SpecError(
            f"--row {row}: {table.name} has {n_people:,} people; the last is row "
            f"{n_people - 1}."
        )
    return row


def _row_where(name: str, value: str, table: Table) -> int:
    cells = list(table.columns[name])
    rows = [row for row, cell in enumerate(cells) if str(cell) == value]
    if len(rows) != 1:
        found = f"{len(rows):,} people have" if rows else "nobody has"
        raise SpecError(
            f"--where {name}={value}: {found} it in {table.name}; choose one with "
            "--row."
        )
    return rows[0]


def _pair(text: str, option: str, names: list[str]) -> tuple[str, str]:
    """Split at an equals sign; names and values may hold some themselves."""
    known = [name for name in names if text.startswith(f"{name}=")]
    if known:
        name = max(known, key=len)
        return name, text[len(name) + 1 :]
    name, equals, _ = text.partition("=")
    if not equals:
        raise SpecError(f"{option} {text}: write NAME=VALUE.")
    raise SpecError(f"{option} names {name!r}, which is no column. {hint(name, names)}")


def _lines(report: Report) -> list[str]:
    from fatt.report.sentences import decision
    from fatt.verdict import answer_in_words

    finding, rule = report.findings[0], decision(report)
    own = "" if finding.label is None else answer_in_words(finding.label)
    if len(report.counterexamples):
        case = report.counterexamples[0]
        where = "the model itself" if case.replayed_on == "model" else "what was read"
        return [
            f"Unfair: this person gets {own}, and a similar one gets "
            f"{answer_in_words(case.twin_label)}:",
            *(f"  {name} {change}" for name, change in case.changes.items()),
            f"Both answers were confirmed on {where}.",
            *rule,
        ]
    if finding.verdict == "fair":
        said = f"Fair: everybody similar gets {own} as well. Proved."
        if report.allowed.words:
            said = f"Fair: this person gets {own}. Proved."
        return [said, *rule]
    possible = " or ".join(map(str, finding.labels)) or "perhaps others"
    return [
        f"Unknown: this person gets {own}; similar people get {possible}.",
        _way_on(finding),
    ]


def _way_on(finding: Finding) -> str:
    """Say why somebody is unknown, and what decides it, if anything does."""
    from fatt.verdict import BECAUSE, Stopped

    assert finding.stopped is not None
    if finding.stopped == Stopped.BUDGET:
        return "The budget ended: raise --budget to decide it."
    if finding.stopped == Stopped.INTERRUPTED:
        return "The run was interrupted: run it again to decide it."
    return f"It stays so {BECAUSE[finding.stopped]}."
