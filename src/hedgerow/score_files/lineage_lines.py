"""Lines with an id and one lineage, each step of which has a confidence: the RDP classifier, IDTAXA and BLCA."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np

from hedgerow.score_files.lineage_binding import Lineage, Step, as_lineage
from hedgerow.score_files.lines import LineReader
from hedgerow.score_files.listed import BETWEEN, Lineages, ListedBlock

if TYPE_CHECKING:
    from hedgerow.files import InputFile
    from hedgerow.tree import Indices

NUMBER = r"-?(?i:nan|inf|[0-9]+\.?[0-9]*(?:e[-+]?[0-9]+)?)"
_CUT = "\n"  # between steps; no line contains it
_QUOTED = r'^"|"$'
_WHOLE = 1 + 1e-9  # sums of votes may exceed 100 %, by rounding


class LineageLineReader(LineReader):
    """Sequences with one lineage each, and the confidence of every step; a child says how they are written.

    It sets `tool`, `expected`, `end` and `step`, and the others as needed.
    """

    listing = "lineages"

    start: ClassVar[str] = ""
    """A pattern of how a line begins."""
    fields: ClassVar[int] = 2
    """The number of fields, at most; tabs separate them, and the first is the id."""
    field: ClassVar[int] = 1
    """The field that is the lineage."""
    has_tabs: ClassVar[bool] = False
    """Whether there are also tabs in the lineage, which is then the last field."""
    end: ClassVar[str]
    """A pattern of what ends a step; its first group belongs to the step."""
    step: ClassVar[str]
    """A pattern of a step, with the groups `rank`, `name` and `value`."""
    nothing: ClassVar[str] = ""
    """A pattern of names, or lineages, that say that there is none."""
    header: ClassVar[str] = "^$"
    """A pattern of a first line that is no example."""
    whole: ClassVar[float] = 1.0
    """What a confidence is divided by."""

    def __init__(self, file: InputFile, *_: object) -> None:
        super().__init__(file)
        nothing = re.compile(self.nothing)

        def parsed(text: str) -> Lineage:
            pairs = (step.split(":", 1) for step in text.split(BETWEEN))
            # The root of a tool's classes is the root of the tree, whatever either is called.
            return as_lineage(
                Step("", ("",)) if rank == "rootrank" or nothing.fullmatch(name) else Step.of(name, rank)
                for rank, name in pairs
            )

        self.lineages = Lineages(parsed)

    def parsed(self, place: Indices, lines: Any) -> ListedBlock:
        """Return the sequences of some lines."""
        import pyarrow.compute as pc

        if place[0] == 1 and pc.match_substring_regex(lines[:1], self.header)[0].as_py():
            place, lines = place[1:], lines[1:]
        fields = pc.split_pattern(lines, "\t", max_splits=self.fields - 1 if self.has_tabs else None)
        found = pc.list_value_length(fields)
        self.check(pc.and_(pc.greater(found, self.field), pc.less_equal(found, self.fields)), place, lines)
        if self.start:
            self.check(pc.match_substring_regex(lines, self.start), place, lines)
        ids, texts = (pc.list_element(fields, field) for field in (0, self.field))
        if pc.any(pc.ends_with(texts, '"')).as_py():  # R writes quotes
            ids, texts = (pc.replace_substring_regex(each, _QUOTED, "") for each in (ids, texts))
        if self.nothing:
            texts = pc.if_else(pc.match_substring_regex(texts, f"^({self.nothing})$"), "", texts)
        count, steps, value = self.split(place, texts)
        row = np.repeat(np.arange(len(place)), count)
        lineage = np.repeat(self.lineages.numbers(steps), count[count > 0])
        step = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
        return ListedBlock(place, {"ids": ids}, row, lineage, step, value)

    def split(self, place: Indices, texts: Any) -> tuple[Indices, Any, Any]:
        """Return the number of steps of each lineage; the steps of each that has any, joined; and all values."""
        import pyarrow as pa
        import pyarrow.compute as pc

        pieces = pc.split_pattern(pc.replace_substring_regex(texts, self.end, rf"\1{_CUT}"), _CUT)
        row = np.repeat(np.arange(len(place)), pc.list_value_length(pieces).to_numpy(zero_copy_only=False))
        filled = pc.not_equal(pieces.flatten(), "")
        row = row[filled.to_numpy(zero_copy_only=False)]
        steps = pieces.flatten().filter(filled).dictionary_encode()
        found = pc.extract_regex(steps.dictionary, self.step)  # equal steps once
        rank, name, value = (pc.struct_field(found, part) for part in ("rank", "name", "value"))
        good = pc.and_not(pc.match_substring_regex(value, f"^{NUMBER}$"), pc.match_substring(name, BETWEEN))
        self.check(pc.fill_null(good, False).take(steps.indices), place, steps, row)
        share = np.array(value.to_pylist(), dtype=np.float64)[steps.indices.to_numpy()] / self.whole
        share[(share > 1) & (share <= _WHOLE)] = 1.0
        count = np.bincount(row, minlength=len(place))
        offsets = pa.array(np.append(0, np.cumsum(count[count > 0])), pa.int32())
        joined = pc.binary_join_element_wise(rank, name, ":").take(steps.indices)
        return count, pc.binary_join(pa.ListArray.from_arrays(offsets, joined), BETWEEN), share


@final
class RdpReader(LineageLineReader):
    """The RDP classifier (allrank, fixrank)."""

    tool = "the RDP classifier"
    expected = (
        "an id, the orientation, then a name, its rank and its confidence in turn, separated by tabs (the formats "
        "allrank and fixrank)"
    )
    start = r"^[^\t]*\t[-+]?\t[^\t]*\t"
    fields, field, has_tabs = 3, 2, True
    end = rf"(\t{NUMBER})(?:\t|$)"
    step = rf"^(?P<name>[^\t]*)\t(?P<rank>[^\t]*)\t(?P<value>{NUMBER})$"


@final
class IdtaxaReader(LineageLineReader):
    """IDTAXA: what DECIPHER's documentation writes to a text file, and what its web tool does, with ranks."""

    tool = "IDTAXA"
    expected = "an id, a tab, and a lineage such as Root [95.3%]; Bacteria [95.3%]; Firmicutes [81%]"
    header = '^"?x"?$'  # R's
    end = r"(%[\])])(?:; *|$)"
    step = rf"^ *(?P<name>[^;]*?) *[\[(](?:(?P<rank>[A-Za-z ]*), *)?(?P<value>{NUMBER})%[\])]$"
    nothing = "[Uu]nclassified.*|Root|"
    whole = 100.0


@final
class BlcaReader(LineageLineReader):
    """BLCA."""

    tool = "BLCA"
    expected = "an id, a tab, and a lineage such as superkingdom:Bacteria;100.0;phylum:Firmicutes;98.2;"
    end = rf"(;{NUMBER})(?:;|$)"
    step = rf"^(?P<rank>[a-z ]*):(?P<name>[^:]*|[^;]*);(?P<value>{NUMBER})$"
    nothing = "[Uu]nclassified|Not Available|"
    whole = 100.0
