"""The output of `vsearch --sintax --tabbedout`: `id <tab> d:Bacteria(1.00),p:Firmicutes(0.98) <tab> strand`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.errors import FileError
from hedgerow.score_files.lineage_binding import parsed_lineage
from hedgerow.score_files.listed import Lineages, ListedBlock, ListReader, line_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from hedgerow.tree import Indices

_FIRST = re.compile(r"[^\t]*\t[a-z]:[^\t]*\([0-9.]+\)(\t[+-]?(\t[^\t]*)?)?$")
_PIECE = re.compile(r".*\([0-9.eE+-]+\)$")
_WIDTH = len("(0.98)")
_BLANK = "\t"  # overwrites confidences; it separates fields, so no name contains it, and `Step.of` drops it
_Split = tuple[Any, "Indices", "NDArray[np.float64]"]
"""Lineages without confidences, as Arrow strings; the number of steps of each; the confidences of all steps."""
_EXPECTED = "Expected: an id, a tab, and a lineage such as d:Bacteria(1.00),p:Firmicutes(0.98)"


def looks_like_sintax(lines: Sequence[str]) -> bool:
    """Return whether lines are certainly SINTAX output; unclassified queries alone are not enough."""
    return any(_FIRST.match(line) for line in lines) and all(
        _FIRST.match(line) or not line.partition("\t")[2].strip("\t") for line in lines
    )


@final
class SintaxReader(ListReader):
    """Queries with one lineage each, and the bootstrap confidence of every rank."""

    listing = "lineages"
    line_based = True

    def __init__(self, path: str) -> None:
        self.path = path
        self.lineages = Lineages(lambda text: parsed_lineage(text, ","))

    def read(self, rows: int, keys: frozenset[str]) -> Iterator[ListedBlock]:  # noqa: ARG002
        """Yield the file in blocks of at most `rows` queries."""
        import pyarrow.compute as pc

        for place, lines in line_blocks(self.path, rows):
            fields = pc.split_pattern(lines, "\t")
            width = pc.list_value_length(fields).to_numpy(zero_copy_only=False)
            if len(width) and (width.min() < 2 or width.max() > 4):
                wrong = int(np.argmax((width < 2) | (width > 4)))
                raise FileError(
                    f"{self.path}, line {place[wrong]:,} has {width[wrong]} fields. {_EXPECTED}, then the strand."
                )
            # The id of a sequence ends at the first blank of its header; vsearch may write the whole header.
            ids = pc.list_element(fields, 0)
            if pc.any(pc.match_substring(ids, " ")).as_py():
                ids = pc.list_element(pc.split_pattern(ids, " ", max_splits=1), 0)
            yield self._entries(place, ids, pc.list_element(fields, 1))

    def _entries(self, place: Indices, ids: Any, texts: Any) -> ListedBlock:
        import pyarrow.compute as pc

        classified = pc.not_equal(texts, "")
        queries = np.flatnonzero(classified.to_numpy(zero_copy_only=False))
        lineages = texts.filter(classified)
        names, count, value = _split_fast(lineages) or self._split(lineages, place[queries])
        return ListedBlock(
            place=place,
            texts={"ids": ids},
            row=np.repeat(queries, count),
            lineage=np.repeat(self.lineages.numbers(names), count),
            step=np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count),
            value=value,
        )

    def _split(self, lineages: Any, place: Indices) -> _Split:
        """Split lineages with confidences in any notation, and names that may contain brackets."""
        import pyarrow as pa
        import pyarrow.compute as pc

        pieces = pc.split_pattern(lineages, ",")
        parts = pc.split_pattern(pieces.flatten(), "(", max_splits=1, reverse=True)
        try:
            names = pc.list_element(parts, 0)
            inside = pc.list_element(parts, 1)
            value = pc.cast(pc.utf8_slice_codeunits(inside, 0, -1), pa.float64())
            if not pc.all(pc.ends_with(inside, ")"), min_count=0).as_py():
                raise pa.ArrowInvalid
        except pa.ArrowInvalid:
            self._refuse(place, pieces.to_pylist())
            raise
        joined = pc.binary_join(pa.ListArray.from_arrays(pieces.offsets, names), ",")
        count = pc.list_value_length(pieces).to_numpy(zero_copy_only=False).astype(np.int64)
        return joined, count, value.to_numpy(zero_copy_only=False)

    def _refuse(self, place: Indices, lineages: list[list[str]]) -> None:
        for line, pieces in zip(place.tolist(), lineages, strict=True):
            for piece in pieces:
                if not _PIECE.match(piece):
                    raise FileError(f"{self.path}, line {line:,}: {piece!r} has no confidence. {_EXPECTED}.")


def _split_fast(lineages: Any) -> _Split | None:
    """Split lineages in which all confidences look like (0.98), byte by byte; None if some do not.

    This is what vsearch writes. It takes a quarter of the time of `SintaxReader._split`.
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
    bracket, whole, point, tenths, hundredths = (letters[close - i] for i in range(_WIDTH - 1, 0, -1))
    digits = [digit - np.uint8(ord("0")) for digit in (whole, tenths, hundredths)]  # below '0' they wrap around
    if (bracket != ord("(")).any() or (point != ord(".")).any() or max(map(np.max, digits)) > 9:
        return None
    before = np.searchsorted(close, start)
    names = letters.copy()
    for i in range(_WIDTH):
        names[close - i] = ord(_BLANK)
    return (
        pa.StringArray.from_buffers(len(lineages), offsets, pa.py_buffer(names)),
        np.diff(before),
        (100.0 * digits[0] + 10 * digits[1] + digits[2]) / 100,
    )
