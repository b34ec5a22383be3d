"""What answers cost, as a function of the threshold.

The loss of an example changes at its events. *Steps* say where and by how much, seen from the end of the family
that keeps the promise best: the root for being right, the most specific answers for finding much. A threshold is
chosen by moving away from that end until the losses exceed a budget: see `hedgerow.choose.guarantees`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.arrays import take_rows
from hedgerow.choose.betting import Walk, passed_from, refuted
from hedgerow.choose.written import exactly

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.choose.shift import Weighing
    from hedgerow.measure import Clusters, Events
    from hedgerow.tree import Indices

_ROUNDING = 1e-15  # of a sum of losses, per term


class TooFew(Exception):  # noqa: N818  (it never leaves this package)
    """There are too few examples or clusters to promise anything."""


class AffordsNothing(Exception):  # noqa: N818  (it never leaves this package)
    """Even the safe end is beyond the budget."""

    def __init__(self, loss: Fraction) -> None:
        super().__init__(loss)
        self.loss = loss


@final
@dataclass(frozen=True, eq=False)
class Changes:
    """By how much some numbers of each example change as the threshold passes scores, example by example."""

    score: NDArray[np.float64]
    amounts: tuple[NDArray[Any], ...]
    start: Indices
    """Where the changes of each example start, and the end of the last."""

    @classmethod
    def of(cls, events: Events, *amounts: NDArray[Any]) -> Changes:
        """Keep the events at which some number changes."""
        kept = np.flatnonzero(np.any([amount != 0 for amount in amounts], axis=0))
        count = np.bincount(events.example[kept], minlength=len(events.label))
        return cls(events.score[kept], tuple(each[kept] for each in amounts), np.append(0, np.cumsum(count)))

    def taken(self, rows: Indices | slice) -> Changes:
        """Return those of some of the examples."""
        start, inside = take_rows(self.start, rows)
        return Changes(self.score[inside], tuple(each[inside] for each in self.amounts), start)

    @property
    def example(self) -> Indices:
        """The example of each change."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))


@final
@dataclass(frozen=True, eq=False)
class Losses:
    """The losses of some examples at each threshold."""

    changes: Changes
    base: NDArray[Any]
    """The loss of each example at the safe end, in parts."""
    parts: int
    """How many parts make a loss of 1."""
    grid: NDArray[np.float64]
    """Thresholds that depend on nothing, from the highest down to the lowest that there is."""
    from_root: bool
    """Whether the safe end is the root: then thresholds fall."""

    @classmethod
    def of(
        cls,
        events: Events,
        losses: NDArray[Any],
        parts: int,
        grid: NDArray[np.float64],
        *,
        from_root: bool,
        growing: bool,
    ) -> Losses:
        """Follow the loss of each example from event to event.

        Parameters
        ----------
        events
            The events of some examples.
        losses
            The loss of each example if the answer is the root, then the loss after each event: whole numbers of
            parts.
        parts, grid, from_root
            See the fields.
        growing
            Count each example with its largest loss since the safe end: see `loss_changes`.
        """
        at_root, after = losses[: len(events.label)], losses[len(events.label) :]
        base, amount = loss_changes(events, at_root, after, from_root=from_root, growing=growing)
        return cls(Changes.of(events, amount), base, parts, grid, from_root)

    def taken(self, rows: Indices | slice) -> Losses:
        """Return those of some of the examples."""
        return replace(self, changes=self.changes.taken(rows), base=self.base[rows])


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
    def of(cls, losses: Losses, clusters: Clusters) -> Steps:
        """Put the changes of the losses of some examples in order, with the clusters of these examples."""
        changes = losses.changes
        order = np.argsort(-changes.score if losses.from_root else changes.score, kind="stable")
        example = changes.example[order]
        return cls(
            changes.score[order],
            changes.amounts[0][order],
            losses.parts,
            clusters.member[example],
            clusters.divisor[example],
            losses.base,
            clusters,
            losses.from_root,
            losses.grid,
        )

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
        """Return steps with reweighted losses; every example is a cluster of its own."""
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
        ``most``. All are the decimals that a user would write, so ``most`` is rounded down as one.
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
            most = most if exactly(most) <= exact else math.nextafter(most, -math.inf)
            found[max(most, 0.0)] = self._before(group)
        return tuple(found.items())

    @property
    def _ends(self) -> Indices:
        """The end of each group of steps with equal scores."""
        if not len(self.score):
            return np.zeros(0, dtype=np.int64)
        return np.append(np.flatnonzero(self.score[1:] != self.score[:-1]), len(self.score) - 1) + 1

    def _after(self, passed: int) -> Fraction:
        """Return the total loss after the first `passed` steps."""
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
