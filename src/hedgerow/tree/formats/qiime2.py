"""Reference taxonomies of QIIME 2: a table with the columns `Feature ID` and `Taxon`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hedgerow.errors import FileError, argument, some
from hedgerow.files import read_lines
from hedgerow.tree.formats.forest import Forest
from hedgerow.tree.formats.prefixed import add_prefixed, has_prefix
from hedgerow.tree.formats.problems import Origin, Problem
from hedgerow.tree.names import check_root

if TYPE_CHECKING:
    from os import PathLike

    from hedgerow.tree.formats.node_table import NodeTable

_TAXON = "taxon"


def read_qiime2(path: str | PathLike[str], root: str = "root") -> NodeTable:
    """Read the `Taxon` column of a tab-separated table, as `qiime tools export` writes it.

    Its strings are read as those of `read_prefixed`; or, if none of them has prefixes, as names separated by
    semicolons, without ranks.
    """
    check_root(root)
    shown = os.fspath(path)
    origin = Origin(shown, format="qiime2")
    header, *rows = read_lines(path)
    columns = [cell.strip().lower() for cell in header.split("\t")]
    if _TAXON not in columns:
        raise FileError(
            f"{origin.at(1)} has no column 'Taxon': it has {some(columns)}. A taxonomy of QIIME 2 is a "
            f"tab-separated table with the columns Feature ID and Taxon; lineages without a header are read with "
            f"{argument('format', 'prefixed')}."
        )
    place = columns.index(_TAXON)
    lineages: list[tuple[int, str]] = []
    problems: list[Problem] = []
    for line, row in enumerate(rows, 2):
        cells = row.split("\t")
        if not row.strip() or row.startswith("#q2:types"):
            continue
        if len(cells) <= place:
            problems.append(Problem("columns", f"{origin.at(line)} has no taxon: {row[:80]!r}.", "Fill it in."))
            continue
        lineages.append((line, cells[place].strip().strip('"')))
    prefixed = any(has_prefix(lineage) for _, lineage in lineages)
    forest = Forest(origin, has_ranks=prefixed)
    forest.problems += problems
    for line, lineage in lineages:
        if prefixed:
            add_prefixed(forest, lineage, line)
        else:
            forest.add([name for name in map(str.strip, lineage.split(";")) if name], line)
    return forest.table(root, disambiguate=True)
