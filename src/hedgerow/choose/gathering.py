"""Calibration examples: what is needed of them to choose a point, gathered block by block."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.choose.families import FAMILIES, largest_wrong
from hedgerow.choose.point import clades_of
from hedgerow.errors import ParameterError, ScoreError, argument
from hedgerow.infer import Candidates
from hedgerow.measure import Events, Ranks, example_blocks
from hedgerow.score_files import Progress, silent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from hedgerow.choose.spec import SelectionSpec
    from hedgerow.likelihood import Scale
    from hedgerow.score_files import Block
    from hedgerow.tree import Hierarchy, Indices, Settings

    Texts = NDArray[np.object_]


@final
@dataclass(frozen=True, eq=False)
class Examples:
    """Examples with labels."""

    hierarchy: Hierarchy
    labels: Indices
    scale: Scale
    temperature: float
    events: Events | None = None
    """Where their answers change in a family of rules."""
    wrong_at: Mapping[tuple[str, Settings], NDArray[np.float64]] = field(default_factory=dict)
    """The largest likelihood of a wrong node of each rank."""
    ids: Texts | None = None
    groups: Texts | None = None
    clusters: Texts | None = None
    clades: Texts | None = None
    unused_clusters: bool = False
    """Whether clusters are known and were not asked for."""

    def __len__(self) -> int:
        return len(self.labels)


def gather(
    spec: SelectionSpec,
    scores: Any,
    labels: ArrayLike | None,
    *,
    classes: ArrayLike | None = None,
    groups: ArrayLike | bool | None = None,
    clusters: ArrayLike | bool | None = None,
    scale: Scale | None = None,
    progress: Progress = silent,
) -> Examples:
    """Read what choosing a point needs of the examples; the other parameters are those of `select`."""
    parts = []
    with progress("Reading scores", getattr(scores, "rows", None)) as advance:
        for block in example_blocks(spec.hierarchy, scores, labels, classes, None, scale):
            parts.append(_of_block(spec, block))
            advance(len(block))
    count = sum(map(len, parts))
    if not count:
        raise ScoreError("There are no examples to choose a point with.")
    if len({(part.scale, part.temperature) for part in parts}) > 1:
        raise ScoreError("All examples must be on the same scale, with the same temperature.")
    ids = [part.ids for part in parts if part.ids is not None]
    clades = [part.clades for part in parts if part.clades is not None]
    return Examples(
        spec.hierarchy,
        np.concatenate([part.labels for part in parts]),
        parts[0].scale,
        parts[0].temperature,
        events=None if spec.ranks else Events.join(part.events for part in parts if part.events is not None),
        wrong_at={key: np.concatenate([part.wrong_at[key] for part in parts]) for key in spec.ranks},
        ids=np.concatenate(ids) if ids else None,
        groups=_texts("groups", groups, [part.groups for part in parts], count),
        clusters=_texts("clusters", clusters, [part.clusters for part in parts], count),
        clades=np.concatenate(clades) if clades else None,
        unused_clusters=clusters is None and all(part.clusters is not None for part in parts),
    )


def _of_block(spec: SelectionSpec, block: Block) -> Examples:
    """Return the examples of a block, with all groups and clusters that it has."""
    if block.labels is None:
        raise ScoreError("Choosing a point needs labels; these blocks have none.")
    q, labels, ranks = block.likelihoods, block.labels, Ranks.of(spec.hierarchy)
    candidates = Candidates.of(q.hierarchy, spec.settings)
    return Examples(
        spec.hierarchy,
        labels,
        block.scale,
        getattr(q, "temperature", 1.0),
        events=None if spec.ranks else FAMILIES[spec.rule].events(q, labels, candidates),
        wrong_at={
            (rank, settings): largest_wrong(q, labels, ranks.nodes(rank), settings, candidates)
            for rank, settings in spec.ranks
        },
        ids=block.ids,
        groups=block.groups,
        clusters=block.clusters,
        clades=None if spec.clade_depth is None else clades_of(q, spec.clade_depth),
    )


def _texts(name: str, given: ArrayLike | bool | None, read: list[Texts | None], examples: int) -> Texts | None:
    """Return groups or clusters as text, given as an array or read from a file; None if they are not wanted."""
    if given is None or given is False:
        return None
    if given is True:
        there = [values for values in read if values is not None]
        if len(there) < len(read):
            raise ParameterError(
                f"These scores do not say the {name} of their examples: name the column with "
                f"{argument(name, 'COLUMN', python=f'open_scores({name[:-1]}_column=...)')}, or give one entry "
                f"for each example."
            )
        given = np.concatenate(there)
    values = np.asarray(given)
    if values.shape != (examples,):
        raise ScoreError(f"{name} needs one entry per example, {examples:,}; got shape {values.shape}.")
    listed = values.tolist()
    blank = [i for i, value in enumerate(listed) if value is None or value != value or not str(value).strip()]
    if blank:
        raise ScoreError(
            f"{name} is blank for {len(blank):,} of {examples:,} examples, the first in row {blank[0]:,} (counted "
            f"from 0). Give every example an entry: one of its own if it belongs with no other."
        )
    return np.array([str(value) for value in listed], dtype=object)
