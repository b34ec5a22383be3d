"""Score files in NumPy's `.npz`: members read in blocks of rows, stored or deflated, never unpickled."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, final

from hedgerow.errors import FileError, ScoreError, argument, closest, some
from hedgerow.files import Archive
from hedgerow.likelihood import BOTTOM
from hedgerow.score_files.reader import LABELS_AS_NUMBERS, PER_EXAMPLE, RawBlock, Reader

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

    from hedgerow.files import Member
    from hedgerow.likelihood import Scale
    from hedgerow.score_files.reader import Content
    from hedgerow.score_files.score_tables import ColumnNames

_CONTENTS: tuple[Content, ...] = ("probabilities", "logits", "likelihoods")


@final
class NpzFile:
    """The arrays of an `.npz` file, as far as they are text.

    Parameters
    ----------
    path
        The file.
    whole_limit
        Bytes up to which an array in Fortran order is read whole; its rows cannot be read one after another.
    """

    def __init__(self, path: str, *, whole_limit: int = 1 << 32) -> None:
        self.path = path
        self._whole_limit = whole_limit
        with self.opened() as archive:
            self.members = archive.arrays

    def opened(self) -> Archive:
        """Open the archive."""
        return Archive(self.path, fortran_limit=self._whole_limit)

    def classes(self, archive: Archive) -> list[str]:
        """Read the names of the score columns."""
        member = archive.member("classes")
        if len(member.shape) != 1 or member.dtype.kind != "U":
            raise FileError(
                f"{self.path}: 'classes' must be a list of names, not {member.dtype} of shape {member.shape}. "
                f"Numbers would be a guess at an order; save the names."
            )
        return archive.texts("classes")

    def labels(self, name: str) -> list[str]:
        """Read a member that holds labels."""
        with self.opened() as archive:
            self.check_labels(archive.member(name))
            return archive.texts(name)

    def check_labels(self, member: Member) -> None:
        """Refuse labels that are not names."""
        if len(member.shape) != 1 or member.dtype.kind != "U":
            raise ScoreError(
                f"{self.path}: {member.name!r} must be a list of names of nodes, not {member.dtype} of shape "
                f"{member.shape}. {LABELS_AS_NUMBERS}"
            )

    def scale(self, archive: Archive) -> Scale:
        """Read the scale of likelihoods."""
        scale = None if archive.member("scale").shape else str(archive.array("scale"))
        for known in BOTTOM:
            if scale == known:
                return known
        raise FileError(f"{self.path}: 'scale' must be one of {', '.join(map(repr, BOTTOM))}, as text.")


@final
class NpzReader(Reader):
    """The rows of an `.npz` score file.

    Parameters
    ----------
    file
        The file.
    labels
        Whether labels are looked at; if not, they may be anything.
    columns
        The members about the examples that have other names.
    """

    def __init__(self, file: NpzFile, columns: ColumnNames, *, labels: bool = True) -> None:
        self.path = file.path
        self._file = file
        columns = columns.within(file.members)
        names = {key: key for key in PER_EXAMPLE} | columns.given
        for name in columns.required.values():
            if name not in file.members:
                raise FileError(f"{self.path} has no member {name!r}. {self._listed_members()}")
        self.content = self._found_content()
        with file.opened() as archive:
            self._scores = archive.member(self.content)
            self._about = {
                key: archive.member(name)
                for key, name in names.items()
                if name in file.members and (labels or key != "labels")
            }
            self.classes = file.classes(archive)
            if self.content == "likelihoods" and "scale" in file.members:
                self.scale = file.scale(archive)
        self.rows = self._checked_shapes()
        self.has = frozenset(self._about)
        self.missing_labels = (
            f"It has no member {names['labels']!r}: save it with np.savez(..., {names['labels']}=names), or say "
            f"{argument('label_column', 'NAME')} if it has another name, or {argument('labels_file', 'FILE')} if "
            f"a table has the labels. {self._listed_members()}"
        )

    def read(self, rows: int, keys: frozenset[str]) -> Iterator[RawBlock]:
        """Yield the file in blocks of so many rows, with what was asked for about each example."""
        about = {key: self._about[key] for key in sorted(keys)}
        with self._file.opened() as archive, ExitStack() as stack:
            columns = [stack.enter_context(archive.rows(member)) for member in (self._scores, *about.values())]
            total = self._scores.shape[0]
            for start in range(0, total, rows):
                scores, *others = (column.take(min(rows, total - start)) for column in columns)
                texts = {
                    key: archive.as_texts(member, values)
                    for (key, member), values in zip(about.items(), others, strict=True)
                }
                yield RawBlock(start, scores, texts)
            for column in columns:
                column.finish()

    def labels(self) -> list[str]:
        """Return all labels, without reading the scores."""
        return self._file.labels(self._about["labels"].name)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the scores."""
        return self._scores.dtype

    @property
    def row_bytes(self) -> int:
        """Size of one row of all members together."""
        return sum(member.row_bytes for member in (self._scores, *self._about.values()))

    def _listed_members(self) -> str:
        return f"Its members: {', '.join(self._file.members)}."

    def _found_content(self) -> Content:
        present = self._file.members
        if "classes" not in present:
            raise FileError(
                f"{self.path} has no member 'classes', the names of the score columns. Save it with "
                f"np.savez(..., classes=names): an order is never guessed.{closest(['classes'], present)}"
            )
        found = [content for content in _CONTENTS if content in present]
        if len(found) != 1:
            trouble = f"has {some(found)}" if found else "has no scores"
            raise FileError(
                f"{self.path} {trouble}; it must hold exactly one of {', '.join(map(repr, _CONTENTS))}. "
                f"{self._listed_members()}"
            )
        return found[0]

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
            self._file.check_labels(self._about["labels"])
        for member in self._about.values():
            if member.shape != (rows,):
                raise ScoreError(
                    f"{self.path}: {member.name!r} must have one entry for each of the {rows:,} examples; its "
                    f"shape is {member.shape}."
                )
        return rows
