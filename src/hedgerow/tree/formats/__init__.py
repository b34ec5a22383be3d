"""Readers and writers of trees.

A reader returns a `NodeTable`, which `hedgerow.Hierarchy` puts in depth-first order, or raises an error that
names the offender, where it stands, and what to do. No reader guesses, and none alters a name. Depth is limited by
memory only, except for files of nested JSON.
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
    """Return the format of a tree file: the one given, else by extension."""
    if format is not None:
        for known in FORMATS:
            if format == known:
                return known
        raise ParameterError(f"There is no tree format {format!r}. Known formats: {', '.join(FORMATS)}.")
    shown = os.fspath(path)
    found = _BY_EXTENSION.get(PurePath(path).suffix.lower())
    if found is None:
        if Path(path).is_dir():
            require_file(Path(path))  # says that it is none
        raise FileError(
            f"The extension of {shown} does not tell what kind of tree it holds. Name the format, such as "
            f"{argument('format', 'edges')}; there are {', '.join(FORMATS)}."
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
        One of `FORMATS`; by default decided by the extension: `.csv`, `.tsv` edges, `.txt` paths, `.json` nested
        JSON or a saved tree, `.nwk`, `.newick`, `.tree` Newick. Lineage tables must be asked for.
    root
        Name of the root that is added above several tops; edge lists have their own.
    separator
        What stands between the names of paths; by default "/" or ";", as found.
    disambiguate
        Call nodes of lineages or paths that share a name "parent/name" instead of refusing them.
    na
        What stands in cells of lineages that are meant to be blank, such as "NA".
    """
    kind, shown = format_of(path, format), os.fspath(path)
    if separator is not None and kind != "paths":
        raise ParameterError(f"{argument('separator', separator)} goes with paths; {shown} holds {kind}.")
    if disambiguate and kind not in ("lineages", "paths"):
        raise ParameterError(
            f"{argument('disambiguate', True)} goes with lineages and paths; {shown} holds {kind}."
        )
    if na and kind != "lineages":
        listed = (na,) if isinstance(na, str) else tuple(na)
        raise ParameterError(f"{argument('na', listed)} goes with lineages; {shown} holds {kind}.")
    check_root(root)
    if root != "root" and kind == "edges":
        raise ParameterError(
            f"{argument('root', root)} goes with other formats; {shown} holds edges, which have their own root."
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
