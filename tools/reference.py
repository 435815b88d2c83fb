"""Write the pages of the reference that the code itself tells: ``make docs`` does.

The command line comes from click, files from the types that read them, refusals from
the source, and versions from the table that the tests hold. So none of them is stale.
"""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click
import msgspec

from fatt import load, verify
from fatt.certificate.file import Contents
from fatt.cli import fatt
from fatt.cli.spec import Audit, Columns, Decision
from fatt.cli.terminal import Exit
from fatt.ensemble.file import MAGIC, Payload
from fatt.importers.versions import TESTED
from fatt.region import Schema, Similarity

PACKAGE = Path(__file__).parents[1] / "fatt"

#: What each exit code means; the names are those of `fatt.cli.terminal.Exit`.
_EXITS = {
    Exit.DONE: "proven; or done, where no proof was asked for",
    Exit.REFUTED: "refuted; of `fatt twin`: unfair; of `fatt check`: does not hold",
    Exit.COULD_NOT_RUN: "could not run: the message says why, and what to do",
    Exit.UNDECIDED: "undecided: the budget ended, or the user interrupted the run",
}

#: The errors about models, and what they say in general.
_REFUSALS = {
    "UnsupportedModelError": "A model that cannot be represented bit for bit",
    "UntrustedModelError": "A file that would run code",
    "MalformedModelError": "A file that is damaged, or no model",
    "DataError": "Rows that do not fit",
    "SpecError": "A question that has no meaning",
}


def write(folder: Path) -> None:
    """Write all pages into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = {
        "commands": commands(),
        "files": files(),
        "refusals": refusals(),
        "versions": versions(),
    }
    for name, text in pages.items():
        path = folder / f"{name}.md"
        # Sphinx reads again what is newer.
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def commands() -> str:
    """Return what every command's help says."""
    parts = ["# Commands and options", "", "What `fatt COMMAND --help` prints."]
    parts += ["", "| exit code | meaning |", "| --- | --- |"]
    parts += [f"| {code.value} | {_EXITS[code]} |" for code in Exit]
    for name, command in fatt.commands.items():
        context = click.Context(command, info_name=f"fatt {name}", max_content_width=88)
        context.help_option_names = ["-h", "--help"]
        help_text = command.get_help(context)
        parts += ["", f"## fatt {name}", "", "```text", help_text, "```"]
    return "\n".join(parts) + "\n"


def files() -> str:
    """Return the forms of all files."""
    parts = [
        "# Files",
        "",
        "Unknown keys are errors everywhere.",
        "",
        "## audit.toml",
        "",
        "The file of `fatt audit --spec`, which `fatt init` starts.",
    ]
    sections = {"audit": Audit, "columns": Columns, "decision": Decision}
    for section, kind in sections.items():
        parts += ["", f"### `[{section}]`", "", *_fields(kind)]
    parts += [
        "",
        "### `[schema]`",
        "",
        *_SCHEMA,
        "",
        "### `[[similar]]`",
        "",
        *_SIMILAR,
    ]
    parts += _table((f"`{name}`", said) for name, said in _similar().items())
    parts += ["", "## Report", "", *_REPORT]
    for title, (kind, said) in _FORMS.items():
        schema = json.dumps(_briefly(msgspec.json.schema(kind)), indent=1)
        parts += ["", f"## {title}", "", said, "", "```json", schema, "```"]
    return "\n".join(parts) + "\n"


def _in_order(kind: type[msgspec.Struct]) -> str:
    return ", ".join(f"`{field.name}`" for field in msgspec.structs.fields(kind))


_CONTENT = msgspec.structs.fields(Payload)[0].type

#: What is said of files beside what their types say.
_SCHEMA = (
    "What columns are, by name, with `type` and the other keys of the variables in the "
    'schema below: `age = { type = "integer", lower = 18 }`.',
)
_SIMILAR = (
    "Who counts as similar, as often as there are ways to be: {doc}`/similarity`.",
    "",
)
_REPORT = (
    "What `fatt audit --json` and `Report.to_json` write, as "
    "{download}`JSON schema </_static/report.schema.json>`.",
)
_FORMS = {
    "Schema": (Schema, "What `Schema.save` writes, below the key `schema`:"),
    "Certificate": (Contents, "What `Certificate.save` and `--certificate` write:"),
    "Model": (
        Payload,
        f"A `.fatt` file starts with the bytes of `{MAGIC.decode().strip()}` and a "
        "line feed; the SHA-256 of the rest follows, and the rest, in MessagePack. It "
        "has this form. Of the first two lists the fields are "
        f"{_in_order(Payload)}; and {_in_order(_CONTENT)}. Arrays are little-endian "
        "bytes:",
    ),
}


def _similar() -> dict[str, str]:
    return _described(Similarity.__doc__ or "", "Parameters")


def _table(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    yield "| key | meaning |"
    yield "| --- | --- |"
    yield from (f"| {name} | {said} |" for name, said in rows)


def _briefly(schema: Any) -> Any:
    """Return a schema with the first sentence of every description."""
    if isinstance(schema, list):
        return [_briefly(part) for part in schema]
    if isinstance(schema, float) and not math.isfinite(schema):
        return str(schema)  # JSON has no such numbers
    if not isinstance(schema, dict):
        return schema
    return {
        key: part.split("\n\n")[0] if key == "description" else _briefly(part)
        for key, part in schema.items()
    }


def _fields(kind: type[msgspec.Struct]) -> Iterator[str]:
    """Yield a table of keys: types from the code, words from the docstring."""
    words = _described(kind.__doc__ or "", "Attributes")
    for function in (load, verify):
        said = _described(function.__doc__ or "", "Parameters")
        elsewhere = f"As in `fatt.{function.__name__}`."
        words |= {n: said[n] for n, word in words.items() if word == elsewhere}
    yield "| key | type | meaning |"
    yield "| --- | --- | --- |"
    for field in msgspec.structs.fields(kind):
        is_plain = isinstance(field.type, type) and field.type.__module__ == "builtins"
        shown = field.type.__name__ if is_plain else str(field.type)
        kinds = shown.replace(" | ", " or ").replace("None", "nothing")
        yield f"| `{field.name}` | {kinds} | {words[field.name]} |"


def _described(text: str, heading: str) -> dict[str, str]:
    """Return what a docstring says of each name below a heading."""
    _, _, part = text.partition(f"{heading}\n")
    words: dict[str, str] = {}
    names: list[str] = []
    for line in part.split("\n\n")[0].split("\n")[1:]:
        if line.startswith("        "):
            for name in names:
                words[name] = f"{words.get(name, '')} {line.strip()}".strip()
        elif line.strip():
            names = [name.strip() for name in line.split(",")]
    return words


def refusals() -> str:
    """Return every sentence with which something is refused, as the source has it."""
    found = list(_raised())
    parts = [
        "# Refusals",
        "",
        "What is refused, in the words of the messages; `…` stands for the name or "
        "number in question. Each says what is wrong and what to do.",
    ]
    for error, meaning in _REFUSALS.items():
        parts += ["", f"## {meaning}: `{error}`"]
        homes = dict.fromkeys(home for home, name, _ in found if name == error)
        for home in homes:
            said = [s for h, name, s in found if (h, name) == (home, error)]
            parts += ["", f"### `{home}`", ""]
            parts += [f"- {sentence}" for sentence in dict.fromkeys(said)]
    return "\n".join(parts) + "\n"


def _raised() -> Iterator[tuple[str, str, str]]:
    """Yield module, error and message of everything that is raised with a message."""
    for path in sorted(PACKAGE.rglob("*.py")):
        home = ".".join(["fatt", *path.relative_to(PACKAGE).with_suffix("").parts])
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                name = getattr(node.exc.func, "id", "")
                if name in _REFUSALS and node.exc.args:
                    message = _template(node.exc.args[0])
                    if message.strip("… "):
                        yield home.removesuffix(".__init__"), name, _plain(message)


def _template(node: ast.expr) -> str:
    """Return a message with dots for what is known only later."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(map(_template, node.values))
    if isinstance(node, ast.BinOp):
        return _template(node.left) + _template(node.right)
    return "…"


def _plain(message: str) -> str:
    """Return a message that Markdown leaves as it is."""
    for sign in "\\`*_[]<>{}$":
        message = message.replace(sign, f"\\{sign}")
    return " ".join(message.split())


def versions() -> str:
    """Return the versions tested of every library."""
    rows = [f"| {name} | {', '.join(tested)} |" for name, tested in TESTED.items()]
    head = ["| library or format | versions |", "| --- | --- |"]
    said = (
        "What the tests hold, of each library or file format. A later version is taken "
        "with a note where it can be asked itself, and refused where it cannot."
    )
    return "\n".join(["# Versions tested", "", said, "", *head, *rows]) + "\n"
