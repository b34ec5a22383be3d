"""A short cut for large edge lists without quotes: Arrow reads them, and names are matched by whole arrays."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from hedgerow.parents import order_of
from hedgerow.tree_files.string_match import Strings, match
from hedgerow.tree_files.table import NodeTable

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
        listing = pool.submit(children.to_numpy, zero_copy_only=False)
        parent = _parents(Strings.from_arrow(parents), Strings.from_arrow(children))
        if parent is None:
            return None
        layout = order_of(parent)
        names = listing.result()
    if layout is None or len(layout.order) < len(parent):
        return None
    root = parents[int(np.argmax(parent[:-1] == len(names)))].as_py()
    if not root.strip():
        return None
    return NodeTable(np.append(names, root), parent, layout=layout)


def _parents(parents: Strings, children: Strings) -> Any:
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
    first = names.words[names.start].view(np.uint64) & np.uint64(0xFF)
    low, high = map(np.uint64, _FIRST_PLAIN_BYTES)
    doubtful = np.flatnonzero((first < low) | (first > high) | (names.size == 0))
    return any(not names.text(row).strip() for row in doubtful.tolist())
