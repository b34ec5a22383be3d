"""Bootstrap intervals: how much the figures would vary with another sample of examples.

Each replicate resamples the examples with replacement. That only changes how often each example counts, so events
are found and sorted once, and a replicate is a weighted running sum over them: scores are not read again.

Examples of a cluster resemble each other, so clusters are resampled whole. They are few, as a rule, and then
percentiles are too narrow: they are taken further out, as Student's t distribution is wider than the normal one
(Hesterberg 2015, What teachers should know about the bootstrap, section 4.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, final

import msgspec
import numpy as np

from hedgerow.arrays import map_on_threads
from hedgerow.errors import ParameterError, ScoreError, check_number
from hedgerow.measure.clusters import Clusters
from hedgerow.measure.curve import OperatingCurve
from hedgerow.score_files import as_column

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from hedgerow.measure.builder import CurveBuilder
    from hedgerow.tree import Names

    PerExample = Mapping[str, NDArray[np.float64]]
    Summarise = Callable[[OperatingCurve], dict[str, float]]


Figure = Annotated[float, msgspec.Meta(ge=-1e300, le=1e300)]
"""A finite number."""


@final
class Interval(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A figure with the percentile interval of its replicates."""

    value: Figure
    low: Figure
    high: Figure


@final
@dataclass(frozen=True)
class Difference:
    """A figure of one system minus the same figure of another, on the same examples."""

    value: float
    low: float
    high: float
    p_value: float
    """Two-sided: twice the share of replicates beyond 0. The sample itself counts as one, so this is never 0.
    With clusters, that share is taken for one of the normal distribution, and the one of Student's t is given."""


def intervals(
    builder: CurveBuilder,
    *,
    per_example: PerExample | None = None,
    clusters: Names | None = None,
    summarise: Summarise = OperatingCurve.summary,
    replicates: int = 1000,
    level: float = 0.95,
    seed: int = 0,
    progress: Callable[[], None] = lambda: None,
) -> dict[str, Interval]:
    """Return an interval for every summary figure of a curve.

    Parameters
    ----------
    builder
        A builder that holds the examples.
    per_example
        Additional figures that are means over the examples: name -> one value per example.
    clusters
        The cluster of each example, if they belong together: clusters are resampled whole.
    summarise
        Function that returns the figures of a curve.
    replicates, level, seed
        The number of replicates, the share of them inside an interval, and the random seed.
    progress
        Called after each replicate.
    """
    system = _System(builder, per_example or {}, summarise)
    units = _units(clusters, system.examples, level)
    drawn = _replicates([system], units, replicates, seed, progress)[:, 0]
    low, high = _percentiles(drawn, units, level)
    return {name: Interval(v, low[i], high[i]) for i, (name, v) in enumerate(system.figures().items())}


def differences(
    first: CurveBuilder,
    second: CurveBuilder,
    *,
    per_example: tuple[PerExample, PerExample] | None = None,
    clusters: Names | None = None,
    summarise: Summarise = OperatingCurve.summary,
    replicates: int = 1000,
    level: float = 0.95,
    seed: int = 0,
    progress: Callable[[], None] = lambda: None,
) -> dict[str, Difference]:
    """Return first minus second for every summary figure, both resampled with the same examples.

    The builders must hold the same examples in the same order. The parameters are those of `intervals`.
    """
    if not np.array_equal(first.events.label, second.events.label):
        raise ParameterError(
            "Systems can only be compared if they were evaluated on the same examples, in the same order."
        )
    extras = per_example or ({}, {})
    systems = [_System(b, extra, summarise) for b, extra in zip((first, second), extras, strict=True)]
    units = _units(clusters, systems[0].examples, level)
    drawn = _replicates(systems, units, replicates, seed, progress)
    difference = drawn[:, 0] - drawn[:, 1]
    low, high = _percentiles(difference, units, level)
    beyond = np.minimum((difference <= 0).sum(axis=0), (difference >= 0).sum(axis=0))
    tail = (beyond + 1) / (replicates + 1)
    if units.unit == "cluster":
        from scipy import special  # takes a while, and few need it

        tail = special.stdtr(units.number - 1, special.ndtri(np.minimum(tail, 0.5)) / _widening(units))
    p_value = np.minimum(1.0, 2 * tail)
    a, b = (system.figures() for system in systems)
    return {name: Difference(a[name] - b[name], low[i], high[i], float(p_value[i])) for i, name in enumerate(a)}


def replicated(
    builder: CurveBuilder, *, replicates: int, seed: int = 0, summarise: Summarise = OperatingCurve.summary
) -> dict[str, NDArray[np.float64]]:
    """Return every summary figure in each replicate: [replicates].

    Systems with equally many examples are resampled alike, so that their replicates can be subtracted.
    """
    system = _System(builder, {}, summarise)
    drawn = _replicates([system], Clusters.of(None, system.examples), replicates, seed, lambda: None)[:, 0]
    return dict(zip(system.figures(), drawn.T, strict=True))


def difference_of_runs(
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    first_drawn: NDArray[np.float64],
    second_drawn: NDArray[np.float64],
    *,
    level: float = 0.95,
) -> Difference:
    """Return first minus second, averaged over runs, with an interval for other runs and other examples together.

    Runs are paired, as by the seed. The variance of the mean is estimated from the runs, as they vary on these
    examples, and added to that over replicates of the examples. There are few runs, so that the interval is that
    of Student's t, with Welch's degrees of freedom.

    Parameters
    ----------
    first, second
        A figure in two or more runs: [runs].
    first_drawn, second_drawn
        The same figure in each replicate, from `replicated`: [runs, replicates].
    level
        The probability that an interval covers the difference.
    """
    from scipy import special

    apart, drawn = first - second, (first_drawn - second_drawn).mean(axis=0)
    value = float(apart.mean())
    variances = np.array([apart.var(ddof=1) / len(apart), drawn.var(ddof=1)])
    free = np.array([len(apart) - 1, len(drawn) - 1])
    total = variances.sum()
    if not total:
        return Difference(value, value, value, float(value == 0))
    freedom, error = total**2 / (variances**2 / free).sum(), np.sqrt(total)
    reach = float(special.stdtrit(freedom, (1 + level) / 2) * error)
    return Difference(value, value - reach, value + reach, float(2 * special.stdtr(freedom, -abs(value) / error)))


class _System:
    """The sorted events of one system, ready to be summed with any weights of the examples."""

    def __init__(self, builder: CurveBuilder, per_example: PerExample, summarise: Summarise) -> None:
        events = builder.events
        if not len(events.label):
            raise ScoreError("An interval needs at least one example.")
        order, self._last, self._threshold = events.descending(builder.scale)
        self._scale = builder.scale
        self._example = events.example[order]
        labels, _ = events.distinct_labels
        self._label_of = np.searchsorted(labels, events.label)
        changes = np.empty((len(builder.measures.metrics), len(order)))
        builder.measures.changes(events, order, changes)
        self._measures = builder.measures
        self._sums = list(zip(builder.measures.at_root(labels), changes, strict=True))
        self._per_example = per_example
        self._summarise = summarise
        self.examples = len(events.label)

    def figures(self, weight: NDArray[np.float64] | None = None) -> dict[str, float]:
        """Return the summary in which example i counts `weight[i]` times."""
        if weight is None:
            weight = np.ones(self.examples)
        total = weight.sum()
        label_weight = np.bincount(self._label_of, weights=weight)
        event_weight = weight[self._example]
        sums = (
            at_root @ label_weight + np.append(0.0, np.cumsum(change * event_weight)[self._last])
            for at_root, change in self._sums
        )
        curve = OperatingCurve(self._threshold, self._measures.means(sums, total), self.examples, self._scale)
        means = {name: float(value @ weight / total) for name, value in self._per_example.items()}
        return self._summarise(curve) | means


def _units(clusters: Names | None, examples: int, level: float) -> Clusters:
    check_number("level", level, 0, 1, with_ends=False)
    if clusters is not None:
        clusters = as_column("clusters", clusters, examples)
    units = Clusters.resampled(clusters, examples)
    if reason := units.too_few(level):
        raise ScoreError(f"There is nothing to draw: {reason}")
    return units


def _widening(clusters: Clusters) -> float:
    """Return how much wider clusters spread than their resamples, which divide by K instead of K - 1."""
    return float(np.sqrt(clusters.number / (clusters.number - 1)))


def _replicates(
    systems: Sequence[_System], units: Clusters, replicates: int, seed: int, progress: Callable[[], None]
) -> NDArray[np.float64]:
    """Return [replicates, systems, figures]."""
    check_number("replicates", replicates, 1)

    def replicate(number: int) -> list[list[float]]:
        random = np.random.default_rng([seed, number])
        times = np.bincount(random.integers(units.number, size=units.number), minlength=units.number)
        weight = times[units.member].astype(np.float64)
        figures = [list(system.figures(weight).values()) for system in systems]
        progress()
        return figures

    return np.array(map_on_threads(replicate, range(replicates)))


def _percentiles(drawn: NDArray[np.float64], units: Clusters, level: float) -> tuple[list[float], list[float]]:
    tail: float | np.floating[Any] = (1 - level) / 2
    if units.unit == "cluster":
        from scipy import special

        tail = special.ndtr(special.stdtrit(units.number - 1, tail) * _widening(units))
    low, high = np.quantile(drawn, [tail, 1 - tail], axis=0)
    return low.tolist(), high.tolist()
