"""The nodes of a tree as a table, which readers return and writers take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from hedgerow.tree.names import Aliases


@dataclass(frozen=True)
class NodeTable:
    """The nodes of a tree in any order, except that siblings are in the order of the input.

    Parameters
    ----------
    names
        One name per node.
    parent
        Position of each node's parent in `names`; -1 for the root.
    rank, title
        Optional rank and display name of each node, "" if it has none.
    aliases
        Other names of nodes, with the position of the node that each of them stands for, if there are any.
    """

    names: Sequence[str]
    parent: NDArray[np.int64]
    rank: Sequence[str] | None = None
    title: Sequence[str] | None = None
    aliases: Aliases | None = None

    def children(self) -> list[list[int]]:
        """Return the positions of each node's children."""
        children: list[list[int]] = [[] for _ in self.names]
        for node, parent in enumerate(self.parent.tolist()):
            if parent >= 0:
                children[parent].append(node)
        return children
