"""Promises: which mean loss is at most what, and how surely.

A *loss*, from 0 to 1, says how bad each answer is, and which examples and answers a promise covers. The promise is
that the mean loss is at most α, as surely as a guarantee says. A target is one promise about a metric; levels per
rank are one promise for each rank.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from hedgerow.choose.guarantees import GUARANTEES, Bound
from hedgerow.choose.written import exactly, typed
from hedgerow.errors import ParameterError, argument, of_per_cent, some
from hedgerow.infer import map_dense_rows
from hedgerow.measure import Measures, Metric, Ranks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.infer import Candidates
    from hedgerow.likelihood import AnyLikelihoods
    from hedgerow.tree import Hierarchy, Indices, Settings

ANSWERED = "answered"
"""The answers below the root."""
_SIMPLE = 1 << 20  # the largest denominator of a simple fraction


def among_nodes(hierarchy: Hierarchy, among: str | None) -> NDArray[np.bool_]:
    """Return which nodes a promise covers: all, those below the root, or those at a rank or depth or below it."""
    if among is None:
        return np.ones(len(hierarchy), dtype=bool)
    if among == ANSWERED:
        return np.arange(len(hierarchy)) > 0
    ranks = Ranks.of(hierarchy)
    if among in ranks.names:
        return ranks.reached >= ranks.names.index(among)
    if among.isdecimal() and 1 <= int(among) <= hierarchy.depth.max():
        return np.asarray(hierarchy.depth >= int(among))
    raise ParameterError(
        f"{typed('among')} must be 'answered', a {ranks.kind} ({some(ranks.names, 8)}) or a depth from 1 to "
        f"{int(hierarchy.depth.max())}, not {among!r}."
    )


@final
@dataclass(frozen=True, eq=False)
class MetricLoss:
    """How far a metric of an answer is from its best value, relative to the distance between its bounds."""

    hierarchy: Hierarchy
    metric: Metric
    bounds: tuple[float, float]
    """The smallest and the largest value of the metric."""
    settings: Settings
    among: str | None = None
    """Which answers it covers: "answered" (those below the root), a rank or depth, or None for all."""

    @property
    def at_most(self) -> bool:
        """Whether lower values of the metric are better."""
        return not self.metric.higher_is_better

    @property
    def is_binary(self) -> bool:
        """Whether every loss is 0 or 1."""
        return self.metric.is_binary and self.bounds == (0, 1)

    def loss_at(self, level: Fraction) -> Fraction:
        """Return the loss at a level of the metric."""
        low, high = map(exactly, self.bounds)
        share = (level - low) / (high - low)
        return 1 - share if self.metric.higher_is_better else share

    def level_at(self, loss: Fraction) -> Fraction:
        """Return the level of the metric at a loss."""
        low, high = map(exactly, self.bounds)
        return high - loss * (high - low) if self.metric.higher_is_better else low + loss * (high - low)

    def in_words(self, level: Fraction) -> str:
        """Return the metric and a level: "correct >= 0.95"."""
        return f"{self.metric.name} {'>=' if self.metric.higher_is_better else '<='} {float(level):g}"

    def rows(self, labels: Indices) -> Indices:
        """Return the rows of the examples that it covers: all."""
        return np.arange(len(labels))

    @cached_property
    def covered(self) -> NDArray[np.bool_]:
        """[nodes] Which answers it covers."""
        return among_nodes(self.hierarchy, self.among)

    @cached_property
    def is_0_at_root(self) -> bool:
        """Whether the loss of the root is 0, whatever the label."""
        labels = np.arange(len(self.hierarchy))
        return self.among is not None or not self.of(labels, np.zeros_like(labels))[0].any()

    def of(self, labels: Indices, answers: Indices) -> tuple[NDArray[Any], int]:
        """Return the exact loss of each answer: integer numerators, and their common denominator.

        A value of the metric is read as the simple fraction or short decimal that has this floating-point value.
        """
        low, high = self.bounds
        (values,) = Measures.of(self.hierarchy, [self.metric], self.settings).values(labels, answers)
        outside = np.flatnonzero(~((values >= low - 1e-9) & (values <= high + 1e-9)))
        if len(outside):
            raise ParameterError(
                f"The metric {self.metric.name!r} is {values[outside[0]]:g} for an example, outside its bounds "
                f"{low:g} to {high:g}. A promise needs true bounds: give "
                f"{argument('bounds', 'LOW,HIGH', python='bounds=')}."
            )
        distinct, place = np.unique(values, return_inverse=True)
        shares = [self.loss_at(_meant(value)) for value in distinct.tolist()]
        losses: list[Fraction] = [min(max(share, Fraction(0)), Fraction(1)) for share in shares]
        denominator = math.lcm(*(loss.denominator for loss in losses))
        whole = np.array([int(loss * denominator) for loss in losses], dtype=object)
        fits = denominator * len(values) < 1 << 62  # so that the sum does too
        return (whole.astype(np.int64) if fits else whole)[place], denominator


def _meant(value: float) -> Fraction:
    """Return the simple fraction that rounds to a number, or else its shortest decimal.

    >>> _meant(2 / 3), _meant(0.1), _meant(0.123456789)
    (Fraction(2, 3), Fraction(1, 10), Fraction(123456789, 1000000000))
    """
    simple = Fraction(value).limit_denominator(_SIMPLE)
    return simple if float(simple) == value else exactly(value)


@final
@dataclass(frozen=True, eq=False)
class RankLoss:
    """Whether an answer reaches a rank and is wrong there."""

    hierarchy: Hierarchy
    rank: str
    only_unknown: bool
    """Whether it covers only examples of unknown taxa, for which every name at that rank is wrong."""
    settings: Settings
    is_binary = True
    at_most = False
    is_0_at_root = True

    def level_at(self, loss: Fraction) -> Fraction:
        """Return the share of examples that are not wrong there."""
        return 1 - loss

    def in_words(self, level: Fraction) -> str:
        """Return the rank and a level: "genus >= 0.9"."""
        return f"{self.rank} >= {float(level):g}"

    def rows(self, labels: Indices) -> Indices:
        """Return the rows of the examples that it covers."""
        if not self.only_unknown:
            return np.arange(len(labels))
        ranks = Ranks.of(self.hierarchy)
        return np.flatnonzero((ranks.at(self.rank)[labels] < 0) & ranks.above(self.rank)[labels])

    @property
    def covered(self) -> NDArray[np.bool_]:
        """[nodes] Which answers it covers: all."""
        return among_nodes(self.hierarchy, None)

    def of(self, labels: Indices, answers: Indices) -> tuple[NDArray[Any], int]:
        """Return 1 for each answer that reaches the rank and is wrong there, else 0; and the denominator, 1."""
        node = Ranks.of(self.hierarchy).at(self.rank)[answers]
        wrong = (node >= 0) & ~self._right(self.hierarchy, np.maximum(node, 0), labels)
        return wrong.astype(np.int64), 1

    def largest_wrong(self, q: AnyLikelihoods, labels: Indices, candidates: Candidates) -> NDArray[np.float64]:
        """Return the largest likelihood of a wrong node of the rank, for each example; -inf if none is wrong."""
        nodes = Ranks.of(q.hierarchy).nodes(self.rank)
        stands_for = candidates.stands_for[nodes]

        def block(part: NDArray[Any], rows: slice) -> NDArray[np.float64]:
            score = part[:, stands_for].astype(np.float64)
            score[self._right(q.hierarchy, nodes, labels[rows, None])] = -np.inf
            largest: NDArray[np.float64] = score.max(axis=1, initial=-np.inf) + 0.0  # -0.0 becomes 0.0
            return largest

        return np.concatenate([np.zeros(0), *map_dense_rows(block, q)])

    def _right(self, hierarchy: Hierarchy, nodes: Indices, labels: Indices) -> NDArray[np.bool_]:
        right = hierarchy.is_ancestor(nodes, labels)
        if self.settings.below_is_right:
            right = right | hierarchy.is_ancestor(labels, nodes)
        return np.asarray(right)


Loss = MetricLoss | RankLoss


class Outcome(NamedTuple):
    """The losses of answers under a promise."""

    rows: Indices
    """The rows of the examples that the promise covers."""
    loss: NDArray[np.float64]
    """The loss of each of them."""
    covered: NDArray[np.bool_]
    """Whether the promise covers the answer to each of them."""


@final
@dataclass(frozen=True, eq=False)
class Promise:
    """A promise that a mean loss is at most α."""

    name: str
    """A rank, "unknown RANK", or "" for a target."""
    loss: Loss
    alpha: Fraction
    guarantee: str
    delta: Fraction
    """The probability of breaking it: its part of the δ of the request."""

    @property
    def rank(self) -> str:
        """The rank that it is for; "" for a target."""
        return self.loss.rank if isinstance(self.loss, RankLoss) else ""

    def bound(self, are_units: bool, delta: Fraction | None = None) -> Bound:
        """Return the bound for clusters; or, with `are_units`, for single examples, whose losses may be binary."""
        return Bound(self.guarantee, self.alpha, delta or self.delta, are_units and self.loss.is_binary)

    def outcome(self, labels: Indices, answers: Indices) -> Outcome:
        """Return the losses of answers."""
        rows = self.loss.rows(labels)
        losses, denominator = self.loss.of(labels[rows], answers[rows])
        return Outcome(rows, (losses / denominator).astype(np.float64), self.loss.covered[answers[rows]])


def check_level(what: str, level: Fraction, alpha: Fraction, guarantee: str, between: str = "0 and 1") -> None:
    """Refuse levels that no answers or all answers reach, and certainty, which cannot be promised."""
    certain = alpha == 0 and GUARANTEES[guarantee].promises
    if 0 <= alpha < 1 and not certain:
        return
    remedy = of_per_cent(float(level)) if between == "0 and 1" else ""
    if certain:
        remedy = " No number of examples can promise certainty."
    raise ParameterError(f"{what} must lie between {between}, not at {float(level):g}.{remedy}")
