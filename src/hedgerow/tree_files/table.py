"""What every reader returns and every writer takes: the nodes of a tree in any order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class NodeTable:
    """The nodes of a tree in any order, siblings in the order of the input.

    Parameters
    ----------
    names
        One name a node.
    parent
        Position of each node's parent in `names`; -1 for the root.
    rank, title
        Optional rank and display name of each node, "" where it has none.
    """

    names: list[str]
    parent: NDArray[np.int64]
    rank: list[str] | None = None
    title: list[str] | None = None
