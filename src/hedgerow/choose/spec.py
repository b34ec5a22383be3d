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
from hedgerow.choose.guarantees import GUARANTEES, Promise, exact_number
from hedgerow.choose.ranks import RANKS, RankPromise
from hedgerow.choose.shift import Strata
from hedgerow.choose.target import Target
from hedgerow.errors import ParameterError, argument, of_per_cent, some
from hedgerow.measure import Clusters, Measures, Ranks, metrics
from hedgerow.tree import Hierarchy, Settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from hedgerow.choose.point import By, OperatingPoint


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
        settings = settings or Settings()
        if not isinstance(settings.information, str):
            raise ParameterError("A point keeps the measure of specificity by its name: 'leaves' or 'depth'.")
        FAMILIES.find(rule)
        guarantee = guarantee or ("conformal" if among is None else "pac")
        promise = Promise(guarantee, Fraction(1, 2), exact_number("delta", delta))  # refuses what is no guarantee
        parts = [name for name, asked in (("groups", by_group), ("clades", clades is not None)) if asked]
        _check_parts(target is not None, bool(per_rank or overclassification), rule, parts, pool_small)
        _check_unit(unit, largest_cluster)
        wanted = None if target is None else Target.of(target, bounds, guarantee)
        _check_shift(wanted, guarantee, {"weights": weighted, "expect": expect is not None, "like": like}, parts)
        if among is not None:
            _check_among(hierarchy, str(among), wanted, guarantee, rule)
        return cls(
            hierarchy,
            wanted,
            _shares(hierarchy, per_rank, guarantee, "per_rank"),
            _shares(hierarchy, overclassification, guarantee, "overclassification"),
            guarantee,
            promise.delta,
            rule,
            settings,
            _clade_depth(hierarchy, clades),
            by_group,
            among=None if among is None else str(among),
            largest_cluster=None if largest_cluster is None else int(largest_cluster),
            weighted=weighted,
            expect=None
            if expect is None
            else Strata.of(hierarchy, {(str(each),): expect[each] for each in expect}),
            estimated=like,
            pool_small=None if pool_small is False else {} if pool_small is True else _sizes(pool_small),
        )

    @classmethod
    def of_point(cls, point: OperatingPoint, hierarchy: Hierarchy) -> SelectionSpec:
        """Return what a point was chosen by; a metric that is no longer registered is left out."""
        common: dict[str, Any] = {
            "guarantee": point.guarantee,
            "delta": 0.05 if point.delta is None else point.delta,
            "settings": point.settings,
            "unit": "cluster" if point.largest_cluster is None else "example",
            "largest_cluster": point.largest_cluster,
        }
        if point.rule == RANKS:
            by_rank: dict[str, Any] = {"per_rank": point.target, "overclassification": point.overclassification}
            return cls.of(hierarchy, target=None, **by_rank, **common)
        (name, level), *_ = point.target.items()
        known = name in metrics.METRICS and metrics.METRICS[name].is_fraction
        spec = cls.of(
            hierarchy,
            target=(name, level) if known else ("correct", 0.5),
            clades=point.clade_depth,
            pool_small=bool(point.pools),
            rule=point.rule,
            by_group=point.by == "group",
            among=point.among,
            weighted=bool(point.weight_steps),
            **common,
        )
        if not point.expect:
            return spec
        expect = Strata.of(hierarchy, {each.classes: each.share for each in point.expect})
        return replace(spec, expect=expect, estimated=point.estimated)

    @property
    def aim(self) -> Target:
        """The target of a request that has one, and not levels per rank."""
        assert self.target is not None  # noqa: S101
        return self.target

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

    @cached_property
    def rank_promises(self) -> tuple[RankPromise, ...]:
        """The promises for ranks; none with a target."""
        strict = self.settings.strict
        known = [RankPromise(rank, 1 - level, False, self.settings) for rank, level in self.per_rank.items()]
        unknown = [RankPromise(rank, share, True, strict) for rank, share in self.overclassification.items()]
        return (*known, *unknown)

    def promise(self, clusters: Clusters, alpha: Fraction | None = None) -> Promise:
        """Return what is promised with some clusters: by each of several walks, or of each of several ranks.

        All walks, and all ranks together, keep their promises with probability 1 - δ.
        """
        binary = clusters.are_units and (self.target is None or self.target.is_binary)
        shares = len(self.rank_promises) if self.target is None else 1 if self.among is None else len(STARTS)
        return Promise(self.guarantee, self.aim.alpha if alpha is None else alpha, self.delta / shares, binary)

    @cached_property
    def from_root(self) -> bool:
        """Whether the promise is kept if every answer is the root."""
        if self.target is None or self.among is not None:
            return True
        labels = np.arange(len(self.hierarchy))
        return not self.losses(labels, np.zeros_like(labels))[0].any()

    def losses(self, labels: NDArray[Any], answers: NDArray[Any]) -> tuple[NDArray[Any], int]:
        """Return the loss of each answer, if there is a target: see `Target.losses`."""
        measures = Measures.of(self.hierarchy, [self.aim.metric], self.settings)
        (values,) = measures.values(labels, answers)
        return self.aim.losses(values)


# Checks --------------------------------------------------------------------------------------------------------


def _shares(
    hierarchy: Hierarchy, given: Mapping[str, Any] | None, guarantee: str, name: str
) -> dict[str, Fraction]:
    shares = {}
    for rank, value in (given or {}).items():
        share = exact_number(f"{name}[{rank!r}]", value)
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


def _check_parts(
    target: bool, by_rank: bool, rule: str, parts: list[str], pool_small: bool | Mapping[str, float]
) -> None:
    """Refuse what is to be promised of which examples if that cannot be combined."""
    if target == by_rank:
        whole = argument("target", "correct=0.95", python="target=('correct', 0.95)")
        ranks = argument("per_rank", "family=0.95", python="per_rank={'family': 0.95}")
        raise ParameterError(f"Give either a target ({whole}) or levels per rank ({ranks}).")
    if by_rank and parts:
        raise ParameterError("Levels per rank cannot be combined with groups or clades: choose one of them.")
    if by_rank and rule != "threshold":
        raise ParameterError("Levels per rank are for the rule 'threshold': leave out the other rule.")
    if len(parts) > 1:
        raise ParameterError("Thresholds are either by group or by clade: choose one of them.")
    if pool_small is not False and not parts:
        raise ParameterError(
            f"{argument('pool_small', True)} is for groups or clades: give "
            f"{argument('groups', 'COLUMN')} or {argument('clades', 'RANK')} too, or leave it out."
        )


def _check_unit(unit: str, largest_cluster: Any) -> None:
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


def _check_shift(target: Target | None, guarantee: str, kinds: dict[str, bool], parts: list[str]) -> None:
    """Refuse a promise for other data than the calibration data that cannot be made."""
    options = {
        "weights": argument("weight_column", "COLUMN", python="weights="),
        "expect": argument("expect", "FILE", python="expect="),
        "like": argument("like", "SCORES", python="like="),
    }
    given = [options[kind] for kind, asked in kinds.items() if asked]
    if len(given) > 1:
        raise ParameterError(f"{given[0]} and {given[1]} say the same in two ways: give one of them.")
    if given and (target is None or not GUARANTEES[guarantee].covers_other_data or parts):
        raise ParameterError(
            f"{given[0]} is for a conformal promise about all examples, without ranks, groups, clades or "
            f"clusters: leave it out, or them."
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
    if not GUARANTEES[guarantee].covers_answers:
        raise ParameterError(
            f"{guarantee!r} cannot promise a share of the answers given: which answers these are changes with the "
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
