"""Kraken 2's standard output: `C`, id, tax id, length, and the k-mers of each tax id: `562:13 A:31 |:| 562:3`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.score_files.lineage_binding import Lineage, Step
from hedgerow.score_files.lines import LineReader
from hedgerow.score_files.listed import Lineages, ListedBlock

if TYPE_CHECKING:
    from hedgerow.files import InputFile
    from hedgerow.tree import Indices

_CALL = r"([0-9]+|[^\t]*\(taxid [0-9]+\))"
_COUNT = "([0-9]+|A):[0-9]+"
_BORDERS = ("|:|", "-:-")
"""What stands between mates, and between the reading frames of a protein database."""
_BORDER = "|".join(map(re.escape, _BORDERS))
_FRAMES = 3
"""Borders between the reading frames of a mate that Kraken 2 counts as k-mers, of five."""
_LINE = rf"^[CU]\t[^\t]*\t{_CALL}\t[0-9|]*\t[^\t]*$"
_NOTHING, _AMBIGUOUS = "0", "A"


@final
class Kraken2Reader(LineReader):
    """Reads, or pairs of reads, each with its call and the share of its k-mers that every tax id has.

    Kraken 2 compares `--confidence` with k-mers in a clade divided by all k-mers, those with an ambiguous letter
    included, and so do the shares here. A read that it left unclassified has none, whatever its k-mers say.
    """

    listing = "top"
    tool = "kraken2"
    expected = (
        "C or U, an id, a tax id, the length, and the k-mers of each tax id, such as 562:13 A:31 0:1, separated "
        "by tabs; run kraken2 without --quick, which counts none"
    )

    def __init__(self, file: InputFile, *_: object) -> None:
        super().__init__(file)
        self.lineages = Lineages(_parsed)

    def parsed(self, place: Indices, lines: Any) -> ListedBlock:
        """Return the reads of some lines."""
        import pyarrow.compute as pc

        self.check(pc.match_substring_regex(lines, _LINE), place, lines)
        fields = pc.split_pattern(lines, "\t")
        flag, ids, call, _, counts = (pc.list_element(fields, i) for i in range(5))
        taxon = pc.replace_substring_regex(call, r"^.*\(taxid ([0-9]+)\)$", r"\1")
        row, lineage, share = self._shares(place, pc.split_pattern(counts, " "))
        kept = pc.equal(flag, "C").to_numpy(zero_copy_only=False)[row]
        return ListedBlock(
            place=place,
            texts={"ids": ids},
            row=row[kept],
            lineage=lineage[kept],
            step=None,
            value=share[kept],
            call=self.lineages.numbers(taxon),
        )

    def _shares(self, place: Indices, counts: Any) -> tuple[Indices, Indices, Any]:
        """Return the row, lineage and share of k-mers of each tax id of each read."""
        import pyarrow as pa
        import pyarrow.compute as pc

        row = np.repeat(np.arange(len(place)), pc.list_value_length(counts).to_numpy(zero_copy_only=False))
        pieces = counts.flatten()
        counted = pc.match_substring_regex(pieces, f"^{_COUNT}$")
        good = pc.or_(counted, pc.match_substring_regex(pieces, f"^({_BORDER})?$"))
        self.check(good, place, pieces, row)
        mates, frames = (
            np.bincount(row[pc.equal(pieces, sign).to_numpy(zero_copy_only=False)], minlength=len(place))
            for sign in _BORDERS
        )
        row = row[counted.to_numpy(zero_copy_only=False)]
        pieces = pc.split_pattern(pieces.filter(counted), ":")
        taxon, number = pc.list_element(pieces, 0), pc.list_element(pieces, 1)
        kmers = pc.cast(number, pa.float64()).to_numpy(zero_copy_only=False)
        total = np.bincount(row, weights=kmers, minlength=len(place)) + _FRAMES * (1 + mates) * (frames > 0)
        hit = pc.invert(pc.is_in(taxon, value_set=_texts([_NOTHING, _AMBIGUOUS])))
        kept = hit.to_numpy(zero_copy_only=False) & (kmers > 0)
        lineage = self.lineages.numbers(taxon.filter(pa.array(kept)))
        # A tax id may come several times; its k-mers are added before anything is divided.
        width = max(1, len(self.lineages.steps))
        key, group = np.unique(row[kept] * width + lineage, return_inverse=True)
        row = key // width
        return row, key % width, np.bincount(group, weights=kmers[kept], minlength=len(key)) / total[row]


def _texts(values: list[str]) -> Any:
    import pyarrow as pa

    return pa.array(values, pa.string())


def _parsed(taxon: str) -> Lineage:
    return () if taxon == _NOTHING else (Step("", (taxon,)),)
