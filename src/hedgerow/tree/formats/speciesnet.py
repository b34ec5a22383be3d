"""Labels of SpeciesNet: one per line, `uuid;class;order;family;genus;species;common name`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hedgerow.files import read_lines
from hedgerow.tree.formats.forest import TOP, Forest
from hedgerow.tree.formats.problems import Origin, Problem
from hedgerow.tree.names import check_root

if TYPE_CHECKING:
    from os import PathLike

    from hedgerow.tree.formats.node_table import NodeTable

_RANKS = ("class", "order", "family", "genus", "species")
_ANY_ANIMAL = "animal"
_NOTHING = "no cv result"


def read_speciesnet(path: str | PathLike[str], root: str = "root") -> NodeTable:
    """Read the labels of a SpeciesNet model, or its whole taxonomy.

    A species is called by genus and epithet. Common names are titles; whole labels and their UUIDs are aliases.
    Labels without a taxon (`blank`, `vehicle`, `no cv result`) are not part of the tree; `animal` is its root.
    """
    check_root(root)
    origin = Origin(os.fspath(path), format="speciesnet")
    forest = Forest(origin, has_ranks=True)
    for line, label in enumerate(read_lines(path), 1):
        if label.strip():
            _add(forest, label.strip(), line)
    return forest.table(root, disambiguate=True)


def _add(forest: Forest, label: str, line: int) -> None:
    cells = [cell.strip() for cell in label.split(";")]
    if len(cells) != len(_RANKS) + 2:
        forest.problems.append(
            Problem(
                "columns",
                f"{forest.origin.at(line)} has {len(cells)} parts, not {len(_RANKS) + 2}: {label[:200]!r}.",
                "A label reads uuid;class;order;family;genus;species;common name.",
            )
        )
        return
    uuid, *taxa, common = cells
    if common == _NOTHING or (not any(taxa) and common != _ANY_ANIMAL):
        return
    if taxa[-1]:
        taxa[-1] = f"{taxa[-2]} {taxa[-1]}".strip()
    filled = [i for i, name in enumerate(taxa) if name]
    path = forest.add([taxa[i] for i in filled], line, [_RANKS[i] for i in filled])
    node = path[-1] if path else TOP
    forest.titles.setdefault(node, common)
    forest.aliases += [(label, node), (uuid, node)] if uuid else [(label, node)]
