"""Pooling groups and clades that are too small for a promise of their own.

A pool has one threshold, which is calibrated on the examples of all its members, and answers new examples of all
its members: exactly the kind of examples that it was calibrated on. Which groups are pooled depends on their sizes
alone, never on labels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hedgerow.tree import Hierarchy

Pool = tuple[str, ...]


def pooled_groups(sizes: Mapping[str, float], needed: float) -> list[Pool]:
    """Return groups of groups: those that are too small together, and the next smallest ones until they suffice.

    >>> pooled_groups({"a": 50, "b": 3, "c": 4, "d": 21}, needed=20)
    [('b', 'c', 'd'), ('a',)]
    """
    small: list[str] = []
    total = 0.0
    rest = sorted(sizes, key=lambda name: (sizes[name], name))
    while rest and (sizes[rest[0]] < needed or (len(small) > 0 and total < needed)):
        total += sizes[rest[0]]
        small.append(rest.pop(0))
    return [tuple(sorted(small))] * bool(small) + [(name,) for name in rest]


def pooled_clades(hierarchy: Hierarchy, sizes: Mapping[str, float], needed: float) -> list[Pool]:
    """Return groups of clades: those that are too small with others below the same parent, or else further up.

    At each node, the small ones below it are pooled. If that is not enough, the smallest of the other pools below
    the node is added; if there is none, they wait for the next node above.

    >>> import hedgerow as hr
    >>> h = hr.Hierarchy.from_paths(["a/x", "a/y", "b/z", "b/w"])
    >>> pooled_clades(h, {"x": 3, "y": 4, "z": 1, "w": 30}, needed=7)
    [('w', 'z'), ('x', 'y')]
    """
    waiting: dict[int, list[str]] = {}
    ready: dict[int, list[Pool]] = {}

    def size(pool: Iterable[str]) -> float:
        return sum(sizes[name] for name in pool)

    named = {int(hierarchy.index(name)): name for name in sizes}
    nodes = np.zeros(len(hierarchy), dtype=bool)
    for node in named:
        nodes[hierarchy.lineage(node)] = True
    for node in np.flatnonzero(nodes)[::-1].tolist():  # children come after their parents
        small, pools = waiting.pop(node, []), ready.pop(node, [])
        small += [named[node]] if node in named else []
        if small and size(small) < needed and pools:
            nearest = min(pools, key=lambda pool: (size(pool), pool))
            pools.remove(nearest)
            small += nearest
        if small and (size(small) >= needed or node == 0):
            pools.append(tuple(sorted(small)))
            small = []
        above = int(hierarchy.parent[node])
        waiting.setdefault(above, []).extend(small)
        ready.setdefault(above, []).extend(pools)
    return sorted(ready.pop(-1))
