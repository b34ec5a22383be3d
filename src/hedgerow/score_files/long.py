"""Long tables: one row for every example and class, with columns `id`, `class` and `score`."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np

from hedgerow.score_files.binding import Step
from hedgerow.score_files.listed import Entries, Lineages, ListReader
from hedgerow.score_files.tool_tables import (
    about_columns,
    check_one_label,
    column,
    open_table,
    table_rows,
    whole_examples,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hedgerow.score_files.score_tables import ColumnNames

COLUMNS = ("class", "score")


@final
class LongReader(ListReader):
    """Examples with any number of classes, the rest unknown; the rows of an example stand together."""

    listing = "top"

    def __init__(self, path: str, names: ColumnNames, delimiter: str | None = None) -> None:
        self.path = path
        self._table = open_table(path, delimiter)
        self._about = about_columns(self._table, names)
        self._class = column(self._table, COLUMNS[0], "the classes")
        self._score = column(self._table, COLUMNS[1], "the scores")
        self.has = frozenset(self._about)
        self.lineages = Lineages(lambda text: (Step("", (text,)),))

    def read(self, rows: int) -> Iterator[Entries]:
        """Yield the file in blocks of about so many rows."""
        blocks = table_rows(self._table, self._about | {"class": self._class}, {"score": self._score}, rows)
        for block, first in whole_examples(blocks):
            if "labels" in self._about:
                check_one_label(self.path, block, first)
            yield Entries(
                place=block.start + first,
                texts=block.texts(list(self._about), first),
                row=np.repeat(np.arange(len(first)), np.diff(np.append(first, len(block)))),
                lineage=self.lineages.numbers(block.columns["class"].fill_null("")),
                step=None,
                value=block.numbers("score"),
            )
