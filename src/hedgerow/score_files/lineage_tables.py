"""Tables with one lineage per row: an id, then a column per rank and `RANK_confidence` beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np

from hedgerow.errors import FileError, some
from hedgerow.files import open_table
from hedgerow.score_files.listed import joined_cells, listed_columns, split_cells, table_rows
from hedgerow.score_files.raw_blocks import Lineages, ListedBlock, ListReader

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hedgerow.score_files.score_reading import ScoreReading

_CONFIDENCE = "_confidence"


def rank_columns(columns: Sequence[str]) -> list[str]:
    """Return the columns that have a column of confidences beside them."""
    return [name for name in columns if f"{name}{_CONFIDENCE}" in columns]


@final
class LineageReader(ListReader):
    """Examples with one lineage each, and a likelihood for every rank."""

    listing = "lineages"

    def __init__(self, path: str, how: ScoreReading, elsewhere: frozenset[str] = frozenset()) -> None:
        self.path = path
        self._table = table = open_table(path, how.delimiter)
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
