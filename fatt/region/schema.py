"""What is known about people: the variables behind a model's columns."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec.structs import force_setattr

from fatt import storage
from fatt.ensemble import Ensemble, Modelled, ensemble_of
from fatt.ensemble.features import Record, is_writable
from fatt.errors import Arg, SpecError, hint
from fatt.markup import Part, listed, name_of, notebook, table
from fatt.region.amounts import short
from fatt.region.existence import Existing, Together, exist_in_python, parse_exist
from fatt.region.kinds import AnyVariable, Number, Variable

if TYPE_CHECKING:
    from fatt.region.inference import Statistics

#: So many variables are shown in a notebook.
_SHOWN = 60


class Schema(Record, frozen=True, kw_only=True, dict=True, omit_defaults=True):
    """The variables behind a model's columns, and the values they can have.

    Several columns may be one variable: ``race=White`` and ``race=Black`` are `race`.
    Immutable, comparable and hashable; `save` and `read` keep it in a file.

    Attributes
    ----------
    columns
        The model's columns, in order.
    variables
        The variables, in the order of their first columns.
    exist
        Which people exist, for all questions about them, as in `Similarity`. Without
        a list of combinations, those in `seen` exist.
    seen
        Combinations of values that rows have shown. `Schema.infer` finds them.

    Examples
    --------
    >>> from fatt.region import Integer, Number, Schema
    >>> schema = Schema(columns=["age"], variables=[Number(name="age", columns="age")])
    >>> schema.with_(age=Integer(lower=17, upper=90))
    <Schema
     age: Integer(lower=17, upper=90)>
    """

    columns: tuple[str, ...]
    variables: tuple[AnyVariable, ...]
    exist: tuple[Existing, ...] = ()
    seen: tuple[Together, ...] = ()

    def __post_init__(self) -> None:
        force_setattr(self, "columns", tuple(self.columns))
        places = {column: place for place, column in enumerate(self.columns)}
        for variable in self.variables:
            variable.check()
        used = Counter(
            column for variable in self.variables for column in variable.columns
        )
        _require_columns(used, places)
        odd = [column for column in self.columns if used[column] != 1]
        if odd:
            count = "several variables" if used[odd[0]] else "no variable"
            raise SpecError(f"column {odd[0]!r} belongs to {count}; it needs one.")
        names = Counter(variable.name for variable in self.variables)
        twice = [name for name, count in names.items() if count > 1]
        if twice or "" in names:
            raise SpecError(
                f"several variables have the name {twice[0]!r}; rename them."
                if twice
                else "a variable has no name; give it one."
            )
        self._require_writable()
        force_setattr(self, "exist", parse_exist(self.exist))
        for name in (name for one in self.together for name in one.names):
            self.find(name, said_in="exist of the schema")
        ordered = sorted(
            self.variables,
            key=lambda variable: min(places[column] for column in variable.columns),
        )
        force_setattr(self, "variables", tuple(ordered))

    @property
    def together(self) -> tuple[Together, ...]:
        """What `exist` says of combinations, without the orders."""
        return tuple(one for one in self.exist if isinstance(one, Together))

    def _require_writable(self) -> None:
        labels = [
            label
            for one in self.variables
            for label in (one.name, *one.columns, *getattr(one, "labels", ()))
        ]
        odd = next((label for label in labels if not is_writable(label)), None)
        if odd is not None:
            raise SpecError(
                f"the name {odd!r} holds half a surrogate pair, which no file can "
                "hold; rename it."
            )

    def __repr__(self) -> str:
        lines = [f"\n {one.name}: {brief(one)}" for one in self.variables]
        if self.exist:
            lines.append(f"\n exist: {exist_in_python(self.exist)}")
        return f"<Schema{''.join(lines)}>"

    def _repr_html_(self) -> str:
        rows = [_row(one) for one in self.variables[:_SHOWN]]
        more = len(self.variables) - len(rows)
        what = f"the first {len(rows):,}" if more else "What the columns mean"
        head = ["variable", "kind", "values", "columns"]
        if not any(columns for *_, columns in rows):
            head, rows = head[:-1], [row[:-1] for row in rows]
        return notebook(
            f"Schema of {len(self.variables):,} variables", table(head, rows, what)
        )

    @classmethod
    def infer(
        cls,
        model: Ensemble | Modelled,
        X: Any,
        *,
        one_hot: Collection[str] = (),
        exist: Any = (),
    ) -> Schema:
        """Derive a schema from a model and rows.

        Whole numbers and truth values are known by the types of the columns, and of a
        number with at most 20 values these are kept (`fatt.region.Number`). Columns
        that are named ``race=White`` and hold only 0 and 1, at most one 1 in a row,
        become one variable `race`. Bounds are never guessed from rows, but the levels
        of such a variable are those of its columns, and there is one for all columns 0
        only if a row shows it, as of a category there are values that the model does
        not know: infer from all the data, not from a few rows. Arrays of floats or
        objects know no whole numbers; name those with `with_`.

        Parameters
        ----------
        model
            The model, as `fatt.load` returns it.
        X
            Rows as the model takes them: array, or data frame that `narwhals` knows.
            Or what `observe` saw of all rows, part by part.
        one_hot
            Variables whose columns are named as `pandas.get_dummies` does, such as
            ``race_White``. Nobody can tell these from other columns by their names.
        exist
            Which people exist, for all questions about them, as in `Similarity`. The
            combinations that these rows have are kept.

        Raises
        ------
        DataError
            If the rows do not fit the model.
        SpecError
            If the columns of a variable in `one_hot` are no one-hot columns.
        """
        from fatt.region.inference import infer

        return infer(ensemble_of(model), X, one_hot=one_hot, exist=exist)

    @classmethod
    def observe(
        cls, model: Ensemble | Modelled, X: Any, *, one_hot: Collection[str] = ()
    ) -> Statistics:
        """Look at some of the rows, for tables that no machine holds.

        What was seen is small, can be pickled, and is joined with ``|``. The order and
        the size of the parts change nothing, not even the last bit.

        Parameters
        ----------
        model, X, one_hot
            As in `infer`; X is one part of the rows, and not empty.

        Examples
        --------
        >>> import fatt
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> ages = [[20.0], [30.0], [40.0], [50.0]]
        >>> model = fatt.load(DecisionTreeClassifier().fit(ages, [0, 0, 1, 1]))
        >>> a, b = (fatt.Schema.observe(model, part) for part in (ages[:1], ages[1:]))
        >>> fatt.Schema.infer(model, a | b) == fatt.Schema.infer(model, ages)
        True
        """
        from fatt.region.inference import observe

        return observe(ensemble_of(model), X, one_hot=one_hot)

    @classmethod
    def from_ensemble(cls, model: Ensemble | Modelled) -> Schema:
        """Derive a schema from a model alone: categories and whole numbers."""
        from fatt.region.inference import from_features

        return from_features(ensemble_of(model).features)

    def with_(
        self, kinds: Mapping[str, AnyVariable] | None = None, /, **more: AnyVariable
    ) -> Schema:
        """Return a schema in which some variables are as given.

        Parameters
        ----------
        kinds, **more
            What each variable is, by name. One that names no columns keeps those the
            variable has; one that names columns takes them from other variables, which
            must not keep any.

        Raises
        ------
        SpecError
            If a name or column does not exist, or a variable would lose some columns.
        """
        named, owner = map(dict, self._index)
        for name, kind in {**(kinds or {}), **more}.items():
            if not isinstance(kind, Variable):
                raise SpecError(
                    f"variable {name!r} is given as {kind!r}; write Number(), "
                    "Integer(), Binary(), Ordinal(), Category() or OneHot()."
                )
            changes: dict[str, Any] = {"name": name}
            if not kind.columns:
                known = _find(name, named, owner)
                changes = {"name": known.name, "columns": known.columns}
            new = msgspec.structs.replace(kind, **changes)
            _require_columns(new.columns, owner)
            taken = dict.fromkeys(owner[column].name for column in new.columns)
            was = named[next(iter(taken))] if len(taken) == 1 else None
            for variable in map(named.__getitem__, taken):
                if not set(variable.columns) <= set(new.columns):
                    raise SpecError(
                        f"variable {name!r} would take some columns of "
                        f"{variable.name!r}; name all of them, or give "
                        f"{variable.name!r} anew first."
                    )
            if isinstance(new, Number) and isinstance(was, Number):
                new = _as_known(new, was)
            for other in taken:
                del named[other]
            if new.name in named:
                raise SpecError(
                    f"several variables have the name {new.name!r}; rename them."
                )
            named[new.name] = new
            owner.update(dict.fromkeys(new.columns, new))
        return Schema(
            columns=self.columns,
            variables=tuple(named.values()),
            exist=self.exist,
            seen=self.seen,
        )

    @functools.cached_property
    def _index(self) -> tuple[dict[str, AnyVariable], dict[str, AnyVariable]]:
        """The variable of each name, and of each column."""
        owner = {column: one for one in self.variables for column in one.columns}
        return {variable.name: variable for variable in self.variables}, owner

    @property
    def numeric(self) -> tuple[str, ...]:
        """Names of the variables that are numbers, whole or not."""
        return tuple(v.name for v in self.variables if isinstance(v, Number))

    def find(self, name: str, *, said_in: str = "") -> AnyVariable:
        """Return the variable of that name, or the one that owns that column.

        Parameters
        ----------
        name
            Name of a variable or of a column.
        said_in
            What names it, for the message.

        Raises
        ------
        SpecError
            If there is none, or the name means one variable and a column of another.
        """
        return _find(name, *self._index, said_in=said_in)

    def save(self, path: str | Path) -> None:
        """Write the schema to a JSON file, whole or not at all."""
        file = _File(format="fatt-schema-1", schema=self)
        text = msgspec.json.format(msgspec.json.encode(file), indent=2)
        storage.write(path, text + b"\n")

    @classmethod
    def read(cls, path: str | Path) -> Schema:
        """Read a schema that `save` has written.

        Raises
        ------
        SpecError
            If the file is no such schema.
        """
        try:
            return msgspec.json.decode(Path(path).read_bytes(), type=_File).schema
        except msgspec.MsgspecError as error:
            raise SpecError(f"{path} is no schema that fatt can use: {error}") from None


def _as_known(new: Number, was: Number) -> Number:
    """Return a number with what rows have told of it, where nothing else is said."""
    if new.sd is None:
        new = msgspec.structs.replace(new, sd=was.sd)
    if new.seen is msgspec.UNSET and new.lower is None and new.upper is None:
        new = msgspec.structs.replace(new, seen=was.seen)
    return new


def _require_columns(named: Iterable[str], known: Collection[str]) -> None:
    """Raise unless all columns that a schema names exist."""
    for column in named:
        if column not in known:
            raise SpecError(
                f"the schema names column {column!r}, which does not exist. "
                + hint(column, known)
            )


def _find(
    name: str,
    named: Mapping[str, AnyVariable],
    owner: Mapping[str, AnyVariable],
    *,
    said_in: str = "",
) -> AnyVariable:
    """Return the variable of a name, or the one that owns the column; see `find`."""
    found, owning = named.get(name), owner.get(name)
    if found is not None and owning is not None and owning is not found:
        start = f"{said_in}: " if said_in else ""
        raise SpecError(
            f"{start}{name!r} is a variable and also a column of "
            f"{owning.name!r}; rename the variable with {Arg('schema')}."
        )
    either = found or owning
    if either is None:
        start = (
            f"{said_in} names {name!r}, which is no variable and no column. "
            if said_in
            else f"there is no variable or column {name!r}. "
        )
        raise SpecError(start + hint(name, [*named, *owner]))
    return either


def brief(variable: AnyVariable) -> str:
    """Return how a variable is written for `Schema.with_`, without what is plain."""
    plain = {
        "name": variable.name,
        "columns": (variable.name,),
        **{field.name: field.default for field in msgspec.structs.fields(variable)[2:]},
    }
    # What rows have shown is long, and nobody writes it.
    plain.pop("seen", None)
    given = [
        f"{name}={_shown(getattr(variable, name))!r}"
        for name, value in plain.items()
        if getattr(variable, name) != value
    ]
    return f"{type(variable).__name__}({', '.join(given)})"


def _row(variable: AnyVariable) -> list[Part]:
    """Return what a notebook shows of a variable."""
    columns: Part = None
    if variable.columns != (variable.name,):
        columns = listed(variable.columns)
    kind = type(variable).__name__.lower()
    return [name_of(variable.name), kind, _values(variable), columns]


def _values(variable: AnyVariable) -> Part:
    """Say which values a variable can have, as far as is known."""
    if isinstance(variable, Number):
        low, high = variable.lower, variable.upper
        ends = {"from": low, "to": high}
        bounds = [f"{how} {short(end)}" for how, end in ends.items() if end is not None]
        spread = [] if variable.sd is None else [f"deviation {variable.sd:.4g}"]
        return ", ".join([" ".join(bounds) or "any", *spread])
    labels = [str(label) for label in getattr(variable, "labels", ())]
    return listed(labels) if labels else "those that the model knows"


def _shown(value: Any) -> Any:
    return short(value) if isinstance(value, float) else value


class _File(Record, frozen=True, kw_only=True):
    format: Literal["fatt-schema-1"]
    schema: Schema
