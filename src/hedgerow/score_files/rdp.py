"""The output of the RDP classifier (allrank, fixrank): id, orientation, then name, rank and confidence in turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.errors import FileError
from hedgerow.score_files.listed import (
    Lineages,
    ListedBlock,
    ListReader,
    line_blocks,
    lineage_of_steps,
    steps_block,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


_EXPECTED = (
    "Expected, separated by tabs: an id, the orientation, then a name, its rank and its confidence in turn (the "
    "formats allrank and fixrank)."
)


def looks_like_rdp(lines: Sequence[str]) -> bool:
    """Return whether lines are certainly RDP output."""
    return bool(lines) and all(map(_is_rdp, lines))


def _is_rdp(line: str) -> bool:
    fields = line.split("\t")
    return (
        len(fields) >= 5
        and len(fields) % 3 == 2
        and fields[1] in ("", "-", "+")
        and fields[3] in ("rootrank", "domain", "superkingdom", "kingdom", "phylum")
        and all(number.replace(".", "", 1).isdigit() for number in fields[4::3])
    )


@final
class RdpReader(ListReader):
    """Sequences with one lineage each, and the bootstrap confidence of every rank."""

    listing = "lineages"
    line_based = True

    def __init__(self, path: str) -> None:
        self.path = path
        self.lineages = Lineages(lineage_of_steps)

    def read(self, rows: int, keys: frozenset[str]) -> Iterator[ListedBlock]:  # noqa: ARG002
        """Yield the file in blocks of at most `rows` sequences."""
        import pyarrow.compute as pc

        for place, lines in line_blocks(self.path, rows):
            fields = pc.split_pattern(lines, "\t")
            width = pc.list_value_length(fields).to_numpy(zero_copy_only=False).astype(np.int64)
            good = (width >= 5) & (width % 3 == 2)
            if not good.all():
                wrong = int(np.argmin(good))
                raise FileError(f"{self.path}, line {place[wrong]:,} has {width[wrong]} fields. {_EXPECTED}")
            yield self._entries(place, fields, (width - 2) // 3)

    def _entries(self, place: Any, fields: Any, count: Any) -> ListedBlock:
        import pyarrow as pa
        import pyarrow.compute as pc

        flat = fields.flatten()
        number = np.arange(len(flat)) - np.repeat(fields.offsets.to_numpy()[:-1], 3 * count + 2)
        names, ranks, values = (flat.filter(pa.array((number >= 2) & (number % 3 == i))) for i in (2, 0, 1))
        row = np.repeat(np.arange(len(place)), count)
        try:
            value = pc.cast(values, pa.float64())
        except pa.ArrowInvalid:
            self._refuse(place[row], values.to_pylist())
            raise
        share = value.to_numpy(zero_copy_only=False)
        return steps_block(self.lineages, place, pc.list_element(fields, 0), row, ranks, names, share)

    def _refuse(self, place: Any, values: list[str]) -> None:
        for line, value in zip(place.tolist(), values, strict=True):
            if not value.replace(".", "", 1).replace("E-", "").isdigit():
                raise FileError(f"{self.path}, line {line:,}: {value!r} is not a confidence. {_EXPECTED}")
