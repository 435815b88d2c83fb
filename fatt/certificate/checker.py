"""The checker: every claim of a certificate, verified from the definitions."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.certificate.certificate import PROVED, UNFAIR, UNKNOWN, Certificate
from fatt.certificate.claims import Claims, Premise
from fatt.certificate.closing import Cut, Part
from fatt.certificate.judge import Around, Judge
from fatt.ensemble import Ensemble
from fatt.ensemble.allowed import Allowed
from fatt.ensemble.tables import as_frame
from fatt.errors import CertificateError, DataError, OtherModelError, SpecError
from fatt.region import Relation, Schema
from fatt.region.similarity import narrowed
from fatt.verdict import Bounds, share

#: Where a prediction is, seen from a person's own.
_SIDES = ("too low", "near", "too high")

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Checked:
    """What a checker found to hold.

    Attributes
    ----------
    fair
        Of so many people it is proved that all similar people get their label.
    unfair
        So many have a twin: a similar person with another label.
    claimed
        So many are said to be fair without a proof; nothing of that was checked.
    unknown
        Of so many nothing is said.
    parts
        Into how many closed parts the proofs cut what is similar.
    model
        The digest of the model.
    is_data_checked
        Whether the people were compared with a table.
    similarity
        Who counts as similar, in words.
    fair_is
        What is still fair, in words; nothing if labels must be the same.
    premises
        What was taken for granted of each variable, in the order of the model's
        columns.
    is_named
        Whether the model itself names its columns; else their names are the
        certificate's.
    is_data_named
        Whether a table was given that names them as the certificate does.
    expected
        What was compared with what the reader expects: ``"similarity"``, ``"schema"``,
        and the ``"rule"`` of what is fair.
    """

    fair: int
    unfair: int
    claimed: int
    unknown: int
    parts: int
    model: str
    is_data_checked: bool
    similarity: str
    fair_is: str = ""
    premises: tuple[Premise, ...] = ()
    is_named: bool = True
    is_data_named: bool = False
    expected: tuple[str, ...] = ()

    def __len__(self) -> int:
        return self.fair + self.unfair + self.claimed + self.unknown

    @property
    def fairness(self) -> Bounds:
        """The share of fair people lies between these: proved, and not refuted."""
        count = len(self)
        return Bounds(self.fair / count, (count - self.unfair) / count)

    def __str__(self) -> str:
        people = (
            "They are those of the table that was given, row by row."
            if self.is_data_checked
            else "No table was given: that they are the right people was not checked."
        )
        lines = [
            f"The certificate holds for the model with digest {self.model[:16]}... and "
            f"{len(self):,} people.",
            people,
            f"- {self.fair:,} are proved fair: {self.parts:,} boxes contain everybody "
            f"who is similar to them, and in each of them {self._unchanged}.",
            f"- {self.unfair:,} are unfair: each has a similar person with another "
            "label."
            if not self.fair_is
            else f"- {self.unfair:,} are unfair: each has "
            "a similar person of whom that is not so.",
            f"- {self.claimed:,} are claimed to be fair without a proof, which was not "
            "checked.",
            f"- {self.unknown:,} are unknown: nothing is claimed.",
            f"So {share(self.fairness)} are treated fairly.",
            "Answers are those of the model as fatt reads it. "
            + (
                f"The {' and the '.join(self.expected)} are as expected:"
                if len(self.expected) > 1
                else f"The {self.expected[0]} is as expected; judge the rest:"
                if self.expected
                else "Whether these people are similar is for you to judge:"
            ),
            self.similarity,
            *self._taken_for_granted(),
        ]
        return "\n".join(lines)

    @property
    def _unchanged(self) -> str:
        return self.fair_is or "the label cannot change"

    def _taken_for_granted(self) -> list[str]:
        """Return what the proofs rely on, one line for each variable that matters."""
        if not self.premises:
            return []
        lines = ["This takes for granted, in the order of the model's columns:"]
        lines += [f"- {premise}" for premise in self.premises if premise.matters]
        rest = sum(len(one.places) for one in self.premises if not one.matters)
        if rest:
            lines.append(
                f"- {rest:,} more column{'s' if rest > 1 else ''} without bounds, in "
                "which similar people agree."
            )
        if not self.is_named:
            lines.append(
                "The model names no columns: which is called what is what the "
                "certificate says"
                + (", and the table." if self.is_data_named else ", not the model.")
            )
        return lines


def check(  # noqa: PLR0913
    certificate: Certificate,
    model: Ensemble,
    X: Any = None,
    *,
    similarity: Relation | None = None,
    schema: Schema | None = None,
    allowed: Allowed | None = None,
) -> Checked:
    """Verify everything that a certificate claims about a model.

    Parameters
    ----------
    certificate
        The certificate.
    model
        The model.
    X
        The people, if they are to be compared with those of the certificate.
    similarity, schema
        Who is similar, and what the columns mean, if they are to be compared.
    allowed
        Which answers are still fair, if that is to be compared.

    Raises
    ------
    CertificateError
        If something does not hold, or is not what was expected.
    SpecError
        If the schema that was expected does not fit the model.
    """
    said = certificate.allowed
    if allowed is not None and allowed != said:
        raise CertificateError(
            f"it says what is fair otherwise: {said.words or 'labels are the same'}; "
            f"expected: {allowed.words}."
        )
    if certificate.about.model != model.digest:
        raise OtherModelError(
            f"the certificate is about another model: about one with digest "
            f"{certificate.about.model[:16]}..., and this one has "
            f"{model.digest[:16]}.... What stands before a model, what its columns, "
            "codes and answers are called, and a cut-off, are part of it: give those "
            "of the audit."
        )
    with _fitting_together():
        judge = Judge(model, certificate.schema, certificate.similarity, said)
        claims = Claims(judge.cells, certificate.schema, certificate.similarity)
    if schema is not None:
        claims.require_schema(narrowed(schema, certificate.similarity))
    if similarity is not None:
        claims.require_similarity(similarity)
    with _fitting_together():
        is_named = X is not None and _compare(certificate, judge, X)
        parts = _Check(certificate, judge).run()
    counts = certificate.counts
    return Checked(
        fair=counts["fair"],
        unfair=counts["unfair"],
        claimed=counts["claimed"],
        unknown=counts["unknown"],
        parts=parts,
        model=model.digest,
        is_data_checked=X is not None,
        similarity=claims.similarity(),
        fair_is=said.words,
        premises=claims.premises(),
        is_named=model.inputs.named,
        is_data_named=is_named,
        expected=tuple(
            name
            for name, given in (
                ("similarity", similarity),
                ("schema", schema),
                ("rule", allowed),
            )
            if given is not None
        ),
    )


@contextlib.contextmanager
def _fitting_together() -> Iterator[None]:
    try:
        yield
    except SpecError as error:
        raise CertificateError(
            f"similarity, schema and model do not fit together: {error}"
        ) from None


def _compare(certificate: Certificate, judge: Judge, X: Any) -> bool:
    """Raise unless these are the people; tell whether the table names columns alike."""
    model = judge.cells.model
    try:
        rows = model.read(X)
        frame = as_frame(X)
    except DataError as error:
        raise CertificateError(f"the table does not fit the model: {error}") from None
    if len(rows) != len(certificate):
        raise CertificateError(
            f"the certificate is about {len(certificate)} people, and the table has "
            f"{len(rows)} rows."
        )
    held = judge.cells.to_columns(certificate.values)
    differs = (rows != held) & ~(np.isnan(rows) & np.isnan(held))
    if differs.any():
        row, column = (int(place[0]) for place in np.nonzero(differs))
        raise CertificateError(
            f"person {row} is another one in the table: column "
            f"{model.features[column].name!r} differs."
        )
    if frame is None or model.inputs.named:
        return False
    return _compare_names(certificate, model, [*map(str, frame.columns)])


def _compare_names(certificate: Certificate, model: Ensemble, names: list[str]) -> bool:
    """Raise if a model without names reads other columns than the certificate says.

    Only the table can tell then which column is which. A certificate that was made of
    a table without names claims none.
    """
    said = certificate.schema.columns
    if list(said) == [feature.name for feature in model.features]:
        return False
    for place, (mine, other) in enumerate(zip(said, names, strict=True), start=1):
        if mine != other:
            raise CertificateError(
                f"column {place} of the model, which names none itself, is {mine!r} in "
                f"the certificate and {other!r} in the table."
            )
    return True


class _Check:
    """One run over all people."""

    def __init__(self, certificate: Certificate, judge: Judge) -> None:
        self._certificate, self._judge = certificate, judge
        self._steps = certificate.steps()
        self._n_steps = 0
        self._twins = certificate.twins()
        self._n_twins = 0
        self._n_parts = 0

    def run(self) -> int:
        """Check everybody, and return the number of closed parts."""
        for people in self._judge.chunks(len(self._certificate)):
            self._check_people(people)
        if self._n_steps != len(self._steps):
            raise CertificateError("there are more proofs than people proved fair.")
        return self._n_parts

    def _check_people(self, people: slice) -> None:
        certificate, judge = self._certificate, self._judge
        values = certificate.values[people]
        verdicts, labels = certificate.verdicts[people], certificate.labels[people]
        numbers = range(people.start, people.stop)
        judge.check_values(values, [f"person {number}" for number in numbers])
        own = judge.labels(values)
        said = np.where(verdicts == UNKNOWN, -1, own)
        if not np.array_equal(said, labels):
            person = people.start + int(np.argmax(said != labels))
            raise CertificateError(
                f"person {person} does not get the label that the certificate says."
            )
        fair = np.flatnonzero(verdicts == PROVED)
        around = judge.around(values[fair], own[fair])
        for person, ways in zip((people.start + fair).tolist(), around, strict=True):
            for way in ways:
                self._check_proof(person, way)
        unfair = np.flatnonzero(verdicts == UNFAIR)
        self._check_twins(people.start + unfair, values[unfair], own[unfair])

    def _next(self, person: int) -> Cut | None:
        if self._n_steps == len(self._steps):
            raise CertificateError(f"person {person}: the proof has no end.")
        self._n_steps += 1
        return self._steps[self._n_steps - 1]

    def _check_proof(self, person: int, around: Around) -> None:
        """Follow a proof: all parts must be closed, and every cut must part one."""
        step = self._next(person)
        if step is None and around.is_closed:
            self._n_parts += 1
            return
        problem = around.problem()
        part, alive = problem.whole, problem.everything()
        waiting: list[tuple[Part, Integers]] = []
        while True:
            if step is None:
                left = problem.first_open(part, alive)
                if left is not None:
                    names = self._judge.cells.model.classes or _SIDES
                    rival = names[left.rival]
                    raise CertificateError(
                        f"person {person}: the proof does not hold, since the label "
                        f"{rival!r} is not excluded in one of its boxes."
                    )
                self._n_parts += 1
                if not waiting:
                    return
                part, alive = waiting.pop()
            else:
                sides = problem.parts(part, step)
                if sides is None:
                    raise CertificateError(
                        f"person {person}: a cut of the proof does not part its box."
                    )
                waiting.append((sides[1], problem.meeting(alive, sides[1])))
                part, alive = sides[0], problem.meeting(alive, sides[0])
            step = self._next(person)

    def _check_twins(self, people: Integers, values: Floats, own: Integers) -> None:
        judge = self._judge
        twins = self._twins[self._n_twins : self._n_twins + len(people)]
        self._n_twins += len(people)
        if not len(people):
            return
        numbers = people.tolist()
        judge.check_values(twins, [f"the twin of person {n}" for n in numbers])
        for holds, complaint in (
            (judge.holds(values, twins), "the twin of person {} is not similar."),
            (
                judge.differs(twins, own, values),
                "the twin of person {} may get its label.",
            ),
            (judge.is_certain(values, own), "person {} may get another label."),
        ):
            if not holds.all():
                person = numbers[int(np.argmin(holds))]
                raise CertificateError(complaint.format(person))
