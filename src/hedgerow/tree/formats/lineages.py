"""Lineage tables: one lineage per row, one rank per column."""

from __future__ import annotations

import os
from collections import Counter
from graphlib import CycleError, TopologicalSorter
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

from hedgerow.errors import FileError, ParameterError, argument, counted, some
from hedgerow.files import atomic_write, delimiter_of
from hedgerow.tree.formats.forest import Forest
from hedgerow.tree.formats.paths import ADDED_ROOT, leaf_lineages
from hedgerow.tree.formats.rows import is_missing, open_rows, quoted, scores_instead
from hedgerow.tree.names import with_control
from hedgerow.tree.validation import (
    FlawedTreeError,
    NodeTable,
    Origin,
    Problem,
    control_character,
    refuse,
    refuse_empty,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from os import PathLike


_KEEP_RANKS = "Keep only some ranks (--ranks, `Hierarchy.at_ranks`), or write another format, such as edges."
_MISSING_VALUES = {  # of R, pandas, spreadsheets, databases and classifiers
    *("NA", "NaN", "nan", "<NA>", "N/A", "n/a", "#N/A", "None", "none", "NULL", "null", "-"),
    *("unclassified", "Unclassified"),
}


def read_lineages(
    source: Any,
    root: str = "root",
    disambiguate: bool = False,
    ranks: Sequence[str] | None = (),
    na: str | Sequence[str] = (),
) -> NodeTable:
    """Read one lineage per row, one rank per column, coarsest first.

    Blank cells are skipped: the parent of a class is the nearest rank above it that is filled in. Other names are
    taken as they are. The same lineage may appear in many rows.

    Parameters
    ----------
    source
        A CSV or TSV file with a header; a pandas, polars or Arrow table; records (dicts); or rows.
    root
        Name of the root that is added if there are several top nodes.
    disambiguate
        Call nodes that share a name "parent/name" instead of raising an error.
    ranks
        Column names for plain rows, which have none; None if there are no ranks.
    na
        The text of cells that are meant to be blank, such as "NA".
    """
    opened = open_rows(source, "row", "lineages", any_delimiter=True)
    origin, rows = opened.origin, iter(opened)
    first = next(rows, None)
    if first is None:
        refuse_empty(origin)
    if origin.name is None:
        columns, where = opened.columns, "The list of ranks"
        rows = chain([first], rows)
    else:
        columns, where = list(first[1]), origin.at(first[0])
    if columns is not None and (ranks is None or len(ranks)):
        raise ParameterError(
            f"ranks= only applies to rows, whose columns have no names; {origin.subject} has columns "
            f"{some(map(str, columns))}. Leave it out, or rename the columns."
        )
    known = _given_ranks(ranks) if columns is None else [str(column).strip() for column in columns]
    forest = Forest(origin, has_ranks=known is not None)
    forest.problems += _rank_problems(known or [], where)
    blanks = _Blanks(origin, na)
    row: Sequence[Any] = ()
    for line, row in rows:
        if known is not None and len(row) != len(known):
            forest.add_problem(
                "columns",
                f"{origin.at(line)} has {counted(len(row), 'column', 'columns')}, but there "
                f"{'is' if len(known) == 1 else 'are'} {counted(len(known), 'rank', 'ranks')}.",
                "Leave a cell blank if a rank is missing; put a name that contains a comma in quotes.",
            )
            continue
        cells = [cell if isinstance(cell, str) else "" if is_missing(cell) else str(cell) for cell in row]
        filled = [i for i, cell in enumerate(cells) if not blanks.is_blank(cell, line)]
        forest.add([cells[i] for i in filled], line, None if known is None else [known[i] for i in filled])
    forest.problems += blanks.problems()
    try:
        return forest.table(root, disambiguate)
    except FlawedTreeError:
        if found := scores_instead(origin, row):
            refuse([found], origin)
        raise


def _given_ranks(ranks: Sequence[str] | None) -> list[str] | None:
    if ranks is None:
        return None
    if isinstance(ranks, str) or not len(ranks):
        raise ParameterError(
            "Plain rows do not name their ranks. Name them, coarsest first: ranks=['class', 'species']; or give "
            "ranks=None if there are none. If the first row names them: from_lineages(rows[1:], ranks=rows[0])."
        )
    return [str(rank).strip() for rank in ranks]


def _rank_problems(ranks: list[str], where: str) -> Iterator[Problem]:
    if len(ranks) == 1 and ";" in ranks[0]:
        yield Problem(
            "header",
            f"{where} has one column, {ranks[0]!r}.",
            "If semicolons separate the ranks, write commas instead.",
        )
    for rank in with_control(ranks):
        yield control_character(rank, where)
    for rank, count in Counter(ranks).items():
        if not rank or count > 1:
            what = f"names the rank {rank!r} twice" if rank else "has a column without a name"
            yield Problem("header", f"{where} {what}.", "Give every column a rank of its own.")


class _Blanks:
    """Distinguishes blank cells from names, and collects undeclared missing values."""

    def __init__(self, origin: Origin, na: str | Sequence[str]) -> None:
        self._origin = origin
        self._na = {text.strip() for text in ([na] if isinstance(na, str) else na)}
        self._unsaid: dict[str, list[int]] = {}

    def is_blank(self, cell: str, line: int) -> bool:
        """Return whether a cell on a line contains no name."""
        text = cell.strip()
        if not text or text in self._na:
            return True
        if text in _MISSING_VALUES:
            self._unsaid.setdefault(text, []).append(line)
            return True
        return False

    def problems(self) -> list[Problem]:
        """Describe all missing values at once, so that one correction is enough."""
        if not self._unsaid:
            return []
        listed = "; ".join(f"{text!r} ({self._places(lines)})" for text, lines in self._unsaid.items())
        return [
            Problem(
                "missing value",
                f"Some cells look like missing values and would become classes: {listed}.",
                f"To read them as blank, give {argument('na', tuple(self._unsaid))}, or clear these cells. If a "
                f"class really has such a name, use an edge list.",
            )
        ]

    def _places(self, lines: list[int]) -> str:
        first = self._origin.at(lines[0])
        return first if len(lines) == 1 else f"{first} and {counted(len(lines) - 1, 'other cell', 'other cells')}"


def write_lineages(path: str | PathLike[str], table: NodeTable) -> None:
    """Write one row per leaf and one column per rank; without ranks, per level.

    A root that a reader would add is left out.
    """
    unreadable = next((name for name in table.names if name.strip() in _MISSING_VALUES), None)
    if unreadable is not None:
        raise FileError(
            f"The class {unreadable!r} would be read as a missing value. Write another format: "
            f"{argument('to', 'edges')}."
        )
    lineages = [list(lineage) for lineage in leaf_lineages(table)]
    rank = _ranks_to_write(table, lineages)
    columns = _column_order(rank, lineages)
    place = {name: column for column, name in enumerate(columns)}
    with atomic_write(path) as file:
        delimiter = delimiter_of(os.fspath(path))
        file.write(delimiter.join(map(quoted, columns)) + "\n")
        for lineage in lineages:
            row = [""] * len(columns)
            for node in lineage:
                row[place[rank[node]]] = quoted(table.names[node])
            file.write(delimiter.join(row) + "\n")


def _ranks_to_write(table: NodeTable, lineages: Iterable[list[int]]) -> list[str]:
    """Return the column of every node: its rank, or its level where there are no ranks."""
    rank = list(table.rank or [])
    if not any(rank):
        rank = [""] * len(table.names)
        for lineage in lineages:
            for level, node in enumerate(lineage, 1):
                rank[node] = f"level {level}"
        return rank
    root = int(table.parent.argmin())
    rank[root] = rank[root] or ADDED_ROOT
    blank = [table.names[node] for node, name in enumerate(rank) if not name]
    if blank:
        raise FileError(
            f"{counted(len(blank), 'class has', 'classes have')} no rank, and so no column in a table of "
            f"lineages: {some(blank)}. {_KEEP_RANKS}"
        )
    for lineage in lineages:
        ranks = [rank[node] for node in lineage]
        if len(set(ranks)) < len(ranks):
            twice = next(name for name in ranks if ranks.count(name) > 1)
            raise FileError(
                f"The lineage of {table.names[lineage[-1]]!r} has two classes of the rank {twice!r}, which cannot "
                f"share a column. {_KEEP_RANKS}"
            )
    return rank


def _column_order(rank: list[str], lineages: Iterable[list[int]]) -> list[str]:
    """Return the ranks from coarse to fine, by their order in the lineages."""
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for above, below in {(rank[a], rank[b]) for lineage in lineages for a, b in pairwise(lineage)}:
        sorter.add(below, above)
    for lineage in lineages:
        sorter.add(rank[lineage[0]])
    try:
        return list(sorter.static_order())
    except CycleError as error:
        raise FileError(
            f"The ranks have no common order: {' above '.join(map(repr, reversed(error.args[1])))}. {_KEEP_RANKS}"
        ) from None
