"""Trees drawn as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_BELOW = {"": "", "├── ": "│   ", "└── ": "    "}


def draw(
    children: Callable[[int], list[int]], describe: Callable[[int], str], max_depth: int, max_children: int
) -> str:
    """Draw the top of the tree below node 0, long lists of children folded.

    Parameters
    ----------
    children, describe
        The children of a node, and what to write for it.
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
        lines.append(lead + branch + describe(node))
        shown: list[int | str] = list(children(node))
        if depth >= max_depth and shown:
            shown = ["..."]
        elif len(shown) > max_children:
            shown = [*shown[: max_children - 1], f"... {len(shown) - max_children + 1:,} more"]
        branches = ["├── "] * (len(shown) - 1) + ["└── "] * bool(shown)
        below = [(lead + _BELOW[branch], b, child, depth + 1) for b, child in zip(branches, shown, strict=True)]
        stack.extend(reversed(below))
    return "\n".join(lines)
