"""One batch of people at a time, for engines that hand out batches."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from fatt.audit.arguments import check_budget, check_spot_checks
from fatt.audit.auditor import Auditor
from fatt.ensemble.tables import as_frame
from fatt.errors import DataError, MissingDependencyError, SpecError, first, hint
from fatt.model import Model
from fatt.report import Report
from fatt.report.rows import COLUMNS, to_arrow
from fatt.verdict import json_value
from fatt.verifier import Budget

if TYPE_CHECKING:
    import pyarrow as pa

#: The model itself is asked about so many similar people of each batch.
SPOT_CHECKS = 10


class How(TypedDict, total=False):
    """What else a `Part` is made with."""

    budget: Budget | None
    score_gap: bool
    spot_checks: int


class Part:
    """Verifies one batch of people at a time, wherever an engine sends it.

    It can be pickled, and holds the model once. Each batch is answered by itself, so
    the findings do not depend on how people are split, nor on the order of the batches.
    What needs the whole table comes before: give the auditor a schema of all rows
    (`Schema.observe` looks at them part by part).

    Parameters
    ----------
    auditor
        Who is asked.
    keep
        Columns to hand on beside the findings, such as an id.
    budget
        Limits of the search for each person.
    score_gap
        Whether to bound each person's largest change of score as well.
    spot_checks
        About how many people similar to the fair of each batch the model itself is
        asked.

    Raises
    ------
    SpecError
        If the budget is one for a whole run, or the model predicts numbers and nothing
        says which are the same.

    Examples
    --------
    >>> import fatt, pandas as pd
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> people = pd.DataFrame({"age": [20.0, 30.0, 40.0, 50.0]})
    >>> tree = DecisionTreeClassifier().fit(people, ["deny", "deny", "grant", "grant"])
    >>> similarity = fatt.Similarity(noise={"age": 6})
    >>> part = fatt.Part(fatt.Auditor(tree, similarity=similarity), keep=["age"])
    >>> part(people[1:3]).select(["age", "verdict", "twin"]).to_pylist()[0]
    {'age': 30.0, 'verdict': 'unfair', 'twin': '{"age": 36.0}'}
    """

    def __init__(
        self,
        auditor: Auditor,
        *,
        keep: Sequence[str] = (),
        budget: Budget | None = None,
        score_gap: bool = False,
        spot_checks: int = SPOT_CHECKS,
    ) -> None:
        if isinstance(keep, str):
            raise SpecError(f"keep is {keep!r}; write a list of names: [{keep!r}].")
        refuse_shared(budget)
        check_spot_checks(spot_checks)
        auditor.require_rule()
        self.budget = Budget() if budget is None else budget
        self.auditor, self.keep = auditor, tuple(keep)
        self.score_gap, self.spot_checks = score_gap, spot_checks

    def reads(self, names: Sequence[str]) -> list[str]:
        """Return which columns of a table a batch must hold.

        Raises
        ------
        DataError
            If the table lacks one.
        """
        return read_by(self.auditor.model, names, self.keep)

    def schema(self, given: pa.Schema) -> pa.Schema:
        """Return the types of what a batch is answered with.

        Parameters
        ----------
        given
            The types of the people's columns.

        Raises
        ------
        DataError
            If a column is absent, or the model cannot read its type exactly.
        """
        for name in self.reads(given.names):
            held = given.field(name).type
            if name not in self.keep and not _is_plain(held):
                raise DataError(
                    f"the column {name!r} is of type {held}, which no model reads as "
                    "it is; cast it to the type that the model was trained on, such as "
                    "double."
                )
        return self._answer([given.field(name) for name in self.keep])

    def _answer(self, kept: Sequence[pa.Field]) -> pa.Schema:
        """Return the types of an answer, in which these columns are handed on."""
        pa = _pyarrow()
        found = dict.fromkeys(COLUMNS, pa.string())
        found |= {"labels": pa.list_(pa.string()), "twin": pa.string()}
        found["alone"] = pa.bool_()
        if self.score_gap:
            found |= dict.fromkeys(["gap_lower", "gap_upper"], pa.float64())
        for field in kept:
            if field.name in found:
                raise SpecError(
                    f"keep names {field.name!r}, which is also a column of the "
                    "findings; rename the column."
                )
        return pa.schema(
            [*kept, *(pa.field(name, kind) for name, kind in found.items())]
        )

    def __call__(self, batch: Any) -> pa.RecordBatch:
        """Verify the people of a batch.

        Parameters
        ----------
        batch
            A record batch or table of pyarrow, or a frame of pandas or polars.

        Returns
        -------
        RecordBatch
            A row per person, in order, with the types that `schema` tells: the kept
            columns; those of `fatt.Report.to_frame`, as texts; ``twin``, a JSON object
            of the twin's values; ``alone``, whether nobody is similar; and with
            `score_gap` ``gap_lower`` and ``gap_upper``.

        Raises
        ------
        DataError
            If the model's library would refuse a row; the message names the row.
        """
        people = table_of(batch)
        frame = as_frame(people)
        if frame is None:
            raise DataError(
                f"the batch is a {type(batch).__name__}; pass a record batch of "
                "pyarrow, or a frame of pandas or polars."
            )
        self.reads(frame.columns)
        try:
            return self.rows(people, self.report(people))
        except DataError as error:
            raise self._blaming(frame, error) from error

    def report(self, people: Any, *, spot_checks: int | None = None) -> Report | None:
        """Verify some people; None if there are none."""
        if not len(people):
            return None
        checks = self.spot_checks if spot_checks is None else spot_checks
        return self.auditor.verify_part(
            people, budget=self.budget, spot_checks=checks
        ).whole()

    def rows(self, people: Any, report: Report | None) -> pa.RecordBatch:
        """Return what was found about some people, as `__call__` does."""
        pa, frame = _pyarrow(), as_frame(people)
        if isinstance(people, pa.Table):
            types = self.schema(people.schema)
            columns = {name: people[name] for name in self.keep}
        else:
            columns = {name: frame[name].to_arrow() for name in self.keep}
            types = self._answer(
                [pa.field(n, held.type) for n, held in columns.items()]
            )
        if report is None:
            return pa.RecordBatch.from_pylist([], types)
        found = to_arrow(report)
        columns |= {name: found[name] for name in found.column_names}
        columns |= {
            "twin": _twins(report),
            "alone": self.auditor.are_alone(report.people),
        }
        if self.score_gap:
            gaps = self.auditor.score_gap(people, budget=self.budget)
            columns |= {"gap_lower": gaps.lower, "gap_upper": gaps.upper}
        arrays = [columns[field.name] for field in types]
        table = pa.Table.from_arrays(arrays, schema=types).combine_chunks()
        return table.to_batches()[0]

    def _blaming(self, frame: Any, error: DataError) -> DataError:
        """Return the error with the name of the row that is refused."""
        first_row, end = 0, len(frame)
        while end - first_row > 1:
            middle = (first_row + end) // 2
            if self._refuses(frame[first_row:middle].to_native()):
                end = middle
            else:
                first_row = middle
        where = f"a batch of {len(frame):,} rows"
        if self.keep and self._refuses(frame[first_row:end].to_native()):
            row = frame[first_row:end]
            named = [f"{name}={row[name].to_list()[0]!r}" for name in self.keep]
            return DataError(f"in {where}, that with {first(named)}: {error}")
        return DataError(f"in {where}: {error}")

    def _refuses(self, people: Any) -> bool:
        try:
            self.report(people, spot_checks=0)
        except DataError:
            return True
        return False


def read_by(model: Model, names: Sequence[str], keep: Sequence[str] = ()) -> list[str]:
    """Return the columns that a model reads, or that are kept; refuse absent ones."""
    needed = [feature.name for feature in model.features]
    if not model.ensemble.inputs.named:
        needed = list(names)
    for name in (*needed, *keep):
        if name not in names:
            why = "is in keep" if name in keep else "is read by the model"
            raise DataError(
                f"the column {name!r} {why}, and the table has no such column. "
                f"{hint(name, names)}"
            )
    return list(dict.fromkeys((*needed, *keep)))


def refuse_shared(budget: Budget | None) -> None:
    """Refuse a budget for a whole run, of which parts know nothing."""
    check_budget(budget)
    if budget and (budget.total_nodes, budget.total_seconds) != (None, None):
        raise SpecError(
            "parts cannot share a budget for the whole run; limit nodes or seconds of "
            "each person instead."
        )


def _twins(report: Report) -> list[str | None]:
    """Return the twin of each person as a JSON object; None where there is none."""
    twins: list[str | None] = [None] * len(report)
    for case in report.counterexamples:
        twin = {name: json_value(value) for name, value in case.twin.items()}
        twins[case.index] = json.dumps(twin)
    return twins


def _is_plain(kind: pa.DataType) -> bool:
    """Tell whether every engine and library reads such cells alike."""
    from pyarrow import types

    plain = (
        types.is_integer,
        types.is_floating,
        types.is_boolean,
        types.is_string,
        types.is_large_string,
        types.is_string_view,
        types.is_dictionary,
        types.is_null,
    )
    return any(is_such(kind) for is_such in plain)


def table_of(batch: Any) -> Any:
    """Return a record batch as a table; whatever else it is, as it is."""
    pa = _pyarrow()
    return pa.table(batch) if isinstance(batch, pa.RecordBatch) else batch


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise MissingDependencyError(
            "people in batches need pyarrow: pip install 'fatt[tables]'."
        ) from error
    return pyarrow
