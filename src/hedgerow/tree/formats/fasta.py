"""Reference sequences in FASTA whose headers hold lineages, as for SINTAX: `>id;tax=d:Bacteria,p:Firmicutes;`."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from hedgerow.errors import FileError, counted
from hedgerow.files import open_binary
from hedgerow.tree.formats.forest import Forest
from hedgerow.tree.formats.prefixed import RANKS
from hedgerow.tree.formats.problems import Origin, Problem
from hedgerow.tree.names import check_root

if TYPE_CHECKING:
    from os import PathLike

    from hedgerow.tree.formats.node_table import NodeTable

_TAX = re.compile(rb";\s*tax=([^;\r\n]*)")


def read_fasta(path: str | PathLike[str], root: str = "root") -> NodeTable:
    """Read the lineages in the headers of a FASTA file; the sequences are skipped.

    Names are called without the letter of their rank; with it, as in `g:Bacillus`, they are aliases. Empty ranks
    are skipped, and nodes that share a name are called "parent/name".
    """
    check_root(root)
    origin = Origin(os.fspath(path), format="fasta")
    forest = Forest(origin, has_ranks=True)
    first: dict[bytes, int] = {}  # the line of every distinct lineage
    without: list[int] = []
    with open_binary(path) as file:
        for line, content in enumerate(file, 1):
            if content.startswith(b">"):
                if b"\r" in content.rstrip():
                    raise FileError(f"{origin.at(line)} ends with CR, as in old files. End lines with LF or CRLF.")
                found = _TAX.search(content)
                if found is None:
                    without.append(line)
                else:
                    first.setdefault(found[1], line)
    for lineage, line in first.items():
        try:
            _add(forest, lineage.decode(), line)
        except UnicodeDecodeError:
            raise FileError(f"{origin.at(line)} is not UTF-8. Save the file as UTF-8.") from None
    if without:
        forest.problems.append(
            Problem(
                "no lineage",
                f"{counted(len(without), 'header has', 'headers have')} no lineage ({origin.at(*without[:5])}).",
                "Headers must read >id;tax=d:Bacteria,p:Firmicutes; with the letter of each rank.",
            )
        )
    return forest.table(root, disambiguate=True)


def _add(forest: Forest, lineage: str, line: int) -> None:
    names, ranks, written = [], [], []
    for part in map(str.strip, lineage.split(",")):
        letter, colon, name = part.partition(":")
        if part and not colon:
            forest.problems.append(
                Problem(
                    "no rank",
                    f"{forest.origin.at(line)}: {part!r} has no rank in front, such as g:.",
                    "Write the letter of its rank before each name; a name cannot contain a comma.",
                )
            )
            return
        if name.strip():
            names.append(name.strip())
            ranks.append(RANKS.get(letter.strip().lower(), letter.strip()))
            written.append(part)
    for node, alias in zip(forest.add(names, line, ranks), written, strict=True):
        forest.aliases.append((alias, node))
