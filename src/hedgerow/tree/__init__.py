"""The tree of classes.

In come tree files, pairs, lineages, nested data or graphs; out goes a `Hierarchy`, whose nodes have names and are
in depth-first order. `TreeReading` says how a file is read, `FORMATS` holds the formats, `Settings` says what
counts as specific and as right, and `taxon_strings` parses the taxa that tools write.
"""

from hedgerow.tree import taxon_strings
from hedgerow.tree.formats.nested import read_titles
from hedgerow.tree.hierarchy import Hierarchy, SavedTree
from hedgerow.tree.layout import Indices
from hedgerow.tree.names import Names
from hedgerow.tree.node import Node
from hedgerow.tree.parts import cut_down, read_names, refuse_unknown, with_plain_names
from hedgerow.tree.settings import (
    BelowLabel,
    InformationKind,
    SavedSettings,
    SettingKeywords,
    Settings,
    SingleChild,
)
from hedgerow.tree.tree_reading import FORMATS, TreeFormat, TreeReading, format_of, require_source, writable
from hedgerow.tree.validation import FlawedTreeError, NodeTable, Problem

__all__ = [
    "FORMATS",
    "BelowLabel",
    "FlawedTreeError",
    "Hierarchy",
    "Indices",
    "InformationKind",
    "Names",
    "Node",
    "NodeTable",
    "Problem",
    "SavedSettings",
    "SavedTree",
    "SettingKeywords",
    "Settings",
    "SingleChild",
    "TreeFormat",
    "TreeReading",
    "cut_down",
    "format_of",
    "read_names",
    "read_titles",
    "refuse_unknown",
    "require_source",
    "taxon_strings",
    "with_plain_names",
    "writable",
]
