"""A short cut for large edge lists without quotes: Arrow reads them, and names are matched by whole arrays."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from hedgerow._threads import map_row_blocks
from hedgerow.parents import order_of
from hedgerow.tree_files.string_match import Positions, Strings, match
from hedgerow.tree_files.table import NodeTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

LARGE = 1 << 20
"""Bytes from which on the short cut is worth loading Arrow."""
_BLANK, _DELETE = 0x20, 0x7F
_CONTROL = re.compile(rb"\xc2[\x80-\x9f]")  # those beyond ASCII
_BLANKS = [blank.encode()[:2] for blank in map(chr, range(0x80, 0x3001)) if blank.isspace()]
_TWO_BYTES = np.unique(np.frombuffer(b"".join(_BLANKS), dtype="<u2"))  # with which blanks beyond ASCII begin
_ROW_BYTES = 64  # about what a name takes


def read_large_edges(data: bytes, delimiter: str, *, header: bool) -> NodeTable | None:
    """Read an edge list, or return None where it takes the patient reader: for quotes, or anything wrong."""
    if b'"' in data or _DELETE in data or (b"\xc2" in data and _CONTROL.search(data)):
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
        parents, children = (Strings.from_arrow(table[name].chunks) for name in ("parent", "child"))
    except pa.ArrowInvalid:  # also for names of more than 2 GiB in all
        return None
    del table
    if not len(children) or _any_control(parents) or _any_control(children) or _any_blank(children):
        return None
    parent = match(children, parents)
    if parent is None:
        return None
    top = np.flatnonzero(parent < 0)
    roots = parents.distinct(top)
    if len(roots) != 1 or not roots[0].strip():
        return None
    parent[top] = len(children)  # the root comes last
    layout = order_of(np.append(parent, -1))
    if layout is None or len(layout.order) <= len(children):
        return None
    return NodeTable(_in_order(children, layout.order, roots[0]), layout.parent, layout=layout)


def _any_control(names: Strings) -> bool:
    """Tell whether there are control characters of ASCII; tabs are left to the patient reader as well."""
    return bool(names.data.min() < _BLANK)


def _any_blank(names: Strings) -> bool:
    """Tell whether there are names of nothing but blanks; only those that begin with one are looked at closely."""
    first = names.data[names.offset[:-1]]
    doubtful = (first == _BLANK) | (np.diff(names.offset) == 0)
    beyond = np.flatnonzero(first > _DELETE)
    doubtful[beyond] = np.isin(names.words[names.offset[beyond]].astype("<u2"), _TWO_BYTES)
    return any(not names.text(row).strip() for row in np.flatnonzero(doubtful).tolist())


def _in_order(children: Strings, order: Positions, root: str) -> NDArray[np.object_]:
    """Return the names in depth-first order, the root's first."""
    import pyarrow as pa

    # Gathering the bytes first, on all cores, is quicker than moving a str for each name.
    gathered = map_row_blocks(lambda block: children.take(order[block]), len(order), _ROW_BYTES)
    names: NDArray[np.object_] = pa.chunked_array(gathered).to_numpy()
    names[0] = root
    return names
