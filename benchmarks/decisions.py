"""How fast regressors are verified with a tolerance, and Veritas asked for both ends.

Run ``python -m benchmarks.decisions`` from the repository root. The regressors of crime
and adult are fitted to the outcome as a number, 0 or 1, with the paper's settings for
forests and those of `benchmarks.verify` for boosted models; somebody similar may get a
prediction that differs by 0.25. Beside it stand the same trees as a classifier, cut at
0.5, in one run, on one thread; all times are processor time. Veritas is asked for each
person whether the prediction can rise above the upper end, and if not, whether it can
fall below the lower one, with five seconds for both. The result is Markdown.

``--people 200 --peer-people 20`` asks more people, ``--tolerance 0.4`` allows more,
``--case crime-forest`` asks only the cases whose names contain the word, and
``--no-peers`` leaves Veritas out.
"""

from __future__ import annotations

import argparse
import functools
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fatt
from benchmarks import paper
from benchmarks.output import print_table, progress
from benchmarks.paper.setting import BOOSTED, FORESTS
from benchmarks.verify import seconds, warm_up
from benchmarks.veritas import LIMIT, Veritas, pick
from fatt.ensemble import Cut, Ensemble
from fatt.ensemble.allowed import Allowed
from fatt.region import Boxes, Neighbourhood, Variables
from fatt.verdict import FAIR, UNFAIR, UNKNOWN
from fatt.verifier import Budget, Verifier

Floats = NDArray[np.float64]

KINDS = ("forest", "xgb100", "lgbm100")


def fit(name: str, kind: str) -> Any:
    """Train a regressor on the outcome as a number."""
    data, model = paper.people(name), None
    if kind == "forest":
        from sklearn.ensemble import RandomForestRegressor

        n_trees, depth = FORESTS[name]
        model = RandomForestRegressor(
            n_trees, max_depth=depth, random_state=0, n_jobs=2
        )
    elif kind == "xgb100":
        from xgboost import XGBRegressor

        model = XGBRegressor(n_estimators=100, max_depth=6, n_jobs=2)
    else:
        from lightgbm import LGBMRegressor

        model = LGBMRegressor(n_estimators=100, verbose=-1, n_jobs=2)
    model.fit(data.train.to_numpy(), data.label.astype(np.float64))
    if kind == "forest":
        # Asked by one thread, so that sums have an order.
        model.n_jobs = None
    return model


def as_classifier(regressor: Ensemble) -> Ensemble:
    """Return the same trees, which give a label."""
    return replace(regressor, classes=(0, 1), decision=Cut(at=0.5))


class BothEnds(Veritas):
    """Veritas, asked whether predictions leave an interval on either side."""

    def leaves(self, own: float, tolerance: float, boxes: Boxes) -> int:
        """Return the verdict on one person, whose boxes these are."""
        from tests.veritas_peer import Peer

        for label in (0, 1):
            if label not in self.peers:
                self.peers[label] = Peer(self.ensemble, label, 1 - label, missing=False)
        stop = time.process_time() + LIMIT
        # The classifier's margins are the prediction less 0.5, or 0.5 less it.
        for label, end in ((0, own + tolerance - 0.5), (1, 0.5 - own + tolerance)):
            for box in range(len(boxes)):
                answer = self.peers[label].reaches(
                    boxes,
                    box,
                    at=end + 1e-9,
                    seconds=stop - time.process_time(),
                    focal=self.focal,
                )
                if answer is None:
                    return UNKNOWN
                if answer:
                    return UNFAIR
        return FAIR


def cases(wanted: str) -> Iterator[tuple[str, str, list[str]]]:
    """Yield data sets, models and names of similarities, of those that are asked."""
    for name in BOOSTED:
        if not paper.path_of(name).exists():
            print(f"{name} is left out: {paper.path_of(name).name} is not here.\n")
            continue
        for kind in KINDS:
            chosen = [
                relation
                for relation in ("noise", "noise-cat")
                if wanted in f"{name}-{kind}-{relation}"
            ]
            if chosen:
                yield name, kind, chosen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=100)
    parser.add_argument("--peer-people", type=int, default=8)
    parser.add_argument("--tolerance", type=float, default=0.25)
    parser.add_argument("--focal", type=float, default=0.2)
    parser.add_argument("--case", default="")
    parser.add_argument("--no-peers", action="store_true")
    options = parser.parse_args()
    warm_up()
    titles = ["case", "leaves", "fair", "solved", "mean ms", "as a classifier", "times"]
    peer = ["Veritas solved", "mean ms", "ratio", "agree"]
    titles += [] if options.no_peers else peer
    lines = []
    for name, kind, relations in cases(options.case):
        ensemble = fatt.load(fit(name, kind)).ensemble
        for relation in relations:
            line = [f"{name}-{kind}-{relation}", f"{ensemble.trees.n_leaves:,}"]
            line += _compared(options, name, relation, ensemble)
            lines.append(line)
            progress(" ".join(line))
    print_table(titles, lines)


def _compared(
    options: argparse.Namespace, name: str, relation: str, ensemble: Ensemble
) -> list[str]:
    schema = paper.schema(name, ensemble)
    similarity = paper.similarities(name)[relation]
    variables = Variables(ensemble, schema)
    rows = paper.people(name).test[: options.people]
    values = variables.gather(ensemble.read(rows))
    boxes = Neighbourhood(similarity, variables).boxes(values)
    allowed = Allowed(tolerance=options.tolerance)
    asked = Verifier(variables.ensemble, allowed=allowed)
    labels = Verifier(as_classifier(variables.ensemble))
    limit, each = Budget(seconds=LIMIT), 1000 / len(values)
    verdicts = asked.verify(values, boxes, budget=limit, n_jobs=1).verdict
    mine, theirs = (
        each
        * seconds(
            functools.partial(one.verify, values, boxes, budget=limit, n_jobs=1),
            repeats=1 if UNKNOWN in verdicts else 3,
            clock=time.process_time,
        )
        for one in (asked, labels)
    )
    cells = [f"{np.mean(verdicts == FAIR):.0%}", f"{np.mean(verdicts != UNKNOWN):.0%}"]
    cells += [f"{mine:.3g}", f"{theirs:.3g}", f"{mine / theirs:.2f}"]
    if options.no_peers:
        return cells
    first, n_first = rows[: options.peer_people], min(options.peer_people, len(rows))
    peer = BothEnds(as_classifier(ensemble), schema, similarity, options.focal)
    read = peer.variables.gather(ensemble.read(first))
    theirs_boxes = peer.space.boxes(read)
    found, times = [], []
    for person, own in enumerate(ensemble.predict(first).tolist()):
        start = time.process_time()
        alone = pick(theirs_boxes, [person])
        found.append(peer.leaves(own, options.tolerance, alone))
        times.append(time.process_time() - start)
    again = pick(boxes, range(n_first))
    call = functools.partial(asked.verify, values[:n_first], again, n_jobs=1)
    ours = seconds(call, clock=time.process_time)
    both = [pair for pair in zip(verdicts, found, strict=False) if UNKNOWN not in pair]
    return [
        *cells,
        f"{np.mean(np.array(found) != UNKNOWN):.0%}",
        f"{1000 * np.mean(times[1:]):.3g}",
        f"{np.mean(times[1:]) / (ours / n_first):.3g}",
        f"{sum(left == right for left, right in both)} of {len(both)}",
    ]


if __name__ == "__main__":
    main()
