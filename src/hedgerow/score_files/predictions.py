"""Write predictions: a table with one row per example, batch by batch, atomically."""

from __future__ import annotations

import csv
import json
import os
import sys
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.errors import FileError
from hedgerow.files import atomic_write
from hedgerow.likelihood import to_probability
from hedgerow.score_files.blocks import Block, Progress, silent
from hedgerow.score_files.prediction_formats import (
    JSON,
    PREDICTION_FORMATS,
    STDOUT,
    Columns,
    check_layout,
    table_columns,
    written_as,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from hedgerow.score_files.scores import Scores
    from hedgerow.tree import Hierarchy

_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet takes cells that begin so for formulas


@contextmanager
def prediction_writer(
    path: str | os.PathLike[str],
    hierarchy: Hierarchy,
    *,
    ids: bool = False,
    events: bool = False,
    more: Sequence[str] = (),
    layout: str = "table",
    spreadsheet_safe: bool = False,
) -> Iterator[Callable[..., None]]:
    """Open a table of predictions: CSV, Parquet or JSON by its extension.

    Its columns are `example` (counted from 0), `id` (if there are any), `prediction` (the name), `title` (if the
    tree has titles), `rank` (if it has ranks, else `depth`), `confidence` (the likelihood; empty for the
    root) and `lineage` ("animal > bird > robin").

    Parameters
    ----------
    path
        A `.csv`, `.tsv`, `.parquet`, `.json` (a list of objects) or `.jsonl` file (an object per line; a lineage
        is a list); it appears once everything has been written. "-" is standard output, as `.jsonl`.
    hierarchy
        The tree.
    ids
        Whether batches come with ids.
    events
        Whether these are the names of events.
    more
        Further columns of a table, which come with every batch.
    layout
        "table", as above; "qiime2", a `taxonomy.tsv`; or "camtrap-dp", the observations of a Camtrap DP.
    spreadsheet_safe
        Whether to write an apostrophe before texts in a CSV file that a spreadsheet would take for a formula.

    Yields
    ------
    function (predictions, confidence, ids, **more)
        Writes the next batch: node indices, their likelihoods and, if there are any, ids and further columns.
    """
    check_layout(path, layout, spreadsheet_safe)
    suffix = written_as(path)
    own_columns = PREDICTION_FORMATS[layout].columns(hierarchy, ids, events)
    if suffix in JSON:
        own_columns = table_columns(hierarchy, ids, listed=True)
    further = more if layout == "table" else ()

    def columns_of(*batch: Any, **values: Any) -> Columns:
        return own_columns(*batch) | {name: list(values.get(name, ())) for name in further}

    if suffix == ".parquet":
        opened = _parquet_table(path, columns_of)
    elif suffix in JSON:
        opened = _objects(path, suffix)
    else:
        opened = _csv_table(path, columns_of, _safe_rows if spreadsheet_safe else _rows)
    with opened as write:
        written = 0

        def write_batch(
            predictions: ArrayLike,
            confidence: NDArray[Any],
            names: Sequence[str] | NDArray[Any] | None = None,
            /,
            **values: Any,
        ) -> None:
            nonlocal written
            nodes = np.asarray(predictions, dtype=np.int64)
            sure = np.empty(len(nodes), dtype=object)
            sure[:] = list(np.asarray(confidence))  # scalars of their own precision, which print shortest
            sure[nodes == 0] = None  # the root is certain, but no answer
            given = [""] * len(nodes) if names is None else list(names)
            write(columns_of(written, given, nodes, sure, **values))
            written += len(nodes)

        yield write_batch


def _rows(table: Columns) -> Iterable[Sequence[Any]]:
    return zip(*table.values(), strict=True)


def _safe_rows(table: Columns) -> Iterable[Sequence[Any]]:
    """Yield rows in which no text would be taken for a formula."""
    for row in _rows(table):
        yield [f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell for cell in row]


@contextmanager
def _csv_table(
    path: str | os.PathLike[str], columns_of: Any, rows: Callable[[Columns], Iterable[Sequence[Any]]]
) -> Iterator[Callable[[Columns], None]]:
    delimiter = "\t" if os.fspath(path).lower().endswith(".tsv") else ","
    with atomic_write(path) as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        writer.writerow(columns_of(0, [], np.empty(0, np.int64), np.empty(0)))
        yield lambda table: writer.writerows(rows(table))


@contextmanager
def _objects(path: str | os.PathLike[str], suffix: str) -> Iterator[Callable[[Columns], None]]:
    """Write an object per line; in a JSON file, they are the elements of a list."""
    before, between, after = ("[\n", ",\n", "\n]\n") if suffix == ".json" else ("", "\n", "\n")
    to_file = os.fspath(path) != STDOUT
    with atomic_write(path) if to_file else nullcontext(sys.stdout) as file:
        ahead = before

        def write(table: Columns) -> None:
            nonlocal ahead
            for row in _rows(table | {"confidence": [_shortest(p) for p in table["confidence"]]}):
                file.write(ahead + json.dumps(dict(zip(table, row, strict=True)), ensure_ascii=False))
                ahead = between

        yield write
        file.write(after if ahead == between else before + after.lstrip() if before else "")
        file.flush()


def _shortest(p: Any) -> float | None:
    """Return the shortest number that is the same in the precision of p."""
    return None if p is None else float(str(p))


@contextmanager
def _parquet_table(path: str | os.PathLike[str], columns_of: Any) -> Iterator[Callable[[Columns], None]]:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ModuleNotFoundError:
        raise FileError(
            f"{os.fspath(path)}: writing Parquet needs pyarrow. Install it, or write a .csv."
        ) from None
    types = {
        "example": pa.int64(),
        "depth": pa.int64(),
        "confidence": pa.float64(),
        "tip_likelihood": pa.float64(),
    }
    names = columns_of(0, [], np.empty(0, np.int64), np.empty(0))
    schema = pa.schema([(name, types.get(name, pa.string())) for name in names])

    def arrays(table: Columns) -> dict[str, Any]:
        return table | {"confidence": [None if p is None else float(p) for p in table["confidence"]]}

    with atomic_write(path, "wb") as file, parquet.ParquetWriter(file, schema) as writer:
        yield lambda table: writer.write_table(pa.table(arrays(table), schema=schema))


@final
@dataclass(frozen=True)
class Written:
    """A summary of what `write_predictions` wrote."""

    examples: int
    by_depth: tuple[int, ...]
    """Number of answers at each depth of the tree."""
    by_rank: dict[str, int] | None
    """Number of answers at each rank below the root, coarsest first; None if the tree has no ranks."""
    mean_confidence: float | None
    """Mean over the answers below the root; None if there are none."""
    warnings: tuple[str, ...] = ()
    """The warnings of the scores."""

    @property
    def below_root(self) -> int:
        """Number of answers below the root."""
        return self.examples - self.by_depth[0]

    def to_dict(self) -> dict[str, Any]:
        """Return the summary, ready for JSON."""
        return {
            "examples": self.examples,
            "by_depth": list(self.by_depth),
            "by_rank": self.by_rank,
            "mean_confidence": self.mean_confidence,
            "warnings": list(self.warnings),
        }


def write_predictions(
    path: str | os.PathLike[str],
    scores: Scores,
    answer: Callable[[Block], Any],
    *,
    more: Mapping[str, Callable[[Block], Any]] | None = None,
    layout: str = "table",
    spreadsheet_safe: bool = False,
    progress: Progress = silent,
) -> Written:
    """Answer every example of some scores, and write the answers; see `prediction_writer`.

    Parameters
    ----------
    path
        The file to write.
    scores
        A score file, or the output of a trained model.
    answer
        Returns node indices, given a block: see `infer.answering_rule` and `OperatingPoint.answer`.
    more
        Further columns of a table: functions that return them, given a block. See `OperatingPoint.columns`.
    layout, spreadsheet_safe
        See `prediction_writer`.
    progress
        Called to report progress.
    """
    hierarchy = scores.hierarchy
    answers = np.zeros(len(hierarchy), dtype=np.int64)
    total = 0.0
    with (
        prediction_writer(
            path,
            hierarchy,
            ids=scores.has_ids,
            events=scores.pooling is not None,
            more=list(more or ()),
            layout=layout,
            spreadsheet_safe=spreadsheet_safe,
        ) as write,
        progress("Answering", scores.rows) as advance,
    ):
        for block in scores:
            nodes = np.asarray(answer(block))
            confidence = to_probability(block.at(nodes), block.scale)
            write(nodes, confidence, block.ids, **{name: of(block) for name, of in (more or {}).items()})
            answers += np.bincount(nodes, minlength=len(hierarchy))
            total += float(confidence[nodes > 0].sum(dtype=np.float64))
            advance(len(nodes))
    by_rank = np.bincount(hierarchy.rank_number[1:], answers[1:]) if hierarchy.rank is not None else None
    below = int(answers[1:].sum())
    return Written(
        examples=int(answers.sum()),
        by_depth=tuple(np.bincount(hierarchy.depth, answers).astype(np.int64).tolist()),
        by_rank=None if by_rank is None else dict(zip(hierarchy.rank_names, map(int, by_rank), strict=True)),
        mean_confidence=total / below if below else None,
        warnings=tuple(scores.warnings),
    )
