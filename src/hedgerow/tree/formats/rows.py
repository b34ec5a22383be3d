"""The rows of tables, and the lines of lists, in files or in memory."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hedgerow.errors import ParameterError, some
from hedgerow.files import csv_rows, delimiter_of, find_delimiter, is_path, read_lines, read_text
from hedgerow.tree.validation import Origin, Problem

if TYPE_CHECKING:
    from os import PathLike

_MUST_QUOTE = re.compile(r'[",\t\r\n]')
_SCORE = re.compile(r"\s*([01]|\d*[.,]\d+([eE][-+]?\d+)?)\s*")
EXCHANGED = (
    "Were the two exchanged? In the command, the scores come first, and the tree after --tree; "
    "doctor takes the tree first, and the scores after --scores."
)


def scores_instead(origin: Origin, row: Sequence[Any]) -> Problem | None:
    """Return the problem that a file holds scores, if a row of it does, however its columns are separated."""
    text = ",".join(map(str, row))
    cells = next((text.split(sign) for sign in ";\t" if sign in text), row)
    if origin.name is None or sum(_SCORE.fullmatch(str(cell)) is not None for cell in cells) < 2:
        return None
    return Problem(
        "format",
        f"{origin.subject} looks like a table of scores, not like a tree: it holds numbers.",
        EXCHANGED,
    )


def open_lines(
    source: str | PathLike[str] | Iterable[str],
    unit: str,
    format: str | None = None,  # noqa: A002
) -> tuple[Origin, list[tuple[int, str]]]:
    """Return the lines of a text file, or strings, that are not blank, each with its number.

    Parameters
    ----------
    source
        A file, or strings.
    unit
        What to call a string in messages, such as "path".
    format
        The format of a file, unless its extension determines it.
    """
    if is_path(source):
        origin, lines = Origin(os.fspath(source), format=format), read_lines(source)
    else:
        origin, lines = Origin(None, unit), list(map(str, source))  # type: ignore[arg-type]
    return origin, [(number, line) for number, line in enumerate(lines, 1) if line.strip()]


@dataclass(frozen=True)
class Rows:
    """The rows of a table, each with its first line or its number; blank lines are skipped."""

    origin: Origin
    columns: list[str] | None
    """Names of the columns of data in memory; None for files, whose first row may or may not be a header."""
    _open: Callable[[], Iterable[tuple[int, Sequence[Any]]]]

    def __iter__(self) -> Iterator[tuple[int, Sequence[Any]]]:
        return iter(self._open())


def open_rows(
    source: Any,
    unit: str,
    format: str | None = None,  # noqa: A002
    *,
    is_header: Callable[[Sequence[str]], bool] = lambda _: False,
    any_delimiter: bool = False,
) -> Rows:
    """Return the rows of a CSV or TSV file (TSV by its extension), of a data frame, of records or of plain rows.

    Parameters
    ----------
    source
        The file or the data.
    unit
        What to call a row of data in memory in messages, such as "pair".
    format
        The format of a file, unless its extension determines it.
    is_header
        Whether the first row of a file is to be skipped.
    any_delimiter
        Whether the columns of a file may be separated by something else than its extension says.
    """
    if not is_path(source):
        columns, rows = as_table(source)
        return Rows(Origin(None, unit), columns, lambda: enumerate(rows, 1))
    path, text = os.fspath(source), read_text(source)
    header = re.split("[\r\n]", text, maxsplit=1)[0]
    delimiter = find_delimiter(header, path) if any_delimiter else delimiter_of(path)

    def below_header() -> Iterator[tuple[int, Sequence[Any]]]:
        for number, (line, row) in enumerate(csv_rows(path, delimiter, text=text)):
            if number or not is_header(row):
                yield line, row

    return Rows(Origin(path, format=format), None, below_header)


# Writing, and data in memory -------------------------------------------------------------------------------


def quoted(cell: str) -> str:
    """Quote a cell of a table, if needed."""
    # The csv module leaves some carriage returns unquoted; they would be lost on reading.
    return '"' + cell.replace('"', '""') + '"' if _MUST_QUOTE.search(cell) else cell


_Table = tuple[list[str] | None, list[Any]]


def as_table(source: Any) -> _Table:
    """Return the names of the columns, if they have any, and the rows of any kind of table in memory.

    No library is imported. Numbered columns have no names.

    >>> as_table([{"parent": "bird", "child": "robin"}, {"parent": "bird", "child": "wren"}])
    (['parent', 'child'], [['bird', 'robin'], ['bird', 'wren']])
    >>> as_table([("bird", "robin")])
    (None, [('bird', 'robin')])
    """
    if hasattr(source, "itertuples"):  # pandas
        return _frame(source.columns, source.itertuples(index=False, name=None))
    if hasattr(source, "iter_rows"):  # polars
        return _frame(source.columns, source.iter_rows())
    if hasattr(source, "column_names"):  # Arrow
        return _frame(source.column_names, zip(*(column.to_pylist() for column in source.columns), strict=True))
    if isinstance(source, Mapping) or not isinstance(source, Iterable):
        raise ParameterError(
            f"Give the data as rows, records or a data frame, not as a single {type(source).__name__}. For nested "
            f"dicts, use Hierarchy.from_json; for a dict of columns, make a pandas.DataFrame first."
        )
    rows = [_plain(row) for row in source]
    if rows and all(isinstance(row, Mapping) for row in rows):
        return _records(rows)
    return None, rows


def _frame(columns: Iterable[Any], rows: Iterable[Sequence[Any]]) -> _Table:
    names = list(columns)
    return names if all(isinstance(name, str) for name in names) else None, list(rows)


def _plain(row: Any) -> Any:
    """Return a row as a sequence; a record is returned as it is."""
    if isinstance(row, Mapping | tuple | list):
        return row
    if isinstance(row, str) or not isinstance(row, Iterable):
        return (row,)
    return row.tolist() if hasattr(row, "tolist") else tuple(row)


def _records(records: list[Any]) -> _Table:
    columns = list(records[0])
    if not all(isinstance(column, str) for column in columns):
        raise ParameterError(f"The keys of records must be column names, as strings; got {columns!r}.")
    for number, record in enumerate(records, 1):
        new = [str(key) for key in record if key not in columns]
        if new:
            raise ParameterError(
                f"Record {number} has {some(new)}, which the first record lacks. The first record must have all "
                f"columns, in order; use None if a value is missing."
            )
    return columns, [[record.get(column) for column in columns] for record in records]


def is_missing(value: Any) -> bool:
    """Return whether a cell of a data frame is a missing value: None, NaN, NaT or pandas' NA.

    >>> is_missing(None), is_missing(float("nan")), is_missing("NA")
    (True, True, False)
    """
    # NaN and NaT differ from themselves; NA raises an error when compared.
    return value is None or type(value).__name__ == "NAType" or bool(value != value)
