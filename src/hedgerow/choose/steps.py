"""Losses as step functions of the threshold.

The loss of an example changes only at its events. *Steps* are these changes, in the order in which a threshold
passes them as it moves away from the *safe end*: the end of the family that keeps the promise best, which is the
root for correct, and the most specific answers for recall. The chosen threshold is the boldest one, the farthest
from the safe end, that keeps the losses within a budget: see `hedgerow.choose.guarantees`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.arrays import take_rows
from hedgerow.choose.betting import Walk, passing_index, refuted
from hedgerow.choose.written import exactly

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.choose.shift import Reweighting
    from hedgerow.measure import Clusters, Events
    from hedgerow.tree import Indices

_ROUNDING = 1e-15  # of a sum of losses, per term


class TooFew(Exception):  # noqa: N818  (it never leaves this package)
    """There are too few examples or clusters to promise anything."""


class OverBudget(Exception):  # noqa: N818  (it never leaves this package)
    """Even the losses at the safe end exceed the budget."""

    def __init__(self, loss: Fraction) -> None:
        super().__init__(loss)
        self.loss = loss


@final
@dataclass(frozen=True, eq=False)
class Changes:
    """The changes of some quantities of each example at its events, example by example."""

    score: NDArray[np.float64]
    """The score of the event of each change."""
    amounts: tuple[NDArray[Any], ...]
    """By how much each quantity changes there."""
    start: Indices
    """[examples + 1] Where the changes of each example start, and where those of the last one end."""

    @classmethod
    def of(cls, events: Events, *amounts: NDArray[Any]) -> Changes:
        """Keep the events at which some quantity changes."""
        kept = np.flatnonzero(np.any([amount != 0 for amount in amounts], axis=0))
        count = np.bincount(events.example[kept], minlength=len(events.label))
        return cls(events.score[kept], tuple(each[kept] for each in amounts), np.append(0, np.cumsum(count)))

    def take(self, rows: Indices | slice) -> Changes:
        """Return the changes of some of the examples."""
        start, inside = take_rows(self.start, rows)
        return Changes(self.score[inside], tuple(each[inside] for each in self.amounts), start)

    @property
    def example(self) -> Indices:
        """The example of each change."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))


@final
@dataclass(frozen=True, eq=False)
class Losses:
    """The loss of each example at every threshold, in exact units: `denominator` of them make a loss of 1."""

    changes: Changes
    base: NDArray[Any]
    """The loss of each example at the safe end."""
    denominator: int
    grid: NDArray[np.float64]
    """Thresholds that depend on no example, from the highest to the lowest."""
    from_root: bool
    """Whether the safe end is the root, so that the threshold falls as it moves away."""

    @classmethod
    def of(
        cls,
        events: Events,
        losses: NDArray[Any],
        denominator: int,
        grid: NDArray[np.float64],
        *,
        from_root: bool,
        monotone: bool,
    ) -> Losses:
        """Follow the loss of each example from event to event.

        Parameters
        ----------
        events
            The events of some examples.
        losses
            The loss of each example if the answer is the root, then the loss after each event; in exact units.
        denominator, grid, from_root
            See the class.
        monotone
            Whether to count each example with its largest loss so far: see `loss_changes`.
        """
        at_root, after = losses[: len(events.label)], losses[len(events.label) :]
        base, amount = loss_changes(events, at_root, after, from_root=from_root, monotone=monotone)
        return cls(Changes.of(events, amount), base, denominator, grid, from_root)

    def take(self, rows: Indices | slice) -> Losses:
        """Return the losses of some of the examples."""
        return replace(self, changes=self.changes.take(rows), base=self.base[rows])

    def reweighted(self, by: Reweighting) -> Losses:
        """Return the losses times `by.numerator`, over `by.denominator`; `by.divisor` is for the clusters."""
        amount = self.changes.amounts[0].astype(object) * by.numerator[self.changes.example]
        return replace(
            self,
            changes=replace(self.changes, amounts=(amount,)),
            base=self.base.astype(object) * by.numerator,
            denominator=self.denominator * by.denominator,
        )


@final
@dataclass(frozen=True, eq=False)
class Steps:
    """The changes of losses, in the order in which a threshold passes them as it moves away from the safe end.

    The total loss is the sum over clusters of their mean losses. Steps with equal scores are a *tie*, which a
    threshold passes as a whole.
    """

    losses: Losses
    clusters: Clusters
    score: NDArray[np.float64]
    """The score of each step."""
    amount: NDArray[Any]
    """By how much the loss of an example changes there, in the exact units of the losses."""
    example: Indices
    """The example whose loss changes."""

    @classmethod
    def of(cls, losses: Losses, clusters: Clusters) -> Steps:
        """Put the changes of the losses of some examples in order, given the clusters of these examples."""
        changes = losses.changes
        order = np.argsort(-changes.score if losses.from_root else changes.score, kind="stable")
        return cls(losses, clusters, changes.score[order], changes.amounts[0][order], changes.example[order])

    def by_betting(self, alpha: Fraction, delta: Fraction) -> float:
        """Return the boldest threshold of the grid up to which betting refutes that the mean loss is above α."""
        losses, clusters = self.losses, self.clusters
        grid = losses.grid if losses.from_root else losses.grid[::-1]
        excess = (losses.base / losses.denominator).astype(np.float64) - float(alpha)
        start = np.bincount(clusters.member, excess / clusters.divisor).astype(np.float64)
        if not refuted(start[:, None], alpha, delta)[0]:
            if (losses.base == 0).all():  # possible if clusters are smaller than the largest one may be
                raise TooFew
            raise OverBudget(self._start)
        index = passing_index(grid, self.score, from_root=losses.from_root)
        walk = Walk.of(start, index, clusters.member[self.example], self._shares, len(grid))
        last = walk.last_refuted(0, alpha, delta)
        return float(grid[last]) if last >= 0 else np.inf if losses.from_root else float(losses.grid[-1])

    def up_to(self, budget: Fraction) -> float:
        """Return the boldest threshold within a budget, if no step lowers a loss; computed exactly."""
        ends = self._ends
        low, high = 0, len(ends) + 1  # passing `low` ties is within the budget, passing `high` is not
        if self._start > budget:
            raise OverBudget(self._start)
        while high - low > 1:
            middle = (low + high) // 2
            within = self._after(ends[middle - 1]) <= budget
            low, high = (middle, high) if within else (low, middle)
        return self._before(low)

    def before_first_excess(self, budget: Fraction) -> float:
        """Return the boldest threshold up to which the losses never exceed a budget."""
        if self._start > budget:
            raise OverBudget(self._start)
        above = np.flatnonzero(self._exceeding(budget))
        return self._before(int(above[0]) if len(above) else len(self._ends))

    def last_within(self, budget: Fraction) -> float:
        """Return the boldest threshold within a budget, even if less bold ones exceed it."""
        within = np.flatnonzero(~np.append(self._start > budget, self._exceeding(budget)))
        if not len(within):
            raise OverBudget(self._start)
        return self._before(int(within[-1]))

    def by_weight(self, budget: Fraction, price: Fraction) -> tuple[tuple[float, float], ...]:
        """Return pairs of a largest weight and a threshold, from cautious to bold, if no step lowers a loss.

        The losses at the threshold are within ``budget - weight * price`` for all weights up to the largest one,
        which is rounded down to a float, read as the decimal that a user would write.
        """
        denominator, losses = self.losses.denominator, [self._start]
        if len(self._ends):
            totals = np.cumsum(self.amount)[self._ends - 1]
            losses += [
                self._start + Fraction(int(total), denominator)
                for total in totals
                if total <= budget * denominator
            ]
        found: dict[float, float] = {}
        for tie, loss in enumerate(losses):
            if loss > budget:
                break
            exact = (budget - loss) / price
            most = float(exact)
            most = most if exactly(most) <= exact else math.nextafter(most, -math.inf)
            found[max(most, 0.0)] = self._before(tie)
        return tuple(found.items())

    @cached_property
    def _size(self) -> Indices:
        """What the loss of the example of each step is divided by."""
        return self.clusters.divisor[self.example]

    @cached_property
    def _start(self) -> Fraction:
        """The total loss at the safe end."""
        return _total(self.losses.base, self.clusters.divisor, self.losses.denominator)

    @property
    def _shares(self) -> NDArray[np.float64]:
        """By how much each step changes the total loss, rounded."""
        return (self.amount / self.losses.denominator).astype(np.float64) / self._size

    @property
    def _ends(self) -> Indices:
        """The end of each tie."""
        if not len(self.score):
            return np.zeros(0, dtype=np.int64)
        return np.append(np.flatnonzero(self.score[1:] != self.score[:-1]), len(self.score) - 1) + 1

    def _after(self, passed: int) -> Fraction:
        """Return the total loss after the first `passed` steps."""
        return self._start + _total(self.amount[:passed], self._size[:passed], self.losses.denominator)

    def _exceeding(self, budget: Fraction) -> NDArray[np.bool_]:
        """Return after which ties the total loss exceeds a budget."""
        ends, size = self._ends, self._size
        if not len(ends):
            return np.zeros(0, dtype=bool)
        if size.min() == size.max():
            most = math.floor((budget - self._start) * self.losses.denominator * int(size[0]))
            return np.asarray(np.cumsum(self.amount)[ends - 1] > most, dtype=bool)
        room = float(budget - self._start) - np.cumsum(self._shares)[ends - 1]
        exceeding = np.asarray(room < 0)
        for tie in np.flatnonzero(np.abs(room) < _ROUNDING * len(size)):
            exceeding[tie] = self._after(ends[tie]) > budget
        return exceeding

    def _before(self, tie: int) -> float:
        """Return the boldest threshold that does not pass a tie; after the last tie, the bold end."""
        starts = np.append(0, self._ends)
        if tie >= len(starts) - 1:
            return float(self.losses.grid[-1]) if self.losses.from_root else np.inf
        score = float(self.score[starts[tie]])
        return score if self.losses.from_root else float(np.nextafter(score, -np.inf))


def _total(amount: NDArray[Any], size: Indices, denominator: int) -> Fraction:
    """Return Σ amount / size / denominator, exactly."""
    if not len(amount):
        return Fraction(0)
    if size.min() == size.max():
        return Fraction(int(amount.sum()), int(size[0]) * denominator)
    distinct, place = np.unique(size, return_inverse=True)
    sums = np.zeros(len(distinct), dtype=amount.dtype)
    np.add.at(sums, place, amount)
    return sum((Fraction(int(a), int(s) * denominator) for a, s in zip(sums, distinct, strict=True)), Fraction(0))


def loss_changes(
    events: Events, at_root: NDArray[Any], after: NDArray[Any], *, from_root: bool, monotone: bool
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the loss of each example at the safe end, and the change of its loss at each event.

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
    monotone
        Whether to count each example with its largest loss so far, which is the smallest loss that never falls and
        is never below the real one. For losses of 0 and 1, it has one step: at the first wrong answer.
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
    if not monotone:
        return base, new - old
    amount, worst = np.zeros_like(after), base[moved]
    while len(place):  # the next event of each example that has one
        amount[place] = np.maximum(new[place] - worst, 0)
        worst = np.maximum(worst, new[place])
        more = count > 1
        place, count, worst = place[more] + step, count[more] - 1, worst[more]
    return base, amount
