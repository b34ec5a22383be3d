"""Score files in: blocks of likelihoods, never the whole file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Protocol, cast, final

import numpy as np

from hedgerow.errors import ParameterError, ScoreError, UnknownNameError
from hedgerow.score_files.class_columns import ColumnFit
from hedgerow.score_files.labels import label_nodes
from hedgerow.score_files.npz import NpzFile, NpzReader
from hedgerow.score_files.score_tables import ColumnNames, TableReader, check_clash
from hedgerow.score_files.tables import TABLES
from hedgerow.score_files.values import Values

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from hedgerow.likelihood import Likelihoods, Scale
    from hedgerow.score_files.class_columns import ColumnKind
    from hedgerow.score_files.reader import Reader
    from hedgerow.tree import Hierarchy, Indices, Names

_BLOCK_BYTES = 1 << 25  # of likelihoods, or of what the file holds of the same rows


@final
@dataclass(frozen=True, eq=False)
class Block:
    """Some consecutive examples of a score file."""

    start: int
    """Row of the first example in the file, counted from 0."""
    likelihoods: Likelihoods
    """Likelihoods of the rows, with their scale."""
    labels: Indices | None = None
    """Node index of each label."""
    ids: Names | None = None
    groups: Names | None = None
    clusters: Names | None = None
    """Which examples belong together, such as the photographs of one burst."""
    texts: Names | None = None
    images: Names | None = None

    @property
    def q(self) -> NDArray[Any]:
        """The likelihoods as an array [rows, nodes], in node order; float32 or float64."""
        values: NDArray[Any] = self.likelihoods.values
        return values

    @property
    def scale(self) -> Scale:
        """What the likelihoods are: "probability", "log" or "logit"."""
        return self.likelihoods.scale

    def __len__(self) -> int:
        return len(self.likelihoods)


class Scores(Protocol):
    """Likelihoods of examples, block by block, from wherever they come."""

    path: str
    hierarchy: Hierarchy
    warnings: list[str]

    @property
    def rows(self) -> int | None:
        """Number of examples, where it is known in advance."""

    @property
    def has_ids(self) -> bool:
        """Whether the examples have ids."""

    def __iter__(self) -> Iterator[Block]:
        """Yield the examples in order."""


@final
class ScoreFile:
    """A score file whose columns have been bound to the nodes of a tree; iterating yields a `Block` at a time.

    Use `open_scores`. A file can be iterated over several times; each time it is read anew.
    """

    def __init__(self, values: Values, *, labels: bool, block_rows: int | None) -> None:
        self._values = values
        self._reader = values.reader
        self.path = self._reader.path
        self.hierarchy = values.hierarchy
        self._labels = labels
        row_bytes = max(8 * len(self.hierarchy), self._reader.row_bytes)
        self._block_rows = max(1, _BLOCK_BYTES // row_bytes) if block_rows is None else block_rows
        self.warnings: list[str] = []
        """What is allowed but often a mistake; complete once the file has been read."""

    @property
    def rows(self) -> int | None:
        """Number of examples, where the file tells it in advance."""
        return self._reader.rows

    @property
    def has_ids(self) -> bool:
        """Whether the examples have ids."""
        return "ids" in self._reader.has

    @property
    def kind(self) -> ColumnKind:
        """What the columns are: "leaves" or "nodes"."""
        return cast("ColumnKind", self._values.fit.kind)

    @property
    def scale(self) -> Scale:
        """What the likelihoods are: "probability", unless the file holds likelihoods on another scale."""
        return self._reader.scale

    def __iter__(self) -> Iterator[Block]:
        keys = self._reader.has if self._labels else self._reader.has - {"labels"}
        doubts: list[str | None] = []
        rows = 0
        for raw in self._reader.read(self._block_rows, keys):
            if not len(raw.scores):
                continue
            likelihoods = self._values.likelihoods(raw.scores, raw.start)
            doubts.append(self._values.likely_probabilities(raw.scores))
            labels = raw.texts.get("labels")
            yield Block(
                raw.start,
                likelihoods,
                None if labels is None else label_nodes(self.hierarchy, self.path, labels, raw.start),
                **{key: _as_names(values) for key, values in raw.texts.items() if key != "labels"},
            )
            rows += len(raw.scores)
        if not rows:
            raise ScoreError(f"{self.path} has no rows: there are no examples in it.")
        if doubts[0] is not None and all(doubts) and doubts[0] not in self.warnings:
            self.warnings.append(doubts[0])


def open_scores(
    path: str | os.PathLike[str],
    hierarchy: Hierarchy,
    *,
    logits: bool = False,
    renormalise: bool = False,
    labels: bool = True,
    label_column: str | None = None,
    id_column: str | None = None,
    class_columns: Sequence[str] | None = None,
    class_prefix: str | None = None,
    delimiter: str | None = None,
    block_rows: int | None = None,
) -> ScoreFile:
    r"""Open a score file and bind its columns to the nodes of a tree, by name.

    Columns that are exactly the leaves are summed up the tree (logits through a softmax first); columns that are
    all nodes (the root is optional) are taken as the likelihoods of the nodes; anything else is an error.

    Parameters
    ----------
    path
        An `.npz`, `.csv`, `.tsv` or `.parquet` file.
    hierarchy
        The tree.
    logits
        Whether the scores of a table are logits; an `.npz` file says so by the name of its member.
    renormalise
        Whether rows of leaf probabilities may have any positive sum, by which they are divided: for numbers that
        were rounded, percentages, or votes. Otherwise they must sum to 1 within 1e-3.
    labels
        Whether labels are needed. If not, they are not looked at.
    label_column, id_column
        The columns of a table, or members of an `.npz` file, that hold labels and ids, if they are not called
        `label` and `id` (`labels` and `ids`).
    class_columns
        The columns of a table that are classes; others are then ignored, unless they are about the examples.
    class_prefix
        What the names of the class columns begin with, in front of the class; others are then ignored as well.
    delimiter
        What separates the columns of a `.csv` file, if not a comma: one character, or "tab".
    block_rows
        Rows to read at a time; by default as many as take some 30 MB.

    Examples
    --------
    >>> import tempfile, pathlib, hedgerow as hr
    >>> h = hr.Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "scores.csv")
    ...     _ = file.write_text("wolf,cat,dog,label\n0.5,0.25,0.25,wolf\n0,0.5,0.5,pet\n")
    ...     for block in hr.open_scores(file, h):
    ...         print(block.q.tolist(), block.labels.tolist())
    [[1.0, 0.5, 0.25, 0.25, 0.5], [1.0, 1.0, 0.5, 0.5, 0.0]] [4, 1]
    """
    if block_rows is not None and block_rows < 1:
        raise ParameterError(f"block_rows must be 1 or more, not {block_rows}.")
    names = ColumnNames(label_column, id_column, class_columns, class_prefix)
    reader = open_reader(path, names, delimiter=delimiter, labels=labels)
    check_clash(hierarchy, reader)
    if labels and "labels" not in reader.has:
        raise ScoreError(f"{reader.path} needs labels for this. {reader.missing_labels}")
    fit = ColumnFit.of(hierarchy, reader)
    if fit.kind is None:
        raise UnknownNameError(fit.misfit(hierarchy, reader))
    values = Values(hierarchy, reader, fit, logits=logits, renormalise=renormalise)
    return ScoreFile(values, labels=labels, block_rows=block_rows)


def open_reader(
    path: str | os.PathLike[str], names: ColumnNames, *, delimiter: str | None = None, labels: bool = True
) -> Reader:
    """Open a score file, without a tree; the parameters are those of `open_scores`."""
    shown = os.fspath(path)
    suffix = PurePath(shown).suffix.lower()
    if suffix in TABLES:
        return TableReader(TABLES[suffix](shown, delimiter), names)
    if suffix != ".npz":
        what = repr(suffix) if suffix else "a name without extension"
        raise ParameterError(f"{shown}: scores are read from .npz, {', '.join(TABLES)} files, not from {what}.")
    if names.names_classes:
        raise ParameterError(
            f"{shown} names its classes itself, in its member 'classes': class columns are those of tables."
        )
    return NpzReader(NpzFile(shown), labels=labels, label_column=names.label_column, id_column=names.id_column)


def _as_names(values: list[str]) -> Names:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
