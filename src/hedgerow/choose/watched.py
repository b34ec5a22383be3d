"""The answers that a monitor watches, from likelihoods or from a table that `hedgerow predict` wrote."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.choose.calibration import as_texts
from hedgerow.choose.tips import tip_likelihoods
from hedgerow.errors import FileError, ScoreError, UnknownNameError, closest, some
from hedgerow.files import InputFile, reading
from hedgerow.infer import Candidates
from hedgerow.likelihood import Likelihoods
from hedgerow.score_files import MISSING, LabelFile, ScoreReading

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from hedgerow.choose.point import OperatingPoint
    from hedgerow.tree import Hierarchy, Indices

    Texts = NDArray[np.object_]
    Floats = NDArray[np.float64]

TIP = "tip_likelihood"
"""The column of the probability of the most likely tip."""


@final
@dataclass(frozen=True, eq=False)
class Watched:
    """The answers to some examples, with what a monitor needs to know about these."""

    answers: Indices
    """Nodes of the tree of the point."""
    tips: Floats | None = None
    """The probability of the most likely tip of each example."""
    names: Texts | None = None
    """The group or clade of each example, if the point has thresholds for them."""
    clusters: Texts | None = None
    ids: Texts | None = None

    def __len__(self) -> int:
        return len(self.answers)

    def taken(self, rows: NDArray[Any]) -> Watched:
        """Return some of the examples."""
        parts: dict[str, Any] = {key: None if each is None else each[rows] for key, each in vars(self).items()}
        return Watched(**parts)

    @classmethod
    def of(
        cls,
        point: OperatingPoint,
        q: Any,
        ids: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
        weights: ArrayLike | None = None,
    ) -> Watched:
        """Answer examples with a point; the other parameters are those of `Monitor.update`."""
        likelihoods: Any = q if hasattr(q, "scale") else Likelihoods.of(point.hierarchy, q, point.scale)
        tree, count = likelihoods.hierarchy, len(likelihoods)
        answers = point.predict(likelihoods, groups if point.by == "group" else None, weights)
        if tree is not point.hierarchy:
            answers = point.hierarchy.indices(tree.names[answers])
        return cls(
            answers,
            tip_likelihoods(likelihoods, Candidates.of(tree, point.settings)),
            as_texts("groups", point.clades_of(likelihoods) if point.by == "clade" else groups, count),
            as_texts("clusters", clusters, count),
            as_texts("ids", ids, count),
        )

    @classmethod
    def read(
        cls,
        point: OperatingPoint,
        path: str | os.PathLike[str],
        labels: str | os.PathLike[str] | None = None,
        read_as: ScoreReading | None = None,
    ) -> tuple[Watched, Indices | None]:
        """Read a table that `hedgerow predict --point` wrote, and the labels of its answers.

        Parameters
        ----------
        point
            The point of the answers.
        path
            The table.
        labels
            A file of labels; then only answers with a label are returned.
        read_as
            How to read the file of labels.

        Returns
        -------
        (Watched, array or None)
            The answers, and their labels.
        """
        shown, tree = os.fspath(path), point.hierarchy
        table = InputFile(shown).table
        wanted = {"prediction": table.column("prediction", "the answers")}
        about = ("id", TIP, "cluster", *([point.by] if point.by in ("group", "clade") else []))
        wanted |= {name: table.columns.index(name) for name in about if name in table.columns}
        with reading(shown, "a table of answers"):
            columns = table.texts(list(wanted.values()))
            texts = {name: np.array(columns[place].to_pylist(), dtype=object) for name, place in wanted.items()}
        if not len(texts["prediction"]):
            raise FileError(f"{shown} has a header but no answers.")
        clusters = texts.get("cluster")
        found = cls(
            _nodes(tree, texts["prediction"], shown),
            _numbers(texts[TIP], shown) if TIP in texts else None,
            texts.get(point.by),
            None if clusters is None or not any(clusters) or point.clusters is None else clusters,
            texts.get("id"),
        )
        if labels is None:
            return found, None
        if found.ids is None:
            raise ScoreError(f"{shown} has no column 'id', which labels are joined by.")
        file = LabelFile(labels, tree, read_as or ScoreReading())
        place = file.find(found.ids)
        assert file.nodes is not None  # noqa: S101
        there = np.flatnonzero((place >= 0) & (file.nodes[place] > MISSING))
        if not len(there):
            raise ScoreError(f"No id of {shown} has a label in {file.path}. Use the same ids in both.")
        labelled = found.taken(there)
        if labelled.clusters is None and point.clusters is not None and "clusters" in file.about:
            labelled = replace(labelled, clusters=file.about["clusters"][place[there]])
        return labelled, file.nodes[place[there]]


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
