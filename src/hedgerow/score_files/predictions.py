"""Predictions: their layouts, our own table and those of other tools; written batch by batch, atomically."""

from __future__ import annotations

import csv
import json
import math
import os
import sys
from collections.abc import Callable
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import FileError, ParameterError, argument
from hedgerow.files import atomic_write
from hedgerow.likelihood import to_probability
from hedgerow.registry import Registry
from hedgerow.score_files.examples import Block, as_column, typed_column
from hedgerow.score_files.lineage_binding import bare_name, folded
from hedgerow.score_files.scores import Progress, silent
from hedgerow.tree import Hierarchy, taxon_strings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike

    from hedgerow.score_files.scores import Scores
    from hedgerow.tree import Hierarchy

_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet takes cells that begin so for formulas


SEPARATOR = " > "
"""Separates the nodes of a lineage."""
_CAMTRAP_COLUMNS = (
    *("observationID", "deploymentID", "mediaID", "eventID", "eventStart", "eventEnd", "observationLevel"),
    *("observationType", "cameraSetupType", "scientificName", "count", "lifeStage", "sex", "behavior"),
    *("individualID", "individualPositionRadius", "individualPositionAngle", "individualSpeed", "bboxX"),
    *("bboxY", "bboxWidth", "bboxHeight", "classificationMethod", "classifiedBy"),
    *("classificationTimestamp", "classificationProbability", "observationTags", "observationComments"),
)
_OBSERVED = {
    "animal": ("animal", "Animalia"),
    **dict.fromkeys(("blank", "empty"), ("blank", "")),
    **dict.fromkeys(("human", "person", "homo sapiens"), ("human", "Homo sapiens")),
    "vehicle": ("vehicle", ""),
}
"""The `observationType` and `scientificName` of classes that are no taxa, or no animals, by their folded names."""

JSON = (".json", ".jsonl")
"""Extensions of files that hold a list of objects, or an object per line."""
STDOUT = "-"
"""Stands for standard output, on which objects are written, one per line."""

Columns = dict[str, Any]
"""Columns by name: lists, or arrays."""
ColumnsOf = Callable[[int, list[Any], NDArray[Any], NDArray[Any]], Columns]
"""Returns the columns of a batch, given the number of its first example, ids, nodes and their likelihoods."""


def table_columns(hierarchy: Hierarchy, ids: bool, events: bool = False, *, listed: bool = False) -> ColumnsOf:  # noqa: ARG001
    """Return the function that makes the columns of a table; in JSON, a lineage is a list."""

    @cache
    def lineage(node: int) -> str | list[str]:
        names: list[str] = hierarchy.names[hierarchy.lineage(node)].tolist()
        return names if listed else SEPARATOR.join(names)

    def columns(first: int, names: list[Any], nodes: NDArray[Any], confidence: NDArray[Any]) -> Columns:
        table: Columns = {"example": list(range(first, first + len(nodes)))}
        if ids:
            table["id"] = names
        table["prediction"] = hierarchy.names[nodes].tolist()
        if hierarchy.title is not None:
            table["title"] = hierarchy.title[nodes].tolist()
        if hierarchy.rank is not None:
            table["rank"] = hierarchy.rank[nodes].tolist()
        else:
            table["depth"] = hierarchy.depth[nodes].tolist()
        table["confidence"] = confidence
        table["lineage"] = [lineage(node) for node in nodes.tolist()]
        return table

    return columns


def _qiime2_columns(hierarchy: Hierarchy, ids: bool, events: bool) -> ColumnsOf:  # noqa: ARG001
    @cache
    def taxon(node: int) -> str:
        path = [above for above in hierarchy.lineage(node).tolist() if above or _letter(hierarchy, 0)]
        return "; ".join(_prefixed(hierarchy, above) for above in path) if node else "Unassigned"

    def columns(first: int, names: list[Any], nodes: NDArray[Any], confidence: NDArray[Any]) -> Columns:
        return {
            "Feature ID": names if ids else list(range(first, first + len(nodes))),
            "Taxon": [taxon(node) for node in nodes.tolist()],
            "Confidence": confidence,
        }

    return columns


def _letter(hierarchy: Hierarchy, node: int) -> str:
    return "" if hierarchy.rank is None else taxon_strings.rank_letter(hierarchy.rank[node])


def _prefixed(hierarchy: Hierarchy, node: int) -> str:
    """Write a name with the letter of its rank, as in `g__Bacillus`."""
    prefix, name = taxon_strings.split_prefix(bare_name(hierarchy, node).strip())
    letter = _letter(hierarchy, node) or prefix
    if letter == "d" and hierarchy.rank is not None and hierarchy.rank[node].casefold() == "kingdom":
        letter = "k"
    return f"{letter}__{name}" if letter else name


def _capitalised(name: str) -> str:
    """Capitalise a scientific name: SpeciesNet has `vulpes vulpes`."""
    return name[:1].upper() + name[1:]


def _camtrap_columns(hierarchy: Hierarchy, ids: bool, events: bool) -> ColumnsOf:
    @cache
    def observed(node: int) -> tuple[str, str]:
        name = bare_name(hierarchy, node)
        return _OBSERVED.get(folded(name), ("animal", _capitalised(name))) if node else ("unknown", "")

    def columns(first: int, names: list[Any], nodes: NDArray[Any], confidence: NDArray[Any]) -> Columns:
        count, numbers = len(nodes), list(range(first, first + len(nodes)))
        known = {
            "observationID": names if ids else numbers,
            "eventID" if events else "mediaID": names if ids else numbers,
            "observationLevel": ["event" if events else "media"] * count,
            "observationType": [observed(node)[0] for node in nodes.tolist()],
            "scientificName": [observed(node)[1] for node in nodes.tolist()],
            "classificationMethod": ["machine"] * count,
            "classifiedBy": ["hedgerow"] * count,
            "classificationProbability": confidence,
        }
        return {name: known.get(name, [""] * count) for name in _CAMTRAP_COLUMNS}

    return columns


@final
@dataclass(frozen=True)
class PredictionFormat:
    """How predictions are laid out in a file."""

    columns: Callable[[Hierarchy, bool, bool], ColumnsOf]
    """Returns a function that makes the columns, given a tree, whether there are ids, and whether of events."""
    extensions: tuple[str, ...]


PREDICTION_FORMATS: Registry[PredictionFormat] = Registry(
    "layout of predictions",
    {
        "table": PredictionFormat(table_columns, (".csv", ".tsv", ".parquet", *JSON)),
        "qiime2": PredictionFormat(_qiime2_columns, (".tsv",)),
        "camtrap-dp": PredictionFormat(_camtrap_columns, (".csv",)),
    },
)
"""Layouts of predictions, by name."""


def written_as(path: str | os.PathLike[str]) -> str:
    """Return the extension of a file, in lower case; standard output takes lines of JSON."""
    return ".jsonl" if os.fspath(path) == STDOUT else PurePath(path).suffix.lower()


def check_layout(path: str | os.PathLike[str], layout: str = "table", spreadsheet_safe: bool = False) -> None:
    """Raise an error if predictions cannot be written to a file this way."""
    suffix, allowed = written_as(path), PREDICTION_FORMATS.find(layout).extensions
    if suffix not in allowed:
        what = "predictions are" if layout == "table" else f"predictions for {layout} are"
        raise ParameterError(
            f"{os.fspath(path)}: {what} written to {', '.join(allowed)} files, not to "
            f"{suffix or 'a name without extension'!r}."
        )
    if spreadsheet_safe and (layout != "table" or suffix not in (".csv", ".tsv")):
        raise ParameterError(
            f"{os.fspath(path)}: {argument('spreadsheet_safe', True)} is for tables in CSV; leave it out."
        )


# Writing -----------------------------------------------------------------------------------------------------


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
            count = len(nodes)
            given = [""] * count if names is None else as_column("ids", names, count).tolist()
            sure = np.where(nodes > 0, confidence, np.nan)  # the root is certain, but no answer
            table = own_columns(written, given, nodes, sure)
            write(table | {name: typed_column(name, values[name], count) for name in further})
            written += count

        yield write_batch
        if not written:
            write_batch([], np.empty(0), **dict.fromkeys(further, ()))


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
            arrays = [
                pa.array(column, kind, from_pandas=True)  # NaN is a missing number
                for column, kind in zip(table.values(), writer.schema.types, strict=True)
            ]
            writer.write_table(pa.table(arrays, schema=writer.schema))

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
