"""`select`: the boldest operating point that keeps a promise."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Unpack, final

import numpy as np

from hedgerow.choose.families import FAMILIES, largest_wrong
from hedgerow.choose.guarantees import GUARANTEES
from hedgerow.choose.point import OperatingPoint, checked_weights, clades_of
from hedgerow.choose.shift import Strata, shares_like
from hedgerow.choose.spec import SelectionSpec
from hedgerow.choose.thresholds import effective_number, pools_of, thresholds_of, weight_steps
from hedgerow.choose.tips import BINS, bins_of, mean_of_each, tip_likelihoods
from hedgerow.errors import ParameterError, ScoreError, argument, some
from hedgerow.infer import Candidates
from hedgerow.likelihood import AnyLikelihoods, Likelihoods, Treatment
from hedgerow.measure import Events, Ranks, check_filled, example_blocks, labels_at_the_root, repeated_ids
from hedgerow.score_files import Block, Progress, Scores, silent
from hedgerow.tree import Hierarchy, Indices, SettingKeywords, Settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from fractions import Fraction

    from numpy.typing import ArrayLike, NDArray

    from hedgerow.likelihood import Scale

    Texts = NDArray[np.object_]


def select(
    hierarchy: Hierarchy,
    scores: Any,
    labels: ArrayLike | None = None,
    *,
    target: tuple[Any, Any] | None = None,
    per_rank: Mapping[str, Any] | None = None,
    overclassification: Mapping[str, Any] | None = None,
    guarantee: str | None = None,
    delta: float = 0.05,
    among: str | int | None = None,
    groups: ArrayLike | bool | None = None,
    clusters: ArrayLike | bool | None = None,
    weights: ArrayLike | bool | None = None,
    expect: Mapping[str, Any] | None = None,
    like: Any = None,
    unit: str = "cluster",
    largest_cluster: int | None = None,
    clades: int | str | None = None,
    pool_small: bool | Mapping[str, float] = False,
    rule: str = "threshold",
    bounds: tuple[float, float] | None = None,
    classes: ArrayLike | None = None,
    scale: Scale | None = None,
    progress: Progress = silent,
    **settings: Unpack[SettingKeywords],
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
        ``{"genus": 0.05}``. It is chosen with the examples whose label has nodes of that rank below it,
        which must be the examples of unknown taxa; `clusters` says which taxon each of them is.
    guarantee
        "conformal" (the default, unless `among` is given): the level is reached on average over calibration sets.
        "pac": it is reached with probability 1 - delta. "empirical": it is reached on these examples, and nothing
        is promised.
    delta
        The probability, over calibration sets, that the promise of "pac" is broken.
    among
        Which answers the promise is about: "answered", those below the root; or a rank or depth, those at it or
        below it. Without it, the promise is about all examples, and the root counts as right.
    groups
        A group for each example, which must be known for new examples too; True: those of the score file. Each
        group gets its own threshold and promise.
    clusters
        Which examples belong together (``groups`` in scikit-learn): photographs of one burst, reads of one sample;
        True: those of the score file. The promise is then for an example of a new cluster.
    weights
        For new data that differ from these: how likely each example is among new data, relative to these;
        True: those
        of the score file. The new example's own weight counts too: ``point.predict(q, weights=w)``.
    expect
        For new data with other shares of classes: the shares there, in any unit, by the name of a class or
        clade. The
        examples of each class must be like those of that class there. Classes that are not listed do not occur.
    like
        New scores without labels, a score file or likelihoods, from which these shares are estimated.
    unit, largest_cluster
        With clusters, what counts once: each "cluster", or each "example"; then `largest_cluster` is the size that
        no cluster, old or new, exceeds.
    clades
        A depth or rank: each clade there gets its own threshold and promise, for the examples whose most likely
        tip lies in it: the most likely leaf, or where no leaf is listed, the deepest node that is. A tip above
        that depth is a clade of its own.
    pool_small
        True: groups or clades with too few examples for a promise share a threshold, and a promise, with others:
        clades with those near them in the tree. The promise is then approximate, since the same examples say which
        are small; a mapping from names to sizes that come from elsewhere keeps it exact.
    rule
        The family of rules: "threshold", "climbing" or "expected-information".
    bounds
        The smallest and the largest value of a metric that is not a fraction, for a promise about it.
    classes
        Names in which integer labels are positions; without it, they are node indices.
    scale
        The scale of plain likelihoods: "probability" (the default), "log" or "logit".
    progress
        Called to report progress.
    **settings
        What counts as specific and as right, as in `evaluate`; `information` must be "leaves" or "depth".

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
    spec = SelectionSpec.of(
        hierarchy,
        target=target,
        per_rank=per_rank,
        overclassification=overclassification,
        guarantee=guarantee,
        delta=delta,
        among=among,
        unit=unit,
        largest_cluster=largest_cluster,
        pool_small=pool_small,
        clades=clades,
        rule=rule,
        bounds=bounds,
        settings=getattr(scores, "settings", Settings()).updated(**settings),
        by_group=groups is not None and groups is not False,
        weighted=weights is not None and weights is not False,
        expect=expect,
        like=like is not None,
    )
    about: dict[str, Any] = {"groups": groups, "clusters": clusters, "weights": weights}
    examples = gather(spec, scores, labels, classes=classes, scale=scale, progress=progress, **about)
    if like is not None:
        here = example_blocks(hierarchy, scores, labels, classes, None, scale)
        spec = expecting(spec, examples, here, like, scale)
    point = choose(spec, examples)
    for note in point.notes:
        warnings.warn(note, stacklevel=2)
    return point


def expecting(
    spec: SelectionSpec, examples: CalibrationSet, blocks: Iterable[Block], like: Any, scale: Scale | None = None
) -> SelectionSpec:
    """Return a request that expects the shares of classes in new scores, estimated with the calibration blocks."""
    assert spec.target is not None  # noqa: S101
    new = (block.likelihoods for block in like) if isinstance(like, Scores) else [like]
    found = (Likelihoods.of(spec.hierarchy, q, scale) for q in new)
    checked = (_alike(examples, q) for q in found)
    shares = shares_like(
        spec.hierarchy, examples.labels, (block.likelihoods for block in blocks), checked, spec.target.alpha
    )
    return replace(spec, expect=Strata.of(spec.hierarchy, shares), estimated=True)


def _alike(examples: CalibrationSet, q: AnyLikelihoods) -> AnyLikelihoods:
    if differ := examples.treatment.difference(q.treatment):
        raise ParameterError(
            f"The new scores must be treated like those with labels: {differ.what}. {differ.remedy}."
        )
    return q


def choose(spec: SelectionSpec, examples: CalibrationSet) -> OperatingPoint:
    """Choose a point with a calibration set."""
    doubts = _doubts(spec, examples)
    thresholds, notes = thresholds_of(spec, examples)
    target, tree = spec.target, spec.hierarchy
    from importlib import metadata  # takes a while, and few need it

    return OperatingPoint(
        tree if tree.title is None else Hierarchy(tree.names, tree.parent, tree.rank),
        target=_floats(spec.per_rank if target is None else {target.name: target.level}),
        overclassification=_floats(spec.overclassification),
        guarantee=spec.guarantee,
        delta=float(spec.delta) if GUARANTEES[spec.guarantee].uses_delta else None,
        rule="ranks" if target is None else spec.rule,
        by=spec.by,
        thresholds=thresholds,
        scale=examples.scale,
        among=spec.among,
        largest_cluster=spec.largest_cluster,
        weight_steps=weight_steps(spec, examples),
        expect=() if spec.expect is None else spec.expect.described,
        estimated=spec.estimated,
        at_most=target is not None and not target.higher_is_better,
        root_is_safe=spec.from_root,
        clade_depth=spec.clade_depth,
        pools=_pools(spec, examples),
        settings=spec.settings,
        **vars(examples.treatment),
        examples=len(examples),
        calibrated_on=_calibrated_on(spec, examples),
        tip_counts=_tip_counts(spec, examples),
        clusters=None if examples.clusters is None else len(set(examples.clusters.tolist())),
        notes=(*doubts, *notes),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        version=metadata.version("hedgerow"),
    )


def _calibrated_on(spec: SelectionSpec, examples: CalibrationSet) -> dict[str, tuple[int, int]]:
    """Return how many units and examples each promise is made with."""

    def numbers(rows: NDArray[Any] | slice) -> tuple[int, int]:
        size = len(examples.labels[rows])
        return (size if examples.clusters is None else len(set(examples.clusters[rows].tolist()))), size

    if spec.target is None:
        ranks, labels = Ranks.of(spec.hierarchy), examples.labels
        found = {rank: numbers(slice(None)) for rank in spec.per_rank}
        for rank in spec.overclassification:
            unknown = (ranks.at(rank)[labels] < 0) & ranks.above(rank)[labels]
            found[f"unknown {rank}"] = numbers(unknown)
        return found
    names = {"clade": examples.clades, "group": examples.groups}.get(spec.by)
    if names is None:
        units, size = numbers(slice(None))
        return {"": (effective_number(spec, examples) if spec.is_shifted else units, size)}
    found = {}
    for pool in pools_of(spec, examples, names):
        found |= dict.fromkeys(pool, numbers(np.isin(names.astype(str), pool)))
    return found


def _tip_counts(spec: SelectionSpec, examples: CalibrationSet) -> tuple[int, ...]:
    """Return how many units are in each bin of tip likelihoods; none if new data are expected to differ."""
    if examples.tips is None or spec.is_shifted:
        return ()
    tips = mean_of_each(examples.tips, examples.clusters)
    return tuple(np.bincount(bins_of(tips), minlength=BINS).tolist())


def _doubts(spec: SelectionSpec, examples: CalibrationSet) -> list[str]:
    """Return reasons to doubt the promise, as sentences; a single cluster is an error."""
    doubts = []
    _check_largest(spec, examples)
    if (spec.is_shifted or spec.estimated) and examples.clusters is not None:
        raise ParameterError(
            "Weights and expected shares are for examples without clusters: leave out one or the other."
        )
    if examples.unused_clusters:
        doubts.append(
            "The examples are in clusters, which are not used: the promise holds only if all examples are "
            f"independent. To promise something for new clusters, give "
            f"{argument('clusters', 'cluster', python='clusters=True')}."
        )
    if examples.clusters is None:
        together = (
            f"If those of one id belong together, give {argument('clusters', 'COLUMN', python='clusters=')}."
        )
        doubts += [f"{doubt} {together}" for doubt in repeated_ids(examples.ids)]
    if spec.overclassification and not spec.per_rank:
        doubts.append(
            "Nothing is promised about answers to examples of known classes, which may be wrong at any rank. To "
            f"promise something for them too, give {argument('per_rank', 'RANK=LEVEL', python='per_rank={...}')}."
        )
    if spec.target is not None or spec.per_rank:
        doubts += labels_at_the_root(examples.labels, spec.settings)
    distinct = np.unique(examples.labels)
    if len(distinct) == 1:
        doubts.append(
            f"All labels are {spec.hierarchy.names[distinct[0]]!r}: nothing is known about other classes."
        )
    if spec.pool_small == {}:
        doubts.append(
            f"Which {spec.by}s are pooled follows from how many of these examples they have, so the promise for a "
            f"pool is approximate. To keep it exact, give their sizes from elsewhere: "
            f"{argument('pool_sizes', 'FILE', python='pool_small={...}')}."
        )
    elif spec.pool_small is not None and spec.by == "group" and examples.groups is not None:
        unnamed = sorted(set(examples.groups.tolist()) - spec.pool_small.keys())
        if unnamed:
            doubts.append(
                f"The sizes from elsewhere do not have {some(unnamed)}: they count as 0, and the promise for "
                f"the pool that they are in is approximate. Give their sizes too."
            )
    if examples.clusters is not None and len(set(examples.clusters.tolist())) == 1:
        raise ScoreError(
            f"All {len(examples):,} examples are in one cluster, {examples.clusters[0]!r}. A promise for new "
            f"clusters needs several: is this the right column?"
        )
    return doubts


def _check_largest(spec: SelectionSpec, examples: CalibrationSet) -> None:
    """Refuse a size of the largest cluster that the clusters do not have."""
    if spec.largest_cluster is None:
        return
    if examples.clusters is None:
        raise ParameterError(
            f"{argument('unit', 'example')} is for examples in clusters: give "
            f"{argument('clusters', 'COLUMN', python='clusters=')} too, or leave it out."
        )
    names, size = np.unique(examples.clusters.astype(str), return_counts=True)
    if (largest := size.max()) > spec.largest_cluster:
        raise ParameterError(
            f"The cluster {str(names[np.argmax(size)])!r} has {largest:,} examples, more than the largest "
            f"may have, {spec.largest_cluster:,}: give {argument('largest_cluster', str(largest))} or more."
        )


def _pools(spec: SelectionSpec, examples: CalibrationSet) -> tuple[tuple[str, ...], ...]:
    """Return the groups or clades that share a threshold with others."""
    names = {"clade": examples.clades, "group": examples.groups}.get(spec.by)
    if names is None or spec.pool_small is None:
        return ()
    return tuple(pool for pool in pools_of(spec, examples, names) if len(pool) > 1)


def _floats(shares: Mapping[str, Fraction]) -> dict[str, float]:
    return {name: float(share) for name, share in shares.items()}


# Calibration examples, read block by block -----------------------------------------------------------------------


@final
@dataclass(frozen=True, eq=False)
class CalibrationSet:
    """What choosing a point needs of examples with labels."""

    hierarchy: Hierarchy
    labels: Indices
    scale: Scale
    treatment: Treatment = field(default_factory=Treatment)
    events: Events | None = None
    """Where their answers change in a family of rules."""
    wrong_at: Mapping[tuple[str, Settings], NDArray[np.float64]] = field(default_factory=dict)
    """The largest likelihood of a wrong node of each rank."""
    ids: Texts | None = None
    groups: Texts | None = None
    clusters: Texts | None = None
    clades: Texts | None = None
    weights: NDArray[np.float64] | None = None
    tips: NDArray[np.float64] | None = None
    """The likelihood of the most likely tip of each."""
    unused_clusters: bool = False
    """Whether clusters are known but not used."""

    def __len__(self) -> int:
        return len(self.labels)


def gather(
    spec: SelectionSpec,
    scores: Any,
    labels: ArrayLike | None,
    *,
    classes: ArrayLike | None = None,
    groups: ArrayLike | bool | None = None,
    clusters: ArrayLike | bool | None = None,
    weights: ArrayLike | bool | None = None,
    scale: Scale | None = None,
    progress: Progress = silent,
) -> CalibrationSet:
    """Read what choosing a point needs; the other parameters are those of `select`."""
    parts = []
    with progress("Reading scores", getattr(scores, "rows", None)) as advance:
        for block in example_blocks(spec.hierarchy, scores, labels, classes, None, scale):
            parts.append(_of_block(spec, block))
            advance(len(block))
    count = sum(map(len, parts))
    if not count:
        raise ScoreError("There are no examples to choose a point with.")
    if len({(part.scale, part.treatment) for part in parts}) > 1:
        raise ScoreError("All examples must be on the same scale, with the same temperature, prior and pooling.")
    ids = [part.ids for part in parts if part.ids is not None]
    clades = [part.clades for part in parts if part.clades is not None]
    return CalibrationSet(
        spec.hierarchy,
        np.concatenate([part.labels for part in parts]),
        parts[0].scale,
        parts[0].treatment,
        events=None if spec.ranks else Events.join(part.events for part in parts if part.events is not None),
        wrong_at={key: np.concatenate([part.wrong_at[key] for part in parts]) for key in spec.ranks},
        ids=np.concatenate(ids) if ids else None,
        groups=_texts("groups", groups, [part.groups for part in parts], count),
        clusters=_texts("clusters", clusters, [part.clusters for part in parts], count),
        clades=np.concatenate(clades) if clades else None,
        weights=_weights(weights, [part.weights for part in parts], count),
        tips=np.concatenate([part.tips for part in parts if part.tips is not None]),
        unused_clusters=clusters is None and all(part.clusters is not None for part in parts),
    )


def _of_block(spec: SelectionSpec, block: Block) -> CalibrationSet:
    """Return the examples of a block, with all groups and clusters that it has."""
    if block.labels is None:
        raise ScoreError("Choosing a point needs labels; these blocks have none.")
    q, labels, ranks = block.likelihoods, block.labels, Ranks.of(spec.hierarchy)
    candidates = Candidates.of(q.hierarchy, spec.settings)
    return CalibrationSet(
        spec.hierarchy,
        labels,
        block.scale,
        q.treatment,
        events=None if spec.ranks else FAMILIES[spec.rule].events(q, labels, candidates),
        wrong_at={
            (rank, settings): largest_wrong(q, labels, ranks.nodes(rank), settings, candidates)
            for rank, settings in spec.ranks
        },
        ids=block.ids,
        groups=block.groups,
        clusters=block.clusters,
        weights=block.weights,
        tips=tip_likelihoods(q, candidates),
        clades=None if spec.clade_depth is None else clades_of(q, spec.clade_depth, candidates),
    )


def _weights(
    given: ArrayLike | bool | None, read: list[NDArray[np.float64] | None], examples: int
) -> NDArray[np.float64] | None:
    """Return the weights, given as an array or read from a file; None if they are not wanted."""
    if given is None or given is False:
        return None
    if given is True:
        there = [values for values in read if values is not None]
        if len(there) < len(read):
            column = argument("weight_column", "COLUMN", python="ScoreReading(weight_column=...)")
            raise ParameterError(f"These scores have no weights of examples: name the column with {column}.")
        given = np.concatenate(there)
    weights = checked_weights(given, examples)
    if not weights.any():
        raise ScoreError("All weights are 0. Give the examples that are like new ones a weight above 0.")
    return weights


def _texts(name: str, given: ArrayLike | bool | None, read: list[Texts | None], examples: int) -> Texts | None:
    """Return groups or clusters as text, given as an array or read from a file; None if they are not wanted."""
    if given is None or given is False:
        return None
    if given is True:
        there = [values for values in read if values is not None]
        if len(there) < len(read):
            raise ParameterError(
                f"These scores have no {name} of examples: name the column with "
                f"{argument(name, 'COLUMN', python=f'ScoreReading({name[:-1]}_column=...)')}, or give one entry "
                f"for each example."
            )
        given = np.concatenate(there)
    values = np.asarray(given)
    if values.shape != (examples,):
        raise ScoreError(f"{name} needs one entry per example, {examples:,}; got shape {values.shape}.")
    listed = values.tolist()
    check_filled(name, listed)
    return np.array([str(value) for value in listed], dtype=object)
