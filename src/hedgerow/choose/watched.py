"""The answers that a monitor watches, from likelihoods or from a table that `hedgerow predict` wrote."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.choose.request import PART_COLUMNS
from hedgerow.choose.tips import tip_likelihoods
from hedgerow.errors import FileError, ScoreError, UnknownNameError, closest, some
from hedgerow.files import TABLES, InputFile, reading
from hedgerow.infer import Candidates
from hedgerow.score_files import COLUMNS, MISSING, Examples, LabelFile, ScoreReading

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from hedgerow.choose.point import OperatingPoint
    from hedgerow.likelihood import AnyLikelihoods
    from hedgerow.tree import Hierarchy, Indices

    Texts = NDArray[np.object_]
    Floats = NDArray[np.float64]

TIP = "tip_likelihood"
"""The column of the probability of the most likely tip."""


def watched_answers(
    point: OperatingPoint,
    q: AnyLikelihoods,
    *,
    groups: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    **known: ArrayLike | None,
) -> Examples:
    """Answer examples with a point; return what is known of them, with the columns `answer` and `tip`.

    The parameters are those of `Monitor.update`.
    """
    answers = point.predict(q, groups if point.by == "group" else None, weights)
    if q.hierarchy is not point.hierarchy:
        answers = point.hierarchy.indices(q.hierarchy.names[answers])
    examples = Examples.of(len(q), groups=groups, **known)
    tip = tip_likelihoods(q, Candidates.of(q.hierarchy, point.settings))
    return examples.join(answer=answers, tip=tip, clade=point.clades_of(q) if point.by == "clade" else None)


def read_answers(
    point: OperatingPoint,
    path: str | os.PathLike[str],
    labels: str | os.PathLike[str] | None = None,
    read_as: ScoreReading | None = None,
) -> Examples:
    """Read a table that `hedgerow predict --point` wrote, for `Monitor.watch`.

    Parameters
    ----------
    point
        The point of the answers.
    path
        The table: `.csv`, `.tsv` or `.parquet`.
    labels
        A file of labels; then only answers with a label are returned.
    read_as
        How to read the file of labels.
    """
    shown = os.fspath(path)
    file = InputFile(shown)
    if file.suffix not in TABLES:
        raise FileError(f"{shown}: a monitor reads answers from {', '.join(TABLES)} files. Write one of these.")
    table = file.table
    places = {"answer": table.column("prediction", "the answers")}
    part = PART_COLUMNS.get(point.by)
    for name in ("ids", "clusters", "tip", *([part] if part else [])):
        column = COLUMNS.get(name, TIP if name == "tip" else name)
        if column in table.columns:
            places[name] = table.columns.index(column)
    with reading(shown, "a table of answers"):
        columns = table.texts(list(places.values()))
        texts = {name: np.array(columns[place].to_pylist(), dtype=object) for name, place in places.items()}
    if not len(texts["answer"]):
        raise FileError(f"{shown} has a header but no answers.")
    found = Examples.holding(len(texts["answer"]), texts)
    answers, tips, clusters = _nodes(point.hierarchy, texts["answer"], shown), texts.get("tip"), found.clusters
    found = found.join(
        answer=answers,
        tip=None if tips is None else _numbers(tips, shown),
        clusters=None if clusters is None or point.clusters is None or not any(clusters) else clusters,
    )
    if labels is None:
        return found
    return _labelled(point, found, shown, LabelFile(labels, point.hierarchy, read_as or ScoreReading()))


def _labelled(point: OperatingPoint, answers: Examples, path: str, file: LabelFile) -> Examples:
    """Return the answers that have a label."""
    if answers.ids is None:
        raise ScoreError(f"{path} has no column 'id', which labels are joined by.")
    place = file.find(answers.ids)
    assert file.nodes is not None  # noqa: S101
    there = np.flatnonzero((place >= 0) & (file.nodes[place] > MISSING))
    if not len(there):
        raise ScoreError(f"No id of {path} has a label in {file.path}. Use the same ids in both.")
    labelled = answers.take(there).join(labels=file.nodes[place[there]])
    if labelled.clusters is None and point.clusters is not None and file.about.clusters is not None:
        labelled = labelled.join(clusters=file.about.clusters[place[there]])
    return labelled


def _nodes(tree: Hierarchy, names: Texts, path: str) -> Indices:
    unknown = [name for name in dict.fromkeys(names.tolist()) if name not in tree]
    if unknown:
        raise UnknownNameError(
            f"{path}: the answer {some(unknown)} is not in the tree of the point.{closest(unknown[:3], tree)} "
            f"Give the point that these answers were made with."
        )
    return tree.indices(names)


def _numbers(texts: Texts, path: str) -> Floats:
    try:
        return texts.astype(np.float64)
    except ValueError as error:
        raise FileError(f"{path}: the column {TIP!r} must hold numbers: {error}.") from None
