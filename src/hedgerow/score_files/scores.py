"""Score files in: blocks of likelihoods, never the whole file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Protocol, final

import numpy as np

from hedgerow.errors import ParameterError, ScoreError
from hedgerow.score_files.columns import Columns, clash, label_nodes
from hedgerow.score_files.npz import NpzSource
from hedgerow.score_files.source import PER_EXAMPLE
from hedgerow.score_files.tables import CsvSource, ParquetSource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from hedgerow.likelihood import Likelihoods, Scale
    from hedgerow.score_files.columns import ColumnKind
    from hedgerow.score_files.source import Source
    from hedgerow.tree import Hierarchy, Indices, Names

_BLOCK_BYTES = 1 << 25  # of likelihoods, or of what the file holds of the same rows
_TABLES: dict[str, Callable[[str], Source]] = {".csv": CsvSource, ".tsv": CsvSource, ".parquet": ParquetSource}


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
    """A score file whose columns have been bound to the nodes of a tree; iterating yields `Block`s.

    Use `open_scores`. A file can be iterated over several times; each time it is read anew.
    """

    def __init__(
        self, source: Source, hierarchy: Hierarchy, *, logits: bool, labels: bool, block_rows: int | None
    ) -> None:
        self.path = source.path
        self.hierarchy = hierarchy
        self._source = source
        self._labels = labels
        self._columns = Columns.bind(
            hierarchy,
            source.path,
            source.classes,
            content="logits" if logits and source.content == "probabilities" else source.content,
            scale=source.scale,
            dtype=source.dtype,
        )
        row_bytes = max(8 * len(hierarchy), source.row_bytes)
        self._block_rows = max(1, _BLOCK_BYTES // row_bytes) if block_rows is None else block_rows
        self.warnings: list[str] = []
        """What is allowed but often a mistake; complete once the file has been read."""

    @property
    def rows(self) -> int | None:
        """Number of examples, where the file tells it in advance."""
        return self._source.rows

    @property
    def has_ids(self) -> bool:
        """Whether the examples have ids."""
        return "ids" in self._source.has

    @property
    def kind(self) -> ColumnKind:
        """What the columns are: "leaves" or "nodes"."""
        return self._columns.kind

    @property
    def scale(self) -> Scale:
        """What the likelihoods are: "probability", unless the file holds likelihoods on another scale."""
        return self._columns.scale

    def __iter__(self) -> Iterator[Block]:
        keys = self._source.has if self._labels else self._source.has - {"labels"}
        doubts: list[str | None] = []
        rows = 0
        for raw in self._source.read(self._block_rows, keys):
            if not len(raw.scores):
                continue
            likelihoods = self._columns.likelihoods(raw.scores, raw.start)
            doubts.append(self._columns.likely_probabilities(raw.scores))
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
    labels: bool = True,
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
    labels
        Whether labels are needed. If not, they are not looked at.
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
    shown = os.fspath(path)
    suffix = PurePath(shown).suffix.lower()
    if suffix != ".npz" and suffix not in _TABLES:
        what = repr(suffix) if suffix else "a name without extension"
        raise ParameterError(f"{shown}: scores are read from .npz, {', '.join(_TABLES)} files, not from {what}.")
    if block_rows is not None and block_rows < 1:
        raise ParameterError(f"block_rows must be 1 or more, not {block_rows}.")
    source = NpzSource(shown, labels=labels) if suffix == ".npz" else _TABLES[suffix](shown)
    if suffix != ".npz":
        clash(hierarchy, shown, [PER_EXAMPLE[key] for key in sorted(source.has)])
    if labels and "labels" not in source.has:
        raise ScoreError(f"{shown} needs labels for this. {source.missing_labels}")
    return ScoreFile(source, hierarchy, logits=logits, labels=labels, block_rows=block_rows)


def _as_names(values: list[str]) -> Names:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
