"""The taxonomy of NCBI as `taxdump`: a folder with `nodes.dmp`, `names.dmp` and, optionally, `merged.dmp`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import FileError, counted, some
from hedgerow.files import open_binary
from hedgerow.tree.formats.tables import arrow, few_texts, first_flaw, names_with_ids, read_columns, texts
from hedgerow.tree.names import Aliases
from hedgerow.tree.validation import NodeTable, Origin, Problem, refuse, refuse_empty, validated

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    from hedgerow.tree.layout import Indices

_BETWEEN = b"\t|\t"


def read_taxdump(folder: str | PathLike[str]) -> NodeTable:
    """Read a folder of NCBI's taxonomy, as unpacked from `taxdump.tar.gz` or `new_taxdump.tar.gz`.

    Classes are called by their scientific names; names that several taxa share become "name [tax id]". Tax ids,
    merged tax ids and synonyms are aliases, and GenBank's common names are titles. The rank "no rank" is blank.
    """
    shown = os.fspath(folder)
    nodes, names, merged = (str(Path(shown, f"{file}.dmp")) for file in ("nodes", "names", "merged"))
    for path, other in ((nodes, "names.dmp"), (names, "nodes.dmp")):
        if not Path(path).is_file():
            raise FileError(
                f"{shown} has no {Path(path).name}, which must stand beside {other}. Unpack NCBI's taxdump.tar.gz "
                f"again: a tree needs both files."
            )
    number, text = arrow().int64(), arrow().string()
    origin = Origin(nodes, format="taxdump", folder=shown)
    ids, parents, ranks = _columns(origin, {0: number, 1: number, 2: text})
    ids, parents = ids.to_numpy(), parents.to_numpy()
    find = _Finder(ids)
    problems = _repeated_ids(ids, origin)
    parent = find(parents)
    problems += _unknown_parents(ids, parents, parent, origin)
    parent[ids == parents] = -1
    known = _Names(names, find)
    scientific, of = known.of_class("scientific name")
    problems += _name_problems(ids, of, names)
    if problems:
        refuse(problems, origin)
    place = np.empty(len(ids), dtype=np.int64)
    place[of] = np.arange(len(of))
    synonyms, of_synonyms = known.of_class("synonym", "equivalent name")
    tax_ids, of_ids = _tax_ids(ids, merged, find)
    called, shared, twins = names_with_ids(scientific.take(arrow().array(place)), ids)
    table = NodeTable(
        called,
        parent,
        ["" if rank == "no rank" else rank for rank in few_texts(ranks)],
        _titles(len(ids), *known.of_class("genbank common name")),
        Aliases(tax_ids + texts(synonyms) + shared, np.concatenate([of_ids, of_synonyms, twins])),
    )
    return validated(table, origin, origin.places(range(1, len(ids) + 1)))


def _tax_ids(ids: Indices, merged: str, find: _Finder) -> tuple[list[str], Indices]:
    """Return all tax ids as text, with those that were merged into others; and the position of each."""
    nodes = np.arange(len(ids))
    if Path(merged).is_file() and Path(merged).stat().st_size:
        number = arrow().int64()
        old, new = (column.to_numpy() for column in _columns(Origin(merged), {0: number, 1: number}))
        place = find(new)
        ids, nodes = np.concatenate([ids, old[place >= 0]]), np.concatenate([nodes, place[place >= 0]])
    return texts(arrow().array(ids).cast(arrow().string())), nodes


def _columns(origin: Origin, columns: dict[int, Any]) -> list[Any]:
    """Read columns of a `.dmp` file, whose cells are separated by tab, bar, tab."""
    path = origin.subject
    with open_binary(path) as file:
        first = file.readline(1 << 20)
    if not first:
        refuse_empty(origin)
    if _BETWEEN not in first:
        raise FileError(f"{path}, line 1 is not a line of a taxdump: cells are separated by tab, bar, tab.")
    width = first.count(b"\t") + 1
    types = {2 * column: kind for column, kind in columns.items()}  # between two tabs is a cell or a bar
    if width <= max(types):
        raise FileError(f"{path}, line 1 has too few cells. Unpack NCBI's taxdump.tar.gz again.")
    numbers = [place for place, kind in types.items() if kind == arrow().int64()]
    with open_binary(path) as file:
        return read_columns(
            file, path, width, types, "\t", explain=lambda: first_flaw(origin, "\t", width, numbers=numbers)
        )


class _Finder:
    """Finds the positions of tax ids; -1 for those that are not there."""

    def __init__(self, ids: Indices) -> None:
        self._order = np.argsort(ids, kind="stable")
        self._sorted = ids[self._order]

    def __call__(self, wanted: Indices) -> Indices:
        place = np.minimum(np.searchsorted(self._sorted, wanted), len(self._sorted) - 1)
        return np.where(self._sorted[place] == wanted, self._order[place], -1)


class _Names:
    """The names of known taxa in `names.dmp`, by their class."""

    def __init__(self, path: str, find: _Finder) -> None:
        number, text = arrow().int64(), arrow().string()
        ids, self._names, classes = _columns(Origin(path), {0: number, 1: text, 3: text})
        self._owner = find(ids.to_numpy())
        coded = classes.dictionary_encode()
        self._class, self._code = coded.dictionary.to_pylist(), coded.indices.to_numpy()

    def of_class(self, *wanted: str) -> tuple[Any, Indices]:
        """Return all names of some classes, and the positions of their taxa."""
        chosen = np.isin(self._code, [self._class.index(name) for name in wanted if name in self._class])
        chosen &= self._owner >= 0
        return self._names.filter(arrow().array(chosen)), self._owner[chosen]


def _titles(count: int, common: Any, of: Indices) -> list[str] | None:
    titles = [""] * count
    for node, name in zip(of.tolist(), common.to_pylist(), strict=True):
        titles[node] = titles[node] or name
    return titles if any(titles) else None


def _repeated_ids(ids: Indices, origin: Origin) -> list[Problem]:
    order = np.argsort(ids, kind="stable")
    again = order[1:][np.diff(ids[order]) == 0]
    if not again.size:
        return []
    first = int(again[0])
    lines = (np.flatnonzero(ids == ids[first])[:5] + 1).tolist()
    return [
        Problem(
            "duplicate id",
            f"{counted(len(again), 'line repeats', 'lines repeat')} a tax id, such as {ids[first]} "
            f"({origin.at(*lines)}).",
            "Keep one line per tax id.",
        )
    ]


def _unknown_parents(ids: Indices, parents: Indices, parent: Indices, origin: Origin) -> list[Problem]:
    missing = np.flatnonzero(parent < 0).tolist()
    if not missing:
        return []
    listed = "; ".join(f"{ids[i]} has parent {parents[i]} ({origin.at(i + 1)})" for i in missing[:5])
    return [
        Problem(
            "unknown parent",
            f"{counted(len(missing), 'taxon has a parent', 'taxa have parents')} without a line of its own: "
            f"{listed}.",
            "Was the file cut off, or cut down without its ancestors? Unpack NCBI's taxdump.tar.gz again.",
        )
    ]


def _name_problems(ids: Indices, of: Indices, path: str) -> list[Problem]:
    """Every taxon needs one scientific name."""
    count = np.bincount(of, minlength=len(ids))
    return [
        *_miscounted(ids, count == 0, path, "no scientific name", "Do both files come from one taxdump?"),
        *_miscounted(ids, count > 1, path, "several scientific names", "Keep one of these lines."),
    ]


def _miscounted(ids: Indices, which: Any, path: str, what: str, remedy: str) -> Iterator[Problem]:
    if which.any():
        listed = some(str(number) for number in ids[which].tolist())
        taxa = counted(int(which.sum()), "taxon has", "taxa have")
        yield Problem("names", f"{taxa} {what} in {path}: tax id {listed}.", remedy)
