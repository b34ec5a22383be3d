"""Names of nodes as arrays of str: what they must be, and where they stand."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import TreeError, UnknownNameError, closest, counted, some

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import ArrayLike

Names = NDArray[np.object_]

CONTROL = "".join(map(chr, {*range(0x20), *range(0x7F, 0xA0)} - {*b"\t\n\r"}))
"""What no name may hold: NumPy drops a NUL at the end of text, and an escape can rewrite what a terminal shows."""
_CONTROL = re.compile(f"[{re.escape(CONTROL)}]")


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


def look_up(names: ArrayLike, index: Mapping[str, int]) -> NDArray[np.int64]:
    """Return the indices of an array of names, in its shape; refuse names that are not there, with near ones."""
    array = np.asarray(names, dtype=object)
    flat = array.ravel().tolist()
    try:
        found = np.fromiter(map(index.__getitem__, flat), dtype=np.int64, count=len(flat))
    except (KeyError, TypeError):
        unknown = list(dict.fromkeys(str(name) for name in flat if name not in index))
        raise UnknownNameError(
            f"{counted(len(unknown), 'name is', 'names are')} not in the tree: {some(unknown)}."
            f"{closest(unknown[:5], index)}"
        ) from None
    return found.reshape(array.shape)
