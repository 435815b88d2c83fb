"""Tables between the steps of a pipeline: which steps each column has passed."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from fatt.ensemble.joint import Formula, places_of
from fatt.errors import MalformedModelError, ModelError, UnsupportedModelError
from fatt.importers.pipeline.steps import (
    AnyStep,
    Lookup,
    Numbers,
    Work,
)
from fatt.importers.pipeline.transformers import is_passthrough, work_of
from fatt.importers.pullback.columns import identity
from fatt.importers.sklearn.members import check_members


@dataclass(frozen=True)
class Chain:
    """A column on its way to the model: a raw column and the steps it has passed.

    Attributes
    ----------
    source
        Index of the raw column; or how it was computed of several.
    steps
        The steps.
    narrow
        Whether it has fewer digits than float64, in which scikit-learn would compute.
    framed
        Behind how many steps the column was put into a frame of pandas, which may turn
        None into NaN beside texts.
    """

    source: int | Mixture
    steps: tuple[AnyStep, ...] = ()
    narrow: bool = False
    framed: tuple[int, ...] = ()

    def after(self, steps: Iterable[AnyStep], *, narrow: bool = False) -> Chain:
        """Return the column behind some steps, and whether they make it narrow."""
        return functools.reduce(
            lambda chain, step: chain.then(step, narrow=narrow), steps, self
        )

    def then(self, step: AnyStep, *, narrow: bool = False) -> Chain:
        """Return the column behind one more step, and whether that makes it narrow."""
        if isinstance(step, Numbers) and step.function is identity:
            return replace(self, steps=(*self.steps, step))
        if self.narrow and not isinstance(step, Lookup):
            raise UnsupportedModelError(
                "it computes with the codes of an encoder in float32 or float16, which "
                "is not supported. Fit the encoder without dtype."
            )
        return replace(self, steps=(*self.steps, step), narrow=narrow)

    @property
    def is_checked(self) -> bool:
        """Whether some step has looked at its cells."""
        return bool(self.steps) or isinstance(self.source, Mixture)

    @property
    def hands_on_integers(self) -> bool:
        """Whether what it makes of integers may be integers."""
        return not any(
            step.into_floats if isinstance(step, Numbers) else isinstance(step, Lookup)
            for step in self.steps
        )

    @property
    def is_in_frame(self) -> bool:
        """Whether it comes in a frame of pandas."""
        return self.framed[-1:] == (len(self.steps),)

    @property
    def is_open(self) -> bool:
        """Whether some step takes numbers that are not followed."""
        return any(isinstance(step, Numbers) and step.is_open for step in self.steps)

    def in_frame(self) -> Chain:
        """Return the column after it was put into a frame of pandas."""
        return replace(self, framed=(*self.framed, len(self.steps)))


@dataclass(frozen=True, eq=False)
class Mixture:
    """A column that a step computes of several others.

    Attributes
    ----------
    formula
        How; its places are those of `chains`.
    chains
        The columns that the step gets.
    """

    formula: Formula
    chains: tuple[Chain, ...]

    @property
    def read(self) -> list[Chain]:
        """The columns that the formula reads."""
        return [self.chains[place] for place in places_of(self.formula)]


@dataclass
class Table:
    """The table between two steps.

    Attributes
    ----------
    columns
        Its columns.
    sparse
        Whether it is a sparse matrix.
    idle
        Columns that lead nowhere, but whose cells some step has checked.
    """

    columns: list[Chain]
    sparse: bool = False
    idle: list[Chain] = field(default_factory=list)


@contextmanager
def inside(place: str) -> Iterator[None]:
    """Say in refusals which step is meant."""
    try:
        yield
    except ModelError as error:
        raise type(error)(f"{place}: {error}") from error.__cause__


def through(step: Any, table: Table) -> Table:
    """Return the table behind a step."""
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import FeatureUnion, Pipeline

    if is_passthrough(step):
        if isinstance(step, str | None):
            return table
        check_members(step)
        return _framed(step, table)
    if type(step) is Pipeline:
        check_members(step)
        for name, inner in step.steps:
            with inside(f"step {name!r}"):
                table = through(inner, table)
        return table
    try:
        if type(step) is ColumnTransformer:
            return _framed(step, _through_columns(step, table))
        if type(step) is FeatureUnion:
            return _framed(step, _through_union(step, table))
        makes_frame = _output(step) != "default"
        work = work_of(
            step, sparse=table.sparse, is_frame=makes_frame and _gets_frame(step, table)
        )
        columns = [
            _origin(of, table, work).after(done, narrow=work.narrow)
            for of, done in work.outputs
        ]
        idle = [table.columns[i].then(done) for i, done in work.idle]
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise MalformedModelError(
            f"the fitted {type(step).__name__} contradicts itself or is not fitted "
            f"({type(error).__name__}: {error}). Fit the pipeline again."
        ) from error
    return _framed(step, Table(columns, sparse=work.sparse, idle=table.idle + idle))


def _origin(of: int | Formula, table: Table, work: Work) -> Chain:
    """Return the column from which a step makes another."""
    if isinstance(of, int):
        return table.columns[of]
    mixture = Mixture(of, tuple(chain.then(work.check) for chain in table.columns))
    if any(isinstance(chain.source, Mixture) for chain in mixture.read):
        raise UnsupportedModelError(
            "it computes with a column that another step has computed of several. Let "
            "one step compute both (PolynomialFeatures with a higher degree), or make "
            "it a column of the table."
        )
    return Chain(mixture)


def _gets_frame(step: Any, table: Table) -> bool:
    """Tell whether a step gets a frame of pandas that another step has made."""
    is_named = hasattr(step, "feature_names_in_")
    return is_named and all(chain.is_in_frame for chain in table.columns)


def _framed(step: Any, table: Table) -> Table:
    """Return the table as the step hands it on: in a frame of pandas if it says so."""
    # Encoders of category_encoders make frames, whatever the configuration says.
    is_framed = type(step).__module__.startswith("category_encoders.")
    if not is_framed and _output(step) != "pandas":
        return table
    return replace(table, columns=[chain.in_frame() for chain in table.columns])


def _output(step: Any) -> str:
    """Return what kind of table a step of scikit-learn is told to make."""
    import sklearn

    # What the step does not say, the configuration says, as it is now.
    said = getattr(step, "_sklearn_output_config", {}).get("transform")
    return str(said or sklearn.get_config()["transform_output"])


def _through_columns(step: Any, table: Table) -> Table:
    """Return the table behind a `ColumnTransformer`."""
    check_members(step)
    if table.sparse:
        raise UnsupportedModelError(
            "a ColumnTransformer gets a sparse matrix, which is not supported. Fit the "
            "pipeline with sparse_output=False in the encoder before it."
        )
    _refuse_weights(step)
    # One that drops all columns does not say whether they were sparse.
    sparse = bool(getattr(step, "sparse_output_", False))
    result = Table([], sparse=sparse, idle=list(table.idle))
    for name, transformer, _ in step.transformers_:
        mine = [table.columns[i] for i in step._transformer_to_input_indices[name]]
        if not mine:
            continue
        if isinstance(transformer, str) and transformer == "drop":
            result.idle += [chain for chain in mine if chain.is_checked]
            continue
        with inside(f"transformer {name!r}"):
            part = through(transformer, Table(mine))
        if isinstance(transformer, str):
            # Columns that pass are framed as the others are.
            part = _framed(step, part)
        place = step.output_indices_[name]
        if place != slice(len(result.columns), len(result.columns) + len(part.columns)):
            raise MalformedModelError(
                f"the ColumnTransformer's part {name!r} makes {len(part.columns)} "
                f"columns, which do not fit into {place}. Fit the pipeline again."
            )
        result.columns += part.columns
        result.idle += part.idle
    return result


def _through_union(step: Any, table: Table) -> Table:
    """Return the table behind a `FeatureUnion`: what its parts make, side by side."""
    check_members(step)
    _refuse_weights(step)
    result = Table([], idle=list(table.idle))
    for name, transformer in step.transformer_list:
        if isinstance(transformer, str) and transformer == "drop":
            continue
        with inside(f"transformer {name!r}"):
            part = through(transformer, Table(table.columns, sparse=table.sparse))
        result.columns += part.columns
        result.idle += part.idle
        result.sparse = result.sparse or part.sparse
    return result


def _refuse_weights(step: Any) -> None:
    if step.transformer_weights:
        raise UnsupportedModelError(
            f"a {type(step).__name__} has transformer_weights, which are not "
            "supported. Trees do not need them: fit without."
        )
