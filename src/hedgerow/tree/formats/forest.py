"""Lineages combined into a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hedgerow.errors import TreeError, argument
from hedgerow.tree.names import Aliases, check_root
from hedgerow.tree.validation import NodeTable, Origin, Problem, validated

if TYPE_CHECKING:
    from collections.abc import Sequence

TOP = -1
"""The parent of top nodes."""
_LONGEST = 1 << 26  # total characters of names with the names of their parents


class Forest:
    """Lineages combined: a node is a name under another node; only `table` requires names to be distinct."""

    def __init__(self, origin: Origin, *, has_ranks: bool = False) -> None:
        self.origin = origin
        self.problems: list[Problem] = []
        self.titles: dict[int, str] = {}
        """Display names of nodes."""
        self.aliases: list[tuple[str, int]] = []
        """Other names of nodes; ambiguous ones are dropped later."""
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
                self.add_problem(
                    "two ranks",
                    f"{name!r} has the rank {self._rank[node]!r} ({self.origin.at(self._line[node])}) and the "
                    f"rank {ranks[i]!r} ({self.origin.at(line)}).",
                    "Give it one of them.",
                )
            above = node
            path.append(node)
        return path

    def add_problem(self, kind: str, message: str, remedy: str) -> None:
        """Add a problem of a lineage."""
        self.problems.append(Problem(kind, message, remedy))

    def table(self, root: str, disambiguate: bool) -> NodeTable:
        """Return the tree; a root is added if there are several top nodes."""
        check_root(root)
        names = self._names
        if disambiguate:
            names = self._distinct_names(root if self._parent.count(TOP) > 1 else None)
        titles = [self.titles.get(node, "") for node in range(len(names))]
        nodes = np.array([node for _, node in self.aliases], dtype=np.int64)
        aliases = Aliases([alias for alias, _ in self.aliases], nodes)
        parent = np.array(self._parent, dtype=np.int64)
        table = validated(
            NodeTable(names, parent, self._rank, titles if any(titles) else None, aliases or None),
            self.origin,
            self.origin.places(self._line),
            root=root,
            problems=self.problems,
            remedies={
                "several parents": "Correct the wrong lineage, or ask for names of the form 'parent/name': "
                f"{argument('disambiguate', True)}."
            },
        )
        aliases.check()
        return table

    def _distinct_names(self, root: str | None) -> list[str]:
        """Prefix shared names with the name of the parent, itself made distinct."""
        nodes_of: dict[str, list[int]] = {}
        for node, name in enumerate(self._names):
            nodes_of.setdefault(name, []).append(node)
        names = list(self._names)
        for shared, nodes in nodes_of.items():
            if len(nodes) > 1:
                # In a part of the tree, the name may stand for one node only.
                self.aliases += [(shared, node) for node in nodes]
                for node in nodes:
                    names[node] = ""
        length = 0
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
