"""The file of an audit: files, names, kinds, decision, and who is similar."""

from __future__ import annotations

import functools
import json
import math
import shlex
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from fatt.ensemble import Label
from fatt.errors import SpecError
from fatt.region import Relation, Similarity
from fatt.region.kinds import AnyVariable


class Columns(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table ``[columns]`` of an audit's file.

    Attributes
    ----------
    names
        Names of the columns of a model that has none, in order.
    codes
        The words for the codes of some columns.
    answers
        The words for some answers.
    rename
        The new names of some columns of the people.
    by_position
        Whether a model without names takes the columns of the people in their order.
    one_hot
        Variables whose columns ``NAME_...`` have one 1 in a row.
    """

    names: list[str] | None = None
    codes: dict[str, dict[str, str]] = {}
    answers: dict[str, str] = {}
    rename: dict[str, str] = {}
    by_position: bool = False
    one_hot: list[str] = []


class Audit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table ``[audit]`` of an audit's file; paths are relative to the file.

    Attributes
    ----------
    model, people
        Paths of the files.
    label, id
        The columns of true outcomes and of people's ids.
    ignore
        Columns that the model does not read.
    prepare
        Paths of what stands before the model, in the order in which they work.
    iteration
        Which iterations of an XGBoost model count, as in `fatt.load`.
    accept_doubts
        Whether somebody looked into why the rows seem not to be the model's.
    """

    model: str | None = None
    people: str | None = None
    label: str | None = None
    id: str | None = None
    ignore: list[str] = []
    prepare: list[str] = []
    iteration: str | int | None = None
    accept_doubts: bool = False


class Decision(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table ``[decision]`` of an audit's file: how the model decides, what is fair.

    Attributes
    ----------
    threshold, cuts, strict, cut_on, pos_label
        As in `fatt.load`.
    tolerance, direction, favorable
        As in `fatt.verify`.
    """

    threshold: float | None = None
    cuts: dict[str, float] | None = None
    strict: bool = False
    cut_on: str = "probability"
    pos_label: str | int | float | bool | None = None
    tolerance: float | str | None = None
    direction: str | None = None
    favorable: str | int | float | bool | None = None


class Spec(msgspec.Struct, frozen=True, kw_only=True):
    """The file of an audit; what it does not say is not said.

    Attributes
    ----------
    path
        Path of the file; empty if there is none.
    audit, columns, schema
        Its tables of these names.
    decision
        Its table of this name, if it has one.
    """

    path: str = ""
    audit: Audit = Audit()
    columns: Columns = Columns()
    schema: dict[str, AnyVariable] = {}
    decision: Decision | None = None


#: Of what form each table is.
_TABLES: dict[str, Any] = {
    "audit": Audit,
    "columns": Columns,
    "schema": dict[str, AnyVariable],
    "decision": Decision,
}


def read_spec(path: str | None) -> Spec:
    """Read the file of an audit, without who is similar; nothing is said without one.

    Raises
    ------
    SpecError
        If there is no such file, or it is not understood.
    """
    if path is None:
        return Spec()
    try:
        document = tomllib.loads(_text("spec", path))
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"{path}: it is no valid TOML: {error}.") from None
    said: dict[str, Any] = {}
    for name, kind in _TABLES.items():
        try:
            if name in document:
                said[name] = msgspec.convert(document[name], kind)
        except msgspec.ValidationError as error:
            raise SpecError(f"{path}: [{name}] is not understood: {error}.") from None
    spec = Spec(path=path, **said)
    return msgspec.structs.replace(spec, audit=_beside(spec.audit, Path(path).parent))


def _beside(audit: Audit, folder: Path) -> Audit:
    """Return the table with paths that lead from here."""
    files: dict[str, Any] = {
        name: str(folder / file)
        for name in ("model", "people")
        if (file := getattr(audit, name)) is not None
    }
    prepare = [str(folder / file) for file in audit.prepare]
    return msgspec.structs.replace(audit, prepare=prepare, **files)


def read_similarity(path: str) -> Relation:
    """Read who is similar from a file, and name the file if it cannot be read."""
    text = _text("spec", path)
    try:
        return Similarity.from_toml(text)
    except SpecError as error:
        raise SpecError(f"{path}: {error}") from error


def columns_of(spec: Spec, given: Mapping[str, str | None]) -> Columns:
    """Return what options and the file say together; each thing is said once.

    Parameters
    ----------
    spec
        The file of the audit.
    given
        The options, by the names of the attributes of `Columns`.

    Raises
    ------
    SpecError
        If something is said twice, or is not understood.
    """
    here = {
        name: _READERS[name](text) for name, text in given.items() if text is not None
    }
    for name in here:
        if getattr(spec.columns, name) not in (None, {}):
            option = "columns" if name == "names" else name
            raise SpecError(
                f"--{option} and {name} in [columns] of {spec.path} say the same "
                "thing; keep one."
            )
    return msgspec.structs.replace(spec.columns, **here)


#: What the model is told when it is loaded; the rest is about what is fair.
_LOADED = ("threshold", "cuts", "strict", "cut_on", "pos_label")


def decision_of(
    spec: Spec, given: Mapping[str, Any], answer: Callable[[Label], Label]
) -> dict[str, Any]:
    """Return what `fatt.load` is told of the decision, by options or by the file.

    Parameters
    ----------
    spec
        The file of the audit.
    given
        The options ``threshold``, ``cuts`` and ``pos_label``.
    answer
        Returns the answer of the model that a text means.

    Raises
    ------
    SpecError
        If both say it, or the file is not understood.
    """
    said = _said(spec, given, _LOADED, "how the model decides")
    cuts = said.get("cuts")
    if isinstance(cuts, str):
        said["cuts"] = _bands(cuts)
    if said.get("pos_label") is not None:
        said["pos_label"] = answer(said["pos_label"])
    return said


def fair_of(
    spec: Spec,
    given: Mapping[str, Any],
    favorable: str | None,
    answer: Callable[[Label], Label],
) -> dict[str, Any]:
    """Return what `fatt.verify` is told of what is fair, by options or by the file.

    Parameters
    ----------
    spec, answer
        As in `decision_of`.
    given
        The options ``tolerance`` and ``direction``.
    favorable
        The option ``--favourable``, which counts only with a direction: rates of groups
        have a favorable answer as well.

    Raises
    ------
    SpecError
        If both say it, or the file is not understood.
    """
    said = _said(spec, given, ("tolerance", "direction", "favorable"), "what is fair")
    if said.get("direction") is not None:
        said["direction"] = said["direction"].replace("-", " ")
        if favorable is not None and "favorable" in said:
            raise SpecError(
                f"--favourable and favorable in [decision] of {spec.path} say the same "
                "thing; keep one."
            )
        if favorable is not None:
            said["favorable"] = favorable
    if said.get("favorable") is not None:
        said["favorable"] = answer(said["favorable"])
    return said


def _said(
    spec: Spec, given: Mapping[str, Any], names: Sequence[str], what: str
) -> dict[str, Any]:
    """Return what options say, or what [decision] says; both may not."""
    here = {name: value for name, value in given.items() if value is not None}
    there, plain = spec.decision or Decision(), Decision()
    told = {
        name: getattr(there, name)
        for name in names
        if getattr(there, name) != getattr(plain, name)
    }
    if here and told:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in here)
        raise SpecError(
            f"{options} and [decision] of {spec.path} say {what}; keep one."
        )
    return {**here, **told}


def _bands(text: str) -> dict[str, float]:
    """Read ``NAME=NUMBER,NAME=NUMBER``."""
    bands: dict[str, float] = {}
    for part in text.split(","):
        name, _, number = part.rpartition("=")
        try:
            end = float(number)
        except ValueError:
            end = math.nan
        if not name.strip() or math.isnan(end):
            raise SpecError(
                f"--cuts {text}: write NAME=NUMBER,NAME=NUMBER, such as "
                "approve=0,review=0.14,decline=0.365."
            )
        if name.strip() in bands:
            raise SpecError(f"--cuts names {name.strip()!r} twice; name it once.")
        bands[name.strip()] = end
    return bands


def _json(name: str, kind: Any, path: str) -> Any:
    try:
        return msgspec.json.decode(_text(name, path), type=kind)
    except msgspec.MsgspecError as error:
        raise SpecError(
            f"--{name} {path}: {error}; write JSON of texts, such as {_FORMS[name]}."
        ) from None


#: What the files of options hold.
_FORMS = {
    "codes": '{"race": {"4": "Black"}}, the words for codes; of words that become '
    "numbers --prepare tells",
    "rename": '{"Age (years)": "age"}',
    "columns": '["age", "sex"], or one name in a line',
}


def _lines(path: str) -> list[str]:
    if _text("columns", path).lstrip().startswith("["):
        return list(_json("columns", list[str], path))
    lines = [line.strip() for line in _text("columns", path).splitlines()]
    return [line for line in lines if line]


def _text(option: str, path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SpecError(
            f"--{option} {path}: cannot read it: {error.strerror or error}."
        ) from error
    except UnicodeDecodeError:
        way = ""
        if option == "columns":
            load = (
                f"import joblib; print(*joblib.load({json.dumps(path)}), sep=chr(10))"
            )
            way = (
                " If it is a pickle that you made, this makes a text of it: "
                f"python -c {shlex.quote(load)} > names.txt"
            )
        raise SpecError(f"--{option} {path} is no text in UTF-8.{way}") from None


def _pairs(text: str) -> dict[str, str]:
    pairs = {}
    for part in text.split(","):
        answer, equals, word = part.partition("=")
        if not equals or not word.strip():
            raise SpecError(
                f"--answers {text}: write ANSWER=WORD,ANSWER=WORD, such as "
                "0=denied,1=granted."
            )
        if answer.strip() in pairs:
            raise SpecError(f"--answers names {answer.strip()!r} twice; name it once.")
        pairs[answer.strip()] = word.strip()
    return pairs


_READERS: dict[str, Callable[[str], Any]] = {
    "names": _lines,
    "codes": functools.partial(_json, "codes", dict[str, dict[str, str]]),
    "answers": _pairs,
    "rename": functools.partial(_json, "rename", dict[str, str]),
}
