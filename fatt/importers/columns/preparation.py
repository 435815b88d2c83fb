"""Preparation from outside: what stands before a model, pulled back like a pipeline."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from fatt.ensemble import Ensemble, Label
from fatt.ensemble.tables import as_frame
from fatt.errors import (
    Arg,
    ModelError,
    SpecError,
    UnsupportedModelError,
    UntrustedModelError,
)
from fatt.importers.columns.pipelines import in_raw_columns, raw_columns, through
from fatt.importers.columns.steps import Path as RawPath
from fatt.importers.columns.steps import Table
from fatt.importers.files.bundles import is_aside, left_aside, only_step
from fatt.importers.files.pickles import unpickle
from fatt.importers.naming import with_texts
from fatt.importers.registry import inside
from fatt.model import Around, Live, Model

_CODES = (
    "the code of each text: {'sex': {'M': 0, 'F': 1}}; or {'sex': {'classes': ['F', "
    "'M']}}, where the place of a text is its code."
)
_FORMS = (
    "pass a fitted transformer, {column: {text: code}}, a path of a file with one of "
    "them, or a list."
)
#: Under which key the classes of a LabelEncoder are saved.
_CLASSES = ("classes", "classes_")


def with_preparation(model: Model, prepare: Any, *, allow_pickle: bool) -> Model:
    """Return a model in the raw columns of what stands before it.

    Parameters
    ----------
    model
        The model, which reads prepared columns.
    prepare, allow_pickle
        As in `fatt.load`.

    Raises
    ------
    UnsupportedModelError
        If a step cannot be pulled back, or makes other columns than the model reads.
    SpecError
        If a step is nothing of what `fatt.load` takes, or maps labels of a column that
        it cannot map.
    """
    steps = prepare if isinstance(prepare, list | tuple) else [prepare]
    for given in reversed([_opened(step, allow_pickle) for step in steps]):
        step, notes = only_step(given) or (given, ())
        if isinstance(step, Mapping):
            codes, notes = _codes(step, [one.name for one in model.features])
            model = with_texts(model, codes)
        elif hasattr(step, "transform"):
            model = _behind(step, model)
        else:
            raise SpecError(f"{Arg('prepare')} holds a {type(step).__name__}; {_FORMS}")
        model = _with_notes(model, notes)
    return model


def _with_notes(model: Model, notes: tuple[str, ...]) -> Model:
    source = model.ensemble.source
    source = msgspec.structs.replace(source, notes=(*notes, *source.notes))
    return replace(model, ensemble=replace(model.ensemble, source=source))


def _opened(step: Any, allow_pickle: bool) -> Any:
    """Return what a file holds, if the step is the path of one."""
    if not isinstance(step, str | os.PathLike):
        return step
    path = Path(step)
    try:
        data = path.read_bytes()
    except OSError as error:
        reason = error.strerror or error
        raise ModelError(f"cannot read the preparation {path}: {reason}.") from error
    if data.lstrip()[:1] in {b"{", b"["}:
        try:
            content = msgspec.json.decode(data)
        except msgspec.MsgspecError as error:
            raise SpecError(
                f"{path} is no JSON: {error}. It can hold {_CODES}"
            ) from None
        if isinstance(content, list):
            raise SpecError(
                f"{path} holds a list of JSON, which does not say what becomes of a "
                f"text. Names of columns go to {Arg('columns')}; columns that "
                f"get_dummies made are read as they are, with {Arg('one_hot')} for "
                "each of their variables, or behind a fitted OneHotEncoder. "
                f"{Arg('prepare')} takes {_CODES}"
            )
        return content
    if not allow_pickle:
        raise UntrustedModelError(
            f"{path} is no JSON, so that it may be a pickle, and loading one runs "
            "whatever code its author put inside. If you made it yourself, pass "
            f"{Arg('allow_pickle', True)}."
        )
    return unpickle(data)[0]


def _codes(
    content: Mapping[Any, Any], names: Sequence[str]
) -> tuple[dict[str, dict[Label, Any]], tuple[str, ...]]:
    """Return the code of each label of each column, and notes on what is left aside.

    Parameters
    ----------
    content
        The codes by column, perhaps beside other things; or a single key has them.
    names
        The columns of the model.
    """
    read = {str(name): _numbers(given) for name, given in content.items()}
    codes = {name: own for name, own in read.items() if own is not None}
    others = {name: own for name, own in content.items() if str(name) not in codes}
    unclear = [
        name
        for name, given in others.items()
        if str(name) in names or not is_aside(name, given)
    ]
    if not codes and len(unclear) == 1 and isinstance(others[unclear[0]], Mapping):
        codes, _ = _codes(others.pop(unclear[0]), names)
    elif unclear:
        name = unclear[0]
        raise SpecError(
            f"{Arg('prepare')} says {content[name]!r} of column {name!r}; write "
            f"{_CODES}"
        )
    elif not codes:
        raise SpecError(
            f"{Arg('prepare')} holds {content!r} and no codes; write {_CODES}"
        )
    return codes, left_aside(list(others.items()))


def _numbers(given: Any) -> dict[Label, Any] | None:
    """Return the code of each label of a column; None if that is not what is given."""
    classes = None
    if type(given).__name__ == "LabelEncoder":
        classes = getattr(given, "classes_", None)
    elif isinstance(given, Mapping) and len(given) == 1:
        classes = next((given[key] for key in _CLASSES if key in given), None)
    if classes is not None:
        return {label: code for code, label in enumerate(np.asarray(classes).tolist())}
    if not isinstance(given, Mapping) or not given:
        return None
    if any(isinstance(code, Mapping | list | tuple) for code in given.values()):
        return None
    # No transformer is a code, and that of labels has codes of its own.
    has_step = any(hasattr(code, "transform") for code in given.values())
    return None if has_step else dict(given)


def _behind(step: Any, model: Model) -> Model:
    """Return the model behind a fitted transformer."""
    inner = model.ensemble
    names = getattr(step, "feature_names_in_", None)
    own = [feature.name for feature in inner.features]
    part = None
    if names is not None and inner.inputs.named:
        part = _part_of(own, [str(name) for name in names], _made_names(step))
    if inner.inputs.named:
        _require_order(step, own if part is None else part.made)
    ensemble, part = _prepared(step, inner, part)
    opened = functools.partial(_open, model.opened, step, inner, part)
    return replace(model, ensemble=ensemble, opened=opened, given=model.given or step)


def _part_of(own: list[str], read: list[str], made: list[str]) -> Part | None:
    """Return what a step does if it makes some of a model's columns; else nothing."""
    if set(own) <= set(made):
        return None
    if not made or not set(made) < set(own) or set(made) == set(read):
        # Such as a scaler, which changes columns one by one.
        made = read
    if not set(made) < set(own) or len(set(made)) < len(made):
        return None
    kept = [name for name in own if name not in made or name in read]
    raw = [*kept, *(name for name in read if name not in kept)]
    return Part(raw=raw, read=read, made=made)


def _require_order(step: Any, own: Sequence[str]) -> None:
    """Refuse a step that makes the model's columns in another order than the model's.

    Arrays would be taken by position and frames by name, and the two would differ.
    """
    made = _made_names(step)
    places = {name: place for place, name in enumerate(own)}
    if any(places.get(name, place) != place for place, name in enumerate(made)):
        others = [name for name in made if name not in places]
        if others:
            raise UnsupportedModelError(
                f"the preparation makes the column {others[0]!r}, which the model does "
                f"not read, beside others that it reads: {', '.join(own)}. Pass the "
                f"{type(step).__name__} with which the model was trained."
            )
        raise UnsupportedModelError(
            f"the preparation makes the columns {', '.join(made)}, and the model reads "
            f"them in another order: {', '.join(own)}. Fit the {type(step).__name__} "
            "on columns in the model's order."
        )


def _made_names(step: Any) -> list[str]:
    """Return what a step calls the columns that it makes; nothing if it is silent."""
    try:
        return [str(name) for name in step.get_feature_names_out()]
    except (ValueError, AttributeError, TypeError):
        # Fitted without names, or a part of it has none, such as a function.
        return []


@dataclass(frozen=True)
class Part:
    """What a transformer does that makes some of a model's columns by their names.

    Attributes
    ----------
    raw
        All columns before it.
    read
        Those that it reads.
    made
        Those that it makes; the model's others are raw ones.
    """

    raw: Sequence[str]
    read: Sequence[str]
    made: Sequence[str]


def _prepared(
    step: Any, inner: Ensemble, part: Part | None
) -> tuple[Ensemble, Part | None]:
    """Return a model in the raw columns of a transformer that stands before it.

    Parameters
    ----------
    step
        The fitted transformer; what it makes reaches the model dense.
    inner
        The model.
    part
        Which of the model's columns it makes, if not all.

    Returns
    -------
    ensemble : Ensemble
    part : Part, or None
        None if the transformer makes more columns than it was said to make, or fewer:
        then it makes all of the model's.

    Raises
    ------
    UnsupportedModelError
        If the step mixes columns, is of an unknown kind, is not fitted, or makes other
        columns than the model reads.
    """
    own = [feature.name for feature in inner.features]
    if part is None:
        steps = [("prepare", step)]
        names, width = raw_columns(steps, inner)
        read = list(range(width))
    else:
        steps, names, width = [], list(part.raw), len(part.raw)
        read = [names.index(name) for name in part.read]
    raw = list(map(RawPath, range(width)))
    with inside("the preparation"):
        made = through(step, Table([raw[place] for place in read]))
    columns = made.columns
    if part is not None:
        if len(columns) != len(part.made):
            return _prepared(step, inner, None)
        by_name = dict(zip(part.raw, raw, strict=True))
        by_name |= zip(part.made, columns, strict=True)
        columns = [by_name[name] for name in own]
    if len(columns) != len(own):
        raise UnsupportedModelError(
            f"the preparation makes {len(columns)} columns, and the model reads "
            f"{len(own)}. Pass all that stands before the model, such as the "
            "ColumnTransformer."
        )
    if names is not None and inner.inputs.named:
        _require_places(columns, names, own)
    table = Table(columns, idle=made.idle)
    ensemble = in_raw_columns(inner, table, names, width, steps)
    if part is not None:
        # Its columns stand among others and are found by name. The order is known only
        # where it changes columns in their places.
        is_known = list(part.raw) == own and inner.inputs.by_position != "names"
        inputs = msgspec.structs.replace(
            ensemble.inputs, by_position="none" if is_known else "names"
        )
        ensemble = replace(ensemble, inputs=inputs)
    return ensemble, part


def _require_places(
    columns: Sequence[RawPath], names: Sequence[str], own: Sequence[str]
) -> None:
    """Refuse to put what is made of one of a model's columns into another's place."""
    for chain, name in zip(columns, own, strict=True):
        if not isinstance(chain.source, int):
            continue
        raw = names[chain.source]
        if raw != name and {raw, name} <= set(own) & set(names):
            raise UnsupportedModelError(
                f"the preparation makes of {raw!r} what would stand in the place where "
                f"the model reads {name!r}. Let it make its columns in the model's "
                f"order, which is {', '.join(own)}."
            )


def _open(
    opened: Callable[[], Live], step: Any, inner: Ensemble, part: Part | None
) -> Prepared:
    return Prepared(opened(), step, inner, part)


@dataclass(frozen=True)
class Prepared(Around):
    """A model that is asked about rows behind a fitted transformer.

    Attributes
    ----------
    step
        The transformer; what it makes is handed on dense.
    inner
        What the model reads.
    part
        Which columns the transformer makes, if it leaves the others alone.
    """

    step: Any
    inner: Ensemble
    part: Part | None

    def asked(self, of: Callable[[Any], Any], table: Any) -> Any:
        """Ask about the prepared rows."""
        rows = self._rows(table)
        if not self.inner.inputs.named:
            return of(rows)
        import pandas as pd

        names = [feature.name for feature in self.inner.features]
        try:
            return of(pd.DataFrame(rows, columns=names).infer_objects())
        except Exception:  # libraries raise what they like
            return of(np.asarray(rows))

    def _rows(self, table: Any) -> Any:
        """Return the rows as the transformer makes them."""
        part = self.part
        if part is None:
            made = self.step.transform(table)
            return np.asarray(made.toarray() if hasattr(made, "toarray") else made)
        import pandas as pd

        frame = as_frame(table)
        if frame is None:
            rows = pd.DataFrame(table, columns=part.raw).infer_objects()
        else:
            rows = frame.to_pandas()[list(part.raw)].copy()
        made = self.step.transform(rows[list(part.read)])
        cells = np.asarray(made.toarray() if hasattr(made, "toarray") else made)
        for place, name in enumerate(part.made):
            rows[name] = cells[:, place]
        # As a frame, whose categories a library may ask for.
        return rows[[feature.name for feature in self.inner.features]]
