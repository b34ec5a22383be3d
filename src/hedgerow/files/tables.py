"""Untrusted tables, CSV or Parquet, read in batches with Arrow and within bounds.

If Arrow fails, a slow reader finds the first bad row and says what is wrong with it.
"""

from __future__ import annotations

import csv
import os
from abc import ABC, abstractmethod
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.errors import FileError, HedgerowError, ParameterError, ScoreError, argument, closest, some
from hedgerow.files.text import (
    delimiter_of,
    extension,
    is_compressed,
    most_rows,
    open_binary,
    open_text,
    read_header,
    read_text,
    reading,
    require_file,
    require_unpacked,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

_CSV_BLOCK = 1 << 24  # bytes of text at a time; more for wide tables, as one row must fit
_PARQUET_BUFFER = 1 << 16  # bytes to read at a time of each column
_MOST_DECODED = 1 << 31  # bytes of texts that a Parquet file holds once and rows repeat
_WHOLE = (1 << 24, 12)  # values of a Parquet file read as a whole: a fixed limit, plus this many per byte
_QUOTE = ord('"')

Batch = tuple[int, dict[int, Any]]
"""A number of rows, and Arrow arrays by the position of their column."""


def row_name(path: str, row: int) -> str:
    """Name a row of a file in an error, so that it can be found again: in a text file, by its line."""
    if extension(path) not in (".npz", ".parquet"):
        with suppress(HedgerowError, OSError, UnicodeDecodeError, csv.Error), open_text(path, newline="") as file:
            rows = csv.reader(file, delimiter=own_delimiter(path, None) or ",")
            line = 1
            for cells in rows:
                if cells and row < 0:
                    return f"line {line:,}"
                row -= bool(cells)
                line = rows.line_num + 1
    return f"row {row:,} (counted from 0)"


@contextmanager
def _arrow_errors(path: str, what: str) -> Iterator[None]:
    """Turn exceptions of Arrow into errors that name the file."""
    try:
        import pyarrow  # noqa: F401
    except ModuleNotFoundError:
        raise FileError(f"{path}: reading {what} needs pyarrow. Install it, or use an .npz file.") from None
    with reading(path, what):
        yield


class Table(ABC):
    """An open table: the names of its columns are known, its rows have not been read."""

    path: str
    columns: list[str]
    """Names of the columns; they may repeat."""
    rows: int | None
    """Number of rows, if the file states it."""
    first_row: int = 0
    """The number of the first row that is read."""
    blank: tuple[str, ...] = ("",)
    """What stands for a missing number in text."""

    @abstractmethod
    def batches(self, rows: int, text: Sequence[int], numbers: Sequence[int]) -> Iterator[Batch]:
        """Yield some columns in batches, by position: `text` as text, `numbers` as numbers.

        A batch of a Parquet file has at most `rows` rows; one of a CSV file may have more.
        """

    @abstractmethod
    def number_type(self, places: Sequence[int]) -> np.dtype[Any]:
        """Return the common type of columns, which must be numbers."""

    def column(self, name: str, what: str, option: str | None = None) -> int:
        """Return the position of a column, which must occur exactly once; `option` would name another one."""
        if self.columns.count(name) == 1:
            return self.columns.index(name)
        stripped = list(map(str.strip, self.columns))
        if name not in self.columns and stripped.count(name) == 1:
            return stripped.index(name)
        if name in self.columns:
            raise FileError(f"{self.path} has two columns {name!r}. Remove one.")
        named = "" if option is None else f" If another column holds them, use {argument(option, 'NAME')}."
        raise FileError(
            f"{self.path} has no column {name!r}, which holds {what}. Its columns: {some(self.columns)}."
            f"{closest([name], self.columns)}{named}"
        )

    def texts(self, places: Sequence[int]) -> dict[int, Any]:
        """Return all of some columns as Arrow arrays of text, by position; missing values become ''."""
        import pyarrow as pa

        found: dict[int, list[Any]] = {place: [] for place in places}
        encoded = 0  # bytes of texts that the file stores once, however often they occur
        for _, columns in self.batches(1 << 16, list(found), []):
            with reading(self.path, "a table"):
                for place, chunks in found.items():
                    encoded += _decoded_size(columns[place])
                    if encoded > _MOST_DECODED:
                        raise FileError(
                            f"{self.path}: in column {self.columns[place]!r}, a few long texts are repeated so "
                            f"often that they would take more than {_MOST_DECODED >> 30} GiB. Shorten them."
                        )
                    chunks.append(_as_text(columns[place]))
        return {
            place: pa.chunked_array(chunks, pa.large_string()).combine_chunks() for place, chunks in found.items()
        }


@final
class CsvTable(Table):
    """A CSV or TSV file with a header.

    Parameters
    ----------
    path
        The file.
    delimiter
        What separates the columns; by default a tab in `.tsv` files and a comma in others.
    decimal
        The decimal point of numbers.
    """

    rows = None

    def __init__(self, path: str, delimiter: str | None = None, decimal: str = ".") -> None:
        self.path = path
        self._decimal = decimal
        self._delimiter = delimiter_of(path) if delimiter is None else _checked(delimiter)
        self.columns = read_header(path, self._delimiter)
        if any("\n" in name for name in self.columns):
            check_quotes(path, self._delimiter)
        if not self.columns:
            raise FileError(
                f"{path} is empty, or its first line is; a table begins with the names of its columns."
            )

    def number_type(self, places: Sequence[int]) -> np.dtype[Any]:  # noqa: ARG002
        """Return the type of all numbers in a CSV file."""
        return np.dtype(np.float64)

    def batches(self, rows: int, text: Sequence[int], numbers: Sequence[int]) -> Iterator[Batch]:  # noqa: ARG002
        """Yield some columns in batches, by position: `text` as text, `numbers` as numbers."""
        check_quotes(self.path, self._delimiter)
        with _arrow_errors(self.path, "CSV"):
            for batch in self._arrow_batches(text, numbers):
                places = [*text, *numbers]
                yield batch.num_rows, {place: batch.column(i) for i, place in enumerate(places)}

    def _arrow_batches(self, text: Sequence[int], numbers: Sequence[int]) -> Iterator[Any]:
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        types = dict.fromkeys(text, pa.string()) | dict.fromkeys(numbers, pa.float64())
        block = max(_CSV_BLOCK, 4 * sum(max(len(name), 16) for name in self.columns))  # names, or numbers
        options = csv_options(
            len(self.columns),
            types,
            self._delimiter,
            skip=1,
            decimal=self._decimal,
            blank=self.blank,
            block_size=block,
        )
        try:
            # Arrow's threads outlive errors, and abort if they hold a Python file when Python ends.
            with open_binary(self.path) if is_compressed(self.path) else pa.OSFile(self.path) as file:
                yield from arrow_csv.open_csv(file, *options)
        except pa.ArrowException as error:
            if "straddling" in str(error):  # Arrow's word for a row that exceeds the block
                raise FileError(
                    f"{self.path} has a row of more than {block:,} bytes. If a quotation mark is not closed, "
                    f"close it; for long rows, use an .npz or a Parquet file."
                ) from None
            self._explain(set(numbers))
            raise

    def _explain(self, numbers: set[int]) -> None:
        """Find the first bad row, slowly, and say what is wrong with it."""
        try:
            with open_text(self.path, newline="") as file:
                lines = csv.reader(file, delimiter=self._delimiter)
                next(lines)
                for row, cells in enumerate(filter(None, lines)):
                    self._check_row(row, cells, numbers)
        except UnicodeDecodeError:
            read_text(self.path)  # raises an error that says where, and what to do
            raise
        except csv.Error as error:
            raise FileError(f"{self.path} cannot be read as CSV: {error}.") from None

    def _check_row(self, row: int, cells: list[str], numbers: set[int]) -> None:
        if len(cells) != len(self.columns):
            where = row_name(self.path, row)
            raise FileError(
                f"{self.path}: {where} has {len(cells):,} cells; the header has {len(self.columns):,}."
            )
        for place, (name, cell) in enumerate(zip(self.columns, cells, strict=True)):
            if place in numbers and cell not in self.blank and not self._is_number(cell):
                remedy = ""
                if is_number(cell.replace(",", ".")):
                    point = "," if "," in cell else "."
                    remedy = f" If that is its decimal point, use {argument('decimal', point)}."
                elif is_number(cell.replace(",", "").replace(".", "")):
                    remedy = " Write thousands without separators."
                if self._is_number(cell.rstrip("% ")):
                    remedy = f" Remove the % and use {argument('renormalise', True)}."
                where = row_name(self.path, row)
                raise ScoreError(f"{self.path}: {where} has {cell!r} for {name!r}, which is not a number.{remedy}")

    def _is_number(self, cell: str) -> bool:
        plain = self._decimal == "." or "." not in cell
        return plain and is_number(cell.replace(self._decimal, "."))


def csv_options(
    width: int,
    types: Mapping[int, Any],
    delimiter: str,
    *,
    skip: int,
    quote: bool = True,
    decimal: str = ".",
    blank: Sequence[str] = ("",),
    **more: Any,
) -> tuple[Any, Any, Any]:
    """Return Arrow's options for reading some columns of a CSV file: for reading, parsing and converting.

    Parameters
    ----------
    width
        The number of columns. They are called by number, since names may repeat or be empty.
    types
        The Arrow type of each column to read, by its position.
    delimiter, quote
        What separates the columns, and whether cells may be in quotes.
    skip
        The number of rows to skip.
    decimal
        The decimal point of numbers.
    blank
        What stands for a missing number.
    more
        Further options for reading.
    """
    from pyarrow import csv as arrow_csv

    named = {str(place): kind for place, kind in types.items()}
    return (
        arrow_csv.ReadOptions(column_names=list(map(str, range(width))), skip_rows_after_names=skip, **more),
        arrow_csv.ParseOptions(delimiter=delimiter, quote_char='"' if quote else False, newlines_in_values=quote),
        arrow_csv.ConvertOptions(
            column_types=named, include_columns=list(named), null_values=list(blank), decimal_point=decimal
        ),
    )


@final
class ParquetTable(Table):
    """A Parquet file, or some consecutive row groups of it."""

    def __init__(self, path: str, row_groups: range | None = None) -> None:
        self.path = path
        with _arrow_errors(path, "Parquet"), open_parquet(path) as file:
            self._types = file.schema_arrow.types
            self.columns = [str(name) for name in file.schema_arrow.names]
            rows = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
        self._groups = range(len(rows)) if row_groups is None else row_groups
        if self._groups and not 0 <= self._groups[0] <= self._groups[-1] < len(rows):
            raise FileError(f"{path} has {len(rows):,} row groups, not those from {row_groups}. Was it replaced?")
        self.first_row = sum(rows[: self._groups.start])
        self.rows = sum(rows[i] for i in self._groups)

    def number_type(self, places: Sequence[int]) -> np.dtype[Any]:
        """Return the common type of columns, which must be numbers."""
        import pyarrow as pa

        types = {pa.float16(): np.float16, pa.float32(): np.float32}
        for place in places:
            kind = self._types[place]
            if not (pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
                raise ScoreError(
                    f"{self.path}: the column {self.columns[place]!r} holds {kind}; scores must be numbers."
                )
        found = {types.get(self._types[place], np.float64) for place in places}
        return np.result_type(*found) if found else np.dtype(np.float64)

    def batches(self, rows: int, text: Sequence[int], numbers: Sequence[int]) -> Iterator[Batch]:
        """Yield some columns in batches, by position: `text` as text, `numbers` as numbers."""
        places = [*text, *numbers]
        # Arrow selects columns by name; if all are wanted, that is not needed, and names may repeat.
        selected = None if len(places) == len(self.columns) else [self.columns[place] for place in places]
        with _arrow_errors(self.path, "Parquet"):
            texts = [self.columns[place] for place in text]
            # Otherwise Arrow keeps all that it has read: the file without row groups, a group without a buffer.
            with open_parquet(self.path, texts=texts, pre_buffer=False, buffer_size=_PARQUET_BUFFER) as file:
                for group in self._groups:
                    for batch in file.iter_batches(rows, row_groups=[group], columns=selected):
                        names = batch.schema.names
                        where = range(len(names)) if selected is None else map(names.index, selected)
                        order = range(len(names)) if selected is None else places
                        yield batch.num_rows, dict(zip(order, map(batch.column, where), strict=True))


TABLES: dict[str, Callable[..., Table]] = {
    ".csv": CsvTable,
    ".tsv": CsvTable,
    ".parquet": lambda path, *_: ParquetTable(path),
}
"""Functions that open a table, given its path, delimiter and decimal point, by extension."""


def open_table(path: str, delimiter: str | None, decimal: str = ".") -> Table:
    """Open a table by its extension; with any other extension, its columns are separated by tabs."""
    suffix = extension(path)
    if suffix in TABLES:
        return TABLES[suffix](path, delimiter, decimal)
    return CsvTable(path, delimiter or "tab", decimal)


def _decoded_size(values: Any) -> int:
    """Return the size in bytes of dictionary-encoded texts once they are decoded."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not (pa.types.is_dictionary(values.type) and pa.types.is_string(values.type.value_type)):
        return 0
    return int(pc.sum(pc.binary_length(values.dictionary).cast(pa.int64()).take(values.indices)).as_py() or 0)


def _as_text(values: Any) -> Any:
    """Convert an Arrow array to text; its total length is not limited."""
    import pyarrow as pa

    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if not pa.types.is_string(values.type):
        return pa.array(column_texts(values), pa.large_string())
    values.validate(full=True)  # a Parquet file need not be in UTF-8
    return values.fill_null("").cast(pa.large_string())


def own_delimiter(path: str, given: str | None) -> str | None:
    """Return the delimiter found in the header of a table: that of labels may differ from that of scores."""
    require_file(path)
    if extension(path) == ".parquet":
        return None
    signs = [*([] if given is None else [_checked(given)]), delimiter_of(path), ",", ";", "\t"]
    with suppress(UnicodeDecodeError), open_text(path) as file:  # reading the table raises a better error
        header = file.readline()
        return next((sign for sign in signs if sign in header), given)
    return given


def _checked(delimiter: str) -> str:
    """Return a delimiter as one character."""
    if delimiter in ("tab", "\\t"):
        return "\t"
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
        raise ParameterError(f"delimiter must be one character, such as ';', or 'tab', not {delimiter!r}.")
    return delimiter


def is_number(cell: str) -> bool:
    """Return whether a text is a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


# Quotation marks in CSV files: an unclosed one would swallow the rows after it ----------------------


def check_quotes(path: str, delimiter: str) -> None:
    """Raise an error if a quotation mark in a CSV file is not closed, with the line where it opens.

    Marks come in pairs: the first at the start of a cell, the second at its end; a mark inside a quoted cell is
    doubled. If that does not hold, as with marks inside unquoted cells, Python's slow reader decides.
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
        return  # reading the table raises a better error
    except csv.Error:
        raise FileError(
            f"{path}: a quotation mark opens in line {line:,} and is not closed there, so that it would swallow "
            f"what follows. Close it; a mark inside a quoted cell is written twice."
        ) from None


def _is_sound(path: str, delimiter: str) -> bool:
    """Return whether the quotation marks of a file come in pairs around cells."""
    edges = np.frombuffer(f'{delimiter}\r\n"'.encode(), dtype=np.uint8)
    starts = np.append(edges, np.uint8(0xBF))  # the end of a byte order mark
    seen, last = 0, b"\n"
    with open_binary(path) as file:
        chunk = file.read(_CSV_BLOCK)
        while chunk:
            following = file.read(_CSV_BLOCK)
            text = np.frombuffer(last + chunk + (following[:1] or b"\n"), dtype=np.uint8)
            place = 1 + np.flatnonzero(text[1:-1] == _QUOTE)
            opens = (seen + np.arange(len(place))) % 2 == 0
            before, after = text[place[opens] - 1], text[place[~opens] + 1]
            if not (np.isin(before, starts).all() and np.isin(after, edges).all()):
                return False
            seen, last, chunk = seen + len(place), chunk[-1:], following
    return seen % 2 == 0


# Parquet files within bounds -----------------------------------------------------------------------------------


def open_parquet(
    path: str | os.PathLike[str], *, texts: Sequence[str] = (), whole: bool = False, **options: Any
) -> Any:
    """Open a Parquet file with Arrow.

    A few bytes can encode any number of equal rows, so the number of rows is checked against the file size first.

    Parameters
    ----------
    path
        The file.
    texts
        Columns of text, if present, to keep dictionary-encoded; see `column_texts`.
    whole
        Whether it will be read whole; the number of values is then checked as well.
    options
        Options of `pyarrow.parquet.ParquetFile`.
    """
    require_file(path)
    require_unpacked(path)
    size = Path(path).stat().st_size
    with reading(path, "Parquet"):
        from pyarrow import parquet

        about = parquet.read_metadata(path)
        rows = about.num_rows
        values = sum(
            about.row_group(group).column(column).num_values
            for group in range(about.num_row_groups)
            for column in range(about.num_columns)
        )
        there = {about.schema.column(column).path for column in range(about.num_columns)}
    if rows < 0 or rows > most_rows(size) or (whole and values > _WHOLE[0] + _WHOLE[1] * size):
        raise FileError(
            f"{os.fspath(path)} has {rows:,} rows and {values:,} values, too many for a file of {size:,} bytes. "
            f"If it is what you want, write it in parts."
        )
    with reading(path, "Parquet"):
        return parquet.ParquetFile(path, read_dictionary=[name for name in texts if name in there], **options)


def column_texts(values: Any) -> list[str]:
    """Return an Arrow array, or a column in chunks, as text (missing: ''); equal entries are one object."""
    chunks = values.chunks if hasattr(values, "chunks") else [values]
    texts: list[str] = []
    for chunk in chunks:
        if hasattr(chunk, "dictionary"):
            known = _plain(chunk.dictionary)
            texts += ["" if place is None else known[place] for place in chunk.indices.to_pylist()]
        else:
            texts += _plain(chunk)
    return texts


def _plain(values: Any) -> list[str]:
    import pyarrow as pa

    if pa.types.is_string(values.type):
        return list(values.fill_null("").to_pylist())
    return ["" if value is None else str(value) for value in values.to_pylist()]
