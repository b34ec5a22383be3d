"""The boldest thresholds that keep a promise: one for all, or one for each group, clade or rank."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np

from hedgerow.choose.answered import Answered
from hedgerow.choose.families import FAMILIES
from hedgerow.choose.guarantees import GUARANTEES
from hedgerow.choose.merging import merged_clades, merged_groups
from hedgerow.choose.shift import Strata, Weighing
from hedgerow.choose.steps import AffordsNothing, Changes, Losses, Steps, TooFew, loss_changes
from hedgerow.errors import HedgerowError, ScoreError, counted, some
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
    """Thresholds that keep a promise, and what they were chosen with: see the fields of `OperatingPoint`."""

    thresholds: dict[str, float]
    calibrated_on: dict[str, tuple[int, int]]
    merged: tuple[Merged, ...] = ()
    weight_steps: tuple[tuple[float, float], ...] = ()
    notes: list[str] = field(default_factory=list)


def thresholds_of(request: Request, examples: CalibrationSet) -> Thresholds:
    """Return the threshold of each group, clade or rank, or the one for all."""
    promises = request.promises(examples.hierarchy)
    if request.by == "rank":
        return _by_rank(promises, request, examples)
    search = _OneTarget(request, examples, promises[0])
    return search.for_other_data() if request.is_shifted else search.by_part()


# Losses as functions of the threshold ----------------------------------------------------------------------------


def losses_of(promise: Promise, request: Request, examples: CalibrationSet) -> Losses:
    """Return the loss of each answer under the target."""
    events, guarantee = examples.events, GUARANTEES[request.guarantee]
    labels = np.append(events.label, np.repeat(events.label, events.count)).astype(np.int64)
    answers = np.append(np.zeros_like(events.label), events.node).astype(np.int64)
    losses, parts = promise.loss.of(labels, answers)
    binary = promise.bound(examples.counted(request).are_units).binary
    return Losses.of(
        events,
        losses,
        parts,
        FAMILIES[request.rule].grid(examples.scale),
        from_root=promise.loss.is_0_at_the_root,
        growing=guarantee.needs_growing_losses(binary),
    )


def wrong_events(promise: Promise, examples: CalibrationSet) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which events lead to an answer that the promise is about, and to one that is not right."""
    events = examples.events
    node = events.node.astype(np.int64)
    about = promise.loss.about[node]
    losses, _ = promise.loss.of(np.repeat(events.label, events.count).astype(np.int64), node)
    return about, about & (losses > 0)


def _answered(promise: Promise, examples: CalibrationSet) -> Changes:
    """Return by how much the numbers of answers that a promise is about, and of wrong ones, change."""
    events = examples.events
    none = np.zeros(len(events.label), dtype=np.int8)
    amounts = (
        loss_changes(events, none, there.astype(np.int8), from_root=True, growing=False)[1]
        for there in wrong_events(promise, examples)
    )
    return Changes.of(events, *amounts)


# One threshold for all, or for each group or clade ---------------------------------------------------------------


@final
@dataclass(frozen=True)
class _OneTarget:
    """The search for the thresholds of a target."""

    request: Request
    examples: CalibrationSet
    promise: Promise

    def said(self) -> str:
        """Return the target in a few words."""
        return self.promise.loss.said(self.promise.loss.level_of(self.promise.alpha))

    def by_part(self) -> Thresholds:
        """Return one threshold, or that of each group or clade."""
        request, threshold = self.request, self._search()
        found = Thresholds({}, {})
        merged: list[Merged] = []
        small: list[str] = []
        for names, rows in self._parts():
            clusters = self.examples.counted(request, rows)
            there = "" if request.by == "all" else f" in the {request.by} {some(names)}"
            try:
                if not clusters.number:
                    raise TooFew
                tau = threshold(rows, clusters)
            except TooFew:
                if not self.promise.loss.is_0_at_the_root:
                    raise CannotPromiseError(
                        f"{self._too_few(clusters, there)}, and the root does not keep this promise either. "
                        f"Collect more, or promise less."
                    ) from None
                tau, small = np.inf, [*small, *names]
            except AffordsNothing as nothing:
                raise CannotPromiseError(self._beyond(nothing.loss / clusters.mass, clusters, there)) from None
            found.thresholds.update(dict.fromkeys(names, tau))
            found.calibrated_on.update(dict.fromkeys(names, (clusters.number, len(clusters.member))))
            merged += [names] * (len(names) > 1)
        notes = [self._note_of(small)] if small else []
        return Thresholds(dict(sorted(found.thresholds.items())), found.calibrated_on, tuple(merged), notes=notes)

    def _search(self) -> Callable[[Indices | slice, Clusters], float]:
        """Return a function from some of the examples, with their clusters, to their threshold."""
        promise, examples, request = self.promise, self.examples, self.request
        guarantee = GUARANTEES[request.guarantee]
        if request.among is None:
            losses = losses_of(promise, request, examples)
            return lambda rows, clusters: guarantee.threshold(
                Steps.of(losses.taken(rows), clusters), promise.bound(clusters.are_units)
            )
        changes, grid = _answered(promise, examples), FAMILIES[request.rule].grid(examples.scale)
        return lambda rows, clusters: guarantee.among(
            Answered(grid, examples.scale, changes.taken(rows), clusters), promise.bound(clusters.are_units)
        )

    def _parts(self) -> Iterator[tuple[Merged, Indices | slice]]:
        """Yield the examples that share a threshold, with the names of their groups or clades."""
        if self.request.by == "all":
            yield ("",), slice(None)
            return
        found, place = np.unique(self.examples.names(self.request.by).astype(str), return_inverse=True)
        names = found.tolist()
        parts = self._merged(names, place) if self.request.merges else [(name,) for name in names]
        part_of = {name: i for i, part in enumerate(parts) for name in part}
        number = np.array([part_of[name] for name in names])[place]
        ends = np.cumsum(np.bincount(number, minlength=len(parts)))
        yield from zip(parts, np.split(np.argsort(number, kind="stable"), ends[:-1]), strict=True)

    def _merged(self, names: list[str], place: Indices) -> list[Merged]:
        """Merge small groups or clades, whose names, and the place of each example among them, are given."""
        request, tree = self.request, self.examples.hierarchy
        everyone = self.examples.counted(request)
        least = self.promise.bound(everyone.are_units).needed * (everyone.largest or 1)
        sizes: dict[str, float] = {name: float(size) for name, size in (request.merge_sizes or {}).items()}
        if request.merge_sizes is None:
            units = np.unique(np.stack([place, everyone.member]), axis=1)[0] if everyone.largest is None else place
            sizes = dict(zip(names, np.bincount(units, minlength=len(names)).tolist(), strict=True))
        sizes = dict.fromkeys(names, 0.0) | sizes
        if (depth := request.clade_depth(tree)) is None:
            return merged_groups(sizes, least)
        ends = (tree.depth == depth) | (tree.is_leaf & (tree.depth < depth))
        return merged_clades(tree, dict.fromkeys(tree.names[ends].tolist(), 0.0) | sizes, least)

    def _note_of(self, small: list[str]) -> str:
        """Say that there are too few examples, in some groups or clades."""
        clusters, by = self.examples.counted(self.request), self.request.by
        if by == "all":
            return f"{self._too_few(clusters, '')}. Until then, the answer is always the root."
        return (
            f"{counted(len(small), f'{by} is', f'{by}s are')} too small for the promise, so the answer there is "
            f"always the root: {some(small)}. Each needs at least "
            f"{_needed(self.promise.bound(clusters.are_units), clusters)} {clusters.unit}s."
        )

    def _too_few(self, clusters: Clusters, there: str) -> str:
        number = counted(clusters.number, clusters.unit, f"{clusters.unit}s")
        least = _needed(self.promise.bound(clusters.are_units), clusters)
        return f"{self.said()} cannot be promised with {number}{there}: at least {least} are needed"

    def _beyond(self, loss: Fraction, clusters: Clusters, there: str) -> str:
        """Say that even the most specific answers lose too much."""
        why = "" if loss > self.promise.alpha else ", which leaves too little room for chance"
        reached = float(self.promise.loss.level_of(loss))
        return (
            f"{self.said()} cannot be promised{there}: the most specific answers reach {reached:.4g} on these "
            f"{clusters.unit}s{why}. Promise less, or collect more examples."
        )

    # Other data than the calibration data ------------------------------------------------------------------------

    def for_other_data(self) -> Thresholds:
        """Return the threshold for data with the expected shares; or those for examples of all weights."""
        request, examples, alpha = self.request, self.examples, self.promise.alpha
        if examples.weights is not None:
            weighing = Weighing.by_weights(examples.weights, alpha)
        else:
            weighing = Weighing.by_shares(
                Strata.of(examples.hierarchy, request.expect or {}), examples.labels, alpha
            )
        losses = losses_of(self.promise, request, examples)
        steps = Steps.of(losses, examples.counted(request)).weighed(weighing)
        budget = weighing.budget
        weight_steps: tuple[tuple[float, float], ...] = ()
        if request.weights:
            weight_steps = steps.affordable(budget, 1 - alpha)
            budget -= (1 - alpha) * Fraction(int(weighing.times.sum()), weighing.parts * len(examples))
        notes = list(weighing.notes)
        try:
            tau = steps.within(budget)
        except AffordsNothing:
            there = "an example of the mean weight" if request.weights else "data with the expected shares"
            problem = (
                f"{self.said()} cannot be promised with {counted(len(examples), 'example', 'examples')} for "
                f"{there}: more are needed where they count most"
            )
            if not self.promise.loss.is_0_at_the_root:
                raise CannotPromiseError(f"{problem}, or promise less.") from None
            tau, notes = np.inf, [*notes, f"{problem}. Until then, the answer is always the root."]
        calibrated_on = {"": (weighing.effective_number, len(examples))}
        return Thresholds({"": tau}, calibrated_on, weight_steps=weight_steps, notes=notes)


def _needed(bound: Bound, clusters: Clusters) -> str:
    """Say how many clusters or examples a promise needs."""
    return f"{bound.needed:,}" + ("" if clusters.largest is None else f" times {clusters.largest:,} examples")


# A threshold for each rank ---------------------------------------------------------------------------------------


def _by_rank(promises: Sequence[Promise], request: Request, examples: CalibrationSet) -> Thresholds:
    found: dict[str, float] = {}
    calibrated_on: dict[str, tuple[int, int]] = {}
    notes: list[str] = []
    for promise in promises:
        rank, rows = promise.rank, promise.loss.rows(examples.labels)
        clusters = examples.counted(request, rows)
        if not len(clusters.member):
            raise ScoreError(
                f"No example belongs to an unknown {rank}: none has a label with nodes of that rank below it. "
                f"Give examples of taxa that the tree does not have, labelled by the deepest node that they "
                f"belong to."
            )
        bound = promise.bound(clusters.are_units)
        calibrated_on[promise.name] = clusters.number, len(clusters.member)
        try:
            tau = GUARANTEES[request.guarantee].threshold(_rank_steps(examples, promise, rows, clusters), bound)
        except TooFew:
            tau = np.inf
            notes.append(
                f"The promise for {rank} needs at least {_needed(bound, clusters)} {clusters.unit}s; found "
                f"{clusters.number:,}. Until then, no answer reaches this rank."
            )
        found[rank] = max(tau, found.get(rank, BOTTOM[examples.scale]))
    ranks = [rank for rank in Ranks.of(examples.hierarchy).names if rank in found]
    return Thresholds({rank: found[rank] for rank in ranks}, calibrated_on, notes=notes)


def _rank_steps(examples: CalibrationSet, promise: Promise, rows: Indices, clusters: Clusters) -> Steps:
    """Return the steps of losses that are 1 below the largest likelihood of a wrong node."""
    score = examples.wrong_at[promise.name][rows]
    grid = FAMILIES["threshold"].grid(examples.scale)
    wrong = score > grid[-1]
    one = wrong.astype(np.int64)
    changes = Changes(score[wrong], (one[wrong],), np.append(0, np.cumsum(one)))
    return Steps.of(Losses(changes, np.zeros_like(one), 1, grid, from_root=True), clusters)
