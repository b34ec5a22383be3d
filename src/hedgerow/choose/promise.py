"""Promises: what is counted, how much of it may occur, and how surely.

What is counted is a *loss*, from 0 to 1: which answers cost how much, and which examples and answers it is about.
A promise is that its mean is at most α, as surely as a guarantee says. A target is one promise about a metric;
levels per rank are one promise for each rank.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from hedgerow.choose.guarantees import GUARANTEES, Bound
from hedgerow.choose.written import exactly
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
    """Return which answers a promise is about: all, those below the root, or those at a rank or depth or below."""
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
        f"A promise is among the answers that are 'answered', or at a {ranks.kind} ({some(ranks.names, 8)}) or a "
        f"depth from 1 to {int(hierarchy.depth.max())}, not {among!r}."
    )


@final
@dataclass(frozen=True, eq=False)
class MetricLoss:
    """How far a metric of an answer is from its best value, as a share of the largest possible distance."""

    hierarchy: Hierarchy
    metric: Metric
    bounds: tuple[float, float]
    """The smallest and the largest value of the metric."""
    settings: Settings
    among: str | None = None
    """Which answers it is about: "answered", those at a rank or depth and below, or all."""

    @property
    def at_most(self) -> bool:
        """Whether lower values of the metric are better."""
        return not self.metric.higher_is_better

    @property
    def is_binary(self) -> bool:
        """Whether every loss is 0 or 1."""
        return self.metric.is_binary and self.bounds == (0, 1)

    def of_level(self, level: Fraction) -> Fraction:
        """Return the mean loss at a mean of the metric; the reverse of `level_of`."""
        low, high = map(exactly, self.bounds)
        share = (level - low) / (high - low)
        return 1 - share if self.metric.higher_is_better else share

    def level_of(self, loss: Fraction) -> Fraction:
        """Return the mean of the metric at a mean loss."""
        low, high = map(exactly, self.bounds)
        return high - loss * (high - low) if self.metric.higher_is_better else low + loss * (high - low)

    def said(self, level: Fraction) -> str:
        """Return the metric and a level, in a few words: "correct >= 0.95"."""
        return f"{self.metric.name} {'>=' if self.metric.higher_is_better else '<='} {float(level):g}"

    def rows(self, labels: Indices) -> Indices:
        """Return the examples that it is about: all."""
        return np.arange(len(labels))

    @cached_property
    def about(self) -> NDArray[np.bool_]:
        """[nodes] Which answers it is about."""
        return among_nodes(self.hierarchy, self.among)

    @cached_property
    def is_0_at_the_root(self) -> bool:
        """Whether the root costs nothing, whatever the label."""
        labels = np.arange(len(self.hierarchy))
        return self.among is not None or not self.of(labels, np.zeros_like(labels))[0].any()

    def of(self, labels: Indices, answers: Indices) -> tuple[NDArray[Any], int]:
        """Return the loss of each answer, exactly: whole numbers of parts, and how many parts make 1.

        Values of the metric are taken for simple fractions or short decimals, where these are the same in
        floating-point numbers.
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
        shares = [self.of_level(_meant(value)) for value in distinct.tolist()]
        losses: list[Fraction] = [min(max(share, Fraction(0)), Fraction(1)) for share in shares]
        parts = math.lcm(*(loss.denominator for loss in losses))
        # All of them together must fit into 64 bits; integers of Python have no limit.
        whole = np.array([int(loss * parts) for loss in losses], dtype=object)
        return (whole.astype(np.int64) if parts * len(values) < 1 << 62 else whole)[place], parts


def _meant(value: float) -> Fraction:
    """Return the simple fraction that a number is nearest to, or its shortest decimal.

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
    of_unknown: bool
    """Whether it is about the examples of unknown taxa alone, for which every name at that rank is wrong."""
    settings: Settings
    is_binary = True
    at_most = False
    is_0_at_the_root = True

    def level_of(self, loss: Fraction) -> Fraction:
        """Return the share of examples that are not wrong there."""
        return 1 - loss

    def said(self, level: Fraction) -> str:
        """Return the rank and a level, in a few words: "genus >= 0.9"."""
        return f"{self.rank} >= {float(level):g}"

    def rows(self, labels: Indices) -> Indices:
        """Return the examples that it is about."""
        if not self.of_unknown:
            return np.arange(len(labels))
        ranks = Ranks.of(self.hierarchy)
        return np.flatnonzero((ranks.at(self.rank)[labels] < 0) & ranks.above(self.rank)[labels])

    @property
    def about(self) -> NDArray[np.bool_]:
        """[nodes] Which answers it is about: all."""
        return among_nodes(self.hierarchy, None)

    def of(self, labels: Indices, answers: Indices) -> tuple[NDArray[Any], int]:
        """Return 1 for each answer that reaches the rank and is wrong there, else 0; and 1, the largest loss."""
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
    """How the answers turned out that a promise is about."""

    rows: Indices
    """Those of the examples that it is about."""
    loss: NDArray[np.float64]
    """The loss of each."""
    counts: NDArray[np.bool_]
    """Whether the promise is about each answer."""


@final
@dataclass(frozen=True, eq=False)
class Promise:
    """A mean loss of at most α."""

    name: str
    """A rank, "unknown RANK", or "" for a target."""
    loss: Loss
    alpha: Fraction
    guarantee: str
    delta: Fraction
    """The probability that it is broken: its part of the δ that was asked for."""

    @property
    def rank(self) -> str:
        """The rank that it is for; "" for a target."""
        return self.loss.rank if isinstance(self.loss, RankLoss) else ""

    def bound(self, are_units: bool, delta: Fraction | None = None) -> Bound:
        """Return what is asked of the losses of clusters, or of single examples (`are_units`)."""
        return Bound(self.guarantee, self.alpha, delta or self.delta, are_units and self.loss.is_binary)

    def outcome(self, labels: Indices, answers: Indices) -> Outcome:
        """Return how answers turned out."""
        rows = self.loss.rows(labels)
        losses, parts = self.loss.of(labels[rows], answers[rows])
        return Outcome(rows, (losses / parts).astype(np.float64), self.loss.about[answers[rows]])


def check_level(what: str, level: Fraction, alpha: Fraction, guarantee: str, between: str = "0 and 1") -> None:
    """Refuse a level that no answers reach or all do, and certainty, which no number of examples can promise."""
    certain = alpha == 0 and GUARANTEES[guarantee].promises
    if 0 <= alpha < 1 and not certain:
        return
    remedy = of_per_cent(float(level)) if between == "0 and 1" else ""
    if certain:
        remedy = " No number of examples can promise certainty."
    raise ParameterError(f"{what} must lie between {between}, not at {float(level):g}.{remedy}")
