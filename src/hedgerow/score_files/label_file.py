"""Labels in a file of their own, joined to the examples of a score file by id."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from itertools import repeat
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.errors import FileError, ParameterError, ScoreError, UnknownNameError, argument, counted, some
from hedgerow.files import extension
from hedgerow.score_files.binding import ANYTHING, Binder, Step, as_lineage, rank_letter
from hedgerow.score_files.reader import row_name
from hedgerow.score_files.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from hedgerow.score_files.binding import Lineage, Unbound
    from hedgerow.score_files.source import Block
    from hedgerow.score_files.tables import Table
    from hedgerow.tree import Hierarchy, Indices

_IDS = ("id", "Feature ID", "file_name", "filepath")
_LABELS = ("label", "lineage", "Taxon")
_SHOWN = 5


@final
class LabelFile:
    """The label of each id.

    Parameters
    ----------
    path
        A `.csv`, `.tsv` or `.parquet` table with a column `id`, and either a column `label` (or `lineage`) or one
        column per rank. A label is the name of a node, or a path of names separated by `;` or `,`.
    hierarchy
        The tree.
    label_column, id_column, delimiter
        Other names of the columns, and what separates them.
    group_column, cluster_column
        The columns of groups and clusters, which may also be here; by default `group` and `cluster`.
    outside
        Labels that are not in the tree; the example is then labelled with what is above them, or the root.
    labels
        Whether labels are needed. If not, only groups and clusters are read, and no example is left out.
    part
        Whether the scores are one part of several: then labels of other parts are not worth a remark.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        hierarchy: Hierarchy,
        *,
        label_column: str | None = None,
        id_column: str | None = None,
        delimiter: str | None = None,
        group_column: str | None = None,
        cluster_column: str | None = None,
        outside: Sequence[str] = (),
        labels: bool = True,
        part: bool = False,
    ) -> None:
        self._part = part
        self.path = os.fspath(path)
        table = _opened(self.path, delimiter)
        ids = table.texts(_column(table, [id_column, *_IDS], "ids"))
        if not len(ids):
            raise FileError(f"{self.path} has a header and no rows; it needs a row for each example.")
        self._place = _places(self.path, ids)
        self._ids = ids
        columns = {"groups": group_column or "group", "clusters": cluster_column or "cluster"}
        self.about = {
            key: np.array(table.texts(_column(table, [name], key)), dtype=object)
            for key, name in columns.items()
            if name in table.columns
        }
        """What else the file says of each id: `groups` and `clusters`."""
        self._nodes: Indices | None = None
        if labels:
            binder = Binder(hierarchy, [name for name in outside if name != ANYTHING])
            self._nodes = self._bound(hierarchy, _lineages(table, label_column), binder)

    def __len__(self) -> int:
        return len(self._ids)

    def _bound(self, hierarchy: Hierarchy, labels: list[str | Lineage], binder: Binder) -> Indices:
        """Return the node of each label."""
        node: dict[str | Lineage, int] = {}
        outside: set[str | Lineage] = set()
        problems: Counter[Unbound] = Counter()
        for label, count in Counter(labels).items():
            if isinstance(label, str) and label in hierarchy:
                node[label] = hierarchy.index(label)
                continue
            bound = binder.bind(_split(label) if isinstance(label, str) else label)
            node[label] = bound.last
            if bound.unbound is not None:
                problems[bound.unbound] += count
            elif label and bound.last == 0:
                outside.add(label)
        if problems:
            raise UnknownNameError(
                f"{self.path}: {counted(len(problems), 'label', 'labels')} cannot be found in the tree: "
                f"{binder.explained(problems)} Correct them, add these classes to the tree, or say that they are "
                f"outside it: {argument('outside', next(iter(problems)).name, python='outside=[...]')}."
            )
        self._outside = np.fromiter(map(outside.__contains__, labels), dtype=bool, count=len(labels))
        return np.fromiter(map(node.__getitem__, labels), dtype=np.int64, count=len(labels))

    def joined(self, blocks: Iterator[Block], path: str, remarks: list[str]) -> Iterator[Block]:
        """Yield the blocks of a file with labels, without the examples that have none.

        What is left over on either side is counted and named in `remarks` at the end. If labels are not needed,
        every example is kept, and the group of one that is not there is ''.
        """
        used = np.zeros(len(self._ids), dtype=bool)
        unlabelled: list[str] = []
        without = 0
        for block in blocks:
            if block.ids is None:
                raise ScoreError(
                    f"{path} has no ids, by which the labels of {self.path} could be joined. Add a column 'id', "
                    f"or say which column holds them: {argument('id_column', 'NAME')}."
                )
            place = np.fromiter(map(self._place.get, block.ids, repeat(-1)), np.int64, len(block))
            found = place >= 0
            used[place[found]] = True
            self._check_agreement(block, place, found, path)
            without += int((~found).sum())
            unlabelled += block.ids[~found][: _SHOWN - len(unlabelled)].tolist()
            if self._nodes is None:
                known: dict[str, Any] = {
                    key: np.where(found, values[place], "") for key, values in self.about.items()
                }
                yield replace(block, **known)
            elif found.any():
                place = place[found]
                known = {key: values[place] for key, values in self.about.items()}
                yield replace(block if found.all() else block.taken(found), labels=self._nodes[place], **known)
        if not used.any() and not (self._part and self._nodes is None):
            raise ScoreError(
                f"No id of {path} is in {self.path}. The former has {some(unlabelled, 2)}, the latter "
                f"{some(self._ids, 2)}. Write them alike."
            )
        if without and self._nodes is None:
            remarks.append(
                f"{counted(without, 'example is', 'examples are')} not in {self.path}, and so "
                f"{'has' if without == 1 else 'have'} no group: {_some(unlabelled, without)}."
            )
        elif without:
            remarks.append(
                f"{counted(without, 'example has', 'examples have')} no label in {self.path} and "
                f"{'is' if without == 1 else 'are'} left out: {_some(unlabelled, without)}."
            )
        if self._nodes is not None and (number := int((used & self._outside).sum())):
            remarks.append(
                f"{counted(number, 'label is', 'labels are')} outside the tree and "
                f"{'counts' if number == 1 else 'count'} as the root: any answer is then right. To count answers "
                f"to such examples as wrong, give {argument('below_label', 'wrong')}."
            )
        if not used.all() and not self._part and self._nodes is not None:
            left = np.flatnonzero(~used)
            remarks.append(
                f"{counted(len(left), 'label', 'labels')} in {self.path} "
                f"{'is for an id' if len(left) == 1 else 'are for ids'} not in {path}: "
                f"{some([self._ids[i] for i in left])}."
            )

    def _check_agreement(self, block: Block, place: Indices, found: NDArray[np.bool_], path: str) -> None:
        """Refuse groups or clusters that the scores and this file both have, and that differ."""
        for key, values in self.about.items():
            theirs = getattr(block, key)
            if theirs is None or block.ids is None:
                continue
            differ = np.flatnonzero(found & (theirs != values[place]))
            if len(differ):
                first = differ[0]
                raise ScoreError(
                    f"{path} and {self.path} disagree about the {key}: for {block.ids[first]!r}, the former has "
                    f"{theirs[first]!r}, the latter {values[place[first]]!r}. Remove or rename the column of one."
                )


def _some(first: list[str], count: int) -> str:
    return some([*first, *[""] * (count - len(first))])


def _opened(path: str, delimiter: str | None) -> Table:
    suffix = extension(path)
    if suffix not in TABLES:
        raise ParameterError(
            f"{path}: labels are joined by id, from a {', '.join(TABLES)} table with columns 'id' and 'label', "
            f"not from {suffix or 'a name without extension'!r}."
        )
    return TABLES[suffix](path, delimiter)


def _column(table: Table, names: Sequence[str | None], what: str) -> int:
    found = next((name for name in names if name in table.columns), None)
    if found is None:
        wanted = next(name for name in names if name is not None)
        raise FileError(
            f"{table.path} has no column {wanted!r} for the {what}. Its columns: {some(table.columns)}."
        )
    if table.columns.count(found) > 1:
        raise FileError(f"{table.path} has two columns {found!r}. Remove one.")
    return table.columns.index(found)


def _places(path: str, ids: list[str]) -> dict[str, int]:
    place = dict(zip(ids, range(len(ids)), strict=True))
    if "" in place:
        raise ScoreError(f"{path}: {row_name(ids.index(''))} has no id. Give it one, or remove the row.")
    if len(place) == len(ids):
        return place
    place = {}
    for row, name in enumerate(ids):
        if place.setdefault(name, row) != row:
            raise ScoreError(
                f"{path}: the id {name!r} stands there twice, in rows {place[name]:,} and {row:,} (counted from "
                f"0). Keep one of them."
            )
    return place


def _lineages(table: Table, label_column: str | None) -> list[str | Lineage]:
    """Return the label of each row: a text, or a lineage if there is a column per rank."""
    named = [name for name in (label_column, *_LABELS) if name in table.columns]
    ranks = [name for name in table.columns if rank_letter(name)]
    if named or label_column is not None or not ranks:
        labels = table.texts(_column(table, [label_column, *_LABELS], "labels"))
        if "" in labels:
            raise ScoreError(
                f"{table.path}: {row_name(labels.index(''))} has no label. Give it one, or remove the row."
            )
        return list(labels)
    columns = [table.texts(table.columns.index(rank)) for rank in ranks]
    return [
        as_lineage(Step.of(cell, rank) for rank, cell in zip(ranks, cells, strict=True))
        for cells in zip(*columns, strict=True)
    ]


def _split(text: str) -> Lineage:
    """Return a label as a lineage: a path separated by `;` or `,`, or one name."""
    separator = ";" if ";" in text else ","
    return as_lineage(map(Step.of, text.split(separator)))
