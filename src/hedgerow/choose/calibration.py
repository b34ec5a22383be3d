"""Calibration sets: the examples with labels that a point is chosen with, read block by block."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.choose.answer_paths import Paths
from hedgerow.choose.families import FAMILIES
from hedgerow.choose.promise import RankLoss
from hedgerow.choose.shift import checked_weights
from hedgerow.choose.tips import clades_of, tip_likelihoods
from hedgerow.errors import ParameterError, ScoreError, argument
from hedgerow.infer import Candidates
from hedgerow.likelihood import Treatment
from hedgerow.measure import Clusters, Events, Ranks, check_filled, example_blocks
from hedgerow.score_files import Progress, silent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from hedgerow.choose.point import OperatingPoint
    from hedgerow.choose.promise import Promise
    from hedgerow.choose.request import By, Request
    from hedgerow.likelihood import Scale
    from hedgerow.score_files import Block
    from hedgerow.tree import Hierarchy, Indices

    Texts = NDArray[np.object_]


@final
@dataclass(frozen=True, eq=False)
class CalibrationSet:
    """What choosing a point needs to know about examples with labels."""

    hierarchy: Hierarchy
    labels: Indices
    scale: Scale
    treatment: Treatment = field(default_factory=Treatment)
    events: Events = field(default_factory=Events.none)
    """The events of the examples in a family of rules; none without a target."""
    wrong_at: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    """By the name of each promise for a rank: the largest likelihood of a wrong node of that rank."""
    paths: Paths | None = None
    """The paths to the most likely tips; None with a target, or where no answers are asked for."""
    ids: Texts | None = None
    groups: Texts | None = None
    clusters: Texts | None = None
    clades: Texts | None = None
    weights: NDArray[np.float64] | None = None
    tips: NDArray[np.float64] | None = None
    """The probability of the most likely tip of each example."""
    unused_clusters: bool = False
    """Whether the examples have clusters that are ignored."""

    def __len__(self) -> int:
        return len(self.labels)

    def names(self, by: By) -> Texts:
        """Return the group or clade of each example; "" if one threshold is for all."""
        names = {"clade": self.clades, "group": self.groups}.get(by)
        return np.full(len(self), "", dtype=object) if names is None else names

    def units(self, request: Request, rows: Indices | slice = slice(None)) -> Clusters:
        """Return the clusters of some of the examples, counted as in the promise."""
        clusters = self._shuffled
        return Clusters.of(
            None if clusters is None else clusters[rows], len(self.labels[rows]), request.largest_cluster
        )

    def answers(self, point: OperatingPoint) -> Indices:
        """Return the answers of a point for whose request these examples were gathered."""
        if point.by == "rank":
            assert self.paths is not None, "these examples were gathered without answers"  # noqa: S101
            return self.paths.answers(point.thresholds_by_node(self.hierarchy))
        if point.request.weights:
            tau = point.thresholds_of_weights(self.weights, len(self))
        else:
            tau = point.thresholds_of(self.names(point.by), len(self))
        return self.events.answers_above(tau).astype(np.int64)

    @cached_property
    def _shuffled(self) -> Indices | None:
        """The cluster of each example, numbered in an order that depends on a hash of the names, not on rows."""
        if self.clusters is None:
            return None
        names, place = np.unique(self.clusters.astype(str), return_inverse=True)
        order = sorted(range(len(names)), key=lambda i: hashlib.sha256(str(names[i]).encode()).digest())
        return np.asarray(np.argsort(order)[place])


def gather(
    request: Request,
    hierarchy: Hierarchy,
    scores: Any,
    labels: ArrayLike | None = None,
    *,
    classes: ArrayLike | None = None,
    groups: ArrayLike | bool | None = None,
    clusters: ArrayLike | bool | None = None,
    weights: ArrayLike | bool | None = None,
    scale: Scale | None = None,
    progress: Progress = silent,
    answers: bool = True,
) -> CalibrationSet:
    """Read a calibration set in one pass.

    With `answers=False`, which takes less time, it cannot answer by rank; the other parameters are those of
    `select`.
    """
    promises, parts = request.promises(hierarchy), []
    with progress("Reading scores", getattr(scores, "rows", None)) as advance:
        for block in example_blocks(hierarchy, scores, labels, classes, None, scale):
            parts.append(_of_block(request, promises, block, answers))
            advance(len(block))
    count = sum(map(len, parts))
    if not count:
        raise ScoreError("There are no examples to choose a point with.")
    if len({(part.scale, part.treatment) for part in parts}) > 1:
        raise ScoreError("All examples must have the same scale, temperature, prior and pooling.")

    def read(name: str, option: str, given: ArrayLike | bool | None) -> ArrayLike | None:
        return _column(name, option, given, [getattr(part, name) for part in parts])

    ids = [part.ids for part in parts if part.ids is not None]
    clades = [part.clades for part in parts if part.clades is not None]
    paths = [part.paths for part in parts if part.paths is not None]
    return CalibrationSet(
        hierarchy,
        np.concatenate([part.labels for part in parts]),
        parts[0].scale,
        parts[0].treatment,
        events=Events.join(part.events for part in parts),
        wrong_at={name: np.concatenate([part.wrong_at[name] for part in parts]) for name in parts[0].wrong_at},
        paths=Paths.join(paths) if paths else None,
        ids=np.concatenate(ids) if ids else None,
        groups=as_texts("groups", read("groups", "group_column", groups), count),
        clusters=as_texts("clusters", read("clusters", "cluster_column", clusters), count),
        clades=np.concatenate(clades) if clades else None,
        weights=_weights(read("weights", "weight_column", weights), count),
        tips=np.concatenate([part.tips for part in parts if part.tips is not None]),
        unused_clusters=clusters is None and all(part.clusters is not None for part in parts),
    )


def _of_block(request: Request, promises: Sequence[Promise], block: Block, answers: bool) -> CalibrationSet:
    """Return the calibration set of one block."""
    if block.labels is None:
        raise ScoreError("Choosing a point needs labels, but these blocks have none.")
    q, labels = block.likelihoods, block.labels
    candidates, depth = Candidates.of(q.hierarchy, request.settings), request.clade_depth(q.hierarchy)
    ranks = [(each.name, each.loss) for each in promises if isinstance(each.loss, RankLoss)]
    gates = np.zeros(len(q.hierarchy), dtype=bool)
    for _, loss in ranks:
        gates[Ranks.of(q.hierarchy).nodes(loss.rank)] = True
    return CalibrationSet(
        q.hierarchy,
        labels,
        block.scale,
        q.treatment,
        events=Events.none() if ranks else FAMILIES[request.rule].events(q, labels, candidates),
        wrong_at={name: loss.largest_wrong(q, labels, candidates) for name, loss in ranks},
        paths=Paths.of(q, candidates, gates) if ranks and answers else None,
        ids=block.ids,
        groups=block.groups,
        clusters=block.clusters,
        weights=block.weights,
        tips=tip_likelihoods(q, candidates),
        clades=None if depth is None else clades_of(q, depth, candidates),
    )


def _column(
    name: str, option: str, given: ArrayLike | bool | None, read: list[NDArray[Any] | None]
) -> ArrayLike | None:
    """Return one per-example column, given or (if that is True) read; None if it is not wanted."""
    if given is not True:
        return None if given is False else given
    there = [values for values in read if values is not None]
    if len(there) < len(read):
        column = argument(option, "COLUMN", python=f"ScoreReading({option}=...)")
        raise ParameterError(
            f"These scores have no {name}: name their column with {column}, or give one entry for each example."
        )
    return np.concatenate(there)


def _weights(given: ArrayLike | None, examples: int) -> NDArray[np.float64] | None:
    if given is None:
        return None
    weights = checked_weights(given, examples)
    if not weights.any():
        raise ScoreError("All weights are 0. Give examples that are like new ones a weight above 0.")
    return weights


def as_texts(name: str, given: ArrayLike | None, examples: int) -> Texts | None:
    """Return groups, clusters or ids of examples as text; a blank is an error."""
    if given is None:
        return None
    values = np.asarray(given)
    if values.shape != (examples,):
        raise ScoreError(f"{name} needs one entry per example, {examples:,}; got shape {values.shape}.")
    listed = values.tolist()
    check_filled(name, listed)
    return np.array([str(value) for value in listed], dtype=object)
