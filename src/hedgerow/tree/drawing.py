"""Trees drawn as text, and shown in notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from hedgerow.errors import counted

if TYPE_CHECKING:
    from hedgerow.tree.hierarchy import Hierarchy

_BELOW = {"": "", "├── ": "│   ", "└── ": "    "}


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
