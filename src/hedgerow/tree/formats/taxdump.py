"""The taxonomy of NCBI as `taxdump`: a folder with `nodes.dmp`, `names.dmp` and, optionally, `merged.dmp`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import FileError, counted, some
from hedgerow.files import CsvTable, InputFile
from hedgerow.tree.formats.taxon_ids import Ids, arrow, few_texts, names_with_ids, texts
from hedgerow.tree.names import Aliases
from hedgerow.tree.validation import NodeTable, Origin, Problem, refuse, refuse_empty, validated

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    from hedgerow.tree.layout import Indices

_BETWEEN = "\t|\t"


def read_taxdump(folder: str | PathLike[str]) -> NodeTable:
    """Read a folder of NCBI's taxonomy, as unpacked from `taxdump.tar.gz` or `new_taxdump.tar.gz`.

    Classes are named by their scientific names; shared names become "name [tax id]". Tax ids,
    merged tax ids and synonyms are aliases, and GenBank's common names are titles. The rank "no rank" is blank.
    """
    shown = os.fspath(folder)
    nodes, names, merged = (str(Path(shown, f"{file}.dmp")) for file in ("nodes", "names", "merged"))
    for path, other in ((nodes, "names.dmp"), (names, "nodes.dmp")):
        if not Path(path).is_file():
            raise FileError(
                f"{shown} has no {Path(path).name}, which belongs beside {other}. Unpack NCBI's taxdump.tar.gz "
                f"again: a tree needs both files."
            )
    number, text = arrow().int64(), arrow().string()
    origin = Origin(nodes, format="taxdump", folder=shown)
    ids, parents, ranks = _columns(origin, {0: number, 1: number, 2: text})
    taxa = Ids(ids, origin)
    parent = taxa.rows(parents)
    problems = [*taxa.repeated(), *taxa.unknown(parents, parent < 0, "a parent")]
    parent[ids.to_numpy() == parents.to_numpy()] = -1
    known = _Names(names, taxa)
    scientific, of = known.of_class("scientific name")
    problems += _name_problems(ids, of, names)
    if problems:
        refuse(problems, origin)
    place = np.empty(len(ids), dtype=np.int64)
    place[of] = np.arange(len(of))
    synonyms, of_synonyms = known.of_class("synonym", "equivalent name")
    tax_ids, of_ids = _tax_ids(taxa, merged)
    called, shared, twins = names_with_ids(scientific.take(arrow().array(place)), ids)
    aliases = Aliases(tax_ids + texts(synonyms) + shared, np.concatenate([of_ids, of_synonyms, twins]))
    table = NodeTable(
        called,
        parent,
        ["" if rank == "no rank" else rank for rank in few_texts(ranks)],
        _titles(len(ids), *known.of_class("genbank common name")),
        aliases,
    )
    table = validated(table, origin, origin.places(range(1, len(ids) + 1)))
    aliases.check()
    return table


def _tax_ids(taxa: Ids, merged: str) -> tuple[list[str], Indices]:
    """Return all tax ids as text, including merged ones, and the position of each."""
    number, text = arrow().int64(), arrow().string()
    ids, nodes = texts(taxa.ids.cast(text)), np.arange(len(taxa.ids))
    if not Path(merged).is_file() or not Path(merged).stat().st_size:
        return ids, nodes
    old, new = _columns(Origin(merged), {0: number, 1: number})
    place = taxa.rows(new)
    known = place >= 0
    return ids + texts(old.filter(arrow().array(known)).cast(text)), np.concatenate([nodes, place[known]])


def _columns(origin: Origin, columns: dict[int, Any]) -> list[Any]:
    """Read columns of a `.dmp` file, whose cells are separated by tab, bar, tab."""
    if not Path(origin.subject).stat().st_size:
        refuse_empty(origin)
    file = InputFile(origin.subject, "tab")
    table = CsvTable(file, header=False, quote=False)
    if _BETWEEN not in file.lines[0]:
        raise FileError(f"{origin.at(1)} is not a line of a taxdump: cells are separated by tab, bar, tab.")
    if len(table.columns) <= 2 * max(columns):  # between two tabs is a cell or a bar
        raise FileError(f"{origin.at(1)} has too few cells. Unpack NCBI's taxdump.tar.gz again.")
    return list(table.whole({2 * column: kind for column, kind in columns.items()}).values())


class _Names:
    """The names of known taxa in `names.dmp`, by their class."""

    def __init__(self, path: str, taxa: Ids) -> None:
        number, text = arrow().int64(), arrow().string()
        ids, self._names, classes = _columns(Origin(path), {0: number, 1: text, 3: text})
        self._owner = taxa.rows(ids)
        coded = classes.dictionary_encode()
        self._class, self._code = coded.dictionary.to_pylist(), coded.indices.to_numpy()

    def of_class(self, *wanted: str) -> tuple[Any, Indices]:
        """Return all names of some name classes, and the positions of their taxa."""
        chosen = np.isin(self._code, [self._class.index(name) for name in wanted if name in self._class])
        chosen &= self._owner >= 0
        return self._names.filter(arrow().array(chosen)), self._owner[chosen]


def _titles(count: int, common: Any, of: Indices) -> list[str] | None:
    titles = [""] * count
    for node, name in zip(of.tolist(), common.to_pylist(), strict=True):
        titles[node] = titles[node] or name
    return titles if any(titles) else None


def _name_problems(ids: Any, of: Indices, path: str) -> Iterator[Problem]:
    """Describe taxa that do not have exactly one scientific name."""
    count = np.bincount(of, minlength=len(ids))
    for which, what, remedy in (
        (count == 0, "no scientific name", "Do both files come from one taxdump?"),
        (count > 1, "several scientific names", "Keep one of these lines."),
    ):
        if which.any():
            listed = some(map(str, ids.filter(arrow().array(which)).to_pylist()))
            taxa = counted(int(which.sum()), "taxon has", "taxa have")
            yield Problem("names", f"{taxa} {what} in {path}: tax id {listed}.", remedy)
