"""The tree of classes.

In come tree files, pairs, lineages, nested data or graphs; out goes a `Hierarchy`, whose nodes have names and are
in depth-first order. Everything else in the package works on such a tree. The next room is `likelihood`.
"""

from hedgerow.tree.formats import (
    FORMATS,
    FlawedTreeError,
    NodeTable,
    Origin,
    Problem,
    TreeFormat,
    read_titles,
    register,
)
from hedgerow.tree.hierarchy import Hierarchy
from hedgerow.tree.information import InformationKind
from hedgerow.tree.layout import Indices
from hedgerow.tree.names import Names
from hedgerow.tree.node import Node

__all__ = [
    "FORMATS",
    "FlawedTreeError",
    "Hierarchy",
    "Indices",
    "InformationKind",
    "Names",
    "Node",
    "NodeTable",
    "Origin",
    "Problem",
    "TreeFormat",
    "read_titles",
    "register",
]
