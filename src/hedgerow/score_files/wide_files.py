"""Wide score files: tables and `.npz` archives with one column per class, read in blocks of rows."""

from __future__ import annotations

import re
from abc import abstractmethod
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np

from hedgerow.errors import FileError, ParameterError, ScoreError, UnknownNameError, argument, closest, some
from hedgerow.files import TABLES, Archive, InputFile, Member, Table, column_texts, reading
from hedgerow.likelihood import BOTTOM, Scale
from hedgerow.score_files.examples import COLUMNS
from hedgerow.score_files.score_reading import (
    ScoreReader,
    ScoreReading,
    about_columns,
    class_columns_argument,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from numpy.typing import NDArray


Content = Literal["probabilities", "logits", "likelihoods"]
"""What scores are: probabilities (of leaves or nodes), logits of leaves, likelihoods of nodes on some scale."""

_LABELS_AS_NUMBERS = "If they are numbers of classes, write their names: an order is never guessed."
_IS_ID = re.compile(
    r"\s*|Unnamed: 0|index|__index_level_0__|(.*[_ .-])?id|(file[_ ]?)?(name|path)|barcode", re.IGNORECASE
)
"""Names of first columns that hold the ids."""
_BLOCK_BYTES = 1 << 25  # of likelihoods, or of the same rows in the file
_CONTENTS: tuple[Content, ...] = ("probabilities", "logits", "likelihoods")


@final
@dataclass(frozen=True, eq=False)
class WideBlock:
    """Consecutive rows of a file with one column per class."""

    start: int
    """Number of the first row."""
    scores: NDArray[Any]
    """[rows, classes]"""
    texts: dict[str, list[str]]
    """Texts about each example, by fact."""


class WideReader(ScoreReader):
    """A file with one column per class."""

    classes: list[str]
    """Names of the score columns."""
    content: Content = "probabilities"
    """What the scores are, as far as the file says."""
    scale: Scale = "probability"
    """The scale of likelihoods."""
    taken_by_name: tuple[str, ...] = ()
    """Columns of a table that are about the examples by their default names."""
    is_table: bool = False

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]:
        """Type of the scores; raises an error if they are not numbers, so names are checked first."""

    @property
    @abstractmethod
    def row_bytes(self) -> int:
        """Approximate memory per row, in bytes."""

    def rows_at_a_time(self, nodes: int) -> int:
        """Return how many rows to read at a time for a tree with this number of nodes."""
        return max(1, _BLOCK_BYTES // max(8 * nodes, self.row_bytes))

    @abstractmethod
    def labels(self) -> list[str]:
        """Return all labels, without reading the scores."""

    def ignore(self, columns: Collection[str]) -> str | None:
        """Leave out columns that are no class; return the one that holds the ids after all, if there is one."""
        raise NotImplementedError


def open_wide(
    file: InputFile,
    how: ScoreReading,
    *,
    labels: bool = True,
    elsewhere: frozenset[str] = frozenset(),
) -> WideReader:
    """Open a wide score file.

    Parameters
    ----------
    file, how
        The file, and how to read it.
    labels
        Whether to check the labels; if not, they may be anything, and only texts are read.
    elsewhere
        Keys of columns that the label file has: see `about_columns`.
    """
    how = how.resolved()
    if file.suffix in TABLES:
        return TableReader(file.table, how, elsewhere, labels=labels)
    if file.suffix != ".npz":
        what = repr(file.suffix) if file.suffix else "a name without extension"
        raise ParameterError(
            f"{file.path}: scores are read from .npz, {', '.join(TABLES)} files, not from {what}."
        )
    if how.names_classes:
        raise ParameterError(
            f"{file.path} names its classes itself, in its member 'classes': class columns are those of tables."
        )
    return NpzReader(file.path, how, elsewhere, labels=labels)


@final
class TableReader(WideReader):
    """The rows of a table."""

    is_table = True

    def __init__(
        self, table: Table, how: ScoreReading, elsewhere: frozenset[str] = frozenset(), *, labels: bool = True
    ) -> None:
        self.path = table.path
        self._checks_labels = labels
        self.rows = table.rows
        self._table = table
        how = how.within(table.columns, elsewhere)
        classes = _class_places(table, how)
        self._class_places = list(classes)
        self.classes = list(classes.values())
        about = about_columns(table.path, table.columns, how, COLUMNS, elsewhere, classes=classes)
        self._about = {key: table.columns.index(name) for key, name in about.items()}
        self.has = frozenset(about)
        usual = set() if how.names_classes else self.has - how.named_columns.keys()
        self.taken_by_name = tuple(COLUMNS[key] for key in sorted(usual))
        self._label = how.label_column or COLUMNS["labels"]

    def ignore(self, columns: Collection[str]) -> str | None:
        """Leave out columns that are no class; the first of the table holds the ids if it is called like that."""
        left = [place for place, name in zip(self._class_places, self.classes, strict=True) if name not in columns]
        first = self._table.columns[0]
        is_id = "ids" not in self.has and 0 not in left and 0 in self._class_places and _IS_ID.fullmatch(first)
        self._class_places, self.classes = left, [self._table.columns[place] for place in left]
        if is_id:
            self._about["ids"] = 0
            self.has |= {"ids"}
        return first if is_id else None

    @property
    def missing_labels(self) -> str:
        """The remedy if labels are needed and missing."""
        columns = self._table.columns
        if list(map(str.lower, columns)) == ["parent", "child"]:
            return "It looks like a tree: the scores come first, and the tree comes after --tree."
        near = next((name for name in columns if name.casefold() in ("label", "labels")), "NAME")
        return (
            f"It has no column {self._label!r}. Its columns: {some(columns)}. If one of them holds the labels, "
            f"use {argument('label_column', near)}; if another table does, {argument('labels_file', 'FILE')}."
        )

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """Type of the scores; raises an error if they are not numbers, so names are checked first."""
        return self._table.number_type(self._class_places)

    @property
    def row_bytes(self) -> int:
        """Approximate memory per row, in bytes."""
        return self.dtype.itemsize * len(self._class_places) + 8 * len(self._about)

    def read(self, rows: int, keys: frozenset[str]) -> Iterator[WideBlock]:
        """Yield the file in blocks of at most `rows` rows, with the texts of the requested keys."""
        about = {key: self._about[key] for key in sorted(keys)}
        start = self._table.first_row
        # Labels and ids may be one column.
        for count, columns in self._table.batches(rows, list(dict.fromkeys(about.values())), self._class_places):
            texts = {key: self._texts(key, columns[place]) for key, place in about.items()}
            yield WideBlock(start, self._scores(columns, count), texts)
            start += count

    def labels(self) -> list[str]:
        """Return all labels, without reading the scores."""
        place = self._about["labels"]
        return [
            text
            for _, columns in self._table.batches(1 << 16, [place], [])
            for text in self._texts("labels", columns[place])
        ]

    def _scores(self, part: dict[int, Any], count: int) -> NDArray[Any]:
        """Put the class columns side by side; an empty cell becomes NaN."""
        narrow = self.dtype in (np.float16, np.float32)
        scores = np.empty((len(self._class_places), count), dtype=np.float32 if narrow else np.float64)
        with reading(self.path, "a table"):
            for row, place in enumerate(self._class_places):
                scores[row] = part[place].to_numpy(zero_copy_only=False)
        return np.ascontiguousarray(scores.T)

    def _texts(self, key: str, values: Any) -> list[str]:
        import pyarrow as pa

        if (
            key == "labels"
            and self._checks_labels
            and (pa.types.is_integer(values.type) or pa.types.is_floating(values.type))
        ):
            column = self._table.columns[self._about[key]]
            raise ScoreError(
                f"{self.path}: the column {column!r} must hold names of nodes, not {values.type}. "
                f"{_LABELS_AS_NUMBERS}"
            )
        with reading(self.path, "a table"):
            return column_texts(values)


def _class_places(table: Table, how: ScoreReading) -> dict[int, str]:
    """Return the class of each class column, by position."""
    columns = table.columns
    if how.class_columns is not None:
        listed = set(how.class_columns)
        absent = [name for name in how.class_columns if name not in set(columns)]
        if absent:
            raise UnknownNameError(
                f"{table.path} has no column {absent[0]!r}, which {class_columns_argument()} lists. Its columns: "
                f"{some(columns)}.{closest(absent[:1], columns)}"
            )
        return {i: name for i, name in enumerate(columns) if name in listed}
    if how.class_prefix is not None:
        prefix, named = how.class_prefix, how.named_columns.values()
        found = {
            i: name.removeprefix(prefix)
            for i, name in enumerate(columns)
            if name.startswith(prefix) and name not in named
        }
        if not found:
            raise UnknownNameError(f"{table.path} has no column that begins with {prefix!r}: {some(columns)}.")
        return found
    about = set((COLUMNS | how.named_columns).values())
    return {i: name for i, name in enumerate(columns) if name not in about and name.strip() not in about}


# NumPy archives: members read in blocks of rows, stored or deflated, never unpickled ---------------------------


def npz_labels(path: str, name: str = "labels") -> list[str]:
    """Read a member of an `.npz` file that holds labels."""
    with Archive(path) as archive:
        if name not in archive.arrays:
            raise FileError(
                f"{path} has no member {name!r}, which holds the labels. Its members: {some(archive.arrays)}. "
                f"If one of them holds the labels, use {argument('label_column', 'NAME')}."
            )
        _check_labels(path, archive.member(name))
        return archive.texts(name)


def _check_labels(path: str, member: Member) -> None:
    """Refuse labels that are not names."""
    if len(member.shape) != 1 or member.dtype.kind != "U":
        raise ScoreError(
            f"{path}: {member.name!r} must be a list of names of nodes, not {member.dtype} of shape "
            f"{member.shape}. {_LABELS_AS_NUMBERS}"
        )


@final
class NpzReader(WideReader):
    """The rows of an `.npz` file.

    Parameters
    ----------
    path, how, elsewhere, labels
        See `open_wide`.
    """

    def __init__(
        self,
        path: str,
        how: ScoreReading,
        elsewhere: frozenset[str] = frozenset(),
        *,
        labels: bool = True,
    ) -> None:
        self.path = path
        self._label = how.label_column or "labels"
        with Archive(self.path) as archive:
            self._members = archive.arrays
            usual, how = {key: key for key in COLUMNS}, how.within(self._members, elsewhere)
            names = about_columns(path, self._members, how, usual, elsewhere, what="member")
            self.content = self._found_content()
            self._scores = archive.member(self.content)
            self._about = {key: archive.member(name) for key, name in names.items() if labels or key != "labels"}
            if not labels and "labels" in names:
                with suppress(FileError):
                    found = archive.member(names["labels"])
                    if found.shape == self._scores.shape[:1] and found.dtype.kind == "U":
                        self._about["labels"] = found
            self.classes = self._read_classes(archive)
            if self.content == "likelihoods" and "scale" in self._members:
                self.scale = self._read_scale(archive)
        self.rows = self._checked_shapes()
        self.has = frozenset(self._about)

    @property
    def missing_labels(self) -> str:
        """The remedy if labels are needed and missing."""
        return (
            f"It has no member {self._label!r}: save it with np.savez(..., {self._label}=names), or use "
            f"{argument('label_column', 'NAME')} if it has another name, or {argument('labels_file', 'FILE')} if "
            f"a table has the labels. {self._listed_members()}"
        )

    def read(self, rows: int, keys: frozenset[str]) -> Iterator[WideBlock]:
        """Yield the file in blocks of `rows` rows, with the texts of the requested keys."""
        about = {key: self._about[key] for key in sorted(keys)}
        with Archive(self.path) as archive, ExitStack() as stack:
            columns = [stack.enter_context(archive.rows(member)) for member in (self._scores, *about.values())]
            total = self._scores.shape[0]
            for start in range(0, total, rows):
                scores, *others = (column.take(min(rows, total - start)) for column in columns)
                texts = {
                    key: archive.as_texts(member, values)
                    for (key, member), values in zip(about.items(), others, strict=True)
                }
                yield WideBlock(start, scores, texts)
            for column in columns:
                column.finish()

    def labels(self) -> list[str]:
        """Return all labels, without reading the scores."""
        return npz_labels(self.path, self._about["labels"].name)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the scores."""
        return self._scores.dtype

    @property
    def row_bytes(self) -> int:
        """Size of one row of all members together."""
        return sum(member.row_bytes for member in (self._scores, *self._about.values()))

    def _listed_members(self) -> str:
        return f"Its members: {', '.join(self._members)}."

    def _found_content(self) -> Content:
        if "classes" not in self._members:
            raise FileError(
                f"{self.path} has no member 'classes', the names of the score columns. Save it with "
                f"np.savez(..., classes=names): an order is never guessed.{closest(['classes'], self._members)}"
            )
        if {"count", "node", "value"} <= set(self._members):
            raise FileError(f"{self.path} holds the compact scores of a training run: give the folder of the run.")
        found = [content for content in _CONTENTS if content in self._members]
        if len(found) != 1:
            trouble = f"has {some(found)}" if found else "has no scores"
            raise FileError(
                f"{self.path} {trouble}; it must hold exactly one of {', '.join(map(repr, _CONTENTS))}. "
                f"{self._listed_members()}"
            )
        return found[0]

    def _read_classes(self, archive: Archive) -> list[str]:
        member = archive.member("classes")
        if len(member.shape) != 1 or member.dtype.kind != "U":
            raise FileError(
                f"{self.path}: 'classes' must be a list of names, not {member.dtype} of shape {member.shape}. "
                f"Numbers would be a guess at an order; save the names."
            )
        return archive.texts("classes")

    def _read_scale(self, archive: Archive) -> Scale:
        scale = None if archive.member("scale").shape else str(archive.array("scale"))
        for known in BOTTOM:
            if scale == known:
                return known
        raise FileError(f"{self.path}: 'scale' must be one of {', '.join(map(repr, BOTTOM))}, as text.")

    def _checked_shapes(self) -> int:
        scores = self._scores
        if len(scores.shape) != 2 or scores.shape[1] != len(self.classes):
            raise ScoreError(
                f"{self.path}: {scores.name!r} must be examples x classes, with one column for each of the "
                f"{len(self.classes):,} 'classes'; its shape is {scores.shape}."
            )
        if scores.dtype.kind not in "fiub":
            raise ScoreError(f"{self.path}: {scores.name!r} must be numbers, not {scores.dtype}.")
        rows = scores.shape[0]
        if "labels" in self._about:
            _check_labels(self.path, self._about["labels"])
        for member in self._about.values():
            if member.shape != (rows,):
                raise ScoreError(
                    f"{self.path}: {member.name!r} must have one entry for each of the {rows:,} examples; its "
                    f"shape is {member.shape}."
                )
        return rows
