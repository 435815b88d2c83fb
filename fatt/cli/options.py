"""Options that several subcommands share, and what they mean."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from fatt.errors import SpecError

if TYPE_CHECKING:
    from fatt.region import Relation
    from fatt.verifier import Budget

F = TypeVar("F", bound=Callable[..., Any])


def _all(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Join options, of which the first stands first in the help."""

    def decorate(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


model_options = _all(
    click.option(
        "--missing-value",
        type=float,
        metavar="NUMBER",
        help="The number that an XGBoost model takes for missing; files do not tell.",
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
    click.option(
        "--noise",
        multiple=True,
        metavar="NAME=AMOUNT",
        help="A number may differ by so much: age=3, age='0.3 sd', age=5%, age=+3, "
        "age=18..30; or one amount for all numbers. Repeat it for more.",
    ),
    click.option(
        "--vary", multiple=True, metavar="NAME", help="May be anything. Repeatable."
    ),
    click.option(
        "--missing",
        multiple=True,
        metavar="NAME",
        help="May be missing for one of two similar people. Repeatable.",
    ),
    click.option(
        "--spec",
        type=click.Path(),
        metavar="FILE",
        help="Read who is similar from a TOML file with [[similar]] tables.",
    ),
    click.option(
        "--one-hot",
        multiple=True,
        metavar="NAME",
        help="The columns NAME_... are one variable, one 1 in a row. Repeatable.",
    ),
)

question_options = _all(
    click.option(
        "--tolerance",
        metavar="AMOUNT",
        help="Predictions of similar people may differ by so much: 50, or 5% of the "
        "person's own; of classifiers, their probabilities: 0.05.",
    ),
    click.option(
        "--direction",
        type=click.Choice(["not-lower", "not-higher"]),
        help="Only lower, or only higher, answers of similar people are unfair. Labels "
        "need --favourable.",
    ),
)

favourable_option = click.option(
    "--favourable",
    "--favorable",
    "favourable",
    metavar="ANSWER",
    help="The better answer, if there is a --direction.",
)

search_options = _all(
    click.option(
        "--budget",
        multiple=True,
        metavar="SECONDS",
        help="Give up on a person after so many seconds; or nodes=N for the same "
        "answer on every machine, total_seconds=N, total_nodes=N.",
    ),
    click.option(
        "--jobs",
        type=int,
        default=-1,
        show_default="all processors",
        metavar="N",
        help="Number of threads.",
    ),
)


@dataclass(frozen=True, kw_only=True)
class SimilarityRequest:
    """What the user said of who is similar; the names are those of the options."""

    noise: tuple[str, ...]
    vary: tuple[str, ...]
    missing: tuple[str, ...]
    one_hot: tuple[str, ...]
    spec: str | None

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
            return Similarity(
                noise=_noise(self.noise), vary=self.vary, missing=self.missing
            )
        if self._has_options():
            raise SpecError(
                "--spec says who is similar, and so do other options; write all of it "
                "into the file, or none."
            )
        return read_similarity(self.spec)

    def _has_options(self) -> bool:
        return any((self.noise, self.vary, self.missing))


def read_similarity(path: str) -> Relation:
    """Read who is similar from a file, and name the file if it cannot be read."""
    from fatt.region import Similarity

    try:
        return Similarity.read_toml(path)
    except OSError as error:
        reason = error.strerror or error
        raise SpecError(f"cannot read the similarity from {path}: {reason}.") from error
    except UnicodeDecodeError:
        raise SpecError(f"{path} is no text in UTF-8.") from None
    except SpecError as error:
        raise SpecError(f"{path}: {error}") from error


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
