"""A short cut for large edge lists without quotes: Arrow reads them, and names are matched by whole arrays."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.parents import order_of
from hedgerow.tree_files.string_match import Positions, Strings, match
from hedgerow.tree_files.table import NodeTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

LARGE = 1 << 20
"""Bytes from which on the short cut is worth loading Arrow."""
_FIRST_PLAIN_BYTES = (0x21, 0x7F)  # a name that begins with one of these is not all blanks


def read_large_edges(data: bytes, delimiter: str, *, header: bool) -> NodeTable | None:
    """Read an edge list, or return None where it takes the patient reader: for quotes, or anything wrong."""
    if b'"' in data:
        return None
    try:
        import pyarrow as pa
        from pyarrow import csv
    except ImportError:
        return None
    try:
        table = csv.read_csv(
            pa.BufferReader(data),
            csv.ReadOptions(column_names=["parent", "child"], skip_rows=int(header)),
            csv.ParseOptions(delimiter=delimiter, quote_char=False),
            csv.ConvertOptions(column_types={"parent": pa.string(), "child": pa.string()}),
        )
    except pa.ArrowInvalid:
        return None
    parents, children = (pa.concat_arrays(table[name].chunks) for name in ("parent", "child"))
    del table
    if not len(children):
        return None
    with ThreadPoolExecutor(1) as pool:
        # Making a million str holds the interpreter lock, hashing does not.
        listing = pool.submit(_as_names, children)
        parent = _parents(Strings.from_arrow(parents), Strings.from_arrow(children))
        layout = None if parent is None else order_of(parent)
        names = listing.result()
    if parent is None or layout is None or len(layout.order) < len(parent):
        return None
    names[-1] = parents[int(np.argmax(parent == len(children)))].as_py()
    return NodeTable(names, parent, layout=layout) if names[-1].strip() else None


def _as_names(children: Any) -> NDArray[np.object_]:
    """Return the children's names, and a place for the root."""
    names = np.empty(len(children) + 1, dtype=object)
    names[:-1] = children.to_numpy(zero_copy_only=False)
    return names


def _parents(parents: Strings, children: Strings) -> Positions | None:
    """Return the position of each child's parent among the children; the root comes last."""
    if _any_blank(children):
        return None
    parent = match(children, parents)
    if parent is None:
        return None
    top = np.flatnonzero(parent < 0)
    if not len(top) or not parents.same(top):
        return None
    parent[top] = len(children)
    return np.append(parent, -1)


def _any_blank(names: Strings) -> bool:
    first = names.data[names.start]
    low, high = _FIRST_PLAIN_BYTES
    doubtful = np.flatnonzero((first < low) | (first > high) | (names.size == 0))
    return any(not names.text(row).strip() for row in doubtful.tolist())
