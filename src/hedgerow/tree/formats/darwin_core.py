"""Darwin Core: a table of taxa such as `Taxon.tsv`, as GBIF, Catalogue of Life and others publish it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import FileError, argument, counted, some
from hedgerow.files import decode, open_binary, require_file
from hedgerow.tree.formats.tables import arrow, few_texts, first_flaw, names_with_ids, read_columns, texts
from hedgerow.tree.layout import follow
from hedgerow.tree.names import Aliases, check_root
from hedgerow.tree.validation import NodeTable, Origin, Problem, refuse, validated

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    from numpy.typing import NDArray

    from hedgerow.tree.layout import Indices

_REQUIRED = ("taxonID", "parentNameUsageID", "scientificName")
_OPTIONAL = ("acceptedNameUsageID", "canonicalName", "scientificNameAuthorship", "taxonRank", "taxonomicStatus")
_HEADER = 1  # lines before the first taxon


def read_darwin_core(path: str | PathLike[str], root: str = "root") -> NodeTable:
    """Read a table of taxa with the columns taxonID, parentNameUsageID and scientificName.

    Accepted taxa become classes, called by `canonicalName` or else by `scientificName` without its authors, where
    columns tell them; names that several taxa share become "name [taxonID]". Synonyms (rows with an
    `acceptedNameUsageID` that is not their own) become aliases of their accepted taxon; so do names with authors
    and ids. Several taxa without a parent are put under a root named `root`.
    """
    check_root(root)
    shown = os.fspath(path)
    origin = Origin(shown, format="darwin-core")
    taxa = _Taxa(shown, origin)
    accepted, problems = _accepted(taxa, origin)
    is_synonym = accepted != np.arange(len(accepted))
    parent = _parents(taxa, is_synonym, accepted, origin, problems)
    if problems:
        refuse(problems, origin)
    nodes = np.flatnonzero(~is_synonym)
    number = np.cumsum(~is_synonym) - 1
    kept = arrow().array(~is_synonym)
    names, shared, twins = names_with_ids(taxa.names.filter(kept), taxa.ids.filter(kept))
    table = NodeTable(
        names,
        np.where(parent[nodes] < 0, -1, number[parent[nodes]]),
        None if taxa.rank is None else few_texts(taxa.rank.filter(kept)),
        aliases=_aliases(taxa, is_synonym, number[accepted], shared, twins),
    )
    return validated(table, origin, origin.places(nodes + _HEADER + 1), root=root)


def _aliases(
    taxa: _Taxa, is_synonym: NDArray[np.bool_], node: Indices, shared: list[str], twins: Indices
) -> Aliases:
    """Return the names of synonyms, names with authors, ids, and names that several taxa share."""
    differs = np.asarray(arrow().compute.not_equal(taxa.full_names, taxa.names)) | is_synonym
    names: list[str] = []
    places: list[Indices] = []
    every = np.ones_like(is_synonym)
    for column, wanted in ((taxa.names, is_synonym), (taxa.full_names, differs), (taxa.ids, every)):
        chosen = wanted & np.asarray(arrow().compute.not_equal(column, ""))
        names += texts(column.filter(arrow().array(chosen)))
        places.append(node[chosen])
    return Aliases(names + shared, np.concatenate([*places, twins]))


class _Taxa:
    """The columns of the table that are wanted."""

    def __init__(self, shown: str, origin: Origin) -> None:
        header = _header(shown)
        delimiter = "\t" if "\t" in header else ","
        # Some files write the name space: dwc:taxonID.
        called = [cell.strip().strip('"').rpartition(":")[2].lower() for cell in header.split(delimiter)]
        missing = [name for name in _REQUIRED if name.lower() not in called]
        if missing:
            raise FileError(
                f"{origin.at(1)} has no column {' or '.join(missing)}, which a Darwin Core table of taxa needs. "
                f"Its columns: {some(called)}. A table with one column per rank is read as lineages: "
                f"{argument('format', 'lineages')}."
            )
        wanted = {name: called.index(name.lower()) for name in (*_REQUIRED, *_OPTIONAL) if name.lower() in called}
        order = sorted(wanted.values())
        with open_binary(shown) as file:
            found = read_columns(
                file,
                shown,
                len(called),
                {column: arrow().string() for column in order},
                delimiter,
                quote=delimiter == ",",
                skip=_HEADER,
                explain=lambda: first_flaw(origin, delimiter, len(called), header=_HEADER),
            )
        trimmed = [arrow().compute.utf8_trim_whitespace(column) for column in found]
        column = {name: trimmed[order.index(place)] for name, place in wanted.items()}
        self.ids = column["taxonID"]
        self.parents = column["parentNameUsageID"]
        self.accepted = column.get("acceptedNameUsageID")
        self.status = column.get("taxonomicStatus")
        self.rank = column.get("taxonRank")
        self.full_names = column["scientificName"]
        self.names = self._short_names(column)

    def _short_names(self, column: dict[str, Any]) -> Any:
        """Return names without their authors, as far as columns tell them."""
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


def _header(shown: str) -> str:
    require_file(shown)
    with open_binary(shown) as file:
        first = file.readline(1 << 20)
    return decode(first, shown)


def _accepted(taxa: _Taxa, origin: Origin) -> tuple[Indices, list[Problem]]:
    """Return the row of the accepted taxon of every row, its own unless it is a synonym; and what is wrong."""
    count = len(taxa.ids)
    pointer = np.arange(count)
    problems = list(_repeated_ids(taxa, origin))
    if taxa.accepted is not None:
        given = np.asarray(taxa.accepted) != ""
        place = _find(taxa, taxa.accepted)
        problems += _unknown(taxa, given & (place < 0), taxa.accepted, "an accepted name", origin)
        pointer = np.where(given & (place >= 0), place, pointer)
    accepted = follow(pointer)
    circling = pointer[accepted] != accepted
    if circling.any():
        problems.append(_synonym_cycle(taxa, pointer, int(accepted[np.argmax(circling)]), origin))
    if taxa.status is not None:
        called = np.asarray(arrow().compute.match_substring(taxa.status, "synonym", ignore_case=True))
        orphans = np.flatnonzero(called & (pointer == np.arange(count)))
        if orphans.size and not problems:
            problems.append(
                Problem(
                    "synonym",
                    f"{counted(len(orphans), 'row is', 'rows are')} called a synonym, but "
                    f"{'has' if len(orphans) == 1 else 'have'} no acceptedNameUsageID that says of what: "
                    f"{some(map(taxa.name, orphans.tolist()))} "
                    f"({origin.at(*(orphans[:5] + _HEADER + 1).tolist())}).",
                    "Fill it in, or delete these rows.",
                )
            )
    return accepted, problems


def _synonym_cycle(taxa: _Taxa, pointer: Indices, row: int, origin: Origin) -> Problem:
    ring = [row]
    while int(pointer[ring[-1]]) != row:
        ring.append(int(pointer[ring[-1]]))
    first = ring.index(min(ring))
    ring = ring[first:] + ring[:first]
    shown = [repr(taxa.name(member)) for member in ring]
    shown = shown if len(shown) <= 8 else [*shown[:4], "...", *shown[-3:]]
    return Problem(
        "cycle of synonyms",
        f"These names are synonyms of each other, and none of them is accepted: {' -> '.join([*shown, shown[0]])} "
        f"({origin.at(*sorted(member + _HEADER + 1 for member in ring[:8]))}).",
        "Make one of them the accepted name: clear its acceptedNameUsageID.",
    )


def _find(taxa: _Taxa, wanted: Any) -> Indices:
    """Return the rows of some ids; -1 for those that are not there."""
    found = arrow().compute.index_in(wanted, value_set=taxa.ids)
    return np.asarray(found.fill_null(-1), dtype=np.int64)


def _parents(
    taxa: _Taxa, is_synonym: NDArray[np.bool_], accepted: Indices, origin: Origin, problems: list[Problem]
) -> Indices:
    """Return the row of each row's parent, -1 for tops; a parent that is a synonym is its accepted taxon."""
    place = _find(taxa, taxa.parents)
    given = (np.asarray(taxa.parents) != "") & ~is_synonym
    problems += _unknown(taxa, given & (place < 0), taxa.parents, "a parent", origin)
    found = np.where(given & (place >= 0), accepted[place], -1)
    return np.where(found == np.arange(len(found)), -1, found)  # some tables make a top its own parent


def _unknown(taxa: _Taxa, which: NDArray[np.bool_], column: Any, what: str, origin: Origin) -> Iterator[Problem]:
    rows = np.flatnonzero(which).tolist()
    if rows:
        listed = "; ".join(
            f"{taxa.name(row)!r} has {column[row].as_py()!r} ({origin.at(row + _HEADER + 1)})" for row in rows[:5]
        )
        taxa_have = counted(len(rows), "taxon has", "taxa have")
        yield Problem(
            "unknown id",
            f"{taxa_have} {what} without a row of its own: {listed}.",
            "Is the file cut off, or cut down? Add these rows, or clear the ids.",
        )


def _repeated_ids(taxa: _Taxa, origin: Origin) -> Iterator[Problem]:
    first = _find(taxa, taxa.ids)
    again = np.flatnonzero(first != np.arange(len(first))).tolist()
    empty = arrow().compute.index(taxa.ids, "").as_py()
    if again:
        lines = origin.at(int(first[again[0]]) + _HEADER + 1, again[0] + _HEADER + 1)
        yield Problem(
            "duplicate id",
            f"{counted(len(again), 'row repeats', 'rows repeat')} a taxonID, such as "
            f"{str(taxa.ids[again[0]])!r} ({lines}).",
            "Keep one row per taxonID.",
        )
    elif empty >= 0:
        yield Problem(
            "empty id",
            f"{origin.at(empty + _HEADER + 1)} has no taxonID.",
            "Every taxon needs one.",
        )
