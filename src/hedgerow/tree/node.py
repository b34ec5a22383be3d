"""A view of one node of a tree."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

from hedgerow.errors import counted

if TYPE_CHECKING:
    from hedgerow.tree.hierarchy import Hierarchy
    from hedgerow.tree.layout import Indices


@final
@dataclass(frozen=True, repr=False)
class Node:
    """A node, as returned by `hierarchy[name]` or `hierarchy[index]`; its relatives are given by name.

    >>> from hedgerow import Hierarchy
    >>> h = Hierarchy.from_json({"animal": {"bird": ["robin", "wren"], "fish": {}}})
    >>> h["bird"]
    Node('bird', index 1, depth 1, 2 leaves)
    >>> h["bird"].children, h["wren"].lineage
    (('robin', 'wren'), ('animal', 'bird', 'wren'))
    """

    index: int
    """Its number in depth-first order."""
    hierarchy: Hierarchy = field(hash=False)
    """The tree to which it belongs."""

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.hierarchy.names[self.index])

    @property
    def rank(self) -> str:
        """Its rank, such as "genus"; "" if it has none."""
        return "" if self.hierarchy.rank is None else str(self.hierarchy.rank[self.index])

    @property
    def title(self) -> str:
        """Its title; "" if it has none."""
        return "" if self.hierarchy.title is None else str(self.hierarchy.title[self.index])

    @property
    def parent(self) -> str | None:
        """Its parent; None for the root."""
        return str(self.hierarchy.names[self.hierarchy.parent[self.index]]) if self.index else None

    @property
    def children(self) -> tuple[str, ...]:
        """Its children, in order."""
        return self._named(self.hierarchy.children(self.index))

    @property
    def lineage(self) -> tuple[str, ...]:
        """The path from the root to the node itself, the root first."""
        return self._named(self.hierarchy.lineage(self.index))

    @property
    def depth(self) -> int:
        """Number of edges from the root."""
        return int(self.hierarchy.depth[self.index])

    @property
    def is_leaf(self) -> bool:
        """Whether it has no children."""
        return bool(self.hierarchy.is_leaf[self.index])

    @property
    def leaf_count(self) -> int:
        """Number of leaves below it; 1 for a leaf."""
        return int(self.hierarchy.leaf_count[self.index])

    def _named(self, nodes: Indices) -> tuple[str, ...]:
        return tuple(self.hierarchy.names[nodes].tolist())

    def __repr__(self) -> str:
        facts = [repr(self.name), f"index {self.index}", f"depth {self.depth}"]
        facts += [f"{what} {value!r}" for what, value in (("rank", self.rank), ("title", self.title)) if value]
        facts.append("leaf" if self.is_leaf else counted(self.leaf_count, "leaf", "leaves"))
        return f"Node({', '.join(facts)})"
