"""What is wrong with an edge list: everything at once, with lines and remedies."""

from __future__ import annotations

from collections import defaultdict
from itertools import chain, count
from typing import TYPE_CHECKING, Any

from hedgerow.errors import argument, nearest, some
from hedgerow.tree.formats.problems import Origin, Problem, control_character, no_edges
from hedgerow.tree.names import with_control

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_TWO_RANKS = (
    " If this is a table of lineages, with the names of its two ranks on the first line, read it as such: "
)
_Above = dict[str, list[tuple[int, str]]]
"""The lines and parents of each child."""


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
    misread = _other_table(rows, origin) if rows else None
    if misread is not None:
        return [misread]
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
    above: _Above = defaultdict(list)
    for (parent, child), lines in places.items():
        above[child].append((lines[0], parent))
    problems += _repeated(places, origin)
    problems += _several_parents(above, origin)
    problems += cycles(above, origin)
    problems += _several_roots([parent for parent, _ in places], above, origin)
    return problems


def _other_table(rows: Sequence[tuple[int, Sequence[Any]]], origin: Origin) -> Problem | None:
    """Say what the rows are instead, if they are no edge list at all."""
    line, first = rows[0]
    other = _other_format(first)
    if other is not None:
        return Problem(
            "format",
            f"{origin.at(line)} is the header of another format, {other}: {some(map(str, first))}.",
            f"Say so: {argument('format', other)}.",
        )
    if [str(cell).strip().lower() for cell in first] == ["child", "parent"]:
        return Problem(
            "columns",
            f"{origin.at(line)} is the header of columns in the other order: {some(first)}.",
            "Each line of an edge list is parent,child: exchange the columns.",
        )
    widths = {len(row) for _, row in rows}
    if len(rows) > 1 and len(widths) == 1 and min(widths) > 2:
        return _lineages(widths.pop(), origin)
    return None


def _repeated(places: Mapping[tuple[str, str], list[int]], origin: Origin) -> Iterator[Problem]:
    for (parent, child), lines in places.items():
        if len(lines) > 1:
            yield Problem(
                "duplicate",
                f"The edge {parent!r} -> {child!r} occurs {len(lines)} times ({origin.at(*lines[:5])}).",
                "Keep one of these lines.",
            )


def _several_parents(above: _Above, origin: Origin) -> Iterator[Problem]:
    for child, parents in above.items():
        if len(parents) > 1:
            listed = "; ".join(f"{parent!r} ({origin.at(line)})" for line, parent in parents[:5])
            yield Problem(
                "several parents",
                f"{child!r} has {len(parents)} parents: {listed}.",
                "A class has only one parent: keep one of these lines, or give the classes different names.",
            )


def _several_roots(parents: Sequence[str], above: _Above, origin: Origin) -> Iterator[Problem]:
    tops = list(dict.fromkeys(parent for parent in parents if parent not in above))
    if len(tops) > 1:
        yield Problem(
            "several roots",
            f"{origin.subject} has {len(tops):,} roots (classes without a parent): {some(tops, 10)}.",
            f"{_misspelt(tops, above)}A tree has one root: correct misspelt parents, or put all of them under "
            f"a common root, with lines such as '{_unused([*above, *tops])},{tops[0]}'."
            + ("" if any(parent in above for parent in parents) else _TWO_RANKS + _as_lineages() + "."),
        )


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
