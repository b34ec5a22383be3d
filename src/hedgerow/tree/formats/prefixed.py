"""Prefixed strings: one lineage per line, each name with the letter of its rank, `d__Bacteria; p__Firmicutes`."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from hedgerow.errors import argument
from hedgerow.files import is_path, read_lines
from hedgerow.tree.formats.forest import Forest
from hedgerow.tree.formats.problems import Origin, Problem
from hedgerow.tree.names import check_root

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

    from hedgerow.tree.formats.node_table import NodeTable

RANKS = {
    "r": "realm",
    "d": "domain",
    "sk": "superkingdom",
    "k": "kingdom",
    "p": "phylum",
    "c": "class",
    "o": "order",
    "f": "family",
    "g": "genus",
    "s": "species",
    "sh": "species hypothesis",
    "t": "strain",
}
"""What the letters stand for; another prefix is a rank of its own."""
# What D_0 to D_6 stand for, in older files of SILVA.
_NUMBERED = ("domain", "phylum", "class", "order", "family", "genus", "species")
_PREFIX = re.compile(r"(D_\d{1,2}|[A-Za-z]{1,3}\d?)__(.*)", re.DOTALL)
_NO_LINEAGE = {"", "unassigned", "unclassified"}  # folded; what classifiers write instead of a lineage


def read_prefixed(source: str | PathLike[str] | Iterable[str], root: str = "root") -> NodeTable:
    """Read one lineage per line, such as `k__Fungi;p__Ascomycota;c__Leotiomycetes`, from a file or strings.

    Prefixes give the ranks and stay part of the names; the name without its prefix is an alias, unless several
    nodes have it. Empty ranks, such as `s__`, are skipped, so that those at the end end the lineage. Nodes that
    share a name, such as `f__Incertae Sedis`, are called "parent/name". In a file, the id of a reference sequence
    and a tab may come before the lineage.
    """
    check_root(root)
    if is_path(source):
        origin = Origin(os.fspath(source), format="prefixed")
        lines: Iterable[str] = read_lines(source)
        lines = (line.partition("\t")[2] if "\t" in line else line for line in lines)
    else:
        origin, lines = Origin(None, "string"), map(str, source)  # type: ignore[arg-type]
    forest = Forest(origin, has_ranks=True)
    for line, lineage in enumerate(lines, 1):
        add_prefixed(forest, lineage, line)
    return forest.table(root, disambiguate=True)


def add_prefixed(forest: Forest, lineage: str, line: int) -> None:
    """Add one lineage, with an alias for every name without its prefix."""
    if lineage.strip().lower() in _NO_LINEAGE:
        return
    names, ranks, bare = [], [], []
    for part in map(str.strip, lineage.split(";")):
        found = _PREFIX.fullmatch(part)
        if found is None and part:
            forest.problems.append(
                Problem(
                    "prefix",
                    f"{forest.origin.at(line)}: {part!r} has no rank in front, such as g__.",
                    "If no name has one, read the file as paths: "
                    + argument("format", "paths", python="Hierarchy.from_paths")
                    + ".",
                )
            )
            return
        if found is not None and found[2].strip():
            names.append(part)
            ranks.append(_rank(found[1]))
            bare.append(found[2].strip())
    for node, name in zip(forest.add(names, line, ranks), bare, strict=True):
        forest.aliases.append((name, node))


def has_prefix(lineage: str) -> bool:
    """Tell whether the first name of a lineage has a prefix."""
    return _PREFIX.fullmatch(lineage.partition(";")[0].strip()) is not None


def _rank(prefix: str) -> str:
    if prefix.startswith("D_"):
        number = int(prefix[2:])
        return _NUMBERED[number] if number < len(_NUMBERED) else prefix
    return RANKS.get(prefix.lower(), prefix)
