"""Untrusted tables, CSV or Parquet: looked at once, read in batches with Arrow and within bounds.

If Arrow fails, a slow reader finds the first bad row and says what is wrong with it.
"""

from __future__ import annotations

import io
import os
from abc import ABC, abstractmethod
from contextlib import contextmanager, suppress
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.errors import FileError, HedgerowError, ScoreError, argument, closest, counted, some
from hedgerow.files.archive import Archive
from hedgerow.files.text import (
    as_delimiter,
    csv_rows,
    delimiter_of,
    extension,
    find_delimiter,
    is_compressed,
    most_rows,
    open_binary,
    open_text,
    read_text,
    reading,
    require_file,
    require_unpacked,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from _typeshed import WriteableBuffer
    from numpy.typing import NDArray

TABLES = (".csv", ".tsv", ".parquet")
"""Extensions of tables."""
_CHARACTERS = 1 << 14  # of a file that is looked at
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
_CSV_BLOCK = 1 << 24  # bytes of text at a time; more for wide tables, as one row must fit
_QUOTE = b'"'
_DIGITS = 18  # of a whole number, at most
_PARQUET_BUFFER = 1 << 16  # bytes to read at a time of each column
_MOST_DECODED = 1 << 31  # bytes of texts that a Parquet file holds once and rows repeat
_WHOLE = (1 << 24, 12)  # values of a Parquet file read as a whole: a fixed limit, plus this many per byte

Batch = tuple[int, dict[int, Any]]
"""A number of rows, and Arrow arrays by the position of their column."""


@final
class InputFile:
    """What is known of a file from its name, its first lines and its header, each found once, when needed.

    Parameters
    ----------
    path
        The file.
    delimiter
        What separates the columns of a table, if not what its extension says.
    decimal
        The decimal point of its numbers.
    any_delimiter
        Whether a usual delimiter in the header counts if the given one is not there.
    row_groups
        Of a Parquet file, read only these.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        delimiter: str | None = None,
        decimal: str = ".",
        *,
        any_delimiter: bool = False,
        row_groups: range | None = None,
    ) -> None:
        self.path = os.fspath(path)
        self.suffix = extension(path)
        """The extension, in lower case."""
        self.decimal = decimal
        self._delimiter = delimiter
        self._any_delimiter = any_delimiter
        self._row_groups = row_groups

    @cached_property
    def start(self) -> str:
        """The first characters of a text file, and of a table at least two lines; "" if they are not UTF-8."""
        if self.suffix in (".npz", ".parquet"):
            return ""
        require_file(self.path)
        with suppress(UnicodeDecodeError), open_text(self.path, newline="") as file:
            start = file.read(_CHARACTERS)
            return start + file.readline() + file.readline() if self.suffix in TABLES else start
        return ""

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The first lines that are not blank, as far as they are known whole."""
        start = self.start[:_CHARACTERS]
        lines = start.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        whole = lines[:-1] if len(start) == _CHARACTERS and len(lines) > 1 else lines
        return tuple(filter(None, whole))

    @cached_property
    def delimiter(self) -> str:
        """What separates the columns."""
        if self._any_delimiter:
            return find_delimiter(self.lines[0] if self.lines else "", self.path, self._delimiter)
        usual = delimiter_of(self.path) if self.suffix in TABLES else "\t"
        return usual if self._delimiter is None else as_delimiter(self._delimiter)

    @cached_property
    def table(self) -> Table:
        """The file as a table, by its extension; with any other extension, it is text."""
        return ParquetTable(self.path, self._row_groups) if self.suffix == ".parquet" else CsvTable(self)

    @cached_property
    def columns(self) -> list[str]:
        """The names of a table's columns or an archive's members; [] if there are none, or they cannot be read."""
        with suppress(HedgerowError):  # reading the file raises it again
            if self.suffix in TABLES:
                return self.table.columns
            if self.suffix == ".npz":
                with Archive(self.path) as archive:
                    return archive.arrays
        return []


def row_name(path: str, row: int) -> str:
    """Name a row of a file in an error, so that it can be found again: in a text file, by its line."""
    if extension(path) not in (".npz", ".parquet"):
        with suppress(HedgerowError, OSError, UnicodeDecodeError, StopIteration):
            rows = csv_rows(path, InputFile(path, any_delimiter=True).delimiter, strict=False)
            return f"line {next(islice(rows, row + 1, None))[0]:,}"
    return f"row {row:,} (counted from 0)"


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
        """Yield some columns, at most `rows` rows at a time: `text` as text, `numbers` as numbers, by position."""

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
    """A CSV or TSV file.

    Parameters
    ----------
    file
        The file.
    header
        Whether its first line names the columns.
    quote
        Whether cells may be in quotes.
    """

    rows = None

    def __init__(self, file: InputFile, *, header: bool = True, quote: bool = True) -> None:
        self.path = file.path
        self._delimiter, self._decimal = file.delimiter, file.decimal
        self._header, self._quote = header, quote
        if not file.start:
            read_text(file.path)  # raises an error if it is not UTF-8
        columns = self._first_row(file.start)
        if any("\n" in name for name in columns):
            columns = self._first_row(None)  # perhaps the line is longer, or a quotation mark is not closed
        if not columns:
            raise FileError(
                f"{self.path} is empty, or its first line is; a table begins with the names of its columns."
            )
        if header:
            self._refuse_other_delimiter(file.start)
        self.columns = columns if header else [""] * len(columns)

    def _first_row(self, text: str | None) -> list[str]:
        """Return the cells of the first line, of the whole file or of the beginning that is given."""
        rows = csv_rows(self.path, self._delimiter, text=text, quote=self._quote, strict=text is None)
        line, cells = next(rows, (0, []))
        return cells if line == 1 else []

    def _refuse_other_delimiter(self, text: str) -> None:
        """Raise an error if the first lines are separated by something else."""

        def width(delimiter: str) -> int:
            with suppress(FileError):
                rows = islice(csv_rows(self.path, delimiter, text=text, strict=False), 2)
                widths = {len(cells) for _, cells in rows}
                return widths.pop() if len(widths) == 1 else 0
            return 0

        for sign, called in _SEPARATORS.items() if width(self._delimiter) < 2 else ():
            if width(sign) >= 2:
                value = "tab" if sign == "\t" else sign
                raise FileError(
                    f"{self.path} has its columns separated by {called}: use {argument('delimiter', value)}."
                )

    def number_type(self, places: Sequence[int]) -> np.dtype[Any]:  # noqa: ARG002
        """Return the type of all numbers in a CSV file."""
        return np.dtype(np.float64)

    def batches(self, rows: int, text: Sequence[int], numbers: Sequence[int]) -> Iterator[Batch]:
        """Yield some columns in batches, by position: `text` as text, `numbers` as numbers."""
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        types = dict.fromkeys(text, pa.string()) | dict.fromkeys(numbers, pa.float64())
        with self._opened(types) as file:
            for block in arrow_csv.open_csv(file, *self._options(types)):
                for first in range(0, block.num_rows, rows):
                    batch = block.slice(first, rows)
                    yield batch.num_rows, dict(zip(types, batch.columns, strict=True))

    def whole(self, types: Mapping[int, Any]) -> dict[int, Any]:
        """Return all of some columns as Arrow arrays, given their types by position; no number may be missing."""
        from pyarrow import csv as arrow_csv

        with self._opened(types) as file:
            columns = arrow_csv.read_csv(file, *self._options(types)).columns
            if any(column.null_count for column in columns):
                self._explain(types)
            return {place: column.combine_chunks() for place, column in zip(types, columns, strict=True)}

    @contextmanager
    def _opened(self, types: Mapping[int, Any]) -> Iterator[Any]:
        """Open the file for Arrow, check its quotation marks, and explain errors."""
        import pyarrow as pa

        check = QuoteCheck(self.path, self._delimiter)
        # Arrow's threads outlive errors, and abort if they hold a Python file when Python ends.
        is_packed = is_compressed(self.path)
        with reading(self.path, "CSV"), open_binary(self.path) if is_packed else pa.OSFile(self.path) as file:
            if self._quote and not is_packed:
                for chunk in iter(lambda: file.read(_CSV_BLOCK), b""):
                    check.add(chunk)
                check.add(b"")
                file.seek(0)
            try:
                yield CheckedQuotes(file, check) if self._quote and is_packed else file
            except pa.ArrowException as error:
                if "straddling" in str(error):  # Arrow's word for a row that exceeds the block
                    raise FileError(
                        f"{self.path} has a row of more than {self._block:,} bytes. If a quotation mark is not "
                        f"closed, close it; for long rows, use an .npz or a Parquet file."
                    ) from None
                self._explain(types)
                raise

    @property
    def _block(self) -> int:
        """The bytes of text that Arrow reads at a time."""
        return max(_CSV_BLOCK, 4 * sum(max(len(name), 16) for name in self.columns))  # names, or numbers

    def _options(self, types: Mapping[int, Any]) -> tuple[Any, Any, Any]:
        """Return Arrow's options for reading, parsing and converting."""
        from pyarrow import csv as arrow_csv

        # Columns are called by number, since names may repeat or be empty.
        names, named = map(str, range(len(self.columns))), {str(place): kind for place, kind in types.items()}
        return (
            arrow_csv.ReadOptions(
                column_names=list(names), skip_rows_after_names=self._header, block_size=self._block
            ),
            arrow_csv.ParseOptions(
                delimiter=self._delimiter,
                quote_char='"' if self._quote else False,
                newlines_in_values=self._quote,
            ),
            arrow_csv.ConvertOptions(
                column_types=named,
                include_columns=list(named),
                null_values=list(self.blank),
                decimal_point=self._decimal,
            ),
        )

    def _explain(self, types: Mapping[int, Any]) -> None:
        """Find the first bad row, slowly, and say what is wrong with it."""
        rows = csv_rows(self.path, self._delimiter, quote=self._quote)
        kinds = {place: str(kind) for place, kind in types.items()}
        for line, cells in islice(rows, int(self._header), None):
            if len(cells) != len(self.columns):
                is_short = len(cells) < len(self.columns)
                remedy = "Is the file cut off? Get it again, or correct" if is_short else "Correct"
                raise FileError(
                    f"{self.path}, line {line:,} has {counted(len(cells), 'column', 'columns')}, but line 1 has "
                    f"{len(self.columns):,}. {remedy} this line."
                )
            for place, kind in kinds.items():
                cell = cells[place]
                if kind == "int64" and not (cell.strip().isdigit() and len(cell) <= _DIGITS):
                    raise FileError(
                        f"{self.path}, line {line:,} has {cell[:40]!r}, which is not a whole number. Correct it."
                    )
                if kind == "double" and cell not in self.blank and not self._is_number(cell):
                    raise self._no_number(f"{self.path}, line {line:,}", self.columns[place], cell)

    def _no_number(self, where: str, column: str, cell: str) -> ScoreError:
        """Return an error about a cell that is not a number."""
        remedy = ""
        if is_number(cell.replace(",", ".")):
            point = "," if "," in cell else "."
            remedy = f" If that is its decimal point, use {argument('decimal', point)}."
        elif is_number(cell.replace(",", "").replace(".", "")):
            remedy = " Write thousands without separators."
        if self._is_number(cell.rstrip("% ")):
            remedy = f" Remove the % and use {argument('renormalise', True)}."
        return ScoreError(f"{where} has {cell!r} for {column!r}, which is not a number.{remedy}")

    def _is_number(self, cell: str) -> bool:
        plain = self._decimal == "." or "." not in cell
        return plain and is_number(cell.replace(self._decimal, "."))


def is_number(cell: str) -> bool:
    """Return whether a text is a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


@final
class QuoteCheck:
    """Raises an error if a quotation mark in a CSV file is not closed, with the line where it opens.

    Marks come in pairs: the first at the start of a cell, the second at its end; a mark inside a quoted cell is
    doubled. If that does not hold, as with marks inside unquoted cells, Python's slow reader decides.
    """

    def __init__(self, path: str, delimiter: str) -> None:
        self._path = path
        self._delimiter = delimiter
        self._ends = np.frombuffer(f'{delimiter}\r\n"'.encode(), dtype=np.uint8)
        self._starts = np.append(self._ends, np.uint8(0xBF))  # the end of a byte order mark
        self._marks = 0
        self._held = b"\n"
        """The last two bytes, of which the second has not been looked at."""
        self._is_decided = False

    def add(self, chunk: bytes) -> None:
        """Check the next bytes of the file; none at its end."""
        data = self._held + (chunk or b"\n")
        self._held = data[-2:]
        if self._is_decided:
            return
        sound = _QUOTE not in data or self._in_pairs(np.frombuffer(data, dtype=np.uint8))
        if not sound or (not chunk and self._marks % 2):
            self._is_decided = True
            for _ in csv_rows(self._path, self._delimiter):
                pass

    def _in_pairs(self, text: NDArray[np.uint8]) -> bool:
        """Count the marks in some text, but not its first and last byte; return whether they are around cells."""
        place = 1 + np.flatnonzero(text[1:-1] == _QUOTE[0])
        opens = (self._marks + np.arange(len(place))) % 2 == 0
        self._marks += len(place)
        before, after = text[place[opens] - 1], text[place[~opens] + 1]
        return bool(np.isin(before, self._starts).all() and np.isin(after, self._ends).all())


@final
class CheckedQuotes(io.RawIOBase):
    """A CSV file whose quotation marks are checked as it is read."""

    def __init__(self, file: IO[bytes], check: QuoteCheck) -> None:
        self._file = file
        self._check = check

    def readable(self) -> bool:
        """Return whether it can be read."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read and check the next bytes."""
        count: int = self._file.readinto(buffer)  # type: ignore[attr-defined]
        self._check.add(bytes(memoryview(buffer)[:count]))
        return count


@final
class ParquetTable(Table):
    """A Parquet file, or some consecutive row groups of it."""

    def __init__(self, path: str, row_groups: range | None = None) -> None:
        self.path = path
        require_file(path)
        require_unpacked(path)
        with reading(path, "Parquet"):
            from pyarrow import parquet

            self._about = parquet.read_metadata(path)
            self.schema = self._about.schema.to_arrow_schema()
            self._types = self.schema.types  # which makes a new list each time
            rows = [self._about.row_group(i).num_rows for i in range(self._about.num_row_groups)]
        self._check_size()
        self.columns = [str(name) for name in self.schema.names]
        self._groups = range(len(rows)) if row_groups is None else row_groups
        if self._groups and not 0 <= self._groups[0] <= self._groups[-1] < len(rows):
            raise FileError(f"{path} has {len(rows):,} row groups, not those from {row_groups}. Was it replaced?")
        self.first_row = sum(rows[: self._groups.start])
        self.rows = sum(rows[i] for i in self._groups)

    def _check_size(self, *, whole: bool = False) -> None:
        """Raise an error if there are too many rows for the size of the file; or values, if it will be read whole.

        A few bytes can encode any number of equal rows.
        """
        size, rows = Path(self.path).stat().st_size, self._about.num_rows
        with reading(self.path, "Parquet"):
            values = sum(
                self._about.row_group(group).column(column).num_values
                for group in range(self._about.num_row_groups)
                for column in range(self._about.num_columns)
            )
        if rows < 0 or rows > most_rows(size) or (whole and values > _WHOLE[0] + _WHOLE[1] * size):
            raise FileError(
                f"{self.path} has {rows:,} rows and {values:,} values, too many for a file of {size:,} bytes. If "
                f"it is what you want, write it in parts."
            )

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
        # Otherwise Arrow keeps all that it has read: the file without row groups, a group without a buffer.
        options = {"pre_buffer": False, "buffer_size": _PARQUET_BUFFER}
        with reading(self.path, "Parquet"), self._opened([self.columns[i] for i in text], **options) as file:
            for group in self._groups:
                for batch in file.iter_batches(rows, row_groups=[group], columns=selected):
                    names = batch.schema.names
                    where = range(len(names)) if selected is None else map(names.index, selected)
                    order = range(len(names)) if selected is None else places
                    yield batch.num_rows, dict(zip(order, map(batch.column, where), strict=True))

    def whole(self, columns: Sequence[str], texts: Collection[str]) -> Any:
        """Return some columns of all rows, by name, as an Arrow table; `texts` are text."""
        self._check_size(whole=True)
        with reading(self.path, "Parquet"), self._opened(texts) as file:
            return file.read(columns=list(columns))

    def _opened(self, texts: Collection[str], **options: Any) -> Any:
        """Open the file with Arrow; columns of text remain dictionary-encoded, see `column_texts`."""
        from pyarrow import parquet

        there = {self._about.schema.column(column).path for column in range(self._about.num_columns)}
        encoded = [name for name in texts if name in there]
        return parquet.ParquetFile(self.path, metadata=self._about, read_dictionary=encoded, **options)


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
