"""The checker: every claim of a certificate, verified from the definitions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fatt.certificate.certificate import PROVED, UNFAIR, UNKNOWN, Certificate
from fatt.certificate.closing import Cut, Part
from fatt.certificate.judge import Around, Judge
from fatt.ensemble import Ensemble
from fatt.errors import CertificateError, DataError, SpecError
from fatt.verdict import Bounds

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
    """

    fair: int
    unfair: int
    claimed: int
    unknown: int
    parts: int
    model: str
    is_data_checked: bool
    similarity: str

    def __len__(self) -> int:
        return self.fair + self.unfair + self.claimed + self.unknown

    @property
    def fairness(self) -> Bounds:
        """The share of fair people lies between these: proved, and not refuted."""
        count = len(self)
        return Bounds(self.fair / count, (count - self.unfair) / count)

    def __str__(self) -> str:
        lower, upper = self.fairness
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
            "who is similar to them, and in each of them the label cannot change.",
            f"- {self.unfair:,} are unfair: each has a similar person with another "
            "label.",
            f"- {self.claimed:,} are claimed to be fair without a proof, which was not "
            "checked.",
            f"- {self.unknown:,} are unknown: nothing is claimed.",
            f"So between {lower:.2%} and {upper:.2%} are treated fairly.",
            "Labels are those of the model as fatt reads it. Whether these people are "
            "similar is for you to judge:",
            self.similarity,
        ]
        return "\n".join(lines)


def check(certificate: Certificate, model: Ensemble, X: Any = None) -> Checked:
    """Verify everything that a certificate claims about a model.

    Parameters
    ----------
    certificate
        The certificate.
    model
        The model.
    X
        The people, if they are to be compared with those of the certificate.

    Raises
    ------
    CertificateError
        If something does not hold.
    """
    if certificate.about.model != model.digest:
        raise CertificateError(
            f"the certificate is about another model: about one with digest "
            f"{certificate.about.model[:16]}..., and this one has "
            f"{model.digest[:16]}...."
        )
    try:
        judge = Judge(model, certificate.schema, certificate.similarity)
        if X is not None:
            _compare(certificate, judge, X)
        parts = _Check(certificate, judge).run()
    except SpecError as error:
        raise CertificateError(
            f"similarity, schema and model do not fit together: {error}"
        ) from None
    counts = certificate.counts
    return Checked(
        fair=counts["fair"],
        unfair=counts["unfair"],
        claimed=counts["claimed"],
        unknown=counts["unknown"],
        parts=parts,
        model=model.digest,
        is_data_checked=X is not None,
        similarity=certificate.similarity.describe(certificate.schema),
    )


def _compare(certificate: Certificate, judge: Judge, X: Any) -> None:
    try:
        rows = judge.cells.model.read(X)
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
        name = judge.cells.model.features[column].name
        raise CertificateError(
            f"person {row} is another one in the table: column {name!r} differs."
        )


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
                    rival = self._judge.cells.model.classes[left.rival]
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
            (judge.differs(twins, own), "the twin of person {} may get its label."),
            (judge.is_certain(values, own), "person {} may get another label."),
        ):
            if not holds.all():
                person = numbers[int(np.argmin(holds))]
                raise CertificateError(complaint.format(person))
