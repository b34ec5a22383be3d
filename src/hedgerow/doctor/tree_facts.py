"""Facts about a sound tree, and remarks on what may be a mistake."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING
from unicodedata import category, normalize

import numpy as np

from hedgerow.errors import argument, some

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hedgerow.tree import Hierarchy, Indices

_EXAMPLES = 4
_SHOWN = 5
_PREFIX = re.compile(r"[dkpcofgs]__\S")
SAME_CHARACTERS = (
    "Write names the same way in tree, labels and scores: compose accents, in Python with "
    'unicodedata.normalize("NFC", name), and remove zero-width characters.'
)


@dataclass(frozen=True)
class Level:
    """The nodes at one depth."""

    depth: int
    nodes: int
    leaves: int
    ranks: list[str]
    """The ranks of the nodes, most frequent first."""
    examples: list[str]


@dataclass(frozen=True)
class TreeFacts:
    """Facts about a sound tree."""

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
    """Number of distinct values of the information, by leaves."""
    information_max: float
    """Information of a leaf, in bits."""
    lookalikes: list[list[str]]
    """Groups of names that differ only by case or blanks."""
    twins: list[list[str]]
    """Groups of names that look the same, but consist of different characters."""
    invisible: list[str]
    """Other names with invisible characters, or with accents as separate characters."""
    padded: list[str]
    """Names that begin or end with a blank."""
    named_like_rank: list[str]
    """Names that are also the name of their own rank."""
    with_prefix: list[str]
    """Names that begin with the letter of a rank, as in g__Bacillus, in a tree without ranks."""


def tree_facts(hierarchy: Hierarchy) -> TreeFacts:
    """Describe a tree."""
    information = hierarchy.information()
    widest = int(np.argmax(hierarchy.child_count))
    leaf_depth = hierarchy.depth[hierarchy.leaves]
    names = hierarchy.names.tolist()
    twins = _groups(names, visible)
    in_twins = {name for group in twins for name in group}
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
        lookalikes=_groups([name for name in names if name not in in_twins], _folded),
        twins=twins,
        invisible=[name for name in names if visible(name) != name and name not in in_twins],
        padded=[name for name in names if name != name.strip()],
        named_like_rank=[]
        if hierarchy.rank is None
        else hierarchy.names[hierarchy.names == hierarchy.rank].tolist(),
        with_prefix=[] if hierarchy.rank is not None else [name for name in names if _PREFIX.match(name)],
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


def visible(name: str) -> str:
    """Return the visible form of a name: with composed accents, and without zero-width characters.

    >>> visible("cafe\u0301\u200b") == "caf\u00e9"
    True
    """
    if name.isascii():
        return name
    return "".join(sign for sign in normalize("NFC", name) if category(sign) != "Cf")


def _folded(name: str) -> str:
    return " ".join(name.casefold().split())


def _groups(names: Sequence[str], key: Callable[[str], str]) -> list[list[str]]:
    """Return the groups of names with the same key."""
    keys = list(map(key, names))
    twice = {text for text, count in Counter(keys).items() if count > 1} if len(set(keys)) < len(keys) else set()
    groups: dict[str, list[str]] = {}
    for text, name in zip(keys, names, strict=True):
        if text in twice:
            groups.setdefault(text, []).append(name)
    return list(groups.values())


def remarks(facts: TreeFacts, kind: str) -> Iterator[str]:
    """Yield remarks on what is allowed but often a mistake, in a tree read from this format."""
    if facts.twins:
        yield (
            f"Some names look the same, but consist of different characters: {_some(facts.twins, ascii)}. "
            f"They are different classes here. {SAME_CHARACTERS}"
        )
    if facts.invisible:
        yield (
            f"Some names contain invisible characters, or accents as separate characters: "
            f"{_some([[name] for name in facts.invisible], ascii)}. {SAME_CHARACTERS}"
        )
    if facts.lookalikes:
        yield (
            f"Some names differ only by case or blanks: {_some(facts.lookalikes, repr)}. They are different "
            f"classes here; make sure that they should be."
        )
    if facts.padded:
        yield (
            f"Some names begin or end with a blank: {some(facts.padded)}. "
            f"Labels and score columns must be written the same way."
        )
    if facts.named_like_rank:
        yield (
            f"Some classes have the name of their rank: {some(facts.named_like_rank)}. Ranks are read from the "
            f"first line of a table: is the header missing?"
        )
    if kind == "lineages" and len(facts.levels) > 1 and len(tops := facts.levels[1].ranks) > 1:
        yield (
            f"Classes of several ranks are directly below the root: {some(tops)}. A blank cell skips its rank. If "
            f"blank cells mean 'the same as above', as merged cells of a spreadsheet do, fill them in."
        )
    if facts.with_prefix:
        yield (
            f"Some names begin with the letter of a rank: {some(facts.with_prefix)}. Read as the format prefixed, "
            f"they would have ranks: {argument('format', 'prefixed')}."
        )


def _some(groups: Sequence[Sequence[str]], written: Callable[[str], str]) -> str:
    """Quote the first few groups of names, and say how many more there are."""
    shown = "; ".join(" and ".join(map(written, group[:3])) for group in groups[:_SHOWN])
    return shown + (f"; and {len(groups) - _SHOWN:,} more" if len(groups) > _SHOWN else "")
