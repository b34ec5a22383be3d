"""A short cut for large edge lists without quotes: lines are split and names are matched by whole arrays."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from hedgerow._names import PackedNames
from hedgerow._threads import at_once, map_at_once, map_row_blocks
from hedgerow.parents import DepthFirst, order_families
from hedgerow.tree_files.string_match import WORD, Numbers, Positions, Strings, Words, group
from hedgerow.tree_files.table import NodeTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

LARGE = 1 << 20
"""Bytes from which on the short cut is worth loading Arrow."""
_LARGEST = (1 << 31) - 64  # positions are numbers of 32 bits
_BLANK, _DELETE = 0x20, 0x7F
_CONTROL = re.compile(rb"\xc2[\x80-\x9f]")  # those beyond ASCII
_BLANKS = [blank.encode()[:2] for blank in map(chr, range(0x80, 0x3001)) if blank.isspace()]
_TWO_BYTES = np.unique(np.frombuffer(b"".join(_BLANKS), dtype="<u2"))  # with which blanks beyond ASCII begin
_PART_BYTES = 1 << 19  # of text that is split at a time
_ROW_BYTES = 64  # about what a name takes
_Part = tuple[int, int]


def read_large_edges(data: bytes, delimiter: str, *, header: bool) -> NodeTable | None:
    """Read an edge list, or return None where it takes the patient reader: for quotes, or anything wrong."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return None
    if len(data) > _LARGEST:
        return None
    line_end = b"\r\n" if data[: data.find(b"\n") + 1].endswith(b"\r\n") else b"\n"
    end = len(data) - len(data[-WORD:]) + len(data[-WORD:].rstrip(b"\r\n"))
    text = b"".join([memoryview(data)[:end], line_end, bytes(WORD)])
    names = _split(text, text.find(b"\n") + 1 if header else 0, delimiter.encode(), line_end)
    if names is None:
        return None
    count = len(names) // 2
    groups = group(names, distinct=count)
    # The child comes first in each group, for its number is the lowest. Only the root's group has none.
    is_child = groups.members < count
    top = np.flatnonzero(groups.is_first != is_child)
    if len(top) != 1 or is_child[top[0]]:
        return None
    number = groups.members[top[0]]
    root = text[names.start[number] : names.end[number]].decode()
    layout, certain = at_once(lambda: _order(groups.members, is_child, int(top[0])), groups.agree)
    if not certain or len(layout.order) <= count or not root.strip():
        return None
    return NodeTable(_in_order(text, names, layout.order, root), layout.parent, layout=layout)


def _split(text: bytes, begin: int, delimiter: bytes, line_end: bytes) -> Strings | None:
    """Return the children of all lines and, after them, the parents of all lines."""
    stop = len(text) - WORD
    inner = {text.find(b"\n", at, stop) + 1 for at in range(begin + _PART_BYTES, stop, _PART_BYTES)}
    parts = list(pairwise(sorted(inner | {begin, stop})))
    found = map_at_once(lambda part: _split_part(text, part, delimiter, line_end), parts)
    spans = [span for span in found if span is not None]
    if not parts or len(spans) < len(parts):
        return None
    start, end = (np.concatenate(pieces, axis=1).ravel() for pieces in zip(*spans, strict=True))
    words: Words = np.ndarray(stop + 1, dtype="<u8", buffer=text, strides=(1,))
    return Strings(words, start, end)


def _split_part(text: bytes, part: _Part, delimiter: bytes, line_end: bytes) -> tuple[Numbers, Numbers] | None:
    """Return where the names on some lines start and where they end, children in row 0, parents in row 1."""
    if text.find(b'"', *part) >= 0 or text.find(_DELETE, *part) >= 0:
        return None
    data = np.frombuffer(text, dtype=np.uint8)[slice(*part)]
    if data.max() > _DELETE and not _is_clean(text, part):
        return None
    special = data < _BLANK
    special |= data == ord(delimiter)
    found = np.flatnonzero(special)
    line = delimiter + line_end
    if data[found].tobytes() != line * (len(found) // len(line)):
        return None
    found += part[0]
    lines = found.reshape(-1, len(line)).T
    start, end = np.empty((2, 2, len(lines[0])), dtype=np.int32)
    np.add(lines[0], 1, out=start[0])
    end[0] = lines[1]
    start[1, 0] = part[0]
    np.add(lines[-1, :-1], 1, out=start[1, 1:])
    end[1] = lines[0]
    if np.any(lines[-1] - lines[1] != len(line_end) - 1) or _any_blank(text, start[0], end[0]):
        return None
    return start, end


def _is_clean(text: bytes, part: _Part) -> bool:
    """Tell whether a part is UTF-8 without control characters beyond ASCII."""
    try:
        text[slice(*part)].decode()
    except UnicodeDecodeError:
        return False
    return _CONTROL.search(text, *part) is None


def _any_blank(text: bytes, start: Numbers, end: Numbers) -> bool:
    """Tell whether there are names of nothing but blanks; only those that begin with one are looked at closely."""
    data = np.frombuffer(text, dtype=np.uint8)
    first = data[start]
    doubtful = np.flatnonzero((first <= _BLANK) | (first > _DELETE))
    first = first[doubtful]
    two_bytes = first + 256 * data[start[doubtful] + 1].astype(np.uint16)
    doubtful = doubtful[(first <= _BLANK) | np.isin(two_bytes, _TWO_BYTES)]
    return any(not text[start[row] : end[row]].decode().strip() for row in doubtful.tolist())


def _order(members: Numbers, is_child: NDArray[np.bool_], top: int) -> DepthFirst:
    """Return the children, by number, in depth-first order; the root gets the number after the last.

    A child's group are the lines on which it is the parent, that is, the numbers of its own children.
    """
    count = len(members) // 2
    at = np.flatnonzero(~is_child)
    by_parent = np.empty(count + 1, dtype=np.int32)
    by_parent[0] = count
    np.subtract(members[at], count, out=by_parent[1:])
    is_eldest = np.diff(at, prepend=-1) > 1
    of_root = np.searchsorted(at, top)
    is_eldest[of_root] = True
    eldest = np.flatnonzero(is_eldest)
    parents = members[at[eldest] - 1].astype(np.int64)
    parents[np.searchsorted(eldest, of_root)] = count
    return order_families(by_parent, parents, eldest + 1)


def _in_order(text: bytes, names: Strings, order: Positions, root: str) -> PackedNames:
    """Return the names of the children in depth-first order, the root's first."""
    import pyarrow as pa

    # To Arrow strings lie one after the other: every second one is a child, the others what stands in between.
    count = len(names) // 2
    bounds = np.stack((names.start[:count], names.end[:count]), axis=1)
    array = pa.StringArray.from_buffers(2 * count - 1, pa.py_buffer(bounds), pa.py_buffer(text))
    parts = map_row_blocks(lambda block: array.take(pa.array(2 * order[1:][block])), count, _ROW_BYTES)
    return PackedNames(pa.concat_arrays([pa.array([root]), *parts]))
