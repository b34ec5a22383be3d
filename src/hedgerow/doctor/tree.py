"""What a sound tree is like."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.errors import some

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hedgerow.tree import Hierarchy, Indices

_EXAMPLES = 4


@dataclass(frozen=True)
class Level:
    """The nodes at one depth."""

    depth: int
    nodes: int
    leaves: int
    ranks: list[str]
    """The ranks found there, the most frequent first."""
    examples: list[str]


@dataclass(frozen=True)
class TreeFacts:
    """What a sound tree is like."""

    root: str
    nodes: int
    leaves: int
    leaf_depth: tuple[int, int]
    """Least and greatest depth of a leaf."""
    levels: list[Level]
    widest: str
    widest_children: int
    trivial: int
    """Number of nodes, the root excepted, with a single child."""
    longest_chain: list[str]
    """The most trivial nodes in a row, and the node they lead to; empty if there are none."""
    information_values: int
    """Number of distinct values of the information, leaf count based."""
    information_max: float
    """Information of a leaf, in bits."""
    lookalikes: list[list[str]]
    """Groups of names that differ only by case or blanks."""
    padded: list[str]
    """Names that begin or end with a blank."""
    called_like_rank: list[str]
    """Names that are the name of their own rank, too."""


def tree_facts(hierarchy: Hierarchy) -> TreeFacts:
    """Describe a tree."""
    information = hierarchy.information()
    widest = int(np.argmax(hierarchy.child_count))
    leaf_depth = hierarchy.depth[hierarchy.leaves]
    names = hierarchy.names.tolist()
    return TreeFacts(
        root=hierarchy.display_name(0),
        nodes=len(hierarchy),
        leaves=len(hierarchy.leaves),
        leaf_depth=(int(leaf_depth.min()), int(leaf_depth.max())),
        levels=[_level(hierarchy, depth, nodes) for depth, nodes in enumerate(hierarchy.levels)],
        widest=hierarchy.display_name(widest),
        widest_children=int(hierarchy.child_count[widest]),
        trivial=int(hierarchy.is_trivial.sum()),
        longest_chain=_longest_chain(hierarchy),
        information_values=len(np.unique(hierarchy.leaf_count)),
        information_max=float(information.max()),
        lookalikes=_lookalikes(names),
        padded=[name for name in names if name != name.strip()],
        called_like_rank=[]
        if hierarchy.rank is None
        else hierarchy.names[hierarchy.names == hierarchy.rank].tolist(),
    )


def _level(hierarchy: Hierarchy, depth: int, nodes: Indices) -> Level:
    ranks: list[str] = []
    if hierarchy.rank is not None:
        ranks = [rank for rank, _ in Counter(hierarchy.rank[nodes].tolist()).most_common() if rank]
    # Spread over the level, so that the examples do not all come from one corner of the tree.
    spread = np.unique(np.linspace(0, len(nodes) - 1, _EXAMPLES).round().astype(np.int64))
    return Level(
        depth,
        len(nodes),
        int(hierarchy.is_leaf[nodes].sum()),
        ranks,
        [hierarchy.display_name(node) for node in nodes[spread].tolist()],
    )


def _longest_chain(hierarchy: Hierarchy) -> list[str]:
    if not hierarchy.is_trivial.any():
        return []
    # In depth-first order a trivial node's only child comes next: a chain is a run of trivial nodes.
    edges = np.diff(hierarchy.is_trivial.astype(np.int8), prepend=0, append=0)
    start, stop = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    longest = int(np.argmax(stop - start))
    return [hierarchy.display_name(node) for node in range(start[longest], stop[longest] + 1)]


def _lookalikes(names: Sequence[str]) -> list[list[str]]:
    folded = [" ".join(name.casefold().split()) for name in names]
    twice = (
        {key for key, count in Counter(folded).items() if count > 1} if len(set(folded)) < len(names) else set()
    )
    groups: dict[str, list[str]] = {}
    for key, name in zip(folded, names, strict=True):
        if key in twice:
            groups.setdefault(key, []).append(name)
    return list(groups.values())


def remarks(facts: TreeFacts) -> list[str]:
    """Say what is allowed but often a mistake."""
    found = []
    if facts.lookalikes:
        shown = "; ".join(" and ".join(map(repr, group[:3])) for group in facts.lookalikes[:5])
        more = f"; and {len(facts.lookalikes) - 5:,} more" if len(facts.lookalikes) > 5 else ""
        found.append(
            f"Some names differ only by case or blanks: {shown}{more}. They are different classes here; make sure "
            f"that they should be."
        )
    if facts.padded:
        found.append(
            f"Some names begin or end with a blank: {some(facts.padded)}. "
            f"Labels and score columns must be written the same way."
        )
    if facts.called_like_rank:
        found.append(
            f"Some classes are called like their rank: {some(facts.called_like_rank)}. Ranks are read from the "
            f"first line of a table: is the line with their names missing?"
        )
    return found
