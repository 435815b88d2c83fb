"""Pages on models and files whose names anybody may have written."""

from __future__ import annotations

import numpy as np

import fatt
from fatt.audit.measures import measure
from fatt.ensemble import Categorical, Cut, Ensemble, Numeric, Scoring, Source, Trees
from fatt.region import Similarity
from fatt.report.details import Provenance

#: The names of a column of numbers, of one of categories, of these, and of answers.
PLAIN = ("age", "sex", "f", "m", "deny", "grant")
HOSTILE = (
    "<script>alert(1)</script>",
    "\"><img src=x onerror='alert(1)'>",
    "</title></style></svg><svg onload=alert(1)>",
    "&lt;b&gt; &amp; &#60;",
    "\u202eevil\u2066\u0000\ufffe",
    "<!-- --> ]]> {{7*7}} ${x} %s",
)


def bank(names: tuple[str, ...]) -> Ensemble:
    """A model whose every name is given: two columns, two categories, two answers."""
    number, category, first, second, denied, granted = names
    return Ensemble(
        features=(
            Numeric(name=number, accepts_missing=False),
            Categorical(name=category, categories=(first, second)),
        ),
        classes=(denied, granted),
        trees=Trees.lay_out(
            roots=[0, 3],
            feature=[0, -1, -1, 1, -1, -1],
            threshold=[30.0, 0, 0, 0, 0, 0],
            left=[1, -1, -1, 4, -1, -1],
            right=[2, -1, -1, 5, -1, -1],
            missing_left=[True, False, False, True, False, False],
            leaf=[-1, 0, 1, -1, 2, 3],
            subset=[-1, -1, -1, 0, -1, -1],
            sets=[np.array([True, False, False])],
            values=np.array([-1.0, 1.0, -1.5, 0.5]),
            targets=[0, 0],
        ),
        scoring=Scoring(dtype="float64", base=(0.0,)),
        decision=Cut(at=0.0),
        source=Source(library="by hand", model=number, notes=(category,)),
    )


def page_of(names: tuple[str, ...], other: str) -> str:
    """A whole page on a few people, with all of its parts and these names in it."""
    model = bank(names)
    table = np.array(
        [[20.0, names[2]], [40.0, names[2]], [29.0, names[3]], [60.0, names[3]]],
        dtype=object,
    )
    similarity = Similarity(noise={names[0]: 2}, vary=[names[1]])
    auditor = fatt.Auditor(model, similarity=similarity, schema=table)
    report = auditor.verify(table)
    assert report.counts["unfair"] > 0
    return report.to_html(
        groups=[names[1]],
        ids=[other] * len(report),
        min_fairness=0.5,
        details=measure(auditor, report),
        provenance=Provenance(
            title=other,
            model=other,
            model_digest=other,
            data=other,
            data_digest=other,
            certificate=other,
            certificate_digest=other,
            command=other,
            check=other,
            date=other,
            made_with=other,
            notes=(other,),
        ),
    )
