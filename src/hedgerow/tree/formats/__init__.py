"""Readers and writers of trees, one per format; `hedgerow.tree.tree_reading` knows them by name.

A reader returns a `NodeTable`, which `hedgerow.Hierarchy` puts in depth-first order, or raises an error that
names the offender, its location and the remedy. No reader guesses. Names are taken as they are, except that some
formats allow several classes to share a name: their readers tell them apart. Depth is limited only by memory,
except in nested JSON files.
"""

from hedgerow.tree.formats.codes import read_codes
from hedgerow.tree.formats.darwin_core import read_darwin_core
from hedgerow.tree.formats.edges import read_edges, read_networkx, to_networkx, write_edges
from hedgerow.tree.formats.lineages import read_lineages, write_lineages
from hedgerow.tree.formats.nested import SavedTree, read_json, read_titles, write_json, write_saved
from hedgerow.tree.formats.newick import read_newick, read_newick_file, write_newick
from hedgerow.tree.formats.paths import read_paths, write_paths
from hedgerow.tree.formats.taxdump import read_taxdump
from hedgerow.tree.formats.taxon_lists import read_fasta, read_prefixed, read_qiime2, read_speciesnet

__all__ = [
    "SavedTree",
    "read_codes",
    "read_darwin_core",
    "read_edges",
    "read_fasta",
    "read_json",
    "read_lineages",
    "read_networkx",
    "read_newick",
    "read_newick_file",
    "read_paths",
    "read_prefixed",
    "read_qiime2",
    "read_speciesnet",
    "read_taxdump",
    "read_titles",
    "to_networkx",
    "write_edges",
    "write_json",
    "write_lineages",
    "write_newick",
    "write_paths",
    "write_saved",
]
