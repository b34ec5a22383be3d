"""The boldest thresholds that keep a promise: one for all, or one for each group, clade or rank."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.choose.families import FAMILIES
from hedgerow.choose.guarantees import GUARANTEES, Promise
from hedgerow.choose.losses import AffordsNothing, Clusters, Steps, changes, worst_so_far
from hedgerow.errors import HedgerowError, ScoreError, counted, some
from hedgerow.likelihood import BOTTOM
from hedgerow.measure import Ranks

if TYPE_CHECKING:
    from collections.abc import Callable

    from hedgerow.choose.gathering import Examples
    from hedgerow.choose.spec import SelectionSpec, Target
    from hedgerow.tree import Indices, Settings


class CannotPromiseError(HedgerowError):
    """No operating point keeps the promise."""


def thresholds_of(spec: SelectionSpec, examples: Examples) -> tuple[dict[str, float], list[str]]:
    """Return the threshold of each group, clade or rank ("" for all), and notes about missing examples."""
    if spec.target is None:
        return _by_rank(spec, examples)
    steps = losses_of(spec, examples)
    names = {"clade": examples.clades, "group": examples.groups}.get(spec.by)
    if names is None:
        everyone = slice(None)
        clusters = _clusters(examples, everyone)
        tau, notes = _threshold(spec, spec.target, steps(everyone, clusters), clusters, "")
        return {"": tau}, notes
    thresholds, small = {}, []
    for name in sorted(set(names.tolist())):
        rows = np.flatnonzero(names == name)
        clusters = _clusters(examples, rows)
        there = f" in the {spec.by} {name!r}"
        thresholds[name], notes = _threshold(spec, spec.target, steps(rows, clusters), clusters, there)
        small += [name] if notes else []
    if not small:
        return thresholds, []
    needed = _promise(spec, spec.target, _clusters(examples, slice(None))).needed
    unit = "clusters" if examples.clusters is not None else "examples"
    note = (
        f"{counted(len(small), f'{spec.by} is', f'{spec.by}s are')} too small for the promise, so the answer "
        f"there is always the root: {some(small)}. Each needs at least {needed:,} {unit}."
    )
    return thresholds, [note]


def losses_of(spec: SelectionSpec, examples: Examples) -> Callable[[Indices | slice, Clusters], Steps]:
    """Return a function from some of the examples, with their clusters, to the steps of their losses."""
    events = examples.events
    assert events is not None  # noqa: S101  (they were asked for)
    assert spec.target is not None  # noqa: S101
    from_root = spec.from_root
    at_root = spec.losses(examples.labels, np.zeros_like(examples.labels))
    after = spec.losses(np.repeat(events.label, events.count).astype(np.int64), events.node.astype(np.int64))
    growing = GUARANTEES[spec.guarantee].needs_growing_losses(spec.target.is_binary)
    base, amount = (worst_so_far if growing else changes)(events, at_root, after, from_root=from_root)
    kept = np.flatnonzero(amount)
    score, amount, example = events.score[kept], amount[kept], events.example[kept]
    bottom = FAMILIES[spec.rule].bottom(examples.scale)

    def steps(rows: Indices | slice, clusters: Clusters) -> Steps:
        if isinstance(rows, slice):
            return Steps.of(score, amount, example, base, clusters, from_root=from_root, bottom=bottom)
        place = np.full(len(base), -1)
        place[rows] = np.arange(len(rows))
        member = place[example]
        inside = member >= 0
        given = score[inside], amount[inside], member[inside], base[rows]
        return Steps.of(*given, clusters, from_root=from_root, bottom=bottom)

    return steps


def _clusters(examples: Examples, rows: Indices | slice) -> Clusters:
    given = None if examples.clusters is None else examples.clusters[rows]
    return Clusters.of(given, len(examples.labels[rows]))


def _promise(spec: SelectionSpec, target: Target, clusters: Clusters) -> Promise:
    return Promise(spec.guarantee, target.alpha, spec.delta, target.is_binary and clusters.are_single)


def _threshold(
    spec: SelectionSpec, target: Target, steps: Steps, clusters: Clusters, there: str
) -> tuple[float, list[str]]:
    """Return a threshold, and a note if it is that of the root because there are too few examples."""
    promise = _promise(spec, target, clusters)
    budget = promise.budget(clusters.number)
    if budget < 0:
        said = (
            f"{target} cannot be promised with {counted(clusters.number, clusters.unit, f'{clusters.unit}s')}"
            f"{there}: at least {promise.needed:,} are needed"
        )
        if spec.from_root:
            return np.inf, [f"{said}. Until then, the answer is always the root."]
        raise CannotPromiseError(
            f"{said}, and the root does not keep this promise either. Collect more, or promise less."
        )
    try:
        return GUARANTEES[spec.guarantee].threshold(steps, budget, target.is_binary), []
    except AffordsNothing as nothing:
        reached = target.mean_at(float(nothing.loss) / clusters.number)
        short = (reached < float(target.level)) == target.higher_is_better
        why = "" if short else ", which leaves too little room for chance"
        raise CannotPromiseError(
            f"{target} cannot be promised{there}: the most specific answers reach {reached:.4g} on "
            f"these {clusters.unit}s{why}. Promise less, or collect more examples."
        ) from None


# A threshold for each rank -------------------------------------------------------------------------------------


def _by_rank(spec: SelectionSpec, examples: Examples) -> tuple[dict[str, float], list[str]]:
    thresholds: dict[str, float] = {}
    notes: list[str] = []
    delta = spec.delta / len(spec.ranks)  # all ranks together keep their promises with confidence 1 - δ
    for rank, level in spec.per_rank.items():
        promise = Promise(spec.guarantee, 1 - level, delta)
        thresholds[rank], found = _rank_threshold(promise, examples, (rank, spec.settings), slice(None))
        notes += found
    ranks = Ranks.of(spec.hierarchy)
    for rank, share in spec.overclassification.items():
        labels = examples.labels
        unknown = np.flatnonzero((ranks.at(rank)[labels] < 0) & ranks.above(rank)[labels])
        if not len(unknown):
            raise ScoreError(
                f"No example belongs to an unknown {rank}: none has a label above that rank. Give examples of "
                f"taxa that the tree does not have, labelled by the deepest node that they belong to."
            )
        promise = Promise(spec.guarantee, share, delta)
        tau, found = _rank_threshold(promise, examples, (rank, spec.strict), unknown)
        thresholds[rank] = max(tau, thresholds.get(rank, BOTTOM[examples.scale]))
        notes += found
    return {rank: thresholds[rank] for rank in ranks.names if rank in thresholds}, notes


def _rank_threshold(
    promise: Promise, examples: Examples, rank: tuple[str, Settings], rows: Indices | slice
) -> tuple[float, list[str]]:
    """Return the threshold of a rank, and a note if too few examples keep all answers above it."""
    score = examples.wrong_at[rank][rows]
    clusters = _clusters(examples, rows)
    promise = replace(promise, binary=clusters.are_single)
    budget = promise.budget(clusters.number)
    if budget < 0:
        note = (
            f"The promise for {rank[0]} needs at least {promise.needed:,} {clusters.unit}s; found "
            f"{clusters.number:,}. Until then, no answer reaches this rank."
        )
        return np.inf, [note]
    bottom = BOTTOM[examples.scale]
    wrong = np.flatnonzero(score > bottom)
    ones = np.ones(len(wrong))
    steps = Steps.of(score[wrong], ones, wrong, np.zeros(len(score)), clusters, from_root=True, bottom=bottom)
    return steps.within(budget), []
