"""Large CSV files, split by pyarrow into columns of texts.

What a text means is decided elsewhere, and the same for all files. Only where every
text of a column is written with nothing but digits, signs, points and exponents does
pyarrow read the numbers too: it rounds correctly, as Python does, and refuses whatever
else can be written with these characters.
"""

from __future__ import annotations

import codecs
import csv
import functools
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_WHOLE = frozenset(b"0123456789-+")
_PLAIN = _WHOLE | frozenset(b".eE")


class Texts(Sequence[str]):
    """A column of texts.

    Parameters
    ----------
    column
        Chunked array of strings of pyarrow, without nulls.
    """

    def __init__(self, column: Any) -> None:
        self._column = column

    def __len__(self) -> int:
        return len(self._column)

    def __iter__(self) -> Iterator[str]:
        return iter(self._cells)

    def __getitem__(self, place: Any) -> Any:
        return self._cells[place]

    @functools.cached_property
    def _cells(self) -> list[str]:
        # Most cells of a column are the same few texts, of which one copy is kept.
        encoded = self._column.dictionary_encode()
        cells: list[str] = []
        for chunk in encoded.chunks:
            texts = np.array([*chunk.dictionary.to_pylist(), ""], dtype=object)
            cells.extend(texts[chunk.indices.to_numpy()].tolist())
        return cells

    def numbers(self) -> tuple[NDArray[np.float64], bool] | None:
        """Return the numbers, and whether all are whole.

        Returns
        -------
        pair of ndarray and bool, or None
            Empty texts are NaN. None if any other text is no plain number.
        """
        import pyarrow
        from pyarrow import compute

        written: set[int] = set()
        for chunk in self._column.chunks:
            # Bytes of neighbours may count too, which is only a reason to say None.
            text = np.frombuffer(chunk.buffers()[2] or b"", dtype=np.uint8)
            written.update(np.flatnonzero(np.bincount(text, minlength=256)).tolist())
        if not written <= _PLAIN:
            return None
        is_empty = compute.equal(self._column, "")
        column = compute.if_else(is_empty, pyarrow.scalar(None, "string"), self._column)
        try:
            numbers = column.cast("float64").to_numpy()
        except pyarrow.ArrowInvalid:
            return None
        return np.asarray(numbers, dtype=np.float64), written <= _WHOLE


def split(data: bytes, start: int, delimiter: str, width: int) -> list[Texts] | None:
    """Split the rows of a CSV file into columns.

    Parameters
    ----------
    data
        The file: UTF-8.
    start
        Where the first row behind the header begins.
    delimiter
        What stands between cells.
    width
        Number of columns.

    Returns
    -------
    list or None
        None if pyarrow is not installed, or could read the file otherwise than Python
        does, or not at all.
    """
    try:
        import pyarrow
        from pyarrow import compute
        from pyarrow import csv as arrow
    except ImportError:
        return None
    rows = memoryview(data)[start:]
    has_quotes = b'"' in data
    # What begins the first row is its own, and pyarrow takes it for the file's mark.
    is_marked = data.startswith(codecs.BOM_UTF8, start)
    if b"\0" in data or data.count(b"\r") != data.count(b"\r\n") or is_marked:
        return None
    if has_quotes and not _is_well_quoted(rows, delimiter):
        return None
    names = [str(place) for place in range(width)]
    try:
        table = arrow.read_csv(
            pyarrow.BufferReader(pyarrow.py_buffer(rows)),
            read_options=arrow.ReadOptions(column_names=names),
            parse_options=arrow.ParseOptions(
                delimiter=delimiter, newlines_in_values=has_quotes
            ),
            convert_options=arrow.ConvertOptions(
                column_types=dict.fromkeys(names, pyarrow.string()), check_utf8=False
            ),
        )
    except pyarrow.ArrowException:
        return None
    longest = [compute.max(compute.binary_length(column)) for column in table.columns]
    if any((length.as_py() or 0) > csv.field_size_limit() for length in longest):
        return None
    return [Texts(column) for column in table.columns]


def _is_well_quoted(rows: memoryview, delimiter: str) -> bool:
    """Tell whether quotes stand around whole cells only, or are doubled in such."""
    apart = re.escape(delimiter.encode()) + rb"\r\n"
    quoted = rb"(?:\A|(?<=[" + apart + rb']))"(?:[^"]|"")*+"(?=[' + apart + rb"]|\Z)"
    return b'"' not in re.sub(quoted, b"", rows)
