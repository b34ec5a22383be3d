"""Names of nodes as arrays of str: checks and look-up."""

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
"""Characters not allowed in names: NumPy drops a trailing NUL, and an escape can change what a terminal shows."""
_CONTROL = re.compile(f"[{re.escape(CONTROL)}]")
_BREAK = re.compile(r"[\t\r\n]")


def as_names(values: Any, what: str, count: int) -> Names:
    """Return a new array of `count` objects."""
    array = np.empty(count, dtype=object)
    if len(values) != count:
        raise TreeError(f"{what} needs one entry per node, {count} in all; got {len(values)}.")
    array[:] = values
    return array


def as_texts(values: Any, what: str, names: Names) -> Names:
    """Return ranks or titles, one per node, as text that is safe to print: line ends and tabs become spaces."""
    texts = as_names(values, what, len(names))
    listed = texts.tolist()
    if set(map(type, listed)) - {str}:
        listed = list(map(str, listed))
        texts[:] = listed
    if not "".join(listed).isprintable():
        for i, text in enumerate(listed):
            if _CONTROL.search(text):
                raise TreeError(
                    f"The {what} of {names[i]!r} contains a control character: {text!r}. Remove it, or replace it "
                    f"by a space."
                )
            texts[i] = _BREAK.sub(" ", text)
    return texts


def checked_aliases(aliases: Mapping[str, int], count: int) -> dict[str, int]:
    """Return aliases as a dict of their own; raise an error unless they are text and stand for nodes."""
    nodes = set(aliases.values())
    if not all(isinstance(node, int) for node in nodes) or (nodes and not 0 <= min(nodes) <= max(nodes) < count):
        raise TreeError(f"Every alias must stand for the index of a node, 0 to {count - 1}.")
    if not all(map(_is_name, aliases)) or any(with_control(aliases)):
        offender = next((alias for alias in aliases if not _is_name(alias)), None) or next(with_control(aliases))
        raise TreeError(f"The alias {offender!r} is not a name: text without control characters.")
    return dict(aliases)


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and bool(name.strip())


def with_control(names: Iterable[str]) -> Iterator[str]:
    """Yield the names with control characters. Tabs and line ends are allowed: every format can quote them."""
    listed = list(names)
    if not "".join(listed).isprintable():
        yield from filter(_CONTROL.search, listed)


def check_names(names: Names) -> None:
    """Raise an error unless names are distinct, non-empty strings; convert subclasses of str to plain str."""
    listed = names.tolist()
    kinds = set(map(type, listed))
    if not all(issubclass(kind, str) for kind in kinds):
        offender = next(name for name in listed if not isinstance(name, str))
        raise TreeError(f"Names must be strings; {offender!r} is {type(offender).__name__}.")
    if kinds != {str}:
        names[:] = list(map(str, listed))  # np.str_ and other subclasses become plain str
    offender = next(with_control(names.tolist()), None)
    if offender is not None:
        raise TreeError(
            f"The name {offender!r} contains a control character. Remove it, or replace it by a space."
        )
    distinct = set(names.tolist())
    if "" in distinct:
        raise TreeError(f"Node {listed.index('')} has an empty name; every class needs one.")
    if len(distinct) < len(listed):
        seen: set[str] = set()
        offender = next(name for name in listed if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise TreeError(f"Two nodes have the name {offender!r}; names must be distinct.")


def look_up(names: ArrayLike, index: Mapping[str, int]) -> NDArray[np.int64]:
    """Return the indices of an array of names, in its shape; an error about unknown names suggests known ones."""
    array = np.asarray(names, dtype=object)
    flat = array.ravel().tolist()
    try:
        found = np.fromiter(map(index.__getitem__, flat), dtype=np.int64, count=len(flat))
    except (KeyError, TypeError):
        unknown = list(dict.fromkeys(str(name) for name in flat if not isinstance(name, str) or name not in index))
        raise UnknownNameError(
            f"{counted(len(unknown), 'name is', 'names are')} not in the tree: {some(unknown)}."
            f"{closest(unknown[:5], index)}"
        ) from None
    return found.reshape(array.shape)
