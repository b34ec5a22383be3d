"""The boldest thresholds that keep a promise: one for all, or one for each group, clade or rank.

The loss of an example changes at its events. *Steps* say where and by how much, seen from the end of the family
that keeps the promise best: the root for being right, the most specific answers for finding much. A threshold is
chosen by moving away from that end until the losses exceed a budget: see `hedgerow.choose.guarantees`.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.arrays import take_rows
from hedgerow.choose.among import answered_of
from hedgerow.choose.betting import refuted
from hedgerow.choose.families import FAMILIES
from hedgerow.choose.guarantees import GUARANTEES, Promise, TooFew
from hedgerow.choose.pooling import Pool, pooled_clades, pooled_groups
from hedgerow.choose.shift import Weighing
from hedgerow.choose.walk import Walk, passed_from
from hedgerow.errors import HedgerowError, ScoreError, counted, some
from hedgerow.likelihood import BOTTOM
from hedgerow.measure import Clusters, Events, Ranks

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hedgerow.choose.select import CalibrationSet
    from hedgerow.choose.spec import SelectionSpec
    from hedgerow.tree import Indices, Settings


_ROUNDING = 1e-15  # of a sum of losses, per term


class CannotPromiseError(HedgerowError):
    """No operating point keeps the promise."""


def thresholds_of(spec: SelectionSpec, examples: CalibrationSet) -> tuple[dict[str, float], list[str]]:
    """Return the threshold of each group, clade or rank ("" for all), and notes about missing examples."""
    if spec.target is None:
        return _by_rank(spec, examples)
    threshold = threshold_of(spec, examples)
    if spec.is_shifted:
        return _shifted(spec, examples)
    names = {"clade": examples.clades, "group": examples.groups}.get(spec.by)
    if names is None:
        clusters = clusters_of(spec, examples)
        tau, notes = threshold(slice(None), clusters, "")
        return {"": tau}, notes
    thresholds: dict[str, float] = {}
    small: list[str] = []
    pools = pools_of(spec, examples, names)
    pool_of = {name: i for i, pool in enumerate(pools) for name in pool}
    found, place = np.unique(names.astype(str), return_inverse=True)
    number = np.array([pool_of[name] for name in found.tolist()])[place]
    ends = np.cumsum(np.bincount(number, minlength=len(pools)))
    for pool, rows in zip(pools, np.split(np.argsort(number, kind="stable"), ends[:-1]), strict=True):
        clusters = clusters_of(spec, examples, rows)
        tau, notes = threshold(rows, clusters, f" in the {spec.by} {some(pool)}")
        thresholds |= dict.fromkeys(pool, tau)
        small += pool if notes else ()
    thresholds = dict(sorted(thresholds.items()))
    if not small:
        return thresholds, []
    clusters = clusters_of(spec, examples)
    note = (
        f"{counted(len(small), f'{spec.by} is', f'{spec.by}s are')} too small for the promise, so the answer "
        f"there is always the root: {some(small)}. Each needs at least "
        f"{needed(promise_of(spec, clusters), clusters)} {clusters.unit}s."
    )
    return thresholds, [note]


def pools_of(spec: SelectionSpec, examples: CalibrationSet, names: NDArray[np.object_]) -> list[Pool]:
    """Return the groups or clades that share a threshold: each alone, unless small ones are to be pooled."""
    found, place = np.unique(names.astype(str), return_inverse=True)
    if spec.pool_small is None:
        return [(name,) for name in found.tolist()]
    everyone = clusters_of(spec, examples)
    least = promise_of(spec, everyone).needed * (everyone.largest or 1)
    sizes = dict(spec.pool_small)
    if not sizes:
        units = np.unique(np.stack([place, everyone.member]), axis=1)[0] if everyone.largest is None else place
        sizes = dict(zip(found.tolist(), np.bincount(units, minlength=len(found)).tolist(), strict=True))
    sizes = dict.fromkeys(found.tolist(), 0) | sizes
    if spec.clade_depth is None:
        return pooled_groups(sizes, least)
    tree = spec.hierarchy
    ends = (tree.depth == spec.clade_depth) | (tree.is_leaf & (tree.depth < spec.clade_depth))
    sizes = dict.fromkeys(tree.names[ends].tolist(), 0) | sizes
    return pooled_clades(tree, sizes, least)


def threshold_of(
    spec: SelectionSpec, examples: CalibrationSet
) -> Callable[[Indices | slice, Clusters, str], tuple[float, list[str]]]:
    """Return a function from some of the examples to their threshold, and a note if there are too few."""
    target, guarantee = spec.target, GUARANTEES[spec.guarantee]
    assert target is not None  # noqa: S101
    if spec.among is None:
        steps = losses_of(spec, examples)
    else:
        answers = answered_of(spec, examples)

    def threshold(rows: Indices | slice, clusters: Clusters, there: str) -> tuple[float, list[str]]:
        promise = promise_of(spec, clusters)
        try:
            if not clusters.number:
                raise TooFew
            if spec.among is not None:
                return guarantee.among(answers(rows, clusters), promise), []
            return guarantee.threshold(steps(rows, clusters), promise), []
        except TooFew:
            problem = (
                f"{target} cannot be promised with {counted(clusters.number, clusters.unit, f'{clusters.unit}s')}"
                f"{there}: at least {needed(promise, clusters)} are needed"
            )
            if spec.from_root:
                return np.inf, [f"{problem}. Until then, the answer is always the root."]
            raise CannotPromiseError(
                f"{problem}, and the root does not keep this promise either. Collect more, or promise less."
            ) from None
        except AffordsNothing as nothing:
            reached = target.at_loss(nothing.loss / clusters.mass).level
            short = (reached < target.level) == target.higher_is_better
            why = "" if short else ", which leaves too little room for chance"
            raise CannotPromiseError(
                f"{target} cannot be promised{there}: the most specific answers reach {float(reached):.4g} on "
                f"these {clusters.unit}s{why}. Promise less, or collect more examples."
            ) from None

    return threshold


def losses_of(spec: SelectionSpec, examples: CalibrationSet) -> Callable[[Indices | slice, Clusters], Steps]:
    """Return a function from some of the examples, with their clusters, to the steps of their losses."""
    events = examples.events
    assert events is not None  # noqa: S101  (a target needs them)
    assert spec.target is not None  # noqa: S101
    from_root = spec.from_root
    first = examples.labels
    answered = np.append(first, np.repeat(events.label, events.count)).astype(np.int64)
    losses, parts = spec.losses(answered, np.append(np.zeros_like(first), events.node).astype(np.int64))
    at_root, after = losses[: len(first)], losses[len(first) :]
    growing = GUARANTEES[spec.guarantee].needs_growing_losses(spec.target.is_binary)
    base, amount = loss_changes(events, at_root, after, from_root=from_root, growing=growing)
    kept = np.flatnonzero(amount)
    score, amount = events.score[kept], amount[kept]
    count = np.bincount(events.example[kept], minlength=len(base))
    starts = np.append(0, np.cumsum(count))
    grid = FAMILIES[spec.rule].grid(examples.scale)

    def steps(rows: Indices | slice, clusters: Clusters) -> Steps:
        _, inside = take_rows(starts, rows)
        example = np.repeat(np.arange(len(base[rows])), count[rows])
        given = score[inside], amount[inside], example, base[rows]
        return Steps.of(*given, clusters, parts, grid, from_root=from_root)

    return steps


def clusters_of(spec: SelectionSpec, examples: CalibrationSet, rows: Indices | slice = slice(None)) -> Clusters:
    """Return the clusters of some of the examples, as the promise counts them."""
    given = None if examples.clusters is None else _shuffled(examples.clusters[rows])
    return Clusters.of(given, len(examples.labels[rows]), spec.largest_cluster)


def _shuffled(clusters: NDArray[np.object_]) -> Indices:
    """Return a number for each cluster, in an order that depends only on a hash of the names, and not on rows."""
    names, place = np.unique(clusters, return_inverse=True)
    order = sorted(range(len(names)), key=lambda i: hashlib.sha256(str(names[i]).encode()).digest())
    number = np.empty(len(names), dtype=np.int64)
    number[order] = np.arange(len(names))
    return np.asarray(number[place])


def promise_of(spec: SelectionSpec, clusters: Clusters) -> Promise:
    """Return what a target promises of some examples, in each walk if there are several."""
    target = spec.target
    assert target is not None  # noqa: S101
    return Promise(spec.guarantee, target.alpha, spec.delta / spec.walks, target.is_binary and clusters.are_units)


def needed(promise: Promise, clusters: Clusters) -> str:
    """Return how many clusters or examples a promise needs."""
    return f"{promise.needed:,}" + ("" if clusters.largest is None else f" times {clusters.largest:,} examples")


# Other data than the calibration data ----------------------------------------------------------------------


def _shifted(spec: SelectionSpec, examples: CalibrationSet) -> tuple[dict[str, float], list[str]]:
    """Return the threshold for data with the expected shares; or that for an example of the mean weight."""
    assert spec.target is not None  # noqa: S101
    weighing, steps = _weighed(spec, examples)
    budget = weighing.budget
    if spec.weighted:
        mean = Fraction(int(weighing.times.sum()), weighing.parts * len(examples))
        budget -= (1 - spec.target.alpha) * mean
    notes = list(weighing.notes)
    try:
        return {"": steps.within(budget)}, notes
    except AffordsNothing:
        there = "an example of the mean weight" if spec.weighted else "data with the expected shares"
        problem = (
            f"{spec.target} cannot be promised with {counted(len(examples), 'example', 'examples')} for "
            f"{there}: more "
            f"are needed where they count most"
        )
        if not spec.from_root:
            raise CannotPromiseError(f"{problem}, or promise less.") from None
        return {"": np.inf}, [*notes, f"{problem}. Until then, the answer is always the root."]


def weight_steps(spec: SelectionSpec, examples: CalibrationSet) -> tuple[tuple[float, float], ...]:
    """Return the largest weight of a new example for each threshold, from the most cautious one to the boldest."""
    if not spec.weighted:
        return ()
    assert spec.target is not None  # noqa: S101
    weighing, steps = _weighed(spec, examples)
    return steps.affordable(weighing.budget, 1 - spec.target.alpha)


def effective_number(spec: SelectionSpec, examples: CalibrationSet) -> int:
    """Return the number of equal examples that would say as much as these do with their weights or shares."""
    weighing, _ = _weighed(spec, examples)
    share = (weighing.times / weighing.parts).astype(np.float64) / weighing.divisor
    squares = float(np.sum(share**2))
    return int(np.sum(share) ** 2 / squares) if squares else 0


def _weighed(spec: SelectionSpec, examples: CalibrationSet) -> tuple[Weighing, Steps]:
    assert spec.target is not None  # noqa: S101
    if spec.weighted:
        assert examples.weights is not None  # noqa: S101
        weighing = Weighing.by_weights(examples.weights, spec.target.alpha)
    else:
        assert spec.expect is not None  # noqa: S101
        weighing = Weighing.by_shares(spec.expect, examples.labels, spec.target.alpha)
    steps = losses_of(spec, examples)(slice(None), clusters_of(spec, examples))
    return weighing, steps.weighed(weighing)


# A threshold for each rank -------------------------------------------------------------------------------------


def _by_rank(spec: SelectionSpec, examples: CalibrationSet) -> tuple[dict[str, float], list[str]]:
    thresholds: dict[str, float] = {}
    notes: list[str] = []
    delta = spec.delta / len(spec.ranks)  # all ranks together keep their promises with probability 1 - δ
    for rank, level in spec.per_rank.items():
        promise = Promise(spec.guarantee, 1 - level, delta)
        thresholds[rank], found = _rank_threshold(spec, promise, examples, (rank, spec.settings), slice(None))
        notes += found
    ranks = Ranks.of(spec.hierarchy)
    for rank, share in spec.overclassification.items():
        labels = examples.labels
        unknown = np.flatnonzero((ranks.at(rank)[labels] < 0) & ranks.above(rank)[labels])
        if not len(unknown):
            raise ScoreError(
                f"No example belongs to an unknown {rank}: none has a label with nodes of that rank below it. "
                f"Give examples of taxa that the tree does not have, labelled by the deepest node that they "
                f"belong to."
            )
        promise = Promise(spec.guarantee, share, delta)
        tau, found = _rank_threshold(spec, promise, examples, (rank, spec.settings.strict), unknown)
        thresholds[rank] = max(tau, thresholds.get(rank, BOTTOM[examples.scale]))
        notes += found
    return {rank: thresholds[rank] for rank in ranks.names if rank in thresholds}, notes


def _rank_threshold(
    spec: SelectionSpec,
    promise: Promise,
    examples: CalibrationSet,
    rank: tuple[str, Settings],
    rows: Indices | slice,
) -> tuple[float, list[str]]:
    """Return the threshold of a rank, and a note if too few examples keep all answers above it."""
    score = examples.wrong_at[rank][rows]
    clusters = clusters_of(spec, examples, rows)
    promise = replace(promise, binary=clusters.are_units)
    grid = FAMILIES["threshold"].grid(examples.scale)
    wrong = np.flatnonzero(score > grid[-1])
    losses = np.ones(len(wrong), dtype=np.int64), wrong, np.zeros(len(score), dtype=np.int64)
    steps = Steps.of(score[wrong], *losses, clusters, 1, grid, from_root=True)
    try:
        return GUARANTEES[promise.guarantee].threshold(steps, promise), []
    except TooFew:
        note = (
            f"The promise for {rank[0]} needs at least {needed(promise, clusters)} {clusters.unit}s; found "
            f"{clusters.number:,}. Until then, no answer reaches this rank."
        )
        return np.inf, [note]


# What answers cost, as functions of the threshold --------------------------------------------------------------


@final
@dataclass(frozen=True, eq=False)
class Steps:
    """Where the losses of examples change, in the order in which a threshold moving away from the safe end passes.

    The sum over clusters of their mean losses is ``start`` at the safe end, plus the amounts of all steps passed.
    """

    score: NDArray[np.float64]
    """The threshold of each step."""
    amount: NDArray[Any]
    """By how much the loss of an example changes there: whole numbers of parts."""
    parts: int
    """How many parts make a loss of 1."""
    member: Indices
    """The cluster of that example."""
    size: Indices
    """What its loss is divided by."""
    base: NDArray[Any]
    """The loss of each example at the safe end, in parts."""
    clusters: Clusters
    from_root: bool
    """Whether the safe end is the root: then thresholds fall, and a step is passed below its score."""
    grid: NDArray[np.float64]
    """Thresholds that depend on nothing, from the highest down to the lowest that there is."""

    @classmethod
    def of(
        cls,
        score: NDArray[np.float64],
        amount: NDArray[Any],
        example: Indices,
        base: NDArray[Any],
        clusters: Clusters,
        parts: int,
        grid: NDArray[np.float64],
        *,
        from_root: bool,
    ) -> Steps:
        """Put steps in order.

        Parameters
        ----------
        score, amount, example
            The steps, in any order.
        base
            The loss of each example at the safe end.
        clusters
            The clusters of the examples.
        parts, grid, from_root
            See the fields.
        """
        order = np.argsort(-score if from_root else score, kind="stable")
        member, size = clusters.member[example[order]], clusters.divisor[example[order]]
        return cls(score[order], amount[order], parts, member, size, base, clusters, from_root, grid)

    @cached_property
    def start(self) -> Fraction:
        """The losses at the safe end."""
        return _total(self.base, self.clusters.divisor, self.parts)

    def walk(self, alpha: Fraction, delta: Fraction) -> float:
        """Return the boldest threshold of the grid up to which betting refutes that the mean loss is above α."""
        grid = self.grid if self.from_root else self.grid[::-1]
        clusters, divisor = self.clusters, self.clusters.divisor
        share = (self.base / self.parts).astype(np.float64) - float(alpha)
        start = np.bincount(clusters.member, share / divisor).astype(np.float64)
        if not refuted(start[:, None], alpha, delta)[0]:
            if (self.base == 0).all():  # the clusters are smaller than the largest that there may be
                raise TooFew
            raise AffordsNothing(self.start)
        amount = (self.amount / self.parts).astype(np.float64) / self.size
        place = passed_from(grid, self.score, from_root=self.from_root)
        last = Walk.of(start, place, self.member, amount, len(grid)).last_refuted(0, alpha, delta)
        return float(grid[last]) if last >= 0 else np.inf if self.from_root else float(self.grid[-1])

    def within(self, budget: Fraction) -> float:
        """Return the boldest threshold up to which the losses, which only grow, are within a budget; exactly."""
        ends = self._ends
        low, high = 0, len(ends) + 1  # passing `low` groups of equal scores is affordable, passing `high` is not
        if self.start > budget:
            raise AffordsNothing(self.start)
        while high - low > 1:
            middle = (low + high) // 2
            affordable = self._after(ends[middle - 1]) <= budget
            low, high = (middle, high) if affordable else (low, middle)
        return self._before(low)

    def first_above(self, budget: Fraction) -> float:
        """Return the boldest threshold up to which losses that may also fall never exceed a budget."""
        if self.start > budget:
            raise AffordsNothing(self.start)
        above = np.flatnonzero(self._exceeding(budget))
        return self._before(int(above[0]) if len(above) else len(self._ends))

    def last_within(self, budget: Fraction) -> float:
        """Return the boldest threshold at which the losses are within a budget."""
        within = np.flatnonzero(~np.append(self.start > budget, self._exceeding(budget)))
        if not len(within):
            raise AffordsNothing(self.start)
        return self._before(int(within[-1]))

    def weighed(self, weighing: Weighing) -> Steps:
        """Return the steps with losses that count as a weighing says; every example is a cluster of its own."""
        return replace(
            self,
            amount=self.amount.astype(object) * weighing.times[self.member],
            parts=self.parts * weighing.parts,
            size=weighing.divisor[self.member],
            base=self.base.astype(object) * weighing.times,
            clusters=replace(self.clusters, size=weighing.divisor),
        )

    def affordable(self, budget: Fraction, price: Fraction) -> tuple[tuple[float, float], ...]:
        """Return ``(most, threshold)`` such that the losses at the threshold are within ``budget - most * price``.

        They are in the order of the walk: each threshold is bolder than the one before, and has a smaller
        ``most``,
        which is rounded down.
        """
        losses = [self.start]
        if len(self._ends):
            passed = np.cumsum(self.amount)[self._ends - 1]
            losses += [
                self.start + Fraction(int(total), self.parts) for total in passed if total <= budget * self.parts
            ]
        found: dict[float, float] = {}
        for group, loss in enumerate(losses):
            if loss > budget:
                break
            exact = (budget - loss) / price
            most = float(exact)
            most = most if Fraction(most) <= exact else math.nextafter(most, -math.inf)
            found[max(most, 0.0)] = self._before(group)
        return tuple(found.items())

    @property
    def _ends(self) -> Indices:
        """The end of each group of steps with equal scores."""
        if not len(self.score):
            return np.zeros(0, dtype=np.int64)
        return np.append(np.flatnonzero(self.score[1:] != self.score[:-1]), len(self.score) - 1) + 1

    def _after(self, passed: int) -> Fraction:
        """Return the losses after so many steps."""
        return self.start + _total(self.amount[:passed], self.size[:passed], self.parts)

    def _exceeding(self, budget: Fraction) -> NDArray[np.bool_]:
        """Return after which groups of steps with equal scores the losses exceed a budget."""
        ends = self._ends
        if not len(ends):
            return np.zeros(0, dtype=bool)
        if self.size.min() == self.size.max():
            most = math.floor((budget - self.start) * self.parts * int(self.size[0]))
            return np.asarray(np.cumsum(self.amount)[ends - 1] > most, dtype=bool)
        share = (self.amount / self.parts).astype(np.float64) / self.size
        room = float(budget - self.start) - np.cumsum(share)[ends - 1]
        exceeding = np.asarray(room < 0)
        for group in np.flatnonzero(np.abs(room) < _ROUNDING * len(share)):
            exceeding[group] = self._after(ends[group]) > budget
        return exceeding

    def _before(self, group: int) -> float:
        """Return the boldest threshold that does not pass a group of steps; for the last one, the end."""
        starts = np.append(0, self._ends)
        if group >= len(starts) - 1:
            return float(self.grid[-1]) if self.from_root else np.inf
        score = float(self.score[starts[group]])
        return score if self.from_root else float(np.nextafter(score, -np.inf))


class AffordsNothing(Exception):  # noqa: N818  (it never leaves this package)
    """Even the safe end is beyond the budget."""

    def __init__(self, loss: Fraction) -> None:
        super().__init__(loss)
        self.loss = loss


def _total(amount: NDArray[Any], size: Indices, parts: int) -> Fraction:
    """Return Σ amount / size / parts, exactly."""
    if not len(amount):
        return Fraction(0)
    if size.min() == size.max():
        return Fraction(int(amount.sum()), int(size[0]) * parts)
    distinct, place = np.unique(size, return_inverse=True)
    sums = np.zeros(len(distinct), dtype=amount.dtype)
    np.add.at(sums, place, amount)
    return sum((Fraction(int(a), int(s) * parts) for a, s in zip(sums, distinct, strict=True)), Fraction(0))


def loss_changes(
    events: Events, at_root: NDArray[Any], after: NDArray[Any], *, from_root: bool, growing: bool
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the loss of each example at the safe end, and how each event changes it when it is passed.

    Parameters
    ----------
    events
        The events of some examples.
    at_root
        The loss of each example if the answer is the root.
    after
        The loss after each event.
    from_root
        Whether the root is the safe end.
    growing
        Count each example with its largest loss since the safe end: the smallest loss that never falls and is
        never below the real one. With a loss of 1 for a wrong answer, its only step is at the largest likelihood
        at which the answer is wrong.
    """
    moved = np.flatnonzero(events.count)
    count, end = events.count[moved], np.cumsum(events.count, dtype=np.int64)[moved]
    before = np.empty_like(after)
    before[1:] = after[:-1]
    before[end - count] = at_root[moved]
    base, old, new, place, step = at_root, before, after, end - count, 1
    if not from_root:
        base, old, new, place, step = at_root.copy(), after, before, end - 1, -1
        base[moved] = after[end - 1]
    if not growing:
        return base, new - old
    amount, worst = np.zeros_like(after), base[moved]
    while len(place):  # the next event of each example that has one
        amount[place] = np.maximum(new[place] - worst, 0)
        worst = np.maximum(worst, new[place])
        more = count > 1
        place, count, worst = place[more] + step, count[more] - 1, worst[more]
    return base, amount
