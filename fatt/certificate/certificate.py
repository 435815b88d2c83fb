"""Evidence for a report: proofs and twins that anybody can check."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec
import numpy as np
from numpy.typing import NDArray

from fatt import storage
from fatt.certificate import file
from fatt.certificate.closing import Cut
from fatt.certificate.file import Contents, Digests, Packed
from fatt.ensemble import Label
from fatt.ensemble.allowed import Allowed, Direction, allowed_of
from fatt.errors import CertificateError, SpecError
from fatt.markup import code, facts, notebook, table
from fatt.region import Relation, Schema

if TYPE_CHECKING:
    from fatt.certificate.checker import Checked
    from fatt.model import Model

Floats = NDArray[np.float64]

#: What a certificate says of a person.
PROVED, UNFAIR, UNKNOWN, CLAIMED = 0, 1, 2, 3

#: The names of these, as they stand in the counts.
KINDS = ("fair", "unfair", "unknown", "claimed")


@dataclass(frozen=True, eq=False, repr=False)
class Certificate:
    """What a report says of each person, with a proof or a twin.

    `fatt.Report.certificate` makes one. It holds for everybody who is fair how to cut
    all that is similar into boxes in which no label can change, and for everybody who
    is unfair a twin. `check` asks nothing of the search that found them.

    It also holds the values of the people that it is about, and so must be kept as
    safely as these.

    Attributes
    ----------
    about
        The digests of the model, the people, the schema and the similarity.
    similarity, schema
        Who is similar to whom, and what the model's columns mean.
    values : ndarray of shape (n_people, n_variables)
        The people: numbers and codes, NaN for missing.
    verdicts : ndarray of shape (n_people,)
        0 proved fair, 1 unfair, 2 unknown, 3 claimed to be fair without a proof.
    labels : ndarray of shape (n_people,)
        The class of each person; -1 for the unknown, of whom nothing is said.
    """

    contents: Contents
    similarity: Relation
    values: Floats
    verdicts: NDArray[np.uint8]
    labels: NDArray[np.int32]

    def __post_init__(self) -> None:
        for array in (self.values, self.verdicts, self.labels):
            array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.verdicts)

    def __bool__(self) -> NoReturn:
        raise TypeError("a certificate is neither true nor false; check it.")

    def __repr__(self) -> str:
        counts = ", ".join(f"{number:,} {name}" for name, number in self.counts.items())
        return (
            f"<Certificate about {len(self):,} people: {counts}\n"
            f" {self.similarity!r}, not checked here>"
        )

    def _repr_html_(self) -> str:
        rows = [[name, f"{number:,}"] for name, number in self.counts.items()]
        digests = {
            f"{name}, SHA-256": code(str(value))
            for name, value in msgspec.to_builtins(self.about).items()
        }
        return notebook(
            f"Certificate about {len(self):,} people, not checked here",
            table(("", "people"), rows, "What it claims", numbers=(1,)),
            self.similarity.in_html(self.schema),
            facts(digests),
        )

    @property
    def about(self) -> Digests:
        """The digests of the model, the people, the schema and the similarity."""
        return self.contents.about

    @property
    def schema(self) -> Schema:
        """What the model's columns mean."""
        return self.contents.schema

    @property
    def allowed(self) -> Allowed:
        """Which answers of similar people are still fair."""
        fair = self.contents.fair
        return Allowed() if fair is msgspec.UNSET else fair

    @property
    def counts(self) -> dict[str, int]:
        """How many are proved fair, unfair, unknown, and claimed fair without proof."""
        found = np.bincount(self.verdicts, minlength=len(KINDS))
        return dict(zip(KINDS, found.tolist(), strict=True))

    def save(self, path: str | Path) -> None:
        """Write the certificate to a file, whole or not at all."""
        storage.write(path, file.to_bytes(self.contents))

    @classmethod
    def read(cls, path: str | Path) -> Certificate:
        """Read a certificate that `save` has written. This checks no claim.

        Raises
        ------
        CertificateError
            If the file is damaged or was changed.
        """
        return cls.from_bytes(Path(path).read_bytes())

    @classmethod
    def from_bytes(cls, data: bytes) -> Certificate:
        """Read the bytes of such a file."""
        return cls.of(file.from_bytes(data))

    @classmethod
    def of(cls, contents: Contents) -> Certificate:
        """Read the contents of such a file.

        Raises
        ------
        CertificateError
            If the parts do not fit together.
        """
        verdicts = file.unpack(contents.verdicts, "u1", "the verdicts")
        count, n_variables = len(verdicts), len(contents.schema.variables)
        values = file.unpack(contents.values, "f8", "the values")
        labels = file.unpack(contents.labels, "i4", "the labels")
        if len(values) != count * n_variables or len(labels) != count:
            raise CertificateError(
                f"there are {count} verdicts, and not as many people and labels."
            )
        if not count:
            raise CertificateError("the certificate is about nobody.")
        if verdicts.max() > CLAIMED:
            raise CertificateError("a verdict has no meaning.")
        found = cls(
            contents,
            file.similarity_of(contents),
            np.ascontiguousarray(values.reshape(n_variables, count).T),
            verdicts,
            labels,
        )
        if found._digests() != contents.about:
            raise CertificateError(
                "the digests of people, schema or similarity are not those of the "
                "people, the schema and the similarity that the certificate holds."
            )
        if found.counts != contents.counts:
            raise CertificateError("the counts are not those of the verdicts.")
        return found

    def _digests(self) -> Digests:
        contents = self.contents
        return Digests(
            model=contents.about.model,
            people=file.digest_of_values(self.values, contents.schema),
            schema=file.digest_of_schema(contents.schema),
            similarity=file.digest_of_similarity(contents.similarity),
        )

    def steps(self) -> list[Cut | None]:
        """Return the steps of all proofs, one after the other; None closes a part.

        Raises
        ------
        CertificateError
            If there are fewer or more cuts than the steps say.
        """
        steps = file.unpack(self.contents.steps, "i4", "the steps")
        cuts = file.unpack(self.contents.cuts, "i4", "the cuts")
        if steps.min(initial=0) < 0 or np.count_nonzero(steps) != len(cuts):
            raise CertificateError("the steps of the proofs do not match their cuts.")
        cells = iter(cuts.tolist())
        return [
            Cut((step - 1) // 2, next(cells), step % 2 == 0) if step else None
            for step in steps.tolist()
        ]

    def twins(self) -> Floats:
        """Return the twins of the unfair people, one row each.

        Raises
        ------
        CertificateError
            If there are not as many twins as unfair people.
        """
        contents = self.contents
        sizes = file.unpack(contents.twin_sizes, "i4", "the sizes of the twins")
        variables = file.unpack(contents.twin_variables, "i4", "the twins' variables")
        changed = file.unpack(contents.twin_values, "f8", "the twins' values")
        twins: Floats = self.values[self.verdicts == UNFAIR]
        if (
            len(sizes) != len(twins)
            or sizes.min(initial=1) < 1
            or not sizes.sum() == len(variables) == len(changed)
            or variables.min(initial=0) < 0
            or variables.max(initial=0) >= twins.shape[1]
        ):
            raise CertificateError("the twins do not match the unfair people.")
        twins[np.repeat(np.arange(len(sizes)), sizes), variables] = changed
        return twins

    def check(  # noqa: PLR0913
        self,
        model: Any,
        X: Any = None,
        *,
        similarity: Relation | None = None,
        schema: Schema | None = None,
        tolerance: float | str | None = None,
        direction: Direction | None = None,
        favorable: Label | None = None,
    ) -> Checked:
        """Verify everything that the certificate claims.

        Whoever makes a certificate chooses who is similar and which values there are:
        bounds of 33 to 34 on the age leave few people to be compared with. Say what
        you expect, or read what the result says.

        Parameters
        ----------
        model
            The model that it is about, as `fatt.load` takes it.
        X
            The people, if it is to be checked that the certificate is about them, in
            this order. Otherwise it is checked for the people that it holds.
        similarity
            Who is similar, if it is to be checked that the certificate says the same.
        schema
            What the columns mean, if that is to be checked. Standard deviations are
            compared only where the similarity is told in them.
        tolerance, direction, favorable
            What is fair, as in `fatt.verify`, if it is to be checked that the
            certificate says the same.

        Returns
        -------
        Checked
            What was checked, what was not, and what was taken for granted.

        Raises
        ------
        CertificateError
            If something does not hold; the message says what, and of whom.
        SpecError
            If the schema that was expected does not fit the model.
        """
        from fatt.certificate.checker import check
        from fatt.importers import load

        loaded, allowed = load(model), None
        if self.allowed.tolerance is not None or tolerance is not None:
            loaded = self._predicting(loaded, is_asked=tolerance is not None)
        ensemble = loaded.ensemble
        if any(one is not None for one in (tolerance, direction, favorable)):
            allowed = allowed_of(ensemble, tolerance, direction, favorable)
        return check(
            self, ensemble, X, similarity=similarity, schema=schema, allowed=allowed
        )

    @staticmethod
    def _predicting(model: Model, *, is_asked: bool) -> Model:
        """Return the model that predicts numbers, of which a tolerance speaks."""
        try:
            return model.predicting()
        except SpecError as error:
            if is_asked:
                raise
            raise CertificateError(
                f"what it says to be fair has no meaning for the model: {error}"
            ) from None


def contents_of(  # noqa: PLR0913
    *,
    model_digest: str,
    schema: Schema,
    similarity: Relation,
    values: Floats,
    verdicts: NDArray[np.uint8],
    labels: NDArray[Any],
    steps: list[Cut | None],
    twins: tuple[NDArray[Any], NDArray[Any], Floats],
    allowed: Allowed | None = None,
) -> Contents:
    """Put a certificate together.

    Parameters
    ----------
    model_digest, schema, similarity
        What it is about.
    values, verdicts, labels
        The people, and what is said of them.
    steps
        The proofs, one after the other.
    twins
        Of the twins, how many variables differ, which, and their values there.
    allowed
        Which answers of similar people are still fair; by default the same labels.
    """
    text = similarity.to_toml()
    counts = np.bincount(verdicts, minlength=len(KINDS)).tolist()
    codes = [0 if cut is None else 1 + 2 * cut.axis + cut.alone for cut in steps]
    cells = [cut.cell for cut in steps if cut is not None]

    def integers(numbers: Any) -> Packed:
        return file.pack(np.asarray(numbers, dtype=np.int64), "i4")

    return file.sealed(
        Contents(
            format=file.FORMAT,
            digest="",
            about=Digests(
                model=model_digest,
                people=file.digest_of_values(values, schema),
                schema=file.digest_of_schema(schema),
                similarity=file.digest_of_similarity(text),
            ),
            counts=dict(zip(KINDS, counts, strict=True)),
            similarity=text,
            schema=schema,
            values=file.pack(values.T, "f8"),
            verdicts=file.pack(verdicts, "u1"),
            labels=integers(labels),
            steps=integers(codes),
            cuts=integers(cells),
            twin_sizes=integers(twins[0]),
            twin_variables=integers(twins[1]),
            twin_values=file.pack(twins[2], "f8"),
            fair=msgspec.UNSET if allowed in (None, Allowed()) else allowed,
        )
    )
