"""Names from outside: of columns, codes and answers, in options or in [columns]."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from fatt.cli.spec import Columns
    from fatt.ensemble import Label
    from fatt.model import Model
    from fatt.people.files import Table
    from fatt.region import Schema

F = TypeVar("F", bound=Callable[..., Any])


def model_names(command: F) -> F:
    """Add the options that name what a model does not."""
    for option in (
        click.option("--answers", metavar="ANSWER=WORD,...",
                     help="What the answers mean: 0=denied,1=granted."),
        click.option("--codes", type=click.Path(), metavar="FILE",
                     help="JSON: the words for codes, such as "
                     '{"race": {"4": "Black"}}.'),
        click.option("--prepare", multiple=True, type=click.Path(), metavar="FILE",
                     help="What stands before the model: a pickle of a fitted "
                     'transformer, or JSON such as {"sex": {"M": 0, "F": 1}}. '
                     "Repeatable, in the order in which they work."),
        click.option("--columns", type=click.Path(), metavar="FILE",
                     help="Names of the columns of a model that has none, one in a "
                     "line."),
    ):  # fmt: skip
        command = option(command)
    return command


def rename_option(command: F) -> F:
    """Add the option that gives columns of the people the model's names."""
    return click.option(
        "--rename",
        type=click.Path(),
        metavar="FILE",
        help='JSON: other names for columns of PEOPLE: {"Age (years)": "age"}.',
    )(command)


def people_names(command: F) -> F:
    """Add the options that say which column of the people is which."""
    by_position = click.option(
        "--by-position",
        is_flag=True,
        help="Let a model without names take the columns of PEOPLE in their order.",
    )
    return rename_option(by_position(command))


@dataclass(frozen=True, kw_only=True)
class ModelRequest:
    """What the user said of the model; the names are those of the options."""

    missing_value: float | None
    threshold: float | None
    cuts: str | None
    pos_label: str | None
    allow_pickle: bool
    columns: str | None
    codes: str | None
    answers: str | None
    prepare: tuple[str, ...]
    tolerance: str | None = None
    direction: str | None = None
    rename: str | None = None
    by_position: bool = False
    spec: str | None = None

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
            prepare=self._prepare() or None,
        )
        decision, fair = self.decision(named.classes), self.fair(named.classes, None)
        if decision.keys() == {"pos_label"} and fair.get("tolerance") is not None:
            # Of several probabilities, whose it is that may move so far.
            return named.predicting(decision["pos_label"])
        return load(named, **decision)

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
        return decision_of(self.spec, given, classes)

    def fair(self, classes: tuple[Label, ...], favorable: str | None) -> dict[str, Any]:
        """Return what options or the file say of what is fair, as `fatt.verify` does.

        Parameters
        ----------
        classes
            The answers of the model.
        favorable
            The better of the labels, if an option says so.
        """
        from fatt.cli.spec import fair_of

        given = {"tolerance": self.tolerance, "direction": self.direction}
        return fair_of(self.spec, given, favorable, classes)

    def _prepare(self) -> list[str]:
        if self.prepare or self.spec is None:
            return list(self.prepare)
        from fatt.cli.spec import audit_in

        return audit_in(self.spec).prepare

    def read_people(self, path: str) -> Table:
        """Read a table of people, with its columns renamed."""
        from fatt.people.files import read_table

        return read_table(path).renamed(self.said().rename)

    def takes_positions(self) -> bool:
        """Tell whether columns with names may be taken by position."""
        return self.by_position or self.said().by_position

    def with_kinds(self, schema: Schema) -> Schema:
        """Return a schema with what the file says of columns."""
        from fatt.cli.spec import kinds_in

        return schema if self.spec is None else schema.with_(kinds_in(self.spec))

    def in_words(self, answers: list[str]) -> list[str]:
        """Return answers in the words that were given to them."""
        said = self.said().answers
        return [said.get(answer, answer) for answer in answers]

    def words(self) -> list[str]:
        """Return the options with which another command loads the same model."""
        from fatt.cli.spec import Columns, audit_in, columns_in, decision_in

        words = []
        if self.missing_value is not None:
            words.append(f"--missing-value={self.missing_value}")
        if self.allow_pickle:
            words.append("--allow-pickle")
        decision = ("threshold", "cuts", "pos_label", "tolerance", "direction")
        for name in (*decision, "columns", "codes", "answers", "rename"):
            if getattr(self, name) is not None:
                words += [f"--{name.replace('_', '-')}", str(getattr(self, name))]
        for file in self.prepare:
            words += ["--prepare", file]
        if self.spec is not None and (
            columns_in(self.spec) != Columns()
            or decision_in(self.spec) is not None
            or audit_in(self.spec).prepare
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
        return columns_of(self.spec, given)
