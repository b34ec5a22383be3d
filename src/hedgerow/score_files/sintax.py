"""The output of `vsearch --sintax --tabbedout`: `id <tab> d:Bacteria(1.00),p:Firmicutes(0.98) <tab> strand`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.score_files.lineage_lines import NUMBER, LineageLineReader
from hedgerow.score_files.listed import BETWEEN, ListedBlock

if TYPE_CHECKING:
    from hedgerow.tree import Indices

_WIDTH = len("(0.98)")
_BLANK = " "  # overwrites confidences; `Step.of` drops it


@final
class SintaxReader(LineageLineReader):
    """Queries with one lineage each, and the bootstrap confidence of every rank."""

    tool = "vsearch --sintax"
    expected = "an id, a tab, and a lineage such as d:Bacteria(1.00),p:Firmicutes(0.98), then perhaps the strand"
    fields = 4  # then the strand, and the part of the lineage with a support of at least --sintax_cutoff
    end = rf"(\({NUMBER}\))(?:,|$)"
    step = rf"^(?P<rank>[a-z]):(?P<name>.*)\((?P<value>{NUMBER})\)$"

    def parsed(self, place: Indices, lines: Any) -> ListedBlock:
        """Return the queries of some lines."""
        import pyarrow.compute as pc

        block = super().parsed(place, lines)
        # The id of a sequence ends at the first blank of its header; vsearch may write the whole header.
        ids = block.texts["ids"]
        if pc.any(pc.match_substring(ids, " ")).as_py():
            block.texts["ids"] = pc.list_element(pc.split_pattern(ids, " ", max_splits=1), 0)
        return block

    def split(self, place: Indices, texts: Any) -> tuple[Indices, Any, Any]:
        """Split lineages as any others; four times as fast for what vsearch writes."""
        import pyarrow.compute as pc

        classified = pc.not_equal(texts, "")
        fast = _split_fast(texts.filter(classified))
        if fast is None:
            return super().split(place, texts)
        count = np.zeros(len(place), dtype=np.int64)
        count[classified.to_numpy(zero_copy_only=False)], steps, value = fast
        return count, steps, value


def _split_fast(lineages: Any) -> tuple[Indices, Any, Any] | None:
    """Split lineages in which all confidences look like (0.98), byte by byte; None if some do not.

    Returns the number of steps of each; the steps of each, joined; and all values.
    """
    import pyarrow as pa

    if not len(lineages) or lineages.offset:
        return None
    _, offsets, data = lineages.buffers()
    start = np.frombuffer(offsets, dtype=np.int32)[: len(lineages) + 1]
    letters = np.frombuffer(data, dtype=np.uint8)[: start[-1]]
    close, comma = (np.flatnonzero(letters == ord(sign)) for sign in "),")
    ends = np.append(comma, start[1:]) - 1  # every step ends with a bracket, and there is no other
    if len(close) != len(ends) or close[0] < _WIDTH or not (letters[ends] == ord(")")).all():
        return None
    first = np.append(comma + 1, start[:-1])  # and begins with the letter of its rank
    if (letters[first + 1] != ord(":")).any() or (letters == ord(BETWEEN)).any():
        return None
    bracket, whole, point, tenths, hundredths = (letters[close - i] for i in range(_WIDTH - 1, 0, -1))
    digits = [digit - np.uint8(ord("0")) for digit in (whole, tenths, hundredths)]  # below '0' they wrap around
    if (bracket != ord("(")).any() or (point != ord(".")).any() or max(map(np.max, digits)) > 9:
        return None
    before = np.searchsorted(close, start)
    names = letters.copy()
    names[comma] = ord(BETWEEN)
    for i in range(_WIDTH):
        names[close - i] = ord(_BLANK)
    return (
        np.diff(before),
        pa.StringArray.from_buffers(len(lineages), offsets, pa.py_buffer(names)),
        (100.0 * digits[0] + 10 * digits[1] + digits[2]) / 100,
    )
