"""``fatt train``: a small tree that is accurate and provably fair, from a file."""

from __future__ import annotations

import contextlib
import sys
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from fatt.cli import options
from fatt.cli.files import Command, Written
from fatt.cli.options import similarity_options
from fatt.cli.terminal import Exit, exits, lines, printable, say

if TYPE_CHECKING:
    from fatt.region import Relation
    from fatt.train import FATTClassifier


@click.command(
    "train", cls=Command, short_help="Train a small fair tree on a file of people."
)
@click.argument("people", type=click.Path())
@click.option("--label", required=True, metavar="NAME",
              help="The column of outcomes to learn.")  # fmt: skip
@similarity_options
@click.option("--output", required=True, type=Written(), metavar="FILE",
              help="Where to save the tree; such as tree.fatt.")  # fmt: skip
@click.option("--ignore", "ignored", multiple=True, metavar="NAME",
              help="A column not to learn from, such as ids. Repeatable.")  # fmt: skip
@click.option("--fairness-weight", type=click.FloatRange(0, 1), metavar="WEIGHT",
              show_default="halving the unfair share is worth 1.5 points of accuracy",
              help="What fairness counts; the rest is for accuracy.")  # fmt: skip
@click.option("--min-fairness", type=click.FloatRange(0, 1), metavar="SHARE",
              help="The share that must be treated fairly: chooses the weight, "
              "and the exit code tells.")  # fmt: skip
@click.option("--max-leaves", type=click.IntRange(2), metavar="N",
              help="The size of the tree.")  # fmt: skip
@click.option("--max-seconds", type=click.FloatRange(0, min_open=True),
              metavar="SECONDS", help="When to stop.")  # fmt: skip
@click.option("--random-state", type=click.IntRange(0, 2**32 - 1), default=0,
              show_default=True, metavar="N",
              help="The same number gives the same tree.")  # fmt: skip
@click.option("--jobs", type=int, default=-1, show_default="all processors",
              metavar="N", help="Number of threads.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
@click.option("--quiet", is_flag=True, help="Print nothing that was not asked for.")
@click.pass_context
@exits({
    Exit.DONE: "done",
    Exit.REFUTED: "no tree reaches --min-fairness",
    Exit.UNDECIDED: "interrupted, with the best tree so far",
})  # fmt: skip
def command(context: click.Context, /, **given: Any) -> None:
    """Train a tree that treats similar people alike on PEOPLE, and save it.

    PEOPLE is a CSV, JSON lines, Parquet or Arrow file, or - for the standard input.
    Columns of numbers are taken as such, others as categories.

    \b
      fatt train people.csv --label repaid --noise age=3 --vary sex \\
          --output tree.fatt
      fatt audit tree.fatt others.csv --label repaid --noise age=3 --vary sex
    """  # noqa: D301
    context.exit(_run(Request(**given)))


@dataclass(frozen=True, kw_only=True)
class Request(options.Request):
    """What the user asked for; the names are those of the options."""

    people: str
    label: str
    output: str
    fairness_weight: float | None
    min_fairness: float | None
    max_leaves: int | None
    max_seconds: float | None
    random_state: int


def _run(request: Request) -> Exit:
    similarity = request.similarity()
    tree = _train(request, similarity)
    wanted = request.min_fairness
    if wanted is not None and (tree.fairness_ < wanted or not len(tree.front_)):
        if not request.quiet:
            # A tree of one leaf is as fair as it is useless.
            most = _share(max([0.0, *(one.fairness for one in tree.front_)]))
            click.echo(
                f"No tree that tells people apart was found that treats {wanted:.2%} "
                f"of these people fairly; the fairest one reaches {most}. Nothing was "
                "saved."
            )
        return Exit.REFUTED
    _print(request, tree, similarity)
    tree.ensemble_.save(request.output)
    if not request.quiet:
        say(f"wrote {request.output}.")
    return Exit.UNDECIDED if tree.interrupted_ else Exit.DONE


def _train(request: Request, similarity: Relation) -> FATTClassifier:
    from fatt.people.files import read_table
    from fatt.people.typed import type_for_training, with_kinds
    from fatt.region import Schema
    from fatt.train import FATTClassifier
    from fatt.train.splits import blank_tree

    people = type_for_training(
        read_table(request.people), label=request.label, ignored=request.ignored
    )
    names = list(people.table.columns)
    unlearnt = blank_tree(people.table, names, named=True, classes=(False, True))
    schema = Schema.infer(unlearnt, people.table, one_hot=request.one_hot)
    classifier = FATTClassifier(
        similarity,
        fairness_weight=(
            "auto" if request.fairness_weight is None else request.fairness_weight
        ),
        min_fairness=request.min_fairness,
        max_leaves=request.max_leaves,
        schema=with_kinds(schema, people.kinds),
        max_seconds=request.max_seconds,
        keep_interrupted=True,
        n_jobs=request.jobs,
        verbose=int(sys.stderr.isatty() and not request.quiet),
        random_state=request.random_state,
    )
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", UserWarning)
        is_silent = sys.stderr.isatty() or request.quiet
        with contextlib.nullcontext() if is_silent else lines("training"):
            classifier.fit(people.table, people.labels)
    for warning in told:
        say(printable(str(warning.message)))
    return classifier


def _print(request: Request, tree: FATTClassifier, similarity: Relation) -> None:
    figures = {
        "output": request.output,
        "digest": tree.ensemble_.digest,
        "leaves": tree.get_n_leaves(),
        "depth": tree.get_depth(),
        "fairness": tree.fairness_,
        "accuracy": tree.accuracy_,
        "balanced_accuracy": tree.balanced_accuracy_,
        "interrupted": tree.interrupted_,
    }
    if request.as_json:
        import msgspec

        click.echo(msgspec.json.encode(figures).decode())
        return
    if request.quiet:
        return
    from fatt.export import export_text

    lines = [
        f"A tree of {figures['leaves']} leaves.",
        f"Fairness:  {_share(tree.fairness_)} of these people are proved to be treated "
        "like everybody similar to them.",
        f"Accuracy:  {tree.accuracy_:.2%} of these people get the right answer; "
        f"{tree.balanced_accuracy_:.2%} in the mean over answers.",
        "",
        similarity.describe(tree.schema_),
        "",
        export_text(tree.ensemble_).rstrip(),
    ]
    if tree.interrupted_:
        lines += ["", "The training was interrupted; this is the best tree so far."]
    for line in "\n".join(lines).split("\n"):
        click.echo(printable(line))


def _share(fairness: float) -> str:
    """Write a share as an audit does, which claims no more than is proved."""
    from fatt.verdict import Bounds, share

    return share(Bounds(fairness, fairness))
