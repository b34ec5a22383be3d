"""Predictions out: a table with one row per example, written batch by batch, whole or not at all."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Protocol, final

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import FileError, ParameterError, argument, no_such
from hedgerow.files import atomic_write
from hedgerow.likelihood import to_probability
from hedgerow.score_files.binding import Step, bare_name, rank_letter
from hedgerow.score_files.progress import Progress, silent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import ArrayLike

    from hedgerow.likelihood import Likelihoods, SparseLikelihoods
    from hedgerow.score_files.score_file import Scores
    from hedgerow.tree import Hierarchy

SEPARATOR = " > "
"""What stands between the nodes of a lineage."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how a cell begins that a spreadsheet takes for a formula
_CAMTRAP_COLUMNS = (
    "observationID",
    "deploymentID",
    "mediaID",
    "eventID",
    "eventStart",
    "eventEnd",
    "observationLevel",
    "observationType",
    "cameraSetupType",
    "scientificName",
    "count",
    "lifeStage",
    "sex",
    "behavior",
    "individualID",
    "individualPositionRadius",
    "individualPositionAngle",
    "individualSpeed",
    "bboxX",
    "bboxY",
    "bboxWidth",
    "bboxHeight",
    "classificationMethod",
    "classifiedBy",
    "classificationTimestamp",
    "classificationProbability",
    "observationTags",
    "observationComments",
)


class WriteBatch(Protocol):
    """Writes the answers to some further examples."""

    def __call__(
        self, predictions: ArrayLike, confidence: NDArray[Any], ids: Sequence[str] | NDArray[Any] | None = None, /
    ) -> None:
        """Write node indices, their likelihoods, and the ids if there are any."""


@contextmanager
def prediction_writer(
    path: str | os.PathLike[str],
    hierarchy: Hierarchy,
    *,
    ids: bool = False,
    layout: str = "table",
    spreadsheet_safe: bool = False,
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
    layout
        "table", as above; "qiime2", a `taxonomy.tsv`; or "camtrap-dp", the observations of a Camtrap DP.
    spreadsheet_safe
        Whether to write an apostrophe before texts in a CSV file that a spreadsheet would take for a formula.

    Yields
    ------
    function (predictions, confidence, ids)
        Writes a batch of node indices, their likelihoods, and the ids if there are any.
    """
    check_layout(path, layout, spreadsheet_safe)
    columns_of = LAYOUTS[layout].columns(hierarchy, ids)
    if PurePath(path).suffix.lower() == ".parquet":
        opened = _parquet_table(path, columns_of)
    else:
        opened = _csv_table(path, columns_of, _safe_rows if spreadsheet_safe else _rows)
    with opened as write:
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
_ColumnsOf = Callable[[int, list[Any], NDArray[Any], NDArray[Any]], _Table]
"""From the number of the first example, ids, nodes and their likelihoods to columns."""


def _table_columns(hierarchy: Hierarchy, ids: bool) -> _ColumnsOf:
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


def _qiime2_columns(hierarchy: Hierarchy, ids: bool) -> _ColumnsOf:
    @cache
    def taxon(node: int) -> str:
        path = [above for above in hierarchy.lineage(node).tolist() if above or _letter(hierarchy, 0)]
        return "; ".join(_prefixed(hierarchy, above) for above in path) if node else "Unassigned"

    def columns(first: int, names: list[Any], nodes: NDArray[Any], confidence: NDArray[Any]) -> _Table:
        return {
            "Feature ID": names if ids else list(range(first, first + len(nodes))),
            "Taxon": [taxon(node) for node in nodes.tolist()],
            "Confidence": list(confidence),
        }

    return columns


def _letter(hierarchy: Hierarchy, node: int) -> str:
    return "" if hierarchy.rank is None else rank_letter(hierarchy.rank[node])


def _prefixed(hierarchy: Hierarchy, node: int) -> str:
    """Write a name with the letter of its rank, as in `g__Bacillus`."""
    step = Step.of(bare_name(hierarchy, node))
    letter = _letter(hierarchy, node) or step.rank
    if letter == "d" and hierarchy.rank is not None and hierarchy.rank[node].casefold() == "kingdom":
        letter = "k"
    return f"{letter}__{step.names[0]}" if letter else step.names[0]


def _camtrap_columns(hierarchy: Hierarchy, ids: bool) -> _ColumnsOf:
    def columns(first: int, names: list[Any], nodes: NDArray[Any], confidence: NDArray[Any]) -> _Table:
        count, numbers = len(nodes), list(range(first, first + len(nodes)))
        known = {
            "observationID": names if ids else numbers,
            "mediaID": names if ids else numbers,
            "observationLevel": ["media"] * count,
            "observationType": ["animal" if node else "unknown" for node in nodes.tolist()],
            "scientificName": [bare_name(hierarchy, node) if node else "" for node in nodes.tolist()],
            "classificationMethod": ["machine"] * count,
            "classifiedBy": ["hedgerow"] * count,
            "classificationProbability": list(confidence),
        }
        return {name: known.get(name, [""] * count) for name in _CAMTRAP_COLUMNS}

    return columns


@final
@dataclass(frozen=True)
class Layout:
    """How predictions are laid out in a file."""

    columns: Callable[[Hierarchy, bool], _ColumnsOf]
    """From a tree, and whether there are ids, to a function that makes the columns."""
    extensions: tuple[str, ...]


LAYOUTS = {
    "table": Layout(_table_columns, (".csv", ".tsv", ".parquet")),
    "qiime2": Layout(_qiime2_columns, (".tsv",)),
    "camtrap-dp": Layout(_camtrap_columns, (".csv",)),
}
"""How predictions can be laid out, by name."""


def check_layout(path: str | os.PathLike[str], layout: str = "table", spreadsheet_safe: bool = False) -> None:
    """Raise an error if predictions cannot be written to a file this way."""
    if layout not in LAYOUTS:
        raise ParameterError(no_such("layout of predictions", layout, LAYOUTS))
    suffix, allowed = PurePath(path).suffix.lower(), LAYOUTS[layout].extensions
    if suffix not in allowed:
        what = "predictions are" if layout == "table" else f"predictions for {layout} are"
        raise ParameterError(
            f"{os.fspath(path)}: {what} written to {', '.join(allowed)} files, not to "
            f"{suffix or 'a name without extension'!r}."
        )
    if spreadsheet_safe and (layout != "table" or suffix == ".parquet"):
        raise ParameterError(
            f"{os.fspath(path)}: {argument('spreadsheet_safe', True)} is for tables in CSV; leave it out."
        )


def _rows(table: _Table) -> Iterable[Sequence[Any]]:
    return zip(*table.values(), strict=True)


def _safe_rows(table: _Table) -> Iterable[Sequence[Any]]:
    """Yield rows in which no text would be taken for a formula."""
    for row in _rows(table):
        yield [f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell for cell in row]


@contextmanager
def _csv_table(
    path: str | os.PathLike[str], columns_of: Any, rows: Callable[[_Table], Iterable[Sequence[Any]]]
) -> Iterator[Callable[[_Table], None]]:
    delimiter = "\t" if os.fspath(path).lower().endswith(".tsv") else ","
    with atomic_write(path) as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        writer.writerow(columns_of(0, [], np.empty(0, np.int64), np.empty(0)))
        yield lambda table: writer.writerows(rows(table))


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
    layout: str = "table",
    spreadsheet_safe: bool = False,
    progress: Progress = silent,
) -> Written:
    """Answer every example of a score file by a rule, and write the answers; see `prediction_writer`.

    Parameters
    ----------
    path
        The file to write.
    scores
        A score file, or what a trained model says of new data.
    rule
        From the tree and likelihoods to node indices: see `infer.answering_rule`.
    layout, spreadsheet_safe
        See `prediction_writer`.
    progress
        Told how far the work is.
    """
    hierarchy = scores.hierarchy
    answers = np.zeros(len(hierarchy), dtype=np.int64)
    total = 0.0
    with (
        prediction_writer(
            path, hierarchy, ids=scores.has_ids, layout=layout, spreadsheet_safe=spreadsheet_safe
        ) as write,
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
