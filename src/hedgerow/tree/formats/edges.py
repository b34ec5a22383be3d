"""Edge lists: one `parent,child` pair per line, in any order."""

from __future__ import annotations

import os
from collections import defaultdict
from itertools import chain, count, repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import ParameterError, argument, nearest, some
from hedgerow.files import atomic_write, decode, delimiter_of, is_path, read_bytes
from hedgerow.tree.formats.large_edges import read_large
from hedgerow.tree.formats.node_table import NodeTable
from hedgerow.tree.formats.problems import Origin, Problem, control_character, no_edges, refuse
from hedgerow.tree.formats.tables import as_table, is_missing, numbered_rows, quoted
from hedgerow.tree.layout import follow
from hedgerow.tree.names import with_control

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from os import PathLike

    from hedgerow.tree.layout import Indices

_LARGE = 1 << 20  # bytes; for smaller files, importing Arrow takes longer than it saves
_HEADER = ["parent", "child"]
_TWO_RANKS = (
    " If this is a table of lineages, with the names of its two ranks on the first line, read it as such: "
)


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


def edge_problems(rows: Iterable[tuple[int, Sequence[str]]], origin: Origin) -> list[Problem]:
    """Find everything that is wrong with an edge list.

    Parameters
    ----------
    rows
        Line and cells of each row, without the header.
    origin
        Where the rows come from.
    """
    rows = list(rows)
    other = _other_format(rows[0][1]) if rows else None
    if other is not None:
        return [
            Problem(
                "format",
                f"{origin.at(rows[0][0])} is the header of another format, {other}: {some(map(str, rows[0][1]))}.",
                f"Say so: {argument('format', other)}.",
            )
        ]
    if rows and _is_header([str(cell) for cell in reversed(rows[0][1])]):
        return [
            Problem(
                "columns",
                f"{origin.at(rows[0][0])} is the header of columns in the other order: {some(rows[0][1])}.",
                "Each line of an edge list is parent,child: exchange the columns.",
            )
        ]
    widths = {len(row) for _, row in rows}
    if len(rows) > 1 and len(widths) == 1 and min(widths) > 2:
        return [_lineages(widths.pop(), origin)]
    problems: list[Problem] = []
    places: dict[tuple[str, str], list[int]] = defaultdict(list)
    for line, row in rows:
        flaw = _row_problem(line, row, origin)
        if flaw is not None:
            problems.append(flaw)
        else:
            places[row[0], row[1]].append(line)
    if not places and not problems:
        return [no_edges(origin)]
    edges: dict[str, list[tuple[int, str]]] = defaultdict(list)  # child -> lines and parents
    for (parent, child), lines in places.items():
        edges[child].append((lines[0], parent))
        if len(lines) > 1:
            problems.append(
                Problem(
                    "duplicate",
                    f"The edge {parent!r} -> {child!r} occurs {len(lines)} times ({origin.at(*lines[:5])}).",
                    "Keep one of these lines.",
                )
            )
    for child, above in edges.items():
        if len(above) > 1:
            listed = "; ".join(f"{parent!r} ({origin.at(line)})" for line, parent in above[:5])
            problems.append(
                Problem(
                    "several parents",
                    f"{child!r} has {len(above)} parents: {listed}.",
                    "A class has only one parent: keep one of these lines, or give the classes different names.",
                )
            )
    problems += cycles(edges, origin)
    tops = list(dict.fromkeys(parent for parent, _ in places if parent not in edges))
    if len(tops) > 1:
        problems.append(
            Problem(
                "several roots",
                f"{origin.subject} has {len(tops):,} roots (classes without a parent): {some(tops, 10)}.",
                f"{_misspelt(tops, edges)}A tree has one root: correct misspelt parents, or put all of them under "
                f"a common root, with lines such as '{_unused([*edges, *tops])},{tops[0]}'."
                + ("" if any(parent in edges for parent, _ in places) else _TWO_RANKS + _as_lineages() + "."),
            )
        )
    return problems


def _other_format(row: Sequence[Any]) -> str | None:
    """Return the format that has such a header."""
    cells = {str(cell).strip().rpartition(":")[2].lower() for cell in row}
    if cells >= {"taxonid", "scientificname"}:
        return "darwin-core"
    return "qiime2" if cells >= {"feature id", "taxon"} else None


def _lineages(columns: int, origin: Origin) -> Problem:
    return Problem(
        "columns",
        f"{origin.subject} has {columns} columns on every line, not 2: it looks like a table of whole lineages.",
        f"If it is one, with the names of the ranks on its first line, read it as lineages: {_as_lineages()}. "
        "In an edge list, each line is parent,child.",
    )


def _as_lineages() -> str:
    return argument("format", "lineages", python="Hierarchy.from_lineages")


def _misspelt(tops: Sequence[str], children: Iterable[str]) -> str:
    pool = [*children, *tops]
    near: dict[str, str] = {}
    for top in tops[:5]:
        found = nearest(top, [other for other in pool if other != top], 1)
        if found and near.get(found[0]) != top:  # of two similar tops, one is enough
            near[top] = found[0]
    listed = "; ".join(f"{top!r} is similar to {other!r}" for top, other in near.items())
    return f"Of these, {listed}. " if near else ""


def _unused(names: Iterable[str]) -> str:
    """Return a name for a root that no class has, ignoring case."""
    taken = {name.casefold() for name in names}
    return next(name for name in chain(["root", "top"], map("top{}".format, count(2))) if name not in taken)


def _row_problem(line: int, row: Sequence[str], origin: Origin) -> Problem | None:
    if len(row) != 2:
        shown = ", ".join(map(repr, row[:4])) + (", ..." if len(row) > 4 else "")
        columns = "column" if len(row) == 1 else "columns"
        return Problem(
            "columns", f"{origin.at(line)} has {len(row)} {columns}, not 2: {shown}.", _column_remedy(row)
        )
    if not all(isinstance(name, str) for name in row):
        return Problem(
            "not a name",
            f"{origin.at(line)} is {tuple(row)!r}.",
            "Names must be strings: convert them with str().",
        )
    if not row[0].strip() or not row[1].strip():
        which = "parent" if not row[0].strip() else "child"
        return Problem(
            "empty name",
            f"{origin.at(line)} has an empty {which}: {row[0]!r}, {row[1]!r}.",
            "Every class needs a name: fill it in, or delete the line.",
        )
    for name in with_control(row):
        return control_character(name, origin.at(line))
    if row[0] == row[1]:
        return Problem(
            "self-loop",
            f"{origin.at(line)} makes {row[0]!r} its own parent.",
            "Delete the line; the root does not need a line of its own.",
        )
    return None


def _column_remedy(row: Sequence[Any]) -> str:
    joined = row[0] if len(row) == 1 and isinstance(row[0], str) else ""
    if "\t" in joined:
        return "The columns are separated by tabs: give the file the extension '.tsv'."
    if ";" in joined:
        return "Separate parent and child by a comma, not by a semicolon."
    if joined.count(",") == 1:
        return "The columns are separated by commas: give the file the extension '.csv'."
    if len(row) == 1:
        return "Each line of an edge list is parent,child; a table of whole lineages needs the format 'lineages'."
    return 'Each line of an edge list is parent,child; put a name that contains a comma in quotes: "a, b".'


def cycles(edges: dict[str, list[tuple[int, str]]], origin: Origin) -> list[Problem]:
    """Walk up from every child, along first parents, and report each cycle once.

    `edges` holds the lines and parents of every child.
    """
    problems: list[Problem] = []
    finished: set[str] = set()
    for child in edges:
        path: dict[str, None] = {}
        node = child
        while node in edges and node not in finished and node not in path:
            path[node] = None
            node = edges[node][0][1]
        if node in path and node not in finished:
            walked = list(path)
            ring = walked[walked.index(node) :][::-1]  # from parent to child
            # Start with the parent on the first of the lines.
            begin = min(range(len(ring)), key=lambda i: edges[ring[i]][0][0]) - 1
            ring = ring[begin:] + ring[:begin]
            lines = sorted(edges[name][0][0] for name in ring)
            shown = ring if len(ring) <= 8 else [*ring[:4], "...", *ring[-3:]]
            problems.append(
                Problem(
                    "cycle",
                    f"These classes are each other's ancestors: {' -> '.join([*shown, shown[0]])} "
                    f"({origin.at(*lines[:8])}).",
                    "Delete or correct one of these lines.",
                )
            )
        finished.update(path)
    return problems


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
