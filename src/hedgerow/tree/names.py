"""Names of nodes as arrays of str: checks, other names and look-up."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hedgerow.errors import ParameterError, TreeError, UnknownNameError, argument, closest, counted, some

if TYPE_CHECKING:
    from hedgerow.tree.layout import Indices

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


def plain_names(values: Iterable[Any]) -> list[str]:
    """Return names as plain str, not NumPy's; raise an error if one is something else."""
    names = list(values)
    kinds = set(map(type, names))
    if not all(issubclass(kind, str) for kind in kinds):
        offender = next(name for name in names if not isinstance(name, str))
        raise TreeError(f"Names must be strings; {offender!r} is {type(offender).__name__}.")
    return names if kinds <= {str} else list(map(str, names))


def as_texts(values: Any, what: str, count: int) -> Names:
    """Return ranks or titles, one per node, as lines of text: line ends and tabs become spaces."""
    texts = as_names(values, what, count)
    if not "".join(texts).isprintable():
        texts[:] = [_BREAK.sub(" ", text) for text in texts]
    return texts


def printable(text: str) -> str:
    """Return text with its control characters escaped, as `repr` would write them."""
    return _CONTROL.sub(lambda found: ascii(found.group())[1:-1], text)


def with_control(names: Iterable[str]) -> Iterator[str]:
    """Yield the names with control characters. Tabs and line ends are allowed: every format can quote them."""
    listed = list(names)
    if not "".join(listed).isprintable():
        yield from filter(_CONTROL.search, listed)


def check_root(root: Any) -> None:
    """Raise an error unless this can be the name of an added root."""
    if not _is_name(root):
        raise ParameterError(
            f"The root needs a name, text without control characters: {argument('root', 'NAME')}, not {root!r}."
        )


@final
@dataclass(frozen=True, eq=False, repr=False)
class Aliases(Mapping[str, int]):
    """A mapping from other names to nodes; ambiguous names are not part of it.

    There may be millions of aliases, few of which are ever looked up, so the dictionary is built on first use.

    Parameters
    ----------
    names
        The aliases; the same one may occur several times.
    nodes
        The node of each alias.

    >>> aliases = Aliases(["puma", "cougar", "lion", "lion"], np.array([3, 3, 4, 5]))
    >>> dict(aliases), "lion" in aliases
    ({'puma': 3, 'cougar': 3}, False)
    """

    names: Sequence[str]
    nodes: Indices

    @classmethod
    def of(cls, given: Mapping[str, int] | Iterable[tuple[str, int]] | None) -> Aliases:
        """Return the aliases in a mapping or in pairs; raise an error if one is not a name or has no node."""
        if isinstance(given, Aliases):
            return given
        pairs = list((given.items() if isinstance(given, Mapping) else given) or ())
        nodes = [node for _, node in pairs]
        if not all(isinstance(node, int | np.integer) and abs(int(node)) < 1 << 62 for node in nodes):
            raise TreeError("Every alias must have the index of a node.")
        return cls([name for name, _ in pairs], np.array(nodes, dtype=np.int64)).check()

    def check(self) -> Aliases:
        """Raise an error if an alias is not a name."""
        names = self.names
        if set(map(type, names)) - {str} or not all(map(str.strip, names)) or any(with_control(names)):
            offender = next(name for name in names if not _is_name(name))
            raise TreeError(
                f"The alias {offender!r} is not a name: text that is not blank, without control characters."
            )
        return self

    def moved(self, place: Indices, kept: NDArray[np.bool_] | None = None) -> Aliases:
        """Return the aliases of kept nodes, with the nodes renumbered."""
        if self.nodes.size and not 0 <= self.nodes.min() <= self.nodes.max() < len(place):
            raise TreeError(f"Every alias must have the index of a node, 0 to {len(place) - 1}.")
        if kept is None:
            return Aliases(self.names, place[self.nodes])
        chosen = np.flatnonzero(kept[self.nodes])
        return Aliases([self.names[i] for i in chosen.tolist()], place[self.nodes[chosen]])

    def several(self, name: str) -> list[int]:
        """Return the nodes of an ambiguous name; [] if it is not ambiguous."""
        nodes = {int(node) for other, node in zip(self.names, self.nodes, strict=True) if other == name}
        return sorted(nodes) if len(nodes) > 1 else []

    @cached_property
    def _index(self) -> dict[str, int]:
        found: dict[str, int] = {}
        several: set[str] = set()
        for name, node in zip(self.names, self.nodes.tolist(), strict=True):
            if found.setdefault(name, node) != node:
                several.add(name)
        for name in several:
            del found[name]
        return found

    def __bool__(self) -> bool:
        return len(self.names) > 0

    def __len__(self) -> int:
        return len(self._index)

    def __iter__(self) -> Iterator[str]:
        return iter(self._index)

    def __getitem__(self, name: str) -> int:
        return self._index[name]

    def __repr__(self) -> str:
        return repr(self._index)


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and bool(name.strip()) and not any(with_control([name]))


def suggestion(unknown: Sequence[str], index: Mapping[str, int], aliases: Aliases) -> str:
    """Return a sentence that suggests names for unknown ones; "" if none is similar."""
    for name in unknown:
        nodes = aliases.several(name)
        if nodes:
            listed = list(index)
            return f" {name!r} may mean {some(listed[node] for node in nodes)}."
    return closest(unknown, index)


def find(name: object, index: Mapping[str, int], aliases: Mapping[str, int]) -> int | None:
    """Return the index of a name or an alias; None if it is neither."""
    if not isinstance(name, str):
        return None
    return index[name] if name in index else aliases.get(name)


def look_up(names: ArrayLike, index: Mapping[str, int], aliases: Aliases) -> NDArray[np.int64]:
    """Return the indices of an array of names, in its shape; an error about unknown names suggests known ones."""
    array = np.asarray(names, dtype=object)
    flat = array.ravel().tolist()
    try:
        found = np.fromiter(map(index.__getitem__, flat), dtype=np.int64, count=len(flat))
    except (KeyError, TypeError):
        known = [find(name, index, aliases) for name in flat]
        if None in known:
            missing = (str(name) for name, node in zip(flat, known, strict=True) if node is None)
            unknown = list(dict.fromkeys(missing))
            raise UnknownNameError(
                f"{counted(len(unknown), 'name is', 'names are')} not in the tree: {some(unknown)}."
                f"{suggestion(unknown[:5], index, aliases)}"
            ) from None
        found = np.array(known, dtype=np.int64)
    return found.reshape(array.shape)
