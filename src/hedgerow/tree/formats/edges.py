"""Edge lists, one `parent,child` pair per line in any order; and graphs of networkx."""

from __future__ import annotations

import os
from itertools import chain, count, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import FileError, ParameterError, TreeError, argument, nearest, some
from hedgerow.files import (
    CsvTable,
    InputFile,
    atomic_write,
    delimiter_of,
    is_compressed,
    is_path,
    require_file,
)
from hedgerow.tree.formats.rows import is_missing, open_rows, quoted, scores_instead
from hedgerow.tree.formats.taxon_ids import arrow, texts
from hedgerow.tree.names import plain_names
from hedgerow.tree.validation import FlawedTreeError, NodeTable, Origin, Problem, refuse, validated

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from os import PathLike

    import networkx

_LARGE, _LARGE_PACKED = 1 << 20, 1 << 18  # bytes; for smaller files, importing Arrow takes longer than it saves
_HEADER = ["parent", "child"]
_TWO_RANKS = (
    " If this is a table of lineages, with the names of its two ranks on the first line, read it as such: "
)


def read_edges(source: str | PathLike[str] | Iterable[tuple[str, str]] | Any) -> NodeTable:
    """Read a CSV or TSV file (TSV by its extension), pairs (parent, child), a data frame or records.

    A first line `parent,child`, in any case, is a header. Blank lines are skipped. Names are taken as they are,
    including the spaces around them; a name that consists only of spaces counts as empty.
    """
    if is_path(source):
        require_file(source)
        is_large = Path(source).stat().st_size >= (_LARGE_PACKED if is_compressed(source) else _LARGE)
        if is_large and (table := _read_large(os.fspath(source))) is not None:
            return table
    rows = open_rows(source, "pair", is_header=_is_header)
    pairs = rows if rows.columns is None else _of_columns(rows.columns, rows)
    try:
        return _from_pairs(pairs, rows.origin)
    except FlawedTreeError:
        misread = _other_table(list(pairs), rows.origin)
        if misread is not None:
            refuse([misread], rows.origin)
        raise


def _is_header(row: Sequence[str]) -> bool:
    return _folded(row) == _HEADER


def _of_columns(columns: Sequence[str], rows: Iterable[tuple[int, Sequence[Any]]]) -> list[tuple[int, list[Any]]]:
    """Return the columns of parents and children; a missing value becomes an empty name."""
    called = _folded(columns)
    if sorted(name for name in called if name in _HEADER) == sorted(_HEADER):
        pair = [called.index(name) for name in _HEADER]
    elif len(columns) == 2:
        pair = [0, 1]
    else:
        raise ParameterError(
            f"A table of edges needs the columns 'parent' and 'child', or two columns in this order; got "
            f"{some(columns)}. To read whole lineages, use Hierarchy.from_lineages."
        )
    return [(line, ["" if is_missing(row[i]) else row[i] for i in pair]) for line, row in rows]


def _folded(cells: Iterable[str]) -> list[str]:
    return [cell.strip().lower() for cell in cells]


def _read_large(path: str) -> NodeTable | None:
    """Read a large file with Arrow; return None if the csv module must read it or explain what is wrong."""
    try:
        file = InputFile(path, delimiter_of(path))
        header = _is_header(file.start.partition("\n")[0].split(file.delimiter))
        pairs = CsvTable(file, header=header, quote=False)
        if len(pairs.columns) != 2 or "\r" in file.start.replace("\r\n", ""):
            return None
        pa = arrow()
        parents, children = pairs.whole({0: pa.string(), 1: pa.string()}).values()
        if any(pa.compute.any(pa.compute.match_substring(column, '"')).as_py() for column in (parents, children)):
            return None
        place = pa.compute.index_in(parents, value_set=children)
        tops = parents.filter(place.is_null()).unique()
        if len(tops) != 1:
            return None
        names = texts(pa.concat_arrays([tops, children]))
        table = NodeTable(names, np.concatenate([[-1], place.fill_null(-1).to_numpy() + 1]).astype(np.int64))
        return validated(table, Origin(None), lambda _: "")
    except (FileError, FlawedTreeError, ImportError):
        return None


def _from_pairs(rows: Iterable[tuple[int, Sequence[Any]]], origin: Origin) -> NodeTable:
    problems: list[Problem] = []
    parents: list[str] = []
    children: list[str] = []
    lines: list[int] = []
    for line, row in rows:
        if len(row) == 2 and isinstance(row[0], str) and isinstance(row[1], str):
            parents.append(row[0])
            children.append(row[1])
            lines.append(line)
        else:
            problems.append(_not_a_pair(line, row, origin))
    # The first position of each child, if one is repeated.
    place = dict(zip(reversed(children), range(len(children) - 1, -1, -1), strict=True))
    above = np.fromiter(map(place.get, parents, repeat(-1)), dtype=np.int64, count=len(parents))
    under_top = np.flatnonzero(above < 0).tolist()
    first: dict[str, int] = {}  # the first line of each parent that is not a child
    for pair in under_top:
        first.setdefault(parents[pair], lines[pair])
    tops = {top: number for number, top in enumerate(first)}
    above += len(tops)
    above[under_top] = [tops[parents[pair]] for pair in under_top]
    return validated(
        NodeTable(plain_names([*tops, *children]), np.concatenate([np.full(len(tops), -1), above])),
        origin,
        origin.places([*first.values(), *lines]),
        problems=problems,
        remedies={
            "duplicate name": "Keep one of these lines.",
            "several parents": "A class has only one parent: keep one of these lines, or give the classes "
            "different names.",
            "several roots": _one_root(list(tops), place, len(under_top) == len(above)) if len(tops) > 1 else "",
        },
    )


def _not_a_pair(line: int, row: Sequence[Any], origin: Origin) -> Problem:
    if len(row) == 2:
        return Problem(
            "not a name",
            f"{origin.at(line)} is {tuple(row)!r}.",
            "Names must be strings: convert them with str().",
        )
    shown = ", ".join(map(repr, row[:4])) + (", ..." if len(row) > 4 else "")
    columns = "column" if len(row) == 1 else "columns"
    return Problem("columns", f"{origin.at(line)} has {len(row)} {columns}, not 2: {shown}.", _column_remedy(row))


def _column_remedy(row: Sequence[Any]) -> str:
    joined = row[0] if len(row) == 1 and isinstance(row[0], str) else ""
    if "\t" in joined:
        return "The columns are separated by tabs: give the file the extension '.tsv'."
    if ";" in joined:
        return (
            "Separate parent and child by a comma, not by a semicolon. If each line is a whole lineage, with the "
            f"names of the ranks on the first line, read it as lineages: {_as_lineages()}."
        )
    if joined.count(",") == 1:
        return "The columns are separated by commas: give the file the extension '.csv'."
    if len(row) == 1:
        return "Each line of an edge list is parent,child; a table of whole lineages needs the format 'lineages'."
    return 'Each line of an edge list is parent,child; put a name that contains a comma in quotes: "a, b".'


def _one_root(tops: Sequence[str], children: Iterable[str], flat: bool) -> str:
    """Return the remedy for several roots, which are often misspelt; `flat` if nothing is deeper than 1."""
    near: dict[str, str] = {}
    names = [*children, *tops]
    for top in tops[:5]:
        found = nearest(top, [other for other in names if other != top], 1)
        if found and near.get(found[0]) != top:  # of two similar tops, one is enough
            near[top] = found[0]
    similar = "; ".join(f"{top!r} is similar to {other!r}" for top, other in near.items())
    taken = {name.casefold() for name in names}
    unused = next(name for name in chain(["root", "top"], map("top{}".format, count(2))) if name not in taken)
    return (
        (f"Of these, {similar}. " if near else "")
        + "A tree has one root: correct misspelt parents, or put all of them under a common root, with lines such "
        + f"as '{unused},{tops[0]}'."
        + (f"{_TWO_RANKS}{_as_lineages()}." if flat else "")
    )


def _as_lineages() -> str:
    return argument("format", "lineages", python="Hierarchy.from_lineages")


def _other_table(rows: Sequence[tuple[int, Sequence[Any]]], origin: Origin) -> Problem | None:
    """Describe what the rows are instead, if they are not an edge list."""
    if not rows:
        return None
    line, first = rows[0]
    cells = [str(cell).strip().rpartition(":")[2].lower() for cell in first]
    for other, header in (("darwin-core", {"taxonid", "scientificname"}), ("qiime2", {"feature id", "taxon"})):
        if header <= set(cells):
            return Problem(
                "format",
                f"{origin.at(line)} is the header of another format, {other}: {some(map(str, first))}.",
                f"Name the format: {argument('format', other)}.",
            )
    if cells == _HEADER[::-1]:
        return Problem(
            "columns",
            f"{origin.at(line)} is the header of columns in the other order: {some(first)}.",
            "Each line of an edge list is parent,child: exchange the columns.",
        )
    widths = {len(row) for _, row in rows}
    if len(rows) > 1 and widths != {2} and (found := scores_instead(origin, rows[1][1])):
        return found
    if len(rows) > 1 and len(widths) == 1 and min(widths) > 2:
        return Problem(
            "columns",
            f"{origin.subject} has {widths.pop()} columns on every line, not 2: it looks like a table of whole "
            f"lineages.",
            f"If it is one, with the names of the ranks on its first line, read it as lineages: {_as_lineages()}. "
            "In an edge list, each line is parent,child.",
        )
    return None


def write_edges(path: str | PathLike[str], table: NodeTable) -> None:
    """Write a header and `parent,child` lines, in the order of the table."""
    delimiter = delimiter_of(os.fspath(path))
    cells = list(map(quoted, table.names))
    with atomic_write(path) as file:
        # With a header, a root called "parent" and its child "child" cannot be mistaken for one.
        file.write(delimiter.join(_HEADER) + "\n")
        file.writelines(
            f"{cells[parent]}{delimiter}{cell}\n"
            for cell, parent in zip(cells, table.parent.tolist(), strict=True)
            if parent >= 0
        )


# Graphs ------------------------------------------------------------------------------------------------------


def read_networkx(graph: networkx.DiGraph) -> NodeTable:
    """Read a directed graph with edges from parent to child; node attributes "rank" and "title" are kept.

    Nodes become `str(node)`.
    """
    if not (hasattr(graph, "edges") and hasattr(graph, "is_directed")) or not graph.is_directed():
        raise TreeError("Give a directed graph: a networkx.DiGraph with edges from parent to child.")
    nodes: dict[str, Any] = {}
    for node in graph.nodes:
        if str(node) in nodes:
            raise TreeError(f"Two nodes of the graph are called {str(node)!r}. Names must be distinct.")
        nodes[str(node)] = node
    # An isolated node is a second root that no edge would reveal.
    alone = [name for name, node in nodes.items() if graph.degree(node) == 0]
    if alone and len(nodes) > 1:
        raise TreeError(f"Isolated nodes, without any edge: {some(alone)}. Add edges, or remove the nodes.")
    table = read_edges((str(parent), str(child)) for parent, child, *_ in graph.edges)

    def attribute(key: str) -> list[str] | None:
        values = [str(graph.nodes[nodes[name]].get(key) or "") for name in table.names]
        return values if any(values) else None

    return NodeTable(table.names, table.parent, attribute("rank"), attribute("title"))


def to_networkx(table: NodeTable) -> networkx.DiGraph:
    """Return a `networkx.DiGraph` of names, with node attributes "rank" and "title" where a node has them."""
    try:
        import networkx
    except ImportError:
        raise ImportError("to_networkx needs networkx, which is not installed: pip install networkx") from None
    graph = networkx.DiGraph()
    graph.add_nodes_from(table.names)
    graph.add_edges_from(
        (table.names[parent], name)
        for name, parent in zip(table.names, table.parent.tolist(), strict=True)
        if parent >= 0
    )
    for extra, values in (("rank", table.rank), ("title", table.title)):
        if values is not None:
            given = {name: value for name, value in zip(table.names, values, strict=True) if value}
            networkx.set_node_attributes(graph, given, extra)
    return graph
