"""The columns a model reads, and what its library makes of their values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias, get_args

import msgspec

from fatt.ensemble.fingerprint import codes_by_fingerprint, fingerprint


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Immutable named values that can be written to a file and read back strictly."""


#: A value of a categorical column, or a class label.
Label: TypeAlias = str | int | float | bool


def is_writable(label: Label) -> bool:
    r"""Tell whether files can hold a label: half a surrogate pair is no text.

    Examples
    --------
    >>> is_writable("Köln"), is_writable("K\ud800ln")
    (True, False)
    """
    if not isinstance(label, str) or label.isascii():
        return True
    return not any("\ud800" <= sign <= "\udfff" for sign in label)


def names_a_level(name: str) -> bool:
    """Tell whether a column is named ``variable=level``; a comparison names none.

    Examples
    --------
    >>> [names_a_level(name) for name in ("race=White", "age<=30", "age")]
    [True, False, False]
    """
    variable, _, level = name.partition("=")
    return bool(variable and level) and variable[-1] not in "<>!"


#: In which types the library reads numbers as it reads their float64 copies; from most
#: to fewest: all, all but floats narrower than float64, and of these no integers below
#: 32 bits either, with which NumPy does not compute in float64.
NumberTypes: TypeAlias = Literal["any", "wide", "float64"]


class Numeric(Record, frozen=True, kw_only=True, tag="numeric"):
    """A column of numbers, in float64.

    Attributes
    ----------
    name
        Name of the column.
    lower, upper
        Smallest and largest value that the library takes; it raises beyond them.
    accepts_missing
        Whether the library takes NaN (or a null of a data frame).
    missing_range
        Smallest and largest number that the library reads as missing, if any.
    edges
        Increasing; cuts the line into cells ``(edges[i-1], edges[i]]``, of which a set
        split takes some to the left. Empty unless the column has set splits.
    integer
        Whether the library takes whole numbers only.
    number_types
        Which types of numbers give what their float64 copies give. Some steps write a
        number into the column, which narrow floats would round; some compute in the
        column's own type.
    """

    name: str
    lower: float = -math.inf
    upper: float = math.inf
    accepts_missing: bool = True
    missing_range: tuple[float, float] | None = None
    edges: tuple[float, ...] = ()
    integer: bool = False
    number_types: NumberTypes = "any"

    @property
    def n_codes(self) -> int:
        """Number of cells that a set split distinguishes."""
        return len(self.edges) + 1


class Categorical(Record, frozen=True, kw_only=True, tag="categorical"):
    """A column of categories, seen by the trees as codes.

    Category ``i`` has code ``i``; every value that is no category has the one code
    ``len(categories)``, since no library tells unknown values apart.

    Attributes
    ----------
    name
        Name of the column.
    categories
        The category behind each code.
    coding
        How a cell becomes a code. ``"label"``: it equals a category. ``"floor"``
        (XGBoost): it is a number, cast to float32 and rounded down, negative ones
        unknown; or the label of a known category. ``"truncate"`` (LightGBM): it is a
        number, rounded towards zero. ``"fingerprint"`` (CatBoost): it is a text, or a
        whole number written out, with the `fingerprint` of a category; what category
        it is called does not matter, only its fingerprint.
    labelled
        Whether `categories` are the labels people know. If not, they only number the
        codes, and a data frame's own categories cannot be matched with them.
    accepts_missing, accepts_unknown
        Whether the library takes missing values and values that are no category.
    lower, upper, missing_range, number_types
        As in `Numeric`, for cells that are numbers.
    missing_as
        Which labels are missing: NaN and None alike, or only one of them, and then the
        other is an unknown category.
    codes
        What the model itself reads for each category, where the categories are words
        that people gave to it; tables may hold either. Empty if they are the model's
        own.
    other
        The only text of a table that is no category, if there is just one: what to
        call unknown values. It changes no answer.
    of_one_kind
        Whether cells must be texts, numbers or truth values as the categories are,
        since the library turns other kinds into theirs, or tells True from 1.
    """

    name: str
    categories: tuple[Label, ...]
    coding: Literal["label", "floor", "truncate", "fingerprint"] = "label"
    labelled: bool = True
    accepts_missing: bool = True
    accepts_unknown: bool = True
    lower: float = -math.inf
    upper: float = math.inf
    missing_range: tuple[float, float] | None = None
    number_types: NumberTypes = "any"
    missing_as: Literal["any", "nan", "none"] = "any"
    other: str = ""
    codes: tuple[Label, ...] = ()
    of_one_kind: bool = False

    @property
    def n_codes(self) -> int:
        """Number of codes, the one for unknown values included."""
        return len(self.categories) + 1

    @property
    def holds_labels(self) -> bool:
        """Whether cells hold what people call a category, and no code of it."""
        return self.coding in {"label", "fingerprint"}

    @property
    def is_open(self) -> bool:
        """Whether there are always more values than the model names.

        Codes go on after the last one that a split names, and of texts a model of
        fingerprints keeps those alone that its splits ask for.
        """
        is_list = self.labelled and self.coding != "fingerprint"
        return self.accepts_unknown and not is_list

    @property
    def may_be_unknown(self) -> bool:
        """Whether a value that is no category can be handed to the library.

        XGBoost takes a label that it does not know for the next one that it knows.
        """
        return self.accepts_unknown and not (self.labelled and self.coding == "floor")

    def reads_missing(self, code: float) -> bool:
        """Tell whether the library takes a code, as a number, for missing."""
        if self.missing_range is None or self.holds_labels:
            return False
        low, high = self.missing_range
        return low <= code <= high

    def code_of(self, label: Label) -> int | None:
        """Return the code of a category; None if it is none.

        Parameters
        ----------
        label
            The category itself; where only fingerprints count, any with the same one.
        """
        if self.coding == "fingerprint":
            texts = tuple(map(str, self.categories))
            return codes_by_fingerprint(texts).get(fingerprint(str(label)))
        return self.categories.index(label) if label in self.categories else None

    def named_after(self, texts: Sequence[str]) -> Categorical:
        """Return the column with texts of a table for those that were made up.

        Parameters
        ----------
        texts
            What a table holds there. Where the model knows its categories otherwise
            than by fingerprints, nothing changes.
        """
        if self.coding != "fingerprint" or not texts:
            return self
        found = {fingerprint(text): text for text in texts}
        known = tuple(str(text) for text in self.categories)
        strangers = [text for text in texts if self.code_of(text) is None]
        return msgspec.structs.replace(
            self,
            categories=tuple(found.get(fingerprint(text), text) for text in known),
            other=strangers[0] if len(strangers) == 1 else "",
        )

    @property
    def other_code(self) -> int:
        """The smallest code that is no category, for columns that hold codes."""
        code = len(self.categories)
        while self.reads_missing(code):
            code += 1
        return code


Feature: TypeAlias = Numeric | Categorical


ByPosition: TypeAlias = Literal["names", "whole", "all", "others", "none"]


def strictest(orders: Iterable[ByPosition]) -> ByPosition:
    """Return which data frames models that read one table all take.

    Examples
    --------
    >>> strictest(["none", "all", "others"])
    'all'
    """
    return min(orders, key=get_args(ByPosition).index)


class Inputs(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What the library does to a table before the trees see it.

    Attributes
    ----------
    named
        Whether the names of the features come from the model; if not, columns are
        taken by position.
    integer_limit
        Largest absolute value up to which the library reads integers of arrays
        exactly; those of data frames it reads exactly up to 2**53 at least.
    limits_frames
        Whether integers of data frames are read no further either, since a step makes
        an array of them or computes with them.
    float32
        Whether float32 columns give what their float64 copies give.
    objects
        Whether numbers held as Python objects give what their float64 copies give.
    in_arrow
        Whether the library takes pandas columns that keep their cells in pyarrow.
        It has no part in the digest, since it changes no answer.
    undeclared
        Whether the library takes categories of pandas frames in columns of another
        type than category. It has no part in the digest either.
    by_position
        Which data frames the library takes by position although it knows the names of
        the columns: none, all, or those of other packages than pandas. From one in
        another order than the model's it would silently read other columns, so that
        one is refused. Whole are those that must not even have other columns besides.
        With names not even arrays are taken, since the columns have no known order.
        It has no part in the digest, since it changes no answer.
    bounds_of
        What refuses numbers beyond the bounds of the features: the library, or fatt,
        which cannot follow exactly what the library computes there. It has no part in
        the digest either.
    open_below, open_above
        Places of the columns below whose lower bound, or above whose upper one, the
        library gives answers that fatt does not follow: a similarity that reaches
        there is refused.
    renamed
        What some columns of data frames are called there, and what the model calls
        them. It has no part in the digest either.
    """

    named: bool = True
    integer_limit: int = 2**53
    float32: bool = True
    objects: bool = True
    in_arrow: bool = True
    undeclared: bool = True
    by_position: ByPosition = "none"
    bounds_of: Literal["library", "fatt"] = "library"
    open_below: tuple[int, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    open_above: tuple[int, ...] = ()
    limits_frames: bool = False

    def largest_integer(self, *, in_frame: bool) -> int:
        """Return up to which size integers are read exactly."""
        if in_frame and not self.limits_frames:
            return max(self.integer_limit, 2**53)
        return self.integer_limit
