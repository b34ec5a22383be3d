"""Lineages as labels: the nodes that they lead to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hedgerow.errors import TreeError
from hedgerow.score_files import bare_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hedgerow.tree import Hierarchy, Indices

Row = tuple[str, ...]
"""The names of a lineage, coarsest first; blank where there is none."""


def lineage_nodes(hierarchy: Hierarchy, rows: Sequence[Row], *, skip_unknown: bool = False) -> Indices:
    """Return the node that each lineage leads to, the root if all its names are blank.

    A lineage may begin with the root. Names that the tree tells apart, such as "birds/Morus" and "plants/Morus",
    may stand in it as they are.

    Parameters
    ----------
    hierarchy
        The tree.
    rows
        The lineages.
    skip_unknown
        Skip names that are not in the tree, except the last one of a lineage.

    >>> from hedgerow import Hierarchy
    >>> rows = [("birds", "Morus"), ("plants", "Morus"), ("", "")]
    >>> h = Hierarchy.from_lineages(rows, ranks=None, disambiguate=True)
    >>> h.names[lineage_nodes(h, rows)].tolist()
    ['birds/Morus', 'plants/Morus', 'root']
    """
    shared = _shared_names(hierarchy)
    paths = {row: [name for name in row if name.strip()] for row in dict.fromkeys(rows)}
    if skip_unknown:
        paths = {
            row: [name for name in path[:-1] if name in hierarchy or name in shared] + path[-1:]
            for row, path in paths.items()
        }
    unknown = [name for path in paths.values() for name in path if name not in hierarchy and name not in shared]
    hierarchy.indices(unknown)  # an error that names them
    node = {row: _last_node(hierarchy, path, shared) for row, path in paths.items()}
    return np.fromiter((node[row] for row in rows), dtype=np.int64, count=len(rows))


def _shared_names(hierarchy: Hierarchy) -> dict[str, list[int]]:
    """Return the nodes, ascending, of each name that was made distinct: 'parent/name' or 'name [id]'."""
    shared: dict[str, list[int]] = {}
    for node, name in enumerate(hierarchy.names.tolist()):
        if (name[-1] == "]" or "/" in name) and (bare := bare_name(hierarchy, node)) != name:
            shared.setdefault(bare, []).append(node)
    return shared


def _last_node(hierarchy: Hierarchy, path: list[str], shared: dict[str, list[int]]) -> int:
    here = 0
    for name in path[1:] if path[:1] == [hierarchy.names[0]] else path:
        here = _next_node(hierarchy, here, name, shared)
    return here


def _next_node(hierarchy: Hierarchy, here: int, name: str, shared: dict[str, list[int]]) -> int:
    """Return the node that a lineage names next; of several that share the name, the one below `here`.

    If there are several of these too, it is the child of `here`.
    """
    end = hierarchy.end
    if name in hierarchy and here < hierarchy.index(name) < end[here]:
        return hierarchy.index(name)
    below = [node for node in shared.get(name, ()) if here < node < end[here]]
    if below and below[-1] < end[below[0]]:  # one node, or a node and others within it
        return below[0]
    children = [node for node in below if hierarchy.parent[node] == here]
    if len(children) == 1:
        return children[0]
    node = int(hierarchy.indices([name])[0])
    if not hierarchy.is_ancestor(here, node):
        lineage = " > ".join(hierarchy.names[hierarchy.lineage(node)])
        raise TreeError(
            f"A label puts {hierarchy.names[node]!r} under {hierarchy.names[here]!r}; "
            f"the tree has it at {lineage}."
        )
    return node
