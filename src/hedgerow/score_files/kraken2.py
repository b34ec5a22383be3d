"""Kraken 2's standard output: `C`, id, tax id, length, and the k-mers of each tax id: `562:13 A:31 |:| 562:3`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.errors import FileError
from hedgerow.score_files.lineage_binding import Lineage, Step
from hedgerow.score_files.listed import Lineages, ListedBlock, ListReader, line_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hedgerow.tree import Indices

_CALL = r"([0-9]+|.*\(taxid [0-9]+\))"
_COUNT = "([0-9]+|A):[0-9]+"
_BORDERS = ("|:|", "-:-")
"""What stands between mates, and between the reading frames of a protein database."""
_BORDER = "|".join(map(re.escape, _BORDERS))
_FRAMES = 3
"""Borders between the reading frames of a mate that Kraken 2 counts as k-mers, of five."""
_LINE = re.compile(rf"[CU]\t[^\t]*\t{_CALL}\t[0-9|]*\t({_COUNT}|{_BORDER}| )*")
_NOTHING, _AMBIGUOUS = "0", "A"
_EXPECTED = (
    "Expected, separated by tabs: C or U, an id, a tax id, the length, and the k-mers of each tax id, such as "
    "562:13 A:31 0:1"
)


def looks_like_kraken2(lines: Sequence[str]) -> bool:
    """Return whether lines are certainly Kraken 2's output."""
    return bool(lines) and all(map(_LINE.fullmatch, lines))


@final
class Kraken2Reader(ListReader):
    """Reads, or pairs of reads, each with its call and the share of its k-mers that every tax id has.

    Kraken 2 compares `--confidence` with k-mers in a clade divided by all k-mers, those with an ambiguous letter
    included, and so do the shares here. A read that it left unclassified has none, whatever its k-mers say.
    """

    listing = "top"
    line_based = True

    def __init__(self, path: str) -> None:
        self.path = path
        self.lineages = Lineages(_parsed)

    def read(self, rows: int, keys: frozenset[str]) -> Iterator[ListedBlock]:  # noqa: ARG002
        """Yield the file in blocks of at most `rows` reads."""
        import pyarrow.compute as pc

        for place, lines in line_blocks(self.path, rows):
            fields = pc.split_pattern(lines, "\t")
            self._check(place, lines, pc.equal(pc.list_value_length(fields), 5))
            flag, ids, call, _, counts = (pc.list_element(fields, i) for i in range(5))
            called = pc.match_substring_regex(call, f"^{_CALL}$")
            self._check(place, lines, pc.and_(called, pc.is_in(flag, value_set=_texts(["C", "U"]))))
            taxon = pc.replace_substring_regex(call, r"^.*\(taxid ([0-9]+)\)$", r"\1")
            row, lineage, share = self._shares(place, lines, pc.split_pattern(counts, " "))
            kept = pc.equal(flag, "C").to_numpy(zero_copy_only=False)[row]
            yield ListedBlock(
                place=place,
                texts={"ids": ids},
                row=row[kept],
                lineage=lineage[kept],
                step=None,
                value=share[kept],
                call=self.lineages.numbers(taxon),
            )

    def _shares(self, place: Indices, lines: Any, counts: Any) -> tuple[Indices, Indices, Any]:
        """Return the row, lineage and share of k-mers of each tax id of each read."""
        import pyarrow as pa
        import pyarrow.compute as pc

        row = np.repeat(np.arange(len(lines)), pc.list_value_length(counts).to_numpy(zero_copy_only=False))
        pieces = counts.flatten()
        counted = pc.match_substring_regex(pieces, f"^{_COUNT}$")
        good = pc.or_(counted, pc.match_substring_regex(pieces, f"^({_BORDER})?$"))
        self._check(place, lines, good, row)
        mates, frames = (
            np.bincount(row[pc.equal(pieces, sign).to_numpy(zero_copy_only=False)], minlength=len(lines))
            for sign in _BORDERS
        )
        row = row[counted.to_numpy(zero_copy_only=False)]
        pieces = pc.split_pattern(pieces.filter(counted), ":")
        taxon, number = pc.list_element(pieces, 0), pc.list_element(pieces, 1)
        kmers = pc.cast(number, pa.float64()).to_numpy(zero_copy_only=False)
        total = np.bincount(row, weights=kmers, minlength=len(lines)) + _FRAMES * (1 + mates) * (frames > 0)
        hit = pc.invert(pc.is_in(taxon, value_set=_texts([_NOTHING, _AMBIGUOUS])))
        kept = hit.to_numpy(zero_copy_only=False) & (kmers > 0)
        lineage = self.lineages.numbers(taxon.filter(pa.array(kept)))
        # A tax id may come several times; its k-mers are added before anything is divided.
        width = max(1, len(self.lineages.steps))
        key, group = np.unique(row[kept] * width + lineage, return_inverse=True)
        row = key // width
        return row, key % width, np.bincount(group, weights=kmers[kept], minlength=len(key)) / total[row]

    def _check(self, place: Indices, lines: Any, good: Any, row: Indices | None = None) -> None:
        """Refuse the first line in which something is not good."""
        import pyarrow.compute as pc

        if (wrong := pc.index(good, False).as_py()) >= 0:
            number = wrong if row is None else row[wrong]
            line = str(lines[number].as_py())
            quick = " Run kraken2 without --quick, which counts no k-mers." if line.endswith(":Q") else ""
            where = f"{self.path}, line {place[number]:,}"
            raise FileError(f"{where} is not what kraken2 writes: {line[:80]!r}. {_EXPECTED}.{quick}")


def _texts(values: list[str]) -> Any:
    import pyarrow as pa

    return pa.array(values, pa.string())


def _parsed(taxon: str) -> Lineage:
    return () if taxon == _NOTHING else (Step("", (taxon,)),)
