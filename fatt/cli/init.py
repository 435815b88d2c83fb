"""``fatt init``: a commented file to begin an audit with; its guesses are marked."""

from __future__ import annotations

import difflib
import functools
import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fatt.cli.files import Command, Written
from fatt.cli.options import Request, model_names, model_options, rename_option
from fatt.cli.terminal import lines, printable, say
from fatt.errors import SpecError
from fatt.storage import write_text

if TYPE_CHECKING:
    from fatt.cli.outcomes import Outcome
    from fatt.ensemble import Ensemble
    from fatt.people import People
    from fatt.people.files import Table
    from fatt.people.typed import TypedPeople
    from fatt.region import Number

#: Words in names of columns that laws protect, or that stand for such.
_SENSITIVE = {
    *("sex", "gender", "race", "ethnicity", "ethnic", "religion", "nationality"),
    *("age", "birth", "born", "marital", "married", "disability", "disabled"),
    *("pregnant", "pregnancy", "orientation", "foreign", "native", "colour", "color"),
    *("language", "origin", "country", "citizenship", "caste", "veteran"),
}
#: What the same column may be called.
_SYNONYMS = (("sex", "gender"), ("race", "ethnicity"), ("income", "salary"))
_IDS = {"id", "name", "key", "uuid", "number", "no", "index"}
_GUESS = "# GUESS:"
_WARNING = "# WARNING:"
#: What files write for flags.
_ONES, _ZEROS = {"1", "1.0", "True", "true"}, {"0", "0.0", "False", "false"}
#: So many people tell which column holds the outcomes.
_ASKED = 20_000
#: How many categories of a column are listed.
_SHOWN = 12


@click.command("init", cls=Command, short_help="Write a file to begin an audit with.")
@click.argument("model", type=click.Path())
@click.argument("people", type=click.Path())
@click.option("--output", "-o", type=Written(), default="audit.toml",
              show_default=True, metavar="FILE", help="The file to write.")  # fmt: skip
@rename_option
@model_names
@model_options
def command(model: str, people: str, output: str, **given: Any) -> None:
    """Write a commented audit.toml for MODEL and PEOPLE; it says what is a guess.

    \b
      fatt init credit.json people.csv
      fatt audit --spec audit.toml
    """  # noqa: D301
    if Path(output).exists():
        raise SpecError(f"{output} exists; name another file with --output.")
    request = Request(**given)
    with lines("reading"):
        text = draft(request, model, people, output)
    write_text(output, text)
    for line in text.splitlines():
        what, guess, why = line.partition(_GUESS)
        if guess and not what.lstrip().startswith("#"):
            say(printable(f"guess: {what.strip()} ({why.strip()})"))
        if line.startswith(_WARNING):
            say(f"warning: {line.removeprefix(_WARNING).strip()}")
    then = shlex.join(_audit(request, output))
    say(f"wrote {output}; check the guesses in it, then: {then}")


def _audit(request: Request, output: str) -> list[str]:
    """Return the words that run the audit, with what the file cannot say."""
    words = ["fatt", "audit", "--spec", output]
    if request.missing_value is not None:
        words.append(f"--missing-value={request.missing_value}")
    return [*words, "--allow-pickle"] if request.allow_pickle else words


def draft(request: Request, model: str, people: str, output: str) -> str:
    """Return the text of the file.

    Parameters
    ----------
    request
        How the model is loaded.
    model, people
        Paths of both files.
    output
        Path of the file to be, to which the others are written relatively.
    """
    from fatt.people import People
    from fatt.region import Variables
    from fatt.region.toml import in_toml

    ensemble = request.load(model).ensemble
    places = _Places(ensemble, request.read_people(people))
    typed = places.typed()
    known = People(typed.table, Variables(ensemble, typed.schema))
    folder = Path(output).resolve().parent
    lines = [
        "# Who is treated unlike similar people? Run: "
        f"{shlex.join(_audit(request, Path(output).name))}",
        f"# Lines with {_GUESS[2:]} hold what fatt guessed: check each of them.",
        *_doubts(known),
        "",
        "[audit]",
        f"model = {in_toml(os.path.relpath(model, folder))}",
        f"people = {in_toml(os.path.relpath(people, folder))}",
        *_prepared(request, folder),
        *places.audit(),
        "",
        *_decision(request, places),
        "",
        *places.columns(request),
        "",
        *_schema(typed, known, places),
        "",
        *_similar(typed, known, places),
    ]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class _Places:
    """Which column of the people goes where."""

    ensemble: Ensemble
    table: Table

    @property
    def label(self) -> str | None:
        """The column that seems to hold the outcomes, as the model answers them."""
        outcome = self.outcome
        return None if outcome is None or outcome.logarithm else outcome.name

    @functools.cached_property
    def outcome(self) -> Outcome | None:
        """The column that seems to hold the outcomes."""
        if not self._n_more:
            return None
        from fatt.cli.outcomes import outcome_of

        columns = {
            name: self.table.columns[name]
            for name in reversed(self._unread)
            if not _is_sensitive(name)
        }
        return outcome_of(columns, self.ensemble.classes, self._answers)

    @property
    def _answers(self) -> Any:
        """What the model answers the first people; None if it reads by position.

        Which columns these models read is known only once the outcomes are.
        """
        if not self.ensemble.inputs.named:
            return None
        from fatt.people.typed import type_for_model

        first = {name: cells[:_ASKED] for name, cells in self.table.columns.items()}
        table = replace(self.table, columns=first).renamed(self.rename)
        typed = type_for_model(table, self.ensemble)
        return self.ensemble.predict(typed.table)

    @property
    def identity(self) -> str | None:
        """The column that seems to hold people's names or numbers."""
        is_left = self._n_more > (self.label is not None)
        for name in self._unread if is_left else ():
            cells = list(self.table.columns[name])
            if words_of(name) & _IDS and len(set(cells)) == len(cells):
                return name
        return None

    @functools.cached_property
    def rename(self) -> dict[str, str]:
        """The columns that seem to be the model's under another name."""
        from fatt.ensemble import Numeric

        wanted = [feature.name for feature in self.ensemble.features]
        if not self.ensemble.inputs.named:
            return {}
        absent = [name for name in wanted if name not in self.table.columns]
        free = {_plain(n): n for n in self.table.columns if n not in wanted}
        numeric = {
            one.name for one in self.ensemble.features if isinstance(one, Numeric)
        }
        words = {one for one, n in free.items() if self._holds_words(n)}
        found = {}
        for name in absent:
            # What a model reads as a number is no column of words.
            fits = [one for one in free if name not in numeric or one not in words]
            near = difflib.get_close_matches(_plain(name), fits, n=1, cutoff=0.6)
            starts = [one for one in fits if one.startswith(_plain(name))]
            same = [
                one
                for pair in _SYNONYMS
                for one in fits
                if {_plain(name), one} == set(pair)
            ]
            for match in [*same, *starts, *near][:1]:
                found[free.pop(match)] = name
        # Where some are left, the rows are others than the model's, or not ready.
        return found if len(found) == len(absent) else {}

    def _holds_words(self, name: str) -> bool:
        return any(_is_word(cell) for cell in self.table.columns[name])

    @functools.cached_property
    def one_hot(self) -> list[str]:
        """The variables that seem to be in several columns, as pandas names these."""
        import numpy as np

        from fatt.ensemble import Numeric
        from fatt.region.one_hot import flags_of, prefixes

        read = [one.name for one in self.ensemble.features if isinstance(one, Numeric)]
        others = {self.label, self.identity, *self.ignored}
        columns = {
            name: cells
            for name, cells in self.table.renamed(self.rename).columns.items()
            if name in (read if self.ensemble.inputs.named else {name} - others)
        }
        flags = {
            name: np.array([str(cell) in _ONES for cell in cells])
            for name, cells in columns.items()
            if set(map(str, cells)) <= _ONES | _ZEROS
        }
        equal = list(prefixes(list(columns), columns).values())
        found: dict[str, None] = {}
        taken: set[str] = set()
        for name in flags:
            ends = [place for place, sign in enumerate(name) if sign == "_" and place]
            for stem in (name[:end] for end in reversed(ends)):
                mine = flags_of(stem, columns)
                is_new = len(mine) > 1 and not {*mine, stem} & taken
                if mine in equal:
                    continue  # ``home_town=A`` and ``home_town=B`` say it themselves
                if is_new and stem not in columns and set(mine) <= set(flags):
                    if np.sum([flags[one] for one in mine], axis=0).max() == 1:
                        found[stem] = None
                        taken |= set(mine)
                    break
        return list(found)

    @property
    def _n_more(self) -> int:
        """How many columns there are beside those that the model reads."""
        return len(self.table.columns) - len(self.ensemble.features)

    @property
    def _unread(self) -> list[str]:
        """The columns that a model with names does not read; all if it has none."""
        names = list(self.table.columns)
        if not self.ensemble.inputs.named:
            return names
        wanted = {feature.name for feature in self.ensemble.features}
        return [name for name in names if name not in wanted]

    @property
    def ignored(self) -> list[str]:
        """What is left over where a model takes columns by position."""
        count = len(self.ensemble.features)
        named = {self.label, self.identity}
        left = [name for name in self.table.columns if name not in named]
        return [] if self.ensemble.inputs.named else left[count:]

    def found(self, name: str) -> str:
        """Say what people have in a column of categories."""
        from fatt.region.toml import in_toml

        cells = self.table.renamed(self.rename).columns[name]
        values = sorted({str(cell) for cell in cells if cell not in (None, "")})
        more = f" and {len(values) - _SHOWN} more" if len(values) > _SHOWN else ""
        return f"found {in_toml(values[:_SHOWN])}{more}"

    def typed(self) -> TypedPeople:
        """Return the people with the types that the model needs."""
        from fatt.people.typed import type_for_model

        others = [name for name in (self.label, self.identity) if name is not None]
        renamed = self.table.renamed(self.rename)
        sensitive = [name for name in self._unread if _is_sensitive(name)]
        groups = sensitive if self.ensemble.inputs.named else []
        return type_for_model(
            renamed,
            self.ensemble,
            others=others,
            ignored=self.ignored,
            one_hot=self.one_hot,
            groups=[name for name in groups if name in renamed.columns],
        )

    def audit(self) -> Iterator[str]:
        """Yield the lines on columns that are none of the model's."""
        from fatt.region.toml import in_toml

        if self.label is not None:
            so = "; name the model's answers as it does, under [columns]"
            is_coded = self.outcome is not None and self.outcome.is_coded
            yield (
                f"label = {in_toml(self.label)}  {_GUESS} it holds the true outcomes"
                f"{so if is_coded else ''}"
            )
        if self.identity is not None:
            yield f"id = {in_toml(self.identity)}  {_GUESS} it tells people apart"
        if self.ignored:
            yield (
                f"ignore = {in_toml(self.ignored)}  {_GUESS} columns "
                "beyond those that the model reads"
            )
        guessed = {self.label, self.identity, *self.rename}
        unread = [name for name in self._unread if name not in guessed]
        if self.ensemble.inputs.named and unread:
            yield (
                "# What else the model does not read; one may be the true outcomes, "
                'label = "...",'
            )
            yield '# another tell people apart, id = "...", and the rest be left out:'
            yield f"# ignore = {in_toml(unread)}"

    def columns(self, request: Request) -> Iterator[str]:
        """Yield the table that says which column is which."""
        from fatt.region.toml import in_toml, toml_key

        yield "[columns]"
        said = request.said()
        if said.names is not None:
            yield f"names = {in_toml(said.names)}"
        for name in ("codes", "answers"):
            if getattr(said, name):
                yield f"{name} = {in_toml(getattr(said, name))}"
        if not self.ensemble.inputs.named:
            yield f"by_position = true  {_GUESS} the model has no names of columns"
            left = [
                name
                for name in self.table.columns
                if name not in {self.label, self.identity, *self.ignored}
            ]
            for feature, name in zip(self.ensemble.features, left, strict=False):
                yield f"#   {in_toml(feature.name)} is read from {in_toml(name)}"
        elif self.rename:
            renamed = in_toml({**said.rename, **self.rename})
            yield f"rename = {renamed}  {_GUESS} by their names"
        elif said.rename:
            yield f"rename = {in_toml(said.rename)}"
        else:
            yield "# Every column that the model reads is in the table under its name."
        if self.one_hot:
            yield f"one_hot = {in_toml(self.one_hot)}  {_GUESS} one 1 in a row at most"
        if not said.answers and self.ensemble.classes:
            yield "# What the answers mean, if these are codes:"
            keys = [toml_key(str(answer)) for answer in self.ensemble.classes]
            pairs = ", ".join(f'{key} = "..."' for key in keys)
            yield f"# answers = {{ {pairs} }}"


def _doubts(people: People) -> Iterator[str]:
    """Yield why the rows may not be those that the model was made for."""
    from fatt.report.doubts import misfits

    answers = people.variables.model.predict(people.table)
    for warning in misfits(people, set(answers.tolist())):
        yield f"{_WARNING} {printable(warning.sentence)}"


def _prepared(request: Request, folder: Path) -> Iterator[str]:
    from fatt.region.toml import in_toml

    if request.prepare:
        files = [os.path.relpath(file, folder) for file in request.prepare]
        yield f"prepare = {in_toml(files)}"
    if request.counted is not None:
        yield f"iteration = {in_toml(request.counted)}"


def _decision(request: Request, places: _Places) -> Iterator[str]:
    """Yield how the model decides, as it was told, and what one may tell it."""
    from fatt.cli.outcomes import LOGARITHMS
    from fatt.region.toml import in_toml
    from fatt.summary import summarize

    ensemble, outcome = places.ensemble, places.outcome
    yield f"# How the model decides: {printable(summarize(ensemble).decision)}."
    told = request.decision(ensemble.classes)
    if told:
        yield "[decision]"
        yield from (f"{name} = {in_toml(value)}" for name, value in told.items())
    elif ensemble.classes:
        yield "# If decisions are made by another cut-off of the probability:"
        yield "# [decision]"
        yield "# threshold = 0.5"
    elif outcome is not None and outcome.logarithm:
        of = printable(in_toml(outcome.name))
        yield "[decision]"
        yield (
            f"tolerance = {LOGARITHMS[outcome.logarithm][1]}  {_GUESS} about 5% of "
            f"{of}, whose {outcome.logarithm} logarithm the model seems to predict"
        )
    else:
        yield "[decision]"
        yield f'tolerance = "5%"  {_GUESS} how far the number may move, of itself'


def _schema(typed: TypedPeople, people: People, places: _Places) -> Iterator[str]:
    """Yield the kinds of the columns, with what the people show of their values."""
    import numpy as np

    from fatt.region import Number
    from fatt.region.toml import in_toml, toml_key

    yield "# What the columns are. Bounds hold for everybody, also those not in the"
    yield "# table: write them only where nobody can be beyond."
    yield "[schema]"
    values = people.values(0, len(people))
    for index, variable in enumerate(typed.schema.variables):
        if len(variable.columns) > 1:
            yield f"# {in_toml(variable.name)} is in {len(variable.columns)} columns"
            continue
        kind = type(variable).__struct_config__.tag
        if not isinstance(variable, Number):
            yield f"# {in_toml(variable.name)}: {kind}, {places.found(variable.name)}"
            continue
        known = values[~np.isnan(values[:, index]), index]
        ends = f"found {known.min():.6g} to {known.max():.6g}" if known.size else ""
        if isinstance(variable.seen, tuple):
            ends = f"found {', '.join(map(str, variable.seen))}"
        yield f'{toml_key(variable.name)} = {{ type = "{kind}" }}  {_GUESS} {ends}'


def _similar(typed: TypedPeople, people: People, places: _Places) -> Iterator[str]:
    """Yield a similarity to edit."""
    from fatt.region import Number
    from fatt.region.toml import in_toml
    from fatt.report.doubts import stand_ins

    known = [variable.name for variable in typed.schema.variables]
    sensitive = [name for name in known if _is_sensitive(name)]
    numbers = [one for one in typed.schema.variables if isinstance(one, Number)]
    # What has one value cannot vary.
    fixed = {one.name for one in numbers if not one.sd}
    moving = [one for one in numbers if one.name not in fixed]
    many = {one.name: one for one in moving if not isinstance(one.seen, tuple)}
    few = [name for name in known if name not in many and name not in fixed]
    vary = [name for name in sensitive if name in few]
    noise = {name: _amount(many[name]) for name in sensitive if name in many}
    yield "# Who is similar: who differs only as said here. Several tables [[similar]]"
    yield "# are alternatives."
    for name in sensitive:
        if name in vary:
            told = printable(stand_ins(people, name))
            yield f"# {told}"
    unread = [
        name for name in places.table.columns
        if _is_sensitive(name) and name not in {*known, *typed.schema.columns}
        and people.frame is not None and name in people.frame.columns
    ]  # fmt: skip
    for name in unread:
        told = printable(stand_ins(people, name))
        yield f"# The model does not read {in_toml(name)}. {told}"
    yield "[[similar]]"
    if not vary and not noise:
        why = "no name suggests what is sensitive"
        if few:
            yield f"vary = {in_toml(few[:1])}  {_GUESS} {why}"
        else:
            some = {name: _amount(many[name]) for name in list(many)[:1]}
            yield f"noise = {in_toml(some)}  {_GUESS} {why}"
        return
    if vary:
        yield f"vary = {in_toml(vary)}  {_GUESS} sensitive by their names"
    if noise:
        yield f"noise = {in_toml(noise)}  {_GUESS} sensitive by their names, numbers"


def _amount(variable: Number) -> str | int:
    """Return noise that moves people, also among whole numbers close together."""
    from fatt.region import Integer

    is_small = isinstance(variable, Integer) and 0.2 * (variable.sd or 0.0) < 1
    return 1 if is_small else "0.2 sd"


def _is_sensitive(name: str) -> bool:
    return bool(words_of(name) & _SENSITIVE)


def words_of(name: str) -> set[str]:
    """Return the words in the name of a column."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return {word.lower() for word in re.findall(r"[A-Za-z]+", spaced)}


def _is_word(cell: Any) -> bool:
    if not isinstance(cell, str) or not cell.strip():
        return False
    try:
        float(cell)
    except ValueError:
        return True
    return False


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
