"""Lineage tables (one rank a column) and path strings (`animal/bird/robin`)."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import FileError, ParameterError, argument, counted, some
from hedgerow.files import delimiter_of, is_path, read_text
from hedgerow.tree.formats.edges import numbered_rows
from hedgerow.tree.formats.node_table import NodeTable
from hedgerow.tree.formats.problems import (
    Origin,
    Problem,
    check_root,
    control_character,
    no_edges,
    refuse,
    require_edges,
    root_taken,
)
from hedgerow.tree.formats.tables import as_table, is_missing
from hedgerow.tree.names import with_control

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from os import PathLike

_TOP = -1
_SEPARATORS = "/;"
_MISSING_VALUES = {  # as R, pandas, spreadsheets, databases and classifiers write them
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
    """Read one lineage a row, one rank a column, coarsest first.

    Blank cells are skipped: a class hangs under the nearest rank above that is filled in. Other names are taken
    as they stand. The same lineage may stand on many rows.

    Parameters
    ----------
    source
        A CSV or TSV file with a header; a frame of pandas, polars or Arrow; records (dicts); or rows.
    root
        Name of the root that is added above several tops.
    disambiguate
        Call nodes that share a name "parent/name" instead of refusing them.
    ranks
        Names of the columns, where `source` does not hold them: needed for rows. None: there are no ranks.
    na
        What stands in cells that are meant to be blank, such as "NA".
    """
    check_root(root)
    table = _ranked_rows(source, ranks)
    blanks = _Blanks(table.origin, na)
    forest = _Forest(table.origin, has_ranks=table.ranks is not None)
    if table.ranks is not None:
        _check_ranks(table, forest)
    for line, row in table.rows:
        if table.ranks is not None and len(row) != len(table.ranks):
            forest.problems.append(
                Problem(
                    "columns",
                    f"{table.origin.at(line)} has {counted(len(row), 'column', 'columns')}, "
                    f"{'the header has' if table.header else 'but the ranks are'} {len(table.ranks)}.",
                    "Leave a cell blank where a rank is missing; put a name that holds a comma in quotes.",
                )
            )
            continue
        filled = [i for i, cell in enumerate(row) if not blanks.is_blank(cell, line)]
        forest.add(
            [row[i] for i in filled], line, None if table.ranks is None else [table.ranks[i] for i in filled]
        )
    forest.problems += blanks.problems()
    return forest.table(root, disambiguate)


@dataclass(frozen=True)
class _RankedRows:
    """A table of lineages."""

    origin: Origin
    rows: Iterable[tuple[int, Sequence[str]]]
    """Line and cells of each row."""
    ranks: list[str] | None
    header: int = 0
    """The line on which the ranks stand in a file; 0 for data in memory."""


def _ranked_rows(source: Any, ranks: Sequence[str] | None) -> _RankedRows:
    if is_path(source):
        path = os.fspath(source)
        origin = Origin(path, format="lineages")
        lines = numbered_rows(read_text(path), delimiter_of(path), origin)
        line, header = next(lines, (0, []))
        if not line:
            refuse([no_edges(origin)], origin)
        columns: list[str] | None = header
        rows: Iterable[tuple[int, Sequence[str]]] = lines
    else:
        origin, line = Origin(None, "row"), 0
        table = as_table(source)
        columns = table.columns
        rows = ((i, [_cell(value) for value in row]) for i, row in enumerate(table.rows, 1))
        if not table.rows:
            refuse([no_edges(origin)], origin)
    if columns is None:
        return _RankedRows(origin, rows, _given_ranks(ranks))
    if ranks is None or len(ranks):
        raise ParameterError(
            f"ranks= goes with rows, whose columns have no names; {origin.subject} has columns {some(columns)}. "
            f"Leave it out, or rename the columns."
        )
    return _RankedRows(origin, rows, [str(column).strip() for column in columns], line)


def _given_ranks(ranks: Sequence[str] | None) -> list[str] | None:
    if ranks is None:
        return None
    if isinstance(ranks, str) or not len(ranks):
        raise ParameterError(
            "Rows do not tell the names of their ranks. Give them, coarsest first: ranks=['class', 'species'], or "
            "ranks=None where there are none. If the first row holds them: from_lineages(rows[1:], ranks=rows[0])."
        )
    return [str(rank).strip() for rank in ranks]


def _check_ranks(table: _RankedRows, forest: _Forest) -> None:
    ranks = table.ranks or []
    where = table.origin.at(table.header) if table.header else "The list of ranks"
    if len(ranks) == 1 and ";" in ranks[0]:
        forest.problems.append(
            Problem(
                "header",
                f"{where} has one column, {ranks[0]!r}.",
                "If semicolons separate the ranks, write commas instead.",
            )
        )
    for rank, count in Counter(ranks).items():
        if not rank or count > 1:
            what = f"names the rank {rank!r} twice" if rank else "has a column without a name"
            forest.problems.append(
                Problem("header", f"{where} {what}.", "Give every column its own rank as header.")
            )


class _Blanks:
    """Tells blank cells from names, and notes what looks like a missing value but was not said to be one."""

    def __init__(self, origin: Origin, na: str | Sequence[str]) -> None:
        self._origin = origin
        self._na = {na} if isinstance(na, str) else set(na)
        self._unsaid: dict[str, list[int]] = {}

    def is_blank(self, cell: str, line: int) -> bool:
        """Tell whether a cell on a line holds no name."""
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
                f"To read them as blank, give {argument('na', tuple(self._unsaid))}, or empty these cells. A "
                f"class that is really called so can stand in an edge list.",
            )
        ]

    def _places(self, lines: list[int]) -> str:
        first = self._origin.at(lines[0])
        return first if len(lines) == 1 else f"{first} and {counted(len(lines) - 1, 'other cell', 'other cells')}"


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else "" if is_missing(value) else str(value)


def read_paths(
    source: str | PathLike[str] | Iterable[str],
    root: str = "root",
    separator: str | None = None,
    disambiguate: bool = False,
) -> NodeTable:
    """Read one path a line, such as `animal/bird/robin` or `animal; bird; robin`.

    Blanks around names, and blank lines, are dropped. See `read_lineages` for `root` and `disambiguate`.

    Parameters
    ----------
    source
        A text file, or strings.
    separator
        What stands between names; by default "/" or ";", as found on the first line that has either.
    """
    check_root(root)
    if is_path(source):
        path = os.fspath(source)
        origin = Origin(path)
        # Not splitlines, which also splits at characters that a name may hold.
        listed: Iterable[str] = read_text(path).replace("\r\n", "\n").split("\n")
    else:
        origin = Origin(None, "path")
        listed = source  # type: ignore[assignment]
    lines = [(i, str(line)) for i, line in enumerate(listed, 1) if str(line).strip()]
    if not lines:
        refuse([no_edges(origin)], origin)
    if separator is None:
        separator = _found_separator(lines, origin)
    elif not separator:
        raise ParameterError("The separator of paths must be at least one character, such as '/' or ';'.")
    forest = _Forest(origin)
    for line, path in lines:
        names = [name.strip() for name in path.split(separator)]
        if all(names):
            forest.add(names, line)
        else:
            forest.problems.append(
                Problem(
                    "empty name",
                    f"{origin.at(line)} has an empty name: {path!r}.",
                    f"Remove the {separator!r} that stands at the start, at the end or doubled.",
                )
            )
    return forest.table(root, disambiguate)


def _found_separator(lines: list[tuple[int, str]], origin: Origin) -> str:
    for line, path in lines:
        found = [separator for separator in _SEPARATORS if separator in path]
        if len(found) > 1:
            raise FileError(
                f"{origin.at(line)} holds both '/' and ';': {path!r}. Say which separates: "
                f"{argument('separator', ';')}."
            )
        if found:
            return found[0]
    return _SEPARATORS[0]


class _Forest:
    """Lineages put together: a node is a name under a node, until `table` demands names to be distinct."""

    def __init__(self, origin: Origin, *, has_ranks: bool = False) -> None:
        self.origin = origin
        self.problems: list[Problem] = []
        self._node: dict[tuple[int, str], int] = {}
        self._names: list[str] = []
        self._parent: list[int] = []
        self._line: list[int] = []
        self._rank: list[str] | None = [] if has_ranks else None

    def add(self, names: Sequence[str], line: int, ranks: Sequence[str] | None = None) -> None:
        """Add one lineage, coarsest name first."""
        above = _TOP
        for i, name in enumerate(names):
            node = self._node.setdefault((above, name), len(self._names))
            if node == len(self._names):
                self._names.append(name)
                self._parent.append(above)
                self._line.append(line)
                if self._rank is not None and ranks is not None:
                    self._rank.append(ranks[i])
            elif self._rank is not None and ranks is not None and self._rank[node] != ranks[i]:
                self._two_ranks(node, ranks[i], line)
            above = node

    def _two_ranks(self, node: int, rank: str, line: int) -> None:
        assert self._rank is not None  # noqa: S101  (called only then)
        name, known = self._names[node], self._rank[node]
        self.problems.append(
            Problem(
                "two ranks",
                f"{name!r} stands in column {known!r} ({self.origin.at(self._line[node])}) and in column {rank!r} "
                f"({self.origin.at(line)}).",
                "Move it to one column.",
            )
        )

    def table(self, root: str, disambiguate: bool) -> NodeTable:
        """Return the tree, a root added above several tops."""
        names, parent, rank = self._names, np.array(self._parent, dtype=np.int64), self._rank
        if not names and not self.problems:
            refuse([no_edges(self.origin)], self.origin)
        several_tops = self._parent.count(_TOP) > 1
        if disambiguate:
            names = self._distinct_names(root if several_tops else None)
        self.problems += self._ambiguities(names) + self._control_characters()
        if several_tops:
            if root in set(names):
                why = f"There are {self._parent.count(_TOP):,} tops"
                self.problems.append(root_taken(root, why, self.origin.at(self._line[names.index(root)])))
            names, parent = [root, *names], np.concatenate([[_TOP], parent + 1])
            rank = None if rank is None else ["", *rank]
        if self.problems:
            refuse(self.problems, self.origin)
        return require_edges(NodeTable(names, parent, rank), self.origin)

    def _lineage(self, node: int) -> str:
        names = []
        while node != _TOP:
            names.append(self._names[node])
            node = self._parent[node]
        names.reverse()
        return " > ".join(names if len(names) <= 12 else [*names[:3], "...", *names[-6:]])

    def _nodes_by_name(self, names: Sequence[str]) -> dict[str, list[int]]:
        """Nodes of every name that stands for several."""
        if len(set(names)) == len(names):
            return {}
        nodes: dict[str, list[int]] = {}
        for node, name in enumerate(names):
            nodes.setdefault(name, []).append(node)
        return {name: same for name, same in nodes.items() if len(same) > 1}

    def _ambiguities(self, names: Sequence[str]) -> list[Problem]:
        return [
            Problem(
                "duplicate name",
                f"{name!r} stands under {len(nodes)} parents: "
                + "; ".join(f"{self._lineage(node)} ({self.origin.at(self._line[node])})" for node in nodes[:5])
                + ".",
                "Correct the lineage that is wrong, or ask for names of the form 'parent/name': "
                f"{argument('disambiguate', True)}.",
            )
            for name, nodes in self._nodes_by_name(names).items()
        ]

    def _control_characters(self) -> list[Problem]:
        flawed = set(with_control(self._names))
        return [
            control_character(name, self.origin.at(line))
            for name, line in zip(self._names, self._line, strict=True)
            if name in flawed
        ]

    def _distinct_names(self, root: str | None) -> list[str]:
        """Put the parent's name, itself made distinct, before every name that stands for several nodes."""
        names = list(self._names)
        for nodes in self._nodes_by_name(self._names).values():
            for node in nodes:
                names[node] = ""
        # Parents come before their children, so their names are final when they are needed.
        for node, name in enumerate(self._names):
            if not names[node]:
                above = root if self._parent[node] == _TOP else names[self._parent[node]]
                names[node] = name if above is None else f"{above}/{name}"
        return names
