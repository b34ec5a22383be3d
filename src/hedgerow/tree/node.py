"""Views for people: one node of a tree, and a drawing of its top."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, final

from hedgerow.errors import counted

if TYPE_CHECKING:
    from hedgerow.tree.hierarchy import Hierarchy
    from hedgerow.tree.layout import Indices

_BELOW = {"": "", "├── ": "│   ", "└── ": "    "}


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


def as_html(hierarchy: Hierarchy) -> str:
    """Show the top of a tree in a notebook; names are escaped."""
    drawing = as_text(hierarchy, max_depth=3, max_children=5)
    return f"<p>{escape(repr(hierarchy))}</p>\n<pre>{escape(drawing)}</pre>"


def as_text(hierarchy: Hierarchy, max_depth: int, max_children: int) -> str:
    """Draw the top of a tree, with long lists of children folded.

    Parameters
    ----------
    hierarchy
        The tree.
    max_depth
        Depth below which everything is folded.
    max_children
        Largest number of lines for the children of one node.
    """
    lines: list[str] = []
    stack: list[tuple[str, str, int | str, int]] = [("", "", 0, 0)]
    while stack:
        lead, branch, node, depth = stack.pop()
        if isinstance(node, str):
            lines.append(lead + branch + node)
            continue
        lines.append(lead + branch + _described(hierarchy, node))
        shown: list[int | str] = hierarchy.children(node).tolist()
        if depth >= max_depth and shown:
            shown = ["..."]
        elif len(shown) > max_children:
            shown = [*shown[: max_children - 1], f"... {len(shown) - max_children + 1:,} more"]
        branches = ["├── "] * (len(shown) - 1) + ["└── "] * bool(shown)
        below = [(lead + _BELOW[branch], b, child, depth + 1) for b, child in zip(branches, shown, strict=True)]
        stack.extend(reversed(below))
    return "\n".join(lines)


def _described(hierarchy: Hierarchy, index: int) -> str:
    node = hierarchy[index]
    rank = f"  [{node.rank}]" if node.rank else ""
    leaves = "" if node.is_leaf else f"  ({counted(node.leaf_count, 'leaf', 'leaves')})"
    return hierarchy.display_name(index) + rank + leaves
