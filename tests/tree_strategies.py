"""Random trees for property tests: chains, stars, single leaves, mixtures, odd names."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import strategies as st

from hedgerow import Hierarchy
from hedgerow.tree.names import CONTROL

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

MAX_NODES = 24


@st.composite
def parent_lists(draw: DrawFn, max_nodes: int = MAX_NODES) -> list[int]:
    """Parents of a random tree, every parent before its children, the root first."""
    count = draw(st.integers(2, max_nodes))
    shape = draw(st.sampled_from(["chain", "star", "bushy", "chains on a star", "any"]))
    parent = [-1]
    for node in range(1, count):
        if shape == "chain":
            parent.append(node - 1)
        elif shape == "star":
            parent.append(0)
        elif shape == "bushy":
            parent.append((node - 1) // 3)
        elif shape == "chains on a star":
            parent.append(0 if draw(st.integers(0, 3)) == 0 else node - 1)
        else:
            parent.append(draw(st.integers(0, node - 1)))
    return parent


@st.composite
def shuffled_parents(draw: DrawFn, max_nodes: int = MAX_NODES) -> list[int]:
    """Parents of a random tree, its nodes in any order."""
    parent = draw(parent_lists(max_nodes))
    order = draw(st.permutations(range(len(parent))))
    position = {old: new for new, old in enumerate(order)}
    return [-1 if parent[old] < 0 else position[parent[old]] for old in order]


def plain_names(count: int) -> list[str]:
    """Short names: a, b, ..., aa, ab, ..."""
    letters = string.ascii_lowercase
    return [letters[i] if i < 26 else letters[i // 26 - 1] + letters[i % 26] for i in range(count)]


# Everything that UTF-8 can hold and a name may, and often what formats treat specially.
_SPECIAL = st.sampled_from([*"\"',;:()[]{}_/\\|<>&#%\t\r\n =-", "''", '""', "\r\n", "\u2028", "\ufeff"])
_ANY = st.characters(codec="utf-8", exclude_characters=CONTROL)
odd_names: SearchStrategy[str] = (
    st.lists(st.one_of(_SPECIAL, _ANY), min_size=1, max_size=6)
    .map("".join)
    .filter(lambda name: bool(name.strip()))
)


@st.composite
def trees(draw: DrawFn, max_nodes: int = MAX_NODES, *, odd: bool = False) -> Hierarchy:
    """A random `Hierarchy`; with `odd`, names full of special characters."""
    parent = draw(shuffled_parents(max_nodes))
    count = len(parent)
    names = plain_names(count)
    if odd:
        names = draw(st.lists(odd_names, min_size=count, max_size=count, unique=True))
    return Hierarchy.from_parents(names, np.array(parent))


@st.composite
def trees_and_nodes(draw: DrawFn, nodes: int, max_nodes: int = MAX_NODES) -> tuple[Hierarchy, list[int]]:
    """A random tree and some of its nodes, repetitions allowed."""
    tree = draw(trees(max_nodes))
    return tree, draw(st.lists(st.integers(0, len(tree) - 1), min_size=nodes, max_size=nodes))
