"""Darwin Core: a table of taxa such as `Taxon.tsv`, as published by GBIF and Catalogue of Life."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import FileError, argument, counted, some
from hedgerow.files import CsvTable, InputFile
from hedgerow.tree.formats.taxon_ids import Ids, arrow, few_texts, names_with_ids, texts
from hedgerow.tree.layout import Indices, follow, rings
from hedgerow.tree.names import Aliases
from hedgerow.tree.validation import NodeTable, Origin, Problem, around, refuse, validated

if TYPE_CHECKING:
    from os import PathLike

    from numpy.typing import NDArray


_REQUIRED = ("taxonID", "parentNameUsageID", "scientificName")
_OPTIONAL = ("acceptedNameUsageID", "canonicalName", "scientificNameAuthorship", "taxonRank", "taxonomicStatus")
_HEADER = 1  # lines before the first taxon


def read_darwin_core(path: str | PathLike[str], root: str = "root") -> NodeTable:
    """Read a table of taxa with the columns taxonID, parentNameUsageID and scientificName.

    Accepted taxa become classes, named by `canonicalName`, or else by `scientificName` without the authors of
    `scientificNameAuthorship`; shared names become "name [taxonID]". Synonyms (rows with an
    `acceptedNameUsageID` that is not their own) become aliases of their accepted taxon; so do names with authors
    and ids. Several taxa without a parent are put under a root named `root`.
    """
    shown = os.fspath(path)
    origin = Origin(shown, format="darwin-core")
    taxa = _Taxa(shown, origin)
    accepted, problems = _accepted(taxa)
    is_synonym = accepted != np.arange(len(accepted))
    # The parent of each row, -1 for tops; a parent that is a synonym is its accepted taxon.
    place = taxa.ids.rows(taxa.parents)
    given = (np.asarray(taxa.parents) != "") & ~is_synonym
    problems += taxa.ids.unknown(taxa.parents, given & (place < 0), "a parent")
    parent = np.where(given & (place >= 0), accepted[place], -1)
    parent[parent == np.arange(len(parent))] = -1  # some tables make a top its own parent
    if problems:
        refuse(problems, origin)
    nodes = np.flatnonzero(~is_synonym)
    number = np.cumsum(~is_synonym) - 1
    kept = arrow().array(~is_synonym)
    names, shared, twins = names_with_ids(taxa.names.filter(kept), taxa.ids.ids.filter(kept))
    aliases = _aliases(taxa, is_synonym, number[accepted], shared, twins)
    table = NodeTable(
        names,
        np.where(parent[nodes] < 0, -1, number[parent[nodes]]),
        None if taxa.rank is None else few_texts(taxa.rank.filter(kept)),
        aliases=aliases,
    )
    table = validated(table, origin, origin.places(nodes + _HEADER + 1), root=root)
    aliases.check()
    return table


def _aliases(
    taxa: _Taxa, is_synonym: NDArray[np.bool_], node: Indices, shared: list[str], twins: Indices
) -> Aliases:
    """Return the names of synonyms, names with authors, ids, and shared names."""
    differs = np.asarray(arrow().compute.not_equal(taxa.full_names, taxa.names)) | is_synonym
    names: list[str] = []
    places: list[Indices] = []
    every = np.ones_like(is_synonym)
    for column, wanted in ((taxa.names, is_synonym), (taxa.full_names, differs), (taxa.ids.ids, every)):
        chosen = wanted & np.asarray(arrow().compute.not_equal(column, ""))
        names += texts(column.filter(arrow().array(chosen)))
        places.append(node[chosen])
    return Aliases(names + shared, np.concatenate([*places, twins]))


class _Taxa:
    """The columns that are used."""

    def __init__(self, shown: str, origin: Origin) -> None:
        file = InputFile(shown, "tab", any_delimiter=True)
        table = CsvTable(file, quote=file.delimiter != "\t")
        # Some files include the namespace: dwc:taxonID.
        called = [cell.strip().strip('"').rpartition(":")[2].lower() for cell in table.columns]
        missing = [name for name in _REQUIRED if name.lower() not in called]
        if missing:
            raise FileError(
                f"{origin.at(1)} has no column {' or '.join(missing)}, which a Darwin Core table of taxa needs. "
                f"Its columns: {some(called)}. A table with one column per rank is read as lineages: "
                f"{argument('format', 'lineages')}."
            )
        wanted = {name: called.index(name.lower()) for name in (*_REQUIRED, *_OPTIONAL) if name.lower() in called}
        found = table.whole(dict.fromkeys(wanted.values(), arrow().string()))
        column = {name: arrow().compute.utf8_trim_whitespace(found[place]) for name, place in wanted.items()}
        self.ids = Ids(column["taxonID"], origin, _HEADER)
        self.parents = column["parentNameUsageID"]
        self.accepted = column.get("acceptedNameUsageID")
        self.status = column.get("taxonomicStatus")
        self.rank = column.get("taxonRank")
        self.full_names = column["scientificName"]
        self.names = self._short_names(column)

    def _short_names(self, column: dict[str, Any]) -> Any:
        """Return names without their authors, as far as columns allow."""
        short = self.full_names
        if "scientificNameAuthorship" in column:
            pairs = zip(texts(short), texts(column["scientificNameAuthorship"]), strict=True)
            short = arrow().array([full.removesuffix(by).rstrip() for full, by in pairs], arrow().string())
        if "canonicalName" not in column:
            return short
        canonical = column["canonicalName"]
        return arrow().compute.if_else(arrow().compute.equal(canonical, ""), short, canonical)

    def name(self, row: int) -> str:
        """Return the full name in a row."""
        return str(self.full_names[row])


def _accepted(taxa: _Taxa) -> tuple[Indices, list[Problem]]:
    """Return the row of the accepted taxon of every row (its own unless it is a synonym), and the problems."""
    ids, itself = taxa.ids, np.arange(len(taxa.ids.ids))
    pointer = itself
    problems = list(ids.repeated())
    nameless = arrow().compute.index(ids.ids, "").as_py()
    if nameless >= 0:
        problems.append(Problem("empty id", f"{ids.at([nameless])} has no taxonID.", "Every taxon needs one."))
    if taxa.accepted is not None:
        given = np.asarray(taxa.accepted) != ""
        place = ids.rows(taxa.accepted)
        problems += ids.unknown(taxa.accepted, given & (place < 0), "an accepted name")
        pointer = np.where(given & (place >= 0), place, itself)
    for ring in rings(np.where(pointer == itself, -1, pointer)):
        path = around([repr(taxa.name(row)) for row in ring])
        problems.append(
            Problem(
                "cycle of synonyms",
                f"These names are synonyms of each other, and none of them is accepted: {path} "
                f"({ids.at(sorted(ring)[:8])}).",
                "Make one of them the accepted name: clear its acceptedNameUsageID.",
            )
        )
    if taxa.status is not None and not problems:
        called = np.asarray(arrow().compute.match_substring(taxa.status, "synonym", ignore_case=True))
        orphans = np.flatnonzero(called & (pointer == itself)).tolist()
        if orphans:
            problems.append(
                Problem(
                    "synonym",
                    f"{counted(len(orphans), 'row is', 'rows are')} called a synonym, but "
                    f"{'has' if len(orphans) == 1 else 'have'} no acceptedNameUsageID that says of what: "
                    f"{some(map(taxa.name, orphans))} ({ids.at(orphans[:5])}).",
                    "Fill it in, or delete these rows.",
                )
            )
    return follow(pointer), problems
