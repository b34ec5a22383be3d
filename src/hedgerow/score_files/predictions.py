"""Write predictions: a table with one row per example, batch by batch, atomically."""

from __future__ import annotations

import csv
import json
import math
import os
import sys
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.errors import FileError
from hedgerow.files import atomic_write
from hedgerow.likelihood import to_probability
from hedgerow.score_files.examples import Block, Examples
from hedgerow.score_files.prediction_formats import (
    JSON,
    PREDICTION_FORMATS,
    STDOUT,
    Columns,
    check_layout,
    table_columns,
    written_as,
)
from hedgerow.score_files.scores import Progress, silent

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

    def table_of(first: int, nodes: NDArray[np.int64], confidence: Any, examples: Examples) -> Columns:
        ids = [""] * len(examples) if examples.ids is None else examples.ids.tolist()
        # The root is certain, but no answer.
        sure = [p if node else None for node, p in zip(nodes.tolist(), _listed(confidence), strict=True)]
        return own_columns(first, ids, nodes, sure) | {name: examples[name] for name in further}

    if suffix == ".parquet":
        opened = _parquet_table(path)
    elif suffix in JSON:
        opened = _objects(path, suffix)
    else:
        opened = _csv_table(path, _safe_rows if spreadsheet_safe else _rows)
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
            write(table_of(written, nodes, np.asarray(confidence), Examples.of(len(nodes), ids=names, **values)))
            written += len(nodes)

        yield write_batch
        if not written:
            nothing = Examples.of(0, **dict.fromkeys(further, np.empty(0, dtype=str)))
            write(table_of(0, np.empty(0, np.int64), np.empty(0), nothing))


def _rows(table: Columns) -> Iterable[Sequence[Any]]:
    return zip(*map(_listed, table.values()), strict=True)


def _listed(column: Any) -> list[Any]:
    """Return the cells of a column; of narrow floats, the shortest number that is the same in their precision."""
    if isinstance(column, list):
        return column
    if column.dtype.kind == "f" and column.dtype.itemsize < 8:
        column = np.array([float(str(p)) for p in column])
    cells: list[Any] = column.tolist()
    return cells if column.dtype.kind != "f" else [None if math.isnan(p) else p for p in cells]


def _safe_rows(table: Columns) -> Iterable[Sequence[Any]]:
    """Yield rows in which no text would be taken for a formula."""
    for row in _rows(table):
        yield [f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell for cell in row]


@contextmanager
def _csv_table(
    path: str | os.PathLike[str], rows: Callable[[Columns], Iterable[Sequence[Any]]]
) -> Iterator[Callable[[Columns], None]]:
    delimiter = "\t" if os.fspath(path).lower().endswith(".tsv") else ","
    with atomic_write(path) as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")

        def write(table: Columns) -> None:
            if not file.tell():
                writer.writerow(table)
            writer.writerows(rows(table))

        yield write


@contextmanager
def _objects(path: str | os.PathLike[str], suffix: str) -> Iterator[Callable[[Columns], None]]:
    """Write an object per line; in a JSON file, they are the elements of a list."""
    before, between, after = ("[\n", ",\n", "\n]\n") if suffix == ".json" else ("", "\n", "\n")
    to_file = os.fspath(path) != STDOUT
    with atomic_write(path) if to_file else nullcontext(sys.stdout) as file:
        ahead = before

        def write(table: Columns) -> None:
            nonlocal ahead
            for row in _rows(table):
                file.write(ahead + json.dumps(dict(zip(table, row, strict=True)), ensure_ascii=False))
                ahead = between

        yield write
        file.write(after if ahead == between else before + after.lstrip() if before else "")
        file.flush()


@contextmanager
def _parquet_table(path: str | os.PathLike[str]) -> Iterator[Callable[[Columns], None]]:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ModuleNotFoundError:
        raise FileError(
            f"{os.fspath(path)}: writing Parquet needs pyarrow. Install it, or write a .csv."
        ) from None
    types = {"example": pa.int64(), "depth": pa.int64(), "confidence": pa.float64()}
    with atomic_write(path, "wb") as file, ExitStack() as stack:
        writer: Any = None

        def write(table: Columns) -> None:
            nonlocal writer
            if writer is None:
                columns = [(name, types.get(name) or _arrow_type(column)) for name, column in table.items()]
                writer = stack.enter_context(parquet.ParquetWriter(file, pa.schema(columns)))
            writer.write_table(pa.table(table, schema=writer.schema))

        yield write


def _arrow_type(column: Any) -> Any:
    """Return the type of a column of Parquet."""
    import pyarrow as pa

    is_text = isinstance(column, list) or column.dtype.kind == "O"
    return pa.string() if is_text else pa.from_numpy_dtype(column.dtype)


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
