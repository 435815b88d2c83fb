"""``fatt check``: verify a certificate against the model that it is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from fatt.cli import options
from fatt.cli.options import (
    favorable_option,
    model_names,
    model_options,
    people_names,
    question_options,
    unread_options,
)
from fatt.cli.terminal import Exit, exits, lines, printable
from fatt.errors import (
    CertificateError,
    MalformedCertificateError,
    OtherModelError,
)

if TYPE_CHECKING:
    from fatt.certificate import Certificate, Checked
    from fatt.ensemble import Ensemble


@click.command("check", short_help="Check the certificate of an audit.")
@click.argument("certificate", type=click.Path())
@click.argument("model", type=click.Path())
@click.argument("people", type=click.Path(), required=False)
@click.option("--spec", type=click.Path(), metavar="FILE",
              help="Who is similar, as you expect it: a TOML file as for 'fatt "
              "audit'.")  # fmt: skip
@click.option("--schema", type=click.Path(), metavar="FILE",
              help="What the columns mean, as you expect it: a file of "
              "Schema.save.")  # fmt: skip
@unread_options
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON.")
@question_options
@favorable_option
@people_names
@model_names
@model_options
@click.pass_context
@exits({
    Exit.DONE: "it holds",
    Exit.REFUTED: "it does not, or is about other people or another question",
    Exit.COULD_NOT_RUN: "could not run, for instance since the file is no certificate, "
    "or about another model",
})  # fmt: skip
def command(context: click.Context, /, **given: Any) -> None:
    """Verify all that CERTIFICATE claims of MODEL, without the search behind it.

    If PEOPLE are given, they must be those whom the certificate is about. Who is
    similar, which values there are and what is fair is what the certificate says: read
    it in what is printed, or say with --spec, --schema, --tolerance and --direction
    what you expect.

    \b
      fatt check audit.cert credit.json
      fatt check audit.cert credit.json people.csv --label truth
      fatt check audit.cert credit.json --spec audit.toml --schema schema.json
    """  # noqa: D301
    with lines("checking"):
        code = _run(Request(**given))
    context.exit(code)


@dataclass(frozen=True, kw_only=True)
class Request(options.Request):
    """What the user asked for; the names are those of the options."""

    certificate: str
    schema: str | None


def _run(request: Request) -> Exit:
    from fatt.audit.replay import confirm_twins
    from fatt.certificate import Certificate
    from fatt.cli.spec import read_similarity
    from fatt.region import Schema

    similarity = None if request.spec is None else read_similarity(request.spec)
    schema = None if request.schema is None else Schema.read(request.schema)
    model = request.load(request.model)
    table = _table(request, model.ensemble)
    fair = request.fair(model.classes)
    try:
        certificate = Certificate.read(request.certificate)
        if not fair:
            _require_labels(request, certificate)
        checked = certificate.check(
            model, table, similarity=similarity, schema=schema, **fair
        )
        confirmed = table is not None and confirm_twins(certificate, model, table)
    except (MalformedCertificateError, OtherModelError) as error:
        # Nothing was refuted: there is nothing to check.
        raise type(error)(f"{request.certificate}: {error}") from None
    except CertificateError as error:
        for line in f"The certificate does not hold: {error}".splitlines():
            click.echo(printable(line))
        return Exit.REFUTED
    if request.as_json:
        click.echo(_json(checked, confirmed))
        return Exit.DONE
    for line in str(checked).splitlines():
        click.echo(printable(line))
    if confirmed:
        click.echo("The model's own library confirms both answers of every twin.")
    return Exit.DONE


def _require_labels(request: Request, certificate: Certificate) -> None:
    """Refuse a rule of which the file that says how to decide says nothing."""
    words = certificate.allowed.words
    if words and request.file.decision is not None:
        raise CertificateError(
            f"it says what is fair: {words}; [decision] of {request.spec} says nothing "
            "of that."
        )


def _table(request: Request, ensemble: Ensemble) -> Any:
    if request.people is None:
        return None
    from fatt.people.typed import type_for_model

    table = request.read_people(request.people)
    ignored = [*request.ignored, *request.unread(table)]
    return type_for_model(
        table, ensemble, others=request.beside(), ignored=ignored
    ).table


def _json(checked: Checked, confirmed: bool) -> str:
    import msgspec

    found = {
        **msgspec.to_builtins(checked),
        "fairness": checked.fairness._asdict(),
        "twins_confirmed_by_library": confirmed,
    }
    return msgspec.json.encode(found).decode()
