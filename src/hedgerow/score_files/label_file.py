"""Files of labels, which are joined to scores by id."""

from __future__ import annotations

import os
import unicodedata
from collections import Counter
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NoReturn, final

import numpy as np

from hedgerow.errors import (
    FileError,
    ParameterError,
    ScoreError,
    UnknownNameError,
    argument,
    counted,
    some,
)
from hedgerow.files import (
    TABLES,
    InputFile,
    Table,
    extension,
    refuse_spreadsheet,
    row_name,
)
from hedgerow.score_files.examples import COLUMNS, FACTS, Examples
from hedgerow.score_files.labels import MISSING, no_label, to_drop
from hedgerow.score_files.lineage_binding import ANYTHING, Binder, Unbound, parsed_lineage
from hedgerow.score_files.listed import joined_cells, repeated, split_cells
from hedgerow.tree import Hierarchy, Indices, Names, taxon_strings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from hedgerow.score_files.examples import Block
    from hedgerow.score_files.score_reading import ScoreReading

_IDS = ("id", "Feature ID", "file_name", "filepath")
_LABELS = ("label", "lineage", "Taxon")
_JOINED = [name for name, fact in FACTS.items() if fact.option and name not in ("labels", "ids")]
"""What a file of labels may hold besides."""
_SHOWN = 5


@final
class LabelFile:
    """A table of labels by id, which is joined to scores.

    Parameters
    ----------
    path
        A `.csv`, `.tsv` or `.parquet` table with a column `id`, and either a column `label` (or `lineage`) or one
        column per rank. A label is the name of a node, or a path of names separated by `;` or `,`.
    hierarchy
        The tree.
    how
        Names of columns, and the delimiter; they also apply to the scores, and need not fit this file. Groups and
        clusters are read from here too: those that are named must agree with the scores; others are dropped if
        they do not. Labels outside the tree count as their nearest ancestor in it.
    labels
        Whether labels are needed. If not, only groups and clusters are read, and all examples are kept.
    part
        Whether the scores are one part of several: then unused labels are not reported.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        hierarchy: Hierarchy,
        how: ScoreReading,
        *,
        labels: bool = True,
        part: bool = False,
    ) -> None:
        self._part = part
        self._hierarchy = hierarchy
        self.path = os.fspath(path)
        table = _opened(self.path, how.delimiter)
        called = _first_of(table, [how.id_column, *_IDS])
        if how.id_column is not None and called not in map(str.strip, table.columns):
            raise FileError(
                f"{self.path} has no column {called!r} or 'id', which holds the ids. Its columns: "
                f"{some(table.columns)}. Scores and labels must have one name for their ids, or 'id': rename the "
                f"column in one of the files."
            )
        ids = table.column(called, "the ids", "id_column")
        self.named = frozenset(key for key, name in how.named_columns.items() if name in table.columns) - {
            "labels"
        }
        """The facts whose column in this file `how` names."""
        names = COLUMNS | how.named_columns
        about = {key: table.column(names[key], f"the {key}") for key in _JOINED if names.get(key) in table.columns}
        cells, ranks = _label_columns(table, how.label_column) if labels else ([], [])
        texts = _without_types(table.texts([ids, *about.values(), *cells]), ids)
        self._ids = texts[ids]
        if not len(self._ids):
            raise FileError(f"{self.path} has a header and no rows; it needs a row for each example.")
        self._rows = _Rows(self.path, self._ids)
        self._used = np.zeros(len(self), dtype=bool)
        self.about = Examples.holding(len(self), {key: _as_names(texts[place]) for key, place in about.items()})
        """The groups, clusters, events and weights of each id, as far as the file has them."""
        self._keeps_all = how.event_column is not None and "events" not in about
        self.nodes: Indices | None = None
        """The node of each label; None if labels are not needed."""
        if labels:
            binder = Binder(hierarchy, [name for name in how.outside if name != ANYTHING], finer=False)
            self._bind([texts[place] for place in cells], ranks, hierarchy, binder, how.drop_label)

    def __len__(self) -> int:
        return len(self._ids)

    def _bind(
        self, cells: list[Any], ranks: list[str], hierarchy: Hierarchy, binder: Binder, dropped: Sequence[str]
    ) -> None:
        """Find the node of each label, which is one text, or one cell per rank."""
        encoded = joined_cells(cells).dictionary_encode()
        distinct, number = encoded.dictionary.to_pylist(), encoded.indices.to_numpy()
        node = np.empty(len(distinct), dtype=np.int64)
        outside = np.zeros(len(distinct), dtype=bool)
        problems: Counter[Unbound] = Counter()
        for place, (label, count) in enumerate(zip(distinct, np.bincount(number).tolist(), strict=True)):
            lineage = split_cells(label, ranks) if ranks else parsed_lineage(label, ";" if ";" in label else ",")
            last = next((step.names[0] for step in reversed(lineage) if step.names[0]), "") if ranks else label
            if (missing := no_label(last, dropped)) is not None:
                node[place] = missing
                continue
            if not ranks and label in hierarchy:
                node[place] = hierarchy.index(label)
                continue
            bound = binder.bind(lineage)
            node[place], outside[place] = bound.last, bound.last == 0 and 0 not in bound.nodes
            if bound.unbound is not None:
                problems[bound.unbound] += count
        if problems:
            is_lineage = all(problem.path != problem.name for problem in problems)
            remedies = ["Correct them"]
            if unknown := binder.unknown(problems):
                declare = argument("outside", unknown[0], python="outside=[...]")
                remedies = [*remedies, "add these classes to the tree", f"or declare them outside it: {declare}"]
            raise UnknownNameError(
                f"{self.path}: {counted(len(problems), 'label', 'labels')} cannot be found in the tree: "
                f"{binder.explained(problems)} {', '.join(remedies)}."
                f"{'' if is_lineage else f' {to_drop()}'}"
            )
        self.nodes, self._outside = node[number], outside[number]

    def joined(self, blocks: Iterator[Block], path: str, remarks: list[str]) -> Iterator[Block]:
        """Yield blocks with labels, without the examples that have none.

        Examples and labels without a match are reported in `remarks` at the end. If labels are not needed, every
        example is kept, and its group is '' if it is not in this file.
        """
        used = np.zeros(len(self._ids), dtype=bool)
        unlabelled: list[str] = []
        disputed: set[str] = set()
        without = labelled = other = 0
        example = ""
        for block in blocks:
            if block.ids is None:
                raise ScoreError(
                    f"{path} has no ids, by which the labels of {self.path} could be joined. Add a column 'id', "
                    f"or name the column that holds them: {argument('id_column', 'NAME')}."
                )
            place = self._rows.of(block.ids)
            found = place >= 0
            again = used[place]  # in an earlier block
            used[place[found]] = True
            labelled += int(found.sum())
            if self.nodes is not None and np.count_nonzero(used) < labelled:
                self._refuse_repeated(block, place, found & again, path)
            unsure = dict.fromkeys(self._disputed(block, place, found, path))
            disputed |= unsure.keys()
            without += int((~found).sum())
            if self.nodes is not None and block.labels is not None:
                ours = self.nodes[place]
                both = found & (ours > MISSING) & (block.labels > MISSING)
                differ = np.flatnonzero(both & (ours != block.labels))
                if len(differ) and not other:
                    there, here = self._hierarchy.names[[block.labels[differ[0]], ours[differ[0]]]]
                    example = f"{block.ids[differ[0]]!r} is {there!r} in the former, {here!r} in the latter"
                other += len(differ)
            unlabelled += block.ids[~found][: _SHOWN - len(unlabelled)].tolist()
            known: dict[str, Any]
            if self.nodes is None or self._keeps_all:  # other examples of the event may have a label
                about = self.about.take(place).columns
                known = {key: np.where(found, values, "") for key, values in about.items()} | unsure
                if self.nodes is not None:
                    known["labels"] = np.where(found, self.nodes[place], MISSING)
                yield block.join(**known)
            elif found.any() or self._part:  # of a part without labels, blocks without examples remain
                known = self.about.take(place[found]).columns | unsure
                some_of = block if found.all() else block.take(found)
                yield some_of.join(labels=self.nodes[place[found]], **known)
        if not used.any() and not self._part:
            raise ScoreError(
                f"No id of {path} is in {self.path}. The former has {_some(unlabelled, without, 2)}, the latter "
                f"{_some(self._ids[:2].to_pylist(), len(self), 2)}. Write them alike."
            )
        remarks += [
            f"{path} and {self.path} disagree about the {key}, which are therefore ignored."
            for key in sorted(disputed)
        ]
        if without and self.nodes is None:
            remarks.append(
                f"{counted(without, 'example is', 'examples are')} not in {self.path}, and so "
                f"{'has' if without == 1 else 'have'} no group: {_some(unlabelled, without)}."
            )
        if other:
            remarks.append(
                f"{path} and {self.path} give different labels to {counted(other, 'example', 'examples')}, and "
                f"those of the latter count: {example}."
            )
        if without and self.nodes is not None and not used.any() and not self._keeps_all:
            remarks.append(
                f"{PurePath(path).name} is left out: none of its ids, {_some(unlabelled, without, 2)}, is in "
                f"{self.path}, which has {_some(self._ids[:2].to_pylist(), len(self), 2)}."
            )
        elif without and self.nodes is not None and not self._keeps_all:
            remarks.append(
                f"{counted(without, 'example has', 'examples have')} no label in {self.path} and "
                f"{'is' if without == 1 else 'are'} left out: {_some(unlabelled, without)}."
            )
        if self.nodes is not None and (number := int((used & self._outside).sum())):
            remarks.append(
                f"{counted(number, 'label is', 'labels are')} outside the tree and "
                f"{'counts' if number == 1 else 'count'} as the root."
            )
        self._used |= used
        if not self._part and self.nodes is not None:
            remarks += self.left_over(path)

    def _refuse_repeated(self, block: Block, place: Indices, again: NDArray[np.bool_], path: str) -> NoReturn:
        """Raise an error for an id that another example has, in this or an earlier block."""
        if not again.any():
            again = (place >= 0) & ~np.isin(np.arange(len(place)), np.unique(place, return_index=True)[1])
        row = int(np.argmax(again))
        raise ScoreError(
            f"{path}: duplicate id {self._ids[place[row]].as_py()!r}, again in "
            f"{row_name(path, block.start + row)}. Labels are joined by id: remove a row that was written twice; "
            f"give others, such as crops of one photograph, ids of their own."
        )

    def find(self, ids: Names) -> Indices:
        """Return the row of each id; -1 if there is none."""
        return self._rows.of(ids)

    def mark(self, ids: Names) -> None:
        """Mark ids as used; `joined` does that for those it yields."""
        row = self._rows.of(ids)
        self._used[row[row >= 0]] = True

    def left_over(self, place: str) -> list[str]:
        """Return a remark on the labels without an example in `place`, if there are any."""
        left = np.flatnonzero(~self._used)
        if not len(left):
            return []
        are = "is for an id" if len(left) == 1 else "are for ids"
        names = _some(self._ids.take(left[:_SHOWN]).to_pylist(), len(left))
        return [f"{counted(len(left), 'label', 'labels')} in {self.path} {are} not in {place}: {names}."]

    def _disputed(self, block: Block, place: Indices, found: NDArray[np.bool_], path: str) -> Iterator[str]:
        """Yield the keys (groups, clusters) in which scores and this file differ; refuse it for named columns."""
        for key, values in self.about.columns.items():
            theirs = getattr(block, key)
            if theirs is None or block.ids is None:
                continue
            differ = np.flatnonzero(found & (theirs != values[place]))
            if len(differ) and key not in self.named:
                yield key
            elif len(differ):
                first = differ[0]
                raise ScoreError(
                    f"{path} and {self.path} disagree about the {key}: for {block.ids[first]!r}, the former has "
                    f"{theirs[first]!r}, the latter {values[place[first]]!r}. Remove or rename the column of one."
                )


@final
class _Rows:
    """The row of each id of a file.

    Ids are found by their sorted hashes: a dict takes twice the time and several times the memory. Hashes of text
    differ between processes, so do not pickle this.
    """

    def __init__(self, path: str, ids: Any) -> None:
        import pyarrow as pa

        names = ids.to_pylist()
        if "" in names:
            raise ScoreError(
                f"{path}: {row_name(path, names.index(''))} has no id. Give it one, or remove the row."
            )
        self._composed = False
        if not all(map(str.isascii, names)):
            # Arrow's own normalisation was wrong up to version 24.
            composed = pa.array([unicodedata.normalize("NFC", name) for name in names], ids.type)
            self._composed = repeated(composed) is None  # otherwise some ids differ in nothing else
            ids, names = (composed, composed.to_pylist()) if self._composed else (ids, names)
        self._ids = ids
        hashes = _hashes(names)
        self._row = np.argsort(hashes)
        self._hash = hashes[self._row]
        self._alike: dict[str, int] = {}  # ids with equal hashes: usually none
        equal = self._hash[1:] == self._hash[:-1]
        if equal.any():
            if (twice := repeated(ids)) is not None:
                raise ScoreError(
                    f"{path}: duplicate id {names[twice[0]]!r}; first in {row_name(path, twice[0])}, again in "
                    f"{row_name(path, twice[1])}. Keep one of them."
                )
            alike = self._row[np.append(equal, False) | np.append(False, equal)].tolist()
            self._alike = {names[row]: row for row in alike}

    def of(self, names: Names) -> Indices:
        """Return the row of each id; -1 if there is none. Accents may be letters of their own, as on a Mac."""
        if self._composed:
            names = np.array([unicodedata.normalize("NFC", name) for name in names.tolist()], dtype=object)
        key = _hashes(names)
        order = np.argsort(key)  # sorted keys make the search local in memory
        place = np.empty_like(order)
        place[order] = np.searchsorted(self._hash, key[order])
        row = self._row[np.minimum(place, len(self._row) - 1)]
        row[self._ids.take(row).to_numpy(zero_copy_only=False) != names] = -1
        for number in np.flatnonzero(row < 0) if self._alike else ():
            row[number] = self._alike.get(names[number], -1)
        return row


def _hashes(names: Sequence[str] | Names) -> Indices:
    return np.fromiter(map(hash, names), np.int64, len(names))


def _some(first: list[str], count: int, limit: int = _SHOWN) -> str:
    """Quote the first few of `count` names."""
    return some([*first, *[""] * (count - len(first))], limit)


def _opened(path: str, delimiter: str | None) -> Table:
    suffix = extension(path)
    refuse_spreadsheet(path)
    if suffix not in TABLES:
        raise ParameterError(
            f"{path}: labels are joined by id, from a {', '.join(TABLES)} table with columns 'id' and 'label', "
            f"not from {suffix or 'a name without extension'!r}."
        )
    return InputFile(path, delimiter, any_delimiter=True).table


def _first_of(table: Table, names: Sequence[str | None]) -> str:
    """Return the first name that a column has; the first of all if none has."""
    given = [name for name in names if name is not None]
    return next((name for name in given if name in table.columns), given[0])


def _without_types(texts: dict[int, Any], ids: int) -> dict[int, Any]:
    """Return columns without the row in which QIIME 2 names their types."""
    import pyarrow.compute as pc

    typed = pc.starts_with(texts[ids], "#q2:")
    if not pc.any(typed).as_py():
        return texts
    return {place: values.filter(pc.invert(typed)) for place, values in texts.items()}


def _as_names(texts: Any) -> Names:
    """Convert an Arrow array of text to an array of objects; equal texts are one object."""
    encoded = texts.dictionary_encode()
    names: Names = encoded.dictionary.to_numpy(zero_copy_only=False)[encoded.indices.to_numpy()]
    return names


def _label_columns(table: Table, label_column: str | None) -> tuple[list[int], list[str]]:
    """Return the label column; or, if there is one per rank, these columns and their ranks."""
    wanted = _LABELS if label_column is None else [label_column]
    ranks = [name for name in table.columns if taxon_strings.rank_letter(name)]
    if label_column is not None or not ranks or not set(wanted).isdisjoint(table.columns):
        return [table.column(_first_of(table, wanted), "the labels", "label_column")], []
    return [table.columns.index(rank) for rank in ranks], ranks
