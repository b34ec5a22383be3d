"""Names of nodes as arrays of str, and what they must be."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import map_row_blocks
from hedgerow.errors import TreeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Names = NDArray[np.object_]

CONTROL = "".join(map(chr, {*range(0x20), *range(0x7F, 0xA0)} - {*b"\t\n\r"}))
"""What no name may hold: NumPy drops a NUL at the end of text, and an escape can rewrite what a terminal shows."""
_ROW_BYTES = 64  # about what a name takes
_CONTROL = re.compile(f"[{re.escape(CONTROL)}]")


@dataclass(frozen=True, eq=False)
class PackedNames(Sequence[str]):
    """Names as bytes, in some order, of an Arrow array: to make a str of each can take as long as all the rest."""

    array: Any
    rows: NDArray[np.int64]
    """Where in the array each name stands, but the first."""
    first: str

    def __len__(self) -> int:
        return len(self.rows) + 1

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[i] for i in range(len(self))[index]]
        place = range(len(self))[index]
        return str(self.array[int(self.rows[place - 1])]) if place else self.first

    def __iter__(self) -> Iterator[str]:
        return iter(self.unpacked().tolist())

    def unpacked(self) -> Names:
        """Return a new array of str."""
        import pyarrow as pa

        # Gathering the bytes first, on all cores, is quicker than moving a str for each name.
        gathered = map_row_blocks(
            lambda block: self.array.take(pa.array(self.rows[block])), len(self.rows), _ROW_BYTES
        )
        names: Names = pa.chunked_array([[self.first], *gathered]).to_numpy()
        return names


def as_names(values: Any, what: str, count: int) -> Names:
    """Return a new array of `count` objects."""
    array = np.empty(count, dtype=object)
    if len(values) != count:
        raise TreeError(f"{what} needs one entry a node, {count} in all; got {len(values)}.")
    array[:] = values
    return array


def with_control(names: Iterable[str]) -> Iterator[str]:
    """Yield the names that hold control characters. Tabs and line ends may stand: every format can quote them."""
    listed = list(names)
    if not "".join(listed).isprintable():
        yield from filter(_CONTROL.search, listed)


def check_names(names: Names) -> None:
    """Refuse names that are not distinct, not empty and str; make subclasses of str plain."""
    listed = names.tolist()
    kinds = set(map(type, listed))
    if not all(issubclass(kind, str) for kind in kinds):
        offender = next(name for name in listed if not isinstance(name, str))
        raise TreeError(f"Names must be strings; {offender!r} is {type(offender).__name__}.")
    if kinds != {str}:
        names[:] = list(map(str, listed))  # np.str_ and other subclasses become plain str
    offender = next(with_control(names.tolist()), None)
    if offender is not None:
        raise TreeError(f"The name {offender!r} holds a control character. Remove it, or write a blank instead.")
    distinct = set(names.tolist())
    if "" in distinct:
        raise TreeError(f"Node {listed.index('')} has an empty name; every class needs one.")
    if len(distinct) < len(listed):
        seen: set[str] = set()
        offender = next(name for name in listed if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise TreeError(f"The name {offender!r} stands for two nodes; names must be distinct.")
