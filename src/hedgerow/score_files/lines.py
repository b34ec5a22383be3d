"""Text files with one example on each line, read in blocks of lines."""

from __future__ import annotations

from abc import abstractmethod
from codecs import BOM_UTF8
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hedgerow.errors import FileError
from hedgerow.files import InputFile, open_binary, require_file
from hedgerow.score_files.listed import ListedBlock, ListReader

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hedgerow.tree import Indices

_BYTES = 1 << 24  # of text at a time
_SHOWN = 80  # characters of a line


class LineReader(ListReader):
    """A text file with one example on each line, whose fields are separated by tabs.

    Patterns are those of Arrow (RE2), which take linear time whatever a file holds.
    """

    tool: ClassVar[str]
    """What writes such files."""
    expected: ClassVar[str]
    """What a line holds."""

    @abstractmethod
    def parsed(self, place: Indices, lines: Any) -> ListedBlock:
        """Return the examples of some lines, given their numbers and an Arrow array."""

    def where(self, place: int) -> str:
        """Name a line."""
        return f"line {place:,}"

    def read(self, rows: int, keys: frozenset[str]) -> Iterator[ListedBlock]:  # noqa: ARG002
        """Yield the file in blocks of at most `rows` lines."""
        for place, lines in line_blocks(self.path, rows):
            yield self.parsed(place, lines)

    @classmethod
    def recognise(cls, lines: Sequence[str]) -> bool:
        """Return whether lines are certainly in this format: all can be read, and some of them say something."""
        import pyarrow as pa

        try:
            block = cls(InputFile("")).parsed(np.arange(1, 1 + len(lines)), pa.array(lines, pa.string()))
        except FileError:
            return False
        return len(block.row) > 0 or block.call is not None

    def check(self, good: Any, place: Indices, texts: Any, row: Indices | None = None) -> None:
        """Refuse the first of some lines, or of their parts, that is not good.

        Parameters
        ----------
        good
            An Arrow array of booleans.
        place
            The numbers of the lines.
        texts
            The lines or parts.
        row
            The line of each part.
        """
        import pyarrow.compute as pc

        if (wrong := pc.index(good, False).as_py()) >= 0:
            line = place[wrong if row is None else row[wrong]]
            raise FileError(
                f"{self.path}, line {line:,} is not what {self.tool} writes: {texts[wrong].as_py()[:_SHOWN]!r}. "
                f"Expected: {self.expected}."
            )


def line_blocks(path: str, rows: int) -> Iterator[tuple[Indices, Any]]:
    """Yield the numbers and texts of the non-blank lines of a UTF-8 file, at most `rows` at a time."""
    import pyarrow as pa
    import pyarrow.compute as pc

    require_file(path)
    first = 1
    with open_binary(path) as file:
        while data := file.read(_BYTES) + file.readline():
            if first == 1:
                data = data.removeprefix(BOM_UTF8)
            if b"\r" in data:
                data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            _check_encoding(path, data, first)
            ends = pa.py_buffer(np.array([0, len(data)], dtype=np.int32))
            lines = pc.split_pattern(pa.StringArray.from_buffers(1, ends, pa.py_buffer(data)), "\n").flatten()
            lines = lines[: len(lines) - data.endswith(b"\n")]
            filled = pc.not_equal(lines, "")
            place = first + np.flatnonzero(filled.to_numpy(zero_copy_only=False))
            first += len(lines)
            if len(place) < len(lines):
                lines = lines.filter(filled)
            for start in range(0, len(lines), rows):
                yield place[start : start + rows], lines[start : start + rows]


def _check_encoding(path: str, data: bytes, first: int) -> None:
    """Refuse bytes that are not UTF-8; `first` is the number of their first line."""
    if data.isascii():
        return
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = first + data.count(b"\n", 0, error.start)
        raise FileError(
            f"{path}, line {line:,} is not UTF-8: it has the byte 0x{data[error.start]:02x}. Save it as UTF-8."
        ) from None
