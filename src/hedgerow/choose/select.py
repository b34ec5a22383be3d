"""`select`: the boldest operating point that keeps a promise."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from importlib import metadata
from typing import TYPE_CHECKING, Any, final

import numpy as np

from hedgerow.choose.examples import Examples, Wanted, gather
from hedgerow.choose.families import Family, SingleChild, bottom_of, check_family
from hedgerow.choose.guarantees import Guarantee, Promise, exactly
from hedgerow.choose.losses import AffordsNothing, Clusters, Steps, changes, worst_so_far
from hedgerow.choose.point import OperatingPoint
from hedgerow.errors import HedgerowError, ParameterError, ScoreError, argument, counted, no_such, some
from hedgerow.likelihood import BOTTOM
from hedgerow.measure import BelowLabel, Measures, Metric, Ranks, metrics
from hedgerow.score_files import Progress, silent
from hedgerow.tree import Hierarchy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from hedgerow.likelihood import Scale
    from hedgerow.tree import Indices, InformationKind

BINARY = (metrics.correct, metrics.exact, metrics.strictly_exact, metrics.non_root)
"""Metrics that are 0 or 1 for every example."""

_BOUNDS = (0.0, 1.0)


class CannotPromiseError(HedgerowError):
    """No operating point keeps the promise."""


def select(
    hierarchy: Hierarchy,
    scores: Any,
    labels: ArrayLike | None = None,
    *,
    target: tuple[Any, Any] | None = None,
    per_rank: Mapping[str, Any] | None = None,
    overclassification: Mapping[str, Any] | None = None,
    guarantee: Guarantee = "conformal",
    delta: float = 0.05,
    groups: ArrayLike | bool | None = None,
    clusters: ArrayLike | bool | None = None,
    clades: int | str | None = None,
    rule: Family = "threshold",
    bounds: tuple[float, float] | None = None,
    classes: ArrayLike | None = None,
    information: InformationKind = "leaves",
    below_label: BelowLabel = "label",
    single_child: SingleChild | None = None,
    scale: Scale | None = None,
    progress: Progress = silent,
) -> OperatingPoint:
    """Choose the operating point that keeps a promise on new examples, and is as bold as that allows.

    For targets that the root always meets (correct, precision), the answers are as specific as possible. For
    others (recall, exact, f1), they are as conservative as possible: "as right as possible with recall >= 0.6".

    The examples must not have been used to train the model, to choose its settings or to fit a temperature.

    Parameters
    ----------
    hierarchy
        The tree.
    scores, labels
        A score file from `hedgerow.open_scores`, or likelihoods [examples, nodes] with labels, as in `evaluate`.
    target
        A metric and its level on new examples, such as ("correct", 0.95): a name from `hedgerow.metrics`, a
        `Metric`, or a function (tree, label, prediction).
    per_rank
        Instead of a target: for each rank, the share of new examples that are not wrong there, such as
        ``{"family": 0.99, "species": 0.9}``. An answer that does not reach a rank is not wrong there. If the tree
        has no ranks, depths: ``{"1": 0.99}``.
    overclassification
        For each rank, the share of examples of unknown taxa that may be given a name there, such as
        ``{"genus": 0.05}``. It is chosen with the examples whose label lies above the rank, which must be the
        examples of unknown taxa; `clusters` says which taxon each of them is.
    guarantee
        "conformal": the level is reached on average over calibration sets. "pac": it is reached with confidence
        1 - delta. "empirical": it is reached on these examples, and nothing is promised.
    delta
        The probability, over calibration sets, that the promise of "pac" is broken.
    groups
        A group for each example, which will also be known of new ones; True: those of the score file. Each group
        gets its own threshold and promise.
    clusters
        Which examples belong together: photographs of one burst, reads of one sample; True: those of the score
        file. The promise is then for an example of a new cluster.
    clades
        A depth or rank: each clade there gets its own threshold and promise, for the examples whose most likely
        leaf lies in it.
    rule
        The family of rules: "threshold", "climbing" or "expected_information".
    bounds
        The smallest and the largest value of a metric that is not a fraction, for a promise about it.
    classes
        Names in which integer labels are positions; without it, they are node indices.
    information
        The measure of specificity: "leaves" or "depth".
    below_label
        How to count an answer below its label: as the "label" or as "wrong".
    single_child
        Whether nodes with one child are answers of their own: "skip" or "answer"; by default as the format of a
        score file means, else "skip".
    scale
        The scale of plain likelihoods: "probability" (the default), "log" or "logit".
    progress
        Called to report progress.

    Examples
    --------
    >>> import hedgerow as hr
    >>> h = hr.Hierarchy.from_edges([("root", "pet"), ("root", "wolf"), ("pet", "cat"), ("pet", "dog")])
    >>> q = [[1, 0.9, 0.6, 0.3, 0.1]] * 15 + [[1, 0.6, 0.5, 0.1, 0.4]] * 5
    >>> point = hr.select(h, q, ["cat"] * 15 + ["dog"] * 5, target=("correct", 0.9))
    >>> point.threshold
    0.5
    >>> hr.select(h, q, ["cat"] * 15 + ["dog"] * 5, target=("recall", 0.6), guarantee="empirical").threshold
    0.599...
    """
    usual: SingleChild = getattr(scores, "single_child", None) or "skip"
    order = Order.of(
        hierarchy,
        target=target,
        per_rank=per_rank,
        overclassification=overclassification,
        guarantee=guarantee,
        delta=delta,
        clades=clades,
        rule=rule,
        bounds=bounds,
        information=information,
        below_label=below_label,
        single_child=single_child or usual,
        by_group=groups is not None and groups is not False,
    )
    examples = gather(
        hierarchy,
        scores,
        labels,
        order.wanted,
        classes=classes,
        groups=groups,
        clusters=clusters,
        scale=scale,
        progress=progress,
    )
    point = choose(order, examples)
    for note in point.notes:
        warnings.warn(note, stacklevel=2)
    return point


@final
@dataclass(frozen=True)
class Order:
    """What is asked for, checked before anything is read."""

    hierarchy: Hierarchy
    metric: Any
    name: str
    level: Fraction | None
    alpha: Fraction | None
    per_rank: Mapping[str, Fraction]
    overclassification: Mapping[str, Fraction]
    guarantee: Guarantee
    delta: Fraction
    rule: Family
    bounds: tuple[float, float]
    information: InformationKind
    below_label: BelowLabel
    single_child: SingleChild
    clade_depth: int | None
    by_group: bool

    @classmethod
    def of(
        cls,
        hierarchy: Hierarchy,
        *,
        target: tuple[Any, Any] | None,
        per_rank: Mapping[str, Any] | None = None,
        overclassification: Mapping[str, Any] | None = None,
        guarantee: Guarantee = "conformal",
        delta: Any = 0.05,
        clades: int | str | None = None,
        rule: Family = "threshold",
        bounds: tuple[float, float] | None = None,
        information: InformationKind = "leaves",
        below_label: BelowLabel = "label",
        single_child: SingleChild = "skip",
        by_group: bool = False,
    ) -> Order:
        """Check what is asked for; the parameters are those of `select`."""
        check_family(rule)
        by_rank = bool(per_rank or overclassification)
        if (target is None) == (not by_rank):
            raise ParameterError(
                f"Give either a target ({argument('target', 'correct=0.95', python=_EXAMPLE)}) or levels per rank."
            )
        if not isinstance(information, str) or information not in ("leaves", "depth"):
            raise ParameterError("A point keeps the measure of specificity by its name: 'leaves' or 'depth'.")
        if by_rank and (clades is not None or by_group):
            raise ParameterError("Levels per rank cannot be combined with groups or clades: choose one of them.")
        if by_rank and rule != "threshold":
            raise ParameterError("Levels per rank are for the rule 'threshold': leave out the other rule.")
        if clades is not None and by_group:
            raise ParameterError("Thresholds are either by group or by clade: choose one of them.")
        given = exactly_or_refuse("delta", delta)
        Promise(guarantee, Fraction(1, 2), given)  # refuses what is not a guarantee
        metric, name, level, alpha, limits = None, "", None, None, _BOUNDS
        if target is not None:
            metric, name = _metric(target)
            limits = _limits(metric, name, bounds)
            level, alpha = _level(name, target[1], metric, limits, guarantee)
        return cls(
            hierarchy,
            metric,
            name,
            level,
            alpha,
            _shares(hierarchy, per_rank, guarantee, "per_rank"),
            _shares(hierarchy, overclassification, guarantee, "overclassification"),
            guarantee,
            given,
            rule,
            limits,
            information,
            below_label,
            single_child,
            _clade_depth(hierarchy, clades),
            by_group,
        )

    @property
    def wanted(self) -> Wanted:
        """What must be known of the examples."""
        ranks: list[tuple[str, BelowLabel]] = [(rank, self.below_label) for rank in self.per_rank]
        ranks += [(rank, "wrong") for rank in self.overclassification]
        family = None if ranks else self.rule
        return Wanted(family, tuple(dict.fromkeys(ranks)), self.information, self.single_child, self.clade_depth)

    @property
    def binary(self) -> bool:
        """Whether the loss of every example is 0 or 1."""
        return self.metric is None or self.metric in BINARY

    @property
    def from_root(self) -> bool:
        """Whether the root is perfect, whatever the label is."""
        if self.metric is None:
            return True
        labels = np.arange(len(self.hierarchy))
        return bool((self.losses(labels, np.zeros_like(labels)) == 0).all())

    def losses(self, labels: NDArray[Any], answers: NDArray[Any]) -> NDArray[np.float64]:
        """Return the loss of each answer, from 0 to 1."""
        measures = Measures.of(self.hierarchy, [self.metric], self.information, self.below_label)
        (value,) = measures.values(labels, answers)
        low, high = self.bounds
        outside = np.flatnonzero(~((value >= low - 1e-9) & (value <= high + 1e-9)))
        if len(outside):
            raise ParameterError(
                f"The metric {self.name!r} is {value[outside[0]]:g} for an example, outside its bounds {low:g} to "
                f"{high:g}. A promise needs true bounds: give {argument('bounds', 'LOW,HIGH', python='bounds=')}."
            )
        share = (value - low) / (high - low)
        return np.clip(1 - share if higher_is_better(self.metric) else share, 0, 1)


_EXAMPLE = "target=('correct', 0.95)"


def choose(order: Order, examples: Examples) -> OperatingPoint:
    """Choose a point with examples that have been read."""
    notes = list(_doubts(order, examples))
    if order.wanted.ranks:
        thresholds, found = _rank_thresholds(order, examples)
        rule, by = "ranks", "rank"
    else:
        thresholds, found = _thresholds(order, examples)
        rule = order.rule
        by = "clade" if order.clade_depth is not None else "group" if order.by_group else "all"
    target = {order.name: float(order.level)} if order.level is not None else _floats(order.per_rank)
    tree = order.hierarchy
    return OperatingPoint(
        tree if tree.title is None else Hierarchy(tree.names, tree.parent, tree.rank),
        target=target,
        overclassification=_floats(order.overclassification),
        guarantee=order.guarantee,
        delta=float(order.delta) if order.guarantee == "pac" else None,
        rule=rule,  # type: ignore[arg-type]
        by=by,  # type: ignore[arg-type]
        thresholds=thresholds,
        scale=examples.scale,
        root_is_safe=order.from_root,
        clade_depth=order.clade_depth,
        information=order.information,
        below_label=order.below_label,
        single_child=order.single_child,
        temperature=examples.temperature,
        examples=len(examples),
        clusters=None if examples.clusters is None else len(set(examples.clusters.tolist())),
        notes=(*notes, *found),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        version=metadata.version("hedgerow"),
    )


# One threshold for all, for each group or for each clade ------------------------------------------------------


def _thresholds(order: Order, examples: Examples) -> tuple[dict[str, float], list[str]]:
    steps = losses_of(order, examples)
    names = examples.clades if order.clade_depth is not None else examples.groups
    if names is None:
        clusters = Clusters.of(examples.clusters, len(examples))
        tau, note = _one(order, steps(slice(None), clusters), clusters, "")
        return {"": tau}, [note] if note else []
    what = "clade" if order.clade_depth is not None else "group"
    thresholds, small = {}, {}
    for name in sorted(set(names.tolist())):
        rows = np.flatnonzero(names == name)
        clusters = Clusters.of(None if examples.clusters is None else examples.clusters[rows], len(rows))
        thresholds[name], note = _one(order, steps(rows, clusters), clusters, f"the {what} {name!r}")
        if note:
            small[name] = clusters.number
    if not small:
        return thresholds, []
    needed = promise_of(order, Clusters.of(examples.clusters, len(examples))).needed
    unit = "clusters" if examples.clusters is not None else "examples"
    note = (
        f"{counted(len(small), f'{what} is', f'{what}s are')} too small for the promise, so the answer there is "
        f"always the root: {some(small)}. Each needs at least {needed:,} {unit}."
    )
    return thresholds, [note]


def losses_of(order: Order, examples: Examples) -> Any:
    """Return a function from some of the examples, with their clusters, to the steps of their losses."""
    events = examples.events
    assert events is not None  # noqa: S101  (they were asked for)
    from_root = order.from_root
    at_root = order.losses(examples.labels, np.zeros_like(examples.labels))
    after = order.losses(np.repeat(events.label, events.count).astype(np.int64), events.node.astype(np.int64))
    # The mean of real losses may rise and fall: "empirical" looks at all of it, and the bounds of "pac" for losses
    # other than 0 and 1 are tested one after the other. The exact ranks need losses that only grow.
    real = order.guarantee == "empirical" or (order.guarantee == "pac" and not order.binary)
    base, amount = (changes if real else worst_so_far)(events, at_root, after, from_root=from_root)
    kept = np.flatnonzero(amount)
    score, amount, example = events.score[kept], amount[kept], events.example[kept]
    bottom = bottom_of(order.rule, examples.scale)

    def steps(rows: Indices | slice, clusters: Clusters) -> Steps:
        where = {"from_root": from_root, "bottom": bottom}
        if isinstance(rows, slice):
            return Steps.of(score, amount, example, base, clusters, **where)  # type: ignore[arg-type]
        place = np.full(len(base), -1)
        place[rows] = np.arange(len(rows))
        inside = place[example] >= 0
        return Steps.of(
            score[inside],
            amount[inside],
            place[example[inside]],
            base[rows],
            clusters,
            **where,  # type: ignore[arg-type]
        )

    return steps


def promise_of(order: Order, clusters: Clusters) -> Promise:
    """Return the promise of an order; the mean losses of clusters are not 0 or 1."""
    assert order.alpha is not None  # noqa: S101
    binary = order.binary and bool((clusters.size == 1).all())
    return Promise(order.guarantee, order.alpha, order.delta, binary)


def _one(order: Order, steps: Steps, clusters: Clusters, where: str) -> tuple[float, str]:
    """Return a threshold, and a note if it is that of the root because there are too few examples."""
    promise = promise_of(order, clusters)
    budget = promise.budget(clusters.number)
    unit = ("cluster", "clusters") if clusters.given else ("example", "examples")
    there = f" in {where}" if where else ""
    if budget < 0:
        said = (
            f"{order.name} {_sign(order.metric)} {float(order.level or 0):g} cannot be promised with "
            f"{counted(clusters.number, *unit)}{there}: at least {promise.needed:,} are needed"
        )
        if order.from_root:
            return np.inf, f"{said}. Until then, the answer is always the root."
        raise CannotPromiseError(
            f"{said}, and the root does not keep this promise either. Collect more, or promise less."
        )
    try:
        if order.guarantee == "empirical":
            return steps.last_within(budget), ""
        return (steps.within if order.binary or order.guarantee == "conformal" else steps.first_above)(budget), ""
    except AffordsNothing as nothing:
        low, high = order.bounds
        mean = float(nothing.loss) / clusters.number
        reached = high - mean * (high - low) if higher_is_better(order.metric) else low + mean * (high - low)
        better = higher_is_better(order.metric)
        short = (reached < float(order.level or 0)) == better
        why = "" if short else ", which leaves too little room for chance"
        raise CannotPromiseError(
            f"{order.name} {_sign(order.metric)} {float(order.level or 0):g} cannot be promised{there}: the most "
            f"specific answers reach {reached:.4g} on these {unit[1]}{why}. Promise less, or collect more "
            "examples."
        ) from None


# A threshold for each rank -------------------------------------------------------------------------------------


def _rank_thresholds(order: Order, examples: Examples) -> tuple[dict[str, float], list[str]]:
    thresholds: dict[str, float] = {}
    notes: list[str] = []
    delta = order.delta / len(order.wanted.ranks)  # all ranks together keep their promises with confidence 1 - δ
    for rank, level in order.per_rank.items():
        everyone = np.ones(len(examples), dtype=bool)
        tau, note = _rank(order, examples, rank, order.below_label, 1 - level, delta, everyone)
        thresholds[rank] = tau
        notes += [note] if note else []
    ranks = Ranks.of(order.hierarchy)
    for rank, share in order.overclassification.items():
        labels = examples.labels
        unknown = (ranks.at(rank)[labels] < 0) & ranks.below(rank)[labels]
        if not unknown.any():
            raise ScoreError(
                f"No example belongs to an unknown {rank}: none has a label above that rank. Give examples of "
                f"taxa that the tree does not have, labelled by the deepest node that they belong to."
            )
        tau, note = _rank(order, examples, rank, "wrong", share, delta, unknown)
        thresholds[rank] = max(tau, thresholds.get(rank, BOTTOM[examples.scale]))
        notes += [note] if note else []
    names = [rank for rank in ranks.names if rank in thresholds]
    return {rank: thresholds[rank] for rank in names}, notes


def _rank(
    order: Order,
    examples: Examples,
    rank: str,
    below_label: BelowLabel,
    alpha: Fraction,
    delta: Fraction,
    which: NDArray[np.bool_],
) -> tuple[float, str]:
    score = examples.wrong_at[rank, below_label][which]
    given = None if examples.clusters is None else examples.clusters[which]
    clusters = Clusters.of(given, len(score))
    promise = Promise(order.guarantee, alpha, delta, bool((clusters.size == 1).all()))
    budget = promise.budget(clusters.number)
    if budget < 0:
        unit = "clusters" if clusters.given else "examples"
        return np.inf, (
            f"The promise for {rank} needs at least {promise.needed:,} {unit}; found {clusters.number:,}. "
            f"Until then, no answer reaches this rank."
        )
    bottom = BOTTOM[examples.scale]
    wrong = np.flatnonzero(score > bottom)
    ones = np.ones(len(wrong))
    steps = Steps.of(score[wrong], ones, wrong, np.zeros(len(score)), clusters, from_root=True, bottom=bottom)
    return steps.within(budget), ""


# Checks --------------------------------------------------------------------------------------------------------


def exactly_or_refuse(name: str, value: Any) -> Fraction:
    """Return a number as the user wrote it."""
    try:
        return exactly(value)
    except (ValueError, ZeroDivisionError):
        raise ParameterError(f"{name} must be a number, not {value!r}.") from None


def _metric(target: Any) -> tuple[Any, str]:
    if not isinstance(target, tuple | list) or len(target) != 2:
        raise ParameterError(f"target must be a metric and its level, such as ('correct', 0.95), not {target!r}.")
    metric = target[0]
    if isinstance(metric, str):
        if metric not in metrics.METRICS:
            raise ParameterError(no_such("metric", metric, metrics.METRICS))
        metric = metrics.METRICS[metric]
    if not callable(metric):
        raise ParameterError(f"A metric is a name or a function, not {metric!r}.")
    return metric, str(getattr(metric, "name", None) or getattr(metric, "__name__", type(metric).__name__))


def higher_is_better(metric: Any) -> bool:
    """Return the direction of a metric; that of a plain function is up."""
    return bool(getattr(metric, "higher_is_better", True))


def _sign(metric: Any) -> str:
    return ">=" if higher_is_better(metric) else "<="


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
    return _BOUNDS


def _level(
    name: str, given: Any, metric: Any, bounds: tuple[float, float], guarantee: Guarantee
) -> tuple[Fraction, Fraction]:
    """Return the level, and the loss it allows."""
    level = exactly_or_refuse("The level of the target", given)
    low, high = (exactly(bound) for bound in bounds)
    share = (level - low) / (high - low)
    alpha = 1 - share if higher_is_better(metric) else share
    certain = alpha == 0 and guarantee != "empirical"
    if not 0 <= alpha < 1 or certain:
        remedy = " No number of examples can promise certainty." if certain else ""
        raise ParameterError(
            f"The level of {name} must lie between {float(low):g} and {float(high):g}, not at "
            f"{float(level):g}.{remedy}"
        )
    return level, alpha


def _shares(
    hierarchy: Hierarchy, given: Mapping[str, Any] | None, guarantee: Guarantee, name: str
) -> dict[str, Fraction]:
    shares = {}
    for rank, value in (given or {}).items():
        share = exactly_or_refuse(f"{name}[{rank!r}]", value)
        alpha = 1 - share if name == "per_rank" else share
        if not 0 <= alpha < 1 or (alpha == 0 and guarantee != "empirical"):
            raise ParameterError(
                f"{name}: the level of {rank!r} must lie between 0 and 1, not at {float(share):g}."
            )
        Ranks.of(hierarchy).nodes(str(rank))
        shares[str(rank)] = share
    return shares


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


def _doubts(order: Order, examples: Examples) -> list[str]:
    doubts = []
    if examples.unused_clusters:
        doubts.append(
            "The examples are in clusters, which are not used: the promise holds only if all examples are "
            f"independent. To promise something for new clusters, give "
            f"{argument('clusters', 'cluster', python='clusters=True')}."
        )
    if order.overclassification and not order.per_rank:
        doubts.append(
            "Nothing is promised about answers to examples of known classes, which may be wrong at any rank. To "
            f"promise something for them too, give {argument('per_rank', 'RANK=LEVEL', python='per_rank={...}')}."
        )
    distinct = np.unique(examples.labels)
    if len(distinct) == 1:
        doubts.append(
            f"All labels are {order.hierarchy.names[distinct[0]]!r}: these examples say nothing about other "
            "classes."
        )
    if examples.clusters is not None and len(set(examples.clusters.tolist())) == 1:
        raise ScoreError(
            f"All {len(examples):,} examples are in one cluster, {examples.clusters[0]!r}. A promise for new "
            f"clusters needs several: is this the right column?"
        )
    return doubts


def _floats(shares: Mapping[str, Fraction]) -> dict[str, float]:
    return {name: float(share) for name, share in shares.items()}


def with_level(order: Order, level: Fraction) -> Order:
    """Return the same order at another level."""
    _, alpha = _level(order.name, level, order.metric, order.bounds, order.guarantee)
    return replace(order, level=level, alpha=alpha)
