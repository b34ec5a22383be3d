"""What pybioclip writes: one row for every image and candidate, with the names of its ranks and a score."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

import numpy as np

from hedgerow.errors import FileError, some
from hedgerow.files import open_table
from hedgerow.score_files.listed import joined_cells, split_cells, table_rows, whole_examples
from hedgerow.score_files.raw_blocks import Lineages, ListedBlock, ListReader

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_RANKS = ("kingdom", "phylum", "class", "order", "family", "genus", "species")
_CUSTOM = "classification"  # the one column of names if the classes were given to the tool


def looks_like_pybioclip(columns: Sequence[str]) -> bool:
    """Tell whether a table with these columns is such a file."""
    return {"file_name", "score"} <= set(columns) and not {_CUSTOM, _RANKS[0]}.isdisjoint(columns)


@final
class PybioclipReader(ListReader):
    """Images with their best candidates."""

    listing = "top"

    def __init__(self, path: str, delimiter: str | None = None) -> None:
        self.path = path
        self._table = table = open_table(path, delimiter)
        self._ids = table.column("file_name", "the images")
        self._score = table.column("score", "the scores")
        self._ranks = [rank for rank in (_CUSTOM, *_RANKS) if rank in table.columns]
        if not self._ranks:
            raise FileError(
                f"{path} has neither the columns {', '.join(_RANKS)} nor a column {_CUSTOM!r}. Its columns: "
                f"{some(table.columns)}."
            )
        self.lineages = Lineages(lambda text: split_cells(text, self._ranks))

    def read(self, rows: int, keys: frozenset[str]) -> Iterator[ListedBlock]:  # noqa: ARG002
        """Yield the file in blocks of about `rows` rows."""
        text = {"ids": self._ids} | {f"rank:{rank}": self._table.columns.index(rank) for rank in self._ranks}
        blocks = table_rows(self._table, text, {"score": self._score}, rows)
        for block, first in whole_examples(blocks):
            cells = [block.columns[f"rank:{rank}"].fill_null("") for rank in self._ranks]
            yield ListedBlock(
                place=block.start + first,
                texts=block.texts(["ids"], first),
                row=np.repeat(np.arange(len(first)), np.diff(np.append(first, len(block)))),
                lineage=self.lineages.numbers(joined_cells(cells)),
                step=None,
                value=block.numbers("score"),
            )
