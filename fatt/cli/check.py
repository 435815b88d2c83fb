"""``fatt check``: verify a certificate against the model that it is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from fatt.cli.exits import Exit
from fatt.cli.options import Model, load_model, model_options
from fatt.cli.terminal import printable
from fatt.errors import CertificateError

if TYPE_CHECKING:
    from fatt.certificate import Certificate, Checked
    from fatt.ensemble import Ensemble


@click.command("check", short_help="Check the certificate of an audit.")
@click.argument("certificate", type=click.Path())
@click.argument("model", type=click.Path())
@click.argument("people", type=click.Path(), required=False)
@click.option("--ignore", "ignored", multiple=True, metavar="NAME",
              help="A column of PEOPLE that the model does not read.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON.")
@model_options
@click.pass_context
def command(context: click.Context, /, **given: Any) -> None:
    """Verify all that CERTIFICATE claims of MODEL, without the search behind it.

    If PEOPLE are given, they must be those whom the certificate is about.

    \b
    Exit codes: 0 it holds; 1 it does not; 2 could not run.

    \b
      fatt check audit.cert credit.json
      fatt check audit.cert credit.json people.csv
    """  # noqa: D301
    context.exit(_run(Request(**given)))


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the user asked for; the names are those of the options."""

    certificate: str
    model: str
    people: str | None
    ignored: tuple[str, ...]
    as_json: bool
    missing_value: float | None
    allow_pickle: bool


def _run(request: Request) -> Exit:
    model = load_model(request.model, request.missing_value, request.allow_pickle)
    table = _table(request, model.ensemble)
    from fatt.certificate import Certificate

    try:
        certificate = Certificate.read(request.certificate)
        checked = certificate.check(model.ensemble, table)
        confirmed = table is not None and _confirm(certificate, model, table)
    except CertificateError as error:
        click.echo(f"The certificate does not hold: {printable(str(error))}")
        return Exit.REFUTED
    if request.as_json:
        click.echo(_json(checked, confirmed))
        return Exit.DONE
    for line in str(checked).splitlines():
        click.echo(printable(line))
    if confirmed:
        click.echo("The model's own library confirms both labels of every twin.")
    return Exit.DONE


def _confirm(certificate: Certificate, model: Model, table: Any) -> bool:
    from fatt.audit.confirmation import confirm_twins

    return confirm_twins(certificate, model.given, model.ensemble, table)


def _table(request: Request, ensemble: Ensemble) -> Any:
    if request.people is None:
        return None
    from fatt.audit.files import read_table
    from fatt.audit.roster import enrol

    table = read_table(request.people)
    return enrol(table, ensemble, ignored=request.ignored).table


def _json(checked: Checked, confirmed: bool) -> str:
    import msgspec

    found = {
        **msgspec.to_builtins(checked),
        "fairness": checked.fairness._asdict(),
        "twins_confirmed_by_library": confirmed,
    }
    return msgspec.json.encode(found).decode()
