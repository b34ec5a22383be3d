"""Tables and lists: rows of CSV text or of data in memory, columns read by Arrow, lines."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import FileError, HedgerowError, ParameterError, counted, some
from hedgerow.files import (
    csv_options,
    decode,
    delimiter_of,
    is_path,
    open_binary,
    read_bytes,
    read_lines,
    refuse_sep_line,
)
from hedgerow.tree.validation import Origin, Problem, refuse_empty

if TYPE_CHECKING:
    from os import PathLike

    from numpy.typing import NDArray

    from hedgerow.tree.layout import Indices

_MUST_QUOTE = re.compile(r'[",\t\r\n]')
_SCORE = re.compile(r"\s*([01]|\d*[.,]\d+([eE][-+]?\d+)?)\s*")
EXCHANGED = (
    "Were the two exchanged? In the command, the scores come first, and the tree after --tree; "
    "doctor takes the tree first, and the scores after --scores."
)
_DIGITS = 18  # of a number that Arrow reads as int64


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
    data: bytes | None = None,
    delimiter: str | None = None,
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
    data
        The content of the file, if it has been read.
    delimiter
        What separates the columns of a file, if not what its extension says.
    """
    if is_path(source):
        path = os.fspath(source)
        origin = Origin(path, format=format)
        text = decode(read_bytes(path) if data is None else data, path)
        return Rows(origin, None, lambda: _csv_rows(text, delimiter or delimiter_of(path), origin, is_header))
    columns, rows = as_table(source)
    return Rows(Origin(None, unit), columns, lambda: enumerate(rows, 1))


def _csv_rows(
    text: str, delimiter: str, origin: Origin, is_header: Callable[[Sequence[str]], bool]
) -> Iterator[tuple[int, list[str]]]:
    refuse_sep_line(text, origin.subject)
    # In strict mode, a quote that is never closed is an error; otherwise it would swallow the rest of the file.
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    line, first = 1, True
    try:
        for row in reader:
            if row and not (first and is_header(row)):
                yield line, row
            first = first and not row
            line = reader.line_num + 1
    except csv.Error as error:
        remedy = (
            f"Names can have at most {csv.field_size_limit():,} characters."
            if "field limit" in str(error)
            else 'If a name contains quotes, double them and put the name in quotes: "the ""red"" fox".'
        )
        raise FileError(f"{origin.at(line)} cannot be read as a table: {error}. {remedy}") from None


# Columns, read by Arrow ------------------------------------------------------------------------------------


def arrow() -> Any:
    """Return pyarrow, with its CSV reader and its functions."""
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.csv
    except ImportError:
        raise ImportError("This tree format needs pyarrow, which is not installed: pip install pyarrow") from None
    return pyarrow


def read_columns(
    file: Any,
    shown: str,
    width: int,
    types: dict[int, Any],
    delimiter: str,
    *,
    quote: bool = False,
    skip: int = 0,
    explain: Callable[[], str | None] = lambda: None,
) -> list[Any]:
    """Read some columns of a large table at once, faster than the csv module.

    Parameters
    ----------
    file
        The open file, or its content as an Arrow buffer.
    shown
        Its name.
    width
        The number of columns.
    types
        The Arrow type of each column that is wanted, by its position.
    delimiter, quote
        What separates columns, and whether cells may be in quotes.
    skip
        The number of lines to skip.
    explain
        Called if Arrow cannot read the file; returns what is wrong, and where.
    """
    pa = arrow()
    try:
        table = pa.csv.read_csv(file, *csv_options(width, types, delimiter, skip=skip, quote=quote))
    except HedgerowError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise FileError(explain() or f"{shown} cannot be read as a table: {why[:200]!r}.") from None
    columns = [column.combine_chunks() for column in table.columns]
    if any(column.null_count for column in columns):
        raise FileError(explain() or f"{shown} has an empty cell where a number should be.")
    return columns


def first_flaw(
    origin: Origin, delimiter: str, width: int, *, header: int = 0, numbers: Sequence[int] = ()
) -> str | None:
    """Describe the first line of a large table that is cut off, not UTF-8 or has text in place of a number.

    Parameters
    ----------
    origin
        The file; an error is raised if it has no rows.
    delimiter, width
        What separates its columns, and how many there are.
    header
        The number of lines before the first row.
    numbers
        The positions of columns that hold whole numbers.
    """
    shown, rows = origin.subject, -header
    with open_binary(shown) as file:
        for line, content in enumerate(file, 1):
            cells = content.rstrip(b"\r\n").split(delimiter.encode())
            if not content.strip():
                continue
            rows += 1
            if len(cells) != width and (delimiter != "," or b'"' not in content):
                return (
                    f"{shown}, line {line} has {counted(len(cells), 'column', 'columns')}, but line 1 has "
                    f"{width}. Is the file cut off? Get it again, or correct this line."
                )
            for column in numbers:
                if not cells[column].strip().isdigit() or len(cells[column]) > _DIGITS:
                    cell = cells[column][:40].decode("utf-8", "replace")
                    return f"{shown}, line {line}: {cell!r} is not a whole number. Correct it."
            try:
                content.decode()
            except UnicodeDecodeError:
                return f"{shown}, line {line} is not UTF-8. Save the file as UTF-8."
    if rows < 1:
        refuse_empty(origin)
    return None


@dataclass(frozen=True)
class Ids:
    """The column of ids by which the rows of a large table refer to each other."""

    ids: Any
    origin: Origin
    header: int = 0
    """The number of lines before the first row."""

    def at(self, rows: Iterable[int]) -> str:
        """Describe the location of rows."""
        return self.origin.at(*(int(row) + self.header + 1 for row in rows))

    def rows(self, wanted: Any) -> Indices:
        """Return the rows of some ids; -1 for unknown ids."""
        found = arrow().compute.index_in(wanted, value_set=self.ids)
        return np.asarray(found.fill_null(-1), dtype=np.int64)

    def repeated(self) -> Iterator[Problem]:
        """Describe duplicate ids."""
        first = self.rows(self.ids)
        again = np.flatnonzero(first != np.arange(len(first))).tolist()
        if again:
            where = self.at([first[again[0]], again[0]])
            repeats = counted(len(again), "row repeats", "rows repeat")
            message = f"{repeats} an id, such as {self.ids[again[0]]} ({where})."
            yield Problem("duplicate id", message, "Keep one row per id.")

    def unknown(self, wanted: Any, which: NDArray[np.bool_], what: str) -> Iterator[Problem]:
        """Describe rows that refer to unknown ids."""
        rows = np.flatnonzero(which).tolist()
        if rows:
            listed = "; ".join(f"{self.ids[row]} has {wanted[row]} ({self.at([row])})" for row in rows[:5])
            yield Problem(
                "unknown id",
                f"{counted(len(rows), 'taxon has', 'taxa have')} {what} without a row of its own: {listed}.",
                "Is the file cut off, or cut down? Get it again, add these rows, or clear the ids.",
            )


def texts(array: Any) -> list[str]:
    """Convert an Arrow array of text to a list; faster through NumPy than with Arrow."""
    listed: list[str] = array.to_numpy(zero_copy_only=False).tolist()
    return listed


def few_texts(array: Any) -> list[str]:
    """Convert an Arrow array of few distinct texts, such as ranks, to a list; equal texts are one object."""
    coded = array.dictionary_encode()
    distinct = np.array(coded.dictionary.to_pylist() or [""], dtype=object)
    listed: list[str] = distinct[coded.indices.to_numpy(zero_copy_only=False)].tolist()
    return listed


def names_with_ids(names: Any, ids: Sequence[Any] | NDArray[Any]) -> tuple[list[str], list[str], Indices]:
    """Turn shared names into "name [id]".

    Returns the names of all nodes; then the shared names, once for each of their nodes, and these nodes.
    """
    coded = names.dictionary_encode()
    code = coded.indices.to_numpy(zero_copy_only=False)
    listed = texts(names)
    nodes = np.flatnonzero(np.bincount(code)[code] > 1) if len(code) else np.zeros(0, dtype=np.int64)
    shared = [listed[node] for node in nodes.tolist()]
    for name, node in zip(shared, nodes.tolist(), strict=True):
        listed[node] = f"{name} [{ids[node]}]"
    return listed, shared, nodes


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
