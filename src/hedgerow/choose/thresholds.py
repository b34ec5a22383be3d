"""The boldest thresholds that keep a promise: one for all examples, or one for each group, clade or rank."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np

from hedgerow.choose.answered import Answered
from hedgerow.choose.families import FAMILIES
from hedgerow.choose.guarantees import GUARANTEES
from hedgerow.choose.merging import merged_clades, merged_groups
from hedgerow.choose.shift import Reweighting, Strata
from hedgerow.choose.steps import Changes, Losses, OverBudget, Steps, TooFew, loss_changes
from hedgerow.errors import HedgerowError, ScoreError, argument, counted, some
from hedgerow.likelihood import BOTTOM
from hedgerow.measure import Ranks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from hedgerow.choose.calibration import CalibrationSet
    from hedgerow.choose.guarantees import Bound
    from hedgerow.choose.merging import Merged
    from hedgerow.choose.promise import Promise
    from hedgerow.choose.request import Request
    from hedgerow.measure import Clusters
    from hedgerow.tree import Indices


class CannotPromiseError(HedgerowError):
    """No operating point keeps the promise."""


@final
@dataclass(frozen=True)
class Thresholds:
    """Thresholds that keep a promise, and how they were chosen: fields of `OperatingPoint`."""

    thresholds: dict[str, float]
    calibrated_on: dict[str, tuple[int, int]]
    merged: tuple[Merged, ...] = ()
    weight_steps: tuple[tuple[float, float], ...] = ()
    notes: list[str] = field(default_factory=list)


def thresholds_of(request: Request, promises: Sequence[Promise], examples: CalibrationSet) -> Thresholds:
    """Return the threshold for all examples, or for each group, clade or rank."""
    if request.by == "rank":
        return _by_rank(promises, request, examples)
    search = _TargetSearch(request, examples, promises[0])
    return search.for_other_data() if request.is_shifted else search.for_these_data()


# Losses as functions of the threshold ----------------------------------------------------------------------------


def losses_of(promise: Promise, request: Request, examples: CalibrationSet) -> Losses:
    """Return the loss of each example at every threshold."""
    events, guarantee = examples.events, GUARANTEES[request.guarantee]
    labels = np.append(events.label, np.repeat(events.label, events.count)).astype(np.int64)
    answers = np.append(np.zeros_like(events.label), events.node).astype(np.int64)
    losses, denominator = promise.loss.of(labels, answers)
    binary = promise.bound(examples.units(request).are_units).binary
    return Losses.of(
        events,
        losses,
        denominator,
        FAMILIES[request.rule].grid(examples.scale),
        from_root=promise.loss.is_0_at_root,
        monotone=guarantee.needs_monotone_losses(binary),
    )


def covered_and_wrong(promise: Promise, examples: CalibrationSet) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which events lead to an answer that the promise covers, and which of these answers are wrong."""
    events = examples.events
    node = events.node.astype(np.int64)
    covered = promise.loss.covered[node]
    losses, _ = promise.loss.of(np.repeat(events.label, events.count).astype(np.int64), node)
    return covered, covered & (losses > 0)


def _answer_changes(promise: Promise, examples: CalibrationSet) -> Changes:
    """Return how [the promise covers the answer] and [it is wrong too] change: see `Answered`."""
    events = examples.events
    none = np.zeros(len(events.label), dtype=np.int8)
    amounts = (
        loss_changes(events, none, holds.astype(np.int8), from_root=True, monotone=False)[1]
        for holds in covered_and_wrong(promise, examples)
    )
    return Changes.of(events, *amounts)


# A target: one threshold for all, or for each group or clade -----------------------------------------------------


@final
@dataclass(frozen=True)
class _TargetSearch:
    """The search for the thresholds of a target."""

    request: Request
    examples: CalibrationSet
    promise: Promise

    def target(self) -> str:
        """Return the target in words."""
        return self.promise.loss.in_words(self.promise.loss.level_at(self.promise.alpha))

    def for_these_data(self) -> Thresholds:
        """Return the threshold for data like the calibration data, or that of each group or clade."""
        request, threshold = self.request, self._threshold()
        thresholds: dict[str, float] = {}
        calibrated_on: dict[str, tuple[int, int]] = {}
        merged: list[Merged] = []
        small: list[str] = []
        for names, rows in self._parts():
            clusters = self.examples.units(request, rows)
            there = "" if request.by == "all" else f" in the {request.by} {some(names)}"
            try:
                if not clusters.number:
                    raise TooFew
                tau = threshold(rows, clusters)
            except TooFew:
                if not self.promise.loss.is_0_at_root:
                    raise CannotPromiseError(
                        f"{self._too_few(clusters, there)}, and the root does not keep this promise either. "
                        f"Collect more, or promise less."
                    ) from None
                tau, small = np.inf, [*small, *names]
            except OverBudget as error:
                raise CannotPromiseError(self._out_of_reach(error.loss / clusters.mass, clusters, there)) from None
            thresholds |= dict.fromkeys(names, tau)
            calibrated_on |= dict.fromkeys(names, (clusters.number, len(clusters.member)))
            merged += [names] * (len(names) > 1)
        notes = [*self._doubts_about(merged), *([self._small_note(small)] if small else [])]
        return Thresholds(dict(sorted(thresholds.items())), calibrated_on, tuple(merged), notes=notes)

    def _threshold(self) -> Callable[[Indices | slice, Clusters], float]:
        """Return a function that chooses the threshold of some of the examples, given their clusters."""
        promise, examples, request = self.promise, self.examples, self.request
        guarantee = GUARANTEES[request.guarantee]
        if request.among is None:
            losses = losses_of(promise, request, examples)
            return lambda rows, clusters: guarantee.threshold(
                Steps.of(losses.take(rows), clusters), promise.bound(clusters.are_units)
            )
        changes, grid = _answer_changes(promise, examples), FAMILIES[request.rule].grid(examples.scale)
        return lambda rows, clusters: guarantee.threshold_among(
            Answered(grid, examples.scale, changes.take(rows), clusters), promise.bound(clusters.are_units)
        )

    def _parts(self) -> Iterator[tuple[Merged, Indices | slice]]:
        """Yield the examples that share a threshold, with the names of their groups or clades."""
        if self.request.by == "all":
            yield ("",), slice(None)
            return
        found, place = np.unique(self.examples.names(self.request.by).astype(str), return_inverse=True)
        names = found.tolist()
        parts = self._merged(names, place) if self.request.merge_small is not None else [(name,) for name in names]
        part_of = {name: i for i, part in enumerate(parts) for name in part}
        number = np.array([part_of[name] for name in names])[place]
        ends = np.cumsum(np.bincount(number, minlength=len(parts)))
        yield from zip(parts, np.split(np.argsort(number, kind="stable"), ends[:-1]), strict=True)

    def _merged(self, names: list[str], place: Indices) -> list[Merged]:
        """Merge small groups or clades, given their names and the position of each example's among them."""
        request, tree = self.request, self.examples.hierarchy
        everyone = self.examples.units(request)
        needed = self.promise.bound(everyone.are_units).needed * (everyone.largest or 1)
        sizes: dict[str, float] = {name: float(size) for name, size in (request.merge_small or {}).items()}
        if not sizes:
            units = np.unique(np.stack([place, everyone.member]), axis=1)[0] if everyone.largest is None else place
            sizes = dict(zip(names, np.bincount(units, minlength=len(names)).tolist(), strict=True))
        sizes = dict.fromkeys(names, 0.0) | sizes
        if (depth := request.clade_depth(tree)) is None:
            return merged_groups(sizes, needed)
        ends = (tree.depth == depth) | (tree.is_leaf & (tree.depth < depth))
        return merged_clades(tree, dict.fromkeys(tree.names[ends].tolist(), 0.0) | sizes, needed)

    def _doubts_about(self, merged: list[Merged]) -> Iterator[str]:
        """Yield reasons to doubt the promise for merged groups or clades."""
        sizes, by = self.request.merge_small, self.request.by
        unnamed = sorted(set(self.examples.names(by).tolist()) - (sizes or {}).keys())
        if merged and not sizes:
            yield (
                f"The same examples say which {by}s are small, so the promise for merged {by}s is approximate. To "
                f"keep it exact, give sizes from other data: "
                f"{argument('merge_small', 'FILE', python='merge_small={...}')}."
            )
        elif sizes and unnamed and by == "group":
            yield (
                f"The given sizes lack {some(unnamed)}: they count as 0, and the promise for groups merged with "
                f"them is approximate. Give their sizes too."
            )

    def _small_note(self, small: list[str]) -> str:
        """Say that there are too few examples, or too few in some groups or clades."""
        clusters, by = self.examples.units(self.request), self.request.by
        if by == "all":
            return f"{self._too_few(clusters, '')}. Until then, the answer is always the root."
        return (
            f"{counted(len(small), f'{by} is', f'{by}s are')} too small for the promise, so the answer there is "
            f"always the root: {some(small)}. Each needs at least "
            f"{_needed(self.promise.bound(clusters.are_units), clusters)}."
        )

    def _too_few(self, clusters: Clusters, there: str) -> str:
        number = counted(clusters.number, clusters.unit, f"{clusters.unit}s")
        least = _needed(self.promise.bound(clusters.are_units), clusters)
        return f"{self.target()} cannot be promised with {number}{there}: at least {least} are needed"

    def _out_of_reach(self, loss: Fraction, clusters: Clusters, there: str) -> str:
        """Say that even the most specific answers do not reach the target."""
        why = "" if loss > self.promise.alpha else ", which leaves too little room for chance"
        reached = float(self.promise.loss.level_at(loss))
        return (
            f"{self.target()} cannot be promised{there}: the most specific answers reach {reached:.4g} on these "
            f"{clusters.unit}s{why}. Promise less, or collect more examples."
        )

    # Other data than the calibration data ------------------------------------------------------------------------

    def for_other_data(self) -> Thresholds:
        """Return the threshold for data with the expected shares, or those for examples of every weight."""
        request, examples, alpha = self.request, self.examples, self.promise.alpha
        if (weights := examples.known.weights) is not None:
            counting = Reweighting.by_weights(weights, alpha)
        else:
            strata = Strata.of(examples.hierarchy, request.expect or {})
            counting = Reweighting.by_shares(strata, examples.labels, alpha)
        losses = losses_of(self.promise, request, examples).reweighted(counting)
        steps = Steps.of(losses, replace(examples.units(request), size=counting.divisor))
        budget = counting.budget
        weight_steps: tuple[tuple[float, float], ...] = ()
        if request.weights:
            weight_steps = steps.by_weight(budget, 1 - alpha)
            budget -= (1 - alpha) * Fraction(int(counting.numerator.sum()), counting.denominator * len(examples))
        notes = list(counting.notes)
        try:
            tau = steps.up_to(budget)
        except OverBudget:
            there = "an example of the mean weight" if request.weights else "data with the expected shares"
            problem = (
                f"{self.target()} cannot be promised with {counted(len(examples), 'example', 'examples')} for "
                f"{there}: more are needed where they count most"
            )
            if not self.promise.loss.is_0_at_root:
                raise CannotPromiseError(f"{problem}, or promise less.") from None
            tau, notes = np.inf, [*notes, f"{problem}. Until then, the answer is always the root."]
        calibrated_on = {"": (counting.effective_number, len(examples))}
        return Thresholds({"": tau}, calibrated_on, weight_steps=weight_steps, notes=notes)


def _needed(bound: Bound, clusters: Clusters) -> str:
    """Say how many clusters or examples a bound needs."""
    number = counted(bound.needed, clusters.unit, f"{clusters.unit}s")
    return number if clusters.largest is None else f"{number} of {clusters.largest:,} examples"


# Levels per rank: a threshold for each ---------------------------------------------------------------------------


def _by_rank(promises: Sequence[Promise], request: Request, examples: CalibrationSet) -> Thresholds:
    found: dict[str, float] = {}
    calibrated_on: dict[str, tuple[int, int]] = {}
    notes: list[str] = []
    for promise in promises:
        rank, rows = promise.rank, promise.loss.rows(examples.labels)
        clusters = examples.units(request, rows)
        if not len(clusters.member):
            raise ScoreError(
                f"There are no examples of an unknown {rank}: no label has nodes of that rank below it. Add "
                f"examples of taxa that the tree lacks, labelled with the deepest node that they belong to."
            )
        bound = promise.bound(clusters.are_units)
        calibrated_on[promise.name] = clusters.number, len(clusters.member)
        try:
            tau = GUARANTEES[request.guarantee].threshold(_rank_steps(examples, promise, rows, clusters), bound)
        except TooFew:
            tau = np.inf
            notes.append(
                f"The promise for {rank} needs at least {_needed(bound, clusters)}; found "
                f"{clusters.number:,}. Until then, no answer reaches this rank."
            )
        found[rank] = max(tau, found.get(rank, BOTTOM[examples.scale]))
    ranks = [rank for rank in Ranks.of(examples.hierarchy).names if rank in found]
    return Thresholds({rank: found[rank] for rank in ranks}, calibrated_on, notes=notes)


def _rank_steps(examples: CalibrationSet, promise: Promise, rows: Indices, clusters: Clusters) -> Steps:
    """Return the steps of losses that are 1 where the threshold is below the likelihood of a wrong node."""
    score = examples.known[f"wrong_at:{promise.name}"][rows]
    grid = FAMILIES["threshold"].grid(examples.scale)
    wrong = score > grid[-1]
    one = wrong.astype(np.int64)
    changes = Changes(score[wrong], (one[wrong],), np.append(0, np.cumsum(one)))
    losses = Losses(changes, base=np.zeros_like(one), denominator=1, grid=grid, from_root=True)
    return Steps.of(losses, clusters)
