"""Readers and writers of trees.

A reader returns a `NodeTable`, which `hedgerow.Hierarchy` puts in depth-first order, or raises an error that
names the offender, its location and the remedy. No reader guesses, and none changes a name. Depth is limited only
by memory, except in nested JSON files.
"""

from __future__ import annotations

import os
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Literal

from hedgerow.errors import FileError, ParameterError, argument
from hedgerow.files import require_file
from hedgerow.tree.formats.edges import read_edges, write_edges
from hedgerow.tree.formats.graphs import read_networkx, to_networkx
from hedgerow.tree.formats.lineages import read_lineages
from hedgerow.tree.formats.nested import read_json, read_saved, read_titles, write_json, write_saved
from hedgerow.tree.formats.newick import read_newick, write_newick
from hedgerow.tree.formats.node_table import NodeTable
from hedgerow.tree.formats.paths import read_paths
from hedgerow.tree.formats.problems import FlawedTreeError, Origin, Problem, check_root

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

__all__ = [
    "FORMATS",
    "FlawedTreeError",
    "NodeTable",
    "Origin",
    "Problem",
    "TreeFormat",
    "format_of",
    "read_edges",
    "read_json",
    "read_lineages",
    "read_networkx",
    "read_newick",
    "read_paths",
    "read_saved",
    "read_titles",
    "read_tree",
    "to_networkx",
    "write_edges",
    "write_json",
    "write_newick",
    "write_saved",
]

TreeFormat = Literal["edges", "lineages", "paths", "json", "newick"]
FORMATS: tuple[TreeFormat, ...] = ("edges", "lineages", "paths", "json", "newick")
_BY_EXTENSION: dict[str, TreeFormat] = {
    ".csv": "edges",
    ".tsv": "edges",
    ".tab": "edges",
    ".txt": "paths",
    ".json": "json",
    ".nwk": "newick",
    ".newick": "newick",
    ".tree": "newick",
    ".tre": "newick",
}


def format_of(path: str | PathLike[str], format: str | None = None) -> TreeFormat:  # noqa: A002
    """Return the format of a tree file: the given one, or else the one that its extension stands for."""
    if format is not None:
        for known in FORMATS:
            if format == known:
                return known
        raise ParameterError(f"There is no tree format {format!r}. Known formats: {', '.join(FORMATS)}.")
    shown = os.fspath(path)
    found = _BY_EXTENSION.get(PurePath(path).suffix.lower())
    if found is None:
        if Path(path).is_dir():
            require_file(Path(path))  # raises an error: a folder is not a file
        raise FileError(
            f"The extension of {shown} does not determine its tree format. Name the format, such as "
            f"{argument('format', 'edges')}. Known formats: {', '.join(FORMATS)}."
        )
    return found


def read_tree(
    path: str | PathLike[str],
    format: str | None = None,  # noqa: A002
    root: str = "root",
    separator: str | None = None,
    disambiguate: bool = False,
    na: str | Sequence[str] = (),
) -> NodeTable:
    """Read a tree file of any format.

    Parameters
    ----------
    path
        The file.
    format
        One of `FORMATS`. By default, the extension decides: `.csv`, `.tsv` for edges, `.txt` for paths, `.json`
        for nested JSON or a saved tree, `.nwk`, `.newick`, `.tree` for Newick. Lineage tables need "lineages".
    root
        Name of the root that is added if there are several top nodes; edge lists have their own root.
    separator
        What separates the names of paths; by default "/" or ";", as found.
    disambiguate
        Call nodes of lineages or paths that share a name "parent/name" instead of raising an error.
    na
        The text of cells of lineages that are meant to be blank, such as "NA".
    """
    kind, shown = format_of(path, format), os.fspath(path)
    if separator is not None and kind != "paths":
        raise ParameterError(f"{argument('separator', separator)} only applies to paths; {shown} contains {kind}.")
    if disambiguate and kind not in ("lineages", "paths"):
        raise ParameterError(
            f"{argument('disambiguate', True)} only applies to lineages and paths; {shown} contains {kind}."
        )
    if na and kind != "lineages":
        listed = (na,) if isinstance(na, str) else tuple(na)
        raise ParameterError(f"{argument('na', listed)} only applies to lineages; {shown} contains {kind}.")
    check_root(root)
    if root != "root" and kind == "edges":
        raise ParameterError(
            f"{argument('root', root)} does not apply to edges, which have their own root; {shown} contains edges."
        )
    match kind:
        case "edges":
            return read_edges(path)
        case "lineages":
            return read_lineages(path, root, disambiguate, na=na)
        case "paths":
            return read_paths(path, root, separator, disambiguate)
        case "json":
            return read_json(path, root)
        case "newick":
            return read_newick(PurePath(path), root)  # a str might be taken for Newick itself
