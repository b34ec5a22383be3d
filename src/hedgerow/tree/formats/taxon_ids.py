"""Large tables whose rows refer to each other by id, as columns of Arrow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import counted
from hedgerow.tree.validation import Origin, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from hedgerow.tree.layout import Indices


def arrow() -> Any:
    """Return pyarrow with its functions; importing it takes long, and few trees need it."""
    import pyarrow
    import pyarrow.compute

    return pyarrow


@dataclass(frozen=True)
class Ids:
    """The column of ids by which the rows of a large table refer to each other."""

    ids: Any
    origin: Origin
    header: int = 0
    """The number of lines before the first row."""

    def at(self, rows: Iterable[int]) -> str:
        """Describe the location of rows."""
        return self.origin.at(*(int(row) + self.header + 1 for row in rows))

    def rows(self, wanted: Any) -> Indices:
        """Return the rows of some ids; -1 for unknown ids."""
        found = arrow().compute.index_in(wanted, value_set=self.ids)
        return np.asarray(found.fill_null(-1), dtype=np.int64)

    def repeated(self) -> Iterator[Problem]:
        """Describe duplicate ids."""
        first = self.rows(self.ids)
        again = np.flatnonzero(first != np.arange(len(first))).tolist()
        if again:
            where = self.at([first[again[0]], again[0]])
            repeats = counted(len(again), "row repeats", "rows repeat")
            message = f"{repeats} an id, such as {self.ids[again[0]]} ({where})."
            yield Problem("duplicate id", message, "Keep one row per id.")

    def unknown(self, wanted: Any, which: NDArray[np.bool_], what: str) -> Iterator[Problem]:
        """Describe rows that refer to unknown ids."""
        rows = np.flatnonzero(which).tolist()
        if rows:
            listed = "; ".join(f"{self.ids[row]} has {wanted[row]} ({self.at([row])})" for row in rows[:5])
            yield Problem(
                "unknown id",
                f"{counted(len(rows), 'taxon has', 'taxa have')} {what} without a row of its own: {listed}.",
                "Is the file cut off, or cut down? Get it again, add these rows, or clear the ids.",
            )


def texts(array: Any) -> list[str]:
    """Convert an Arrow array of text to a list; faster through NumPy than with Arrow."""
    listed: list[str] = array.to_numpy(zero_copy_only=False).tolist()
    return listed


def few_texts(array: Any) -> list[str]:
    """Convert an Arrow array of few distinct texts, such as ranks, to a list; equal texts are one object."""
    coded = array.dictionary_encode()
    distinct = np.array(coded.dictionary.to_pylist() or [""], dtype=object)
    listed: list[str] = distinct[coded.indices.to_numpy(zero_copy_only=False)].tolist()
    return listed


def names_with_ids(names: Any, ids: Sequence[Any] | NDArray[Any]) -> tuple[list[str], list[str], Indices]:
    """Turn shared names into "name [id]".

    Returns the names of all nodes; then the shared names, once for each of their nodes, and these nodes.
    """
    coded = names.dictionary_encode()
    code = coded.indices.to_numpy(zero_copy_only=False)
    listed = texts(names)
    nodes = np.flatnonzero(np.bincount(code)[code] > 1) if len(code) else np.zeros(0, dtype=np.int64)
    shared = [listed[node] for node in nodes.tolist()]
    for name, node in zip(shared, nodes.tolist(), strict=True):
        listed[node] = f"{name} [{ids[node]}]"
    return listed, shared, nodes
