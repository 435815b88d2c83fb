"""Options that several subcommands share, and what they mean."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self, TypeVar

import click

from fatt.errors import SpecError

if TYPE_CHECKING:
    from fatt.cli.spec import Columns, Spec
    from fatt.ensemble import Label
    from fatt.model import Model
    from fatt.people.files import Table
    from fatt.people.typed import TypedPeople
    from fatt.region import Relation, Schema
    from fatt.verifier import Budget

F = TypeVar("F", bound=Callable[..., Any])


def _all(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Join options, of which the first stands first in the help."""

    def decorate(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def _text(name: str, metavar: str, told: str) -> Callable[[F], F]:
    return click.option(name, metavar=metavar, help=told)


def _many(name: str, metavar: str, told: str) -> Callable[[F], F]:
    return click.option(name, multiple=True, metavar=metavar, help=told)


def _file(name: str, told: str) -> Callable[[F], F]:
    return click.option(name, type=click.Path(), metavar="FILE", help=told)


model_options = _all(
    click.option(
        "--missing-value",
        type=float,
        metavar="NUMBER",
        help="The number that an XGBoost model takes for missing; files do not tell.",
    ),
    click.option(
        "--iteration",
        metavar="WHICH",
        help="The iterations of an XGBoost model that count: best (up to the best one "
        "of early stopping), all, or how many.",
    ),
    click.option(
        "--threshold",
        type=float,
        metavar="NUMBER",
        help="The model decides by this cut-off of the probability, not by its own "
        "label: 0.12.",
    ),
    click.option(
        "--cuts",
        metavar="NAME=NUMBER,...",
        help="The model decides by bands of the probability, each from its number on: "
        "approve=0,review=0.14,decline=0.365.",
    ),
    click.option(
        "--pos-label",
        metavar="ANSWER",
        help="The answer whose probability is cut, or compared with a --tolerance; by "
        "default the second of two.",
    ),
    click.option(
        "--allow-pickle", is_flag=True, help="Load a pickle: it may run code."
    ),
)

similarity_options = _all(
    _many("--noise", "NAME=AMOUNT", "A number may differ by so much: age=3, "
          "age='0.3 sd', age=5%, age=+3, age=18..30; or one amount for all numbers. "
          "Repeat it for more."),
    _many("--vary", "NAME", "May be any value that the model or the table knows; "
          "NAME=any for any at all. Repeatable."),
    _many("--missing", "NAME", "May be missing for one of two similar people. "
          "Repeatable."),
    _many("--exist", "NAME,NAME", "Similar people combine these columns as some row of "
          "the table does. Repeatable."),
    _many("--follow", "NAME", "Moves along, to any level that --exist allows then; or "
          "levels that are swapped: kin=husband:wife,wife:husband. Repeatable."),
    click.option("--at-most", type=int, metavar="NUMBER",
                 help="At most so many of these attributes change at the same time."),
    _many("--distance", "NAME=COST", "What a unit of an attribute costs, or another "
          "category: age=1/10, income='1/sd', sex=0. Costs between categories stand in "
          "a file. Repeatable."),
    click.option("--limit", type=float, metavar="NUMBER",
                 help="The largest --distance between similar people; by default 1."),
    click.option("--norm", type=click.Choice(["l1", "l2", "linf", "l0"]),
                 help="How costs become a distance: their sum (l1, by default), the "
                 "root of the sum of squares, the largest, or the sum of the weights "
                 "of all that differ."),
    _file("--spec", "Read it all from a TOML file, as 'fatt init' writes one: who is "
          "similar, which files, what columns are called, how the model decides."),
    _many("--one-hot", "NAME", "The columns NAME_... are one variable, one 1 in a row. "
          "Repeatable."),
)  # fmt: skip

question_options = _all(
    _text("--tolerance", "AMOUNT", "Predictions of similar people may differ by so "
          "much: 50, or 5% of the person's own; of classifiers, their probabilities: "
          "0.05."),
    click.option("--direction", type=click.Choice(["not-lower", "not-higher"]),
                 help="Only lower, or only higher, answers of similar people are "
                 "unfair. Labels need --favourable."),
)  # fmt: skip

favorable_option = click.option(
    "--favourable", "--favorable", "favorable", metavar="ANSWER",
    help="The answer that people want: the better one of a --direction, and the one "
    "whose rates are compared. By default of rates the second of two.",
)  # fmt: skip

search_options = _all(
    _many("--budget", "SECONDS", "Give up on a person after so many seconds; or "
          "nodes=N for the same answer on every machine, total_seconds=N, "
          "total_nodes=N."),
    click.option("--jobs", type=int, default=-1, show_default="all processors",
                 metavar="N", help="Number of threads."),
)  # fmt: skip

model_names = _all(
    _file("--columns", "Names of the columns of a model that has none: one in a line, "
          "or JSON."),
    click.option("--prepare", multiple=True, type=click.Path(), metavar="FILE",
                 help="What stands before the model: a pickle of a fitted transformer, "
                 'or JSON such as {"sex": {"M": 0, "F": 1}}. Repeatable, in the order '
                 "in which they work."),
    _file("--codes", 'JSON: the words for codes, such as {"race": {"4": "Black"}}.'),
    _text("--answers", "ANSWER=WORD,...", "What the answers mean: "
          "0=denied,1=granted."),
)  # fmt: skip

rename_option = _file(
    "--rename", 'JSON: other names for columns of PEOPLE: {"Age (years)": "age"}.'
)

people_names = _all(
    rename_option,
    click.option("--by-position", is_flag=True,
                 help="Let a model without names take the columns of PEOPLE in their "
                 "order."),
)  # fmt: skip

unread_options = _all(
    _text("--label", "NAME", "The column of true outcomes."),
    click.option("--id", "identity", metavar="NAME",
                 help="The column of people's ids."),
    click.option("--ignore", "ignored", multiple=True, metavar="NAME",
                 help="A column that the model does not read. Repeatable."),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the user asked for, of all that commands share; named as the options are."""

    model: str | None = None
    people: str | None = None
    missing_value: float | None = None
    iteration: str | None = None
    threshold: float | None = None
    cuts: str | None = None
    pos_label: str | None = None
    allow_pickle: bool = False
    columns: str | None = None
    codes: str | None = None
    answers: str | None = None
    prepare: tuple[str, ...] = ()
    tolerance: str | None = None
    direction: str | None = None
    favorable: str | None = None
    rename: str | None = None
    by_position: bool = False
    spec: str | None = None
    noise: tuple[str, ...] = ()
    vary: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    exist: tuple[str, ...] = ()
    follow: tuple[str, ...] = ()
    at_most: int | None = None
    distance: tuple[str, ...] = ()
    limit: float | None = None
    norm: Any = None
    one_hot: tuple[str, ...] = ()
    label: str | None = None
    identity: str | None = None
    ignored: tuple[str, ...] = ()
    budget: tuple[str, ...] = ()
    jobs: int = -1
    as_json: bool = False
    quiet: bool = False

    @functools.cached_property
    def file(self) -> Spec:
        """What the audit's file says beside who is similar."""
        from fatt.cli.spec import read_spec

        return read_spec(self.spec)

    def with_files(self) -> Self:
        """Return the request with the model and people that the file names."""
        said = self.file.audit
        return replace(
            self, model=self.model or said.model, people=self.people or said.people
        )

    def load(self, path: Any) -> Model:
        """Load the model, with the names that options or the file give it."""
        from fatt.importers import load

        said = self.said()
        named = load(
            path,
            missing=self.missing_value,
            allow_pickle=self.allow_pickle,
            columns=said.names,
            codes=said.codes,
            answers=said.answers,
            iteration=self.counted,
            prepare=list(self.prepare) or self.file.audit.prepare or None,
        )
        decision, fair = self.decision(named.classes), self.fair(named.classes)
        if decision.keys() == {"pos_label"} and fair.get("tolerance") is not None:
            # Of several probabilities, whose it is that may move so far.
            return named.predicting(decision["pos_label"])
        return load(named, **decision)

    @property
    def counted(self) -> Any:
        """Which iterations count, as the option says, or else the file."""
        said = self.iteration or self.file.audit.iteration
        return int(str(said)) if str(said).isdecimal() else said

    def decision(self, classes: tuple[Label, ...]) -> dict[str, Any]:
        """Return what options or the file say of how the model decides.

        Parameters
        ----------
        classes
            The answers of the model.
        """
        from fatt.cli.spec import decision_of

        given = {
            "threshold": self.threshold,
            "cuts": self.cuts,
            "pos_label": self.pos_label,
        }
        return decision_of(self.file, given, functools.partial(self.answer, classes))

    def answer(self, classes: tuple[Label, ...], label: Label) -> Label:
        """Return the only answer that is written so, or was before it got a word.

        Parameters
        ----------
        classes
            The answers of the model.
        label
            What an option or the file calls one of them.
        """
        if label in classes:
            return label
        text = self.said().answers.get(str(label), str(label))
        alike = [known for known in classes if str(known) == text]
        return alike[0] if len(alike) == 1 else label

    def fair(self, classes: tuple[Label, ...]) -> dict[str, Any]:
        """Return what options or the file say of what is fair, as `fatt.verify` does.

        Parameters
        ----------
        classes
            The answers of the model.
        """
        from fatt.cli.spec import fair_of

        given = {"tolerance": self.tolerance, "direction": self.direction}
        answer = functools.partial(self.answer, classes)
        return fair_of(self.file, given, self.favorable, answer)

    def read_people(self, path: str) -> Table:
        """Read a table of people, with its columns renamed."""
        from fatt.people.files import read_table

        return read_table(path).renamed(self.said().rename)

    def unread(self, table: Table) -> list[str]:
        """Return the columns that the model does not read, as the file says."""
        said = self.file.audit
        # Whoever is new has no outcome yet, and other people other columns.
        named = (*said.ignore, said.label, said.id)
        return [name for name in table.columns if name in named]

    def takes_positions(self) -> bool:
        """Tell whether columns with names may be taken by position."""
        return self.by_position or self.said().by_position

    def with_kinds(self, schema: Schema) -> Schema:
        """Return a schema with what the file says of columns."""
        return schema.with_(self.file.schema)

    def schema_of(self, typed: TypedPeople, model: Model) -> Schema:
        """Return the schema of people, with the combinations that are asked for."""
        from fatt.region.inference import with_seen

        schema = self.with_kinds(typed.schema)
        return with_seen(model.ensemble, schema, typed.table, self.similarity())

    def beside(self) -> list[str]:
        """Return the columns of people that options name beside those of the model."""
        return [name for name in (self.label, self.identity) if name is not None]

    def words(self) -> list[str]:
        """Return the options with which another command loads the same model."""
        from fatt.cli.spec import Columns

        words = []
        if self.missing_value is not None:
            words.append(f"--missing-value={self.missing_value}")
        if self.allow_pickle:
            words.append("--allow-pickle")
        if self.counted is not None:
            words += ["--iteration", str(self.counted)]
        decision = ("threshold", "cuts", "pos_label", "tolerance", "direction")
        for name in (*decision, "columns", "codes", "answers", "rename"):
            if getattr(self, name) is not None:
                words += [f"--{name.replace('_', '-')}", str(getattr(self, name))]
        for file in self.prepare:
            words += ["--prepare", file]
        said = self.file
        if self.spec is not None and (
            said.columns != Columns() or said.decision is not None or said.audit.prepare
        ):
            words += ["--spec", self.spec]
        return words

    def said(self) -> Columns:
        """Return the names that options and the file give."""
        from fatt.cli.spec import columns_of

        given = {
            "names": self.columns,
            "codes": self.codes,
            "answers": self.answers,
            "rename": self.rename,
        }
        return columns_of(self.file, given)

    def says_who_is_similar(self) -> bool:
        """Tell whether options or a file do."""
        return self.spec is not None or self._has_options()

    def similarity(self) -> Relation:
        """Return who is similar.

        Raises
        ------
        SpecError
            If nothing is said, or both a file and options say it.
        """
        from fatt.region import Similarity

        if not self.says_who_is_similar():
            raise SpecError(
                "nothing says who is similar; add --noise age=3, --vary sex, or "
                "--spec FILE."
            )
        if self.spec is None:
            noise, vary = _noise(self.noise), _vary(self.vary)
            return Similarity(
                noise=noise,
                vary=vary,
                missing=self.missing,
                exist=[_existing(one) for one in self.exist],
                follow=[_following(one) for one in self.follow],
                at_most=self.at_most,
                distance=_distance(self.distance),
                limit=self.limit,
                norm=self.norm,
            )
        if self._has_options():
            raise SpecError(
                "--spec says who is similar, and so do other options; write all of it "
                "into the file, or none."
            )
        from fatt.cli.spec import read_similarity

        return read_similarity(self.spec)

    def _has_options(self) -> bool:
        moved = (self.noise, self.vary, self.missing, self.distance)
        tied = (self.exist, self.follow)
        return (
            any(moved)
            or any(tied)
            or (self.at_most, self.limit, self.norm) != (None,) * 3
        )


def _existing(given: str) -> str | tuple[str, ...]:
    """Return names of columns, or an order as it stands."""
    if {"<", ">", "="} & {*given}:
        return given
    return tuple(name.strip() for name in given.split(","))


def _following(given: str) -> str | dict[str, Any]:
    """Return a name alone, or one with swapped levels or a formula."""
    name, sign, how = given.partition("=")
    if not sign:
        return given
    if ":" not in how:
        return {name: how}
    pairs = [pair.partition(":") for pair in how.split(",")]
    return {name: {old.strip(): new.strip() for old, _, new in pairs}}


def _vary(given: Iterable[str]) -> dict[str, str]:
    names = {text.removesuffix("=any"): text for text in given}
    return {name: "known" if text == name else "any" for name, text in names.items()}


def _distance(given: Iterable[str]) -> dict[str, str] | None:
    costs: dict[str, str] = {}
    for text in given:
        name, equals, cost = text.rpartition("=")
        if not equals or not name:
            raise SpecError(
                f"--distance {text} says no cost; write {text}=0.1, what a unit costs."
            )
        if name in costs:
            raise SpecError(f"--distance says two things of {name!r}; say one.")
        costs[name] = cost
    return costs or None


def _noise(given: Iterable[str]) -> dict[str, str] | str | None:
    amounts: dict[str, str] = {}
    for text in given:
        # Names may hold equals signs, amounts do not.
        name, _, amount = text.rpartition("=")
        if name in amounts:
            raise SpecError(f"--noise says two things of {name!r}; say one.")
        amounts[name] = amount
    if "" not in amounts:
        return amounts or None
    if not re.match(r"[-+.\d]", amounts[""]):
        raise SpecError(
            f"--noise {amounts['']} says no amount; write {amounts['']}=3 if it is a "
            "column, or a number for all columns of numbers."
        )
    if len(amounts) > 1:
        raise SpecError(
            f"--noise {amounts['']} is for all numbers, and others name some; name all "
            "or none."
        )
    return amounts[""]


def budget_of(given: Iterable[str]) -> Budget:
    """Return the limits of the search, from the option.

    Raises
    ------
    SpecError
        If there is no such limit, or it is no number.
    """
    from fatt.errors import hint
    from fatt.verifier import Budget

    limits: dict[str, Any] = {}
    for text in given:
        name, _, number = text.rpartition("=")
        name = name or "seconds"
        if name not in Budget.__struct_fields__:
            raise SpecError(
                f"--budget names {name!r}. {hint(name, Budget.__struct_fields__)}"
            )
        try:
            limits[name] = int(number) if "nodes" in name else float(number)
        except ValueError:
            whole = " whole" if "nodes" in name else ""
            raise SpecError(
                f"--budget {text}: {number!r} is no{whole} number; write --budget 1 or "
                "--budget nodes=1000."
            ) from None
    return Budget(**limits)
