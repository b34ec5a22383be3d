"""Tables that list classes: which columns hold what, and the rows of one example put together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.errors import FileError, ScoreError, argument, closest, some
from hedgerow.files import extension
from hedgerow.score_files.reader import PER_EXAMPLE, row_name
from hedgerow.score_files.tables import TABLES, CsvTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hedgerow.score_files.score_tables import ColumnNames
    from hedgerow.score_files.tables import Table
    from hedgerow.tree import Indices


def open_table(path: str, delimiter: str | None) -> Table:
    """Open a table by its extension; with any other extension its columns are separated by tabs."""
    suffix = extension(path)
    return TABLES[suffix](path, delimiter) if suffix in TABLES else CsvTable(path, delimiter or "tab")


def column(table: Table, name: str, what: str, option: str | None = None) -> int:
    """Return the place of a column that must be there once."""
    if table.columns.count(name) == 1:
        return table.columns.index(name)
    if name in table.columns:
        raise FileError(f"{table.path} has two columns {name!r}. Remove one.")
    named = "" if option is None else f" If another column holds them, say {argument(option, 'NAME')}."
    raise FileError(
        f"{table.path} has no column {name!r}, which holds {what}. Its columns: {some(table.columns)}."
        f"{closest([name], table.columns)}{named}"
    )


def about_columns(table: Table, names: ColumnNames, ids: str = "id") -> dict[str, int]:
    """Return the places of the columns about the examples, by their key in `PER_EXAMPLE`; ids must be there."""
    usual = PER_EXAMPLE | {"ids": ids} | names.within(table.columns).given
    found = {key: column(table, name, key) for key, name in usual.items() if name in table.columns}
    if "ids" not in found:
        column(table, usual["ids"], "the ids", "id_column")
    return found


@final
class Rows:
    """Rows of a table, as Arrow arrays by what they hold."""

    def __init__(self, start: int, columns: Mapping[str, Any]) -> None:
        self.start = start
        """The number of the first row."""
        self.columns = columns

    def __len__(self) -> int:
        return len(self.columns["ids"])

    def texts(self, keys: Sequence[str], rows: Indices | None = None) -> dict[str, Any]:
        """Return columns about the examples, of some rows."""
        chosen = {key: self.columns[key] if rows is None else self.columns[key].take(rows) for key in keys}
        return {key: values.fill_null("") for key, values in chosen.items()}

    def numbers(self, name: str) -> Any:
        """Return a column of numbers; an empty cell is NaN."""
        return self.columns[name].to_numpy(zero_copy_only=False).astype(np.float64)


def table_rows(table: Table, text: Mapping[str, int], numbers: Mapping[str, int], rows: int) -> Iterator[Rows]:
    """Yield some columns of a table, at most so many rows at a time."""
    import pyarrow as pa

    table.number_type(list(numbers.values()))  # refuses what is not a number
    start = 0
    for count, columns in table.batches(rows, list(dict.fromkeys(text.values())), list(numbers.values())):
        for first in range(0, count, rows):
            part = {key: columns[place].slice(first, rows).cast(pa.string()) for key, place in text.items()}
            part |= {key: columns[place].slice(first, rows) for key, place in numbers.items()}
            yield Rows(start, part)
            start += min(rows, count - first)


def whole_examples(blocks: Iterator[Rows]) -> Iterator[tuple[Rows, Indices]]:
    """Yield blocks in which no example is divided, with the first row of each example."""
    import pyarrow as pa

    held: Rows | None = None
    for block in blocks:
        if held is not None:
            joined = {key: pa.concat_arrays([held.columns[key], block.columns[key]]) for key in block.columns}
            block = Rows(held.start, joined)
        first = _first_rows(block)
        last = int(first[-1]) if len(first) else 0
        if last:
            yield _part(block, 0, last), first[:-1]
        held = _part(block, last, len(block) - last)
    if held is not None and len(held):
        yield held, _first_rows(held)


def _part(rows: Rows, first: int, count: int) -> Rows:
    return Rows(rows.start + first, {key: values.slice(first, count) for key, values in rows.columns.items()})


def _first_rows(rows: Rows) -> Indices:
    import pyarrow.compute as pc

    ids = rows.columns["ids"].fill_null("")
    if not len(ids):
        return np.empty(0, dtype=np.int64)
    differs = pc.not_equal(ids[1:], ids[:-1]).to_numpy(zero_copy_only=False)
    return np.concatenate([[0], 1 + np.flatnonzero(differs)])


def check_one_label(path: str, rows: Rows, first: Indices) -> None:
    """Refuse rows of one example that have different labels."""
    import pyarrow.compute as pc

    labels = rows.texts(["labels"])["labels"]
    firsts = labels.take(np.repeat(first, np.diff(np.append(first, len(rows)))))
    row = pc.index(pc.not_equal(labels, firsts), True).as_py()
    if row >= 0:
        raise ScoreError(
            f"{path}: {row_name(rows.start + row)} has the label {labels[row].as_py()!r}, and another row of the "
            f"same id {firsts[row].as_py()!r}. An example has one label."
        )
