"""Readers and writers of trees.

A reader returns a `NodeTable`, which `hedgerow.Hierarchy` puts in depth-first order, or raises an error that
names the offender, its location and the remedy. No reader guesses. Names are taken as they are, except that some
formats allow several classes to share a name: their readers tell them apart. Depth is limited only by memory,
except in nested JSON files.
"""

from __future__ import annotations

from hedgerow.tree.formats.codes import read_codes
from hedgerow.tree.formats.darwin_core import read_darwin_core
from hedgerow.tree.formats.edges import read_edges, write_edges
from hedgerow.tree.formats.fasta import read_fasta
from hedgerow.tree.formats.graphs import read_networkx, to_networkx
from hedgerow.tree.formats.lineages import read_lineages, write_lineages
from hedgerow.tree.formats.nested import read_json, read_saved, read_titles, write_json, write_saved
from hedgerow.tree.formats.newick import read_newick, read_newick_file, write_newick
from hedgerow.tree.formats.node_table import NodeTable
from hedgerow.tree.formats.paths import read_paths, write_paths
from hedgerow.tree.formats.prefixed import read_prefixed
from hedgerow.tree.formats.problems import FlawedTreeError, Origin, Problem
from hedgerow.tree.formats.qiime2 import read_qiime2
from hedgerow.tree.formats.registry import (
    FORMATS,
    TreeFormat,
    format_of,
    read_tree,
    register,
    require_source,
    writable,
    write_tree,
)
from hedgerow.tree.formats.speciesnet import read_speciesnet
from hedgerow.tree.formats.taxdump import read_taxdump

__all__ = [
    "FORMATS",
    "FlawedTreeError",
    "NodeTable",
    "Origin",
    "Problem",
    "TreeFormat",
    "format_of",
    "read_codes",
    "read_darwin_core",
    "read_edges",
    "read_json",
    "read_lineages",
    "read_networkx",
    "read_newick",
    "read_paths",
    "read_prefixed",
    "read_saved",
    "read_taxdump",
    "read_titles",
    "read_tree",
    "register",
    "require_source",
    "to_networkx",
    "writable",
    "write_edges",
    "write_json",
    "write_newick",
    "write_saved",
    "write_tree",
]


for _format in (
    TreeFormat("edges", read_edges, write_edges, (".csv", ".tsv", ".tab")),
    TreeFormat("lineages", read_lineages, write_lineages, takes=("root", "disambiguate", "na"), keeps=("rank",)),
    TreeFormat("paths", read_paths, write_paths, (".txt",), takes=("root", "separator", "disambiguate")),
    TreeFormat("json", read_json, write_json, (".json",), takes=("root",), keeps=("rank", "title", "aliases")),
    TreeFormat("newick", read_newick_file, write_newick, (".nwk", ".newick", ".tree", ".tre"), takes=("root",)),
    TreeFormat("taxdump", read_taxdump, folder_with="nodes.dmp", tells_apart=True),
    TreeFormat("darwin-core", read_darwin_core, takes=("root",), tells_apart=True),
    TreeFormat("prefixed", read_prefixed, takes=("root",), tells_apart=True),
    TreeFormat("qiime2", read_qiime2, takes=("root",), tells_apart=True),
    TreeFormat(
        "fasta", read_fasta, extensions=(".fasta", ".fa", ".fas", ".fna"), takes=("root",), tells_apart=True
    ),
    TreeFormat("speciesnet", read_speciesnet, takes=("root",), tells_apart=True),
    TreeFormat("codes", read_codes, takes=("root", "prefixes")),
):
    FORMATS[_format.name] = _format
