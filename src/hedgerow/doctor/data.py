"""How labels and scores fit a tree: only names are read, never the scores."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING
from zipfile import BadZipFile, is_zipfile

import numpy as np

from hedgerow.errors import FileError, ParameterError, counted, nearest, some
from hedgerow.files import read_header, read_text, require_file
from hedgerow.tree import Problem

if TYPE_CHECKING:
    from hedgerow.tree import Hierarchy

_UNKNOWN_SHOWN = 10
# Columns of a score table that are about the example, not about a class.
_PER_EXAMPLE = ("label", "id", "group", "text", "image")


@dataclass(frozen=True)
class LabelFacts:
    """What the labels of a data set say about a tree."""

    source: str
    examples: int
    distinct: int
    internal: int
    """Examples labelled with a node that is not a leaf."""
    unknown: dict[str, int]
    """Labels that the tree does not have, with the number of their examples."""
    suggestions: dict[str, list[str]]
    """Names of the tree near the first unknown labels."""
    without_data: list[str]
    """Leaves that label no example."""


@dataclass(frozen=True)
class ScoreFacts:
    """How the columns of a score file fit a tree."""

    source: str
    columns: int
    kind: str | None
    """"leaves", "all nodes", or None where they fit neither."""
    missing: list[str]
    extra: list[str]


def _listed_labels(
    labels: str | os.PathLike[str] | None, scores: str | os.PathLike[str] | None
) -> tuple[str, list[str]] | None:
    """Return where the labels come from and the labels; None if there are none to be had."""
    if labels is not None:
        found = _read_labels(os.fspath(labels))
        if found is None:
            raise FileError(f"{os.fspath(labels)} has no 'label' column. Name the column of labels 'label'.")
        return os.fspath(labels), found
    if scores is not None:
        found = _read_labels(os.fspath(scores))
        if found is not None:
            return os.fspath(scores), found
    return None


def _read_labels(path: str) -> list[str] | None:
    suffix = PurePath(path).suffix.lower()
    if suffix == ".txt":
        lines = read_text(path).replace("\r\n", "\n").split("\n")
        return [line for line in lines if line.strip()]
    if suffix == ".npz":
        return _npz_names(path, "labels")
    if "label" not in _table_columns(path):
        return None
    import pandas as pd

    if suffix == ".parquet":
        column = pd.read_parquet(path, columns=["label"])["label"]
    else:
        column = pd.read_csv(
            path, sep=_separator(path), usecols=["label"], dtype=str, keep_default_na=False, encoding="utf-8-sig"
        )["label"]
    return [str(label) for label in column.tolist()]


def label_facts(
    hierarchy: Hierarchy, labels: str | os.PathLike[str] | None, scores: str | os.PathLike[str] | None
) -> LabelFacts | None:
    """Compare labels, from the one file or else the other, with a tree; None if there are no labels."""
    listed = _listed_labels(labels, scores)
    return None if listed is None else _compared(hierarchy, *listed)


def _compared(hierarchy: Hierarchy, source: str, labels: list[str]) -> LabelFacts:
    counts = Counter(labels)
    known = set(hierarchy.names.tolist())
    unknown = {name: count for name, count in counts.most_common() if name not in known}
    leaves = hierarchy.names[hierarchy.leaves].tolist()
    at_leaves = sum(counts[name] for name in leaves)
    return LabelFacts(
        source=source,
        examples=len(labels),
        distinct=len(counts),
        internal=len(labels) - at_leaves - sum(unknown.values()),
        unknown=unknown,
        suggestions={name: nearest(name, known, 2) for name in list(unknown)[:_UNKNOWN_SHOWN]},
        without_data=[name for name in leaves if name not in counts],
    )


def label_problems(facts: LabelFacts | None) -> list[Problem]:
    """Say which labels are not in the tree."""
    if facts is None:
        return []
    if not facts.examples:
        return [Problem("no labels", f"{facts.source} holds no labels.", "Put one label on each line.")]
    if not facts.unknown:
        return []
    shown = []
    for name, near in facts.suggestions.items():
        hint = f", near {' or '.join(map(repr, near))}" if near else ", nothing near it"
        shown.append(f"{name!r} ({counted(facts.unknown[name], 'example', 'examples')}{hint})")
    more = len(facts.unknown) - len(shown)
    return [
        Problem(
            "unknown labels",
            f"{counted(len(facts.unknown), 'label', 'labels')} in {facts.source} "
            f"{'is' if len(facts.unknown) == 1 else 'are'} not in the tree: {'; '.join(shown)}"
            f"{f'; and {more:,} more' if more else ''}.",
            "Correct the labels, or add these classes to the tree.",
        )
    ]


def score_facts(hierarchy: Hierarchy, path: str) -> ScoreFacts:
    """Compare the columns of a score file with a tree."""
    classes = (
        _npz_names(path, "classes") if PurePath(path).suffix.lower() == ".npz" else _class_columns(path, hierarchy)
    )
    if classes is None:
        raise FileError(
            f"{path} has no member 'classes', the names of the score columns. Save it with "
            f"np.savez(..., classes=names): an order is never guessed."
        )
    found, leaves, nodes = (
        set(classes),
        set(hierarchy.names[hierarchy.leaves].tolist()),
        set(hierarchy.names.tolist()),
    )
    repeated = [name for name, count in Counter(classes).items() if count > 1]
    if not repeated:
        for kind, wanted in (
            ("leaves", leaves),
            ("all nodes", nodes),
            ("all nodes", nodes - {str(hierarchy.names[0])}),
        ):
            if found == wanted:
                return ScoreFacts(path, len(classes), kind, [], [])
    # Columns that name an inner node are meant to be all nodes; otherwise leaves are expected.
    wanted = nodes - {str(hierarchy.names[0])} if (found & nodes) - leaves else leaves
    missing = [name for name in hierarchy.names.tolist() if name in wanted - found]
    extra = [name for name in dict.fromkeys(classes) if name not in wanted and name != hierarchy.names[0]]
    return ScoreFacts(path, len(classes), None, missing, repeated or extra)


def score_problems(facts: ScoreFacts | None, hierarchy: Hierarchy) -> list[Problem]:
    """Say how the columns of a score file fail to fit."""
    if facts is None or facts.kind is not None:
        return []
    hints = [
        f"{name!r} is near {near[0]!r}" for name in facts.extra[:5] if (near := nearest(name, facts.missing, 1))
    ]
    parts = [
        f"{len(names):,} {what}: {some(names)}"
        for names, what in ((facts.missing, "missing"), (facts.extra, "that do not belong there, or stand twice"))
        if names
    ]
    return [
        Problem(
            "score columns",
            f"The {facts.columns:,} class columns of {facts.source} are neither the "
            f"{len(hierarchy.leaves):,} leaves nor all {len(hierarchy):,} nodes of the tree; "
            f"{'; '.join(parts + hints)}.",
            "Rename, add or remove columns until they are exactly the leaves, or exactly all nodes (the root is "
            "optional).",
        )
    ]


def _class_columns(path: str, hierarchy: Hierarchy) -> list[str]:
    columns = _table_columns(path)
    clash = [name for name in columns if name in _PER_EXAMPLE and name in set(hierarchy.names.tolist())]
    if clash:
        raise FileError(
            f"{path} has a column {clash[0]!r}, the name of a class and of a column about the examples. "
            f"Rename the class, or use an .npz file."
        )
    return [name for name in columns if name not in _PER_EXAMPLE]


def _table_columns(path: str) -> list[str]:
    """Read the header of a CSV or Parquet table."""
    suffix = PurePath(path).suffix.lower()
    if suffix == ".parquet":
        require_file(path)
        from pyarrow import ArrowException, parquet

        try:
            return [str(name) for name in parquet.read_schema(path).names]
        except (ArrowException, OSError) as error:
            raise FileError(f"{path} cannot be read as Parquet: {error}.") from None
    if suffix not in (".csv", ".tsv"):
        raise ParameterError(
            f"{path}: names are read from .npz, .csv, .tsv and .parquet files, not from {suffix!r}."
        )
    return read_header(path)


def _separator(path: str) -> str:
    return "\t" if path.lower().endswith(".tsv") else ","


def _npz_names(path: str, member: str) -> list[str] | None:
    """Read one array of names, without unpickling; None if there is no such member."""
    require_file(path)
    if not is_zipfile(path):
        raise FileError(f"{path} cannot be read as .npz: it is not an archive written by np.savez.")
    try:
        with np.load(Path(path), allow_pickle=False) as archive:
            if member not in archive:
                return None
            array = archive[member]
    except (OSError, EOFError, BadZipFile, ValueError) as error:
        if "allow_pickle" in str(error):
            raise FileError(
                f"{path}: {member!r} is an array of Python objects, which is never unpickled. Save it as text: "
                f"np.array({member}, dtype=str)."
            ) from None
        raise FileError(f"{path} cannot be read as .npz: {error}.") from None
    if array.ndim != 1 or array.dtype.kind not in "UT":
        raise FileError(f"{path}: {member!r} must be a list of names, not {array.dtype} of shape {array.shape}.")
    return [str(name) for name in array.tolist()]
