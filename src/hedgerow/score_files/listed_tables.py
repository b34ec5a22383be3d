"""Tables that list classes: one row per example and class (long tables, pybioclip), or one lineage per row."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np

from hedgerow.errors import FileError, some
from hedgerow.files import open_table
from hedgerow.score_files.lineage_binding import Step
from hedgerow.score_files.listed import (
    Lineages,
    ListedBlock,
    ListReader,
    check_one_label,
    joined_cells,
    listed_columns,
    split_cells,
    table_rows,
    whole_examples,
)
from hedgerow.tree import taxon_strings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hedgerow.score_files.score_reading import ScoreReading

LONG_COLUMNS = ("class", "score")
_RANKS = taxon_strings.LINNAEAN_RANKS
_CONFIDENCE = "_confidence"
_CUSTOM = "classification"  # pybioclip's column of names if the user supplied the classes


class LongReader(ListReader):
    """A table with columns `id`, `class` and `score`; the rows of an example are consecutive."""

    listing = "top"

    def __init__(self, path: str, how: ScoreReading, elsewhere: frozenset[str] = frozenset()) -> None:
        self.path = path
        self._table = open_table(path, how.delimiter, how.decimal)
        self._about = listed_columns(self._table, how, elsewhere)
        self._names = [self._table.column(LONG_COLUMNS[0], "the classes")]
        self._score = self._table.column(LONG_COLUMNS[1], "the scores")
        self.has = frozenset(self._about)
        self.lineages = Lineages(lambda text: (Step("", (text,)),))

    def read(self, rows: int, keys: frozenset[str]) -> Iterator[ListedBlock]:
        """Yield the file in blocks of about `rows` rows."""
        names = {f"name:{place}": place for place in self._names}
        blocks = table_rows(self._table, self._about | names, {"score": self._score}, rows)
        for block, first in whole_examples(blocks):
            if "labels" in self._about:
                check_one_label(self.path, block, first)
            cells = [block.columns[name].fill_null("") for name in names]
            yield ListedBlock(
                place=block.start + first,
                texts=block.texts(sorted(keys), first),
                row=np.repeat(np.arange(len(first)), np.diff(np.append(first, len(block)))),
                lineage=self.lineages.numbers(joined_cells(cells)),
                step=None,
                value=block.numbers("score"),
            )


def looks_like_pybioclip(columns: Sequence[str]) -> bool:
    """Return whether a table with these columns comes from pybioclip."""
    return {"file_name", "score"} <= set(columns) and not {_CUSTOM, _RANKS[0]}.isdisjoint(columns)


@final
class PybioclipReader(LongReader):
    """The output of pybioclip: images with their best candidates, each with the names of its ranks."""

    def __init__(self, path: str, delimiter: str | None = None) -> None:
        self.path = path
        self._table = table = open_table(path, delimiter)
        self._about = {"ids": table.column("file_name", "the images")}
        self._score = table.column("score", "the scores")
        ranks = [rank for rank in (_CUSTOM, *_RANKS) if rank in table.columns]
        if not ranks:
            raise FileError(
                f"{path} has neither the columns {', '.join(_RANKS)} nor a column {_CUSTOM!r}. Its "
                f"columns: {some(table.columns)}."
            )
        self._names = [table.columns.index(rank) for rank in ranks]
        self.lineages = Lineages(lambda text: split_cells(text, ranks))


def rank_columns(columns: Sequence[str]) -> list[str]:
    """Return the columns that have a matching column of confidences."""
    return [name for name in columns if f"{name}{_CONFIDENCE}" in columns]


@final
class LineageReader(ListReader):
    """A table with one lineage per row: an id, then each rank as a column with `RANK_confidence` beside it."""

    listing = "lineages"

    def __init__(self, path: str, how: ScoreReading, elsewhere: frozenset[str] = frozenset()) -> None:
        self.path = path
        self._table = table = open_table(path, how.delimiter, how.decimal)
        self._about = listed_columns(table, how, elsewhere)
        about = {table.columns[place] for place in self._about.values()}
        self._ranks = [rank for rank in rank_columns(table.columns) if rank not in about]
        if not self._ranks:
            raise FileError(
                f"{path} has no column of a rank with its confidence beside it, such as 'genus' and "
                f"'genus_confidence'. Its columns: {some(table.columns)}."
            )
        used = about | {name for rank in self._ranks for name in (rank, f"{rank}{_CONFIDENCE}")}
        extra = [name for name in table.columns if name not in used]
        if extra:
            raise FileError(
                f"{path} has columns that are neither about the examples nor a rank with its confidence: "
                f"{some(extra)}. Remove them, or add a column {extra[0] + _CONFIDENCE!r}."
            )
        self.has = frozenset(self._about)
        self.rows = table.rows
        self.lineages = Lineages(lambda text: split_cells(text, self._ranks))

    def read(self, rows: int, keys: frozenset[str]) -> Iterator[ListedBlock]:
        """Yield the file in blocks of at most `rows` examples."""
        import pyarrow.compute as pc

        names = {f"name:{rank}": self._table.column(rank, "names") for rank in self._ranks}
        values = {f"value:{rank}": self._table.columns.index(f"{rank}{_CONFIDENCE}") for rank in self._ranks}
        for block in table_rows(self._table, self._about | names, values, rows):
            cells = [block.columns[name].fill_null("") for name in names]
            lineage = self.lineages.numbers(joined_cells(cells))
            named = np.stack([pc.not_equal(cell, "").to_numpy(zero_copy_only=False) for cell in cells], axis=1)
            value = np.stack([block.numbers(name) for name in values], axis=1)
            row, step = np.nonzero(named)
            yield ListedBlock(
                place=block.start + np.arange(len(block)),
                texts=block.texts(sorted(keys)),
                row=row,
                lineage=lineage[row],
                step=step,
                value=value[row, step],
            )
