"""The exceptions of `fatt`.

FattError
├── ModelError
│   ├── UnsupportedModelError     a model that cannot be represented exactly, or that
│   │                             is not fitted (also scikit-learn's NotFittedError)
│   ├── UntrustedModelError       a file that could run code when it is read
│   └── MalformedModelError       a file or object that contradicts itself
├── SpecError (ValueError)        an argument names something absent or senseless
├── DataError (ValueError)        rows that the model's library would not take
├── CertificateError              evidence that does not fit or does not hold
│   ├── MalformedCertificateError  a file that is no certificate, or none of today
│   └── OtherModelError           evidence about another model than the one given
├── ReplayError                   a finding that the model itself denies
├── JournalError                  a file of findings that cannot be gone on with
├── MissingDependencyError (ImportError)
└── UnfairError                   only from `Report.raise_if_unfair`

A message says what is wrong, where, what was found, and the next step; `hint` and
`needs` give the next step for a misspelt name and for a package that is absent.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple

#: How many names a hint shows.
_SHOWN = 40


class Arg(NamedTuple):
    """An argument that a message names, written as its reader would write it.

    That is ``threshold=0.3`` in Python, and ``--threshold 0.3`` on the command line.

    Attributes
    ----------
    name
        The argument, or a function of `fatt`. ``schema`` stands for `Schema.with_`.
    value
        What to pass; None if the message says nothing of it, ``...`` for any value. Of
        ``schema``: a column, its kind, and what to say of it.

    Examples
    --------
    >>> f"write {Arg('vary', ['sex'])}, or set {Arg('pos_label')}."
    "write vary=['sex'], or set pos_label."
    """

    name: str
    value: Any = None

    def __str__(self) -> str:
        return SPELLING.get()(self)


def _in_python(argument: Arg) -> str:
    name, value = argument
    if name == "schema":
        if value is None:
            return "Schema.with_"
        column, kind, said = value
        told = ", ".join(f"{key}={_shown(one)}" for key, one in said.items())
        return f"schema.with_({{{column!r}: {kind}({told})}})"
    if value is not None:
        told = _shown(value)
        if name == "one_hot":
            return f"schema=Schema.infer(fatt.load(model), X, one_hot={told})"
        return f"{name}({told})" if "." in name else f"{name}={told}"
    # A name that could be a word of the sentence needs the sign.
    return name if {"_", "."} & {*name} else f"{name}="


def _shown(value: Any) -> str:
    return "..." if value is ... else repr(value)


#: How the reader of messages writes arguments; the command line sets it.
SPELLING: ContextVar[Callable[[Arg], str]] = ContextVar("SPELLING", default=_in_python)


class FattError(Exception):
    """Base class of every error that `fatt` raises on purpose."""


class ModelError(FattError):
    """A model could not be imported."""


class UnsupportedModelError(ModelError):
    """The model computes something the IR cannot represent exactly."""


class UntrustedModelError(ModelError):
    """Reading the file could execute code, and the caller did not allow that."""


class MalformedModelError(ModelError):
    """The file or object is damaged or contradicts itself."""


class SpecError(FattError, ValueError):
    """An argument names something absent, or does not fit the model."""


class DataError(FattError, ValueError):
    """The rows do not fit the model's features."""


class MissingDependencyError(FattError, ImportError):
    """An optional package is needed and is not installed."""


class CertificateError(FattError):
    """A certificate is damaged, is about something else, or does not hold."""


class MalformedCertificateError(CertificateError):
    """A file is no certificate, or none that this version reads: it says nothing."""


class OtherModelError(CertificateError):
    """A certificate is about another model, or about one that is loaded otherwise."""


class ReplayError(FattError):
    """The model itself gives another label than `fatt` says: a bug in `fatt`."""


class JournalError(FattError):
    """A journal is damaged, belongs to another audit, or cannot be written."""


class UnfairError(FattError):
    """A report does not prove the fairness that was asked for.

    Attributes
    ----------
    report
        The report.
    """

    def __init__(self, message: str, report: object = None) -> None:
        super().__init__(message)
        self.report = report


def hint(wanted: object, known: Iterable[object]) -> str:
    """Return the close matches of a misspelt name, and the names that there are.

    Examples
    --------
    >>> hint("agee", ["age", "sex"])
    "Did you mean 'age'? There are: 'age', 'sex'."
    """
    names = list(dict.fromkeys(known))
    texts = {str(name): name for name in names}
    lower = {text.lower(): name for text, name in texts.items()}
    close = difflib.get_close_matches(str(wanted), texts, n=1)
    match = texts[close[0]] if close else lower.get(str(wanted).lower())
    question = "" if match is None else f"Did you mean {match!r}? "
    return f"{question}There are: {first([repr(name) for name in names])}."


def first(texts: Sequence[str], most: int = _SHOWN, between: str = ", ") -> str:
    """List the first of several texts, and how many more there are.

    Examples
    --------
    >>> first(["age", "sex", "race"], most=2)
    'age, sex and 1 more'
    """
    more = f" and {len(texts) - most:,} more" if len(texts) > most else ""
    return between.join(texts[:most]) + more


def needs(package: str, what: str, extra: str) -> MissingDependencyError:
    """Return the error for an optional package that is not installed.

    Parameters
    ----------
    package
        The package.
    what
        What needs it.
    extra
        The extra of `fatt` that brings it.
    """
    return MissingDependencyError(
        f"{what} needs {package}: pip install 'fatt[{extra}]'."
    )
