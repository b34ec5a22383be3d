"""Promises for other data than the calibration data: likelihood ratios, or other shares of the classes.

With weights, each calibration example counts as often as it would among new data, and so does the new example
(weighted conformal prediction; Tibshirani et al.). With expected shares, the examples of each class are a sample
of their own, to which the new example is added; the classes count by their shares. In both cases the losses of the
calibration examples are multiplied by exact shares, and compared with another budget.

Shares can be estimated from new scores without labels: the shares under which the posterior probabilities of the
classes are their own means (Saerens et al.), after these have been adjusted likewise to the calibration labels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.arrays import as_numpy
from hedgerow.choose.guarantees import Promise, exactly
from hedgerow.choose.pooling import pooled_clades
from hedgerow.errors import ParameterError, ScoreError, UnknownNameError, closest, counted, some
from hedgerow.likelihood import AnyLikelihoods, SparseLikelihoods, overlap

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from hedgerow.tree import Hierarchy, Indices

_TIMES_NEEDED = 4  # examples that a class has at least when shares are estimated, times those that a promise needs
_DIGITS = 6  # of estimated shares
_ENOUGH = 1e-7
_MOST_ROUNDS = 500


@final
@dataclass(frozen=True)
class Stratum:
    """Classes with a share of new data; the examples of one are like those of another."""

    classes: tuple[str, ...]
    share: float


@final
@dataclass(frozen=True, eq=False)
class Strata:
    """The shares of some classes, or groups of classes, where a model will be used."""

    hierarchy: Hierarchy
    nodes: Indices
    """The classes: disjoint, ascending."""
    stratum: Indices
    """The stratum of each."""
    parts: tuple[int, ...]
    """The share of each stratum, in parts of their sum."""

    @classmethod
    def of(cls, hierarchy: Hierarchy, shares: Mapping[tuple[str, ...], Any]) -> Strata:
        """Check shares, in any unit, of groups of classes."""
        names = [name for group in shares for name in group]
        if unknown := [name for name in names if name not in hierarchy]:
            near = closest(unknown[:3], hierarchy)
            raise UnknownNameError(f"The expected class {some(unknown)} is not in the tree.{near}")
        exact = [_share(name[0], share) for name, share in shares.items()]
        if not any(exact):
            raise ScoreError("All expected shares are 0. Give at least one class a share above 0.")
        nodes = hierarchy.indices(names)
        if len(np.unique(nodes)) < len(nodes):
            raise ParameterError("A class has two expected shares. Keep one of them.")
        if pair := overlap(hierarchy, nodes):
            raise ParameterError(
                f"The expected class {pair[1]!r} lies below {pair[0]!r}, which has a share too. Keep one of them."
            )
        whole = math.lcm(*(share.denominator for share in exact))
        stratum = np.repeat(np.arange(len(shares)), [len(group) for group in shares])
        order = np.argsort(nodes)
        return cls(hierarchy, nodes[order], stratum[order], tuple(int(share * whole) for share in exact))

    def member(self, labels: Indices) -> Indices:
        """Return the stratum of each label: of all classes at or below it, if that is one; otherwise -1."""
        inside = np.searchsorted(self.nodes, labels, side="right") - 1
        node = self.nodes[np.maximum(inside, 0)]
        found = np.where((inside >= 0) & (labels < self.hierarchy.end[node]), self.stratum[inside], -1)
        for label in np.unique(labels[found < 0]).tolist():  # above classes
            first, last = np.searchsorted(self.nodes, [label, self.hierarchy.end[label]])
            below = np.unique(self.stratum[first:last])
            if len(below) == 1 and self._covers(label, slice(int(first), int(last))):
                found[labels == label] = below[0]
        return found

    def _covers(self, label: int, classes: slice) -> bool:
        return bool(self.hierarchy.leaf_count[self.nodes[classes]].sum() == self.hierarchy.leaf_count[label])

    @property
    def described(self) -> tuple[Stratum, ...]:
        """The strata with their shares, as fractions of 1."""
        total = sum(self.parts)
        groups: list[list[str]] = [[] for _ in self.parts]
        for node, stratum in zip(self.nodes.tolist(), self.stratum.tolist(), strict=True):
            groups[stratum].append(str(self.hierarchy.names[node]))
        return tuple(Stratum(tuple(group), part / total) for group, part in zip(groups, self.parts, strict=True))


def _share(name: str, given: Any) -> Fraction:
    try:
        share = exactly(given)
    except (ValueError, ZeroDivisionError):
        share = Fraction(-1)
    if share < 0:
        raise ScoreError(f"The expected share of {name!r} must be a number from 0 on, not {given!s}.")
    return share


@final
@dataclass(frozen=True, eq=False)
class Weighing:
    """What the loss of each calibration example counts: exactly ``times / parts / divisor``."""

    times: NDArray[np.object_]
    """Whole numbers without a limit."""
    parts: int
    divisor: Indices
    budget: Fraction
    """What all losses may add up to; with weights, for a new example of weight 0."""
    notes: tuple[str, ...] = ()

    @property
    def effective_number(self) -> int:
        """The number of equal examples that would say as much as these do."""
        share = (self.times / self.parts).astype(np.float64) / self.divisor
        squares = float(np.sum(share**2))
        return int(np.sum(share) ** 2 / squares) if squares else 0

    @classmethod
    def by_weights(cls, weights: NDArray[np.float64], alpha: Fraction) -> Weighing:
        """Let each example count by its weight, the decimal that was given: Σ w l + w <= α (Σ w + w)."""
        distinct, place = np.unique(weights, return_inverse=True)
        exact = [exactly(weight) for weight in distinct.tolist()]
        parts = math.lcm(*(weight.denominator for weight in exact))
        times = np.array([int(weight * parts) for weight in exact], dtype=object)[place]
        budget = alpha * Fraction(int(times.sum()), parts)
        return cls(times, parts, np.ones(len(weights), dtype=np.int64), budget)

    @classmethod
    def by_shares(cls, strata: Strata, labels: Indices, alpha: Fraction) -> Weighing:
        """Let each class count by its share: Σ_c π_c (Σ l + 1) / (n_c + 1) <= α."""
        member = strata.member(labels)
        known = member >= 0
        size = np.bincount(member[known], minlength=len(strata.parts))
        total = sum(strata.parts)
        budget = alpha - sum(
            (Fraction(part, total * (count + 1)) for part, count in zip(strata.parts, size.tolist(), strict=True)),
            Fraction(0),
        )
        parts = np.array([*strata.parts, 0], dtype=object)  # the last for examples that belong to none
        notes = []
        if left := int((~known).sum()):
            notes.append(
                f"{counted(left, 'example belongs', 'examples belong')} to none of the expected classes, or to "
                f"several, and {'does' if left == 1 else 'do'} not count."
            )
        absent = [
            each for each, count in zip(strata.described, size.tolist(), strict=True) if not count and each.share
        ]
        if absent:
            share = sum(each.share for each in absent)
            notes.append(
                f"Of {some(each.classes[0] for each in absent)}, {100 * share:.3g} % of what is expected, there "
                f"are no examples: they count as always wrong."
            )
        return cls(parts[member], total, np.append(size, 0)[member] + 1, budget, tuple(notes))


# Shares that are estimated ---------------------------------------------------------------------------------------


def shares_like(
    hierarchy: Hierarchy,
    labels: Indices,
    calibration: Iterable[AnyLikelihoods],
    new: Iterable[AnyLikelihoods],
    alpha: Fraction,
) -> dict[tuple[str, ...], float]:
    """Estimate the shares of classes among new examples; classes with few examples share one with their relatives.

    Parameters
    ----------
    hierarchy, labels
        The tree, and the labels of the calibration examples.
    calibration, new
        Likelihoods of the calibration examples, and of the new ones.
    alpha
        The loss that the promise allows.
    """
    leaf = hierarchy.names[hierarchy.leaves].tolist()
    count = np.bincount(labels, minlength=len(hierarchy))[hierarchy.leaves]
    needed = _TIMES_NEEDED * Promise("conformal", alpha).needed
    pools = pooled_clades(hierarchy, dict(zip(leaf, count.tolist(), strict=True)), needed)
    everywhere = Strata.of(hierarchy, dict.fromkeys(pools, 1))
    pool_of_leaf = everywhere.stratum  # its nodes are the leaves, in their order
    member = everywhere.member(labels)
    here, there = (_posteriors(hierarchy, blocks, pool_of_leaf, len(pools)) for blocks in (calibration, new))
    if not len(there):
        raise ScoreError("The new scores say nothing about any leaf, so no shares can be estimated.")
    source = np.bincount(member[member >= 0], minlength=len(pools)).astype(np.float64)
    source /= source.sum()
    there = there * _factors_for(here, source)
    share = source.copy()
    for _ in range(_MOST_ROUNDS):
        before, share = (
            share,
            _mean_share(there, np.divide(share, source, out=np.zeros_like(share), where=source > 0)),
        )
        if np.abs(share - before).max() < _ENOUGH:
            break
    return {pool: round(float(part), _DIGITS) for pool, part in zip(pools, share.tolist(), strict=True)}


def _posteriors(
    hierarchy: Hierarchy, blocks: Iterable[AnyLikelihoods], pool_of_leaf: Indices, pools: int
) -> NDArray[np.float64]:
    """Return the probability of each pool of leaves for each example that has any: [examples, pools]."""
    order = np.argsort(pool_of_leaf, kind="stable")
    start = np.searchsorted(pool_of_leaf[order], np.arange(pools))
    found = []
    for q in blocks:
        if isinstance(q, SparseLikelihoods):
            place = np.minimum(np.searchsorted(hierarchy.leaves, q.node), len(hierarchy.leaves) - 1)
            leaf = hierarchy.leaves[place] == q.node
            cell = q.row[leaf] * pools + pool_of_leaf[place[leaf]]
            part = np.bincount(cell, q.probabilities()[leaf], minlength=len(q) * pools).reshape(len(q), pools)
        else:
            p = as_numpy(q.probabilities())[:, hierarchy.leaves[order]].astype(np.float64)
            part = np.add.reduceat(p, start, axis=1)
        total = part.sum(axis=1, keepdims=True)
        found.append((part / np.where(total > 0, total, 1.0))[total[:, 0] > 0])
    return np.concatenate([np.zeros((0, pools)), *found])


def _factors_for(p: NDArray[np.float64], share: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the factors after which the mean probabilities are some shares."""
    factor = np.ones(len(share))
    for _ in range(_MOST_ROUNDS):
        mean = _mean_share(p, factor)
        if np.abs(mean - share).max() < _ENOUGH:
            break
        factor *= np.divide(share, mean, out=np.zeros_like(share), where=mean > 0)
    return factor


def _mean_share(p: NDArray[np.float64], factor: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean probabilities once each has been multiplied by a factor and divided by their sum."""
    weighed = p * factor
    total = weighed.sum(axis=1, keepdims=True)
    return np.asarray((weighed / np.where(total > 0, total, 1.0)).mean(axis=0))
