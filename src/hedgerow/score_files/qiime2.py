"""QIIME 2's `taxonomy.tsv`: `Feature ID`, `Taxon` (`k__Bacteria; p__Firmicutes`) and `Confidence`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.errors import FileError
from hedgerow.files import is_number, row_name
from hedgerow.score_files.lineage_binding import parsed_lineage
from hedgerow.score_files.listed import Lineages, ListedBlock, ListReader, table_rows
from hedgerow.tree import taxon_strings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from hedgerow.files import InputFile
    from hedgerow.tree import Indices


COLUMNS = ("Feature ID", "Taxon")


@final
class Qiime2Reader(ListReader):
    """Features with one taxon each.

    The confidence is that of the taxon; its ancestors are at least as likely, so the mass is the taxon's own.
    """

    listing = "top"

    def __init__(self, file: InputFile, *_: object) -> None:
        self.path = file.path
        self._table = file.table
        self._text = {
            "ids": self._table.column(COLUMNS[0], "the ids"),
            "taxon": self._table.column(COLUMNS[1], "taxa"),
        }
        confidence = "Consensus" if "Consensus" in self._table.columns else "Confidence"
        self._text["confidence"] = self._table.column(confidence, "the confidence of each taxon")
        self.rows = self._table.rows
        self.lineages = Lineages(lambda text: parsed_lineage(text, ";"))

    def read(self, rows: int, keys: frozenset[str]) -> Iterator[ListedBlock]:  # noqa: ARG002
        """Yield the file in blocks of at most `rows` features."""
        import pyarrow.compute as pc

        # The confidence is read as text, because a line '#q2:types' may hold types instead.
        for block in table_rows(self._table, self._text, {}, rows):
            kept = pc.invert(pc.starts_with(block.columns["ids"], "#q2:"))
            place = block.start + np.flatnonzero(kept.to_numpy(zero_copy_only=False))
            ids, taxa, confidence = (block.columns[key].filter(kept) for key in ("ids", "taxon", "confidence"))
            row = np.flatnonzero([not taxon_strings.is_unassigned(taxon or "") for taxon in taxa.to_pylist()])
            value = self._numbers(confidence.take(row), place[row])
            yield ListedBlock(
                place=place,
                texts={"ids": ids.fill_null("")},
                row=row,
                lineage=self.lineages.numbers(taxa.take(row)),
                step=None,
                value=value,
            )

    def _numbers(self, texts: Any, place: Indices) -> NDArray[np.float64]:
        try:
            return np.array([text or "nan" for text in texts.to_pylist()], dtype=np.float64)
        except ValueError:
            number = next(i for i, text in enumerate(texts.to_pylist()) if not is_number(text or "nan"))
            raise FileError(
                f"{self.path}: {row_name(self.path, int(place[number]))} has the confidence "
                f"{texts[number].as_py()!r}, which is not a number. Correct it."
            ) from None
