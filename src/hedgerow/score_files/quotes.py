"""Quotation marks in CSV files: one that is not closed would swallow the rows after it."""

from __future__ import annotations

import csv

import numpy as np

from hedgerow.errors import FileError
from hedgerow.files import open_binary, open_text

_QUOTE = ord('"')
_CHUNK = 1 << 24


def check_quotes(path: str, delimiter: str) -> None:
    """Raise an error if a quotation mark in a CSV file is not closed, with the line where it opens.

    Marks come in pairs: the first of a pair stands at the start of a cell, the second at its end; a mark inside a
    quoted cell is doubled. A file in which that holds is sound. Any other, such as one with marks within cells
    that are not quoted, goes to the slow reader of Python.
    """
    if _is_sound(path, delimiter):
        return
    line = 1
    try:
        with open_text(path, newline="") as file:
            rows = csv.reader(file, delimiter=delimiter, strict=True)
            for _ in rows:
                line = rows.line_num + 1
    except UnicodeDecodeError:
        return  # whoever reads the table says so
    except csv.Error:
        raise FileError(
            f"{path}: a quotation mark opens in line {line:,} and is not closed there, so that it would swallow "
            f"what follows. Close it; a mark inside a quoted cell is written twice."
        ) from None


def _is_sound(path: str, delimiter: str) -> bool:
    """Return whether the marks of a file come in pairs around cells."""
    edges = np.frombuffer(f'{delimiter}\r\n"'.encode(), dtype=np.uint8)
    starts = np.append(edges, np.uint8(0xBF))  # the end of a byte order mark
    seen, last = 0, b"\n"
    with open_binary(path) as file:
        chunk = file.read(_CHUNK)
        while chunk:
            following = file.read(_CHUNK)
            text = np.frombuffer(last + chunk + (following[:1] or b"\n"), dtype=np.uint8)
            place = 1 + np.flatnonzero(text[1:-1] == _QUOTE)
            opens = (seen + np.arange(len(place))) % 2 == 0
            before, after = text[place[opens] - 1], text[place[~opens] + 1]
            if not (np.isin(before, starts).all() and np.isin(after, edges).all()):
                return False
            seen, last, chunk = seen + len(place), chunk[-1:], following
    return seen % 2 == 0
