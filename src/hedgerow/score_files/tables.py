"""Score files that are tables: CSV and Parquet, read in batches with Arrow."""

from __future__ import annotations

import csv
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.errors import FileError, ScoreError, some
from hedgerow.files import read_header, require_file
from hedgerow.score_files.source import PER_EXAMPLE, RawBlock, Source, row_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

_CSV_BLOCK = 1 << 24  # bytes of text at a time; more for wide tables, as one row must fit
_PARQUET_BUFFER = 1 << 16  # bytes to read at a time of each column


@contextmanager
def _arrow_errors(path: str, what: str) -> Iterator[None]:
    """Say in our words what Arrow could not read."""
    try:
        import pyarrow as pa
    except ModuleNotFoundError:
        raise FileError(f"{path}: reading {what} needs pyarrow. Install it, or use an .npz file.") from None
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise FileError(f"{path} cannot be read as {what}: {str(error).rstrip('.')}.") from error


class _Table(Source):
    """Columns of a table told apart: about the example, or scores of a class."""

    content = "probabilities"

    def __init__(self, path: str, columns: Sequence[str]) -> None:
        self.path = path
        key_of = {column: key for key, column in PER_EXAMPLE.items()}
        self.classes = [name for name in columns if name not in key_of]
        self.has = frozenset(key_of[name] for name in columns if name in key_of)
        self._columns = list(columns)
        self.missing_labels = f"It has no column 'label'. Its columns: {some(columns)}."
        repeated = sorted({name for name in self.has if columns.count(PER_EXAMPLE[name]) > 1})
        if repeated:
            raise FileError(f"{path} has two columns {PER_EXAMPLE[repeated[0]]!r}. Remove one.")

    @property
    def row_bytes(self) -> int:
        """Memory that one row takes, roughly."""
        return 8 * len(self._columns)

    def _blocks(self, batches: Iterator[Any], rows: int, keys: frozenset[str]) -> Iterator[RawBlock]:
        start = 0
        for batch in batches:
            for first in range(0, batch.num_rows, rows):
                part = batch.slice(first, rows)
                texts = {key: self._texts(part, PER_EXAMPLE[key], start) for key in sorted(keys)}
                yield RawBlock(start, self._scores(part), texts)
                start += part.num_rows

    def _scores(self, part: Any) -> NDArray[Any]:
        """Put the class columns side by side; an empty cell becomes NaN."""
        # By position: a repeated name is an error that is raised when names are bound to the tree.
        places = [i for i, name in enumerate(self._columns) if name not in PER_EXAMPLE.values()]
        scores = np.empty((len(places), part.num_rows), dtype=self._dtype())
        for row, place in enumerate(places):
            scores[row] = part.column(place).to_numpy(zero_copy_only=False)
        return np.ascontiguousarray(scores.T)

    def _dtype(self) -> Any:
        return np.float64

    def _texts(self, part: Any, column: str, start: int) -> list[str]:
        import pyarrow as pa

        values = part.column(self._columns.index(column))
        integer = pa.types.is_integer(values.type)
        if column == "label" and (integer or pa.types.is_floating(values.type)):
            raise ScoreError(
                f"{self.path}: the column 'label' must hold names of nodes, not {values.type}. If they are "
                f"numbers of classes, write their names: an order is never guessed."
            )
        if column == "label" and values.null_count:
            row = start + values.is_null().to_pylist().index(True)
            raise ScoreError(f"{self.path}: {row_name(row)} has no label.")
        return ["" if value is None else str(value) for value in values.to_pylist()]


@final
class CsvSource(_Table):
    """The rows of a CSV or TSV score file."""

    def __init__(self, path: str) -> None:
        columns = read_header(path)
        if not columns:
            raise FileError(f"{path} is empty; a score table needs a header with the names of its columns.")
        super().__init__(path, columns)
        self.rows = None
        self.dtype = np.dtype(np.float64)
        self._delimiter = "\t" if path.lower().endswith(".tsv") else ","

    def read(self, rows: int, keys: frozenset[str]) -> Iterator[RawBlock]:
        """Yield the file in blocks of at most so many rows, with the per-example columns asked for."""
        with _arrow_errors(self.path, "CSV"):
            yield from self._blocks(self._batches(), rows, keys)

    def _batches(self) -> Iterator[Any]:
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        # By number, so that names may repeat or be empty until the error about that has been raised.
        numbers = [str(i) for i in range(len(self._columns))]
        block = max(_CSV_BLOCK, 4 * sum(max(len(name), 16) for name in self._columns))  # names, or numbers
        text = PER_EXAMPLE.values()
        types = {
            number: pa.string() if name in text else pa.float64()
            for number, name in zip(numbers, self._columns, strict=True)
        }
        try:
            yield from arrow_csv.open_csv(
                self.path,
                read_options=arrow_csv.ReadOptions(
                    column_names=numbers, skip_rows_after_names=1, block_size=block
                ),
                parse_options=arrow_csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=types, null_values=[""], strings_can_be_null=False
                ),
            )
        except pa.ArrowException as error:
            self._explain()
            if "straddling" in str(error):  # Arrow's word for a row that does not fit
                raise FileError(
                    f"{self.path} has a row of more than {block:,} bytes. Use an .npz or a Parquet file for it."
                ) from None
            raise

    def _explain(self) -> None:
        """Find the first row that is at fault, slowly, and say what is wrong with it."""
        text = [name in PER_EXAMPLE.values() for name in self._columns]
        try:
            with Path(self.path).open(encoding="utf-8-sig", newline="") as file:
                lines = csv.reader(file, delimiter=self._delimiter)
                next(lines)
                for row, cells in enumerate(filter(None, lines)):
                    if len(cells) != len(text):
                        raise FileError(
                            f"{self.path}: {row_name(row)} has {len(cells):,} cells; the header has {len(text):,}."
                        )
                    for name, cell, is_text in zip(self._columns, cells, text, strict=True):
                        if not is_text and cell and not _is_number(cell):
                            raise ScoreError(
                                f"{self.path}: {row_name(row)} has {cell!r} for {name!r}, which is not a number."
                            )
        except (UnicodeDecodeError, csv.Error) as error:
            raise FileError(f"{self.path} cannot be read as CSV in UTF-8: {error}.") from None


@final
class ParquetSource(_Table):
    """The rows of a Parquet score file."""

    def __init__(self, path: str) -> None:
        require_file(path)
        with _arrow_errors(path, "Parquet"):
            from pyarrow import parquet

            with parquet.ParquetFile(path) as file:
                schema = file.schema_arrow
                self.rows = int(file.metadata.num_rows)
        super().__init__(path, [str(name) for name in schema.names])
        self.dtype = self._common_type(schema)

    def read(self, rows: int, keys: frozenset[str]) -> Iterator[RawBlock]:
        """Yield the file in blocks of at most so many rows, with the per-example columns asked for."""
        with _arrow_errors(self.path, "Parquet"):
            from pyarrow import parquet

            # Arrow would keep all that it has read: of the file without row groups, of a group without a buffer.
            with parquet.ParquetFile(self.path, pre_buffer=False, buffer_size=_PARQUET_BUFFER) as file:
                groups = range(file.num_row_groups)
                batches = (batch for group in groups for batch in file.iter_batches(rows, row_groups=[group]))
                yield from self._blocks(batches, rows, keys)

    def _dtype(self) -> Any:
        return np.float32 if self.dtype in (np.float16, np.float32) else np.float64

    def _common_type(self, schema: Any) -> np.dtype[Any]:
        import pyarrow as pa

        kinds = {pa.float16(): np.float16, pa.float32(): np.float32}
        found: set[Any] = set()
        for name, kind in zip(self._columns, schema.types, strict=True):
            if name in PER_EXAMPLE.values():
                continue
            if not (pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
                raise ScoreError(f"{self.path}: the column {name!r} holds {kind}; scores must be numbers.")
            found.add(kinds.get(kind, np.float64))
        return np.result_type(*found) if found else np.dtype(np.float64)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
