"""Edge lists: one `parent,child` pair per line, in any order."""

from __future__ import annotations

import os
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import ParameterError, some
from hedgerow.files import atomic_write, decode, delimiter_of, is_path, read_bytes
from hedgerow.tree.formats.edge_problems import edge_problems
from hedgerow.tree.formats.large_edges import read_large
from hedgerow.tree.formats.node_table import NodeTable
from hedgerow.tree.formats.problems import Origin, refuse
from hedgerow.tree.formats.tables import as_table, is_missing, numbered_rows, quoted
from hedgerow.tree.layout import follow
from hedgerow.tree.names import with_control

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from os import PathLike

    from hedgerow.tree.layout import Indices

_LARGE = 1 << 20  # bytes; for smaller files, importing Arrow takes longer than it saves
_HEADER = ["parent", "child"]


def read_edges(source: str | PathLike[str] | Iterable[tuple[str, str]] | Any) -> NodeTable:
    """Read a CSV or TSV file (TSV by its extension), pairs (parent, child), a data frame or records.

    A first line `parent,child`, in any case, is a header. Blank lines are skipped. Names are taken as they are,
    including the spaces around them; a name that consists only of spaces counts as empty.
    """
    if not is_path(source):
        table = as_table(source)
        pairs = table.rows if table.columns is None else _columns(table.columns, table.rows)
        return _read_pairs(lambda: enumerate(pairs, start=1), Origin(None, "pair"))
    path = os.fspath(source)
    delimiter, origin = delimiter_of(path), Origin(path)
    data = read_bytes(path)
    if len(data) >= _LARGE:
        read = _read_large(data, delimiter)
        if read is not None:
            return read
    text = decode(data, path)
    return _read_pairs(lambda: numbered_rows(text, delimiter, origin, skip=_is_header), origin)


def _read_large(data: bytes, delimiter: str) -> NodeTable | None:
    first_line = data[:_LARGE].partition(b"\n")[0].decode("utf-8-sig", "replace")
    if not first_line.strip() or "\r" in first_line[:-1]:
        return None  # it is not clear where the header would be
    family = read_large(data, delimiter, header=_is_header(first_line.split(delimiter)))
    return None if family is None else _assembled(*family)


def _read_pairs(rows: Callable[[], Iterable[tuple[int, Sequence[str]]]], origin: Origin) -> NodeTable:
    try:
        parents, children = [], []
        for _, (parent, child) in rows():
            parents.append(parent)
            children.append(child)
        place = dict(zip(children, range(1, len(children) + 1), strict=True))
        above = np.fromiter(map(place.get, parents, repeat(0)), dtype=np.int64, count=len(parents))
        tops = {parents[i] for i in np.flatnonzero(above == 0).tolist()}
        table = _assembled(children, above, list(tops)) if len(place) == len(children) else None
    except (ValueError, TypeError):  # not pairs, or not of names
        table = None
    if table is None:
        refuse(edge_problems(rows(), origin), origin)
    return table


def _assembled(children: list[str], parent: Indices, tops: list[str]) -> NodeTable | None:
    """Put the root before its descendants; return None if something is wrong with them. See `Family`."""
    names = [*tops, *children]
    if len(tops) != 1 or not all(map(str.strip, names)) or any(with_control(names)):
        return None
    if follow(np.concatenate([[0], parent])).any():
        return None  # some nodes do not lead to the root: they are on a cycle, or below one
    return NodeTable(names, np.concatenate([[-1], parent]))


def _columns(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[Sequence[Any]]:
    """Return the columns of parents and children; a missing value becomes an empty name."""
    called = _folded(columns)
    if sorted(name for name in called if name in _HEADER) == sorted(_HEADER):
        parent, child = map(called.index, _HEADER)
    elif len(columns) == 2:
        parent, child = 0, 1
    else:
        raise ParameterError(
            f"A table of edges needs the columns 'parent' and 'child', or two columns in this order; got "
            f"{some(columns)}. To read whole lineages, use Hierarchy.from_lineages."
        )
    return [["" if is_missing(row[i]) else row[i] for i in (parent, child)] for row in rows]


def _is_header(row: Sequence[str]) -> bool:
    return _folded(row) == _HEADER


def _folded(cells: Iterable[str]) -> list[str]:
    return [cell.strip().lower() for cell in cells]


def write_edges(path: str | PathLike[str], table: NodeTable) -> None:
    """Write a header and `parent,child` lines, in the order of the table."""
    delimiter = delimiter_of(os.fspath(path))
    cells = list(map(quoted, table.names))
    parents = table.parent.tolist()
    with atomic_write(path) as file:
        # With a header, a root called "parent" and its child "child" cannot be mistaken for one.
        file.write(delimiter.join(_HEADER) + "\n")
        file.writelines(
            f"{cells[parent]}{delimiter}{cell}\n"
            for cell, parent in zip(cells, parents, strict=True)
            if parent >= 0
        )
