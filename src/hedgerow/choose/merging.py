"""Merging groups and clades that are too small for a promise of their own.

Merged groups share a threshold and a promise, calibrated on the examples of all of them. Which groups are merged
depends on their sizes alone, never on labels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hedgerow.tree import Hierarchy

Merged = tuple[str, ...]
"""The names of groups or clades that share a threshold."""


def merged_groups(sizes: Mapping[str, float], needed: float) -> list[Merged]:
    """Merge the groups that are too small, adding the next smallest ones until their sizes reach `needed`.

    >>> merged_groups({"a": 50, "b": 3, "c": 4, "d": 21}, needed=20)
    [('b', 'c', 'd'), ('a',)]
    """
    small: list[str] = []
    total = 0.0
    rest = sorted(sizes, key=lambda name: (sizes[name], name))
    while rest and (sizes[rest[0]] < needed or (len(small) > 0 and total < needed)):
        total += sizes[rest[0]]
        small.append(rest.pop(0))
    return [tuple(sorted(small))] * bool(small) + [(name,) for name in rest]


def merged_clades(hierarchy: Hierarchy, sizes: Mapping[str, float], needed: float) -> list[Merged]:
    """Merge each clade that is too small with others near it in the tree.

    At each node, from the leaves up, the small clades below it are merged. If they are still too small together,
    the smallest of the other clades below the node is added; if there is none, they wait for the parent.

    >>> import hedgerow as hr
    >>> h = hr.Hierarchy.from_paths(["a/x", "a/y", "b/z", "b/w"])
    >>> merged_clades(h, {"x": 3, "y": 4, "z": 1, "w": 30}, needed=7)
    [('w', 'z'), ('x', 'y')]
    """
    waiting: dict[int, list[str]] = {}
    ready: dict[int, list[Merged]] = {}

    def size(names: Iterable[str]) -> float:
        return sum(sizes[name] for name in names)

    named = {int(hierarchy.index(name)): name for name in sizes}
    nodes = np.zeros(len(hierarchy), dtype=bool)
    for node in named:
        nodes[hierarchy.lineage(node)] = True
    for node in np.flatnonzero(nodes)[::-1].tolist():  # descendants first
        small, large = waiting.pop(node, []), ready.pop(node, [])
        small += [named[node]] if node in named else []
        if small and size(small) < needed and large:
            nearest = min(large, key=lambda names: (size(names), names))
            large.remove(nearest)
            small += nearest
        if small and (size(small) >= needed or node == 0):
            large.append(tuple(sorted(small)))
            small = []
        above = int(hierarchy.parent[node])
        waiting.setdefault(above, []).extend(small)
        ready.setdefault(above, []).extend(large)
    return sorted(ready.pop(-1))
