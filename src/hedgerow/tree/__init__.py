"""The tree of classes."""

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
