"""What benchmarks write: tables in Markdown, and progress beside them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence


def row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def heading(titles: Sequence[str]) -> list[str]:
    return [row(titles), row(["---"] * len(titles))]


def print_table(titles: Sequence[str], lines: Iterable[Iterable[str]]) -> None:
    print("\n".join([*heading(titles), *map(row, lines)]), end="\n\n")


def progress(line: str) -> None:
    """Tell people who wait what was found so far, apart from the result."""
    sys.stderr.write(line + "\n")
