"""How the command line spells what errors name as Python does: arguments are options.

The library's errors name an argument, ``threshold=0.3``, and how to write it. Whoever
types commands needs ``--threshold 0.3``, or a key in the file of ``--spec``.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections.abc import Callable
from typing import Any

_FILE = "in the file of --spec"
_ALTERNATIVES = f"with a table [[similar]] for each {_FILE}"


def as_options(sentence: str) -> str:
    """Return a sentence with options in the place of Python's arguments.

    Examples
    --------
    >>> as_options("write vary=['sex'], or noise={'age': '18..30'}.")
    'write --vary sex, or --noise age=18..30.'
    >>> as_options("pos_label is 'yes'; add threshold=0.12.")
    "--pos-label is 'yes'; add --threshold 0.12."
    """
    for pattern, option in _PHRASES:
        sentence = pattern.sub(option, sentence)
    return _ARGUMENT.sub(_option, sentence)


def _kind(found: re.Match[str]) -> str:
    """Write what a column is as the file of an audit does."""
    from fatt.region import kinds

    name, kind, said = found.groups()
    key = "NAME" if name == "..." else name.strip("'")
    if not re.fullmatch(r"[\w-]+", key):
        key = json.dumps(key, ensure_ascii=False)
    values = [f'type = "{getattr(kinds, kind).__struct_config__.tag}"']
    values += [part.replace("=", " = ") for part in filter(None, said.split(", "))]
    inside = ", ".join(values).replace("True", "true")
    return f"{key} = {{{inside}}} under [schema] {_FILE}"


#: Calls and names that no single option is, and what stands for them.
_PHRASES: list[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]] = [
    (re.compile(pattern), option)
    for pattern, option in (
        (
            r"schema\.with_\(\{?(.+?)(?:: |=)(\w+)\(([^()]*)\)(?:, \.\.\.)?\}?\)",
            _kind,
        ),
        (r"pass a schema that says", "say"),
        (r"with Schema\.with_", f"in [schema] {_FILE}"),
        (r"fatt\.load\(\.\.\.\)\.predicting\((.*?)\)", r"pos_label=\1"),
        (
            r"Pass them apart: fatt\.load\(content.*?\), with the \S+ loaded as "
            r"content",
            "Save each in a file of its own, and pass the others with prepare=",
        ),
        (r"fatt\.load\(\w+, (\w+=.*?)\)", r"\1"),
        (r"schema=Schema\.infer\(fatt\.load\(model\), X, (one_hot=.*?)\)", r"\1"),
        (r"FATTClassifier finds", "fatt train finds"),
        (r"Similarity\((\w+=.*?)\)", r"\1"),
        (r"as in Similarity\(\.\.\.\) \| Similarity\(\.\.\.\)", _ALTERNATIVES),
        (r"Budget\(seconds=(.*?)\)", r"--budget \1"),
        (r"Budget\(nodes=\.\.\.\)", "--budget nodes=N"),
        # The model's own parameters have these names too.
        (r"\bmissing=(\S+) (was given|is beyond)", r"--missing-value \1 \2"),
        (r"\bn_jobs is", "--jobs is"),
        (r"float\('-inf'\)", "-inf"),
        (r"fatt\.score_gap tells", "The page of --html tells"),
        (r"fatt\.verify asks", "fatt audit asks"),
    )
]


def _one(option: str, value: Any) -> str:
    return f"{option} {shlex.quote(str(value).replace('not ', 'not-'))}"


def _number(option: str, value: Any) -> str:
    return f"{option} {value}"


def _file(option: str, _: Any) -> str:
    return f"{option} FILE"


def _flag(option: str, _: Any) -> str:
    return option


def _each(option: str, value: Any) -> str:
    """Write an option that is repeated, once for each name."""
    if isinstance(value, dict):
        value = [f"{name}={amount}" for name, amount in value.items()]
    names = value if isinstance(value, list) else [value]
    return " ".join(f"{option} {shlex.quote(str(name))}" for name in names)


def _pairs(option: str, value: Any) -> str:
    return f"{option} {','.join(f'{name}={said}' for name, said in value.items())}"


def _key(key: str, value: Any) -> str:
    """Write what has no option as the file of an audit does."""
    return f"{key} = {json.dumps(value)} under [decision] {_FILE}"


#: What stands for each argument: with its value, or alone.
_OPTIONS: dict[str, tuple[Callable[[str, Any], str], str]] = {
    "threshold": (_number, "--threshold"),
    "cuts": (_pairs, "--cuts"),
    "pos_label": (_one, "--pos-label"),
    "strict": (_key, "strict"),
    "cut_on": (_key, "cut_on"),
    "tolerance": (_one, "--tolerance"),
    "direction": (_one, "--direction"),
    "favorable": (_one, "--favourable"),
    "noise": (_each, "--noise"),
    "vary": (_each, "--vary"),
    "one_hot": (_each, "--one-hot"),
    "columns": (_file, "--columns"),
    "codes": (_file, "--codes"),
    "rename": (_file, "--rename"),
    "prepare": (_file, "--prepare"),
    "iteration": (_one, "--iteration"),
    "answers": (_pairs, "--answers"),
    "sensitive_features": (_file, "--sensitive-features"),
    "by_position": (_flag, "--by-position"),
    "allow_pickle": (_flag, "--allow-pickle"),
    "spot_checks": (_number, "--spot-checks"),
    "min_fairness": (_number, "--min-fairness"),
}

_VALUE = r"\{[^{}]*\}|\[[^\[\]]*\]|'[^']*'|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|\w+|\.\.\."
# A word without an underscore is plain English, unless a sign of equality follows.
_ARGUMENT = re.compile(
    rf"(?<![\w.'\"-])(?:({'|'.join(_OPTIONS)})=({_VALUE})?"
    rf"|({'|'.join(name for name in _OPTIONS if '_' in name)})\b)"
)


def _option(found: re.Match[str]) -> str:
    """Return the option for one argument."""
    name, value, alone = found.groups()
    write, option = _OPTIONS[name or alone]
    if value is None:
        return option
    try:
        return write(option, ast.literal_eval(value))
    except (ValueError, SyntaxError):
        return write(option, value)
