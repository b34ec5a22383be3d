"""Long tables: one row for every example and class, with columns `id`, `class` and `score`."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np

from hedgerow.files import open_table
from hedgerow.score_files.lineage_binding import Step
from hedgerow.score_files.listed import check_one_label, listed_columns, table_rows, whole_examples
from hedgerow.score_files.raw_blocks import Lineages, ListedBlock, ListReader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hedgerow.score_files.score_reading import ScoreReading

COLUMNS = ("class", "score")


@final
class LongReader(ListReader):
    """Examples with any number of classes, the rest unknown; the rows of an example stand together."""

    listing = "top"

    def __init__(self, path: str, how: ScoreReading, elsewhere: frozenset[str] = frozenset()) -> None:
        self.path = path
        self._table = open_table(path, how.delimiter)
        self._about = listed_columns(self._table, how, elsewhere)
        self._class = self._table.column(COLUMNS[0], "the classes")
        self._score = self._table.column(COLUMNS[1], "the scores")
        self.has = frozenset(self._about)
        self.lineages = Lineages(lambda text: (Step("", (text,)),))

    def read(self, rows: int, keys: frozenset[str]) -> Iterator[ListedBlock]:
        """Yield the file in blocks of about `rows` rows."""
        blocks = table_rows(self._table, self._about | {"class": self._class}, {"score": self._score}, rows)
        for block, first in whole_examples(blocks):
            if "labels" in self._about:
                check_one_label(self.path, block, first)
            yield ListedBlock(
                place=block.start + first,
                texts=block.texts(sorted(keys), first),
                row=np.repeat(np.arange(len(first)), np.diff(np.append(first, len(block)))),
                lineage=self.lineages.numbers(block.columns["class"].fill_null("")),
                step=None,
                value=block.numbers("score"),
            )
