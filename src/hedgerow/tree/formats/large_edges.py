"""A short cut for large edge lists without quotes: lines are split and names are matched by whole arrays.

Of n lines, the child on line i is string i and the parent string n + i. Equal strings are grouped, in the order of
their numbers: a group is a child, followed by the lines on which it is the parent, that is, by its own children.
Only the root's group has no child in it.
"""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import at_once, map_at_once
from hedgerow.tree.formats.string_match import WORD, Numbers, Positions, Strings, Words, group
from hedgerow.tree.formats.table import NodeTable
from hedgerow.tree.layout import DepthFirst, order_families
from hedgerow.tree.names import PackedNames

LARGE = 2 << 20
"""Bytes from which on the short cut pays, Arrow and what it loads included."""
LARGEST = (1 << 31) - (1 << 10)
"""Bytes from which on positions would not be numbers of 32 bits."""
PADDING = WORD + 2
"""Bytes that must follow the text: a line end may be written there, and words are read beyond the last name."""
LONGEST_LINE = 1 << 12
"""Bytes that a line may have here: names are hashed 8 bytes at a time, all as often as the longest needs."""
_BLANK, _DELETE = 0x20, 0x7F
_CONTROL = re.compile(rb"\xc2[\x80-\x9f]")  # those beyond ASCII
_BLANKS = [blank.encode()[:2] for blank in map(chr, range(0x80, 0x3001)) if blank.isspace()]
_BLANK_BEGINNINGS = np.unique(np.frombuffer(b"".join(_BLANKS), dtype="<u2"))  # of blanks beyond ASCII
# Of text that is split at a time: threads on smaller parts spend their time waiting for the interpreter lock.
_PART_BYTES = 1 << 20

Text = NDArray[np.uint8]


def read_large_edges(data: Text, delimiter: str, *, header: bool) -> NodeTable | None:
    """Read an edge list, or return None where it takes the patient reader: for quotes, or anything wrong."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return None
    end = len(data) - PADDING
    last = data[max(0, end - WORD) : end].tobytes()
    end -= len(last) - len(last.rstrip(b"\r\n"))
    first_line = data[:LONGEST_LINE].tobytes().partition(b"\n")[0]
    line_end = b"\r\n" if first_line.endswith(b"\r") else b"\n"
    stop = end + len(line_end)
    data[end:stop] = list(line_end)
    names = _split(data, slice(len(first_line) + 1 if header else 0, stop), delimiter.encode(), line_end)
    if names is None:
        fewer = _without_blank_lines(data[:stop].tobytes(), line_end)
        if len(fewer) == stop:
            return None
        padded = np.concatenate([np.frombuffer(fewer, dtype=np.uint8), np.zeros(PADDING, dtype=np.uint8)])
        return read_large_edges(padded, delimiter, header=header)
    count = len(names) // 2
    groups = group(names, distinct=count)
    # First without being a child: a root. A child without being first: a duplicate.
    is_child = groups.members < count
    top = np.flatnonzero(groups.is_first != is_child)
    if len(top) != 1 or is_child[top[0]]:
        return None
    number = groups.members[top[0]]
    root = data[names.start[number] : names.end[number]].tobytes().decode()
    layout, certain = at_once(lambda: _order(groups.members, is_child, int(top[0])), groups.agree)
    if not certain or len(layout.order) <= count or not root.strip():
        return None
    return NodeTable(_in_order(data, names, layout.order, root), layout.parent, layout=layout)


def _without_blank_lines(text: bytes, line_end: bytes) -> bytes:
    while 2 * line_end in text:
        text = text.replace(2 * line_end, line_end)
    return text


def _split(data: Text, lines: slice, delimiter: bytes, line_end: bytes) -> Strings | None:
    """Return the children of all lines and, after them, the parents of all lines."""
    cuts = {lines.start, lines.stop}
    for at in range(lines.start + _PART_BYTES, lines.stop, _PART_BYTES):
        line_end_at = data[at : min(at + LONGEST_LINE, lines.stop)].tobytes().find(b"\n")
        if line_end_at < 0:
            return None
        cuts.add(at + line_end_at + 1)
    parts = [slice(*part) for part in pairwise(sorted(cuts))]
    found = map_at_once(lambda part: _split_part(data, part, delimiter, line_end), parts)
    spans = [span for span in found if span is not None]
    if not parts or len(spans) < len(parts):
        return None
    start, end = (np.concatenate(pieces, axis=1).ravel() for pieces in zip(*spans, strict=True))
    words: Words = np.ndarray(lines.stop + 1, dtype="<u8", buffer=data, strides=(1,))
    return Strings(words, start, end)


def _split_part(data: Text, part: slice, delimiter: bytes, line_end: bytes) -> tuple[Numbers, Numbers] | None:
    """Return where the names on some lines start and where they end, children in row 0, parents in row 1."""
    text = data[part]
    if text.max() > _DELETE and not _is_clean(text.tobytes()):
        return None
    special = text < _BLANK
    for character in (*delimiter, *b'"\x7f'):
        special |= text == character
    found = np.flatnonzero(special)
    line = delimiter + line_end
    if text[found].tobytes() != line * (len(found) // len(line)):
        return None
    after_parent, after_child, *_ = columns = found.reshape(-1, len(line)).T
    newline = columns[-1]
    if np.any(newline - after_child >= len(line_end)) or np.diff(newline, prepend=-1).max() > LONGEST_LINE:
        return None
    if _any_blank(text, after_parent + 1, after_child):
        return None
    start, end = np.empty((2, 2, len(newline)), dtype=np.int32)
    np.add(after_parent, 1, out=start[0])
    end[0] = after_child
    start[1, 0] = 0
    np.add(newline[:-1], 1, out=start[1, 1:])
    end[1] = after_parent
    start += part.start
    end += part.start
    return start, end


def _is_clean(text: bytes) -> bool:
    """Tell whether text is UTF-8 without control characters beyond ASCII."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return _CONTROL.search(text) is None


def _any_blank(text: Text, start: Positions, end: Positions) -> bool:
    """Tell whether there are names of nothing but blanks; only those that begin with one are looked at closely."""
    first = text[start]
    doubtful = np.flatnonzero((first <= _BLANK) | (first > _DELETE))
    if not len(doubtful):
        return False
    first = first[doubtful]
    two_bytes = first + 256 * text.take(start[doubtful] + 1, mode="clip").astype(np.uint16)
    doubtful = doubtful[(first <= _BLANK) | np.isin(two_bytes, _BLANK_BEGINNINGS)]
    return any(not text[start[row] : end[row]].tobytes().decode().strip() for row in doubtful.tolist())


def _order(members: Numbers, is_child: NDArray[np.bool_], top: int) -> DepthFirst:
    """Return the children, by number, in depth-first order; the root gets the number after the last."""
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


def _in_order(data: Text, names: Strings, order: Positions, root: str) -> PackedNames:
    """Return the names of the children in depth-first order, the root's first."""
    import pyarrow as pa

    # To Arrow strings lie one after the other: every second one is a child, the others what stands in between.
    count = len(names) // 2
    bounds = np.stack((names.start[:count], names.end[:count]), axis=1)
    array = pa.StringArray.from_buffers(2 * count - 1, pa.py_buffer(bounds), pa.py_buffer(data))
    return PackedNames(array, 2 * order[1:], root)
