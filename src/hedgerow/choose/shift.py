"""Promises for data that differ from the calibration data: by weights of examples, or by shares of classes.

With weights, each calibration example counts as often as examples like it occur in new data, and so does the new
example (weighted conformal prediction; Tibshirani et al.). With expected shares, the examples of each class are a
sample of their own, to which the new example is added, and classes count by their shares. In both cases the losses
of the calibration examples are multiplied by exact numbers and compared with a budget of their own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

import numpy as np

from hedgerow.choose.written import exactly
from hedgerow.errors import ParameterError, ScoreError, UnknownNameError, check_each, closest, counted, some
from hedgerow.likelihood import overlap

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from hedgerow.tree import Hierarchy, Indices


def checked_weights(weights: ArrayLike, examples: int) -> NDArray[np.float64]:
    """Return one weight for each example; raise an error unless all are finite and 0 or more."""
    try:
        given = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise ScoreError(f"weights needs one number per example, not {weights!r:.80}.") from None
    check_each("weights", given.shape, examples)
    if (bad := ~((given >= 0) & (given < np.inf))).any():
        row = int(np.argmax(bad))
        raise ScoreError(f"A weight must be finite and 0 or more; that of example {row:,} is {given[row]:g}.")
    return given


@final
@dataclass(frozen=True, eq=False)
class Strata:
    """The shares of classes where a model will be used."""

    hierarchy: Hierarchy
    nodes: Indices
    """The classes: disjoint, ascending."""
    shares: tuple[int, ...]
    """The share of each, in proportion: they need not add up to 1."""

    @classmethod
    def of(cls, hierarchy: Hierarchy, shares: Mapping[str, Fraction]) -> Strata:
        """Check the shares of classes, given in any unit."""
        names = list(shares)
        if unknown := [name for name in names if name not in hierarchy]:
            near = closest(unknown[:3], hierarchy)
            raise UnknownNameError(f"The expected class {some(unknown)} is not in the tree.{near}")
        if not any(shares.values()):
            raise ScoreError("All expected shares are 0. Give at least one class a share above 0.")
        nodes = hierarchy.indices(names)
        if len(np.unique(nodes)) < len(nodes):
            raise ParameterError("A class has two expected shares. Keep one of them.")
        if pair := overlap(hierarchy, nodes):
            raise ParameterError(
                f"The expected class {pair[1]!r} lies below {pair[0]!r}, which has a share too. Keep one of them."
            )
        whole = math.lcm(*(share.denominator for share in shares.values()))
        order = np.argsort(nodes)
        return cls(hierarchy, nodes[order], tuple(int(shares[names[i]] * whole) for i in order.tolist()))

    def member(self, labels: Indices) -> Indices:
        """Return the position of the class that contains each label; -1 if none does.

        A label above a class is in it if both have the same leaves.
        """
        tree = self.hierarchy
        place = np.searchsorted(self.nodes, labels, side="right") - 1
        found = np.where((place >= 0) & (labels < tree.end[self.nodes[np.maximum(place, 0)]]), place, -1)
        below = np.minimum(np.searchsorted(self.nodes, labels), len(self.nodes) - 1)
        alone = (found < 0) & tree.is_ancestor(labels, self.nodes[below])
        same = alone & (tree.leaf_count[labels] == tree.leaf_count[self.nodes[below]])
        return np.where(same, below, found)


@final
@dataclass(frozen=True, eq=False)
class Reweighting:
    """How much the loss of each calibration example counts: exactly ``numerator / denominator / divisor``."""

    numerator: NDArray[np.object_]
    """Python integers, which have no limit."""
    denominator: int
    divisor: Indices
    budget: Fraction
    """What the reweighted losses may add up to; with weights, for a new example of weight 0."""
    notes: tuple[str, ...] = ()

    @property
    def effective_number(self) -> int:
        """The number of equally weighted examples that would be as informative: (Σ w)² / Σ w²."""
        weight = (self.numerator / self.denominator).astype(np.float64) / self.divisor
        squares = float(np.sum(weight**2))
        return int(np.sum(weight) ** 2 / squares) if squares else 0

    @classmethod
    def by_weights(cls, weights: NDArray[np.float64], alpha: Fraction) -> Reweighting:
        """Let each example count by its weight, the decimal that was given: Σ w l + w <= α (Σ w + w)."""
        distinct, place = np.unique(weights, return_inverse=True)
        exact = [exactly(weight) for weight in distinct.tolist()]
        denominator = math.lcm(*(weight.denominator for weight in exact))
        numerator = np.array([int(weight * denominator) for weight in exact], dtype=object)[place]
        budget = alpha * Fraction(int(numerator.sum()), denominator)
        return cls(numerator, denominator, np.ones(len(weights), dtype=np.int64), budget)

    @classmethod
    def by_shares(cls, strata: Strata, labels: Indices, alpha: Fraction) -> Reweighting:
        """Let each class count by its share: Σ_c π_c (Σ l + 1) / (n_c + 1) <= α."""
        member = strata.member(labels)
        known = member >= 0
        size = np.bincount(member[known], minlength=len(strata.shares))
        total = sum(strata.shares)
        spent = (Fraction(share, total * (n + 1)) for share, n in zip(strata.shares, size.tolist(), strict=True))
        budget = alpha - sum(spent, Fraction(0))
        numerator = np.array([*strata.shares, 0], dtype=object)  # the last is for examples in no class
        notes = []
        if left := int((~known).sum()):
            notes.append(
                f"{counted(left, 'example does', 'examples do')} not count: the label is in none of the expected "
                f"classes, or above several."
            )
        absent = [i for i, n in enumerate(size.tolist()) if strata.shares[i] and not n]
        if absent:
            share = sum(strata.shares[i] for i in absent) / total
            notes.append(
                f"There are no examples of {some(strata.hierarchy.names[strata.nodes[absent]])}, "
                f"{100 * share:.3g} % of what is expected: they count as always wrong."
            )
        return cls(numerator[member], total, np.append(size, 0)[member] + 1, budget, tuple(notes))
