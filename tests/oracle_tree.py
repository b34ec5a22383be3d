"""Slow definitions of everything about a tree, from a dict of parents by name."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hedgerow import Hierarchy


@dataclass(frozen=True)
class Tree:
    """A tree as `{child: parent}`; the root's parent is None. Children are in the order of the dict."""

    parent: dict[str, str | None]

    @classmethod
    def of(cls, h: Hierarchy) -> Tree:
        names = h.names.tolist()
        return cls({name: None if p < 0 else names[p] for name, p in zip(names, h.parent.tolist(), strict=True)})

    def lineage(self, name: str) -> list[str]:
        above = self.parent[name]
        return [name] if above is None else [*self.lineage(above), name]

    def depth(self, name: str) -> int:
        return len(self.lineage(name)) - 1

    def children(self, name: str) -> list[str]:
        return [child for child, parent in self.parent.items() if parent == name]

    def descendants(self, name: str) -> list[str]:
        """The node and everything below it, depth first."""
        return [name] + [below for child in self.children(name) for below in self.descendants(child)]

    def leaves(self, name: str) -> list[str]:
        return [node for node in self.descendants(name) if not self.children(node)]

    def is_ancestor(self, a: str, b: str) -> bool:
        return a in self.lineage(b)

    def lca(self, a: str, b: str) -> str:
        return [x for x, y in zip(self.lineage(a), self.lineage(b), strict=False) if x == y][-1]

    def height(self, name: str) -> int:
        return max((1 + self.height(child) for child in self.children(name)), default=0)

    def root(self) -> str:
        return next(name for name, parent in self.parent.items() if parent is None)

    def information(self, name: str, weights: Mapping[str, float] | None = None) -> float:
        def weight(node: str) -> float:
            return sum(1.0 if weights is None else weights[leaf] for leaf in self.leaves(node))

        return math.log2(weight(self.root())) - math.log2(weight(name))

    def spanned(self, keep: Iterable[str]) -> set[str]:
        return {self.root()} | {node for name in keep for node in self.lineage(name)}

    def projected(self, name: str, kept: set[str]) -> str:
        return [node for node in self.lineage(name) if node in kept][-1]
