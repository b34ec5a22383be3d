"""Which known format a file in none of them resembles most, and the first thing that differs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_SHOWN = 60  # characters of a line
_LEAST = 2  # columns that a table shares with another format, to be compared with it
_ALIKE = 0.6  # share of the fields of a line, likewise


def nearest_table(columns: Sequence[str], examples: Mapping[str, str]) -> str:
    """Compare the columns of a table with those of other formats, given by an example of each; '' if none is near.

    >>> nearest_table(["ASV_ID", "Kingdom", "Genus"], {"dada2": "ASV_ID,Kingdom,Genus,confidence"})
    " It is most like dada2, but has no column 'confidence'."
    """
    best, said = 0.0, ""
    for name, example in examples.items():
        wanted = example.split(",")
        missing = [column for column in wanted if column not in columns]
        like = 1 - len(missing) / len(wanted)
        if missing and like > best and len(wanted) - len(missing) >= _LEAST:
            best, said = like, f" It is most like {name}, but has no column {missing[0]!r}."
    return said


def nearest_lines(lines: Sequence[str], examples: Mapping[str, str], is_line: Callable[[str, str], bool]) -> str:
    r"""Compare lines with those of other formats, given by an example of each; '' if none is near.

    `is_line` says whether a format, given by name, certainly has such a line. If none has any, the fields of the
    first line are compared by their shape.

    >>> nearest_lines(["C q1 562", "C q2 no"], {"kraken2": "C q1 1"}, lambda name, line: line.endswith("2"))
    " It is most like kraken2, but not in the line 'C q2 no'."
    >>> nearest_lines(["q1\tBacteria(1.00)\t+"], {"sintax": "q1\td:Bacteria(1.00)\t+"}, lambda name, line: False)
    " It is most like sintax, but in the first line, 'Bacteria(1.00)' stands where 'd:Bacteria(1.00)' would."
    """
    best, said = _ALIKE, ""
    for name, example in examples.items():
        good = [is_line(name, line) for line in lines]
        if any(good) and not all(good):
            like = 1 + sum(good) / len(good)
            differs = f"not in the line {lines[good.index(False)][:_SHOWN]!r}"
        else:
            here, there = (re.split(r"\t|(?<=\")(?=:)", line) for line in (lines[0], example))
            pairs = list(zip(here, there, strict=False))
            other = [pair for pair in pairs if _shape(pair[0]) != _shape(pair[1])]
            like = (len(pairs) - len(other)) / len(pairs) if len(pairs) > 1 else 0.0
            differs = f"with {len(here)} fields in the first line, and not {len(there)}"
            if other:
                differs = f"in the first line, {other[0][0][:_SHOWN]!r} stands where {other[0][1]!r} would"
        if like >= best:
            best, said = like, f" It is most like {name}, but {differs}."
    return said


def _shape(field: str) -> str:
    """Return the distinct parts of a list, with words and numbers replaced."""
    parts = re.sub(r"[^\W\d]+", "a", re.sub(r"[0-9.]+", "0", field)).split(",")
    return ",".join(dict.fromkeys(parts))
