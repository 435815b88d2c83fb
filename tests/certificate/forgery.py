"""Certificates of hard little cases, ways to forge them, and who is right."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np

from fatt.certificate import Certificate, TwinChanges, make
from fatt.certificate.certificate import CLAIMED, PROVED, UNFAIR, UNKNOWN, contents_of
from fatt.certificate.closing import Cut
from fatt.ensemble import Categorical, Ensemble, Numeric
from fatt.ensemble import Cut as DecisionCut
from fatt.errors import CertificateError, FattError
from fatt.region import (
    Binary,
    Integer,
    Neighbourhood,
    Number,
    Ordinal,
    Relation,
    Schema,
    Similarity,
    Variables,
)
from fatt.region.similarity import any_of
from fatt.verifier import Verifier
from tests.cases import random_case
from tests.search_oracles import (
    brute_force,
    cells_of,
    is_member,
    labels_of,
    n_points,
    witnessed_labels,
)

Rng = np.random.Generator
Floats = np.ndarray[Any, np.dtype[np.float64]]
MOST_POINTS = 200
MOST_CUTS = 12

#: The labels around people whom brute force has looked at.
_FOUND: dict[tuple[str | bytes, ...], frozenset[int]] = {}


@dataclass
class Draft:
    """A certificate taken apart: everything in it can be changed."""

    model: Ensemble
    schema: Schema
    similarity: Relation
    values: Floats
    verdicts: np.ndarray[Any, Any]
    labels: np.ndarray[Any, Any]
    proofs: dict[int, list[Cut | None]]
    twins: dict[int, Floats]

    def certificate(self) -> Certificate:
        """Put it together again, with all digests and counts as they should be."""
        return Certificate.of(
            contents_of(
                model_digest=self.model.digest,
                schema=self.schema,
                similarity=self.similarity,
                values=self.values,
                verdicts=self.verdicts,
                labels=self.labels,
                steps=[
                    step for _, proof in sorted(self.proofs.items()) for step in proof
                ],
                twins=changes_of(
                    [(self.values[i], twin) for i, twin in sorted(self.twins.items())]
                ),
            )
        )

    def copy(self) -> Draft:
        return replace(
            self,
            values=self.values.copy(),
            verdicts=self.verdicts.copy(),
            labels=self.labels.copy(),
            proofs={person: list(proof) for person, proof in self.proofs.items()},
            twins={person: twin.copy() for person, twin in self.twins.items()},
        )


def changes_of(pairs: list[tuple[Floats, Floats]]) -> TwinChanges:
    differs = [(a != b) & ~(np.isnan(a) & np.isnan(b)) for a, b in pairs]
    nothing = np.zeros(0)
    return TwinChanges(
        np.array([mask.sum() for mask in differs], dtype=np.int64),
        np.concatenate([nothing, *map(np.flatnonzero, differs)]).astype(np.int64),
        np.concatenate(
            [nothing, *(b[m] for (_, b), m in zip(pairs, differs, strict=True))]
        ),
    )


def random_similarity(model: Ensemble, rng: Rng) -> Relation:
    ways = [_one_similarity(model, rng) for _ in range(rng.choice([1, 1, 2]))]
    return any_of(*ways)


def _one_similarity(model: Ensemble, rng: Rng) -> Similarity:
    given: dict[str, Any] = {"noise": {}, "vary": {}, "missing": [], "where": {}}
    names = rng.permutation(len(model.features))[: int(rng.integers(1, 4))]
    for index in names.tolist():
        feature = model.features[index]
        if isinstance(feature, Numeric):
            amounts = [0.5, 1, 3, "+1", "-2", "50%", "-1..1"]
            given["noise"][feature.name] = amounts[rng.integers(len(amounts))]
        else:
            some = rng.permutation(len(feature.categories))[:4]
            given["vary"][feature.name] = [feature.categories[i] for i in some]
        if feature.accepts_missing and rng.random() < 0.3:
            given["missing"].append(feature.name)
        if isinstance(feature, Numeric) and rng.random() < 0.2:
            given["where"][feature.name] = "<= 0.5"
    return Similarity(**given)


@functools.cache
def draft_of(seed: int) -> Draft:
    """Draw a model, people and a similarity, decide, and take the certificate apart.

    Proofs rarely need a cut: every other draft is drawn until some of its proofs do.
    """
    rng = np.random.default_rng(seed)
    while True:
        draft = _draft(rng)
        steps = [step for proof in draft.proofs.values() for step in proof]
        if seed % 2 == 0 or 0 < sum(step is not None for step in steps) <= MOST_CUTS:
            return draft


def _draft(rng: Rng) -> Draft:
    while True:
        case = random_case(
            int(rng.integers(2**32)),
            n_people=4,
            most_points=1,
            scale=int(rng.choice([1, 3])),
        )
        model = case.ensemble
        schema, people = Schema.from_ensemble(model), case.people
        similarity = random_similarity(model, rng)
        variables = Variables(model, schema)
        boxes = Neighbourhood(similarity, variables).boxes(people)
        sizes = [n_points(cells_of(model, boxes, box)) for box in range(len(boxes))]
        if max(sizes) <= MOST_POINTS:
            break
    found = Verifier(model).verify(people, boxes, n_jobs=1)
    unfair = np.flatnonzero(found.verdict == UNFAIR)
    assert found.twins.index.tolist() == unfair.tolist()
    pairs = [(people[who], found.twins.twin(case)) for case, who in enumerate(unfair)]
    certificate = make(
        model,
        schema,
        similarity,
        values=people,
        verdicts=found.verdict,
        labels=found.label,
        twins=changes_of(pairs),
        most_boxes=2000,
    )
    ways = np.bincount(boxes.person, minlength=len(people))
    return Draft(
        model,
        schema,
        similarity,
        people.copy(),
        certificate.verdicts.copy(),
        certificate.labels.copy(),
        _by_person(certificate, ways),
        dict(zip(unfair.tolist(), certificate.twins(), strict=True)),
    )


def _by_person(
    certificate: Certificate, ways: np.ndarray[Any, Any]
) -> dict[int, list[Cut | None]]:
    """Tell whose proofs the steps are: each way has one tree of cuts."""
    steps = iter(certificate.steps())
    proofs: dict[int, list[Cut | None]] = {}
    for person in np.flatnonzero(certificate.verdicts == PROVED).tolist():
        proofs[person] = []
        for _ in range(ways[person]):
            is_open = 1
            while is_open:
                step = next(steps)
                proofs[person].append(step)
                is_open += -1 if step is None else 1
    assert next(steps, "end") == "end"
    return proofs


def is_true(certificate: Certificate, model: Ensemble) -> bool:
    """Whether everything that is claimed is so, by brute force alone."""
    variables = Variables(model, certificate.schema)
    people, ensemble = certificate.values, variables.ensemble
    boxes = Neighbourhood(certificate.similarity, variables).boxes(people)
    own = labels_of(ensemble, people)
    twins = iter(certificate.twins())
    for person, verdict in enumerate(certificate.verdicts.tolist()):
        label = int(own[person])
        if certificate.labels[person] != (-1 if verdict == UNKNOWN else label):
            return False
        mine = np.flatnonzero(boxes.person == person)
        if verdict == PROVED:
            # Most forgeries leave most people alone, and their truth is the same.
            about = certificate.about
            key = (about.model, about.schema, about.similarity)
            key = (*key, people[person].tobytes())
            if key not in _FOUND:
                found = [brute_force(ensemble, boxes, box).witnessed for box in mine]
                _FOUND[key] = frozenset().union(*found)
            if _FOUND[key] != {label}:
                return False
        if verdict == UNFAIR:
            twin = next(twins)
            if not any(is_member(ensemble, boxes, box, twin) for box in mine):
                return False
            seen = witnessed_labels(ensemble, twin[np.newaxis])
            seen.add(int(labels_of(ensemble, twin[np.newaxis])[0]))
            if label in seen:
                return False
    return True


def holds(certificate: Certificate, model: Ensemble) -> bool:
    """Whether the checker accepts it."""
    try:
        certificate.check(model)
    except CertificateError:
        return False
    return True


def forge(draft: Draft, rng: Rng) -> Draft | None:
    """Change one thing; None if there is nothing of the kind to change."""
    kinds = (
        _other_label,
        _other_verdict,
        _other_verdict,
        _other_steps,
        _other_steps,
        _other_cut,
        _other_cut,
        _other_twin,
        _other_person,
        _other_similarity,
        _other_schema,
        _other_model,
        _other_model,
    )
    changed = draft.copy()
    if not kinds[rng.integers(len(kinds))](changed, rng):
        return None
    return changed


def _other_label(draft: Draft, rng: Rng) -> bool:
    person = int(rng.integers(len(draft.labels)))
    draft.labels[person] = int(rng.integers(-1, len(draft.model.classes)))
    return True


def _other_verdict(draft: Draft, rng: Rng) -> bool:
    person = int(rng.integers(len(draft.labels)))
    verdict = int(rng.choice([PROVED, PROVED, UNFAIR, UNKNOWN, CLAIMED]))
    draft.proofs.pop(person, None)
    draft.twins.pop(person, None)
    draft.verdicts[person] = verdict
    own = labels_of(draft.model, draft.values[person : person + 1])[0]
    draft.labels[person] = -1 if verdict == UNKNOWN else own
    if verdict == PROVED:
        ways = int(rng.integers(1, 3))
        draft.proofs[person] = [step for _ in range(ways) for step in _any_proof(rng)]
    if verdict == UNFAIR:
        other = draft.values[rng.integers(len(draft.values))].copy()
        draft.twins[person] = other
    return True


def _any_proof(rng: Rng, depth: int = 0) -> list[Cut | None]:
    """Return a tree of cuts of which nobody knows what they part."""
    if depth == 3 or rng.random() < 0.5:
        return [None]
    cut = Cut(int(rng.integers(4)), int(rng.integers(5)), bool(rng.integers(2)))
    return [cut, *_any_proof(rng, depth + 1), *_any_proof(rng, depth + 1)]


def _proof(draft: Draft, rng: Rng) -> list[Cut | None]:
    return draft.proofs[int(rng.choice(list(draft.proofs)))]


def _other_steps(draft: Draft, rng: Rng) -> bool:
    if not draft.proofs:
        return False
    proof = _proof(draft, rng)
    place = int(rng.integers(len(proof)))
    kind = rng.integers(4)
    if kind == 0:
        del proof[place]
    elif kind == 1:
        proof.insert(place, proof[place])
    elif kind == 2:
        proof.insert(place, Cut(int(rng.integers(5)), int(rng.integers(5))))
    else:
        # A whole side is left out: its cut becomes a closed part.
        proof[place:] = [None]
    return True


def _other_cut(draft: Draft, rng: Rng) -> bool:
    places = [
        (proof, place)
        for proof in draft.proofs.values()
        for place, step in enumerate(proof)
        if step is not None
    ]
    if not places:
        return False
    proof, place = places[rng.integers(len(places))]
    cut = proof[place]
    assert cut is not None
    kind = rng.integers(4)
    if kind == 0:
        cut = cut._replace(cell=max(0, cut.cell + int(rng.choice([-1, 1]))))
    elif kind == 1:
        cut = cut._replace(axis=int(rng.integers(5)))
    elif kind == 2:
        cut = cut._replace(alone=not cut.alone)
    else:
        cut = cut._replace(cell=int(rng.integers(200)))
    proof[place] = cut
    return True


def _nudged(draft: Draft, row: Floats, rng: Rng) -> Floats:
    index = int(rng.integers(len(row)))
    other = draft.values[rng.integers(len(draft.values)), index]
    feature, value = draft.model.features[index], row[index]
    if isinstance(feature, Categorical):
        choices = [other, float(rng.integers(feature.n_codes + 2)), np.nan, 0.5]
    else:
        near = [np.nextafter(value, np.inf), value + 1, value - 1, -value, value * 1.5]
        cuts = draft.model.thresholds(index)
        choices = [other, np.nan, *near, *np.nextafter(cuts, np.inf), *cuts]
    changed = row.copy()
    changed[index] = choices[rng.integers(len(choices))]
    return changed


def _other_twin(draft: Draft, rng: Rng) -> bool:
    if not draft.twins:
        return False
    person = int(rng.choice(list(draft.twins)))
    draft.twins[person] = _nudged(draft, draft.twins[person], rng)
    return True


def _other_person(draft: Draft, rng: Rng) -> bool:
    person = int(rng.integers(len(draft.values)))
    draft.values[person] = _nudged(draft, draft.values[person], rng)
    return True


def _other_similarity(draft: Draft, rng: Rng) -> bool:
    other = random_similarity(draft.model, rng)
    draft.similarity = other if rng.random() < 0.5 else draft.similarity | other
    return True


def _other_schema(draft: Draft, rng: Rng) -> bool:
    kinds = (_other_bound, _other_bound, _other_kind, _other_name, _other_order)
    try:
        schema = kinds[rng.integers(len(kinds))](draft.schema, rng)
    except FattError:
        return False
    if schema is None:
        return False
    draft.schema = schema
    return True


def _number(schema: Schema, rng: Rng) -> Number | None:
    numbers = [v for v in schema.variables if isinstance(v, Number)]
    return numbers[rng.integers(len(numbers))] if numbers else None


def _other_bound(schema: Schema, rng: Rng) -> Schema | None:
    variable = _number(schema, rng)
    if variable is None:
        return None
    bounds = {"lower": -0.5, "upper": 1.5, "sd": 1.0}
    key = str(rng.choice(list(bounds)))
    changed = msgspec.structs.replace(variable, **{key: bounds[key]})
    return schema.with_({variable.name: changed})


def _other_kind(schema: Schema, rng: Rng) -> Schema | None:
    """Let a number be whole, or one of a few."""
    variable = _number(schema, rng)
    if variable is None:
        return None
    kinds = (Integer(), Binary(), Ordinal(levels=(-1, 0, 0.5, 1, 2)))
    return schema.with_({variable.name: kinds[rng.integers(len(kinds))]})


def _other_name(schema: Schema, rng: Rng) -> Schema:
    """Call a variable what another column is called, or as nobody does."""
    variable = schema.variables[rng.integers(len(schema.variables))]
    name = str(rng.choice([*schema.columns, "other"]))
    changed = msgspec.structs.replace(variable, name=name)
    others = [v for v in schema.variables if v is not variable]
    return Schema(columns=schema.columns, variables=(*others, changed))


def _other_order(schema: Schema, rng: Rng) -> Schema:
    """Take the columns in another order; for a model without names, others."""
    columns = tuple(rng.permutation(schema.columns).tolist())
    return Schema(columns=columns, variables=schema.variables)


def _other_model(draft: Draft, rng: Rng) -> bool:
    model = draft.model
    trees, nodes = model.trees, model.trees.nodes.copy()
    values = trees.values.copy()
    inner = np.flatnonzero((nodes["feature"] >= 0) & (nodes["subset"] < 0))
    kind = rng.integers(5)
    if kind == 0 and values.size:
        place = rng.integers(len(values)), rng.integers(values.shape[1])
        values[place] += values.dtype.type(rng.choice([-1.0, 1.0, 1e-3, -0.1]))
    elif kind == 1 and len(inner):
        node = inner[rng.integers(len(inner))]
        nodes["threshold"][node] = np.round(nodes["threshold"][node] + rng.normal(), 1)
        nodes["threshold"] += 0.0
    elif kind == 2 and len(inner):
        node = inner[rng.integers(len(inner))]
        nodes["missing_left"][node] ^= 1
    elif kind == 3 and isinstance(model.decision, DecisionCut):
        model = replace(model, decision=DecisionCut(at=float(rng.normal())))
    else:
        base = np.array(model.scoring.base) + rng.normal(size=model.n_outputs)
        dtype = model.scoring.dtype
        rounded = tuple(base.astype(dtype).astype(np.float64).tolist())
        scoring = msgspec.structs.replace(model.scoring, base=rounded)
        model = replace(model, scoring=scoring)
    try:
        draft.model = replace(model, trees=replace(trees, nodes=nodes, values=values))
    except FattError:
        return False
    return True
