"""Preparation from outside: what stands before a model, pulled back like a pipeline."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

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
from fatt.importers.bundles import only_step
from fatt.importers.naming import Told, telling, told_by, with_texts
from fatt.importers.pickles import unpickle
from fatt.importers.pipeline import Part, prepared
from fatt.model import Live, Model


class Given(NamedTuple):
    """A step of `prepare=`.

    Attributes
    ----------
    step
        A fitted transformer, or the number of each label of each column.
    notes
        What is to be said of it.
    told, told_behind
        Before it and behind it, all values of the columns of which they are told.
    """

    step: Any
    notes: tuple[str, ...]
    told: Told
    told_behind: Told


def steps_of(prepare: Any, told: Told, *, allow_pickle: bool) -> list[Given]:
    """Return the steps of a preparation, in the order in which they work.

    Parameters
    ----------
    prepare, allow_pickle
        As in `fatt.load`.
    told
        All values of the raw columns of which somebody told them.

    Raises
    ------
    SpecError
        If a step is nothing of what `fatt.load` takes.
    """
    steps = prepare if isinstance(prepare, list | tuple) else [prepare]
    found: list[Given] = []
    for given in [_opened(step, allow_pickle) for step in steps]:
        step, notes = only_step(given) or (given, ())
        behind = told
        if isinstance(step, Mapping):
            step = _numbers(step)
            others = {name: told[name] for name in told if name not in step}
            numbers = {name: own.values() for name, own in step.items()}
            behind = {**others, **told_by(numbers)}
        elif hasattr(step, "transform"):
            names = getattr(step, "feature_names_in_", None)
            read = list(told) if names is None else list(map(str, names))
            behind = {name: told[name] for name in told if name not in read}
        else:
            raise SpecError(
                f"{Arg('prepare')} holds a {type(step).__name__}; pass a fitted "
                "transformer, {column: {text: code}}, a path of a file with one "
                "of them, or a list."
            )
        found.append(Given(step, notes, told, behind))
        told = behind
    return found


def with_preparation(model: Model, steps: Sequence[Given]) -> Model:
    """Return a model in the raw columns of what stands before it.

    Parameters
    ----------
    model
        The model, which reads prepared columns.
    steps
        As `steps_of` returns them.

    Raises
    ------
    UnsupportedModelError
        If a step cannot be pulled back, or makes other columns than the model reads.
    SpecError
        If a step maps labels of a column that it cannot map.
    """
    for step, notes, told, _ in reversed(steps):
        if isinstance(step, Mapping):
            model = with_texts(model, step)
            continue
        with telling(told):
            model = _told(_behind(step, model), notes)
    return model


def _told(model: Model, notes: tuple[str, ...]) -> Model:
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
    if data.lstrip().startswith(b"{"):
        try:
            return msgspec.json.decode(data, type=dict[str, dict[str, float]])
        except msgspec.MsgspecError as error:
            raise SpecError(
                f"{path} does not hold the code of each text of each column: {error}."
            ) from None
    if not allow_pickle:
        raise UntrustedModelError(
            f"{path} is no JSON, so that it may be a pickle, and loading one runs "
            "whatever code its author put inside. If you made it yourself, pass "
            f"{Arg('allow_pickle', True)}."
        )
    return unpickle(data)[0]


def _numbers(step: Mapping[Any, Any]) -> dict[str, dict[Label, Any]]:
    """Return the code of each label of each column; encoders number theirs."""
    found: dict[str, dict[Label, Any]] = {}
    for name, given in step.items():
        labels = getattr(given, "classes_", None)
        if type(given).__name__ == "LabelEncoder" and labels is not None:
            numbered = enumerate(labels.tolist())
            found[str(name)] = {label: code for code, label in numbered}
        elif isinstance(given, Mapping) and given:
            found[str(name)] = dict(given)
        else:
            raise SpecError(
                f"{Arg('prepare')} says {given!r} of column {name!r}; write the code "
                "of each text: {'M': 0, 'F': 1}."
            )
    return found


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
    ensemble, part = prepared(step, inner, part)
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

    As arrays they would be taken by position, as frames by name: nobody said which.
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
        # Fitted without names, or a part of it has none.
        pass
    names = getattr(step, "feature_names_in_", None)
    if names is None:
        return []
    import pandas as pd

    try:
        made = step.transform(pd.DataFrame(np.ones((2, len(names))), columns=names))
    except Exception:  # functions raise what they like, as of texts
        return []
    return [str(name) for name in getattr(made, "columns", [])]


def _open(
    opened: Callable[[], Live], step: Any, inner: Ensemble, part: Part | None
) -> Prepared:
    return Prepared(opened(), step, inner, part)


@dataclass(frozen=True)
class Prepared(Live):
    """A model that is asked about rows behind a fitted transformer.

    Attributes
    ----------
    live
        The model itself.
    step
        The transformer; what it makes is handed on dense.
    inner
        What the model reads.
    part
        Which columns the transformer makes, if it leaves the others alone.
    """

    live: Live
    step: Any
    inner: Ensemble
    part: Part | None

    def labels(self, table: Any) -> Any:
        """Return what the model answers about the prepared rows."""
        return self._asked(self.live.labels, table)

    def probabilities(self, table: Any) -> Any:
        """Return the probabilities of the prepared rows."""
        return self._asked(self.live.probabilities, table)

    def scores(self, table: Any) -> Any:
        """Return the scores of the prepared rows."""
        return self._asked(self.live.scores, table)

    def _asked(self, ask: Callable[[Any], Any], table: Any) -> Any:
        rows = self._rows(table)
        if not self.inner.inputs.named:
            return ask(rows)
        import pandas as pd

        names = [feature.name for feature in self.inner.features]
        try:
            return ask(pd.DataFrame(rows, columns=names).infer_objects())
        except Exception:  # libraries raise what they like
            return ask(np.asarray(rows))

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
