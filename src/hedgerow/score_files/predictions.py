"""Predictions out: a table with one row per example, written batch by batch, whole or not at all."""

from __future__ import annotations

import csv
import os
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Protocol, final

import numpy as np

from hedgerow.errors import FileError, ParameterError
from hedgerow.files import atomic_write
from hedgerow.likelihood import to_probability
from hedgerow.score_files.progress import Progress, silent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from hedgerow.likelihood import Likelihoods, SparseLikelihoods
    from hedgerow.score_files.score_file import Scores
    from hedgerow.tree import Hierarchy

SEPARATOR = " > "
"""What stands between the nodes of a lineage."""


class WriteBatch(Protocol):
    """Writes the answers to some further examples."""

    def __call__(
        self, predictions: ArrayLike, confidence: NDArray[Any], ids: Sequence[str] | NDArray[Any] | None = None, /
    ) -> None:
        """Write node indices, their likelihoods, and the ids if there are any."""


@contextmanager
def prediction_writer(
    path: str | os.PathLike[str], hierarchy: Hierarchy, *, ids: bool = False
) -> Iterator[WriteBatch]:
    """Open a table of predictions, CSV or Parquet by its extension.

    Its columns are `example` (counted from 0), `id` (if there are any), `prediction` (the name), `title` (if the
    tree has titles), `rank` (if it has ranks, else `depth`), `confidence` (the likelihood) and `lineage`
    ("animal > bird > robin").

    Parameters
    ----------
    path
        A `.csv`, `.tsv` or `.parquet` file; it appears once everything has been written.
    hierarchy
        The tree.
    ids
        Whether batches come with ids.

    Yields
    ------
    function (predictions, confidence, ids)
        Writes a batch of node indices, their likelihoods, and the ids if there are any.
    """
    suffix = PurePath(path).suffix.lower()
    if suffix not in (".csv", ".tsv", ".parquet"):
        raise ParameterError(
            f"{os.fspath(path)}: predictions are written to .csv, .tsv and .parquet files, not to "
            f"{suffix or 'a name without extension'!r}."
        )
    open_table = _parquet_table if suffix == ".parquet" else _csv_table
    columns_of = _columns(hierarchy, ids)
    with open_table(path, columns_of) as write:
        written = 0

        def write_batch(
            predictions: ArrayLike, confidence: NDArray[Any], names: Sequence[str] | NDArray[Any] | None = None, /
        ) -> None:
            nonlocal written
            nodes = np.asarray(predictions, dtype=np.int64)
            given = [""] * len(nodes) if names is None else list(names)
            write(columns_of(written, given, nodes, np.asarray(confidence)))
            written += len(nodes)

        yield write_batch


_Table = dict[str, list[Any]]


def _columns(hierarchy: Hierarchy, ids: bool) -> Callable[[int, list[Any], NDArray[Any], NDArray[Any]], _Table]:
    @cache
    def lineage(node: int) -> str:
        return SEPARATOR.join(hierarchy.names[hierarchy.lineage(node)].tolist())

    def columns(first: int, names: list[Any], nodes: NDArray[Any], confidence: NDArray[Any]) -> _Table:
        table: _Table = {"example": list(range(first, first + len(nodes)))}
        if ids:
            table["id"] = names
        table["prediction"] = hierarchy.names[nodes].tolist()
        if hierarchy.title is not None:
            table["title"] = hierarchy.title[nodes].tolist()
        if hierarchy.rank is not None:
            table["rank"] = hierarchy.rank[nodes].tolist()
        else:
            table["depth"] = hierarchy.depth[nodes].tolist()
        table["confidence"] = list(confidence)  # scalars of their own precision, which print shortest
        table["lineage"] = [lineage(node) for node in nodes.tolist()]
        return table

    return columns


@contextmanager
def _csv_table(path: str | os.PathLike[str], columns_of: Any) -> Iterator[Callable[[_Table], None]]:
    delimiter = "\t" if os.fspath(path).lower().endswith(".tsv") else ","
    with atomic_write(path) as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        writer.writerow(columns_of(0, [], np.empty(0, np.int64), np.empty(0)))
        yield lambda table: writer.writerows(zip(*table.values(), strict=True))


@contextmanager
def _parquet_table(path: str | os.PathLike[str], columns_of: Any) -> Iterator[Callable[[_Table], None]]:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ModuleNotFoundError:
        raise FileError(
            f"{os.fspath(path)}: writing Parquet needs pyarrow. Install it, or write a .csv."
        ) from None
    types = {"example": pa.int64(), "depth": pa.int64(), "confidence": pa.float64()}
    names = columns_of(0, [], np.empty(0, np.int64), np.empty(0))
    schema = pa.schema([(name, types.get(name, pa.string())) for name in names])

    def arrays(table: _Table) -> dict[str, Any]:
        return table | {"confidence": np.asarray(table["confidence"], dtype=np.float64)}

    with atomic_write(path, "wb") as file, parquet.ParquetWriter(file, schema) as writer:
        yield lambda table: writer.write_table(pa.table(arrays(table), schema=schema))


@final
@dataclass(frozen=True)
class Written:
    """What `write_predictions` wrote."""

    examples: int
    by_depth: tuple[int, ...]
    """Number of answers at each depth of the tree."""
    by_rank: dict[str, int] | None
    """Number of answers at each rank, the root apart, coarsest first; None if the tree has no ranks."""
    mean_confidence: float

    @classmethod
    def of(cls, hierarchy: Hierarchy, answers: NDArray[np.int64], mean_confidence: float) -> Written:
        """Sum up the number of answers at each node."""
        by_depth = np.bincount(hierarchy.depth, answers).astype(np.int64)
        return cls(int(answers.sum()), tuple(by_depth.tolist()), _by_rank(hierarchy, answers), mean_confidence)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures ready for JSON."""
        return {
            "examples": self.examples,
            "by_depth": list(self.by_depth),
            "by_rank": self.by_rank,
            "mean_confidence": self.mean_confidence,
        }


def _by_rank(hierarchy: Hierarchy, answers: NDArray[np.int64]) -> dict[str, int] | None:
    if hierarchy.rank is None:
        return None
    ranks, place = np.unique(hierarchy.rank[1:].astype(str), return_inverse=True)
    depth = np.bincount(place, hierarchy.depth[1:]) / np.bincount(place)
    count = np.bincount(place, answers[1:])
    return {str(ranks[i]): int(count[i]) for i in np.argsort(depth, kind="stable")}


def write_predictions(
    path: str | os.PathLike[str],
    scores: Scores,
    rule: Callable[[Hierarchy, Likelihoods | SparseLikelihoods], Any],
    *,
    progress: Progress = silent,
) -> Written:
    """Answer every example of a score file by a rule, and write the answers; see `prediction_writer`.

    Parameters
    ----------
    path
        A `.csv`, `.tsv` or `.parquet` file.
    scores
        A score file, or what a trained model says of new data.
    rule
        From the tree and likelihoods to node indices: see `infer.answering_rule`.
    progress
        Told how far the work is.
    """
    hierarchy = scores.hierarchy
    answers = np.zeros(len(hierarchy), dtype=np.int64)
    total = 0.0
    with (
        prediction_writer(path, hierarchy, ids=scores.has_ids) as write,
        progress("Answering", scores.rows) as advance,
    ):
        for block in scores:
            nodes = np.asarray(rule(hierarchy, block.likelihoods))
            confidence = to_probability(block.at(nodes), block.scale)
            write(nodes, confidence, block.ids)
            answers += np.bincount(nodes, minlength=len(hierarchy))
            total += float(confidence.sum(dtype=np.float64))
            advance(len(nodes))
    return Written.of(hierarchy, answers, total / answers.sum())
