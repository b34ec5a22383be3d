"""Layouts of prediction files: our own table, or those that other tools read."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import PurePath
from typing import Any, final

from numpy.typing import NDArray

from hedgerow.errors import ParameterError, argument
from hedgerow.registry import Registry
from hedgerow.score_files.lineage_binding import bare_name, folded
from hedgerow.tree import Hierarchy, taxon_strings

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
ColumnsOf = Callable[[int, list[Any], NDArray[Any], list[float | None]], Columns]
"""Returns the columns of a batch, given the number of its first example, ids, nodes and their likelihoods."""


def table_columns(hierarchy: Hierarchy, ids: bool, events: bool = False, *, listed: bool = False) -> ColumnsOf:  # noqa: ARG001
    """Return the function that makes the columns of a table; in JSON, a lineage is a list."""

    @cache
    def lineage(node: int) -> str | list[str]:
        names: list[str] = hierarchy.names[hierarchy.lineage(node)].tolist()
        return names if listed else SEPARATOR.join(names)

    def columns(first: int, names: list[Any], nodes: NDArray[Any], confidence: list[float | None]) -> Columns:
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

    def columns(first: int, names: list[Any], nodes: NDArray[Any], confidence: list[float | None]) -> Columns:
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

    def columns(first: int, names: list[Any], nodes: NDArray[Any], confidence: list[float | None]) -> Columns:
        count, numbers = len(nodes), list(range(first, first + len(nodes)))
        known = {
            "observationID": names if ids else numbers,
            "eventID" if events else "mediaID": names if ids else numbers,
            "observationLevel": ["event" if events else "media"] * count,
            "observationType": [observed(node)[0] for node in nodes.tolist()],
            "scientificName": [observed(node)[1] for node in nodes.tolist()],
            "classificationMethod": ["machine"] * count,
            "classifiedBy": ["hedgerow"] * count,
            "classificationProbability": [
                p if node else "" for p, node in zip(confidence, nodes.tolist(), strict=True)
            ],
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
