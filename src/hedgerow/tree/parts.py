"""Cutting a tree down to a list of names, a clade or some ranks: what `hedgerow tree` does."""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.errors import FileError, ParameterError, UnknownNameError, counted, nearest, some
from hedgerow.files import read_lines
from hedgerow.tree.names import Aliases

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from hedgerow.tree.hierarchy import Hierarchy

_SHOWN = 20  # unknown names
_SUGGESTED = 5  # unknown names that get suggestions, each a pass over all names


def read_names(path: str | PathLike[str]) -> dict[str, int]:
    """Read a list of names, one per line; return the first line of each. Spaces around names are dropped."""
    names: dict[str, int] = {}
    for line, name in enumerate(read_lines(path), 1):
        if name.strip():
            names.setdefault(name.strip(), line)
    if not names:
        raise FileError(f"{os.fspath(path)} contains no names. Write the classes to keep, one per line.")
    return names


def refuse_unknown(
    hierarchy: Hierarchy, names: Mapping[str, int], unknown: Mapping[str, int], path: str | PathLike[str]
) -> None:
    """Raise an error that lists the unknown names of a file, with similar names of the tree."""
    if not unknown:
        return
    shown = [
        f"{name!r} (line {line}{_hint(hierarchy, name) if i < _SUGGESTED else ''})"
        for i, (name, line) in enumerate(islice(unknown.items(), _SHOWN))
    ]
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
    return replace(hierarchy, names=names, aliases=aliases)
