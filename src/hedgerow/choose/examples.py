"""Calibration examples: what is needed of them to choose a point, gathered block by block."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.choose.families import Family, events_of
from hedgerow.choose.point import clades
from hedgerow.choose.ranks import largest_wrong
from hedgerow.errors import ParameterError, ScoreError, argument
from hedgerow.infer import Candidates
from hedgerow.measure import Events, Ranks, example_blocks
from hedgerow.score_files import Progress, silent

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from hedgerow.likelihood import Scale
    from hedgerow.measure import BelowLabel
    from hedgerow.score_files import Block
    from hedgerow.tree import Hierarchy, Indices, InformationKind, SingleChild

    Texts = NDArray[np.object_]


@final
@dataclass(frozen=True)
class Wanted:
    """What to gather."""

    family: Family | None = "threshold"
    """The family whose events are needed; None if there are thresholds by rank."""
    ranks: tuple[tuple[str, BelowLabel], ...] = ()
    """Ranks, and how answers below a label count there."""
    information: InformationKind = "leaves"
    single_child: SingleChild = "skip"
    clade_depth: int | None = None


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
    wrong_at: Mapping[tuple[str, BelowLabel], NDArray[np.float64]] = field(default_factory=dict)
    """The largest likelihood of a wrong node of each rank."""
    groups: Texts | None = None
    clusters: Texts | None = None
    clades: Texts | None = None
    unused_clusters: bool = False
    """Whether clusters are known and were not asked for."""

    def __len__(self) -> int:
        return len(self.labels)


def gather(
    hierarchy: Hierarchy,
    scores: Any,
    labels: ArrayLike | None,
    wanted: Wanted,
    *,
    classes: ArrayLike | None = None,
    groups: ArrayLike | bool | None = None,
    clusters: ArrayLike | bool | None = None,
    scale: Scale | None = None,
    progress: Progress = silent,
) -> Examples:
    """Read examples; the parameters are those of `select`."""
    nodes = {key: Ranks.of(hierarchy).nodes(key[0]) for key in wanted.ranks}
    parts: list[
        tuple[Indices, Events | None, dict[tuple[str, BelowLabel], NDArray[np.float64]], Texts | None]
    ] = []
    about: dict[str, list[Texts | None]] = {"groups": [], "clusters": []}
    carried: set[tuple[Scale, float]] = set()
    with progress("Reading scores", getattr(scores, "rows", None)) as advance:
        for block in example_blocks(hierarchy, scores, labels, classes, None, scale):
            parts.append(_of_block(block, wanted, nodes))
            carried.add((block.scale, getattr(block.likelihoods, "temperature", 1.0)))
            for key, values in about.items():
                values.append(getattr(block, key))
            advance(len(block))
    if not sum(len(part[0]) for part in parts):
        raise ScoreError("There are no examples to choose a point with.")
    if len(carried) > 1:
        raise ScoreError("All examples must be on the same scale, with the same temperature.")
    label, events, wrong, names = zip(*parts, strict=True)
    known = np.concatenate(label)
    return Examples(
        hierarchy,
        known,
        *carried.pop(),
        events=None if wanted.family is None else Events.join(events),
        wrong_at={key: np.concatenate([part[key] for part in wrong]) for key in wanted.ranks},
        groups=_texts("groups", groups, about["groups"], len(known)),
        clusters=_texts("clusters", clusters, about["clusters"], len(known)),
        clades=None if wanted.clade_depth is None else np.concatenate(names),
        unused_clusters=clusters is None and all(values is not None for values in about["clusters"]),
    )


def _of_block(block: Block, wanted: Wanted, nodes: Mapping[tuple[str, BelowLabel], Indices]) -> Any:
    if block.labels is None:
        raise ScoreError("Choosing a point needs labels; these blocks have none.")
    q, labels = block.likelihoods, block.labels
    candidates = Candidates.of(q.hierarchy, wanted.information, wanted.single_child)
    events = None if wanted.family is None else events_of(wanted.family, q, labels, candidates)
    wrong = {key: largest_wrong(q, labels, nodes[key], key[1], candidates) for key in wanted.ranks}
    names = None if wanted.clade_depth is None else clades(q, wanted.clade_depth)
    return labels, events, wrong, names


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
