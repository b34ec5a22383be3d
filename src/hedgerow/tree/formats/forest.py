"""Lineages combined into a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hedgerow.errors import TreeError, argument
from hedgerow.tree.formats.node_table import NodeTable
from hedgerow.tree.formats.problems import (
    Origin,
    Problem,
    control_character,
    no_edges,
    refuse,
    require_edges,
    root_taken,
)
from hedgerow.tree.names import Aliases, printable, with_control

if TYPE_CHECKING:
    from collections.abc import Sequence

TOP = -1
"""What is above the top nodes."""
_LONGEST = 1 << 26  # characters of all names that are told apart by the names of their parents


class Forest:
    """Lineages combined: a node is a name under another node; only `table` requires names to be distinct."""

    def __init__(self, origin: Origin, *, has_ranks: bool = False) -> None:
        self.origin = origin
        self.problems: list[Problem] = []
        self.titles: dict[int, str] = {}
        """Display names of nodes; that of `TOP` is for an added root."""
        self.aliases: list[tuple[str, int]] = []
        """Other names of nodes; one that stands for several nodes is left out."""
        self._node: dict[tuple[int, str], int] = {}
        self._names: list[str] = []
        self._parent: list[int] = []
        self._line: list[int] = []
        self._rank: list[str] | None = [] if has_ranks else None

    def add(self, names: Sequence[str], line: int, ranks: Sequence[str] | None = None) -> list[int]:
        """Add one lineage, coarsest name first; return its nodes."""
        above = TOP
        path = []
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
            path.append(node)
        return path

    def _two_ranks(self, node: int, rank: str, line: int) -> None:
        assert self._rank is not None  # noqa: S101  (called only then)
        name, known = self._names[node], self._rank[node]
        self.problems.append(
            Problem(
                "two ranks",
                f"{name!r} has the rank {known!r} ({self.origin.at(self._line[node])}) and the rank {rank!r} "
                f"({self.origin.at(line)}).",
                "Give it one of them.",
            )
        )

    def table(self, root: str, disambiguate: bool) -> NodeTable:
        """Return the tree; a root is added if there are several top nodes."""
        names, parent, rank = self._names, np.array(self._parent, dtype=np.int64), self._rank
        if not names and not self.problems:
            refuse([no_edges(self.origin)], self.origin)
        several_tops = self._parent.count(TOP) > 1
        if disambiguate:
            names = self._distinct_names(root if several_tops else None)
        self.problems += self._ambiguities(names) + self._control_characters()
        if several_tops:
            if root in set(names):
                why = f"There are {self._parent.count(TOP):,} top nodes"
                self.problems.append(root_taken(root, why, self.origin.at(self._line[names.index(root)])))
            names, parent = [root, *names], np.concatenate([[TOP], parent + 1])
            rank = None if rank is None else ["", *rank]
        if self.problems:
            refuse(self.problems, self.origin)
        title, aliases = self._extras(len(names), int(several_tops))
        return require_edges(NodeTable(names, parent, rank, title, aliases), self.origin)

    def _extras(self, count: int, shift: int) -> tuple[list[str] | None, Aliases | None]:
        """Return titles and aliases, with the nodes moved by an added root."""
        known = [""] * count
        for node, title in self.titles.items():
            if node + shift >= 0:
                known[node + shift] = title
        aliases = Aliases.of((alias, node + shift) for alias, node in self.aliases if node + shift >= 0)
        return known if any(known) else None, aliases or None

    def _lineage(self, node: int) -> str:
        """Return the end of a lineage: the whole of a very long one would take too long to find."""
        names: list[str] = []
        while node != TOP and len(names) < 12:
            names.append(self._names[node])
            node = self._parent[node]
        return printable(" > ".join(names[::-1] if node == TOP else ["...", *names[5::-1]]))

    def _nodes_by_name(self, names: Sequence[str]) -> dict[str, list[int]]:
        """Return the nodes of every name that several nodes share."""
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
                f"{name!r} occurs under {len(nodes)} parents: "
                + "; ".join(f"{self._lineage(node)} ({self.origin.at(self._line[node])})" for node in nodes[:5])
                + ".",
                "Correct the wrong lineage, or ask for names of the form 'parent/name': "
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
        """Put the parent's name, itself made distinct, before every name that several nodes share."""
        names = list(self._names)
        length = 0
        for shared, nodes in self._nodes_by_name(self._names).items():
            self.aliases += [(shared, node) for node in nodes]  # one of them may be alone in a part of the tree
            for node in nodes:
                names[node] = ""
        # Parents come before their children, so their names are final when they are needed.
        for node, name in enumerate(self._names):
            if not names[node]:
                above = root if self._parent[node] == TOP else names[self._parent[node]]
                names[node] = name if above is None else f"{above}/{name}"
                length += len(names[node])
                if length > _LONGEST:
                    raise TreeError(
                        f"{self.origin.subject} repeats so many names that names of the form 'parent/name' would "
                        f"be too long. Correct the lineages."
                    )
        return names
