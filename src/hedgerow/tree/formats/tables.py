"""Tables: rows of CSV text; pandas, polars or Arrow tables, records (dicts) and plain rows in memory."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hedgerow.errors import FileError, ParameterError, some
from hedgerow.files import refuse_sep_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hedgerow.tree.formats.problems import Origin


_MUST_QUOTE = re.compile(r'[",\t\r\n]')


def numbered_rows(
    text: str, delimiter: str, origin: Origin, *, skip: Callable[[Sequence[str]], bool] | None = None
) -> Iterator[tuple[int, list[str]]]:
    """Yield the line on which each row of a table starts, and its cells; `skip` decides on the first row."""
    refuse_sep_line(text, str(origin.name))
    # In strict mode, a quote that is never closed is an error; otherwise it would swallow the rest of the file.
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    line = 1
    first = True
    try:
        for row in reader:
            if row and not (first and skip is not None and skip(row)):
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


def quoted(cell: str) -> str:
    """Return a cell as it is written to a table."""
    # The csv module leaves some carriage returns unquoted; they would be lost on reading.
    return '"' + cell.replace('"', '""') + '"' if _MUST_QUOTE.search(cell) else cell


@dataclass(frozen=True)
class Table:
    """Rows, with the names of their columns if they have any."""

    columns: list[str] | None
    rows: list[Sequence[Any]]


def as_table(source: Any) -> Table:
    """Convert any kind of table; this imports no library that the user has not imported.

    Columns that are numbered rather than named count as having no names.

    >>> as_table([{"parent": "bird", "child": "robin"}, {"parent": "bird", "child": "wren"}])
    Table(columns=['parent', 'child'], rows=[['bird', 'robin'], ['bird', 'wren']])
    >>> as_table([("bird", "robin")])
    Table(columns=None, rows=[('bird', 'robin')])
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
    return Table(None, rows)


def _frame(columns: Iterable[Any], rows: Iterable[Sequence[Any]]) -> Table:
    names = list(columns)
    return Table(names if all(isinstance(name, str) for name in names) else None, list(rows))


def _plain(row: Any) -> Any:
    """Return a row as a sequence; a record is returned as it is."""
    if isinstance(row, Mapping | tuple | list):
        return row
    if isinstance(row, str) or not isinstance(row, Iterable):
        return (row,)
    return row.tolist() if hasattr(row, "tolist") else tuple(row)


def _records(records: list[Any]) -> Table:
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
    return Table(columns, [[record.get(column) for column in columns] for record in records])


def is_missing(value: Any) -> bool:
    """Return whether a cell of a data frame is a missing value: None, NaN, NaT or pandas' NA.

    >>> is_missing(None), is_missing(float("nan")), is_missing("NA")
    (True, True, False)
    """
    # NaN and NaT differ from themselves; NA raises an error when compared.
    return value is None or type(value).__name__ == "NAType" or bool(value != value)
