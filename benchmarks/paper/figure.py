"""The paper's figure: how accuracy and fairness spread over the seeds."""

from __future__ import annotations

from pathlib import Path

from benchmarks.paper import published
from benchmarks.paper.cells import QUALITY, Results
from benchmarks.paper.tables import share

TITLES = {"fatt paper": "the paper's training", "fatt": "our default"}


def draw(results: Results, path: Path) -> None:
    """Draw accuracy (top) and fairness under noise-cat (bottom), a dot per seed."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    # The same picture for the same cells.
    mpl.rcParams["svg.hashsalt"] = "fatt"
    figure = Figure(figsize=(8, 6), layout="constrained")
    rows = figure.subplots(2, 2, sharey="row", sharex=True)
    for column, (model, title) in enumerate(TITLES.items()):
        rows[0, column].set_title(title)
        for place, data in enumerate(published.DATA):
            found = results.of(data, model, QUALITY)
            accuracy = [one["accuracy"] for one in found]
            # As in the tables: who is unknown is not proved fair.
            fairness = [share(one) for one in results.of(data, model, "noise-cat")]
            theirs = published.FATT[data]
            for row, ours, name in (
                (0, accuracy, "accuracy"),
                (1, fairness, "noise-cat"),
            ):
                axes = rows[row, column]
                axes.plot([place] * len(ours), ours, "o", alpha=0.5, color="tab:blue")
                axes.plot([place], [theirs[name]], "_", markersize=24, color="black")
        rows[1, column].set_xticks(range(len(published.DATA)), published.DATA)
    rows[0, 0].set_ylabel("accuracy %")
    rows[1, 0].set_ylabel("proved fair under noise-cat %")
    figure.suptitle("Dots: seeds. Lines: the paper's figure.")
    figure.savefig(path, format="svg", metadata={"Date": None})
