"""Files that list classes: base classes of their readers, and shared parts for tables."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np

from hedgerow.errors import ScoreError
from hedgerow.files import InputFile, Table, reading, row_name
from hedgerow.score_files.examples import COLUMNS
from hedgerow.score_files.lineage_binding import Lineage, Step, as_lineage
from hedgerow.score_files.score_reading import ScoreReader, ScoreReading, about_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from hedgerow.tree import Indices

Listing = Literal["lineages", "top", "independent"]
"""What is listed: one lineage with a likelihood for each of its steps; classes with their own mass; or classes
whose probabilities were estimated one by one."""
_ROWS = 1 << 17
BETWEEN = "\x1f"
"""Separates the names of a row; no name contains it."""


# Readers and what they yield ------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, eq=False)
class ListedBlock:
    """The entries of consecutive examples of a file."""

    place: Indices
    """The first line or row of each example."""
    texts: dict[str, Any]
    """Arrow arrays of text about each example, by fact."""
    row: Indices
    """The example of each entry, counted from 0 here; ascending."""
    lineage: Indices
    """The lineage of each entry: a number of `ListReader.lineages`."""
    step: Indices | None
    """The step of the lineage that each entry is about; None: the last."""
    value: NDArray[np.float64]
    call: Indices | None = None
    """The lineage of the class that the tool itself answered each example with, if it says so."""

    def __len__(self) -> int:
        return len(self.place)


class ListReader(ScoreReader):
    """A file that lists a few classes for each example."""

    listing: Listing
    lineages: Lineages
    """The lineages found so far."""
    free_text: bool = False
    """Whether classes may be called anything: those that cannot be found stay at the root, with a warning."""

    def __init__(self, file: InputFile, *_: object) -> None:
        self.path = file.path

    def rows_at_a_time(self, nodes: int) -> int:  # noqa: ARG002
        """Return how many rows to read at a time."""
        return _ROWS

    def where(self, place: int) -> str:
        """Name a row of the file."""
        return row_name(self.path, place)


@final
class Lineages:
    """The distinct lineages of a file, each parsed once.

    Parameters
    ----------
    parse
        Returns the steps of a lineage, given its text.
    """

    def __init__(self, parse: Callable[[str], Lineage]) -> None:
        self._parse = parse
        self._number: dict[str, int] = {}
        self.steps: list[Lineage] = []

    def numbers(self, texts: Any) -> Indices:
        """Return the number of the lineage of each text of an Arrow array."""
        encoded = texts.dictionary_encode()
        distinct = encoded.dictionary.to_pylist()
        for text in distinct:
            if text not in self._number:
                self._number[text] = len(self.steps)
                self.steps.append(self._parse(text))
        number = np.fromiter(map(self._number.__getitem__, distinct), np.int64, len(distinct))
        places: Indices = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        return number[places] if len(number) else places


class ExampleReader(ListReader):
    """A file that a plain function reads, example by example, for your own formats.

    Parameters
    ----------
    file
        The file.
    examples
        Yields an id, the names of the listed classes, and their scores for each example, given the path.
    parse
        Returns a lineage, given the name of a class; by default, it is the name of a node.
    """

    listing = "top"

    def __init__(
        self,
        file: InputFile,
        examples: Callable[[str], Iterable[tuple[str, Sequence[str], Sequence[float]]]],
        parse: Callable[[str], Lineage] = lambda name: (Step("", (name,)),),
    ) -> None:
        super().__init__(file)
        self._examples = examples
        self.lineages = Lineages(parse)

    def read(self, rows: int, keys: frozenset[str]) -> Iterator[ListedBlock]:  # noqa: ARG002
        """Yield the file in blocks of at most `rows` examples."""
        import pyarrow as pa

        left, start = iter(self._examples(self.path)), 0
        while block := list(islice(left, rows)):
            count = [len(scores) for _, _, scores in block]
            with reading(self.path, "UTF-8"):  # JSON may hold halves of characters
                ids = pa.array([name for name, _, _ in block], pa.string())
                classes = pa.array([name for _, names, _ in block for name in names], pa.string())
            yield ListedBlock(
                place=np.arange(start, start + len(block)),
                texts={"ids": ids},
                row=np.repeat(np.arange(len(block)), count),
                lineage=self.lineages.numbers(classes),
                step=None,
                value=np.array([score for _, _, scores in block for score in scores], dtype=np.float64),
            )
            start += len(block)


# Tables --------------------------------------------------------------------------------------------------------


def listed_columns(table: Table, how: ScoreReading, elsewhere: frozenset[str]) -> dict[str, int]:
    """Return the positions of the columns about the examples, by fact; ids are required."""
    how = how.within(table.columns, elsewhere)
    found = about_columns(table.path, table.columns, how, COLUMNS, elsewhere)
    if "ids" not in found:
        table.column(how.id_column or COLUMNS["ids"], "the ids", "id_column")  # raises the error
    return {key: table.columns.index(name) for key, name in found.items()}


@final
class TableRows:
    """Rows of a table: Arrow arrays by key."""

    def __init__(self, start: int, columns: Mapping[str, Any]) -> None:
        self.start = start
        """The number of the first row."""
        self.columns = columns

    def __len__(self) -> int:
        return len(self.columns["ids"])

    def texts(self, keys: Sequence[str], rows: Indices | None = None) -> dict[str, Any]:
        """Return columns about the examples, for some rows."""
        chosen = {key: self.columns[key] if rows is None else self.columns[key].take(rows) for key in keys}
        return {key: values.fill_null("") for key, values in chosen.items()}

    def numbers(self, name: str) -> Any:
        """Return a column of numbers; an empty cell is NaN."""
        return self.columns[name].to_numpy(zero_copy_only=False).astype(np.float64)


def table_rows(
    table: Table, text: Mapping[str, int], numbers: Mapping[str, int], rows: int
) -> Iterator[TableRows]:
    """Yield some columns of a table, at most `rows` rows at a time."""
    import pyarrow as pa

    table.number_type(list(numbers.values()))  # refuses what is not a number
    start = 0
    for count, columns in table.batches(rows, list(dict.fromkeys(text.values())), list(numbers.values())):
        texts = {key: columns[place].cast(pa.string()) for key, place in text.items()}
        yield TableRows(start, texts | {key: columns[place] for key, place in numbers.items()})
        start += count


def whole_examples(blocks: Iterator[TableRows]) -> Iterator[tuple[TableRows, Indices]]:
    """Yield blocks that do not split examples, with the first row of each example."""
    import pyarrow as pa

    held: TableRows | None = None
    for block in blocks:
        if held is not None:
            joined = {key: pa.concat_arrays([held.columns[key], block.columns[key]]) for key in block.columns}
            block = TableRows(held.start, joined)
        first = _first_rows(block)
        last = int(first[-1]) if len(first) else 0
        if last:
            yield _part(block, 0, last), first[:-1]
        held = _part(block, last, len(block) - last)
    if held is not None and len(held):
        yield held, _first_rows(held)


def _part(rows: TableRows, first: int, count: int) -> TableRows:
    return TableRows(rows.start + first, {key: values.slice(first, count) for key, values in rows.columns.items()})


def _first_rows(rows: TableRows) -> Indices:
    import pyarrow.compute as pc

    ids = rows.columns["ids"].fill_null("")
    if not len(ids):
        return np.empty(0, dtype=np.int64)
    differs = pc.not_equal(ids[1:], ids[:-1]).to_numpy(zero_copy_only=False)
    return np.concatenate([[0], 1 + np.flatnonzero(differs)])


def check_one_label(path: str, rows: TableRows, first: Indices) -> None:
    """Refuse rows of one example that have different labels."""
    import pyarrow.compute as pc

    labels = rows.texts(["labels"])["labels"]
    firsts = labels.take(np.repeat(first, np.diff(np.append(first, len(rows)))))
    row = pc.index(pc.not_equal(labels, firsts), True).as_py()
    if row >= 0:
        raise ScoreError(
            f"{path}: {row_name(path, rows.start + row)} has the label {labels[row].as_py()!r}, and another row "
            f"of the same id {firsts[row].as_py()!r}. An example has one label."
        )


def repeated(ids: Any) -> tuple[int, int] | None:
    """Return the positions of the first duplicate in an Arrow array.

    >>> import pyarrow as pa
    >>> repeated(pa.array(["a", "b", "c", "b", "a"])), repeated(pa.array(["a", "b"]))
    ((1, 3), None)
    """
    number = ids.dictionary_encode().indices.to_numpy()  # in the order in which they come
    again = np.flatnonzero(number != np.arange(len(number)))
    return (int(number[again[0]]), int(again[0])) if len(again) else None


# Cells -----------------------------------------------------------------------------------------------


def joined_cells(cells: Sequence[Any]) -> Any:
    """Join the cells of each row, given as one Arrow array per rank."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.binary_join_element_wise(*cells, pa.scalar(BETWEEN, cells[0].type))


def split_cells(text: str, ranks: Sequence[str]) -> Lineage:
    """Return the lineage of cells joined by `joined_cells`."""
    cells = text.split(BETWEEN)
    if len(cells) != len(ranks):
        raise ScoreError(f"A name contains the control character {BETWEEN!r}: {text!r}. Remove it.")
    return as_lineage(Step.of(cell, rank) for rank, cell in zip(ranks, cells, strict=True))
