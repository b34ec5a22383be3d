"""Tables that list classes: one row per example and class (long tables, pybioclip), or one lineage per row."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, final

import numpy as np

from hedgerow.errors import FileError, some
from hedgerow.score_files.lineage_binding import Step
from hedgerow.score_files.listed import (
    BETWEEN,
    Lineages,
    ListedBlock,
    Listing,
    ListReader,
    TableRows,
    check_one_label,
    joined_cells,
    listed_columns,
    split_cells,
    table_rows,
    whole_examples,
)
from hedgerow.score_files.score_reading import about_columns
from hedgerow.tree import taxon_strings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hedgerow.files import InputFile
    from hedgerow.score_files.score_reading import ScoreReading

LONG_COLUMNS = ("class", "score")
_RANKS = taxon_strings.LINNAEAN_RANKS
CONFIDENCE = "_confidence"
CUSTOM = "classification"  # pybioclip's column of names if the user supplied the classes


class LongReader(ListReader):
    """A table with columns `id`, `class` and `score`; the rows of an example are consecutive."""

    listing: Listing = "top"

    def __init__(self, file: InputFile, how: ScoreReading, elsewhere: frozenset[str] = frozenset()) -> None:
        self.path = file.path
        self._table = file.table
        self._about = listed_columns(self._table, how, elsewhere)
        self._names = [self._table.column(LONG_COLUMNS[0], "the classes")]
        self._score = self._table.column(LONG_COLUMNS[1], "the scores")
        self.has = frozenset(self._about)
        self.lineages = Lineages(lambda text: (Step("", (text,)),))

    def read(self, rows: int, keys: frozenset[str]) -> Iterator[ListedBlock]:
        """Yield the file in blocks of about `rows` rows."""
        for block, first in whole_examples(self._rows(rows)):
            if "labels" in self._about:
                check_one_label(self.path, block, first)
            cells = [block.columns[f"name:{place}"].fill_null("") for place in self._names]
            yield ListedBlock(
                place=block.start + first,
                texts=block.texts(sorted(keys), first),
                row=np.repeat(np.arange(len(first)), np.diff(np.append(first, len(block)))),
                lineage=self.lineages.numbers(joined_cells(cells)),
                step=None,
                value=block.numbers("score"),
            )

    def _rows(self, rows: int) -> Iterator[TableRows]:
        """Yield the rows of the table."""
        names = {f"name:{place}": place for place in self._names}
        return table_rows(self._table, self._about | names, {"score": self._score}, rows)


@final
class PybioclipReader(LongReader):
    """The output of pybioclip: images with their best candidates, each with the names of its ranks."""

    def __init__(self, file: InputFile, *_: object) -> None:
        self.path = file.path
        self._table = table = file.table
        self._about = {"ids": table.column("file_name", "the images")}
        self._score = table.column("score", "the scores")
        ranks = [rank for rank in (CUSTOM, *_RANKS) if rank in table.columns]
        if not ranks:
            raise FileError(
                f"{self.path} has neither the columns {', '.join(_RANKS)} nor a column {CUSTOM!r}. Its "
                f"columns: {some(table.columns)}."
            )
        self._names = [table.columns.index(rank) for rank in ranks]
        self.lineages = Lineages(lambda text: split_cells(text, ranks))


WINDOW = ("File", "Start (s)", "End (s)")
BIRDNET_NAMES = ("Scientific name", "Common name")


@final
class BirdnetReader(LongReader):
    """The CSV of BirdNET-Analyzer: windows of recordings with the species that were detected in each.

    The id of a window is its file, start and end; columns that the reading names, such as `File` for clusters, are
    those of its first row. A window in which nothing was detected is not in the file.
    """

    listing = "independent"

    def __init__(self, file: InputFile, how: ScoreReading, elsewhere: frozenset[str] = frozenset()) -> None:
        self.path = file.path
        self._table = table = file.table
        named = about_columns(self.path, table.columns, replace(how, id_column=None), {}, elsewhere)
        self._about = {key: table.columns.index(name) for key, name in named.items()}
        self._window = [
            table.column(name, "the windows") for name in WINDOW if name != "File" or name in table.columns
        ]
        self._names = [table.column(name, "the species") for name in BIRDNET_NAMES]
        self._score = table.column("Confidence", "the scores")
        self.has = frozenset({"ids", *self._about})
        self.lineages = Lineages(lambda text: (Step("", tuple(text.split(BETWEEN))),))

    def _rows(self, rows: int) -> Iterator[TableRows]:
        import pyarrow.compute as pc

        window = {f"window:{place}": place for place in self._window}
        names = {f"name:{place}": place for place in self._names}
        for block in table_rows(self._table, self._about | window | names, {"score": self._score}, rows):
            *file, start, end = (block.columns[name].fill_null("") for name in window)
            ids = pc.binary_join_element_wise(start, end, "-")
            ids = pc.binary_join_element_wise(*file, ids, " ") if file else ids
            yield TableRows(block.start, {**block.columns, "ids": ids})


class LineageReader(ListReader):
    """A table with one lineage per row: an id, then each rank as a column with `RANK_confidence` beside it."""

    listing: Listing = "lineages"
    whole = 1.0
    """What a confidence is divided by."""
    blank = ""
    """What a cell without a name may hold."""

    def __init__(self, file: InputFile, how: ScoreReading, elsewhere: frozenset[str] = frozenset()) -> None:
        self.path = file.path
        self._table = table = file.table
        self._find_columns(how, elsewhere)
        self.has = frozenset(self._about)
        self.rows = table.rows
        self.lineages = Lineages(lambda text: split_cells(text, list(self._names)))

    def _find_columns(self, how: ScoreReading, elsewhere: frozenset[str]) -> None:
        """Find the columns about the examples, and those of names and confidences, by rank."""
        table = self._table
        self._about = listed_columns(table, how, elsewhere)
        about = {table.columns[place] for place in self._about.values()}
        ranks = [name for name in table.columns if f"{name}{CONFIDENCE}" in table.columns and name not in about]
        if not ranks:
            raise FileError(
                f"{self.path} has no column of a rank with its confidence beside it, such as 'genus' and "
                f"'genus_confidence'. Its columns: {some(table.columns)}."
            )
        used = about | {name for rank in ranks for name in (rank, f"{rank}{CONFIDENCE}")}
        extra = [name for name in table.columns if name not in used]
        if extra:
            raise FileError(
                f"{self.path} has columns that are neither about the examples nor a rank with its confidence: "
                f"{some(extra)}. Remove them, or add a column {extra[0] + CONFIDENCE!r}."
            )
        self._names = {rank: table.column(rank, "names") for rank in ranks}
        self._values = {rank: table.columns.index(f"{rank}{CONFIDENCE}") for rank in ranks}

    def read(self, rows: int, keys: frozenset[str]) -> Iterator[ListedBlock]:
        """Yield the file in blocks of at most `rows` examples."""
        import pyarrow.compute as pc

        names = {f"name:{rank}": place for rank, place in self._names.items()}
        values = {f"value:{rank}": place for rank, place in self._values.items()}
        for block in table_rows(self._table, self._about | names, values, rows):
            cells = [block.columns[name].fill_null("") for name in names]
            cells = [pc.if_else(pc.equal(cell, self.blank), "", cell) for cell in cells]
            lineage = self.lineages.numbers(joined_cells(cells))
            named = np.stack([pc.not_equal(cell, "").to_numpy(zero_copy_only=False) for cell in cells], axis=1)
            value = np.stack([block.numbers(name) for name in values], axis=1) / self.whole
            last_only = self.listing == "top"  # one confidence, that of the last name
            row, step = np.nonzero(named.any(axis=1, keepdims=True) if last_only else named)
            yield ListedBlock(
                place=block.start + np.arange(len(block)),
                texts=block.texts(sorted(keys)),
                row=row,
                lineage=lineage[row],
                step=None if last_only else step,
                value=value[row, step],
            )


_TAX, _BOOT, _ASV_ID, _EXACT = "tax.", "boot.", "ASV_ID", "Species_exact"


@final
class Dada2Reader(LineageReader):
    """What DADA2 or nf-core/ampliseq writes, with bootstrap values.

    These are `tax.RANK` and `boot.RANK` (0 to 100); or `ASV_ID`, the ranks, and `rank_confidence` of each of them,
    or else a single `confidence`, which belongs to the last rank that is filled in.
    """

    blank = "NA"

    def _find_columns(self, how: ScoreReading, elsewhere: frozenset[str]) -> None:
        columns = self._table.columns
        self._table.blank = ("", self.blank)
        usual = next((name for name in (_ASV_ID, "") if name in columns), None)
        self._about = listed_columns(self._table, replace(how, id_column=how.id_column or usual), elsewhere)
        place = {name.casefold(): number for number, name in enumerate(columns)}
        pairs = [(name, name.removeprefix(_TAX), f"{_BOOT}{name.removeprefix(_TAX)}") for name in columns]
        self.whole = 100.0
        if not any(boot in columns for *_, boot in pairs):
            pairs, self.whole = [(name, name, f"{name}{CONFIDENCE}") for name in columns], 1.0
        found = [(name, rank, value.casefold()) for name, rank, value in pairs if value.casefold() in place]
        if not found and "confidence" in place:
            self.listing = "top"
            found = [(name, name, "confidence") for name in columns[: place["confidence"]] if name != _EXACT]
        about = set(self._about.values())
        found = [(name, rank, value) for name, rank, value in found if columns.index(name) not in about]
        if not found:
            raise FileError(
                f"{self.path} has no bootstrap values. Write them with assignTaxonomy(outputBootstraps=TRUE): the "
                f"columns {_TAX}Genus and {_BOOT}Genus, and so on. Its columns: {some(columns)}."
            )
        self._names = {rank: columns.index(name) for name, rank, _ in found}
        self._values = {value: place[value.casefold()] for *_, value in found}
