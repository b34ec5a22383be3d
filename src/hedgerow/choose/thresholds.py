"""The boldest thresholds that keep a promise: one for all, or one for each group, clade or rank.

The loss of an example changes at its events. *Steps* say where and by how much, seen from the end of the family
that keeps the promise best: the root for being right, the most specific answers for finding much. A threshold is
chosen by moving away from that end until the losses exceed a budget: see `hedgerow.choose.guarantees`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.choose.families import FAMILIES
from hedgerow.choose.guarantees import GUARANTEES, Promise
from hedgerow.errors import HedgerowError, ScoreError, counted, some
from hedgerow.likelihood import BOTTOM
from hedgerow.measure import Clusters, Events, Ranks

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hedgerow.choose.select import CalibrationSet
    from hedgerow.choose.spec import SelectionSpec, Target
    from hedgerow.tree import Indices, Settings


_ROUNDING = 1e-15  # of a sum of losses, per term


class CannotPromiseError(HedgerowError):
    """No operating point keeps the promise."""


def thresholds_of(spec: SelectionSpec, examples: CalibrationSet) -> tuple[dict[str, float], list[str]]:
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
    score, amount, example = events.score[kept], amount[kept], events.example[kept]
    bottom = FAMILIES[spec.rule].bottom(examples.scale)

    def steps(rows: Indices | slice, clusters: Clusters) -> Steps:
        place = np.full(len(base), -1)
        place[rows] = np.arange(len(base[rows]))
        member = place[example]
        inside = member >= 0
        given = score[inside], amount[inside], member[inside], base[rows]
        return Steps.of(*given, clusters, parts, from_root=from_root, bottom=bottom)

    return steps


def _clusters(examples: CalibrationSet, rows: Indices | slice) -> Clusters:
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
        problem = (
            f"{target} cannot be promised with {counted(clusters.number, clusters.unit, f'{clusters.unit}s')}"
            f"{there}: at least {promise.needed:,} are needed"
        )
        if spec.from_root:
            return np.inf, [f"{problem}. Until then, the answer is always the root."]
        raise CannotPromiseError(
            f"{problem}, and the root does not keep this promise either. Collect more, or promise less."
        )
    try:
        return GUARANTEES[spec.guarantee].threshold(steps, budget, target.is_binary), []
    except AffordsNothing as nothing:
        reached = target.at_loss(nothing.loss / clusters.number).level
        short = (reached < target.level) == target.higher_is_better
        why = "" if short else ", which leaves too little room for chance"
        raise CannotPromiseError(
            f"{target} cannot be promised{there}: the most specific answers reach {float(reached):.4g} on "
            f"these {clusters.unit}s{why}. Promise less, or collect more examples."
        ) from None


# A threshold for each rank -------------------------------------------------------------------------------------


def _by_rank(spec: SelectionSpec, examples: CalibrationSet) -> tuple[dict[str, float], list[str]]:
    thresholds: dict[str, float] = {}
    notes: list[str] = []
    delta = spec.delta / len(spec.ranks)  # all ranks together keep their promises with probability 1 - δ
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
                f"No example belongs to an unknown {rank}: none has a label with nodes of that rank below it. "
                f"Give examples of taxa that the tree does not have, labelled by the deepest node that they "
                f"belong to."
            )
        promise = Promise(spec.guarantee, share, delta)
        tau, found = _rank_threshold(promise, examples, (rank, spec.settings.strict), unknown)
        thresholds[rank] = max(tau, thresholds.get(rank, BOTTOM[examples.scale]))
        notes += found
    return {rank: thresholds[rank] for rank in ranks.names if rank in thresholds}, notes


def _rank_threshold(
    promise: Promise, examples: CalibrationSet, rank: tuple[str, Settings], rows: Indices | slice
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
    losses = np.ones(len(wrong), dtype=np.int64), wrong, np.zeros(len(score), dtype=np.int64)
    steps = Steps.of(score[wrong], *losses, clusters, 1, from_root=True, bottom=bottom)
    return steps.within(budget), []


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
    size: Indices
    """The size of the cluster of that example."""
    start: Fraction
    from_root: bool
    """Whether the safe end is the root: then thresholds fall, and a step is passed below its score."""
    bottom: float
    """The lowest threshold."""

    @classmethod
    def of(
        cls,
        score: NDArray[np.float64],
        amount: NDArray[Any],
        example: Indices,
        base: NDArray[Any],
        clusters: Clusters,
        parts: int,
        *,
        from_root: bool,
        bottom: float,
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
        parts, from_root, bottom
            See the fields.
        """
        order = np.argsort(-score if from_root else score, kind="stable")
        start = _total(base, clusters.size, parts)
        return cls(score[order], amount[order], parts, clusters.size[example[order]], start, from_root, bottom)

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
            return self.bottom if self.from_root else np.inf
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
