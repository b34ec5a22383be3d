"""The boldest thresholds that keep a promise: one for all, or one for each group, clade or rank."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np

from hedgerow.choose.among import Answered, answers_of
from hedgerow.choose.families import FAMILIES
from hedgerow.choose.guarantees import GUARANTEES, Promise, TooFew
from hedgerow.choose.pooling import Pool, pooled_clades, pooled_groups
from hedgerow.choose.shift import Weighing
from hedgerow.choose.steps import AffordsNothing, Changes, Losses, Steps
from hedgerow.errors import HedgerowError, ScoreError, counted, some
from hedgerow.likelihood import BOTTOM
from hedgerow.measure import Clusters, Ranks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hedgerow.choose.calibration import CalibrationSet
    from hedgerow.choose.ranks import RankPromise
    from hedgerow.choose.spec import SelectionSpec
    from hedgerow.tree import Indices


class CannotPromiseError(HedgerowError):
    """No operating point keeps the promise."""


@final
@dataclass(frozen=True)
class Thresholds:
    """Thresholds that keep a promise, and what they were chosen with: see the fields of `OperatingPoint`."""

    thresholds: dict[str, float]
    calibrated_on: dict[str, tuple[int, int]]
    pools: tuple[Pool, ...] = ()
    weight_steps: tuple[tuple[float, float], ...] = ()
    notes: list[str] = field(default_factory=list)


def thresholds_of(spec: SelectionSpec, examples: CalibrationSet) -> Thresholds:
    """Return the threshold of each group, clade or rank, or the one for all."""
    if spec.target is None:
        return _by_rank(spec, examples)
    return _for_other_data(spec, examples) if spec.is_shifted else _by_part(spec, examples)


# One threshold for all, or for each group or clade ---------------------------------------------------------------


def _by_part(spec: SelectionSpec, examples: CalibrationSet) -> Thresholds:
    threshold = _search(spec, examples)
    thresholds: dict[str, float] = {}
    calibrated_on: dict[str, tuple[int, int]] = {}
    pools: list[Pool] = []
    small: list[str] = []
    for pool, rows in _parts(spec, examples):
        clusters = examples.counted(spec, rows)
        there = "" if spec.by == "all" else f" in the {spec.by} {some(pool)}"
        try:
            if not clusters.number:
                raise TooFew
            tau = threshold(rows, clusters)
        except TooFew:
            if not spec.from_root:
                raise CannotPromiseError(
                    f"{_too_few(spec, clusters, there)}, and the root does not keep this promise either. Collect "
                    f"more, or promise less."
                ) from None
            tau, small = np.inf, [*small, *pool]
        except AffordsNothing as nothing:
            reached = spec.aim.at_loss(nothing.loss / clusters.mass).level
            short = (reached < spec.aim.level) == spec.aim.higher_is_better
            why = "" if short else ", which leaves too little room for chance"
            raise CannotPromiseError(
                f"{spec.aim} cannot be promised{there}: the most specific answers reach {float(reached):.4g} on "
                f"these {clusters.unit}s{why}. Promise less, or collect more examples."
            ) from None
        thresholds |= dict.fromkeys(pool, tau)
        calibrated_on |= dict.fromkeys(pool, (clusters.number, len(clusters.member)))
        pools += [pool] * (len(pool) > 1)
    notes = [_note_of(spec, examples, small)] if small else []
    return Thresholds(dict(sorted(thresholds.items())), calibrated_on, tuple(pools), notes=notes)


def _search(spec: SelectionSpec, examples: CalibrationSet) -> Callable[[Indices | slice, Clusters], float]:
    """Return a function from some of the examples, with their clusters, to their threshold."""
    guarantee = GUARANTEES[spec.guarantee]
    if spec.among is None:
        losses = Losses.of(spec, examples)
        return lambda rows, clusters: guarantee.threshold(
            Steps.of(losses.taken(rows), clusters), spec.promise(clusters)
        )
    changes, grid = answers_of(spec, examples), FAMILIES[spec.rule].grid(examples.scale)
    return lambda rows, clusters: guarantee.among(
        Answered(grid, examples.scale, changes.taken(rows), clusters), spec.promise(clusters)
    )


def _parts(spec: SelectionSpec, examples: CalibrationSet) -> Iterator[tuple[Pool, Indices | slice]]:
    """Yield the examples that share a threshold, with the names of their groups or clades."""
    if spec.by == "all":
        yield ("",), slice(None)
        return
    found, place = np.unique(examples.names(spec.by).astype(str), return_inverse=True)
    names = found.tolist()
    pools = [(name,) for name in names] if spec.pool_small is None else _pools(spec, examples, names, place)
    pool_of = {name: i for i, pool in enumerate(pools) for name in pool}
    number = np.array([pool_of[name] for name in names])[place]
    ends = np.cumsum(np.bincount(number, minlength=len(pools)))
    yield from zip(pools, np.split(np.argsort(number, kind="stable"), ends[:-1]), strict=True)


def _pools(spec: SelectionSpec, examples: CalibrationSet, names: list[str], place: Indices) -> list[Pool]:
    """Pool small groups or clades, whose names, and the place of each example among them, are given."""
    everyone = examples.counted(spec)
    least = spec.promise(everyone).needed * (everyone.largest or 1)
    sizes = dict(spec.pool_small or {})
    if not sizes:
        units = np.unique(np.stack([place, everyone.member]), axis=1)[0] if everyone.largest is None else place
        sizes = dict(zip(names, np.bincount(units, minlength=len(names)).tolist(), strict=True))
    sizes = dict.fromkeys(names, 0) | sizes
    if spec.clade_depth is None:
        return pooled_groups(sizes, least)
    tree = spec.hierarchy
    ends = (tree.depth == spec.clade_depth) | (tree.is_leaf & (tree.depth < spec.clade_depth))
    return pooled_clades(tree, dict.fromkeys(tree.names[ends].tolist(), 0) | sizes, least)


def _note_of(spec: SelectionSpec, examples: CalibrationSet, small: list[str]) -> str:
    """Say that there are too few examples, in some groups or clades."""
    clusters = examples.counted(spec)
    if spec.by == "all":
        return f"{_too_few(spec, clusters, '')}. Until then, the answer is always the root."
    return (
        f"{counted(len(small), f'{spec.by} is', f'{spec.by}s are')} too small for the promise, so the answer "
        f"there is always the root: {some(small)}. Each needs at least "
        f"{_needed(spec.promise(clusters), clusters)} {clusters.unit}s."
    )


def _too_few(spec: SelectionSpec, clusters: Clusters, there: str) -> str:
    number = counted(clusters.number, clusters.unit, f"{clusters.unit}s")
    least = _needed(spec.promise(clusters), clusters)
    return f"{spec.target} cannot be promised with {number}{there}: at least {least} are needed"


def _needed(promise: Promise, clusters: Clusters) -> str:
    """Say how many clusters or examples a promise needs."""
    return f"{promise.needed:,}" + ("" if clusters.largest is None else f" times {clusters.largest:,} examples")


# Other data than the calibration data ----------------------------------------------------------------------------


def _for_other_data(spec: SelectionSpec, examples: CalibrationSet) -> Thresholds:
    """Return the threshold for data with the expected shares; or those for examples of all weights."""
    alpha, clusters = spec.aim.alpha, examples.counted(spec)
    if examples.weights is not None:
        weighing = Weighing.by_weights(examples.weights, alpha)
    else:
        assert spec.expect is not None  # noqa: S101
        weighing = Weighing.by_shares(spec.expect, examples.labels, alpha)
    steps = Steps.of(Losses.of(spec, examples), clusters).weighed(weighing)
    budget = weighing.budget
    weight_steps: tuple[tuple[float, float], ...] = ()
    if spec.weighted:
        weight_steps = steps.affordable(budget, 1 - alpha)
        budget -= (1 - alpha) * Fraction(int(weighing.times.sum()), weighing.parts * len(examples))
    notes = list(weighing.notes)
    try:
        tau = steps.within(budget)
    except AffordsNothing:
        there = "an example of the mean weight" if spec.weighted else "data with the expected shares"
        problem = (
            f"{spec.target} cannot be promised with {counted(len(examples), 'example', 'examples')} for {there}: "
            f"more are needed where they count most"
        )
        if not spec.from_root:
            raise CannotPromiseError(f"{problem}, or promise less.") from None
        tau, notes = np.inf, [*notes, f"{problem}. Until then, the answer is always the root."]
    calibrated_on = {"": (weighing.effective_number, len(examples))}
    return Thresholds({"": tau}, calibrated_on, weight_steps=weight_steps, notes=notes)


# A threshold for each rank ---------------------------------------------------------------------------------------


def _by_rank(spec: SelectionSpec, examples: CalibrationSet) -> Thresholds:
    found: dict[str, float] = {}
    calibrated_on: dict[str, tuple[int, int]] = {}
    notes: list[str] = []
    for each in spec.rank_promises:
        rows = each.rows(spec.hierarchy, examples.labels)
        clusters = examples.counted(spec, rows)
        if not len(clusters.member):
            raise ScoreError(
                f"No example belongs to an unknown {each.rank}: none has a label with nodes of that rank below "
                f"it. Give examples of taxa that the tree does not have, labelled by the deepest node that they "
                f"belong to."
            )
        promise = spec.promise(clusters, each.alpha)
        calibrated_on[each.name] = clusters.number, len(clusters.member)
        try:
            steps = _rank_steps(examples, each, rows, clusters)
            tau = GUARANTEES[spec.guarantee].threshold(steps, promise)
        except TooFew:
            tau = np.inf
            notes.append(
                f"The promise for {each.rank} needs at least {_needed(promise, clusters)} {clusters.unit}s; found "
                f"{clusters.number:,}. Until then, no answer reaches this rank."
            )
        found[each.rank] = max(tau, found.get(each.rank, BOTTOM[examples.scale]))
    ranks = [rank for rank in Ranks.of(spec.hierarchy).names if rank in found]
    return Thresholds({rank: found[rank] for rank in ranks}, calibrated_on, notes=notes)


def _rank_steps(
    examples: CalibrationSet, promise: RankPromise, rows: Indices | slice, clusters: Clusters
) -> Steps:
    """Return the steps of losses that are 1 below the largest likelihood of a wrong node."""
    score = examples.wrong_at[promise.name][rows]
    grid = FAMILIES["threshold"].grid(examples.scale)
    wrong = score > grid[-1]
    one = wrong.astype(np.int64)
    changes = Changes(score[wrong], (one[wrong],), np.append(0, np.cumsum(one)))
    return Steps.of(Losses(changes, np.zeros_like(one), 1, grid, from_root=True), clusters)
