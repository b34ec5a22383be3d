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
from hedgerow.choose.request import PART_COLUMNS
from hedgerow.choose.tips import clades_of, tip_likelihoods
from hedgerow.errors import ParameterError, ScoreError, argument
from hedgerow.infer import Candidates
from hedgerow.likelihood import Treatment
from hedgerow.measure import Clusters, Events, Ranks, example_blocks
from hedgerow.score_files import FACTS, Examples, Progress, as_column, silent

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    scale: Scale
    known: Examples
    """What is known of the examples: labels, `clade`, and `tip`, the probability of the most likely tip; for each
    promise about a rank `wrong_at:NAME`, the largest likelihood of a wrong node of that rank."""
    treatment: Treatment = field(default_factory=Treatment)
    events: Events = field(default_factory=Events.none)
    """The events of the examples in a family of rules; none without a target."""
    paths: Paths | None = None
    """The paths to the most likely tips; None with a target, or where no answers are asked for."""
    unused_clusters: bool = False
    """Whether the examples have clusters that are ignored."""

    @property
    def labels(self) -> Indices:
        """The node of each label."""
        return self.known["labels"]

    def __len__(self) -> int:
        return len(self.known)

    def names(self, by: By) -> Texts:
        """Return the group or clade of each example; "" if one threshold is for all."""
        column = PART_COLUMNS.get(by, "")
        return self.known[column] if column in self.known else np.full(len(self), "", dtype=object)

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
            tau = point.thresholds_of_weights(self.known.weights, len(self))
        else:
            tau = point.thresholds_of(self.names(point.by), len(self))
        return self.events.answers_above(tau).astype(np.int64)

    @cached_property
    def _shuffled(self) -> Indices | None:
        """The cluster of each example, numbered in an order that depends on a hash of the names, not on rows."""
        if self.known.clusters is None:
            return None
        names, place = np.unique(self.known.clusters.astype(str), return_inverse=True)
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
    if not any(map(len, parts)):
        raise ScoreError("There are no examples to choose a point with.")
    if len({(part.scale, part.treatment) for part in parts}) > 1:
        raise ScoreError("All examples must have the same scale, temperature, prior and pooling.")
    examples = Examples.concatenate([part.known for part in parts])
    given = {"groups": groups, "clusters": clusters, "weights": weights}
    columns = {name: _column(name, values, examples) for name, values in given.items()}
    paths = [part.paths for part in parts if part.paths is not None]
    return CalibrationSet(
        hierarchy,
        parts[0].scale,
        examples.join(**columns),
        parts[0].treatment,
        events=Events.concatenate(part.events for part in parts),
        paths=Paths.concatenate(paths) if paths else None,
        unused_clusters=clusters is None and examples.clusters is not None,
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
    # The events come first: what they derive from the likelihoods serves the tips.
    events = Events.none() if ranks else FAMILIES[request.rule].events(q, labels, candidates)
    found = {f"wrong_at:{name}": loss.largest_wrong(q, labels, candidates) for name, loss in ranks}
    return CalibrationSet(
        q.hierarchy,
        block.scale,
        block.examples.join(
            tip=tip_likelihoods(q, candidates),
            clade=None if depth is None else clades_of(q, depth, candidates),
            **found,
        ),
        q.treatment,
        events=events,
        paths=Paths.of(q, candidates, gates) if ranks and answers else None,
    )


def _column(name: str, given: ArrayLike | bool | None, read: Examples) -> NDArray[Any] | None:
    """Return one column, given or (if that is True) read; None if it is not wanted."""
    if given is None or given is False:
        return None
    if given is True and name not in read:
        option = FACTS[name].option or name
        column = argument(option, "COLUMN", python=f"ScoreReading({option}=...)")
        raise ParameterError(
            f"These scores have no {name}: name their column with {column}, or give one entry for each example."
        )
    values = as_column(name, read[name] if given is True else given, len(read))
    if name == "weights" and not values.any():
        raise ScoreError("All weights are 0. Give examples that are like new ones a weight above 0.")
    return values
