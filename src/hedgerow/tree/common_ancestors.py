"""Lowest common ancestors of nodes in depth-first order, two look-ups a pair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np

if TYPE_CHECKING:
    from hedgerow.tree.layout import Indices


@final
class CommonAncestors:
    """A table that answers for any pair of nodes.

    In depth-first order the lowest common ancestor of a < b is the smallest parent among the nodes a+1 .. b: all
    of these lie below it, and one of them is its child. The table holds the minima of `parent` over all runs of
    1, 2, 4, ... nodes, so that two runs cover a+1 .. b whatever its length: one that starts at a+1, and one that
    ends at b.
    """

    def __init__(self, parent: Indices) -> None:
        n = len(parent)
        node: Any = np.uint16 if n <= 1 << 16 else np.int32  # the smaller, the more of the table is in the cache
        runs = [np.append(parent[1:], 0).astype(node)]
        while (1 << len(runs)) < n:
            half = 1 << (len(runs) - 1)
            below = runs[-1]
            runs.append(np.concatenate([np.minimum(below[:-half], below[half:]), below[-half:]]))
        # Before the runs stand the nodes themselves, for pairs that are 0 apart.
        self._minima = np.concatenate([np.arange(n, dtype=node), *runs])
        apart = np.arange(n)
        level = np.frexp(apart)[1].astype(np.int64)  # 0 for 0, else 1 + floor(log2), exactly
        from_low = level * n
        from_high = np.where(apart == 0, 0, from_low - (1 << np.maximum(level - 1, 0)))
        dtype: Any = np.int32 if len(self._minima) < np.iinfo(np.int32).max else np.int64
        self._from_low: Indices = from_low.astype(dtype)
        self._from_high: Indices = from_high.astype(dtype)

    def write(self, low: Indices, high: Indices, out: Indices) -> None:
        """Write the lowest common ancestors of nodes low <= high, known to be in range; these are overwritten."""
        apart = high - low
        # mode="clip" because "raise" would look at every index once more.
        low += self._from_low.take(apart, mode="clip")
        high += self._from_high.take(apart, mode="clip")
        np.minimum(self._minima.take(low, mode="clip"), self._minima.take(high, mode="clip"), out=out)
