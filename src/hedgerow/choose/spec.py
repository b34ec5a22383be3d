"""The request for a point, checked before anything is read."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.choose.among import STARTS, among_nodes
from hedgerow.choose.families import FAMILIES
from hedgerow.choose.guarantees import GUARANTEES, Promise, exactly
from hedgerow.choose.shift import Strata
from hedgerow.errors import ParameterError, argument, of_per_cent, some
from hedgerow.measure import Measures, Metric, Ranks, metrics, name_of_metric
from hedgerow.tree import Hierarchy, Settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from hedgerow.choose.point import By

_BINARY = (metrics.correct, metrics.exact, metrics.strictly_exact, metrics.non_root)
"""Metrics that are 0 or 1 for every example."""
_SIMPLE = 1 << 20  # the largest denominator of a simple fraction


@final
@dataclass(frozen=True)
class Target:
    """A metric, and the level that its mean is to reach."""

    name: str
    metric: Any
    bounds: tuple[float, float]
    """The smallest and the largest value of the metric."""
    level: Fraction

    @classmethod
    def of(cls, given: Any, bounds: tuple[float, float] | None, guarantee: str) -> Target:
        """Check the target of `select`."""
        if not isinstance(given, tuple | list) or len(given) != 2:
            raise ParameterError(
                f"target must be a metric and its level, such as ('correct', 0.95), not {given!r}."
            )
        metric = _metric(given[0])
        name = name_of_metric(metric)
        limits = _limits(metric, name, bounds)
        target = cls(name, metric, limits, _exactly("The level of the target", given[1]))
        certain = target.alpha == 0 and GUARANTEES.find(guarantee).promises
        if not 0 <= target.alpha < 1 or certain:
            remedy = of_per_cent(float(target.level)) if limits == (0.0, 1.0) else ""
            if certain:
                remedy = " No number of examples can promise certainty."
            raise ParameterError(
                f"The level of {name} must lie between {limits[0]:g} and {limits[1]:g}, not at "
                f"{float(target.level):g}.{remedy}"
            )
        return target

    @property
    def higher_is_better(self) -> bool:
        """The direction of the metric; that of a plain function is up."""
        return bool(getattr(self.metric, "higher_is_better", True))

    @property
    def is_binary(self) -> bool:
        """Whether the metric is 0 or 1 for every example."""
        return self.metric in _BINARY

    @property
    def alpha(self) -> Fraction:
        """The mean loss that the level allows, as a share of the largest possible loss."""
        low, high = map(exactly, self.bounds)
        share = (self.level - low) / (high - low)
        return 1 - share if self.higher_is_better else share

    def at_loss(self, loss: Fraction) -> Target:
        """Return the same target at the level that allows another mean loss."""
        low, high = map(exactly, self.bounds)
        level = high - loss * (high - low) if self.higher_is_better else low + loss * (high - low)
        return replace(self, level=level)

    def losses(self, values: NDArray[np.float64]) -> tuple[NDArray[Any], int]:
        """Return the loss of each value of the metric, from 0 to 1, exactly: whole multiples of a part of 1.

        The second result is how many parts make 1. Values are taken for simple fractions or short decimals, where
        these are the same in floating-point numbers.
        """
        low, high = self.bounds
        outside = np.flatnonzero(~((values >= low - 1e-9) & (values <= high + 1e-9)))
        if len(outside):
            raise ParameterError(
                f"The metric {self.name!r} is {values[outside[0]]:g} for an example, outside its bounds {low:g} "
                f"to {high:g}. A promise needs true bounds: give "
                f"{argument('bounds', 'LOW,HIGH', python='bounds=')}."
            )
        distinct, place = np.unique(values, return_inverse=True)
        worst, best = map(exactly, (low, high) if self.higher_is_better else (high, low))
        shares = [(best - _meant(value)) / (best - worst) for value in distinct.tolist()]
        losses: list[Fraction] = [min(max(share, Fraction(0)), Fraction(1)) for share in shares]
        parts = math.lcm(*(loss.denominator for loss in losses))
        # All of them together must fit into 64 bits; integers of Python have no limit.
        whole = np.array([int(loss * parts) for loss in losses], dtype=object)
        return (whole.astype(np.int64) if parts * len(values) < 1 << 62 else whole)[place], parts

    def __str__(self) -> str:
        return f"{self.name} {'>=' if self.higher_is_better else '<='} {float(self.level):g}"


@final
@dataclass(frozen=True)
class SelectionSpec:
    """A request: a target, or levels per rank, and how to reach them."""

    hierarchy: Hierarchy
    target: Target | None
    per_rank: Mapping[str, Fraction]
    overclassification: Mapping[str, Fraction]
    guarantee: str
    delta: Fraction
    rule: str
    settings: Settings
    clade_depth: int | None
    by_group: bool
    among: str | None = None
    """Which answers the promise is about: "answered", a rank or a depth; None for all."""
    largest_cluster: int | None = None
    """If every example counts once, the size that no cluster exceeds; None if every cluster counts once."""
    weighted: bool = False
    """Whether examples have weights."""
    expect: Strata | None = None
    """The shares of classes in new data; None if they are those of the examples."""
    estimated: bool = False
    """Whether these shares are, or will be, estimated."""
    pool_small: Mapping[str, float] | None = None
    """The sizes by which small groups are pooled; empty to count the examples; None if none are pooled."""

    @classmethod
    def of(
        cls,
        hierarchy: Hierarchy,
        *,
        target: tuple[Any, Any] | None,
        per_rank: Mapping[str, Any] | None = None,
        overclassification: Mapping[str, Any] | None = None,
        guarantee: str | None = None,
        delta: Any = 0.05,
        among: str | int | None = None,
        unit: str = "cluster",
        largest_cluster: Any = None,
        pool_small: bool | Mapping[str, float] = False,
        clades: int | str | None = None,
        rule: str = "threshold",
        bounds: tuple[float, float] | None = None,
        settings: Settings | None = None,
        by_group: bool = False,
        weighted: bool = False,
        expect: Mapping[str, Any] | None = None,
        like: bool = False,
    ) -> SelectionSpec:
        """Check a request; the parameters are those of `select`."""
        FAMILIES.find(rule)
        guarantee = guarantee or ("conformal" if among is None else "pac")
        by_rank = bool(per_rank or overclassification)
        if (target is None) == (not by_rank):
            example = argument("target", "correct=0.95", python="target=('correct', 0.95)")
            raise ParameterError(f"Give either a target ({example}) or levels per rank.")
        settings = settings or Settings()
        if not isinstance(settings.information, str):
            raise ParameterError("A point keeps the measure of specificity by its name: 'leaves' or 'depth'.")
        if by_rank and (clades is not None or by_group):
            raise ParameterError("Levels per rank cannot be combined with groups or clades: choose one of them.")
        if by_rank and rule != "threshold":
            raise ParameterError("Levels per rank are for the rule 'threshold': leave out the other rule.")
        if clades is not None and by_group:
            raise ParameterError("Thresholds are either by group or by clade: choose one of them.")
        if unit not in ("cluster", "example"):
            raise ParameterError(f"unit must be 'cluster' or 'example', not {unit!r}.")
        if (unit == "example") != (largest_cluster is not None):
            raise ParameterError(
                f"{argument('unit', 'example')} counts examples instead of clusters, and needs the size that no "
                f"cluster will ever exceed: give {argument('largest_cluster', 'M')} with it, or neither."
            )
        if largest_cluster is not None and not (
            isinstance(largest_cluster, int | np.integer) and largest_cluster >= 1
        ):
            raise ParameterError(f"largest_cluster must be a whole number, 1 or more, not {largest_cluster!r}.")
        if pool_small is not False and clades is None and not by_group:
            raise ParameterError(
                f"{argument('pool_small', True)} is for groups or clades: give "
                f"{argument('groups', 'COLUMN')} or {argument('clades', 'RANK')} too, or leave it out."
            )
        exact_delta = _exactly("delta", delta)
        Promise(guarantee, Fraction(1, 2), exact_delta)  # refuses what is not a guarantee
        wanted = None if target is None else Target.of(target, bounds, guarantee)
        if weighted or expect is not None or like:
            _check_shift(
                wanted, guarantee, [weighted, expect is not None, like], others=by_group or clades is not None
            )
        if among is not None:
            _check_among(hierarchy, str(among), wanted, guarantee, rule)
        return cls(
            hierarchy,
            wanted,
            _shares(hierarchy, per_rank, guarantee, "per_rank"),
            _shares(hierarchy, overclassification, guarantee, "overclassification"),
            guarantee,
            exact_delta,
            rule,
            settings,
            _clade_depth(hierarchy, clades),
            by_group,
            None if among is None else str(among),
            None if largest_cluster is None else int(largest_cluster),
            weighted,
            None
            if expect is None
            else Strata.of(hierarchy, {(str(name),): share for name, share in expect.items()}),
            like,
            None if pool_small is False else {} if pool_small is True else _sizes(pool_small),
        )

    @property
    def is_shifted(self) -> bool:
        """Whether the promise is for other data than the calibration data."""
        return self.weighted or self.expect is not None

    @property
    def by(self) -> By:
        """What the thresholds are for."""
        if self.target is None:
            return "rank"
        return "clade" if self.clade_depth is not None else "group" if self.by_group else "all"

    @property
    def ranks(self) -> tuple[tuple[str, Settings], ...]:
        """The ranks that get a threshold, and what counts as right there; none with a target."""
        ranks = [(rank, self.settings) for rank in self.per_rank]
        ranks += [(rank, self.settings.strict) for rank in self.overclassification]
        return tuple(dict.fromkeys(ranks))

    @property
    def walks(self) -> int:
        """Among how many walks δ is divided."""
        return 1 if self.among is None else len(STARTS)

    @cached_property
    def from_root(self) -> bool:
        """Whether the promise is kept if every answer is the root."""
        if self.target is None or self.among is not None:
            return True
        labels = np.arange(len(self.hierarchy))
        return not self.losses(labels, np.zeros_like(labels))[0].any()

    def losses(self, labels: NDArray[Any], answers: NDArray[Any]) -> tuple[NDArray[Any], int]:
        """Return the loss of each answer, if there is a target: see `Target.losses`."""
        assert self.target is not None  # noqa: S101
        measures = Measures.of(self.hierarchy, [self.target.metric], self.settings)
        (values,) = measures.values(labels, answers)
        return self.target.losses(values)


# Checks --------------------------------------------------------------------------------------------------------


def _exactly(name: str, value: Any) -> Fraction:
    """Return a number as the user wrote it; anything else is an error."""
    try:
        return exactly(value)
    except (ValueError, ZeroDivisionError):
        raise ParameterError(f"{name} must be a number, not {value!r}.") from None


def _meant(value: float) -> Fraction:
    """Return the simple fraction that a number is nearest to, or its shortest decimal.

    >>> _meant(2 / 3), _meant(0.1), _meant(0.123456789)
    (Fraction(2, 3), Fraction(1, 10), Fraction(123456789, 1000000000))
    """
    simple = Fraction(value).limit_denominator(_SIMPLE)
    return simple if float(simple) == value else exactly(value)


def _metric(given: Any) -> Any:
    if isinstance(given, str):
        return metrics.METRICS.find(given)
    if not callable(given):
        raise ParameterError(f"A metric is a name or a function, not {given!r}.")
    return given


def _limits(metric: Any, name: str, bounds: tuple[float, float] | None) -> tuple[float, float]:
    if bounds is not None:
        low, high = (float(bound) for bound in bounds)
        if not (np.isfinite([low, high]).all() and low < high):
            raise ParameterError(f"bounds must be two finite numbers, the smaller one first, not {bounds!r}.")
        return low, high
    if isinstance(metric, Metric) and not metric.is_fraction:
        raise ParameterError(
            f"The values of {name!r} are not fractions. A promise about them needs their smallest and largest "
            f"possible value: give {argument('bounds', 'LOW,HIGH', python='bounds=(low, high)')}."
        )
    return 0.0, 1.0


def _shares(
    hierarchy: Hierarchy, given: Mapping[str, Any] | None, guarantee: str, name: str
) -> dict[str, Fraction]:
    shares = {}
    for rank, value in (given or {}).items():
        share = _exactly(f"{name}[{rank!r}]", value)
        alpha = 1 - share if name == "per_rank" else share
        if not 0 <= alpha < 1 or (alpha == 0 and GUARANTEES.find(guarantee).promises):
            raise ParameterError(
                f"{name}: the level of {rank!r} must lie between 0 and 1, not at {float(share):g}."
                f"{of_per_cent(float(share))}"
            )
        Ranks.of(hierarchy).nodes(str(rank))
        shares[str(rank)] = share
    return shares


def _sizes(given: Mapping[str, float]) -> dict[str, float]:
    try:
        sizes = {str(name): float(size) for name, size in given.items()}
    except (TypeError, ValueError) as error:
        raise ParameterError(f"pool_small: sizes of groups must be numbers: {error}.") from None
    wrong = [name for name, size in sizes.items() if not 0 <= size < math.inf]
    if wrong or not sizes:
        raise ParameterError(
            f"pool_small: sizes of groups are numbers from 0 on; see {some(wrong) or 'an empty list'}."
        )
    return sizes


def _check_shift(target: Target | None, guarantee: str, kinds: list[bool], *, others: bool) -> None:
    """Refuse a promise for other data than the calibration data that cannot be made."""
    said = {
        argument("weight_column", "COLUMN", python="weights="): kinds[0],
        argument("expect", "FILE", python="expect="): kinds[1],
        argument("like", "SCORES", python="like="): kinds[2],
    }
    given = [name for name, there in said.items() if there]
    if len(given) > 1:
        raise ParameterError(f"{given[0]} and {given[1]} say the same in two ways: give one of them.")
    if target is None or guarantee != "conformal" or others:
        raise ParameterError(
            f"{given[0]} is for a conformal promise about all examples, without ranks, groups, clades or "
            f"clusters: leave "
            f"it out, or them."
        )


def _check_among(hierarchy: Hierarchy, among: str, target: Target | None, guarantee: str, rule: str) -> None:
    """Refuse a promise among the answers given that cannot be made."""
    among_nodes(hierarchy, among)
    if target is None or not target.is_binary or target.metric is metrics.non_root:
        example = argument("target", "correct=0.95", python="target=('correct', 0.95)")
        raise ParameterError(f"A promise among the answers given is about correct or exact: give {example}.")
    if FAMILIES[rule].is_lambda:
        raise ParameterError(
            f"A promise among the answers given is for rules with a threshold, not for {rule!r}: leave it out."
        )
    if guarantee == "conformal":
        raise ParameterError(
            "'conformal' cannot promise a share of the answers given: which answers these are changes with the "
            f"threshold, and it averages over all examples. Give {argument('guarantee', 'pac')}."
        )


def _clade_depth(hierarchy: Hierarchy, clades: int | str | None) -> int | None:
    if clades is None:
        return None
    deepest = int(hierarchy.depth.max())
    if isinstance(clades, str) and not clades.isdecimal():
        depths = np.unique(hierarchy.depth[Ranks.of(hierarchy).nodes(clades)])
        if len(depths) > 1:
            raise ParameterError(
                f"The nodes of rank {clades!r} are at several depths ({some(map(str, depths.tolist()))}). Give a "
                "depth."
            )
        return int(depths[0])
    depth = int(clades)
    if not 1 <= depth <= deepest:
        raise ParameterError(f"Clades are at a depth from 1 to {deepest}, not at {clades}.")
    return depth
