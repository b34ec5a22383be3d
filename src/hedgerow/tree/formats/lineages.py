"""Lineage tables (one rank a column) and path strings (`animal/bird/robin`)."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import FileError, ParameterError, argument
from hedgerow.files import delimiter_of, read_text
from hedgerow.tree.formats.edges import numbered_rows
from hedgerow.tree.formats.table import (
    NodeTable,
    Origin,
    Problem,
    check_root,
    control_character,
    is_path,
    no_edges,
    refuse,
    require_edges,
    root_taken,
)
from hedgerow.tree.names import with_control

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from os import PathLike

_TOP = -1
_SEPARATORS = "/;"


def read_lineages(source: Any, root: str = "root", disambiguate: bool = False) -> NodeTable:
    """Read one lineage a row, one rank a column, coarsest first; column names become ranks.

    Blank cells are skipped: a class hangs under the nearest rank above that is filled in. Other names are taken
    as they stand. The same lineage may stand on many rows.

    Parameters
    ----------
    source
        A CSV or TSV file, a pandas DataFrame, or rows; all with a header.
    root
        Name of the root that is added above several tops.
    disambiguate
        Call nodes that share a name "parent/name" instead of refusing them.
    """
    check_root(root)
    rows, origin = _table_rows(source)
    header = next(rows, None)
    if header is None:
        refuse([no_edges(origin)], origin)
    ranks = [str(cell).strip() for cell in header[1]]
    forest = _Forest(origin, has_ranks=True)
    _check_ranks(ranks, header[0], forest)
    for line, row in rows:
        if len(row) != len(ranks):
            forest.problems.append(
                Problem(
                    "columns",
                    f"{origin.at(line)} has {len(row)} columns, the header has {len(ranks)}.",
                    "Leave a cell blank where a rank is missing; put a name that holds a comma in quotes.",
                )
            )
            continue
        named = [(cell, rank) for cell, rank in zip(row, ranks, strict=True) if cell.strip()]
        forest.add([cell for cell, _ in named], line, [rank for _, rank in named])
    return forest.table(root, disambiguate)


def _check_ranks(ranks: list[str], line: int, forest: _Forest) -> None:
    if len(ranks) == 1 and ";" in ranks[0]:
        forest.problems.append(
            Problem(
                "header",
                f"{forest.origin.at(line)} has one column, {ranks[0]!r}.",
                "If semicolons separate the ranks, write commas instead.",
            )
        )
    for rank, count in Counter(ranks).items():
        if not rank or count > 1:
            what = f"names the rank {rank!r} twice" if rank else "has a column without a name"
            forest.problems.append(
                Problem("header", f"{forest.origin.at(line)} {what}.", "Give every column its own rank as header.")
            )


def _table_rows(source: Any) -> tuple[Iterator[tuple[int, Sequence[str]]], Origin]:
    if is_path(source):
        path = os.fspath(source)
        origin = Origin(path, format="lineages")
        return numbered_rows(read_text(path), delimiter_of(path), origin), origin
    if hasattr(source, "itertuples"):
        source = [tuple(source.columns), *source.itertuples(index=False, name=None)]
    return ((i, [_cell(value) for value in row]) for i, row in enumerate(source, 1)), Origin(None, "row")


def _cell(value: Any) -> str:
    # Missing values of pandas (None, NaN, NA) are blanks; NaN differs from itself and NA refuses to compare.
    if isinstance(value, str):
        return value
    return "" if value is None or type(value).__name__ == "NAType" or value != value else str(value)


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
        path = os.fspath(source)  # type: ignore[arg-type]
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
