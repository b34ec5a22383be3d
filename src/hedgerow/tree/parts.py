"""Parts of a tree: subtrees with their projections, random shares of the leaves, cutting down to a list."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.errors import (
    FileError,
    ParameterError,
    ScoreError,
    UnknownNameError,
    argument,
    check_number,
    counted,
    nearest,
    some,
)
from hedgerow.files import read_lines
from hedgerow.tree.layout import Indices, follow
from hedgerow.tree.names import Aliases, check_root

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from numpy.typing import ArrayLike, NDArray

    from hedgerow.tree.hierarchy import Hierarchy

_SHOWN = 20  # unknown names
_SUGGESTED = 5  # unknown names that get suggestions, each a pass over all names


def subtree(hierarchy: Hierarchy, keep: ArrayLike) -> tuple[Hierarchy, Indices]:
    """Return the rooted tree spanned by some nodes, and the projection; see `Hierarchy.subtree`."""
    asked = np.zeros(len(hierarchy), dtype=bool)
    array = np.asarray(keep)
    if array.dtype == bool and array.shape != asked.shape:
        raise ScoreError(f"A mask needs one value per node, {len(hierarchy)} in all; got shape {array.shape}.")
    asked[array if array.dtype == bool else hierarchy.nodes(array)] = True
    asked_before = np.concatenate([[0], np.cumsum(asked)])
    kept = asked_before[hierarchy.end] > asked_before[:-1]
    kept[0] = True
    return _reduced(hierarchy, kept)


def without_trivial(hierarchy: Hierarchy) -> Hierarchy:
    """Return the tree without its trivial nodes; see `Hierarchy.without_trivial`."""
    return _reduced(hierarchy, ~hierarchy.is_trivial)[0]


def _reduced(hierarchy: Hierarchy, kept: NDArray[np.bool_]) -> tuple[Hierarchy, Indices]:
    """Return the tree of the kept nodes and the root, each below its nearest kept ancestor; and the projection."""
    nearest = follow(np.where(kept, np.arange(len(hierarchy)), hierarchy.parent))
    projection = (np.cumsum(kept) - 1)[nearest]
    parent = np.concatenate([[-1], projection[hierarchy.parent[kept][1:]]])
    return _part(hierarchy, kept, parent), projection


def clade(hierarchy: Hierarchy, node: int) -> Hierarchy:
    """Return the tree of a node and its descendants; see `Hierarchy.clade`."""
    if hierarchy.is_leaf[node]:
        raise ParameterError(f"{hierarchy.display_name(node)!r} is a leaf: there is no tree below it.")
    kept = np.zeros(len(hierarchy), dtype=bool)
    kept[node : hierarchy.end[node]] = True
    return _part(hierarchy, kept, np.maximum(hierarchy.parent[kept] - node, -1))


def at_ranks(hierarchy: Hierarchy, ranks: Sequence[str]) -> Hierarchy:
    """Return the tree of the nodes of some ranks; see `Hierarchy.at_ranks`."""
    rank_of = np.full(len(hierarchy), "", dtype=object) if hierarchy.rank is None else hierarchy.rank
    known = Counter(rank_of.tolist())
    del known[""]
    for rank in ranks:
        if rank not in known:
            listed = ", ".join(f"{rank} ({count:,})" for rank, count in known.most_common(40))
            raise ParameterError(
                f"No node of the tree has the rank {rank!r}. "
                + (f"Its ranks, with the number of their nodes: {listed}." if known else "It has no ranks at all.")
            )
    kept = np.isin(rank_of, list(ranks))
    kept[0] = True
    if kept.sum() < 2:
        raise ParameterError("None of these nodes lies below the root: name more ranks.")
    return _reduced(hierarchy, kept)[0]


def _part(hierarchy: Hierarchy, kept: NDArray[np.bool_], parent: Indices) -> Hierarchy:
    """Return the tree of some nodes, with their ranks, titles and aliases."""
    return type(hierarchy)(
        hierarchy.names[kept],
        parent,
        None if hierarchy.rank is None else hierarchy.rank[kept],
        None if hierarchy.title is None else hierarchy.title[kept],
        Aliases.of(hierarchy.aliases).moved(np.cumsum(kept) - 1, kept),
    )


def beside(hierarchy: Hierarchy, names: Sequence[str], root: str) -> Hierarchy:
    """Return a tree with more leaves below its root, or below a new one; see `Hierarchy.beside`."""
    added = [names] if isinstance(names, str) else list(names)
    check_root(root)
    above = [] if hierarchy.names[0].casefold() == root.casefold() else [root]
    if not added or not all(map(str.strip, added)):
        raise ParameterError(
            f"A class beside the tree needs a name, such as 'blank', not {some(added) or 'none'}."
        )
    known = [name for name in added if name in hierarchy]
    if known:
        raise ParameterError(f"{some(known)} cannot be put beside the tree: the tree has this class already.")
    if above and root in hierarchy:
        raise ParameterError(
            f"{added[0]!r} needs a root above {hierarchy.names[0]!r}, but a class is called {root!r} already. "
            f"Choose another name for the root: {argument('root', 'NAME')}."
        )
    shift = len(above)

    def extended(values: NDArray[np.object_] | None) -> list[str] | None:
        return None if values is None else [""] * shift + values.tolist() + [""] * len(added)

    return type(hierarchy)(
        [*above, *hierarchy.names.tolist(), *added],  # type: ignore[arg-type]
        np.concatenate([[-1] * shift, hierarchy.parent + shift, [0] * len(added)]).astype(np.int64),
        extended(hierarchy.rank),  # type: ignore[arg-type]
        extended(hierarchy.title),  # type: ignore[arg-type]
        Aliases.of(hierarchy.aliases).moved(np.arange(len(hierarchy)) + shift),
    )


def split_leaves(hierarchy: Hierarchy, fraction: float, seed: int, per_parent: bool) -> tuple[Indices, Indices]:
    """Draw a random share of the leaves; see `Hierarchy.split_leaves`."""
    check_number("fraction", fraction, 0, 1)
    random = np.random.default_rng(seed)
    group = hierarchy.parent[hierarchy.leaves] if per_parent else np.zeros_like(hierarchy.leaves)
    shuffled = np.lexsort((random.random(len(group)), group))
    first, size = np.unique(group[shuffled], return_index=True, return_counts=True)[1:]
    share = np.floor(size * fraction + random.random(len(size)))
    place = np.arange(len(group)) - np.repeat(first, size)
    chosen = np.zeros(len(group), dtype=bool)
    chosen[shuffled] = place < np.repeat(share, size)
    return hierarchy.leaves[chosen], hierarchy.leaves[~chosen]


# `hedgerow tree` -------------------------------------------------------------------------------------------


def read_names(path: str | PathLike[str]) -> dict[str, int]:
    """Read a list of names, one per line; return the first line of each. Spaces around names are dropped."""
    names: dict[str, int] = {}
    for line, name in enumerate(read_lines(path), 1):
        if name.strip():
            names.setdefault(name.strip(), line)
    if not names:
        raise FileError(f"{os.fspath(path)} contains no names. Write the classes to keep, one per line.")
    return names


def unknown_names(hierarchy: Hierarchy, names: Mapping[str, int]) -> dict[str, int]:
    """Return the names, and their lines, that are not in a tree."""
    return {name: line for name, line in names.items() if name not in hierarchy}


def refuse_unknown(
    hierarchy: Hierarchy, names: Mapping[str, int], unknown: Mapping[str, int], path: str | PathLike[str]
) -> None:
    """Raise an error that lists the unknown names of a file, with similar names of the tree."""
    if not unknown:
        return
    shown: list[str] = []
    for name, line in list(unknown.items())[:_SHOWN]:
        hint = _hint(hierarchy, name) if len(shown) < _SUGGESTED else ""
        shown.append(f"{name!r} (line {line}{hint})")
    more = len(unknown) - len(shown)
    raise UnknownNameError(
        f"{len(unknown):,} of the {counted(len(names), 'name', 'names')} in {os.fspath(path)} "
        f"{'is' if len(unknown) == 1 else 'are'} not in the tree: {'; '.join(shown)}"
        f"{f'; and {more:,} more, which --json FILE lists' if more else ''}. Correct these names, or delete their "
        f"lines."
    )


def _hint(hierarchy: Hierarchy, name: str) -> str:
    twins = hierarchy.names[Aliases.of(hierarchy.aliases).several(name)].tolist()
    if twins:
        return f", which may mean {some(twins)}"
    near = nearest(name, hierarchy.names.tolist(), 2)
    return f", similar to {some(near)}" if near else ""


def cut_down(
    hierarchy: Hierarchy,
    *,
    keep: Sequence[str] | None = None,
    clade: str | None = None,
    ranks: Sequence[str] | None = None,
) -> Hierarchy:
    """Return a part of a tree.

    Parameters
    ----------
    hierarchy
        The tree.
    keep
        Names of nodes to keep, with their ancestors; their descendants are left out.
    clade
        The node that becomes the root; everything outside it is left out.
    ranks
        Ranks of nodes to keep; others are left out, and their children move up. The root is always kept.

    >>> from hedgerow import Hierarchy
    >>> h = Hierarchy.from_paths(["animal/bird/robin", "animal/bird/wren", "animal/fish"])
    >>> cut_down(h, keep=["wren"], clade="bird").names.tolist()
    ['bird', 'wren']
    """
    small, top = hierarchy, 0 if clade is None else hierarchy.index(clade)
    if keep is not None:
        nodes = hierarchy.indices(list(keep))
        outside = np.flatnonzero(~hierarchy.is_ancestor(top, nodes)).tolist()
        if outside:
            listed = some(keep[i] for i in outside)
            raise ParameterError(
                f"{counted(len(outside), 'name', 'names')} to keep {'is' if len(outside) == 1 else 'are'} outside "
                f"the clade {clade!r}: {listed}. Choose a larger clade, or leave these names out."
            )
        small, place = hierarchy.subtree(nodes)
        top = int(place[top])
    if top:
        small = small.clade(top)
    return small if ranks is None else small.at_ranks(ranks)


def with_plain_names(hierarchy: Hierarchy) -> Hierarchy:
    """Shorten names that a reader made distinct, "name [id]" or "parent/name", where that is no longer needed.

    >>> from hedgerow import Hierarchy
    >>> h = Hierarchy(["animal", "Bacillus [7]"], [-1, 0], aliases={"Bacillus": 1})
    >>> with_plain_names(h).names.tolist()
    ['animal', 'Bacillus']
    """
    names = hierarchy.names.tolist()
    taken = set(names)
    for plain, node in hierarchy.aliases.items():
        name = names[node]
        numbered = name.startswith(f"{plain} [") and name.endswith("]")
        if plain not in taken and (numbered or name.endswith(f"/{plain}")):
            taken.add(plain)
            names[node] = plain
    aliases = {alias: node for alias, node in hierarchy.aliases.items() if alias not in taken}
    return type(hierarchy)(names, hierarchy.parent, hierarchy.rank, hierarchy.title, aliases)
