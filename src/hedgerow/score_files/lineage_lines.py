"""Lines with an id, a tab, and one lineage whose steps have confidences in per cent: IDTAXA and BLCA."""

from __future__ import annotations

import re
from dataclasses import dataclass
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

_CUT = "\n"  # between steps; no line contains it
_QUOTED = r'^"|"$'  # R writes quotes
_WHOLE = 1 + 1e-9  # sums of votes may exceed 100 %, by rounding


@final
@dataclass(frozen=True)
class Notation:
    """How a tool writes a lineage."""

    tool: str
    end: str
    """What ends a step, as a pattern; its first group belongs to the step."""
    step: str
    """One step, as a pattern with the groups name, value and, if there is one, rank."""
    nothing: str
    """A name that says that there is none, as a pattern."""
    example: str

    def recognise(self, lines: Sequence[str]) -> bool:
        """Return whether lines are certainly written by the tool; lines without a lineage alone are not enough."""
        texts = [line.partition("\t")[2].strip('"') for line in lines if line.count("\t") == 1]
        steps = [[re.match(self.step, step) for step in self._steps(text)] for text in texts]
        good = [bool(found) and all(found) for found in steps]
        nothing = [re.fullmatch(self.nothing, text) is not None for text in texts]
        return len(lines) - len(texts) <= 1 and any(good) and all(map(max, zip(good, nothing, strict=True)))

    def _steps(self, text: str) -> list[str]:
        return [step for step in re.sub(self.end, rf"\1{_CUT}", text).split(_CUT) if step]


IDTAXA = Notation(
    "IDTAXA",
    r"([\])]); *|$",
    r"^ *(?P<name>[^;]*?) *[\[(](?:(?P<rank>[^,\[\]()]*), *)?(?P<value>[0-9.]+)%[\])]$",
    "[Uu]nclassified.*|Root|",
    "Root [95.3%]; Bacteria [95.3%]; Firmicutes [81%]",
)
"""What DECIPHER's documentation writes to a text file, and what its web tool does, with ranks."""
BLCA = Notation(
    "BLCA",
    r"(;[0-9.]+)(?:;|$)",
    "^(?P<rank>[a-z ]*):(?P<name>[^:]*|[^;]*);(?P<value>[0-9.]+)$",
    "[Uu]nclassified|Not Available|",
    "superkingdom:Bacteria;100.0;phylum:Firmicutes;98.2;",
)


@final
class LineageLineReader(ListReader):
    """Sequences with one lineage each, and the confidence of every step."""

    listing = "lineages"
    line_based = True

    def __init__(self, path: str, notation: Notation) -> None:
        self.path = path
        self._notation = notation
        self.lineages = Lineages(lambda text: lineage_of_steps(text, re.compile(notation.nothing)))

    def read(self, rows: int, keys: frozenset[str]) -> Iterator[ListedBlock]:  # noqa: ARG002
        """Yield the file in blocks of at most `rows` sequences."""
        import pyarrow as pa
        import pyarrow.compute as pc

        notation = self._notation
        for place, lines in line_blocks(self.path, rows):
            if place[0] == 1 and "\t" not in lines[0].as_py():  # R's header
                place, lines = place[1:], lines[1:]
            fields = pc.split_pattern(lines, "\t")
            self._check(place, lines, pc.equal(pc.list_value_length(fields), 2))
            ids, texts = (pc.replace_substring_regex(pc.list_element(fields, i), _QUOTED, "") for i in range(2))
            texts = pc.if_else(pc.match_substring_regex(texts, f"^({notation.nothing})$"), "", texts)
            pieces = pc.split_pattern(pc.replace_substring_regex(texts, notation.end, rf"\1{_CUT}"), _CUT)
            row = np.repeat(np.arange(len(lines)), pc.list_value_length(pieces).to_numpy(zero_copy_only=False))
            filled = pc.not_equal(pieces.flatten(), "")
            row, steps = row[filled.to_numpy(zero_copy_only=False)], pieces.flatten().filter(filled)
            found = pc.extract_regex(steps, notation.step)
            self._check(place, lines, pc.is_valid(found), row)
            name, rank, value = (pc.struct_field(found, part) for part in ("name", "rank", "value"))
            try:
                share = pc.cast(value, pa.float64()).to_numpy(zero_copy_only=False) / 100
            except pa.ArrowInvalid:
                self._check(place, lines, pc.match_substring_regex(value, r"^[0-9]*\.?[0-9]*$"), row)
                raise
            share = np.where((share > 1) & (share <= _WHOLE), 1.0, share)
            yield steps_block(self.lineages, place, ids, row, rank, name, share)

    def _check(self, place: Any, lines: Any, good: Any, row: Any = None) -> None:
        """Refuse the first line in which something is not good."""
        import pyarrow.compute as pc

        if (wrong := pc.index(good, False).as_py()) >= 0:
            number = wrong if row is None else row[wrong]
            raise FileError(
                f"{self.path}, line {place[number]:,} is not what {self._notation.tool} writes: "
                f"{lines[number].as_py()[:80]!r}. Expected: an id, a tab, and a lineage such as "
                f"{self._notation.example}."
            )
